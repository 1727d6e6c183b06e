// From functions that are written down, coordinate by coordinate, to layouts and fragments.
#pragma once

#include "layout/fragment.h"
#include "layout/layout.h"

#include <functional>
#include <optional>

namespace tilewright::layout {

// The most elements, or threads times registers, of what is fitted; more is refused as Error{unsupported}.
inline constexpr int64_t kMaxFitted = int64_t(1) << 20;

// The offset of the element at some coordinates; 0 or more.
using OffsetFunction = std::function<int64_t(std::span<const int64_t>)>;
// Modes for each dimension, and a swizzle where it needs one, that are this function of coordinates below `extents`;
// nothing where none are. Each element is compared.
std::optional<Layout> fit_layout(const std::vector<int64_t>& extents, const OffsetFunction& offset_of);

// Who holds the element at some coordinates, for each number of a replica below `num_replicas`.
using OwnerFunction = std::function<Owner(std::span<const int64_t>, int64_t replica)>;
// The fragment that is this function, of `num_threads` threads, or as many as it names where that is 0; nothing where
// none is. Throws Error{invalid_kernel} where two elements share a register, or an owner is no thread.
std::optional<Fragment> fit_fragment(const std::vector<int64_t>& extents, int64_t num_replicas, int64_t num_threads,
                                     const OwnerFunction& owner_of);

}  // namespace tilewright::layout
