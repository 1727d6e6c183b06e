// Every row of the table as CUDA text, on every architecture whose text may differ. Where NVRTC is found its compiler
// takes the text: no GPU is needed.
#include "codegen/cuda.h"
#include "ir/verify.h"
#include "ops/op_table.h"
#include "passes/cuda_passes.h"
#include "runtime/cuda/nvrtc.h"
#include "support/options.h"

#include <tilewright/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace tilewright::tests {
namespace {

constexpr const char* kArchs[] = {"sm_75", "sm_80", "sm_90a"};

std::vector<Row> all_rows() {
  std::vector<Row> out;
  for (const auto& part : {copy_rows(), cast_rows(), fill_rows(), gemm_rows(), reduce_rows(), scan_rows(), float_rows(),
                           math_rows(), function_rows(), pattern_rows(), integer_rows(), raster_rows(), control_rows(),
                           block_rows(), dynamic_rows()}) {
    out.insert(out.end(), part.begin(), part.end());
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

}  // namespace
}  // namespace tilewright::tests
