// Finds reads of on-chip tiles that are certainly of undefined values.
//
// The walk follows program order with the set of tiles that some statement passed so far may have written. Inside a
// loop that may run more than once, a write anywhere in its body may have happened in an earlier iteration. One write
// to any part of a tile counts for the whole tile. Not judged, because the read need not happen: a load on one side of
// a select, code that provably never runs, an update whose clearing is decided at run time.
#include "ir/op.h"
#include "ir/verify_parts.h"
#include "support/error.h"

#include <algorithm>
#include <unordered_set>

namespace tilewright::ir {

namespace {

using TileSet = std::vector<bool>;

void unite(TileSet& into, const TileSet& other) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = into[i] || other[i];
}

bool is_empty(const TileRef& ref) {
  return std::any_of(ref.region.begin(), ref.region.end(), [](const RegionDim& d) { return d.extent.is_int(0); });
}

// gemm(..., clear_accum = ko == 0) updates or writes as its condition says.
bool decided_at_run_time(const OpStmt& op) {
  return std::any_of(op.scalars.begin(), op.scalars.end(),
                     [](const Expr& e) { return is_boolean(e.dtype()) && !e.as_int(); });
}

bool never_runs(const ForStmt& loop) {
  return std::any_of(loop.dims.begin(), loop.dims.end(),
                     [](const LoopDim& d) { return d.extent.as_int().value_or(1) <= 0; });
}

bool runs_once(const ForStmt& loop) {
  return std::all_of(loop.dims.begin(), loop.dims.end(), [](const LoopDim& d) { return d.extent.is_int(1); });
}

class InitialisationChecker {
 public:
  explicit InitialisationChecker(const Kernel& kernel) : kernel_(kernel), written_(kernel.tiles.size(), false) {
    for (size_t i = 0; i < kernel.tiles.size(); ++i) {
      const auto first = std::find_if(kernel.tiles.begin(), kernel.tiles.end(),
                                      [&](const Tile& t) { return t.name == kernel.tiles[i].name; });
      // Rows of one name are one tile, unless an operation's expansion made them.
      const bool is_same = kernel.tiles[i].origin.empty() || kernel.tiles[i].unchecked;
      const TileId row = is_same ? TileId(first - kernel.tiles.begin()) : TileId(i);
      storage_.push_back(size_t(kernel.storage_of(row)));
    }
  }

  void block(const Block& block);

 private:
  struct Walk;
  struct Collect;
  void read(TileId id, bool is_update, const Loc& loc) const;
  void read(const Expr& e, const Loc& loc) const;
  void read(const std::vector<Expr>& exprs, const Loc& loc) const {
    for (const Expr& e : exprs) read(e, loc);
  }
  bool loads(const Expr& e, TileId id) const;
  void op(const OpStmt& op, const Loc& loc);
  void repeated(const Block& body);
  void collect(const Block& body, TileSet& out) const;

  const Kernel& kernel_;
  std::vector<size_t> storage_;  // tile id -> the first row of the same tile
  TileSet written_;
};

void InitialisationChecker::read(TileId id, bool is_update, const Loc& loc) const {
  const Tile& tile = kernel_.tile(id);
  if (!tile.on_chip() || written_[storage_[size_t(id)]] || tile.num_elems() == 0) return;
  throw note_tile(
      invalid_kernel(loc, "{} is read here but nothing wrote it before", tile.name)
          .hint(is_update ? fmt::format("call T::clear({}) first, or have the operation clear it", tile.name)
                          : fmt::format("tiles start undefined; write {} first, for instance with T::copy "
                                        "or T::fill",
                                        tile.name)),
      tile);
}

void InitialisationChecker::read(const Expr& e, const Loc& loc) const {
  std::vector<Expr> left = {e};
  std::unordered_set<const ExprNode*> seen;
  while (!left.empty()) {
    const Expr x = left.back();
    left.pop_back();
    if (!seen.insert(&*x).second) continue;
    if (x.is(ExprKind::load)) read(x.tile_id(), false, x.loc().known() ? x.loc() : loc);
    const size_t count = x.is(ExprKind::select) ? 1 : x.args().size();
    for (size_t i = 0; i < count; ++i) left.push_back(x.arg(i));
  }
}

// Whether `e` reads the tile wherever it is evaluated.
bool InitialisationChecker::loads(const Expr& e, TileId id) const {
  std::vector<Expr> left = {e};
  std::unordered_set<const ExprNode*> seen;
  while (!left.empty()) {
    const Expr x = left.back();
    left.pop_back();
    if (!seen.insert(&*x).second) continue;
    if (x.is(ExprKind::load) && storage_[size_t(x.tile_id())] == storage_[size_t(id)]) return true;
    const size_t count = x.is(ExprKind::select) ? 1 : x.args().size();
    for (size_t i = 0; i < count; ++i) left.push_back(x.arg(i));
  }
  return false;
}

void InitialisationChecker::op(const OpStmt& op, const Loc& loc) {
  read(op.scalars, loc);
  for (const TileRef& ref : op.tiles) {
    for (const RegionDim& dim : ref.region) read(dim.begin, loc);
  }
  if (op.def->effects == nullptr) return;
  const std::vector<Access> accesses = op.def->effects(op, kernel_);
  for (const Access& a : accesses) {
    const bool is_update = a.mode == Mode::update;
    if (a.mode == Mode::write || is_empty(a.ref) || (is_update && decided_at_run_time(op))) continue;
    read(a.ref.tile, is_update, loc);
  }
  for (const Access& a : accesses) {
    if (a.mode != Mode::read) written_[storage_[size_t(a.ref.tile)]] = true;
  }
}

// What a body may have written before one of its statements runs again. An update is no such write: of a tile that only
// updates write, the first one reads undefined values.
struct InitialisationChecker::Collect {
  const InitialisationChecker& c;
  TileSet& out;

  void add(TileId id) const { out[c.storage_[size_t(id)]] = true; }
  void operator()(const OpStmt& op) const {
    if (op.def->effects == nullptr) return;
    for (const Access& a : op.def->effects(op, c.kernel_)) {
      if (a.mode == Mode::write || (a.mode == Mode::update && decided_at_run_time(op))) add(a.ref.tile);
    }
  }
  void operator()(const StoreStmt& store) const {
    if (!c.loads(store.value, store.tile)) add(store.tile);
  }
  void operator()(const AtomicStmt& atomic) const {
    if (atomic.kind == AtomicKind::store) add(atomic.tile);
  }
  void operator()(const ForStmt& loop) const {
    if (!never_runs(loop)) c.collect(loop.body, out);
  }
  void operator()(const WhileStmt& loop) const { c.collect(loop.body, out); }
  void operator()(const IfStmt& branch) const {
    if (!branch.condition.is_int(0)) c.collect(branch.then, out);
    if (!branch.condition.is_int(1)) c.collect(branch.otherwise, out);
  }
  void operator()(const LanesStmt& lanes) const { c.collect(lanes.body, out); }
  void operator()(const RoleStmt& role) const { c.collect(role.body, out); }
  template <class Other>
  void operator()(const Other&) const {}
};

void InitialisationChecker::collect(const Block& body, TileSet& out) const {
  for (const Stmt& stmt : body) std::visit(Collect{*this, out}, stmt->value);
}

void InitialisationChecker::repeated(const Block& body) {
  collect(body, written_);
  block(body);
}

struct InitialisationChecker::Walk {
  InitialisationChecker& c;
  const Loc& loc;

  void operator()(const OpStmt& op) const { c.op(op, loc); }
  void operator()(const LetStmt& let) const { c.read(let.value, loc); }
  void operator()(const StoreStmt& store) const {
    c.read(store.indices, loc);
    c.read(store.value, loc);
    c.written_[c.storage_[size_t(store.tile)]] = true;
  }
  void operator()(const AtomicStmt& atomic) const {
    c.read(atomic.indices, loc);
    if (atomic.value) c.read(atomic.value, loc);
    if (atomic.kind != AtomicKind::store) c.read(atomic.tile, false, loc);
    if (atomic.kind != AtomicKind::load) c.written_[c.storage_[size_t(atomic.tile)]] = true;
  }
  void operator()(const ForStmt& loop) const {
    for (const LoopDim& dim : loop.dims) {
      c.read(dim.begin, loc);
      c.read(dim.extent, loc);
    }
    if (never_runs(loop)) return;
    if (runs_once(loop)) return c.block(loop.body);
    c.repeated(loop.body);
  }
  void operator()(const WhileStmt& loop) const {
    c.read(loop.condition, loc);
    if (!loop.condition.is_int(0)) c.repeated(loop.body);
  }
  void operator()(const IfStmt& branch) const {
    c.read(branch.condition, loc);
    const TileSet before = c.written_;
    if (!branch.condition.is_int(0)) c.block(branch.then);
    TileSet after = before;
    std::swap(after, c.written_);
    if (!branch.condition.is_int(1)) c.block(branch.otherwise);
    unite(c.written_, after);
  }
  void operator()(const LanesStmt& lanes) const { c.block(lanes.body); }
  void operator()(const RoleStmt& role) const { c.block(role.body); }
  template <class Other>
  void operator()(const Other&) const {}
};

void InitialisationChecker::block(const Block& block) {
  for (const Stmt& stmt : block) std::visit(Walk{*this, stmt->loc}, stmt->value);
}

}  // namespace

void verify_initialised(const Kernel& kernel) { InitialisationChecker(kernel).block(kernel.body); }

}  // namespace tilewright::ir
