#include "int_exprs.h"

#include "ir/bounds.h"

namespace tilewright::ir {

namespace {

__extension__ typedef __int128 Wide;

// Functions on integers from their definitions on mathematical integers.
int64_t evaluate_call(const Expr& e, const std::vector<int64_t>& args) {
  const DType t = e.dtype();
  const auto number = [&](int64_t v) { return t == DType::u64 ? Wide(uint64_t(v)) : Wide(v); };
  const Wide x = number(args[0]), y = args.size() > 1 ? number(args[1]) : 0;
  switch (MathFn(e->i)) {
    case MathFn::abs: return wrap_to(t, int64_t(x < 0 ? -x : x));
    case MathFn::truncdiv: return y == 0 ? 0 : wrap_to(t, int64_t(x / y));
    case MathFn::truncmod: return y == 0 ? int64_t(x) : int64_t(x % y);
    case MathFn::blend: return args[0] ? args[1] : args[2];
    default: break;
  }
  int ones = 0, zeros = 0;
  for (int bit = bits_of(t) - 1; bit >= 0; --bit) {
    const bool set = (uint64_t(args[0]) >> bit) & 1;
    ones += set;
    zeros += ones == 0;
  }
  return MathFn(e->i) == MathFn::popcount ? ones : zeros;
}

}  // namespace

int64_t evaluate(const Expr& e, const Env& env, const Memory& memory) {
  const auto arg = [&](size_t i) { return evaluate(e.arg(i), env, memory); };
  switch (e.kind()) {
    case ExprKind::int_imm: return e->i;
    case ExprKind::var: return env.at(e.var_id());
    case ExprKind::logical_not: return arg(0) == 0;
    case ExprKind::select: return arg(0) != 0 ? arg(1) : arg(2);
    case ExprKind::cast: return wrap_to(e.dtype(), arg(0));
    case ExprKind::call: {
      std::vector<int64_t> args;
      for (size_t i = 0; i < e.args().size(); ++i) args.push_back(arg(i));
      return evaluate_call(e, args);
    }
    case ExprKind::load: {
      std::vector<int64_t> at;
      for (size_t i = 0; i < e.args().size(); ++i) at.push_back(arg(i));
      return memory(e.tile_id(), at);
    }
    default: return eval_int_binary(e.kind(), e.arg(0).dtype(), arg(0), arg(1));
  }
}

void for_each_assignment(const std::vector<VarInfo>& vars, const std::function<void(const Env&)>& visit) {
  Env env;
  const std::function<void(size_t)> assign = [&](size_t i) {
    if (i == vars.size()) return visit(env);
    for (int64_t x = vars[i].lo;; ++x) {
      env[vars[i].var.var_id()] = x;
      assign(i + 1);
      if (x == vars[i].hi) return;
    }
  };
  assign(0);
}

Expr IntExprs::leaf(DType t) {
  if (random_.chance(35)) return int_imm(random_.pick(constants_), t);
  return cast(random_.pick(vars_).var, t);
}

Expr IntExprs::integer(DType t, int depth) {
  if (depth <= 0 || random_.chance(10)) return leaf(t);
  static const std::vector<ExprKind> kKinds = {
      ExprKind::add,      ExprKind::add,      ExprKind::sub,      ExprKind::mul,      ExprKind::mul,
      ExprKind::floordiv, ExprKind::floordiv, ExprKind::floormod, ExprKind::floormod, ExprKind::min,
      ExprKind::max,      ExprKind::bit_and,  ExprKind::bit_or,   ExprKind::bit_xor,  ExprKind::shl,
      ExprKind::shr,      ExprKind::select,   ExprKind::cast,     ExprKind::call};
  const ExprKind kind = random_.pick(kKinds);
  if (kind == ExprKind::select) return select(condition(depth - 1), integer(t, depth - 1), integer(t, depth - 1));
  if (kind == ExprKind::call) {
    const MathFn fn = random_.pick(
        {MathFn::abs, MathFn::abs, MathFn::truncdiv, MathFn::truncmod, MathFn::popcount, MathFn::clz, MathFn::blend});
    if (fn == MathFn::blend) return call(fn, {condition(depth - 1), integer(t, depth - 1), integer(t, depth - 1)});
    std::vector<Expr> operands = {integer(t, depth - 1)};
    if (math_info(fn).arity == 2) operands.push_back(integer(t, depth - 1));
    return call(fn, std::move(operands));
  }
  if (kind == ExprKind::cast) {
    const DType from = random_.pick({DType::i8, DType::u8, DType::i32, DType::u32, DType::i64, DType::u64});
    return cast(integer(from, depth - 1), t);
  }
  const bool by_constant = kind != ExprKind::add && random_.chance(60);
  return binary(kind, integer(t, depth - 1),
                by_constant ? int_imm(random_.pick(constants_), t) : integer(t, depth - 1));
}

Expr IntExprs::condition(int depth) {
  const DType t = random_.pick({DType::i64, DType::i64, DType::i64, DType::i32, DType::u8, DType::u64});
  if (depth > 0 && random_.chance(35)) {
    if (random_.chance(30)) return logical_not(condition(depth - 1));
    const ExprKind kind = random_.chance(50) ? ExprKind::logical_and : ExprKind::logical_or;
    return binary(kind, condition(depth - 1), condition(depth - 1));
  }
  const ExprKind kind = random_.pick({ExprKind::lt, ExprKind::le, ExprKind::eq, ExprKind::ne});
  const auto side = [&] { return random_.chance(50) ? index(t, depth) : integer(t, depth - 1); };
  return binary(kind, side(), side());
}

Expr IntExprs::index(DType t, int depth) {
  Expr sum = leaf(t);
  const int64_t terms = random_.between(1, 3);
  for (int64_t i = 0; i < terms; ++i) {
    const Expr term = depth > 0 && random_.chance(40) ? index(t, depth - 1) : leaf(t);
    sum = sum + term * random_.pick({int64_t(1), int64_t(2), int64_t(3), int64_t(4), int64_t(8), int64_t(-1)});
  }
  const int64_t c = random_.pick({int64_t(1), int64_t(2), int64_t(3), int64_t(4), int64_t(6), int64_t(8), int64_t(16)});
  switch (random_.between(0, 3)) {
    case 0: return floordiv(sum, c);
    case 1: return floormod(sum, c);
    case 2: return floordiv(sum, c) * c + floormod(sum, c);
    default: return sum;
  }
}

}  // namespace tilewright::ir
