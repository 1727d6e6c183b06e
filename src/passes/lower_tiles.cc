#include "ir/layout_offset.h"
#include "ops/access.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/operand.h"
#include "ops/reduce.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/fact_rewriter.h"
#include "passes/lower_mma.h"
#include "passes/lower_warpgroup.h"
#include "passes/register_tiles.h"
#include "passes/schedule_ops.h"
#include "support/error.h"

#include <algorithm>
#include <functional>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileId;
using ir::TileRef;
using layout::Fragment;

namespace {

Stmt unrolled(const Expr& index, int64_t extent, Block body, const Loc& loc) {
  ir::ForStmt loop{.kind = ir::LoopKind::unrolled, .dims = {}, .attrs = {}, .body = std::move(body)};
  loop.dims = {{.var = index, .begin = ir::int_imm(0), .extent = ir::int_imm(extent)}};
  return ir::make_stmt(std::move(loop), loc);
}

Stmt lanes(Block body, const Loc& loc) {
  return ir::make_stmt(ir::LanesStmt{.exec = {}, .body = std::move(body)}, loc);
}

// The array of registers that holds a fragment tile: its register modes, the fastest last.
std::vector<Expr> register_shape(const Fragment& fragment) {
  std::vector<Expr> shape;
  for (size_t m = fragment.reg_modes().size(); m-- > 0;) shape.push_back(ir::int_imm(fragment.reg_modes()[m].extent));
  return shape;
}

// A nest of loops over the registers of a fragment, and the coordinates of the element in each.
struct RegisterNest {
  std::vector<Expr> digits;  // of each register mode
  std::vector<Expr> at;
};

// Writes accesses to fragment tiles as accesses to registers, inside a loop dealt out by one fragment.
class RegisterAccesses : public ir::Rewriter {
 public:
  RegisterAccesses(const Kernel& kernel, const FragmentUses& uses, const Fragment& loop, const RegisterNest& nest,
                   const std::vector<ir::LoopDim>& dims, Expr first_replica)
      : kernel_(kernel), uses_(uses), loop_(loop), nest_(nest), dims_(dims), first_replica_(std::move(first_replica)) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& e) override {
    if (e.is(ir::ExprKind::var)) {
      for (size_t d = 0; d < dims_.size(); ++d) {
        if (dims_[d].var.var_id() == e.var_id()) return nest_.at[d];
      }
    }
    if (e.is(ir::ExprKind::load) && uses_.tiles.contains(e.tile_id())) {
      return ir::load(e.tile_id(), e->name, e.dtype(), registers(e.tile_id()), e.loc());
    }
    return rewrite_args(e);
  }
  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt);
    if (const auto* op = ir::get_if<OpStmt>(stmt); op && op->def->reports) return rewrite_once(stmt, out);
    if (!store && !atomic) return Rewriter::rewrite(stmt, out);
    const TileId written = store ? store->tile : atomic->tile;
    if (store && uses_.tiles.contains(written)) {
      ir::StoreStmt rebuilt{.tile = store->tile, .indices = registers(store->tile), .value = rewrite(store->value)};
      return out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
    }
    // Tiles that an expansion has added are scalars of the thread.
    const bool is_own = size_t(written) >= kernel_.tiles.size();
    const bool is_common = !is_own && kernel_.tile(written).space != ir::Space::local;
    is_common ? rewrite_once(stmt, out) : Rewriter::rewrite(stmt, out);
  }

 private:
  // By one of the threads that hold the same element.
  void rewrite_once(const Stmt& stmt, Block& out) {
    Block once;
    Rewriter::rewrite(stmt, once);
    if (first_replica_) {
      once = {ir::make_stmt(ir::IfStmt{.condition = first_replica_, .then = once, .otherwise = {}}, stmt->loc)};
    }
    out.insert(out.end(), once.begin(), once.end());
  }
  // The register of this thread that holds the tile's element here.
  std::vector<Expr> registers(TileId id) const {
    const DimMap& map = *uses_.tiles.at(id);
    std::vector<Expr> out;
    for (size_t m = loop_.reg_modes().size(); m-- > 0;) {
      const int dim = loop_.reg_modes()[m].dim;
      if (std::find(map.begin(), map.end(), dim) != map.end()) out.push_back(nest_.digits[m]);
    }
    return out;
  }

  const Kernel& kernel_;
  const FragmentUses& uses_;
  const Fragment& loop_;
  const RegisterNest& nest_;
  const std::vector<ir::LoopDim>& dims_;
  Expr first_replica_;
};

class TileLowering : public FactRewriter {
 public:
  // `before` has the fragments; `kernel` gets the register arrays.
  TileLowering(const ir::Program& program, const Kernel& before, Kernel& kernel, ir::VarId& next_var,
               const CudaTarget& target)
      : FactRewriter(program, before),
        program_(program),
        before_(before),
        context_{.kernel = kernel, .next_var = next_var},
        target_(target) {
    facts_.bind(kernel.thread_var, ir::int_imm(0), ir::int_imm(kernel.threads));
  }
  using FactRewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op && !op->def->assumes) return rewrite_op(*op, stmt->loc, out);
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt); loop && loop->kind == ir::LoopKind::parallel) {
      return rewrite_parallel(*loop, stmt, out);
    }
    if (const auto* role = ir::get_if<ir::RoleStmt>(stmt)) {
      const ir::ExecSet before = std::exchange(exec_, role->exec);
      FactRewriter::rewrite(stmt, out);
      exec_ = before;
      return;
    }
    FactRewriter::rewrite(stmt, out);
  }

 private:
  void rewrite_op(const OpStmt& op, const Loc& loc, Block& out);
  void rewrite_parallel(const ir::ForStmt& loop, const Stmt& stmt, Block& out);
  void lower_mma(const OpStmt& op, const Loc& loc, Block& out);
  void lower_mma_part(const OpStmt& op, const Loc& loc, Block& out);
  void lower_reduce(const OpStmt& op, const Loc& loc, Block& out);
  void reduce_lanes(const LineThreads& line, std::string_view origin, ops::Accumulator& acc, const Loc& loc,
                    Block& out);
  Block exchange_by_warps(const LineThreads& line, const std::vector<Expr>& extents, const std::vector<Expr>& digits,
                          const std::vector<Expr>& again, std::string_view origin, ops::Accumulator& acc,
                          const Loc& loc, Block& out);
  void lower_async_copy(const OpStmt& op, const Loc& loc, Block& out);
  RegisterNest open_registers(const Fragment& fragment, Block& lets, const Loc& loc);
  Block inside_only(const Fragment& fragment, const RegisterNest& nest, Block body, const Loc& loc) const;
  // The loops of a nest around `body`, which runs only where the coordinates lie inside the tile, or everywhere.
  Block close_registers(const Fragment& fragment, const RegisterNest& nest, Block body, const Loc& loc,
                        bool everywhere = false);
  // Of the warps that run this, counted from the first of them.
  Expr thread() const { return context_.kernel.thread_var - int64_t(exec_.first_warp) * ir::kWarpThreads; }
  int64_t num_threads() const {
    return exec_.num_warps > 0 ? int64_t(exec_.num_warps) * ir::kWarpThreads : before_.threads;
  }

  const ir::Program& program_;
  const Kernel& before_;
  ir::ExpandContext context_;
  const CudaTarget& target_;
  ir::ExecSet exec_;  // of the role around
};

RegisterNest TileLowering::open_registers(const Fragment& fragment, Block& lets, const Loc& loc) {
  RegisterNest nest;
  for (const Expr& c : ir::thread_coordinates(fragment, thread())) {
    const Expr v = c.as_int() ? c : context_.fresh_var("at");
    if (!c.as_int()) lets.push_back(ir::make_stmt(ir::LetStmt{.var = v, .value = c}, loc));
    nest.at.push_back(v);
  }
  for (const layout::FragmentMode& m : fragment.reg_modes()) {
    nest.digits.push_back(context_.fresh_var("r"));
    nest.at[size_t(m.dim)] = nest.at[size_t(m.dim)] + nest.digits.back() * m.stride;
  }
  return nest;
}

// The coordinate of a register, or of the last one of the run of adjacent elements that it belongs to, where all of
// such a run are inside or none.
Expr end_of_run(const Fragment& fragment, const RegisterNest& nest, int dim) {
  if (fragment.reg_modes().empty()) return nest.at[size_t(dim)];
  const layout::FragmentMode run = fragment.reg_modes()[0];
  const auto begins_at_runs = [&](const std::vector<layout::FragmentMode>& modes) {
    return std::all_of(modes.begin(), modes.end(), [&](const layout::FragmentMode& m) {
      return m.dim != dim || m.stride % run.extent == 0 || &m == &fragment.reg_modes()[0];
    });
  };
  const bool whole = run.dim == dim && run.stride == 1 && fragment.shape()[size_t(dim)] % run.extent == 0 &&
                     begins_at_runs(fragment.thread_modes()) && begins_at_runs(fragment.reg_modes());
  return whole ? nest.at[size_t(dim)] - nest.digits[0] + (run.extent - 1) : nest.at[size_t(dim)];
}

// `body` where the thread holds an element of the tile.
Block TileLowering::inside_only(const Fragment& fragment, const RegisterNest& nest, Block body, const Loc& loc) const {
  Expr inside;
  for (size_t d = 0; d < fragment.shape().size(); ++d) {
    int64_t last = 0;
    for (const auto* modes : {&fragment.thread_modes(), &fragment.reg_modes()}) {
      for (const layout::FragmentMode& m : *modes) last += m.dim == int(d) ? (m.extent - 1) * m.stride : 0;
    }
    if (last < fragment.shape()[d]) continue;
    const Expr ok = ir::lt(end_of_run(fragment, nest, int(d)), ir::int_imm(fragment.shape()[d]));
    inside = inside ? ir::logical_and(inside, ok) : ok;
  }
  // Threads beyond those of the fragment hold nothing.
  if (fragment.num_threads() < num_threads()) {
    const Expr ok = ir::lt(thread(), ir::int_imm(fragment.num_threads()));
    inside = inside ? ir::logical_and(inside, ok) : ok;
  }
  if (!inside) return body;
  return {ir::make_stmt(ir::IfStmt{.condition = inside, .then = std::move(body), .otherwise = {}}, loc)};
}

Block TileLowering::close_registers(const Fragment& fragment, const RegisterNest& nest, Block body, const Loc& loc,
                                    bool everywhere) {
  if (!everywhere) body = inside_only(fragment, nest, std::move(body), loc);
  if (nest.digits.empty()) return body;
  ir::ForStmt loop{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {{"registers", true}}, .body = std::move(body)};
  for (size_t m = nest.digits.size(); m-- > 0;) {
    loop.dims.push_back(
        {.var = nest.digits[m], .begin = ir::int_imm(0), .extent = ir::int_imm(fragment.reg_modes()[m].extent)});
  }
  return {ir::make_stmt(std::move(loop), loc)};
}

// Stores from registers to registers may go to those that hold no element of the tile, too: what is in them nobody
// reads. Integers stay out of this, since dividing by what happens to be there may trap.
bool stays_in_registers(const Block& body, const FragmentUses& uses) {
  const std::function<bool(const Expr&)> is_of_registers = [&](const Expr& e) {
    if (e.is(ir::ExprKind::load) && (!uses.tiles.contains(e.tile_id()) || !is_float(e.dtype()))) return false;
    return e.is(ir::ExprKind::load) || std::all_of(e.args().begin(), e.args().end(), is_of_registers);
  };
  return std::all_of(body.begin(), body.end(), [&](const Stmt& stmt) {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    return store && uses.tiles.contains(store->tile) && is_of_registers(store->value);
  });
}

void TileLowering::rewrite_parallel(const ir::ForStmt& loop, const Stmt& stmt, Block& out) {
  const FragmentUses uses = fragment_uses(before_, loop);
  if (uses.tiles.empty()) return out.push_back(stmt);
  std::optional<Fragment> dealt;
  for (const auto& [id, map] : uses.tiles) {
    if (!dealt) dealt = loop_fragment(*before_.tile(id).fragment, *map, uses.extents);
  }
  Block body;
  const RegisterNest nest = open_registers(*dealt, body, stmt->loc);
  RegisterAccesses accesses(before_, uses, *dealt, nest, loop.dims, ir::is_first_replica(*dealt, thread()));
  Block inner =
      close_registers(*dealt, nest, accesses.rewrite(loop.body), stmt->loc, stays_in_registers(loop.body, uses));
  body.insert(body.end(), inner.begin(), inner.end());
  out.push_back(lanes(std::move(body), stmt->loc));
}

void TileLowering::rewrite_op(const OpStmt& op, const Loc& loc, Block& out) {
  if (op.def == &wgmma_wait_op() || op.def == &wgmma_registers_op()) {
    return out.push_back(with_registers(op, context_.kernel, loc));
  }
  if (op.def == &bulk_copy_op() || op.def == &warpgroup_gemm_op()) {
    const Block calls = op.def == &bulk_copy_op() ? lower_bulk_copy(op, before_, context_, loc)
                                                  : lower_warpgroup_gemm(op, before_, context_, thread(), loc);
    return void(out.insert(out.end(), calls.begin(), calls.end()));
  }
  if (op.def == &async_copy_op()) {
    OpStmt copy = op;
    copy.def = &ops::copy_op();
    if (is_async_copy(copy, program_, before_, facts_, target_)) return lower_async_copy(copy, loc, out);
    throw unsupported(loc, "async_copy to {} is not made of aligned pieces of 16 bytes",
                      before_.tile(op.tiles[1].tile).name)
        .hint("choose another instruction for it");
  }
  if (exec_.num_warps > 0 && (is_mma(op, before_, target_) || is_register_reduce(op, before_))) {
    throw unsupported(loc, "{} on the warps of one role", op.def->name);
  }
  if (is_mma(op, before_, target_)) return lower_mma(op, loc, out);
  if (is_mma_part(op)) return lower_mma_part(op, loc, out);
  if (is_register_reduce(op, before_)) return lower_reduce(op, loc, out);
  // What fills a channel's tile is chosen, and waited for, already.
  const bool may_choose = op.def == &ops::copy_op() && !in_channel(before_, op.tiles[1].tile);
  if (may_choose && is_async_copy(op, program_, before_, facts_, target_)) {
    return lower_async_copy(op, loc, out);
  }
  if (op.def->expand == nullptr || op.def->reports) return out.push_back(ir::make_stmt(op, loc));
  for (const Stmt& part : op.def->expand(op, context_, loc)) rewrite(part, out);
}

// Each warp: for each 16 of k, its rows of A and columns of B to registers, then all products.
void TileLowering::lower_mma(const OpStmt& op, const Loc& loc, Block& out) {
  MmaLowering mma(op, before_, context_, thread(), loc);
  if (!op.scalars[0].is_int(0)) {
    const ops::GemmShape shape = ops::gemm_shape(op);
    const std::vector<Expr> vars = ops::fresh_indices(context_, 2);
    const ir::StoreStmt store{.tile = op.tiles[2].tile, .indices = vars, .value = ir::imm(0, DType::f32, loc)};
    const Block clear =
        rewrite(ops::parallel(vars, {ir::int_imm(shape.m), ir::int_imm(shape.n)}, {ir::make_stmt(store, loc)}, loc));
    if (op.scalars[0].is_int(1))
      out.insert(out.end(), clear.begin(), clear.end());
    else
      out.push_back(ir::make_stmt(ir::IfStmt{.condition = op.scalars[0], .then = clear, .otherwise = {}}, loc));
  }
  Block body = mma.names();
  const OperandRegisters a{.tile = add_registers(context_.kernel, "a", mma.shape_of_a(), loc), .at = {}};
  const OperandRegisters b{.tile = add_registers(context_.kernel, "b", mma.shape_of_b(), loc), .at = {}};
  const Expr ks = context_.fresh_var("ks");
  Block step = mma.load(ks, a, b);
  for (Stmt& stmt : mma.multiply(a, b)) step.push_back(std::move(stmt));
  body.push_back(unrolled(ks, mma.plan().steps_k, std::move(step), loc));
  out.push_back(lanes(std::move(body), loc));
}

// One half of one step.
void TileLowering::lower_mma_part(const OpStmt& op, const Loc& loc, Block& out) {
  const OpStmt gemm = gemm_of(op);
  MmaLowering mma(gemm, before_, context_, thread(), loc);
  const Expr buffer = op.scalars.back();
  const OperandRegisters a{.tile = op.tiles[3].tile, .at = {buffer}}, b{.tile = op.tiles[4].tile, .at = {buffer}};
  const bool loads = op.def == &mma_load_op();
  Block body;
  if (loads || mma.multiplies_in_part()) body = mma.names();
  for (Stmt& stmt : loads ? mma.load(op.scalars[0], a, b) : mma.multiply(a, b)) body.push_back(std::move(stmt));
  out.push_back(lanes(std::move(body), loc));
}

// Each result: what the thread's own registers hold of the line, then the lanes that share it.
void TileLowering::lower_reduce(const OpStmt& op, const Loc& loc, Block& out) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const Tile &held = before_.tile(src.tile), &target = before_.tile(dst.tile);
  const Fragment& from = *held.fragment;
  const ops::ReduceAttrs attrs = ops::ReduceAttrs::from(op.attrs, size_t(from.rank()));
  const ops::ReduceMeaning meaning = ops::reduce_meaning(op, before_);
  ops::Accumulator acc(meaning.combine, meaning.accumulate, meaning.nan_propagate, context_, op.def->name, loc);

  Block body;
  const RegisterNest nest = open_registers(from, body, loc);
  std::vector<Expr> kept, reduced, registers;
  std::vector<size_t> along, results;  // register modes, the slowest first
  for (size_t m = from.reg_modes().size(); m-- > 0;) {
    registers.push_back(nest.digits[m]);
    const bool is_along = from.reg_modes()[m].dim == int(attrs.dim);
    (is_along ? along : results).push_back(m);
    (is_along ? reduced : kept).push_back(nest.digits[m]);
  }
  const auto over = [&](const std::vector<size_t>& modes, const std::vector<Expr>& digits, Block inner) {
    for (size_t i = modes.size(); i-- > 0;) {
      inner = {unrolled(digits[i], from.reg_modes()[modes[i]].extent, std::move(inner), loc)};
    }
    return inner;
  };
  Expr element = ir::cast(ir::load(src.tile, held.name, held.dtype, registers, loc), acc.dtype(), loc);
  if (meaning.combine.of_abs) element = ir::call(ir::MathFn::abs, element, loc);
  Block take, result = {acc.reset()};
  acc.take(element, take);
  for (const Stmt& stmt : over(along, reduced, inside_only(from, nest, std::move(take), loc))) result.push_back(stmt);
  const LineThreads line = line_threads(from, int(attrs.dim)).value();
  reduce_lanes(line, op.def->name, acc, loc, result);
  if (line.num_warps() > 1) {
    std::vector<Expr> extents, again;
    for (size_t m : results) {
      extents.push_back(ir::int_imm(from.reg_modes()[m].extent));
      again.push_back(context_.fresh_var("r"));
    }
    Block shares = exchange_by_warps(line, extents, kept, again, op.def->name, acc, loc, result);
    for (const Stmt& stmt : over(results, kept, std::move(result))) body.push_back(stmt);
    // A barrier goes between two statements of all threads.
    out.push_back(lanes(std::exchange(body, {}), loc));
    kept = std::move(again);
    result = std::move(shares);
  }
  const Expr old = ir::cast(ir::load(dst.tile, target.name, target.dtype, kept, loc), acc.dtype(), loc);
  const Expr value = attrs.clear ? acc.value() : acc.combined_with(old, result);
  result.push_back(ir::make_stmt(
      ir::StoreStmt{.tile = dst.tile, .indices = kept, .value = ir::cast(value, target.dtype, loc)}, loc));
  for (const Stmt& stmt : over(results, kept, std::move(result))) body.push_back(stmt);
  out.push_back(lanes(std::move(body), loc));
}

// Combines what the lanes of a line have; afterwards each of them has the result.
void TileLowering::reduce_lanes(const LineThreads& line, std::string_view origin, ops::Accumulator& acc, const Loc& loc,
                                Block& out) {
  const TileId other = context_.fresh_scalar_tile("other", acc.dtype(), origin, loc);
  const auto scalar = [](TileId id) { return TileRef{.tile = id, .region = {}, .slot = {}}; };
  for (const ThreadDigit& digit : line.lanes) {
    for (int64_t step = 1; step < digit.extent; step *= 2) {
      OpStmt shuffle{.def = &shuffle_xor_op(), .tiles = {scalar(other), scalar(acc.value().tile_id())}};
      shuffle.attrs = {{"lanes", digit.scale * step}};
      out.push_back(ir::make_stmt(std::move(shuffle), loc));
      acc.take(ops::load_scalar(context_.kernel, other, loc), out);
    }
  }
}

// One lane of each warp writes what its warp has of a line, appended to `out`; the statements returned read what all
// warps have of it, behind the barrier that follows from these accesses. `extents`: of the digits that number a
// thread's results, `digits` where they are written, `again` where they are read.
Block TileLowering::exchange_by_warps(const LineThreads& line, const std::vector<Expr>& extents,
                                      const std::vector<Expr>& digits, const std::vector<Expr>& again,
                                      std::string_view origin, ops::Accumulator& acc, const Loc& loc, Block& out) {
  const auto number = [&](const std::vector<ThreadDigit>& of) {
    Expr sum = ir::int_imm(0);
    int64_t scale = 1;
    for (const ThreadDigit& d : of) {
      sum = sum + ir::floormod(ir::floordiv(thread(), d.scale), d.extent) * scale;
      scale *= d.extent;
    }
    return sum;
  };
  // Lines of one warp lie next to each other, in banks of their own; where a warp has one line, what all warps have of
  // it, which then goes in vectors.
  const bool lines_last = std::any_of(line.lines.begin(), line.lines.end(),
                                      [](const ThreadDigit& d) { return d.scale < ir::kWarpThreads; });
  std::vector<Expr> shape = extents, at = digits;
  shape.insert(shape.end(), {ir::int_imm(line.num_lines()), ir::int_imm(line.num_warps())});
  at.insert(at.end(), {number(line.lines), number(line.warps)});
  if (lines_last) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::swap(at[at.size() - 1], at[at.size() - 2]);
  }
  Kernel& kernel = context_.kernel;
  const auto shared = TileId(kernel.tiles.size());
  const std::string name = kernel.fresh_tile_name("partial");
  kernel.tiles.push_back({.name = name,
                          .space = ir::Space::shared,
                          .dtype = acc.dtype(),
                          .shape = shape,
                          .layout = {},
                          .origin = std::string(origin),
                          .loc = loc});
  Stmt tell = ir::make_stmt(ir::StoreStmt{.tile = shared, .indices = at, .value = acc.value()}, loc);
  Expr first;
  for (const ThreadDigit& d : line.lanes) {
    const Expr zero =
        ir::binary(ir::ExprKind::eq, ir::floormod(ir::floordiv(thread(), d.scale), d.extent), ir::int_imm(0));
    first = first ? ir::logical_and(first, zero) : zero;
  }
  if (first) tell = ir::make_stmt(ir::IfStmt{.condition = first, .then = {tell}, .otherwise = {}}, loc);
  out.push_back(tell);

  Block take, shares = {acc.reset()};
  const Expr w = context_.fresh_var("w");
  std::copy(again.begin(), again.end(), at.begin());
  (lines_last ? at[at.size() - 2] : at.back()) = w;
  acc.take(ir::load(shared, name, acc.dtype(), at, loc), take);
  shares.push_back(unrolled(w, line.num_warps(), std::move(take), loc));
  return shares;
}

// Pieces of 16 bytes, dealt out so that neighbours in a row go to neighbouring threads.
void TileLowering::lower_async_copy(const OpStmt& op, const Loc& loc, Block& out) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const Tile &from = before_.tile(src.tile), &to = before_.tile(dst.tile);
  const std::vector<int> src_dims = ops::wide_dims(src), dst_dims = ops::wide_dims(dst);
  const int64_t piece = 16 / bytes_of(to.dtype);
  std::vector<int64_t> shape;
  for (int d : dst_dims) shape.push_back(*dst.region[size_t(d)].extent.as_int());
  shape.back() /= piece;
  const Fragment pieces = layout::flat(shape, num_threads(), 1);
  Block body;
  const RegisterNest nest = open_registers(pieces, body, loc);
  TileRef source = src, target = dst;
  Expr inside;
  Expr valid = ir::int_imm(16);
  for (ir::RegionDim& dim : source.region) dim.extent = ir::int_imm(1);
  for (ir::RegionDim& dim : target.region) dim.extent = ir::int_imm(1);
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool last = k + 1 == shape.size();
    const Expr offset = last ? nest.at[k] * piece : nest.at[k];
    for (auto [ref, d] : {std::pair(&source, src_dims[k]), std::pair(&target, dst_dims[k])}) {
      ref->region[size_t(d)].begin = ref->region[size_t(d)].begin + offset;
    }
  }
  for (size_t d = 0; d < source.region.size(); ++d) {
    const Expr& begin = source.region[d].begin;
    if (int(d) == src_dims.back()) {
      const Expr left = (from.shape[d] - begin) * bytes_of(to.dtype);
      valid = ir::binary(ir::ExprKind::max, ir::int_imm(0), ir::binary(ir::ExprKind::min, left, ir::int_imm(16)));
    } else {
      const Expr ok = ir::lt(begin, from.shape[d]);
      inside = inside ? ir::logical_and(inside, ok) : ok;
    }
  }
  if (inside) valid = ir::select(inside, valid, ir::int_imm(0));
  // Where nothing is copied the address must still be one: that of the tensor.
  for (ir::RegionDim& dim : source.region) {
    dim.begin = ir::select(ir::lt(ir::int_imm(0), valid), dim.begin, ir::int_imm(0));
  }
  OpStmt atom{.def = &cp_async_op(), .tiles = {target, source}, .scalars = {valid}};
  Block copy = {ir::make_stmt(std::move(atom), loc)};
  // With fewer pieces than threads several have the same one: copying it twice is a race, and traffic.
  if (const Expr first = ir::is_first_replica(pieces, thread())) {
    copy = {ir::make_stmt(ir::IfStmt{.condition = first, .then = std::move(copy), .otherwise = {}}, loc)};
  }
  const Block pieces_body = close_registers(pieces, nest, std::move(copy), loc);
  body.insert(body.end(), pieces_body.begin(), pieces_body.end());
  out.push_back(lanes(std::move(body), loc));
}

}  // namespace

ir::Program lower_tiles(const ir::Program& program, const CudaTarget& target) {
  ir::Program out = program;
  for (size_t k = 0; k < out.kernels.size(); ++k) {
    Kernel& kernel = out.kernels[k];
    if (!kernel.thread_var) kernel.thread_var = out.fresh_var("tid", ir::kIndex, kernel.loc);
    const Kernel before = kernel;
    for (Tile& tile : kernel.tiles) {
      if (!tile.fragment) continue;
      tile.shape = register_shape(*tile.fragment);
      tile.space = ir::Space::local;
      tile.unchecked = false;
      tile.fragment.reset();
      tile.annotated.reset();  // registers now
    }
    kernel.body = TileLowering(program, before, kernel, out.next_var, target).rewrite(before.body);
  }
  return out;
}

}  // namespace tilewright::passes
