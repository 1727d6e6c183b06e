#include "ir/op.h"
#include "ir/simplify.h"
#include "ir/verify.h"
#include "passes/cuda_passes.h"
#include "passes/passes.h"
#include "passes/schedule_passes.h"
#include "support/error.h"

namespace tilewright::passes {

namespace {

#ifdef TILEWRIGHT_CHECKS
constexpr bool kChecks = true;
#else
constexpr bool kChecks = false;
#endif

// What `pass` gave, verified where internal checks are built in.
ir::Program checked(ir::Program program, const char* pass) {
  if constexpr (kChecks) {
    try {
      ir::verify_structure(program);
    } catch (const Error& e) {
      throw internal_error(e.loc(), "after {}: {}", pass, e.message());
    }
  }
  return program;
}

}  // namespace

ir::Program cpu_pipeline(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks) {
  remark_grids(program, remarks);
  // Constant conditions and single-iteration loops go first, so that copies see plain regions.
  ir::Program p = checked(ir::simplify(program), "simplify");
  // Leading dimensions decide which atoms fit.
  p = checked(plan_cpu_tiles(std::move(p)), "plan_cpu_tiles");
  // While ops are whole: afterwards only loops are left.
  p = checked(lower_cpu(p, target, remarks), "lower_cpu");
  // Needs every element access to be visible, and block indices with their ranges.
  p = checked(guard_accesses(p), "guard_accesses");
  // Conditions that the facts of a branch decide.
  p = checked(ir::simplify(p), "the second simplify");
  // While nests are whole: their first dimension is the row.
  p = checked(fuse_rows(p), "fuse_rows");
  // Once it is known what is not checked; after rows have been counted.
  p = checked(pad_rows(p, target), "pad_rows");
  // Whole nests are needed no longer.
  p = checked(hoist_invariants(p), "hoist_invariants");
  // Lets of a row are in front of its nests now, which leaves the nests next to copies and reductions.
  p = checked(fuse_columns(p, target), "fuse_columns");
  // Last: it hides the ranges of block indices.
  return checked(map_grid_cpu(p, program), "map_grid_cpu");
}

ir::Program cuda_pipeline(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks) {
  // Constant conditions and single-iteration loops go first, so that later passes see plain regions.
  ir::Program p = ir::simplify(program);
  // What shares its storage is not distributed, which decides about instructions.
  p = place_views(std::move(p), remarks);
  // What has no instruction of its own runs as its meaning; its loops take part in the inference.
  p = expand_unselected(p, target);
  // Now that operations have become what they are made of.
  refuse_unbuilt(p);
  p = infer_fragments(std::move(p), target, remarks);
  // Loads are still whole copies.
  p = expand_pipelines(p, target, remarks);
  // After the pipeline gave tiles their stages.
  p = plan_operands(std::move(p), target);
  return lower_cuda(std::move(p), program, target);
}

ir::Program lower_cuda(ir::Program p, const ir::Program& original, const CudaTarget& target) {
  // While statements of a loop are whole.
  p = checked(expand_schedule(std::move(p)), "expand_schedule");
  // Sees which statements fill and read the tiles of channels.
  p = checked(place_channel_sync(std::move(p)), "place_channel_sync");
  p = lower_tiles(p, target);
  // Needs parallel loops over their own dimensions, and block indices with their ranges.
  p = guard_accesses(p);
  p = ir::simplify(p);
  // While the loops over registers are nests: what the guards proved may go in vectors.
  p = vectorize_accesses(p, target);
  p = distribute_threads(p);
  // Hides the ranges of block indices.
  p = map_grid_cpu(p, original);
  // The index arithmetic of the threads.
  p = ir::simplify(p);
  // Layouts must be known before shared memory is counted.
  p = plan_shared(std::move(p), target);
  // Last: every access that remains is seen.
  return place_sync(p);
}

}  // namespace tilewright::passes
