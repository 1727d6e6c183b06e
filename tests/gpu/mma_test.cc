// mma.sync against products in double arithmetic, for every shape and type.
#include "gpu/fragments.h"
#include "gpu/gpu_test.h"
#include "gpu/matrices.h"

#include <fmt/format.h>

namespace tilewright::test {
namespace {

struct Variant {
  const char* name;
  int k;
  Type a, b, d;
  FragmentShape a_shape, b_shape, d_shape;
};

std::vector<Variant> variants() {
  const FragmentShape d32 = {32, 4, 32, mma_accumulator}, d16 = {32, 4, 16, mma_accumulator};
  const FragmentShape a16 = {32, 8, 16, mma_a_k16_16bit}, b16 = {32, 4, 16, mma_b_16bit};
  const FragmentShape a8 = {32, 4, 16, mma_a_k8_16bit}, b8 = {32, 2, 16, mma_b_16bit};
  const FragmentShape a32 = {32, 16, 8, mma_a_k32_8bit}, b32 = {32, 8, 8, mma_b_k32_8bit};
  const FragmentShape a16b = {32, 8, 8, mma_a_k16_8bit}, b16b = {32, 4, 8, mma_b_k32_8bit};
  const FragmentShape at = {32, 4, 32, mma_a_k8_tf32}, bt = {32, 2, 32, mma_b_k8_tf32};
  using enum Type;
  return {{"mma_m16n8k16_f32_f16", 16, f16, f16, f32, a16, b16, d32},
          {"mma_m16n8k16_f32_bf16", 16, bf16, bf16, f32, a16, b16, d32},
          {"mma_m16n8k8_f32_f16", 8, f16, f16, f32, a8, b8, d32},
          {"mma_m16n8k8_f32_bf16", 8, bf16, bf16, f32, a8, b8, d32},
          {"mma_m16n8k16_f16_f16", 16, f16, f16, f16, a16, b16, d16},
          {"mma_m16n8k8_f16_f16", 8, f16, f16, f16, a8, b8, d16},
          {"mma_m16n8k8_f32_tf32", 8, tf32, tf32, f32, at, bt, d32},
          {"mma_m16n8k32_s32_s8", 32, s8, s8, s32, a32, b32, d32},
          {"mma_m16n8k32_s32_u8", 32, u8, u8, s32, a32, b32, d32},
          {"mma_m16n8k32_s32_s8_u8", 32, s8, u8, s32, a32, b32, d32},
          {"mma_m16n8k32_s32_u8_s8", 32, u8, s8, s32, a32, b32, d32},
          {"mma_m16n8k16_s32_s8", 16, s8, s8, s32, a16b, b16b, d32},
          {"mma_m16n8k16_s32_u8", 16, u8, u8, s32, a16b, b16b, d32},
          {"mma_m16n8k32_f32_e4m3", 32, e4m3, e4m3, f32, a32, b32, d32},
          {"mma_m16n8k32_f32_e5m2", 32, e5m2, e5m2, f32, a32, b32, d32},
          {"mma_m16n8k32_f32_e4m3_e5m2", 32, e4m3, e5m2, f32, a32, b32, d32},
          {"mma_m16n8k32_f32_e5m2_e4m3", 32, e5m2, e4m3, f32, a32, b32, d32}};
}

std::string kernel_text(const Variant& v) {
  const char* type = v.d == Type::f32 ? "float" : v.d == Type::s32 ? "i32" : "u32";
  return fmt::format(R"(
extern "C" __global__ void {0}_kernel(const u32* a, const u32* b, {1}* d) {{
  u32 ra[{2}], rb[{3}];
  {1} rd[{4}];
  const u32 lane = lane_id();
  for (u32 i = 0; i < {2}; ++i) ra[i] = a[lane * {2} + i];
  for (u32 i = 0; i < {3}; ++i) rb[i] = b[lane * {3} + i];
  for (u32 i = 0; i < {4}; ++i) rd[i] = d[lane * {4} + i];
  {0}(rd, ra, rb);
  for (u32 i = 0; i < {4}; ++i) d[lane * {4} + i] = rd[i];
}}
)",
                     v.name, type, v.a_shape.registers(), v.b_shape.registers(), v.d_shape.registers());
}

using MmaTest = GpuTest;

TEST_F(MmaTest, EveryShapeAndType) {
  std::string text =
      "#include <tilewright/device/cuda/mma.h>\n#include <tilewright/device/cuda/warp.h>\n"
      "using namespace tilewright::device;\n";
  for (const Variant& v : variants()) text += kernel_text(v);
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  std::mt19937 random(1);
  for (const Variant& v : variants()) {
    for (const bool exact : {true, false}) {
      const Matrix a = random_matrix(16, v.k, v.a, exact, random), b = random_matrix(v.k, 8, v.b, exact, random);
      const Matrix c = random_matrix(16, 8, v.d, exact, random);
      const auto at = [](const Matrix& m) { return [&m](int row, int column) { return m.at(row, column); }; };
      const auto a_array = array(pack(v.a_shape, at(a))), b_array = array(pack(v.b_shape, at(b)));
      const auto d_array = array(pack(v.d_shape, at(c)));
      run(loaded->kernel(std::string(v.name) + "_kernel"), {.block = {32, 1, 1}}, a_array, b_array, d_array);
      Comparison comparison;
      const OpenOrder sums(!exact && !is_integer(v.d));
      unpack(v.d_shape, d_array.read(), [&](int row, int column, uint32_t bits) {
        const Sum want = product_at(a, b, row, column, c.value(row, column));
        const bool must_be_equal = exact || is_integer(v.d);
        const double bound =
            must_be_equal ? 0 : (v.k + 2) * std::ldexp(1, v.d == Type::f16 ? -10 : -23) * want.magnitude;
        comparison.add(decode(v.d, bits), want, bound, fmt::format("[{}, {}]", row, column));
      });
      EXPECT_LE(comparison.worst, 1) << v.name << (exact ? " exact " : " real ") << comparison.where;
      fmt::print("  {:<28} {}: worst error {:.3f} of the bound\n", v.name, exact ? "exact" : "real ", comparison.worst);
    }
  }
}

TEST_F(MmaTest, Doubles) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/mma.h>
#include <tilewright/device/cuda/warp.h>
using namespace tilewright::device;
extern "C" __global__ void k(const double* a, const double* b, double* d) {
  const u32 lane = lane_id();
  mma_m8n8k4_f64(d + 2 * lane, a + lane, b + lane);
})");
  TW_SKIP_WITHOUT(loaded);
  std::mt19937 random(2);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<double> a(32), b(32), c(64), a_registers(32), b_registers(32), d_registers(64);
  for (auto* values : {&a, &b, &c}) {
    for (double& x : *values) x = real(random);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const auto [ar, ac] = mma_a_f64(lane, 0);
    const auto [br, bc] = mma_b_f64(lane, 0);
    a_registers[size_t(lane)] = a[size_t(ar * 4 + ac)];
    b_registers[size_t(lane)] = b[size_t(br * 8 + bc)];
    for (int i = 0; i < 2; ++i) {
      const auto [row, column] = mma_accumulator_f64(lane, i);
      d_registers[size_t(2 * lane + i)] = c[size_t(row * 8 + column)];
    }
  }
  const auto d_array = array(d_registers);
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, array(a_registers), array(b_registers), d_array);
  const OpenOrder sums(true);
  const std::vector<double> got = d_array.read();
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 2; ++i) {
      const auto [row, column] = mma_accumulator_f64(lane, i);
      long double want = c[size_t(row * 8 + column)], magnitude = std::fabs(want);
      for (int k = 0; k < 4; ++k) {
        const long double x = (long double)(a[size_t(row * 4 + k)]) * b[size_t(k * 8 + column)];
        want += x;
        magnitude += std::fabs(x);
      }
      EXPECT_LE(std::fabs(got[size_t(2 * lane + i)] - want), 6 * std::ldexp(1.0L, -53) * magnitude) << lane << " " << i;
    }
  }
}

}  // namespace
}  // namespace tilewright::test
