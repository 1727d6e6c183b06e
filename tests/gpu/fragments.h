// Which element of a matrix each lane holds, as the PTX manual's figures show it, and fragments packed so.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tilewright::test {

// (thread, element of its fragment) -> (row, column).
using FragmentMap = std::function<std::pair<int, int>(int thread, int element)>;

struct FragmentShape {
  int threads, elements, bits;
  FragmentMap map;
  int registers() const { return elements * bits / 32; }
};

// ---- mma.sync: figures of "Matrix Fragments for mma.m16n8k16 with floating point type" and its siblings. The manual
// names groupID = lane / 4 and threadID_in_group = lane % 4 ----

inline std::pair<int, int> mma_accumulator(int lane, int i) {
  const int group = lane / 4, in_group = lane % 4;
  return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
}
inline std::pair<int, int> mma_a_k16_16bit(int lane, int i) {
  const int group = lane / 4, in_group = lane % 4;
  const bool upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
  return {upper ? group : group + 8, in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
inline std::pair<int, int> mma_a_k8_16bit(int lane, int i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
}
inline std::pair<int, int> mma_b_16bit(int lane, int i) { return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4}; }
inline std::pair<int, int> mma_a_k8_tf32(int lane, int i) {
  const int group = lane / 4, in_group = lane % 4;
  return {i == 0 || i == 2 ? group : group + 8, i < 2 ? in_group : in_group + 4};
}
inline std::pair<int, int> mma_b_k8_tf32(int lane, int i) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane / 4}; }
inline std::pair<int, int> mma_a_k32_8bit(int lane, int i) {
  const int group = lane / 4, in_group = lane % 4;
  const bool upper = (i >= 0 && i < 4) || (i >= 8 && i < 12);
  return {upper ? group : group + 8, in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
inline std::pair<int, int> mma_b_k32_8bit(int lane, int i) {
  return {lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane / 4};
}
inline std::pair<int, int> mma_a_k16_8bit(int lane, int i) {
  return {i < 4 ? lane / 4 : lane / 4 + 8, lane % 4 * 4 + (i & 3)};
}
inline std::pair<int, int> mma_a_f64(int lane, int) { return {lane / 4, lane % 4}; }
inline std::pair<int, int> mma_b_f64(int lane, int) { return {lane % 4, lane / 4}; }
inline std::pair<int, int> mma_accumulator_f64(int lane, int i) { return {lane / 4, lane % 4 * 2 + i}; }

// ---- wgmma: each of the four warps holds 16 rows, in the forms above; 8 columns of D follow 8 others ----

inline std::pair<int, int> wgmma_accumulator(int thread, int i) {
  const auto [row, column] = mma_accumulator(thread % 32, i % 4);
  return {thread / 32 * 16 + row, i / 4 * 8 + column};
}
inline FragmentMap in_warpgroup(FragmentMap of_warp) {
  return [of_warp](int thread, int i) {
    const auto [row, column] = of_warp(thread % 32, i);
    return std::pair(thread / 32 * 16 + row, column);
  };
}

// The registers of all threads, thread by thread; `bits_at(row, column)` gives an element's bits.
inline std::vector<uint32_t> pack(const FragmentShape& shape, const std::function<uint32_t(int, int)>& bits_at) {
  std::vector<uint32_t> out(size_t(shape.threads * shape.registers()), 0);
  for (int t = 0; t < shape.threads; ++t) {
    for (int i = 0; i < shape.elements; ++i) {
      const auto [row, column] = shape.map(t, i);
      const int bit = i * shape.bits;
      out[size_t(t * shape.registers() + bit / 32)] |= bits_at(row, column) << bit % 32;
    }
  }
  return out;
}

// Calls `visit(row, column, bits)` for each element of the registers of all threads.
inline void unpack(const FragmentShape& shape, const std::vector<uint32_t>& registers,
                   const std::function<void(int, int, uint32_t)>& visit) {
  for (int t = 0; t < shape.threads; ++t) {
    for (int i = 0; i < shape.elements; ++i) {
      const auto [row, column] = shape.map(t, i);
      const int bit = i * shape.bits;
      const uint32_t word = registers[size_t(t * shape.registers() + bit / 32)] >> bit % 32;
      visit(row, column, shape.bits == 32 ? word : word & ((1u << shape.bits) - 1));
    }
  }
}

}  // namespace tilewright::test
