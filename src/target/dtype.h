// Exact numerics of element types: rounding, wrapping, and their representation in memory.
#pragma once

#include <tilewright/dtype.h>

#include <cstddef>
#include <cstdint>

namespace tilewright {

// `value` rounded to float dtype `t`, to nearest even; overflow gives infinity, subnormals are kept.
double round_to(DType t, double value);

// Significand bits including the hidden one (f16 11, bf16 8, f32 24, f64 53); unit roundoff is 2^-digits.
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
double load_float(DType t, const void* address);
void store_float(DType t, void* address, double value);  // rounds
int64_t load_int(DType t, const void* address);
void store_int(DType t, void* address, int64_t value);  // wraps

uint16_t f16_bits(double value);
uint16_t bf16_bits(double value);
double f16_value(uint16_t bits);
double bf16_value(uint16_t bits);

}  // namespace tilewright
