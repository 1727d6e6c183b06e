// Fragments: which thread holds which element of a tile, and in which of its registers.
//
// A fragment is a function (thread, register) -> coordinates of an element, or *void* where the coordinates lie outside
// the tile. Thread and register are split into digits in mixed radix, the first mode fastest; each mode adds
// digit * stride to one dimension, or to none: then it is a *replica* mode, whose threads hold the same elements. Any
// extents are possible. The accumulator of one mma.sync m16n8 (PTX ISA, "Matrix fragments for mma.m16n8k16"), lane
// l = 4 g + c holding C[g, 2c], C[g, 2c + 1], C[g + 8, 2c], C[g + 8, 2c + 1]:
//
//   threads  4:(d1,2)  8:(d0,1)          c moves by two columns, g by one row
//   regs     2:(d1,1)  2:(d0,8)
//   text     [16,8] threads(4:d1*2,8:d0*1) regs(2:d1*1,2:d0*8)
//
//           j=0   1    2   3   4   5   6   7
//   i=0    t0.0 t0.1 t1.0 t1.1 t2.0 t2.1 t3.0 t3.1
//   i=1    t4.0 t4.1 ...
//   i=8    t0.2 t0.3 t1.2 ...
//
// The maximum of each row, reduced over the columns, leaves its threads(4:-,8:d0*1) regs(2:d0*8): the four lanes of a
// row all know the result. `reduced` computes that; `replica 0` is the owner that stores.
//
// Threads count from 0 inside the set of warps that executes the operation.
//
// Laws, each a test of its name in tests/layout:
//   F1 owners    owners(x) are exactly the (thread, register) with coordinates(thread, register) = x.
//   F2 complete  is_complete says that each element of the tile has an owner.
//   F3 unique    where is_unique holds, no thread holds an element twice and no two threads with replica 0 share one.
//   F4 reduced   reduced(F, d) at (t, r) is the coordinates of F at (t, r') without d, for the registers r' of r.
//   F5 contains  contains(A, B): the threads that hold an element in B also hold it in A.
//   F6 text      parse_fragment(to_string(F)) == F.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::layout {

// One digit of a thread or register number.
struct FragmentMode {
  int64_t extent = 1;
  int dim = -1;  // of the tile; -1: a replica
  int64_t stride = 0;
  friend bool operator==(const FragmentMode&, const FragmentMode&) = default;
};

struct Owner {
  int64_t thread = 0;
  int64_t reg = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};

class Fragment {
 public:
  Fragment() = default;
  // Throws Error{invalid_kernel} for an extent below 1, a negative stride, a dimension outside the shape, or a replica
  // mode among the registers.
  Fragment(std::vector<int64_t> shape, std::vector<FragmentMode> threads, std::vector<FragmentMode> regs);

  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<FragmentMode>& thread_modes() const { return threads_; }
  const std::vector<FragmentMode>& reg_modes() const { return regs_; }
  int rank() const { return int(shape_.size()); }
  int64_t num_threads() const;
  int64_t num_regs() const;  // of one thread, voids included

  // nullopt: void.
  std::optional<std::vector<int64_t>> coordinates(int64_t thread, int64_t reg) const;
  // The number of the thread among those that hold the same elements: 0 is the one that stores.
  int64_t replica(int64_t thread) const;
  bool has_replicas() const;
  // Some (thread, register) is void.
  bool has_voids() const;

  friend bool operator==(const Fragment&, const Fragment&) = default;

 private:
  std::vector<int64_t> shape_;
  std::vector<FragmentMode> threads_, regs_;
};

// ---- facts, by bounded enumeration: throw Error{internal} for more than 2^24 (thread, register) pairs ----
std::vector<Owner> owners(const Fragment& fragment, std::span<const int64_t> element);
bool is_complete(const Fragment& fragment);
bool is_unique(const Fragment& fragment);
// For every element, the threads that own it in `b` are among those that own it in `a`.
bool contains(const Fragment& a, const Fragment& b);

// The same function with as few modes as possible. What has one result is one function.
Fragment coalesced(const Fragment& fragment);

// ---- making fragments ----
// The result of reducing `dim`: thread modes along it become replicas, register modes along it vanish.
Fragment reduced(const Fragment& fragment, int dim, bool keep_dim = false);
// `num_threads` threads over the elements in row-major order, `vector` adjacent ones each, again and again.
Fragment flat(std::span<const int64_t> shape, int64_t num_threads, int64_t vector);
// A matrix whose rows are held by `lanes` neighbouring threads each, so that a row is reduced inside a warp.
Fragment row_aligned(int64_t rows, int64_t cols, int64_t num_threads, int64_t lanes, int64_t vector);
// C of mma.sync m16n8k*: warps_m x warps_n warps (the first along m), each ceil(m / warps_m / 16) x
// ceil(n / warps_n / 8) instructions of adjacent elements. PTX ISA 9.7.15.5.
Fragment mma_accumulator(int64_t m, int64_t n, int64_t warps_m, int64_t warps_n);
// C of wgmma m64nNk*: groups_m x groups_n warpgroups; each holds ceil(m / groups_m / 64) instructions along m and
// ceil(n / groups_n / 8) * 8 columns. PTX ISA 9.7.16.5.
Fragment wgmma_accumulator(int64_t m, int64_t n, int64_t groups_m, int64_t groups_n);

// ---- text ----
std::string to_string(const Fragment& fragment);
// Throws Error{invalid_kernel} with the column of the mistake.
Fragment parse_fragment(std::string_view text);

}  // namespace tilewright::layout
