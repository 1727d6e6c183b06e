// Layouts and fragments as expressions.
#pragma once

#include "ir/bounds.h"
#include "ir/expr.h"
#include "layout/fragment.h"
#include "layout/layout.h"

#include <span>
#include <vector>

namespace tilewright::ir {

// The element offset of coordinates, which are 0 or more.
Expr layout_offset(const layout::Layout& layout, std::span<const Expr> at);
// The same where `facts` hold, as a sum whose addends are as simple as they allow.
Expr layout_offset(const layout::Layout& layout, std::span<const Expr> at, const Facts& facts);

// The part of each coordinate that the thread decides: sum of digit * stride over the thread modes.
std::vector<Expr> thread_coordinates(const layout::Fragment& fragment, const Expr& thread);
// True where the thread is replica 0; empty when every thread is.
Expr is_first_replica(const layout::Fragment& fragment, const Expr& thread);

}  // namespace tilewright::ir
