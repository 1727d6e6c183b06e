#include "codegen/emitter.h"

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "support/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::codegen {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::Stmt;
using ir::Tile;
using ir::TileId;

namespace {

// The storage of every local tile that a block stores to.
class StoredLocals : public ir::Visitor {
 public:
  explicit StoredLocals(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    if (store && kernel_.tile(store->tile).space == ir::Space::local) {
      tiles.insert(declaring_row(kernel_, store->tile));
    }
    visit_parts(stmt);
  }
  std::set<TileId> tiles;

 private:
  const Kernel& kernel_;
};

std::set<TileId> stored_locals(const Kernel& kernel, const Block& body) {
  StoredLocals stored(kernel);
  stored.visit(body);
  return std::move(stored.tiles);
}

// A loop over the registers of one thread shares its tiles with the code around it.
bool has_private_tiles(const ir::ForStmt& loop) {
  return loop.kind == ir::LoopKind::parallel && !ir::bool_attr(loop.attrs, "registers", false);
}

// The storage of every tile that is used outside of parallel loops.
class SerialUses : public ir::Visitor {
 public:
  explicit SerialUses(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (!e) return;
    if (e.is(ir::ExprKind::load)) add(e.tile_id());
    visit_args(e);
  }
  void visit(const ir::TileRef& ref) override {
    add(ref.tile);
    Visitor::visit(ref);
  }
  void visit(const Stmt& stmt) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop && loop->kind == ir::LoopKind::parallel) {
      for (const ir::LoopDim& dim : loop->dims) {
        visit(dim.begin);
        visit(dim.extent);
      }
      return;
    }
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) add(store->tile);
    visit_parts(stmt);
  }
  std::set<TileId> tiles;

 private:
  void add(TileId id) { tiles.insert(declaring_row(kernel_, id)); }
  const Kernel& kernel_;
};

std::set<TileId> serially_used(const Kernel& kernel) {
  SerialUses uses(kernel);
  uses.visit(kernel.body);
  return std::move(uses.tiles);
}

class PrivateTiles : public ir::Visitor {
 public:
  explicit PrivateTiles(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop == nullptr || !has_private_tiles(*loop)) return visit_parts(stmt);
    tiles.merge(stored_locals(kernel_, loop->body));
  }
  std::set<TileId> tiles;

 private:
  const Kernel& kernel_;
};

}  // namespace

TileId declaring_row(const Kernel& kernel, TileId id) {
  const TileId root = kernel.storage_of(id);
  if (!kernel.tile(root).unchecked) return root;
  const auto it = std::find_if(kernel.tiles.begin(), kernel.tiles.end(),
                               [&](const Tile& t) { return !t.unchecked && t.name == kernel.tile(root).name; });
  return TileId(it - kernel.tiles.begin());
}

bool iterations_meet(const Block& body) {
  return ir::any_stmt(body, [](const Stmt& stmt) {
    const auto* op = ir::get_if<ir::OpStmt>(stmt);
    return ir::get_if<ir::AtomicStmt>(stmt) || (op && op->def->reports);
  });
}

std::set<TileId> private_tiles(const Kernel& kernel) {
  PrivateTiles finder(kernel);
  finder.visit(kernel.body);
  return std::move(finder.tiles);
}

Emitter::Emitter(const ir::Program& program, const Kernel& kernel, Dialect dialect, TextWriter& out,
                 std::vector<CheckSite>& sites)
    : program_(program),
      kernel_(kernel),
      names_(program, kernel, dialect),
      exprs_(names_, sites),
      sites_(sites),
      out_(out),
      facts_(ir::kernel_facts(program, kernel)),
      private_(private_tiles(kernel)),
      used_serially_(serially_used(kernel)) {}

bool Emitter::is_only_private(TileId id) const {
  const TileId row = declaring_row(kernel_, id);
  return private_.contains(row) && !used_serially_.contains(row);
}

std::string Emitter::lanes_guard(const ir::ExecSet&) const { return ""; }

void Emitter::declare_local(TileId id, const Loc& loc) {
  const Tile& tile = kernel_.tile(id);
  const std::string size = tile.rank() == 0 ? "" : fmt::format("[{}]", std::max<int64_t>(tile.layout->cosize(), 1));
  const std::string type = names_.memory_type(id);
  // Elements as they lie in memory may be structs. Views may need more than the alignment of the element.
  const char* zero = tile.packed ? "{}" : " = 0";
  const char* align = tile.packed ? "alignas(8) " : "";
  out_.line(fmt::format("{}{} {}{}{};", align, type, names_.tile(id), size, size.empty() ? zero : ""), loc);
  declare_views(id, loc);
}

void Emitter::declare_views(TileId root, const Loc& loc) {
  const std::string address = (exprs_.is_variable(kernel_.tile(root)) ? "&" : "") + names_.tile(root);
  for (size_t i = 0; i < kernel_.tiles.size(); ++i) {
    const Tile& tile = kernel_.tiles[i];
    if (tile.view_of != root || tile.unchecked) continue;
    const std::string type = names_.memory_type(TileId(i)), name = names_.tile(TileId(i));
    const std::string cast = fmt::format("reinterpret_cast<{}*>({})", type, address);
    out_.line(exprs_.is_variable(tile) ? fmt::format("{}& {} = *{};", type, name, cast)
                                       : fmt::format("{}* const {} = {};", type, name, cast),
              loc);
  }
}

std::string Emitter::report_cells(const ir::OpStmt& op) {
  std::string cells;
  for (size_t i = 1; i < op.scalars.size(); ++i) {
    const Expr& e = op.scalars[i];
    cells += fmt::format("{}tw::cell({}({}))", i > 1 ? ", " : "", value_type(e.dtype()), exprs_.text(e));
  }
  return cells;
}

void Emitter::write_block_indices() {
  std::string rest = "block";
  for (size_t d = 0; d < kernel_.grid.size(); ++d) {
    const std::string extent = exprs_.text(kernel_.grid[d]);
    const bool last = d + 1 == kernel_.grid.size();
    const std::string value = last ? rest : fmt::format("{} % ({})", rest, extent);
    const std::string type = exprs_.define(kernel_.block_vars[d], {kernel_.grid[d]});
    out_.line(fmt::format("const {} {} = {}({});", type, names_.var(kernel_.block_vars[d]), type, value), kernel_.loc);
    rest = fmt::format("{} / ({})", rest, extent);
  }
}

void Emitter::open_while(const ir::WhileStmt& loop, const Loc& loc) {
  out_.open(fmt::format("while ({}) {{", exprs_.text(loop.condition)), loc);
}

void Emitter::write(const Block& block) {
  facts_.push();
  for (size_t i = 0; i < block.size(); ++i) {
    size_t end = i;
    while (end < block.size() && ir::get_if<ir::RoleStmt>(block[end])) ++end;
    if (end == i) {
      write(block[i]);
    } else {
      write_roles(std::span(block).subspan(i, end - i));
      i = end - 1;
    }
  }
  facts_.pop();
}

void Emitter::write_roles(std::span<const Stmt> roles) {
  throw internal_error(roles[0]->loc, "a role reached an emitter that has none");
}

// Where a loop over what threads share out ends. For index in tid, tid + step, ... this is the number of all indices:
// an end that is the same in all threads. `tid + 1536` for it is right too, but ptxas 13.0 runs some of these loops
// once more than they say.
Expr Emitter::end_of(const ir::LoopDim& dim) const {
  const Expr end = dim.begin + dim.extent * dim.step;
  if (dim.step <= 1 || dim.begin.as_int()) return end;
  if (const auto trips = dim.extent.as_int()) {
    const bool below_step =
        kernel_.thread_var && ir::equal(dim.begin, kernel_.thread_var) && kernel_.threads <= dim.step;
    return below_step ? ir::int_imm(*trips * dim.step) : end;
  }
  if (!dim.extent.is(ir::ExprKind::floordiv) || !dim.extent.arg(1).is_int(dim.step)) return end;
  return ir::simplify(dim.begin + dim.extent.arg(0) - (dim.step - 1), facts_);
}

void Emitter::write_loop(const ir::ForStmt& loop, const Loc& loc) {
  int depths = 0;
  facts_.push();
  for (size_t d = 0; d < loop.dims.size(); ++d) {
    const ir::LoopDim& dim = loop.dims[d];
    const std::string v = names_.var(dim.var);
    const std::string hint = loop_hint(loop, d);
    if (!hint.empty()) out_.line(hint, loc);
    const std::string begin = exprs_.text(dim.begin);
    const Expr end = end_of(dim);
    // The variable leaves the loop at most one step beyond its end.
    const std::string type = exprs_.define(dim.var, {dim.begin, dim.step > 1 ? end + (dim.step - 1) : end});
    facts_.bind(dim.var, dim.begin, dim.extent, dim.step);
    const bool unrolled = hint == "#pragma unroll";
    exprs_.set_level(dim.var, unrolled ? CpuExprWriter::kUnrolled : ++depth_);
    depths += unrolled ? 0 : 1;
    const char* compare = dim.step > 0 ? "<" : ">";
    const std::string advance = dim.step == 1 ? "++" + v : fmt::format("{} += {}", v, dim.step);
    if (end.as_int()) {
      out_.open(fmt::format("for ({} {} = {}; {} {} {}; {}) {{", type, v, begin, v, compare, *end.as_int(), advance),
                loc);
    } else {
      out_.open(fmt::format("for ({} {} = {}, end_{} = {}; {} {} end_{}; {}) {{", type, v, begin, v, exprs_.text(end),
                            v, compare, v, advance),
                loc);
    }
    const std::string first = first_line(loop, d);
    if (!first.empty()) out_.line(first, loc);
  }
  if (has_private_tiles(loop)) {
    for (TileId id : stored_locals(kernel_, loop.body)) declare_local(id, loc);
  }
  write(loop.body);
  for (size_t d = 0; d < loop.dims.size(); ++d) out_.close();
  depth_ -= depths;
  facts_.pop();
}

void Emitter::write_where(const Expr& condition, const Block& block) {
  facts_.push();
  facts_.assume(condition);
  write(block);
  facts_.pop();
}

void Emitter::write(const Stmt& stmt) {
  const Loc& loc = stmt->loc;
  if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) return write_op(*op, loc);
  if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) return write_loop(*loop, loc);
  if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) return out_.line(exprs_.store(*store, loc), loc);
  if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) return write_atomic(*atomic, loc);
  if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) {
    const std::string value = exprs_.text(let->value);
    const std::string type = exprs_.define(let->var, {let->value});
    ir::note_let(let->var, let->value, facts_);
    exprs_.set_level(let->var, exprs_.level(let->value, depth_));
    return out_.line(fmt::format("const {} {} = {};", type, names_.var(let->var), value), loc);
  }
  if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
    out_.open(fmt::format("if ({}) {{", exprs_.text(branch->condition)), loc);
    write_where(branch->condition, branch->then);
    if (!branch->otherwise.empty()) {
      out_.close("} else {");
      out_.indent();
      write_where(ir::negation(branch->condition), branch->otherwise);
    }
    return out_.close();
  }
  if (const auto* lanes = ir::get_if<ir::LanesStmt>(stmt)) {
    out_.open(lanes_guard(lanes->exec) + "{", loc);
    write(lanes->body);
    return out_.close();
  }
  if (const auto* loop = ir::get_if<ir::WhileStmt>(stmt)) {
    open_while(*loop, loc);
    ++depth_;
    write(loop->body);
    --depth_;
    return out_.close();
  }
  out_.line(ir::get_if<ir::BreakStmt>(stmt) ? "break;" : "continue;", loc);
}

}  // namespace tilewright::codegen
