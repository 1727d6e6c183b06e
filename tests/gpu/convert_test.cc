// Conversions, for every 8-bit and 16-bit pattern and at every midpoint between neighbours.
#include "gpu/gpu_test.h"
#include "gpu/number_formats.h"

#include <fmt/format.h>

#include <cmath>

namespace tilewright::test {
namespace {

using ConvertTest = GpuTest;

// Both neighbours' midpoint and the floats beside it, every value, infinities, NaN, the largest float; both signs.
std::vector<float> probes(const Format& f) {
  std::vector<float> out;
  for (uint32_t bits = 0; bits <= largest(f); ++bits) {
    const double below = decode(f, bits);
    const double above = bits < largest(f) ? decode(f, bits + 1) : 2 * below - decode(f, bits - 1);
    const float middle = float((below + above) / 2);
    for (const float x : {float(below), std::nextafterf(middle, 0), middle, std::nextafterf(middle, INFINITY)}) {
      out.push_back(x);
      out.push_back(-x);
    }
  }
  for (const float x : {INFINITY, 3.0e38f, 1.0e-45f, 0.0f}) {
    out.push_back(x);
    out.push_back(-x);
  }
  out.push_back(NAN);
  while (out.size() % 2) out.push_back(0);
  return out;
}

void expect_same(const Format& f, uint32_t got, uint32_t want, double x) {
  if (std::isnan(decode(f, want))) {
    EXPECT_TRUE(std::isnan(decode(f, got))) << fmt::format("{:#x} of {}", got, x);
  } else {
    EXPECT_EQ(got, want) << fmt::format("{:#x} instead of {:#x} of {}", got, want, x);
  }
}

const std::string kHead = R"(
#include <tilewright/device/cuda/convert.h>
using namespace tilewright::device;
)";

struct Narrowing {
  const char *name, *expression;  // of x and y, the low and the high element
  const Format& format;
  bool saturate, relu;
};

TEST_F(ConvertTest, NarrowingRoundsToNearestEven) {
  const Narrowing cases[] = {
      {"f16_scalar", "pack16(f16_from_f32(x), f16_from_f32(y))", kF16, false, false},
      {"bf16_scalar", "pack16(bf16_from_f32(x), bf16_from_f32(y))", kBf16, false, false},
      {"f16_pair", "f16x2_from_f32(x, y)", kF16, false, false},
      {"bf16_pair", "bf16x2_from_f32(x, y)", kBf16, false, false},
      {"f16_relu", "f16x2_from_f32_relu(x, y)", kF16, false, true},
      {"bf16_relu", "bf16x2_from_f32_relu(x, y)", kBf16, false, true},
      {"e4m3_pair", "e4m3x2_from_f32(x, y)", kE4m3, true, false},
      {"e5m2_pair", "e5m2x2_from_f32(x, y)", kE5m2, true, false},
      {"e4m3_relu", "e4m3x2_from_f32_relu(x, y)", kE4m3, true, true},
      {"e5m2_relu", "e5m2x2_from_f32_relu(x, y)", kE5m2, true, true},
  };
  std::string text = kHead;
  for (const Narrowing& c : cases) {
    text += fmt::format(
        "extern \"C\" __global__ void {}(const float* in, u32* out, u32 n) {{\n"
        "  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;\n  if (i >= n) return;\n"
        "  const float x = in[2 * i], y = in[2 * i + 1];\n  out[i] = {};\n}}\n",
        c.name, c.expression);
  }
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  for (const Narrowing& c : cases) {
    const auto in = probes(c.format);
    const uint32_t pairs = uint32_t(in.size() / 2);
    const auto out = array<uint32_t>(pairs);
    run(loaded->kernel(c.name), {.grid = {(pairs + 255) / 256, 1, 1}, .block = {256, 1, 1}}, array(in), out, pairs);
    const auto got = out.read();
    const uint32_t mask = (1u << c.format.bits()) - 1;
    for (size_t i = 0; i < in.size(); ++i) {
      double x = in[i];
      if (c.relu && !(x > 0) && !std::isnan(x)) x = 0;
      const uint32_t want = encode(c.format, x, c.saturate);
      expect_same(c.format, got[i / 2] >> (i % 2 ? c.format.bits() : 0) & mask, want, in[i]);
      if (HasFailure()) FAIL() << c.name;
    }
  }
}

TEST_F(ConvertTest, WideningIsExact) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(float* f16, float* f16_pair, float* bf16, float* bf16_pair, u32* e4m3, u32* e5m2) {
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  f16[i] = f32_from_f16(u16(i));
  bf16[i] = f32_from_bf16(u16(i));
  float pair[2];
  f32_from_f16x2(pair, pack16(u16(i), u16(~i)));
  f16_pair[2 * i] = pair[0], f16_pair[2 * i + 1] = pair[1];
  f32_from_bf16x2(pair, pack16(u16(i), u16(~i)));
  bf16_pair[2 * i] = pair[0], bf16_pair[2 * i + 1] = pair[1];
  e4m3[i] = f16x2_from_e4m3x2(u16(i));
  e5m2[i] = f16x2_from_e5m2x2(u16(i));
})");
  TW_SKIP_WITHOUT(loaded);
  const auto f16 = array<float>(65536), bf16 = array<float>(65536);
  const auto f16_pair = array<float>(131072), bf16_pair = array<float>(131072);
  const auto e4m3 = array<uint32_t>(65536), e5m2 = array<uint32_t>(65536);
  run(loaded->kernel("k"), {.grid = {256, 1, 1}, .block = {256, 1, 1}}, f16, f16_pair, bf16, bf16_pair, e4m3, e5m2);
  const auto expect = [](double got, double want, uint32_t bits) {
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(got)) << bits;
    else
      EXPECT_EQ(got, want) << bits;
    EXPECT_TRUE(std::isnan(want) || std::signbit(got) == std::signbit(want)) << bits;
  };
  const auto g16 = f16.read(), gb16 = bf16.read(), p16 = f16_pair.read(), pb16 = bf16_pair.read();
  const auto g4 = e4m3.read(), g5 = e5m2.read();
  for (uint32_t i = 0; i < 65536 && !HasFailure(); ++i) {
    const uint32_t inverse = ~i & 0xffff;
    expect(g16[i], decode(kF16, i), i);
    expect(gb16[i], decode(kBf16, i), i);
    expect(p16[2 * i], decode(kF16, i), i);
    expect(p16[2 * i + 1], decode(kF16, inverse), i);
    expect(pb16[2 * i], decode(kBf16, i), i);
    expect(pb16[2 * i + 1], decode(kBf16, inverse), i);
    expect(decode(kF16, g4[i] & 0xffff), decode(kE4m3, i & 0xff), i);
    expect(decode(kF16, g4[i] >> 16), decode(kE4m3, i >> 8), i);
    expect(decode(kF16, g5[i] & 0xffff), decode(kE5m2, i & 0xff), i);
    expect(decode(kF16, g5[i] >> 16), decode(kE5m2, i >> 8), i);
  }
}

TEST_F(ConvertTest, HalvesToEightBits) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32* e4m3, u32* e5m2) {
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  e4m3[i] = e4m3x2_from_f16x2(pack16(u16(i), u16(~i)));
  e5m2[i] = e5m2x2_from_f16x2(pack16(u16(i), u16(~i)));
})");
  TW_SKIP_WITHOUT(loaded);
  const auto e4m3 = array<uint32_t>(65536), e5m2 = array<uint32_t>(65536);
  run(loaded->kernel("k"), {.grid = {256, 1, 1}, .block = {256, 1, 1}}, e4m3, e5m2);
  const auto g4 = e4m3.read(), g5 = e5m2.read();
  for (uint32_t i = 0; i < 65536 && !HasFailure(); ++i) {
    const double low = decode(kF16, i), high = decode(kF16, ~i & 0xffff);
    expect_same(kE4m3, g4[i] & 0xff, encode(kE4m3, low, true), low);
    expect_same(kE4m3, g4[i] >> 8, encode(kE4m3, high, true), high);
    expect_same(kE5m2, g5[i] & 0xff, encode(kE5m2, low, true), low);
    expect_same(kE5m2, g5[i] >> 8, encode(kE5m2, high, true), high);
  }
}

TEST_F(ConvertTest, Tf32RoundsTiesAway) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(const float* in, u32* out, u32 n) {
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) out[i] = tf32_from_f32(in[i]);
})");
  TW_SKIP_WITHOUT(loaded);
  std::vector<float> in;
  for (uint32_t mantissa = 0; mantissa < 1024; ++mantissa) {
    for (const uint32_t exponent : {1u, 120u, 127u, 254u}) {
      for (const uint32_t rest : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
        for (const uint32_t sign : {0u, 1u}) {
          const uint32_t bits = sign << 31 | exponent << 23 | mantissa << 13 | rest;
          float x;
          std::memcpy(&x, &bits, 4);
          in.push_back(x);
        }
      }
    }
  }
  const uint32_t n = uint32_t(in.size());
  const auto out = array<uint32_t>(n);
  run(loaded->kernel("k"), {.grid = {(n + 255) / 256, 1, 1}, .block = {256, 1, 1}}, array(in), out, n);
  const auto got = out.read();
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &in[i], 4);
    const uint32_t want = (bits + 0x1000) & ~0x1fffu;  // in the magnitude, so ties go away from zero
    // A product ignores the low bits, whatever they are.
    EXPECT_EQ(got[i] & ~0x1fffu, want) << in[i];
  }
}

TEST_F(ConvertTest, BytesAndBits) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32* out) {
  out[0] = permute_bytes(0x33221100, 0x77665544, 0x7610);
  out[1] = logic3<0xea>(0xff00ff00, 0x0ff00ff0, 0x00000003);
  out[2] = u32(dot4(0xff020304, 0x01fe0304, 100));
  out[3] = pack16(0x1234, 0x5678);
  out[4] = low16(0xabcd1234) | u32(high16(0xabcd1234)) << 16;
  const u64 both = pack32(1, 2);
  out[5] = low32(both) * 10 + high32(both);
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(6);
  run(loaded->kernel("k"), {}, out);
  // (a & b) | c has the table 0xea; -1 * 1 + 2 * -2 + 3 * 3 + 4 * 4 = 20.
  EXPECT_EQ(out.read(),
            (std::vector<uint32_t>{0x77661100, (0xff00ff00 & 0x0ff00ff0) | 3, 120, 0x56781234, 0xabcd1234, 12}));
}

}  // namespace
}  // namespace tilewright::test
