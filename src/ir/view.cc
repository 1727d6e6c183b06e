#include "ir/view.h"

#include "ir/print.h"
#include "ir/simplify.h"
#include "ir/verify_parts.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright::ir {

namespace {

// Nothing where an extent is not known or the number does not fit.
std::optional<int64_t> num_bits(DType dtype, std::span<const Expr> shape) {
  int64_t bits = bits_of(dtype);
  bool known = true;
  for (const Expr& e : shape) {
    if (e.is_int(0)) return 0;
    known = known && e.as_int() && !__builtin_mul_overflow(bits, *e.as_int(), &bits);
  }
  return known ? std::optional(bits) : std::nullopt;
}

Expr bits_expr(DType dtype, std::span<const Expr> shape) {
  Expr bits = int_imm(bits_of(dtype));
  for (const Expr& e : shape) bits = bits * e;
  return bits;
}

std::string shape_text(DType dtype, std::span<const Expr> shape) {
  std::string out = fmt::format("{}[", to_string(dtype));
  for (size_t d = 0; d < shape.size(); ++d) out += (d ? ", " : "") + print(shape[d]);
  return out + "]";
}

bool is_constant(std::span<const Expr> shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Expr& e) { return e.as_int().has_value(); });
}

std::string bits_text(DType dtype, std::span<const Expr> shape) {
  const std::optional<int64_t> bits = num_bits(dtype, shape);
  if (!bits && is_constant(shape)) return "more than 2^63";
  return bits ? fmt::format("{}", *bits) : print(simplify(bits_expr(dtype, shape), Facts()));
}

}  // namespace

SameBits same_bits(DType a_dtype, std::span<const Expr> a, DType b_dtype, std::span<const Expr> b) {
  const std::optional<int64_t> m = num_bits(a_dtype, a), n = num_bits(b_dtype, b);
  // Numbers that do not fit agree with nothing: wrapped, they might seem to.
  if (is_constant(a) && is_constant(b)) return m && n && *m == *n ? SameBits::yes : SameBits::no;
  const Expr difference = simplify(bits_expr(a_dtype, a) - bits_expr(b_dtype, b), Facts());
  if (!difference.as_int()) return SameBits::at_launch;
  return *difference.as_int() == 0 ? SameBits::yes : SameBits::no;
}

void check_view_bits(std::string_view word, const Tile& root, DType dtype, std::span<const Expr> shape,
                     const Loc& loc) {
  if (same_bits(root.dtype, root.shape, dtype, shape) != SameBits::no) return;
  throw note_tile(invalid_kernel(loc, "{}: {} has {} bits but {} has {}", word, root.name,
                                 bits_text(root.dtype, root.shape), shape_text(dtype, shape), bits_text(dtype, shape))
                      .hint("a view names the same bits: the product of its extents and the bits of its dtype stay"),
                  root);
}

bool is_contiguous(const Tensor& tensor) {
  if (tensor.strides.empty()) return true;
  Tensor plain = tensor;
  plain.strides.clear();
  const std::vector<Expr> wanted = strides_of(plain);
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (tensor.shape[d].is_int(1)) continue;
    if (!simplify(tensor.strides[d] - wanted[d], Facts()).is_int(0)) return false;
  }
  return true;
}

namespace {

void verify_tensor_view(const Program& program, size_t row) {
  const Tensor& tensor = program.tensors[row];
  const int64_t root = tensor.view_of;
  if (tensor.kind != TensorKind::view) {
    if (root == -1) return;
    throw invalid_kernel(tensor.loc, "tensor {} is no view but names tensor {}", tensor.name, root)
        .hint("only views are of another tensor");
  }
  if (root < 0 || root >= int64_t(row) || program.tensors[size_t(root)].kind == TensorKind::view) {
    throw invalid_kernel(tensor.loc, "{} is a view of tensor {}", tensor.name, root)
        .hint("a view is of an earlier tensor or workspace, not of another view");
  }
  const Tensor& of = program.tensors[size_t(root)];
  if (!tensor.strides.empty() || !is_contiguous(of)) {
    throw invalid_kernel(tensor.loc, "view {} of {}: {} has strides", tensor.name, of.name,
                         tensor.strides.empty() ? of.name : tensor.name)
        .note(of.name, of.loc)
        .hint("only contiguous tensors have views");
  }
}

void verify_tile_view(const Program& program, const Kernel& kernel, TileId id) {
  const Tile& tile = kernel.tile(id);
  const auto fail = [&](const std::string& what) {
    throw invalid_kernel(tile.loc, "tile {} {}", tile.name, what)
        .hint("a view names an earlier tile of the same space that is no view");
  };
  const bool of_view = !tile.on_chip() && program.tensors[size_t(tile.tensor)].kind == TensorKind::view;
  if (tile.view_of == -1) {
    if (of_view) fail("is of a tensor's view but names no tile");
    return;
  }
  if (tile.view_of < 0 || tile.view_of >= id) fail(fmt::format("is a view of tile {}", tile.view_of));
  const Tile& root = kernel.tile(tile.view_of);
  if (root.view_of != -1 || root.space != tile.space || root.stages != tile.stages || root.packed != tile.packed) {
    fail(fmt::format("is a view of {}, which differs in more than shape and dtype", root.name));
  }
  if (!tile.on_chip() && (!of_view || program.tensors[size_t(tile.tensor)].view_of != root.tensor)) {
    fail(fmt::format("is a view of {} but not of its tensor", root.name));
  }
  check_view_bits("view", root, tile.dtype, tile.shape, tile.loc);
}

}  // namespace

void verify_tensor_views(const Program& program) {
  for (size_t row = 0; row < program.tensors.size(); ++row) verify_tensor_view(program, row);
}

void verify_tile_views(const Program& program, const Kernel& kernel) {
  for (size_t id = 0; id < kernel.tiles.size(); ++id) verify_tile_view(program, kernel, TileId(id));
}

}  // namespace tilewright::ir
