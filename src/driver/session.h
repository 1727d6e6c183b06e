// What compilations of one process share: settings, cache, compiler. Made on first use; the only state of
// the library that outlives its values, next to the language's open builder.
#pragma once

#include "runtime/cache.h"
#include "runtime/cpu_features.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/found_nvrtc.h"
#include "runtime/host_compiler.h"
#include "support/options.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace tilewright {

class Session {
 public:
  static Session& get();

  const Options& options() const { return options_; }
  const CpuFeatures& cpu() const { return cpu_; }
  Cache& cache();
  const HostCompiler& compiler();  // throws Error{toolchain} when there is none
  int num_threads() const;

  cuda::FoundNvrtc& nvrtc() { return nvrtc_; }
  std::shared_ptr<const cuda::Device> gpu(int index = 0);  // throws Error{toolchain} without driver or device
  // Driver, device and NVRTC are all there.
  bool has_gpu();

 private:
  Session();

  Options options_;
  CpuFeatures cpu_;
  std::mutex mutex_;
  std::unique_ptr<Cache> cache_;
  std::unique_ptr<HostCompiler> compiler_;
  cuda::FoundNvrtc nvrtc_;
  std::shared_ptr<const cuda::Driver> driver_;
  std::map<int, std::shared_ptr<const cuda::Device>> gpus_;
  std::optional<bool> has_gpu_;
};

}  // namespace tilewright
