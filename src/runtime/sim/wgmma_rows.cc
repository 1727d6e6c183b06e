// Values of products of warpgroups, and where their operands lie.
#include "runtime/sim/element_values.h"
#include "runtime/sim/products.h"
#include "runtime/sim/wgmma.h"

#include <type_traits>

namespace tilewright::sim {

// PTX ISA, "Matrix Descriptor Format" and "Strides": bits 0-13 start, 16-29 leading, 32-45 stride, 49-51 base offset,
// 62-63 the swizzle; bytes without their lowest 4 bits.
OperandLayout::OperandLayout(uint64_t descriptor, bool mn, unsigned element_bytes)
    : mn_major(mn), bytes(element_bytes) {
  const auto field = [&](int bit) { return unsigned(descriptor >> bit & 0x3fff) * 16; };
  start = field(0);
  leading = field(16);
  stride = field(32);
  base_offset = unsigned(descriptor >> 49 & 7);
  constexpr unsigned kSpans[] = {0, 128, 64, 32};
  span = kSpans[descriptor >> 62];
}

unsigned OperandLayout::at(unsigned row, unsigned k) const {
  // Memory runs `along` one of the two, 8 rows of the other lie below each other.
  const unsigned along = (mn_major ? row : k) * bytes, across = mn_major ? k : row;
  if (span == 0) {
    // Core matrices of 8 rows of 16 bytes. `leading` leads from one to the next in k, `stride` in m or n.
    const unsigned along_step = mn_major ? stride : leading, across_step = mn_major ? leading : stride;
    return start + along / 16 * along_step + across / 8 * across_step + across % 8 * 16 + along % 16;
  }
  // `stride` leads from 8 rows to the next 8; `leading` from one span of m or n to the next. Of k a product reads no
  // more than one span holds, though the first may begin within it.
  const unsigned spans = mn_major ? along / span * leading + along % span : along;
  const unsigned address = start + spans + across / 8 * stride + across % 8 * span;
  // The pattern of the swizzle repeats every 8 * 128 bytes (of a narrower one sooner), from `base_offset` rows on.
  return address ^ ((address / 128 - base_offset) % (span / 16)) * 16;
}

namespace {

constexpr int kRows = 16, kMaxN = 256, kMaxK = 32, kLanes = 32;

template <Element kType>
void load_b(const WarpgroupProduct& product, const unsigned char* shared, Value<kType> (&b)[kMaxK][kMaxN]) {
  const OperandLayout layout(product.operands.b, product.operands.mn_major_b, unsigned(bits_of(kType)) / 8);
  for (unsigned n = 0; n < product.form.n; ++n) {
    for (unsigned k = 0; k < product.form.k; ++k) b[k][n] = element<kType>(shared + layout.at(n, k), 0);
  }
}

template <Element kType>
void load_a(const WarpgroupProduct& product, int warp, const unsigned char* shared, Value<kType> (&a)[kRows][kMaxK]) {
  if (product.a_in_registers) {
    const int count = kRows * int(product.form.k) / kLanes;
    for (int l = 0; l < kLanes; ++l) {
      for (int i = 0; i < count; ++i) {
        const Place at = place_a(kType, l, i);
        a[at.row][at.column] = element<kType>(product.a[size_t(l)].data(), i);
      }
    }
    return;
  }
  const OperandLayout layout(product.operands.a, product.operands.mn_major_a, unsigned(bits_of(kType)) / 8);
  for (unsigned m = 0; m < kRows; ++m) {
    for (unsigned k = 0; k < product.form.k; ++k) {
      a[m][k] = element<kType>(shared + layout.at(unsigned(warp) * kRows + m, k), 0);
    }
  }
}

// Register-wise: element i of a lane lies in row l / 4 + 8 * (i / 2 % 2), column 8 * (i / 4) + l % 4 * 2 + i % 2.
Place place_of_sum(int lane, int i) { return {lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + lane % 4 * 2 + i % 2}; }

template <Element kA, Element kB>
void multiply(WarpgroupProduct& product, int warp, const unsigned char* shared) {
  using T = Value<kA>;
  static_assert(std::is_same_v<T, Value<kB>>);
  static thread_local T a[kRows][kMaxK], b[kMaxK][kMaxN], d[kRows][kMaxN];
  load_a<kA>(product, warp, shared, a);
  load_b<kB>(product, shared, b);
  Accumulators& sums = *product.sums;
  const bool into_f16 = product.form.d == Element::f16;
  const int count = int(product.form.n) / 2;
  const auto registers = [&](int lane) { return sums.sums.data() + size_t(lane) * size_t(sums.registers); };
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < count; ++i) {
      const Place at = place_of_sum(l, i);
      T& x = d[at.row][at.column];
      x = !product.operands.accumulate ? T(0)
          : into_f16                   ? T(element<Element::f16>(registers(l), i))
                                       : bits_at<T>(registers(l), i);
    }
  }
  const unsigned n = product.form.n;
  for (int m = 0; m < kRows; ++m) {
    for (unsigned k = 0; k < product.form.k; ++k) {
      const T x = a[m][k];
      for (unsigned j = 0; j < n; ++j) d[m][j] += x * b[k][j];
    }
  }
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < count; ++i) {
      const Place at = place_of_sum(l, i);
      const T x = d[at.row][at.column];
      if (into_f16)
        put(registers(l), i, f16_result(float(x)));
      else
        put(registers(l), i, x);
    }
  }
}

}  // namespace

void multiply_rows(WarpgroupProduct& product, int warp, const unsigned char* shared) {
  using enum Element;
  const Element b = product.form.b;
  switch (product.form.a) {
    case f16: return multiply<f16, f16>(product, warp, shared);
    case bf16: return multiply<bf16, bf16>(product, warp, shared);
    case tf32: return multiply<tf32, tf32>(product, warp, shared);
    case s8: return b == s8 ? multiply<s8, s8>(product, warp, shared) : multiply<s8, u8>(product, warp, shared);
    case u8: return b == u8 ? multiply<u8, u8>(product, warp, shared) : multiply<u8, s8>(product, warp, shared);
    case e4m3:
      return b == e4m3 ? multiply<e4m3, e4m3>(product, warp, shared) : multiply<e4m3, e5m2>(product, warp, shared);
    case e5m2:
      return b == e5m2 ? multiply<e5m2, e5m2>(product, warp, shared) : multiply<e5m2, e4m3>(product, warp, shared);
    default: return;  // no operands
  }
}

}  // namespace tilewright::sim
