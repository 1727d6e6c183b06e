// How fine the detector knows memory: most kernels access it by 16 bytes, few by single elements.
#include "runtime/sim/detector.h"

#include <algorithm>
#include <bit>

namespace tilewright::sim {

namespace {

// The largest power of two up to `current` that both the place and the size are multiples of.
int needed_unit(int64_t offset, unsigned bytes, int current, int finest) {
  const uint64_t bits = uint64_t(offset) | bytes | uint64_t(current);
  return std::max(finest, 1 << std::countr_zero(bits));
}

}  // namespace

Detector::Cell Detector::copy_of(const Cell& c) {
  Cell out = c;
  out.more_readers = -1;
  for (int i = c.more_readers; i >= 0; i = readers_[size_t(i)].next) {
    const Readers of_one_time = readers_[size_t(i)];  // which move when one is added
    for (size_t word = 0; word < of_one_time.threads.size(); ++word) {
      for (uint64_t left = of_one_time.threads[word]; left; left &= left - 1) {
        add_reader(out, int(word) * 64 + std::countr_zero(left), of_one_time.time, of_one_time.site);
      }
    }
  }
  return out;
}

int Detector::unit_of_shared(int64_t offset, unsigned bytes) {
  const int coarse = shared_unit_bytes_, unit = needed_unit(offset, bytes, coarse, finest_shared_unit_bytes_);
  if (unit >= coarse) return coarse;
  const auto cells = size_t(cells_of_window(unit)), coarse_cells = size_t(cells_of_window(coarse));
  std::vector<Cell> before(windows_.size() * cells);
  before.swap(shared_cells_);
  for (size_t i = 0; i < shared_cells_.size(); ++i) {
    shared_cells_[i] = copy_of(before[i / cells * coarse_cells + i % cells * size_t(unit) / size_t(coarse)]);
  }
  for (Cell& c : before) free_readers(c);
  return shared_unit_bytes_ = unit;
}

int Detector::unit_of_tensor(size_t tensor, int64_t offset, unsigned bytes) {
  Global& global = tensors_[tensor];
  const int coarse = global.region.unit_bytes, unit = needed_unit(offset, bytes, coarse, global.finest_unit_bytes);
  if (unit >= coarse) return coarse;
  const int64_t cells = (global.region.bytes + unit - 1) / unit;
  std::vector<std::unique_ptr<Page>> before(size_t((cells + kCellsPerPage - 1) / kCellsPerPage));
  before.swap(global.pages);
  for (size_t p = 0; p < before.size(); ++p) {
    if (!before[p]) continue;
    for (size_t i = 0; i < before[p]->size(); ++i) {
      Cell& c = (*before[p])[i];
      if (c.write_time == 0 && c.read_time == 0 && c.foreign_cluster < 0) continue;
      const int64_t begin = (int64_t(p) * kCellsPerPage + int64_t(i)) * coarse;
      const int64_t end = std::min(begin + coarse, global.region.bytes);
      for (int64_t at = begin; at < end; at += unit) cell({int(tensor), at}, unit) = copy_of(c);
      free_readers(c);
    }
  }
  return global.region.unit_bytes = unit;
}

}  // namespace tilewright::sim
