// Intervals, linear forms and proofs: exhaustive soundness on random trees, and lists of what must be decided.
#include "ir/bounds.h"

#include "facts_fixture.h"
#include "int_exprs.h"
#include "ir/simplify.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace tilewright::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

using Bounds = FactsFixture;

void expect_interval(const Expr& e, const Facts& facts, std::optional<int64_t> lo, std::optional<int64_t> hi) {
  const Interval i = bounds(e, facts);
  EXPECT_EQ(i.lo, lo);
  EXPECT_EQ(i.hi, hi);
}

// Of m i + a and m j + b, whichever is chosen, a fixed difference is divisible by what divides m and b - a.
TEST_F(Bounds, DivisorsOfChoices) {
  const Expr i = in("i", 50), j = in("j", 50), c = fresh("c", DType::boolean);
  for (const int64_t m : {4, 6, 8}) {
    for (int64_t a = 0; a < m; ++a) {
      for (int64_t b = 0; b < m; ++b) {
        const Expr x = i * m + a, y = j * m + b;
        const int64_t expected = std::gcd(m, b - a);
        EXPECT_EQ(known_divisor(select(c, x, y) - a, facts), expected) << m << " " << a << " " << b;
        EXPECT_EQ(known_divisor(binary(ExprKind::min, x, y) - a, facts), expected) << m << " " << a << " " << b;
      }
    }
  }
}

TEST_F(Bounds, IntervalsOfOperations) {
  const Expr i = in("i", 8), j = in("j", 4);
  expect_interval(i * 4 + j, facts, 0, 31);
  expect_interval(i - i, facts, 0, 0);
  expect_interval(i * 3 - i * 2, facts, 0, 7);
  expect_interval(floordiv(i - 4, 2), facts, -2, 1);
  expect_interval(floormod(i + 8, 16), facts, 8, 15);
  expect_interval(floormod(i - 1, 4), facts, 0, 3);
  expect_interval(floordiv(i, j), facts, 0, 7);
  expect_interval(floordiv(i, j - 2), facts, -7, 7);
  expect_interval(binary(ExprKind::bit_and, i, int_imm(3)), facts, 0, 3);
  expect_interval(binary(ExprKind::bit_xor, i, j), facts, 0, 7);
  expect_interval(binary(ExprKind::shl, i, int_imm(2)), facts, 0, 28);
  expect_interval(binary(ExprKind::shr, i, int_imm(1)), facts, 0, 3);
  expect_interval(select(lt(i, j), i, j + 10), facts, 0, 13);
  expect_interval(lt(i, int_imm(8)), facts, 1, 1);
  expect_interval(lt(int_imm(8), i), facts, 0, 0);
  expect_interval(cast(i, DType::u8), facts, 0, 7);
}

TEST_F(Bounds, WrappingIsUnbounded) {
  const Expr x = fresh("x");
  facts.bound(x, kMax - 1, kMax);
  expect_interval(x + 1, facts, std::nullopt, std::nullopt);
  expect_interval(x * 2, facts, std::nullopt, std::nullopt);
  EXPECT_FALSE(prove(lt(x, x + 1), facts));
  EXPECT_FALSE(prove(lt(int_imm(0), x + 1), facts));
  const Expr y = fresh("y");
  facts.bound(y, kMin, kMin + 1);
  EXPECT_FALSE(prove(lt(floordiv(y, -1), int_imm(0)), facts));
  EXPECT_FALSE(prove(lt(y - 1, int_imm(0)), facts));
  const Expr byte = fresh("byte", DType::u8);
  expect_interval(byte + byte, facts, 0, 255);
  expect_interval(cast(byte, kIndex) + cast(byte, kIndex), facts, 0, 510);
  expect_interval(byte - 1, facts, 0, 255);
  const Expr wide = fresh("wide", DType::u64);
  expect_interval(wide, facts, 0, std::nullopt);
}

TEST_F(Bounds, ProvesTiledIndices) {
  const Expr by = in("by", 8), i = in("i", 128), ko = in("ko", 32), k = in("k", 32);
  EXPECT_TRUE(prove(lt(by * 128 + i, int_imm(1024)), facts));
  EXPECT_FALSE(prove(lt(by * 128 + i, int_imm(1023)), facts));
  EXPECT_TRUE(prove(lt(ko * 32 + k, int_imm(1024)), facts));
  EXPECT_TRUE(prove(le(int_imm(0), ko * 32 + k), facts));
  EXPECT_TRUE(prove(lt(floordiv(i, 4) * 4 + floormod(k, 4), int_imm(128)), facts));
}

TEST_F(Bounds, ProvesWholeTilesOfASymbolicExtent) {
  const Expr m = extent("M"), by = fresh("by"), i = in("i", 128);
  facts.bind(by, int_imm(0), ceildiv(m, int_imm(128)));
  const Expr inside = lt(by * 128 + i, m);
  EXPECT_FALSE(prove(inside, facts));
  EXPECT_TRUE(prove(lt(by * 128, m), facts));
  EXPECT_TRUE(prove(lt(int_imm(0), m), facts));
  facts.push();
  facts.assume(binary(ExprKind::eq, floormod(m, 128), int_imm(0)));
  EXPECT_TRUE(prove(inside, facts));
  facts.pop();
  EXPECT_FALSE(prove(inside, facts));
  facts.assume(le(by * 128 + 128, m));
  EXPECT_TRUE(prove(inside, facts));
}

TEST_F(Bounds, ProvesWholeTilesOfAnUnboundedExtent) {
  const Expr m = fresh("M"), by = fresh("by"), i = in("i", 128);
  facts.assume(le(int_imm(0), m));
  facts.assume(binary(ExprKind::eq, floormod(m, 128), int_imm(0)));
  facts.bind(by, int_imm(0), ceildiv(m, int_imm(128)));
  EXPECT_TRUE(prove(lt(by * 128 + i, m), facts));
  const Expr n = fresh("N"), bx = fresh("bx");
  facts.assume(le(int_imm(0), n));
  facts.bind(bx, int_imm(0), ceildiv(n, int_imm(32)));
  EXPECT_TRUE(prove(lt(bx, ceildiv(n, int_imm(32))), facts));
  // n + 31 may wrap here.
  EXPECT_FALSE(prove(lt(bx * 32, n), facts));
}

TEST_F(Bounds, ProvesTails) {
  const Expr n = extent("N"), bx = fresh("bx"), i = fresh("i");
  facts.bind(bx, int_imm(0), ceildiv(n, int_imm(96)));
  const Expr tail = binary(ExprKind::min, int_imm(96), n - bx * 96);
  facts.bind(i, int_imm(0), tail);
  EXPECT_TRUE(prove(lt(bx * 96 + i, n), facts));
  EXPECT_TRUE(prove(lt(i, int_imm(96)), facts));
  EXPECT_TRUE(prove(le(int_imm(1), tail), facts));
}

TEST_F(Bounds, ProvesSplitLoops) {
  const Expr k = extent("K"), part = in("part", 4), t = fresh("t");
  const Expr per_part = ceildiv(ceildiv(k, int_imm(64)), int_imm(4));
  const Expr begin = part * 1, low = fresh("low");
  facts.equate(low, floordiv(k, 4));
  EXPECT_TRUE(prove(le(low * 4, k), facts));
  EXPECT_TRUE(prove(lt(k, low * 4 + 4), facts));
  facts.bind(t, int_imm(0), per_part);
  EXPECT_TRUE(prove(le(t * 256, k + 255), facts));
  EXPECT_TRUE(prove(lt(begin, int_imm(4)), facts));
}

TEST_F(Bounds, LoopsWithBeginAndStep) {
  const Expr n = extent("n"), i = fresh("i"), down = fresh("down"), wide = fresh("wide");
  facts.bind(i, n, int_imm(10), 4);
  EXPECT_TRUE(prove(le(n, i), facts));
  EXPECT_TRUE(prove(le(i, n + 36), facts));
  facts.bind(down, n - 1, n, -1);
  EXPECT_TRUE(prove(le(int_imm(0), down), facts));
  EXPECT_TRUE(prove(lt(down, n), facts));
  facts.bind(wide, int_imm(2), int_imm(5), 8);
  EXPECT_TRUE(prove(binary(ExprKind::eq, floormod(wide, 8), int_imm(2)), facts));
  EXPECT_TRUE(prove(binary(ExprKind::ne, wide, int_imm(16)), facts));
  expect_interval(wide, facts, 2, 34);
}

TEST_F(Bounds, UsesConditions) {
  const Expr m = extent("M"), x = fresh("x"), y = fresh("y");
  facts.assume(logical_and(le(int_imm(0), x), lt(x, m)));
  facts.assume(logical_not(binary(ExprKind::logical_or, lt(y, x), le(m, y))));
  EXPECT_TRUE(prove(le(int_imm(0), y), facts));
  EXPECT_TRUE(prove(lt(y, m), facts));
  EXPECT_TRUE(prove(le(x, y), facts));
  EXPECT_FALSE(prove(lt(x, y), facts));
  facts.assume(binary(ExprKind::ne, x, y));
  EXPECT_TRUE(prove(lt(x, y), facts));
  const Expr f = fresh("f", DType::f32), less = lt(f, float_imm(0, DType::f32));
  facts.assume(logical_not(less));
  EXPECT_TRUE(prove(logical_not(less), facts));
  EXPECT_FALSE(prove(le(float_imm(0, DType::f32), f), facts));  // NaN
}

TEST_F(Bounds, ConditionsThatLoadDoNotOutliveStores) {
  const Expr element = load(0, "A", kIndex, {int_imm(0)});
  const Expr small = lt(element, int_imm(4)), x = fresh("x");
  facts.assume(logical_and(small, lt(x, int_imm(4))));
  EXPECT_FALSE(prove(small, facts));
  EXPECT_TRUE(prove(lt(x, int_imm(4)), facts));
  facts.assume(small, Reads::stable);
  EXPECT_TRUE(prove(small, facts));
  const Expr i = fresh("i");
  facts.bind(i, int_imm(0), load(0, "A", kIndex, {int_imm(1)}));
  EXPECT_FALSE(prove(lt(i, load(0, "A", kIndex, {int_imm(1)})), facts));
  EXPECT_TRUE(prove(le(int_imm(0), i), facts));
  const Expr j = fresh("j"), begin = floormod(load(0, "A", kIndex, {int_imm(2)}), 8);
  facts.bind(j, begin, int_imm(4));
  EXPECT_FALSE(prove(le(begin, j), facts));
  EXPECT_TRUE(prove(le(j, int_imm(10)), facts));
}

TEST_F(Bounds, Divisors) {
  const Expr m = extent("M"), i = in("i", 8), any = fresh("any");
  facts.assume(binary(ExprKind::eq, floormod(m, 16), int_imm(0)));
  EXPECT_EQ(known_divisor(m, facts), 16);
  EXPECT_EQ(known_divisor(m * 2 + i * 8, facts), 8);
  EXPECT_EQ(known_divisor(i * 12, facts), 12);
  EXPECT_EQ(known_divisor(any * 12, facts), 4);  // any * 12 may wrap
  EXPECT_EQ(known_divisor(i * 12 + 1, facts), 1);
  EXPECT_EQ(known_divisor(int_imm(0), facts), 0);
  EXPECT_EQ(known_divisor(floormod(m, 8), facts), 0);
  EXPECT_EQ(known_divisor(m * i, facts), 16);
  EXPECT_TRUE(prove(binary(ExprKind::eq, floormod(m * 4 + 8, 8), int_imm(0)), facts));
  EXPECT_TRUE(prove(binary(ExprKind::ne, i * 4, i * 2 + i * 2 + 2), facts));
}

TEST_F(Bounds, LinearFormsAndStrides) {
  const Expr i = in("i", 8), j = in("j", 8);
  EXPECT_EQ(coefficient_of((i * 4 + j) * 8 - i, i), 31);
  EXPECT_EQ(coefficient_of(j * 3, i), 0);
  EXPECT_EQ(coefficient_of(floordiv(i, 2) + j, i), std::nullopt);
  const LinearForm form = linear_form((i + 3) * 2 - j + i);
  EXPECT_EQ(form.constant, 6);
  ASSERT_EQ(form.terms.size(), 2u);
  EXPECT_EQ(evaluate(to_expr(form), {{i.var_id(), 5}, {j.var_id(), 2}}), 19);
  const Expr b = fresh("b", DType::u8);
  EXPECT_EQ(linear_form(b - int_imm(1, DType::u8)).constant, -1);
}

TEST_F(Bounds, SharedSubtreesCostBoundedWork) {
  Expr x = in("x", 3), c = lt(x, int_imm(1));
  for (int i = 0; i < 200; ++i) x = binary(ExprKind::max, floormod(x + x * x, 7), x * 3);
  for (int i = 0; i < 100; ++i) c = binary(ExprKind::logical_or, logical_and(c, lt(x, int_imm(i))), logical_not(c));
  bounds(x, facts);
  prove(c, facts);
  prove(lt(x, int_imm(5)), facts);
  known_divisor(x, facts);
}

// ---- random ----

struct Setting {
  std::vector<VarInfo> vars;
  std::vector<int64_t> constants;
};

Setting small_setting(fuzz::Random& random) {
  Setting s{.vars = {}, .constants = {-3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 31}};
  for (VarId id = 0; id < 3; ++id) {
    const int64_t lo = random.between(-6, 6);
    s.vars.push_back({var(id, "v"), lo, lo + random.between(0, 4)});
  }
  return s;
}

Setting edge_setting(fuzz::Random& random) {
  Setting s{.vars = {}, .constants = {kMin, kMin + 1, kMax, kMax - 1, -1, 0, 1, 2, 3, 4, 63, 64, int64_t(1) << 62}};
  for (VarId id = 0; id < 2; ++id) {
    const int64_t lo = random.pick({kMin, kMin + 1, kMax - 3, int64_t(-2), int64_t(1) << 31, (int64_t(1) << 62) - 1});
    s.vars.push_back({var(id, "v"), lo, lo + random.between(0, 3)});
  }
  return s;
}

Facts facts_of(fuzz::Random& random, const Setting& setting) {
  Facts facts;
  for (const VarInfo& v : setting.vars) {
    if (v.lo > kMin && random.chance(50))
      facts.bind(v.var, int_imm(v.lo), int_imm(v.hi - v.lo + 1));
    else
      facts.bound(v.var, v.lo, v.hi);
  }
  return facts;
}

void expect_contains(const Interval& i, int64_t value, DType t) {
  const bool huge = t == DType::u64 && value < 0;
  if (i.lo && !huge) {
    ASSERT_LE(*i.lo, value);
  }
  if (i.hi) {
    ASSERT_FALSE(huge);
  }
  if (i.hi) {
    ASSERT_GE(*i.hi, value);
  }
}

// Intervals, divisors and proofs of one integer and one condition under one assumed condition.
void check_soundness(fuzz::Random& random, const Setting& setting) {
  IntExprs exprs(random, setting.vars, setting.constants);
  const DType t = random.pick({DType::i64, DType::i64, DType::i64, DType::i32, DType::i8, DType::u8, DType::u64});
  const Expr e = random.chance(50) ? exprs.index(t, 2) : exprs.integer(t, 3);
  const Expr goal = exprs.condition(2), given = exprs.condition(1);
  Facts facts = facts_of(random, setting);
  const bool assumed = random.chance(60);
  if (assumed) facts.assume(given);
  const Interval interval = bounds(e, facts);
  const int64_t divisor = known_divisor(e, facts);
  const bool proved = prove(goal, facts), refuted = prove(negation(goal), facts);
  for_each_assignment(setting.vars, [&](const Env& env) {
    if (assumed && !evaluate(given, env)) return;
    const int64_t value = evaluate(e, env);
    ASSERT_NO_FATAL_FAILURE(expect_contains(interval, value, t));
    if (divisor == 0) {
      ASSERT_EQ(value, 0);
    } else if (t == DType::u64) {
      ASSERT_EQ(uint64_t(value) % uint64_t(divisor), 0u);
    } else {
      ASSERT_EQ(value % divisor, 0);
    }
    if (proved) {
      ASSERT_NE(evaluate(goal, env), 0);
    }
    if (refuted) {
      ASSERT_EQ(evaluate(goal, env), 0);
    }
  });
}

TEST(BoundsFuzz, SmallRanges) {
  for (uint64_t seed = 0; seed < 2000 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed);
    check_soundness(random, small_setting(random));
  }
}

TEST(BoundsFuzz, NearTheLimits) {
  for (uint64_t seed = 0; seed < 4000 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed);
    check_soundness(random, edge_setting(random));
  }
}

// Loops with symbolic begins and extents: the facts hold in every iteration.
TEST(BoundsFuzz, SymbolicLoops) {
  for (uint64_t seed = 0; seed < 1500 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed);
    const Setting setting = random.chance(70) ? small_setting(random) : edge_setting(random);
    IntExprs outer(random, setting.vars, setting.constants);
    const Expr i = var(10, "i"), begin = outer.index(kIndex, 1), extent = outer.index(kIndex, 1);
    const int64_t step =
        random.pick({int64_t(1), int64_t(1), int64_t(2), int64_t(3), int64_t(8), int64_t(-1), int64_t(-4)});
    Facts facts = facts_of(random, setting);
    facts.bind(i, begin, extent, step);
    std::vector<VarInfo> vars = setting.vars;
    vars.push_back({i, 0, 0});
    IntExprs inner(random, vars, setting.constants);
    const Expr goal = random.chance(40) ? lt(i, begin + extent * step) : inner.condition(1);
    const bool proved = prove(goal, facts);
    const Interval interval = bounds(i, facts);
    const int64_t divisor = known_divisor(i + 1, facts);
    for_each_assignment(setting.vars, [&](const Env& assignment) {
      Env env = assignment;
      const int64_t first = evaluate(begin, env), count = evaluate(extent, env);
      for (int64_t t = 0; t < std::min<int64_t>(count, 6); ++t) {
        env[10] = int64_t(uint64_t(first) + uint64_t(t) * uint64_t(step));
        ASSERT_NO_FATAL_FAILURE(expect_contains(interval, env[10], kIndex));
        if (divisor > 0) {
          ASSERT_EQ(int64_t(uint64_t(env[10]) + 1) % divisor, 0);
        }
        if (proved) {
          ASSERT_NE(evaluate(goal, env), 0);
        }
      }
    });
  }
}

}  // namespace
}  // namespace tilewright::ir
