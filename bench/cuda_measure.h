// What the benchmarks of NVIDIA GPUs share.
#pragma once

#include "measure.h"

#include "driver/session.h"
#include "runtime/cuda/memory.h"

#include "target/dtype.h"

#include <tilewright/compile.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace bench {

// One launch with a cold L2 cache, in milliseconds.
inline double cold_ms(const std::function<void()>& f) {
  using namespace tilewright;
  const auto device = Session::get().gpu();
  static cuda::DeviceBuffer flush(device, size_t(2) * size_t(device->properties().l2_bytes));
  flush.fill(0);
  cuda::Event begin(device), end(device);
  begin.record(nullptr);
  f();
  end.record(nullptr);
  end.synchronize();
  return double(end.ms_since(begin));
}

// No power of two, which keeps neighbours different.
inline constexpr int64_t kNormalPeriod = 1000003;

// N(0, 1), repeated from kNormalPeriod on, which costs little.
inline std::vector<std::byte> normal_bytes(tilewright::DType dtype, int64_t count, uint64_t seed) {
  const int64_t size = tilewright::bytes_of(dtype);
  std::vector<std::byte> bytes(size_t(count * size));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const int64_t filled = std::min(count, kNormalPeriod);
  for (int64_t i = 0; i < filled; ++i) tilewright::store_float(dtype, bytes.data() + i * size, normal(random));
  for (int64_t done = filled; done < count; done += filled) {
    std::memcpy(bytes.data() + done * size, bytes.data(), size_t(std::min(filled, count - done) * size));
  }
  return bytes;
}

}  // namespace bench
