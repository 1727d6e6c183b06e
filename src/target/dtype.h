// Exact numerics of element types: rounding, wrapping, and their representation in memory.
#pragma once

#include <tilewright/dtype.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {

// The 8-bit floats: beyond the largest finite value a conversion gives that value, also for an infinity.
constexpr bool saturates(DType t) { return t == DType::f8e4m3 || t == DType::f8e5m2; }
constexpr bool has_infinity(DType t) { return is_float(t) && t != DType::f8e4m3; }

// `value` converted to float dtype `t`: rounded to nearest even, subnormals kept; overflow gives infinity, or
// saturates.
double round_to(DType t, double value);
// The same, but an infinity that `t` has stays: how a number that is written down becomes one of `t`.
double constant_of(DType t, double value);
// Whether `value` is half a unit or more beyond the largest finite value, or an infinity that `t` lacks.
bool is_outside(DType t, double value);
// Every value of `from` is one of `to`, for float dtypes.
bool holds_all(DType to, DType from);
// Element types that the language has elsewhere and that are not built: "i4", "f4e2m1", ...
bool is_unbuilt_dtype(std::string_view name);

// Significand bits including the hidden one (f8e4m3 4, f8e5m2 3, f16 and tf32 11, bf16 8, f32 24, f64 53); unit
// roundoff is 2^-digits.
int significand_digits(DType t);
double unit_roundoff(DType t);
// Smallest positive subnormal.
double smallest_subnormal(DType t);
double largest_finite(DType t);
int64_t min_value(DType t);  // integers and bool; u64 as the bit pattern
int64_t max_value(DType t);

// A float truncated and saturated to integer dtype `t`, NaN gives 0; to bool "is not zero". u64 is returned as its bit
// pattern.
int64_t saturate_to_int(DType t, double value);

// One element in memory, native byte order.
double load_float(DType t, const void* address);         // tf32: the 32-bit float there, rounded
void store_float(DType t, void* address, double value);  // rounds as constant_of
int64_t load_int(DType t, const void* address);
void store_int(DType t, void* address, int64_t value);  // wraps

// Bits of constant_of(value), and values of bits.
uint8_t f8e4m3_bits(double value);
uint8_t f8e5m2_bits(double value);
double f8e4m3_value(uint8_t bits);
double f8e5m2_value(uint8_t bits);
uint16_t f16_bits(double value);
uint16_t bf16_bits(double value);
double f16_value(uint16_t bits);
double bf16_value(uint16_t bits);

}  // namespace tilewright
