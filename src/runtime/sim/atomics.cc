#include "runtime/sim/atomics.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tilewright::sim {

using device::sim::AtomicOp;
using device::sim::Number;

namespace {

// -0 is less than 0, as it is for the atoms that compare bits.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  else
    return a < b;
}

template <class T, class Bits>
Bits combine(AtomicOp op, Bits before, Bits x) {
  const T a = std::bit_cast<T>(before), b = std::bit_cast<T>(x);
  switch (op) {
    // Integers wrap around; in their unsigned bits that is defined.
    case AtomicOp::add:
      if constexpr (std::is_floating_point_v<T>)
        return std::bit_cast<Bits>(T(a + b));
      else
        return Bits(before + x);
    case AtomicOp::min: return is_less(b, a) ? x : before;
    case AtomicOp::max: return is_less(a, b) ? x : before;
    case AtomicOp::bit_and: return before & x;
    case AtomicOp::bit_or: return before | x;
    case AtomicOp::bit_xor: return before ^ x;
    default: return x;
  }
}

template <class T, class Bits>
uint64_t update(AtomicOp op, void* at, Bits x, Bits expected) {
  auto* const to = static_cast<Bits*>(at);
  Bits before = __atomic_load_n(to, __ATOMIC_RELAXED);
  for (;;) {
    if (op == AtomicOp::compare_exchange && before != expected) return before;
    const Bits after = op == AtomicOp::compare_exchange ? x : combine<T, Bits>(op, before, x);
    if (__atomic_compare_exchange_n(to, &before, after, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return before;
  }
}

}  // namespace

unsigned long long execute_atomic(AtomicOp op, Number type, void* at, unsigned long long x,
                                  unsigned long long expected) {
  const auto x32 = uint32_t(x), expected32 = uint32_t(expected);
  const uint64_t x64 = x, expected64 = expected;
  switch (type) {
    case Number::i32: return update<int32_t>(op, at, x32, expected32);
    case Number::u32: return update<uint32_t>(op, at, x32, expected32);
    case Number::i64: return update<int64_t>(op, at, x64, expected64);
    case Number::u64: return update<uint64_t>(op, at, x64, expected64);
    case Number::f32: return update<float>(op, at, x32, expected32);
    case Number::f64: return update<double>(op, at, x64, expected64);
    default: return update<uint16_t>(op, at, uint16_t(x), uint16_t(expected));
  }
}

}  // namespace tilewright::sim
