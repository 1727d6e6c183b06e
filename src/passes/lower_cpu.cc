#include "layout/layout.h"
#include "ops/access.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/operand.h"
#include "ops/raster.h"
#include "ops/reduce.h"
#include "ops/scan.h"
#include "passes/cpu_atoms.h"
#include "passes/cpu_reduce.h"
#include "passes/cpu_storage.h"
#include "passes/fact_rewriter.h"
#include "passes/passes.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileRef;

namespace {

// Conversions that the copy atoms do exactly as `cast` means them: a single rounding, or none.
bool converts_exactly(DType from, DType to) {
  if (from == to) return true;
  if (is_float(from) && is_float(to)) return !(from == DType::f64 && is_narrow_float(to));
  return is_integer(from) && is_integer(to);
}

// Copying into a tile must give values of the tile's dtype, which storage alone does not enforce; reading f32 memory as
// tf32 does.
bool is_widening(DType from, DType to) {
  if (from == to || (from == DType::f32 && to == DType::tf32)) return true;
  return is_float(from) && is_float(to) && holds_all(to, from);
}

class CpuLowering : public FactRewriter {
 public:
  CpuLowering(const ir::Program& program, Kernel& kernel, ir::VarId& next_var, const CpuTarget& target,
              std::vector<Remark>& remarks)
      : FactRewriter(program, kernel),
        program_(program),
        context_{.kernel = kernel, .next_var = next_var},
        target_(target),
        remarks_(remarks) {}
  using FactRewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op == nullptr || op->def->assumes || op->def->reports) return FactRewriter::rewrite(stmt, out);
    if (op->def == &ops::use_swizzle_op()) return;
    if (lower(*op, stmt->loc, out)) return;
    expand(*op, stmt->loc, out);
  }

 private:
  const Tile& tile(const TileRef& ref) const { return context_.kernel.tile(ref.tile); }
  void expand(const OpStmt& op, const Loc& loc, Block& out) {
    for (Stmt& part : op.def->expand(op, context_, loc)) out.push_back(std::move(part));
  }
  int64_t stride(const TileRef& ref, int dim) const { return layout::stride_of(*tile(ref).layout, size_t(dim)); }
  bool inside(const TileRef& ref) const;

  // Writes the op as atoms; false, with a remark where that costs time, when it must be expanded.
  bool lower(const OpStmt& op, const Loc& loc, Block& out);
  void remark(const char* kind, const Loc& loc, std::string text) {
    remarks_.push_back({.kind = kind, .text = std::move(text), .loc = loc});
  }
  bool lower_copy(const OpStmt& op, const Loc& loc, Block& out);
  bool copy_atom(const OpStmt& op, bool in, const Loc& loc, Block& out);
  bool lower_gemm(const OpStmt& op, const Loc& loc, Block& out);
  bool gemm_fits(const OpStmt& op, std::string& why) const;
  bool lower_reduce(const OpStmt& op, const Loc& loc, Block& out);

  const ir::Program& program_;
  ir::ExpandContext context_;
  const CpuTarget& target_;
  std::vector<Remark>& remarks_;
};

// The whole region lies inside its on-chip tile.
bool CpuLowering::inside(const TileRef& ref) const {
  for (size_t d = 0; d < ref.region.size(); ++d) {
    const ir::RegionDim& dim = ref.region[d];
    const Expr end = dim.begin + dim.extent;
    if (!proves(ir::le(ir::int_imm(0), dim.begin)) || !proves(ir::le(end, tile(ref).shape[d]))) return false;
  }
  return true;
}

bool CpuLowering::lower(const OpStmt& op, const Loc& loc, Block& out) {
  if (op.def == &ops::gemm_op()) return lower_gemm(op, loc, out);
  if (op.def == &ops::copy_op()) {
    if (lower_copy(op, loc, out)) return true;
    // Between on-chip tiles, and between tensors, the expansion is the best form there is.
    if (tile(op.tiles[0]).on_chip() != tile(op.tiles[1]).on_chip()) {
      remark("element_copy", loc,
             fmt::format("copy of {} to {} goes element by element, several times slower than by rows: the conversion, "
                         "the safe value or the place of the region does not fit the row copy",
                         tile(op.tiles[0]).name, tile(op.tiles[1]).name));
    }
    return false;
  }
  if (ops::is_scan(op)) {
    remark("scalar_scan", loc,
           fmt::format("{} of {} runs one element after the other: each needs the one before it", op.def->name,
                       tile(op.tiles[0]).name));
    return false;
  }
  if (!ops::is_reduce(op)) return false;
  if (lower_reduce(op, loc, out)) return true;
  remark("scalar_reduce", loc,
         fmt::format("{} of {} runs one element after the other, several times slower than by vectors: its dtypes "
                     "differ, it has an option, or its result or the last dimension of its source is strided",
                     op.def->name, tile(op.tiles[0]).name));
  return false;
}

// Copies of three and more wide dimensions become loops over copies of the last two.
bool CpuLowering::lower_copy(const OpStmt& op, const Loc& loc, Block& out) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const bool in = !tile(src).on_chip() && tile(dst).on_chip();
  const bool out_of = tile(src).on_chip() && !tile(dst).on_chip();
  if (!in && !out_of) return false;
  const std::vector<int> src_dims = ops::wide_dims(src), dst_dims = ops::wide_dims(dst);
  if (src_dims.size() <= 2) return copy_atom(op, in, loc, out);

  OpStmt part = op;
  std::vector<Expr> vars;
  const size_t outer = src_dims.size() - 2;
  facts_.push();
  for (size_t k = 0; k < outer; ++k) {
    const Expr v = context_.fresh_var("i");
    vars.push_back(v);
    facts_.bind(v, ir::int_imm(0), src.region[size_t(src_dims[k])].extent);
    for (const auto& [ref, dim] : {std::pair(&part.tiles[0], src_dims[k]), std::pair(&part.tiles[1], dst_dims[k])}) {
      ir::RegionDim& d = ref->region[size_t(dim)];
      d = {.begin = d.begin + v, .extent = ir::int_imm(1)};
    }
  }
  Block body;
  const bool done = copy_atom(part, in, loc, body);
  facts_.pop();
  if (!done) return false;
  for (size_t k = outer; k-- > 0;) body = {ops::serial(vars[k], src.region[size_t(src_dims[k])].extent, body, loc)};
  out.insert(out.end(), body.begin(), body.end());
  return true;
}

// At most two wide dimensions: rows and columns.
bool CpuLowering::copy_atom(const OpStmt& op, bool in, const Loc& loc, Block& out) {
  const TileRef &chip = op.tiles[in ? 1 : 0], &global = op.tiles[in ? 0 : 1];
  const DType from = tile(op.tiles[0]).dtype, to = tile(op.tiles[1]).dtype;
  if (in ? !is_widening(from, to) || tile(global).safe_value != 0 : !converts_exactly(from, to)) return false;
  if (tile(chip).rank() == 0 || !inside(chip)) return false;
  // The atoms hold elements as they are computed with.
  const DType computed = cpu_storage(tile(chip).dtype);
  if (tile(chip).packed && (storage_of(tile(chip)) != computed || is_boolean(computed))) return false;
  const std::vector<int> chip_dims = ops::wide_dims(chip), global_dims = ops::wide_dims(global);
  const int rank = tile(chip).rank();
  // The last wide dimension is the row's; it must be contiguous on chip.
  const int chip_col = chip_dims.empty() ? rank - 1 : chip_dims.back();
  if (chip_col != rank - 1) return false;
  const int chip_row = chip_dims.size() == 2 ? chip_dims[0] : -1;
  const int64_t cols = *chip.region[size_t(chip_col)].extent.as_int();
  const int64_t rows = chip_row >= 0 ? *chip.region[size_t(chip_row)].extent.as_int() : 1;
  const int64_t extent = *tile(chip).shape[size_t(chip_col)].as_int();
  const int64_t lanes = vector_lanes(target_, storage_of(tile(chip)));
  const int64_t ld = chip_row >= 0 ? stride(chip, chip_row) : std::max(cols, int64_t(1));
  // copy_in zeroes the padding after a row, which must not be another part of the tile.
  if (in && chip_row >= 0 && cols != extent && cols % lanes != 0) return false;
  // Nor is there padding after the rows of a tile with views.
  const int64_t padded = (cols + lanes - 1) / lanes * lanes;
  if (in && chip_row >= 0 && padded <= ld && padded > stride(chip, rank - 2)) return false;
  if (rows > INT32_MAX || padded > INT32_MAX || ld > INT32_MAX) return false;

  const std::vector<Expr> strides = ir::strides_of(program_.tensors[size_t(tile(global).tensor)]);
  const std::vector<Expr>& shape = tile(global).shape;
  Expr valid_rows = ir::int_imm(1), valid_cols = ir::int_imm(1), row_stride = ir::int_imm(0),
       col_stride = ir::int_imm(1);
  Expr unit_ok;
  const int global_col = global_dims.empty() ? -1 : global_dims.back();
  const int global_row = global_dims.size() == 2 ? global_dims[0] : -1;
  for (int d = 0; d < int(shape.size()); ++d) {
    const Expr& begin = global.region[size_t(d)].begin;
    if (d == global_col || d == global_row) {
      if (!proves(ir::le(ir::int_imm(0), begin))) return false;
      const Expr valid = shape[size_t(d)] - begin;
      (d == global_col ? valid_cols : valid_rows) = valid;
      (d == global_col ? col_stride : row_stride) = strides[size_t(d)];
    } else if (!proves_inside(begin, shape[size_t(d)])) {
      const Expr ok = ir::logical_and(ir::le(ir::int_imm(0), begin), ir::lt(begin, shape[size_t(d)]));
      unit_ok = unit_ok ? ir::logical_and(unit_ok, ok) : ok;
    }
  }
  if (unit_ok) valid_rows = ir::select(unit_ok, valid_rows, ir::int_imm(0));
  OpStmt atom{.def = in ? &cpu_copy_in() : &cpu_copy_out(),
              .tiles = op.tiles,
              .scalars = {row_stride, col_stride, valid_rows, valid_cols}};
  if (!in) atom.scalars.push_back(ir::bool_imm(false));
  atom.attrs = {{"rows", rows}, {"cols", cols}, {"ld", ld}};
  out.push_back(ir::make_stmt(std::move(atom), loc));
  return true;
}

bool CpuLowering::gemm_fits(const OpStmt& op, std::string& why) const {
  const DType a = tile(op.tiles[0]).dtype, c = tile(op.tiles[2]).dtype;
  const DType compute = storage_of(tile(op.tiles[2]));
  if (storage_of(tile(op.tiles[0])) != compute || storage_of(tile(op.tiles[1])) != compute ||
      (compute != DType::f32 && compute != DType::f64 && compute != DType::i32)) {
    why = fmt::format("{} products into {}", to_string(a), to_string(c));
    return false;
  }
  for (const TileRef& ref : op.tiles) {
    if (stride(ref, tile(ref).rank() - 1) == 1 && inside(ref)) continue;
    why = fmt::format("the region of {} is not provably inside the tile", tile(ref).name);
    return false;
  }
  return true;
}

bool CpuLowering::lower_gemm(const OpStmt& op, const Loc& loc, Block& out) {
  std::string why;
  if (!gemm_fits(op, why)) {
    remark("scalar_gemm", loc,
           fmt::format("gemm runs as scalar loops, tens of times slower than the register-blocked kernel: {}", why));
    return false;
  }
  const ops::GemmAttrs attrs = ops::GemmAttrs::from(op.attrs);
  const ops::GemmShape shape = ops::gemm_shape(op);
  const TileRef &b = op.tiles[1], &c = op.tiles[2];
  if (!op.scalars[0].is_int(0)) {
    Block clear;
    OpStmt fill{.def = &ops::fill_op(), .tiles = {c}, .scalars = {ir::imm(0, tile(c).dtype, loc)}};
    expand(fill, loc, clear);
    if (op.scalars[0].is_int(1)) {
      out.insert(out.end(), clear.begin(), clear.end());
    } else {
      out.push_back(ir::make_stmt(ir::IfStmt{.condition = op.scalars[0], .then = clear, .otherwise = {}}, loc));
    }
  }
  const auto ld = [&](const TileRef& ref) { return stride(ref, tile(ref).rank() - 2); };
  // Whole rows may be read and written up to the padding.
  const auto whole_rows = [&](const TileRef& ref) {
    return ir::equal(ref.region.back().extent, tile(ref).shape.back());
  };
  const int64_t lanes = vector_lanes(target_, storage_of(tile(c)));
  const int64_t padded_n = (shape.n + lanes - 1) / lanes * lanes;
  const bool room = padded_n <= ld(c) && (attrs.transpose_B || padded_n <= ld(b));
  const bool padded = room && whole_rows(c) && (attrs.transpose_B || whole_rows(b));
  OpStmt atom{.def = &cpu_gemm(), .tiles = op.tiles};
  atom.attrs = {{"m", shape.m},
                {"n", shape.n},
                {"k", shape.k},
                {"lda", ld(op.tiles[0])},
                {"ldb", ld(b)},
                {"ldc", ld(c)},
                {"transpose_A", int64_t(attrs.transpose_A)},
                {"transpose_B", int64_t(attrs.transpose_B)},
                {"padded", int64_t(padded)}};
  out.push_back(ir::make_stmt(std::move(atom), loc));
  if (is_narrow_float(tile(c).dtype)) {
    // The accumulator was summed in f32; its values are ones of C's dtype after the op.
    const std::vector<Expr> vars = ops::fresh_indices(context_, 2);
    const int rank = tile(c).rank();
    const std::vector<Expr> at = ops::coordinates(c, {rank - 2, rank - 1}, vars);
    const Expr wide = ir::load(c.tile, tile(c).name, DType::f32, at, loc);
    Block round = {
        ir::make_stmt(ir::StoreStmt{.tile = c.tile, .indices = at, .value = ir::cast(wide, tile(c).dtype, loc)}, loc)};
    round = ops::nest(context_.kernel, c, vars, {ir::int_imm(shape.m), ir::int_imm(shape.n)}, round, loc);
    out.insert(out.end(), round.begin(), round.end());
  }
  return true;
}

bool CpuLowering::lower_reduce(const OpStmt& op, const Loc& loc, Block& out) {
  if (!inside(op.tiles[0]) || !inside(op.tiles[1])) return false;
  const std::optional<Block> atoms = reduce_by_vectors(op, context_, loc);
  if (atoms) out.insert(out.end(), atoms->begin(), atoms->end());
  return atoms.has_value();
}

}  // namespace

ir::Program lower_cpu(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = CpuLowering(program, kernel, out.next_var, target, remarks).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
