#include "driver/compiled_kernel.h"

#include "driver/session.h"
#include "runtime/print_text.h"
#include "runtime/thread_pool.h"
#include "support/error.h"

#include <unistd.h>

#include <bit>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>

namespace tilewright {

namespace {

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

[[noreturn]] void throw_failure(const codegen::CheckSite& site, const CpuFailure& failure) {
  const auto rank = size_t(std::count(site.shape.begin(), site.shape.end(), ',')) + 1;
  std::string at;
  for (size_t d = 0; d < std::min<size_t>(rank, 7); ++d) at += fmt::format("{}{}", d ? ", " : "", failure.at[d]);
  throw invalid_kernel(site.loc, "{}[{}] is {} outside its shape {}", site.tile, at, site.is_store ? "written" : "read",
                       site.shape)
      .note(fmt::format("{}  {}", site.tile, site.shape), site.declared)
      .hint("guard the access with T::if_ or T::if_then_else, or make the tile larger");
}

// The host side of the prints and assertions of one kernel run.
class Reports {
 public:
  Reports(const CompiledKernel::Impl& kernel, CpuFailure& failure) : kernel_(kernel), failure_(failure) {
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
    const codegen::CpuReport& report = kernel_.module.reports[number];
    std::vector<int64_t> values(cells, cells + report.num_cells());
    const std::lock_guard lock(kernel_.print_mutex);
    try {
      if (report.is_assert) throw report.error(values);
      print_text(kernel_.on_print, report.text(values));
    } catch (...) {
      if (!error_) error_ = std::current_exception();
      __atomic_store_n(&failure_.site, -1LL, __ATOMIC_RELAXED);
    }
  }

  const CompiledKernel::Impl& kernel_;
  CpuFailure& failure_;
  std::exception_ptr error_;
};

void run_kernel(const Launch::Impl& launch, size_t index) {
  const CompiledKernel::Impl& kernel = *launch.kernel;
  const int64_t blocks = launch.num_blocks[index];
  const int64_t scratch_bytes = kernel.module.entries[index].scratch_bytes;
  CpuEntryFunction* entry = kernel.entries[index];
  CpuFailure failure;
  const Reports reports(kernel, failure);
  const auto run = [&](int64_t first, int64_t last) {
    entry(launch.tensors.data(), launch.scalars.data(), first, last, thread_scratch(scratch_bytes), &failure);
  };
  if (blocks == 1) {
    run(0, 1);
  } else if (blocks > 1) {
    // Small blocks go in groups, so that handing them out costs little; eight groups a thread still balance.
    const int64_t group = std::max<int64_t>(1, blocks / (int64_t(kernel.num_threads) * 8));
    const int64_t groups = (blocks + group - 1) / group;
    default_thread_pool(kernel.num_threads).parallel_for(groups, [&](int64_t task, int) {
      run(task * group, std::min(blocks, (task + 1) * group));
    });
  }
  reports.rethrow();
  if (failure.site > 0) throw_failure(kernel.module.sites[size_t(failure.site - 1)], failure);
}

// A scalar as generated code takes it: the integer, or the bits of the double.
int64_t raw_value(DType dtype, const ScalarValue& value) {
  return is_float(dtype) ? std::bit_cast<int64_t>(value.f) : value.i;
}

// Blocks of the grid; none where an extent is 0 or less.
int64_t count_blocks(const ir::Kernel& kernel, const ScalarValues& scalars) {
  std::vector<int64_t> extents;
  for (const ir::Expr& e : kernel.grid) extents.push_back(std::max<int64_t>(0, evaluate(e, scalars)));
  if (std::count(extents.begin(), extents.end(), 0) > 0) return 0;
  int64_t blocks = 1;
  for (int64_t extent : extents) {
    if (!__builtin_mul_overflow(blocks, extent, &blocks)) continue;
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the grid of {} has {} blocks, more than 2^63", kernel.name, fmt::join(extents, " x ")),
                kernel.loc)
        .hint("check the extents that the arguments give");
  }
  return blocks;
}

// Refuses what would not fit memory, before the first thread touches it.
void check_scratch(const CompiledKernel::Impl& impl, size_t index, int64_t blocks) {
  const int64_t bytes = impl.module.entries[index].scratch_bytes;
  const int64_t threads = std::min<int64_t>(impl.num_threads, blocks);
  const int64_t memory = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (threads == 0 || bytes <= memory / threads) return;
  const ir::Kernel& kernel = impl.program.kernels[index];
  throw invalid_kernel(kernel.loc,
                       "the on-chip tiles of {} need {} bytes for each of {} threads, but this machine has {}",
                       kernel.name, bytes, threads, memory)
      .hint("make the tiles smaller; a cache of this machine holds about a megabyte");
}

std::string write_source(const CompiledKernel::Impl& impl) {
  namespace fs = std::filesystem;
  const fs::path& temp = Session::get().options().temp_dir;
  std::string name = (temp / "tilewright-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw toolchain_error("no folder can be made in {}", temp.string()).hint("set TMPDIR to a folder you may write");
  }
  const fs::path path = fs::path(name) / (impl.program.name + ".cc");
  std::ofstream(path) << impl.module.annotated;
  return path.string();
}

}  // namespace

std::string describe_tiles(const ir::Program& lowered) {
  std::string out;
  for (const ir::Kernel& kernel : lowered.kernels) {
    for (const ir::Tile& tile : kernel.tiles) {
      if (!tile.on_chip() || tile.unchecked || tile.rank() == 0 || !tile.origin.empty()) continue;
      out += fmt::format("  {:<16} {}\n", tile.name, ir::describe(tile));
    }
  }
  return out;
}

const std::string& CompiledKernel::target() const { return impl_->target; }
const std::string& CompiledKernel::get_kernel_source() const { return impl_->module.annotated; }
const std::vector<Remark>& CompiledKernel::remarks() const { return impl_->remarks; }

std::string CompiledKernel::source_path() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->source_path.empty()) impl_->source_path = write_source(*impl_);
  return impl_->source_path;
}

std::string CompiledKernel::report() const {
  std::string out = fmt::format("{} on {}\n", impl_->program.name, impl_->target);
  for (size_t k = 0; k < impl_->module.entries.size(); ++k) {
    const codegen::CpuEntry& entry = impl_->module.entries[k];
    out += fmt::format("kernel {}: {} bytes of scratch a thread, {} run-time checks\n", entry.symbol,
                       entry.scratch_bytes, impl_->module.sites.size());
  }
  out += "tiles\n" + impl_->lowered_tiles;
  if (impl_->remarks.empty()) return out + "no remarks\n";
  for (const Remark& remark : impl_->remarks) {
    out += fmt::format("remark {}: {}{}\n", remark.kind, remark.text,
                       remark.loc.known() ? " at " + remark.loc.to_string() : "");
  }
  return out;
}

Launch CompiledKernel::bind_arguments(std::vector<Argument> arguments) const {
  auto launch = std::make_shared<Launch::Impl>();
  launch->kernel = impl_;
  launch->bound = tilewright::bind_arguments(impl_->program, arguments);
  for (const BoundTensor& tensor : launch->bound.tensors) launch->tensors.push_back(tensor.data);
  for (const ir::Scalar& scalar : impl_->program.scalars) {
    launch->scalars.push_back(raw_value(scalar.var.dtype(), *launch->bound.scalars[size_t(scalar.var.var_id())]));
  }
  for (size_t k = 0; k < impl_->entries.size(); ++k) {
    launch->num_blocks.push_back(count_blocks(impl_->program.kernels[k], launch->bound.scalars));
    check_scratch(*impl_, k, launch->num_blocks.back());
  }
  return Launch(std::move(launch));
}

void CompiledKernel::run(std::vector<Argument> arguments) const { bind_arguments(std::move(arguments))(); }

Profile CompiledKernel::profile(std::vector<Argument> arguments, const ProfileOptions& options) const {
  const Launch launch = bind_arguments(std::move(arguments));
  return tilewright::profile([&] { launch(); }, options);
}

void Launch::operator()() const {
  for (size_t k = 0; k < impl_->num_blocks.size(); ++k) run_kernel(*impl_, k);
}

}  // namespace tilewright
