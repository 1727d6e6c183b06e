#include "runtime/sim/products.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilewright::sim {

using device::sim::Element;
using device::sim::Lane;
using device::sim::Product;

namespace {

constexpr int kLanes = 32;
constexpr int kMaxM = 16, kMaxN = 8, kMaxK = 32;

int bits_of(Element e) {
  switch (e) {
    case Element::f64: return 64;
    case Element::tf32:
    case Element::f32:
    case Element::s32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    default: return 8;
  }
}

// Elements side by side in one register of 32 bits, and from how many columns on the next register goes on.
int per_register(Element e) { return bits_of(e) >= 32 ? 1 : 32 / bits_of(e); }

}  // namespace

Place place_a(const Product& p, int lane, int i) {
  const int group = lane / 4, in_group = lane % 4, packed = per_register(p.a);
  if (p.a == Element::f64) return {group, in_group};
  // Registers go down by 8 rows first, then right by a step of 4 lanes.
  const int r = i / packed;
  return {group + 8 * (r % 2), in_group * packed + i % packed + 4 * packed * (r / 2)};
}

Place place_b(const Product& p, int lane, int i) {
  const int group = lane / 4, in_group = lane % 4, packed = per_register(p.b);
  if (p.b == Element::f64) return {in_group, group};
  const int r = i / packed;
  return {in_group * packed + i % packed + 4 * packed * r, group};
}

Place place_d(const Product&, int lane, int i) { return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2}; }

namespace {

float f16_value(uint16_t bits) {
  const uint32_t magnitude = uint32_t(bits & 0x7fffu) << 13, sign = uint32_t(bits & 0x8000u) << 16;
  // The exponent's bias goes from 15 to 127; an infinity and NaN keep theirs.
  const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(value | sign);
}

uint16_t f16_bits(float x) {
  if (std::isnan(x)) return 0x7fff;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const float magnitude = std::fabs(x);
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  // 2^(e - 10) is one unit in the last place; adding and taking away 2^(e + 13) rounds to it.
  const int e = std::max(magnitude > 0 ? std::ilogb(magnitude) : -15, -14);
  const auto units = uint32_t(std::lrint(std::ldexp(magnitude, 10 - e)));
  return uint16_t(sign | ((uint32_t(e + 14) << 10) + units));
}

float e4m3_value(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  float magnitude = 0;
  if ((bits & 0x7f) == 0x7f)
    magnitude = NAN;
  else
    magnitude = exponent == 0 ? std::ldexp(float(fraction), -9) : std::ldexp(float(8 + fraction), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

// Element `i` of a lane's registers.
float float_element(Element type, const void* registers, int i) {
  uint32_t word = 0;
  uint16_t half = 0;
  uint8_t byte = 0;
  const auto* bytes = static_cast<const unsigned char*>(registers);
  switch (bits_of(type)) {
    case 32: std::memcpy(&word, bytes + 4 * i, 4); break;
    case 16: std::memcpy(&half, bytes + 2 * i, 2); break;
    default: std::memcpy(&byte, bytes + i, 1); break;
  }
  switch (type) {
    case Element::f16: return f16_value(half);
    case Element::bf16: return std::bit_cast<float>(uint32_t(half) << 16);
    case Element::tf32: return std::bit_cast<float>(word & ~0x1fffu);  // the lower bits are ignored
    case Element::e4m3: return e4m3_value(byte);
    case Element::e5m2: return f16_value(uint16_t(byte << 8));
    default: return std::bit_cast<float>(word);
  }
}

int int_element(Element type, const void* registers, int i) {
  const auto byte = static_cast<const unsigned char*>(registers)[i];
  return type == Element::s8 ? int(static_cast<signed char>(byte)) : int(byte);
}

// Both operands as matrices of T; `element(type, registers, i)` gives one.
template <class T, class ElementOf>
void gather(Lane* const* lanes, const Product& p, T (&a)[kMaxM][kMaxK], T (&b)[kMaxK][kMaxN],
            const ElementOf& element) {
  const int num_a = int(p.m * p.k) / kLanes, num_b = int(p.k * p.n) / kLanes;
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < num_a; ++i) {
      const Place at = place_a(p, l, i);
      a[at.row][at.column] = element(p.a, lanes[l]->a, i);
    }
    for (int i = 0; i < num_b; ++i) {
      const Place at = place_b(p, l, i);
      b[at.row][at.column] = element(p.b, lanes[l]->b, i);
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

// Calls fn(element of d, lane, index in the lane's fragment).
template <class T, class Function>
void for_results(const Product& p, T (&d)[kMaxM][kMaxN], const Function& fn) {
  const int num = int(p.m * p.n) / kLanes;
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < num; ++i) {
      const Place at = place_d(p, l, i);
      fn(d[at.row][at.column], l, i);
    }
  }
}

template <class T, class Stored, class ElementOf>
void multiply(Lane* const* lanes, const Product& p, const ElementOf& element) {
  T a[kMaxM][kMaxK], b[kMaxK][kMaxN], d[kMaxM][kMaxN];
  gather(lanes, p, a, b, element);
  for_results(p, d, [&](T& x, int l, int i) { x = T(static_cast<const Stored*>(lanes[l]->d)[i]); });
  accumulate(p, a, b, d);
  for_results(p, d, [&](T& x, int l, int i) { static_cast<Stored*>(lanes[l]->d)[i] = Stored(x); });
}

void multiply_into_f16(Lane* const* lanes, const Product& p) {
  float a[kMaxM][kMaxK], b[kMaxK][kMaxN], d[kMaxM][kMaxN];
  gather(lanes, p, a, b, float_element);
  for_results(p, d, [&](float& x, int l, int i) { x = float_element(Element::f16, lanes[l]->d, i); });
  accumulate(p, a, b, d);
  for_results(p, d, [&](float& x, int l, int i) {
    const uint16_t bits = f16_bits(x);
    std::memcpy(static_cast<unsigned char*>(lanes[l]->d) + 2 * i, &bits, 2);
  });
}

}  // namespace

void multiply_fragments(Lane* const* lanes) {
  const Product& p = lanes[0]->product;
  switch (p.d) {
    case Element::f16: return multiply_into_f16(lanes, p);
    case Element::f64:
      return multiply<double, double>(lanes, p,
                                      [](Element, const void* at, int i) { return static_cast<const double*>(at)[i]; });
    // In 32 bits without a sign: sums wrap around.
    case Element::s32:
      return multiply<uint32_t, uint32_t>(
          lanes, p, [](Element type, const void* at, int i) { return uint32_t(int_element(type, at, i)); });
    default: return multiply<float, float>(lanes, p, float_element);
  }
}

}  // namespace tilewright::sim
