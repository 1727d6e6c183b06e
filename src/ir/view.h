// Views: rows that name the storage of another tile or tensor by another shape or dtype.
//
// Storage is row-major and without gaps; a view of n bits names exactly the n bits of its root, in the same order.
// Every view is of a root, never of a view.
#pragma once

#include "ir/kernel.h"

#include <span>
#include <string_view>

namespace tilewright::ir {

// Whether the two take the same number of bits: known now, or only when the extents are.
enum class SameBits : uint8_t { no, yes, at_launch };
SameBits same_bits(DType a_dtype, std::span<const Expr> a, DType b_dtype, std::span<const Expr> b);

// Throws where `view` certainly has other bits than `root`. `word` begins the message: "reshape".
void check_view_bits(std::string_view word, const Tile& root, DType dtype, std::span<const Expr> shape, const Loc& loc);

// True when the elements certainly lie in row-major order without gaps.
bool is_contiguous(const Tensor& tensor);

// The rows that are views, and what they are views of; shapes and tensor rows are checked before.
void verify_tensor_views(const Program& program);
void verify_tile_views(const Program& program, const Kernel& kernel);

}  // namespace tilewright::ir
