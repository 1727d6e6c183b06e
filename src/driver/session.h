// What compilations of one process share: settings, cache, compiler. Made on first use; the only state of
// the library that outlives its values, next to the language's open builder.
#pragma once

#include "runtime/cache.h"
#include "runtime/cpu_features.h"
#include "runtime/host_compiler.h"
#include "support/options.h"

#include <memory>
#include <mutex>

namespace tilewright {

class Session {
 public:
  static Session& get();

  const Options& options() const { return options_; }
  const CpuFeatures& cpu() const { return cpu_; }
  Cache& cache();
  const HostCompiler& compiler();  // throws Error{toolchain} when there is none
  int num_threads() const;

 private:
  Session();

  Options options_;
  CpuFeatures cpu_;
  std::mutex mutex_;
  std::unique_ptr<Cache> cache_;
  std::unique_ptr<HostCompiler> compiler_;
};

}  // namespace tilewright
