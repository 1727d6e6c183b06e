#include "runtime/interp/memory.h"

#include "runtime/cpu_features.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tilewright::interp {

namespace {

constexpr uint8_t kFreeBits = 0x80;
constexpr size_t kMaxElementBytes = 16;

}  // namespace

void Storage::resize(DType dtype, std::span<const DType> dtypes, size_t count, bool tracked, const std::string& name,
                     const Loc& loc) {
  const bool one_dtype = std::all_of(dtypes.begin(), dtypes.end(), [&](DType t) { return t == dtype; });
  holds_floats = is_float(dtype);
  unit_bytes = 0;
  size_t units = count;
  if (!one_dtype) {
    unit_bytes = bytes_of(dtype);
    for (DType t : dtypes) unit_bytes = std::min(unit_bytes, bytes_of(t));
    units *= size_t(bytes_of(dtype) / unit_bytes);
  }
  const size_t unit_cost =
      sizeof(Cell) + sizeof(uint8_t) + (one_dtype ? 0 : sizeof(uint8_t)) + (tracked ? sizeof(Bound) : 0);
  const auto memory = size_t(physical_memory_bytes());
  if (units > memory / unit_cost) {
    throw invalid_kernel(loc, "the interpreter needs {} bytes for each of {} elements of {}, but this machine has {}",
                         unit_cost, units, name, memory)
        .hint("pass smaller extents to the interpreter; compiled kernels need the elements alone");
  }
  cells.assign(units, Cell{});
  states.assign(units, 0);
  if (!one_dtype) writers.assign(units, uint8_t(dtype));
  if (tracked) bounds.assign(units, Bound{});
}

void Storage::forget() { std::fill(states.begin(), states.end(), uint8_t(0)); }

Array::Array(Storage& memory, std::vector<int64_t> extents, DType element)
    : storage(&memory),
      shape(std::move(extents)),
      dtype(element),
      units(memory.raw() ? size_t(bytes_of(element) / memory.unit_bytes) : 1) {}

void Array::get_bytes(size_t at, std::byte* bytes) const {
  const auto width = size_t(storage->unit_bytes);
  for (size_t k = 0; k < units; ++k) std::memcpy(bytes + k * width, &storage->cells[at * units + k].i, width);
}

void Array::put_bytes(size_t at, const std::byte* bytes, bool free_bits) const {
  const auto width = size_t(storage->unit_bytes);
  for (size_t k = 0; k < units; ++k) {
    Cell& cell = storage->cells[at * units + k];
    cell.i = 0;
    std::memcpy(&cell.i, bytes + k * width, width);
    storage->writers[at * units + k] = uint8_t(uint8_t(dtype) | (free_bits ? kFreeBits : 0));
  }
}

Cell Array::raw_value(size_t at) const {
  std::array<std::byte, kMaxElementBytes> bytes{};
  get_bytes(at, bytes.data());
  if (is_float(dtype)) return {.f = tilewright::load_float(dtype, bytes.data())};
  return {.i = tilewright::load_int(dtype, bytes.data())};
}

void Array::put_raw(size_t at, Cell value) const {
  std::array<std::byte, kMaxElementBytes> bytes{};
  if (!is_float(dtype)) {
    store_int(dtype, bytes.data(), value.i);
    return put_bytes(at, bytes.data(), false);
  }
  store_float(dtype, bytes.data(), value.f);
  put_bytes(at, bytes.data(), value.f == 0 || std::isnan(value.f));
}

// An element that is read as it was written has the bound it was written with; another is exact where the bits are.
Bound Array::bound_of(size_t at) const {
  const size_t first = at * units;
  if (!storage->raw()) return storage->bounds[first];
  bool same = true, exact = true;
  for (size_t k = first; k < first + units; ++k) {
    same = same && DType(storage->writers[k] & ~kFreeBits) == dtype;
    exact = exact && !(storage->writers[k] & kFreeBits) && storage->bounds[k].err == 0;
  }
  if (same) return storage->bounds[first];
  const double err = exact ? 0 : std::numeric_limits<double>::infinity();
  return is_float(dtype) ? single_term(raw_value(at).f, err).bound
                         : Bound{.err = err, .mag = 0, .base = err, .adds = 0};
}

Snapshot Snapshot::of(Storage& storage, size_t at) {
  return {.storage = &storage,
          .at = at,
          .cell = storage.cells[at],
          .state = storage.states[at],
          .writer = storage.raw() ? storage.writers[at] : uint8_t(0),
          .bound = storage.bounds.empty() ? Bound{} : storage.bounds[at]};
}

void Snapshot::restore() const {
  storage->cells[at] = cell;
  storage->states[at] = state;
  if (storage->raw()) storage->writers[at] = writer;
  if (!storage->bounds.empty()) storage->bounds[at] = bound;
}

bool Snapshot::equals(const Snapshot& other) const {
  if ((state & kInitialised) != (other.state & kInitialised)) return false;
  if (!(state & kInitialised)) return true;
  if (!storage->holds_floats || storage->raw()) return cell.i == other.cell.i;
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
