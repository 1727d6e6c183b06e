#include "runtime/cuda/driver.h"

#include "support/error.h"

namespace tilewright::cuda {
namespace {

constexpr int kOldestVersion = 12000;  // cuTensorMapEncodeTiled, cuLaunchKernelEx

// Of CUresult: what a kernel of ours or a call of ours does wrong. The others are the machine's.
bool is_own_fault(int status) {
  constexpr int kInvalidValue = 1, kInvalidHandle = 400, kNotFound = 500;
  constexpr int kFirstFault = 700, kLastFault = 719;  // illegal address, launch failure, misaligned address, ...
  constexpr int kOutOfResources = 701, kTimeout = 702;
  if (status == kInvalidValue || status == kInvalidHandle || status == kNotFound) return true;
  return status >= kFirstFault && status <= kLastFault && status != kTimeout && status != kOutOfResources;
}

std::string hint_for(int status) {
  switch (status) {
    case 2: return "the GPU has too little free memory";
    case 34:
      return "the toolkit's file to link with was loaded instead of the driver; TILEWRIGHT_CUDA_DRIVER names the right "
             "one";
    case 100: return "no NVIDIA GPU is visible; CUDA_VISIBLE_DEVICES or the container may hide it";
    case 209:
    case 222:
    case 200: return "the kernel was compiled for another architecture, or by an NVRTC newer than the driver";
    case 700:
    case 716:
    case 719: return "the context of this process is lost; compute-sanitizer shows the access";
    case 803:
    case 804: return "driver library and kernel module have different versions; restart the machine or container";
    default: return {};
  }
}

}  // namespace

Driver::Driver(SharedLibrary library) : library_(std::move(library)) {
  const auto bind = [&](auto*& function, const char* name) { library_.bind(function, name); };
  // The suffixes are part of the names: cuda.h maps cuMemAlloc to cuMemAlloc_v2 and so on.
  bind(api_.cuInit, "cuInit");
  bind(api_.cuDriverGetVersion, "cuDriverGetVersion");
  bind(api_.cuGetErrorName, "cuGetErrorName");
  bind(api_.cuGetErrorString, "cuGetErrorString");
  bind(api_.cuDeviceGetCount, "cuDeviceGetCount");
  bind(api_.cuDeviceGet, "cuDeviceGet");
  bind(api_.cuDeviceGetName, "cuDeviceGetName");
  bind(api_.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  bind(api_.cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  bind(api_.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  bind(api_.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  bind(api_.cuCtxGetCurrent, "cuCtxGetCurrent");
  bind(api_.cuCtxPushCurrent, "cuCtxPushCurrent_v2");
  bind(api_.cuCtxPopCurrent, "cuCtxPopCurrent_v2");
  bind(api_.cuCtxSynchronize, "cuCtxSynchronize");
  bind(api_.cuModuleLoadData, "cuModuleLoadData");
  bind(api_.cuModuleUnload, "cuModuleUnload");
  bind(api_.cuModuleGetFunction, "cuModuleGetFunction");
  bind(api_.cuFuncGetAttribute, "cuFuncGetAttribute");
  bind(api_.cuFuncSetAttribute, "cuFuncSetAttribute");
  bind(api_.cuLaunchKernelEx, "cuLaunchKernelEx");
  bind(api_.cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  bind(api_.cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters");
  bind(api_.cuMemAlloc, "cuMemAlloc_v2");
  bind(api_.cuMemFree, "cuMemFree_v2");
  bind(api_.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  bind(api_.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  bind(api_.cuMemsetD8Async, "cuMemsetD8Async");
  bind(api_.cuStreamCreate, "cuStreamCreate");
  bind(api_.cuStreamDestroy, "cuStreamDestroy_v2");
  bind(api_.cuStreamSynchronize, "cuStreamSynchronize");
  bind(api_.cuStreamIsCapturing, "cuStreamIsCapturing");
  bind(api_.cuEventCreate, "cuEventCreate");
  bind(api_.cuEventDestroy, "cuEventDestroy_v2");
  bind(api_.cuEventRecord, "cuEventRecord");
  bind(api_.cuEventSynchronize, "cuEventSynchronize");
  bind(api_.cuEventElapsedTime, "cuEventElapsedTime");
  bind(api_.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
}

std::shared_ptr<const Driver> Driver::load(const LibraryOptions& options) {
  SharedLibrary library = SharedLibrary::open(driver_search(options));
  // Asked before the rest is looked for, so that an old driver is called old and not incomplete.
  int (*get_version)(int*) = nullptr;
  library.bind(get_version, "cuDriverGetVersion");
  int version = 0;
  if (const int status = get_version(&version); status != 0) {
    throw toolchain_error("the CUDA driver does not tell its version: status {}", status)
        .note("loaded from " + library.path().string());
  }
  if (version < kOldestVersion) {
    throw toolchain_error("the CUDA driver supports CUDA {}.{}; {}.{} or later is needed", version / 1000,
                          version % 1000 / 10, kOldestVersion / 1000, kOldestVersion % 1000 / 10)
        .note("loaded from " + library.path().string())
        .hint("install a newer NVIDIA driver");
  }
  auto out = std::shared_ptr<Driver>(new Driver(std::move(library)));
  out->version_ = version;
  return out;
}

int Driver::num_devices() const {
  check(api_.cuInit(0), "cuInit");
  int count = 0;
  check(api_.cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

Error Driver::error(int status, std::string_view call) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api_.cuGetErrorName(status, &name) != 0 || name == nullptr) name = "an unknown status";
  if (api_.cuGetErrorString(status, &text) != 0 || text == nullptr) text = "no description";
  const std::string message = fmt::format("{} failed: {} ({}), {}", call, name, status, text);
  Error out(is_own_fault(status) ? ErrorKind::internal : ErrorKind::toolchain, message);
  if (const std::string hint = hint_for(status); !hint.empty()) return std::move(out).hint(hint);
  return out;
}

}  // namespace tilewright::cuda
