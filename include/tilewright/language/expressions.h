// Scalars: dtypes, expressions and functions of numbers. A part of <tilewright/language.h>, which is the header to
// include.
#pragma once

#include <tilewright/dtype.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tilewright::ir {
struct ExprNode;
}

namespace tilewright::lang {

inline constexpr DType f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16;
inline constexpr DType tf32 = DType::tf32, f8e4m3 = DType::f8e4m3, f8e5m2 = DType::f8e5m2;
inline constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64;
inline constexpr DType u8 = DType::u8, u16 = DType::u16, u32 = DType::u32, u64 = DType::u64;
inline constexpr DType boolean = DType::boolean;

// Where a call stands in the author's source; a default argument everywhere, never passed by hand.
struct SourcePos {
  const char* file;
  int line;
  static constexpr SourcePos here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// A scalar expression. C++ numbers convert to it and take the dtype of what they are combined with.
class Expr {
 public:
  template <std::integral I>
  Expr(I value) : Expr(integer(static_cast<int64_t>(value), std::is_same_v<I, bool>)) {}
  template <std::floating_point F>
  Expr(F value) : Expr(floating(static_cast<double>(value))) {}
  Expr(std::shared_ptr<const ir::ExprNode> node, bool literal) : node_(std::move(node)), literal_(literal) {}

  const std::shared_ptr<const ir::ExprNode>& node() const { return node_; }
  // A C++ number, or arithmetic on such: has no dtype of its own yet.
  bool is_literal() const { return literal_; }
  DType dtype() const;

 private:
  static Expr integer(int64_t value, bool is_bool);
  static Expr floating(double value);

  std::shared_ptr<const ir::ExprNode> node_;
  bool literal_ = false;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
// Floats: division. Integers: floor division, as `floordiv`.
Expr operator/(const Expr& a, const Expr& b);
// Integers: floor modulo; (a / b) * b + a % b == a.
Expr operator%(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);  // both sides are evaluated
Expr operator||(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator^(const Expr& a, const Expr& b);
Expr operator<<(const Expr& a, const Expr& b);
Expr operator>>(const Expr& a, const Expr& b);

Expr ceildiv(const Expr& a, const Expr& b);
Expr floordiv(const Expr& a, const Expr& b);
Expr floormod(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);  // a NaN operand is ignored
Expr min(const Expr& a, const Expr& b);
// Only the chosen side is evaluated, so a guard protects a read.
Expr if_then_else(const Expr& condition, const Expr& then, const Expr& otherwise);
// One of two values, both of which are evaluated: guards nothing.
Expr select(const Expr& condition, const Expr& then, const Expr& otherwise);
Expr clamp(const Expr& x, const Expr& low, const Expr& high);  // a NaN gives `low`
Expr cast(const Expr& value, DType dtype);
Expr reinterpret(const Expr& value, DType dtype);  // the same bits, of equal size
Expr infinity(DType dtype);
Expr max_value(DType dtype);  // the largest integer, or the largest finite number
Expr min_value(DType dtype);

// Conditions. The tests are of a float.
Expr isnan(const Expr& x);
Expr isinf(const Expr& x);
Expr isfinite(const Expr& x);
Expr likely(const Expr& condition);  // the condition; says which way it mostly goes
// Of several conditions; of a tile or slice they are among the reductions below.
template <class... E>
requires(sizeof...(E) > 0 && (std::convertible_to<E, Expr> && ...)) Expr all_of(const Expr& first, const E&... others) {
  return (first && ... && Expr(others));
}
template <class... E>
requires(sizeof...(E) > 0 && (std::convertible_to<E, Expr> && ...)) Expr any_of(const Expr& first, const E&... others) {
  return (first || ... || Expr(others));
}

// Integers.
Expr truncdiv(const Expr& a, const Expr& b);   // towards zero
Expr truncmod(const Expr& a, const Expr& b);   // a - truncdiv(a, b) * b
Expr align_up(const Expr& x, const Expr& to);  // the next multiple
Expr shift_left(const Expr& a, const Expr& b);
Expr shift_right(const Expr& a, const Expr& b);
Expr bitwise_and(const Expr& a, const Expr& b);
Expr bitwise_or(const Expr& a, const Expr& b);
Expr bitwise_xor(const Expr& a, const Expr& b);
Expr bitwise_not(const Expr& x);
Expr popcount(const Expr& x);  // bits that are 1
Expr clz(const Expr& x);       // zeros above the highest 1; all bits for 0

// Functions of floats; abs also of integers. docs/language.md has their errors.
Expr abs(const Expr& x);
Expr exp(const Expr& x);
Expr exp2(const Expr& x);
Expr exp10(const Expr& x);
Expr expm1(const Expr& x);
Expr log(const Expr& x);
Expr log2(const Expr& x);
Expr log10(const Expr& x);
Expr log1p(const Expr& x);
Expr sqrt(const Expr& x);
Expr rsqrt(const Expr& x);
Expr sin(const Expr& x);
Expr cos(const Expr& x);
Expr tan(const Expr& x);
Expr sinh(const Expr& x);
Expr cosh(const Expr& x);
Expr tanh(const Expr& x);
Expr asin(const Expr& x);
Expr acos(const Expr& x);
Expr atan(const Expr& x);
Expr asinh(const Expr& x);
Expr acosh(const Expr& x);
Expr atanh(const Expr& x);
Expr erf(const Expr& x);
Expr sigmoid(const Expr& x);
Expr floor(const Expr& x);
Expr ceil(const Expr& x);
Expr round(const Expr& x);      // to nearest even
Expr nearbyint(const Expr& x);  // the same
Expr trunc(const Expr& x);
Expr atan2(const Expr& y, const Expr& x);
Expr pow(const Expr& x, const Expr& y);
Expr hypot(const Expr& x, const Expr& y);
Expr fmod(const Expr& x, const Expr& y);  // x - trunc(x / y) * y, exactly
Expr copysign(const Expr& magnitude, const Expr& sign);
Expr nextafter(const Expr& x, const Expr& to);  // the neighbouring number of the dtype
Expr ldexp(const Expr& x, const Expr& n);       // x * 2^n for an integer n

// Where a target has faster, less exact instructions they are taken.
Expr exp_fast(const Expr& x);
Expr exp10_fast(const Expr& x);
Expr log_fast(const Expr& x);
Expr log2_fast(const Expr& x);
Expr log10_fast(const Expr& x);
Expr sin_fast(const Expr& x);
Expr cos_fast(const Expr& x);
Expr tan_fast(const Expr& x);
Expr fast_rcp(const Expr& x);

// Rounded once, and never fused with another operation. The last argument says how: "rn" is to nearest even; "rz", "ru"
// and "rd" are not built.
Expr ieee_add(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_sub(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_mul(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_fdiv(const Expr& a, const Expr& b, std::string_view rounding = "rn");
Expr ieee_fmaf(const Expr& a, const Expr& b, const Expr& c, std::string_view rounding = "rn");  // a b + c; f32, f64
Expr ieee_frcp(const Expr& x, std::string_view rounding = "rn");                                // 1 / x
Expr ieee_fsqrt(const Expr& x, std::string_view rounding = "rn");
Expr ieee_frsqrt(const Expr& x, std::string_view rounding = "rn");  // 1 / sqrt(x); f32

}  // namespace tilewright::lang
