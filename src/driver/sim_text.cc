#include "driver/sim_text.h"

#include "driver/session.h"
#include "passes/cuda_passes.h"
#include "runtime/sim/code_lines.h"
#include "support/error.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tilewright {

namespace {

// Behind the shared memory that a kernel asks for.
constexpr int64_t kMarginBytes = 4096;

// The smallest element of the tiles that lie in shared memory.
int shared_unit_bytes(const ir::Kernel& kernel) {
  int64_t smallest = 16;
  for (const ir::Tile& tile : kernel.tiles) {
    if (tile.space == ir::Space::shared) smallest = std::min<int64_t>(smallest, bytes_of(tile.dtype));
  }
  return int(smallest);
}

std::string with_index(const std::string& name, const std::vector<int64_t>& at) {
  return at.empty() ? name : fmt::format("{}[{}]", name, fmt::join(at, ", "));
}

// The coordinates of the element that lies `offset` elements behind the first; none where there is no such element.
std::vector<int64_t> coordinates_at(const layout::Layout& layout, int64_t offset) {
  for (int64_t i = 0; i < layout.size(); ++i) {
    if (layout.at(i) == offset) return layout.coordinates(i);
  }
  return {};
}

std::vector<int64_t> coordinates_at(const BoundTensor& tensor, int64_t offset) {
  std::vector<size_t> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  std::vector<int64_t> out(order.size(), 0);
  for (const size_t d : order) {
    if (tensor.strides[d] <= 0) continue;
    out[d] = std::min(offset / tensor.strides[d], tensor.shape[d] - 1);
    offset -= out[d] * tensor.strides[d];
  }
  return offset == 0 ? out : std::vector<int64_t>();
}

}  // namespace

SimText::SimText(const ir::Program& program, const SimTarget& target, std::vector<Remark>& remarks) : target_(target) {
  lowered_ = passes::cuda_pipeline(program, target.cuda, remarks);
  module_ = codegen::emit_cuda(lowered_, target.cuda);
  tiles_ = describe_tiles(lowered_);
  standalone_ = codegen::inline_device_headers(module_.source, module_.source_map, true);
  add_entries();
}

void SimText::add_entries() {
  int64_t shared_bytes = 0;
  for (const codegen::CudaEntry& entry : module_.entries) shared_bytes = std::max(shared_bytes, entry.shared_bytes);
  standalone_.text += fmt::format("TW_SIM_MODULE({})\n", shared_bytes + kMarginBytes);
  for (const codegen::CudaEntry& entry : module_.entries) {
    standalone_.text += fmt::format("TW_SIM_ENTRY({})\n", entry.symbol);
  }
  standalone_.source_map.locs.resize(size_t(std::count(standalone_.text.begin(), standalone_.text.end(), '\n')));
}

std::vector<std::string> SimText::flags(CompilerKind kind) const {
  std::vector<std::string> out = compile_flags({.level = CpuLevel::x86_64}, kind);
  const auto add = [&](std::initializer_list<std::string> words) { out.insert(out.end(), words); };
  // Each operation is rounded by itself, as CUDA's functions of that meaning say; memory may have two element types.
  add({"-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-fvisibility=hidden", "-D__CUDACC__",
       fmt::format("-D__CUDA_ARCH__={}0", target_.cuda.sm)});
  if (target_.cuda.accelerated) add({fmt::format("-D__CUDA_ARCH_FEAT_SM{}_ALL", target_.cuda.sm)});
  // The compiler reports accesses; nothing of its library is linked. Line tables alone of all that a debugger reads.
  if (target_.checked) add({"-fsanitize=thread", "-DTW_SIM_CHECKED", "-g1"});
  return out;
}

void SimText::load() {
  if (loaded_) return;
  Session& session = Session::get();
  const HostCompiler& compiler = session.compiler();
  const HostSource source{
      .text = standalone_.text, .flags = flags(compiler.kind()), .source_map = &standalone_.source_map};
  loaded_ = compile_and_load(source, compiler, session.cache(),
                             {.keep_dir = session.options().keep_dir, .keep_object = target_.checked});
  loaded_->function<void(const device::sim::Hooks*)>("tw_sim_attach")(&sim::hooks());
  for (size_t k = 0; k < module_.entries.size(); ++k) {
    const codegen::CudaEntry& entry = module_.entries[k];
    kernels_.push_back({.enter = loaded_->function<void(void* const*)>("tw_sim_enter_" + entry.symbol),
                        .shared = loaded_->function<unsigned char*()>("tw_sim_shared"),
                        .thread = loaded_->function<const device::sim::ThreadView**()>("tw_sim_thread"),
                        .shared_bytes = entry.shared_bytes,
                        .margin_bytes = kMarginBytes,
                        .shared_unit_bytes = shared_unit_bytes(lowered_.kernels[k])});
  }
}

// ---- Reports ----

std::string SimText::memory_name(size_t kernel, const sim::Memory& memory, const BoundArguments& bound) const {
  if (memory.tensor >= 0) {
    const ir::Tensor& tensor = lowered_.tensors[size_t(memory.tensor)];
    const BoundTensor& at = bound.tensors[size_t(memory.tensor)];
    const int64_t bytes = bytes_of(tensor.dtype);
    if (memory.offset >= 0) {
      const std::vector<int64_t> index = coordinates_at(at, memory.offset / bytes);
      if (!index.empty()) return with_index(tensor.name, index);
    }
    return fmt::format("{} {:+} bytes", tensor.name, memory.offset);
  }
  const ir::Kernel& k = lowered_.kernels[kernel];
  const passes::SharedPlan plan = passes::shared_plan(k);
  for (size_t i = 0; i < k.tiles.size(); ++i) {
    const ir::Tile& tile = k.tiles[i];
    if (tile.space != ir::Space::shared || plan.offsets[i] < 0 || !tile.layout) continue;
    const int64_t within = memory.offset - plan.offsets[i], bytes = bytes_of(tile.dtype);
    if (within < 0 || within >= tile.layout->cosize() * bytes) continue;
    return with_index(tile.name, coordinates_at(*tile.layout, within / bytes));
  }
  return fmt::format("byte {} of shared memory", memory.offset);
}

// Lines of the text for sites of findings, and the author's lines for those.
class SimText::Namer {
 public:
  Namer(const SimText& text, const std::vector<sim::Finding>& findings) : text_(text) {
    Dl_info info;
    const void* const inside = reinterpret_cast<const void*>(text.kernels_.front().enter);
    if (::dladdr(inside, &info) != 0) base_ = reinterpret_cast<uint64_t>(info.dli_fbase);
    std::set<uint64_t> addresses;
    const auto add = [&](const sim::Site& site) {
      if (site.is_code()) addresses.insert(offset(site));
    };
    for (const sim::Finding& f : findings) {
      add(f.site);
      for (const sim::Finding::Note& note : f.notes) add(note.site);
    }
    lines_ = sim::lines_of_code(text.loaded_->object(), addresses, Session::get().options().temp_dir);
  }

  Loc loc(const sim::Site& site) const {
    const Loc* found = text_.standalone_.source_map.find(line(site));
    return found ? *found : Loc();
  }
  // The line of the text, without its indentation.
  std::string source(const sim::Site& site) const {
    const int number = line(site);
    if (number <= 0) return "";
    const std::string& all = text_.standalone_.text;
    size_t begin = 0;
    for (int i = 1; i < number && begin != std::string::npos; ++i) begin = all.find('\n', begin) + 1;
    begin = all.find_first_not_of(' ', begin);
    return all.substr(begin, all.find('\n', begin) - begin);
  }

 private:
  // What returns to an address is the call before it.
  uint64_t offset(const sim::Site& site) const { return site.code_address() - base_ - 1; }
  int line(const sim::Site& site) const {
    if (!site.is_code()) return site.line_number();
    const auto found = lines_.find(offset(site));
    return found == lines_.end() ? 0 : found->second;
  }

  const SimText& text_;
  uint64_t base_ = 0;
  std::map<uint64_t, int> lines_;
};

std::vector<Error> SimText::errors(size_t kernel, const std::vector<sim::Finding>& findings,
                                   const BoundArguments& bound) const {
  std::vector<Error> out;
  if (findings.empty()) return out;
  const Namer namer(*this, findings);
  for (const sim::Finding& f : findings) {
    std::string text = f.text;
    if (!f.memory.empty()) text = fmt::format("{}: {}", memory_name(kernel, f.memory[0], bound), f.text);
    Error error = internal_error(namer.loc(f.site), "{}", text);
    const std::string source = namer.source(f.site);
    if (!source.empty()) error = std::move(error).note("generated text: " + source);
    for (const sim::Finding::Note& note : f.notes) {
      const std::string at = namer.source(note.site);
      error =
          std::move(error).note(at.empty() ? note.text : fmt::format("{}: {}", note.text, at), namer.loc(note.site));
    }
    out.push_back(std::move(error));
  }
  return out;
}

}  // namespace tilewright
