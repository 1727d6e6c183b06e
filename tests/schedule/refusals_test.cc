// Scheduled programs for which no instruction is built are refused when they are lowered.
#include "passes/cuda_passes.h"
#include "schedule/tables.h"

#include <gtest/gtest.h>

namespace tilewright::testing {
namespace {

std::string lowering_refusal(const ir::Program& program, const char* arch = "sm_90a") {
  ir::verify_structure(program);
  const CudaTarget target = cuda_target_from_arch(arch).value();
  std::vector<Remark> remarks;
  return refusal_of([&] { passes::lower_cuda(passes::expand_unselected(program, target, remarks), program, target); });
}

void expect_contains(const std::string& message, const std::string& text) {
  EXPECT_NE(message.find(text), std::string::npos) << text << " in: " << message;
}

const Product kProduct{.k = 1024, .stages = 3};

TEST(ScheduleRefusals, TheProgramsThemselvesAreLowered) {
  EXPECT_EQ(lowering_refusal(wgmma_product(kProduct)), "");
  EXPECT_EQ(lowering_refusal(cp_async_product(kProduct), "sm_80"), "");
}

TEST(ScheduleRefusals, OperandsOfProducts) {
  const ir::Program program = wgmma_product(kProduct);
  const std::string layout_a = fmt::format("{{layout = \"{}\"}}", shared_layout(128, 64));
  expect_contains(lowering_refusal(changed(program, layout_a, "")), "A_shared is not in swizzled panels");
  expect_contains(lowering_refusal(changed(program, "; false)", "; true)")), "it clears its sum");
  const std::string fragment = layout::to_string(layout::wgmma_accumulator(128, 128, 2, 1));
  expect_contains(
      lowering_refusal(changed(program, fragment, layout::to_string(layout::mma_accumulator(128, 128, 2, 4)))),
      "not distributed as wgmma leaves it");
  expect_contains(lowering_refusal(wgmma_product({.block_m = 192, .groups = 2})), "do not share m evenly");
}

TEST(ScheduleRefusals, BoxesOfBulkCopies) {
  for (const char* box : {"box [64, 64] span 128", "box [128, 32] span 128", "box [128, 64] span 64"}) {
    expect_contains(lowering_refusal(changed(wgmma_product(kProduct), "box [128, 64] span 128", box)),
                    "map A is not that of its panels");
  }
}

// Bulk copies see what was in memory when the kernel began.
TEST(ScheduleRefusals, TensorsThatAreReadByBulkCopiesAndWritten) {
  const ir::Program program = wgmma_product({.m = 256, .n = 256, .k = 256});
  const std::string to = "C_local[0:128, 0:128], C[";
  EXPECT_EQ(lowering_refusal(changed(program, to, "C_local[0:128, 0:128], A[")),
            "A is written in a kernel whose bulk copies read it");
  // Also by another name of its memory.
  ir::Program view = changed(program, "tensor C: f16[256, 256]", "view C: f16[256, 256] of B");
  view = changed(view, "tile C: global f16[256, 256] of C", "tile C: global f16[256, 256] of C {view_of = 1}");
  EXPECT_EQ(lowering_refusal(changed(view, "(A, B, C)", "(A, B)")),
            "C is written in a kernel whose bulk copies read it");
}

TEST(ScheduleRefusals, CopiesOfOtherSizes) {
  expect_contains(lowering_refusal(cp_async_product({.k = 1001}), "sm_80"),
                  "async_copy to A_shared is not made of aligned pieces of 16 bytes");
}

TEST(ScheduleRefusals, StatementsOfOneRole) {
  const ir::Program program = wgmma_product(kProduct);
  expect_contains(lowering_refusal(changed(program, "warpgroup_gemm(", "gemm(")), "gemm on the warps of one role");
  const ir::Program stores = changed(changed(program, "bulk_copy(", "copy("), "bulk_copy(", "copy(");
  expect_contains(lowering_refusal(stores), "a statement that the warps of one role share out among themselves");
}

// One role reads a tensor that the one beside it writes, with nothing between them.
TEST(ScheduleRefusals, MemoryBesideChannels) {
  const auto program = [](const char* to) {
    return ir::parse(fmt::format(R"(program p(A, B) vars 3 {{
  tensor A: f16[64, 256]
  tensor B: f16[64, 256]
  kernel p(bx@0 < 1) threads 192 {{
    tile A: global f16[64, 256] of A
    tile B: global f16[64, 256] of B
    tile a: shared f16[64, 64]
    tile d: fragment f16[64, 64] {{fragment = "{}"}}
    role compute: warps(0, 4)
    role load: warps(4, 2)
    for ko@2 in pipelined(0:4) {{
      schedule anchor 0
      channel operands: (a) stages 2 from warps(4, 2) to warps(0, 4)
      slot acquire(0) stage 0 order 0 warps(4, 2)
      slot op(0) stage 0 order 1 warps(4, 2)
      slot commit(0) stage 0 order 2 warps(4, 2)
      slot wait(0) stage 0 order 0 warps(0, 4)
      slot op(1) stage 0 order 1 warps(0, 4)
      slot op(2) stage 0 order 2 warps(0, 4)
      slot release(0) stage 0 order 3 warps(0, 4)
      async_copy(A[0:64, ko * 64:+64], a[0:64, 0:64])
      copy(a[0:64, 0:64], d[0:64, 0:64])
      copy(d[0:64, 0:64], {}[0:64, ko * 64:+64])
    }}
  }}
}}
)",
                                 layout::to_string(layout::flat(std::vector<int64_t>{64, 64}, 128, 1)), to),
                     "beside", schedule_defs());
  };
  EXPECT_EQ(lowering_refusal(program("B"), "sm_80"), "");
  EXPECT_EQ(lowering_refusal(program("A"), "sm_80"), "role load and one beside it share memory that no channel has");
}

}  // namespace
}  // namespace tilewright::testing
