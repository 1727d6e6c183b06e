#include "runtime/interp/memory.h"

#include <algorithm>
#include <cmath>

namespace tilewright::interp {

void Storage::resize(bool floats, std::vector<int64_t> extents, bool tracked) {
  size_t count = 1;
  for (int64_t e : extents) count *= size_t(e);
  holds_floats = floats;
  shape = std::move(extents);
  cells.assign(count, Cell{});
  states.assign(count, 0);
  if (tracked) bounds.assign(count, Bound{});
}

void Storage::forget() { std::fill(states.begin(), states.end(), uint8_t(0)); }

Snapshot Snapshot::of(Storage& storage, size_t at) {
  return {.storage = &storage,
          .at = at,
          .cell = storage.cells[at],
          .state = storage.states[at],
          .bound = storage.bounds.empty() ? Bound{} : storage.bounds[at]};
}

void Snapshot::restore() const {
  storage->cells[at] = cell;
  storage->states[at] = state;
  if (!storage->bounds.empty()) storage->bounds[at] = bound;
}

bool Snapshot::equals(const Snapshot& other) const {
  if ((state & kInitialised) != (other.state & kInitialised)) return false;
  if (!(state & kInitialised)) return true;
  if (!storage->holds_floats) return cell.i == other.cell.i;
  return cell.f == other.cell.f || (std::isnan(cell.f) && std::isnan(other.cell.f));
}

std::vector<Snapshot> Journal::present(size_t mark) const {
  std::vector<Snapshot> out;
  out.reserve(entries_.size() - mark);
  for (size_t k = mark; k < entries_.size(); ++k) out.push_back(Snapshot::of(*entries_[k].storage, entries_[k].at));
  return out;
}

void Journal::roll_back(size_t mark) {
  for (size_t k = entries_.size(); k-- > mark;) entries_[k].restore();
  drop(mark);
}

}  // namespace tilewright::interp
