// The peer of kernels that move memory on an NVIDIA GPU.
#pragma once

#include "cuda_measure.h"

#include <dlfcn.h>

namespace bench {

// The driver's own copy, in the context of the device.
class DeviceCopy {
 public:
  explicit DeviceCopy(const tilewright::cuda::Device& device) : context_(device.context()) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error("bench: no NVIDIA driver");
    copy_ = reinterpret_cast<Copy*>(dlsym(library, "cuMemcpyDtoDAsync_v2"));
    set_current_ = reinterpret_cast<SetCurrent*>(dlsym(library, "cuCtxSetCurrent"));
    if (copy_ == nullptr || set_current_ == nullptr)
      throw std::runtime_error("bench: the NVIDIA driver lacks a function");
  }
  void operator()(uint64_t to, uint64_t from, size_t num_bytes) const {
    const int status = set_current_(context_) + copy_(to, from, num_bytes, nullptr);
    if (status != 0) throw std::runtime_error(fmt::format("bench: the driver's copy fails with {}", status));
  }

 private:
  using Copy = int(uint64_t, uint64_t, size_t, void*);
  using SetCurrent = int(void*);
  void* context_;
  Copy* copy_ = nullptr;
  SetCurrent* set_current_ = nullptr;
};

}  // namespace bench
