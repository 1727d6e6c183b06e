#include "driver/session.h"

namespace tilewright {

Session& Session::get() {
  static Session session;
  return session;
}

Session::Session() : options_(read_options_from_environment()), cpu_(probe_cpu()) {}

Cache& Session::cache() {
  const std::lock_guard lock(mutex_);
  if (!cache_) cache_ = std::make_unique<Cache>(Cache::open(cache_options(options_)));
  return *cache_;
}

const HostCompiler& Session::compiler() {
  Cache& shared = cache();
  const std::lock_guard lock(mutex_);
  if (!compiler_) {
    compiler_ = std::make_unique<HostCompiler>(HostCompiler::find(host_compiler_options(options_), shared));
  }
  return *compiler_;
}

int Session::num_threads() const { return options_.num_threads > 0 ? options_.num_threads : cpu_.num_cores; }

}  // namespace tilewright
