// The NVRTC of a machine, opened when something has to be compiled: loading its library takes several milliseconds,
// most of what a kernel from the cache costs.
#pragma once

#include "runtime/cache.h"
#include "runtime/cuda/nvrtc.h"

#include <memory>
#include <mutex>
#include <string>

namespace tilewright::cuda {

// All members are safe for many threads.
class FoundNvrtc {
 public:
  explicit FoundNvrtc(LibraryOptions options) : options_(std::move(options)) {}

  // Opens it. Throws an Error (toolchain) when there is none.
  const Nvrtc& get();
  // Its identity (Nvrtc::identity), from the cache while the file that was opened last for these options is unchanged.
  std::string identity(Cache& cache);
  bool is_open();

 private:
  std::string search_key();

  LibraryOptions options_;
  std::mutex mutex_;
  std::unique_ptr<const Nvrtc> nvrtc_;
  std::string search_key_;  // once it was asked for
};

// `nvrtc.get().compile(source)` through the cache: machine code and log are stored together.
CompiledCuda compile_cached(const CudaSource& source, FoundNvrtc& nvrtc, Cache& cache);

}  // namespace tilewright::cuda
