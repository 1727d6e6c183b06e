#include "ir/simplify.h"

#include "ir/rewrite.h"

#include <algorithm>
#include <map>

namespace tilewright::ir {

namespace {

int num_nodes(const Expr& e) {
  int n = 1;
  for (const Expr& a : e.args()) n += num_nodes(a);
  return n;
}

bool is_index(const Expr& e) { return e.dtype() == kIndex; }

// Splits a dividend into c * quotient + remainder, term by term.
struct Split {
  LinearForm quotient, remainder;
};

Split split_by(const LinearForm& form, int64_t c) {
  Split out;
  for (const LinearTerm& t : form.terms) {
    const bool whole = t.coefficient % c == 0;
    (whole ? out.quotient : out.remainder).terms.push_back({.term = t.term, .coefficient = whole ? t.coefficient / c : t.coefficient});
  }
  out.quotient.constant = floordiv_value(form.constant, c);
  out.remainder.constant = floormod_value(form.constant, c);
  return out;
}

// A sum whose mathematical value is that of the wrapping computation.
bool is_exact(const Expr& e, const Facts& facts) {
  const Interval i = bounds(e, facts);
  return i.lo && i.hi && *i.lo > INT64_MIN / 2 && *i.hi < INT64_MAX / 2;
}

Expr simplify_division(const Expr& e, const Facts& facts) {
  const std::optional<int64_t> c = e.arg(1).as_int();
  if (!c || *c <= 0 || !is_index(e)) return e;
  const Expr& x = e.arg(0);
  const bool divides = e.is(ExprKind::floordiv);
  // (x / a) / b is x / (a b); a and b positive, nothing wraps.
  if (divides && x.is(ExprKind::floordiv) && x.arg(1).as_int() && *x.arg(1).as_int() > 0) {
    int64_t product = 0;
    if (!__builtin_mul_overflow(*c, *x.arg(1).as_int(), &product)) return simplify(floordiv(x.arg(0), product), facts);
  }
  if (!is_exact(x, facts)) return e;
  const Split split = split_by(linear_form(x), *c);
  const Expr remainder = to_expr(split.remainder);
  if (!is_exact(remainder, facts)) return e;
  if (bounds(remainder, facts).within(0, *c - 1)) return divides ? to_expr(split.quotient) : remainder;
  if (split.quotient.terms.empty() && split.quotient.constant == 0) return e;
  if (!divides) return floormod(remainder, *c);
  const Expr rest = floordiv(remainder, *c) + to_expr(split.quotient);
  return num_nodes(rest) < num_nodes(e) ? rest : e;
}

Expr simplify_order(const Expr& e, const Facts& facts) {
  if (!is_index(e.arg(0))) return e;
  if (prove(e, facts)) return bool_imm(true, e.loc());
  if (prove(negation(e), facts)) return bool_imm(false, e.loc());
  return e;
}

Expr simplify_min_max(const Expr& e, const Facts& facts) {
  if (!is_index(e)) return e;
  const bool is_min = e.is(ExprKind::min);
  if (prove(le(e.arg(0), e.arg(1)), facts)) return is_min ? e.arg(0) : e.arg(1);
  if (prove(le(e.arg(1), e.arg(0)), facts)) return is_min ? e.arg(1) : e.arg(0);
  return e;
}

// (x / c) * c + x % c is x.
Expr join_division(const Expr& e) {
  const LinearForm form = linear_form(e);
  for (const LinearTerm& m : form.terms) {
    if (!m.term.is(ExprKind::floormod) || !m.term.arg(1).as_int()) continue;
    const Expr quotient = floordiv(m.term.arg(0), m.term.arg(1));
    const int64_t wanted = int64_t(uint64_t(m.coefficient) * uint64_t(*m.term.arg(1).as_int()));
    for (const LinearTerm& q : form.terms) {
      if (!equal(q.term, quotient) || q.coefficient != wanted) continue;
      LinearForm joined{.terms = {}, .constant = form.constant};
      for (const LinearTerm& t : form.terms) {
        if (&t != &m && &t != &q) joined.terms.push_back(t);
      }
      return to_expr(joined) + m.term.arg(0) * m.coefficient;
    }
  }
  return e;
}

Expr simplify_sum(const Expr& e) {
  if (!is_index(e)) return e;
  const Expr joined = join_division(e);
  const Expr linear = to_expr(linear_form(joined));
  return num_nodes(linear) < num_nodes(e) ? linear : e;
}

Expr simplify_select(const Expr& e, Facts facts) {
  const Expr condition = simplify(e.arg(0), facts);
  if (condition.as_int()) return simplify(e.arg(*condition.as_int() ? 1 : 2), facts);
  facts.push();
  facts.assume(condition, Reads::stable);
  const Expr then = simplify(e.arg(1), facts);
  facts.pop();
  facts.assume(negation(condition), Reads::stable);
  return select(condition, then, simplify(e.arg(2), facts), e.loc());
}

}  // namespace

Expr simplify(const Expr& e, const Facts& facts) {
  if (!e || e.args().empty()) return e;
  if (e.is(ExprKind::select)) return simplify_select(e, facts);
  std::vector<Expr> args;
  bool changed = false;
  for (const Expr& a : e.args()) {
    args.push_back(simplify(a, facts));
    changed |= &*args.back() != &*a;
  }
  const Expr out = changed ? with_args(e, std::move(args)) : e;
  switch (out.kind()) {
    case ExprKind::floordiv:
    case ExprKind::floormod: return simplify_division(out, facts);
    case ExprKind::lt:
    case ExprKind::le:
    case ExprKind::eq:
    case ExprKind::ne: return simplify_order(out, facts);
    case ExprKind::min:
    case ExprKind::max: return simplify_min_max(out, facts);
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul: return simplify_sum(out);
    default: return out;
  }
}

void note_let(const Expr& var, const Expr& value, Facts& facts) {
  if (!is_float(var.dtype())) facts.equate(var, value);
}

// ---- statements ----

namespace {

// Whether a block leaves or restarts the loop around it: a break or continue outside of its own loops.
bool jumps(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Stmt& stmt) {
    if (get_if<BreakStmt>(stmt) || get_if<ContinueStmt>(stmt)) return true;
    const auto* branch = get_if<IfStmt>(stmt);
    return branch && (jumps(branch->then) || jumps(branch->otherwise));
  });
}

class Simplifier : public Rewriter {
 public:
  Simplifier(const Program& program, const Kernel& kernel) : facts_(kernel_facts(program, kernel)) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& e) override { return e ? simplify(replace(e), facts_) : e; }
  void rewrite(const Stmt& stmt, Block& out) override;

 private:
  // Variables whose let or loop is gone.
  Expr replace(const Expr& e) {
    if (replaced_.empty()) return e;
    if (e.is(ExprKind::var)) {
      const auto it = replaced_.find(e.var_id());
      return it == replaced_.end() ? e : it->second;
    }
    if (e.args().empty()) return e;
    std::vector<Expr> args;
    bool changed = false;
    for (const Expr& a : e.args()) {
      args.push_back(replace(a));
      changed |= &*args.back() != &*a;
    }
    return changed ? with_args(e, std::move(args)) : e;
  }
  void rewrite_if(const IfStmt& branch, const Loc& loc, Block& out);
  void rewrite_loop(const ForStmt& loop, const Loc& loc, Block& out);

  Facts facts_;
  std::map<VarId, Expr> replaced_;
};

void Simplifier::rewrite(const Stmt& stmt, Block& out) {
  if (const auto* branch = get_if<IfStmt>(stmt)) return rewrite_if(*branch, stmt->loc, out);
  if (const auto* loop = get_if<ForStmt>(stmt)) return rewrite_loop(*loop, stmt->loc, out);
  if (const auto* let = get_if<LetStmt>(stmt)) {
    const Expr value = rewrite(let->value);
    if (value.is(ExprKind::int_imm) || value.is(ExprKind::float_imm) || value.is(ExprKind::var)) {
      replaced_[let->var.var_id()] = value;
      return;
    }
    note_let(let->var, value, facts_);
    out.push_back(make_stmt(LetStmt{.var = let->var, .value = value}, stmt->loc));
    return;
  }
  Rewriter::rewrite(stmt, out);
}

void Simplifier::rewrite_if(const IfStmt& branch, const Loc& loc, Block& out) {
  const Expr condition = rewrite(branch.condition);
  if (condition.as_int()) {
    const Block taken = Rewriter::rewrite(*condition.as_int() ? branch.then : branch.otherwise);
    out.insert(out.end(), taken.begin(), taken.end());
    return;
  }
  IfStmt rebuilt{.condition = condition, .then = {}, .otherwise = {}};
  facts_.push();
  facts_.assume(condition);
  rebuilt.then = Rewriter::rewrite(branch.then);
  facts_.pop();
  facts_.push();
  facts_.assume(negation(condition));
  rebuilt.otherwise = Rewriter::rewrite(branch.otherwise);
  facts_.pop();
  if (rebuilt.then.empty() && rebuilt.otherwise.empty()) return;
  out.push_back(make_stmt(std::move(rebuilt), loc));
}

void Simplifier::rewrite_loop(const ForStmt& loop, const Loc& loc, Block& out) {
  ForStmt rebuilt{.kind = loop.kind, .dims = {}, .attrs = loop.attrs, .body = {}};
  facts_.push();
  bool runs = true;
  for (const LoopDim& dim : loop.dims) {
    LoopDim d{.var = dim.var, .begin = rewrite(dim.begin), .extent = rewrite(dim.extent), .step = dim.step};
    runs = runs && !(d.extent.as_int() && *d.extent.as_int() <= 0);
    if (d.extent.is_int(1) && loop.kind != LoopKind::parallel && !jumps(loop.body)) {
      replaced_[d.var.var_id()] = d.begin;
      continue;
    }
    facts_.bind(d.var, d.begin, d.extent, d.step);
    rebuilt.dims.push_back(std::move(d));
  }
  if (runs) rebuilt.body = Rewriter::rewrite(loop.body);
  facts_.pop();
  if (!runs || rebuilt.body.empty()) return;
  if (rebuilt.dims.empty()) {
    out.insert(out.end(), rebuilt.body.begin(), rebuilt.body.end());
    return;
  }
  out.push_back(make_stmt(std::move(rebuilt), loc));
}

}  // namespace

Facts kernel_facts(const Program& program, const Kernel& kernel) {
  Facts facts;
  for (const Scalar& scalar : program.scalars) {
    if (scalar.kind == ScalarKind::extent) facts.bound(scalar.var, -kMaxExtent, kMaxExtent);
  }
  for (const Tensor& tensor : program.tensors) {
    for (const Expr& extent : tensor.shape) facts.assume(le(int_imm(0), extent));
  }
  for (size_t d = 0; d < kernel.grid.size(); ++d) facts.bind(kernel.block_vars[d], int_imm(0), kernel.grid[d]);
  return facts;
}

Program simplify(const Program& program) {
  Program out = program;
  for (Kernel& kernel : out.kernels) {
    Simplifier simplifier(program, kernel);
    kernel.body = simplifier.Rewriter::rewrite(kernel.body);
  }
  return out;
}

}  // namespace tilewright::ir
