#include "ir/random_program.h"

#include "target/dtype.h"

#include <array>
#include <cmath>
#include <limits>

namespace tilewright::ir {

std::string RandomProgram::name() {
  static const std::array<std::string, 22> kNames = {
      "i",    "j",     "k",    "A",   "B",           "acc",  "x_1",      "min",         "f32",    "for",    "nan",
      "tile", "let_3", "slot", "abs", "9 lives \"n", "a\\b", "\xc3\xa9", "line\nbreak", "select", "atomic", "view"};
  return kNames[size_t(below(chance(80) ? 9 : 22))];
}

double RandomProgram::number() {
  static const std::array<double, 14> kEdges = {0.0,
                                                -0.0,
                                                1.0,
                                                -1.5,
                                                0.1,
                                                1e300,
                                                -1e-300,
                                                65504.,
                                                65519.9,
                                                6e-8,
                                                3.4e38,
                                                5e-324,
                                                std::numeric_limits<double>::infinity(),
                                                std::numeric_limits<double>::quiet_NaN()};
  if (chance(60)) return kEdges[size_t(below(14))] * (chance(50) ? 1 : -1);
  return std::ldexp(std::normal_distribution<double>()(random_), int(below(60)) - 30);
}

Expr RandomProgram::constant(DType dtype) {
  if (is_float(dtype)) return float_imm(number(), dtype);
  if (chance(70)) return int_imm(below(20) - 8, dtype);
  static const std::array<int64_t, 6> kEdges = {
      std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), -1, 127, 255, int64_t(1) << 53};
  return int_imm(int64_t(uint64_t(kEdges[size_t(below(6))]) + uint64_t(below(3) * (chance(50) ? 0 : 1))), dtype);
}

Expr RandomProgram::leaf(DType dtype) {
  std::vector<Expr> fitting;
  for (const Expr& v : vars_) {
    if (v.dtype() == dtype) fitting.push_back(v);
  }
  if (!fitting.empty() && chance(70)) return fitting[size_t(below(int64_t(fitting.size())))];
  return constant(dtype);
}

Expr RandomProgram::load_of(size_t row, DType dtype, int depth) {
  const Tile& t = kernel_->tiles[row];
  return load(TileId(row), t.name, dtype, exprs(int64_t(t.shape.size()), kIndex, depth - 1));
}

Expr RandomProgram::comparison(int depth) {
  if (chance(20)) return logical_not(expr(DType::boolean, depth - 1));
  if (chance(30)) {
    const ExprKind kind = chance(50) ? ExprKind::logical_and : ExprKind::logical_or;
    return binary(kind, expr(DType::boolean, depth - 1), expr(DType::boolean, depth - 1));
  }
  const DType t = dtype();
  const auto kind = ExprKind(int(ExprKind::eq) + below(4));
  return binary(kind, expr(t, depth - 1), expr(t, depth - 1));
}

Expr RandomProgram::expr(DType dtype, int depth) {
  if (depth <= 0 || chance(15)) return leaf(dtype);
  if (chance(12)) return cast(expr(this->dtype(), depth - 1), dtype);
  if (chance(8)) return select(expr(DType::boolean, depth - 1), expr(dtype, depth - 1), expr(dtype, depth - 1));
  if (kernel_ && !kernel_->tiles.empty() && chance(20)) {
    const auto row = size_t(below(int64_t(kernel_->tiles.size())));
    return load_of(row, chance(90) ? kernel_->tiles[row].dtype : dtype, depth).dtype() == dtype
               ? load_of(row, dtype, depth)
               : cast(load_of(row, kernel_->tiles[row].dtype, depth), dtype);
  }
  if (is_boolean(dtype)) return comparison(depth);
  if (is_float(dtype)) {
    if (chance(20)) return call(MathFn(below(kNumMathFns)), expr(dtype, depth - 1));
    static const std::array<ExprKind, 6> kFloat = {ExprKind::add, ExprKind::sub, ExprKind::mul,
                                                   ExprKind::div, ExprKind::min, ExprKind::max};
    return binary(kFloat[size_t(below(6))], expr(dtype, depth - 1), expr(dtype, depth - 1));
  }
  static const std::array<ExprKind, 12> kInt = {
      ExprKind::add, ExprKind::sub,     ExprKind::mul,    ExprKind::floordiv, ExprKind::floormod, ExprKind::min,
      ExprKind::max, ExprKind::bit_and, ExprKind::bit_or, ExprKind::bit_xor,  ExprKind::shl,      ExprKind::shr};
  if (chance(5)) return call(MathFn::abs, expr(dtype, depth - 1));
  return binary(kInt[size_t(below(12))], expr(dtype, depth - 1), expr(dtype, depth - 1));
}

Expr RandomProgram::define(DType dtype) {
  vars_.push_back(program_.fresh_var(name(), dtype));
  return vars_.back();
}

std::vector<Expr> RandomProgram::exprs(int64_t count, DType dtype, int depth) {
  std::vector<Expr> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(expr(dtype, depth));
  return out;
}

Tensor RandomProgram::tensor() {
  Tensor out{.name = name(), .dtype = dtype(), .shape = exprs(below(4), kIndex, 1), .strides = {}, .loc = {}};
  if (chance(30)) out.strides = exprs(below(4), kIndex, 1);
  if (chance(30)) out.kind = TensorKind::workspace;
  if (chance(20)) out.kind = TensorKind::view;
  if (chance(20)) out.view_of = int(below(int64_t(program_.tensors.size()) + 1)) - 1;
  return out;
}

Tile RandomProgram::tile() {
  Tile out{.name = name(),
           .space = Space(below(4)),
           .dtype = dtype(),
           .shape = exprs(below(4), kIndex, 1),
           .layout = std::nullopt,
           .origin = {},
           .loc = {}};
  if (chance(40)) out.tensor = int(below(int64_t(program_.tensors.size()) + 3)) - 1;
  if (chance(30)) out.safe_value = number();
  if (chance(30)) {
    const std::array<int64_t, 2> extents = {1 + below(9), 1 + below(9)};
    out.layout = layout::row_major(extents);
  }
  if (chance(30)) out.stages = int(below(5));
  if (chance(20)) out.view_of = TileId(below(6)) - 1;
  out.packed = chance(20);
  out.unchecked = chance(20);
  if (chance(20)) out.origin = name();
  return out;
}

AttrValue RandomProgram::attr_value() {
  switch (below(4)) {
    case 0: return chance(50);
    case 1: return chance(50) ? below(100) - 50 : std::numeric_limits<int64_t>::min();
    case 2: return number();
    default: return name();
  }
}

Attrs RandomProgram::attrs() {
  Attrs out;
  for (int64_t i = chance(60) ? 0 : below(4); i > 0; --i) out.emplace_back(name(), attr_value());
  return out;
}

TileRef RandomProgram::ref() {
  TileRef out{.tile = TileId(below(int64_t(kernel_->tiles.size()))), .region = {}, .slot = {}};
  for (int64_t i = below(4); i > 0; --i) {
    out.region.push_back({.begin = expr(chance(90) ? kIndex : DType::i32, 2),
                          .extent = chance(60) ? int_imm(below(9)) : expr(chance(90) ? kIndex : DType::u8, 1)});
  }
  if (chance(15)) out.slot = expr(kIndex, 1);
  return out;
}

Stmt RandomProgram::op() {
  OpStmt out{.def = ops_[size_t(below(int64_t(ops_.size())))]};
  for (int64_t i = kernel_->tiles.empty() ? 0 : below(4); i > 0; --i) out.tiles.push_back(ref());
  for (int64_t i = below(3); i > 0; --i) out.scalars.push_back(expr(dtype(), 2));
  out.attrs = attrs();
  if (chance(20)) out.exec = {.first_warp = int(below(9)) - 1, .num_warps = int(below(9))};
  return make_stmt(std::move(out));
}

Stmt RandomProgram::atomic() {
  AtomicStmt out{.kind = AtomicKind(below(kNumAtomicKinds)),
                 .tile = TileId(below(int64_t(kernel_->tiles.size()))),
                 .indices = exprs(below(3), kIndex, 2),
                 .value = {},
                 .prev = {},
                 .order = MemoryOrder(below(kNumMemoryOrders))};
  if (out.kind != AtomicKind::load) out.value = expr(dtype(), 3);
  if (chance(50)) out.prev = define(dtype());
  return make_stmt(std::move(out));
}

Stmt RandomProgram::loop(int depth) {
  ForStmt out{.kind = LoopKind(below(4)), .dims = {}, .attrs = attrs(), .body = {}};
  for (int64_t i = 1 + below(3); i > 0; --i) {
    const Expr begin = chance(60) ? int_imm(0) : expr(kIndex, 1);
    out.dims.push_back({.var = define(chance(90) ? kIndex : dtype()),
                        .begin = begin,
                        .extent = expr(kIndex, 1),
                        .step = chance(70) ? 1 : below(9) - 4});
  }
  out.body = block(depth - 1);
  return make_stmt(std::move(out));
}

Stmt RandomProgram::stmt(int depth) {
  switch (depth <= 0 ? below(5) : below(9)) {
    case 8: return kernel_->tiles.empty() ? op() : atomic();
    case 0: return op();
    case 1: {
      const DType t = dtype();
      const Expr value = expr(t, 3);
      return make_stmt(LetStmt{.var = define(t), .value = value});
    }
    case 2:
      if (kernel_->tiles.empty()) return op();
      return make_stmt(StoreStmt{.tile = TileId(below(int64_t(kernel_->tiles.size()))),
                                 .indices = exprs(below(3), kIndex, 2),
                                 .value = expr(dtype(), 4)});
    case 3: return make_stmt(BreakStmt{});
    case 4: return make_stmt(ContinueStmt{});
    case 5: return loop(depth);
    case 6: {
      const Expr condition = expr(DType::boolean, 3);
      return make_stmt(WhileStmt{.condition = condition, .body = block(depth - 1)});
    }
    default: {
      const Expr condition = expr(DType::boolean, 3);
      Block then = block(depth - 1);
      return make_stmt(IfStmt{.condition = condition, .then = std::move(then), .otherwise = block(depth - 1)});
    }
  }
}

Block RandomProgram::block(int depth) {
  Block out;
  for (int64_t i = below(4); i > 0; --i) out.push_back(stmt(depth));
  return out;
}

Kernel RandomProgram::kernel() {
  Kernel out;
  out.name = name();
  for (int64_t i = 1 + below(3); i > 0; --i) {
    out.grid.push_back(expr(kIndex, 2));
    out.block_vars.push_back(define(kIndex));
  }
  out.threads = int(below(300)) - 20;
  for (int64_t i = below(5); i > 0; --i) out.tiles.push_back(tile());
  kernel_ = &out;
  out.body = block(3);
  kernel_ = nullptr;
  return out;
}

Program RandomProgram::program() {
  program_ = {};
  vars_.clear();
  program_.name = name();
  for (int64_t i = below(4); i > 0; --i) {
    program_.scalars.push_back({.var = define(dtype()), .kind = ScalarKind(below(2)), .loc = {}});
  }
  for (int64_t i = below(4); i > 0; --i) program_.tensors.push_back(tensor());
  for (int64_t i = below(5); i > 0; --i) {
    program_.params.push_back({.is_tensor = chance(50), .index = int(below(5)) - 1});
  }
  for (int64_t i = 1 + below(2); i > 0; --i) program_.kernels.push_back(kernel());
  program_.next_var += VarId(below(3));
  return program_;
}

}  // namespace tilewright::ir
