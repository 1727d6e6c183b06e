// Error bounds: other admissible evaluations stay inside, wrong ones do not.
#include "program_builder.h"
#include "runtime/interp/tracked.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tilewright::test {
namespace {

const DType f32 = DType::f32;
const InterpOptions kTrack{.track_error = true};

struct DotCase {
  std::vector<float> x, y;
  float result = 0;
  double bound = 0;
};

DotCase dot(std::mt19937& random, int n) {
  DotCase c;
  std::uniform_real_distribution<float> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-8, 8);
  for (int k = 0; k < n; ++k) {
    c.x.push_back(std::ldexp(mantissa(random), exponent(random)));
    c.y.push_back(std::ldexp(mantissa(random), exponent(random)));
  }
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(n)}), y = b.tensor("Y", f32, {int_imm(n)}),
               out = b.tensor("Out", f32, {});
  const TileId acc = b.tile("acc", Space::local, f32, {});
  const Expr k = b.program.fresh_var("k");
  b.add(b.put(acc, {}, float_imm(0, f32)));
  const Expr term = binary(ExprKind::mul, b.get(x, {k}), b.get(y, {k}));
  b.add(b.loop(LoopKind::serial, k, int_imm(n), {b.put(acc, {}, binary(ExprKind::add, b.get(acc, {}), term))}));
  b.add(b.put(out, {}, b.get(acc, {})));
  const InterpResult r = b.run(
      {view(c.x, f32, {n}), view(c.y, f32, {n}), TensorView{.data = &c.result, .dtype = f32, .shape = {}}}, kTrack);
  c.bound = r.bounds(2)[0];
  return c;
}

// Sums terms[lo, hi) in a random association, or as a chain of fused multiply-adds.
float random_tree(std::mt19937& random, const std::vector<float>& terms, size_t lo, size_t hi) {
  if (hi - lo == 1) return terms[lo];
  const size_t mid = lo + 1 + random() % (hi - lo - 1);
  return random_tree(random, terms, lo, mid) + random_tree(random, terms, mid, hi);
}

TEST(Tracked, ANumberWithABoundIsNotNan) {
  std::vector<float> x = {0.1f, 0.7f};
  float out = 0;
  Builder b;
  const TileId in = b.tensor("X", f32, {int_imm(2)}), result = b.tensor("Out", f32, {});
  const TileId sum = b.tile("sum", Space::local, f32, {});
  b.add(b.put(sum, {}, binary(ExprKind::mul, b.get(in, {int_imm(0)}), b.get(in, {int_imm(1)}))));
  const Expr value = b.get(sum, {});
  b.add(b.put(result, {}, select(binary(ExprKind::ne, value, value), float_imm(1000, f32), value)));
  const InterpResult r = b.run({view(x, f32, {2}), TensorView{.data = &out, .dtype = f32, .shape = {}}}, kTrack);
  EXPECT_GT(r.bounds(1)[0], 0);
  EXPECT_LT(r.bounds(1)[0], 1e-6);
}

TEST(Tracked, AnyAssociationAndFmaStayInside) {
  std::mt19937 random(7);
  for (int n : {1, 2, 3, 17, 128, 1000}) {
    const DotCase c = dot(random, n);
    ASSERT_TRUE(std::isfinite(c.bound));
    std::vector<float> terms;
    for (size_t k = 0; k < c.x.size(); ++k) terms.push_back(c.x[k] * c.y[k]);
    for (int trial = 0; trial < 100; ++trial) {
      std::vector<float> shuffled = terms;
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      if (trial == 0) {
        std::sort(shuffled.begin(), shuffled.end(), [](float a, float b) { return std::abs(a) > std::abs(b); });
        float sum = 0;
        for (float t : shuffled) sum += t;
        EXPECT_LE(std::abs(double(sum) - c.result), c.bound);
      }
      EXPECT_LE(std::abs(double(random_tree(random, shuffled, 0, shuffled.size())) - c.result), c.bound);
    }
    float fused = 0;
    for (size_t k = c.x.size(); k-- > 0;) fused = std::fma(c.x[k], c.y[k], fused);
    EXPECT_LE(std::abs(double(fused) - c.result), c.bound);
    const float largest =
        *std::max_element(terms.begin(), terms.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    EXPECT_GT(std::abs(double(largest)), c.bound) << "a dropped term is noticed, n = " << n;
  }
}

TEST(Tracked, LargestTermLast) {
  // Sequentially the small terms are added exactly; with the large one first each of them is lost.
  const int n = 64;
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(n)}), out = b.tensor("Out", f32, {}),
               acc = b.tile("acc", Space::local, f32, {});
  const Expr k = b.program.fresh_var("k");
  b.add(b.put(acc, {}, float_imm(0, f32)));
  b.add(
      b.loop(LoopKind::serial, k, int_imm(n), {b.put(acc, {}, binary(ExprKind::add, b.get(acc, {}), b.get(x, {k})))}));
  b.add(b.put(out, {}, b.get(acc, {})));
  std::vector<float> data(size_t(n), 0.99f);
  data.back() = 0x1p25f;
  float result = 0, other = 0;
  const InterpResult r = b.run({view(data, f32, {n}), TensorView{.data = &result, .dtype = f32, .shape = {}}}, kTrack);
  for (size_t i = data.size(); i-- > 0;) other += data[i];
  EXPECT_GT(std::abs(result - other), 60);
  EXPECT_LE(std::abs(double(result) - other), r.bounds(1)[0]);
}

// The bound of f(x, y) for f32 scalars.
double bound_of(double x, double y, const std::function<Expr(Expr, Expr)>& f) {
  Builder b;
  const Expr vx = b.scalar("x", f32), vy = b.scalar("y", f32), value = f(vx, vy);
  b.add(b.put(b.tensor("Out", value.dtype(), {}), {}, value));
  double memory = 0;
  return b.run({x, y, TensorView{.data = &memory, .dtype = value.dtype(), .shape = {}}}, kTrack).bounds(2)[0];
}

Expr sum(Expr x, Expr y) { return binary(ExprKind::add, x, y); }

TEST(Tracked, ExactOperationsHaveNoError) {
  EXPECT_EQ(bound_of(0.1, 0.3, [](Expr x, Expr y) { return binary(ExprKind::max, x, y); }), 0);
  EXPECT_EQ(bound_of(0.1, 0.3, [](Expr x, Expr) { return cast(x, DType::f16); }), 0);
  EXPECT_EQ(bound_of(0.1, 0.3, [](Expr x, Expr) { return call(MathFn::floor, x); }), 0);
  EXPECT_EQ(bound_of(0.1, 0.3, [](Expr x, Expr y) { return binary(ExprKind::lt, x, y); }), 0);
  EXPECT_GT(bound_of(0.1, 0.3, [](Expr x, Expr y) { return cast(sum(x, y), DType::f16); }), std::ldexp(0.4, -11));
}

TEST(Tracked, FunctionsCarryUlpsAndSlope) {
  const double ulp = std::ldexp(1.0, -22);  // of values in [2, 4)
  const double alone = bound_of(1, 0, [](Expr x, Expr) { return call(MathFn::exp, x); });
  EXPECT_GE(alone, 2 * math_info(MathFn::exp).ulps * ulp);
  EXPECT_LT(alone, 4 * math_info(MathFn::exp).ulps * ulp);
  const double carried = bound_of(10, 0.1, [](Expr x, Expr y) { return call(MathFn::exp, sum(x, y)); });
  EXPECT_GT(carried, std::exp(10.1) * 10.1 * std::ldexp(1.0, -23));
  EXPECT_TRUE(std::isinf(bound_of(0.1, -0.1, [](Expr x, Expr y) { return call(MathFn::log, sum(x, y)); })));
  EXPECT_TRUE(std::isinf(bound_of(0.1, -0.1, [](Expr x, Expr y) { return binary(ExprKind::div, x, sum(x, y)); })));
}

// The number r that is meant lies within err of the interpreter's value, and what another backend has within err of r:
// the result is bounded for each such pair of pairs, and not much beyond the worst.
TEST(Tracked, ProductsAndQuotientsOfAllCorners) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int sample = 0; sample < 200; ++sample) {
    const double a = unit(random) * 8, b = unit(random) * 8, ea = std::abs(a * unit(random)) / 3,
                 eb = std::abs(b * unit(random)) / 3;
    const interp::TrackedFloat x = interp::single_term(a, ea), y = interp::single_term(b, eb);
    double product = 0, quotient = 0;
    for (int corner = 0; corner < 16; ++corner) {
      const auto sign = [&](int bit) { return corner >> bit & 1 ? 1.0 : -1.0; };
      const double r = a + sign(0) * ea, s = b + sign(1) * eb, other_r = r + sign(2) * ea, other_s = s + sign(3) * eb;
      product = std::max(product, std::abs(other_r * other_s - r * s));
      quotient = std::max(quotient, std::abs(other_r / other_s - r / s));
    }
    const double by_product = interp::tracked_mul(DType::f64, x, y).bound.err;
    const double by_quotient = interp::tracked_div(DType::f64, x, y).bound.err;
    EXPECT_GE(by_product * (1 + 1e-9), product) << a << " +- " << ea << ", " << b << " +- " << eb;
    EXPECT_GE(by_quotient * (1 + 1e-9), quotient) << a << " +- " << ea << ", " << b << " +- " << eb;
    // A bound many times what can happen hides mistakes; some room is for terms that no corner adds up.
    EXPECT_LE(by_product, 3 * product + 1e-12);
    EXPECT_LE(by_quotient, 10 * quotient + 1e-12);
  }
}

// What each function makes of x + y stays within its bound for every number within the bound of the sum.
TEST(Tracked, BoundsOfFunctionsHoldOverTheirBoxes) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < kNumMathFns; ++i) {
    const auto fn = MathFn(i);
    const MathInfo& info = math_info(fn);
    if (info.operands == MathOperands::integers || info.operands == MathOperands::choice ||
        info.operands == MathOperands::test || info.operands == MathOperands::scaled) {
      continue;
    }
    int bounded = 0;
    for (int sample = 0; sample < 60; ++sample) {
      // Wide enough for poles and steps, mostly where each function is defined.
      const double scale = std::ldexp(1.0, int(random() % 9) - 5), x = float(unit(random) * scale * 1e3),
                   y = float(-x + unit(random) * scale);
      const double moved = bound_of(x, y, sum) / 2, v = float(x + y);
      const auto operands = [&](const Expr& e) { return std::vector<Expr>(size_t(info.arity), e); };
      const auto function = [&](Expr a, Expr b) { return call(fn, operands(sum(a, b))); };
      const double bound = bound_of(x, y, function);
      bounded += bound < HUGE_VAL;
      const double at_v = float(float_value(fn, f32, {v, v, v}));
      for (const double r : {v - moved, v + moved, v + moved * unit(random)}) {
        const double other = float_value(fn, f32, {r, r, r});
        if (std::isnan(at_v) && std::isnan(other)) continue;
        EXPECT_TRUE(bound == HUGE_VAL || std::abs(at_v - other) <= bound)
            << info.name << " at " << v << " and " << r << ": " << at_v << " and " << other << ", bound " << bound;
      }
    }
    const bool jumps = fn == MathFn::fmod || fn == MathFn::nextafter;
    EXPECT_GE(bounded, jumps ? 0 : 5) << info.name;
  }
}

TEST(Tracked, TestsChoicesAndBits) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto is_nan = [](Expr x, Expr y) { return call(MathFn::isnan, sum(x, y)); };
  EXPECT_EQ(bound_of(0.1, 0.2, is_nan), 0);
  EXPECT_EQ(bound_of(inf, -inf, is_nan), 0);
  EXPECT_EQ(bound_of(3e38, 3e38, is_nan), 0);  // one sum has one result
  EXPECT_EQ(bound_of(0.1, 0.2, [](Expr x, Expr y) { return reinterpret(sum(x, y), DType::i32); }), inf);
  EXPECT_EQ(bound_of(0.1, 0.2, [](Expr x, Expr) { return reinterpret(x, DType::i32); }), 0);
  EXPECT_EQ(bound_of(0, 0.2, [](Expr x, Expr) { return reinterpret(x, DType::i32); }), inf);  // -0 is as good
  const auto blend = [](Expr x, Expr y) {
    return call(MathFn::blend, {binary(ExprKind::lt, sum(x, y), float_imm(0, f32)), x, y});
  };
  EXPECT_EQ(bound_of(1, -2, blend), 0);
  EXPECT_GE(bound_of(0.5, -0.5, blend), 1);
  EXPECT_GT(bound_of(1.5, 0.25, [](Expr x, Expr y) { return call(MathFn::atan2, {sum(x, y), y}); }), 0);
  EXPECT_EQ(bound_of(1, -1, [](Expr x, Expr y) { return call(MathFn::atan2, {sum(x, y), y}); }), inf);  // the cut
  EXPECT_EQ(bound_of(0.1, 0.2, [](Expr x, Expr y) { return call(MathFn::fmod, {sum(x, y), y}); }), inf);
}

TEST(Tracked, UndeterminedOutcomes) {
  const double inf = std::numeric_limits<double>::infinity();
  const Expr zero = float_imm(0, f32);
  EXPECT_EQ(bound_of(0.1, -0.1, [&](Expr x, Expr y) { return binary(ExprKind::lt, sum(x, y), zero); }), inf);
  EXPECT_EQ(bound_of(0.1, 0.1, [&](Expr x, Expr y) { return binary(ExprKind::lt, sum(x, y), zero); }), 0);
  EXPECT_EQ(bound_of(0.5, 0.5, [&](Expr x, Expr y) { return cast(sum(x, y), DType::i32); }), inf);
  EXPECT_EQ(bound_of(0.5, 0.25, [&](Expr x, Expr y) { return cast(sum(x, y), DType::i32); }), 0);
  // relu near 0 is continuous: a small bound, not none.
  const double relu = bound_of(
      0.1, -0.1, [&](Expr x, Expr y) { return select(binary(ExprKind::lt, zero, sum(x, y)), sum(x, y), zero); });
  EXPECT_GT(relu, 0);
  EXPECT_LT(relu, 1e-6);
}

TEST(Tracked, MaskedInfinitiesStayDetermined) {
  const double minus = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(bound_of(minus, 1, [](Expr x, Expr y) { return sum(sum(x, y), y); }), 0);
  EXPECT_LT(bound_of(minus, 1, [](Expr x, Expr y) { return call(MathFn::exp, sum(sum(x, y), y)); }), 1e-40);
}

TEST(Tracked, BranchesAndIndices) {
  const double inf = std::numeric_limits<double>::infinity();
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(2)}), a = b.tensor("A", f32, {int_imm(3)}),
               c = b.tensor("C", f32, {int_imm(3)});
  const Expr difference = binary(ExprKind::sub, b.get(x, {int_imm(0)}), b.get(x, {int_imm(1)}));
  const Expr positive = binary(ExprKind::lt, float_imm(0, f32), difference), one = float_imm(1, f32);
  b.add(make_stmt(
      IfStmt{.condition = positive, .then = {b.put(a, {int_imm(0)}, one)}, .otherwise = {b.put(a, {int_imm(1)}, one)}},
      at(50)));
  b.add(b.put(c, {cast(call(MathFn::floor, difference), kIndex)}, one));
  std::vector<float> vx = {0.1f, 0.1f}, va(3), vc(3);
  const std::vector<Argument> arguments = {view(vx, f32, {2}), view(va, f32, {3}), view(vc, f32, {3})};
  const InterpResult r = interpret(b.program, arguments, kTrack);
  EXPECT_EQ(r.bounds(1), (std::vector<double>{inf, inf, 0}));
  EXPECT_EQ(r.bounds(2), (std::vector<double>(3, inf)));
  vx[0] = 1.5f;
  const InterpResult clear = interpret(b.program, arguments, kTrack);
  EXPECT_EQ(clear.bounds(1), (std::vector<double>(3, 0)));
  EXPECT_EQ(clear.bounds(2), (std::vector<double>(3, 0)));
}

}  // namespace
}  // namespace tilewright::test
