// Which thread holds which element of each fragment tile.
//
// Local rules, run until nothing changes: a gemm fixes its accumulator; a parallel loop passes the fragment of a tile
// that covers it on to the others; what nothing reaches is dealt out evenly. A tile that its uses cannot share moves to
// shared memory, and everything starts again without it: the set of those only grows.
#include "ops/gemm.h"
#include "ops/reduce.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/register_tiles.h"

#include "ir/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tilewright::passes {

using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;
using layout::Fragment;

namespace {

struct Conflict {
  TileId tile = -1;
  std::string why;
};

// Adjacent elements of a tensor, a power of two, that fill 16 bytes and begin at a multiple of as many in each row.
int64_t adjacent_elems(const ir::Program& program, const ir::Tile& tile) {
  const std::vector<Expr> strides = ir::strides_of(program.tensors[size_t(tile.tensor)]);
  int64_t elems = 16 / bytes_of(tile.dtype);
  for (size_t d = 0; d < strides.size(); ++d) {
    const bool last = d + 1 == strides.size();
    while (elems > 1 && (last ? !strides[d].is_int(1) : ir::known_divisor(strides[d], {}) % elems != 0)) elems /= 2;
  }
  return elems;
}

// Everything in a kernel that touches fragment tiles.
class Uses : public ir::Visitor {
 public:
  explicit Uses(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;

  void visit(const Expr& e) override {
    if (e.is(ir::ExprKind::load) && is_fragment(e.tile_id())) elsewhere.insert(e.tile_id());
    if (e) visit_args(e);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt); loop && loop->kind == ir::LoopKind::parallel) {
      for (const ir::LoopDim& dim : loop->dims) {
        visit(dim.begin);
        visit(dim.extent);
      }
      loops.push_back(fragment_uses(kernel_, *loop));
      loop_locs.push_back(stmt->loc);
      note_accesses(loop->body);
      return;
    }
    if (const auto* op = ir::get_if<OpStmt>(stmt)) {
      ops.push_back(op);
      op_locs[op] = stmt->loc;
    }
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt); store && is_fragment(store->tile)) {
      elsewhere.insert(store->tile);
    }
    visit_parts(stmt);
  }

  std::vector<FragmentUses> loops;
  std::vector<bool> updates_what_it_reads;        // of each loop: memory that threads share
  std::vector<std::vector<TileId>> global_tiles;  // of each loop, in the order of the text
  std::vector<const OpStmt*> ops;
  std::vector<Loc> loop_locs;
  std::map<const OpStmt*, Loc> op_locs;
  std::set<TileId> elsewhere;        // read or written outside of parallel loops and operations
  std::set<TileId> beside_previous;  // in a loop with an atomic whose result is used

 private:
  void note_accesses(const ir::Block& body) {
    struct Finder : ir::Visitor {
      explicit Finder(const Kernel& of) : kernel(of) {}
      using Visitor::visit;
      void visit(const Expr& e) override {
        if (!e) return;
        if (e.is(ir::ExprKind::load)) {
          read.insert(kernel.storage_of(e.tile_id()));
          note_tensor(e.tile_id());
        }
        visit_args(e);
      }
      void visit(const Stmt& stmt) override {
        if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
          written.insert(kernel.storage_of(store->tile));
          note_tensor(store->tile);
        }
        if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
          written.insert(kernel.storage_of(atomic->tile));
          uses_previous |= bool(atomic->prev);
        }
        visit_parts(stmt);
      }
      void note_tensor(TileId id) {
        if (kernel.tile(id).space == ir::Space::global) global_tiles.push_back(id);
      }
      const Kernel& kernel;
      std::vector<TileId> global_tiles;
      std::set<TileId> read, written;
      bool uses_previous = false;
    } finder(kernel_);
    finder.visit(body);
    global_tiles.push_back(std::move(finder.global_tiles));
    updates_what_it_reads.push_back(std::any_of(finder.read.begin(), finder.read.end(), [&](TileId id) {
      const ir::Space space = kernel_.tile(id).space;
      return finder.written.contains(id) && (space == ir::Space::shared || space == ir::Space::global);
    }));
    if (!finder.uses_previous) return;
    for (const auto& [id, map] : loops.back().tiles) beside_previous.insert(id);
  }
  bool is_fragment(TileId id) const { return kernel_.tile(id).space == ir::Space::fragment; }
  const Kernel& kernel_;
};

int64_t ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How many threads share a row that is reduced: so many that each holds the fewest vectors; then few warps, which meet
// in shared memory; then so many lanes that they load 32 neighbours; then those with the fewest exchanges.
int64_t lanes_of_a_row(int64_t rows, int64_t cols, int64_t threads, int64_t vector) {
  const int64_t lanes_of_a_line = ceildiv(32, vector);
  int64_t best = 1;
  std::tuple<int64_t, int64_t, int64_t, int64_t> least;
  for (int64_t lanes = 1, exchanges = 0; lanes <= threads; lanes = lanes < 32 ? lanes * 2 : lanes + 32) {
    const int64_t results = ceildiv(rows, threads / lanes);
    if (lanes > 1 && lanes <= 32) ++exchanges;
    if (threads % lanes != 0 || (lanes > 1 && lanes <= 32 && lanes / 2 * vector >= cols)) continue;
    const std::tuple cost(results * ceildiv(cols, lanes * vector), ceildiv(lanes, 32),
                          std::max<int64_t>(0, lanes_of_a_line - lanes), results * exchanges);
    if (lanes == 1 || cost < least) best = lanes, least = cost;
  }
  return best;
}

class Inference {
 public:
  Inference(const ir::Program& program, Kernel& kernel, const CudaTarget& target)
      : program_(program), kernel_(kernel), target_(target), uses_(kernel) {
    uses_.visit(kernel.body);
  }

  // Fixes the fragment of every tile it can; the first tile that cannot stay in registers otherwise.
  std::optional<Conflict> run();

 private:
  bool is_fragment(TileId id) const { return kernel_.tile(id).space == ir::Space::fragment; }
  // Gives the tile the fragment, unless it has another one. The author's may be another form of the same, and is then
  // written in this one, once: registers are numbered by the form.
  bool give(TileId id, Fragment wanted, std::string_view by, const Loc& loc, bool& changed);
  std::optional<Conflict> check_uses() const;
  std::optional<Conflict> fix_accumulators();
  std::optional<Conflict> propagate();
  std::optional<Conflict> propagate(const FragmentUses& loop, bool& changed);
  std::optional<Conflict> propagate(const OpStmt& op, bool& changed);
  bool is_reduced_by_rows(TileId id) const;
  int64_t vector_of(TileId id) const;
  bool fix_one_freely();
  std::optional<Conflict> check_loops() const;

  const ir::Program& program_;
  Kernel& kernel_;
  const CudaTarget& target_;
  Uses uses_;
  std::set<TileId> accumulators_, rewritten_;
};

std::optional<Conflict> Inference::check_uses() const {
  for (TileId id : uses_.elsewhere) return Conflict{id, "it is read or written one element at a time"};
  for (TileId id : uses_.beside_previous) {
    return Conflict{id, "a loop over it uses what an atomic found, which one thread of several would know"};
  }
  for (const FragmentUses& loop : uses_.loops) {
    for (const auto& [id, map] : loop.tiles) {
      if (!map) return Conflict{id, "a loop does not index it by its own variables, from end to end"};
      if (loop.extents.empty()) return Conflict{id, "a loop over it begins elsewhere than at 0, or ends at run time"};
    }
  }
  for (const OpStmt* op : uses_.ops) {
    for (size_t i = 0; i < op->tiles.size(); ++i) {
      const TileId id = op->tiles[i].tile;
      const bool in_registers = (is_mma(*op, kernel_, target_) && i == 2) || is_register_reduce(*op, kernel_);
      if (is_fragment(id) && !in_registers) {
        return Conflict{id, fmt::format("{} reads it from memory", op->def->name)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Conflict> Inference::fix_accumulators() {
  for (const OpStmt* op : uses_.ops) {
    if (!is_mma(*op, kernel_, target_)) continue;
    const TileId c = op->tiles[2].tile;
    bool changed = false;
    accumulators_.insert(c);
    if (!is_fragment(c) || give(c, mma_plan(*op, kernel_).accumulator, "gemm", uses_.op_locs.at(op), changed)) continue;
    return Conflict{c, kernel_.tile(c).annotated
                           ? "the author's fragment is not one that a gemm leaves (T::make_mma_accumulator_fragment)"
                           : "two gemms divide it differently among the warps"};
  }
  return std::nullopt;
}

bool Inference::give(TileId id, Fragment wanted, std::string_view by, const Loc& loc, bool& changed) {
  ir::Tile& tile = kernel_.tiles[size_t(id)];
  if (tile.fragment == wanted) return true;
  if (!tile.fragment) {
    tile.placed = {.why = std::string(by), .loc = loc};
  } else if (!tile.annotated || layout::coalesced(*tile.fragment) != layout::coalesced(wanted) ||
             !rewritten_.insert(id).second) {
    return false;
  }
  tile.fragment = std::move(wanted);
  changed = true;
  return true;
}

std::optional<Conflict> Inference::propagate(const FragmentUses& loop, bool& changed) {
  std::optional<Fragment> dealt;
  TileId dealer = -1;
  for (const auto& [id, map] : loop.tiles) {
    if (dealt || !kernel_.tile(id).fragment) continue;
    dealt = loop_fragment(*kernel_.tile(id).fragment, *map, loop.extents);
    dealer = id;
  }
  if (!dealt) return std::nullopt;
  const Loc& loc = uses_.loop_locs[size_t(&loop - uses_.loops.data())];
  for (const auto& [id, map] : loop.tiles) {
    if (give(id, tile_fragment(*dealt, *map, kernel_.tile(id).extents()), "a loop", loc, changed)) continue;
    // What the author placed stays, but for the sake of a product.
    const bool stays = kernel_.tile(id).annotated && !kernel_.tile(dealer).annotated && !accumulators_.contains(dealer);
    return Conflict{stays ? dealer : id, "two of its uses want it in different threads"};
  }
  return std::nullopt;
}

// The result of a reduction is where its source is, in all threads that share a line.
std::optional<Conflict> Inference::propagate(const OpStmt& op, bool& changed) {
  const ir::Tile& src = kernel_.tile(op.tiles[0].tile);
  const ir::Tile& dst = kernel_.tile(op.tiles[1].tile);
  if (!src.fragment) return std::nullopt;
  const int dim = int(ops::ReduceAttrs::from(op.attrs, size_t(src.rank())).dim);
  if (!line_threads(*src.fragment, dim)) {
    return Conflict{op.tiles[0].tile,
                    fmt::format("{} would combine lanes of a warp whose number is no power of two", op.def->name)};
  }
  Fragment wanted = layout::reduced(*src.fragment, dim, dst.rank() == src.rank());
  if (give(op.tiles[1].tile, std::move(wanted), op.def->name, uses_.op_locs.at(&op), changed)) return std::nullopt;
  return Conflict{op.tiles[1].tile, "two of its uses want it in different threads"};
}

std::optional<Conflict> Inference::propagate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const OpStmt* op : uses_.ops) {
      if (!is_register_reduce(*op, kernel_)) continue;
      if (auto conflict = propagate(*op, changed)) return conflict;
    }
    for (const FragmentUses& loop : uses_.loops) {
      if (auto conflict = propagate(loop, changed)) return conflict;
    }
  }
  return std::nullopt;
}

// Adjacent elements that one thread is to hold so that a tile, and those that follow it, go in vectors to and from
// tensors: loops and reductions pass fragments on.
int64_t Inference::vector_of(TileId id) const {
  std::set<TileId> same = {id};
  int64_t vector = 0;
  for (size_t before = 0; before != same.size();) {
    before = same.size();
    for (size_t i = 0; i < uses_.loops.size(); ++i) {
      const auto& tiles = uses_.loops[i].tiles;
      // A tile of rows does not say how a row is divided.
      const bool follows = std::any_of(tiles.begin(), tiles.end(), [&](const auto& use) {
        return same.contains(use.first) && kernel_.tile(use.first).rank() == kernel_.tile(id).rank();
      });
      if (!follows) continue;
      for (const auto& [tile, map] : tiles) same.insert(tile);
      // The more bytes an element has the fewer are in one access, but then several follow each other.
      for (TileId tile : uses_.global_tiles[i]) vector = std::max(vector, adjacent_elems(program_, kernel_.tile(tile)));
    }
  }
  return vector > 0 ? vector : 16 / bytes_of(kernel_.tile(id).dtype);
}

// The largest tile without a fragment, one that is reduced by rows before others, since those follow it; in vectors of
// 16 bytes of what is moved where its last dimension allows.
bool Inference::fix_one_freely() {
  TileId best = -1;
  for (size_t i = 0; i < kernel_.tiles.size(); ++i) {
    const ir::Tile& tile = kernel_.tiles[i];
    if (tile.space != ir::Space::fragment || tile.fragment) continue;
    const auto rank_of = [&](TileId id) {
      return std::tuple(kernel_.tile(id).rank(), is_reduced_by_rows(id), kernel_.tile(id).num_elems());
    };
    if (best < 0 || rank_of(TileId(i)) > rank_of(best)) best = TileId(i);
  }
  if (best < 0) return false;
  ir::Tile& tile = kernel_.tiles[size_t(best)];
  const std::vector<int64_t> shape = tile.extents();
  int64_t vector = shape.empty() ? 1 : vector_of(best);
  while (vector > 1 && (shape.back() % vector != 0 || tile.num_elems() < vector * kernel_.threads)) vector /= 2;
  tile.fragment = layout::flat(shape, kernel_.threads, vector);
  tile.placed = {.why = "dealt out evenly"};
  if (is_reduced_by_rows(best)) {
    const int64_t lanes = lanes_of_a_row(shape[0], shape[1], kernel_.threads, vector);
    tile.fragment = layout::row_aligned(shape[0], shape[1], kernel_.threads, lanes, vector);
    tile.placed = {.why = "rows within a warp, for a reduction"};
  }
  return true;
}

bool Inference::is_reduced_by_rows(TileId id) const {
  return std::any_of(uses_.ops.begin(), uses_.ops.end(), [&](const OpStmt* op) {
    return is_register_reduce(*op, kernel_) && op->tiles[0].tile == id && kernel_.tile(id).rank() == 2 &&
           ops::ReduceAttrs::from(op->attrs, 2).dim == 1;
  });
}

// A loop that no tile covers is dealt out evenly, which its tiles do not follow.
std::optional<Conflict> Inference::check_loops() const {
  for (const FragmentUses& loop : uses_.loops) {
    if (loop.tiles.empty()) continue;
    const bool covered = std::any_of(loop.tiles.begin(), loop.tiles.end(), [&](const auto& use) {
      return loop_fragment(*kernel_.tile(use.first).fragment, *use.second, loop.extents).has_value();
    });
    if (!covered) return Conflict{loop.tiles.begin()->first, "a loop with more dimensions than it has reads it"};
    // One of the threads that hold an element would write what others have yet to read.
    const bool replicated = std::any_of(loop.tiles.begin(), loop.tiles.end(), [&](const auto& use) {
      const auto fragment = loop_fragment(*kernel_.tile(use.first).fragment, *use.second, loop.extents);
      return fragment && fragment->has_replicas();
    });
    if (replicated && uses_.updates_what_it_reads[size_t(&loop - uses_.loops.data())]) {
      return Conflict{loop.tiles.begin()->first,
                      "a loop over it, which several threads run, reads and writes one tile"};
    }
  }
  return std::nullopt;
}

std::optional<Conflict> Inference::run() {
  if (auto conflict = check_uses()) return conflict;
  if (auto conflict = fix_accumulators()) return conflict;
  do {
    if (auto conflict = propagate()) return conflict;
  } while (fix_one_freely());
  return check_loops();
}

// Registers of one thread, in 4-byte units, that all fragments of a kernel take.
int64_t num_registers(const Kernel& kernel) {
  int64_t total = 0;
  for (const ir::Tile& tile : kernel.tiles) {
    if (tile.fragment) total += tile.fragment->num_regs() * std::max<int64_t>(1, bytes_of(tile.dtype) / 4);
  }
  return total;
}

void move_to_shared(Kernel& kernel, const Conflict& conflict, std::vector<Remark>& remarks) {
  ir::Tile& tile = kernel.tiles[size_t(conflict.tile)];
  tile.space = ir::Space::shared;
  tile.annotated.reset();
  for (ir::Tile& t : kernel.tiles) {
    if (!t.annotated) t.fragment.reset();
  }
  tile.placed = {.why = "moved out of registers: " + conflict.why};
  if (!tile.origin.empty()) return;
  remarks.push_back({.kind = "fragment_in_shared",
                     .text = fmt::format("{} is kept in shared memory, where each access costs several times a "
                                         "register's: {}",
                                         tile.name, conflict.why),
                     .loc = tile.loc});
}

// More would spill to local memory, which is slower than shared memory.
constexpr int64_t kMaxFragmentRegisters = 224;

std::optional<Conflict> too_many_registers(const Kernel& kernel) {
  if (num_registers(kernel) <= kMaxFragmentRegisters) return std::nullopt;
  Conflict largest{.tile = -1,
                   .why = fmt::format("the fragments of a thread need {} registers, but {} are possible",
                                      num_registers(kernel), kMaxFragmentRegisters)};
  for (size_t i = 0; i < kernel.tiles.size(); ++i) {
    if (!kernel.tiles[i].fragment) continue;
    const bool larger =
        largest.tile < 0 || kernel.tiles[i].fragment->num_regs() > kernel.tile(largest.tile).fragment->num_regs();
    if (larger) largest.tile = TileId(i);
  }
  return largest;
}

// Of accumulators that did not stay in registers.
void remark_gemms(const Kernel& kernel, const CudaTarget& target, std::vector<Remark>& remarks) {
  struct Finder : ir::Visitor {
    using Visitor::visit;
    void visit(const Stmt& stmt) override {
      if (const auto* op = ir::get_if<OpStmt>(stmt); op && op->def == &ops::gemm_op())
        found.emplace_back(op, stmt->loc);
      visit_parts(stmt);
    }
    std::vector<std::pair<const OpStmt*, Loc>> found;
  } finder;
  finder.visit(kernel.body);
  for (const auto& [op, loc] : finder.found) {
    if (!is_mma(*op, kernel, target)) remark_scalar_gemm(*op, kernel, target, loc, remarks);
  }
}

// Of tensors whose rows begin between vectors, though they are long enough for one.
void remark_narrow_accesses(const ir::Program& program, const Kernel& kernel, std::vector<Remark>& remarks) {
  Uses uses(kernel);
  uses.visit(kernel.body);
  std::map<int, std::pair<TileId, Loc>> found;  // by tensor
  for (size_t i = 0; i < uses.loops.size(); ++i) {
    if (uses.loops[i].tiles.empty()) continue;
    for (TileId id : uses.global_tiles[i]) found.try_emplace(kernel.tile(id).tensor, id, uses.loop_locs[i]);
  }
  for (const auto& [tensor, use] : found) {
    const ir::Tile& tile = kernel.tile(use.first);
    const int64_t bytes = bytes_of(tile.dtype), moved = adjacent_elems(program, tile) * bytes;
    const std::vector<Expr> strides = ir::strides_of(program.tensors[size_t(tensor)]);
    const bool is_known = std::all_of(strides.begin(), strides.end(), [](const Expr& e) { return e.as_int(); });
    const bool is_long = tile.rank() > 1 && tile.shape.back().as_int() && *tile.shape.back().as_int() * bytes >= 32;
    if (!is_known || !is_long || moved >= 16) continue;
    remarks.push_back({.kind = "narrow_access",
                       .text = fmt::format("{} is moved {} bytes at a time, up to {} times slower than 16 at a time: "
                                           "its rows begin at multiples of {} bytes",
                                           tile.name, moved, 16 / moved, moved),
                       .loc = use.second});
  }
}

}  // namespace

ir::Program infer_fragments(ir::Program program, const CudaTarget& target, std::vector<Remark>& remarks) {
  for (Kernel& kernel : program.kernels) {
    for (;;) {
      std::optional<Conflict> conflict = Inference(program, kernel, target).run();
      if (!conflict) conflict = too_many_registers(kernel);
      if (!conflict) break;
      move_to_shared(kernel, *conflict, remarks);
    }
    remark_gemms(kernel, target, remarks);
    remark_narrow_accesses(program, kernel, remarks);
  }
  return program;
}

}  // namespace tilewright::passes
