// One GPU: its properties, memory, modules and launches. Everything works in the device's primary context, which is the
// one that the CUDA run time and PyTorch use, and leaves the caller's current context as it was.
#pragma once

#include "runtime/cuda/driver.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tilewright::cuda {

struct DeviceProperties {
  int ordinal = 0;
  std::string name;
  int capability_major = 0, capability_minor = 0;
  int num_sms = 0;
  int warp_size = 0;
  int max_threads_per_block = 0, max_threads_per_sm = 0;
  int max_shared_bytes_per_block = 0;  // static and dynamic together, after opting in
  int shared_bytes_per_sm = 0;
  int registers_per_sm = 0;
  int l2_bytes = 0;
  int clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  uint64_t memory_bytes = 0;

  // The name that a compiler takes: with the suffix "a" from 9.0 on, as only then it has all instructions.
  std::string arch() const;
};

// The block of a launch and where it runs. Shared memory beyond 48 KiB must be allowed first (Kernel::allow_shared).
struct LaunchConfig {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::array<uint32_t, 3> cluster = {0, 0, 0};  // 0: none, or what the kernel was compiled with
  bool programmatic = false;                    // may start before the kernel in front of it ends (griddepcontrol)
  bool cooperative = false;                     // all blocks are resident at once
  Stream stream = nullptr;                      // the caller's; null is the default stream
};

class Device;

// A kernel of a loaded module, which it keeps loaded.
class Kernel {
 public:
  // `parameters`: one pointer to each argument's value, in order. Adds to the stream and returns; graph capture works.
  // A grid without blocks does nothing.
  void launch(const LaunchConfig& config, std::span<void* const> parameters) const;

  int attribute(FunctionAttribute attribute) const;
  // Allows launches with so many bytes of dynamic shared memory. Throws an Error (unsupported) beyond what the device
  // has.
  void allow_shared(int dynamic_bytes);
  // Allows clusters of more than 8 blocks.
  void allow_large_clusters();
  int max_blocks_per_sm(int block_threads, size_t dynamic_shared_bytes) const;
  // How many clusters of the launch fit on the device at once.
  int max_active_clusters(const LaunchConfig& config) const;

  const std::string& name() const { return name_; }

 private:
  friend class Module;
  Kernel(std::shared_ptr<const Device> device, std::shared_ptr<void> module, FunctionHandle function, std::string name)
      : device_(std::move(device)), module_(std::move(module)), function_(function), name_(std::move(name)) {}

  std::shared_ptr<const Device> device_;
  std::shared_ptr<void> module_;
  FunctionHandle function_;
  std::string name_;
};

// Machine code on a device.
class Module {
 public:
  // Throws an Error (internal) when there is no such kernel.
  Kernel kernel(const std::string& name) const;

 private:
  friend class Device;
  Module(std::shared_ptr<const Device> device, std::shared_ptr<void> handle)
      : device_(std::move(device)), handle_(std::move(handle)) {}

  std::shared_ptr<const Device> device_;
  std::shared_ptr<void> handle_;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Throws an Error: `toolchain` when the driver cannot start or there is no device, `invalid_argument` for a number
  // beyond the devices there are.
  static std::shared_ptr<const Device> open(std::shared_ptr<const Driver> driver, int ordinal);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  const DeviceProperties& properties() const { return properties_; }
  const Driver& driver() const { return *driver_; }
  ContextHandle context() const { return context_; }

  Module load(const std::string& cubin) const;
  // Waits for everything on the device; throws what a kernel did wrong.
  void synchronize() const;

 private:
  Device(std::shared_ptr<const Driver> driver, DeviceHandle handle) : driver_(std::move(driver)), handle_(handle) {}

  std::shared_ptr<const Driver> driver_;
  DeviceHandle handle_;
  ContextHandle context_ = nullptr;
  DeviceProperties properties_;
};

// Makes the context of a device current for a scope. Costs one call of the driver where it is already.
class CurrentContext {
 public:
  explicit CurrentContext(const Device& device);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace tilewright::cuda
