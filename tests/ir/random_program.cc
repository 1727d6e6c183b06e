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
  // Drawn in a fixed order, so that a seed means one program everywhere; wraps around.
  const auto edge = uint64_t(kEdges[size_t(below(6))]);
  const auto further = uint64_t(below(3));
  return int_imm(int64_t(chance(50) ? edge : edge + further), dtype);
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

// Any function whose result has the dtype.
Expr RandomProgram::function(DType dtype, int depth) {
  const auto fn = MathFn(below(kNumMathFns));
  const auto operand = [&](DType t) { return expr(t, depth - 1); };
  switch (math_info(fn).operands) {
    case MathOperands::choice: return call(fn, {operand(DType::boolean), operand(dtype), operand(dtype)});
    case MathOperands::scaled:
      if (is_float(dtype)) return call(fn, {operand(dtype), operand(DType::i32)});
      break;
    case MathOperands::test:
      if (is_boolean(dtype)) return call(fn, operand(this->dtype() == DType::f16 ? DType::f16 : DType::f32));
      break;
    case MathOperands::f32_only:
      if (dtype == DType::f32) return call(fn, operand(dtype));
      break;
    case MathOperands::wide_floats:
    case MathOperands::floats:
    case MathOperands::integers:
    case MathOperands::numbers: {
      const bool integers = math_info(fn).operands == MathOperands::integers;
      const bool wide = math_info(fn).operands == MathOperands::wide_floats;
      const bool fits = integers ? is_integer(dtype) : is_float(dtype) && (!wide || dtype >= DType::f32);
      if (!fits) break;
      std::vector<Expr> operands;
      for (int i = 0; i < math_info(fn).arity; ++i) operands.push_back(operand(dtype));
      return call(fn, std::move(operands));
    }
  }
  if (bytes_of(dtype) != 4 || chance(50)) return leaf(dtype);
  return reinterpret(operand(dtype == DType::f32 ? DType::u32 : DType::f32), dtype);
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
    if (chance(20)) return function(dtype, depth);
    static const std::array<ExprKind, 6> kFloat = {ExprKind::add, ExprKind::sub, ExprKind::mul,
                                                   ExprKind::div, ExprKind::min, ExprKind::max};
    return binary(kFloat[size_t(below(6))], expr(dtype, depth - 1), expr(dtype, depth - 1));
  }
  static const std::array<ExprKind, 12> kInt = {
      ExprKind::add, ExprKind::sub,     ExprKind::mul,    ExprKind::floordiv, ExprKind::floormod, ExprKind::min,
      ExprKind::max, ExprKind::bit_and, ExprKind::bit_or, ExprKind::bit_xor,  ExprKind::shl,      ExprKind::shr};
  if (chance(5)) return function(dtype, depth);
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

layout::Fragment RandomProgram::fragment() {
  const std::vector<int64_t> shape = {1 + below(9), 1 + below(9)};
  std::vector<layout::FragmentMode> threads, regs;
  for (int64_t i = below(3); i > 0; --i) {
    const int dim = int(below(3)) - 1;
    threads.push_back({.extent = 1 + below(32), .dim = dim, .stride = dim < 0 ? 0 : below(20)});
  }
  for (int64_t i = below(3); i > 0; --i)
    regs.push_back({.extent = 1 + below(8), .dim = int(below(2)), .stride = below(20)});
  return layout::Fragment(shape, std::move(threads), std::move(regs));
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
  if (chance(20)) out.fragment = fragment();
  if (chance(20)) out.annotated = Loc::at("random", 1);
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
  ForStmt out{.kind = LoopKind(below(5)), .dims = {}, .attrs = attrs(), .body = {}};
  for (int64_t i = 1 + below(3); i > 0; --i) {
    const Expr begin = chance(60) ? int_imm(0) : expr(kIndex, 1);
    out.dims.push_back({.var = define(chance(90) ? kIndex : dtype()),
                        .begin = begin,
                        .extent = expr(kIndex, 1),
                        .step = chance(70) ? 1 : below(9) - 4});
  }
  out.body = block(depth - 1);
  if (chance(20)) out.schedule = schedule();
  return make_stmt(std::move(out));
}

ExecSet RandomProgram::exec() { return {.first_warp = int(below(9)) - 1, .num_warps = int(below(9))}; }

Channel RandomProgram::channel() {
  Channel out{.name = name(), .tiles = {}, .stages = int(below(6)), .producer = exec(), .consumers = {}};
  if (!kernel_->tiles.empty()) {
    for (int64_t i = below(3); i > 0; --i) out.tiles.push_back(TileId(below(int64_t(kernel_->tiles.size()))));
  }
  for (int64_t i = below(3); i > 0; --i) out.consumers.push_back(exec());
  return out;
}

std::shared_ptr<const Schedule> RandomProgram::schedule() {
  Schedule out{.anchor = int(below(4)) - 1, .slots = {}, .channels = {}};
  for (int64_t i = below(3); i > 0; --i) out.channels.push_back(channel());
  for (int64_t i = below(5); i > 0; --i) {
    out.slots.push_back({.kind = Slot::Kind(below(kNumSlotKinds)),
                         .index = int(below(4)) - 1,
                         .stage = int(below(4)),
                         .order = int(below(9)) - 1,
                         .exec = {}});
    if (chance(50)) out.slots.back().exec = exec();
  }
  return std::make_shared<const Schedule>(std::move(out));
}

// Tables of a kernel: maps, roles, channels.
void RandomProgram::tables(Kernel& kernel) {
  for (int64_t i = program_.tensors.empty() ? 0 : below(3); i > 0; --i) {
    TensorMap map{.name = name(), .tensor = int(below(int64_t(program_.tensors.size()))), .box = {}, .span_bytes = 0};
    for (int64_t d = below(4); d > 0; --d) map.box.push_back(below(300) - 1);
    if (chance(50)) map.span_bytes = int(below(200)) - 1;
    kernel.maps.push_back(std::move(map));
  }
  for (int64_t i = below(3); i > 0; --i) {
    kernel.roles.push_back({.name = name(), .exec = exec(), .max_regs = int(below(3)) * 40});
  }
  for (int64_t i = below(3); i > 0; --i) kernel.channels.push_back(channel());
}

Stmt RandomProgram::stmt(int depth) {
  switch (depth <= 0 ? below(5) : below(11)) {
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
    case 7: {
      LanesStmt out{.exec = {}, .body = block(depth - 1)};
      if (chance(30)) out.exec = exec();
      return make_stmt(std::move(out));
    }
    case 9:
      return make_stmt(RoleStmt{.name = name(),
                                .exec = exec(),
                                .max_regs = int(below(3)) * 40,
                                .elected = chance(50),
                                .body = block(depth - 1)});
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
  if (chance(30)) out.thread_var = define(kIndex);
  for (int64_t i = chance(70) ? 0 : 1 + below(3); i > 0; --i) out.thread_extents.push_back(int(below(40)) - 3);
  for (int64_t i = below(5); i > 0; --i) out.tiles.push_back(tile());
  kernel_ = &out;
  if (chance(30)) tables(out);
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
