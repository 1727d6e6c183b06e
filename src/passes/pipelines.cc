#include "ir/op.h"
#include "ir/simplify.h"
#include "passes/cuda_passes.h"
#include "passes/pass_runner.h"
#include "passes/passes.h"
#include "passes/schedule_passes.h"

namespace tilewright::passes {

namespace {

// The passes from expand_schedule on.
void run_lowering(PassRunner& passes, const ir::Program& original, const CudaTarget& target) {
  // While statements of a loop are whole.
  passes.run("expand_schedule", expand_schedule);
  // Sees which statements fill and read the tiles of channels.
  passes.run("place_channel_sync", place_channel_sync);
  passes.run("lower_tiles", [&](const ir::Program& p) { return lower_tiles(p, target); });
  // Needs parallel loops over their own dimensions, and block indices with their ranges.
  passes.run("guard_accesses", guard_accesses);
  passes.run("simplify", [](const ir::Program& p) { return ir::simplify(p); });
  // While the loops over registers are nests: what the guards proved may go in vectors.
  passes.run("vectorize_accesses", [&](const ir::Program& p) { return vectorize_accesses(p, target); });
  passes.run("distribute_threads", distribute_threads);
  // Hides the ranges of block indices.
  passes.run("map_grid_cpu", [&](const ir::Program& p) { return map_grid_cpu(p, original); });
  // The index arithmetic of the threads.
  passes.run("simplify", [](const ir::Program& p) { return ir::simplify(p); });
  // Layouts must be known before shared memory is counted.
  passes.run("plan_shared", [&](ir::Program p) { return plan_shared(std::move(p), target); });
  // Last: every access that remains is seen.
  passes.run("place_sync", place_sync);
}

}  // namespace

ir::Program cpu_pipeline(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks,
                         const PassObserver& on_pass) {
  remark_grids(program, remarks);
  PassRunner passes(program, on_pass);
  // Constant conditions and single-iteration loops go first, so that copies see plain regions.
  passes.run("simplify", [](const ir::Program& p) { return ir::simplify(p); });
  // Leading dimensions decide which atoms fit.
  passes.run("plan_cpu_tiles", plan_cpu_tiles);
  // While ops are whole: afterwards only loops are left.
  passes.run("lower_cpu", [&](const ir::Program& p) { return lower_cpu(p, target, remarks); });
  // Needs every element access to be visible, and block indices with their ranges.
  passes.run("guard_accesses", guard_accesses);
  // Conditions that the facts of a branch decide.
  passes.run("simplify", [](const ir::Program& p) { return ir::simplify(p); });
  // While nests are whole: their first dimension is the row.
  passes.run("fuse_rows", fuse_rows);
  // Once it is known what is not checked; after rows have been counted.
  passes.run("pad_rows", [&](const ir::Program& p) { return pad_rows(p, target); });
  // Whole nests are needed no longer.
  passes.run("hoist_invariants", hoist_invariants);
  // Lets of a row are in front of its nests now, which leaves the nests next to copies and reductions.
  passes.run("fuse_columns", [&](const ir::Program& p) { return fuse_columns(p, target); });
  // Last: it hides the ranges of block indices.
  passes.run("map_grid_cpu", [&](const ir::Program& p) { return map_grid_cpu(p, program); });
  return passes.take();
}

ir::Program cuda_pipeline(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks,
                          const PassObserver& on_pass) {
  remark_grids(program, remarks);
  PassRunner passes(program, on_pass);
  // Constant conditions and single-iteration loops go first, so that later passes see plain regions.
  passes.run("simplify", [](const ir::Program& p) { return ir::simplify(p, ir::SingleParallel::kept); });
  // What shares its storage is not distributed, which decides about instructions.
  passes.run("place_views", [&](ir::Program p) { return place_views(std::move(p), remarks); });
  // What has no instruction of its own runs as its meaning; its loops take part in the inference.
  passes.run("expand_unselected", [&](const ir::Program& p) { return expand_unselected(p, target, remarks); });
  passes.run("infer_fragments", [&](ir::Program p) { return infer_fragments(std::move(p), target, remarks); });
  // Loads are still whole copies.
  passes.run("expand_pipelines", [&](const ir::Program& p) { return expand_pipelines(p, target, remarks); });
  // After the pipeline gave tiles their stages.
  passes.run("plan_operands", [&](ir::Program p) { return plan_operands(std::move(p), target, remarks); });
  run_lowering(passes, program, target);
  return passes.take();
}

ir::Program lower_cuda(ir::Program program, const ir::Program& original, const CudaTarget& target) {
  const PassObserver none;
  PassRunner passes(std::move(program), none);
  run_lowering(passes, original, target);
  return passes.take();
}

}  // namespace tilewright::passes
