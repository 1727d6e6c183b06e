// print and device_assert.
#include "lang/convert.h"
#include "lang/open_builder.h"
#include "ops/report.h"

#include <algorithm>

namespace tilewright::lang {

void print(const Value& value, const std::string& message, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  if (value.number()) return b.append(ops::make_print(to_strong(*value.number()), message, b.kernel(loc), loc));
  const Operand& operand = *value.operand();
  const bool element = std::all_of(operand.subscripts.begin(), operand.subscripts.end(),
                                   [](const Subscript& s) { return s.kind == Subscript::Kind::index; });
  if (element && (!operand.subscripts.empty() || b.shape_of(operand.tile, loc).empty())) {
    const ir::Expr e = b.load(operand.tile, to_indices(operand.subscripts), loc);
    return b.append(ops::make_print(e, message, b.kernel(loc), loc));
  }
  const ops::Operand region = to_operand(operand);
  b.append(ops::make_print(region, message, b.kernel(loc), loc));
}

void print(const std::string& message, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  b.append(ops::make_print(ir::Expr(), message, b.kernel(loc), loc));
}

void device_assert(const Expr& condition, const std::string& message, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  b.append(ops::make_assert(to_condition(condition, loc), message, b.kernel(loc), loc));
}

}  // namespace tilewright::lang
