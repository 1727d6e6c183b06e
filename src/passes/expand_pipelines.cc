#include "layout/layout.h"
#include "ops/copy.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/fact_rewriter.h"
#include "passes/lower_mma.h"
#include "passes/stage_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;

namespace {

constexpr const char* kAsyncNeeds =
    "that needs rows of whole 16-byte pieces, one dtype, zero outside, and a shared tile that this loop alone uses";

// How often statements read and write the storage of each tile, and which variables they bind.
class Touches : public ir::Visitor {
 public:
  explicit Touches(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ir::ExprKind::load)) ++reads[kernel_.storage_of(e.tile_id())];
    if (e.is(ir::ExprKind::var)) used.insert(e.var_id());
    if (e) visit_args(e);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) ++writes[kernel_.storage_of(store->tile)];
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      ++reads[kernel_.storage_of(atomic->tile)];
      ++writes[kernel_.storage_of(atomic->tile)];
      if (atomic->prev) bound.insert(atomic->prev.var_id());
    }
    if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) bound.insert(let->var.var_id());
    if (ir::get_if<ir::BreakStmt>(stmt) || ir::get_if<ir::ContinueStmt>(stmt)) jumps = true;
    if (const auto* op = ir::get_if<OpStmt>(stmt)) {
      for (const ir::Access& a : op->def->effects(*op, kernel_)) {
        if (a.mode != ir::Mode::write) ++reads[kernel_.storage_of(a.ref.tile)];
        if (a.mode != ir::Mode::read) ++writes[kernel_.storage_of(a.ref.tile)];
      }
    }
    visit_parts(stmt);
  }
  int count(TileId id) const {
    const auto r = reads.find(id), w = writes.find(id);
    return (r == reads.end() ? 0 : r->second) + (w == writes.end() ? 0 : w->second);
  }
  std::map<TileId, int> reads, writes;
  std::set<ir::VarId> used, bound;
  bool jumps = false;

 private:
  const Kernel& kernel_;
};

std::map<TileId, Expr> slots(const std::set<TileId>& tiles, const Expr& slot) {
  std::map<TileId, Expr> out;
  for (TileId id : tiles) out.emplace(id, slot);
  return out;
}

class PipelineExpansion : public FactRewriter {
 public:
  PipelineExpansion(const ir::Program& program, const Kernel& before, Kernel& kernel, ir::VarId& next_var,
                    const CudaTarget& target, std::vector<Remark>& remarks)
      : FactRewriter(program, before),
        program_(program),
        before_(before),
        kernel_(kernel),
        next_var_(next_var),
        target_(target),
        remarks_(remarks),
        all_(before) {
    all_.visit(before.body);
  }
  using FactRewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop == nullptr && !ir::get_if<ir::WhileStmt>(stmt)) return FactRewriter::rewrite(stmt, out);
    if (loop && loop->kind == ir::LoopKind::pipelined && expand(*loop, stmt->loc, out)) return;
    ++depth_;
    FactRewriter::rewrite(stmt, out);
    --depth_;
  }

 private:
  struct Parts {
    Block loads, rest;
    std::set<TileId> tiles;
    std::string why;  // not: the reason
  };
  bool expand(const ir::ForStmt& loop, const Loc& loc, Block& out);
  Parts split(const ir::ForStmt& loop);
  void remark_slow_loads(const Block& rest);
  int64_t stages_that_fit(const std::set<TileId>& tiles, int64_t wanted, const Loc& loc);
  const OpStmt* gemm_in_steps(const Parts& parts) const;
  Block rotate(const OpStmt& gemm, const std::set<TileId>& tiles, int64_t stages, const Expr& extent,
               const std::function<Block(const Expr&)>& loads, const Loc& loc);
  Expr fresh(const char* name) { return ir::var(next_var_++, name); }
  Stmt op(const ir::OpDef& def, ir::Attrs attrs, const Loc& loc) const {
    return ir::make_stmt(OpStmt{.def = &def, .tiles = {}, .scalars = {}, .attrs = std::move(attrs)}, loc);
  }

  const ir::Program& program_;
  const Kernel& before_;
  Kernel& kernel_;
  ir::VarId& next_var_;
  const CudaTarget& target_;
  std::vector<Remark>& remarks_;
  Touches all_;
  int depth_ = 0;
};

// Loads stand directly in the body; what they need is known before it; their tiles live in it alone, and are read after
// they are written.
PipelineExpansion::Parts PipelineExpansion::split(const ir::ForStmt& loop) {
  Parts parts;
  Touches body(before_);
  body.visit(loop.body);
  if (body.jumps)
    return {.loads = {}, .rest = {}, .tiles = {}, .why = "a break or continue may end an iteration early"};
  facts_.push();
  facts_.bind(loop.dims[0].var, loop.dims[0].begin, loop.dims[0].extent, loop.dims[0].step);
  std::set<TileId> seen;
  for (const Stmt& stmt : loop.body) {
    const auto* op = ir::get_if<OpStmt>(stmt);
    Touches here(before_);
    here.visit(stmt);
    const bool is_load = op && is_async_copy(*op, program_, before_, facts_, target_);
    const TileId dst = is_load ? op->tiles[1].tile : -1;
    bool staged = is_load && body.writes[dst] == 1 && body.count(dst) == all_.count(dst) && !seen.contains(dst);
    // What it reads, its source and numbers in its indices, is the same some iterations earlier.
    for (const auto& [id, n] : here.reads) staged = staged && body.writes[id] == 0;
    for (ir::VarId v : here.used) staged = staged && !body.bound.contains(v);
    if (staged) {
      parts.loads.push_back(stmt);
      parts.tiles.insert(dst);
    } else {
      parts.rest.push_back(stmt);
    }
    for (const auto* map : {&here.reads, &here.writes}) {
      for (const auto& [id, n] : *map) seen.insert(id);
    }
  }
  facts_.pop();
  if (parts.loads.empty()) {
    parts.why = target_.has_cp_async() ? fmt::format("no copy in it can be asynchronous: {}", kAsyncNeeds)
                                       : fmt::format("{} has no asynchronous copies", target_.arch());
  }
  return parts;
}

// Loads beside the asynchronous ones, which all threads wait for in each iteration.
void PipelineExpansion::remark_slow_loads(const Block& rest) {
  for (const Stmt& stmt : rest) {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op == nullptr || op->def != &ops::copy_op()) continue;
    const ir::Tile &from = before_.tile(op->tiles[0].tile), &to = before_.tile(op->tiles[1].tile);
    if (from.space != ir::Space::global || to.space != ir::Space::shared) continue;
    remarks_.push_back({.kind = "serial_pipeline",
                        .text = fmt::format("the copy to {} is not loaded ahead: {}", to.name, kAsyncNeeds),
                        .loc = stmt->loc});
  }
}

// All staged tiles together with the other shared tiles must fit.
int64_t PipelineExpansion::stages_that_fit(const std::set<TileId>& tiles, int64_t wanted, const Loc& loc) {
  int64_t fixed = 0, staged = 0;
  for (size_t i = 0; i < kernel_.tiles.size(); ++i) {
    const ir::Tile& tile = kernel_.tiles[i];
    if (tile.space != ir::Space::shared || tile.view_of >= 0) continue;
    const int64_t elem_bytes = bytes_of(tile.dtype);
    const int64_t elems =
        tile.layout ? layout::staged(*tile.layout, 1, elem_bytes).dims()[0][0].stride : tile.num_elems();
    const int64_t bytes = (elems * elem_bytes + 1023) / 1024 * 1024;
    (tiles.contains(TileId(i)) ? staged : fixed) += bytes;
  }
  const int64_t fits = std::max<int64_t>(1, (target_.max_shared_bytes() - fixed) / std::max<int64_t>(1, staged));
  if (fits >= wanted) return wanted;
  remarks_.push_back(
      {.kind = "fewer_stages",
       .text = fmt::format("{} stages of {} bytes do not fit into {} bytes of shared memory beside {} of "
                           "other tiles; {} do",
                           wanted, staged, target_.max_shared_bytes(), fixed, fits),
       .loc = loc});
  return fits;
}

// The loop does nothing but one product on tensor cores of tiles that it loads, in an even number of steps, and there
// are registers for the operands of two of them.
const OpStmt* PipelineExpansion::gemm_in_steps(const Parts& parts) const {
  const auto* op = parts.rest.size() == 1 ? ir::get_if<OpStmt>(parts.rest[0]) : nullptr;
  if (op == nullptr || !is_mma(*op, before_, target_) || !op->scalars[0].is_int(0)) return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    if (!parts.tiles.contains(op->tiles[i].tile)) return nullptr;
  }
  const MmaPlan plan = mma_plan(*op, before_);
  if (plan.steps_k % 2 != 0) return nullptr;
  constexpr int64_t kOtherRegisters = 40;  // addresses, counters
  const int64_t registers = plan.accumulator.num_regs() + 2 * (plan.tiles_m * 4 + plan.tiles_n * 2) + kOtherRegisters;
  return registers <= std::min<int64_t>(255, 65536 / before_.threads) ? op : nullptr;
}

// Operands of a step go to registers while the products of the step before it run, also from one iteration to the
// next: in the last step of an iteration, the next tiles are waited for and the first step of them is loaded. The loads
// to shared memory stand behind the first products, in whose shadow they are issued. Of two steps the second one waits
// already. All threads have its operands in registers then, so that its stage is free and is loaded in front of its
// products: all other stages are under way in both steps.
Block PipelineExpansion::rotate(const OpStmt& gemm, const std::set<TileId>& tiles, int64_t stages, const Expr& extent,
                                const std::function<Block(const Expr&)>& loads, const Loc& loc) {
  const MmaPlan plan = mma_plan(gemm, before_);
  const auto registers = [&](const char* name, int64_t instructions, int64_t each) {
    const std::vector<Expr> shape = {ir::int_imm(2), ir::int_imm(instructions), ir::int_imm(each)};
    ir::TileRef all{.tile = add_registers(kernel_, name, shape, loc), .region = {}, .slot = {}};
    for (const Expr& extent_of : shape) all.region.push_back({.begin = ir::int_imm(0), .extent = extent_of});
    return all;
  };
  OpStmt half = gemm;
  half.tiles.push_back(registers("a", plan.tiles_m, 4));
  half.tiles.push_back(registers("b", plan.tiles_n, 2));
  const auto part = [&](const ir::OpDef& def, std::vector<Expr> scalars, const Expr& iteration) {
    half.def = &def;
    half.scalars = std::move(scalars);
    return stage_tiles({ir::make_stmt(half, loc)}, slots(tiles, ir::floormod(iteration, stages)))[0];
  };
  const auto when = [&](const Expr& condition, Block then, Block otherwise) {
    return ir::make_stmt(ir::IfStmt{.condition = condition, .then = std::move(then), .otherwise = std::move(otherwise)},
                         loc);
  };
  // All groups but the youngest stages - 2 are complete: those of the iteration whose operands are loaded next. The
  // barrier shows them to all threads, and says that all have read the stage that is filled next.
  const auto first_step = [&](const Expr& iteration) -> Block {
    Block out = {op(cp_async_wait_op(), {{"pending", stages - 2}}, loc), op(block_sync_op(), {}, loc),
                 part(mma_load_op(), {ir::int_imm(0), ir::int_imm(0)}, iteration)};
    if (plan.steps_k > 2) return out;
    const Block ahead = loads(iteration + (stages - 1));
    out.insert(out.end(), ahead.begin(), ahead.end());
    return out;
  };
  // The last iteration stands apart: a condition between the steps would keep the compiler from mixing them.
  const auto iteration = [&](const Expr& it, bool last) {
    const Expr ks = fresh("ks");
    const Expr inner = ir::lt(ks, ir::int_imm(plan.steps_k - 1));
    ir::ForStmt steps{.kind = ir::LoopKind::unrolled, .dims = {}, .attrs = {}, .body = {}};
    steps.dims = {{.var = ks, .begin = ir::int_imm(0), .extent = ir::int_imm(plan.steps_k)}};
    steps.body = {
        when(inner, {part(mma_load_op(), {ks + 1, ir::floormod(ks + 1, 2)}, it)}, last ? Block{} : first_step(it + 1)),
        part(mma_multiply_op(), {ir::floormod(ks, 2)}, it)};
    if (!last && plan.steps_k > 2)
      steps.body.push_back(when(ir::binary(ir::ExprKind::eq, ks, ir::int_imm(0)), loads(it + (stages - 1)), {}));
    return ir::make_stmt(std::move(steps), loc);
  };
  const Expr it = fresh("it");
  ir::ForStmt steady{.kind = ir::LoopKind::serial, .dims = {}, .attrs = {}, .body = {}};
  steady.dims = {{.var = it, .begin = ir::int_imm(0), .extent = extent - 1}};
  steady.body = {iteration(it, false)};
  Block all = first_step(ir::int_imm(0));
  all.push_back(ir::make_stmt(std::move(steady), loc));
  all.push_back(iteration(extent - 1, true));
  return {when(ir::lt(ir::int_imm(0), extent), std::move(all), {})};
}

bool PipelineExpansion::expand(const ir::ForStmt& loop, const Loc& loc, Block& out) {
  const int64_t wanted = ir::int_attr(loop.attrs, "num_stages", 0);
  if (wanted < 2) return false;
  const Parts parts = split(loop);
  if (!parts.why.empty()) {
    remarks_.push_back({.kind = "serial_pipeline",
                        .text = fmt::format("the iterations run one after the other: {}", parts.why),
                        .loc = loc});
    return false;
  }
  const int64_t stages = stages_that_fit(parts.tiles, wanted, loc);
  if (stages < 2) return false;
  remark_slow_loads(parts.rest);
  for (TileId id : parts.tiles) {
    ir::Tile& tile = kernel_.tiles[size_t(id)];
    tile.shape.insert(tile.shape.begin(), ir::int_imm(stages));
    tile.stages = int(stages);
    if (tile.layout) tile.layout = layout::staged(*tile.layout, stages, bytes_of(tile.dtype));
  }
  const ir::LoopDim& dim = loop.dims[0];
  const int64_t ahead = stages - 1;
  // The loads of iteration `it`, if there is one.
  const auto loads = [&](const Expr& it) -> Block {
    Block body = ir::substitute(parts.loads, std::vector{dim.var}, std::vector{dim.begin + it * dim.step});
    body = stage_tiles(body, slots(parts.tiles, ir::floormod(it, stages)));
    return {
        ir::make_stmt(ir::IfStmt{.condition = ir::lt(it, dim.extent), .then = std::move(body), .otherwise = {}}, loc),
        op(cp_async_commit_op(), {}, loc)};
  };
  // Another round of an outer loop must not overwrite what threads still read.
  if (depth_ > 0) out.push_back(op(block_sync_op(), {}, loc));
  ir::ForStmt first{.kind = ir::LoopKind::unrolled, .dims = {}, .attrs = {}, .body = {}};
  const Expr early = fresh("ahead");
  first.dims = {{.var = early, .begin = ir::int_imm(0), .extent = ir::int_imm(ahead)}};
  first.body = loads(early);
  out.push_back(ir::make_stmt(std::move(first), loc));

  if (const OpStmt* gemm = gemm_in_steps(parts)) {
    const Block rotated = rotate(*gemm, parts.tiles, stages, dim.extent, loads, parts.rest[0]->loc);
    out.insert(out.end(), rotated.begin(), rotated.end());
    return true;
  }
  const Expr it = fresh("it");
  ir::ForStmt steady{.kind = ir::LoopKind::serial, .dims = {}, .attrs = {}, .body = {}};
  steady.dims = {{.var = it, .begin = ir::int_imm(0), .extent = dim.extent}};
  // Groups end once an iteration, so that all but the youngest stages - 2 hold this iteration's tiles. The barrier
  // shows them to all threads, and says that all have read the stage that is loaded next.
  steady.body = {op(cp_async_wait_op(), {{"pending", stages - 2}}, loc), op(block_sync_op(), {}, loc)};
  for (const Stmt& stmt : loads(it + ahead)) steady.body.push_back(stmt);
  steady.body.push_back(ir::make_stmt(ir::LetStmt{.var = dim.var, .value = dim.begin + it * dim.step}, loc));
  ++depth_;
  facts_.push();
  facts_.bind(dim.var, dim.begin, dim.extent, dim.step);
  const Block rest = rewrite(parts.rest);
  facts_.pop();
  --depth_;
  for (const Stmt& stmt : stage_tiles(rest, slots(parts.tiles, ir::floormod(it, stages)))) steady.body.push_back(stmt);
  out.push_back(ir::make_stmt(std::move(steady), loc));
  return true;
}

}  // namespace

ir::Program expand_pipelines(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Kernel before = kernel;
    kernel.body = PipelineExpansion(program, before, kernel, out.next_var, target, remarks).rewrite(before.body);
  }
  return out;
}

}  // namespace tilewright::passes
