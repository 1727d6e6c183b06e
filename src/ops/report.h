// print and device_assert: what a running kernel tells the host.
//
// `print` names a region; its expansion, and what the words on scalars make, is a `report`: values, and how to say
// them. A report is a statement of its own kind (OpDef::reports): the interpreter and the backends collect its values
// as cells of 64 bits and hand them to `Report`, which makes the text. So the text is the same everywhere.
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::ops {

// The elements of a region that are printed: the first ones in row-major order.
inline constexpr int64_t kMaxPrinted = 256;
// Values of an assertion's condition that its error has.
inline constexpr size_t kMaxAssertValues = 8;

// tiles = {region}; scalars = {the block's indices}; attrs: message. Reads the first kMaxPrinted elements.
const ir::OpDef& print_op();

// No tiles; scalars = {condition, block indices, begins, extents, values}; attrs:
//   kind     "print": when the condition holds; "assert": an error when it does not
//   message  the author's
//   subject  what is printed: an expression, a tile, or the asserted condition
//   rank     of a printed region, with as many begins and extents; absent for others
//   label0, label1, ...  of an assertion: what its values are
const ir::OpDef& report_op();

// How many elements a print of the region has at most.
int64_t num_printed(const ir::TileRef& region);
// The report that a print is. `element(k, at)`: the value of element k of the region, in row-major order, which is that
// of the tile at those coordinates; where the region may have fewer it is asked for where there is one.
using PrintedElement = std::function<ir::Expr(int64_t k, const std::vector<ir::Expr>& at)>;
ir::OpStmt report_of_print(const ir::OpStmt& print, const ir::Kernel& kernel, const PrintedElement& element);

ir::Stmt make_print(const Operand& region, const std::string& message, const ir::Kernel& kernel, const Loc& loc);
// Without a value: the message alone.
ir::Stmt make_print(const ir::Expr& value, const std::string& message, const ir::Kernel& kernel, const Loc& loc);
ir::Stmt make_assert(const ir::Expr& condition, const std::string& message, const ir::Kernel& kernel, const Loc& loc);

// The part of a report that is known before the program runs.
struct Report {
  bool is_assert = false;
  std::string message, subject;
  std::vector<std::string> labels;
  size_t num_blocks = 1;  // indices of a block
  int64_t rank = -1;      // of a region; -1: none
  std::vector<DType> dtypes;
  std::vector<Note> declarations;
  Loc loc;

  static Report of(const ir::OpStmt& op, const ir::Kernel& kernel, const Loc& loc);

  // The scalars of the statement, but for the condition.
  size_t num_cells() const { return num_blocks + 2 * size_t(rank < 0 ? 0 : rank) + dtypes.size(); }

  // `cells`: the scalars but for the condition. Integers as they are, floats as the bits of a double.
  // The lines of a print, each ended.
  std::string text(std::span<const int64_t> cells) const;
  // Of an assertion that failed.
  Error error(std::span<const int64_t> cells) const;
};

}  // namespace tilewright::ops
