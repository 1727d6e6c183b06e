// Statements: the same stores in the same order before and after, and what must disappear.
#include "ir/simplify.h"

#include "int_exprs.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <tuple>

namespace tilewright::ir {
namespace {

constexpr TileId kArray = 0, kOther = 1, kLocal = 2;
constexpr int64_t kElems = 8;

Kernel small_kernel(Block body) {
  const auto tile = [](const char* name, Space space, std::vector<Expr> shape) {
    return Tile{.name = name,
                .space = space,
                .dtype = kIndex,
                .shape = std::move(shape),
                .layout = std::nullopt,
                .origin = {},
                .loc = {}};
  };
  return {.name = "k",
          .grid = {},
          .block_vars = {},
          .tiles = {tile("A", Space::shared, {int_imm(kElems)}), tile("B", Space::shared, {int_imm(kElems)}),
                    tile("v", Space::local, {})},
          .body = std::move(body),
          .loc = {}};
}

// Runs a body over two arrays and a local variable; a parallel loop gives each iteration its own copy of the latter.
class Machine {
 public:
  explicit Machine(Env env) : env_(std::move(env)) {}
  void run(const Block& block) { execute(block); }
  using Write = std::tuple<TileId, int64_t, int64_t>;
  std::vector<Write> writes;  // in order
  int64_t local = 3;

 private:
  enum class Next { go_on, leave, restart };
  Next execute(const Block& block);
  Next execute(const ForStmt& loop, size_t d);
  int64_t value(const Expr& e) {
    return evaluate(e, env_, [&](TileId tile, const std::vector<int64_t>& at) {
      return tile == kLocal ? local : at[0] >= 0 && at[0] < kElems ? arrays_[size_t(tile)][size_t(at[0])] : 0;
    });
  }
  void store(const StoreStmt& s) {
    const int64_t x = value(s.value), at = s.indices.empty() ? 0 : value(s.indices[0]);
    writes.emplace_back(s.tile, at, x);
    if (s.tile == kLocal)
      local = x;
    else
      arrays_[size_t(s.tile)][size_t(at)] = x;
  }

  Env env_;
  std::array<std::array<int64_t, kElems>, 2> arrays_ = {{{1, 2, 3, 4, 5, 6, 7, 8}, {0, -1, 5, 0, 2, 0, 1, 3}}};
};

Machine::Next Machine::execute(const ForStmt& loop, size_t d) {
  if (d == loop.dims.size()) return execute(loop.body);
  const LoopDim& dim = loop.dims[d];
  const int64_t begin = value(dim.begin), extent = value(dim.extent);
  for (int64_t t = 0; t < extent; ++t) {
    env_[dim.var.var_id()] = begin + t * dim.step;
    const int64_t outside = local;
    const Next next = execute(loop, d + 1);
    if (loop.kind == LoopKind::parallel) local = outside;
    if (next == Next::leave) return d == 0 ? Next::go_on : Next::leave;
  }
  return Next::go_on;
}

Machine::Next Machine::execute(const Block& block) {
  for (const Stmt& stmt : block) {
    if (get_if<BreakStmt>(stmt)) return Next::leave;
    if (get_if<ContinueStmt>(stmt)) return Next::restart;
    if (const auto* let = get_if<LetStmt>(stmt)) env_[let->var.var_id()] = value(let->value);
    if (const auto* s = get_if<StoreStmt>(stmt)) store(*s);
    if (const auto* loop = get_if<ForStmt>(stmt)) execute(*loop, 0);
    if (const auto* loop = get_if<WhileStmt>(stmt)) {
      for (int guard = 0; guard < 50 && value(loop->condition); ++guard) {
        if (execute(loop->body) == Next::leave) break;
      }
    }
    if (const auto* branch = get_if<IfStmt>(stmt)) {
      const Next next = execute(value(branch->condition) ? branch->then : branch->otherwise);
      if (next != Next::go_on) return next;
    }
  }
  return Next::go_on;
}

Expr element(TileId tile, const Expr& at) { return load(tile, tile == kArray ? "A" : "B", kIndex, {at}); }
Expr local() { return load(kLocal, "v", kIndex, {}); }
Stmt store(TileId tile, const Expr& at, const Expr& value) {
  return make_stmt(StoreStmt{.tile = tile, .indices = {at}, .value = value});
}
Stmt loop_over(LoopKind kind, std::vector<LoopDim> dims, Block body) {
  return make_stmt(ForStmt{.kind = kind, .dims = std::move(dims), .attrs = {}, .body = std::move(body)});
}
Stmt branch(const Expr& condition, Block then, Block otherwise = {}) {
  return make_stmt(IfStmt{.condition = condition, .then = std::move(then), .otherwise = std::move(otherwise)});
}

class SimplifyStmt : public ::testing::Test {
 protected:
  void expect(Block body, const Block& wanted) {
    EXPECT_TRUE(equal(simplify_kernel(program, small_kernel(std::move(body))).body, wanted));
  }
  const Expr x = var(0, "x"), i = var(1, "i"), j = var(2, "j"), y = var(3, "y");
  const Expr zero = int_imm(0), one = int_imm(1);
  const Stmt mark = store(kArray, int_imm(7), int_imm(9));
  Program program;
};

TEST_F(SimplifyStmt, Branches) {
  expect({loop_over(LoopKind::serial, {{i, zero, int_imm(8)}},
                    {branch(lt(i, int_imm(8)), {mark}), branch(lt(i, zero), {mark})})},
         {loop_over(LoopKind::serial, {{i, zero, int_imm(8)}}, {mark})});
  expect({branch(lt(x, int_imm(8)), {branch(lt(x, int_imm(9)), {mark})})}, {branch(lt(x, int_imm(8)), {mark})});
  expect({branch(lt(x, int_imm(8)), {}, {mark})}, {branch(le(int_imm(8), x), {mark})});
  expect({branch(lt(x, int_imm(8)), {}, {})}, {});
}

TEST_F(SimplifyStmt, BranchesOnLoadsSeeStores) {
  const Expr small = lt(element(kArray, zero), int_imm(4));
  const Stmt change = store(kArray, zero, int_imm(9));
  const Block body = {branch(small, {change, branch(small, {mark})})};
  expect(body, body);
}

TEST_F(SimplifyStmt, LoopsOfNoAndOneIteration) {
  const Stmt use = store(kArray, i, i);
  expect({loop_over(LoopKind::serial, {{i, int_imm(2), zero}}, {use})}, {});
  expect({loop_over(LoopKind::serial, {{i, int_imm(2), one}}, {use})}, {store(kArray, int_imm(2), int_imm(2))});
  expect({loop_over(LoopKind::parallel, {{i, x, one}, {j, zero, int_imm(4)}}, {use})},
         {loop_over(LoopKind::parallel, {{j, zero, int_imm(4)}}, {store(kArray, x, x)})});
  expect({loop_over(LoopKind::parallel, {{i, int_imm(2), one}}, {use})}, {store(kArray, int_imm(2), int_imm(2))});
  expect({loop_over(LoopKind::parallel, {{i, int_imm(2), int_imm(3)}, {j, zero, zero}}, {use})}, {});
  // The begin is read before the body stores.
  const Expr first = element(kArray, zero);
  expect({loop_over(LoopKind::serial, {{i, first, one}}, {mark, use})},
         {make_stmt(LetStmt{.var = i, .value = first}), mark, use});
  const Block nest = {loop_over(LoopKind::parallel, {{j, zero, int_imm(4)}, {i, first, one}}, {store(kArray, j, i)})};
  expect(nest, nest);
  // A long begin has a name, except where an inner extent needs it.
  const Expr begin = floormod(x * 3 + floordiv(y * 5, 7) * 11, 8);
  expect({loop_over(LoopKind::serial, {{i, begin, one}}, {use})}, {make_stmt(LetStmt{.var = i, .value = begin}), use});
  expect({loop_over(LoopKind::parallel, {{i, begin, one}, {j, zero, i}}, {mark})},
         {loop_over(LoopKind::parallel, {{j, zero, begin}}, {mark})});
}

TEST_F(SimplifyStmt, JumpsKeepTheirLoop) {
  const Stmt leave = make_stmt(BreakStmt{}), again = make_stmt(ContinueStmt{});
  const Block jumping = {branch(lt(x, int_imm(4)), {leave}), mark};
  expect({loop_over(LoopKind::serial, {{i, zero, one}}, jumping)},
         {loop_over(LoopKind::serial, {{i, zero, one}}, jumping)});
  expect({loop_over(LoopKind::serial, {{i, zero, one}}, {mark, again})}, {mark});
  expect({loop_over(LoopKind::serial, {{i, zero, int_imm(4)}}, {mark, leave, mark})},
         {loop_over(LoopKind::serial, {{i, zero, int_imm(4)}}, {mark, leave})});
  // A jump of an inner loop is no matter.
  const Stmt inner = loop_over(LoopKind::serial, {{j, zero, int_imm(4)}}, jumping);
  expect({loop_over(LoopKind::serial, {{i, zero, one}}, {inner})}, {inner});
  // Behind a jump its condition is false.
  expect({loop_over(LoopKind::serial, {{i, zero, int_imm(4)}}, {branch(lt(x, i), {again}), branch(le(i, x), {mark})})},
         {loop_over(LoopKind::serial, {{i, zero, int_imm(4)}}, {branch(lt(x, i), {again}), mark})});
}

TEST_F(SimplifyStmt, PrivateVariablesKeepTheirLoop) {
  const Block body = {loop_over(LoopKind::parallel, {{i, zero, one}},
                                {make_stmt(StoreStmt{.tile = kLocal, .indices = {}, .value = int_imm(5)})})};
  expect(body, body);
}

TEST_F(SimplifyStmt, LetsAndWhiles) {
  expect({make_stmt(LetStmt{.var = y, .value = x}), store(kArray, y, y)}, {store(kArray, x, x)});
  expect({make_stmt(LetStmt{.var = y, .value = x - x + 2}), store(kArray, y, y)},
         {store(kArray, int_imm(2), int_imm(2))});
  const Stmt read = make_stmt(LetStmt{.var = y, .value = element(kArray, zero)});
  expect({read, mark, store(kOther, zero, y)}, {read, mark, store(kOther, zero, y)});
  expect({make_stmt(WhileStmt{.condition = lt(int_imm(1), zero), .body = {mark}})}, {});
}

TEST_F(SimplifyStmt, BlockIndices) {
  const Expr m = var(10, "M"), by = var(11, "by");
  program.scalars.push_back({.var = m, .kind = ScalarKind::extent, .loc = {}});
  program.tensors.push_back({.name = "T", .shape = {m}, .strides = {}, .loc = {}});
  const auto body_of = [&](const Expr& grid, const Expr& condition) {
    Kernel kernel = small_kernel({branch(condition, {mark})});
    kernel.grid = {grid};
    kernel.block_vars = {by};
    program.kernels = {kernel};
    return simplify(program).kernels[0].body;
  };
  EXPECT_TRUE(equal(body_of(floordiv(m, 64), lt(by * 64 + 63, m)), Block{mark}));
  EXPECT_TRUE(equal(body_of(ceildiv(m, int_imm(64)), lt(by * 64, m)), Block{mark}));
  EXPECT_FALSE(equal(body_of(ceildiv(m, int_imm(64)), lt(by * 64 + 63, m)), Block{mark}));
}

// ---- random ----

class Programs {
 public:
  explicit Programs(fuzz::Random& random) : random_(random) {
    for (VarId id = 0; id < 2; ++id) vars_.push_back({var(id, "p"), 0, 0});
  }
  Block block(int depth, bool in_loop) {
    const std::vector<VarInfo> outside = vars_;
    Block out;
    const int64_t n = random_.between(1, 4);
    for (int64_t i = 0; i < n; ++i) out.push_back(statement(depth, in_loop));
    vars_ = outside;
    return out;
  }

 private:
  Expr any(int depth) {
    IntExprs exprs(random_, vars_, {0, 1, 2, 3, 4, 8});
    const Expr e = random_.chance(60) ? exprs.index(kIndex, 1) : exprs.integer(kIndex, depth);
    if (random_.chance(20)) return e + (random_.chance(50) ? local() : element(kOther, index()));
    return e;
  }
  Expr condition() {
    IntExprs exprs(random_, vars_, {0, 1, 2, 3, 4, 8});
    if (random_.chance(25)) return lt(element(kArray, index()), exprs.index(kIndex, 0));
    return exprs.condition(1);
  }
  Expr index() {
    IntExprs exprs(random_, vars_, {0, 1, 2, 3, 4, 8});
    return floormod(exprs.index(kIndex, 0), kElems);
  }
  Expr bind() {
    const Expr v = var(next_++, "v");
    vars_.push_back({v, 0, 0});
    return v;
  }
  Stmt loop(int depth) {
    ForStmt out{.kind = random_.pick({LoopKind::serial, LoopKind::unrolled, LoopKind::pipelined, LoopKind::parallel}),
                .dims = {},
                .attrs = {},
                .body = {}};
    const std::vector<VarInfo> outside = vars_;
    const int64_t n = out.kind == LoopKind::parallel ? random_.between(1, 2) : 1;
    for (int64_t d = 0; d < n; ++d) {
      const bool loads = random_.chance(20), constant = random_.chance(60);
      const Expr begin = loads ? element(kArray, index()) : constant ? int_imm(random_.between(0, 3)) : any(1);
      const Expr extent = random_.chance(75)
                              ? int_imm(random_.pick({int64_t(0), int64_t(1), int64_t(1), int64_t(2), int64_t(3)}))
                              : floormod(any(1), 4);
      out.dims.push_back({.var = bind(),
                          .begin = begin,
                          .extent = extent,
                          .step = random_.pick({int64_t(1), int64_t(2), int64_t(-1)})});
    }
    out.body = block(depth - 1, out.kind != LoopKind::parallel);
    vars_ = outside;
    return make_stmt(std::move(out));
  }
  Stmt statement(int depth, bool in_loop) {
    const int64_t kind = random_.between(0, 99);
    if (depth > 0 && kind < 25) return loop(depth);
    if (depth > 0 && kind < 50) {
      const Expr c = condition();
      Block then = block(depth - 1, in_loop), otherwise = random_.chance(40) ? block(depth - 1, in_loop) : Block{};
      return branch(c, std::move(then), std::move(otherwise));
    }
    if (in_loop && kind < 58) return random_.chance(50) ? make_stmt(BreakStmt{}) : make_stmt(ContinueStmt{});
    if (kind < 72) {
      const Expr value = any(1);
      return make_stmt(LetStmt{.var = bind(), .value = value});
    }
    if (kind < 80) return make_stmt(StoreStmt{.tile = kLocal, .indices = {}, .value = any(1)});
    return store(random_.chance(60) ? kArray : kOther, index(), any(2));
  }

  fuzz::Random& random_;
  std::vector<VarInfo> vars_;
  VarId next_ = 100;
};

TEST(SimplifyStmtFuzz, SameStoresInTheSameOrder) {
  const std::vector<VarInfo> parameters = {{var(0, "p"), -1, 2}, {var(1, "p"), 0, 4}};
  for (uint64_t seed = 0; seed < 2000 && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed);
    const Kernel before = small_kernel(Programs(random).block(3, false));
    const Kernel after = simplify_kernel(Program(), before);
    for_each_assignment(parameters, [&](const Env& env) {
      Machine a(env), b(env);
      a.run(before.body);
      b.run(after.body);
      ASSERT_EQ(a.writes, b.writes);
      ASSERT_EQ(a.local, b.local);
    });
  }
}

}  // namespace
}  // namespace tilewright::ir
