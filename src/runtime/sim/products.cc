#include "runtime/sim/products.h"

#include "runtime/sim/element_values.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tilewright::sim {

using device::sim::Lane;
using device::sim::Product;

namespace {

constexpr int kLanes = 32;
constexpr int kMaxM = 16, kMaxN = 8, kMaxK = 32;

// Where the elements of all lanes' fragments lie in a matrix whose rows have kStride elements.
template <int kStride, int kNum, class Function>
constexpr std::array<uint16_t, size_t(kLanes* kNum)> offsets(const Function& place) {
  std::array<uint16_t, size_t(kLanes * kNum)> out = {};
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < kNum; ++i) {
      const Place at = place(l, i);
      out[size_t(l * kNum + i)] = uint16_t(at.row * kStride + at.column);
    }
  }
  return out;
}

// Calls fn(element of d, lane, index in the lane's fragment).
template <int kNum, class T, class Function>
void for_results(T (&d)[kMaxM][kMaxN], const Function& fn) {
  static constexpr auto kOffsets = offsets<kMaxN, kNum>(place_d);
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < kNum; ++i) fn((&d[0][0])[kOffsets[size_t(l * kNum + i)]], l, i);
  }
}

template <int kM, int kK, class T>
void accumulate(const T (&a)[kMaxM][kMaxK], const T (&b)[kMaxK][kMaxN], T (&d)[kMaxM][kMaxN]) {
  for (int i = 0; i < kM; ++i) {
    T row[kMaxN];
    for (int j = 0; j < kMaxN; ++j) row[j] = d[i][j];
    for (int k = 0; k < kK; ++k) {
      const T x = a[i][k];
      for (int j = 0; j < kMaxN; ++j) row[j] += x * b[k][j];
    }
    for (int j = 0; j < kMaxN; ++j) d[i][j] = row[j];
  }
}

// value_of_f16 without a branch, so that compilers make vectors of a loop of it. An infinity and NaN become numbers
// from 2^16 on, with the right mantissa.
inline float value_of_f16_in_vector(uint16_t bits) {
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(uint32_t(bits & 0x7fffu) << 13) * 0x1p112f);
  const uint32_t is_large = 0u - uint32_t(int32_t(finite) > 0x477fffff);
  return std::bit_cast<float>(finite | (is_large & 0x7f800000u) | uint32_t(bits & 0x8000u) << 16);
}

// The values of all lanes' fragments, one lane after the other.
template <Element kType, int kNum>
void read_fragments(Lane* const* lanes, const void* Lane::*registers, Value<kType> (&out)[kLanes * kNum]) {
  constexpr size_t kPerLane = size_t(kNum * bits_of(kType) / 8);
  alignas(16) unsigned char bits[kLanes * kPerLane];
  for (size_t l = 0; l < kLanes; ++l) std::memcpy(bits + l * kPerLane, lanes[l]->*registers, kPerLane);
  if constexpr (kType == Element::f16) {
    for (int i = 0; i < kLanes * kNum; ++i) out[i] = value_of_f16_in_vector(bits_at<uint16_t>(bits, i));
  } else {
    for (int i = 0; i < kLanes * kNum; ++i) out[i] = element<kType>(bits, i);
  }
}

// The shape is constant, so that the compiler lays out the loops over the elements of a lane.
template <Element kA, Element kB, int kM, int kK>
void multiply_shape(Lane* const* lanes, bool into_f16) {
  using T = Value<kA>;
  static_assert(std::is_same_v<T, Value<kB>>);
  T a[kMaxM][kMaxK], b[kMaxK][kMaxN], d[kMaxM][kMaxN];
  constexpr int kNumA = kM * kK / kLanes, kNumB = kK * kMaxN / kLanes, kNumD = kM * kMaxN / kLanes;
  T of_a[kLanes * kNumA], of_b[kLanes * kNumB];
  read_fragments<kA, kNumA>(lanes, &Lane::a, of_a);
  read_fragments<kB, kNumB>(lanes, &Lane::b, of_b);
  static constexpr auto kInA = offsets<kMaxK, kNumA>([](int lane, int i) { return place_a(kA, lane, i); });
  static constexpr auto kInB = offsets<kMaxN, kNumB>([](int lane, int i) { return place_b(kB, lane, i); });
  for (size_t i = 0; i < kInA.size(); ++i) (&a[0][0])[kInA[i]] = of_a[i];
  for (size_t i = 0; i < kInB.size(); ++i) (&b[0][0])[kInB[i]] = of_b[i];
  if (into_f16)
    for_results<kNumD>(d, [&](T& x, int l, int i) { x = T(element<Element::f16>(lanes[l]->d, i)); });
  else
    for_results<kNumD>(d, [&](T& x, int l, int i) { x = bits_at<T>(lanes[l]->d, i); });
  accumulate<kM, kK>(a, b, d);
  if (into_f16)
    for_results<kNumD>(d, [&](T& x, int l, int i) { put(lanes[l]->d, i, f16_result(float(x))); });
  else
    for_results<kNumD>(d, [&](T& x, int l, int i) { put(lanes[l]->d, i, x); });
}

template <Element kA, Element kB>
void multiply(Lane* const* lanes, const Product& p) {
  const bool into_f16 = p.d == Element::f16;
  switch (p.k) {
    case 4: return multiply_shape < kA, kB, kA == Element::f64 ? 8 : 16, 4 > (lanes, into_f16);
    case 8: return multiply_shape<kA, kB, 16, 8>(lanes, into_f16);
    case 16: return multiply_shape<kA, kB, 16, 16>(lanes, into_f16);
    default: return multiply_shape<kA, kB, 16, 32>(lanes, into_f16);
  }
}

}  // namespace

void multiply_fragments(Lane* const* lanes) {
  using enum Element;
  const Product& p = lanes[0]->product;
  switch (p.a) {
    case f16: return multiply<f16, f16>(lanes, p);
    case bf16: return multiply<bf16, bf16>(lanes, p);
    case tf32: return multiply<tf32, tf32>(lanes, p);
    case f64: return multiply<f64, f64>(lanes, p);
    case s8: return p.b == s8 ? multiply<s8, s8>(lanes, p) : multiply<s8, u8>(lanes, p);
    case u8: return p.b == u8 ? multiply<u8, u8>(lanes, p) : multiply<u8, s8>(lanes, p);
    case e4m3: return p.b == e4m3 ? multiply<e4m3, e4m3>(lanes, p) : multiply<e4m3, e5m2>(lanes, p);
    case e5m2: return p.b == e5m2 ? multiply<e5m2, e5m2>(lanes, p) : multiply<e5m2, e4m3>(lanes, p);
    case f32:
    case s32: return;  // no operands
  }
}

}  // namespace tilewright::sim
