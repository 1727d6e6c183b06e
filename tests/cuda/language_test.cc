// The library that generated text calls, whole, on every architecture: each function of the language for each type
// that it may meet.
#include "ir/math_fn.h"
#include "harness/machine.h"
#include "runtime/cuda/nvrtc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace tilewright::cuda {
namespace {

constexpr const char* kNarrow[] = {"F16", "BF16", "TF32", "F8E4M3", "F8E5M2"};
constexpr const char* kIntegers[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// The name in the device library, as the table of functions says.
std::string device_name(const ir::MathInfo& info, const std::string& memory) {
  std::string name(info.cpu);
  if (name[0] == '@') name = "tw::" + name.substr(1);
  if (name.ends_with("<>")) name.insert(name.size() - 1, memory);
  return name;
}

// Every function of the table that takes floats, of f32 or f64.
std::string float_functions(const std::string& type) {
  std::string text = fmt::format("extern \"C\" __global__ void f_{0}({0}* x, tw::i64* n) {{\n", type);
  for (int fn = 0; fn < ir::kNumMathFns; ++fn) {
    const ir::MathInfo& info = ir::math_info(ir::MathFn(fn));
    const std::string name = device_name(info, type);
    switch (info.operands) {
      case ir::MathOperands::f32_only:
        if (type != "float") break;
        [[fallthrough]];
      case ir::MathOperands::floats:
      case ir::MathOperands::wide_floats:
      case ir::MathOperands::numbers: {
        const char* operands[] = {"x[0]", "x[0], x[1]", "x[0], x[1], x[2]"};
        text += fmt::format("  x[{}] = {}({});\n", fn + 3, name, operands[info.arity - 1]);
        break;
      }
      case ir::MathOperands::scaled:
        for (const char* i : kIntegers) text += fmt::format("  x[{}] += {}(x[0], tw::{}(n[0]));\n", fn + 3, name, i);
        break;
      case ir::MathOperands::test: text += fmt::format("  n[{}] = {}(x[0]);\n", fn + 3, name); break;
      case ir::MathOperands::choice:
        text += fmt::format("  x[{}] = {}<{}>(n[0] > 0, x[0], x[1]);\n", fn, name, type);
        break;
      case ir::MathOperands::integers: break;
    }
  }
  for (const char* m : kNarrow) text += fmt::format("  x[1] += tw::to_{}(x[0]);\n", lower(m));
  for (const char* i : kIntegers) text += fmt::format("  n[1] += tw::saturate<tw::{}>(x[0]);\n", i);
  text += fmt::format("  x[2] += tw::minimum<{0}>(x[0], x[1]) + tw::maximum<{0}>(x[0], x[1]);\n", type);
  return text + "}\n";
}

std::string integer_functions() {
  std::string text = "extern \"C\" __global__ void integers(tw::i64* n, float* x) {\n";
  for (const char* i : kIntegers) {
    text += fmt::format("  {{\n    const tw::{0} a = tw::{0}(n[0]), b = tw::{0}(n[1]);\n", i);
    for (const char* f : {"floordiv", "floormod", "truncdiv", "truncmod", "shl", "shr", "minimum", "maximum",
                          "wrapping_add", "wrapping_sub", "wrapping_mul"}) {
      text += fmt::format("    n[2] ^= tw::{}<tw::{}>(a, b);\n", f, i);
    }
    text += "    n[2] ^= tw::popcount(a) + tw::clz(a) + tw::abs(a);\n";
    for (const char* m : kNarrow) text += fmt::format("    x[0] += tw::to_{}(a);\n", lower(m));
    text += "  }\n";
  }
  return text + "}\n";
}

std::string narrow_floats() {
  std::string text;
  for (const char* m : kNarrow) {
    text += fmt::format(
        "extern \"C\" __global__ void narrow_{1}(tw::{0}* m, float* x) {{\n"
        "  float v[4];\n"
        "  tw::load_vector<4>(v, m);\n"
        "  tw::store_vector<2>(m + 8, v);\n"
        "  x[0] = tw::round_{1}(x[1]) + tw::nextafter<tw::{0}>(v[0], v[1]) + tw::to_f32(m[9]);\n"
        "  m[2] = tw::from_f32<tw::{0}>(x[2]);\n"
        "  m[3] = tw::bit_cast<tw::{0}>(m[4]);\n"
        "}}\n",
        m, lower(m));
  }
  return text;
}

TEST(CudaLanguage, EveryFunctionCompilesOnEveryArchitecture) {
  auto [nvrtc, why_not] = testing::find_nvrtc();
  if (!nvrtc) GTEST_SKIP() << why_not;
  const std::string text = "#include <tilewright/device/cuda/language.h>\nnamespace tw = tilewright::device;\n" +
                           float_functions("float") + float_functions("double") + integer_functions() + narrow_floats();
  for (const std::string& arch : testing::cuda_archs(*nvrtc)) {
    EXPECT_NO_THROW(nvrtc->compile({.text = text, .arch = arch, .flags = testing::quick_cuda_flags(*nvrtc)})) << arch;
  }
}

}  // namespace
}  // namespace tilewright::cuda
