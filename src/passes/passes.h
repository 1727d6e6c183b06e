// The passes of the CPU pipeline: what each requires, establishes and throws. pipelines.cc orders them.
#pragma once

#include <tilewright/compile.h>

#include "ir/kernel.h"
#include "passes/pass_observer.h"
#include "target/cpu.h"

#include <vector>

namespace tilewright::passes {

// Requires a verified program. Establishes a layout on every on-chip tile of rank >= 1: row-major, the last dimension
// padded to an odd number of cache lines; but a tile with views, and its views, have no padding, and are packed where a
// view has another dtype. What authors said about places is dropped.
ir::Program plan_cpu_tiles(ir::Program program);

// Requires layouts. Establishes that every op statement is a CPU atom (passes/cpu_atoms.h): copies between global and
// on-chip tiles, gemms and row reductions where their forms allow; every other op becomes its expansion. Adds a remark
// for each gemm that is expanded.
ir::Program lower_cpu(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks);

// Requires lowered statements. Establishes that each access either goes through an unchecked tile row (proved in
// bounds) or must be checked where it runs; the value of a checked store to global memory is asked for only where the
// store is in bounds. A parallel nest whose accesses are in bounds under a condition that does not depend on the nest
// is duplicated: unchecked where the condition holds, checked elsewhere.
ir::Program guard_accesses(const ir::Program& program);

// Requires layouts, atoms and guarded accesses. Establishes that neighbouring statements which work row by row on the
// same tiles (copies, nests, reductions) are one loop over rows, so that a row passes through all of them while it is
// in the first-level cache. A tile that only such a loop uses holds one row.
ir::Program fuse_rows(const ir::Program& program);

// Requires guarded accesses. Establishes that no parallel nest computes in an inner loop what depends on outer ones
// only: such loads, calls and quotients become lets in front of the inner loop, and the outer dimensions loops around.
ir::Program hoist_invariants(const ir::Program& program);

// Requires layouts and guarded accesses. Establishes that parallel loops over whole rows of on-chip tiles run to a
// whole number of vectors, into the padding behind the rows, whose contents mean nothing.
ir::Program pad_rows(const ir::Program& program, const CpuTarget& target);

// Requires one-dimensional nests with their invariants in front of them. Establishes that neighbouring copies, nests
// and reductions of one row run chunk by chunk, so that four vectors pass from one to the next in registers, and that
// rows of tensors beyond `stream_bytes` are written past the caches.
ir::Program fuse_columns(const ir::Program& program, const CpuTarget& target);

// Requires guarded accesses (it hides the ranges of block indices behind lets). Removes use_swizzle's effect from the
// kernel by computing block indices from the launch order.
ir::Program map_grid_cpu(const ir::Program& program, const ir::Program& original);

// Adds remarks: a grid without blocks, and a raster of a grid of one dimension, which changes nothing.
void remark_grids(const ir::Program& program, std::vector<Remark>& remarks);

// All of them in order (pass_runner.h).
ir::Program cpu_pipeline(const ir::Program& program, const CpuTarget& target, std::vector<Remark>& remarks,
                         const PassObserver& on_pass = {});

}  // namespace tilewright::passes
