#include "passes/lower_mma.h"

#include "ir/rewrite.h"
#include "ops/operand.h"
#include "passes/cuda_atoms.h"
#include "support/error.h"

#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;
using ir::TileRef;

namespace {

TileRef element(TileId tile, std::vector<Expr> at) {
  TileRef ref{.tile = tile, .region = {}, .slot = {}};
  for (Expr& e : at) ref.region.push_back({.begin = std::move(e), .extent = ir::int_imm(1)});
  return ref;
}

TileRef element(const OperandRegisters& regs, const Expr& index) {
  std::vector<Expr> at = regs.at;
  at.push_back(index);
  at.push_back(ir::int_imm(0));
  return element(regs.tile, std::move(at));
}

std::vector<ir::Access> load_accesses(const OpStmt& op, const ir::Kernel&) {
  return {{.ref = op.tiles[0], .mode = ir::Mode::read},
          {.ref = op.tiles[1], .mode = ir::Mode::read},
          {.ref = op.tiles[3], .mode = ir::Mode::write},
          {.ref = op.tiles[4], .mode = ir::Mode::write}};
}

std::vector<ir::Access> multiply_accesses(const OpStmt& op, const ir::Kernel&) {
  return {{.ref = op.tiles[2], .mode = ir::Mode::update},
          {.ref = op.tiles[3], .mode = ir::Mode::read},
          {.ref = op.tiles[4], .mode = ir::Mode::read}};
}

constexpr ir::OpDef half(std::string_view name, int num_scalars,
                         std::vector<ir::Access> (*effects)(const OpStmt&, const ir::Kernel&)) {
  return {.name = name,
          .num_tiles = 5,
          .num_scalars = num_scalars,
          .verify = nullptr,
          .effects = effects,
          .expand = nullptr};
}

}  // namespace

const ir::OpDef& mma_load_op() {
  static constexpr ir::OpDef kOp = half("mma_load", 2, load_accesses);
  return kOp;
}

const ir::OpDef& mma_multiply_op() {
  static constexpr ir::OpDef kOp = half("mma_multiply", 1, multiply_accesses);
  return kOp;
}

bool is_mma_part(const OpStmt& op) { return op.def == &mma_load_op() || op.def == &mma_multiply_op(); }

OpStmt gemm_of(const OpStmt& part) {
  OpStmt gemm = part;
  gemm.def = &ops::gemm_op();
  gemm.tiles.resize(3);
  gemm.scalars = {ir::int_imm(0)};
  return gemm;
}

TileId add_registers(ir::Kernel& kernel, const char* name, std::vector<Expr> shape, const Loc& loc) {
  kernel.tiles.push_back({.name = kernel.fresh_tile_name(name),
                          .space = ir::Space::local,
                          .dtype = DType::u32,
                          .shape = std::move(shape),
                          .layout = {},
                          .origin = "gemm",
                          .loc = loc});
  return TileId(kernel.tiles.size()) - 1;
}

MmaLowering::MmaLowering(const OpStmt& gemm, const ir::Kernel& before, ir::ExpandContext& context, Expr thread,
                         const Loc& loc)
    : op_(gemm),
      before_(before),
      context_(context),
      thread_(std::move(thread)),
      loc_(loc),
      plan_(mma_plan(gemm, before)),
      attrs_(ops::GemmAttrs::from(gemm.attrs)),
      shape_(ops::gemm_shape(gemm)) {
  if (*before_.tile(op_.tiles[2].tile).fragment != plan_.accumulator) {
    throw internal_error(loc, "{} is not distributed as its products are", before_.tile(op_.tiles[2].tile).name);
  }
  exact_ = plan_.warps_m * plan_.tiles_m * 16 == shape_.m && plan_.warps_n * plan_.tiles_n * 8 == shape_.n;
  pairs_ = exact_ && plan_.tiles_n % 2 == 0;
}

Expr MmaLowering::name(const char* name, const Expr& value, Block& out) {
  const Expr v = context_.fresh_var(name);
  out.push_back(ir::make_stmt(ir::LetStmt{.var = v, .value = value}, loc_));
  return v;
}

Block MmaLowering::names() {
  Block out;
  const Expr lane = name("lane", ir::floormod(thread_, 32), out), warp = name("warp", ir::floordiv(thread_, 32), out);
  m0_ = name("m0", ir::floormod(warp, plan_.warps_m) * (plan_.tiles_m * 16), out);
  n0_ = name("n0", ir::floordiv(warp, plan_.warps_m) * (plan_.tiles_n * 8), out);
  row_ = name("row", ir::floormod(lane, 8), out);
  const Expr matrix = name("matrix", ir::floordiv(lane, 8), out);
  low_ = name("low", ir::floormod(matrix, 2) * 8, out);
  high_ = name("high", ir::floordiv(matrix, 2) * 8, out);
  return out;
}

Stmt MmaLowering::over(const char* name, int64_t extent, int64_t step, Block (MmaLowering::*make)(const Expr&)) {
  ir::ForStmt loop{.kind = ir::LoopKind::unrolled, .dims = {}, .attrs = {}, .body = {}};
  const Expr v = context_.fresh_var(name);
  loop.dims = {{.var = v, .begin = ir::int_imm(0), .extent = ir::int_imm(extent / step), .step = step}};
  loop.body = (this->*make)(v);
  return ir::make_stmt(std::move(loop), loc_);
}

Block MmaLowering::guarded(const Expr& begin, int64_t extent, Block inner) const {
  if (exact_) return inner;
  return {ir::make_stmt(
      ir::IfStmt{.condition = ir::lt(begin, ir::int_imm(extent)), .then = std::move(inner), .otherwise = {}}, loc_)};
}

// `row` and `col` within the last two dimensions of `matrix`.
Stmt MmaLowering::ldmatrix(const OperandRegisters& regs, const Expr& index, const TileRef& matrix, const Expr& row,
                           const Expr& col, int num, bool trans) const {
  TileRef src = matrix;
  const size_t rank = src.region.size();
  src.region[rank - 2] = {.begin = src.region[rank - 2].begin + row, .extent = ir::int_imm(1)};
  src.region[rank - 1] = {.begin = src.region[rank - 1].begin + col, .extent = ir::int_imm(1)};
  OpStmt op{.def = &ldmatrix_op(), .tiles = {element(regs, index), src}};
  op.attrs = {{"num", int64_t(num)}, {"trans", trans}};
  return ir::make_stmt(std::move(op), loc_);
}

// Matrices (m, k), (m + 8, k), (m, k + 8), (m + 8, k + 8).
Block MmaLowering::load_a(const Expr& mt) {
  const Expr m = m0_ + mt * 16;
  const TileRef& a = op_.tiles[0];
  return guarded(m, shape_.m,
                 {attrs_.transpose_A ? ldmatrix(a_, mt, a, k0_ + high_ + row_, m + low_, 4, true)
                                     : ldmatrix(a_, mt, a, m + low_ + row_, k0_ + high_, 4, false)});
}

// Matrices (k, n), (k + 8, n), and of the next n; two instructions at once where their number is even.
Block MmaLowering::load_b(const Expr& nt) {
  const Expr n = n0_ + nt * 8, across = pairs_ ? high_ : ir::int_imm(0);
  const int num = pairs_ ? 4 : 2;
  const TileRef& b = op_.tiles[1];
  return guarded(n, shape_.n,
                 {attrs_.transpose_B ? ldmatrix(b_, nt, b, n + across + row_, k0_ + low_, num, false)
                                     : ldmatrix(b_, nt, b, k0_ + low_ + row_, n + across, num, true)});
}

Block MmaLowering::load(const Expr& step, const OperandRegisters& a, const OperandRegisters& b) {
  k0_ = step * 16;
  a_ = a;
  b_ = b;
  return {over("mt", plan_.tiles_m, 1, &MmaLowering::load_a),
          over("nt", plan_.tiles_n, pairs_ ? 2 : 1, &MmaLowering::load_b)};
}

Block MmaLowering::multiply_one(const Expr& nt) {
  // Registers [mt, nt, half, element]; a dimension of one instruction is left out.
  std::vector<Expr> acc;
  if (plan_.tiles_m > 1) acc.push_back(mt_);
  if (plan_.tiles_n > 1) acc.push_back(nt);
  acc.push_back(ir::int_imm(0));
  acc.push_back(ir::int_imm(0));
  OpStmt mma{.def = &mma_op(), .tiles = {element(op_.tiles[2].tile, acc), element(a_, mt_), element(b_, nt)}};
  mma.attrs = {{"type", std::string(to_string(before_.tile(op_.tiles[0].tile).dtype))}};
  const Block one = {ir::make_stmt(std::move(mma), loc_)};
  return exact_ ? one : guarded(n0_ + nt * 8, shape_.n, one);
}

Block MmaLowering::multiply_row(const Expr& mt) {
  mt_ = mt;
  const Block row = {over("nt", plan_.tiles_n, 1, &MmaLowering::multiply_one)};
  return exact_ ? row : guarded(m0_ + mt * 16, shape_.m, row);
}

Block MmaLowering::multiply(const OperandRegisters& a, const OperandRegisters& b) {
  a_ = a;
  b_ = b;
  return {over("mt", plan_.tiles_m, 1, &MmaLowering::multiply_row)};
}

}  // namespace tilewright::passes
