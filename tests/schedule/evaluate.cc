#include "schedule/evaluate.h"

#include <algorithm>
#include <stdexcept>

namespace tilewright::testing {

using ir::ExprKind;

int64_t Values::of(const ir::Expr& e) const {
  const auto arg = [&](size_t i) { return of(e.arg(i)); };
  switch (e.kind()) {
    case ExprKind::int_imm: return *e.as_int();
    case ExprKind::var: return vars.at(e.var_id());
    case ExprKind::load: return scalars.at(e.tile_id());
    case ExprKind::add: return arg(0) + arg(1);
    case ExprKind::sub: return arg(0) - arg(1);
    case ExprKind::mul: return arg(0) * arg(1);
    case ExprKind::floordiv: return ir::floordiv_value(arg(0), arg(1));
    case ExprKind::floormod: return ir::floormod_value(arg(0), arg(1));
    case ExprKind::min: return std::min(arg(0), arg(1));
    case ExprKind::max: return std::max(arg(0), arg(1));
    case ExprKind::eq: return arg(0) == arg(1);
    case ExprKind::ne: return arg(0) != arg(1);
    case ExprKind::lt: return arg(0) < arg(1);
    case ExprKind::le: return arg(0) <= arg(1);
    case ExprKind::select: return arg(0) ? arg(1) : arg(2);
    default: throw std::runtime_error("an expression that is not evaluated");
  }
}

}  // namespace tilewright::testing
