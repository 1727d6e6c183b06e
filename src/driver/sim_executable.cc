#include "driver/sim_executable.h"

#include "codegen/cuda.h"
#include "driver/session.h"
#include "passes/cuda_passes.h"
#include "runtime/host_compiler.h"
#include "runtime/sim/fiber.h"
#include "runtime/sim/machine.h"
#include "runtime/thread_pool.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <mutex>
#include <optional>

namespace tilewright {

namespace {

constexpr uintptr_t kTensorAlignment = 16;
// Behind the shared memory that a kernel asks for.
constexpr int64_t kMarginBytes = 4096;

// Mirrors tilewright::device::Failure, which generated code fills.
struct SimFailure {
  long long site = 0;
  long long at[7] = {};
};

// One text of a program, compiled for the simulator.
class Variant {
 public:
  Variant(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks) : target_(target) {
    const ir::Program lowered = passes::cuda_pipeline(program, target, remarks);
    module_ = codegen::emit_cuda(lowered, target);
    tiles_ = describe_tiles(lowered);
    standalone_ = codegen::inline_device_headers(module_.source, module_.source_map, true);
    add_entries();
  }

  const codegen::CudaModule& module() const { return module_; }
  const std::string& tiles() const { return tiles_; }
  const std::vector<sim::Code>& kernels() const { return kernels_; }
  // What the simulator found, at the author's line.
  Error error(const sim::Finding& finding) const;
  void load();

 private:
  void add_entries();
  std::vector<std::string> flags(CompilerKind kind) const;
  std::string text_of(int line) const;

  CudaTarget target_;
  codegen::CudaModule module_;
  std::string tiles_;
  codegen::StandaloneSource standalone_;
  std::shared_ptr<LoadedModule> loaded_;
  std::vector<sim::Code> kernels_;
};

void Variant::add_entries() {
  int64_t shared_bytes = 0;
  for (const codegen::CudaEntry& entry : module_.entries) shared_bytes = std::max(shared_bytes, entry.shared_bytes);
  standalone_.text += fmt::format("TW_SIM_MODULE({})\n", shared_bytes + kMarginBytes);
  for (const codegen::CudaEntry& entry : module_.entries) {
    standalone_.text += fmt::format("TW_SIM_ENTRY({})\n", entry.symbol);
  }
  standalone_.source_map.locs.resize(size_t(std::count(standalone_.text.begin(), standalone_.text.end(), '\n')));
}

std::vector<std::string> Variant::flags(CompilerKind kind) const {
  std::vector<std::string> out = compile_flags({.level = CpuLevel::x86_64}, kind);
  const std::string arch = fmt::format("-D__CUDA_ARCH__={}0", target_.sm);
  // Products and sums of which CUDA's own functions say that they are rounded by themselves; memory that two element
  // types name, as NVRTC allows.
  for (const std::string& flag :
       {std::string("-O1"), std::string("-ffp-contract=off"), std::string("-fno-strict-aliasing"),
        std::string("-fvisibility=hidden"), std::string("-D__CUDACC__"), arch}) {
    out.push_back(flag);
  }
  if (target_.accelerated) out.push_back(fmt::format("-D__CUDA_ARCH_FEAT_SM{}_ALL", target_.sm));
  return out;
}

void Variant::load() {
  if (loaded_) return;
  Session& session = Session::get();
  const HostCompiler& compiler = session.compiler();
  const HostSource source{
      .text = standalone_.text, .flags = flags(compiler.kind()), .source_map = &standalone_.source_map};
  loaded_ = compile_and_load(source, compiler, session.cache(), {.keep_dir = session.options().keep_dir});
  loaded_->function<void(const device::sim::Hooks*)>("tw_sim_attach")(&sim::hooks());
  for (const codegen::CudaEntry& entry : module_.entries) {
    kernels_.push_back({.enter = loaded_->function<void(void* const*)>("tw_sim_enter_" + entry.symbol),
                        .shared = loaded_->function<unsigned char*()>("tw_sim_shared"),
                        .thread = loaded_->function<const device::sim::ThreadView**()>("tw_sim_thread"),
                        .shared_bytes = entry.shared_bytes,
                        .margin_bytes = kMarginBytes});
  }
}

std::string Variant::text_of(int line) const {
  const std::string& text = standalone_.text;
  size_t begin = 0;
  for (int i = 1; i < line && begin != std::string::npos; ++i) begin = text.find('\n', begin) + 1;
  begin = text.find_first_not_of(' ', begin);
  return text.substr(begin, text.find('\n', begin) - begin);
}

Error Variant::error(const sim::Finding& finding) const {
  const auto loc_of = [&](int line) {
    const Loc* loc = standalone_.source_map.find(line);
    return loc ? *loc : Loc();
  };
  Error out = internal_error(loc_of(finding.line), "{}", finding.text);
  if (finding.line > 0) out = std::move(out).note("generated text: " + text_of(finding.line));
  for (const sim::Finding::Note& note : finding.notes) {
    const std::string text = note.line > 0 ? fmt::format("{}: {}", note.text, text_of(note.line)) : note.text;
    out = std::move(out).note(text, loc_of(note.line));
  }
  return out;
}

class SimExecutable : public Executable, public std::enable_shared_from_this<SimExecutable> {
 public:
  SimExecutable(const ir::Program& program, const CudaTarget& target, int num_threads, std::vector<Remark>& remarks)
      : program_(program), target_(target), num_threads_(num_threads), aligned_(program, target, remarks) {
    aligned_.load();
  }

  const std::string& source() const override { return aligned_.module().annotated; }
  std::string_view source_suffix() const override { return ".cu"; }
  std::string describe(size_t kernel) const override {
    const codegen::CudaEntry& entry = aligned_.module().entries[kernel];
    return fmt::format("kernel {}: {} threads, {} bytes of shared memory a block, {} run-time checks, simulated",
                       entry.symbol, entry.threads, entry.shared_bytes, aligned_.module().sites.size());
  }
  BindOptions bind_options() const override { return {.allocate = allocate_host_memory}; }
  std::unique_ptr<BoundLaunch> bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                    std::vector<Remark>& remarks) const override;

  const std::string& tiles() const { return aligned_.tiles(); }
  int num_threads() const { return num_threads_; }

 private:
  Variant& variant(bool aligned) const;

  ir::Program program_;
  CudaTarget target_;
  int num_threads_;
  mutable std::mutex mutex_;
  mutable Variant aligned_;
  mutable std::unique_ptr<Variant> unaligned_;  // made when a tensor asks for it
};

// What the blocks of one kernel found: of the lowest block that found something.
class Findings {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void add(int64_t block, sim::Finding finding) {
    const std::lock_guard lock(mutex_);
    if (finding_ && block_ < block) return;
    block_ = block;
    finding_ = std::move(finding);
    any_ = true;
  }
  const std::optional<sim::Finding>& first() const { return finding_; }

 private:
  std::atomic<bool> any_ = false;
  std::mutex mutex_;
  int64_t block_ = 0;
  std::optional<sim::Finding> finding_;
};

class SimLaunch : public BoundLaunch {
 public:
  void launch() const override {
    for (size_t k = 0; k < num_blocks_.size(); ++k) run_kernel(k);
  }
  void wait() const override {}
  double time_ms() const override {
    const auto start = std::chrono::steady_clock::now();
    launch();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  std::shared_ptr<const SimExecutable> executable_;
  const Variant* variant_ = nullptr;
  std::vector<int64_t> num_blocks_;
  std::vector<void*> tensors_;
  std::vector<int64_t> scalars_;  // the bits of each value in its own type

 private:
  void run_kernel(size_t index) const;
};

void SimLaunch::run_kernel(size_t index) const {
  const codegen::CudaEntry& entry = variant_->module().entries[index];
  SimFailure failure;
  Findings findings;
  const auto run = [&](int64_t block) {
    if (findings.any() || __atomic_load_n(&failure.site, __ATOMIC_RELAXED) != 0) return;
    // A launch has 2^31 - 1 blocks along x; the text adds the first.
    int64_t first_block = block >> 30 << 30;
    SimFailure* to_failure = &failure;
    std::vector<void*> arguments;
    for (void* const& t : tensors_) arguments.push_back(const_cast<void**>(&t));
    for (const int64_t& s : scalars_) arguments.push_back(const_cast<int64_t*>(&s));
    arguments.push_back(&first_block);
    arguments.push_back(&to_failure);
    const sim::Block place{.block = {unsigned(block - first_block), 0, 0},
                           .grid = {unsigned(std::min<int64_t>(num_blocks_[index] - first_block, INT32_MAX)), 1, 1},
                           .threads = {unsigned(entry.threads), 1, 1}};
    auto found = sim::run_block(variant_->kernels()[index], place, arguments.data(), {});
    if (found) findings.add(block, std::move(*found));
  };
  const int64_t blocks = num_blocks_[index];
  if (blocks == 1)
    run(0);
  else if (blocks > 1)
    default_thread_pool(executable_->num_threads()).parallel_for(blocks, [&](int64_t block, int) { run(block); });
  // Threads that leave at a failed check let others wait for ever.
  if (failure.site > 0) throw_failed_check(variant_->module().sites[size_t(failure.site - 1)], failure.at);
  if (findings.first()) throw variant_->error(*findings.first());
}

Variant& SimExecutable::variant(bool aligned) const {
  if (aligned) return aligned_;
  if (!unaligned_) {
    CudaTarget target = target_;
    target.aligned_tensors = false;
    std::vector<Remark> ignored;
    unaligned_ = std::make_unique<Variant>(program_, target, ignored);
    unaligned_->load();
  }
  return *unaligned_;
}

std::unique_ptr<BoundLaunch> SimExecutable::bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                                 std::vector<Remark>& remarks) const {
  auto launch = std::make_unique<SimLaunch>();
  launch->executable_ = shared_from_this();
  bool aligned = true;
  for (size_t t = 0; t < bound.tensors.size(); ++t) {
    const BoundTensor& tensor = bound.tensors[t];
    launch->tensors_.push_back(tensor.data);
    if (std::bit_cast<uintptr_t>(tensor.data) % kTensorAlignment == 0 || tensor.num_elems() == 0) continue;
    aligned = false;
    remarks.push_back({.kind = "unaligned_tensor",
                       .text = fmt::format("{} begins at no multiple of {} bytes: a variant of the kernel runs that "
                                           "moves single elements",
                                           program_.tensors[t].name, kTensorAlignment),
                       .loc = program_.tensors[t].loc});
  }
  for (const ir::Scalar& scalar : program_.scalars) {
    launch->scalars_.push_back(parameter_bits(scalar.var.dtype(), *bound.scalars[size_t(scalar.var.var_id())]));
  }
  launch->num_blocks_ = std::move(num_blocks);
  const std::lock_guard lock(mutex_);
  launch->variant_ = &variant(aligned);
  return launch;
}

}  // namespace

std::shared_ptr<Executable> make_sim_executable(const ir::Program& program, const CudaTarget& target,
                                                const CompileOptions& options, std::vector<Remark>& remarks,
                                                std::string& lowered_tiles) {
  if (!sim::has_fibers()) {
    throw unsupported({}, "the simulator switches stacks on x86-64 only")
        .hint("compile for cpu:generic, or use tilewright::interpret");
  }
  const int num_threads = options.num_threads > 0 ? options.num_threads : Session::get().num_threads();
  auto out = std::make_shared<SimExecutable>(program, target, num_threads, remarks);
  lowered_tiles = out->tiles();
  return out;
}

}  // namespace tilewright
