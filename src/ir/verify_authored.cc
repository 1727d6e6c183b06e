#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ir/verify_parts.h"
#include "support/error.h"

#include <map>

namespace tilewright::ir {

namespace {

[[noreturn]] void refuse(const Loc& loc, const std::string& what) {
  throw Error(ErrorKind::invalid_kernel, what + ", which only the compiler gives", loc)
      .hint("the text of a lowered program is for reading; leave this out, or print the program itself");
}

void check_tile(const Tile& tile) {
  const auto fail = [&](std::string_view what) { refuse(tile.loc, fmt::format("tile {} {}", tile.name, what)); };
  if (tile.layout && !tile.annotated) fail("has a layout");
  if (tile.fragment && !tile.annotated) fail("has a fragment");
  if (tile.annotated && tile.layout.has_value() == tile.fragment.has_value()) {
    throw invalid_kernel(tile.loc, "tile {} is annotated, but has {}", tile.name,
                         tile.layout ? "both a layout and a fragment" : "neither a layout nor a fragment")
        .hint("give one of them, or leave annotated out");
  }
  if (tile.stages != 1) fail(fmt::format("has {} stages", tile.stages));
  if (tile.packed) fail("is packed");
  if (tile.unchecked) fail("is unchecked");
  if (!tile.origin.empty()) fail("has an origin");
}

// Passes take two rows for different memory, but for those that they make themselves.
void check_one_row(const Kernel& kernel) {
  std::map<int, const Tile*> rows;
  for (const Tile& tile : kernel.tiles) {
    if (tile.on_chip()) continue;
    const auto [first, is_new] = rows.try_emplace(tile.tensor, &tile);
    if (is_new) continue;
    throw invalid_kernel(tile.loc, "tiles {} and {} are of one tensor", first->second->name, tile.name)
        .note(fmt::format("{}  the first one", first->second->name), first->second->loc)
        .hint("name each tensor once in a kernel; a view is a tensor of its own");
  }
}

class Marks : public Visitor {
 public:
  explicit Marks(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (get_if<LanesStmt>(stmt)) refuse(stmt->loc, "this is code of single threads");
    if (const auto* op = get_if<OpStmt>(stmt)) check(*op, stmt->loc);
    Visitor::visit(stmt);
  }
  void visit(const Expr&) override {}

 private:
  void check(const OpStmt& op, const Loc& loc) const {
    if (!(op.exec == ExecSet{})) refuse(loc, fmt::format("{} names warps", op.def->name));
    for (const TileRef& ref : op.tiles) {
      if (ref.slot) refuse(loc, fmt::format("{} names a slot of {}", op.def->name, kernel_.tile(ref.tile).name));
    }
  }

  const Kernel& kernel_;
};

}  // namespace

void verify_authored(const Program& program) {
  for (const Kernel& kernel : program.kernels) {
    if (kernel.thread_var) refuse(kernel.loc, fmt::format("kernel {} has a thread variable", kernel.name));
    for (const Tile& tile : kernel.tiles) check_tile(tile);
    check_one_row(kernel);
    Marks(kernel).visit(kernel.body);
  }
}

}  // namespace tilewright::ir
