#include "runtime/cuda/tensor_map.h"

#include "support/error.h"

namespace tilewright::cuda {
namespace {

constexpr uint64_t kMaxExtent = uint64_t(1) << 32;
constexpr uint64_t kMaxStrideBytes = (uint64_t(1) << 40) - 1;
constexpr uint32_t kMaxBox = 256;
constexpr uint32_t kMaxElementStride = 8;
constexpr uint64_t kAlignment = 16;

std::optional<std::string> shape_problem(const TensorMapSpec& spec) {
  const size_t rank = spec.extents.size();
  if (rank < 1 || rank > 5) return fmt::format("it has {} dimensions; 1 to 5 are possible", rank);
  if (spec.strides_bytes.size() != rank - 1 || spec.box.size() != rank ||
      (!spec.element_strides.empty() && spec.element_strides.size() != rank)) {
    return fmt::format("{} extents come with {} strides, {} box extents and {} element strides", rank,
                       spec.strides_bytes.size(), spec.box.size(), spec.element_strides.size());
  }
  return std::nullopt;
}

std::optional<std::string> dimension_problem(const TensorMapSpec& spec, size_t i) {
  if (spec.extents[i] < 1 || spec.extents[i] > kMaxExtent) {
    return fmt::format("the extent of dimension {} is {}; 1 to {} is possible", i, spec.extents[i], kMaxExtent);
  }
  if (spec.box[i] < 1 || spec.box[i] > kMaxBox) {
    return fmt::format("the box extent of dimension {} is {}; 1 to {} is possible", i, spec.box[i], kMaxBox);
  }
  // The hardware ignores a stride of the innermost dimension.
  const uint32_t step = spec.element_strides.empty() ? 1 : spec.element_strides[i];
  const uint32_t max_step = i == 0 ? 1 : kMaxElementStride;
  if (step < 1 || step > max_step) {
    return fmt::format("the element stride of dimension {} is {}; 1 to {} is possible", i, step, max_step);
  }
  if (i == 0) return std::nullopt;
  const uint64_t stride = spec.strides_bytes[i - 1];
  if (stride % kAlignment != 0 || stride > kMaxStrideBytes) {
    return fmt::format("the stride of dimension {} is {} bytes; a multiple of {} below 2^40 is possible", i, stride,
                       kAlignment);
  }
  return std::nullopt;
}

std::optional<std::string> box_problem(const TensorMapSpec& spec) {
  const uint64_t inner_bytes = spec.box[0] * uint64_t(bytes_of(spec.type));
  if (inner_bytes % kAlignment != 0) {
    return fmt::format("a row of the box has {} bytes; a multiple of {} is possible", inner_bytes, kAlignment);
  }
  const int span = span_bytes(spec.swizzle);
  if (span != 0 && inner_bytes > uint64_t(span)) {
    return fmt::format("a row of the box has {} bytes; with this swizzle at most {} are possible", inner_bytes, span);
  }
  return std::nullopt;
}

}  // namespace

int bytes_of(TensorMapType type) {
  switch (type) {
    case TensorMapType::u8: return 1;
    case TensorMapType::u16:
    case TensorMapType::f16:
    case TensorMapType::bf16: return 2;
    case TensorMapType::u32:
    case TensorMapType::i32:
    case TensorMapType::f32:
    case TensorMapType::f32_ftz:
    case TensorMapType::tf32:
    case TensorMapType::tf32_ftz: return 4;
    case TensorMapType::u64:
    case TensorMapType::i64:
    case TensorMapType::f64: return 8;
  }
  throw internal_error({}, "tensor map type {} does not exist", int(type));
}

int span_bytes(TensorMapSwizzle swizzle) { return swizzle == TensorMapSwizzle::none ? 0 : 16 << int(swizzle); }

std::optional<std::string> why_not_encodable(const TensorMapSpec& spec, DeviceAddress address) {
  if (auto problem = shape_problem(spec)) return problem;
  if (address % kAlignment != 0) {
    return fmt::format("the tensor starts at {:#x}; a multiple of {} is possible", address, kAlignment);
  }
  for (size_t i = 0; i < spec.extents.size(); ++i) {
    if (auto problem = dimension_problem(spec, i)) return problem;
  }
  return box_problem(spec);
}

std::optional<std::string> why_not_storable(const TensorMapSpec& spec) {
  const uint64_t row_bytes = spec.extents.at(0) * uint64_t(bytes_of(spec.type));
  if (row_bytes % kAlignment == 0) return std::nullopt;
  return fmt::format("a row of the tensor has {} bytes; stores write whole multiples of {}", row_bytes, kAlignment);
}

TensorMap encode_tensor_map(const Device& device, const TensorMapSpec& spec, DeviceAddress address) {
  if (const auto problem = why_not_encodable(spec, address)) {
    throw internal_error({}, "a tensor map cannot be encoded: {}", *problem);
  }
  const size_t rank = spec.extents.size();
  const std::vector<uint32_t> steps =
      spec.element_strides.empty() ? std::vector<uint32_t>(rank, 1) : spec.element_strides;
  // The driver refuses a null pointer, also where there are no strides.
  const std::vector<uint64_t> strides = rank > 1 ? spec.strides_bytes : std::vector<uint64_t>(1, 0);
  // CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_*.
  constexpr int kNotInterleaved = 0;
  TensorMap out = {};
  // The driver looks the address up in the current context.
  const CurrentContext current(device);
  const int status = device.driver().api().cuTensorMapEncodeTiled(
      &out, int(spec.type), uint32_t(rank), reinterpret_cast<void*>(address), spec.extents.data(), strides.data(),
      spec.box.data(), steps.data(), kNotInterleaved, int(spec.swizzle), int(spec.l2_promotion), spec.fill_nan ? 1 : 0);
  device.driver().check(status, "encoding a tensor map");
  return out;
}

}  // namespace tilewright::cuda
