// Every expression kind on edge values, against arithmetic written down independently.
#include "program_builder.h"

#include "runtime/interp/rounding.h"
#include "target/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace tilewright::test {
namespace {

__extension__ using Wide = __int128;

constexpr ExprKind kIntKinds[] = {ExprKind::add,      ExprKind::sub,     ExprKind::mul, ExprKind::floordiv,
                                  ExprKind::floormod, ExprKind::min,     ExprKind::max, ExprKind::eq,
                                  ExprKind::ne,       ExprKind::lt,      ExprKind::le,  ExprKind::bit_and,
                                  ExprKind::bit_or,   ExprKind::bit_xor, ExprKind::shl, ExprKind::shr};

// The value of the low bits of `x` in `t`, as a mathematical integer.
Wide wrapped(DType t, Wide x) {
  const Wide modulus = Wide(1) << bits_of(t);
  Wide r = x % modulus;
  if (r < 0) r += modulus;
  return !is_unsigned(t) && r >= modulus / 2 ? r - modulus : r;
}

Wide floor_quotient(Wide a, Wide b) {
  Wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

Wide expected_int(ExprKind kind, DType t, Wide a, Wide b) {
  const int bits = bits_of(t);
  const bool outside = b < 0 || b >= bits;
  switch (kind) {
    case ExprKind::add: return wrapped(t, a + b);
    case ExprKind::sub: return wrapped(t, a - b);
    case ExprKind::mul: {
      // |a b| can reach 2^128 for u64: reduce by halves.
      const Wide low = b & 0xffffffff, high = (b - low) >> 32;
      return wrapped(t, wrapped(t, a * low) + (wrapped(t, a * wrapped(t, high)) << 32) % (Wide(1) << bits));
    }
    case ExprKind::floordiv: return b == 0 ? 0 : wrapped(t, floor_quotient(a, b));
    case ExprKind::floormod: return b == 0 ? a : a - b * floor_quotient(a, b);
    case ExprKind::min: return a < b ? a : b;
    case ExprKind::max: return a < b ? b : a;
    case ExprKind::eq: return a == b;
    case ExprKind::ne: return a != b;
    case ExprKind::lt: return a < b;
    case ExprKind::le: return a <= b;
    case ExprKind::bit_and: return wrapped(t, a & b);
    case ExprKind::bit_or: return wrapped(t, a | b);
    case ExprKind::bit_xor: return wrapped(t, a ^ b);
    case ExprKind::shl: return outside ? 0 : wrapped(t, a * (Wide(1) << b));
    default: return outside ? (a < 0 ? -1 : 0) : floor_quotient(a, Wide(1) << b);
  }
}

std::vector<int64_t> edge_integers(DType t) {
  std::vector<int64_t> out = {0,
                              1,
                              2,
                              3,
                              7,
                              8,
                              31,
                              63,
                              64,
                              100,
                              -1,
                              -2,
                              -7,
                              min_value(t),
                              max_value(t),
                              min_value(t) + 1,
                              int64_t(uint64_t(max_value(t)) - 1)};
  for (int64_t& v : out) v = wrap_to(t, v);
  return out;
}

class Integers : public testing::TestWithParam<int> {};

TEST_P(Integers, EveryBinaryKindOnEdgeValues) {
  const auto t = DType(GetParam());
  const std::vector<int64_t> edges = edge_integers(t);
  const int64_t n = int64_t(edges.size());
  for (const ExprKind kind : kIntKinds) {
    Builder b;
    const DType result = is_comparison(kind) ? DType::boolean : t;
    const TileId x = b.tensor("X", t, {int_imm(n)}), y = b.tensor("Y", result, {int_imm(n), int_imm(n)});
    const Expr i = b.program.fresh_var("i"), j = b.program.fresh_var("j");
    b.add(b.loop(
        LoopKind::serial, i, int_imm(n),
        {b.loop(LoopKind::serial, j, int_imm(n), {b.put(y, {i, j}, binary(kind, b.get(x, {i}), b.get(x, {j})))})}));
    std::vector<int64_t> in(edges.size()), out(edges.size() * edges.size());  // room for any width
    for (size_t k = 0; k < edges.size(); ++k)
      store_int(t, reinterpret_cast<char*>(in.data()) + k * size_t(bytes_of(t)), edges[k]);
    b.run({view(in, t, {n}), view(out, result, {n, n})});
    const auto number = [&](int64_t v) { return t == DType::u64 ? Wide(uint64_t(v)) : Wide(v); };
    for (size_t k = 0; k < out.size(); ++k) {
      const int64_t a = edges[k / edges.size()], c = edges[k % edges.size()];
      const int64_t got = load_int(result, reinterpret_cast<char*>(out.data()) + k * size_t(bytes_of(result)));
      ASSERT_EQ(got, int64_t(expected_int(kind, t, number(a), number(c))))
          << to_string(kind) << " " << to_string(t) << " " << a << " " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllDtypes, Integers, testing::Range(int(DType::i8), int(DType::u64) + 1));

// Evaluates e(x, y) for scalars x, y of a float dtype.
double float_of(DType t, double x, double y, const std::function<Expr(Expr, Expr)>& e) {
  Builder b;
  const Expr vx = b.scalar("x", t), vy = b.scalar("y", t);
  const Expr value = e(vx, vy);
  const TileId out = b.tensor("Out", value.dtype(), {});
  b.add(b.put(out, {}, value));
  double memory = 0;
  TensorView target{.data = &memory, .dtype = value.dtype(), .shape = {}};
  b.run({x, y, target});
  return is_float(value.dtype()) ? load_float(value.dtype(), &memory) : double(load_int(value.dtype(), &memory));
}

template <class F>
void check_native(DType t, const std::vector<F>& edges) {
  for (const F a : edges) {
    for (const F c : edges) {
      const auto check = [&](ExprKind kind, F expected) {
        const double got = float_of(t, double(a), double(c), [&](Expr x, Expr y) { return binary(kind, x, y); });
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(got)) << to_string(kind) << " " << a << " " << c;
        else
          EXPECT_EQ(got, double(expected)) << to_string(kind) << " " << a << " " << c;
      };
      check(ExprKind::add, a + c);
      check(ExprKind::sub, a - c);
      check(ExprKind::mul, a * c);
      check(ExprKind::div, a / c);
      check(ExprKind::min, std::fmin(a, c));
      check(ExprKind::max, std::fmax(a, c));
      check(ExprKind::eq, a == c);
      check(ExprKind::ne, a != c);
      check(ExprKind::lt, a < c);
      check(ExprKind::le, a <= c);
    }
  }
}

template <class F>
std::vector<F> float_edges() {
  using L = std::numeric_limits<F>;
  return {F(0),
          F(-0.0),
          F(1),
          F(-1),
          F(0.1),
          F(3),
          F(-7.25),
          L::min(),
          L::denorm_min(),
          L::max(),
          L::lowest(),
          L::epsilon(),
          F(1) + L::epsilon(),
          L::infinity(),
          -L::infinity(),
          L::quiet_NaN()};
}

TEST(Floats, BinaryKindsMatchNative) {
  check_native<float>(DType::f32, float_edges<float>());
  check_native<double>(DType::f64, float_edges<double>());
}

TEST(Floats, RoundingMatchesRoundTo) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 400000; ++k) {
    uint64_t bits = random();
    if (k % 2) {  // exponents around those of the narrow formats, and ties
      bits = (bits & 0x800fffffffffffffull) | (uint64_t(1023 - 30 + int(random() % 60)) << 52);
      if (k % 4 == 1) bits &= ~((uint64_t(1) << (k % 8 == 1 ? 41 : 44)) - 1);
    }
    const double x = std::bit_cast<double>(bits);
    if (std::isnan(x)) continue;
    for (int t = int(DType::f8e4m3); t <= int(DType::f64); ++t)
      ASSERT_EQ(interp::rounded(DType(t), x), round_to(DType(t), x)) << to_string(DType(t)) << " " << x;
  }
}

TEST(Floats, CastsSaturateTruncateAndWrap) {
  const auto to_int = [](double x, DType t) {
    return int64_t(float_of(DType::f64, x, 0, [&](Expr e, Expr) { return cast(cast(e, t), DType::i32); }));
  };
  EXPECT_EQ(to_int(300.7, DType::u8), 255);
  EXPECT_EQ(to_int(-300.7, DType::i8), -128);
  EXPECT_EQ(to_int(-3.9, DType::i16), -3);
  EXPECT_EQ(to_int(std::nan(""), DType::i32), 0);
  EXPECT_EQ(to_int(0.25, DType::boolean), 1);
  const auto bf16_of = [](int64_t v) {
    Builder b;
    const Expr x = b.scalar("x", DType::i64);
    b.add(b.put(b.tensor("Out", DType::bf16, {}), {}, cast(x, DType::bf16)));
    uint16_t out = 0;
    b.run({v, TensorView{.data = &out, .dtype = DType::bf16, .shape = {}}});
    return out;
  };
  // 2^60 + 2^52 is a tie between bf16 neighbours and goes to even; one more goes up, though a double drops the one.
  EXPECT_EQ(bf16_of((int64_t(1) << 60) + (int64_t(1) << 52)), 0x5d80);
  EXPECT_EQ(bf16_of((int64_t(1) << 60) + (int64_t(1) << 52) + 1), 0x5d81);
}

TEST(Floats, MathFunctions) {
  const auto call_f32 = [](MathFn fn, float x) {
    return float(float_of(DType::f32, x, 0, [&](Expr e, Expr) { return call(fn, e); }));
  };
  EXPECT_EQ(call_f32(MathFn::exp, 1.0f), 2.7182817f);
  EXPECT_EQ(call_f32(MathFn::exp2, 10.0f), 1024.0f);
  EXPECT_EQ(call_f32(MathFn::sqrt, 2.0f), std::sqrt(2.0f));
  EXPECT_EQ(call_f32(MathFn::rsqrt, 4.0f), 0.5f);
  EXPECT_EQ(call_f32(MathFn::sigmoid, 0.0f), 0.5f);
  EXPECT_EQ(call_f32(MathFn::round, 2.5f), 2.0f);
  EXPECT_EQ(call_f32(MathFn::floor, -0.5f), -1.0f);
  EXPECT_EQ(call_f32(MathFn::ceil, 1.25f), 2.0f);
  EXPECT_EQ(call_f32(MathFn::abs, -3.0f), 3.0f);
  EXPECT_EQ(call_f32(MathFn::log2, 8.0f), 3.0f);
  EXPECT_EQ(call_f32(MathFn::erf, 0.5f), 0.5204999f);
  EXPECT_EQ(call_f32(MathFn::tanh, 0.5f), 0.46211717f);
  EXPECT_EQ(call_f32(MathFn::log, 0.0f), -INFINITY);
  EXPECT_EQ(call_f32(MathFn::sin, 1.0f), 0.84147096f);
  EXPECT_EQ(call_f32(MathFn::cos, 1.0f), 0.5403023f);
}

TEST(Floats, FunctionsOfNarrowDTypesRoundOnce) {
  const auto value = [](MathFn fn, DType t, double x, double y) {
    return float_of(t, x, y, [&](Expr a, Expr b) {
      return math_info(fn).arity == 1 ? call(fn, a) : call(fn, std::vector<Expr>{a, b});
    });
  };
  EXPECT_EQ(value(MathFn::exp, DType::f8e4m3, 1, 0), 2.75);  // 2.718...
  EXPECT_EQ(value(MathFn::exp, DType::f8e4m3, 10, 0), 448);  // saturates
  EXPECT_EQ(value(MathFn::log, DType::f8e4m3, 0, 0), -448);  // so does an infinity
  EXPECT_EQ(value(MathFn::exp, DType::f8e5m2, 20, 0), 57344);
  EXPECT_EQ(value(MathFn::log, DType::bf16, 0, 0), -INFINITY);
  EXPECT_EQ(value(MathFn::abs, DType::f8e5m2, -INFINITY, 0), INFINITY);  // exact, no conversion
  EXPECT_EQ(value(MathFn::pow, DType::tf32, 3, 0.5), 0x1.bb8p+0);        // 1.7320508 to 10 fraction bits
  EXPECT_EQ(value(MathFn::atan2, DType::f16, -0.0, -1), -3.140625);
  EXPECT_EQ(value(MathFn::hypot, DType::f8e4m3, 3, 4), 5);
  EXPECT_EQ(value(MathFn::fmod, DType::f32, -7.5, 2), -1.5);
  EXPECT_EQ(value(MathFn::copysign, DType::f64, 2, -0.0), -2);
  EXPECT_EQ(value(MathFn::nextafter, DType::f8e4m3, 1, 2), 1.125);
  EXPECT_EQ(value(MathFn::nextafter, DType::f8e5m2, 57344, INFINITY), INFINITY);
  EXPECT_EQ(value(MathFn::nextafter, DType::bf16, 1, 0), 1 - 0x1p-8);
  EXPECT_EQ(value(MathFn::nextafter, DType::tf32, 0, -1), -0x1p-136);
}

TEST(Floats, FusedProductsRoundOnce) {
  // The product is 2^-24 (1 + 2^-30): the sum lies above the tie 1 + 2^-24 by less than an ulp of double.
  const auto fma = [](DType t, double x, double y, double z) {
    return float_of(t, x, y, [&](Expr a, Expr b) {
      return call(MathFn::ieee_fmaf, std::vector<Expr>{a, b, float_imm(z, t)});
    });
  };
  const auto rounded_fma = [](double a, double b, double c) {
    return interp::rounded(DType::f32, float_value(MathFn::ieee_fmaf, DType::f32, {a, b, c}));
  };
  const double x = (1 + 0x1p-10) * 0x1p-24, y = 1 - 0x1p-10 + 0x1p-20;
  EXPECT_EQ(fma(DType::f32, x, y, 1), 1 + 0x1p-23);
  EXPECT_EQ(fma(DType::f32, -x, y, -1), -1 - 0x1p-23);
  EXPECT_EQ(fma(DType::f32, x, 1, 1), 1 + 0x1p-23);  // (1 + 2^-10) 2^-24 is above the tie as well
  EXPECT_EQ(fma(DType::f32, 0x1p-24, 1, 1), 1);      // a tie
  EXPECT_EQ(fma(DType::f64, 1 + 0x1p-30, 1 - 0x1p-30, -1), -0x1p-60);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto number = [&] { return std::ldexp(float(random() >> 40), int(random() % 40) - 30); };
    const auto a = float(number()), b = float(number()), c = float(i % 2 ? -number() : -double(float(double(a) * b)));
    ASSERT_EQ(float(rounded_fma(a, b, c)), std::fma(a, b, c)) << a << " " << b << " " << c;
  }
}

TEST(Floats, IntegerFunctions) {
  EXPECT_EQ(int_value(MathFn::popcount, DType::i8, -1), 8);
  EXPECT_EQ(int_value(MathFn::popcount, DType::u64, -1), 64);
  EXPECT_EQ(int_value(MathFn::clz, DType::u8, 1), 7);
  EXPECT_EQ(int_value(MathFn::clz, DType::i16, 0), 16);
  EXPECT_EQ(int_value(MathFn::clz, DType::i64, -1), 0);
  EXPECT_EQ(int_value(MathFn::truncdiv, DType::i8, -128, -1), -128);
  EXPECT_EQ(int_value(MathFn::truncdiv, DType::i32, -7, 2), -3);
  EXPECT_EQ(int_value(MathFn::truncmod, DType::i32, -7, 2), -1);
  EXPECT_EQ(int_value(MathFn::truncdiv, DType::u64, -1, 2), INT64_MAX);
  EXPECT_EQ(int_value(MathFn::truncmod, DType::i64, 5, 0), 5);
  EXPECT_EQ(int_value(MathFn::truncdiv, DType::i64, 5, 0), 0);
}

// 300 additions of 1 in f16 (exact), bf16 (stuck at 256: the tie 257 goes to even), and of 0.1.
uint16_t accumulated(DType t, double term, int64_t count) {
  Builder b;
  const TileId out = b.tensor("Out", t, {}), acc = b.tile("acc", Space::local, t, {});
  const Expr k = b.program.fresh_var("k");
  b.add(b.put(acc, {}, float_imm(0, t)));
  b.add(b.loop(LoopKind::serial, k, int_imm(count),
               {b.put(acc, {}, binary(ExprKind::add, b.get(acc, {}), float_imm(term, t)))}));
  b.add(b.put(out, {}, b.get(acc, {})));
  uint16_t bits = 0;
  b.run({TensorView{.data = &bits, .dtype = t, .shape = {}}});
  return bits;
}

TEST(Floats, NarrowAccumulationsRoundEachStep) {
  EXPECT_EQ(accumulated(DType::f16, 1, 300), 0x5cb0);   // 300
  EXPECT_EQ(accumulated(DType::bf16, 1, 300), 0x4380);  // 256
  EXPECT_EQ(accumulated(DType::f16, 1, 3000), 0x6800);  // 2048: 2049 is a tie and goes to even
  EXPECT_EQ(accumulated(DType::f16, 1e4, 7), 0x7c00);   // infinity: 70000 overflows
}

TEST(Logic, SelectEvaluatesOneSideAndConnectives) {
  Builder b;
  const TileId unset = b.tile("unset", Space::shared, DType::i32, {1}), out = b.tensor("Out", DType::i32, {int_imm(1)});
  const Expr n = b.scalar("n", DType::i32);
  const Expr positive = binary(ExprKind::lt, int_imm(0, DType::i32), n);
  b.add(b.put(
      out, {int_imm(0)},
      select(binary(ExprKind::logical_or, positive, le(cast(n, kIndex), int_imm(0))), n, b.get(unset, {int_imm(0)}))));
  std::vector<int32_t> data(1);
  b.run({view(data, DType::i32, {1}), int64_t(7)});
  EXPECT_EQ(data[0], 7);
}

}  // namespace
}  // namespace tilewright::test
