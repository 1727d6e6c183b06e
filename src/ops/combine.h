// What reductions and scans share: how elements are combined, which dtypes go into which, and their common attributes.
#pragma once

#include "ir/op.h"

#include <optional>
#include <span>
#include <string_view>

namespace tilewright::ops {

// An associative and commutative operation: add, mul, min, max, bit_and, bit_or or bit_xor.
struct Combine {
  ir::ExprKind kind;
  bool of_abs = false;  // elements are made positive before, so that 0 changes nothing in their maximum
};
constexpr bool is_order(const Combine& c) { return c.kind == ir::ExprKind::min || c.kind == ir::ExprKind::max; }

enum class Elements : uint8_t {
  numbers,  // floats into floats, integers and booleans into integers
  bits,     // integers into integers, booleans into booleans
  truths,   // any dtype into booleans: an element counts as true when it is not 0
};

// The dtype in which elements are combined unless the author asks for another: for floats the widest of source, result
// and f32, otherwise the result's.
DType default_accumulate(DType from, DType to);

// Throws where elements of src's dtype do not go into dst.
void verify_elements(std::string_view op, Elements rule, const ir::TileRef& src, const ir::TileRef& dst,
                     const ir::Kernel& kernel, const Loc& loc);

// 0 <= dim < rank of `ref`; throws otherwise, naming `written`, which is what the author wrote.
void verify_dim(std::string_view op, int64_t dim, int64_t written, const ir::TileRef& ref, const ir::Kernel& kernel,
                const Loc& loc);

enum class AttrType : uint8_t { boolean, integer, dtype };
struct AttrRule {
  std::string_view name;
  AttrType type;
};
// Throws at an attribute that is not among `rules`, or not of its type.
void verify_attrs(const ir::OpStmt& op, std::span<const AttrRule> rules, const Loc& loc);

// nan_propagate and accumulate, of reductions and scans.
struct CombineAttrs {
  bool nan_propagate = false;       // min and max: a NaN element makes the result NaN, instead of being ignored
  std::optional<DType> accumulate;  // empty: default_accumulate

  static CombineAttrs from(const ir::Attrs& attrs);
  void append_to(ir::Attrs& attrs) const;
  // Throws where an option does not fit the operation or the dtype of the result.
  void verify(std::string_view op, const Combine& combine, const ir::TileRef& dst, const ir::Kernel& kernel,
              const Loc& loc) const;
};

// A scalar of the expansion in which elements are combined.
class Accumulator {
 public:
  Accumulator(const Combine& combine, DType dtype, bool nan_propagate, ir::ExpandContext& context,
              std::string_view origin, const Loc& loc);

  DType dtype() const { return dtype_; }
  ir::Expr value() const;
  // The statement that sets it to the identity.
  ir::Stmt reset() const;
  // Appends what combines it with `x`, of its dtype.
  void take(const ir::Expr& x, ir::Block& out);
  // combine(x, value()); appends what has to be computed before.
  ir::Expr combined_with(const ir::Expr& x, ir::Block& out);

 private:
  ir::Stmt set(ir::Expr value) const;
  ir::Expr combine(const ir::Expr& a, const ir::Expr& b) const;

  Combine combine_;
  DType dtype_;
  bool nan_propagate_;
  ir::ExpandContext& context_;
  ir::TileId tile_;
  Loc loc_;
};

}  // namespace tilewright::ops
