// Integer expressions with given variables and scalar tiles; others throw std::out_of_range.
#pragma once

#include "ir/expr.h"

#include <map>

namespace tilewright::testing {

struct Values {
  std::map<ir::VarId, int64_t> vars;
  std::map<ir::TileId, int64_t> scalars;

  int64_t of(const ir::Expr& e) const;
};

}  // namespace tilewright::testing
