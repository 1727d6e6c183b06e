#include "ir/layout_offset.h"

#include "ir/simplify.h"

namespace tilewright::ir {

namespace {

// Digit of `value` in mixed radix: value / scale % extent; the last digit of a number needs no %.
Expr digit(const Expr& value, int64_t scale, int64_t extent, bool last) {
  const Expr shifted = scale == 1 ? value : floordiv(value, scale);
  return last ? shifted : floormod(shifted, extent);
}

Expr xor_of_rows(const Expr& offset, const Expr& row, const layout::Swizzle& swizzle) {
  const int64_t mask = (int64_t(1) << swizzle.bits) - 1;
  const Expr bits = binary(ExprKind::bit_and, row, int_imm(mask)) * (int64_t(1) << swizzle.base);
  return binary(ExprKind::bit_xor, offset, bits);
}

Expr swizzled(const Expr& offset, const layout::Swizzle& swizzle) {
  if (swizzle.bits == 0) return offset;
  return xor_of_rows(offset, floordiv(offset, int64_t(1) << (swizzle.base + swizzle.shift)), swizzle);
}

// The same where addends are known to leave the swizzled bits alone: whole periods stay outside, and so do whole rows
// if what remains is within one.
Expr swizzled(const Expr& offset, const layout::Swizzle& swizzle, const Facts& facts) {
  if (swizzle.bits == 0) return offset;
  const int64_t row_elems = int64_t(1) << (swizzle.base + swizzle.shift), period = row_elems << swizzle.bits;
  const LinearForm form = linear_form(offset);
  LinearForm periods, rows, columns;
  periods.constant = form.constant / period * period;
  columns.constant = form.constant - periods.constant;
  for (const LinearTerm& t : form.terms) {
    const int64_t divisor = known_divisor(to_expr({.terms = {t}, .constant = 0}), facts);
    (divisor % period == 0 ? periods : divisor % row_elems == 0 ? rows : columns).terms.push_back(t);
  }
  const Expr column = to_expr(columns), row = to_expr(rows);
  if (swizzle.shift >= swizzle.bits && bounds(column, facts).within(0, row_elems - 1)) {
    return to_expr(periods) + row + simplify(xor_of_rows(column, floordiv(row, row_elems), swizzle), facts);
  }
  return to_expr(periods) + simplify(swizzled(row + column, swizzle), facts);
}

Expr linear_offset(const layout::Layout& layout, std::span<const Expr> at) {
  Expr sum = int_imm(0);
  for (size_t d = 0; d < at.size(); ++d) {
    const layout::Dim& dim = layout.dims()[d];
    int64_t scale = 1;
    for (size_t m = 0; m < dim.size(); ++m) {
      sum = sum + digit(at[d], scale, dim[m].extent, m + 1 == dim.size()) * dim[m].stride;
      scale *= dim[m].extent;
    }
  }
  return sum;
}

}  // namespace

Expr layout_offset(const layout::Layout& layout, std::span<const Expr> at) {
  return swizzled(linear_offset(layout, at), layout.swizzle());
}

Expr layout_offset(const layout::Layout& layout, std::span<const Expr> at, const Facts& facts) {
  return swizzled(simplify(linear_offset(layout, at), facts), layout.swizzle(), facts);
}

std::vector<Expr> thread_coordinates(const layout::Fragment& fragment, const Expr& thread) {
  std::vector<Expr> at(fragment.shape().size(), int_imm(0));
  int64_t scale = 1;
  const auto& modes = fragment.thread_modes();
  for (size_t m = 0; m < modes.size(); ++m) {
    if (modes[m].dim >= 0 && modes[m].stride > 0) {
      Expr& c = at[size_t(modes[m].dim)];
      c = c + digit(thread, scale, modes[m].extent, m + 1 == modes.size()) * modes[m].stride;
    }
    scale *= modes[m].extent;
  }
  return at;
}

Expr is_first_replica(const layout::Fragment& fragment, const Expr& thread) {
  Expr out;
  int64_t scale = 1;
  const auto& modes = fragment.thread_modes();
  for (size_t m = 0; m < modes.size(); ++m) {
    if ((modes[m].dim < 0 || modes[m].stride == 0) && modes[m].extent > 1) {
      const Expr first = binary(ExprKind::eq, digit(thread, scale, modes[m].extent, m + 1 == modes.size()), int_imm(0));
      out = out ? logical_and(out, first) : first;
    }
    scale *= modes[m].extent;
  }
  return out;
}

}  // namespace tilewright::ir
