// Tensor maps of the simulator: as opaque to a kernel as those that the driver encodes, and as large.
#pragma once

#include "runtime/cuda/tensor_map.h"

#include <array>
#include <cstdint>

namespace tilewright::sim {

// What a map says. Dimension 0 is the innermost.
struct TensorBox {
  uint32_t mark = 0;  // of maps that encode_tensor_map made
  cuda::TensorMapType type = cuda::TensorMapType::u8;
  cuda::TensorMapSwizzle swizzle = cuda::TensorMapSwizzle::none;
  uint8_t rank = 0;
  bool fill_nan = false;
  std::array<uint16_t, 5> box = {};   // elements that a copy spans
  std::array<uint8_t, 5> steps = {};  // of which every so many-th is copied
  std::array<uint64_t, 5> extents = {};
  std::array<uint64_t, 5> strides = {};  // bytes
  unsigned char* base = nullptr;

  bool is_valid() const { return mark == kMark; }
  uint32_t copied(int d) const { return (box[size_t(d)] + steps[size_t(d)] - 1u) / steps[size_t(d)]; }
  static constexpr uint32_t kMark = 0x74776d70;
};
static_assert(sizeof(TensorBox) <= sizeof(cuda::TensorMap));

// As cuda::encode_tensor_map, for a tensor in memory of the host. Throws an Error (internal) with the broken rule, or
// (unsupported) for types that change values as they are copied.
cuda::TensorMap encode_tensor_map(const cuda::TensorMapSpec& spec, void* tensor);
TensorBox decode_tensor_map(const void* map);

}  // namespace tilewright::sim
