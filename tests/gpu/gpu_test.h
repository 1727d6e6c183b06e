// Kernels on the GPU of this machine. Without a GPU they are still compiled where NVRTC is installed, then the test
// skips.
#pragma once

#if defined(TILEWRIGHT_SIMULATED_GPU)
#include "sim/simulated_gpu.h"
#else
#include "gpu/chip_record.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::test {

// A typed array on the device.
template <class T>
class Array {
 public:
  Array(std::shared_ptr<const cuda::Device> device, size_t size) : buffer_(std::move(device), size * sizeof(T)) {
    buffer_.fill(0xcd);  // what is not written is seen
  }
  Array(std::shared_ptr<const cuda::Device> device, const std::vector<T>& values)
      : buffer_(std::move(device), values.size() * sizeof(T)) {
    buffer_.write(std::as_bytes(std::span(values)));
  }
  std::vector<T> read() const {
    std::vector<T> out(buffer_.num_bytes() / sizeof(T));
    buffer_.read(std::as_writable_bytes(std::span(out)));
    ChipRecord::write(std::as_bytes(std::span(out)));
    return out;
  }
  cuda::DeviceAddress address() const { return buffer_.address(); }

 private:
  cuda::DeviceBuffer buffer_;
};

// Whether two vectors agree; the message has the first places where they do not.
template <class T>
testing::AssertionResult same(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) {
    return testing::AssertionFailure() << got.size() << " elements instead of " << want.size();
  }
  size_t different = 0;
  auto out = testing::AssertionFailure();
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || ++different > 8) continue;
    out << "[" << i << "] " << +got[i] << " instead of " << +want[i] << "; ";
  }
  if (different == 0) return testing::AssertionSuccess();
  return out << different << " of " << got.size() << " elements differ";
}

template <class T>
cuda::DeviceAddress to_parameter(const Array<T>& array) {
  return array.address();
}
template <class T>
T to_parameter(const T& value) {
  return value;
}

class GpuTest : public testing::Test {
 protected:
  using Kernel = cuda::Kernel;
  // What all tests of the process share.
  struct Machine {
    std::shared_ptr<const cuda::Driver> driver;
    std::shared_ptr<const cuda::Device> device;  // null without a GPU
    std::optional<cuda::Nvrtc> nvrtc;
    std::string why_not;  // there is no GPU, or no compiler
  };
  static Machine& machine();

  // Skips where kernels can be neither compiled nor run.
  void SetUp() override;

  // Compiles text for the GPU, for sm_90a without one. The log must have nothing against the kernels. Empty without a
  // GPU: `TW_SKIP_WITHOUT` then ends the test as skipped.
  std::optional<cuda::Module> module(const std::string& text);
  // For a kernel whose log may have advisories.
  std::optional<cuda::Module> module(const std::string& text, cuda::CompileLog* log);

  template <class T>
  Array<T> array(const std::vector<T>& values) {
    return Array<T>(machine().device, values);
  }
  template <class T>
  Array<T> array(size_t size) {
    return Array<T>(machine().device, size);
  }

  // Launches on the default stream and waits.
  template <class... Parameters>
  void run(const cuda::Kernel& kernel, const cuda::LaunchConfig& config, const Parameters&... parameters) {
    launch(kernel, config, parameters...);
    machine().device->synchronize();
  }
  template <class... Parameters>
  void launch(const cuda::Kernel& kernel, const cuda::LaunchConfig& config, const Parameters&... parameters) {
    auto values = std::make_tuple(to_parameter(parameters)...);
    std::apply(
        [&](auto&... each) {
          void* const pointers[] = {&each...};
          kernel.launch(config, pointers);
        },
        values);
  }
};

}  // namespace tilewright::test

#define TW_SKIP_WITHOUT(module) \
  if (!(module)) GTEST_SKIP() << "compiled, not run: " << machine().why_not
#endif
