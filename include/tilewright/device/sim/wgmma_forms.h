#pragma once
// PTX: wgmma.mma_async. The element types come from the text of the instruction; the simulator holds the rest.
#include <tilewright/device/cuda/wgmma.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

enum class Major : int { k = 0, mn = 1 };

namespace sim {
// The n that exist. PTX ISA, "Matrix Shape".
constexpr bool has_n_TW_WGMMA_ROWS_32(u32 n) { return n >= 8 && n <= 256 && n % 8 == 0; }
constexpr bool has_n_TW_WGMMA_ROWS_16(u32 n) { return has_n_TW_WGMMA_ROWS_32(n); }
constexpr bool has_n_TW_WGMMA_ROWS_INT(u32 n) { return n == 8 || n == 24 || (n >= 16 && n <= 256 && n % 16 == 0); }

constexpr Element element_named(const char*& text) {
  constexpr const char* kNames[] = {"f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32", "e4m3", "e5m2"};
  for (int e = 0; e < 10; ++e) {
    int i = 0;
    while (kNames[e][i] != 0 && text[i] == kNames[e][i]) ++i;
    if (kNames[e][i] != 0 || (text[i] != 0 && text[i] != '.')) continue;
    text += text[i] == '.' ? i + 1 : i;
    return Element(e);
  }
  return Element::f64;  // of which there is no product
}
// From "k16.f32.bf16.bf16": k, then the types of d, a and b.
constexpr Product product_named(const char* text, u32 n) {
  Product out{64, n, 0, Element::f64, Element::f64, Element::f64};
  for (++text; *text != '.'; ++text) out.k = out.k * 10 + u32(*text - '0');
  ++text;
  out.d = element_named(text);
  out.a = element_named(text);
  out.b = element_named(text);
  return out;
}
inline void warpgroup_product(const Product& product, void* d, const u32* registers, const WarpgroupOperands& operands,
                              int line) {
  Lane lane{kFullMask};
  lane.product = product;
  lane.a = registers;
  lane.d = d;
  lane.operands = operands;
  hooks->warp(WarpOp::wgmma_product, &lane, line);
}
}  // namespace sim
}  // namespace tilewright::device

#define TW_WGMMA_16BIT(NAME, TYPES, T, C, ROWS)                                                                  \
  template <u32 kN, Major kMajorA = Major::k, Major kMajorB = Major::k>                                          \
  TW_ATOM void wgmma_##NAME(T* d, u64 a, u64 b, bool accumulate, TW_SIM_LINE) {                                  \
    static_assert(sim::has_n_##ROWS(kN));                                                                        \
    constexpr sim::Product kProduct = sim::product_named(TYPES, kN);                                             \
    sim::warpgroup_product(kProduct, d, nullptr, {a, b, kMajorA == Major::mn, kMajorB == Major::mn, accumulate}, \
                           line);                                                                                \
  }                                                                                                              \
  template <u32 kN, Major kMajorB = Major::k>                                                                    \
  TW_ATOM void wgmma_##NAME(T* d, const u32* a, u64 b, bool accumulate, TW_SIM_LINE) {                           \
    static_assert(sim::has_n_##ROWS(kN));                                                                        \
    constexpr sim::Product kProduct = sim::product_named(TYPES, kN);                                             \
    sim::warpgroup_product(kProduct, d, a, {0, b, false, kMajorB == Major::mn, accumulate}, line);               \
  }

#define TW_WGMMA_K_MAJOR(NAME, TYPES, T, C, ROWS, TAIL)                                   \
  template <u32 kN>                                                                       \
  TW_ATOM void wgmma_##NAME(T* d, u64 a, u64 b, bool accumulate, TW_SIM_LINE) {           \
    static_assert(sim::has_n_##ROWS(kN));                                                 \
    constexpr sim::Product kProduct = sim::product_named(TYPES, kN);                      \
    sim::warpgroup_product(kProduct, d, nullptr, {a, b, false, false, accumulate}, line); \
  }                                                                                       \
  template <u32 kN>                                                                       \
  TW_ATOM void wgmma_##NAME(T* d, const u32* a, u64 b, bool accumulate, TW_SIM_LINE) {    \
    static_assert(sim::has_n_##ROWS(kN));                                                 \
    constexpr sim::Product kProduct = sim::product_named(TYPES, kN);                      \
    sim::warpgroup_product(kProduct, d, a, {0, b, false, false, accumulate}, line);       \
  }
#endif
