// From a program to something that runs.
#pragma once

#include <tilewright/error.h>
#include <tilewright/profile.h>
#include <tilewright/program.h>
#include <tilewright/runtime.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct CompileOptions {
  // "auto" (the best device present), "cpu" (the best level of this machine), "cpu:x86-64", "cpu:avx2",
  // "cpu:avx512", "cpu:generic", "cuda" (the first GPU), "cuda:sm_80", ..., "sim:sm_80", ... (docs/status.md). Others
  // are refused with the list of those that exist.
  std::string target = "auto";
  // Threads that run the blocks on a CPU; 0: TILEWRIGHT_NUM_THREADS, or one per usable core.
  int num_threads = 0;
  // How hard the host compiler optimises, 0 to 3. Results stay within the same bounds; 0 compiles more than ten times
  // faster, for tests and for looking at generated code.
  int optimize = 3;
  // Takes what T::print prints; empty: the standard output.
  PrintHook on_print = {};
};

// Something that a compiler choice costs: which path was taken, why, and what it costs.
struct Remark {
  std::string kind;  // a stable word, e.g. "scalar_gemm"
  std::string text;
  Loc loc;
};

class Launch;

// A compiled program. Copies share it; calls from several threads are allowed.
class CompiledKernel {
 public:
  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  // Checks the arguments, runs, and returns when the result is there. Throws Error{invalid_argument}.
  void run(std::vector<Argument> arguments) const;
  template <class... A>
  requires(std::convertible_to<A, Argument>&&...) void operator()(const A&... arguments) const {
    run({Argument(arguments)...});
  }

  // The arguments checked once, for launches without host overhead. The tensors' memory must outlive the Launch.
  Launch bind_arguments(std::vector<Argument> arguments) const;
  template <class... A>
  requires(std::convertible_to<A, Argument>&&...) Launch bind(const A&... arguments)
  const;

  const std::string& target() const;  // e.g. "cpu:avx512"
  // The generated source, with the author's lines as comments.
  const std::string& get_kernel_source() const;
  // Where a copy of that source lies on disk; written on the first call. It lies in the cache folder, under a name that
  // its content gives. Without a cache it lies in the temporary folder and goes with the last copy of the kernel,
  // unless `keep` is passed.
  std::string source_path(bool keep = false) const;
  const std::vector<Remark>& remarks() const;
  // Target, choices and remarks as text.
  std::string report() const;
  // Runs repeatedly and says how long one launch takes.
  Profile profile(std::vector<Argument> arguments, const ProfileOptions& options = {}) const;

 private:
  std::shared_ptr<const Impl> impl_;
};

struct LaunchOptions {
  // On a GPU the stream that takes the work, a CUstream or cudaStream_t; null: the default stream. A stream that is
  // being captured takes it into its graph.
  void* stream = nullptr;
};

// Arguments bound to a compiled kernel: calling it costs under 2 us beyond the work.
class Launch {
 public:
  struct Impl;
  explicit Launch(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  // Runs on the CPU to the end; on a GPU adds the work to a stream and returns. The Launch, which owns the workspaces,
  // must outlive the work, or the graph that it was captured into. Where tensors lie in host memory, waits until their
  // results are there; throws Error{invalid_argument} for those under capture, and for a stream on a CPU.
  void operator()(const LaunchOptions& options = {}) const;
  // Waits for the work on a GPU; throws Error{invalid_kernel} for an access outside a tile.
  void wait() const;
  // Runs repeatedly and says how long one launch takes, on a GPU measured there, with a cold L2 cache.
  Profile profile(const ProfileOptions& options = {}) const;
  // What the arguments cost or leave out: a grid without blocks ("empty_grid").
  const std::vector<Remark>& remarks() const;
  const Impl& impl() const { return *impl_; }  // for the library itself

 private:
  std::shared_ptr<Impl> impl_;
};

template <class... A>
requires(std::convertible_to<A, Argument>&&...) Launch CompiledKernel::bind(const A&... arguments)
const { return bind_arguments({Argument(arguments)...}); }

// Compiles, or loads from the cache. Throws Error: unsupported target, toolchain missing, a device limit exceeded.
CompiledKernel compile(const Program& program, const CompileOptions& options = {});

// The same program run by the reference interpreter: slow, exact, and with all checks. For tests and debugging.
void interpret(const Program& program, std::vector<Argument> arguments, const PrintHook& on_print = {});

}  // namespace tilewright
