// What a launch takes: views of tensors and scalar values.
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

// Makes every launch that runs now stop: blocks that have not begun do not begin, and while loops are left. Those
// launches throw an Error; their outputs are undefined; everything can be used afterwards. May be called from a signal
// handler (std::signal(SIGINT, [](int) { tilewright::interrupt_launches(); })) and from any thread.
void interrupt_launches() noexcept;

// One launch argument: a tensor, or the value of a scalar parameter.
using Argument = std::variant<TensorView, int64_t, double>;

// Memory of a GPU, for tensors of kernels that run there. Copies share it.
class DeviceMemory {
 public:
  // Throws Error{toolchain} without a driver or a device, or when there is too little memory.
  explicit DeviceMemory(size_t num_bytes, int device_index = 0);
  // Aligned to 256 bytes; null for no bytes. Not to be read by the host.
  void* data() const;
  size_t num_bytes() const;
  // All bytes at once; return when they are copied.
  void upload(const void* from) const;
  void download(void* to) const;
  void fill(uint8_t value) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tilewright
