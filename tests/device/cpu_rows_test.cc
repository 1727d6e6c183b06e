// Reductions and streamed copies of the CPU backend against plain loops in wider arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tilewright/device/cpu/copy.h"
#include "tilewright/device/cpu/reduce.h"
#include "tilewright/device/cpu/row_stream.h"

namespace cpu = tilewright::device::cpu;

namespace {

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, long double, unsigned long long>;

template <class T>
std::vector<T> random_elements(size_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> out(n);
  for (T& x : out) {
    if constexpr (std::is_floating_point_v<T>)
      x = T(int(engine() % 4001) - 2000) / T(128);
    else
      x = T(engine());
  }
  return out;
}

// What a reduction of `values` must give. Sums of integers wrap; sums of floats are within n u of the sum of
// magnitudes.
template <class T>
struct Expected {
  T value;
  double bound = 0;

  bool fits(T got) const { return bound > 0 ? std::fabs(double(got) - double(value)) <= bound : got == value; }
};

// |x| as abs means it: of the smallest integer, that integer.
template <class T>
T magnitude(T x) {
  return x < 0 ? T(-Wide<T>(x)) : x;
}

struct SumOf {
  using Op = cpu::Sum;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    Wide<T> sum = 0, magnitudes = 0;
    for (T x : values) sum += Wide<T>(x), magnitudes += Wide<T>(magnitude(x));
    return {T(sum), double(values.size()) * double(std::numeric_limits<T>::epsilon()) * double(magnitudes)};
  }
};
struct AbsSumOf {
  using Op = cpu::AbsSum;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    Wide<T> sum = 0;
    for (T x : values) sum += Wide<T>(magnitude(x));
    return {T(sum), double(values.size()) * double(std::numeric_limits<T>::epsilon()) * double(sum)};
  }
};
struct MaxOf {
  using Op = cpu::Max;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    using Limits = std::numeric_limits<T>;
    T most = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    for (T x : values) most = x > most ? x : most;
    return {most};
  }
};
struct MinOf {
  using Op = cpu::Min;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    using Limits = std::numeric_limits<T>;
    T least = Limits::has_infinity ? Limits::infinity() : Limits::max();
    for (T x : values) least = x < least ? x : least;
    return {least};
  }
};
struct AbsMaxOf {
  using Op = cpu::AbsMax;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    T most = 0;
    for (T x : values) {
      most = magnitude(x) > most ? magnitude(x) : most;
    }
    return {most};
  }
};
struct BitAndOf {
  using Op = cpu::BitAnd;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    T all = T(-1);
    for (T x : values) all = T(all & x);
    return {all};
  }
};
struct BitOrOf {
  using Op = cpu::BitOr;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    T any = 0;
    for (T x : values) any = T(any | x);
    return {any};
  }
};
struct BitXorOf {
  using Op = cpu::BitXor;
  template <class T>
  static Expected<T> expect(const std::vector<T>& values) {
    T odd = 0;
    for (T x : values) odd = T(odd ^ x);
    return {odd};
  }
};

constexpr int kLengths[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 95, 96, 97, 127, 160, 257, 1000};

template <class R, class T>
void check_rows() {
  for (const int n : kLengths) {
    // The elements around the row must not count.
    const std::vector<T> values = random_elements<T>(size_t(n), unsigned(n) + 1);
    std::vector<T> row = random_elements<T>(size_t(n) + 128, 99);
    std::copy(values.begin(), values.end(), row.begin() + 64);
    const Expected<T> want = R::expect(values);
    const T got = cpu::reduce_row<typename R::Op>(row.data() + 64, n);
    EXPECT_TRUE(want.fits(got)) << n << " " << typeid(T).name();
    std::vector<T> more = values;
    more.push_back(row[0]);
    const Expected<T> started = R::expect(more);
    const T start =
        std::is_same_v<R, AbsSumOf> || std::is_same_v<R, AbsMaxOf> ? R::expect(std::vector<T>{row[0]}).value : row[0];
    const T from = cpu::reduce_row<typename R::Op>(row.data() + 64, n, start);
    EXPECT_TRUE(started.fits(from)) << n << " " << typeid(T).name();
    EXPECT_TRUE(want.fits(cpu::reduce_padded_row<typename R::Op>(row.data() + 64, n))) << n << " " << typeid(T).name();
  }
}

// Below, the code under test is a function for each length, and what prepares and compares is compiled once for all.

// A row in two parts: the first of whole vectors, the last one in storage that goes on to the end of a line.
template <class T>
constexpr int kFirstPart = 6 * TW_VEC_BYTES / int(sizeof(T));

template <class Op, class T, int N>
T reduce_parts(const T* row) {
  cpu::RowReduction<Op, T> reduction;
  reduction.template take<kFirstPart<T>>(row);
  reduction.template take<N>(row + kFirstPart<T>);
  return reduction.result();
}

template <class R, class T>
void check_parts(int n, T (*reduce)(const T*)) {
  const std::vector<T> values = random_elements<T>(size_t(kFirstPart<T> + n), 3);
  std::vector<T> row = random_elements<T>(size_t(kFirstPart<T> + n + 64), 4);
  std::copy(values.begin(), values.end(), row.begin());
  EXPECT_TRUE(R::expect(values).fits(reduce(row.data()))) << n << " " << typeid(T).name();
}

template <class R, class T>
void check_all_parts() {
  using Op = typename R::Op;
  check_parts<R, T>(0, reduce_parts<Op, T, 0>);
  check_parts<R, T>(1, reduce_parts<Op, T, 1>);
  check_parts<R, T>(3, reduce_parts<Op, T, 3>);
  check_parts<R, T>(16, reduce_parts<Op, T, 16>);
  check_parts<R, T>(31, reduce_parts<Op, T, 31>);
  check_parts<R, T>(61, reduce_parts<Op, T, 61>);
}

template <class R, class T>
void check_columns() {
  for (const int cols : {1, 2, 3, 4, 15, 16, 17, 31, 33, 64, 95, 97, 160}) {
    for (const int rows : {0, 1, 2, 5, 33}) {
      const int stride = cols + 3;
      const std::vector<T> src = random_elements<T>(size_t(rows * stride + 1), unsigned(rows + cols));
      // Magnitudes, which AbsMax combines with as they are.
      std::vector<T> before = random_elements<T>(size_t(cols) + 2, 5);
      for (T& x : before) x = magnitude(x) < 0 ? T(0) : magnitude(x);
      std::vector<T> fresh = before, kept = before;
      cpu::reduce_columns<typename R::Op, cpu::Exact, false>(src.data(), rows, stride, cols, fresh.data() + 1);
      cpu::reduce_columns<typename R::Op, cpu::Exact, true>(src.data(), rows, stride, cols, kept.data() + 1);
      for (int c = 0; c < cols; ++c) {
        std::vector<T> column;
        for (int r = 0; r < rows; ++r) column.push_back(src[size_t(r * stride + c)]);
        const Expected<T> want = R::expect(column);
        EXPECT_TRUE(want.fits(fresh[size_t(c) + 1])) << rows << "x" << cols;
        const T old = before[size_t(c) + 1];
        column.push_back(old);
        EXPECT_TRUE(R::expect(column).fits(kept[size_t(c) + 1])) << rows << "x" << cols;
      }
      for (const size_t edge : {size_t(0), size_t(cols) + 1}) {
        EXPECT_EQ(fresh[edge], before[edge]);
        EXPECT_EQ(kept[edge], before[edge]);
      }
    }
  }
}

template <class T>
class CpuReduce : public testing::Test {};
using Numbers =
    testing::Types<float, double, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, long long, unsigned long long>;
TYPED_TEST_SUITE(CpuReduce, Numbers);

TYPED_TEST(CpuReduce, Rows) {
  check_rows<SumOf, TypeParam>();
  check_rows<AbsSumOf, TypeParam>();
  check_rows<MaxOf, TypeParam>();
  check_rows<MinOf, TypeParam>();
  check_rows<AbsMaxOf, TypeParam>();
  if constexpr (std::is_integral_v<TypeParam>) {
    check_rows<BitAndOf, TypeParam>();
    check_rows<BitOrOf, TypeParam>();
    check_rows<BitXorOf, TypeParam>();
  }
}

TYPED_TEST(CpuReduce, Parts) {
  check_all_parts<SumOf, TypeParam>();
  check_all_parts<MaxOf, TypeParam>();
  check_all_parts<MinOf, TypeParam>();
  check_all_parts<AbsMaxOf, TypeParam>();
  if constexpr (std::is_integral_v<TypeParam>) check_all_parts<BitAndOf, TypeParam>();
}

TYPED_TEST(CpuReduce, Columns) {
  check_columns<SumOf, TypeParam>();
  check_columns<MaxOf, TypeParam>();
  check_columns<MinOf, TypeParam>();
  check_columns<AbsMaxOf, TypeParam>();
  if constexpr (std::is_integral_v<TypeParam>) check_columns<BitXorOf, TypeParam>();
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

TEST(CpuReduceSpecial, MaxAndMinIgnoreNan) {
  for (const int n : {1, 3, 5, 16, 19, 64, 70, 150}) {
    for (int at = 0; at < n; ++at) {
      std::vector<float> row(size_t(n), kNan);
      row[size_t(at)] = -3;
      EXPECT_EQ(cpu::reduce_row<cpu::Max>(row.data(), n), -3) << n << " " << at;
      EXPECT_EQ(cpu::reduce_row<cpu::Min>(row.data(), n), -3) << n << " " << at;
      EXPECT_EQ(cpu::reduce_row<cpu::AbsMax>(row.data(), n), 3) << n << " " << at;
    }
    const std::vector<float> nothing(size_t(n), kNan);
    EXPECT_EQ(cpu::reduce_row<cpu::Max>(nothing.data(), n), -kInf);
    EXPECT_EQ(cpu::reduce_row<cpu::Max>(nothing.data(), n, kNan), -kInf);
    EXPECT_EQ(cpu::reduce_row<cpu::Max>(nothing.data(), n, 5.0f), 5);
    EXPECT_EQ(cpu::reduce_row<cpu::Min>(nothing.data(), n), kInf);
    EXPECT_TRUE(std::isnan(cpu::reduce_row<cpu::Sum>(nothing.data(), n)));
  }
}

TEST(CpuReduceSpecial, InfinitiesAndZeros) {
  const std::vector<float> both = {1, kInf, 2, -kInf, 3, 4, 5};
  EXPECT_EQ(cpu::reduce_row<cpu::Max>(both.data(), 7), kInf);
  EXPECT_EQ(cpu::reduce_row<cpu::Min>(both.data(), 7), -kInf);
  EXPECT_TRUE(std::isnan(cpu::reduce_row<cpu::Sum>(both.data(), 7)));
  EXPECT_EQ(cpu::reduce_row<cpu::AbsSum>(both.data(), 7), kInf);
  const std::vector<float> zeros(37, -0.0f);
  EXPECT_FALSE(std::signbit(cpu::reduce_row<cpu::AbsMax>(zeros.data(), 37)));
}

TEST(CpuReduceSpecial, ColumnsRoundOnce) {
  // 2048 + 1 is no f16 number: rounding after each step would lose every 1.
  std::vector<float> src(40 * 5, 1.0f), dst(5);
  for (int c = 0; c < 5; ++c) src[size_t(c)] = 2048;
  cpu::reduce_columns<cpu::Sum, cpu::ToF16, false>(src.data(), 40, 5, 5, dst.data());
  for (const float x : dst) EXPECT_EQ(x, 2088);  // 2087 lies between 2086 and 2088 and ties to even
}

// ---- streamed copies ----

// The first element at the beginning of a line.
template <class D>
size_t first_aligned(const std::vector<D>& memory) {
  const size_t misaligned = reinterpret_cast<uintptr_t>(memory.data()) % 64 / sizeof(D);
  return (64 / sizeof(D) - misaligned) % (64 / sizeof(D));
}

std::vector<float> stream_tile(int rows, int leading) {
  std::vector<float> tile(size_t(rows * leading));
  for (size_t i = 0; i < tile.size(); ++i) tile[i] = float(int(i * 37 % 2048) - 1024) / 16;
  return tile;
}

constexpr int tile_leading(int cols) { return cpu::round_up(cols, 16) + 16; }

template <class D>
using CopyOut = void (*)(const float* tile, D* to, int row_stride, int valid_rows, int valid_cols);

template <class D, int R, int C>
void copy_out(const float* tile, D* to, int row_stride, int valid_rows, int valid_cols) {
  cpu::copy_out<R, C, tile_leading(C)>(tile, to, row_stride, valid_rows, valid_cols, true);
}

template <class D>
void check_stream(int rows, int cols, CopyOut<D> copy, int offset, int row_stride, int valid_rows, int valid_cols) {
  const int leading = tile_leading(cols);
  const std::vector<float> tile = stream_tile(rows, leading);
  // From an aligned place, so that `offset` decides which path runs.
  std::vector<D> memory(size_t(rows * row_stride + cols + 256));
  std::memset(static_cast<void*>(memory.data()), 0x5a, memory.size() * sizeof(D));
  const size_t first = first_aligned(memory) + size_t(offset);
  std::vector<D> want = memory;
  for (int r = 0; r < std::min(valid_rows, rows); ++r) {
    for (int c = 0; c < std::min(valid_cols, cols); ++c)
      want[first + size_t(r * row_stride + c)] = cpu::Convert<D, float>::one(tile[size_t(r * leading + c)]);
  }
  copy(tile.data(), memory.data() + first, row_stride, valid_rows, valid_cols);
  cpu::finish_streaming();
  EXPECT_EQ(std::memcmp(memory.data(), want.data(), memory.size() * sizeof(D)), 0)
      << rows << "x" << cols << " at " << offset << " stride " << row_stride << " valid " << valid_rows << "x"
      << valid_cols;
}

template <class D, int C>
void check_streams() {
  for (int offset = 0; offset < 20; ++offset) {
    for (const int row_stride : {C, C + 5, C + 64}) {
      check_stream<D>(3, C, copy_out<D, 3, C>, offset, row_stride, 3, C);
      check_stream<D>(3, C, copy_out<D, 3, C>, offset, row_stride, 2, C - 1);
      check_stream<D>(1, C, copy_out<D, 1, C>, offset, row_stride, 1, C + 7);
      check_stream<D>(3, C, copy_out<D, 3, C>, offset, row_stride, 0, C);
    }
  }
}

constexpr int row_leading(int cols) { return cpu::round_up(cols, 64) + 64; }

template <class D>
using PutRow = void (*)(cpu::RowStream& stream, const float* from, D* to, int valid);

// One row, whole or in two parts.
template <class D, int C, bool kRagged>
void put_row(cpu::RowStream& stream, const float* from, D* to, int valid) {
  constexpr int kLd = row_leading(C), kFirst = C / 64 / 2 * 64;
  if constexpr (kFirst > 0) cpu::copy_out_by<kFirst, kLd, kRagged>(stream, from, to, 0, 1, valid, true);
  if constexpr (kFirst < C)
    cpu::copy_out_by<C - kFirst, kLd, kRagged>(stream, from + kFirst, to + kFirst, 0, 1, valid - kFirst, true);
}

// Some rows by one stream; `gap` elements between them.
template <class D>
void check_row_stream(int cols, PutRow<D> put, int offset, int gap, const char* how) {
  constexpr int kRows = 5;
  const int leading = row_leading(cols);
  const std::vector<float> tile = stream_tile(kRows, leading);
  std::vector<D> memory(size_t(kRows * (cols + gap) + 512));
  std::memset(static_cast<void*>(memory.data()), 0x5a, memory.size() * sizeof(D));
  const size_t first = first_aligned(memory) + size_t(offset);
  std::vector<D> want = memory;
  {
    cpu::RowStream stream;
    for (int r = 0; r < kRows; ++r) {
      const float* from = tile.data() + r * leading;
      D* to = memory.data() + first + r * (cols + gap);
      const int valid = r == 3 ? cols - 1 : cols + 2;  // one row that is cut
      for (int c = 0; c < std::min(valid, cols); ++c)
        want[size_t(to - memory.data() + c)] = cpu::Convert<D, float>::one(from[c]);
      put(stream, from, to, valid);
    }
  }
  cpu::finish_streaming();
  EXPECT_EQ(std::memcmp(memory.data(), want.data(), memory.size() * sizeof(D)), 0)
      << cols << " at " << offset << " gap " << gap << how;
}

template <class D, int C>
void check_row_streams() {
  for (int offset = 0; offset < 20; ++offset) {
    for (const int gap : {0, 1, 16, 37, 64}) {
      check_row_stream<D>(C, put_row<D, C, true>, offset, gap, " ragged");
      check_row_stream<D>(C, put_row<D, C, false>, offset, gap, "");
    }
  }
}

template <class T>
class CpuStream : public testing::Test {};
using Stored = testing::Types<float, double, cpu::F16, cpu::BF16, int>;
TYPED_TEST_SUITE(CpuStream, Stored);

TYPED_TEST(CpuStream, WritesTheSameBytes) {
  check_streams<TypeParam, 1>();
  check_streams<TypeParam, 3>();
  check_streams<TypeParam, 31>();
  check_streams<TypeParam, 33>();
  check_streams<TypeParam, 96>();
  check_streams<TypeParam, 97>();
  check_streams<TypeParam, 160>();
}

TYPED_TEST(CpuStream, RowsThatGoOnWriteTheSameBytes) {
  check_row_streams<TypeParam, 3>();
  check_row_streams<TypeParam, 16>();
  check_row_streams<TypeParam, 17>();
  check_row_streams<TypeParam, 46>();
  check_row_streams<TypeParam, 97>();
  check_row_streams<TypeParam, 128>();
  check_row_streams<TypeParam, 131>();
  check_row_streams<TypeParam, 200>();
  check_row_streams<TypeParam, 307>();
}

// Parts that go on where the last one ended, and parts that do not.
TEST(CpuRowStream, APartThatGoesOnElsewhereIsComplete) {
  alignas(64) static float from[256], to[512];
  for (int i = 0; i < 256; ++i) from[i] = float(i + 1);
  cpu::RowStream stream;
  stream.put<70, 80, true>(from, to + 3);
  stream.put<70, 80, true>(from + 64, to + 200);  // not where the first one ended
  stream.put<8, 16, true>(from + 144, to + 270);  // where it ended
  stream.put<8, 16, true>(from + 160, to + 300);  // elsewhere, and short
  stream.flush();
  const auto expected = [](int i) {
    if (i >= 3 && i < 73) return float(i - 3 + 1);
    if (i >= 200 && i < 270) return float(i - 200 + 64 + 1);
    if (i >= 270 && i < 278) return float(i - 270 + 144 + 1);
    if (i >= 300 && i < 308) return float(i - 300 + 160 + 1);
    return 0.0f;
  };
  for (int i = 0; i < 512; ++i) EXPECT_EQ(to[i], expected(i)) << i;
}

TEST(CpuPrefetch, MayPointAnywhere) {
  cpu::prefetch<50, 1>(static_cast<const float*>(nullptr));
  cpu::prefetch<1, 2>(reinterpret_cast<const float*>(~uintptr_t(0) - 5));
}

}  // namespace
