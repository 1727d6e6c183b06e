#include "driver/sim_text.h"

#include "driver/session.h"
#include "passes/cuda_passes.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace tilewright {

namespace {

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

// `offset` counts from the lowest address, which is not that of the element 0, 0, ... where strides are negative.
std::vector<int64_t> coordinates_at(const BoundTensor& tensor, int64_t offset) {
  std::vector<size_t> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(tensor.strides[a]) > std::abs(tensor.strides[b]); });
  std::vector<int64_t> out(order.size(), 0);
  for (const size_t d : order) {
    const int64_t step = std::abs(tensor.strides[d]);
    if (step == 0) continue;
    const int64_t steps = std::min(offset / step, tensor.shape[d] - 1);
    out[d] = tensor.strides[d] > 0 ? steps : tensor.shape[d] - 1 - steps;
    offset -= steps * step;
  }
  return offset == 0 ? out : std::vector<int64_t>();
}

}  // namespace

SimText::SimText(const ir::Program& program, const SimTarget& target, std::vector<Remark>& remarks) {
  lowered_ = passes::cuda_pipeline(program, target.cuda, remarks);
  module_ = codegen::emit_cuda(lowered_, target.cuda);
  tiles_ = describe_tiles(lowered_);
  Session& session = Session::get();
  std::vector<sim::KernelShape> kernels;
  for (size_t k = 0; k < module_.entries.size(); ++k) {
    const codegen::CudaEntry& entry = module_.entries[k];
    kernels.push_back({entry.symbol, entry.shared_bytes, shared_unit_bytes(lowered_.kernels[k])});
  }
  code_ = sim::Module::compile(module_.source, module_.source_map, kernels, target, session.compiler(), session.cache(),
                               session.options().keep_dir);
}

std::vector<sim::SharedPart> SimText::shared_parts(size_t kernel) const {
  const ir::Kernel& k = lowered_.kernels[kernel];
  const passes::SharedPlan plan = passes::shared_plan(k);
  std::vector<sim::SharedPart> out;
  for (size_t i = 0; i < k.tiles.size(); ++i) {
    const int64_t bytes = plan.offsets[i] < 0 ? 0 : k.tiles[i].layout->cosize() * bytes_of(k.tiles[i].dtype);
    if (bytes > 0) out.push_back({plan.offsets[i], plan.offsets[i] + bytes});
  }
  return out;
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
    const AddressRange range = range_of(at, tensor.dtype);
    const int64_t before = range.num_bytes() > 0 ? int64_t(reinterpret_cast<uintptr_t>(at.data) - range.begin) : 0;
    return fmt::format("{} {:+} bytes", tensor.name, memory.offset - before);
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

std::vector<Error> SimText::errors(size_t kernel, const std::vector<sim::Finding>& findings,
                                   const BoundArguments& bound) const {
  std::vector<Error> out;
  if (findings.empty()) return out;
  const std::map<uint64_t, int> lines = code_->lines(findings, Session::get().options().temp_dir);
  for (const sim::Finding& f : findings) {
    const int line = lines.at(f.site.value);
    std::string text = f.text;
    if (!f.memory.empty()) text = fmt::format("{}: {}", memory_name(kernel, f.memory[0], bound), f.text);
    Error error = internal_error(code_->loc(line), "{}", text);
    if (line > 0) std::move(error).note("generated text: " + code_->source_line(line));
    for (const sim::Finding::Note& note : f.notes) {
      const int at = lines.at(note.site.value);
      std::string about = note.text;
      if (!note.memory.empty()) about = fmt::format("{}: {}", memory_name(kernel, note.memory[0], bound), about);
      std::move(error).note(at > 0 ? fmt::format("{}: {}", about, code_->source_line(at)) : about, code_->loc(at));
    }
    out.push_back(std::move(error));
  }
  return out;
}

std::vector<LineCounters> SimText::lines(size_t kernel, const std::map<uint64_t, Counters>& counted) const {
  std::vector<sim::Site> sites;
  for (const auto& [site, counters] : counted) sites.push_back({site});
  const std::map<uint64_t, int> line_of = code_->lines(sites, Session::get().options().temp_dir);
  std::map<int, LineCounters> of_line;
  for (const auto& [site, counters] : counted) {
    const int line = line_of.at(site);
    LineCounters& to = of_line[line];
    to.kernel = lowered_.kernels[kernel].name;
    to.loc = code_->loc(line);
    to.line = code_->text_line(line);
    to.text = code_->source_line(line);
    to.counters += counters;
  }
  std::vector<LineCounters> out;
  for (auto& [line, counters] : of_line) out.push_back(std::move(counters));
  return out;
}

}  // namespace tilewright
