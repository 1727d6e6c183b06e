#include "runtime/sim/reductions.h"

#include "runtime/sim/atomics.h"
#include "target/dtype.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tilewright::sim {

using cuda::TensorMapType;
using device::sim::AtomicOp;
using device::sim::Number;

namespace {

std::optional<Number> number_of(TensorMapType type) {
  switch (type) {
    case TensorMapType::i32: return Number::i32;
    case TensorMapType::u32: return Number::u32;
    case TensorMapType::i64: return Number::i64;
    case TensorMapType::u64: return Number::u64;
    case TensorMapType::f32: return Number::f32;
    case TensorMapType::f64: return Number::f64;
    case TensorMapType::u16: return Number::u16;
    default: return std::nullopt;
  }
}

// Sums are exact in double precision, of bf16 where the terms are less than 2^45 apart, so that they are rounded once.
uint16_t combine(AtomicOp op, TensorMapType type, uint16_t a, uint16_t b) {
  const bool half = type == TensorMapType::f16;
  const double x = half ? f16_value(a) : bf16_value(a), y = half ? f16_value(b) : bf16_value(b);
  if (op == AtomicOp::min) return y < x ? b : a;
  if (op == AtomicOp::max) return x < y ? b : a;
  return half ? f16_bits(x + y) : bf16_bits(x + y);
}

}  // namespace

void reduce_elements(AtomicOp op, TensorMapType type, void* to, const void* from, unsigned bytes) {
  const auto size = unsigned(cuda::bytes_of(type));
  const std::optional<Number> number = number_of(type);
  for (unsigned at = 0; at < bytes; at += size) {
    auto* const place = static_cast<unsigned char*>(to) + at;
    uint64_t x = 0;
    std::memcpy(&x, static_cast<const unsigned char*>(from) + at, size);
    if (number) {
      execute_atomic(op, *number, place, x, 0);
      continue;
    }
    // Reading is an exchange of nothing.
    uint64_t before = execute_atomic(AtomicOp::compare_exchange, Number::u16, place, 0, 0), seen = before;
    do {
      before = seen;
      const uint16_t after = combine(op, type, uint16_t(before), uint16_t(x));
      seen = execute_atomic(AtomicOp::compare_exchange, Number::u16, place, after, before);
    } while (seen != before);
  }
}

}  // namespace tilewright::sim
