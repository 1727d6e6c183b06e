// A gemm on tensor cores as ldmatrix and mma.sync of each warp.
#pragma once

#include "ir/op.h"
#include "ops/gemm.h"
#include "passes/cuda_select.h"

#include <vector>

namespace tilewright::passes {

// The registers of one operand: those of `tile` at the indices `at`, as [instruction, register].
struct OperandRegisters {
  ir::TileId tile = -1;
  std::vector<ir::Expr> at;
};

class MmaLowering {
 public:
  // `gemm`: one for which is_mma holds, in a kernel whose accumulator has its fragment. The registers are declared in
  // the kernel of `context`; `thread` counts from 0.
  MmaLowering(const ir::OpStmt& gemm, const ir::Kernel& before, ir::ExpandContext& context, ir::Expr thread,
              const Loc& loc);

  const MmaPlan& plan() const { return plan_; }
  // Shapes of the registers that one step takes: [instructions, registers of one].
  std::vector<ir::Expr> shape_of_a() const { return {ir::int_imm(plan_.tiles_m), ir::int_imm(4)}; }
  std::vector<ir::Expr> shape_of_b() const { return {ir::int_imm(plan_.tiles_n), ir::int_imm(2)}; }

  // What the following need, once in front of them; `multiply` only if some warps leave some products out.
  ir::Block names();
  bool multiplies_in_part() const { return !exact_; }
  // 16 columns of k, from `step` * 16 on: the warp's rows of A and columns of B to registers.
  ir::Block load(const ir::Expr& step, const OperandRegisters& a, const OperandRegisters& b);
  // All products of one step.
  ir::Block multiply(const OperandRegisters& a, const OperandRegisters& b);

 private:
  ir::Expr name(const char* name, const ir::Expr& value, ir::Block& out);
  ir::Stmt over(const char* name, int64_t extent, int64_t step, ir::Block (MmaLowering::*make)(const ir::Expr&));
  ir::Block guarded(const ir::Expr& begin, int64_t extent, ir::Block inner) const;
  ir::Stmt ldmatrix(const OperandRegisters& regs, const ir::Expr& index, const ir::TileRef& matrix, const ir::Expr& row,
                    const ir::Expr& col, int num, bool trans) const;
  ir::Block load_a(const ir::Expr& mt);
  ir::Block load_b(const ir::Expr& nt);
  ir::Block multiply_row(const ir::Expr& mt);
  ir::Block multiply_one(const ir::Expr& nt);

  const ir::OpStmt& op_;
  const ir::Kernel& before_;
  ir::ExpandContext& context_;
  ir::Expr thread_;
  Loc loc_;
  MmaPlan plan_;
  ops::GemmAttrs attrs_;
  ops::GemmShape shape_;
  bool exact_ = false;  // no warp has instructions beyond the accumulator
  bool pairs_ = false;  // one ldmatrix for two instructions along n
  ir::Expr m0_, n0_, row_, low_, high_;
  ir::Expr k0_, mt_;  // of the loops around
  OperandRegisters a_, b_;
};

// A tile of 32-bit registers of each thread.
ir::TileId add_registers(ir::Kernel& kernel, const char* name, std::vector<ir::Expr> shape, const Loc& loc);

// The two halves of a gemm whose steps of k stand apart, so that operands are loaded while products run. Both have the
// tiles {A, B, C} of the gemm and its attributes, then registers {a, b} of shape [buffers, instructions, registers].
// scalars = {step of k, buffer}.
const ir::OpDef& mma_load_op();
// scalars = {buffer}.
const ir::OpDef& mma_multiply_op();
bool is_mma_part(const ir::OpStmt& op);
// The gemm that a half belongs to.
ir::OpStmt gemm_of(const ir::OpStmt& part);

}  // namespace tilewright::passes
