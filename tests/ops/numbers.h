// The arithmetic of references: rounding, wrapping and casts computed from their definitions on long double.
#pragma once

#include "ops/host_array.h"

#include <cmath>
#include <cstdint>

namespace tilewright::tests {

// Significand bits, exponent of the smallest normal number, and of the largest finite one.
struct FloatFormat {
  int digits, min_exponent, max_exponent;
};
FloatFormat format_of(DType t);

Real top_of(DType t);  // the largest finite number
bool is_8_bit_float(DType t);
// To nearest, ties to even; infinity from half an ulp above the largest finite number, but that number for 8-bit
// floats, also for an infinity.
Real round_real(DType t, Real value);
// The number that the bits of a float of at most 32 bits stand for.
Real value_of_bits(DType t, uint32_t bits);
// The neighbour of x towards `to`.
Real neighbour(DType t, Real x, Real to);
// Distance of neighbouring numbers at |value|.
Real ulp(DType t, Real value);
Real unit_of(DType t);       // 2^-digits
Real subnormal_of(DType t);  // the smallest positive number

// Two's complement to `t`; the value as a number.
Real wrap_real(DType t, uint64_t bits);
// An integer element as 64 bits.
uint64_t bits_of_int(Real value);

// cast(value, to) of an element of dtype `from`.
Real cast_real(Real value, DType from, DType to);

}  // namespace tilewright::tests
