// Atoms of the CPU backend against scalar references, at the feature level of the test binary. The other levels (AVX2,
// AVX-512) reach the same templates through the JIT tests, which compile generated text for the host.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tilewright/device/cpu/gemm.h"
#include "tilewright/device/cpu/scalar.h"
#include "tilewright/device/cpu/vector_math.h"

namespace cpu = tilewright::device::cpu;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- 16-bit floats, against their definition in double arithmetic ----

double value_of(uint16_t bits, int mantissa_bits, int bias) {
  const int exponent_mask = (1 << (15 - mantissa_bits)) - 1;
  const int exponent = (bits >> mantissa_bits) & exponent_mask, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == exponent_mask) return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <class Half>
void check_widening(int mantissa_bits, int bias) {
  for (int bits = 0; bits < 65536; ++bits) {
    const float got = cpu::to_f32(Half{uint16_t(bits)});
    const double want = value_of(uint16_t(bits), mantissa_bits, bias);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(got, want) << bits;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << bits;
    }
    float bulk[9];
    const Half row[9] = {Half{uint16_t(bits)}, {}, {}, {}, {}, {}, {}, {}, Half{uint16_t(bits)}};
    cpu::convert(bulk, row, 9);
    EXPECT_EQ(std::memcmp(&bulk[0], &got, 4) | std::memcmp(&bulk[8], &got, 4), 0) << bits;
  }
}

// Every midpoint between neighbours and one float on either side of it: ties go to the even neighbour.
template <class Half>
void check_rounding(int mantissa_bits, int bias) {
  const int infinity = ((1 << (15 - mantissa_bits)) - 1) << mantissa_bits;
  for (int low = 0; low < infinity; ++low) {
    const double below = value_of(uint16_t(low), mantissa_bits, bias);
    const double above = low + 1 < infinity ? value_of(uint16_t(low + 1), mantissa_bits, bias)
                                            : 2 * below - value_of(uint16_t(low - 1), mantissa_bits, bias);
    const float middle = float((below + above) / 2);
    ASSERT_EQ(middle, (below + above) / 2);
    const float probes[3] = {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, kInf)};
    const int want[3] = {low, low % 2 ? low + 1 : low, low + 1};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(cpu::from_f32<Half>(probes[i]).bits, want[i]) << low << " " << i;
      EXPECT_EQ(cpu::from_f32<Half>(-probes[i]).bits, want[i] | 0x8000) << low << " " << i;
    }
    EXPECT_EQ(cpu::from_f32<Half>(float(below)).bits, low);
  }
  EXPECT_EQ(cpu::from_f32<Half>(kInf).bits, infinity);
  EXPECT_EQ(cpu::from_f32<Half>(-kInf).bits, infinity | 0x8000);
  EXPECT_EQ(cpu::from_f32<Half>(std::numeric_limits<float>::max()).bits, infinity);
  for (uint32_t nan : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0xffffffffu, 0x7fa00000u}) {
    EXPECT_TRUE(std::isnan(value_of(cpu::from_f32<Half>(float_of(nan)).bits, mantissa_bits, bias))) << nan;
  }
}

TEST(CpuVector, F16WidensExactly) { check_widening<cpu::F16>(10, 15); }
TEST(CpuVector, Bf16WidensExactly) { check_widening<cpu::BF16>(7, 127); }
TEST(CpuVector, F16RoundsToNearestEven) { check_rounding<cpu::F16>(10, 15); }
TEST(CpuVector, Bf16RoundsToNearestEven) { check_rounding<cpu::BF16>(7, 127); }

// ---- 8-bit floats and tf32 ----

double value_of_f8(int bits, int mantissa_bits, int bias, bool has_infinity) {
  if (has_infinity) return value_of(uint16_t((bits & 0x80) << 8 | (bits & 0x7f) << 8), 10, 15);  // E5M2: half an F16
  if ((bits & 0x7f) == 0x7f) return std::nan("");
  const int exponent = (bits & 0x7f) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x80 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <class F8, class Saturating>
void check_f8(int mantissa_bits, int bias, bool has_infinity, int top) {
  const auto value = [&](int bits) { return value_of_f8(bits, mantissa_bits, bias, has_infinity); };
  for (int bits = 0; bits < 256; ++bits) {
    const float got = cpu::to_f32(F8{uint8_t(bits)});
    if (std::isnan(value(bits))) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_TRUE(std::isnan(value(cpu::from_f32<F8>(got).bits))) << bits;
      continue;
    }
    EXPECT_EQ(got, value(bits)) << bits;
    EXPECT_EQ(std::signbit(got), bits >= 0x80) << bits;
    EXPECT_EQ(cpu::from_f32<F8>(got).bits, bits);
  }
  for (int low = 0; low <= top; ++low) {
    // Above the last number as if the format went on.
    const double next = low < top ? value(low + 1) : 2 * value(top) - value(top - 1);
    const double middle = (value(low) + next) / 2;
    const int up = std::min(low + 1, top);
    const double probes[5] = {std::nextafter(middle, 0), middle, std::nextafter(middle, HUGE_VAL), value(low), next};
    const int want[5] = {low, low % 2 ? up : low, up, low, up};
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(cpu::from_f32<Saturating>(cpu::to_odd_f32(probes[i])).bits, want[i]) << low << " " << i;
      EXPECT_EQ(cpu::from_f32<Saturating>(cpu::to_odd_f32(-probes[i])).bits, want[i] | 0x80) << low << " " << i;
      if (double(float(probes[i])) == probes[i]) {
        EXPECT_EQ(cpu::from_f32<F8>(float(probes[i])).bits, want[i]);
      }
    }
  }
  for (const float huge : {1e9f, std::numeric_limits<float>::max(), kInf}) {
    EXPECT_EQ(cpu::from_f32<Saturating>(huge).bits, top);
    EXPECT_EQ(cpu::from_f32<Saturating>(-huge).bits, top | 0x80);
  }
  EXPECT_TRUE(std::isnan(value(cpu::from_f32<Saturating>(kNan).bits)));
}

TEST(CpuVector, F8E4M3) { check_f8<cpu::F8E4M3, cpu::F8E4M3>(3, 7, false, 0x7e); }
TEST(CpuVector, F8E5M2) { check_f8<cpu::F8E5M2, cpu::F8E5M2Finite>(2, 15, true, 0x7b); }

TEST(CpuVector, TF32) {
  EXPECT_EQ(cpu::round_tf32(1 + 0x1p-11f), 1);
  EXPECT_EQ(cpu::round_tf32(1 + 0x3p-11f), 1 + 0x1p-9f);
  EXPECT_EQ(cpu::round_tf32(-1 - 0x1.002p-11f), -1 - 0x1p-10f);
  EXPECT_EQ(cpu::round_tf32(std::numeric_limits<float>::max()), kInf);
  EXPECT_EQ(cpu::round_tf32(-kInf), -kInf);
  EXPECT_EQ(cpu::round_tf32(0x1p-137f), 0);
  EXPECT_EQ(cpu::round_tf32(0x3p-137f), 0x1p-135f);
  for (uint32_t nan : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(cpu::round_tf32(float_of(nan)))) << nan;
  }
  EXPECT_EQ(cpu::to_f32(cpu::TF32{1 + 0x1p-20f}), 1);
}

TEST(CpuVector, NarrowFloatsRoundIntegersAndDoublesOnce) {
  EXPECT_EQ(cpu::to_bf16((1ll << 60) + (1ll << 52)), 0x1p60f);
  EXPECT_EQ(cpu::to_bf16((1ll << 60) + (1ll << 52) + 1), 0x1.02p60f);
  EXPECT_EQ(cpu::to_bf16(0x8080000000000000ull), 0x1p63f);
  EXPECT_EQ(cpu::to_bf16(0x8080000000000001ull), 0x1.02p63f);
  EXPECT_EQ(cpu::to_tf32(~0ull), 0x1p64f);
  EXPECT_EQ(cpu::to_tf32(1 + 0x1p-11 + 0x1p-50), 1 + 0x1p-10f);
  EXPECT_EQ(cpu::to_f16(1 + 0x1p-11 + 0x1p-50), 1 + 0x1p-10f);
  EXPECT_EQ(cpu::to_f8e4m3(17 + 1e-12), 18);
  EXPECT_EQ(cpu::to_f8e4m3(-1000000), -448);
  EXPECT_EQ(cpu::to_f8e5m2(9 + 1e-12), 10);
  EXPECT_EQ(cpu::to_f16(~0ull), kInf);
}

TEST(CpuVector, RoundF16) {
  EXPECT_EQ(cpu::round_f16(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(cpu::round_f16(65520.0f), kInf);
  EXPECT_EQ(cpu::round_bf16(1.0f + 0x1.8p-7f), 1.0f + 0x1p-6f);
}

TEST(CpuVector, BroadcastKeepsTheSignOfZero) {
  const auto v = cpu::broadcast<cpu::Vec<float>>(-0.0f);
  EXPECT_TRUE(std::signbit(v[0]));
}

// ---- elementary functions ----

double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInf;
  if (std::isinf(float(want)) || std::isinf(got)) {
    if (got == float(want)) return 0;
    return std::fabs(want) > 0x1.fffffep127 && std::fabs(got) >= std::numeric_limits<float>::max() ? 1 : kInf;
  }
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : kInf;
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <class F, class G>
void check_function(F ours, G reference, double bound) {
  double worst = 0;
  float where = 0;
  const auto probe = [&](float x) {
    const double error = ulps(ours(x), reference(double(x)));
    if (error > worst) worst = error, where = x;
  };
  for (float x : {0.0f, -0.0f, kInf, -kInf, kNan, 1.0f, -1.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f,
                  -0x1.fffffep127f, 88.72284f, -87.5f, -103.9f, -104.1f})
    probe(x);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 9973) probe(float_of(uint32_t(bits)));
  EXPECT_LE(worst, bound) << "at " << where;
}

TEST(CpuMath, Exp) {
  check_function([](float x) { return cpu::exp(x); }, [](double x) { return std::exp(x); }, 1.0);
}
TEST(CpuMath, Exp2) {
  check_function([](float x) { return cpu::exp2(x); }, [](double x) { return std::exp2(x); }, 1.0);
  for (int i = -149; i < 128; ++i) EXPECT_EQ(cpu::exp2(float(i)), std::ldexp(1.0f, i));
}
TEST(CpuMath, Log) {
  check_function([](float x) { return cpu::log(x); }, [](double x) { return std::log(x); }, 0.9);
}
TEST(CpuMath, Log2) {
  check_function([](float x) { return cpu::log2(x); }, [](double x) { return std::log2(x); }, 1.7);
  for (int i = -149; i < 128; ++i) EXPECT_EQ(cpu::log2(std::ldexp(1.0f, i)), float(i));
}
TEST(CpuMath, Tanh) {
  check_function([](float x) { return cpu::tanh(x); }, [](double x) { return std::tanh(x); }, 1.5);
}
TEST(CpuMath, Erf) {
  check_function([](float x) { return cpu::erf(x); }, [](double x) { return std::erf(x); }, 1.3);
}
TEST(CpuMath, Rsqrt) {
  check_function([](float x) { return cpu::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 1.5);
}

// ---- copies ----

std::vector<float> random_floats(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> v(n);
  for (float& x : v) x = cpu::round_f16(float(int(engine() % 4001) - 2000) / 512);
  return v;
}

template <class T>
T stored(float x) {
  return cpu::Convert<T, float>::one(x);
}
template <class T>
float read(T x) {
  return cpu::Convert<float, T>::one(x);
}

constexpr float kPoison = 77;

template <class S, int kRows, int kCols, int kLd>
void check_copy_in(int valid_rows, int valid_cols) {
  const int stride = kCols + 5;
  const std::vector<float> values = random_floats(size_t(kRows + kCols) * (kRows + kCols + 10), 1);
  std::vector<S> source;
  for (float x : values) source.push_back(stored<S>(x));
  std::vector<float> tile(kRows * kLd, kPoison), turned(tile), strided(tile);
  cpu::copy_in<float, kRows, kCols, kLd>(source.data(), stride, valid_rows, valid_cols, tile.data());
  cpu::copy_in_strided<float, kRows, kCols, kLd>(source.data(), 1, kRows + 3, valid_rows, valid_cols, turned.data());
  cpu::copy_in_strided<float, kRows, kCols, kLd>(source.data(), 2 * kCols + 1, 2, valid_rows, valid_cols,
                                                 strided.data());
  constexpr int kZeroed = cpu::padded_cols<float, kCols, kLd>();
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kLd; ++c) {
      const bool inside = r < valid_rows && c < std::min(valid_cols, kCols);
      const auto want = [&](int index) { return inside ? read(source[size_t(index)]) : c < kZeroed ? 0.0f : kPoison; };
      EXPECT_EQ(tile[size_t(r * kLd + c)], want(r * stride + c)) << r << " " << c;
      EXPECT_EQ(turned[size_t(r * kLd + c)], want(r + c * (kRows + 3))) << r << " " << c;
      EXPECT_EQ(strided[size_t(r * kLd + c)], want(r * (2 * kCols + 1) + 2 * c)) << r << " " << c;
    }
  }
}

template <class D, int kRows, int kCols, int kLd>
void check_copy_out(int valid_rows, int valid_cols) {
  const std::vector<float> tile = random_floats(size_t(kRows) * kLd, 2);
  const long long strides[3][2] = {{kCols + 2, 1}, {1, kRows + 2}, {2 * kCols + 3, 2}};
  for (const auto& stride : strides) {
    std::vector<D> out(size_t(2 * (kRows + 3) * (kCols + 3)), stored<D>(kPoison)), want(out);
    for (int r = 0; r < std::min(valid_rows, kRows); ++r)
      for (int c = 0; c < std::min(valid_cols, kCols); ++c)
        want[size_t(r * stride[0] + c * stride[1])] = stored<D>(tile[size_t(r * kLd + c)]);
    cpu::copy_out_strided<kRows, kCols, kLd>(tile.data(), out.data(), stride[0], stride[1], valid_rows, valid_cols);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(read(out[i]), read(want[i])) << i;
  }
}

template <class T>
class CpuCopy : public testing::Test {};
using Elements = testing::Types<float, cpu::F16, cpu::BF16>;
TYPED_TEST_SUITE(CpuCopy, Elements);

TYPED_TEST(CpuCopy, ClipsFillsAndConverts) {
  for (int rows : {-3, 0, 1, 9, 13, 40}) {
    for (int cols : {-1, 0, 1, 8, 20, 21, 40}) {
      check_copy_in<TypeParam, 13, 21, 48>(rows, cols);
      check_copy_in<TypeParam, 13, 21, 21>(rows, cols);
      check_copy_in<TypeParam, 8, 16, 16>(rows, cols);
      check_copy_out<TypeParam, 13, 21, 24>(rows, cols);
    }
  }
}

// ---- gemm ----

template <class T, int M, int N, int K, bool kTransA, bool kTransB, bool kPadded>
void check_gemm() {
  constexpr bool kExact = std::is_integral_v<T>;
  constexpr int kCols = kPadded ? cpu::round_up(N, 64 / int(sizeof(T))) : N;
  constexpr int kLda = (kTransA ? M : K) + 3, kLdb = kTransB ? K + 1 : kCols + !kPadded, kLdc = kCols + 2 * !kPadded;
  std::mt19937 engine(unsigned(M * 31 + N * 7 + K));
  const auto random = [&](size_t n) {
    std::vector<T> v(n);
    for (T& x : v) x = kExact ? T(int(engine() % 2001) - 1000) : T(int(engine() % 2001) - 1000) / T(1000);
    return v;
  };
  const std::vector<T> a = random(size_t((kTransA ? K : M) * kLda)), b = random(size_t((kTransB ? N : K) * kLdb)),
                       before = random(size_t(M * kLdc));
  std::vector<T> c = before;
  cpu::gemm_tile<T, M, N, K, kLda, kLdb, kLdc, kTransA, kTransB, kPadded>(a.data(), b.data(), c.data());
  const double unit = kExact ? 0 : std::numeric_limits<T>::epsilon() / 2;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = double(before[size_t(i * kLdc + j)]), magnitude = std::fabs(sum);
      for (int k = 0; k < K; ++k) {
        const double product = double(a[size_t(kTransA ? k * kLda + i : i * kLda + k)]) *
                               double(b[size_t(kTransB ? j * kLdb + k : k * kLdb + j)]);
        sum += product;
        magnitude += std::fabs(product);
      }
      // Double accumulates the reference itself with the same bound when T is double.
      EXPECT_LE(std::fabs(double(c[size_t(i * kLdc + j)]) - sum), 2 * (K + 2) * unit * magnitude)
          << M << "x" << N << "x" << K << " at " << i << ", " << j;
    }
    for (int j = N; !kPadded && j < kLdc; ++j) EXPECT_EQ(c[size_t(i * kLdc + j)], before[size_t(i * kLdc + j)]);
  }
}

template <class T, int M, int N, int K>
void check_forms() {
  check_gemm<T, M, N, K, false, false, false>();
  check_gemm<T, M, N, K, false, false, true>();
  check_gemm<T, M, N, K, true, false, false>();
  check_gemm<T, M, N, K, false, true, true>();
  check_gemm<T, M, N, K, true, true, false>();
}

template <class T>
void check_shapes() {
  check_forms<T, 0, 5, 5>();
  check_forms<T, 5, 0, 5>();
  check_forms<T, 5, 5, 0>();
  check_forms<T, 1, 1, 1>();
  check_forms<T, 1, 130, 7>();
  check_forms<T, 7, 9, 33>();
  check_forms<T, 12, 32, 16>();
  check_forms<T, 13, 47, 300>();
  check_forms<T, 64, 80, 24>();
}

TEST(CpuGemm, F32) { check_shapes<float>(); }
TEST(CpuGemm, F64) { check_shapes<double>(); }
TEST(CpuGemm, I32) { check_shapes<int>(); }

}  // namespace
