#include "ir/op.h"
#include "ir/simplify.h"
#include "passes/cuda_passes.h"
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
  // Last: it hides the ranges of block indices.
  return map_grid_cpu(p, program);
}

ir::Program cuda_pipeline(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks) {
  // Constant conditions and single-iteration loops go first, so that later passes see plain regions.
  ir::Program p = ir::simplify(program);
  // What has no instruction of its own runs as its meaning; its loops take part in the inference.
  p = expand_unselected(p, target);
  p = infer_fragments(std::move(p), target, remarks);
  // Loads are still whole copies.
  p = expand_pipelines(p, target, remarks);
  // After the pipeline gave tiles their stages.
  p = plan_operands(std::move(p), target);
  p = lower_tiles(p, target);
  // Needs parallel loops over their own dimensions, and block indices with their ranges.
  p = guard_accesses(p);
  p = ir::simplify(p);
  p = distribute_threads(p);
  // Hides the ranges of block indices.
  p = map_grid_cpu(p, program);
  // The index arithmetic of the threads.
  p = ir::simplify(p);
  // Layouts must be known before shared memory is counted.
  p = plan_shared(std::move(p), target);
  // Last: every access that remains is seen.
  return place_sync(p);
}

}  // namespace tilewright::passes
