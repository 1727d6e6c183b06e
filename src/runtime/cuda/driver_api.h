// The part of the CUDA driver's C interface that is used, declared here because no header of the toolkit is: the names
// and layouts of cuda.h, which are the driver's binary interface and do not change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cuda {

// The same types as in the driver's and the run time's headers, so that a cudaStream_t or CUstream passes as it is.
using Stream = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using ContextHandle = struct CUctx_st*;
using DeviceHandle = int;
using DeviceAddress = uint64_t;

// CUtensorMap: what the tensor memory accelerator is given; opaque.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

// CUlaunchAttribute and CUlaunchConfig.
struct alignas(8) LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    uint32_t cluster[3];
    int flag;
  };
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, bytes) == 8);

struct DriverLaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  uint32_t num_attributes;
};
static_assert(sizeof(DriverLaunchConfig) == 56 && offsetof(DriverLaunchConfig, stream) == 32);

// CUlaunchAttributeID.
constexpr int kLaunchCooperative = 2, kLaunchCluster = 4, kLaunchProgrammaticSerialization = 6;

// CUfunction_attribute.
enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  static_shared_bytes = 1,
  local_bytes = 3,
  num_registers = 4,
  max_dynamic_shared_bytes = 8,
  non_portable_cluster_size = 14,
};

// CUdevice_attribute.
enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  warp_size = 10,
  clock_khz = 13,
  num_sms = 16,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  l2_bytes = 38,
  max_threads_per_sm = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_bytes_per_sm = 81,
  registers_per_sm = 82,
  max_shared_bytes_per_block = 97,
};

struct DriverApi {
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int*);
  int (*cuGetErrorName)(int, const char**);
  int (*cuGetErrorString)(int, const char**);
  int (*cuDeviceGetCount)(int*);
  int (*cuDeviceGet)(DeviceHandle*, int ordinal);
  int (*cuDeviceGetName)(char*, int size, DeviceHandle);
  int (*cuDeviceGetAttribute)(int*, int attribute, DeviceHandle);
  int (*cuDeviceTotalMem)(size_t*, DeviceHandle);
  int (*cuDevicePrimaryCtxRetain)(ContextHandle*, DeviceHandle);
  int (*cuDevicePrimaryCtxRelease)(DeviceHandle);
  int (*cuCtxGetCurrent)(ContextHandle*);
  int (*cuCtxPushCurrent)(ContextHandle);
  int (*cuCtxPopCurrent)(ContextHandle*);
  int (*cuCtxSynchronize)();
  int (*cuModuleLoadData)(ModuleHandle*, const void* image);
  int (*cuModuleUnload)(ModuleHandle);
  int (*cuModuleGetFunction)(FunctionHandle*, ModuleHandle, const char* name);
  int (*cuFuncGetAttribute)(int*, int attribute, FunctionHandle);
  int (*cuFuncSetAttribute)(FunctionHandle, int attribute, int value);
  int (*cuLaunchKernelEx)(const DriverLaunchConfig*, FunctionHandle, void** parameters, void** extra);
  int (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int*, FunctionHandle, int block_threads, size_t shared_bytes);
  int (*cuOccupancyMaxActiveClusters)(int*, FunctionHandle, const DriverLaunchConfig*);
  int (*cuMemAlloc)(DeviceAddress*, size_t);
  int (*cuMemFree)(DeviceAddress);
  int (*cuMemcpyHtoDAsync)(DeviceAddress, const void*, size_t, Stream);
  int (*cuMemcpyDtoHAsync)(void*, DeviceAddress, size_t, Stream);
  int (*cuMemsetD8Async)(DeviceAddress, unsigned char, size_t, Stream);
  int (*cuStreamCreate)(Stream*, unsigned flags);
  int (*cuStreamDestroy)(Stream);
  int (*cuStreamSynchronize)(Stream);
  int (*cuStreamIsCapturing)(Stream, int* status);
  int (*cuEventCreate)(EventHandle*, unsigned flags);
  int (*cuEventDestroy)(EventHandle);
  int (*cuEventRecord)(EventHandle, Stream);
  int (*cuEventSynchronize)(EventHandle);
  int (*cuEventElapsedTime)(float* ms, EventHandle begin, EventHandle end);
  int (*cuTensorMapEncodeTiled)(TensorMap*, int dtype, uint32_t rank, void* address, const uint64_t* extents,
                                const uint64_t* strides_bytes, const uint32_t* box, const uint32_t* element_strides,
                                int interleave, int swizzle, int l2_promotion, int fill);
};

}  // namespace tilewright::cuda
