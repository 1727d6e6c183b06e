// The fixture of tests/gpu/ with the simulator in place of the GPU: the same kernels, the same references.
#pragma once

#include "runtime/cuda/device.h"
#include "runtime/sim/module.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright::test {

// A typed array. Copies share it, as parameters of kernels do.
template <class T>
class Array {
 public:
  explicit Array(size_t size) : Array(std::vector<T>(size)) {
    std::memset(values_->data(), 0xcd, size * sizeof(T));  // what is not written is seen
  }
  explicit Array(const std::vector<T>& values) : values_(std::make_shared<std::vector<T>>(values)) {}
  std::vector<T> read() const { return *values_; }
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

class SimulatedModule {
 public:
  explicit SimulatedModule(const std::string& text);
  const sim::Code& kernel(const std::string& name) const { return code_->kernels()[numbers_.at(name)]; }

 private:
  std::map<std::string, size_t> numbers_;
  std::shared_ptr<const sim::Module> code_;
};

class GpuTest : public testing::Test {
 protected:
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
  void run(const sim::Code& kernel, const cuda::LaunchConfig& config, const Parameters&... parameters) {
    auto values = std::make_tuple(to_parameter(parameters)...);
    std::apply([&](auto&... each) { run_blocks(kernel, config, {&each...}); }, values);
  }

 private:
  static void run_blocks(sim::Code kernel, const cuda::LaunchConfig& config, std::vector<void*> arguments);
};

}  // namespace tilewright::test

#define TW_SKIP_WITHOUT(module) ASSERT_TRUE((module).has_value())  // a simulated GPU is never missing
