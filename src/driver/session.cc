#include "driver/session.h"

namespace tilewright {

Session& Session::get() {
  static Session session;
  return session;
}

Session::Session()
    : options_(read_options_from_environment()), cpu_(probe_cpu()), nvrtc_(cuda::library_options(options_)) {}

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

std::shared_ptr<const cuda::Device> Session::gpu(int index) {
  const std::lock_guard lock(mutex_);
  if (!driver_) driver_ = cuda::Driver::load(cuda::library_options(options_));
  std::shared_ptr<const cuda::Device>& device = gpus_[index];
  if (!device) device = cuda::Device::open(driver_, index);
  return device;
}

bool Session::has_gpu() {
  if (!has_gpu_) {
    try {
      nvrtc_.identity(cache());
      gpu();
      has_gpu_ = true;
    } catch (const Error&) {
      has_gpu_ = false;
    }
  }
  return *has_gpu_;
}

int Session::num_threads() const { return options_.num_threads > 0 ? options_.num_threads : cpu_.num_cores; }

}  // namespace tilewright
