// Which vectors an access may use, and what it costs in shared memory.
#include "layout/layout.h"

#include "layout/checked.h"

#include <algorithm>
#include <array>

namespace tilewright::layout {

namespace {

constexpr int kBanks = 32;
constexpr int kWordBytes = 4;

// Leading modes of the dimension that continue each other from stride 1: how many elements they hold, how many modes
// they are.
struct Run {
  int64_t elems = 1;
  size_t num_modes = 0;
};

Run leading_run(const Dim& dim) {
  Run run;
  for (const Mode& m : dim) {
    if (m.extent != 1) {
      if (m.stride != run.elems) break;
      run.elems = checked_mul(run.elems, m.extent);
    }
    ++run.num_modes;
  }
  return run;
}

int64_t largest_power_of_two_factor(int64_t x) { return x & -x; }

// Lanes served together. A 16-byte access of a warp is four phases of 8 lanes, an 8-byte access two of 16.
size_t lanes_in_phase(int access_bytes) {
  switch (access_bytes) {
    case 1:
    case 2:
    case 4: return 32;
    case 8: return 16;
    case 16: return 8;
    default:
      throw invalid_kernel({}, "an access of {} bytes", access_bytes).hint("accesses have 1, 2, 4, 8 or 16 bytes");
  }
}

int conflict_of_phase(std::span<const int64_t> byte_offsets, int access_bytes) {
  std::array<std::vector<int64_t>, kBanks> words;
  for (int64_t first : byte_offsets) {
    for (int64_t word = first / kWordBytes; word <= (first + access_bytes - 1) / kWordBytes; ++word) {
      std::vector<int64_t>& of_bank = words[size_t(word % kBanks)];
      if (std::find(of_bank.begin(), of_bank.end(), word) == of_bank.end()) of_bank.push_back(word);
    }
  }
  size_t worst = 1;
  for (const std::vector<int64_t>& of_bank : words) worst = std::max(worst, of_bank.size());
  return int(worst);
}

}  // namespace

int64_t contiguous_run(const Layout& layout, int dim) {
  const Run run = leading_run(layout.dim(dim));
  if (layout.size() == 0) return 1;
  int64_t group = largest_power_of_two_factor(run.elems);
  // A stride that is no multiple of the group would let groups start off their alignment.
  for (int d = 0; d < layout.rank(); ++d) {
    for (size_t k = d == dim ? run.num_modes : 0; k < layout.dim(d).size(); ++k) {
      const Mode& m = layout.dim(d)[k];
      if (m.extent > 1 && m.stride != 0) group = std::min(group, largest_power_of_two_factor(m.stride));
    }
  }
  if (layout.swizzle().bits != 0) group = std::min(group, int64_t(1) << layout.swizzle().base);
  return group;
}

int64_t vector_width(const Layout& layout, int dim, std::span<const int64_t> coordinates, int64_t max_elems) {
  if (max_elems < 1) throw invalid_kernel({}, "vectors of at most {} elements", max_elems).hint("at least 1");
  const int64_t start = layout(coordinates), extent = layout.extent(dim);
  std::vector<int64_t> at(coordinates.begin(), coordinates.end());
  int64_t& moving = at[size_t(dim)];
  const int64_t first = moving;
  int64_t width = 1;
  while (width <= max_elems / 2 && first <= extent - 2 * width && start % (2 * width) == 0) {
    for (int64_t k = width; k < 2 * width; ++k) {
      moving = first + k;
      if (layout(at) != start + k) return width;
    }
    width *= 2;
  }
  return width;
}

int bank_conflict_ways(std::span<const int64_t> byte_offsets, int access_bytes) {
  const size_t phase = lanes_in_phase(access_bytes);
  for (int64_t offset : byte_offsets) {
    if (offset >= 0 && offset % access_bytes == 0) continue;
    throw invalid_kernel({}, "an access of {} bytes at byte {}", access_bytes, offset)
        .hint("accesses start at multiples of their size");
  }
  int worst = 1;
  for (size_t first = 0; first < byte_offsets.size(); first += phase) {
    const size_t count = std::min(phase, byte_offsets.size() - first);
    worst = std::max(worst, conflict_of_phase(byte_offsets.subspan(first, count), access_bytes));
  }
  return worst;
}

int bank_conflict_ways(const Layout& layout, std::span<const std::vector<int64_t>> lane_coordinates, int elem_bytes,
                       int access_bytes) {
  std::vector<int64_t> byte_offsets;
  for (const std::vector<int64_t>& c : lane_coordinates) byte_offsets.push_back(checked_mul(layout(c), elem_bytes));
  return bank_conflict_ways(byte_offsets, access_bytes);
}

}  // namespace tilewright::layout
