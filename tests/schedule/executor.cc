#include "schedule/executor.h"

#include "ir/op.h"
#include "ops/copy.h"
#include "passes/cuda_atoms.h"
#include "passes/schedule_ops.h"
#include "schedule/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace tilewright::testing {

using ir::Expr;
using ir::ExprKind;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;

namespace {

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};
template <class... A>
[[noreturn]] void wrong(fmt::format_string<A...> text, A&&... args) {
  throw Wrong(fmt::format(text, std::forward<A>(args)...));
}

using Cell = std::pair<TileId, int64_t>;  // a buffer, or a barrier

struct Event {
  enum class Kind {
    block_sync,
    sync_threads,
    init,
    wait,
    arrive,
    arrive_after_copies,
    expect,
    bulk,
    copy,
    store,
    fence,
    copy_commit,
    copy_wait,
    read,
    product,
    product_commit,
    product_wait,
    registers,
  };
  Kind kind;
  Cell cell = {};
  int64_t value = 0;  // arrivals, parity, bytes, pending, iteration, threads
  Cell barrier = {};  // of bulk copies
  int64_t bytes = 0;  // of bulk copies
  int64_t id = 0;     // of the barrier of threads
};
using Kind = Event::Kind;

// ---- from statements to the events of one warp ----

class Flattening {
 public:
  Flattening(const ir::Program& program, int warp, const std::map<ir::VarId, int64_t>& extents)
      : kernel_(program.kernels[0]), warp_(warp), values_{extents, {}} {
    for (const Expr& v : kernel_.block_vars) values_.vars[v.var_id()] = 0;
    if (kernel_.thread_var) values_.vars[kernel_.thread_var.var_id()] = warp * 32;
    block(kernel_.body);
  }
  std::vector<Event> events;

 private:
  int64_t eval(const Expr& e) const { return values_.of(e); }
  void block(const ir::Block& body) {
    for (const Stmt& stmt : body) this->stmt(stmt);
  }
  void stmt(const Stmt& stmt);
  void op(const OpStmt& op);
  Cell cell(const ir::TileRef& ref) const { return {ref.tile, eval(ref.region[0].begin)}; }
  bool in_channel(TileId id) const {
    return std::any_of(kernel_.channels.begin(), kernel_.channels.end(), [&](const ir::Channel& c) {
      return std::find(c.tiles.begin(), c.tiles.end(), id) != c.tiles.end();
    });
  }
  // The loop advances along the one dimension of the source that no block index moves: k.
  int64_t iteration(const OpStmt& op) const {
    for (size_t d = 0; d < op.tiles[0].region.size(); ++d) {
      const Expr& begin = op.tiles[0].region[d].begin;
      bool by_block = false;
      for (const Expr& v : kernel_.block_vars) by_block = by_block || mentions(begin, v);
      if (!by_block) return eval(begin) / *op.tiles[0].region[d].extent.as_int();
    }
    wrong("a source without k");
  }
  static bool mentions(const Expr& e, const Expr& v) {
    if (e.is(ExprKind::var)) return e.var_id() == v.var_id();
    return std::any_of(e.args().begin(), e.args().end(), [&](const Expr& a) { return mentions(a, v); });
  }
  void touch_registers(TileId id) { events.push_back({.kind = Kind::registers, .cell = {id, 0}}); }

  const ir::Kernel& kernel_;
  int warp_;
  Values values_;
};

void Flattening::stmt(const Stmt& stmt) {
  if (const auto* op = ir::get_if<OpStmt>(stmt)) return this->op(*op);
  if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) {
    values_.vars[let->var.var_id()] = eval(let->value);
  } else if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
    values_.scalars[store->tile] = eval(store->value);
  } else if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) {
    const int64_t begin = eval(loop->dims[0].begin), extent = eval(loop->dims[0].extent);
    for (int64_t t = 0; t < extent; ++t) {
      values_.vars[loop->dims[0].var.var_id()] = begin + t * loop->dims[0].step;
      block(loop->body);
    }
  } else if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
    block(eval(branch->condition) ? branch->then : branch->otherwise);
  } else if (const auto* role = ir::get_if<ir::RoleStmt>(stmt)) {
    const bool mine = role->exec.num_warps == 0 ||
                      (warp_ >= role->exec.first_warp && warp_ < role->exec.first_warp + role->exec.num_warps);
    if (mine) block(role->body);
  } else if (const auto* lanes = ir::get_if<ir::LanesStmt>(stmt)) {
    block(lanes->body);
  } else {
    wrong("a statement that the executor does not know");
  }
}

void Flattening::op(const OpStmt& op) {
  const ir::OpDef* def = op.def;
  const auto number = [&](const char* attr) { return ir::int_attr(op.attrs, attr, -1); };
  const auto add = [&](Event event) { events.push_back(event); };
  if (def == &passes::block_sync_op()) return add({.kind = Kind::block_sync});
  if (def == &passes::sync_threads_op())
    return add({.kind = Kind::sync_threads, .value = number("threads"), .id = number("barrier")});
  if (def == &passes::mbarrier_init_op())
    return add({.kind = Kind::init, .cell = cell(op.tiles[0]), .value = eval(op.scalars[0])});
  if (def == &passes::mbarrier_wait_op())
    return add({.kind = Kind::wait, .cell = cell(op.tiles[0]), .value = eval(op.scalars[0])});
  if (def == &passes::mbarrier_arrive_op()) return add({.kind = Kind::arrive, .cell = cell(op.tiles[0]), .value = 1});
  if (def == &passes::mbarrier_arrive_after_copies_op())
    return add({.kind = Kind::arrive_after_copies, .cell = cell(op.tiles[0]), .value = 32});
  if (def == &passes::mbarrier_arrive_expect_op())
    return add({.kind = Kind::expect, .cell = cell(op.tiles[0]), .value = eval(op.scalars[0])});
  if (def == &passes::bulk_copy_op()) {
    const ir::Tile& tile = kernel_.tile(op.tiles[1].tile);
    int64_t bytes = bytes_of(tile.dtype);
    for (size_t d = 1; d < op.tiles[1].region.size(); ++d) bytes *= *op.tiles[1].region[d].extent.as_int();
    return add({.kind = Kind::bulk,
                .cell = cell(op.tiles[1]),
                .value = iteration(op),
                .barrier = cell(op.tiles.at(2)),
                .bytes = bytes});
  }
  if (def == &passes::async_copy_op())
    return add({.kind = Kind::copy, .cell = cell(op.tiles[1]), .value = iteration(op)});
  if (def == &passes::cp_async_commit_op()) return add({.kind = Kind::copy_commit});
  if (def == &passes::cp_async_wait_op()) return add({.kind = Kind::copy_wait, .value = number("pending")});
  if (def == &passes::wgmma_commit_op()) return add({.kind = Kind::product_commit});
  if (def == &passes::wgmma_wait_op()) return add({.kind = Kind::product_wait, .value = number("pending")});
  if (def == &passes::fence_async_shared_op()) return add({.kind = Kind::fence});
  if (def == &ops::copy_op() && in_channel(op.tiles[1].tile))
    return add({.kind = Kind::store, .cell = cell(op.tiles[1]), .value = iteration(op)});
  if (def == &passes::wgmma_fence_op() || def == &passes::wgmma_registers_op() ||
      def == &passes::fence_mbarrier_init_op() || def == &passes::prefetch_map_op() || def == &passes::sync_warp_op()) {
    return;
  }
  const bool products = def == &passes::warpgroup_gemm_op();
  for (const ir::TileRef& ref : op.tiles) {
    if (in_channel(ref.tile)) {
      add({.kind = products ? Kind::product : Kind::read, .cell = cell(ref)});
    } else if (kernel_.tile(ref.tile).space == ir::Space::fragment && !products) {
      touch_registers(ref.tile);
    }
  }
}

// ---- running them ----

using Clock = std::vector<int64_t>;
void join(Clock& into, const Clock& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

struct Stamp {
  size_t agent = 0;
  int64_t time = 0;  // kUnderWay: not over
};
constexpr int64_t kUnderWay = INT64_MAX;

struct Barrier {
  int64_t count = 0, pending = 0, bytes = 0, phase = 0;
  Clock arrived, done;  // of the current phase, of those that are over
};

struct Fill {
  int64_t iteration = -1;
  Stamp over;
  bool in_sight = false;  // of what reads past ordinary loads
};
struct Buffer {
  std::map<size_t, Fill> parts;  // by the agent that filled them
  std::map<size_t, Stamp> reads;
};

struct Warp {
  std::vector<Event> events;
  size_t at = 0;
  Clock clock = {};
  // Groups of copies and products: what they touch, the open one last.
  std::vector<std::vector<Cell>> copies = {{}}, products = {{}};
  std::map<TileId, int64_t> expected = {};  // the next iteration that it reads of a tile
  int64_t products_under_way = 0;
};

struct Bulk {
  Event event;
  size_t agent = 0;
};

class Machine {
 public:
  Machine(const ir::Program& program, int64_t steps, int rounds, unsigned seed,
          const std::map<ir::VarId, int64_t>& extents)
      : kernel_(program.kernels[0]), steps_(steps), rounds_(rounds), random_(seed) {
    const int warps = (kernel_.threads + 31) / 32;
    for (int w = 0; w < warps; ++w) warps_.push_back({.events = Flattening(program, w, extents).events});
    size_t agents = warps_.size();
    for (const ir::Channel& channel : kernel_.channels) {
      for (TileId id : channel.tiles) {
        for (int s = 0; s < channel.stages; ++s) agent_of_[{id, s}] = agents++;
      }
    }
    for (Warp& warp : warps_) warp.clock.assign(agents, 0);
    bulk_clock_.assign(agents, 0);
  }

  ExecutionCounts run();

 private:
  bool can_step(const Warp& warp);
  void step(size_t w);
  void check_fill(const Cell& cell, const Clock& clock, std::string_view what);
  void fill(size_t w, const Event& e);
  void read(size_t w, const Cell& cell, bool under_way);
  void finish_bulk(size_t i);
  void arrive(const Cell& cell, int64_t count, int64_t bytes, const Clock& clock);
  void settle(Barrier& barrier);
  void finish_copies(size_t w, int64_t pending);
  void finish_products(size_t w, int64_t pending);
  void check_read(const ir::Channel& channel, const ir::ExecSet& exec);
  // Warps that wait at a barrier of threads.
  bool meet(Kind kind, int64_t id);
  Barrier& barrier(const Cell& cell) {
    const auto it = barriers_.find(cell);
    if (it == barriers_.end()) wrong("barrier {}[{}] is not initialised", kernel_.tile(cell.first).name, cell.second);
    return it->second;
  }
  std::string name(const Cell& c) const { return fmt::format("{}[{}]", kernel_.tile(c.first).name, c.second); }

  const ir::Kernel& kernel_;
  int64_t steps_;
  int rounds_;
  std::mt19937 random_;
  std::vector<Warp> warps_;
  std::map<Cell, size_t> agent_of_;
  std::vector<int64_t> bulk_clock_;
  std::map<Cell, Barrier> barriers_;
  std::map<Cell, Buffer> buffers_;
  std::vector<Bulk> bulk_;
  ExecutionCounts counts_;
};

void Machine::settle(Barrier& b) {
  if (b.pending < 0) wrong("a barrier gets more arrivals than it counts");
  if (b.pending > 0 || b.bytes != 0) return;
  ++b.phase;
  b.pending = b.count;
  join(b.done, b.arrived);
  b.arrived.assign(b.arrived.size(), 0);
}

void Machine::arrive(const Cell& cell, int64_t count, int64_t bytes, const Clock& clock) {
  Barrier& b = barrier(cell);
  b.pending -= count;
  b.bytes += bytes;
  join(b.arrived, clock);
  settle(b);
}

void Machine::check_fill(const Cell& cell, const Clock& clock, std::string_view what) {
  for (const auto& [agent, stamp] : buffers_[cell].reads) {
    if (stamp.time > clock[stamp.agent]) wrong("{} of {} before warp {} has read it", what, name(cell), agent);
  }
  for (const auto& [agent, fill] : buffers_[cell].parts) {
    if (fill.over.time > clock[fill.over.agent]) wrong("{} of {} while {} fills it", what, name(cell), agent);
  }
}

void Machine::read(size_t w, const Cell& cell, bool under_way) {
  Warp& warp = warps_[w];
  int64_t& expected = warp.expected[cell.first];
  Buffer& buffer = buffers_[cell];
  if (buffer.parts.empty()) wrong("warp {} reads {}, which nothing filled", w, name(cell));
  for (const auto& [agent, fill] : buffer.parts) {
    if (fill.over.time > warp.clock[fill.over.agent]) {
      wrong("warp {} reads {} for iteration {} before it is seen that {} has filled it", w, name(cell), expected,
            agent);
    }
    if (under_way && !fill.in_sight) wrong("warp {} reads {} past a fence that is missing", w, name(cell));
    if (fill.iteration != expected % steps_) {
      wrong("warp {} reads iteration {} in {} instead of {}", w, fill.iteration, name(cell), expected);
    }
  }
  ++expected;
  buffer.reads[w] = {.agent = w, .time = under_way ? kUnderWay : warp.clock[w]};
}

void Machine::fill(size_t w, const Event& e) {
  Warp& warp = warps_[w];
  Buffer& buffer = buffers_[e.cell];
  for (const auto& [agent, stamp] : buffer.reads) {
    if (stamp.time > warp.clock[stamp.agent]) {
      wrong("warp {} writes {} before warp {} has read it", w, name(e.cell), agent);
    }
  }
  const bool at_once = e.kind == Kind::store;
  buffer.parts[w] = {.iteration = e.value, .over = {.agent = w, .time = at_once ? warp.clock[w] : kUnderWay}};
  if (!at_once) warp.copies.back().push_back(e.cell);
}

void Machine::finish_copies(size_t w, int64_t pending) {
  Warp& warp = warps_[w];
  const int64_t over = int64_t(warp.copies.size()) - 1 - pending;
  for (int64_t g = 0; g < over; ++g) {
    for (const Cell& cell : warp.copies[size_t(g)]) {
      Fill& fill = buffers_[cell].parts[w];
      if (fill.over.time == kUnderWay) fill.over.time = warp.clock[w];
    }
    warp.copies[size_t(g)].clear();
  }
}

void Machine::finish_products(size_t w, int64_t pending) {
  Warp& warp = warps_[w];
  const int64_t over = int64_t(warp.products.size()) - 1 - pending;
  for (int64_t g = 0; g < over; ++g) {
    for (const Cell& cell : warp.products[size_t(g)]) {
      buffers_[cell].reads[w].time = warp.clock[w];
      --warp.products_under_way;
    }
    warp.products[size_t(g)].clear();
  }
}

void Machine::finish_bulk(size_t i) {
  const Bulk bulk = bulk_[i];
  bulk_.erase(bulk_.begin() + long(i));
  Fill& fill = buffers_[bulk.event.cell].parts[bulk.agent];
  fill.over.time = ++bulk_clock_[bulk.agent];
  Clock clock(bulk_clock_.size(), 0);
  clock[bulk.agent] = fill.over.time;
  Barrier& b = barrier(bulk.event.barrier);
  b.bytes -= bulk.event.bytes;
  if (b.bytes < 0) wrong("barrier {} gets more bytes than it expects", name(bulk.event.barrier));
  join(b.arrived, clock);
  settle(b);
}

bool Machine::can_step(const Warp& warp) {
  if (warp.at == warp.events.size()) return false;
  const Event& e = warp.events[warp.at];
  if (e.kind == Kind::block_sync || e.kind == Kind::sync_threads) return false;
  return e.kind != Kind::wait || barrier(e.cell).phase % 2 != e.value;
}

void Machine::step(size_t w) {
  Warp& warp = warps_[w];
  const Event e = warp.events[warp.at++];
  ++warp.clock[w];
  switch (e.kind) {
    case Kind::block_sync:
    case Kind::sync_threads: break;
    case Kind::init: {
      const Clock none(warp.clock.size(), 0);
      barriers_[e.cell] = {.count = e.value, .pending = e.value, .arrived = none, .done = warp.clock};
      break;
    }
    case Kind::wait: join(warp.clock, barrier(e.cell).done); break;
    case Kind::arrive: arrive(e.cell, e.value, 0, warp.clock); break;
    case Kind::arrive_after_copies:
      finish_copies(w, -1);  // the open group as well
      arrive(e.cell, e.value, 0, warp.clock);
      break;
    case Kind::expect: arrive(e.cell, 1, e.value, warp.clock); break;
    case Kind::bulk: {
      check_fill(e.cell, warp.clock, "a bulk copy");
      const size_t agent = agent_of_.at(e.cell);
      buffers_[e.cell].parts = {
          {agent, {.iteration = e.value, .over = {.agent = agent, .time = kUnderWay}, .in_sight = true}}};
      bulk_.push_back({e, agent});
      break;
    }
    case Kind::copy:
    case Kind::store: fill(w, e); break;
    // What this warp has written, and waited for, until now.
    case Kind::fence:
      for (auto& [cell, buffer] : buffers_) {
        const auto it = buffer.parts.find(w);
        if (it != buffer.parts.end() && it->second.over.time != kUnderWay) it->second.in_sight = true;
      }
      break;
    case Kind::copy_commit: warp.copies.emplace_back(); break;
    case Kind::copy_wait: finish_copies(w, e.value); break;
    case Kind::read: read(w, e.cell, false); break;
    case Kind::product:
      read(w, e.cell, true);
      warp.products.back().push_back(e.cell);
      ++warp.products_under_way;
      break;
    case Kind::product_commit: warp.products.emplace_back(); break;
    case Kind::product_wait: finish_products(w, e.value); break;
    case Kind::registers:
      if (warp.products_under_way > 0) wrong("warp {} touches {} while products write it", w, name(e.cell));
      break;
  }
}

bool Machine::meet(Kind kind, int64_t id) {
  std::vector<size_t> there;
  int64_t wanted = int64_t(warps_.size());
  for (size_t w = 0; w < warps_.size(); ++w) {
    const Warp& warp = warps_[w];
    if (warp.at == warp.events.size()) continue;
    const Event& e = warp.events[warp.at];
    if (e.kind != kind || (kind == Kind::sync_threads && e.id != id)) continue;
    there.push_back(w);
    if (kind == Kind::sync_threads) wanted = e.value / 32;
  }
  if (there.empty() || int64_t(there.size()) != wanted) return false;
  Clock all(bulk_clock_.size(), 0);
  for (size_t w : there) {
    step(w);
    join(all, warps_[w].clock);
  }
  for (size_t w : there) join(warps_[w].clock, all);
  return true;
}

ExecutionCounts Machine::run() {
  for (;;) {
    bool met = meet(Kind::block_sync, 0);
    for (int64_t id = 1; id < 16; ++id) met = meet(Kind::sync_threads, id) || met;
    std::vector<size_t> ready;
    for (size_t w = 0; w < warps_.size(); ++w) {
      if (can_step(warps_[w])) ready.push_back(w);
    }
    const size_t choices = ready.size() + bulk_.size();
    if (choices == 0 && met) continue;
    if (choices == 0) break;
    const size_t choice = random_() % choices;
    if (choice < ready.size()) {
      // A warp often runs on for a while.
      const size_t w = ready[choice];
      for (size_t more = random_() % 8 + 1; more > 0 && can_step(warps_[w]); --more) step(w);
    } else {
      finish_bulk(choice - ready.size());
    }
  }
  for (size_t w = 0; w < warps_.size(); ++w) {
    const Warp& warp = warps_[w];
    if (warp.at < warp.events.size()) {
      wrong("warp {} waits for ever at event {} of kind {}", w, warp.at, int(warp.events[warp.at].kind));
    }
  }
  for (const ir::Channel& channel : kernel_.channels) {
    for (const ir::ExecSet& exec : channel.consumers) check_read(channel, exec);
  }
  return counts_;
}

// Each consumer has read each tile in every iteration.
void Machine::check_read(const ir::Channel& channel, const ir::ExecSet& exec) {
  const size_t begin = size_t(exec.first_warp);
  const size_t end = exec.num_warps > 0 ? begin + size_t(exec.num_warps) : warps_.size();
  for (TileId id : channel.tiles) {
    for (size_t w = begin; w < end; ++w) {
      const int64_t next = warps_[w].expected[id];
      if (next != steps_ * rounds_) wrong("warp {} read {} iterations of {}", w, next, kernel_.tile(id).name);
      counts_.steps_read = next;
    }
  }
}

}  // namespace

Execution execute(const ir::Program& program, int64_t steps, int rounds, unsigned seed,
                  const std::map<ir::VarId, int64_t>& extents) {
  try {
    return {.error = std::nullopt, .counts = Machine(program, steps, rounds, seed, extents).run()};
  } catch (const Wrong& error) {
    return {.error = error.what(), .counts = {}};
  }
}

}  // namespace tilewright::testing
