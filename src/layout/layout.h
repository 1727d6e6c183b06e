// Layouts: where the elements of a tile lie.
//
// A layout is a function from coordinates to element offsets. Each dimension is a list of *modes* extent:stride; a
// coordinate along the dimension is split into digits in mixed radix, the first mode fastest, and the offset is the sum
// of digit * stride over all modes. Any extents are possible, not only powers of two. Examples, as `(d0, d1)`:
//
//   (4,8):(8,1)            row-major 4 x 8:         (i, j) -> 8 i + j
//   (4,8):(1,4)            column-major 4 x 8:      (i, j) -> i + 4 j
//   (4,5):(8,1)            rows padded to 8:        (i, j) -> 8 i + j, offsets 5, 6, 7 of a row are not used
//   (3,(2,4)):(2,(1,6))    column panels of 2:      (i, j) -> 2 i + j % 2 + 6 (j / 2)
//
//        j=0  1 | 2  3 | 4  5 | 6  7
//   i=0    0  1 | 6  7 |12 13 |18 19
//   i=1    2  3 | 8  9 |14 15 |20 21        the panels of the last example: each is contiguous
//   i=2    4  5 |10 11 |16 17 |22 23
//
// A *linear index* numbers the coordinates with the first dimension (and its first mode) fastest, so that a layout is
// also a function of one integer in [0, size). In that view layouts compose: compose(A, B) is i -> A(B(i)), with the
// dimensions of B. Every third element of A = (6,2):(8,2), four of them, is
//
//   i            0   1   2   3
//   B = 4:3      0   3   6   9
//   A(B(i))      0  24   2  26        compose(A, B) = ((2,2)):((24,2))
//
// *Complement* is what a layout leaves out: copies of A at the offsets of complement(A, n) fill [0, n) without a gap
// and without an overlap. A = (2,2):(1,6) and C = complement(A, 24) = ((3,2)):((2,12)):
//
//   offset   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
//   copy     0  0  1  1  2  2  0  0  1  1  2  2  3  3  4  4  5  5  3  3  4  4  5  5      copy j starts at C(j)
//
// *Divide* and *product* follow. divide(A, B) sees A as tiles, each of the elements B of it: two dimensions, (inside a
// tile, which tile). product(A, B) repeats A: (inside A, which copy), the copies in the order of B. tiled(A, B) is the
// product with like dimensions joined, which is how a large tile is made of swizzled blocks.
//
// A *swizzle* (bits, base, shift) is applied to the offset at the very end: bits [base + shift, base + shift + bits)
// are XORed onto bits [base, base + bits). It moves the elements of a column to different memory banks and leaves
// vectors of 2^base elements whole. Four rows of four elements, (4,4):(4,1)^(2,0,2), where a column is spread over all
// of them:
//
//   i=0    0  1  2  3
//   i=1    5  4  7  6
//   i=2   10 11  8  9
//   i=3   15 14 13 12
//
// Coordinates past the end of a dimension go on with the stride of its last mode (a guard may look before it leaps).
// Extents are 0 or more, strides 0 or more; products and sums beyond 63 bits are refused, never wrapped.
//
// Laws, each a test of its name in tests/layout (over all small layouts, extents 0 and primes and strides 0 among
// them):
//   L1  size      size is the product of all extents, cosize one more than the largest offset (rounded up to whole
//                 blocks of 2^(base + bits) under a swizzle); with an extent 0 both are 0.
//   L2  linear    L(i) = L(coordinates(i)) for every linear index.
//   L3  coalesce  coalesce(L) equals L as a function of the linear index, and has no two modes that could be one.
//   L4  compose   compose(A, B)(i) = A(B(i)); compose(A, identity) = A; composition is associative. For B of up to 2^16
//                 elements it is refused only if B leaves A or no layout with the dimensions of B is that function.
//   L5  complement  with C = complement(A, n): the sums A(i) + C(j) are each number of [0, size A * size C) once, and
//                 those are at least n numbers; the strides of C ascend. It exists exactly when the modes of A nest.
//   L6  divide    divide(A, B)(i, j) = A(B(i)) for j = 0, and over all (i, j) it takes each A(i) exactly once.
//                 divide_each does that along each dimension.
//   L7  product   product(A, B)(i, 0) = A(i), and copies overlap only where B repeats itself.
//                 tiled(A, B) is the same function, with coordinate a + extent(A) * b along each dimension.
//   L8  inverse   A(right_inverse(A)(k)) = k for every k below the inverse's size. For an injective A no longer one
//                 exists, so for a compact A it is all of A. left_inverse(A)(A(i)) = i.
//   L9  permute   permute reorders coordinates; slice(concat(A, B), ...) gives A back.
//   L10 swizzle   a swizzle is its own inverse and permutes every aligned block of 2^(base + shift + bits) offsets;
//                 compose(S, T) is x -> S(T(x)).
//   L11 text      parse(to_string(L)) == L.
//   L12 run       contiguous_run(L, d) elements along d from a multiple of it lie side by side, at an aligned offset;
//                 without a swizzle no larger power of two that divides the extent does.
//   L13 width     vector_width elements from a coordinate lie side by side at an aligned offset; twice as many do not,
//                 or exceed the extent or the given maximum.
//   L14 banks     conflicts do not depend on the order of lanes in a phase, nor on a shift of all by whole bank rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::layout {

struct Mode {
  int64_t extent = 1;
  int64_t stride = 0;
  friend bool operator==(const Mode&, const Mode&) = default;
};
using Dim = std::vector<Mode>;  // first mode fastest

// XORs bits [base + shift, base + shift + bits) of an offset onto bits [base, base + bits), shift >= bits. bits 0: the
// identity. The hardware's 128-byte swizzle is (3, 4, 3) on bytes, so (3, 3, 3) on 16-bit and (3, 2, 3) on 32-bit
// elements.
struct Swizzle {
  int bits = 0;
  int base = 0;
  int shift = 0;

  int64_t operator()(int64_t offset) const;
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};

// outer(inner(x)). Throws Error{invalid_kernel} where that is no swizzle.
Swizzle compose(const Swizzle& outer, const Swizzle& inner);

class Layout {
 public:
  Layout() = default;
  // Throws Error{invalid_kernel} for a negative extent or stride, or when size or cosize does not fit 63 bits.
  explicit Layout(std::vector<Dim> dims, Swizzle swizzle = {});

  int rank() const { return int(dims_.size()); }
  const std::vector<Dim>& dims() const { return dims_; }
  const Swizzle& swizzle() const { return swizzle_; }
  const Dim& dim(int d) const;
  int64_t extent(int d) const;
  std::vector<int64_t> shape() const;
  int64_t size() const;
  // One more than the largest offset: the elements of storage it needs. A swizzle counts with its whole blocks.
  int64_t cosize() const;

  // Coordinates are 0 or more, one for each dimension.
  int64_t operator()(std::span<const int64_t> coordinates) const;
  int64_t operator()(std::initializer_list<int64_t> coordinates) const;
  int64_t at(int64_t linear) const;
  std::vector<int64_t> coordinates(int64_t linear) const;
  // All modes, dimension after dimension.
  std::vector<Mode> modes() const;
  Layout with_swizzle(Swizzle swizzle) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::vector<Dim> dims_;
  Swizzle swizzle_;
};

// ---- making layouts ----
Layout strided(std::span<const int64_t> extents, std::span<const int64_t> strides);
Layout row_major(std::span<const int64_t> extents);
Layout column_major(std::span<const int64_t> extents);
// Row-major with `leading_dimension` elements between rows of the last dimension.
Layout padded_row_major(std::span<const int64_t> extents, int64_t leading_dimension);
// [rows, cols] as panels of `width` columns, each row-major and contiguous; cols is a multiple of width.
Layout column_panels(int64_t rows, int64_t cols, int64_t width);

// The last two of the extents as panels of `span_bytes` (32, 64 or 128) a row, each contiguous, the 16-byte pieces of
// a row exchanged by the row's number: eight rows that follow each other begin in different memory banks. These are
// the swizzles of the hardware (PTX ISA 5.5.7). Rows are multiples of the span.
Layout swizzled_panels(std::span<const int64_t> extents, int64_t elem_bytes, int64_t span_bytes);
// The widest of 128, 64 and 32 bytes that divides the rows; 0: none does, or elements have more than 16 bytes.
int64_t widest_span_bytes(std::span<const int64_t> extents, int64_t elem_bytes);
// Copies of a layout as a new first dimension, `elem_bytes` the size of an element: each begins at a multiple of 128
// bytes and of what the swizzle permutes, so that all of them look alike.
Layout staged(const Layout& layout, int64_t num_stages, int64_t elem_bytes);

// ---- facts ----
// The stride of a dimension that is one mode (or of extent 1 or 0); throws for several modes.
int64_t stride_of(const Layout& layout, size_t dim);
// Bounded enumeration: throws Error{internal} for more than 2^24 elements.
bool is_injective(const Layout& layout);
// Injective, and the offsets are exactly [0, size).
bool is_compact(const Layout& layout);
bool same_function(const Layout& a, const Layout& b);  // of the linear index
// The largest power of two such that groups of that many elements along `dim`, from its multiples, are adjacent and
// aligned in memory, wherever the other coordinates are. It divides the extent, and 2^base under a swizzle.
int64_t contiguous_run(const Layout& layout, int dim);
// The largest power of two, at most `max_elems` and inside the extent, such that as many elements from `coordinates` on
// along `dim` are adjacent and aligned in memory: the widest vector that may be moved there.
int64_t vector_width(const Layout& layout, int dim, std::span<const int64_t> coordinates, int64_t max_elems);

// The clocks of the slowest phase of a warp's shared-memory access, one vector of `access_bytes` (1, 2, 4, 8 or 16) for
// each active lane: 1 means no conflict, n an n-way conflict. There are 32 banks of 4 bytes, each gives one word a
// clock, and lanes that want one word share it. Accesses of 8 and 16 bytes are served in phases of 16 and 8 lanes.
int bank_conflict_ways(std::span<const int64_t> byte_offsets, int access_bytes);
// The same for lanes that access the vectors from `lane_coordinates` on.
int bank_conflict_ways(const Layout& layout, std::span<const std::vector<int64_t>> lane_coordinates, int elem_bytes,
                       int access_bytes);

// ---- text ----
std::string to_string(const Layout& layout);  // "(4,(2,4)):(2,(1,8))", with "^(bits,base,shift)" for a swizzle
// The same notation, and 8:1 for (8):(1). Throws Error{invalid_kernel} with the column of the mistake.
Layout parse(std::string_view text);

}  // namespace tilewright::layout
