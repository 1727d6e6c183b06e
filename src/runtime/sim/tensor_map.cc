#include "runtime/sim/tensor_map.h"

#include "support/error.h"

#include <algorithm>
#include <cstring>

namespace tilewright::sim {

cuda::TensorMap encode_tensor_map(const cuda::TensorMapSpec& spec, void* tensor) {
  using enum cuda::TensorMapType;
  if (const auto problem = cuda::why_not_encodable(spec, reinterpret_cast<uintptr_t>(tensor))) {
    throw internal_error({}, "a tensor map cannot be encoded: {}", *problem);
  }
  if (spec.type == f32_ftz || spec.type == tf32 || spec.type == tf32_ftz) {
    throw unsupported({}, "the simulator has no tensor maps that change values as they are copied")
        .hint("f32 copies them as they are");
  }
  TensorBox out{.mark = TensorBox::kMark, .type = spec.type, .swizzle = spec.swizzle};
  out.rank = uint8_t(spec.extents.size());
  out.fill_nan = spec.fill_nan;
  out.base = static_cast<unsigned char*>(tensor);
  for (size_t d = 0; d < spec.extents.size(); ++d) {
    out.extents[d] = spec.extents[d];
    out.box[d] = uint16_t(spec.box[d]);
    out.steps[d] = uint8_t(spec.element_strides.empty() ? 1 : spec.element_strides[d]);
    out.strides[d] = d == 0 ? uint64_t(cuda::bytes_of(spec.type)) : spec.strides_bytes[d - 1];
  }
  cuda::TensorMap map = {};
  std::memcpy(&map, &out, sizeof out);
  return map;
}

TensorBox decode_tensor_map(const void* map) {
  TensorBox out;
  std::memcpy(&out, map, sizeof out);
  return out;
}

}  // namespace tilewright::sim
