// The functions of the language in f32 against f64 ones, which the same GPU computes: the largest error over every
// 97th float (pairs for functions of two), NaN and infinities among them.
#include "gpu/gpu_test.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace tilewright::test {
namespace {

// `difference` in units of the last place of `want` as an f32, in 2^-10; a wrong special value counts 2^20.
constexpr const char* kFunctionsHead = R"(
#include <tilewright/device/cuda/language.h>
namespace tw = tilewright::device;
__device__ tw::u32 error_of(float got, double want) {
  const tw::u32 wrong = 1u << 30;
  if (want != want) return got != got ? 0 : wrong;
  if (got != got) return wrong;
  const double magnitude = ::fabs(want), top = 3.4028234663852886e38;
  // Half a unit beyond the largest number, and what 4 units of error may reach.
  const double slack = 4 * 2.0282409603651670e31;
  if (magnitude > top + slack || ::isinf(want)) return ::isinf(got) && (got > 0) == (want > 0) ? 0 : wrong;
  if (::isinf(got)) return magnitude > top - slack ? 0 : wrong;
  int exponent = -126;
  if (magnitude >= 1.1754943508222875e-38) exponent = ::ilogb(magnitude);
  const double units = ::ldexp(::fabs(double(got) - want), 23 - exponent);
  return units > 1e6 ? wrong : tw::u32(units * 1024);
}
)";

struct Function {
  const char* name;
  const char* exact;  // of double x, y
};

constexpr Function kFunctions[] = {
    {"exp(x)", "::exp(x)"},       {"exp2(x)", "::exp2(x)"},
    {"exp10(x)", "::exp10(x)"},   {"expm1(x)", "::expm1(x)"},
    {"log(x)", "::log(x)"},       {"log2(x)", "::log2(x)"},
    {"log10(x)", "::log10(x)"},   {"log1p(x)", "::log1p(x)"},
    {"sqrt(x)", "::sqrt(x)"},     {"rsqrt(x)", "1 / ::sqrt(x)"},
    {"sin(x)", "::sin(x)"},       {"cos(x)", "::cos(x)"},
    {"tan(x)", "::tan(x)"},       {"sinh(x)", "::sinh(x)"},
    {"cosh(x)", "::cosh(x)"},     {"tanh(x)", "::tanh(x)"},
    {"asin(x)", "::asin(x)"},     {"acos(x)", "::acos(x)"},
    {"atan(x)", "::atan(x)"},     {"asinh(x)", "::asinh(x)"},
    {"acosh(x)", "::acosh(x)"},   {"atanh(x)", "::atanh(x)"},
    {"erf(x)", "::erf(x)"},       {"sigmoid(x)", "x < 0 ? ::exp(x) / (1 + ::exp(x)) : 1 / (1 + ::exp(-x))"},
    {"rcp(x)", "1 / x"},          {"atan2(x, y)", "::atan2(x, y)"},
    {"pow(x, y)", "::pow(x, y)"}, {"hypot(x, y)", "::hypot(x, y)"}};

using FunctionsTest = GpuTest;

TEST_F(FunctionsTest, ErrorsAreAtMost4Ulp) {
  std::string text = kFunctionsHead;
  for (size_t n = 0; n < std::size(kFunctions); ++n) {
    // y comes near x in size for every other pair, so that quotients and powers are often finite.
    text += fmt::format(R"(
extern "C" __global__ void k{}(tw::u32* worst, tw::u32 step) {{
  tw::u32 here = 0;
  const tw::u32 threads = gridDim.x * blockDim.x;
  for (tw::u64 i = blockIdx.x * blockDim.x + threadIdx.x; i * step < (tw::u64(1) << 32); i += threads) {{
    const tw::u32 bits = tw::u32(i * step), other = bits * 2654435761u;
    const float fx = tw::float_of(bits), fy = i % 2 ? tw::float_of(other) : tw::float_of((bits & 0x7f800000u) ^ (other & 0x81ffffffu));
    const double x = fx, y = fy;
    float got;
    {{
      const float x = fx, y = fy;
      got = tw::{};
    }}
    here = max(here, error_of(got, {}));
  }}
  atomicMax(worst, here);
}}
)",
                        n, kFunctions[n].name, kFunctions[n].exact);
  }
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  for (size_t n = 0; n < std::size(kFunctions); ++n) {
    const auto worst = array(std::vector<uint32_t>{0});
    run(loaded->kernel(fmt::format("k{}", n)), {.grid = {1024, 1, 1}, .block = {256, 1, 1}}, worst, uint32_t(97));
    const double ulps = worst.read()[0] / 1024.0;
    EXPECT_LE(ulps, 4) << kFunctions[n].name;
    fmt::print("  {:<12} {:.2f} ulp\n", kFunctions[n].name, ulps);
  }
}

// What a test of bounds must see: a function that is not accurate enough.
TEST_F(FunctionsTest, AnApproximationIsFoundOut) {
  std::string text = kFunctionsHead;
  text += R"(
extern "C" __global__ void k(tw::u32* worst) {
  const float x = 80.0f + float(threadIdx.x) / 64;
  atomicMax(worst, error_of(__expf(x), ::exp(double(x))));
})";
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  const auto worst = array(std::vector<uint32_t>{0});
  run(loaded->kernel("k"), {.block = {256, 1, 1}}, worst);
  EXPECT_GT(worst.read()[0] / 1024.0, 4);
}

}  // namespace
}  // namespace tilewright::test
