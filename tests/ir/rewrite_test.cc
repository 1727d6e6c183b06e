// Rewriter and Visitor reach everything, share what does not change, and substitution replaces by id.
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/random_program.h"
#include "ir/rewrite.h"
#include "ops/ops.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tilewright::ir {
namespace {

class CountVars : public Visitor {
 public:
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ExprKind::var)) ++counts[e.var_id()];
    Visitor::visit(e);
  }
  void visit(const Stmt& stmt) override {
    ++statements;
    Visitor::visit(stmt);
  }
  std::map<VarId, int> counts;
  int statements = 0;
};

constexpr const char* kText = R"tw(program p(A) vars 9 {
  tensor A: f32[64]

  kernel k(x@0 < 4) threads 32 {
    tile A: global f32[64] of A
    tile a: shared f32[8]
    copy(A[x * 8:+8], a[0:8] slot(x))
    fill(a[0:8]; f32(x))
    let y@1 = x + 1
    for i@2 in parallel(x:+x) {
      a[x] = a[x] + f32(x)
    }
    while x < 3 {
      if x == 1 {
        a[x] = 0.0
        break
      } else {
        continue
      }
    }
  }
}
)tw";

Program example() { return parse(kText, "t", ops::all_ops()); }

TEST(Visitor, ReachesEveryPart) {
  const Program p = example();
  CountVars count;
  count.visit(p.kernels[0].body);
  EXPECT_EQ(count.counts[0], 12);
  EXPECT_EQ(count.counts.size(), 1u);  // definitions are no uses
  EXPECT_EQ(count.statements, 10);
}

TEST(Rewriter, WithoutChangesSharesTheTree) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Program p = RandomProgram(seed, ops::all_ops()).program();
    for (const Kernel& k : p.kernels) {
      const Block again = Rewriter().rewrite(k.body);
      ASSERT_EQ(again, k.body);  // pointers
    }
  }
}

class VarToConstant : public Rewriter {
 public:
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override { return e.is(ExprKind::var) ? int_imm(2, e.dtype()) : rewrite_args(e); }
};

TEST(Rewriter, ReachesEveryPartAndFolds) {
  Program p = example();
  p.kernels[0].body = VarToConstant().rewrite(p.kernels[0].body);
  CountVars count;
  count.visit(p.kernels[0].body);
  EXPECT_TRUE(count.counts.empty());
  const std::string text = print(p);
  for (const char* part : {"copy(A[16:24], a[0:8] slot(2))", "fill(a[0:8]; 2.0)", "let y@1 = 3",
                           "for i@2 in parallel(2:4) {", "a[2] = a[2] + 2.0", "while true {", "if false {"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Rewriter, SharesUnchangedSiblings) {
  const Program p = example();
  const Block& body = p.kernels[0].body;
  const Expr from[] = {var(2, "i")}, to[] = {int_imm(0)};
  EXPECT_EQ(substitute(body, from, to), body);
  class OnlyLet : public Rewriter {
   public:
    using Rewriter::rewrite;
    void rewrite(const Stmt& stmt, Block& out) override {
      if (get_if<LetStmt>(stmt)) return;
      Rewriter::rewrite(stmt, out);
    }
  };
  const Block shorter = OnlyLet().rewrite(body);
  ASSERT_EQ(shorter.size() + 1, body.size());
  EXPECT_EQ(shorter[0], body[0]);
  EXPECT_EQ(shorter[2], body[3]);
}

TEST(Rewriter, KeepsPositions) {
  const Program p = example();
  const Block out = VarToConstant().rewrite(p.kernels[0].body);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i]->loc, p.kernels[0].body[i]->loc);
}

TEST(Substitute, ReplacesByIdAtOnce) {
  const Expr x = var(0, "x"), y = var(1, "y");
  const Expr from[] = {var(0, "other"), y}, to[] = {y, x + 1};
  EXPECT_EQ(print(substitute(x * 2 + y, from, to)), "y * 2 + (x + 1)");
  EXPECT_EQ(print(substitute(load(0, "t", DType::f32, {x, y}), from, to)), "t[y, x + 1]");
  EXPECT_FALSE(substitute(Expr(), from, to));
}

}  // namespace
}  // namespace tilewright::ir
