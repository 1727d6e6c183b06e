// The CUDA text of both tables: its waits and barriers, two texts word for word, and what the assembler says of all.
#include "codegen/cuda.h"
#include "harness/golden.h"
#include "harness/text.h"
#include "ir/print.h"
#include "passes/cuda_passes.h"
#include "passes/schedule_passes.h"
#include "runtime/cuda/nvrtc.h"
#include "harness/machine.h"
#include "schedule/tables.h"

#include <gtest/gtest.h>

namespace tilewright::testing {
namespace {

codegen::CudaModule text_of(const ir::Program& program, const char* arch) {
  const CudaTarget target = cuda_target_from_arch(arch).value();
  std::vector<Remark> remarks;
  const ir::Program expanded = passes::expand_unselected(program, target, remarks);
  const ir::Program lowered = passes::lower_cuda(expanded, program, target);
  return codegen::emit_cuda(lowered, target);
}

// The lines of the `number`-th loop over iterations, up to the brace that closes it.
std::string steady_loop(const std::string& text, int number) {
  size_t begin = 0;
  for (int i = 0; i <= number; ++i) {
    begin = text.find("for (tw::i32 it_", begin + (i > 0));
    if (begin == std::string::npos) return "";
  }
  int depth = 0;
  for (size_t at = text.find('{', begin); at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0) return text.substr(begin, at - begin);
  }
  return text.substr(begin);
}

TEST(ScheduleText, CpAsyncHasOneWaitAndOneBarrierInTheLoop) {
  const std::string text = text_of(cp_async_product({.k = 1024, .block_k = 32, .groups = 1}), "sm_80").source;
  const std::string loop = steady_loop(text, 0);
  EXPECT_EQ(occurrences(loop, "tw::copy_async_wait<1>()"), 1) << loop;
  EXPECT_EQ(occurrences(loop, "tw::sync_block()"), 1);
  EXPECT_EQ(occurrences(loop, "tw::copy_async_commit()"), 1);
  EXPECT_EQ(occurrences(text, "tw::sync_block()"), 1);
  EXPECT_EQ(occurrences(text, "mbarrier"), 0);
}

// Stores are over when their statement is, which nothing waits for: they are no cp.async, whatever the target has.
TEST(ScheduleText, CopiesOfAChannelStayStores) {
  ir::Program program = cp_async_product({.k = 1024, .block_k = 32, .groups = 1});
  for (int i = 0; i < 2; ++i) program = changed(program, "async_copy(", "copy(");
  const std::string text = text_of(program, "sm_80").source;
  EXPECT_EQ(occurrences(text, "copy_async"), 0) << text;
  EXPECT_EQ(occurrences(steady_loop(text, 0), "tw::sync_block()"), 1) << text;
}

// As in the hand-written kernel: the load warp waits for `empty` and expects bytes; consumers wait for `full`, keep one
// group in flight and arrive once a warp.
TEST(ScheduleText, WgmmaHasTheWaitsOfTheHandWrittenKernel) {
  const std::string text = text_of(wgmma_product({.k = 1024, .stages = 4}), "sm_90a").source;
  const std::string compute = steady_loop(text, 0), load = steady_loop(text, 1);
  EXPECT_EQ(occurrences(compute, "tw::mbarrier_wait("), 1) << compute;
  EXPECT_EQ(occurrences(compute, "tw::mbarrier_arrive("), 1);
  EXPECT_EQ(occurrences(compute, "tw::wgmma_fence()"), 1);
  EXPECT_EQ(occurrences(compute, "tw::wgmma_commit()"), 1);
  EXPECT_EQ(occurrences(compute, "tw::wgmma_wait<1>()"), 1);
  EXPECT_EQ(occurrences(compute, "tw::sync"), 0);
  EXPECT_EQ(occurrences(load, "tw::mbarrier_wait("), 1) << load;
  EXPECT_EQ(occurrences(load, "tw::mbarrier_arrive_expect("), 1);
  EXPECT_EQ(occurrences(load, "tw::tma_load_2d("), 2);
  EXPECT_EQ(occurrences(load, "tw::sync"), 0);
  EXPECT_EQ(occurrences(text, "tw::sync_block()"), 1);
  EXPECT_EQ(occurrences(text, "asm"), 0);
}

TEST(ScheduleText, Golden) {
  EXPECT_TRUE(matches_golden(text_of(cp_async_product({.k = 1000, .groups = 1}), "sm_80").source,
                             "schedule/golden/cp_async_sm_80.cu"));
  EXPECT_TRUE(matches_golden(text_of(wgmma_product({.m = 200, .n = 296, .k = 1000, .stages = 4}), "sm_90a").source,
                             "schedule/golden/wgmma_sm_90a.cu"));
  EXPECT_TRUE(matches_golden(
      text_of(wgmma_product({.block_m = 64, .stages = 5, .groups = 1, .regs_compute = 0, .regs_load = 0}), "sm_90a")
          .source,
      "schedule/golden/wgmma_one_group_sm_90a.cu"));
}

TEST(ScheduleText, GoldenTables) {
  const ir::Program mma = cp_async_product({}), wgmma = wgmma_product({.stages = 4});
  EXPECT_TRUE(matches_golden(ir::print(mma), "schedule/golden/cp_async_table.tw"));
  EXPECT_TRUE(matches_golden(ir::print(wgmma), "schedule/golden/wgmma_table.tw"));
  EXPECT_TRUE(matches_golden(ir::print(passes::place_channel_sync(passes::expand_schedule(mma))),
                             "schedule/golden/cp_async_placed.tw"));
  EXPECT_TRUE(matches_golden(ir::print(passes::place_channel_sync(passes::expand_schedule(wgmma))),
                             "schedule/golden/wgmma_placed.tw"));
}

TEST(ScheduleText, TheAssemblerHasNothingAgainstIt) {
  auto [nvrtc, why_not] = testing::find_nvrtc();
  if (!nvrtc) GTEST_SKIP() << why_not;
  const auto check = [&](const ir::Program& program, const char* arch, const char* what) {
    SCOPED_TRACE(what);
    const cuda::CompiledCuda compiled =
        nvrtc->compile({.text = text_of(program, arch).source, .arch = arch, .flags = cuda::compile_flags()});
    EXPECT_EQ(compiled.log.why_slow(), std::nullopt) << compiled.log.text;
    const cuda::FunctionResources* found = compiled.log.find("tw_product");
    ASSERT_NE(found, nullptr) << compiled.log.text;
    EXPECT_EQ(found->stack_bytes, 0) << compiled.log.text;
    EXPECT_EQ(found->spill_store_bytes + found->spill_load_bytes, 0);
  };
  check(cp_async_product({.m = 200, .n = 136, .k = 1000, .groups = 1}), "sm_80", "cp.async");
  check(cp_async_product({.k = 1024, .stages = 4}), "sm_90a", "cp.async, 8 warps");
  check(wgmma_product({.m = 200, .n = 296, .k = 1000, .stages = 4}), "sm_90a", "ragged");
  check(wgmma_product({.m = 4096, .n = 4096, .k = 4096, .block_n = 256, .stages = 4}), "sm_90a", "128 x 256");
  check(wgmma_product({.k = 64, .stages = 4}), "sm_90a", "one step");
  check(wgmma_product({.k = 1024, .stages = 1}), "sm_90a", "one stage");
  check(wgmma_product({.k = 1024, .stages = 4, .transpose_b = true, .type = "bf16"}), "sm_90a", "B [n, k]");
  check(wgmma_product({.k = 1024, .block_m = 64, .stages = 5, .groups = 1, .regs_compute = 0, .regs_load = 0}),
        "sm_90a", "one group");
  check(wgmma_product({.k = 1024, .block_m = 128, .stages = 2, .groups = 1, .regs_compute = 240, .regs_load = 24}),
        "sm_90a", "one group of 128 rows");
  check(wgmma_product({.k = 1024, .stages = 3, .rounds = 3}), "sm_90a", "rounds");
  check(wgmma_product({.stages = 3, .dynamic = true}), "sm_90a", "extents known at launch");
}

}  // namespace
}  // namespace tilewright::testing
