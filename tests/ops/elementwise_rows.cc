// Scalar operations inside T::Parallel, each over all pairs of a list of edge values.
#include "ops/pairs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using T::Expr;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

Real ignoring_nan(Real a, Real b, bool max) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return max ? std::max(a, b) : std::min(a, b);
}

std::vector<BinaryOp> float_ops() {
  return {
      {"a + b", [](auto& a, auto& b) { return a + b; },
       [](Real a, Real b, DType t) { return Value{round_real(t, a + b)}; }},
      {"a - b", [](auto& a, auto& b) { return a - b; },
       [](Real a, Real b, DType t) { return Value{round_real(t, a - b)}; }},
      {"a * b", [](auto& a, auto& b) { return a * b; },
       [](Real a, Real b, DType t) {
         // The product of two f64 numbers may have more bits than Real; std::fma finds the rest.
         if (t == T::f64) return Value{static_cast<double>(a) * static_cast<double>(b)};
         return Value{round_real(t, a * b)};
       }},
      {"a / b", [](auto& a, auto& b) { return a / b; },
       [](Real a, Real b, DType t) {
         if (t == T::f64) return Value{static_cast<double>(a) / static_cast<double>(b)};
         return Value{round_real(t, a / b)};
       }},
      {"-a", [](auto& a, auto&) { return -a; }, [](Real a, Real, DType t) { return Value{round_real(t, -a)}; }},
      {"abs", [](auto& a, auto&) { return T::abs(a); }, [](Real a, Real, DType) { return Value{std::fabs(a)}; }},
      {"max", [](auto& a, auto& b) { return T::max(a, b); },
       [](Real a, Real b, DType) { return Value{ignoring_nan(a, b, true)}; }},
      {"min", [](auto& a, auto& b) { return T::min(a, b); },
       [](Real a, Real b, DType) { return Value{ignoring_nan(a, b, false)}; }},
      {"max 0", [](auto& a, auto&) { return T::max(a, 0); },
       [](Real a, Real, DType) { return Value{ignoring_nan(a, 0, true)}; }},
      {"floor", [](auto& a, auto&) { return T::floor(a); }, [](Real a, Real, DType) { return Value{std::floor(a)}; }},
      {"ceil", [](auto& a, auto&) { return T::ceil(a); }, [](Real a, Real, DType) { return Value{std::ceil(a)}; }},
      {"round", [](auto& a, auto&) { return T::round(a); },
       [](Real a, Real, DType) { return Value{std::nearbyint(a)}; }},
      {"a < b", [](auto& a, auto& b) { return T::if_then_else(a < b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a < b)}; }},
      {"a <= b", [](auto& a, auto& b) { return T::if_then_else(a <= b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a <= b)}; }},
      {"a > b", [](auto& a, auto& b) { return T::if_then_else(a > b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a > b)}; }},
      {"a >= b", [](auto& a, auto& b) { return T::if_then_else(a >= b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a >= b)}; }},
      {"a == b", [](auto& a, auto& b) { return T::if_then_else(a == b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a == b)}; }},
      {"a != b", [](auto& a, auto& b) { return T::if_then_else(a != b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a != b)}; }},
      {"logic", [](auto& a, auto& b) { return T::if_then_else((a < b && !(a < 0)) || b == 0, a, b); },
       [](Real a, Real b, DType) { return Value{(a < b && !(a < 0)) || b == 0 ? a : b}; }},
      {"a * 3 - 0.5", [](auto& a, auto&) { return a * 3 - 0.5; },
       [](Real a, Real, DType t) {
         const Real r = a * 3 - Real(0.5);
         if (!(std::fabs(a * 4) < std::ldexp(Real(1), format_of(t).max_exponent))) return Value{r, kInf};
         return Value{r, unit_of(t) * std::fabs(a * 3) + unit_of(t) * (std::fabs(r) + unit_of(t) * std::fabs(a * 3)) +
                             subnormal_of(t)};
       }},
      {"through i32", [](auto& a, auto&) { return T::cast(T::cast(a, T::i32), T::f32) / 2; },
       [](Real a, Real, DType t) {
         const Real whole = cast_real(a, T::f64, T::i32);
         return Value{round_real(t, round_real(T::f32, whole) / 2)};
       }},
  };
}

// Comparisons give 0 or 1 in a floating tensor.
Row float_row(DType dtype) {
  const Real top = std::ldexp(2 - 2 * unit_of(dtype) * 2, format_of(dtype).max_exponent), tiny = subnormal_of(dtype);
  return pairs_row("float ops", dtype,
                   {0,       -0.0L,   1,    -1,   0.5L, -1.5L, 2.5L, 3,         -7.25L, 0.1L,  1e-3L,
                    -123.4L, 1000.5L, 2048, 6e4L, top,  -top,  tiny, -3 * tiny, kInf,   -kInf, kNan},
                   float_ops());
}

// Floor division on numbers of at most 64 bits, from its definition q = floor(a / b), 0 for b = 0.
Real floor_quotient(Real a, Real b) {
  if (b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  const auto x = bits_of_int(std::fabs(a)), y = bits_of_int(std::fabs(b));
  const Real q = static_cast<Real>(x / y);
  return negative ? -q - (x % y != 0 ? 1 : 0) : q;
}

Value wrapped(DType t, uint64_t bits) { return {wrap_real(t, bits)}; }
uint64_t u(Real x) { return bits_of_int(x); }
// A quotient of 2^63 does not fit the signed 64 bits of bits_of_int's negative branch; as bits it is the same number.
Value wrapped_quotient(DType t, Real a, Real b) { return wrapped(t, u(floor_quotient(a, b))); }

Real truncated_quotient(Real a, Real b) {
  if (b == 0) return 0;
  const auto q = static_cast<Real>(bits_of_int(std::fabs(a)) / bits_of_int(std::fabs(b)));
  return (a < 0) != (b < 0) ? -q : q;
}

struct BitCounts {
  int ones = 0, leading_zeros = 0;
};
BitCounts bit_counts(Real a, DType t) {
  BitCounts out;
  for (int bit = bits_of(t) - 1; bit >= 0; --bit) {
    out.ones += (u(a) >> bit) & 1;
    out.leading_zeros += out.ones == 0;
  }
  return out;
}

Real highest(DType t) { return std::ldexp(Real(1), bits_of(t) - (is_unsigned(t) ? 0 : 1)) - 1; }
Real lowest(DType t) { return is_unsigned(t) ? Real(0) : -highest(t) - 1; }

Value shifted(DType t, Real a, Real amount, bool left) {
  const int bits = bits_of(t);
  const bool outside = amount < 0 || amount >= bits;
  if (left) return outside ? Value{0} : wrapped(t, u(a) << static_cast<int>(amount));
  if (outside) return {a < 0 ? Real(-1) : Real(0)};
  return {std::floor(std::ldexp(a, -static_cast<int>(amount)))};
}

std::vector<BinaryOp> integer_ops() {
  return {
      {"a + b", [](auto& a, auto& b) { return a + b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) + u(b)); }},
      {"a - b", [](auto& a, auto& b) { return a - b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) - u(b)); }},
      {"a * b", [](auto& a, auto& b) { return a * b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) * u(b)); }},
      {"-a", [](auto& a, auto&) { return -a; }, [](Real a, Real, DType t) { return wrapped(t, 0 - u(a)); }},
      {"floordiv", [](auto& a, auto& b) { return T::floordiv(a, b); },
       [](Real a, Real b, DType t) { return wrapped_quotient(t, a, b); }},
      {"floormod", [](auto& a, auto& b) { return T::floormod(a, b); },
       [](Real a, Real b, DType t) { return b == 0 ? Value{a} : wrapped(t, u(a) - u(floor_quotient(a, b)) * u(b)); }},
      {"a / b", [](auto& a, auto& b) { return a / b; },
       [](Real a, Real b, DType t) { return wrapped_quotient(t, a, b); }},
      {"a % b", [](auto& a, auto& b) { return a % b; },
       [](Real a, Real b, DType t) { return b == 0 ? Value{a} : wrapped(t, u(a) - u(floor_quotient(a, b)) * u(b)); }},
      {"a / 7", [](auto& a, auto&) { return a / 7; }, [](Real a, Real, DType t) { return wrapped_quotient(t, a, 7); }},
      {"a % 8", [](auto& a, auto&) { return a % 8; },
       [](Real a, Real, DType t) { return wrapped(t, u(a) - u(floor_quotient(a, 8)) * 8); }},
      {"a & b", [](auto& a, auto& b) { return a & b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) & u(b)); }},
      {"a | b", [](auto& a, auto& b) { return a | b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) | u(b)); }},
      {"a ^ b", [](auto& a, auto& b) { return a ^ b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) ^ u(b)); }},
      {"a << b", [](auto& a, auto& b) { return a << b; },
       [](Real a, Real b, DType t) { return shifted(t, a, b, true); }},
      {"a >> b", [](auto& a, auto& b) { return a >> b; },
       [](Real a, Real b, DType t) { return shifted(t, a, b, false); }},
      {"max", [](auto& a, auto& b) { return T::max(a, b); },
       [](Real a, Real b, DType) { return Value{std::max(a, b)}; }},
      {"min", [](auto& a, auto& b) { return T::min(a, b); },
       [](Real a, Real b, DType) { return Value{std::min(a, b)}; }},
      {"ceildiv", [](auto& a, auto&) { return T::ceildiv(a, 4); },
       [](Real a, Real, DType t) { return wrapped_quotient(t, wrap_real(t, u(a) + 3), 4); }},
      {"a < b", [](auto& a, auto& b) { return T::if_then_else(a < b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a < b)}; }},
      {"a >= b", [](auto& a, auto& b) { return T::if_then_else(a >= b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a >= b)}; }},
      {"a == b", [](auto& a, auto& b) { return T::if_then_else(a == b, a, b); },
       [](Real, Real b, DType) { return Value{b}; }},
      {"a != b", [](auto& a, auto& b) { return T::if_then_else(a != b, a, 1); },
       [](Real a, Real b, DType) { return Value{a != b ? a : Real(1)}; }},
      {"truncdiv", [](auto& a, auto& b) { return T::truncdiv(a, b); },
       [](Real a, Real b, DType t) { return wrapped(t, u(truncated_quotient(a, b))); }},
      {"truncmod", [](auto& a, auto& b) { return T::truncmod(a, b); },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) - u(truncated_quotient(a, b)) * u(b)); }},
      {"popcount", [](auto& a, auto&) { return T::popcount(a); },
       [](Real a, Real, DType t) { return Value{Real(bit_counts(a, t).ones)}; }},
      {"clz", [](auto& a, auto&) { return T::clz(a); },
       [](Real a, Real, DType t) { return Value{Real(bit_counts(a, t).leading_zeros)}; }},
      {"align_up", [](auto& a, auto&) { return T::align_up(a, 8); },
       [](Real a, Real, DType t) { return wrapped(t, u(floor_quotient(wrap_real(t, u(a) + 7), 8)) * 8); }},
      {"words for bits",
       [](auto& a, auto& b) {
         return T::bitwise_xor(T::bitwise_and(a, b), T::bitwise_or(T::bitwise_not(a), T::shift_left(b, 2)));
       },
       [](Real a, Real b, DType t) { return wrapped(t, (u(a) & u(b)) ^ (~u(a) | (u(b) << 2))); }},
      {"shift_right", [](auto& a, auto&) { return T::shift_right(a, 1); },
       [](Real a, Real, DType) { return Value{std::floor(a / 2)}; }},
      {"clamp", [](auto& a, auto&) { return T::clamp(a, 3, 100); },
       [](Real a, Real, DType) { return Value{std::min(std::max(a, Real(3)), Real(100))}; }},
      {"select", [](auto& a, auto& b) { return T::select(a < b, a, b); },
       [](Real a, Real b, DType) { return Value{std::min(a, b)}; }},
      {"max_value", [](auto& a, auto& b) { return T::select(a < b, T::max_value(a.dtype()), T::min_value(a.dtype())); },
       [](Real a, Real b, DType t) { return Value{a < b ? highest(t) : lowest(t)}; }},
      {"through f32", [](auto& a, auto&) { return T::cast(T::cast(a, T::f32) * 0.5, T::i16); },
       [](Real a, Real, DType t) {
         const Real half = round_real(T::f32, a) / 2;
         return wrapped(t, u(cast_real(half, T::f32, T::i16)));
       }},
  };
}

Row integer_row(DType dtype) {
  const Real top =
      is_unsigned(dtype) ? std::ldexp(Real(1), bits_of(dtype)) - 1 : std::ldexp(Real(1), bits_of(dtype) - 1) - 1;
  if (is_unsigned(dtype)) {
    return pairs_row("integer ops", dtype,
                     {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 200, 255, top - 1, top},
                     integer_ops());
  }
  return pairs_row("integer ops", dtype, {0,  1,  -1, 2,  -2, 3,   -3,  7,    -7,  8,    -8,      15,
                                          16, 31, 32, 63, 64, -64, 100, -100, top, -top, top - 1, -top - 1},
                   integer_ops());
}

}  // namespace

std::vector<Row> float_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::f32, T::f16, T::bf16, T::f64, T::f8e4m3, T::f8e5m2, T::tf32})
    rows.push_back(float_row(dtype));
  return rows;
}

std::vector<Row> integer_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::i32, T::i64, T::i8, T::u8, T::i16, T::u16, T::u32, T::u64})
    rows.push_back(integer_row(dtype));
  return rows;
}

}  // namespace tilewright::tests
