// Numerics of element types against facts of their formats and the compiler's own conversions.
#include "target/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace tilewright {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(F16, KnownBits) {
  // IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
  EXPECT_EQ(f16_bits(0.0), 0x0000);
  EXPECT_EQ(f16_bits(-0.0), 0x8000);
  EXPECT_EQ(f16_bits(1.0), 0x3c00);
  EXPECT_EQ(f16_bits(-2.0), 0xc000);
  EXPECT_EQ(f16_bits(1.0 / 3), 0x3555);
  EXPECT_EQ(f16_bits(65504.0), 0x7bff);
  EXPECT_EQ(f16_bits(0x1p-14), 0x0400);
  EXPECT_EQ(f16_bits(0x1p-24), 0x0001);
  EXPECT_EQ(f16_bits(0x1p-14 - 0x1p-24), 0x03ff);
  EXPECT_EQ(f16_bits(kInf), 0x7c00);
  EXPECT_EQ(f16_bits(-kInf), 0xfc00);
  EXPECT_EQ(f16_bits(kNan), 0x7e00);
}

TEST(BF16, KnownBits) {
  // The upper half of a binary32.
  EXPECT_EQ(bf16_bits(1.0), 0x3f80);
  EXPECT_EQ(bf16_bits(-2.0), 0xc000);
  EXPECT_EQ(bf16_bits(3.140625), 0x4049);
  EXPECT_EQ(bf16_bits(0x1.fep127), 0x7f7f);
  EXPECT_EQ(bf16_bits(0x1p-126), 0x0080);
  EXPECT_EQ(bf16_bits(0x1p-133), 0x0001);
  EXPECT_EQ(bf16_bits(kInf), 0x7f80);
  EXPECT_EQ(bf16_bits(kNan), 0x7fc0);
}

TEST(F8E4M3, KnownBits) {
  // OCP OFP8 E4M3: 1 sign, 4 exponent, 3 fraction bits, bias 7; S.1111.111 is NaN, and there is no infinity.
  EXPECT_EQ(f8e4m3_bits(0.0), 0x00);
  EXPECT_EQ(f8e4m3_bits(-0.0), 0x80);
  EXPECT_EQ(f8e4m3_bits(1.0), 0x38);
  EXPECT_EQ(f8e4m3_bits(-1.5), 0xbc);
  EXPECT_EQ(f8e4m3_bits(448), 0x7e);
  EXPECT_EQ(f8e4m3_bits(0x1p-6), 0x08);
  EXPECT_EQ(f8e4m3_bits(0x1p-9), 0x01);
  EXPECT_EQ(f8e4m3_bits(0x1p-10), 0x00);  // a tie
  EXPECT_EQ(f8e4m3_bits(0x3p-10), 0x02);  // a tie
  EXPECT_EQ(f8e4m3_bits(17), 0x58);       // a tie: 16
  EXPECT_EQ(f8e4m3_bits(19), 0x5a);       // a tie: 20
  EXPECT_EQ(f8e4m3_bits(464), 0x7e);
  EXPECT_EQ(f8e4m3_bits(1e9), 0x7e);
  EXPECT_EQ(f8e4m3_bits(-kInf), 0xfe);
  EXPECT_EQ(f8e4m3_bits(kNan), 0x7f);
}

TEST(F8E5M2, KnownBits) {
  // OCP OFP8 E5M2: the upper half of a binary16.
  EXPECT_EQ(f8e5m2_bits(1.0), 0x3c);
  EXPECT_EQ(f8e5m2_bits(-1.75), 0xbf);
  EXPECT_EQ(f8e5m2_bits(57344), 0x7b);
  EXPECT_EQ(f8e5m2_bits(0x1p-14), 0x04);
  EXPECT_EQ(f8e5m2_bits(0x1p-16), 0x01);
  EXPECT_EQ(f8e5m2_bits(0x1p-17), 0x00);
  EXPECT_EQ(f8e5m2_bits(9), 0x48);   // a tie: 8
  EXPECT_EQ(f8e5m2_bits(11), 0x4a);  // a tie: 12
  EXPECT_EQ(f8e5m2_bits(61440), 0x7b);
  EXPECT_EQ(f8e5m2_bits(1e9), 0x7b);
  EXPECT_EQ(f8e5m2_bits(-kInf), 0xfc);
  EXPECT_EQ(f8e5m2_bits(kNan), 0x7e);
  EXPECT_EQ(round_to(DType::f8e5m2, kInf), 57344);
  EXPECT_EQ(constant_of(DType::f8e5m2, kInf), kInf);
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const double wide = f16_value(uint16_t(bits << 8)), narrow = f8e5m2_value(uint8_t(bits));
    EXPECT_TRUE(wide == narrow || (std::isnan(wide) && std::isnan(narrow))) << bits;
  }
}

TEST(TF32, KeepsTenFractionBits) {
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-10), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-11), 1);           // a tie
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x3p-11), 1 + 0x1p-9);  // a tie
  EXPECT_EQ(round_to(DType::tf32, 1.0 + 0x1.1p-11), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::tf32, 0x1.ffcp127), 0x1.ffcp127);
  EXPECT_EQ(round_to(DType::tf32, 0x1.ffep127), kInf);
  EXPECT_EQ(round_to(DType::tf32, 0x1p-136), 0x1p-136);
  EXPECT_EQ(round_to(DType::tf32, 0x1p-137), 0);
  const float in_memory = 1 + 0x1p-20f;
  EXPECT_EQ(load_float(DType::tf32, &in_memory), 1);
  float stored = 0;
  store_float(DType::tf32, &stored, 1 + 0x1.8p-11);
  EXPECT_EQ(stored, 1 + 0x1p-10f);
}

// A value of an 8-bit format from its definition; NaN where there is none.
double f8_from_definition(DType t, int bits) {
  const bool e4m3 = t == DType::f8e4m3;
  const int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, top = e4m3 ? 15 : 31;
  const int exponent = (bits & 0x7f) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x80 ? -1 : 1, unit = std::pow(0.5, fraction_bits);
  if (exponent == top && (!e4m3 || fraction == 7)) return e4m3 || fraction != 0 ? kNan : sign * kInf;
  if (exponent == 0) return sign * fraction * unit * std::pow(2, 1 - bias);
  return sign * (1 + fraction * unit) * std::pow(2, exponent - bias);
}

// The nearest finite value by looking at all of them, ties to the even pattern.
double nearest_f8(const std::vector<double>& finite, double value) {
  if (std::isnan(value)) return value;
  const double magnitude = std::min(std::abs(value), 1e6);  // beyond all of them, and differences stay exact
  size_t best = 0;
  for (size_t bits = 1; bits < finite.size(); ++bits) {
    const double here = std::abs(finite[bits] - magnitude), before = std::abs(finite[best] - magnitude);
    if (here < before || (here == before && bits % 2 == 0)) best = bits;
  }
  return std::copysign(finite[best], value);
}

TEST(F8, EveryPatternAndEveryConversionFromSixteenBits) {
  for (const DType t : {DType::f8e4m3, DType::f8e5m2}) {
    for (int bits = 0; bits < 256; ++bits) {
      const auto memory = uint8_t(bits);
      const double want = f8_from_definition(t, bits), got = load_float(t, &memory);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << bits;
        continue;
      }
      EXPECT_EQ(got, want) << bits;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << bits;
      uint8_t stored = 0;
      store_float(t, &stored, want);
      EXPECT_EQ(stored, memory);
    }
    std::vector<double> finite;  // of the patterns 0, 1, ...
    for (int bits = 0; std::isfinite(f8_from_definition(t, bits)); ++bits)
      finite.push_back(f8_from_definition(t, bits));
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      for (const double v : {f16_value(uint16_t(bits)), bf16_value(uint16_t(bits))}) {
        const double want = nearest_f8(finite, v), got = round_to(t, v);
        ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << to_string(t) << " " << v;
      }
    }
  }
}

TEST(Formats, WhatHoldsWhat) {
  const auto holds = [](DType to, std::initializer_list<DType> all) {
    for (int i = int(DType::f8e4m3); i <= int(DType::f64); ++i) {
      EXPECT_EQ(holds_all(to, DType(i)), std::count(all.begin(), all.end(), DType(i)) > 0)
          << to_string(to) << " " << to_string(DType(i));
    }
  };
  using enum DType;
  holds(f8e4m3, {f8e4m3});
  holds(f8e5m2, {f8e5m2});
  holds(f16, {f8e4m3, f8e5m2, f16});
  holds(bf16, {f8e4m3, f8e5m2, bf16});
  holds(tf32, {f8e4m3, f8e5m2, f16, bf16, tf32});
  holds(f32, {f8e4m3, f8e5m2, f16, bf16, tf32, f32});
  holds(f64, {f8e4m3, f8e5m2, f16, bf16, tf32, f32, f64});
  EXPECT_TRUE(is_unbuilt_dtype("i4"));
  EXPECT_FALSE(is_unbuilt_dtype("i8"));
}

TEST(F16, TiesGoToEven) {
  EXPECT_EQ(round_to(DType::f16, 2049.0), 2048.0);
  EXPECT_EQ(round_to(DType::f16, 2051.0), 2052.0);
  EXPECT_EQ(round_to(DType::f16, std::nextafter(2049.0, kInf)), 2050.0);
  EXPECT_EQ(round_to(DType::f16, 0x1p-25), 0.0);
  EXPECT_EQ(round_to(DType::f16, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(round_to(DType::f16, std::nextafter(0x1p-25, 1.0)), 0x1p-24);
  EXPECT_TRUE(std::signbit(round_to(DType::f16, -0x1p-26)));
}

TEST(Rounding, OverflowThreshold) {
  for (DType t : {DType::f16, DType::bf16, DType::tf32, DType::f32}) {
    const double largest = largest_finite(t);
    const double half_ulp = largest * unit_roundoff(t) / (2 - 2 * unit_roundoff(t));
    EXPECT_EQ(round_to(t, largest + half_ulp), kInf) << to_string(t);
    EXPECT_EQ(round_to(t, std::nextafter(largest + half_ulp, 0.0)), largest) << to_string(t);
    EXPECT_EQ(round_to(t, -largest - half_ulp), -kInf) << to_string(t);
    EXPECT_EQ(round_to(t, 1e300), kInf);
  }
  EXPECT_EQ(round_to(DType::f16, 65519.99), 65504.0);
  EXPECT_EQ(round_to(DType::f16, 65520.0), kInf);
}

TEST(Rounding, Constants) {
  EXPECT_EQ(largest_finite(DType::f16), 65504.0);
  EXPECT_EQ(largest_finite(DType::f32), double(std::numeric_limits<float>::max()));
  EXPECT_EQ(largest_finite(DType::f64), std::numeric_limits<double>::max());
  EXPECT_EQ(smallest_subnormal(DType::f32), double(std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(smallest_subnormal(DType::f64), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(smallest_subnormal(DType::bf16), 0x1p-133);
  EXPECT_EQ(unit_roundoff(DType::f32), 0x1p-24);
}

TEST(Rounding, AllBitPatternsRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto b = uint16_t(bits);
    for (const bool half : {true, false}) {
      const DType t = half ? DType::f16 : DType::bf16;
      const double v = half ? f16_value(b) : bf16_value(b);
      if (std::isnan(v)) {
        EXPECT_TRUE(std::isnan(half ? f16_value(f16_bits(v)) : bf16_value(bf16_bits(v))));
        continue;
      }
      ASSERT_EQ(half ? f16_bits(v) : bf16_bits(v), b);
      ASSERT_EQ(round_to(t, v), v);
      uint16_t memory = 0;
      store_float(t, &memory, v);
      ASSERT_EQ(memory, b);
      ASSERT_EQ(load_float(t, &memory), v);
    }
  }
}

TEST(BF16, ValuesAreTheUpperHalfOfFloats) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto value = std::bit_cast<float>(bits << 16);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_value(uint16_t(bits))));
    } else {
      ASSERT_EQ(bf16_value(uint16_t(bits)), double(value));
    }
  }
}

// Rounding of a float by adding half an ulp to its bits: the other way to do it.
uint16_t bf16_by_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

TEST(BF16, AgreesWithRoundingOnBits) {
  std::mt19937 random(11);
  for (int i = 0; i < 300000; ++i) {
    uint32_t bits = random();
    if (i % 3 == 0) bits = (bits & 0xffff0000u) | 0x8000u;          // ties
    if (i % 3 == 1) bits = (bits & 0x807fffffu) | (random() & 1u);  // subnormals
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bf16_bits(double(value)), bf16_by_bits(value)) << value;
  }
}

// The nearest of all values of the format, ties to the even pattern: by search.
double nearest_f16(double value) {
  int low = 0, high = 0x7c00;  // patterns of positive values are ordered; 0x7c00 acts as 65536
  const auto at = [](int bits) { return bits == 0x7c00 ? 65536.0 : f16_value(uint16_t(bits)); };
  const double magnitude = std::min(std::abs(value), 65536.0);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - at(low), above = at(high) - magnitude;
  const int chosen = below < above || (below == above && low % 2 == 0) ? low : high;
  return std::copysign(chosen == 0x7c00 ? kInf : f16_value(uint16_t(chosen)), value);
}

TEST(F16, AgreesWithSearch) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> fraction(1, 2);
  for (int i = 0; i < 100000; ++i) {
    double v = std::ldexp(fraction(random), int(random() % 48) - 30);
    if (i % 2) v = (f16_value(uint16_t(random() % 0x7bff)) + f16_value(uint16_t(random() % 0x7bff))) / 2;
    if (i % 5 == 0) {
      const auto bits = uint16_t(random() % 0x7bff);
      v = (f16_value(bits) + f16_value(uint16_t(bits + 1))) / 2;  // a tie
    }
    v = random() % 2 ? v : -v;
    ASSERT_EQ(round_to(DType::f16, v), nearest_f16(v)) << v;
    ASSERT_EQ(f16_value(f16_bits(v)), nearest_f16(v)) << v;
  }
}

#ifdef __FLT16_MAX__
TEST(F16, AgreesWithTheCompiler) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 200000; ++i) {
    const auto v = std::bit_cast<float>(uint32_t(random()));
    if (std::isnan(v)) continue;
    ASSERT_EQ(f16_bits(double(v)), std::bit_cast<uint16_t>(_Float16(v))) << v;
  }
}
#endif

TEST(F32, AgreesWithTheCompiler) {
  std::mt19937_64 random(14);
  for (int i = 0; i < 100000; ++i) {
    const auto v = std::bit_cast<double>(random());
    if (std::isnan(v)) continue;
    ASSERT_EQ(round_to(DType::f32, v), double(float(v)));
    ASSERT_EQ(round_to(DType::f64, v), v);
    int exponent = 0;
    const double w = std::ldexp(std::frexp(v, &exponent), int(random() % 300) - 150);
    ASSERT_EQ(round_to(DType::f32, w), double(float(w)));
  }
}

TEST(Integers, Saturation) {
  EXPECT_EQ(saturate_to_int(DType::i8, 127.9), 127);
  EXPECT_EQ(saturate_to_int(DType::i8, 128.0), 127);
  EXPECT_EQ(saturate_to_int(DType::i8, -128.9), -128);
  EXPECT_EQ(saturate_to_int(DType::i8, -1e30), -128);
  EXPECT_EQ(saturate_to_int(DType::u8, -0.9), 0);
  EXPECT_EQ(saturate_to_int(DType::u8, -5.0), 0);
  EXPECT_EQ(saturate_to_int(DType::u8, 255.99), 255);
  EXPECT_EQ(saturate_to_int(DType::u8, kInf), 255);
  EXPECT_EQ(saturate_to_int(DType::i32, 2147483647.0), 2147483647);
  EXPECT_EQ(saturate_to_int(DType::i32, 2147483648.0), 2147483647);
  EXPECT_EQ(saturate_to_int(DType::u32, 4294967295.5), 4294967295);
  EXPECT_EQ(saturate_to_int(DType::i64, 0x1p63), INT64_MAX);
  EXPECT_EQ(saturate_to_int(DType::i64, std::nextafter(0x1p63, 0.0)), INT64_MAX - 1023);
  EXPECT_EQ(saturate_to_int(DType::i64, -0x1p63), INT64_MIN);
  EXPECT_EQ(saturate_to_int(DType::i64, -kInf), INT64_MIN);
  EXPECT_EQ(uint64_t(saturate_to_int(DType::u64, 0x1p63)), uint64_t(1) << 63);
  EXPECT_EQ(uint64_t(saturate_to_int(DType::u64, 0x1p64)), UINT64_MAX);
  EXPECT_EQ(saturate_to_int(DType::u64, -1.0), 0);
  for (int i = int(DType::i8); i <= int(DType::u64); ++i) EXPECT_EQ(saturate_to_int(DType(i), kNan), 0);
  EXPECT_EQ(saturate_to_int(DType::boolean, kNan), 1);  // NaN != 0
  EXPECT_EQ(saturate_to_int(DType::boolean, 0.25), 1);
  EXPECT_EQ(saturate_to_int(DType::boolean, -0.0), 0);
}

TEST(Integers, MemoryWraps) {
  for (int i = int(DType::boolean); i <= int(DType::u64); ++i) {
    const auto t = DType(i);
    for (int64_t v : {min_value(t), max_value(t), int64_t(0), int64_t(1)}) {
      int64_t memory = -1;
      store_int(t, &memory, v);
      EXPECT_EQ(load_int(t, &memory), v) << to_string(t);
    }
  }
  int64_t memory = 0;
  store_int(DType::u8, &memory, 257);
  EXPECT_EQ(load_int(DType::u8, &memory), 1);
  store_int(DType::i8, &memory, 255);
  EXPECT_EQ(load_int(DType::i8, &memory), -1);
}

TEST(Integers, Ranges) {
  EXPECT_EQ(min_value(DType::i8), -128);
  EXPECT_EQ(max_value(DType::i8), 127);
  EXPECT_EQ(min_value(DType::u32), 0);
  EXPECT_EQ(max_value(DType::u32), 4294967295);
  EXPECT_EQ(uint64_t(max_value(DType::u64)), UINT64_MAX);
  EXPECT_EQ(min_value(DType::i64), INT64_MIN);
  EXPECT_EQ(max_value(DType::boolean), 1);
}

}  // namespace
}  // namespace tilewright
