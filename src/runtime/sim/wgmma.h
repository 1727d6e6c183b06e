// Products of warpgroups, as the PTX manual ("Asynchronous Warpgroup Level Matrix Instructions") has them. Each warp
// computes its own 16 of 64 rows; a product is under way once all four warps have come to it.
#pragma once

#include "runtime/sim/detector.h"

#include <tilewright/device/sim/hooks.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::sim {

constexpr int kWarpsOfGroup = 4;

// The registers of a warp that products in flight write. Until the last of them is waited for they hold NaN (where
// products take place early, their results), and the sums are here.
struct Accumulators {
  std::array<unsigned char*, 32> at = {};  // of each lane
  int registers = 0;                       // of 4 bytes
  // Of lane l from l * registers on; `shown`: what products left in the registers, `fenced`: what they held at the last
  // wgmma_fence.
  std::vector<uint32_t> sums, shown, fenced;
  int in_flight = 0;
};

struct WarpgroupProduct {
  device::sim::Product form = {};
  device::sim::WarpgroupOperands operands = {};
  bool a_in_registers = false;
  std::array<std::array<uint32_t, 4>, 32> a = {};  // registers, as they were at the start
  std::array<const void*, 32> a_at = {};           // where they are
  Accumulators* sums = nullptr;
  uint32_t number = 0;  // of the warp's products
  uint32_t group = 0;   // from 1 on
  bool done = false;
  int line = 0;
};

// A stretch of memory, as it was.
struct Image {
  const unsigned char* begin = nullptr;
  std::vector<unsigned char> bytes = {};

  bool holds(const void* at, size_t count) const {
    return at >= begin && static_cast<const unsigned char*>(at) + count <= begin + bytes.size();
  }
  bool differs(const void* at, size_t count) const;
};

struct WarpProducts {
  std::vector<WarpgroupProduct> products;  // that are not waited for
  std::vector<std::unique_ptr<Accumulators>> accumulators;
  uint32_t started = 0, committed = 0;  // products and groups
  bool fenced = false;                  // some wgmma.fence came
  std::array<Image, 32> at_fence;       // the stack of each lane at the last one, where accesses are watched
  uint32_t waiting = 0;                 // lanes, for other warps
  int column = -1;
};

// What the four warps of a warpgroup must agree in: their products in order.
struct WarpgroupOrder {
  struct Entry {
    device::sim::Product form = {};
    device::sim::WarpgroupOperands operands = {};
    bool a_in_registers = false;
    int warp = 0, line = 0;
  };
  std::vector<Entry> entries;
  uint32_t first = 0;  // the number of the first entry
};

// The bytes of element (row of m or n, k) of an operand behind a descriptor, as an address of shared memory.
struct OperandLayout {
  unsigned start = 0, leading = 0, stride = 0, span = 0, base_offset = 0;
  bool mn_major = false;
  unsigned bytes = 0;  // of an element

  OperandLayout(uint64_t descriptor, bool mn_major, unsigned bytes);
  unsigned at(unsigned row, unsigned k) const;
};

// sums [16, n] (+)= a [16, k] b [k, n] of one warp. Integers wrap around; floats are multiplied exactly and summed in
// f32 in order of k. `shared`: what addresses count from.
void multiply_rows(WarpgroupProduct& product, int warp, const unsigned char* shared);

}  // namespace tilewright::sim
