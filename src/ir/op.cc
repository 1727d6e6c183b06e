#include "ir/op.h"

#include "ir/rewrite.h"

#include <fmt/format.h>

namespace tilewright::ir {

TileId ExpandContext::fresh_scalar_tile(std::string_view name, DType dtype, std::string_view origin, const Loc& loc) {
  const auto id = TileId(kernel.tiles.size());
  kernel.tiles.push_back({.name = kernel.fresh_tile_name(name),
                          .space = Space::local,
                          .dtype = dtype,
                          .shape = {},
                          .layout = std::nullopt,
                          .origin = std::string(origin),
                          .loc = loc});
  return id;
}

const OpDef* find_op(std::span<const OpDef* const> ops, std::string_view name) {
  for (const OpDef* op : ops) {
    if (op->name == name) return op;
  }
  return nullptr;
}

namespace {

class Expansion : public Rewriter {
 public:
  Expansion(Kernel& kernel, VarId& next_var) : context_{.kernel = kernel, .next_var = next_var} {}
  using Rewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* op = get_if<OpStmt>(stmt);
    if (op == nullptr || op->def->reports) return Rewriter::rewrite(stmt, out);
    for (Stmt& part : op->def->expand(*op, context_, stmt->loc)) out.push_back(std::move(part));
  }

 private:
  ExpandContext context_;
};

}  // namespace

Program expand_ops(const Program& program) {
  Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = Expansion(kernel, out.next_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::ir
