// What the passes of the CPU pipeline keep and establish.
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ir/verify.h"
#include "passes/passes.h"

#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <set>

namespace tilewright::passes {
namespace {

namespace T = tilewright::lang;

// Every definition of a variable, in order.
class Definitions : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) ids.push_back(let->var.var_id());
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) {
      for (const ir::LoopDim& dim : loop->dims) ids.push_back(dim.var.var_id());
    }
    visit_parts(stmt);
  }
  std::vector<ir::VarId> ids;
};

// An elementwise nest with a let, a loop inside and an edge that nothing proves to be inside.
Program ragged_nest() {
  return T::prim_func("ragged", [] {
    auto n = T::dynamic("n");
    auto A = T::tensor("A", {n, n}, T::f32);
    auto B = T::tensor("B", {n, n}, T::f32);
    auto [x, y] = T::Kernel({T::ceildiv(n, 8), T::ceildiv(n, 8)});
    T::use_swizzle(3);
    for (auto [i, j] : T::Parallel(8, 8)) {
      auto a = T::let(A(y * 8 + i, x * 8 + j));
      for (auto k : T::serial(3)) B(y * 8 + i, x * 8 + j) = a * 2 + k;
    }
  });
}

TEST(GuardAccesses, CopiesOfANestHaveVariablesOfTheirOwn) {
  std::vector<Remark> remarks;
  const ir::Program program = ragged_nest().ir();
  const ir::Program lowered = lower_cpu(plan_cpu_tiles(ir::simplify(program)), {.level = CpuLevel::generic}, remarks);
  const ir::Program guarded = guard_accesses(lowered);
  ASSERT_EQ(guarded.kernels[0].body.size(), 1u) << ir::print(guarded);
  const auto* branch = ir::get_if<ir::IfStmt>(guarded.kernels[0].body[0]);
  ASSERT_NE(branch, nullptr) << ir::print(guarded);
  Definitions fast, checked;
  fast.visit(branch->then);
  checked.visit(branch->otherwise);
  EXPECT_EQ(fast.ids.size(), 4u);  // i, j, the let, k
  EXPECT_EQ(checked.ids.size(), 4u);
  std::set<ir::VarId> all(fast.ids.begin(), fast.ids.end());
  all.insert(checked.ids.begin(), checked.ids.end());
  EXPECT_EQ(all.size(), 8u) << ir::print(guarded);
  EXPECT_NO_THROW(ir::verify(guarded));
  EXPECT_NO_THROW(ir::verify(map_grid_cpu(ir::simplify(guarded), program)));
}

TEST(GuardAccesses, FreshVariablesAreTheSameStatements) {
  const ir::Program program = ragged_nest().ir();
  ir::VarId next = program.next_var;
  const ir::Block copy = ir::with_fresh_vars(program.kernels[0].body, next);
  Definitions before, after;
  before.visit(program.kernels[0].body);
  after.visit(copy);
  ASSERT_EQ(before.ids.size(), after.ids.size());
  for (size_t i = 0; i < after.ids.size(); ++i) EXPECT_EQ(after.ids[i], program.next_var + ir::VarId(i));
  EXPECT_EQ(next, program.next_var + ir::VarId(after.ids.size()));
  ir::Kernel renamed = program.kernels[0];
  renamed.body = copy;
  EXPECT_EQ(ir::print(renamed), ir::print(program.kernels[0]));  // names without ids are the same text
}

// An author's mistake that simplification finds is an error of the launch, not a defect of a pass.
TEST(VerifyStructure, KeepsToWhatPassesKeep) {
  const Program program = T::prim_func("late", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto [x] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({4}, T::f32, "s");
    auto r = T::alloc_shared({4}, T::f32, "r");
    T::if_(x > 0, [&] { T::clear(r); });
    T::clear(s);
    A(0) = s(x - 1) + r(0);
  });
  const ir::Program simplified = ir::simplify(program.ir());
  EXPECT_THROW(ir::verify(simplified), Error) << ir::print(simplified);
  EXPECT_NO_THROW(ir::verify_structure(simplified));
  ir::Program broken = simplified;
  broken.kernels[0].body.push_back(broken.kernels[0].body[0]);
  broken.kernels[0].body.push_back(ir::make_stmt(ir::StoreStmt{.tile = 99, .indices = {}, .value = ir::int_imm(0)}));
  EXPECT_THROW(ir::verify_structure(broken), Error);
}

TEST(Remarks, GridsWithoutBlocksAndRastersWithoutEffect) {
  std::vector<Remark> remarks;
  remark_grids(ragged_nest().ir(), remarks);
  EXPECT_TRUE(remarks.empty());
}

}  // namespace
}  // namespace tilewright::passes
