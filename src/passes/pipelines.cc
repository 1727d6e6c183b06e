#include "ir/simplify.h"
#include "passes/passes.h"

namespace tilewright::passes {

ir::Program cpu_pipeline(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks) {
  // Constant conditions and single-iteration loops go first, so that copies see plain regions.
  ir::Program p = ir::simplify(program);
  // Leading dimensions decide which atoms fit.
  p = plan_cpu_tiles(std::move(p));
  // While ops are whole: afterwards only loops are left.
  p = lower_cpu(p, target, remarks);
  // Needs every element access to be visible, and block indices with their ranges.
  p = guard_accesses(p);
  // Conditions that the facts of a branch decide.
  p = ir::simplify(p);
  // While nests are whole: their first dimension is the row.
  p = fuse_rows(p);
  // Once it is known what is not checked; after rows have been counted.
  p = pad_rows(p, target);
  // Whole nests are needed no longer.
  p = hoist_invariants(p);
  // Last: it hides the ranges of block indices.
  return map_grid_cpu(p, program);
}

}  // namespace tilewright::passes
