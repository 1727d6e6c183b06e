// What a tile operation is: its record of hooks. A new op is a new OpDef; nothing else in the compiler lists ops.
#pragma once

#include "ir/kernel.h"

#include <span>
#include <string_view>
#include <vector>

namespace tilewright::ir {

enum class Mode : uint8_t { read, write, update };  // update: read and then written
struct Access {
  TileRef ref;
  Mode mode = Mode::read;
  Proxy proxy = Proxy::generic;
  Queue until = Queue::none;  // what says that it is over
};

// What `expand` may use: the kernel's tiles, fresh variables, and scratch tiles that it adds to the table.
struct ExpandContext {
  Kernel& kernel;
  VarId& next_var;

  Expr fresh_var(std::string name, DType dtype = kIndex) { return var(next_var++, std::move(name), dtype); }
  // A rank-0 local tile, e.g. an accumulator; private to each iteration of a parallel loop that writes it.
  TileId fresh_scalar_tile(std::string_view name, DType dtype, std::string_view origin, const Loc& loc);
};

struct OpDef {
  std::string_view name;
  int num_tiles = 0;
  int num_scalars = 0;  // -1: any number
  // Scalar 0 is a condition that holds after the statement, or the program ends in an error.
  bool assumes = false;
  // Throws Error{invalid_kernel | unsupported} when operands, dtypes, shapes or attributes do not fit.
  void (*verify)(const OpStmt& op, const Kernel& kernel, const Loc& loc);
  // Every access to a tile, whole regions; scalars' loads are not included.
  std::vector<Access> (*effects)(const OpStmt& op, const Kernel& kernel);
  // The meaning, as loops, lets, stores and ifs over scalar expressions: one admissible order. Parallel loops say
  // which iterations may be reordered.
  Block (*expand)(const OpStmt& op, ExpandContext& context, const Loc& loc);
  // One thread of a warp starts it.
  bool elected = false;
  // Works on values alone and tells the host about them: may stand in parallel loops, and is its own expansion.
  bool reports = false;
};

// `program` with every op statement replaced by its expansion: what the interpreter runs.
Program expand_ops(const Program& program);

// Looks an op up by name in a list of definitions; null when absent.
const OpDef* find_op(std::span<const OpDef* const> ops, std::string_view name);

}  // namespace tilewright::ir
