// The products of tests/schedule/tables.h on the GPU against sums in double arithmetic: ragged extents, one and many
// steps, several numbers of stages and warpgroups, several rounds.
#include "codegen/cuda.h"
#include "gpu/gpu_test.h"
#include "gpu/matrices.h"
#include "passes/cuda_passes.h"
#include "runtime/cuda/tensor_map.h"
#include "schedule/tables.h"

#include <fmt/format.h>

#include <random>

namespace tilewright::test {
namespace {

using testing::Product;

struct Case {
  Product p;
  bool bulk = false;  // the second table

  std::string name() const {
    return fmt::format("{} {} x {} x {}, {} stages, {} groups, {} rounds{}", bulk ? "wgmma" : "cp.async", p.m, p.n, p.k,
                       p.stages, p.groups, p.rounds, p.transpose_b ? ", B [n, k]" : "");
  }
};

cuda::TensorMapSpec spec_of(const ir::Program& program, const ir::TensorMap& map) {
  const ir::Tensor& tensor = program.tensors[size_t(map.tensor)];
  cuda::TensorMapSpec spec{.type = tensor.dtype == DType::f16 ? cuda::TensorMapType::f16 : cuda::TensorMapType::bf16,
                           .extents = {},
                           .strides_bytes = {},
                           .box = {},
                           .swizzle = map.span_bytes == 128  ? cuda::TensorMapSwizzle::span128
                                      : map.span_bytes == 64 ? cuda::TensorMapSwizzle::span64
                                                             : cuda::TensorMapSwizzle::span32};
  uint64_t pitch = 2;
  for (size_t d = map.box.size(); d-- > 0;) {
    if (!spec.extents.empty()) spec.strides_bytes.push_back(pitch);
    spec.extents.push_back(uint64_t(*tensor.shape[d].as_int()));
    spec.box.push_back(uint32_t(map.box[d]));
    pitch *= spec.extents.back();
  }
  return spec;
}

class ScheduleTest : public GpuTest {
 protected:
  void check(const Case& c) {
    SCOPED_TRACE(c.name());
    const ir::Program program = c.bulk ? testing::wgmma_product(c.p) : testing::cp_async_product(c.p);
    const std::string arch = machine().device ? machine().device->properties().arch() : "sm_90a";
    const CudaTarget target = cuda_target_from_arch(arch).value();
    std::vector<Remark> remarks;
    const ir::Program lowered =
        passes::lower_cuda(passes::expand_unselected(program, target, remarks), program, target);
    const codegen::CudaModule text = codegen::emit_cuda(lowered, target);
    const auto loaded = module(text.source);
    if (!loaded) return;
    const Type type = c.p.type == "f16" ? Type::f16 : Type::bf16;
    std::mt19937 random(unsigned(c.p.m + c.p.n + c.p.k));
    const auto rows = [&](int64_t r, int64_t columns) {
      return random_matrix(int(r), int(columns), type, false, random);
    };
    const Matrix a = rows(c.p.m, c.p.k), b = c.p.transpose_b ? rows(c.p.n, c.p.k) : rows(c.p.k, c.p.n);
    const auto ca = array(words(a)), cb = array(words(b)), cc = array<uint16_t>(size_t(c.p.m * c.p.n));
    launch_product(*loaded, text.entries[0], program, ca, cb, cc);
    compare(c, a, b, cc.read());
  }

 private:
  static std::vector<uint16_t> words(const Matrix& x) { return {x.bits.begin(), x.bits.end()}; }

  void launch_product(const cuda::Module& loaded, const codegen::CudaEntry& entry, const ir::Program& program,
                      const Array<uint16_t>& a, const Array<uint16_t>& b, const Array<uint16_t>& c) {
    cuda::Kernel kernel = loaded.kernel(entry.symbol);
    kernel.allow_shared(int(entry.shared_bytes));
    int64_t blocks = 1;
    for (const ir::Expr& extent : entry.grid) blocks *= *extent.as_int();
    const cuda::LaunchConfig config{.grid = {uint32_t(blocks), 1, 1},
                                    .block = {uint32_t(entry.threads), 1, 1},
                                    .dynamic_shared_bytes = uint32_t(entry.shared_bytes)};
    const int64_t first_block = 0;
    const uint64_t no_failure = 0;
    if (entry.maps.empty()) return run(kernel, config, a, b, c, first_block, no_failure);
    const auto map = [&](size_t m, const Array<uint16_t>& tensor) {
      return cuda::encode_tensor_map(*machine().device, spec_of(program, entry.maps[m]), tensor.address());
    };
    run(kernel, config, a, b, c, map(0, a), map(1, b), first_block, no_failure);
  }

  void compare(const Case& c, const Matrix& a, const Matrix& b, const std::vector<uint16_t>& got) {
    const int64_t m = c.p.m, n = c.p.n, k = c.p.k;
    const auto values = [](const Matrix& x) {
      std::vector<double> out;
      for (const uint32_t bits : x.bits) out.push_back(decode(x.type, bits));
      return out;
    };
    const std::vector<double> av = values(a), bv = values(b);
    // Half a unit in the last place of the result's type; below its normal numbers, of the smallest.
    const double unit = c.p.type == "f16" ? 0x1p-11 : 0x1p-8, least = c.p.type == "f16" ? 0x1p-25 : 0x1p-134;
    Comparison comparison;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Sum want{0, 0};
        for (int64_t l = 0; l < k; ++l) {
          const double product = av[size_t(i * k + l)] * bv[size_t(c.p.transpose_b ? j * k + l : l * n + j)];
          want.value += c.p.rounds * product;
          want.magnitude += c.p.rounds * std::fabs(product);
        }
        const double bound =
            double(k * c.p.rounds + 2) * 0x1p-23 * want.magnitude + unit * std::fabs(want.value) + least;
        comparison.add(decode(a.type, got[size_t(i * n + j)]), want, bound, fmt::format("[{}, {}]", i, j));
      }
    }
    EXPECT_LE(comparison.worst, 1) << comparison.where;
    fmt::print("  {}: worst error {:.3f} of the bound\n", c.name(), comparison.worst);
  }
};

TEST_F(ScheduleTest, ProductsByCpAsync) {
  for (const Product& p :
       {Product{.m = 256, .n = 256, .k = 256, .groups = 1}, Product{.m = 200, .n = 296, .k = 1000, .stages = 4},
        Product{.m = 1, .n = 8, .k = 8, .groups = 1}, Product{.m = 129, .n = 136, .k = 128, .stages = 2, .groups = 1},
        Product{.m = 128, .n = 128, .k = 192, .stages = 1, .groups = 1, .type = "bf16"},
        Product{.m = 130, .n = 128, .k = 200, .transpose_b = true},
        Product{.m = 128, .n = 128, .k = 320, .groups = 1, .rounds = 3}}) {
    check({.p = p});
  }
  if (!machine().device) GTEST_SKIP() << "compiled, not run: " << machine().why_not;
}

TEST_F(ScheduleTest, ProductsByBulkCopiesAndWgmma) {
  if (machine().device && machine().device->properties().arch() != "sm_90a") {
    GTEST_SKIP() << machine().device->properties().arch() << " has no wgmma";
  }
  for (const Product& p :
       {Product{.m = 256, .n = 256, .k = 256, .stages = 4}, Product{.m = 200, .n = 296, .k = 1000, .stages = 4},
        Product{.m = 1, .n = 8, .k = 8}, Product{.m = 129, .n = 136, .k = 128, .stages = 2},
        Product{.m = 128, .n = 128, .k = 192, .stages = 1, .type = "bf16"},
        Product{.m = 300, .n = 520, .k = 1000, .block_n = 256, .stages = 4},
        Product{.m = 130, .n = 128, .k = 200, .block_k = 32, .stages = 5, .transpose_b = true},
        Product{.m = 130,
        .n = 72,
        .k = 200,
        .block_m = 64,
        .block_n = 32,
        .stages = 5,
        .groups = 1,
        .regs_compute = 0,
        .regs_load = 0},
        Product{.m = 300, .n = 264, .k = 520, .block_m = 256, .block_n = 128, .stages = 3},
        Product{.m = 128, .n = 128, .k = 320, .rounds = 3}}) {
    check({.p = p, .bulk = true});
  }
  if (!machine().device) GTEST_SKIP() << "compiled, not run: " << machine().why_not;
}

}  // namespace
}  // namespace tilewright::test
