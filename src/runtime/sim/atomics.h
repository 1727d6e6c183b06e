// Atomic operations on memory of any block: blocks run in several threads of the host.
#pragma once

#include <tilewright/device/sim/hooks.h>

namespace tilewright::sim {

// The bits from before. `x` and `expected` hold the bits of a number of `type` in their low bytes.
unsigned long long execute_atomic(device::sim::AtomicOp op, device::sim::Number type, void* at, unsigned long long x,
                                  unsigned long long expected);

constexpr unsigned bytes_of(device::sim::Number type) {
  using device::sim::Number;
  switch (type) {
    case Number::i64:
    case Number::u64:
    case Number::f64: return 8;
    case Number::u16: return 2;
    default: return 4;
  }
}

}  // namespace tilewright::sim
