// C++ text of expressions and accesses.
#pragma once

#include "codegen/cpu.h"
#include "ir/bounds.h"
#include "ir/kernel.h"

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright::codegen {

// The C++ that is written, and the device library that it calls.
enum class Dialect : uint8_t {
  cpu,   // tiles on chip hold the type that values are computed in; signed integers wrap (-fwrapv); builtins of the
         // compiler are the C library
  cuda,  // only registers are wide, shared tiles hold what tensors do; a signed sum that leaves its type is undefined;
         // the C library is called through the device library
};

// Names and places of one kernel's variables and tiles in its text.
class CpuNames {
 public:
  CpuNames(const ir::Program& program, const ir::Kernel& kernel, Dialect dialect = Dialect::cpu);

  std::string var(const ir::Expr& v) const;
  std::string tile(ir::TileId id) const;
  Dialect dialect() const { return dialect_; }
  // Holds narrow floats and bools in the bits that a tensor has for them, not in the type of their values.
  bool is_narrow(const ir::Tile& tile) const { return in_common_memory(tile) || tile.packed; }
  // Behind a pointer even where it is scalar: tensors, and shared memory on GPUs.
  bool in_common_memory(const ir::Tile& tile) const {
    return !tile.on_chip() || (dialect_ == Dialect::cuda && tile.space == ir::Space::shared);
  }
  // The C++ type of one element in memory: "float", "tw::F16", ...
  std::string memory_type(ir::TileId id) const;
  // Elements between neighbours in each dimension.
  std::vector<ir::Expr> strides(ir::TileId id) const;
  const ir::Program& program() const { return program_; }
  const ir::Kernel& kernel() const { return kernel_; }

 private:
  const ir::Program& program_;
  const ir::Kernel& kernel_;
  Dialect dialect_;
  std::set<std::string> tile_names_;  // as they stand in the text
};

// The C++ type of a value of `t` in an expression; narrow floats are computed in float.
std::string value_type(DType t);
// The C++ type of an element of `t` in memory: "float", "tw::F16", ...
std::string memory_type(DType t);
// A value of dtype `from` as a narrow float may be another than the same bits of that dtype: the type of the memory
// that converts.
std::string converting_type(DType from, DType to);
// `value`, of the type that `dtype` is computed in, rounded or wrapped to `dtype`.
std::string rounded_text(DType dtype, std::string value);

class CpuExprWriter {
 public:
  CpuExprWriter(const CpuNames& names, std::vector<CheckSite>& sites) : names_(names), sites_(sites) {}

  // From here on index arithmetic that `facts` show to fit 32 bits is written so. A variable is 32 bits wide once
  // `define` said so.
  void narrow_by(const ir::Facts& facts) { facts_ = &facts; }
  // The C++ type of a variable with these values.
  std::string define(const ir::Expr& var, std::initializer_list<ir::Expr> values);

  // How often a variable takes a new value: the number of loops around it that do something again, or kUnrolled where
  // the compiler of the text makes a constant of it.
  static constexpr int kUnrolled = 1 << 20;
  void set_level(const ir::Expr& var, int level) { levels_[var.var_id()] = level; }
  // The level of a value computed inside `depth` such loops.
  int level(const ir::Expr& e, int depth) const;

  std::string text(const ir::Expr& e) { return text(e, 0); }
  // "A[by * 128 + i]" of an unchecked access.
  std::string element(ir::TileId tile, std::span<const ir::Expr> at);
  // "A + by * 128": the address of a region's first element.
  std::string address(const ir::TileRef& ref);
  // The statement that ends the launch with an error where an assumption does not hold.
  std::string assumption(const ir::Expr& condition, const Loc& loc);
  // The statement that stores `value` to the element.
  std::string store(const ir::StoreStmt& store, const Loc& loc);
  // The statement of an atomic, which may define a variable.
  std::string atomic(const ir::AtomicStmt& atomic, const Loc& loc);

  // A scalar tile that is a variable of the text, not memory behind a pointer.
  bool is_variable(const ir::Tile& tile) const { return tile.rank() == 0 && !names_.in_common_memory(tile); }

 private:
  // The text of an index expression is an int.
  bool is_narrow(const ir::Expr& e) const;
  std::string index_binary(const ir::Expr& e, int parent);
  std::string text(const ir::Expr& e, int parent);
  std::string binary(const ir::Expr& e, int parent);
  // A sum, difference or product whose C++ operator might leave the type, which the dialect does not define.
  bool may_overflow(const ir::Expr& e) const;
  std::string cast(const ir::Expr& e);
  std::string operand(const ir::Expr& e);
  std::string reinterpret(const ir::Expr& e);
  std::string call(const ir::Expr& e);
  std::string load(const ir::Expr& e);
  std::string offset(ir::TileId tile, std::span<const ir::Expr> at);
  std::string linear_offset(std::span<const ir::Expr> at, std::span<const ir::Expr> strides, int parent);
  // "A + (bx * 128 + tid) + k * 64 + 512": what changes less often first, so that the compiler of the text computes it
  // before the loops.
  std::string staged_address(const ir::TileRef& ref, std::span<const ir::Expr> at);
  // The sum of the products of indices and strides, which no address of an element leaves.
  std::string wide_offset(std::span<const ir::Expr> at, std::span<const ir::Expr> strides);
  // Condition, site and coordinates of a run-time check.
  std::string in_bounds(const ir::Tile& tile, std::span<const ir::Expr> at);
  std::string fail_arguments(const ir::Tile& tile, std::span<const ir::Expr> at, bool is_store, const Loc& loc);

  const CpuNames& names_;
  std::vector<CheckSite>& sites_;
  const ir::Facts* facts_ = nullptr;
  std::set<ir::VarId> narrow_vars_;
  std::map<ir::VarId, int> levels_;  // those of 0 may be missing
};

}  // namespace tilewright::codegen
