// What belongs to a program: the numbers of its tiles, the nodes of its variables and loads. By their ids alone those
// of another program or kernel would be taken for some tile or variable of this one.
#include "lang/builder.h"

#include "ir/parse.h"
#include "support/error.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

namespace tilewright::lang {

using ir::Expr;
using ir::Stmt;

int Builder::add_handle(Handle handle) {
  static std::atomic<uint32_t> next = 0;
  const int number = int(next.fetch_add(1) & uint32_t(INT32_MAX));
  handles_.insert_or_assign(number, std::move(handle));
  return number;
}

const Builder::Handle& Builder::handle(int number, const Loc& loc) const {
  const auto found = handles_.find(number);
  if (found != handles_.end()) return found->second;
  throw invalid_kernel(loc, "a tile of another program is used here")
      .note("this program", program_.loc)
      .hint("tiles and tensors belong to the T::prim_func that declares them");
}

Expr Builder::keep(Expr e) {
  made_.try_emplace(&*e, Made{.expr = e, .kernel = kernel_count_});
  return e;
}

void Builder::check_made(const Expr& e, const Loc& loc) const {
  std::unordered_set<const ir::ExprNode*> seen;
  std::vector<const Expr*> left = {&e};
  while (!left.empty()) {
    const Expr& next = *left.back();
    left.pop_back();
    if (!next || !seen.insert(&*next).second) continue;
    for (const Expr& a : next.args()) left.push_back(&a);
    const bool is_load = next.is(ir::ExprKind::load);
    if (!is_load && !next.is(ir::ExprKind::var)) continue;
    const auto made = made_.find(&*next);
    if (made == made_.end()) {
      throw invalid_kernel(loc, "{} is used here, but it belongs to another program", next->name)
          .note("this program", program_.loc)
          .hint("expressions belong to the T::prim_func that they are made in");
    }
    if (!is_load || made->second.kernel == kernel_count_) continue;
    throw invalid_kernel(loc, "an element of {} that was read in another kernel is used here", next->name)
        .note("this kernel", kernel_.loc)
        .hint("read it here; on-chip tiles live in one kernel, T::alloc_global passes data on");
  }
}

Expr Builder::adopt(Expr e) {
  std::unordered_set<const ir::ExprNode*> seen;
  std::vector<Expr> left = {e};
  while (!left.empty()) {
    const Expr next = left.back();
    left.pop_back();
    if (!seen.insert(&*next).second) continue;
    if (next.is(ir::ExprKind::load)) keep(next);
    left.insert(left.end(), next.args().begin(), next.args().end());
  }
  return e;
}

void Builder::check_made(const Stmt& stmt) const {
  const auto check = [&](const Expr& e) { check_made(e, stmt->loc); };
  if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) {
    std::for_each(op->scalars.begin(), op->scalars.end(), check);
    for (const ir::TileRef& ref : op->tiles) {
      for (const ir::RegionDim& dim : ref.region) check(dim.begin), check(dim.extent);
    }
  } else if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
    std::for_each(store->indices.begin(), store->indices.end(), check);
    check(store->value);
  } else if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
    std::for_each(atomic->indices.begin(), atomic->indices.end(), check);
    check(atomic->value);
  } else if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) {
    check(let->value);
  }
}

void Builder::check_launch_value(const Expr& e, const std::string& what, const Loc& loc) const {
  check_made(e, loc);
  std::unordered_set<const ir::ExprNode*> seen;
  std::vector<const Expr*> left = {&e};
  while (!left.empty()) {
    const Expr& next = *left.back();
    left.pop_back();
    if (!seen.insert(&*next).second) continue;
    for (const Expr& a : next.args()) left.push_back(&a);
    const bool is_scalar =
        next.is(ir::ExprKind::var) && std::any_of(program_.scalars.begin(), program_.scalars.end(),
                                                  [&](const ir::Scalar& s) { return s.var.var_id() == next.var_id(); });
    if (is_scalar || !(next.is(ir::ExprKind::load) || next.is(ir::ExprKind::var))) continue;
    throw invalid_kernel(loc, "{} uses {}, which is not known at launch", what, next->name)
        .hint("use scalars and extents of tensors");
  }
}

void Builder::check_depth(const Loc& loc) const {
  if (frames_.size() < size_t(ir::kMaxNesting)) return;
  throw invalid_kernel(loc, "statements nested more than {} deep", ir::kMaxNesting).hint("join loops or branches");
}

}  // namespace tilewright::lang
