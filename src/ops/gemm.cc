#include "ops/gemm.h"

#include "ops/access.h"
#include "support/error.h"

#include <array>

namespace tilewright::ops {

using ir::Access;
using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::Kernel;
using ir::Mode;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

constexpr std::array<std::string_view, 3> kPolicyNames = {"square", "full_row", "full_col"};

// The last two dimensions; the others have extent 1.
std::array<int, 2> matrix_dims(const TileRef& ref) {
  const int rank = int(ref.region.size());
  return {rank - 2, rank - 1};
}

int64_t matrix_extent(const TileRef& ref, int which) {
  return ref.region[size_t(matrix_dims(ref)[size_t(which)])].extent.as_int().value();
}

void check_matrix(const TileRef& ref, const char* role, const Kernel& kernel, const Loc& loc) {
  const ir::Tile& tile = kernel.tile(ref.tile);
  bool ok = ref.region.size() >= 2;
  for (size_t d = 0; d + 2 < ref.region.size(); ++d) ok = ok && ref.region[d].extent.is_int(1);
  for (const ir::RegionDim& dim : ref.region) ok = ok && dim.extent.as_int().has_value();
  if (ok) return;
  throw with_declarations(
      invalid_kernel(loc, "gemm: operand {} ({}) is not a matrix with constant extents", role, tile.name), kernel,
      {ref.tile})
      .hint("gemm takes the last two dimensions; slice the leading ones to extent 1");
}

void check_shapes(const OpStmt& op, const GemmAttrs& attrs, const Kernel& kernel, const Loc& loc) {
  const GemmShape shape = gemm_shape(op);
  const int64_t k_of_b = matrix_extent(op.tiles[1], attrs.transpose_B ? 1 : 0);
  const int64_t m_of_c = matrix_extent(op.tiles[2], 0);
  const int64_t n_of_c = matrix_extent(op.tiles[2], 1);
  const auto fail = [&](std::string message, ir::TileId x, ir::TileId y, std::string hint) {
    throw with_declarations(Error(ErrorKind::invalid_kernel, std::move(message), loc), kernel, {x, y})
        .hint(std::move(hint));
  };
  const ir::TileId a = op.tiles[0].tile, b = op.tiles[1].tile, c = op.tiles[2].tile;
  if (shape.k != k_of_b) {
    fail(
        fmt::format("gemm: K of {} is {} but K of {} is {}", kernel.tile(a).name, shape.k, kernel.tile(b).name, k_of_b),
        a, b, "pass transpose_B if B is stored as [N, K], transpose_A if A is stored as [K, M]");
  }
  if (shape.m != m_of_c) {
    fail(
        fmt::format("gemm: M of {} is {} but M of {} is {}", kernel.tile(a).name, shape.m, kernel.tile(c).name, m_of_c),
        a, c, "C has the rows of A; pass transpose_A if A is stored as [K, M]");
  }
  if (shape.n != n_of_c) {
    fail(
        fmt::format("gemm: N of {} is {} but N of {} is {}", kernel.tile(b).name, shape.n, kernel.tile(c).name, n_of_c),
        b, c, "C has the columns of B; pass transpose_B if B is stored as [N, K]");
  }
}

void check_dtypes(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const ir::TileId a = op.tiles[0].tile, b = op.tiles[1].tile, c = op.tiles[2].tile;
  const DType ta = kernel.tile(a).dtype, tb = kernel.tile(b).dtype, tc = kernel.tile(c).dtype;
  // Products of two 8-bit floats, or of integers of one width, mean the same whatever the two are.
  const bool mixes = bytes_of(ta) == bytes_of(tb) &&
                     ((is_float(ta) && is_float(tb) && bytes_of(ta) == 1) || (is_integer(ta) && is_integer(tb)));
  if (ta != tb && !mixes) {
    throw with_declarations(invalid_kernel(loc, "gemm: {} is {} but {} is {}", kernel.tile(a).name, to_string(ta),
                                           kernel.tile(b).name, to_string(tb)),
                            kernel, {a, b})
        .hint("copy one of them into a tile of the other's dtype first");
  }
  const bool known = (is_float(ta) && is_float(tc)) || (is_integer(ta) && is_integer(tc));
  if (!known) {
    throw with_declarations(
        invalid_kernel(loc, "gemm: an accumulator of {} cannot take products of {}", to_string(tc), to_string(ta)),
        kernel, {a, c})
        .hint(is_float(ta) ? "use an f32 accumulator" : "use an i32 accumulator");
  }
}

void verify_gemm(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const GemmAttrs attrs = GemmAttrs::from(op.attrs);
  check_matrix(op.tiles[0], "A", kernel, loc);
  check_matrix(op.tiles[1], "B", kernel, loc);
  check_matrix(op.tiles[2], "C", kernel, loc);
  for (const TileRef& ref : op.tiles) {
    if (kernel.tile(ref.tile).on_chip()) continue;
    throw with_declarations(invalid_kernel(loc, "gemm: {} is in global memory", kernel.tile(ref.tile).name), kernel,
                            {ref.tile})
        .hint("copy it into a shared or fragment tile first");
  }
  if (kernel.share_storage(op.tiles[2].tile, op.tiles[0].tile) ||
      kernel.share_storage(op.tiles[2].tile, op.tiles[1].tile)) {
    throw with_declarations(
        invalid_kernel(loc, "gemm: the accumulator {} is also an operand", kernel.tile(op.tiles[2].tile).name), kernel,
        {op.tiles[2].tile})
        .hint("accumulate into a tile of its own");
  }
  check_dtypes(op, kernel, loc);
  check_shapes(op, attrs, kernel, loc);
  if (attrs.k_pack != 1 && attrs.k_pack != 2) {
    throw invalid_kernel(loc, "gemm: k_pack is {}, but must be 1 or 2", attrs.k_pack);
  }
}

std::vector<Access> gemm_effects(const OpStmt& op, const Kernel&) {
  const bool clears = op.scalars[0].is_int(1);
  return {{.ref = op.tiles[0], .mode = Mode::read},
          {.ref = op.tiles[1], .mode = Mode::read},
          {.ref = op.tiles[2], .mode = clears ? Mode::write : Mode::update}};
}

Block expand_gemm(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const GemmAttrs attrs = GemmAttrs::from(op.attrs);
  const GemmShape shape = gemm_shape(op);
  const TileRef &a = op.tiles[0], &b = op.tiles[1], &c = op.tiles[2];
  const auto at = [](const TileRef& ref, const Expr& row, const Expr& col) {
    const auto dims = matrix_dims(ref);
    return coordinates(ref, {dims[0], dims[1]}, {row, col});
  };
  const DType dtype = accumulator_dtype(context.kernel.tile(c.tile).dtype);
  const ir::TileId acc = context.fresh_scalar_tile("acc", dtype, "gemm", loc);
  const Kernel& kernel = context.kernel;
  const Expr i = context.fresh_var("i"), j = context.fresh_var("j"), k = context.fresh_var("k");
  const Expr zero = ir::imm(0, dtype, loc);
  const auto set_acc = [&](Expr value) {
    return ir::make_stmt(ir::StoreStmt{.tile = acc, .indices = {}, .value = std::move(value)}, loc);
  };
  const Expr lhs = read(kernel, a, attrs.transpose_A ? at(a, k, i) : at(a, i, k), dtype, loc);
  const Expr rhs = read(kernel, b, attrs.transpose_B ? at(b, j, k) : at(b, k, j), dtype, loc);
  const Expr product = ir::binary(ir::ExprKind::mul, lhs, rhs, loc);
  const Expr sum = ir::binary(ir::ExprKind::add, load_scalar(kernel, acc, loc), product, loc);
  Block out;
  const Expr clear = once(context, op.scalars[0], out, loc);
  Block body;
  body.push_back(set_acc(ir::select(clear, zero, read(kernel, c, at(c, i, j), dtype, loc), loc)));
  body.push_back(serial(k, ir::int_imm(shape.k), {set_acc(sum)}, loc));
  body.push_back(write(kernel, c, at(c, i, j), load_scalar(kernel, acc, loc), loc));
  for (Stmt& s : nest(kernel, c, {i, j}, {ir::int_imm(shape.m), ir::int_imm(shape.n)}, std::move(body), loc)) {
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace

GemmAttrs GemmAttrs::from(const ir::Attrs& attrs) {
  GemmAttrs out{.transpose_A = ir::bool_attr(attrs, "transpose_A", false),
                .transpose_B = ir::bool_attr(attrs, "transpose_B", false),
                .k_pack = ir::int_attr(attrs, "k_pack", 1)};
  const ir::AttrValue* policy = ir::find_attr(attrs, "policy");
  const std::string* name = policy ? std::get_if<std::string>(policy) : nullptr;
  for (size_t i = 0; name && i < kPolicyNames.size(); ++i) {
    if (*name == kPolicyNames[i]) out.policy = WarpPolicy(i);
  }
  return out;
}

ir::Attrs GemmAttrs::to_attrs() const {
  ir::Attrs attrs;
  if (transpose_A) attrs.emplace_back("transpose_A", true);
  if (transpose_B) attrs.emplace_back("transpose_B", true);
  if (policy != WarpPolicy::square) attrs.emplace_back("policy", std::string(kPolicyNames[size_t(policy)]));
  if (k_pack != 1) attrs.emplace_back("k_pack", k_pack);
  return attrs;
}

GemmShape gemm_shape(const OpStmt& op) {
  const GemmAttrs attrs = GemmAttrs::from(op.attrs);
  return {.m = matrix_extent(op.tiles[0], attrs.transpose_A ? 1 : 0),
          .n = matrix_extent(op.tiles[1], attrs.transpose_B ? 0 : 1),
          .k = matrix_extent(op.tiles[0], attrs.transpose_A ? 0 : 1)};
}

const ir::OpDef& gemm_op() {
  static constexpr ir::OpDef kOp{.name = "gemm",
                                 .num_tiles = 3,
                                 .num_scalars = 1,
                                 .verify = verify_gemm,
                                 .effects = gemm_effects,
                                 .expand = expand_gemm};
  return kOp;
}

Stmt make_gemm(const Operand& a, const Operand& b, const Operand& c, const GemmAttrs& attrs, Expr clear_accum,
               const Kernel& kernel, const Loc& loc) {
  OpStmt op{.def = &gemm_op(),
            .tiles = {resolve(a, kernel, "gemm"), resolve(b, kernel, "gemm"), resolve(c, kernel, "gemm")},
            .scalars = {std::move(clear_accum)},
            .attrs = attrs.to_attrs()};
  verify_gemm(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
