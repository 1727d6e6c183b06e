// Constructors: folding equals evaluation, canonical forms coincide, dtypes that do not fit are refused.
#include "ir/expr.h"
#include "ir/print.h"
#include "target/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tilewright::ir {
namespace {

std::vector<DType> integer_dtypes() {
  std::vector<DType> out;
  for (int i = int(DType::i8); i <= int(DType::u64); ++i) out.push_back(DType(i));
  return out;
}

// Values of `t` at the edges of every width, and random ones.
std::vector<int64_t> edge_values(DType t) {
  std::vector<int64_t> out = {min_value(t), max_value(t), wrap_to(t, min_value(t) + 1), wrap_to(t, max_value(t) - 1)};
  for (int64_t v :
       {-65, -64, -33, -9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 127, 128}) {
    out.push_back(wrap_to(t, v));
  }
  std::mt19937_64 random(uint64_t(t) + 1);
  for (int i = 0; i < 6; ++i) out.push_back(wrap_to(t, int64_t(random())));
  return out;
}

constexpr ExprKind kIntKinds[] = {ExprKind::add,      ExprKind::sub,     ExprKind::mul, ExprKind::floordiv,
                                  ExprKind::floormod, ExprKind::min,     ExprKind::max, ExprKind::eq,
                                  ExprKind::ne,       ExprKind::lt,      ExprKind::le,  ExprKind::bit_and,
                                  ExprKind::bit_or,   ExprKind::bit_xor, ExprKind::shl, ExprKind::shr};

__extension__ using Wide = __int128;

// The value that the bits stand for, without a width.
Wide wide(DType t, int64_t v) { return t == DType::u64 ? Wide(uint64_t(v)) : Wide(v); }

Wide wide_floordiv(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

// The rules at the top of ir/expr.h in 128 bits; the caller wraps.
Wide reference(ExprKind kind, DType t, Wide a, Wide b) {
  const int bits = bits_of(t);
  switch (kind) {
    case ExprKind::add: return a + b;
    case ExprKind::sub: return a - b;
    case ExprKind::mul: return Wide(uint64_t(a) * uint64_t(b));  // the low 64 bits decide
    case ExprKind::floordiv: return wide_floordiv(a, b);
    case ExprKind::floormod: return b == 0 ? a : a - b * wide_floordiv(a, b);
    case ExprKind::min: return a < b ? a : b;
    case ExprKind::max: return a < b ? b : a;
    case ExprKind::eq: return a == b;
    case ExprKind::ne: return a != b;
    case ExprKind::lt: return a < b;
    case ExprKind::le: return a <= b;
    case ExprKind::bit_and: return a & b;
    case ExprKind::bit_or: return a | b;
    case ExprKind::bit_xor: return a ^ b;
    case ExprKind::shl: return b < 0 || b >= bits ? 0 : Wide(uint64_t(a) << int(b));
    default: return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> int(b);
  }
}

TEST(EvalIntBinary, FollowsTheWrittenRules) {
  for (DType t : integer_dtypes()) {
    for (ExprKind kind : kIntKinds) {
      for (int64_t a : edge_values(t)) {
        for (int64_t b : edge_values(t)) {
          const Wide exact = reference(kind, t, wide(t, a), wide(t, b));
          const int64_t expected = is_comparison(kind) ? int64_t(exact) : wrap_to(t, int64_t(uint64_t(exact)));
          ASSERT_EQ(eval_int_binary(kind, t, a, b), expected)
              << to_string(kind) << " " << to_string(t) << " " << a << " " << b;
        }
      }
    }
  }
}

TEST(EvalIntBinary, FloorDivisionLaws) {
  for (DType t : integer_dtypes()) {
    for (int64_t a : edge_values(t)) {
      for (int64_t b : edge_values(t)) {
        const int64_t q = eval_int_binary(ExprKind::floordiv, t, a, b);
        const int64_t r = eval_int_binary(ExprKind::floormod, t, a, b);
        // a = b q + r in wrapping arithmetic, also for b = 0.
        const int64_t back = eval_int_binary(ExprKind::add, t, eval_int_binary(ExprKind::mul, t, b, q), r);
        ASSERT_EQ(back, a) << to_string(t) << " " << a << " " << b;
        if (b == 0) continue;
        const Wide wr = wide(t, r), wb = wide(t, b);
        ASSERT_TRUE(wb > 0 ? wr >= 0 && wr < wb : wr <= 0 && wr > wb) << to_string(t) << " " << a << " " << b;
      }
    }
  }
}

TEST(Folding, ConstantsGiveTheirValue) {
  for (DType t : integer_dtypes()) {
    for (ExprKind kind : kIntKinds) {
      for (int64_t a : edge_values(t)) {
        for (int64_t b : edge_values(t)) {
          const Expr e = binary(kind, int_imm(a, t), int_imm(b, t));
          ASSERT_EQ(e.as_int(), eval_int_binary(kind, t, a, b)) << print(e);
          ASSERT_EQ(e.dtype(), is_comparison(kind) ? DType::boolean : t);
        }
      }
    }
  }
}

TEST(Folding, Booleans) {
  for (ExprKind kind : {ExprKind::logical_and, ExprKind::logical_or, ExprKind::eq, ExprKind::ne, ExprKind::lt,
                        ExprKind::le, ExprKind::bit_and, ExprKind::bit_or, ExprKind::bit_xor}) {
    for (bool a : {false, true}) {
      for (bool b : {false, true}) {
        const Expr e = binary(kind, bool_imm(a), bool_imm(b));
        ASSERT_EQ(e.as_int(), eval_int_binary(kind, DType::boolean, a, b)) << to_string(kind);
        ASSERT_EQ(e.dtype(), DType::boolean);
      }
    }
  }
  EXPECT_TRUE(logical_not(bool_imm(false)).is_int(1));
  const Expr c = var(0, "c", DType::boolean), a = var(1, "a"), b = var(2, "b");
  EXPECT_TRUE(equal(logical_not(logical_not(c)), c));
  EXPECT_TRUE(equal(logical_and(bool_imm(true), c), c));
  EXPECT_TRUE(logical_and(c, bool_imm(false)).is_int(0));
  EXPECT_TRUE(binary(ExprKind::logical_or, c, bool_imm(true)).is_int(1));
  EXPECT_TRUE(equal(select(bool_imm(false), a, b), b));
  EXPECT_TRUE(equal(select(c, a, a), a));
}

int64_t evaluate(const Expr& e, int64_t x) {
  switch (e.kind()) {
    case ExprKind::int_imm: return e->i;
    case ExprKind::var: return x;
    case ExprKind::cast: return wrap_to(e.dtype(), evaluate(e.arg(0), x));
    default: return eval_int_binary(e.kind(), e.arg(0).dtype(), evaluate(e.arg(0), x), evaluate(e.arg(1), x));
  }
}

// Whatever a constructor rewrites, x op c and (x op c) op d keep their value for every x.
TEST(Folding, RewritesKeepTheValue) {
  for (DType t : integer_dtypes()) {
    const Expr x = var(0, "x", t);
    for (ExprKind kind : kIntKinds) {
      for (int64_t c : edge_values(t)) {
        const Expr right = binary(kind, x, int_imm(c, t)), left = binary(kind, int_imm(c, t), x);
        for (int64_t v : edge_values(t)) {
          ASSERT_EQ(evaluate(right, v), eval_int_binary(kind, t, v, c)) << print(right) << " at " << v;
          ASSERT_EQ(evaluate(left, v), eval_int_binary(kind, t, c, v)) << print(left) << " at " << v;
        }
        if (is_comparison(kind)) continue;
        const Expr twice = binary(kind, right, int_imm(7, t));
        for (int64_t v : edge_values(t)) {
          ASSERT_EQ(evaluate(twice, v), eval_int_binary(kind, t, eval_int_binary(kind, t, v, c), wrap_to(t, 7)))
              << print(twice) << " at " << v;
        }
      }
    }
  }
}

TEST(Folding, Casts) {
  for (DType from : integer_dtypes()) {
    for (int64_t v : edge_values(from)) {
      for (DType to : integer_dtypes()) EXPECT_EQ(cast(int_imm(v, from), to).as_int(), wrap_to(to, v));
      EXPECT_EQ(cast(int_imm(v, from), DType::boolean).as_int(), v != 0);
      for (DType to : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::tf32, DType::f32, DType::f64}) {
        const Expr e = cast(int_imm(v, from), to);
        const Wide exact = wide(from, v);
        if (exact > -(Wide(1) << 53) && exact < (Wide(1) << 53)) {
          ASSERT_TRUE(e.is(ExprKind::float_imm));
          EXPECT_EQ(e->f, round_to(to, double(exact)));
        } else {
          EXPECT_TRUE(e.is(ExprKind::cast));
        }
      }
    }
  }
  EXPECT_TRUE(cast(float_imm(-2.9, DType::f32), DType::i32).is_int(-2));
  EXPECT_TRUE(cast(float_imm(300, DType::f32), DType::u8).is_int(255));
  EXPECT_TRUE(cast(float_imm(0.5, DType::f32), DType::boolean).is_int(1));
  EXPECT_TRUE(cast(float_imm(std::nan(""), DType::f64), DType::i64).is_int(0));
  EXPECT_EQ(cast(float_imm(70000, DType::f32), DType::f16)->f, std::numeric_limits<double>::infinity());
  // A conversion to an 8-bit float saturates, also an infinity; a constant may be infinite where the format is.
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cast(float_imm(inf, DType::f32), DType::f8e5m2)->f, 57344);
  EXPECT_EQ(cast(float_imm(-1e9, DType::f32), DType::f8e4m3)->f, -448);
  EXPECT_EQ(float_imm(inf, DType::f8e5m2)->f, inf);
  EXPECT_EQ(float_imm(inf, DType::f8e4m3)->f, 448);
  EXPECT_EQ(float_imm(1 + 0x1p-11, DType::tf32)->f, 1);
  const Expr x = var(0, "x", DType::f16);
  EXPECT_TRUE(equal(cast(x, DType::f16), x));
}

TEST(Folding, ReinterpretAndIntegerFunctions) {
  EXPECT_EQ(reinterpret(int_imm(0x3fc00000, DType::i32), DType::f32)->f, 1.5);
  EXPECT_EQ(reinterpret(int_imm(0xc000, DType::u16), DType::bf16)->f, -2);
  EXPECT_EQ(reinterpret(int_imm(0xf8, DType::u8), DType::f8e4m3)->f, -256);
  EXPECT_EQ(reinterpret(int_imm(0x3f800fff, DType::u32), DType::tf32)->f, 1);
  EXPECT_TRUE(reinterpret(int_imm(-1, DType::i16), DType::u16).is_int(65535));
  EXPECT_TRUE(reinterpret(int_imm(7, DType::u8), DType::boolean).is_int(1));
  EXPECT_TRUE(call(MathFn::truncdiv, {int_imm(-7), int_imm(2)}).is_int(-3));
  EXPECT_TRUE(call(MathFn::truncmod, {int_imm(-7), int_imm(2)}).is_int(-1));
  EXPECT_TRUE(call(MathFn::clz, int_imm(1, DType::u16)).is_int(15));
  EXPECT_TRUE(call(MathFn::popcount, int_imm(-1, DType::i8)).is_int(8));
}

TEST(Canonical, EqualFormsCoincide) {
  const Expr a = var(0, "a"), b = var(1, "b");
  const std::vector<std::pair<Expr, Expr>> same = {
      {int_imm(3) + a, a + 3},
      {a + 1 + 2, a + 3},
      {a - 2, a + -2},
      {a * 2 * 3, a * 6},
      {int_imm(3) * a, a * 3},
      {binary(ExprKind::eq, int_imm(3), a), binary(ExprKind::eq, a, int_imm(3))},
      {a + 0, a},
      {a * 1, a},
      {a * 0, int_imm(0)},
      {a - a, int_imm(0)},
      {floordiv(a, 1), a},
      {floormod(a, 1), int_imm(0)},
      {binary(ExprKind::min, a, a), a},
      {a + b - (a + b), int_imm(0)},
      {ceildiv(int_imm(10), int_imm(4)), int_imm(3)},
  };
  for (const auto& [x, y] : same) {
    EXPECT_TRUE(equal(x, y)) << print(x) << " and " << print(y);
    EXPECT_EQ(x->hash, y->hash);
  }
  EXPECT_FALSE(equal(a + 1, b + 1));
  EXPECT_FALSE(equal(int_imm(1), int_imm(1, DType::i32)));
  EXPECT_FALSE(equal(float_imm(0.0, DType::f32), float_imm(-0.0, DType::f32)));
  EXPECT_TRUE(equal(float_imm(std::nan(""), DType::f64), float_imm(-std::nan("77"), DType::f64)));
}

TEST(Canonical, NamesAndPositionsDoNotCount) {
  const Expr a = var(0, "a", kIndex, Loc::at("f", 1)), z = var(0, "z", kIndex, Loc::at("g", 2));
  EXPECT_TRUE(equal(a, z));
  EXPECT_EQ(a->hash, z->hash);
  EXPECT_TRUE(equal(load(2, "t", DType::f32, {a}), load(2, "u", DType::f32, {z})));
  EXPECT_FALSE(equal(load(2, "t", DType::f32, {a}), load(3, "t", DType::f32, {a})));
}

TEST(Canonical, FloatsAreNotReassociated) {
  const Expr x = var(0, "x", DType::f32), one = float_imm(1, DType::f32), zero = float_imm(0, DType::f32);
  EXPECT_EQ(print(binary(ExprKind::add, binary(ExprKind::add, x, one), one)), "x + 1.0 + 1.0");
  EXPECT_EQ(print(binary(ExprKind::mul, x, zero)), "x * 0.0");
  EXPECT_EQ(print(binary(ExprKind::sub, x, x)), "x - x");
  EXPECT_EQ(print(binary(ExprKind::add, one, x)), "x + 1.0");
}

TEST(Canonical, RebuildingChangesNothing) {
  const Expr a = var(0, "a"), b = var(1, "b"), c = lt(a, b);
  for (const Expr& e : {a - 5, int_imm(7) - a, floordiv(a + b, 8), logical_and(c, logical_not(c)), select(c, a, b),
                        cast(a, DType::f32), call(MathFn::abs, a), call(MathFn::truncdiv, {a, b}),
                        call(MathFn::blend, {c, a, b}), reinterpret(a, DType::f64), load(0, "t", DType::f32, {a, b})}) {
    EXPECT_TRUE(equal(with_args(e, {e.args().begin(), e.args().end()}), e)) << print(e);
  }
}

void expect_refused(const std::function<void()>& make, const std::string& message) {
  try {
    make();
    FAIL() << "accepted; expected: " << message;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_kernel);
    EXPECT_EQ(e.message(), message);
    EXPECT_EQ(e.loc().to_string(), "k.cc:9");
    EXPECT_FALSE(e.hint().empty()) << message;
  }
}

TEST(DTypes, OperandsThatDoNotFit) {
  const Loc loc = Loc::at("k.cc", 9);
  const Expr i = var(0, "i"), f = var(1, "f", DType::f32), b = var(2, "b", DType::boolean);
  const auto refuse = [&](ExprKind kind, const Expr& e, const std::string& message) {
    expect_refused([&] { binary(kind, e, e, loc); }, message);
  };
  refuse(ExprKind::div, i, "div is not defined on i64");
  refuse(ExprKind::div, b, "div is not defined on bool");
  refuse(ExprKind::floordiv, f, "floordiv is not defined on f32");
  refuse(ExprKind::floormod, b, "floormod is not defined on bool");
  refuse(ExprKind::shl, f, "shl is not defined on f32");
  refuse(ExprKind::shr, b, "shr is not defined on bool");
  refuse(ExprKind::bit_xor, f, "bit_xor is not defined on f32");
  refuse(ExprKind::add, b, "add is not defined on bool");
  refuse(ExprKind::max, b, "max is not defined on bool");
  refuse(ExprKind::logical_and, i, "and is not defined on i64");
  expect_refused([&] { logical_not(f, loc); }, "not is not defined on f32");
  expect_refused([&] { select(i, f, f, loc); }, "the condition of a select has dtype i64");
  expect_refused([&] { call(MathFn::exp, i, loc); }, "exp is not defined on i64");
  expect_refused([&] { call(MathFn::abs, b, loc); }, "abs is not defined on bool");
  expect_refused([&] { call(MathFn::popcount, f, loc); }, "popcount is not defined on f32");
  expect_refused([&] { call(MathFn::truncdiv, {b, b}, loc); }, "truncdiv is not defined on bool");
  expect_refused([&] { call(MathFn::atan2, {f, float_imm(1, DType::f64)}, loc); }, "atan2 of f32 and f64");
  expect_refused([&] { call(MathFn::ldexp, {f, f}, loc); }, "the exponent of ldexp has dtype f32");
  expect_refused([&] { call(MathFn::blend, {i, f, f}, loc); }, "the condition of blend has dtype i64");
  expect_refused([&] { call(MathFn::isnan, i, loc); }, "isnan is not defined on i64");
  const Expr h = var(3, "h", DType::f16), d = var(4, "d", DType::f64);
  expect_refused([&] { call(MathFn::ieee_fmaf, {h, h, h}, loc); }, "ieee_fmaf is not defined on f16");
  expect_refused([&] { call(MathFn::ieee_frsqrt, d, loc); }, "ieee_frsqrt is not defined on f64");
  expect_refused([&] { reinterpret(f, DType::i64, loc); }, "reinterpret of f32 as i64: 32 and 64 bits");
  EXPECT_NO_THROW(binary(ExprKind::bit_xor, b, b));
  EXPECT_NO_THROW(call(MathFn::abs, i));
}

TEST(DTypes, Promotion) {
  for (int i = 0; i < kNumDTypes; ++i) {
    for (int j = 0; j < kNumDTypes; ++j) {
      const auto a = DType(i), b = DType(j);
      EXPECT_EQ(promote(a, b), promote(b, a));
      EXPECT_EQ(promote(a, a), a);
    }
  }
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::f8e4m3, DType::f8e5m2), DType::f32);
  EXPECT_EQ(promote(DType::f8e4m3, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::tf32, DType::f16), DType::tf32);
  EXPECT_EQ(promote(DType::tf32, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::u64, DType::f8e5m2), DType::f8e5m2);
  EXPECT_EQ(promote(DType::f16, DType::i64), DType::f16);
  EXPECT_EQ(promote(DType::i32, DType::u32), DType::u32);
  EXPECT_EQ(promote(DType::i64, DType::u32), DType::i64);
  EXPECT_EQ(promote(DType::boolean, DType::i8), DType::i8);
  EXPECT_EQ(promote(DType::boolean, DType::bf16), DType::bf16);
}

TEST(Names, AreFoundAgain) {
  for (int i = 0; i < kNumMathFns; ++i) EXPECT_EQ(math_fn_from_string(to_string(MathFn(i))), MathFn(i));
  EXPECT_EQ(math_fn_from_string("sech"), std::nullopt);
  for (int i = 0; i < kNumDTypes; ++i) EXPECT_EQ(dtype_from_string(to_string(DType(i))), DType(i));
}

}  // namespace
}  // namespace tilewright::ir
