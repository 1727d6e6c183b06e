// The fixture of tests/gpu/ with the simulator in place of the GPU: the same kernels, the same references.
#pragma once

#include "gpu/chip_record.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/tensor_map.h"
#include "runtime/sim/module.h"
#include "runtime/sim/tensor_map.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright::test {

struct SimulatedDevice {
  struct Properties {
    int capability_major = 9;
    std::string arch() const { return "sm_90a"; }
  };
  Properties properties() const { return {}; }
  void synchronize() const {}
};

}  // namespace tilewright::test

namespace tilewright::cuda {

// In place of the driver's.
inline TensorMap encode_tensor_map(const test::SimulatedDevice&, const TensorMapSpec& spec, void* tensor) {
  return sim::encode_tensor_map(spec, tensor);
}

}  // namespace tilewright::cuda

namespace tilewright::test {

// What a test reads on the simulator must be what it read on a chip, bit for bit, except under an OpenOrder.
void compare_with_chip(std::span<const std::byte> bytes);

// A typed array. Copies share it, as parameters of kernels do.
template <class T>
class Array {
 public:
  explicit Array(size_t size) : Array(std::vector<T>(size)) {
    std::memset(values_->data(), 0xcd, size * sizeof(T));  // what is not written is seen
  }
  explicit Array(const std::vector<T>& values) : values_(std::make_shared<std::vector<T>>(values)) {}
  std::vector<T> read() const {
    compare_with_chip(std::as_bytes(std::span(*values_)));
    return *values_;
  }
  T* address() const { return values_->data(); }

 private:
  std::shared_ptr<std::vector<T>> values_;
};

template <class T>
testing::AssertionResult same(const std::vector<T>& got, const std::vector<T>& want) {
  if (got == want) return testing::AssertionSuccess();
  auto out = testing::AssertionFailure() << got.size() << " and " << want.size() << " elements: ";
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    if (got[i] != want[i]) return out << "[" << i << "] " << +got[i] << " instead of " << +want[i];
  }
  return out;
}

template <class T>
T* to_parameter(const Array<T>& array) {
  return array.address();
}
template <class T>
T to_parameter(const T& value) {
  return value;
}

struct SimulatedKernel {
  sim::Code code;
  bool has_arrays = false;  // in shared memory, declared with their size
  bool large_clusters = false;
  void allow_shared(int) {}  // it has enough
  void allow_large_clusters() { large_clusters = true; }
  static int max_active_clusters(const cuda::LaunchConfig&) { return 1; }
};

class SimulatedModule {
 public:
  explicit SimulatedModule(const std::string& text);
  SimulatedKernel kernel(const std::string& name) const { return {code_->kernels()[numbers_.at(name)], has_arrays_}; }

 private:
  std::map<std::string, size_t> numbers_;
  std::shared_ptr<const sim::Module> code_;
  bool has_arrays_ = false;
};

class GpuTest : public testing::Test {
 protected:
  using Kernel = SimulatedKernel;
  struct Machine {
    const SimulatedDevice* device;
    std::string why_not;
  };
  static Machine machine() {
    static const SimulatedDevice device;
    return {&device, ""};
  }
  std::optional<SimulatedModule> module(const std::string& text) { return SimulatedModule(text); }
  template <class T>
  Array<T> array(const std::vector<T>& values) {
    return Array<T>(values);
  }
  template <class T>
  Array<T> array(size_t size) {
    return Array<T>(size);
  }
  template <class... Parameters>
  void run(const SimulatedKernel& kernel, const cuda::LaunchConfig& config, const Parameters&... parameters) {
    auto values = std::make_tuple(to_parameter(parameters)...);
    std::apply([&](auto&... each) { run_blocks(kernel, config, {&each...}); }, values);
  }
  template <class... Parameters>
  void launch(const SimulatedKernel& kernel, const cuda::LaunchConfig& config, const Parameters&... parameters) {
    run(kernel, config, parameters...);
  }

 private:
  static void run_blocks(const SimulatedKernel& kernel, const cuda::LaunchConfig& config, std::vector<void*> arguments);
};

}  // namespace tilewright::test

#define TW_SKIP_WITHOUT(module) ASSERT_TRUE((module).has_value())  // a simulated GPU is never missing
