// Which operations have an instruction on an NVIDIA GPU, and how it is used. Looks at dtypes, spaces, extents and
// facts only.
#pragma once

#include <tilewright/compile.h>

#include "ir/bounds.h"
#include "ir/op.h"
#include "layout/fragment.h"
#include "layout/layout.h"
#include "target/cuda.h"

#include <optional>
#include <vector>

namespace tilewright::passes {

// A gemm that mma.sync m16n8k16 does (PTX ISA 9.7.15.5.8): f16 or bf16 operands in whole shared tiles whose extents are
// multiples of 16 (of 8 along n), sums in an f32 fragment tile.
bool is_mma(const ir::OpStmt& op, const ir::Kernel& kernel, const CudaTarget& target);
// Of a gemm; nullptr where is_mma holds.
const char* why_no_mma(const ir::OpStmt& op, const ir::Kernel& kernel, const CudaTarget& target);
// Of a gemm for which is_mma does not hold.
void remark_scalar_gemm(const ir::OpStmt& op, const ir::Kernel& kernel, const CudaTarget& target, const Loc& loc,
                        std::vector<Remark>& remarks);

// A reduction of a whole fragment tile into a whole one, which threads do in their registers and then lane by lane.
bool is_register_reduce(const ir::OpStmt& op, const ir::Kernel& kernel);
// A digit of the thread number: thread / scale % extent.
struct ThreadDigit {
  int64_t scale = 1, extent = 1;
};
// The threads that share a line along a dimension: lanes of a warp, whose shuffles reduce what each of them has, and
// several warps, which exchange theirs through shared memory.
struct LineThreads {
  std::vector<ThreadDigit> lanes;  // extents that are powers of two
  std::vector<ThreadDigit> warps;  // which of the warps that share a line
  std::vector<ThreadDigit> lines;  // which line of those that the block has at a time
  int64_t num_warps() const;
  int64_t num_lines() const;
};
// Empty where a digit within a warp is no power of two.
std::optional<LineThreads> line_threads(const layout::Fragment& fragment, int dim);

struct MmaPlan {
  int64_t warps_m = 1, warps_n = 1;
  int64_t tiles_m = 1, tiles_n = 1;  // instructions of one warp
  int64_t steps_k = 1;
  layout::Fragment accumulator;
};
// How the warps of the block divide a gemm for which is_mma holds: as the author's fragment of the accumulator says, or
// by its policy.
MmaPlan mma_plan(const ir::OpStmt& op, const ir::Kernel& kernel);

// A copy from a tensor to a whole-row part of a shared tile that 16-byte cp.async instructions do: one dtype, zero as
// the safe value, and all addresses multiples of 16 bytes where the tensor's is.
bool is_async_copy(const ir::OpStmt& op, const ir::Program& program, const ir::Kernel& kernel, const ir::Facts& facts,
                   const CudaTarget& target);

// In the tile's layout, where it has one, rows are pieces of 16 adjacent, aligned bytes: what ldmatrix reads and
// 16-byte copies write.
bool has_pieces(const ir::Tile& tile);

// The layout of a shared tile [.., rows, cols] that ldmatrix reads and 16-byte copies write without bank conflicts:
// panels of 64, 32 or 16 columns, each row of 16-byte pieces permuted by the row; nothing for other widths.
std::optional<layout::Layout> swizzled_panels(const std::vector<int64_t>& shape, int64_t elem_bytes);

}  // namespace tilewright::passes
