// Control flow, memory rules and the order of parallel loops: results, and errors with text and position.
#include "program_builder.h"

namespace tilewright::test {
namespace {

const DType f32 = DType::f32, i32 = DType::i32;

Expr plus(Expr a, Expr b) { return binary(ExprKind::add, std::move(a), std::move(b)); }

TEST(Execution, GuardsGlobalAccessesAndCountsBlocks) {
  Builder b;
  const Expr n = b.extent("n");
  const TileId x = b.tensor("X", f32, {n}), y = b.tensor("Y", f32, {n});
  b.kernel().tiles[size_t(x)].safe_value = -1;
  b.set_grid({ceildiv(n, int_imm(4))});
  const Expr i = b.program.fresh_var("i"), base = b.kernel().block_vars[0] * 4;
  b.add(b.loop(LoopKind::parallel, i, int_imm(4), {b.put(y, {base + i}, b.get(x, {base + i + 1}))}));
  std::vector<float> in = {1, 2, 3, 4, 5, 6}, out(6, 0);
  b.run({view(in, f32, {6}), view(out, f32, {6})});
  EXPECT_EQ(out, (std::vector<float>{2, 3, 4, 5, 6, -1}));
  std::vector<float> none;
  b.run({view(none, f32, {0}), view(none, f32, {0})});
}

TEST(Execution, BreakContinueWhileAndSteps) {
  Builder b;
  const TileId out = b.tensor("Out", i32, {int_imm(4)}), s = b.tile("s", Space::local, DType::i64, {});
  const Expr i = b.program.fresh_var("i"), zero = int_imm(0);
  const auto bump = [&](Expr by) { return b.put(s, {}, plus(b.get(s, {}), std::move(by))); };
  const auto when = [&](Expr c, Stmt then) {
    return make_stmt(IfStmt{.condition = c, .then = {then}, .otherwise = {}}, at(50));
  };
  b.add(b.put(s, {}, zero));
  b.add(b.loop(LoopKind::serial, i, int_imm(100),
               {when(binary(ExprKind::eq, floormod(i, 2), zero), make_stmt(ContinueStmt{}, at(51))),
                when(lt(int_imm(8), i), make_stmt(BreakStmt{}, at(52))), bump(i)}));
  b.add(b.put(out, {int_imm(0)}, cast(b.get(s, {}), i32)));  // 1 + 3 + 5 + 7
  b.add(b.loop(LoopKind::unrolled, i, int_imm(3), {bump(i)}, 60, -5, int_imm(10)));
  b.add(b.put(out, {int_imm(1)}, cast(b.get(s, {}), i32)));  // + 10 + 5 + 0
  b.add(make_stmt(WhileStmt{.condition = lt(b.get(s, {}), int_imm(1000)), .body = {bump(b.get(s, {}))}}, at(70)));
  b.add(b.put(out, {int_imm(2)}, cast(b.get(s, {}), i32)));
  const Expr v = b.program.fresh_var("v");
  b.add(make_stmt(LetStmt{.var = v, .value = b.get(s, {})}, at(71)));
  b.add(bump(int_imm(1)));
  b.add(b.put(out, {int_imm(3)}, cast(v, i32)));
  std::vector<int32_t> data(4);
  b.run({view(data, i32, {4})});
  EXPECT_EQ(data, (std::vector<int32_t>{16, 31, 31 * 64, 31 * 64}));
}

TEST(Execution, WhileLimit) {
  Builder b;
  b.add(make_stmt(WhileStmt{.condition = le(b.kernel().block_vars[0], int_imm(0)), .body = {}}, at(70)));
  EXPECT_EQ(report_of([&] { b.run({}, {.max_while_iterations = 10}); }),
            "error: this while loop has run 10 times without an end, in block (0)\n"
            "  --> kernel.tw:70   \n"
            "  hint: its condition must become false; the limit is InterpOptions::max_while_iterations");
}

// An op that only the interpreter meets: dst[i] = src[i] + 1 over a region.
Block expand_increment(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const Kernel& kernel = context.kernel;
  const Expr i = context.fresh_var("i");
  const auto index = [&](int k) { return std::vector<Expr>{op.tiles[size_t(k)].region[0].begin + i}; };
  const TileId src = op.tiles[0].tile, dst = op.tiles[1].tile;
  const Expr value = binary(ExprKind::add, load(src, kernel.tile(src).name, f32, index(0)), float_imm(1, f32));
  return {make_stmt(ForStmt{.kind = LoopKind::parallel,
                            .dims = {{.var = i, .begin = int_imm(0), .extent = op.tiles[0].region[0].extent}},
                            .attrs = {},
                            .body = {make_stmt(StoreStmt{.tile = dst, .indices = index(1), .value = value}, loc)}},
                    loc)};
}
constexpr OpDef kIncrement{.name = "increment",
                           .num_tiles = 2,
                           .num_scalars = 0,
                           .verify = nullptr,
                           .effects = nullptr,
                           .expand = expand_increment};

TEST(Execution, ExpandsOps) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(4)}), t = b.tile("t", Space::shared, f32, {4});
  const auto whole = [](TileId id) { return TileRef{.tile = id, .region = {{int_imm(0), int_imm(4)}}, .slot = {}}; };
  const Expr k = b.program.fresh_var("k");
  b.add(b.loop(LoopKind::serial, k, int_imm(3),
               {make_stmt(OpStmt{.def = &kIncrement, .tiles = {whole(x), whole(t)}}, at(40)),
                make_stmt(OpStmt{.def = &kIncrement, .tiles = {whole(t), whole(x)}}, at(41))}));
  std::vector<float> data = {0, 1, 2, 3};
  b.run({view(data, f32, {4})});
  EXPECT_EQ(data, (std::vector<float>{6, 7, 8, 9}));
}

TEST(MemoryErrors, UninitialisedRead) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(4)}), t = b.tile("t", Space::shared, f32, {2, 4});
  b.set_grid({int_imm(2)});
  b.add(b.put(t, {b.kernel().block_vars[0], int_imm(3)}, float_imm(1, f32)));
  b.add(b.put(x, {int_imm(0)}, b.get(t, {int_imm(0), int_imm(3)}, 44)));
  std::vector<float> data(4, 5);
  EXPECT_EQ(report_of([&] { b.run({view(data, f32, {4})}); }),
            "error: t[0, 3] of shared f32[2, 4] is read before it is written, in block (1)\n"
            "  --> kernel.tw:44   \n"
            "  note: t  shared f32[2, 4]  declared at kernel.tw:30\n"
            "  hint: clear or fill the tile, or copy into it, before the first read");
  EXPECT_EQ(data, std::vector<float>(4, 5));  // unchanged
}

TEST(MemoryErrors, OutsideOnChip) {
  Builder b;
  const TileId t = b.tile("t", Space::fragment, f32, {2, 4});
  const Expr i = b.program.fresh_var("i");
  b.add(b.loop(LoopKind::serial, i, int_imm(3), {b.put(t, {i, int_imm(1)}, float_imm(0, f32), 44)}));
  EXPECT_EQ(report_of([&] { b.run({}); }),
            "error: store of t[2, 1] is outside fragment f32[2, 4], in block (0)\n"
            "  --> kernel.tw:44   \n"
            "  note: t  fragment f32[2, 4]  declared at kernel.tw:30\n"
            "  hint: on-chip tiles have no safe value: guard the access with a condition, or make the tile larger");
  Builder c;
  const TileId u = c.tile("u", Space::shared, f32, {2});
  c.add(c.put(u, {int_imm(0)}, c.get(u, {int_imm(-1)}), 45));
  EXPECT_NE(report_of([&] {
              c.run({});
            }).find("error: load of u[-1] is outside shared f32[2], in block (0)\n  --> kernel.tw:45"),
            std::string::npos);
}

TEST(MemoryErrors, WorkspaceReadBeforeWrite) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(2)}), w = b.tensor("W", f32, {int_imm(2)}, TensorKind::workspace);
  b.add(b.put(w, {int_imm(0)}, float_imm(2, f32)));
  b.add(b.put(x, {int_imm(0)}, b.get(w, {int_imm(0)})));
  std::vector<float> data(2);
  b.run({view(data, f32, {2})});
  EXPECT_EQ(data[0], 2);
  b.add(b.put(x, {int_imm(1)}, b.get(w, {int_imm(1)}), 44));
  EXPECT_NE(report_of([&] {
              b.run({view(data, f32, {2})});
            }).find("error: W[1] of global f32[2] is read before it is written, in block (0)\n  --> kernel.tw:44"),
            std::string::npos);
}

TEST(ParallelOrder, TwoWritersAreNamed) {
  Builder b;
  const TileId x = b.tensor("X", i32, {int_imm(4)});
  const Expr i = b.program.fresh_var("i");
  b.add(b.loop(LoopKind::parallel, i, int_imm(4), {b.put(x, {floordiv(i, 2)}, cast(i, i32), 44)}));
  std::vector<int32_t> data(4, 9);
  EXPECT_EQ(report_of([&] { b.run({view(data, i32, {4})}); }),
            "error: X[0] depends on the order of a parallel loop: 1 (iteration (1), kernel.tw:44) first to last, "
            "0 (iteration (0), kernel.tw:44) last to first, in block (0)\n"
            "  --> kernel.tw:44   \n"
            "  note: X  global i32[4]  declared at kernel.tw:10\n"
            "  note: the parallel loop  declared at kernel.tw:90\n"
            "  hint: make the iterations independent, or use a serial loop");
  b.run({view(data, i32, {4})}, {.check_parallel_order = false});
  EXPECT_EQ(data, (std::vector<int32_t>{1, 3, 9, 9}));
}

TEST(ParallelOrder, ReaderAndWriterAreNamed) {
  Builder b;
  const TileId x = b.tensor("X", i32, {int_imm(4)});
  const Expr i = b.program.fresh_var("i");
  b.add(b.loop(LoopKind::parallel, i, int_imm(3), {b.put(x, {i + 1}, b.get(x, {i}, 43), 44)}));
  std::vector<int32_t> data = {1, 2, 3, 4};
  EXPECT_EQ(
      report_of([&] { b.run({view(data, i32, {4})}); }),
      "error: X[2] depends on the order of a parallel loop: iteration (1) writes 1 first to last, 2 last to first, "
      "in block (0)\n"
      "  --> kernel.tw:44   \n"
      "  note: X  global i32[4]  declared at kernel.tw:10\n"
      "  note: the parallel loop  declared at kernel.tw:90\n"
      "  note: iteration (1) reads X[1] at kernel.tw:43: 1 first to last, 2 last to first\n"
      "  note: iteration (0) writes X[1] at kernel.tw:44: 1\n"
      "  hint: make the iterations independent, or use a serial loop");
}

TEST(ParallelOrder, SharedTilesAndNestedLoops) {
  Builder b;
  const TileId t = b.tile("t", Space::shared, i32, {2, 3}), x = b.tensor("X", i32, {int_imm(2), int_imm(3)});
  const Expr i = b.program.fresh_var("i"), j = b.program.fresh_var("j");
  const Expr value = cast(i * 10 + j, i32);
  b.add(b.loop(LoopKind::parallel, i, int_imm(2),
               {b.loop(LoopKind::parallel, j, int_imm(3), {b.put(t, {i, j}, value)}),
                b.loop(LoopKind::serial, j, int_imm(3), {b.put(x, {i, j}, b.get(t, {i, int_imm(2) - j}))})}));
  std::vector<int32_t> data(6);
  b.run({view(data, i32, {2, 3})});
  EXPECT_EQ(data, (std::vector<int32_t>{2, 1, 0, 12, 11, 10}));
}

TEST(ParallelOrder, LocalTilesArePrivate) {
  Builder b;
  const TileId s = b.tile("s", Space::local, i32, {}), x = b.tensor("X", i32, {int_imm(2)});
  const Expr i = b.program.fresh_var("i");
  const Stmt init = b.put(s, {}, int_imm(5, i32)), use = b.put(x, {i}, plus(b.get(s, {}, 43), cast(i, i32)));
  std::vector<int32_t> data(2);
  b.add(init);
  b.add(b.loop(LoopKind::parallel, i, int_imm(2), {use}));  // only read: shared
  b.run({view(data, i32, {2})});
  EXPECT_EQ(data, (std::vector<int32_t>{5, 6}));
  b.add(b.loop(LoopKind::parallel, i, int_imm(2), {use, b.put(s, {}, int_imm(1, i32))}));
  EXPECT_NE(report_of([&] {
              b.run({view(data, i32, {2})});
            }).find("error: s of local i32[] is read before it is written, in block (0)\n  --> kernel.tw:43"),
            std::string::npos);
}

TEST(ParallelOrder, ErrorOfTheReverseOrderSaysSo) {
  Builder b;
  const TileId t = b.tile("t", Space::shared, i32, {3});
  const Expr i = b.program.fresh_var("i"), before = floordiv(i, 2);  // 0, 0, 1
  b.add(b.put(t, {int_imm(0)}, int_imm(1, i32)));
  b.add(b.loop(LoopKind::parallel, i, int_imm(3), {b.put(t, {i}, b.get(t, {before}, 43))}));
  EXPECT_EQ(report_of([&] { b.run({}); }),
            "error: t[1] of shared i32[3] is read before it is written, in block (0)\n"
            "  --> kernel.tw:43   \n"
            "  note: t  shared i32[3]  declared at kernel.tw:30\n"
            "  note: the iterations of this parallel loop run without this error first to last, but not last to first"
            "  declared at kernel.tw:90\n"
            "  hint: clear or fill the tile, or copy into it, before the first read");
}

TEST(ParallelOrder, BreakIsRefused) {
  Builder b;
  const Expr i = b.program.fresh_var("i");
  b.add(b.loop(LoopKind::parallel, i, int_imm(2), {make_stmt(BreakStmt{}, at(44))}));
  EXPECT_NE(report_of([&] { b.run({}); }).find("a break leaves a parallel loop"), std::string::npos);
}

TEST(Sharing, SameViewIsOneTensorAndOverlapIsRefused) {
  Builder b;
  const TileId x = b.tensor("X", i32, {int_imm(2)}), y = b.tensor("Y", i32, {int_imm(2)});
  b.add(b.put(y, {int_imm(0)}, int_imm(3, i32)));
  b.add(b.put(y, {int_imm(1)}, b.get(x, {int_imm(0)})));
  std::vector<int32_t> data = {1, 2, 4};
  b.run({view(data, i32, {2}), view(data, i32, {2})});
  EXPECT_EQ(data, (std::vector<int32_t>{3, 3, 4}));
  TensorView shifted = view(data, i32, {2});
  shifted.data = &data[1];
  EXPECT_NE(report_of([&] {
              b.run({view(data, i32, {2}), shifted});
            }).find("X and Y overlap in memory"),
            std::string::npos);
}

TEST(Sharing, InterleavedViewsAreDistinctAndStrideZeroIsRefused) {
  Builder b;
  const Expr s = b.extent("s");
  const TileId x = b.tensor("X", i32, {int_imm(2)}, TensorKind::parameter, {s});
  const TileId y = b.tensor("Y", i32, {int_imm(2)}, TensorKind::parameter, {s});
  const Expr i = b.program.fresh_var("i");
  b.add(b.loop(LoopKind::parallel, i, int_imm(2), {b.put(y, {i}, b.get(x, {i}))}));
  std::vector<int32_t> data = {1, 0, 2, 0};
  TensorView odd = view(data, i32, {2}, {2});
  odd.data = &data[1];
  b.run({view(data, i32, {2}, {2}), odd});
  EXPECT_EQ(data, (std::vector<int32_t>{1, 1, 2, 2}));
  EXPECT_NE(report_of([&] {
              b.run({view(data, i32, {2}, {0}), view(data, i32, {2}, {0})});
            }).find("Y is written, but several of its elements share an address"),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright::test
