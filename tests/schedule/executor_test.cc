// Every expansion is right for every number of iterations: no buffer is read before it is filled or filled before it is
// read, and nobody waits for ever. And the executor that says so notices what is wrong.
#include "schedule/executor.h"

#include "ir/print.h"
#include "ir/rewrite.h"
#include "passes/cuda_atoms.h"
#include "passes/schedule_passes.h"
#include "schedule/tables.h"

#include <gtest/gtest.h>

#include <functional>

namespace tilewright::testing {
namespace {

constexpr int kOrders = 6;

void expect_right(const ir::Program& program, const Product& p) {
  const ir::Program code = placed(program);
  for (unsigned seed = 0; seed < kOrders; ++seed) {
    const Execution run = execute(code, p.steps(), p.rounds, seed, {{4, p.m}, {5, p.n}, {6, p.k}});
    ASSERT_EQ(run.error, std::nullopt) << p.steps() << " steps, " << p.stages << " stages, " << p.groups << " groups, "
                                       << p.rounds << " rounds\n"
                                       << ir::print(code);
    EXPECT_EQ(run.counts.steps_read, p.steps() * p.rounds);
  }
}

TEST(ScheduleExecution, CpAsyncForAllCounts) {
  for (int stages = 1; stages <= 5; ++stages) {
    for (int steps = 0; steps <= 9; ++steps) {
      for (int rounds : {1, 2, 3}) {
        const Product p{.k = 64 * steps, .stages = stages, .groups = 1, .rounds = rounds};
        expect_right(cp_async_product(p), p);
      }
    }
  }
}

TEST(ScheduleExecution, WgmmaForAllCounts) {
  for (int groups = 1; groups <= 3; ++groups) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int steps = 0; steps <= 9; ++steps) {
        const Product p{
            .k = 64 * steps, .block_m = 64 * groups, .stages = stages, .groups = groups, .rounds = 1 + steps % 3};
        expect_right(wgmma_product(p), p);
      }
    }
  }
}

TEST(ScheduleExecution, ExtentsThatAreKnownAtLaunch) {
  for (int stages = 1; stages <= 5; ++stages) {
    for (int steps = 0; steps <= 9; ++steps) {
      Product p{.k = 64 * steps, .stages = stages, .groups = 1, .rounds = 1 + steps % 2};
      p.dynamic = true;
      expect_right(cp_async_product(p), p);
      expect_right(wgmma_product(p), p);
    }
  }
}

// ---- the executor notices ----

// `program` with each operation replaced by `change`'s result; nullopt: dropped.
class Changed : public ir::Rewriter {
 public:
  explicit Changed(std::function<std::optional<ir::OpStmt>(ir::OpStmt)> change) : change_(std::move(change)) {}
  using Rewriter::rewrite;
  void rewrite(const ir::Stmt& stmt, ir::Block& out) override {
    const auto* op = ir::get_if<ir::OpStmt>(stmt);
    if (op == nullptr) return Rewriter::rewrite(stmt, out);
    if (const std::optional<ir::OpStmt> changed = change_(*op)) out.push_back(ir::make_stmt(*changed, stmt->loc));
  }

 private:
  std::function<std::optional<ir::OpStmt>(ir::OpStmt)> change_;
};

// Some order of events goes wrong, with a message that contains `text`.
void expect_noticed(const ir::Program& code, const Product& p, const std::string& text,
                    std::function<std::optional<ir::OpStmt>(ir::OpStmt)> change) {
  ir::Program wrong = code;
  wrong.kernels[0].body = Changed(std::move(change)).rewrite(code.kernels[0].body);
  std::string seen;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Execution run = execute(wrong, p.steps(), p.rounds, seed);
    if (run.error && run.error->find(text) != std::string::npos) return;
    if (run.error) seen = *run.error;
  }
  ADD_FAILURE() << "not noticed: " << text << "; instead: " << seen;
}

ir::OpStmt with_pending(ir::OpStmt op, int64_t more) {
  op.attrs = {{"pending", ir::int_attr(op.attrs, "pending", 0) + more}};
  return op;
}

TEST(ScheduleExecution, MistakesInGroupsAreNoticed) {
  const Product p{.k = 64 * 7, .stages = 4, .groups = 1};
  const ir::Program code = placed(cp_async_product(p));
  expect_noticed(code, p, "before it is seen that",
                 [](ir::OpStmt op) { return op.def == &passes::cp_async_wait_op() ? with_pending(op, 1) : op; });
  expect_noticed(code, p, "before it is seen that", [](ir::OpStmt op) -> std::optional<ir::OpStmt> {
    if (op.def == &passes::block_sync_op()) return std::nullopt;
    return op;
  });
  const Product one{.k = 64 * 3, .stages = 1, .groups = 1};
  int barriers = 0;
  expect_noticed(placed(cp_async_product(one)), one, "before warp", [&](ir::OpStmt op) -> std::optional<ir::OpStmt> {
    if (op.def == &passes::block_sync_op() && barriers++ == 0) return std::nullopt;
    return op;
  });
}

TEST(ScheduleExecution, MistakesInBarriersAreNoticed) {
  const Product p{.k = 64 * 9, .stages = 3, .groups = 2};
  const ir::Program code = placed(wgmma_product(p));
  const auto drop = [](const ir::OpDef& def) {
    return [&def](ir::OpStmt op) -> std::optional<ir::OpStmt> {
      if (op.def == &def) return std::nullopt;
      return op;
    };
  };
  const auto tile = [&](const ir::OpStmt& op) { return code.kernels[0].tile(op.tiles[0].tile).name; };
  expect_noticed(code, p, "waits for ever", drop(passes::mbarrier_arrive_op()));
  expect_noticed(code, p, "read 0 iterations of A_shared", drop(passes::warpgroup_gemm_op()));
  expect_noticed(code, p, "bytes than it expects", drop(passes::mbarrier_arrive_expect_op()));
  expect_noticed(code, p, "is not initialised", drop(passes::mbarrier_init_op()));
  // Without one of the two waits.
  expect_noticed(code, p, "nothing filled", [&](ir::OpStmt op) -> std::optional<ir::OpStmt> {
    if (op.def == &passes::mbarrier_wait_op() && tile(op) == "full_operands") return std::nullopt;
    return op;
  });
  expect_noticed(code, p, "a bulk copy of", [&](ir::OpStmt op) -> std::optional<ir::OpStmt> {
    if (op.def == &passes::mbarrier_wait_op() && tile(op) == "empty_operands") return std::nullopt;
    return op;
  });
  // The wrong parity, bytes, arrivals, group.
  expect_noticed(code, p, "", [](ir::OpStmt op) {
    if (op.def == &passes::mbarrier_wait_op()) op.scalars = {ir::int_imm(1) - op.scalars[0]};
    return op;
  });
  expect_noticed(code, p, "waits for ever", [](ir::OpStmt op) {
    if (op.def == &passes::mbarrier_arrive_expect_op()) op.scalars = {op.scalars[0] + 16};
    return op;
  });
  expect_noticed(code, p, "", [&](ir::OpStmt op) {
    if (op.def == &passes::mbarrier_init_op() && tile(op) == "empty_operands") op.scalars = {op.scalars[0] - 1};
    return op;
  });
  expect_noticed(code, p, "before warp", [](ir::OpStmt op) {
    return op.def == &passes::wgmma_wait_op() && ir::int_attr(op.attrs, "pending", 0) == 1 ? with_pending(op, 1) : op;
  });
  expect_noticed(code, p, "while products write it", [](ir::OpStmt op) -> std::optional<ir::OpStmt> {
    if (op.def == &passes::wgmma_wait_op() && ir::int_attr(op.attrs, "pending", 0) == 0) return std::nullopt;
    return op;
  });
}

}  // namespace
}  // namespace tilewright::testing
