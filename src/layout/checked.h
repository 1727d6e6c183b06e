// Products and sums of extents and strides that are refused, never wrapped, when they leave int64.
#pragma once

#include "support/error.h"

#include <cstdint>

namespace tilewright::layout {

inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw invalid_kernel({}, "a layout overflows 63 bits: {} * {}", a, b);
  return out;
}

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw invalid_kernel({}, "a layout overflows 63 bits: {} + {}", a, b);
  return out;
}

}  // namespace tilewright::layout
