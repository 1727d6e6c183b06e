// C++ text of expressions and accesses.
#pragma once

#include "codegen/cpu.h"
#include "ir/kernel.h"

#include <string>
#include <vector>

namespace tilewright::codegen {

// Names and places of one kernel's variables and tiles in its text.
class CpuNames {
 public:
  CpuNames(const ir::Program& program, const ir::Kernel& kernel) : program_(program), kernel_(kernel) {}

  std::string var(const ir::Expr& v) const;
  std::string tile(ir::TileId id) const;
  // The C++ type of one element in memory: "float", "tw::F16", ...
  std::string memory_type(ir::TileId id) const;
  // Elements between neighbours in each dimension.
  std::vector<ir::Expr> strides(ir::TileId id) const;
  const ir::Program& program() const { return program_; }
  const ir::Kernel& kernel() const { return kernel_; }

 private:
  const ir::Program& program_;
  const ir::Kernel& kernel_;
};

// The C++ type of a value of `t` in an expression; 16-bit floats are computed in float.
std::string value_type(DType t);

class CpuExprWriter {
 public:
  CpuExprWriter(const CpuNames& names, std::vector<CheckSite>& sites) : names_(names), sites_(sites) {}

  std::string text(const ir::Expr& e) { return text(e, 0); }
  // "A[by * 128 + i]" of an unchecked access.
  std::string element(ir::TileId tile, std::span<const ir::Expr> at);
  // "A + by * 128": the address of a region's first element.
  std::string address(const ir::TileRef& ref);
  // The statement that stores `value` to the element.
  std::string store(const ir::StoreStmt& store, const Loc& loc);
  // The statement of an atomic, which may define a variable.
  std::string atomic(const ir::AtomicStmt& atomic, const Loc& loc);

 private:
  std::string text(const ir::Expr& e, int parent);
  std::string binary(const ir::Expr& e, int parent);
  std::string cast(const ir::Expr& e);
  std::string load(const ir::Expr& e);
  std::string rounded(DType dtype, std::string value);
  std::string offset(ir::TileId tile, std::span<const ir::Expr> at);
  // Condition, site and coordinates of a run-time check.
  std::string in_bounds(const ir::Tile& tile, std::span<const ir::Expr> at);
  std::string fail_arguments(const ir::Tile& tile, std::span<const ir::Expr> at, bool is_store, const Loc& loc);

  const CpuNames& names_;
  std::vector<CheckSite>& sites_;
};

}  // namespace tilewright::codegen
