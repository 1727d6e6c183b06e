// The parts of `verify`.
#pragma once

#include "ir/kernel.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilewright::ir {

// "A_shared  shared f16[128, 32]" at the tile's declaration.
Error&& note_tile(Error&& error, const Tile& tile);

// Throws where atomics of this kind (with this order) are not possible on the tile.
void check_atomic(AtomicKind kind, MemoryOrder order, const Tile& tile, const Loc& loc);

// An identifier of C and C++, no keyword, at most 64 characters.
void check_name(std::string_view name, const Loc& loc);

// Bounds an expression, so that no walk of it overflows the stack and no text of it is endless.
void check_size(const Expr& e, const Loc& loc);

enum class VarRole : uint8_t { scalar, block, thread, loop, let };

// The definitions of a program's variables and which of them can be used at a point of the walk.
class VarScopes {
 public:
  explicit VarScopes(VarId next_var) : next_var_(next_var) {}

  // Opens and closes the reach of variables; what is defined inside is not usable after `close`.
  void open() { marks_.push_back(visible_.size()); }
  void close();
  // Throws when `var` is no variable, or its name, id or dtype is not possible or its id is taken.
  void define(const Expr& var, VarRole role, const Loc& loc);
  // Throws when the variable cannot be used here. `loc` is the statement's.
  void use(const Expr& var, const Loc& loc) const;
  // The kind of a usable variable.
  VarRole role(const Expr& var) const { return definitions_.at(var.var_id()).role; }

 private:
  struct Definition {
    std::string name;
    DType dtype = kIndex;
    VarRole role = VarRole::scalar;
    Loc loc = {};
    bool visible = true;
  };
  VarId next_var_;
  std::unordered_map<VarId, Definition> definitions_;
  std::vector<VarId> visible_;
  std::vector<size_t> marks_;
};

// Expressions: variables, loads, nesting.
class ExprChecker {
 public:
  ExprChecker(VarScopes& scopes, bool structure_only)
      : scopes_(scopes), structure_only_(structure_only), dead_(structure_only) {}

  // Null outside kernels, where loads are refused.
  void enter(const Kernel* kernel) { kernel_ = kernel; }
  // In code that provably never runs, accesses may be out of bounds.
  void set_dead(bool dead) { dead_ = dead; }
  bool dead() const { return dead_; }
  // For `verify_structure`: all code counts as such.
  bool structure_only() const { return structure_only_; }

  void check(const Expr& e, const Loc& loc);
  // With a dtype; `what` begins the message: "an index of A".
  void check(const Expr& e, DType dtype, std::string_view what, const Loc& loc);
  // An extent known at launch: scalars only.
  void check_launch_value(const Expr& e, std::string_view what, const Loc& loc);
  const Tile& check_tile(TileId id, const Loc& loc) const;
  void check_indices(TileId id, std::span<const Expr> indices, bool certain, const Loc& loc) const;
  void check_ref(const TileRef& ref, std::string_view op, const Loc& loc);

 private:
  void visit(const Expr& e, bool certain, const Loc& loc);
  void check_region_dim(const TileRef& ref, size_t d, std::string_view op, const Loc& loc) const;

  VarScopes& scopes_;
  const Kernel* kernel_ = nullptr;
  bool structure_only_;
  bool dead_;
  std::unordered_set<const ExprNode*> seen_;  // of the expression that is checked
};

// Tables come from passes; what an author writes as text has none yet.
[[noreturn]] void refuse_tables(const Loc& loc);
// The warps of a role are warps of the block, and its registers what setmaxnreg takes.
void verify_role(const Role& role, const Kernel& kernel, const Loc& loc);
// The tables of a kernel: its roles share no warp, its maps are of tensors, its channels of shared tiles.
void verify_tables(const Program& program, const Kernel& kernel);
// The table on a loop: ir/verify_schedule.cc has the rules.
void verify_schedule(const ForStmt& loop, const Kernel& kernel, const Loc& loc);

// Throws where `value` is no value of the tile's dtype.
void check_safe_value(const Tile& tile, double value, const Loc& loc);
// The layouts and fragments of a kernel's tiles that are the author's, the shapes of the tiles checked before.
void verify_annotated(const Kernel& kernel);

// Statements of one kernel's body.
void verify_body(const Kernel& kernel, VarScopes& scopes, ExprChecker& exprs);
// Reads of on-chip tiles that no earlier statement can have written.
void verify_initialised(const Kernel& kernel);

}  // namespace tilewright::ir
