// What a launch takes: views of tensors and scalar values.
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/error.h>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace tilewright {

enum class DeviceKind : uint8_t { cpu, cuda };

// A tensor in memory, owned by the caller. `strides` are in elements; empty means contiguous row-major.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};
  DeviceKind device = DeviceKind::cpu;
  int device_index = 0;
};

// Makes every launch that runs now stop: blocks that have not begun do not begin, and while loops are left. Those
// launches throw an Error; their outputs are undefined; everything can be used afterwards. May be called from a signal
// handler (std::signal(SIGINT, [](int) { tilewright::interrupt_launches(); })) and from any thread.
void interrupt_launches() noexcept;

// One launch argument: a tensor, or the value of a scalar parameter.
using Argument = std::variant<TensorView, int64_t, double>;

}  // namespace tilewright
