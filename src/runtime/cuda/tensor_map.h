// Tensor maps: how the tensor memory accelerator of sm_90 and later sees a tensor in global memory, and which box of it
// one copy moves. Encoded on the host, passed to a kernel as a `const __grid_constant__` parameter.
#pragma once

#include "runtime/cuda/device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::cuda {

// The values are those of CUtensorMapDataType. f32_ftz and tf32 change values as they are copied.
enum class TensorMapType : int { u8, u16, u32, i32, u64, i64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz };
int bytes_of(TensorMapType type);

// The order of 16-byte pieces in shared memory: piece index ^= 128-byte row index, in its lowest 1, 2 or 3 bits. The
// values are those of CUtensorMapSwizzle.
enum class TensorMapSwizzle : int { none, span32, span64, span128 };
int span_bytes(TensorMapSwizzle swizzle);  // 0 for none

// What the L2 cache fetches at once; the values are those of CUtensorMapL2promotion.
enum class L2Promotion : int { none, bytes64, bytes128, bytes256 };

// What a map cannot say is a rule for each copy: its coordinate in dimension 0 is a multiple of 16 bytes, and a store
// or reduction has no negative coordinate.
//
// Dimension 0 is the innermost, whose stride is one element. Rank 1 to 5.
struct TensorMapSpec {
  TensorMapType type = TensorMapType::f32;
  std::vector<uint64_t> extents;               // elements
  std::vector<uint64_t> strides_bytes;         // of dimensions 1 ..
  std::vector<uint32_t> box;                   // elements that one copy moves
  std::vector<uint32_t> element_strides = {};  // every n-th element of dimensions 1 ..; empty: 1
  TensorMapSwizzle swizzle = TensorMapSwizzle::none;
  L2Promotion l2_promotion = L2Promotion::bytes128;
  bool fill_nan = false;  // elements outside the tensor read as a NaN that products turn into zero, instead of zero
};

// The rule that `spec` at `address` breaks, with its values; nothing when it can be encoded. (CUDA driver API manual,
// cuTensorMapEncodeTiled.)
std::optional<std::string> why_not_encodable(const TensorMapSpec& spec, DeviceAddress address);

// Why copies to global memory by such a map may write beside the tensor: the hardware cuts rows off at multiples of 16
// bytes (measured on an H200; loads are cut to the element). Nothing when they cannot.
std::optional<std::string> why_not_storable(const TensorMapSpec& spec);

// Throws an Error (internal) with the broken rule: callers ask why_not_encodable where they have another path.
TensorMap encode_tensor_map(const Device& device, const TensorMapSpec& spec, DeviceAddress address);

}  // namespace tilewright::cuda
