// Expressions.
#include "ir/simplify.h"

#include "ir/exact.h"
#include "ir/simplify_rules.h"

#include <unordered_map>
#include <utility>

namespace tilewright::ir {

namespace {

// Applications of rules to one node in a row; a rule shortens or proves, so that more than a few do not occur.
constexpr int kMaxRounds = 8;

class ExprSimplifier {
 public:
  explicit ExprSimplifier(const Facts& facts) : outer_(facts) {}

  Expr simplify(const Expr& e) {
    if (!e || (e.args().empty() && !e.is(ExprKind::var))) return e;
    const auto it = done_.find(&*e);
    if (it != done_.end()) return it->second.second;
    Expr out = by_parts(e);
    for (int round = 0; round < kMaxRounds; ++round) {
      const Expr next = by_rule(out);
      if (&*next == &*out) break;
      out = by_parts(next);
    }
    done_.emplace(&*e, std::pair(e, out));
    return out;
  }

 private:
  Expr by_parts(const Expr& e);
  Expr by_rule(const Expr& e);
  Expr by_kind(const Expr& e);
  Expr select_parts(const Expr& e);
  Expr logical_parts(const Expr& e);
  Expr simplify_where(const Expr& e, const Expr& condition);

  const Facts& facts() const { return inner_ ? *inner_ : outer_; }

  const Facts& outer_;
  std::optional<Facts> inner_;  // with the conditions around; copied only when there are any
  // Shared subtrees are done once. Holds its keys, so that no address is used again.
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> done_;
};

// A condition inside one expression holds for loads as well: nothing is stored in between.
Expr ExprSimplifier::simplify_where(const Expr& e, const Expr& condition) {
  if (e.args().empty() && !e.is(ExprKind::var)) return e;
  auto outside = std::exchange(done_, {});
  if (!inner_) inner_ = outer_;
  inner_->push();
  inner_->assume(condition, Reads::stable);
  Expr out = simplify(e);
  inner_->pop();
  done_ = std::move(outside);
  return out;
}

Expr ExprSimplifier::select_parts(const Expr& e) {
  const Expr condition = simplify(e.arg(0));
  if (condition.as_int()) return simplify(e.arg(*condition.as_int() ? 1 : 2));
  const Expr then = simplify_where(e.arg(1), condition);
  return select(condition, then, simplify_where(e.arg(2), negation(condition)), e.loc());
}

// Where a is false, a && b is false whatever b is; so b may take a for granted, and a may take b. Both are evaluated,
// though: an index of a tile must stay inside where the other side is false, too.
Expr ExprSimplifier::logical_parts(const Expr& e) {
  const bool is_and = e.is(ExprKind::logical_and);
  const Expr a = simplify(e.arg(0));
  if (a.as_int()) return (*a.as_int() != 0) == is_and ? simplify(e.arg(1)) : a;
  const auto where = [this, is_and](const Expr& side, const Expr& other) {
    return reads_tile(side) ? simplify(side) : simplify_where(side, is_and ? other : negation(other));
  };
  const Expr b = where(e.arg(1), a);
  if (b.as_int()) return (*b.as_int() != 0) == is_and ? a : b;
  const Expr again = where(a, b);
  if (again.as_int()) return (*again.as_int() != 0) == is_and ? b : again;
  const bool same = equal(a, e.arg(0)) && equal(b, e.arg(1));
  return same ? e : binary(e.kind(), a, b, e.loc());
}

Expr ExprSimplifier::by_parts(const Expr& e) {
  if (e.args().empty()) return e;
  if (e.is(ExprKind::select)) return select_parts(e);
  if (e.is(ExprKind::logical_and) || e.is(ExprKind::logical_or)) return logical_parts(e);
  return map_args(e, [this](const Expr& a) { return simplify(a); });
}

Expr ExprSimplifier::by_kind(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::floordiv:
    case ExprKind::floormod: return simplify_division(e, facts());
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::lt:
    case ExprKind::le: return simplify_comparison(e, facts());
    case ExprKind::min:
    case ExprKind::max: return simplify_min_max(e, facts());
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul: return simplify_sum(e, facts());
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor:
    case ExprKind::shl:
    case ExprKind::shr: return simplify_bits(e, facts());
    case ExprKind::logical_not: return simplify_not(e);
    case ExprKind::cast: return simplify_cast(e, facts());
    case ExprKind::select: return simplify_select(e);
    case ExprKind::call: return simplify_call(e, facts());
    default: return e;
  }
}

Expr ExprSimplifier::by_rule(const Expr& e) {
  if (is_exact_dtype(e.dtype()) && !e.is(ExprKind::int_imm)) {
    const Range r = range(e, facts());
    if (r.is_constant()) return int_imm(int64_t(uint64_t(r.lo)), e.dtype(), e.loc());
  }
  return by_kind(e);
}

}  // namespace

Expr simplify(const Expr& e, const Facts& facts) { return e ? ExprSimplifier(facts).simplify(e) : e; }

void note_let(const Expr& var, const Expr& value, Facts& facts) { facts.equate(var, value); }

}  // namespace tilewright::ir
