#include "ir/kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::ir {

namespace {

bool equal_tiles(const Tile& a, const Tile& b) {
  return a.name == b.name && a.space == b.space && a.dtype == b.dtype && equal(a.shape, b.shape) &&
         a.tensor == b.tensor && same_double(a.safe_value, b.safe_value) && a.layout == b.layout &&
         a.fragment == b.fragment && a.annotated.has_value() == b.annotated.has_value() && a.stages == b.stages &&
         a.view_of == b.view_of && a.packed == b.packed && a.unchecked == b.unchecked && a.origin == b.origin;
}

bool equal_vars(const Expr& a, const Expr& b) { return a && b ? equal(a, b) : !a && !b; }

bool equal_kernels(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.threads == b.threads && a.thread_extents == b.thread_extents &&
         equal_vars(a.thread_var, b.thread_var) && equal(a.grid, b.grid) && equal(a.block_vars, b.block_vars) &&
         std::equal(a.tiles.begin(), a.tiles.end(), b.tiles.begin(), b.tiles.end(), equal_tiles) && a.maps == b.maps &&
         a.roles == b.roles && a.channels == b.channels && equal(a.body, b.body);
}

bool equal_tensors(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.kind == b.kind && a.view_of == b.view_of &&
         equal(a.shape, b.shape) && equal(a.strides, b.strides);
}

bool equal_scalars(const Scalar& a, const Scalar& b) { return a.kind == b.kind && equal(a.var, b.var); }

}  // namespace

std::string Kernel::fresh_tile_name(std::string_view stem) const {
  std::string fresh = fmt::format("{}_{}", stem, tiles.size());
  while (std::any_of(tiles.begin(), tiles.end(), [&](const Tile& t) { return t.name == fresh; })) fresh += "_";
  return fresh;
}

std::vector<Expr> strides_of(const Tensor& tensor) {
  if (!tensor.strides.empty()) return tensor.strides;
  std::vector<Expr> strides(tensor.shape.size(), int_imm(1));
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * tensor.shape[d];
  return strides;
}

bool equal(const Program& a, const Program& b) {
  return a.name == b.name && a.next_var == b.next_var && a.params == b.params &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), equal_tensors) &&
         std::equal(a.scalars.begin(), a.scalars.end(), b.scalars.begin(), b.scalars.end(), equal_scalars) &&
         std::equal(a.kernels.begin(), a.kernels.end(), b.kernels.begin(), b.kernels.end(), equal_kernels);
}

}  // namespace tilewright::ir
