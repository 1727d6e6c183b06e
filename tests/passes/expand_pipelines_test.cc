// A pipelined loop that is written out runs every product on what its own iteration loaded, for every number of
// iterations and stages: its statements are executed with copies that arrive as late as they may.
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/lower_mma.h"

#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tilewright::passes {
namespace {

namespace T = tilewright::lang;

// C [64, 64] = A B in steps of 32 along k.
Program product(int64_t k, int num_stages, int rounds = 1) {
  return T::prim_func("product", [&] {
    auto A = T::tensor("A", {64, k}, T::f16), B = T::tensor("B", {k, 64}, T::f16);
    auto C = T::tensor("C", {64, 64}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto a = T::alloc_shared({64, 32}, T::f16, "a"), b = T::alloc_shared({32, 64}, T::f16, "b");
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    T::clear(c);
    for ([[maybe_unused]] auto round : T::serial(rounds)) {
      for (auto ko : T::Pipelined(T::ceildiv(k, 32), {.num_stages = num_stages})) {
        T::copy(A(0, ko * 32), a);
        T::copy(B(ko * 32, 0), b);
        T::gemm(a, b, c);
      }
    }
    T::copy(c, C);
  });
}

struct Expanded {
  ir::Program program;
  std::vector<Remark> remarks;
};

Expanded expanded(const Program& source, const CudaTarget& target = {.sm = 80}) {
  Expanded out;
  out.program = infer_fragments(expand_unselected(source.ir(), target, out.remarks), target, out.remarks);
  out.program = expand_pipelines(out.program, target, out.remarks);
  return out;
}

int count(const std::vector<Remark>& remarks, std::string_view kind) {
  return int(std::count_if(remarks.begin(), remarks.end(), [&](const Remark& r) { return r.kind == kind; }));
}

// Runs the statements of one thread that knows which load is in which stage. A copy arrives when a wait demands it and
// not before; what a product reads must have arrived, at the last barrier at the latest.
class Timeline {
 public:
  explicit Timeline(const ir::Kernel& kernel) : kernel_(kernel) {}

  void run(const ir::Block& block) {
    for (const ir::Stmt& stmt : block) run(stmt);
  }
  std::vector<int64_t> products;    // the first column of A that each product reads
  std::vector<std::string> faults;  // what went wrong
  int loads = 0;

 private:
  struct Slot {
    int64_t origin = -1;  // where along k the tile in it comes from
    bool arrived = false, visible = false;
  };
  int64_t value(const ir::Expr& e) {
    const ir::Expr v = ir::substitute(e, vars_, values_);
    if (!v.as_int()) faults.push_back("not a number: " + ir::print(v));
    return v.as_int().value_or(0);
  }
  void define(const ir::Expr& var, int64_t v) {
    vars_.push_back(var);
    values_.push_back(ir::int_imm(v, var.dtype()));
  }
  void undefine() {
    vars_.pop_back();
    values_.pop_back();
  }
  Slot& slot(const ir::TileRef& ref) {
    const bool staged = kernel_.tile(ref.tile).stages > 1;
    return slots_[{ref.tile, staged ? value(ref.region[0].begin) : 0}];
  }
  void run(const ir::Stmt& stmt);
  void run(const ir::OpStmt& op);

  const ir::Kernel& kernel_;
  std::vector<ir::Expr> vars_, values_;
  std::map<std::pair<ir::TileId, int64_t>, Slot> slots_;
  std::vector<Slot*> open_;                 // copied since the last commit
  std::vector<std::vector<Slot*>> groups_;  // under way, oldest first
  std::vector<Slot*> read_since_barrier_;
  // The operands in each buffer of registers, and the step of the last products.
  std::map<int64_t, std::pair<int64_t, int64_t>> registers_;
  static constexpr int64_t kSteps = 2;  // of 16 in each product
  int64_t last_step_ = kSteps - 1;
};

void Timeline::run(const ir::Stmt& stmt) {
  if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) return run(*op);
  if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
    return run(value(branch->condition) ? branch->then : branch->otherwise);
  }
  if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) return define(let->var, value(let->value));
  const auto* loop = ir::get_if<ir::ForStmt>(stmt);
  if (loop == nullptr || loop->kind == ir::LoopKind::parallel) return;
  for (int64_t i = 0; i < value(loop->dims[0].extent); ++i) {
    const size_t outer = vars_.size();
    define(loop->dims[0].var, value(loop->dims[0].begin) + i * loop->dims[0].step);
    run(loop->body);
    while (vars_.size() > outer) undefine();
  }
}

void Timeline::run(const ir::OpStmt& op) {
  if (op.def == &ops::copy_op()) {
    Slot& to = slot(op.tiles[1]);
    if (std::find(read_since_barrier_.begin(), read_since_barrier_.end(), &to) != read_since_barrier_.end()) {
      faults.push_back("a stage is loaded that threads may still read");
    }
    const ir::Region& region = op.tiles[0].region;
    // A moves along its columns, B along its rows.
    to = {.origin = std::max(value(region[0].begin), value(region[1].begin))};
    open_.push_back(&to);
    ++loads;
  } else if (op.def == &cp_async_commit_op()) {
    groups_.push_back(std::move(open_));
    open_.clear();
  } else if (op.def == &cp_async_wait_op()) {
    for (; int64_t(groups_.size()) > ir::int_attr(op.attrs, "pending", 0); groups_.erase(groups_.begin())) {
      for (Slot* s : groups_[0]) s->arrived = true;
    }
  } else if (op.def == &block_sync_op()) {
    for (auto& [at, s] : slots_) s.visible = s.arrived;
    read_since_barrier_.clear();
  } else if (op.def == &ops::gemm_op()) {
    Slot &a = slot(op.tiles[0]), &b = slot(op.tiles[1]);
    if (!a.visible || !b.visible) faults.push_back("a product reads what has not arrived");
    if (a.origin != b.origin) faults.push_back("a product reads two iterations");
    products.push_back(a.origin);
    read_since_barrier_.insert(read_since_barrier_.end(), {&a, &b});
  } else if (op.def == &mma_load_op()) {
    Slot &a = slot(op.tiles[0]), &b = slot(op.tiles[1]);
    if (!a.visible || !b.visible) faults.push_back("operands are read that have not arrived");
    if (a.origin != b.origin) faults.push_back("operands of two iterations");
    registers_[value(op.scalars[1])] = {a.origin, value(op.scalars[0])};
    read_since_barrier_.insert(read_since_barrier_.end(), {&a, &b});
  } else if (op.def == &mma_multiply_op()) {
    const auto [origin, step] = registers_.at(value(op.scalars[0]));
    if (step == 0) {
      products.push_back(origin);
    } else if (products.empty() || products.back() != origin || step != last_step_ + 1) {
      faults.push_back("a step of a product is not the next one");
    }
    if (step == 0 && last_step_ != kSteps - 1) faults.push_back("a product ends early");
    last_step_ = step;
  }
}

TEST(ExpandPipelines, EveryProductReadsItsOwnIteration) {
  for (const int num_stages : {2, 3, 4, 6}) {
    for (const int64_t iterations : {0, 1, 2, 3, 4, 5, 8, 17}) {
      for (const int rounds : {1, 3}) {
        SCOPED_TRACE(testing::Message() << num_stages << " stages, " << iterations << " iterations, " << rounds);
        const Expanded e = expanded(product(32 * iterations, num_stages, rounds));
        Timeline timeline(e.program.kernels[0]);
        timeline.run(e.program.kernels[0].body);
        EXPECT_EQ(timeline.faults, std::vector<std::string>()) << ir::print(e.program);
        std::vector<int64_t> want;
        for (int64_t i = 0; i < rounds * iterations; ++i) want.push_back(i % iterations * 32);
        EXPECT_EQ(timeline.products, want);
        EXPECT_EQ(timeline.loads, 2 * rounds * iterations);
        if (HasFailure()) return;
      }
    }
  }
}

// The check above finds faults: of a loop that waits for too little, or has no barrier.
TEST(ExpandPipelines, ATimelineWithoutWaitsIsFaulty) {
  class Without : public ir::Rewriter {
   public:
    explicit Without(const ir::OpDef& def) : def_(def) {}
    using Rewriter::rewrite;
    void rewrite(const ir::Stmt& stmt, ir::Block& out) override {
      const auto* op = ir::get_if<ir::OpStmt>(stmt);
      if (op == nullptr || op->def != &def_) Rewriter::rewrite(stmt, out);
    }

   private:
    const ir::OpDef& def_;
  };
  const Expanded e = expanded(product(256, 3));
  for (const ir::OpDef* def : {&cp_async_wait_op(), &block_sync_op(), &cp_async_commit_op()}) {
    Timeline timeline(e.program.kernels[0]);
    timeline.run(Without(*def).rewrite(e.program.kernels[0].body));
    EXPECT_FALSE(timeline.faults.empty()) << def->name;
  }
}

int num_ops(const ir::Block& block, const ir::OpDef& def) {
  struct Finder : ir::Visitor {
    explicit Finder(const ir::OpDef& of) : def(of) {}
    using Visitor::visit;
    void visit(const ir::Stmt& stmt) override {
      const auto* op = ir::get_if<ir::OpStmt>(stmt);
      found += op && op->def == &def;
      visit_parts(stmt);
    }
    const ir::OpDef& def;
    int found = 0;
  } finder(def);
  finder.visit(block);
  return finder.found;
}

// Operands are loaded ahead, in the loop and in its last iteration, where the product is all there is, its steps are
// even in number, and registers are left.
TEST(ExpandPipelines, OperandsAheadOfTheirProducts) {
  struct Case {
    int block_m, block_n, block_k;
    bool beside;  // another statement in the loop
    bool ahead;
  };
  for (const Case& c : {Case{64, 64, 32, false, true}, Case{64, 64, 128, false, true}, Case{64, 64, 48, false, false},
                        Case{64, 64, 16, false, false}, Case{64, 64, 32, true, false}, Case{48, 48, 32, false, true},
                        Case{128, 192, 32, false, false}}) {
    const Expanded e = expanded(T::prim_func("product", [&] {
      auto A = T::tensor("A", {c.block_m, 960}, T::f16), B = T::tensor("B", {960, c.block_n}, T::f16);
      auto C = T::tensor("C", {c.block_m, c.block_n}, T::f32);
      auto blocks = T::Kernel({1}, {.threads = 128});
      auto a = T::alloc_shared({c.block_m, c.block_k}, T::f16), b = T::alloc_shared({c.block_k, c.block_n}, T::f16);
      auto acc = T::alloc_fragment({c.block_m, c.block_n}, T::f32);
      T::clear(acc);
      for (auto ko : T::Pipelined(T::ceildiv(960, c.block_k), {.num_stages = 2})) {
        T::copy(A(0, ko * c.block_k), a);
        T::copy(B(ko * c.block_k, 0), b);
        T::gemm(a, b, acc);
        if (c.beside) {
          for (auto [i, j] : T::Parallel(c.block_m, c.block_n)) acc(i, j) = acc(i, j) * 2;
        }
      }
      T::copy(acc, C);
    }));
    const ir::Block& body = e.program.kernels[0].body;
    EXPECT_EQ(num_ops(body, mma_multiply_op()), c.ahead ? 2 : 0) << c.block_m << " " << c.block_n << " " << c.block_k;
    EXPECT_EQ(num_ops(body, ops::gemm_op()), c.ahead ? 0 : 1);
  }
}

TEST(ExpandPipelines, TilesGetTheirStages) {
  const Expanded e = expanded(product(256, 3));
  for (const ir::Tile& tile : e.program.kernels[0].tiles) {
    if (tile.name != "a" && tile.name != "b") continue;
    EXPECT_EQ(tile.stages, 3);
    EXPECT_EQ(tile.extents()[0], 3);
  }
  EXPECT_TRUE(e.remarks.empty());
}

TEST(ExpandPipelines, OneStageStaysALoop) {
  for (const int num_stages : {0, 1}) {
    const Expanded e = expanded(product(256, num_stages));
    EXPECT_EQ(ir::print(e.program).find("cp_async"), std::string::npos) << num_stages;
    EXPECT_TRUE(e.remarks.empty());
  }
}

TEST(ExpandPipelines, ColumnsThatDoNotFillPiecesRunInOrder) {
  const Expanded e = expanded(product(33, 3));  // rows of A begin at odd multiples of 2 bytes
  // B is loaded ahead, A is not.
  ASSERT_EQ(count(e.remarks, "serial_pipeline"), 1);
  EXPECT_NE(e.remarks[0].text.find("the copy to a is not loaded ahead"), std::string::npos) << e.remarks[0].text;
  EXPECT_NE(ir::print(e.program).find("cp_async"), std::string::npos);
  const Program both = T::prim_func("both", [] {
    auto A = T::tensor("A", {64, 33}, T::f16);
    auto C = T::tensor("C", {64}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto a = T::alloc_shared({64, 32}, T::f16, "a");
    for (auto ko : T::Pipelined(2, {.num_stages = 3})) {
      T::copy(A(0, ko * 32), a);
      for (auto i : T::Parallel(64)) C(i) = C(i) + a(i, 0);
    }
  });
  const Expanded serial = expanded(both);
  EXPECT_EQ(count(serial.remarks, "serial_pipeline"), 1);
  EXPECT_EQ(ir::print(serial.program).find("cp_async"), std::string::npos);
}

TEST(ExpandPipelines, FewerStagesWhereMemoryEnds) {
  // A stage has 8 KiB; sm_75 has no asynchronous copies, sm_86 99 KiB a block.
  const Expanded e = expanded(product(1024, 16), {.sm = 86});
  EXPECT_EQ(count(e.remarks, "fewer_stages"), 1);
  const Expanded fits = expanded(product(1024, 12), {.sm = 86});
  EXPECT_EQ(count(fits.remarks, "fewer_stages"), 0);
  EXPECT_EQ(count(expanded(product(1024, 16), {.sm = 80}).remarks, "fewer_stages"), 0);
}

TEST(ExpandPipelines, JumpsAndOtherUsesOfTheTileRunInOrder) {
  const auto remarks_of = [](auto inside) {
    return expanded(T::prim_func("p",
                                 [&] {
                                   auto A = T::tensor("A", {64, 64}, T::f16);
                                   auto C = T::tensor("C", {64}, T::f16);
                                   auto blocks = T::Kernel({1}, {.threads = 128});
                                   auto a = T::alloc_shared({64, 32}, T::f16, "a");
                                   T::clear(a);
                                   inside(A, C, a);
                                 }))
        .remarks;
  };
  const auto used_outside = remarks_of([](auto& A, auto& C, auto& a) {
    for (auto ko : T::Pipelined(2, {.num_stages = 2})) {
      T::copy(A(0, ko * 32), a);
      for (auto i : T::Parallel(64)) C(i) = a(i, 0);
    }
  });
  EXPECT_EQ(count(used_outside, "serial_pipeline"), 1);
}

}  // namespace
}  // namespace tilewright::passes
