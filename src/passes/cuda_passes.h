// The passes of the CUDA pipeline: what each requires, establishes and throws. pipelines.cc orders them.
#pragma once

#include <tilewright/compile.h>

#include "ir/kernel.h"
#include "target/cuda.h"

#include <vector>

namespace tilewright::passes {

// Requires a verified program. Establishes that no tile has the space `fragment` without a `fragment`: such a tile moves
// to shared memory, with a remark for each of the author's own.
ir::Program place_fragments(ir::Program program, std::vector<Remark>& remarks);

// Requires that only statements over scalars and atoms are left, and no fragment tiles. Establishes the code of one
// thread: each kernel has a thread variable; the iterations of a parallel loop are dealt out to the threads in turn, the
// last dimension fastest; statements outside of parallel loops run in every thread, and their stores to memory that
// threads share in thread 0 only.
ir::Program distribute_threads(const ir::Program& program);

// Requires the code of one thread. Establishes that accesses of different threads of a block to one tile, of which one
// writes, have a block_sync between them, placed where all threads come by. Sees tiles whole: two accesses to
// different elements of one tile count as one to the same.
ir::Program place_sync(const ir::Program& program);

// Requires shared tiles. Establishes a layout for each and its place in the block's shared memory
// (shared_offsets). Throws Error{invalid_kernel} when they need more than the target has.
ir::Program plan_shared(ir::Program program, const CudaTarget& target);

// Where each shared tile of a kernel begins, in bytes, -1 for other tiles; a function of the tiles alone.
struct SharedPlan {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
SharedPlan shared_plan(const ir::Kernel& kernel);

// All of them in order.
ir::Program cuda_pipeline(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks);

}  // namespace tilewright::passes
