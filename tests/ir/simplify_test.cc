// Expressions: what must become what, and equality on every assignment of random trees.
#include "ir/simplify.h"

#include "facts_fixture.h"
#include "int_exprs.h"
#include "ir/simplify_rules.h"

#include <gtest/gtest.h>

#include <limits>

namespace tilewright::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

class Simplify : public FactsFixture {
 protected:
  void expect(const Expr& e, const Expr& wanted) {
    const Expr got = simplify(e, facts);
    EXPECT_TRUE(equal(got, wanted)) << "kind " << to_string(got.kind()) << ", " << num_nodes(got) << " nodes";
  }
  void expect_same(const Expr& e) { expect(e, e); }
};

Expr mod(const Expr& a, int64_t c) { return floormod(a, c); }
Expr eq(const Expr& a, const Expr& b) { return binary(ExprKind::eq, a, b); }
Expr ne(const Expr& a, const Expr& b) { return binary(ExprKind::ne, a, b); }
Expr logical_or(const Expr& a, const Expr& b) { return binary(ExprKind::logical_or, a, b); }

TEST_F(Simplify, QuotientsAndRemainders) {
  const Expr x = in("x", 1000), y = in("y", 8), z = in("z", 4);
  expect(floordiv(x * 8 + y, 8), x);
  expect(mod(x * 8 + y, 8), y);
  expect(floordiv(x, 8) * 8 + mod(x, 8), x);
  expect(floordiv(x, 8) * 16 + mod(x, 8) * 2 + z, x * 2 + z);
  expect(floordiv(floordiv(x, 4), 8), floordiv(x, 32));
  expect(mod(mod(x, 64), 8), mod(x, 8));
  expect(floordiv(x * 8 + y, 32), floordiv(x, 4));
  expect(floordiv(x * 32 + y * 4 + z, 4), x * 8 + y);
  expect(mod(x * 32 + y * 4 + z, 32), y * 4 + z);
  expect(floordiv(mod(x * 32 + y * 4 + z, 32), 4), y);
  expect(mod(floordiv(x * 32 + y * 4 + z, 4), 8), y);
  expect(floordiv(y - 8, 8), int_imm(-1));
  expect(mod(y - 8, 8), y);
  expect(floordiv(y, in("d", 4) + 8), int_imm(0));
  expect(mod(mod(x, 16) + y, 4), mod(x + y, 4));
}

TEST_F(Simplify, DivisionsThatMayWrapStay) {
  const Expr x = fresh("x"), y = in("y", 8);
  expect_same(floordiv(x * 8 + y, 8));
  expect_same(mod(x * 12 + y, 12));
  expect(mod(x * 8 + y, 8), y);  // the low bits are safe
  expect(floordiv(x, 8) * 8 + mod(x, 8), x);
  expect(floordiv(floordiv(x, 4), 8), floordiv(x, 32));
  const Expr b = fresh("b", DType::u8);
  expect_same(floordiv(b * int_imm(8, DType::u8), int_imm(8, DType::u8)));
}

TEST_F(Simplify, Sums) {
  const Expr x = fresh("x"), y = fresh("y");
  expect(x + y - x, y);
  expect((x + 3) * 2 - x * 2, int_imm(6));
  expect(x * 3 - x, x * 2);
  expect_same(x * 2 + y * 2);
  expect(x - x, int_imm(0));
  const Expr m = extent("M");
  facts.assume(eq(mod(m, 128), int_imm(0)));
  expect(floordiv(m, 128) * 128, m);
  expect(floordiv(m + 127, 128) * 128, m);
  expect(mod(m, 64), int_imm(0));
  expect(mod(m + 5, 64), int_imm(5));
}

TEST_F(Simplify, Comparisons) {
  const Expr by = in("by", 8), i = in("i", 128), x = fresh("x"), n = extent("N");
  expect(lt(by * 128 + i, int_imm(1024)), bool_imm(true));
  expect(lt(by * 128 + i, int_imm(0)), bool_imm(false));
  expect(lt(i + n, n + 64), lt(i, int_imm(64)));
  expect(lt(i * 4, int_imm(30)), lt(i, int_imm(8)));
  expect(le(i * 4, n * 4), le(i, n));
  expect(eq(x + 3, int_imm(5)), eq(x, int_imm(2)));
  expect_same(lt(x, x + 1));  // may wrap
  expect(logical_not(lt(x, n)), le(n, x));
  expect(ne(by * 2, i - i + by * 2 + 1), bool_imm(true));
}

TEST_F(Simplify, MinMaxSelectLogic) {
  const Expr i = in("i", 8), x = fresh("x"), n = extent("N"), bx = fresh("bx");
  expect(binary(ExprKind::min, i, int_imm(7)), i);
  expect(binary(ExprKind::max, i, int_imm(0)), i);
  expect(binary(ExprKind::min, binary(ExprKind::min, x, int_imm(5)), int_imm(3)), binary(ExprKind::min, x, int_imm(3)));
  expect(select(lt(x, n), select(lt(x, n), x, i), i), select(lt(x, n), x, i));
  expect(select(lt(x, int_imm(4)), binary(ExprKind::min, x, int_imm(9)), int_imm(1)),
         select(lt(x, int_imm(4)), x, int_imm(1)));
  expect(select(lt(x, n), bool_imm(true), bool_imm(false)), lt(x, n));
  expect(logical_and(lt(x, int_imm(4)), lt(x, int_imm(9))), lt(x, int_imm(4)));
  expect(logical_and(lt(x, int_imm(9)), lt(x, int_imm(4))), lt(x, int_imm(4)));
  expect(logical_and(lt(x, n), le(n, x)), bool_imm(false));
  expect(logical_or(lt(x, n), le(n, x)), bool_imm(true));
  facts.bind(bx, int_imm(0), floordiv(n, 96));
  expect(binary(ExprKind::min, int_imm(96), n - bx * 96), int_imm(96));
  const Expr a = load(0, "A", kIndex, {i});
  expect(select(lt(a, int_imm(4)), binary(ExprKind::min, a, int_imm(9)), int_imm(1)),
         select(lt(a, int_imm(4)), a, int_imm(1)));
}

TEST_F(Simplify, BitsAndCasts) {
  const Expr i = in("i", 8), x = fresh("x"), s = fresh("s", DType::i32), h = fresh("h", DType::f16),
             f = fresh("f", DType::f32);
  expect(binary(ExprKind::bit_and, i, int_imm(7)), i);
  expect(binary(ExprKind::bit_xor, x, x), int_imm(0));
  expect(binary(ExprKind::bit_xor, x, int_imm(0)), x);
  expect_same(binary(ExprKind::bit_xor, i, mod(x, 8)));
  expect(cast(cast(s, DType::i64), DType::i32), s);
  expect(cast(cast(i, DType::i32), DType::i64), i);
  expect(cast(cast(x, DType::i32), DType::i8), cast(x, DType::i8));
  expect_same(cast(cast(x, DType::i32), DType::i64));
  expect(cast(cast(h, DType::f32), DType::f16), h);
  expect(cast(cast(s, DType::f64), DType::f32), cast(s, DType::f32));
  expect_same(cast(cast(f, DType::f16), DType::f32));
  // Through f16 an infinity of f8e5m2 becomes finite; other values stay.
  const Expr e5m2 = fresh("e5m2", DType::f8e5m2), e4m3 = fresh("e4m3", DType::f8e4m3);
  expect_same(cast(cast(e5m2, DType::f16), DType::f8e5m2));
  expect(cast(cast(e5m2, DType::f16), DType::f8e4m3), cast(e5m2, DType::f8e4m3));
  expect(cast(cast(e4m3, DType::bf16), DType::f8e4m3), e4m3);
  expect_same(cast(cast(e5m2, DType::f8e4m3), DType::f32));
  expect(cast(cast(h, DType::tf32), DType::f32), cast(h, DType::f32));
  expect_same(cast(cast(s, DType::f32), DType::i32));
  // A float on the way saturates; without it the integer wraps.
  expect_same(cast(cast(s, DType::f64), DType::u32));
  expect_same(cast(cast(s, DType::f64), DType::i8));
  expect(cast(cast(s, DType::f64), DType::i64), cast(s, DType::i64));
  expect(call(MathFn::abs, i), i);
  expect(call(MathFn::truncdiv, {i, int_imm(3)}), floordiv(i, 3));
  expect(call(MathFn::truncmod, {i, int_imm(3)}), mod(i, 3));
}

TEST_F(Simplify, FloatsStay) {
  const Expr x = fresh("x", DType::f32), zero = float_imm(0, DType::f32);
  expect_same(binary(ExprKind::sub, x, x));
  expect_same(binary(ExprKind::add, x, zero));
  expect_same(binary(ExprKind::mul, x, zero));
  expect_same(binary(ExprKind::le, x, x));
  expect_same(binary(ExprKind::eq, x, x));
  expect_same(logical_not(binary(ExprKind::lt, x, zero)));
  expect_same(binary(ExprKind::max, x, x - x));
}

// Both sides are evaluated, so that no side's index may rely on the other.
TEST_F(Simplify, IndicesBesideAConditionStayInside) {
  const Expr i = in("i", 8), two = int_imm(2);
  const Expr element = load(0, "t", DType::i32, {binary(ExprKind::min, i, two)});
  const Expr inside = lt(i, int_imm(3)), is_one = binary(ExprKind::eq, element, imm(1, DType::i32));
  expect_same(logical_and(inside, is_one));
  expect_same(logical_and(is_one, inside));
  expect_same(logical_or(le(int_imm(3), i), is_one));
  // One side only is evaluated here, and no tile is read there.
  const Expr at_i = load(0, "t", DType::i32, {i});
  expect(select(inside, element, imm(7, DType::i32)), select(inside, at_i, imm(7, DType::i32)));
  expect(logical_and(inside, eq(binary(ExprKind::min, i, two), int_imm(1))), eq(i, int_imm(1)));
}

// A swizzled address: row (col / 8 xor row mod 8), taken apart again.
TEST_F(Simplify, SwizzledIndices) {
  const Expr row = in("row", 64), col = in("col", 64);
  const Expr chunk = binary(ExprKind::bit_xor, floordiv(col, 8), mod(row, 8));
  const Expr address = row * 64 + chunk * 8 + mod(col, 8);
  expect(floordiv(address, 64), row);
  expect(mod(address, 8), mod(col, 8));
  expect(floordiv(mod(address, 64), 8), chunk);
  expect(lt(address, int_imm(64 * 64)), bool_imm(true));
  expect(le(int_imm(0), address), bool_imm(true));
}

// Block raster in panels of four rows: the last panel may be narrower.
TEST_F(Simplify, PanelIndices) {
  const Expr id = in("id", 8 * 12);
  const Expr panel = floordiv(id, 4 * 12), in_panel = mod(id, 4 * 12);
  const Expr width = binary(ExprKind::min, int_imm(4), int_imm(8) - panel * 4);
  const Expr row = panel * 4 + mod(in_panel, 4), column = floordiv(in_panel, 4);
  expect(width, int_imm(4));
  expect(lt(row, int_imm(8)), bool_imm(true));
  expect(lt(column, int_imm(12)), bool_imm(true));
}

TEST_F(Simplify, ThreadMaps) {
  const Expr thread = in("thread", 128), reg = in("reg", 4);
  const Expr warp = floordiv(thread, 32), lane = mod(thread, 32);
  const Expr row = warp * 16 + floordiv(lane, 4) + floordiv(reg, 2) * 8, col = mod(lane, 4) * 2 + mod(reg, 2);
  expect(lt(row, int_imm(64)), bool_imm(true));
  expect(lt(col, int_imm(8)), bool_imm(true));
  expect(warp * 32 + lane, thread);
  expect(floordiv(row * 8 + col, 8), simplify(row, facts));
  expect(mod(thread * 4 + reg, 4), reg);
}

// ---- random ----

void check_equal(fuzz::Random& random, bool edges) {
  std::vector<VarInfo> vars;
  std::vector<int64_t> constants = {-3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 31};
  if (edges) constants = {kMin, kMin + 1, kMax, kMax - 1, -1, 0, 1, 2, 3, 8, 63, int64_t(1) << 62};
  for (VarId id = 0; id < 3; ++id) {
    const int64_t lo = edges ? random.pick({kMin, kMax - 2, int64_t(-1), int64_t(1) << 31}) : random.between(-4, 6);
    vars.push_back({var(id, "v"), lo, lo + random.between(0, edges ? 2 : 4)});
  }
  IntExprs exprs(random, vars, constants);
  const DType t =
      random.pick({DType::i64, DType::i64, DType::i64, DType::i32, DType::i8, DType::u8, DType::u32, DType::u64});
  const Expr e = random.chance(30) ? exprs.condition(3) : random.chance(60) ? exprs.index(t, 2) : exprs.integer(t, 4);
  const Expr given = exprs.condition(1);
  Facts facts;
  for (const VarInfo& v : vars) facts.bound(v.var, v.lo, v.hi);
  const bool assumed = random.chance(40);
  if (assumed) facts.assume(given);
  const Expr out = simplify(e, facts);
  ASSERT_EQ(out.dtype(), e.dtype());
  for_each_assignment(vars, [&](const Env& env) {
    if (assumed && !evaluate(given, env)) return;
    ASSERT_EQ(evaluate(e, env), evaluate(out, env));
  });
}

TEST(SimplifyFuzz, SmallRanges) {
  for (uint64_t seed = 0; seed < 1500 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed);
    check_equal(random, false);
  }
}

TEST(SimplifyFuzz, NearTheLimits) {
  for (uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed);
    check_equal(random, true);
  }
}

}  // namespace
}  // namespace tilewright::ir
