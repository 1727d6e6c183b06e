// Between the language's expressions, where C++ numbers have no dtype yet, and the IR's.
#pragma once

#include <tilewright/language.h>

#include "ir/expr.h"

namespace tilewright::lang {

Expr from_ir(const ir::Expr& e);
// The IR form; a literal takes the default dtype of its kind (i64 or f32).
ir::Expr to_strong(const Expr& e);
// As `dtype`: literals must be representable if integers; other expressions are cast.
ir::Expr to_dtype(const Expr& e, DType dtype, const Loc& loc);
// As an index; `what` names it in the error for a float.
ir::Expr to_index(const Expr& e, const char* what, const Loc& loc);
ir::Expr to_condition(const Expr& e, const Loc& loc);
// a - b, where equal terms cancel: the extent of the slice (x, x + 32) is 32.
ir::Expr difference(const ir::Expr& a, const ir::Expr& b);

}  // namespace tilewright::lang
