#include "driver/cpu_executable.h"

#include "driver/session.h"
#include "passes/passes.h"
#include "runtime/host_compiler.h"
#include "runtime/print_text.h"
#include "runtime/thread_pool.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>

namespace tilewright {

namespace {

// Mirrors tilewright::device::cpu::Failure, which generated code fills.
struct CpuFailure {
  long long site = 0;
  long long at[7] = {};
  const unsigned* interrupts = nullptr;
  unsigned interrupts_before = 0;
  void (*report)(void* host, long long number, const long long* cells) = nullptr;
  void* host = nullptr;
};

// codegen/cpu.h describes the arguments.
using CpuEntryFunction = void(void* const* tensors, const long long* scalars, long long first, long long last,
                              char* scratch, CpuFailure* failure);

// A plain integer with atomic accesses, as generated code reads it. Lock-free, so that signal handlers may add to it.
unsigned num_interrupts = 0;
static_assert(__atomic_always_lock_free(sizeof(num_interrupts), nullptr));

constexpr int64_t kBlocksBetweenChecks = 1 << 16;

unsigned interrupts_now() { return __atomic_load_n(&num_interrupts, __ATOMIC_RELAXED); }

// Scratch memory of one thread, kept between launches.
class Scratch {
 public:
  char* reserve(int64_t bytes) {
    if (bytes > size_) {
      memory_.reset(static_cast<char*>(::operator new(size_t(bytes), std::align_val_t(kAlignment))));
      std::fill_n(memory_.get(), size_t(bytes), char(0));  // maps the pages; and no stale NaN from the allocator
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr size_t kAlignment = 4096;
  struct Free {
    void operator()(char* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
  };
  std::unique_ptr<char, Free> memory_;
  int64_t size_ = 0;
};

char* thread_scratch(int64_t bytes) {
  thread_local Scratch scratch;
  return scratch.reserve(bytes);
}

[[noreturn]] void throw_interrupted(const std::string& kernel, const Loc& loc, bool in_loop) {
  throw invalid_kernel(loc, "the launch of {} was interrupted{}", kernel, in_loop ? " in this while loop" : "")
      .hint(
          "outputs are undefined now; a while loop that does not end has a condition that stays true: "
          "tilewright::interpret limits the number of turns");
}

class CpuExecutable : public Executable, public std::enable_shared_from_this<CpuExecutable> {
 public:
  const std::string& source() const override { return module_.annotated; }
  std::string_view source_suffix() const override { return ".cc"; }
  std::string describe(size_t kernel) const override {
    const codegen::CpuEntry& entry = module_.entries[kernel];
    return fmt::format("kernel {}: {} bytes of scratch a thread, {} run-time checks", entry.symbol, entry.scratch_bytes,
                       module_.sites.size());
  }
  BindOptions bind_options() const override { return {.allocate = allocate_host_memory}; }
  std::unique_ptr<BoundLaunch> bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                    std::vector<Remark>& remarks) const override;

  ir::Program program_;
  int num_threads_ = 1;
  codegen::CpuModule module_;
  std::shared_ptr<LoadedModule> loaded_;
  std::vector<CpuEntryFunction*> entries_;
  PrintHook on_print_;  // empty: standard output
  mutable std::mutex print_mutex_;

 private:
  void check_scratch(size_t index, int64_t blocks) const;
};

// The host side of the prints and assertions of one kernel run.
class Reports {
 public:
  Reports(const CpuExecutable& kernel, CpuFailure& failure) : kernel_(kernel), failure_(failure) {
    failure.report = [](void* host, long long number, const long long* cells) {
      static_cast<Reports*>(host)->take(size_t(number), cells);
    };
    failure.host = this;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // Generated code has no exceptions, so that one of the hook waits for the end of the launch.
  void take(size_t number, const long long* cells) noexcept {
    const codegen::CpuReport& report = kernel_.module_.reports[number];
    std::vector<int64_t> values(cells, cells + report.num_cells());
    const std::lock_guard lock(kernel_.print_mutex_);
    try {
      if (report.is_assert) throw report.error(values);
      print_text(kernel_.on_print_, report.text(values));
    } catch (...) {
      if (!error_) error_ = std::current_exception();
      __atomic_store_n(&failure_.site, -1LL, __ATOMIC_RELAXED);
    }
  }

  const CpuExecutable& kernel_;
  CpuFailure& failure_;
  std::exception_ptr error_;
};

class CpuLaunch : public BoundLaunch {
 public:
  void launch() const override {
    const unsigned interrupts_before = interrupts_now();
    for (size_t k = 0; k < num_blocks_.size(); ++k) run_kernel(k, interrupts_before);
  }
  void wait() const override {}
  double time_ms() const override {
    const auto start = std::chrono::steady_clock::now();
    launch();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  std::shared_ptr<const CpuExecutable> kernel_;
  std::vector<void*> tensors_;
  std::vector<long long> scalars_;
  std::vector<int64_t> num_blocks_;  // of each kernel

 private:
  void run_kernel(size_t index, unsigned interrupts_before) const;
};

// `interrupts_before`: their number when the launch began.
void CpuLaunch::run_kernel(size_t index, unsigned interrupts_before) const {
  const int64_t blocks = num_blocks_[index];
  const int64_t scratch_bytes = kernel_->module_.entries[index].scratch_bytes;
  CpuEntryFunction* entry = kernel_->entries_[index];
  CpuFailure failure{.interrupts = &num_interrupts, .interrupts_before = interrupts_before};
  const Reports reports(*kernel_, failure);
  const auto interrupted = [&] { return interrupts_now() != failure.interrupts_before; };
  std::atomic<bool> skipped = false;
  const auto run = [&](int64_t first, int64_t last) {
    // In parts, so that an interrupt is seen soon however small the blocks are.
    for (int64_t begin = first; begin < last; begin += std::min(kBlocksBetweenChecks, last - begin)) {
      if (interrupted()) {
        skipped = true;
        return;
      }
      entry(tensors_.data(), scalars_.data(), begin, begin + std::min(kBlocksBetweenChecks, last - begin),
            thread_scratch(scratch_bytes), &failure);
    }
  };
  if (blocks == 1) {
    run(0, 1);
  } else if (blocks > 1) {
    // Small blocks go in groups, so that handing them out costs little; eight groups a thread still balance.
    const int64_t group = std::max<int64_t>(1, blocks / (int64_t(kernel_->num_threads_) * 8));
    const int64_t groups = (blocks + group - 1) / group;
    default_thread_pool(kernel_->num_threads_).parallel_for(groups, [&](int64_t task, int) {
      run(task * group, std::min(blocks, (task + 1) * group));
    });
  }
  const ir::Kernel& text = kernel_->program_.kernels[index];
  reports.rethrow();
  if (failure.site > 0) {
    const codegen::CheckSite& site = kernel_->module_.sites[size_t(failure.site - 1)];
    if (site.is_loop) throw_interrupted(text.name, site.loc, true);
    throw failed_check(site, failure.at);
  }
  if (skipped) throw_interrupted(text.name, text.loc, false);
}

// Refuses what would not fit memory, before the first thread touches it.
void CpuExecutable::check_scratch(size_t index, int64_t blocks) const {
  const int64_t bytes = module_.entries[index].scratch_bytes;
  const int64_t threads = std::min<int64_t>(num_threads_, blocks);
  const int64_t memory = physical_memory_bytes();
  if (threads == 0 || bytes <= memory / threads) return;
  const ir::Kernel& kernel = program_.kernels[index];
  throw invalid_kernel(kernel.loc,
                       "the on-chip tiles of {} need {} bytes for each of {} threads, but this machine has {}",
                       kernel.name, bytes, threads, memory)
      .hint("make the tiles smaller; a cache of this machine holds about a megabyte");
}

std::unique_ptr<BoundLaunch> CpuExecutable::bind(const BoundArguments& bound, std::vector<int64_t> num_blocks,
                                                 std::vector<Remark>&) const {
  auto launch = std::make_unique<CpuLaunch>();
  launch->kernel_ = shared_from_this();
  for (const BoundTensor& tensor : bound.tensors) launch->tensors_.push_back(tensor.data);
  for (const ir::Scalar& scalar : program_.scalars) {
    launch->scalars_.push_back(raw_value(scalar.var.dtype(), *bound.scalars[size_t(scalar.var.var_id())]));
  }
  for (size_t k = 0; k < num_blocks.size(); ++k) check_scratch(k, num_blocks[k]);
  launch->num_blocks_ = std::move(num_blocks);
  return launch;
}

}  // namespace

void interrupt_launches() noexcept { __atomic_fetch_add(&num_interrupts, 1, __ATOMIC_RELAXED); }

std::shared_ptr<Executable> make_cpu_executable(const ir::Program& program, const CpuTarget& target,
                                                const CompileOptions& options, std::vector<Remark>& remarks,
                                                std::string& lowered_tiles) {
  Session& session = Session::get();
  auto out = std::make_shared<CpuExecutable>();
  out->program_ = program;
  out->num_threads_ = options.num_threads > 0 ? options.num_threads : session.num_threads();
  const ir::Program lowered = passes::cpu_pipeline(program, target, remarks);
  out->module_ = codegen::emit_cpu(lowered, target);
  out->on_print_ = options.on_print;
  lowered_tiles = describe_tiles(lowered);
  const codegen::StandaloneSource standalone =
      codegen::inline_device_headers(out->module_.source, out->module_.source_map);
  CpuFeatures features = session.cpu();
  if (target.level != features.level) features = {.level = target.level};
  const HostCompiler& compiler = session.compiler();
  HostSource source{
      .text = standalone.text, .flags = compile_flags(features, compiler.kind()), .source_map = &standalone.source_map};
  source.flags.push_back("-fwrapv");  // integers wrap, as the language says
  // Memory that two element types name.
  if (out->module_.reinterprets) source.flags.push_back("-fno-strict-aliasing");
  if (options.optimize != 3) source.flags.push_back(fmt::format("-O{}", options.optimize));
  if (options.optimize == 0) source.flags.push_back("-DTW_INLINE=inline");
  out->loaded_ = compile_and_load(source, compiler, session.cache(), {.keep_dir = session.options().keep_dir});
  for (const codegen::CpuEntry& entry : out->module_.entries) {
    out->entries_.push_back(out->loaded_->function<CpuEntryFunction>(entry.symbol));
  }
  return out;
}

}  // namespace tilewright
