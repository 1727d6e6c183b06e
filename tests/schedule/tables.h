// Two matrix products whose tables are written by hand, as text of the IR after inference: what a planner would make.
#pragma once

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "layout/fragment.h"
#include "layout/layout.h"
#include "ops/ops.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_select.h"
#include "passes/schedule_ops.h"
#include "passes/schedule_passes.h"

#include <tilewright/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::testing {

inline std::vector<const ir::OpDef*> schedule_defs() {
  std::vector<const ir::OpDef*> out(ops::all_ops().begin(), ops::all_ops().end());
  out.insert(out.end(), passes::cuda_atoms().begin(), passes::cuda_atoms().end());
  out.insert(out.end(), passes::schedule_ops().begin(), passes::schedule_ops().end());
  return out;
}

// `text` with the first `from`, which it must have, replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline ir::Program changed(const ir::Program& program, const std::string& from, const std::string& to) {
  return ir::parse(replaced(ir::print(program), from, to), "changed", schedule_defs());
}

// The message of the Error that `run` ends with; empty: with none.
std::string refusal_of(auto run) {
  try {
    run();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// After both passes.
inline ir::Program placed(const ir::Program& program) {
  ir::verify_structure(program);
  return passes::place_channel_sync(passes::expand_schedule(program));
}

// C [m, n] f16 = A [m, k] B, B [k, n] or [n, k], with sums in f32.
struct Product {
  int64_t m = 256, n = 256, k = 256;
  int64_t block_m = 128, block_n = 128, block_k = 64;
  int stages = 3;
  int groups = 2;            // consumer warpgroups; of the first table: 128 threads each
  bool transpose_b = false;  // B [n, k]
  std::string type = "f16";
  int rounds = 1;  // how often the loop runs, one after the other, over the same k
  int regs_compute = 232, regs_load = 40;
  bool dynamic = false;  // m, n and k are known at launch only, as the variables 4, 5 and 6

  int64_t steps() const { return (k + block_k - 1) / block_k; }
  // As text of the IR: an extent, and the number of blocks that cover it.
  std::string extent(const char* name, int64_t value) const { return dynamic ? name : std::to_string(value); }
  std::string blocks(const char* name, int64_t value, int64_t block) const {
    return dynamic ? fmt::format("({} + {}) // {}", name, block - 1, block)
                   : std::to_string((value + block - 1) / block);
  }
};

inline std::string shared_layout(int64_t rows, int64_t cols) {
  return layout::to_string(passes::swizzled_panels({rows, cols}, 2).value());
}

// What both have: tensors, tiles, and statements around a loop with `table` and these names of operations.
inline std::string product_text(const Product& p, const std::string& fragment, int threads, const std::string& rows,
                                const std::string& table, const std::string& loads, const std::string& gemm) {
  const int64_t b_rows = p.transpose_b ? p.block_n : p.block_k, b_cols = p.transpose_b ? p.block_k : p.block_n;
  const std::string m = p.extent("m", p.m), n = p.extent("n", p.n), k = p.extent("k", p.k);
  const std::string b_shape = p.transpose_b ? n + ", " + k : k + ", " + n;
  std::string loop = fmt::format(R"(for ko@2 in pipelined(0:{}) {{
{}{}
        {}(A_shared[0:{}, 0:{}], B_shared[0:{}, 0:{}], C_local[0:{}, 0:{}]; false){}
      }})",
                                 p.blocks("k", p.k, p.block_k), table, loads, gemm, p.block_m, p.block_k, b_rows,
                                 b_cols, p.block_m, p.block_n, p.transpose_b ? " {transpose_B = true}" : "");
  if (p.rounds > 1) loop = fmt::format("for round@3 in serial(0:{}) {{\n      {}\n      }}", p.rounds, loop);
  return fmt::format(
      R"(program product(A, B, C) vars {vars} {{
{extents}  tensor A: {type}[{m}, {k}]
  tensor B: {type}[{b_shape}]
  tensor C: {type}[{m}, {n}]
  kernel product(bx@0 < {gx}, by@1 < {gy}) threads {threads} {{
    tile A: global {type}[{m}, {k}] of A
    tile B: global {type}[{b_shape}] of B
    tile C: global {type}[{m}, {n}] of C
    tile A_shared: shared {type}[{bm}, {bk}] {{layout = "{layout_a}"}}
    tile B_shared: shared {type}[{br}, {bc}] {{layout = "{layout_b}"}}
    tile C_local: fragment f32[{bm}, {bn}] {{fragment = "{fragment}"}}
{rows}
    fill(C_local[0:{bm}, 0:{bn}]; 0.0)
    {loop}
    copy(C_local[0:{bm}, 0:{bn}], C[by * {bm}:+{bm}, bx * {bn}:+{bn}])
  }}
}}
)",
      fmt::arg("type", p.type), fmt::arg("m", m), fmt::arg("n", n), fmt::arg("k", k),
      fmt::arg("vars", p.dynamic ? 7 : 4),
      fmt::arg("extents", p.dynamic ? "  extent m@4\n  extent n@5\n  extent k@6\n" : ""), fmt::arg("b_shape", b_shape),
      fmt::arg("gx", p.blocks("n", p.n, p.block_n)), fmt::arg("gy", p.blocks("m", p.m, p.block_m)),
      fmt::arg("threads", threads), fmt::arg("bm", p.block_m), fmt::arg("bn", p.block_n), fmt::arg("bk", p.block_k),
      fmt::arg("br", b_rows), fmt::arg("bc", b_cols), fmt::arg("layout_a", shared_layout(p.block_m, p.block_k)),
      fmt::arg("layout_b", shared_layout(b_rows, b_cols)), fmt::arg("fragment", fragment), fmt::arg("rows", rows),
      fmt::arg("loop", loop));
}

inline std::string loads_text(const Product& p, const std::string& copy, const std::string& attrs_a,
                              const std::string& attrs_b) {
  const std::string b_from = p.transpose_b ? fmt::format("bx * {0}:+{0}, ko * {1}:+{1}", p.block_n, p.block_k)
                                           : fmt::format("ko * {1}:+{1}, bx * {0}:+{0}", p.block_n, p.block_k);
  const int64_t b_rows = p.transpose_b ? p.block_n : p.block_k, b_cols = p.transpose_b ? p.block_k : p.block_n;
  return fmt::format(R"(        {0}(A[by * {1}:+{1}, ko * {2}:+{2}], A_shared[0:{1}, 0:{2}]){3}
        {0}(B[{4}], B_shared[0:{5}, 0:{6}]){7})",
                     copy, p.block_m, p.block_k, attrs_a, b_from, b_rows, b_cols, attrs_b);
}

// All warps load by cp.async, stages - 1 iterations ahead, and multiply by mma.sync.
inline ir::Program cp_async_product(const Product& p) {
  const int ahead = p.stages - 1, warps = 4 * p.groups;
  const std::string table = fmt::format(R"(        schedule anchor {0}
        channel operands: (A_shared, B_shared) stages {1} from warps(0, 0) to warps(0, 0)
        slot wait(0) stage {0} order {2}
        slot acquire(0) stage 0 order 1
        slot op(0) stage 0 order 2
        slot op(1) stage 0 order 3
        slot commit(0) stage 0 order 4
        slot op(2) stage {0} order 6
        slot release(0) stage {0} order 7
)",
                                        ahead, p.stages, ahead == 0 ? 5 : 0);
  const std::string fragment = layout::to_string(layout::mma_accumulator(p.block_m, p.block_n, 2, warps / 2));
  return ir::parse(product_text(p, fragment, warps * 32, "", table, loads_text(p, "async_copy", "", ""), "gemm"),
                   "table", schedule_defs());
}

// One warp loads by bulk copies, warpgroups multiply by wgmma with one group in flight, so that a buffer is free one
// step later than it is read; with one stage it must be free at once.
inline ir::Program wgmma_product(const Product& p) {
  const int compute = 4 * p.groups, lag = p.stages > 1 ? 1 : 0;
  std::string consumers;
  for (int g = 0; g < p.groups; ++g) consumers += fmt::format("{}warps({}, 4)", g ? ", " : "", 4 * g);
  const auto regs = [](int n) { return n > 0 ? fmt::format(" regs {}", n) : ""; };
  const auto span = [](int64_t cols) { return cols % 64 == 0 ? 128 : cols % 32 == 0 ? 64 : 32; };
  const int64_t b_rows = p.transpose_b ? p.block_n : p.block_k, b_cols = p.transpose_b ? p.block_k : p.block_n;
  const std::string rows = fmt::format(R"(    map A: A box [{0}, {1}] span {2}
    map B: B box [{3}, {4}] span {5}
    role compute: warps(0, {6}){7}
    role load: warps({6}, 4){8})",
                                       p.block_m, span(p.block_k) / 2, span(p.block_k), b_rows, span(b_cols) / 2,
                                       span(b_cols), compute, regs(p.regs_compute), regs(p.regs_load));
  const std::string table = fmt::format(R"(        schedule anchor 0
        channel operands: (A_shared, B_shared) stages {0} from warps({1}, 1) to {2}
        slot acquire(0) stage 0 order 0 warps({1}, 1)
        slot op(0) stage 0 order 1 warps({1}, 1)
        slot op(1) stage 0 order 2 warps({1}, 1)
        slot commit(0) stage 0 order 3 warps({1}, 1)
        slot wait(0) stage 0 order 0 warps(0, {1})
        slot op(2) stage 0 order 1 warps(0, {1})
        slot release(0) stage {3} order 2 warps(0, {1})
)",
                                        p.stages, compute, consumers, lag);
  const std::string fragment = layout::to_string(layout::wgmma_accumulator(p.block_m, p.block_n, p.groups, 1));
  return ir::parse(product_text(p, fragment, (compute + 4) * 32, rows, table,
                                loads_text(p, "bulk_copy", " {map = 0}", " {map = 1}"), "warpgroup_gemm"),
                   "table", schedule_defs());
}

}  // namespace tilewright::testing
