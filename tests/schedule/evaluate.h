// Integer expressions with given variables and scalar tiles.
#pragma once

#include "ir/expr.h"

#include <map>

namespace tilewright::testing {

struct Values {
  std::map<ir::VarId, int64_t> vars;
  std::map<ir::TileId, int64_t> scalars;  // others are 0

  int64_t of(const ir::Expr& e) const;
};

}  // namespace tilewright::testing
