// Operations on layouts as functions of the linear index (see the laws in layout.h). Terms as in CuTe's layout algebra.
// Results have one mode a dimension unless said. Throws Error{invalid_kernel} where a result does not exist, because
// extents do not divide. Swizzles are only allowed where named.
#pragma once

#include "layout/layout.h"

#include <utility>

namespace tilewright::layout {

// One dimension with as few modes as possible; the swizzle is kept.
Layout coalesce(const Layout& layout);

// i -> A(B(i)), with the dimensions of B. A's swizzle becomes the result's; B has none. Where modes do not divide, a
// result is searched for inner layouts of up to 2^16 elements; larger ones are refused.
Layout compose(const Layout& a, const Layout& b);
// The swizzle after the layout's own.
Layout compose(const Swizzle& swizzle, const Layout& layout);

// The offsets where copies of A fill [0, cosize) without a gap; past it when the copies do not divide it: see L5. A's
// modes nest (sorted by stride, each stride is a multiple of what the smaller modes cover).
Layout complement(const Layout& a, int64_t cosize);

// Two dimensions: (i inside a tile B of A, which tile). divide(A, B) = compose(A, (B, complement(B, size A))).
Layout divide(const Layout& a, const Layout& b);
// Each dimension cut into tiles of `tile[d]` elements: the dimensions inside a tile, then those of the tiles.
Layout divide_each(const Layout& a, std::span<const int64_t> tile);

// Two dimensions: (i inside A, which copy). product(A, B) = (A, compose(complement(A, size A * cosize B), B)).
// A's swizzle becomes the result's.
Layout product(const Layout& a, const Layout& b);
// Copies of `block`, one after another in the order of `grid` (of the same rank): dimension d is block's, then grid's.
// tiled((8,64):(64,1)^(3,3,3), (4,2):(1,4)) is a 32 x 128 tile of swizzled 1 KiB blocks of 16-bit elements.
Layout tiled(const Layout& block, const Layout& grid);

// A(R(k)) = k for k < size R. For an injective A, no longer one exists.
Layout right_inverse(const Layout& a);
// L(A(i)) = i for an injective A.
Layout left_inverse(const Layout& a);

// Dimension d of the result is dimension order[d] of the layout.
Layout permute(const Layout& layout, std::span<const int> order);
// The dimensions of both.
Layout concat(const Layout& a, const Layout& b);
// Without dimension `dim`, and the offset of coordinate `at` along it.
std::pair<Layout, int64_t> slice(const Layout& layout, int dim, int64_t at);

}  // namespace tilewright::layout
