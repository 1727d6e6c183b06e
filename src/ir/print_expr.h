// The text of expressions and operands, one line each.
#pragma once

#include "ir/kernel.h"
#include "ir/var_names.h"

#include <string>

namespace tilewright::ir {

class ExprPrinter {
 public:
  // Without `with_ids` variables are plain names: for messages.
  explicit ExprPrinter(bool with_ids) : with_ids_(with_ids) {}

  // The kernel whose table tile ids refer to; null: loads use the names they carry.
  void enter(const Kernel* kernel) { kernel_ = kernel; }

  std::string text(const Expr& e) const { return text(e, 0); }
  // For places where a comparison would end the expression.
  std::string bound(const Expr& e) const;
  std::string list(const std::vector<Expr>& exprs) const;
  // "ko@3" or "x@5: f32"; the name means this variable from here on.
  std::string definition(const Expr& var);
  std::string tile(TileId id) const;
  std::string ref(const TileRef& ref) const;
  std::string range(const Expr& begin, const Expr& extent) const;
  std::string dim(const LoopDim& dim) const;

 private:
  std::string text(const Expr& e, int parent) const;
  std::string var(const Expr& e) const;
  std::string load(const Expr& e) const;
  std::string binary(const Expr& e, int parent) const;
  std::string function(const Expr& e) const;

  bool with_ids_;
  const Kernel* kernel_ = nullptr;
  VarNames names_;
};

std::string attrs_text(const Attrs& attrs);

}  // namespace tilewright::ir
