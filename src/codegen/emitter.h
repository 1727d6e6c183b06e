// The walk over statements that the emitters of C-like languages share.
#pragma once

#include "codegen/cpu_expr.h"
#include "support/text_writer.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace tilewright::codegen {

// The row that declares the storage of `id`: no view, and not the unchecked form of another row.
ir::TileId declaring_row(const ir::Kernel& kernel, ir::TileId id);

// Local tiles that are private to each iteration of a parallel loop, because the loop writes them: they are declared in
// its body. Declaring rows.
std::set<ir::TileId> private_tiles(const ir::Kernel& kernel);

// Whether iterations of a loop with this body touch common elements by right, or leave it: atomics and reports.
bool iterations_meet(const ir::Block& body);

class Emitter {
 public:
  Emitter(const ir::Program& program, const ir::Kernel& kernel, Dialect dialect, TextWriter& out,
          std::vector<CheckSite>& sites);
  virtual ~Emitter() = default;

 protected:
  void write(const ir::Block& block);
  void write(const ir::Stmt& stmt);
  virtual void write_op(const ir::OpStmt& op, const Loc& loc) = 0;
  virtual void write_atomic(const ir::AtomicStmt& atomic, const Loc& loc) = 0;
  // The line above the loop over a dimension, for the compiler of the text; empty for none.
  virtual std::string loop_hint(const ir::ForStmt& loop, size_t dim) const = 0;
  // The first line of the body of the loop over a dimension; empty for none.
  virtual std::string first_line(const ir::ForStmt&, size_t) const { return {}; }
  virtual void open_while(const ir::WhileStmt& loop, const Loc& loc);
  // What stands before the braces of a part that only some warps run: "if (...) ".
  virtual std::string lanes_guard(const ir::ExecSet& exec) const;
  // Roles that stand one behind the other.
  virtual void write_roles(std::span<const ir::Stmt> roles);
  // A tile of its own memory, uninitialised, and its views; a scalar one begins with 0.
  void declare_local(ir::TileId id, const Loc& loc);
  // The other names of a tile's storage.
  void declare_views(ir::TileId root, const Loc& loc);
  // Used in parallel loops alone; otherwise the declaration in a loop hides one around it.
  bool is_only_private(ir::TileId id) const;
  // The cells of a report, with commas.
  std::string report_cells(const ir::OpStmt& op);
  // Block indices from `block`, the number in launch order; the last grid dimension is the slowest.
  void write_block_indices();

  const ir::Program& program_;
  const ir::Kernel& kernel_;
  CpuNames names_;
  CpuExprWriter exprs_;
  std::vector<CheckSite>& sites_;
  TextWriter& out_;
  ir::Facts facts_;  // where the walk is

 private:
  void write_loop(const ir::ForStmt& loop, const Loc& loc);
  void write_where(const ir::Expr& condition, const ir::Block& block);
  ir::Expr end_of(const ir::LoopDim& dim) const;

  int depth_ = 0;  // of loops that the compiler of the text does not unroll
  std::set<ir::TileId> private_;
  std::set<ir::TileId> used_serially_;  // outside of parallel loops
};

}  // namespace tilewright::codegen
