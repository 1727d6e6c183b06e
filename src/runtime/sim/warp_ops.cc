// Operations of a warp as the PTX manual (ISA 8.x, "Warp Level Matrix Instructions" and "Parallel Synchronization and
// Communication Instructions") defines them.
#include "runtime/sim/executor.h"
#include "runtime/sim/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tilewright::sim {

using device::sim::Lane;
using device::sim::WarpOp;

namespace {

template <class Function>
void for_lanes(Lane* const* lanes, const Function& fn) {
  for (int l = 0; l < kWarpSize; ++l) {
    if (lanes[l]) fn(l, *lanes[l]);
  }
}

// The lane that `lane` reads from; its own where there is none in the group.
int shuffle_source(WarpOp op, int lane, const Lane& at) {
  const int group = lane & ~(int(at.width) - 1), n = int(at.n & 31u), last = group + int(at.width) - 1;
  switch (op) {
    case WarpOp::shuffle_up: return lane - n >= group ? lane - n : lane;
    case WarpOp::shuffle_down: return lane + n <= last ? lane + n : lane;
    case WarpOp::shuffle_xor: return (lane ^ n) <= last ? lane ^ n : lane;
    default: return group | (n & (int(at.width) - 1));
  }
}

void shuffle(WarpOp op, Lane* const* lanes, Executor& executor) {
  for_lanes(lanes, [&](int l, Lane& lane) {
    const int from = shuffle_source(op, l, lane);
    if (lanes[from] == nullptr) {
      const Fiber& reader = executor.lane_of_warp(l);
      executor.stop({.kind = Finding::Kind::misuse,
                     .text = fmt::format("lane {} takes the value of lane {}, which is not in the mask {:#x}", l, from,
                                         lane.mask),
                     .site = Site::line(reader.line)});
    }
    lane.result = lanes[from]->x;
  });
}

void vote(WarpOp op, Lane* const* lanes) {
  unsigned ballot = 0, mask = 0;
  for_lanes(lanes, [&](int l, Lane& lane) {
    mask |= 1u << l;
    ballot |= unsigned(lane.x != 0) << l;
  });
  const unsigned result = op == WarpOp::any ? ballot != 0 : op == WarpOp::all ? ballot == mask : ballot;
  for_lanes(lanes, [&](int, Lane& lane) { lane.result = result; });
}

void match(Lane* const* lanes) {
  for_lanes(lanes, [&](int, Lane& lane) {
    for_lanes(lanes, [&](int other, Lane& o) { lane.result |= unsigned(o.x == lane.x) << other; });
  });
}

unsigned combine(WarpOp op, unsigned a, unsigned b) {
  switch (op) {
    case WarpOp::add: return a + b;
    case WarpOp::min_signed: return unsigned(std::min(int(a), int(b)));
    case WarpOp::min_unsigned: return std::min(a, b);
    case WarpOp::max_signed: return unsigned(std::max(int(a), int(b)));
    case WarpOp::max_unsigned: return std::max(a, b);
    case WarpOp::bit_and: return a & b;
    case WarpOp::bit_or: return a | b;
    default: return a ^ b;
  }
}

void reduce(WarpOp op, Lane* const* lanes) {
  bool first = true;
  unsigned result = 0;
  for_lanes(lanes, [&](int, Lane& lane) {
    result = first ? lane.x : combine(op, result, lane.x);
    first = false;
  });
  for_lanes(lanes, [&](int, Lane& lane) { lane.result = result; });
}

// ---- Matrices of 8 x 8 elements of 16 bits. Lane l holds of row l / 4 columns 2 * (l % 4) and the next; transposed,
// of column l / 4 those rows. ----

struct Position {
  int row, column;
};
Position position(int lane, int element, bool transposed) {
  const int major = lane / 4, minor = lane % 4 * 2 + element;
  return transposed ? Position{minor, major} : Position{major, minor};
}

void load_matrices(Lane* const* lanes, Executor& executor) {
  const Lane& first = *lanes[0];
  for (unsigned m = 0; m < first.n; ++m) {
    uint16_t at[8][8];
    for (int row = 0; row < 8; ++row) {
      const int l = int(m) * 8 + row;
      std::memcpy(at[row], executor.shared_of(l, lanes[l]->address, 16, Access::read), 16);
    }
    for (int l = 0; l < kWarpSize; ++l) {
      uint32_t word = 0;
      for (int e = 0; e < 2; ++e) {
        const Position p = position(l, e, first.transposed);
        word |= uint32_t(at[p.row][p.column]) << 16 * e;
      }
      static_cast<uint32_t*>(lanes[l]->d)[m] = word;
    }
  }
}

void store_matrices(Lane* const* lanes, Executor& executor) {
  const Lane& first = *lanes[0];
  for (unsigned m = 0; m < first.n; ++m) {
    uint16_t at[8][8];
    for (int l = 0; l < kWarpSize; ++l) {
      const uint32_t word = static_cast<const uint32_t*>(lanes[l]->a)[m];
      for (int e = 0; e < 2; ++e) {
        const Position p = position(l, e, first.transposed);
        at[p.row][p.column] = uint16_t(word >> 16 * e);
      }
    }
    for (int row = 0; row < 8; ++row) {
      const int l = int(m) * 8 + row;
      std::memcpy(executor.shared_of(l, lanes[l]->address, 16, Access::write), at[row], 16);
    }
  }
}

void transpose(Lane* const* lanes) {
  uint16_t at[8][8];
  for (int l = 0; l < kWarpSize; ++l) {
    for (int e = 0; e < 2; ++e) {
      const Position p = position(l, e, false);
      at[p.row][p.column] = uint16_t(lanes[l]->x >> 16 * e);
    }
  }
  for (int l = 0; l < kWarpSize; ++l) {
    for (int e = 0; e < 2; ++e) {
      const Position p = position(l, e, true);
      lanes[l]->result |= unsigned(at[p.row][p.column]) << 16 * e;
    }
  }
}

}  // namespace

void execute_warp_op(WarpOp op, Lane* const* lanes, Executor& executor) {
  switch (op) {
    case WarpOp::shuffle_index:
    case WarpOp::shuffle_xor:
    case WarpOp::shuffle_up:
    case WarpOp::shuffle_down: return shuffle(op, lanes, executor);
    case WarpOp::any:
    case WarpOp::all:
    case WarpOp::ballot: return vote(op, lanes);
    case WarpOp::match: return match(lanes);
    case WarpOp::load_matrix: return load_matrices(lanes, executor);
    case WarpOp::store_matrix: return store_matrices(lanes, executor);
    case WarpOp::transpose: return transpose(lanes);
    case WarpOp::multiply: return multiply_fragments(lanes);
    case WarpOp::wgmma_fence:
    case WarpOp::wgmma_product:
    case WarpOp::wgmma_commit:
    case WarpOp::wgmma_wait:
    case WarpOp::more_registers:
    case WarpOp::fewer_registers: return executor.warpgroup_op(op, lanes);
    case WarpOp::cluster_arrive:
    case WarpOp::cluster_wait:
    case WarpOp::sync: return;
    default: return reduce(op, lanes);
  }
}

}  // namespace tilewright::sim
