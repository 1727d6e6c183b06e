#include "runtime/sim/products.h"

#include "target/dtype.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tilewright::sim {

using device::sim::Element;
using device::sim::Lane;
using device::sim::Product;

namespace {

constexpr int kLanes = 32;
constexpr int kMaxM = 16, kMaxN = 8, kMaxK = 32;

// f16_value of target/dtype.h, which made a product of 256 x 256 x 256 take 3.7 times as long.
float value_of_f16(uint16_t bits) {
  const uint32_t magnitude = uint32_t(bits & 0x7fffu) << 13, sign = uint32_t(bits & 0x8000u) << 16;
  // The exponent's bias goes from 15 to 127; an infinity and NaN keep theirs.
  const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(value | sign);
}

// PTX: NaN of f16 is 0x7fff.
uint16_t f16_result(float x) { return std::isnan(x) ? 0x7fff : f16_bits(double(x)); }

template <class Bits>
Bits bits_at(const void* registers, int i) {
  Bits out;
  std::memcpy(&out, static_cast<const unsigned char*>(registers) + sizeof(Bits) * size_t(i), sizeof(Bits));
  return out;
}

template <class Bits>
void put(void* registers, int i, Bits bits) {
  std::memcpy(static_cast<unsigned char*>(registers) + sizeof(Bits) * size_t(i), &bits, sizeof(Bits));
}

// The type that elements are multiplied and summed in. Integers have no sign there: sums wrap around.
template <Element kType>
using Value = std::conditional_t<kType == Element::f64, double,
                                 std::conditional_t<kType == Element::s8 || kType == Element::u8, uint32_t, float>>;

// Element `i` of a lane's registers.
template <Element kType>
Value<kType> element(const void* registers, int i) {
  if constexpr (kType == Element::f64) return bits_at<double>(registers, i);
  if constexpr (kType == Element::f16) return value_of_f16(bits_at<uint16_t>(registers, i));
  if constexpr (kType == Element::bf16) return std::bit_cast<float>(uint32_t(bits_at<uint16_t>(registers, i)) << 16);
  // The lower bits are ignored.
  if constexpr (kType == Element::tf32) return std::bit_cast<float>(bits_at<uint32_t>(registers, i) & ~0x1fffu);
  if constexpr (kType == Element::e4m3) return float(f8e4m3_value(bits_at<uint8_t>(registers, i)));
  if constexpr (kType == Element::e5m2) return value_of_f16(uint16_t(bits_at<uint8_t>(registers, i) << 8));
  if constexpr (kType == Element::s8) return uint32_t(int32_t(bits_at<int8_t>(registers, i)));
  if constexpr (kType == Element::u8) return bits_at<uint8_t>(registers, i);
}

// Calls fn(element of d, lane, index in the lane's fragment).
template <class T, class Function>
void for_results(const Product& p, T (&d)[kMaxM][kMaxN], const Function& fn) {
  const int num = int(p.m * p.n) / kLanes;
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < num; ++i) {
      const Place at = place_d(l, i);
      fn(d[at.row][at.column], l, i);
    }
  }
}

template <class T>
void accumulate(const Product& p, const T (&a)[kMaxM][kMaxK], const T (&b)[kMaxK][kMaxN], T (&d)[kMaxM][kMaxN]) {
  for (unsigned i = 0; i < p.m; ++i) {
    T row[kMaxN];
    for (int j = 0; j < kMaxN; ++j) row[j] = d[i][j];
    for (unsigned k = 0; k < p.k; ++k) {
      const T x = a[i][k];
      for (int j = 0; j < kMaxN; ++j) row[j] += x * b[k][j];
    }
    for (int j = 0; j < kMaxN; ++j) d[i][j] = row[j];
  }
}

template <Element kA, Element kB>
void multiply(Lane* const* lanes, const Product& p) {
  using T = Value<kA>;
  static_assert(std::is_same_v<T, Value<kB>>);
  T a[kMaxM][kMaxK], b[kMaxK][kMaxN], d[kMaxM][kMaxN];
  const int num_a = int(p.m * p.k) / kLanes, num_b = int(p.k * p.n) / kLanes;
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < num_a; ++i) {
      const Place at = place_a(kA, l, i);
      a[at.row][at.column] = element<kA>(lanes[l]->a, i);
    }
    for (int i = 0; i < num_b; ++i) {
      const Place at = place_b(kB, l, i);
      b[at.row][at.column] = element<kB>(lanes[l]->b, i);
    }
  }
  const bool into_f16 = p.d == Element::f16;
  for_results(p, d, [&](T& x, int l, int i) {
    x = into_f16 ? T(element<Element::f16>(lanes[l]->d, i)) : bits_at<T>(lanes[l]->d, i);
  });
  accumulate(p, a, b, d);
  for_results(p, d, [&](T& x, int l, int i) {
    if (into_f16)
      put(lanes[l]->d, i, f16_result(float(x)));
    else
      put(lanes[l]->d, i, x);
  });
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
