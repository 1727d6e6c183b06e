#include "ir/rewrite.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/fact_rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::Stmt;
using ir::TileId;

namespace {

constexpr int64_t kMaxVectorBytes = 16;

class Vectorizer : public FactRewriter {
 public:
  Vectorizer(const ir::Program& program, const Kernel& before, Kernel& kernel, const CudaTarget& target)
      : FactRewriter(program, before), program_(program), before_(before), kernel_(kernel), target_(target) {}
  using FactRewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop && ir::bool_attr(loop->attrs, "registers", false) && vectorize(*loop, stmt->loc, out)) return;
    FactRewriter::rewrite(stmt, out);
  }

 private:
  bool vectorize(const ir::ForStmt& loop, const Loc& loc, Block& out);
  // A whole vector of adjacent elements begins where `index` of the loop is 0.
  bool is_vector(TileId tile, std::span<const Expr> at, const Expr& index, int64_t count) const;
  TileId registers_for(TileId tile, int64_t count, DType dtype, const Loc& loc);
  Stmt vector_op(const ir::OpDef& def, TileId memory, std::span<const Expr> at, const Expr& index, TileId registers,
                 int64_t count, const Loc& loc) const;

  const ir::Program& program_;
  const Kernel& before_;
  Kernel& kernel_;
  const CudaTarget& target_;
};

bool Vectorizer::is_vector(TileId id, std::span<const Expr> at, const Expr& index, int64_t count) const {
  const ir::Tile& tile = before_.tile(id);
  if (tile.space != ir::Space::global || !tile.unchecked || at.empty()) return false;
  if (count * bytes_of(tile.dtype) > kMaxVectorBytes || !target_.aligned_tensors) return false;
  const std::vector<Expr> strides = ir::strides_of(program_.tensors[size_t(tile.tensor)]);
  Expr offset = ir::int_imm(0);
  for (size_t d = 0; d < at.size(); ++d) {
    const bool last = d + 1 == at.size();
    if (last ? ir::coefficient_of(at[d], index) != 1 || !strides[d].is_int(1) : ir::mentions(at[d], index.var_id())) {
      return false;
    }
    offset = offset + ir::substitute(at[d], std::vector{index}, std::vector{ir::int_imm(0)}) * strides[d];
  }
  return ir::known_divisor(offset, facts_) % count == 0;
}

TileId Vectorizer::registers_for(TileId tile, int64_t count, DType dtype, const Loc& loc) {
  kernel_.tiles.push_back({.name = kernel_.fresh_tile_name("vector"),
                           .space = ir::Space::local,
                           .dtype = dtype,
                           .shape = {ir::int_imm(count)},
                           .layout = {},
                           .origin = before_.tile(tile).name,
                           .loc = loc});
  // Its elements are reached through a second row, because their indices are inside by construction.
  kernel_.tiles.push_back(kernel_.tiles.back());
  kernel_.tiles.back().unchecked = true;
  return TileId(kernel_.tiles.size()) - 1;
}

Stmt Vectorizer::vector_op(const ir::OpDef& def, TileId memory, std::span<const Expr> at, const Expr& index,
                           TileId registers, int64_t count, const Loc& loc) const {
  ir::TileRef ref{.tile = memory, .region = {}, .slot = {}};
  for (const Expr& e : at) {
    ref.region.push_back(
        {.begin = ir::substitute(e, std::vector{index}, std::vector{ir::int_imm(0)}), .extent = ir::int_imm(1)});
  }
  ir::TileRef array{.tile = registers, .region = {{.begin = ir::int_imm(0), .extent = ir::int_imm(1)}}, .slot = {}};
  ir::OpStmt op{.def = &def};
  op.tiles = &def == &load_vector_op() ? std::vector{array, ref} : std::vector{ref, array};
  op.attrs = {{"count", count}};
  return ir::make_stmt(std::move(op), loc);
}

// Replaces loads that form vectors by elements of the arrays that the vectors were loaded into.
class LoadReplacement : public ir::Rewriter {
 public:
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override {
    for (const auto& [load, array] : arrays) {
      if (ir::equal(e, load)) return ir::load(array, "vector", e.dtype(), {index}, e.loc());
    }
    return rewrite_args(e);
  }
  std::vector<std::pair<Expr, TileId>> arrays;
  Expr index;
};

// Those that every evaluation comes to: what a select chooses may be in bounds under its condition only.
class Loads : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (!e) return;
    if (e.is(ir::ExprKind::select)) return visit(e.arg(0));
    if (e.is(ir::ExprKind::load)) found.push_back(e);
    visit_args(e);
  }
  std::vector<Expr> found;
};

// A nest over registers whose innermost dimension walks through adjacent elements: the nest without that dimension,
// around vector loads, a loop over the registers of a vector, and a vector store.
bool Vectorizer::vectorize(const ir::ForStmt& loop, const Loc& loc, Block& out) {
  const ir::LoopDim& inner = loop.dims.back();
  const auto count = inner.extent.as_int();
  if (!count || *count < 2 || (*count & (*count - 1)) != 0 || loop.body.size() != 1) return false;
  const auto* store = ir::get_if<ir::StoreStmt>(loop.body[0]);
  if (store == nullptr) return false;
  // The value of a checked store is in bounds only where the store is.
  const ir::Tile& to = before_.tile(store->tile);
  if (to.space == ir::Space::global && !to.unchecked) return false;
  facts_.push();
  for (const ir::LoopDim& dim : loop.dims) facts_.bind(dim.var, dim.begin, dim.extent, dim.step);

  LoadReplacement replacement;
  replacement.index = inner.var;
  Block body;
  Loads loads;
  loads.visit(store->value);
  for (const Expr& load : loads.found) {
    if (!is_vector(load.tile_id(), load.args(), inner.var, *count)) continue;
    const TileId array = registers_for(load.tile_id(), *count, load.dtype(), loc);
    body.push_back(vector_op(load_vector_op(), load.tile_id(), load.args(), inner.var, array, *count, loc));
    replacement.arrays.emplace_back(load, array);
  }
  const bool stores = is_vector(store->tile, store->indices, inner.var, *count);
  facts_.pop();
  if (replacement.arrays.empty() && !stores) return false;

  ir::StoreStmt element = *store;
  element.value = replacement.rewrite(store->value);
  Block after;
  if (stores) {
    // The vector store rounds, so a cast from f32 need not.
    const bool narrowing = element.value.is(ir::ExprKind::cast) && element.value.arg(0).dtype() == DType::f32 &&
                           is_float(element.value.dtype());
    if (narrowing) element.value = element.value.arg(0);
    element.tile = registers_for(store->tile, *count, element.value.dtype(), loc);
    element.indices = {inner.var};
    after.push_back(vector_op(store_vector_op(), store->tile, store->indices, inner.var, element.tile, *count, loc));
  }
  ir::ForStmt elements{.kind = ir::LoopKind::parallel, .dims = {inner}, .attrs = loop.attrs, .body = {}};
  elements.body = {ir::make_stmt(std::move(element), loop.body[0]->loc)};
  body.push_back(ir::make_stmt(std::move(elements), loc));
  body.insert(body.end(), after.begin(), after.end());
  if (loop.dims.size() > 1) {
    ir::ForStmt outer{.kind = ir::LoopKind::parallel, .dims = loop.dims, .attrs = loop.attrs, .body = std::move(body)};
    outer.dims.pop_back();
    body = {ir::make_stmt(std::move(outer), loc)};
  }
  out.insert(out.end(), body.begin(), body.end());
  return true;
}

}  // namespace

ir::Program vectorize_accesses(const ir::Program& program, const CudaTarget& target) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Kernel before = kernel;
    kernel.body = Vectorizer(program, before, kernel, target).rewrite(before.body);
  }
  return out;
}

}  // namespace tilewright::passes
