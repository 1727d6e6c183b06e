// Dependences between blocks: what is refused, with text and position, and what is not.
#include "program_builder.h"
#include "runtime/interp/machine.h"

#include <algorithm>
#include <array>
#include <random>
#include <tuple>

namespace tilewright::test {
namespace {

const DType f32 = DType::f32;

TEST(BlockOrder, WriterAfterWriter) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(2), int_imm(4)});
  b.set_grid({int_imm(3), int_imm(2)});
  b.add(b.put(x, {b.kernel().block_vars[1], int_imm(1)}, float_imm(1, f32), 44));
  std::vector<float> data(8, 5);
  EXPECT_EQ(report_of([&] {
              b.run({view(data, f32, {2, 4})});
            }),
            "error: block (1, 0) writes X[0, 1], which block (0, 0) writes: blocks run in any order\n"
            "  --> kernel.tw:44   \n"
            "  note: block (0, 0) writes it at kernel.tw:44\n"
            "  note: X  global f32[2, 4]  declared at kernel.tw:10\n"
            "  hint: give each block elements of its own, or pass them on to a second kernel");
  EXPECT_EQ(data, std::vector<float>(8, 5));  // unchanged
  b.run({view(data, f32, {2, 4})}, {.check_block_order = false});
  EXPECT_EQ(data[1], 1);
}

TEST(BlockOrder, ReaderAfterWriter) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(4)});
  b.set_grid({int_imm(3)});
  const Expr bx = b.kernel().block_vars[0];
  b.add(b.put(x, {bx}, b.get(x, {bx - 1}, 43), 44));
  std::vector<float> data(4, 5);
  EXPECT_EQ(report_of([&] { b.run({view(data, f32, {4})}); }),
            "error: block (1) reads X[0], which block (0) writes: blocks run in any order\n"
            "  --> kernel.tw:43   \n"
            "  note: block (0) writes it at kernel.tw:44\n"
            "  note: X  global f32[4]  declared at kernel.tw:10\n"
            "  hint: give each block elements of its own, or pass them on to a second kernel");
}

TEST(BlockOrder, WriterAfterReader) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(4)});
  b.set_grid({int_imm(3)});
  const Expr bx = b.kernel().block_vars[0];
  b.add(b.put(x, {bx}, b.get(x, {bx + 1}, 43), 44));
  std::vector<float> data(4, 5);
  EXPECT_EQ(report_of([&] { b.run({view(data, f32, {4})}); }),
            "error: block (1) writes X[1], which block (0) reads: blocks run in any order\n"
            "  --> kernel.tw:44   \n"
            "  note: block (0) reads it at kernel.tw:43\n"
            "  note: X  global f32[4]  declared at kernel.tw:10\n"
            "  hint: give each block elements of its own, or pass them on to a second kernel");
}

TEST(BlockOrder, OwnElementsSharedReadsAndOutsideAreFree) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(4)}), y = b.tensor("Y", f32, {int_imm(1)});
  b.set_grid({int_imm(6)});
  const Expr bx = b.kernel().block_vars[0], zero = int_imm(0);
  b.add(b.put(x, {bx}, binary(ExprKind::add, b.get(x, {bx}), b.get(y, {zero}))));
  b.add(b.put(x, {bx}, binary(ExprKind::add, b.get(x, {bx}), b.get(y, {zero}))));
  b.add(b.put(y, {bx + 1}, float_imm(7, f32)));  // outside of Y in every block
  std::vector<float> data = {1, 2, 3, 4}, one = {10};
  b.run({view(data, f32, {4}), view(one, f32, {1})});
  EXPECT_EQ(data, (std::vector<float>{21, 22, 23, 24}));
}

TEST(BlockOrder, KernelsFollowEachOther) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(4)});
  b.set_grid({int_imm(4)});
  b.add(b.put(x, {b.kernel().block_vars[0]}, float_imm(1, f32)));
  Kernel second = b.kernel();
  second.name = "second";
  second.block_vars = {b.program.fresh_var("bx")};
  second.body = {b.put(x, {int_imm(3) - second.block_vars[0]}, float_imm(2, f32))};
  b.program.kernels.push_back(second);
  std::vector<float> data(4);
  b.run({view(data, f32, {4})});
  EXPECT_EQ(data, std::vector<float>(4, 2));
}

TEST(BlockOrder, TheSameViewUnderTwoNames) {
  Builder b;
  const TileId x = b.tensor("X", f32, {int_imm(2)}), y = b.tensor("Y", f32, {int_imm(2)});
  b.set_grid({int_imm(2)});
  const Expr bx = b.kernel().block_vars[0];
  b.add(b.put(y, {bx}, b.get(x, {int_imm(1) - bx}, 43), 44));
  std::vector<float> data = {1, 2}, other = {0, 0};
  b.run({view(data, f32, {2}), view(other, f32, {2})});
  EXPECT_EQ(other, (std::vector<float>{2, 1}));
  EXPECT_NE(report_of([&] {
              b.run({view(data, f32, {2}), view(data, f32, {2})});
            }).find("error: block (1) reads X[0], which block (0) writes"),
            std::string::npos);
}

// Against the definition: all earlier accesses are looked at.
TEST(BlockOrder, WatchAgreesWithTheDefinition) {
  using interp::AccessHow, interp::BlockWatch;
  using Kind = ir::AtomicKind;
  // What an access does to an element, written down once more: nothing, a plain store, or an update by one kind.
  const std::array kinds = {AccessHow::read(),
                            AccessHow::read(),
                            AccessHow::store(),
                            AccessHow::atomic(Kind::add),
                            AccessHow::atomic(Kind::add),
                            AccessHow::atomic(Kind::max),
                            AccessHow::atomic(Kind::load),
                            AccessHow::atomic(Kind::load),
                            AccessHow::atomic(Kind::store)};
  enum Group { reads, stores, adds, maxima, loads, atomic_stores };
  constexpr std::array groups = {reads, reads, stores, adds, adds, maxima, loads, loads, atomic_stores};
  const auto agree = [](Group a, Group b) {
    if (a == loads || b == loads) return a != stores && b != stores;
    return a == b && a != stores;
  };
  std::mt19937 random(1);
  const interp::AccessSite site;
  for (int round = 0; round < 20000; ++round) {
    BlockWatch watch;
    watch.start(2);
    std::vector<std::tuple<size_t, int64_t, Group>> before;
    for (int step = 0; step < 8; ++step) {
      const size_t at = random() % 2;
      const auto block = int64_t(random() % 4);
      const size_t kind = random() % kinds.size();
      const Group group = groups[kind];
      const bool conflict = std::any_of(before.begin(), before.end(), [&](const auto& t) {
        const auto& [other_at, other_block, other_group] = t;
        return other_at == at && other_block != block && !agree(group, other_group);
      });
      BlockWatch::Conflict found;
      ASSERT_EQ(watch.touch(at, block, site, kinds[kind], found), !conflict) << "round " << round << " step " << step;
      if (conflict) break;
      before.emplace_back(at, block, group);
    }
  }
}

}  // namespace
}  // namespace tilewright::test
