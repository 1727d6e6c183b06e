#include "passes/lower_warpgroup.h"

#include "ops/gemm.h"
#include "ir/rewrite.h"
#include "passes/schedule_ops.h"
#include "support/error.h"

#include <optional>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileId;
using ir::TileRef;

namespace {

constexpr int64_t kGroupThreads = 128;
constexpr int64_t kAtomRows = 8;  // of a swizzle's pattern

// A matrix in shared memory as panels of `span` bytes, each of all rows, one behind the other (cuda_select.h).
struct Panels {
  int64_t rows = 0, cols = 0;
  int64_t width = 0;  // columns of a panel
  int64_t elem_bytes = 0;
  int64_t span() const { return width * elem_bytes; }
  int64_t bytes() const { return rows * span(); }
};

std::optional<Panels> panels_of(const Tile& tile) {
  if (!tile.layout || tile.rank() < 2) return std::nullopt;
  const std::vector<layout::Dim>& dims = tile.layout->dims();
  const layout::Dim &row = dims[dims.size() - 2], &col = dims.back();
  Panels out{.rows = tile.layout->extent(tile.rank() - 2),
             .cols = tile.layout->extent(tile.rank() - 1),
             .width = col.empty() ? 1 : col[0].extent,
             .elem_bytes = bytes_of(tile.dtype)};
  const layout::Swizzle& swizzle = tile.layout->swizzle();
  const bool swizzled = swizzle.bits >= 1 && (int64_t(16) << swizzle.bits) == out.span() &&
                        (int64_t(1) << swizzle.base) * out.elem_bytes == 16 && swizzle.shift == 3;
  const bool in_rows = row.size() == 1 && row[0].stride == out.width && col[0].stride == 1;
  const bool adjacent = col.size() == 1 || (col.size() == 2 && col[1].stride == out.rows * out.width);
  if (!swizzled || !in_rows || !adjacent || out.rows % kAtomRows != 0) return std::nullopt;
  return out;
}

// Where a pattern of the swizzle begins nothing is permuted: the row of the same memory without it, whose addresses are
// sums.
TileId linear_row(Kernel& kernel, TileId id) {
  Tile row = kernel.tile(id);
  row.layout = row.layout->with_swizzle({});
  row.unchecked = true;
  for (size_t i = 0; i < kernel.tiles.size(); ++i) {
    const Tile& other = kernel.tiles[i];
    if (other.unchecked && other.name == row.name && other.layout == row.layout) return TileId(i);
  }
  kernel.tiles.push_back(std::move(row));
  return TileId(kernel.tiles.size()) - 1;
}

// The operand's head at (row, col) of its last two dimensions, a multiple of the swizzle's pattern.
TileRef head(Kernel& kernel, const TileRef& ref, const Expr& row, const Expr& col) {
  TileRef out = ref;
  out.tile = linear_row(kernel, ref.tile);
  for (ir::RegionDim& dim : out.region) dim.extent = ir::int_imm(1);
  ir::RegionDim &r = out.region[out.region.size() - 2], &c = out.region.back();
  r.begin = r.begin + row;
  c.begin = c.begin + col;
  return out;
}

Stmt loop(const Expr& index, int64_t extent, Block body, const Loc& loc) {
  ir::ForStmt out{.kind = ir::LoopKind::unrolled, .dims = {}, .attrs = {}, .body = std::move(body)};
  out.dims = {{.var = index, .begin = ir::int_imm(0), .extent = ir::int_imm(extent)}};
  return ir::make_stmt(std::move(out), loc);
}

[[noreturn]] void refuse(const OpStmt& op, const Kernel& kernel, const std::string& why, const Loc& loc) {
  std::string operands;
  for (const TileRef& ref : op.tiles) {
    operands += fmt::format("{}{} {}", operands.empty() ? "" : ", ", kernel.tile(ref.tile).name,
                            ir::describe(kernel.tile(ref.tile)));
  }
  throw unsupported(loc, "{} of {}: {}", op.def->name, operands, why).hint("choose another instruction for it");
}

// One operand: the bytes from one instruction to the next along m or n (64 of them) and along k (16).
struct Operand {
  Panels panels;
  bool mn_major = false;  // its rows hold m or n

  int64_t leading() const { return mn_major ? panels.bytes() : 0; }
  int64_t stride() const { return kAtomRows * panels.span(); }
  Expr along_k(const Expr& step) const {
    if (mn_major) return step * (2 * stride());
    const int64_t steps = panels.width / 16;
    return ir::floordiv(step, steps) * panels.bytes() + ir::floormod(step, steps) * (16 * panels.elem_bytes);
  }
  int64_t block_of_64() const { return mn_major ? 64 / panels.width * panels.bytes() : 64 * panels.span(); }
};

class WarpgroupGemm {
 public:
  WarpgroupGemm(const OpStmt& op, const Kernel& kernel, ir::ExpandContext& context, const Loc& loc)
      : op_(op), kernel_(kernel), context_(context), loc_(loc), shape_(ops::gemm_shape(op)) {}
  Block lower(const Expr& thread);

 private:
  Operand operand(size_t i, bool mn_major) const;
  void check() const;
  TileId descriptor(const char* name, const TileRef& from, const Operand& operand, Block& out);
  Expr let(const char* name, const Expr& value, Block& out) {
    const Expr v = context_.fresh_var(name);
    out.push_back(ir::make_stmt(ir::LetStmt{.var = v, .value = value}, loc_));
    return v;
  }

  const OpStmt& op_;
  const Kernel& kernel_;
  ir::ExpandContext& context_;
  const Loc& loc_;
  ops::GemmShape shape_;
};

Operand WarpgroupGemm::operand(size_t i, bool mn_major) const {
  const Tile& tile = kernel_.tile(op_.tiles[i].tile);
  const std::optional<Panels> panels = panels_of(tile);
  if (!panels) refuse(op_, kernel_, fmt::format("{} is not in swizzled panels", tile.name), loc_);
  return {.panels = *panels, .mn_major = mn_major};
}

void WarpgroupGemm::check() const {
  const Tile &a = kernel_.tile(op_.tiles[0].tile), &c = kernel_.tile(op_.tiles[2].tile);
  const bool types = (a.dtype == DType::f16 || a.dtype == DType::bf16) && c.dtype == DType::f32;
  if (!types) refuse(op_, kernel_, "the types are f16 or bf16 and f32", loc_);
  if (!op_.scalars[0].is_int(0)) refuse(op_, kernel_, "it clears its sum", loc_);
  const bool extents =
      shape_.m % 64 == 0 && shape_.n % 8 == 0 && shape_.n >= 8 && shape_.n <= 256 && shape_.k % 16 == 0;
  if (!extents) refuse(op_, kernel_, "m is a multiple of 64, n of 8 up to 256, k of 16", loc_);
  const int64_t groups = c.fragment ? c.fragment->num_threads() / kGroupThreads : 0;
  if (groups < 1 || *c.fragment != layout::wgmma_accumulator(shape_.m, shape_.n, groups, 1)) {
    refuse(op_, kernel_, "the sum is not distributed as wgmma leaves it", loc_);
  }
}

TileId WarpgroupGemm::descriptor(const char* name, const TileRef& from, const Operand& operand, Block& out) {
  const TileId id = context_.fresh_scalar_tile(name, DType::u64, "gemm", loc_);
  OpStmt make{.def = &wgmma_descriptor_op(), .tiles = {{.tile = id, .region = {}, .slot = {}}, from}};
  make.attrs = {{"leading", operand.leading()}, {"stride", operand.stride()}, {"span", operand.panels.span()}};
  out.push_back(ir::make_stmt(std::move(make), loc_));
  return id;
}

Block WarpgroupGemm::lower(const Expr& thread) {
  check();
  const ops::GemmAttrs attrs = ops::GemmAttrs::from(op_.attrs);
  const Operand a = operand(0, attrs.transpose_A), b = operand(1, !attrs.transpose_B);
  const layout::Fragment& sum = *kernel_.tile(op_.tiles[2].tile).fragment;
  const int64_t groups = sum.num_threads() / kGroupThreads;
  const int64_t blocks = (shape_.m / groups + 63) / 64;
  if (blocks * groups * 64 != shape_.m) refuse(op_, kernel_, "the warpgroups do not share m evenly", loc_);
  Block out;
  const Expr zero = ir::int_imm(0);
  const Expr m0 = groups == 1 ? zero : let("m0", ir::floordiv(thread, kGroupThreads) * (blocks * 64), out);
  const auto at = [this](const TileRef& ref, const Expr& row, const Expr& col) {
    return head(context_.kernel, ref, row, col);
  };
  const TileRef &from_a = op_.tiles[0], &from_b = op_.tiles[1];
  const TileId desc_a = descriptor("a", a.mn_major ? at(from_a, zero, m0) : at(from_a, m0, zero), a, out);
  const TileId desc_b = descriptor("b", at(from_b, zero, zero), b, out);

  const TileId registers = op_.tiles[2].tile;
  const Expr ks = context_.fresh_var("ks"), mt = context_.fresh_var("mt");
  TileRef d{.tile = registers, .region = {}, .slot = {}};
  for (size_t i = 0; i < context_.kernel.tile(registers).shape.size(); ++i) {
    d.region.push_back({.begin = i == 0 && blocks > 1 ? mt : zero, .extent = ir::int_imm(1)});
  }
  const auto scalar = [](TileId id) { return TileRef{.tile = id, .region = {}, .slot = {}}; };
  OpStmt product{.def = &wgmma_op(), .tiles = {d, scalar(desc_a), scalar(desc_b)}};
  product.scalars = {ir::bool_imm(true), mt * a.block_of_64() + a.along_k(ks), b.along_k(ks)};
  product.attrs = {{"type", std::string(to_string(kernel_.tile(from_a.tile).dtype))},
                   {"n", shape_.n},
                   {"mn_major_a", a.mn_major},
                   {"mn_major_b", b.mn_major}};
  Block body = {ir::make_stmt(std::move(product), loc_)};
  if (blocks > 1) {
    body = {loop(mt, blocks, std::move(body), loc_)};
  } else {
    body = ir::substitute(body, std::vector{mt}, std::vector{zero});
  }
  out.push_back(loop(ks, shape_.k / 16, std::move(body), loc_));
  return {ir::make_stmt(ir::LanesStmt{.exec = {}, .body = std::move(out)}, loc_)};
}

}  // namespace

Block lower_bulk_copy(const OpStmt& op, const Kernel& kernel, ir::ExpandContext& context, const Loc& loc) {
  const ir::TensorMap& map = kernel.maps[size_t(ir::int_attr(op.attrs, "map", 0))];
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const Tile &from = kernel.tile(src.tile), &to = kernel.tile(dst.tile);
  const std::optional<Panels> panels = panels_of(to);
  if (!panels) refuse(op, kernel, fmt::format("{} is not in swizzled panels", to.name), loc);
  const size_t rank = map.box.size();
  bool fits = from.tensor == map.tensor && from.dtype == to.dtype && rank >= 2 && from.safe_value == 0 &&
              map.box[rank - 1] == panels->width && map.box[rank - 2] == panels->rows &&
              map.span_bytes == panels->span();
  for (size_t d = 0; d + 2 < rank; ++d) fits = fits && map.box[d] == 1 && src.region[d].extent.is_int(1);
  if (!fits) refuse(op, kernel, fmt::format("map {} is not that of its panels", map.name), loc);
  const Expr panel = context.fresh_var("panel");
  OpStmt load{.def = &bulk_load_op(),
              .tiles = {head(context.kernel, dst, ir::int_imm(0), panel * panels->width), op.tiles[2]}};
  for (size_t d = rank; d-- > 0;) {
    load.scalars.push_back(d + 1 == rank ? src.region[d].begin + panel * panels->width : src.region[d].begin);
  }
  load.attrs = {{"map", ir::int_attr(op.attrs, "map", 0)}};
  return {loop(panel, panels->cols / panels->width, {ir::make_stmt(std::move(load), loc)}, loc)};
}

Block lower_warpgroup_gemm(const OpStmt& op, const Kernel& kernel, ir::ExpandContext& context, const Expr& thread,
                           const Loc& loc) {
  return WarpgroupGemm(op, kernel, context, loc).lower(thread);
}

Stmt with_registers(const OpStmt& op, const Kernel& registers, const Loc& loc) {
  OpStmt out = op;
  for (TileRef& ref : out.tiles) ref.region = whole_region(registers.tile(ref.tile));
  return ir::make_stmt(std::move(out), loc);
}

}  // namespace tilewright::passes
