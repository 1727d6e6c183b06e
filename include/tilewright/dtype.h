// Element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

// An element type. Rounding and wrapping rules are written down in docs/language.md; `target/dtype.h` computes them.
enum class DType : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };

inline constexpr int kNumDTypes = 13;

constexpr bool is_float(DType t) { return t >= DType::f16; }
constexpr bool is_integer(DType t) { return t >= DType::i8 && t <= DType::u64; }
constexpr bool is_unsigned(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_boolean(DType t) { return t == DType::boolean; }

// Width of one element in memory. A boolean is one byte.
constexpr int bytes_of(DType t) {
  constexpr int kBytes[kNumDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return kBytes[static_cast<int>(t)];
}
constexpr int bits_of(DType t) { return 8 * bytes_of(t); }

// "f32", "i64", "bool", ...
constexpr std::string_view to_string(DType t) {
  constexpr std::string_view kNames[kNumDTypes] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                   "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return kNames[static_cast<int>(t)];
}

constexpr std::optional<DType> dtype_from_string(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (to_string(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace tilewright
