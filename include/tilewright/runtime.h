// What a launch takes: views of tensors and scalar values.
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/error.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright {

// Takes the text of one T::print, lines with their ends. Never called from two threads at once by one kernel.
using PrintHook = std::function<void(std::string_view text)>;

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

// One launch argument: a tensor, or the value of a scalar parameter.
using Argument = std::variant<TensorView, int64_t, double>;

}  // namespace tilewright
