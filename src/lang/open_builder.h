// What the files behind <tilewright/language.h> share: the open builder, positions, and the author's operands in the
// IR's form.
#pragma once

#include <tilewright/language.h>

#include "lang/builder.h"

#include <vector>

namespace tilewright::lang {

Loc to_loc(SourcePos pos);
Loc loc_of(const std::vector<Subscript>& subscripts);

// The builder of the program that is being built; throws where there is none.
Builder& builder(SourcePos pos = {.file = "", .line = 0});
// a - b, of expressions of the program that is being built.
ir::Expr checked_difference(const ir::Expr& a, const ir::Expr& b, const Loc& loc);

std::vector<ir::Expr> to_extents(const std::vector<Expr>& extents, const Loc& loc);
// What a loop over a range opens: `start`, `start + step`, ... while before `stop` (after it for a negative step).
detail::LoopSpec range_spec(detail::LoopKindTag kind, const Expr& start, const Expr& stop, int64_t step,
                            std::vector<detail::LoopOption> options, SourcePos pos);
// Indices that read tiles are bound before the operation.
ops::Operand to_operand(const Operand& operand);
// Of an element; throws where a subscript is a slice.
std::vector<ir::Expr> to_indices(const std::vector<Subscript>& subscripts);

}  // namespace tilewright::lang
