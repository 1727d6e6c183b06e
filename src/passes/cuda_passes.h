// The passes of the CUDA pipeline: what each requires, establishes and throws. pipelines.cc orders them.
#pragma once

#include <tilewright/compile.h>

#include "ir/kernel.h"
#include "passes/pass_observer.h"
#include "target/cuda.h"

#include <vector>

namespace tilewright::passes {

// Requires a verified program. Establishes that operations without an instruction of their own are their expansions;
// those with one (cuda_select.h), and copies from tensors to shared tiles, stay. Adds a remark for each gemm,
// reduction and scan that is expanded.
ir::Program expand_unselected(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks);

// Requires a verified program. Establishes that tiles with views, and the views, are row-major and not distributed: a
// fragment with views moves to shared memory, with a remark. Where a view has another dtype the elements are packed.
ir::Program place_views(ir::Program program, std::vector<Remark>& remarks);

// Requires expanded operations and placed views. Establishes a fragment for each tile of the space `fragment`; one that
// its uses cannot share, or that does not fit into registers, moves to shared memory, with a remark.
ir::Program infer_fragments(ir::Program program, const CudaTarget& target, std::vector<Remark>& remarks);

// Requires fragments. Establishes layouts on the shared operands of tensor-core products: the author's, or swizzled
// ones. Adds a remark where the author's makes reads wait for memory banks, or copies go element by element.
ir::Program plan_operands(ir::Program program, const CudaTarget& target, std::vector<Remark>& remarks);

// Requires operand layouts. Establishes that pipelined loops with several stages whose loads can be asynchronous are
// written out: the loads of num_stages - 1 iterations first, then in each iteration a wait, the loads of the iteration
// num_stages - 1 ahead, and the rest. Other pipelined loops run their iterations one after the other, with a remark.
ir::Program expand_pipelines(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks);

// Requires fragments and layouts. Establishes that there are no fragment tiles: parallel loops over them, and
// operations with instructions, are the code of one thread (`lanes`) over arrays of registers. Parallel loops in
// `lanes` have the attribute `registers`: one thread runs them, unrolled.
ir::Program lower_tiles(const ir::Program& program, const CudaTarget& target);

// Requires that only statements over scalars, atoms and lanes are left, and no fragment tiles. Establishes the code of
// one thread: each kernel has a thread variable; what threads share out stands in `lanes`; the iterations of a parallel
// loop are dealt out to the threads in turn, the last dimension fastest; statements outside of parallel loops run in
// every thread, and their stores to memory that threads share in thread 0 only.
ir::Program distribute_threads(const ir::Program& program);

// Requires the code of one thread. Establishes that accesses of different threads of a block to one tile, of which one
// writes, have a block_sync between them, placed where all threads come by; barriers that are there count. Sees tiles
// whole: two accesses to different elements of one tile count as one to the same, unless each is of the element that a
// parallel loop deals out to its thread, by the same digits, or both are of the first thread.
ir::Program place_sync(const ir::Program& program);

// Requires guarded accesses and thread code. Establishes that in loops over registers adjacent unchecked elements of
// global tiles are moved by vector loads and stores, where their addresses are multiples of the vector's bytes and no
// condition decides whether they are accessed.
ir::Program vectorize_accesses(const ir::Program& program, const CudaTarget& target);

// Requires shared tiles. Establishes a layout for each and its place in the block's shared memory
// (shared_offsets). Throws Error{invalid_kernel} when they need more than the target has.
ir::Program plan_shared(ir::Program program, const CudaTarget& target);

// Where each shared tile of a kernel begins, in bytes, -1 for other tiles and for views; a function of the tiles alone.
struct SharedPlan {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
SharedPlan shared_plan(const ir::Kernel& kernel);

// Requires that instructions, fragments, layouts and schedules are decided. The passes from expand_schedule on.
// `original` is what the author wrote: it has the raster of the grid.
ir::Program lower_cuda(ir::Program program, const ir::Program& original, const CudaTarget& target);

// All of them in order.
ir::Program cuda_pipeline(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks,
                          const PassObserver& on_pass = {});

}  // namespace tilewright::passes
