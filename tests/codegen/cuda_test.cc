// CUDA text of whole kernels: what the quickstart must have to be fast, what is said where it cannot be, and two texts
// word for word. No GPU is needed; where NVRTC is found its assembler says whether registers are spilled.
#include "codegen/cuda.h"

#include "../../examples/matmul_relu.h"
#include "harness/folders.h"
#include "harness/golden.h"
#include "harness/text.h"
#include "ir/verify.h"
#include "passes/cuda_passes.h"
#include "harness/machine.h"
#include "runtime/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>

namespace tilewright::codegen {
namespace {

namespace T = tilewright::lang;
using testing::occurrences;

struct Text {
  CudaModule module;
  std::vector<Remark> remarks;

  int count(std::string_view kind) const {
    return int(std::count_if(remarks.begin(), remarks.end(), [&](const Remark& r) { return r.kind == kind; }));
  }
};

Text text_of(const Program& program, const char* arch) {
  ir::verify(program.ir());
  const CudaTarget target = cuda_target_from_arch(arch).value();
  Text out;
  out.module = emit_cuda(passes::cuda_pipeline(program.ir(), target, out.remarks), target);
  return out;
}

// The lines of the loop that begins with `head`, up to the brace that closes it.
std::string loop_after(const std::string& text, const std::string& head) {
  const size_t begin = text.find(head);
  if (begin == std::string::npos) return "";
  int depth = 0;
  for (size_t at = text.find('{', begin); at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0) return text.substr(begin, at - begin);
  }
  return text.substr(begin);
}

constexpr const char* kTensorCoreArchs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"};

TEST(CudaQuickstart, LoadsArePiecesOf16BytesAndTheSteadyLoopHasOneBarrier) {
  for (const char* arch : kTensorCoreArchs) {
    SCOPED_TRACE(arch);
    const Text t = text_of(examples::matmul_relu(1024, 1024, 1024, 128, 128, 32), arch);
    const std::string& text = t.module.source;
    EXPECT_EQ(t.remarks.size(), 0u);
    const std::string steady = loop_after(text, "for (tw::i32 it_");
    ASSERT_FALSE(steady.empty()) << text;
    EXPECT_EQ(occurrences(steady, "tw::sync_block()"), 1) << steady;
    EXPECT_EQ(occurrences(steady, "tw::copy_async_wait<1>()"), 1);
    EXPECT_EQ(occurrences(steady, "tw::copy_async_commit()"), 1);
    EXPECT_EQ(occurrences(steady, "tw::mma_m16n8k16_f32_f16("), 1);
    // Of the next step, and of the next iteration's first.
    EXPECT_EQ(occurrences(steady, "tw::load_matrix_x4"), 4);
    // A and B, ahead, behind the first wait and in the loop, and no other access to shared memory or the tensors A and
    // B.
    EXPECT_EQ(occurrences(text, "tw::copy_async_zero_fill<16>("), 6);
    const std::regex element(R"((A|B|A_shared|B_shared)\[)");
    EXPECT_FALSE(std::regex_search(text, element)) << text;
    EXPECT_TRUE(t.module.sites.empty());
  }
}

TEST(CudaQuickstart, OddColumnsRunInOrderWhichARemarkSays) {
  const Text t = text_of(examples::matmul_relu(1024, 1024, 33, 128, 128, 32), "sm_80");
  EXPECT_EQ(t.count("serial_pipeline"), 1);
  const Text both = text_of(examples::matmul_relu(1024, 1001, 33, 128, 128, 32), "sm_80");
  EXPECT_GE(both.count("serial_pipeline"), 1);
  EXPECT_EQ(occurrences(both.module.source, "tw::copy_async_zero_fill"), 0);
}

TEST(CudaQuickstart, SharedMemoryThatEndsIsSaid) {
  // Stages of 64 KiB: three are 192, of which sm_86 has 99.
  const Text t = text_of(examples::matmul_relu(1024, 1024, 1024, 128, 128, 128), "sm_86");
  EXPECT_EQ(t.count("fewer_stages") + t.count("serial_pipeline"), 1);
  const Text fits = text_of(examples::matmul_relu(1024, 1024, 1024, 128, 128, 128), "sm_90a");
  EXPECT_EQ(fits.count("fewer_stages"), 0);
  EXPECT_EQ(fits.module.entries[0].shared_bytes, 3 * 65536);
}

TEST(CudaQuickstart, AFragmentThatLeavesItsRegistersIsSaid) {
  const Program program = T::prim_func("planted", [] {
    auto A = T::tensor("A", {64, 64}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    T::copy(A, c);
    c(0, 0) = c(1, 1);
    T::copy(c, A);
  });
  const Text t = text_of(program, "sm_80");
  ASSERT_EQ(t.count("fragment_in_shared"), 1);
  EXPECT_TRUE(t.remarks[0].text.starts_with("c is kept in shared memory"));
}

TEST(CudaQuickstart, SpillsNothing) {
  auto [nvrtc, why_not] = testing::find_nvrtc();
  if (!nvrtc) GTEST_SKIP() << why_not;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    for (const DType dtype : {T::f16, T::bf16}) {
      const Text t = text_of(examples::matmul_relu(1024, 1024, 1024, 128, 128, 32, dtype), arch);
      const cuda::CompiledCuda compiled =
          nvrtc->compile({.text = t.module.source, .arch = arch, .flags = cuda::compile_flags()});
      ASSERT_NE(compiled.log.find("tw_matmul_relu"), nullptr) << compiled.log.text;
      EXPECT_EQ(compiled.log.find("tw_matmul_relu")->spill_store_bytes, 0) << arch;
      EXPECT_EQ(compiled.log.find("tw_matmul_relu")->spill_load_bytes, 0) << arch;
      EXPECT_EQ(compiled.log.find("tw_matmul_relu")->stack_bytes, 0) << arch;
      EXPECT_EQ(compiled.log.why_slow(), std::nullopt) << compiled.log.text;
    }
  }
}

// ---- what single constructs become ----

std::string text_of_body(const std::function<void(const T::Tile&)>& body, DType dtype = T::f32) {
  return text_of(T::prim_func("p",
                              [&] {
                                auto A = T::tensor("A", {64}, dtype);
                                auto blocks = T::Kernel({1}, {.threads = 64});
                                body(A);
                              }),
                 "sm_80")
      .module.source;
}

TEST(CudaText, FunctionsOfTheCLibraryAreThoseOfTheDeviceLibrary) {
  const std::string text = text_of_body([](const T::Tile& A) {
    for (auto i : T::Parallel(64)) A(i) = T::atan2(A(i), T::tan(A(i)));
  });
  EXPECT_NE(text.find("tw::atan2("), std::string::npos) << text;
  EXPECT_NE(text.find("tw::tan("), std::string::npos) << text;
  EXPECT_EQ(text.find("__builtin"), std::string::npos) << text;
}

TEST(CudaText, SignedSumsThatMayLeaveTheirTypeWrap) {
  const std::string text = text_of_body(
      [](const T::Tile& A) {
        for (auto i : T::Parallel(64)) A(i) = A(i) + 1;
      },
      T::i32);
  EXPECT_NE(text.find("tw::wrapping_add<tw::i32>("), std::string::npos) << text;
  const std::string without = text_of_body(
      [](const T::Tile& A) {
        for (auto i : T::Parallel(64)) A(i) = T::cast(i, T::i32);
      },
      T::i32);
  EXPECT_EQ(without.find("wrapping"), std::string::npos) << without;
  // Unsigned ones wrap by themselves.
  const std::string natural = text_of_body(
      [](const T::Tile& A) {
        for (auto i : T::Parallel(64)) A(i) = A(i) + 1;
      },
      T::u32);
  EXPECT_EQ(natural.find("wrapping"), std::string::npos) << natural;
}

TEST(CudaText, AssumptionsAreChecked) {
  const Text t = text_of(T::prim_func("p",
                                      [] {
                                        auto n = T::dynamic("n");
                                        auto A = T::tensor("A", {n}, T::f32);
                                        auto blocks = T::Kernel({1}, {.threads = 64});
                                        T::assume(n % 4 == 0);
                                        for (auto k : T::serial(n)) T::assume(A(k) >= 0);
                                        for (auto i : T::Parallel(n)) A(i) = T::sqrt(A(i));
                                      }),
                         "sm_80");
  ASSERT_EQ(t.module.sites.size(), 2u);
  EXPECT_EQ(t.module.sites[0].condition, "n % 4 == 0");
  EXPECT_NE(t.module.source.find("return tw::fail(failure, 1);"), std::string::npos) << t.module.source;
  EXPECT_NE(t.module.source.find("return tw::fail(failure, 2);"), std::string::npos) << t.module.source;
}

TEST(CudaText, AWhileLoopEndsWithAFailedCheck) {
  const std::string text = text_of_body([](const T::Tile& A) {
    auto n = T::alloc_var(T::i32);
    n = 0;
    T::while_(n < 3, [&] {
      A(n) = 1;
      n = n + 1;
    });
  });
  EXPECT_NE(text.find("if (tw::stops(++turn, failure)) return;"), std::string::npos) << text;
}

TEST(CudaText, NarrowFloatsAreNarrowInSharedMemoryAndWideInRegisters) {
  const Text t = text_of(T::prim_func("p",
                                      [] {
                                        auto A = T::tensor("A", {8, 64}, T::f8e5m2);
                                        auto B = T::tensor("B", {8, 64}, T::f32);
                                        auto blocks = T::Kernel({1}, {.threads = 64});
                                        auto s = T::alloc_shared({8, 64}, T::f8e5m2, "s");
                                        auto f = T::alloc_fragment({8, 64}, T::f8e5m2, "f");
                                        T::copy(B, f);
                                        T::copy(f, s);
                                        T::copy(s, A);
                                      }),
                         "sm_80");
  EXPECT_NE(t.module.source.find("tw::F8E5M2* const s = "), std::string::npos) << t.module.source;
  EXPECT_TRUE(std::regex_search(t.module.source, std::regex(R"(float f\[\d+\];)"))) << t.module.source;
  EXPECT_NE(t.module.source.find("tw::to_f8e5m2("), std::string::npos) << t.module.source;
  EXPECT_EQ(t.module.entries[0].shared_bytes, 1024);
}

// ---- word for word ----

TEST(CudaGolden, Quickstart) {
  const Text t = text_of(examples::matmul_relu(1024, 1024, 1024, 128, 128, 32), "sm_80");
  EXPECT_TRUE(tilewright::testing::matches_golden(t.module.source, "codegen/golden/quickstart_sm_80.cu"));
}

// Sums of rows, of any number and length.
Program row_sums() {
  return T::prim_func("row_sums", [] {
    auto m = T::dynamic("m"), n = T::dynamic("n");
    auto A = T::tensor("A", {m, n}, T::f32);
    auto B = T::tensor("B", {m}, T::f32);
    auto [by] = T::Kernel({T::ceildiv(m, 32)}, {.threads = 64});
    auto a = T::alloc_fragment({32, 64}, T::f32, "a");
    auto part = T::alloc_fragment({32}, T::f32, "part"), sum = T::alloc_fragment({32}, T::f32, "sum");
    T::clear(sum);
    for (auto k : T::serial(T::ceildiv(n, 64))) {
      T::copy(A(by * 32, k * 64), a);
      T::reduce_sum(a, part, {.dim = 1});
      for (auto i : T::Parallel(32)) sum(i) = sum(i) + part(i);
    }
    T::copy(sum, B(by * 32));
  });
}

TEST(CudaGolden, RowSums) {
  const Text t = text_of(row_sums(), "sm_75");
  EXPECT_TRUE(tilewright::testing::matches_golden(t.module.source, "codegen/golden/row_sums_sm_75.cu"));
}

TEST(CudaGolden, KernelsCompileOnEveryArchitecture) {
  auto [nvrtc, why_not] = testing::find_nvrtc();
  if (!nvrtc) GTEST_SKIP() << why_not;
  for (const std::string& arch : testing::cuda_archs(*nvrtc)) {
    for (const Program& program : {examples::matmul_relu(1024, 1024, 1024, 128, 128, 32), row_sums()}) {
      const std::string text = text_of(program, arch.c_str()).module.source;
      EXPECT_NO_THROW(nvrtc->compile({.text = text, .arch = arch, .flags = testing::quick_cuda_flags(*nvrtc)})) << arch;
    }
  }
}

// Whether text for `from` may be compiled for `to`: "sm_90a" stands for that processor alone, others for all later
// ones.
bool accepts(const std::string& to, const std::string& from) {
  const auto number = [](const std::string& arch) { return std::stoi(arch.substr(3)); };
  return from.ends_with("a") ? to == from : number(to) >= number(from);
}

// The texts themselves, those of other suites too: each NAME_ARCH.cu below a folder `golden`.
TEST(CudaGolden, TextsCompileOnEveryArchitectureThatTheyAreFor) {
  auto [nvrtc, why_not] = testing::find_nvrtc();
  if (!nvrtc) GTEST_SKIP() << why_not;
  size_t num_texts = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(testing::source_folder() / "tests")) {
    const std::string name = file.path().stem().string();
    const size_t at = name.rfind("_sm_");
    if (file.path().extension() != ".cu" || at == std::string::npos) continue;
    ++num_texts;
    std::ifstream in(file.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {}), from = name.substr(at + 1);
    size_t num_archs = 0;
    for (const std::string& arch : testing::cuda_archs(*nvrtc)) {
      if (!accepts(arch, from)) continue;
      ++num_archs;
      EXPECT_NO_THROW(nvrtc->compile({.text = text, .arch = arch, .flags = testing::quick_cuda_flags(*nvrtc)}))
          << name << " for " << arch;
    }
    EXPECT_GT(num_archs, 0u) << name;
  }
  EXPECT_GE(num_texts, 5u);
}

}  // namespace
}  // namespace tilewright::codegen
