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

// What a loop does to each element: names and stores, one after the other, all of them under one condition.
struct StraightBody {
  Expr condition;  // none: always
  Block statements;
  std::vector<const ir::StoreStmt*> stores;
  std::vector<Expr> names, values;  // of what reads no tile, in terms of what is bound outside
  std::vector<ir::VarId> inner;     // names of the rest

  // Indices in terms of what is bound outside, and of the loop; none where they depend on a name for what a tile holds,
  // or on what one of several stores may have written.
  std::vector<Expr> outside(std::span<const Expr> at) const {
    std::vector<Expr> out;
    for (const Expr& e : at) {
      out.push_back(ir::substitute(e, names, values));
      if (stores.size() > 1 && ir::reads_tile(out.back())) return {};
      if (std::any_of(inner.begin(), inner.end(), [&](ir::VarId name) { return ir::mentions(out.back(), name); })) {
        return {};
      }
    }
    return out;
  }
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

// Nothing where a condition depends on the element or on a name, or where something else is done.
std::optional<StraightBody> straight_body(const Block& body, const Expr& index) {
  StraightBody out;
  std::vector<ir::VarId> names = {index.var_id()};
  const auto stands_outside = [&](const Expr& condition) {
    return !ir::reads_tile(condition) &&
           std::none_of(names.begin(), names.end(), [&](ir::VarId name) { return ir::mentions(condition, name); });
  };
  for (const Block* level = &body; level != nullptr;) {
    const Block* inner = nullptr;
    for (const Stmt& stmt : *level) {
      const auto* branch = ir::get_if<ir::IfStmt>(stmt);
      if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) {
        names.push_back(let->var.var_id());
        if (ir::reads_tile(let->value)) {
          out.inner.push_back(let->var.var_id());
        } else {
          out.values.push_back(ir::substitute(let->value, out.names, out.values));
          out.names.push_back(let->var);
        }
      } else if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
        out.stores.push_back(store);
      } else if (branch && &stmt == &level->back() && branch->otherwise.empty() && out.stores.empty() &&
                 stands_outside(branch->condition)) {
        inner = &branch->then;
        out.condition = out.condition ? ir::logical_and(out.condition, branch->condition) : branch->condition;
        continue;
      } else {
        return std::nullopt;
      }
      out.statements.push_back(stmt);
    }
    level = inner;
  }
  return out;
}

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
  struct Vectors {
    Block loads, elements, stores;
  };
  bool vectorize(const ir::ForStmt& loop, const Loc& loc, Block& out);
  bool may_reorder(const StraightBody& body) const;
  Vectors vectors_of(const StraightBody& body, const Expr& index, int64_t count, const Loc& loc);
  // How many adjacent elements go in one access, from where `index` of the loop is 0: a power of two, or 0 for one.
  int64_t vector_elems(TileId tile, std::span<const Expr> at, const Expr& index, int64_t count) const;
  TileId registers_for(TileId tile, int64_t count, DType dtype, const Loc& loc);
  void move(const ir::OpDef& def, TileId memory, std::span<const Expr> at, const Expr& index, TileId registers,
            int64_t count, const Loc& loc, Block& out) const;
  bool passes_once(std::span<const Expr> at) const;
  bool is_large(TileId tile) const;

  const ir::Program& program_;
  const Kernel& before_;
  Kernel& kernel_;
  const CudaTarget& target_;
};

int64_t Vectorizer::vector_elems(TileId id, std::span<const Expr> at, const Expr& index, int64_t count) const {
  const ir::Tile& tile = before_.tile(id);
  if (tile.space != ir::Space::global || !tile.unchecked || at.empty() || !target_.aligned_tensors) return 0;
  const std::vector<Expr> strides = ir::strides_of(program_.tensors[size_t(tile.tensor)]);
  Expr offset = ir::int_imm(0);
  for (size_t d = 0; d < at.size(); ++d) {
    const bool last = d + 1 == at.size();
    if (last ? ir::coefficient_of(at[d], index) != 1 || !strides[d].is_int(1) : ir::mentions(at[d], index.var_id())) {
      return 0;
    }
    offset = offset + ir::substitute(at[d], std::vector{index}, std::vector{ir::int_imm(0)}) * strides[d];
  }
  const int64_t divisor = ir::known_divisor(offset, facts_);
  int64_t elems = std::min<int64_t>(count, kMaxVectorBytes / bytes_of(tile.dtype));
  while (elems > 1 && divisor % elems != 0) elems /= 2;
  return elems > 1 ? elems : 0;
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

// Each block has elements of its own, which no cache need keep for another one.
bool Vectorizer::passes_once(std::span<const Expr> at) const {
  return std::any_of(before_.block_vars.begin(), before_.block_vars.end(), [&](const Expr& block) {
    return std::any_of(at.begin(), at.end(), [&](const Expr& e) { return ir::mentions(e, block.var_id()); });
  });
}

// What is written goes out of the second-level cache before another kernel reads it.
bool Vectorizer::is_large(TileId id) const {
  constexpr int64_t kLargeBytes = 32 << 20;
  int64_t bytes = bytes_of(before_.tile(id).dtype);
  for (const Expr& extent : program_.tensors[size_t(before_.tile(id).tensor)].shape) {
    if (!extent.as_int() || __builtin_mul_overflow(bytes, *extent.as_int(), &bytes)) return false;
  }
  return bytes >= kLargeBytes;
}

// As many accesses as the elements take.
void Vectorizer::move(const ir::OpDef& def, TileId memory, std::span<const Expr> at, const Expr& index,
                      TileId registers, int64_t count, const Loc& loc, Block& out) const {
  const int64_t elems = vector_elems(memory, at, index, count);
  const bool loads = &def == &load_vector_op();
  const bool once = passes_once(at) && (loads || is_large(memory));
  for (int64_t first = 0; first < count; first += elems) {
    ir::TileRef ref{.tile = memory, .region = {}, .slot = {}};
    for (const Expr& e : at) {
      ref.region.push_back(
          {.begin = ir::substitute(e, std::vector{index}, std::vector{ir::int_imm(first)}), .extent = ir::int_imm(1)});
    }
    ir::TileRef array{
        .tile = registers, .region = {{.begin = ir::int_imm(first), .extent = ir::int_imm(1)}}, .slot = {}};
    ir::OpStmt op{.def = &def};
    op.tiles = loads ? std::vector{array, ref} : std::vector{ref, array};
    op.attrs = {{"count", elems}};
    if (once) op.attrs.emplace_back("once", true);
    out.push_back(ir::make_stmt(std::move(op), loc));
  }
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

// The loads of a vector come before its stores, and its stores to memory last.
bool Vectorizer::may_reorder(const StraightBody& body) const {
  std::map<TileId, int> reads = ir::tile_mentions(body.statements);  // of the sides of a select, too
  for (const ir::StoreStmt* store : body.stores) --reads[store->tile];
  const bool reads_memory = std::any_of(reads.begin(), reads.end(), [&](const auto& tile) {
    return tile.second > 0 && before_.tile(tile.first).space == ir::Space::global;
  });
  for (const ir::StoreStmt* store : body.stores) {
    const ir::Tile& to = before_.tile(store->tile);
    if (to.space != ir::Space::global) continue;
    // The value of a checked store is in bounds only where the store is.
    if (!to.unchecked || (body.stores.size() > 1 && reads_memory)) return false;
  }
  return !body.stores.empty();
}

Vectorizer::Vectors Vectorizer::vectors_of(const StraightBody& body, const Expr& index, int64_t count, const Loc& loc) {
  Vectors out;
  LoadReplacement replacement;
  replacement.index = index;
  Loads loads;
  loads.visit(body.statements);
  for (const Expr& load : loads.found) {
    const bool known = std::any_of(replacement.arrays.begin(), replacement.arrays.end(),
                                   [&](const auto& array) { return ir::equal(array.first, load); });
    const std::vector<Expr> at = body.outside(load.args());
    if (known || vector_elems(load.tile_id(), at, index, count) == 0) continue;
    const TileId array = registers_for(load.tile_id(), count, load.dtype(), loc);
    move(load_vector_op(), load.tile_id(), at, index, array, count, loc, out.loads);
    replacement.arrays.emplace_back(load, array);
  }
  for (const Stmt& stmt : body.statements) {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    const std::vector<Expr> at = store ? body.outside(store->indices) : std::vector<Expr>{};
    if (!store || vector_elems(store->tile, at, index, count) == 0) {
      replacement.rewrite(stmt, out.elements);
      continue;
    }
    ir::StoreStmt element{.tile = {}, .indices = {index}, .value = replacement.rewrite(store->value)};
    // The vector store rounds, so a cast from f32 need not.
    const bool narrowing = element.value.is(ir::ExprKind::cast) && element.value.arg(0).dtype() == DType::f32 &&
                           is_float(element.value.dtype());
    if (narrowing) element.value = element.value.arg(0);
    element.tile = registers_for(store->tile, count, element.value.dtype(), loc);
    move(store_vector_op(), store->tile, at, index, element.tile, count, loc, out.stores);
    out.elements.push_back(ir::make_stmt(std::move(element), stmt->loc));
  }
  return out;
}

// A nest over registers whose innermost dimension walks through adjacent elements: the nest without that dimension,
// around vector loads, a loop over the registers of a vector, and vector stores.
bool Vectorizer::vectorize(const ir::ForStmt& loop, const Loc& loc, Block& out) {
  const ir::LoopDim& inner = loop.dims.back();
  const auto count = inner.extent.as_int();
  if (!count || *count < 2 || (*count & (*count - 1)) != 0) return false;
  const std::optional<StraightBody> straight = straight_body(loop.body, inner.var);
  if (!straight || !may_reorder(*straight)) return false;
  facts_.push();
  for (const ir::LoopDim& dim : loop.dims) facts_.bind(dim.var, dim.begin, dim.extent, dim.step);
  Vectors vectors = vectors_of(*straight, inner.var, *count, loc);
  facts_.pop();
  if (vectors.loads.empty() && vectors.stores.empty()) return false;

  Block body = std::move(vectors.loads);
  ir::ForStmt elements{
      .kind = ir::LoopKind::parallel, .dims = {inner}, .attrs = loop.attrs, .body = std::move(vectors.elements)};
  body.push_back(ir::make_stmt(std::move(elements), loc));
  body.insert(body.end(), vectors.stores.begin(), vectors.stores.end());
  if (straight->condition) {
    body = {ir::make_stmt(ir::IfStmt{.condition = straight->condition, .then = std::move(body), .otherwise = {}}, loc)};
  }
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
