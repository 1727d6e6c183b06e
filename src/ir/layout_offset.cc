#include "ir/layout_offset.h"

namespace tilewright::ir {

namespace {

// Digit of `value` in mixed radix: value / scale % extent; the last digit of a number needs no %.
Expr digit(const Expr& value, int64_t scale, int64_t extent, bool last) {
  const Expr shifted = scale == 1 ? value : floordiv(value, scale);
  return last ? shifted : floormod(shifted, extent);
}

Expr swizzled(const Expr& offset, const layout::Swizzle& swizzle) {
  if (swizzle.bits == 0) return offset;
  const int64_t mask = (int64_t(1) << swizzle.bits) - 1;
  const Expr row = floordiv(offset, int64_t(1) << (swizzle.base + swizzle.shift));
  const Expr bits = binary(ExprKind::bit_and, row, int_imm(mask)) * (int64_t(1) << swizzle.base);
  return binary(ExprKind::bit_xor, offset, bits);
}

}  // namespace

Expr layout_offset(const layout::Layout& layout, std::span<const Expr> at) {
  Expr sum = int_imm(0);
  for (size_t d = 0; d < at.size(); ++d) {
    const layout::Dim& dim = layout.dims()[d];
    int64_t scale = 1;
    for (size_t m = 0; m < dim.size(); ++m) {
      sum = sum + digit(at[d], scale, dim[m].extent, m + 1 == dim.size()) * dim[m].stride;
      scale *= dim[m].extent;
    }
  }
  return swizzled(sum, layout.swizzle());
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
