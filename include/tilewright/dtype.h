// Element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

// An element type. Rounding and wrapping rules are written down in docs/language.md; `target/dtype.h` computes them.
// f8e4m3 is OCP's E4M3 (e4m3fn: NaN but no infinity), f8e5m2 is OCP's E5M2, tf32 a 32-bit float of 10 fraction bits.
enum class DType : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f8e4m3, f8e5m2, f16, bf16, tf32, f32, f64 };

inline constexpr int kNumDTypes = 16;

constexpr bool is_float(DType t) { return t >= DType::f8e4m3; }
// Every value is one of f32, and f32 has digits to spare.
constexpr bool is_narrow_float(DType t) { return t >= DType::f8e4m3 && t <= DType::tf32; }
constexpr bool is_integer(DType t) { return t >= DType::i8 && t <= DType::u64; }
constexpr bool is_unsigned(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_boolean(DType t) { return t == DType::boolean; }

// Width of one element in memory. A boolean is one byte.
constexpr int bytes_of(DType t) {
  constexpr int kBytes[kNumDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8};
  return kBytes[static_cast<int>(t)];
}
constexpr int bits_of(DType t) { return 8 * bytes_of(t); }

// "f32", "i64", "bool", ...
constexpr std::string_view to_string(DType t) {
  constexpr std::string_view kNames[kNumDTypes] = {"bool", "i8",     "i16",    "i32", "i64",  "u8",   "u16", "u32",
                                                   "u64",  "f8e4m3", "f8e5m2", "f16", "bf16", "tf32", "f32", "f64"};
  return kNames[static_cast<int>(t)];
}

constexpr std::optional<DType> dtype_from_string(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (to_string(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace tilewright
