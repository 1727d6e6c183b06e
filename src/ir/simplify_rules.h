// The rules of simplify on one node whose operands are simplified already. Each returns `e` itself when it does not
// apply. A result may hold parts that simplify further.
#pragma once

#include "ir/bounds.h"

#include <algorithm>

namespace tilewright::ir {

// Nodes of `e`, shared ones counted each time, up to 1000.
inline int num_nodes(const Expr& e) { return std::min(e->size, 1000); }

Expr simplify_sum(const Expr& e, const Facts& facts);       // add, sub, mul of integers
Expr simplify_division(const Expr& e, const Facts& facts);  // floordiv, floormod
Expr simplify_comparison(const Expr& e, const Facts& facts);
Expr simplify_min_max(const Expr& e, const Facts& facts);
Expr simplify_not(const Expr& e);
Expr simplify_bits(const Expr& e, const Facts& facts);
Expr simplify_cast(const Expr& e, const Facts& facts);
Expr simplify_call(const Expr& e, const Facts& facts);  // of functions on integers
Expr simplify_select(const Expr& e);

}  // namespace tilewright::ir
