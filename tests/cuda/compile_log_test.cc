// Lines as NVRTC 13.0 and 12.x print them.
#include "runtime/cuda/compile_log.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::cuda {
namespace {

const std::string kClean =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
    "ptxas info    : Function properties for first\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 2 barriers, 49152 bytes smem, 400 bytes cmem[0]\n"
    "ptxas info    : Compile time = 2.903 ms\n";

const std::string kSpills =
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "    536 bytes stack frame, 1024 bytes spill stores, 1060 bytes spill loads\n"
    "ptxas info    : Function properties for callee\n"
    "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 536 bytes cumulative stack size\n";

TEST(CompileLog, ResourcesOfEachFunction) {
  const CompileLog log = parse_compile_log(kClean + kSpills);
  ASSERT_EQ(log.functions.size(), 3u);
  const FunctionResources* first = log.find("first");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->num_registers, 168);
  EXPECT_EQ(first->num_barriers, 2);
  EXPECT_EQ(first->static_shared_bytes, 49152);
  EXPECT_EQ(first->stack_bytes, 0);
  const FunctionResources* k = log.find("k");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->num_registers, 32);
  EXPECT_EQ(k->stack_bytes, 536);
  EXPECT_EQ(k->spill_store_bytes, 1024);
  EXPECT_EQ(k->spill_load_bytes, 1060);
  EXPECT_EQ(log.find("callee")->stack_bytes, 8);
  EXPECT_EQ(log.find("callee")->num_registers, 0);
  EXPECT_EQ(log.find("other"), nullptr);
}

TEST(CompileLog, CleanLogHasNothingAgainstIt) {
  const CompileLog log = parse_compile_log(kClean);
  EXPECT_TRUE(log.advisories.empty());
  EXPECT_EQ(log.why_slow(), std::nullopt);
  EXPECT_EQ(parse_compile_log("").why_slow(), std::nullopt);
}

TEST(CompileLog, SpillsAreAReason) {
  EXPECT_EQ(parse_compile_log(kSpills).why_slow(),
            "k spills 1024 bytes of registers (1060 loaded back) at 32 registers");
}

TEST(CompileLog, AdvisoriesAreSortedByWhatTheyMean) {
  using Kind = Advisory::Kind;
  const std::pair<const char*, Kind> cases[] = {
      {"ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non "
       "wgmma "
       "instructions reading accumulator registers of  a wgmma between start and end of the pipeline stage in the "
       "function 'k'",
       Kind::wgmma_serialized},
      {"ptxas info    : (C7517) warpgroup.wait is injected in around line 195 by compiler to allow use of registers "
       "defined by GMMA in function 'k'",
       Kind::sync_injected},
      {"ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count "
       "at "
       "entry.",
       Kind::setmaxnreg_ignored},
      {"ptxas info    : (C7599) something new", Kind::other},
      {"ptxas info    : Potential Performance Loss: something without a code", Kind::other},
  };
  for (const auto& [line, kind] : cases) {
    const CompileLog log = parse_compile_log(kClean + line + "\n");
    ASSERT_EQ(log.advisories.size(), 1u) << line;
    EXPECT_EQ(log.advisories[0].kind, kind) << line;
    EXPECT_EQ(log.why_slow(), line);
    EXPECT_EQ(log.functions.size(), 1u);
  }
}

}  // namespace
}  // namespace tilewright::cuda
