#include "runtime/sim/products.h"

#include "runtime/sim/element_values.h"

#include <type_traits>

namespace tilewright::sim {

using device::sim::Lane;
using device::sim::Product;

namespace {

constexpr int kLanes = 32;
constexpr int kMaxM = 16, kMaxN = 8, kMaxK = 32;

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
