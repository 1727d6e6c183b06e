// A CUDA driver in host memory: allocations come from malloc, modules are never read, and a launch copies its whole
// configuration to where `fake_record` finds it.
#pragma once

#include <cstdint>

namespace tilewright::test {

struct FakeRecord {
  uint32_t grid[3], block[3], dynamic_shared_bytes, num_attributes;
  void* stream;
  int attribute_ids[4];
  uint32_t attribute_values[4][3];
  const void* parameters;
  int shared_bytes_set;
  int large_clusters_set;
  int contexts_pushed, contexts_popped, modules_unloaded, allocations;
  uint64_t map_arguments[32];
};

// With the macros VERSION, INIT_STATUS, DEVICES, LAUNCH_STATUS, ALLOC_STATUS and NO_LAUNCH (leaves a function out).
inline constexpr const char* kFakeDriver = R"(
#include <cstdint>
#include <cstdlib>
#include <cstring>
#ifndef VERSION
#define VERSION 12040
#endif
#ifndef INIT_STATUS
#define INIT_STATUS 0
#endif
#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef LAUNCH_STATUS
#define LAUNCH_STATUS 0
#endif
#ifndef ALLOC_STATUS
#define ALLOC_STATUS 0
#endif
extern "C" {
struct Record {
  uint32_t grid[3], block[3], dynamic_shared_bytes, num_attributes;
  void* stream;
  int attribute_ids[4];
  uint32_t attribute_values[4][3];
  const void* parameters;
  int shared_bytes_set, large_clusters_set;
  int contexts_pushed, contexts_popped, modules_unloaded, allocations;
  uint64_t map_arguments[32];
};
static Record record;
static void* current = (void*)0x77;
Record* fake_record() { return &record; }
struct Attribute { int id; char pad[4]; uint32_t value[16]; };
struct Config {
  uint32_t grid[3], block[3], shared; void* stream; const Attribute* attributes; uint32_t num_attributes;
};
int cuInit(unsigned) { return INIT_STATUS; }
int cuDriverGetVersion(int* v) { *v = VERSION; return 0; }
int cuGetErrorName(int status, const char** out) {
  *out = status == 100 ? "CUDA_ERROR_NO_DEVICE" : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : nullptr;
  return *out ? 0 : 1;
}
int cuGetErrorString(int, const char** out) { *out = "said by the fake"; return 0; }
int cuDeviceGetCount(int* n) { *n = DEVICES; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal + 10; return 0; }
int cuDeviceGetName(char* out, int size, int) { strncpy(out, "Fake GPU", size); return 0; }
int cuDeviceGetAttribute(int* out, int attribute, int) {
  *out = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : attribute == 16 ? 132 : attribute;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* out, int) { *out = size_t(141) << 30; return 0; }
int cuDevicePrimaryCtxRetain(void** out, int) { *out = (void*)0x99; return 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxGetCurrent(void** out) { *out = current; return 0; }
int cuCtxPushCurrent_v2(void* context) { ++record.contexts_pushed; current = context; return 0; }
int cuCtxPopCurrent_v2(void** out) { ++record.contexts_popped; *out = current; current = (void*)0x77; return 0; }
int cuCtxSynchronize() { return current == (void*)0x99 ? 0 : 201; }
int cuModuleLoadData(void** out, const void* image) { *out = (void*)image; return *(const char*)image == 'X' ? 200 : 0; }
int cuModuleUnload(void*) { ++record.modules_unloaded; return 0; }
int cuModuleGetFunction(void** out, void*, const char* name) {
  *out = (void*)0x55;
  return strcmp(name, "k") == 0 ? 0 : 500;
}
int cuFuncGetAttribute(int* out, int attribute, void*) { *out = attribute == 1 ? 1024 : 7; return 0; }
int cuFuncSetAttribute(void*, int attribute, int value) {
  (attribute == 8 ? record.shared_bytes_set : record.large_clusters_set) = value;
  return attribute == 8 || attribute == 14 ? 0 : 1;
}
#ifndef NO_LAUNCH
int cuLaunchKernelEx(const Config* config, void*, void** parameters, void** extra) {
  memcpy(record.grid, config->grid, 12);
  memcpy(record.block, config->block, 12);
  record.dynamic_shared_bytes = config->shared;
  record.stream = config->stream;
  record.num_attributes = config->num_attributes;
  for (uint32_t i = 0; i < config->num_attributes; ++i) {
    record.attribute_ids[i] = config->attributes[i].id;
    memcpy(record.attribute_values[i], config->attributes[i].value, 12);
  }
  record.parameters = parameters[0];
  return extra == nullptr && current == (void*)0x99 ? LAUNCH_STATUS : 201;
}
#endif
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, void*, int threads, size_t) { *out = 2048 / threads; return 0; }
int cuOccupancyMaxActiveClusters(int* out, void*, const Config* config) { *out = 132 / config->attributes[0].value[0]; return 0; }
int cuMemAlloc_v2(uint64_t* out, size_t bytes) {
  if (ALLOC_STATUS) return ALLOC_STATUS;
  ++record.allocations;
  *out = (uint64_t)malloc(bytes);
  return 0;
}
int cuMemFree_v2(uint64_t p) { --record.allocations; free((void*)p); return 0; }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t n, void*) { memcpy((void*)to, from, n); return 0; }
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t n, void*) { memcpy(to, (void*)from, n); return 0; }
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void*) { memset((void*)to, value, n); return 0; }
int cuStreamCreate(void** out, unsigned) { *out = (void*)0x33; return 0; }
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuStreamIsCapturing(void*, int* status) { return *status = 0; }
int cuEventCreate(void** out, unsigned) { *out = (void*)0x44; return 0; }
int cuEventDestroy_v2(void*) { return 0; }
int cuEventRecord(void*, void*) { return 0; }
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* ms, void*, void*) { *ms = 1.5f; return 0; }
int cuTensorMapEncodeTiled(uint64_t* map, int type, uint32_t rank, void* address, const uint64_t* extents,
                           const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int interleave, int swizzle,
                           int promotion, int fill) {
  if (current != (void*)0x99) return 201;
  if (!extents || !strides || !box || !steps) return 1;
  uint64_t* a = record.map_arguments;
  *a++ = type, *a++ = rank, *a++ = (uint64_t)address;
  for (uint32_t i = 0; i < rank; ++i) *a++ = extents[i];
  for (uint32_t i = 0; i + 1 < rank; ++i) *a++ = strides[i];
  for (uint32_t i = 0; i < rank; ++i) *a++ = box[i];
  for (uint32_t i = 0; i < rank; ++i) *a++ = steps[i];
  *a++ = interleave, *a++ = swizzle, *a++ = promotion, *a++ = fill;
  for (int i = 0; i < 16; ++i) map[i] = 100 + i;
  return 0;
}
}
)";

}  // namespace tilewright::test
