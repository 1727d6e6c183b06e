// Records one program: the object behind the C++ and Python languages.
//
// Declarations come first, then kernels; inside a kernel, statements go to the innermost open frame (kernel, loop,
// branch). Handles are the languages' names for tiles: tensors of the program or tiles of the open kernel. They are
// numbered through all programs of the process, so that one of another program is recognised.
#pragma once

#include "ir/kernel.h"
#include "ops/operand.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::lang {

class Builder {
 public:
  Builder(std::string name, Loc loc);

  // Declarations. Each returns a handle or a variable.
  int add_tensor(ir::Tensor tensor, double safe_value);
  int add_workspace(std::vector<ir::Expr> shape, DType dtype, Loc loc);
  ir::Expr add_scalar(std::string name, DType dtype, ir::ScalarKind kind, Loc loc);
  int add_tile(ir::Space space, std::string name, std::vector<ir::Expr> shape, DType dtype, Loc loc);

  // The place of a tile's elements, as the author says: a layout or a fragment.
  void annotate(int handle, std::optional<layout::Layout> layout, std::optional<layout::Fragment> fragment, Loc loc);
  // What reads of a tensor outside its shape yield in the open kernel.
  void annotate_safe_value(int handle, double value, const Loc& loc);

  // Another name for the storage of a tile or tensor; `word` is the author's.
  int add_view(std::string_view word, int handle, std::vector<ir::Expr> shape, DType dtype, Loc loc);

  // `threads`: the extents of a block.
  int open_kernel(std::vector<ir::Expr> grid, std::vector<int> threads, Loc loc);
  void close_kernel(int depth);
  const ir::Expr& block_var(int dim) const;

  // Opens a loop and returns its depth. Its variables are those of its dimensions.
  int open_loop(ir::LoopKind kind, std::vector<ir::LoopDim> dims, ir::Attrs attrs, Loc loc);
  // The loops from `depth` on count as one from here, with these variables.
  void join_loops(int depth, std::vector<ir::Expr> vars);
  // Closes the loop at `depth` and those joined to it.
  void close_loop(int depth);
  // The loop's body was left by a C++ jump or exception: remembers the error for `finish`.
  void abandon_loop(int depth, bool unwinding);
  const ir::Expr& loop_var(int depth, int dim) const;
  void open_if(ir::Expr condition, Loc loc);
  void open_else(Loc loc);
  void close_if();
  void open_while(ir::Expr condition, Loc loc);
  void close_while();
  // An exception left the innermost branch or while: remembers that for `finish`.
  void abandon_body();

  void append(ir::Stmt stmt);
  // Statements that were appended so far, at any depth.
  size_t num_appended() const { return num_appended_; }
  ir::Expr let(ir::Expr value, Loc loc, std::string name = "x");
  void store(int handle, std::vector<ir::Expr> indices, ir::Expr value, Loc loc);
  // An atomic access; returns the variable of what was there before, if it is wanted.
  ir::Expr atomic(ir::AtomicKind kind, int handle, std::vector<ir::Expr> indices, ir::Expr value, ir::MemoryOrder order,
                  bool with_prev, Loc loc);
  void check_atomic(ir::AtomicKind kind, int handle, ir::MemoryOrder order, const Loc& loc);
  ir::Expr load(int handle, std::vector<ir::Expr> indices, Loc loc);

  // The row of the open kernel's tile table; throws when no kernel is open or the tile belongs to another one.
  ir::TileId tile_id(int handle, const Loc& loc);
  const ir::Kernel& kernel(const Loc& loc) const;
  DType dtype_of(int handle, const Loc& loc) const;
  const std::vector<ir::Expr>& shape_of(int handle, const Loc& loc) const;
  // A fresh variable with a readable name.
  ir::Expr fresh_var(std::string name, DType dtype, Loc loc);

  // Refuses an expression with a variable of another program, or an element read in another kernel: by their numbers
  // alone they would be some variable and some tile of this one.
  void check_made(const ir::Expr& e, const Loc& loc) const;
  // `e`, made of checked expressions by rules of the IR, which may have made loads anew.
  ir::Expr adopt(ir::Expr e);

  // The verified program.
  ir::Program finish();

 private:
  enum class FrameKind : uint8_t { kernel, loop, if_then, if_else, while_loop };
  struct Frame {
    FrameKind kind;
    ir::Block stmts = {};
    ir::ForStmt loop = {};
    ir::Expr condition = {};
    ir::Block then = {};
    std::vector<ir::Expr> vars = {};  // of a loop, or of the loops joined with it
    Loc loc = {};
  };
  struct Handle {
    int tensor = -1;  // row of program_.tensors
    int kernel = -1;  // number of the kernel that owns the tile
    ir::TileId tile = -1;
    double safe_value = 0;
    std::string name = {};
  };

  int add_handle(Handle handle);
  const Handle& handle(int number, const Loc& loc) const;
  // The row of the open kernel; throws for a tile of another one.
  const ir::Tile& open_tile(const Handle& handle, const Loc& loc) const;
  ir::Expr keep(ir::Expr e);
  void check_made(const ir::Stmt& stmt) const;
  void check_depth(const Loc& loc) const;
  // Refuses what depends on a block, a loop or a tile.
  void check_launch_value(const ir::Expr& e, const std::string& what, const Loc& loc) const;

  Frame& top(const Loc& loc);
  Frame pop(FrameKind kind);
  void require_no_kernel(const char* what, const Loc& loc) const;
  std::string unique_tile_name(ir::Space space) const;
  int add_tensor_view(std::string_view word, Handle of, std::vector<ir::Expr> shape, DType dtype, Loc loc);
  int handle_of_tensor(int tensor) const;

  ir::Program program_;
  ir::Kernel kernel_;
  bool kernel_open_ = false;
  int kernel_count_ = 0;
  size_t num_appended_ = 0;
  std::vector<Frame> frames_;
  std::unordered_map<int, Handle> handles_;
  // The nodes of this program's variables and loads, each with the number of the kernel that was open. They are kept,
  // so that no other node can have their address.
  struct Made {
    ir::Expr expr;
    int kernel;
  };
  std::unordered_map<const ir::ExprNode*, Made> made_;
  std::optional<Error> deferred_;
};

}  // namespace tilewright::lang
