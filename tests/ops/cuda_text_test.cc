// Every row of the table as CUDA text, on every architecture whose text may differ. Where NVRTC is found its compiler
// takes the text: no GPU is needed.
#include "codegen/cuda.h"
#include "harness/machine.h"
#include "ir/verify.h"
#include "ops/op_table.h"
#include "passes/cuda_passes.h"
#include "runtime/cuda/nvrtc.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tilewright::tests {
namespace {

constexpr const char* kArchs[] = {"sm_75", "sm_80", "sm_90a"};

std::vector<Row> all_rows() {
  std::vector<Row> out;
  for (const Part& part : kParts) {
    for (Row& row : part.rows()) out.push_back(std::move(row));
  }
  return out;
}

codegen::CudaModule lowered(const Program& program, const char* arch) {
  ir::verify(program.ir());
  std::vector<Remark> remarks;
  const CudaTarget target = cuda_target_from_arch(arch).value();
  return codegen::emit_cuda(passes::cuda_pipeline(program.ir(), target, remarks), target);
}

// The text of each row; none where the block's shared memory is too small, which is an error of the launch.
std::optional<codegen::CudaModule> text_of(const Row& row, const char* arch) {
  try {
    return lowered(T::prim_func("row", [&] { row.declare("")(); }), arch);
  } catch (const Error& e) {
    const bool too_large = e.message().find("bytes of shared memory, but a block of") != std::string::npos;
    EXPECT_TRUE(too_large) << row.name << " for " << arch << ": " << e.what();
    return std::nullopt;
  }
}

TEST(CudaText, EveryRowIsLoweredOnEveryArchitecture) {
  const std::vector<Row> rows = all_rows();
  for (const char* arch : kArchs) {
    size_t refused = 0;
    for (const Row& row : rows) refused += !text_of(row, arch);
    EXPECT_LE(refused, rows.size() / 50) << arch;
  }
}

// Rows of one program share its compilation. Each program is compiled for one architecture, in turn: the texts differ
// in few words, and the device library is compiled whole for each architecture in tests/cuda.
class CudaTextCompiles : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::FoundNvrtc found = testing::find_nvrtc();
    if (!found.nvrtc) GTEST_SKIP() << found.why_not;
    nvrtc_ = std::move(found.nvrtc);
  }
  void compile(std::span<const Row> rows, const char* arch) {
    const codegen::CudaModule module = lowered(program_of(rows), arch);
    try {
      nvrtc_->compile({.text = module.source, .arch = arch, .flags = testing::quick_cuda_flags(*nvrtc_)});
    } catch (const Error& e) {
      if (rows.size() == 1) {
        ADD_FAILURE() << rows[0].name << " for " << arch << ": " << e.what();
        return;
      }
      for (size_t i = 0; i < rows.size(); ++i) compile(rows.subspan(i, 1), arch);
    }
  }
  std::optional<cuda::Nvrtc> nvrtc_;
};

TEST_F(CudaTextCompiles, EveryRow) {
  const std::vector<Row> rows = all_rows();
  constexpr size_t kRowsPerProgram = 24;
  size_t number = 0;
  for (size_t begin = 0; begin < rows.size(); begin += kRowsPerProgram) {
    const char* arch = kArchs[number++ % std::size(kArchs)];
    std::vector<Row> batch;
    for (size_t i = begin; i < std::min(begin + kRowsPerProgram, rows.size()); ++i) {
      if (text_of(rows[i], arch)) batch.push_back(rows[i]);
    }
    compile(batch, arch);
  }
}

TEST_F(CudaTextCompiles, PrintsAndAssertions) {
  const Program program = T::prim_func("told", [] {
    auto A = T::tensor("A", {4, 20}, T::bf16);
    auto n = T::scalar("n", T::f64);
    auto [bx, by] = T::Kernel({2, 3}, {.threads = 64});
    auto s = T::alloc_shared({4, 20}, T::bf16);
    auto f = T::alloc_fragment({4, 20}, T::f32);
    T::copy(A, s);
    T::copy(s, f);
    T::print("begin");
    T::print(s, "shared");
    T::print(f(T::slice(1, 3), T::all), "fragment");
    T::print(n * 2 > bx, "condition");
    for (auto [i, j] : T::Parallel(4, 20)) {
      T::device_assert(f(i, j) < 100, "small");
      T::if_(f(i, j) > 50, [&] { T::print(f(i, j)); });
    }
    T::device_assert(by < 3 && f(0, 0) == f(0, 0));
  });
  std::vector<std::string> flags = cuda::compile_flags();
  for (const char* arch : kArchs) {
    const codegen::CudaModule module = lowered(program, arch);
    EXPECT_EQ(module.reports.size(), 7u);
    EXPECT_NO_THROW(nvrtc_->compile({.text = module.source, .arch = arch, .flags = flags})) << module.source;
  }
}

}  // namespace
}  // namespace tilewright::tests
