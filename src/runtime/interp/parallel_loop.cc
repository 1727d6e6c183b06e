#include "runtime/interp/parallel_loop.h"

#include "runtime/interp/report.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright::interp {

void Trace::see(const AccessSite& site, const Array& array, size_t index, bool is_write) {
  const bool other = storage != array.storage || at / array.units != index;
  if (by_iteration ? iteration != only : other) return;
  const size_t unit = by_iteration ? index * array.units : at;
  accesses.push_back(
      {.site = &site, .is_write = is_write, .after = Snapshot::of(*array.storage, unit), .iteration = iteration});
}

namespace {

const TracedAccess* last_write(const std::vector<TracedAccess>& accesses) {
  const auto it = std::find_if(accesses.rbegin(), accesses.rend(), [](const TracedAccess& a) { return a.is_write; });
  return it == accesses.rend() ? nullptr : &*it;
}

Error order_error(const Loc& loc, std::string message) {
  return Error(ErrorKind::invalid_kernel, std::move(message), loc)
      .hint("make the iterations independent, or use a serial loop");
}

// The element that a unit of the tile's storage is a part of.
template <class M>
std::string element_of(const Machine<M>& m, const AccessSite& site, size_t unit) {
  const Array& array = m.tiles[size_t(site.id)];
  return element_text(site, array, unit / array.units);
}

std::string written(const TracedAccess* access, const Snapshot& value) {
  return access ? fmt::format("{} (iteration {}, {})", value_text(value), vector_text(access->iteration),
                              access->site->loc.to_string())
                : value_text(value) + " (no iteration writes it)";
}

}  // namespace

template <class M>
void ParallelLoop<M>::run(Machine<M>& m) const {
  if (!m.options.check_parallel_order || m.trace) return run_order(m, false);
  if (atomics.empty() || m.iteration_log || m.reruns > 0) return run_both(m);
  std::set<const Storage*> storages;
  for (ir::TileId id : reads_atomics ? locals : atomics) storages.insert(m.tiles[size_t(id)].storage);
  AccessLog log(reads_atomics ? AccessLog::Watch::all_except : AccessLog::Watch::only, std::move(storages));
  m.iteration_log = &log;
  reads_atomics ? run_order(m, false) : run_both(m);
  m.iteration_log = nullptr;
}

template <class M>
void ParallelLoop<M>::run_both(Machine<M>& m) const {
  const size_t mark = m.journal.mark();
  ++m.open_journals;
  run_order(m, false);
  compare(m, mark);
  --m.open_journals;
  if (m.open_journals == 0) m.journal.drop(mark);
}

template <class M>
void ParallelLoop<M>::run_order(Machine<M>& m, bool reverse) const {
  run_dim(m, 0, reverse);
  for (ir::TileId id : locals) m.tiles[size_t(id)].storage->forget();
}

template <class M>
void ParallelLoop<M>::run_dim(Machine<M>& m, size_t d, bool reverse) const {
  if (d == dims.size()) return run_body(m);
  const typename M::Int begin = dims[d].begin->run(m), extent = dims[d].extent->run(m);
  if (M::undetermined(begin) || M::undetermined(extent)) m.undetermined_loop = true;
  const int64_t count = M::value(extent);
  typename M::Int& var = m.vars[size_t(dims[d].var)].i;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t t = reverse ? count - 1 - k : k;
    var = M::int_imm(int64_t(uint64_t(M::value(begin)) + uint64_t(t) * uint64_t(dims[d].step)));
    run_dim(m, d + 1, reverse);
  }
}

template <class M>
void ParallelLoop<M>::run_body(Machine<M>& m) const {
  for (ir::TileId id : locals) m.tiles[size_t(id)].storage->forget();
  if (m.iteration_log && m.reruns == 0) [[unlikely]] {
    std::vector<int64_t> iteration;
    for (const Dim& dim : dims) iteration.push_back(M::value(m.vars[size_t(dim.var)].i));
    m.iteration_log->begin(std::move(iteration));
  }
  if (m.trace) [[unlikely]] {
    // Only the loop in question is run with a trace that has no iteration yet; loops inside find one.
    std::vector<int64_t> iteration;
    for (const Dim& dim : dims) iteration.push_back(M::value(m.vars[size_t(dim.var)].i));
    const bool owner = m.trace->iteration.empty();
    if (owner) m.trace->iteration = std::move(iteration);
    body->run(m);
    if (owner) m.trace->iteration.clear();
    return;
  }
  body->run(m);
}

template <class M>
void ParallelLoop<M>::run_reverse(Machine<M>& m, size_t mark) const {
  ++m.reruns;
  try {
    run_order(m, true);
    --m.reruns;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::invalid_kernel) throw;
    m.journal.roll_back(mark);
    throw Error(e).note(
        "the iterations of this parallel loop run without this error first to last, but not last to first", loc);
  }
}

template <class M>
void ParallelLoop<M>::compare(Machine<M>& m, size_t mark) const {
  const std::vector<Snapshot> forward = m.journal.present(mark);
  m.journal.roll_back(mark);
  run_reverse(m, mark);
  const std::vector<Snapshot> reverse = m.journal.present(mark);
  const auto differ = [&](const Snapshot& a, const Snapshot& b) {
    return !a.equals(b) && !(m.iteration_log && m.iteration_log->admits(a, b));
  };
  const auto differing = std::find_if(forward.begin(), forward.end(),
                                      [&](const Snapshot& s) { return differ(s, Snapshot::of(*s.storage, s.at)); });
  const Snapshot other = differing == forward.end() ? Snapshot{} : Snapshot::of(*differing->storage, differing->at);
  m.journal.roll_back(mark);
  if (differing != forward.end()) explain(m, *differing, other);
  for (const Snapshot& s : forward) {
    m.journal.record(*s.storage, s.at);
    s.restore();
  }
  for (const Snapshot& s : reverse) {
    const Snapshot now = Snapshot::of(*s.storage, s.at);
    if (!differ(s, now)) continue;
    m.journal.roll_back(mark);
    explain(m, now, s);
  }
}

template <class M>
std::vector<TracedAccess> ParallelLoop<M>::traced_order(Machine<M>& m, Trace trace, bool reverse) const {
  const size_t mark = m.journal.mark();
  m.trace = &trace;
  try {
    run_order(m, reverse);
  } catch (const Error&) {
    // What was seen before the error is enough.
  }
  m.trace = nullptr;
  m.journal.roll_back(mark);
  return trace.accesses;
}

template <class M>
typename ParallelLoop<M>::Orders ParallelLoop<M>::traced(Machine<M>& m, const Trace& filter) const {
  return {.forward = traced_order(m, filter, false), .reverse = traced_order(m, filter, true)};
}

template <class M>
void ParallelLoop<M>::explain(Machine<M>& m, const Snapshot& forward, const Snapshot& reverse) const {
  const Orders orders = traced(m, {.storage = forward.storage, .at = forward.at, .only = {}, .iteration = {}});
  const TracedAccess* first = last_write(orders.forward);
  const TracedAccess* second = last_write(orders.reverse);
  const TracedAccess* some = first ? first : second;
  if (first && second && first->iteration == second->iteration) explain_read(m, *first, forward, reverse);
  const std::string element = some ? element_of(m, *some->site, forward.at) : std::string("an element");
  Error error =
      order_error(some ? some->site->loc : loc,
                  fmt::format("{} depends on the order of a parallel loop: {} first to last, {} last to first, in {}",
                              element, written(first, forward), written(second, reverse), block_text(m.block)));
  if (some)
    std::move(error).note(fmt::format("{}  {}", some->site->tile->name, describe(*some->site->tile)),
                          some->site->tile->loc);
  throw std::move(error).note("the parallel loop", loc);
}

template <class M>
void ParallelLoop<M>::explain_read(Machine<M>& m, const TracedAccess& write, const Snapshot& forward,
                                   const Snapshot& reverse) const {
  const std::string element = element_of(m, *write.site, forward.at);
  const std::string message = fmt::format(
      "{} depends on the order of a parallel loop: iteration {} writes {} first to last, {} last to first, in {}",
      element, vector_text(write.iteration), value_text(forward), value_text(reverse), block_text(m.block));
  Error error = order_error(write.site->loc, message);
  std::move(error).note(fmt::format("{}  {}", write.site->tile->name, describe(*write.site->tile)),
                        write.site->tile->loc);
  std::move(error).note("the parallel loop", loc);
  const Orders reads = traced(m, {.by_iteration = true, .only = write.iteration, .iteration = {}});
  for (size_t k = 0; k < std::min(reads.forward.size(), reads.reverse.size()); ++k) {
    const TracedAccess& a = reads.forward[k];
    const TracedAccess& b = reads.reverse[k];
    if (a.is_write || b.is_write || a.after.equals(b.after)) continue;
    const Orders writers = traced(m, {.storage = a.after.storage, .at = a.after.at, .only = {}, .iteration = {}});
    for (const auto* accesses : {&writers.forward, &writers.reverse}) {
      const auto it = std::find_if(accesses->begin(), accesses->end(),
                                   [&](const TracedAccess& w) { return w.is_write && w.iteration != write.iteration; });
      if (it == accesses->end()) continue;
      throw std::move(error)
          .note(fmt::format("iteration {} reads {} at {}: {} first to last, {} last to first",
                            vector_text(write.iteration), element_of(m, *a.site, a.after.at), a.site->loc.to_string(),
                            value_text(a.after), value_text(b.after)))
          .note(fmt::format("iteration {} writes {} at {}: {}", vector_text(it->iteration),
                            element_of(m, *it->site, it->after.at), it->site->loc.to_string(), value_text(it->after)));
    }
  }
  throw error;
}

template struct ParallelLoop<Plain>;
template struct ParallelLoop<Tracked>;

}  // namespace tilewright::interp
