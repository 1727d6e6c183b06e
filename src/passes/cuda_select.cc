#include "passes/cuda_select.h"

#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/operand.h"
#include "ops/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright::passes {

using ir::Kernel;
using ir::OpStmt;
using ir::Tile;
using ir::TileRef;

namespace {

// The region is all of the last two dimensions of the tile.
bool is_whole_matrix(const TileRef& ref, const Tile& tile) {
  for (size_t d = 0; d < ref.region.size(); ++d) {
    const bool wide = d + 2 >= ref.region.size();
    if (wide && (!ref.region[d].begin.is_int(0) || !ir::equal(ref.region[d].extent, tile.shape[d]))) return false;
    if (!wide && !ref.region[d].extent.is_int(1)) return false;
  }
  return ref.region.size() >= 2;
}

// The elements of such a tile lie in row-major order, in one place.
bool has_views(const Kernel& kernel, ir::TileId id) {
  return kernel.tile(id).view_of >= 0 ||
         std::any_of(kernel.tiles.begin(), kernel.tiles.end(), [&](const Tile& t) { return t.view_of == id; });
}

int64_t ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

bool is_mma(const OpStmt& op, const Kernel& kernel, const CudaTarget& target) {
  return op.def == &ops::gemm_op() && why_no_mma(op, kernel, target) == nullptr;
}

const char* why_no_mma(const OpStmt& op, const Kernel& kernel, const CudaTarget& target) {
  if (target.sm < 80) return "tensor cores are used from sm_80 on";
  if (kernel.threads % 32 != 0) return "the threads of the block are no whole warps";
  const Tile &a = kernel.tile(op.tiles[0].tile), &b = kernel.tile(op.tiles[1].tile), &c = kernel.tile(op.tiles[2].tile);
  if (a.dtype != b.dtype || (a.dtype != DType::f16 && a.dtype != DType::bf16) || c.dtype != DType::f32) {
    return "tensor cores are used for products of f16 or of bf16 into f32";
  }
  if (c.space != ir::Space::fragment || c.rank() != 2) return "the accumulator is no fragment of two dimensions";
  for (const TileRef& ref : op.tiles) {
    if (!is_whole_matrix(ref, kernel.tile(ref.tile))) return "an operand is a part of its tile";
    if (has_views(kernel, ref.tile)) return "an operand has views";
  }
  constexpr const char* kExtents = "m and k must be multiples of 16, and n of 8";
  for (const Tile* tile : {&a, &b}) {
    if (!tile->on_chip() || tile->space == ir::Space::local) return "an operand is not in shared memory";
    if (!tile->annotated && !swizzled_panels(tile->extents(), 2)) return kExtents;
  }
  const ops::GemmShape shape = ops::gemm_shape(op);
  const bool fits =
      shape.m > 0 && shape.m % 16 == 0 && shape.n > 0 && shape.n % 8 == 0 && shape.k > 0 && shape.k % 16 == 0;
  if (!fits) return kExtents;
  const bool read_by_rows = has_pieces(a) && has_pieces(b);
  return read_by_rows ? nullptr : "in the layout of an operand the rows are no aligned pieces of 16 bytes";
}

void remark_scalar_gemm(const OpStmt& op, const Kernel& kernel, const CudaTarget& target, const Loc& loc,
                        std::vector<Remark>& remarks) {
  remarks.push_back({.kind = "scalar_gemm",
                     .text = fmt::format("gemm runs as scalar products, tens of times slower than tensor cores: {}",
                                         why_no_mma(op, kernel, target)),
                     .loc = loc});
}

bool is_register_reduce(const OpStmt& op, const Kernel& kernel) {
  if (!ops::is_reduce(op) || kernel.threads % 32 != 0) return false;
  for (const TileRef& ref : op.tiles) {
    const Tile& tile = kernel.tile(ref.tile);
    if (tile.space != ir::Space::fragment) return false;
    for (size_t d = 0; d < ref.region.size(); ++d) {
      if (!ref.region[d].begin.is_int(0) || !ir::equal(ref.region[d].extent, tile.shape[d])) return false;
    }
  }
  // The result's dimensions are those of the source in order, with the reduced one left out or of extent 1.
  const Tile &src = kernel.tile(op.tiles[0].tile), &dst = kernel.tile(op.tiles[1].tile);
  const auto dim = size_t(ops::ReduceAttrs::from(op.attrs, size_t(src.rank())).dim);
  std::vector<ir::Expr> dropped = src.shape, kept = src.shape;
  dropped.erase(dropped.begin() + int64_t(dim));
  kept[dim] = ir::int_imm(1);
  return ir::equal(dst.shape, dropped) || ir::equal(dst.shape, kept);
}

namespace {

int64_t product(const std::vector<ThreadDigit>& digits) {
  int64_t out = 1;
  for (const ThreadDigit& d : digits) out *= d.extent;
  return out;
}

}  // namespace

int64_t LineThreads::num_warps() const { return product(warps); }
int64_t LineThreads::num_lines() const { return product(lines); }

std::optional<LineThreads> line_threads(const layout::Fragment& fragment, int dim) {
  constexpr int64_t kWarp = ir::kWarpThreads;
  const auto is_power = [](int64_t x) { return (x & (x - 1)) == 0; };
  LineThreads out;
  int64_t scale = 1;
  for (const layout::FragmentMode& m : fragment.thread_modes()) {
    const int64_t first = std::exchange(scale, scale * m.extent);
    if (m.extent == 1) continue;
    if (m.dim != dim) {
      out.lines.push_back({.scale = first, .extent = m.extent});
    } else if (first >= kWarp) {
      // A warp whose lanes differ in this digit would combine only some of them.
      if (first % kWarp != 0) return std::nullopt;
      out.warps.push_back({.scale = first, .extent = m.extent});
    } else if (first * m.extent <= kWarp) {
      if (!is_power(first) || !is_power(m.extent)) return std::nullopt;
      out.lanes.push_back({.scale = first, .extent = m.extent});
    } else {
      if (!is_power(first) || first * m.extent % kWarp != 0) return std::nullopt;
      out.lanes.push_back({.scale = first, .extent = kWarp / first});
      out.warps.push_back({.scale = kWarp, .extent = first * m.extent / kWarp});
    }
  }
  return out;
}

namespace {

bool divides(int64_t d, const ir::Expr& e, const ir::Facts& facts) { return ir::known_divisor(e, facts) % d == 0; }

// Rows of the region in shared memory are 16-byte pieces, inside the tile.
bool has_whole_pieces(const TileRef& ref, const Tile& tile, const std::vector<int>& wide, int64_t piece,
                      const ir::Facts& facts) {
  if (wide.empty() || wide.back() + 1 != tile.rank() || !divides(piece, tile.shape.back(), facts)) return false;
  for (size_t d = 0; d < ref.region.size(); ++d) {
    const ir::RegionDim& dim = ref.region[d];
    if (!dim.extent.as_int() || *dim.extent.as_int() == 0) return false;
    if (!ir::prove(ir::le(ir::int_imm(0), dim.begin), facts)) return false;
    if (!ir::prove(ir::le(dim.begin + dim.extent, tile.shape[d]), facts)) return false;
  }
  return divides(piece, ref.region.back().begin, facts) && divides(piece, ref.region.back().extent, facts);
}

}  // namespace

bool is_async_copy(const OpStmt& op, const ir::Program& program, const Kernel& kernel, const ir::Facts& facts,
                   const CudaTarget& target) {
  if (op.def != &ops::copy_op() || !target.has_cp_async() || !target.aligned_tensors) return false;
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const Tile &from = kernel.tile(src.tile), &to = kernel.tile(dst.tile);
  if (from.space != ir::Space::global || to.space != ir::Space::shared || has_views(kernel, dst.tile)) return false;
  if (!has_pieces(to)) return false;
  if (from.dtype != to.dtype || from.safe_value != 0 || 16 % bytes_of(to.dtype) != 0) return false;
  const int64_t piece = 16 / bytes_of(to.dtype);
  const std::vector<int> src_dims = ops::wide_dims(src), dst_dims = ops::wide_dims(dst);
  if (src_dims.size() != dst_dims.size() || !has_whole_pieces(dst, to, dst_dims, piece, facts)) return false;
  const std::vector<ir::Expr> strides = ir::strides_of(program.tensors[size_t(from.tensor)]);
  for (size_t d = 0; d < src.region.size(); ++d) {
    if (!ir::prove(ir::le(ir::int_imm(0), src.region[d].begin), facts)) return false;
    const bool is_row = int(d) == src_dims.back();
    if (is_row ? !strides[d].is_int(1) || !divides(piece, src.region[d].begin, facts)
               : !divides(piece, strides[d], facts)) {
      return false;
    }
  }
  return true;
}

namespace {

// The fragment is that of an accumulator which m x n warps divide.
bool divides_so(const layout::Fragment& fragment, const ops::GemmShape& shape, int64_t warps_m, int64_t warps_n) {
  return layout::coalesced(fragment) == layout::coalesced(layout::mma_accumulator(shape.m, shape.n, warps_m, warps_n));
}

}  // namespace

// Square: the division whose warps read the fewest operand bytes, which is the one nearest to equal sides; the other
// policies put as many warps along m (n) as there are instructions.
MmaPlan mma_plan(const OpStmt& op, const Kernel& kernel) {
  const ops::GemmShape shape = ops::gemm_shape(op);
  const ops::WarpPolicy policy = ops::GemmAttrs::from(op.attrs).policy;
  const int64_t warps = kernel.threads / 32;
  const int64_t most_m = shape.m / 16, most_n = shape.n / 8;
  const Tile& c = kernel.tile(op.tiles[2].tile);
  const bool fixed = c.annotated && c.fragment;
  MmaPlan best;
  int64_t best_cost = INT64_MAX;
  for (int64_t m = 1; m <= warps; ++m) {
    if (warps % m != 0) continue;
    const int64_t n = warps / m;
    const int64_t tiles_m = ceildiv(most_m, m), tiles_n = ceildiv(most_n, n);
    // Instructions of the busiest warp first, then bytes that it reads for each step.
    const int64_t idle = policy == ops::WarpPolicy::full_row   ? std::max<int64_t>(0, most_m - m)
                         : policy == ops::WarpPolicy::full_col ? std::max<int64_t>(0, most_n - n)
                                                               : 0;
    const int64_t cost = (tiles_m * tiles_n) * 4096 + (2 * tiles_m + tiles_n) +
                         (policy == ops::WarpPolicy::square ? 0 : idle << 32) -
                         (fixed && divides_so(*c.fragment, shape, m, n) ? int64_t(1) << 60 : 0);
    if (cost >= best_cost) continue;
    best_cost = cost;
    best.warps_m = m;
    best.warps_n = n;
    best.tiles_m = tiles_m;
    best.tiles_n = tiles_n;
  }
  best.steps_k = shape.k / 16;
  best.accumulator = layout::mma_accumulator(shape.m, shape.n, best.warps_m, best.warps_n);
  return best;
}

bool has_pieces(const Tile& tile) {
  return !tile.layout ||
         (tile.rank() > 0 && layout::contiguous_run(*tile.layout, tile.rank() - 1) * bytes_of(tile.dtype) >= 16);
}

std::optional<layout::Layout> swizzled_panels(const std::vector<int64_t>& shape, int64_t elem_bytes) {
  if (shape.size() < 2 || elem_bytes > 4 || shape[shape.size() - 2] % 8 != 0) return std::nullopt;
  const int64_t span_bytes = layout::widest_span_bytes(shape, elem_bytes);
  if (span_bytes == 0) return std::nullopt;
  return layout::swizzled_panels(shape, elem_bytes, span_bytes);
}

}  // namespace tilewright::passes
