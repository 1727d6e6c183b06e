#include "runtime/bind_extents.h"

#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>

namespace tilewright {

using ir::Expr;
using ir::ExprKind;
using ir::VarId;

std::string ExtentFact::place() const {
  return is_stride ? fmt::format("the stride of dimension {}", dim) : fmt::format("dimension {}", dim);
}

std::string text_of(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::int_imm: return fmt::format("{}", e->i);
    case ExprKind::var: return e->name;
    case ExprKind::add:
      if (e.arg(1).is(ExprKind::int_imm) && e.arg(1)->i < 0)
        return fmt::format("{} - {}", text_of(e.arg(0)), 0 - uint64_t(e.arg(1)->i));
      return fmt::format("{} + {}", text_of(e.arg(0)), text_of(e.arg(1)));
    case ExprKind::sub: return fmt::format("{} - ({})", text_of(e.arg(0)), text_of(e.arg(1)));
    case ExprKind::cast: return text_of(e.arg(0));
    case ExprKind::mul: {
      const auto factor = [](const Expr& x) { return x.args().empty() ? text_of(x) : "(" + text_of(x) + ")"; };
      return factor(e.arg(0)) + " * " + factor(e.arg(1));
    }
    default: break;
  }
  std::string out = std::string(to_string(e.kind())) + "(";
  for (size_t i = 0; i < e.args().size(); ++i) out += (i ? ", " : "") + text_of(e.arg(i));
  return out + ")";
}

namespace {

// Wide enough for sums and products of values below kLinearLimit.
__extension__ using Wide = __int128;

// coefficient * unknown + constant; the unknown is -1 in a known value.
struct Linear {
  VarId unknown = -1;
  Wide coefficient = 0;
  Wide constant = 0;
};

bool is_known(const ScalarValues& values, VarId id) { return id < VarId(values.size()) && values[size_t(id)]; }

std::optional<Linear> combine(ExprKind kind, const Linear& a, const Linear& b) {
  if (a.unknown >= 0 && b.unknown >= 0 && a.unknown != b.unknown) return std::nullopt;
  const VarId unknown = std::max(a.unknown, b.unknown);
  switch (kind) {
    case ExprKind::add: return Linear{unknown, a.coefficient + b.coefficient, a.constant + b.constant};
    case ExprKind::sub: return Linear{unknown, a.coefficient - b.coefficient, a.constant - b.constant};
    case ExprKind::mul:
      if (a.unknown >= 0 && b.unknown >= 0) return std::nullopt;
      if (a.unknown >= 0) return Linear{unknown, a.coefficient * b.constant, a.constant * b.constant};
      return Linear{unknown, b.coefficient * a.constant, a.constant * b.constant};
    default: return std::nullopt;
  }
}

bool has_unknown(const Expr& e, const ScalarValues& values) {
  if (e.is(ExprKind::var)) return !is_known(values, e.var_id());
  return std::any_of(e.args().begin(), e.args().end(), [&](const Expr& a) { return has_unknown(a, values); });
}

// Bounded so that products of three terms stay inside 128 bits.
constexpr int64_t kLinearLimit = int64_t(1) << 40;

std::optional<Linear> linear(const Expr& e, const ScalarValues& values) {
  if (!has_unknown(e, values)) {
    const int64_t value = evaluate(e, values);
    if (value > kLinearLimit || value < -kLinearLimit) return std::nullopt;
    return Linear{.unknown = -1, .coefficient = 0, .constant = value};
  }
  if (e.is(ExprKind::var)) return Linear{.unknown = e.var_id(), .coefficient = 1, .constant = 0};
  if (e.is(ExprKind::cast) && is_integer(e.arg(0).dtype())) return linear(e.arg(0), values);
  if (e.args().size() != 2) return std::nullopt;
  const std::optional<Linear> a = linear(e.arg(0), values), b = linear(e.arg(1), values);
  if (!a || !b) return std::nullopt;
  const std::optional<Linear> out = combine(e.kind(), *a, *b);
  if (!out) return std::nullopt;
  const auto large = [](Wide x) { return x > kLinearLimit || x < -kLinearLimit; };
  if (large(out->coefficient) || large(out->constant)) return std::nullopt;
  return out;
}

std::string declaration(const ir::Tensor& tensor) {
  std::string out = fmt::format("{}  {}[", tensor.name, to_string(tensor.dtype));
  for (size_t d = 0; d < tensor.shape.size(); ++d) out += (d ? ", " : "") + text_of(tensor.shape[d]);
  return out + "]";
}

class Solver {
 public:
  Solver(const ir::Program& program, std::span<const ExtentFact> facts, ScalarValues& values)
      : program_(program), facts_(facts), values_(values), source_(values.size(), nullptr) {}

  void run() {
    for (const bool use_free : {false, true}) {
      solve_alone(use_free);
      while (solve_one_linear(use_free)) {
      }
    }
    for (const ir::Scalar& scalar : program_.scalars) {
      if (!is_known(values_, scalar.var.var_id())) throw unsolved(scalar);
    }
    for (const ExtentFact& fact : facts_) {
      if (!fact.free) check(fact);
    }
  }

 private:
  void solve_alone(bool use_free) {
    for (const bool strides : {false, true}) {
      for (const ExtentFact& fact : facts_) {
        if (fact.is_stride != strides || fact.free != use_free || !fact.expr.is(ExprKind::var)) continue;
        if (!is_known(values_, fact.expr.var_id())) set(fact.expr.var_id(), fact.value, fact);
      }
    }
  }

  bool solve_one_linear(bool use_free) {
    for (const ExtentFact& fact : facts_) {
      if (fact.free != use_free || !has_unknown(fact.expr, values_)) continue;
      const std::optional<Linear> form = linear(fact.expr, values_);
      if (!form || form->unknown < 0 || form->coefficient == 0) continue;
      const Wide rest = fact.value - form->constant;
      if (rest % form->coefficient != 0) {
        if (fact.free) continue;
        throw no_integer(fact, form->unknown);
      }
      set(form->unknown, int64_t(rest / form->coefficient), fact);
      return true;
    }
    return false;
  }

  const ir::Scalar& scalar_of(VarId id) const {
    return *std::find_if(program_.scalars.begin(), program_.scalars.end(),
                         [&](const ir::Scalar& s) { return s.var.var_id() == id; });
  }

  void set(VarId id, int64_t value, const ExtentFact& fact) {
    const ir::Scalar& scalar = scalar_of(id);
    const DType dtype = scalar.var.dtype();
    if ((value < 0 && !fact.is_stride) || ir::wrap_to(dtype, value) != value) {
      throw invalid_argument("argument {} ({}): {} is {}, which makes {} = {}, not a possible {} extent", fact.argument,
                             fact.tensor->name, fact.place(), fact.value, scalar.var->name, value, to_string(dtype))
          .note(declaration(*fact.tensor), fact.tensor->loc)
          .note(fmt::format("{}  extent", scalar.var->name), scalar.loc)
          .hint(fmt::format("{} is declared as {}", fact.place(), text_of(fact.expr)));
    }
    values_[size_t(id)] = ScalarValue{.i = value, .f = 0};
    source_[size_t(id)] = &fact;
  }

  Error no_integer(const ExtentFact& fact, VarId id) const {
    const ir::Scalar& scalar = scalar_of(id);
    return invalid_argument("argument {} ({}): {} is {}, but no integer {} makes {} that", fact.argument,
                            fact.tensor->name, fact.place(), fact.value, scalar.var->name, text_of(fact.expr))
        .note(declaration(*fact.tensor), fact.tensor->loc)
        .note(fmt::format("{}  extent", scalar.var->name), scalar.loc)
        .hint(fmt::format("pass a tensor whose {} has the form {}", fact.is_stride ? "stride" : "extent",
                          text_of(fact.expr)));
  }

  Error unsolved(const ir::Scalar& scalar) const {
    return invalid_argument("{}: the extent {} does not follow from the arguments", program_.name, scalar.var->name)
        .note(fmt::format("{}  extent", scalar.var->name), scalar.loc)
        .hint(fmt::format("use {} alone as a dimension of some tensor", scalar.var->name));
  }

  void check(const ExtentFact& fact) const {
    const int64_t expected = evaluate(fact.expr, values_);
    if (expected == fact.value) return;
    Error error = disagreement(fact, expected);
    add_sources(error, fact.expr);
    throw std::move(error).hint(hint_for(fact, expected));
  }

  Error disagreement(const ExtentFact& fact, int64_t expected) const {
    std::string want =
        fact.expr.as_int() ? fmt::format("{}", expected) : fmt::format("{} = {}", text_of(fact.expr), expected);
    Error error = invalid_argument("argument {} ({}): {} is {}, but {} is expected", fact.argument, fact.tensor->name,
                                   fact.place(), fact.value, want);
    return std::move(error).note(declaration(*fact.tensor), fact.tensor->loc);
  }

  // A note for each variable of `e` that another view fixed.
  void add_sources(Error& error, const Expr& e) const {
    if (!e.is(ExprKind::var)) {
      for (const Expr& a : e.args()) add_sources(error, a);
      return;
    }
    const ExtentFact* source = source_[size_t(e.var_id())];
    const int64_t value = values_[size_t(e.var_id())]->i;
    if (source == nullptr) return;
    std::move(error).note(fmt::format("{} = {} by {} of argument {}, {}", e->name, value, source->place(),
                                      source->argument, declaration(*source->tensor)),
                          source->tensor->loc);
  }

  static std::string hint_for(const ExtentFact& fact, int64_t expected) {
    if (!fact.is_stride) return fmt::format("pass a tensor with extent {} there", expected);
    if (fact.tensor->strides.empty())
      return "pass a contiguous tensor, or declare strides to pass a strided or transposed view";
    return fmt::format("pass a view with the declared stride {}", expected);
  }

  const ir::Program& program_;
  std::span<const ExtentFact> facts_;
  ScalarValues& values_;
  std::vector<const ExtentFact*> source_;  // by VarId: what fixed it
};

}  // namespace

void solve_extents(const ir::Program& program, std::span<const ExtentFact> facts, ScalarValues& values) {
  Solver(program, facts, values).run();
}

}  // namespace tilewright
