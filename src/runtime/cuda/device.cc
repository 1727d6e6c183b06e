#include "runtime/cuda/device.h"

#include "support/error.h"

namespace tilewright::cuda {
namespace {

// At most cluster, programmatic, cooperative.
struct DriverLaunch {
  DriverLaunchConfig config = {};
  std::array<LaunchAttribute, 3> attributes = {};

  // Points into itself: stays where it was made.
  explicit DriverLaunch(const LaunchConfig& from) {
    for (size_t i = 0; i < 3; ++i) {
      config.grid[i] = from.grid[i];
      config.block[i] = from.block[i];
    }
    config.dynamic_shared_bytes = from.dynamic_shared_bytes;
    config.stream = from.stream;
    config.attributes = attributes.data();
    if (from.cluster[0] != 0) {
      LaunchAttribute& cluster = add(kLaunchCluster);
      for (size_t i = 0; i < 3; ++i) cluster.cluster[i] = from.cluster[i];
    }
    if (from.programmatic) add(kLaunchProgrammaticSerialization).flag = 1;
    if (from.cooperative) add(kLaunchCooperative).flag = 1;
  }
  DriverLaunch(const DriverLaunch&) = delete;
  DriverLaunch& operator=(const DriverLaunch&) = delete;

 private:
  LaunchAttribute& add(int id) {
    LaunchAttribute& out = attributes[config.num_attributes++];
    out.id = id;
    return out;
  }
};

DeviceProperties read_properties(const Driver& driver, DeviceHandle handle, int ordinal) {
  const DriverApi& api = driver.api();
  const auto get = [&](DeviceAttribute attribute) {
    int value = 0;
    driver.check(api.cuDeviceGetAttribute(&value, int(attribute), handle), "cuDeviceGetAttribute");
    return value;
  };
  char name[256] = {};
  driver.check(api.cuDeviceGetName(name, int(sizeof(name)) - 1, handle), "cuDeviceGetName");
  size_t memory_bytes = 0;
  driver.check(api.cuDeviceTotalMem(&memory_bytes, handle), "cuDeviceTotalMem");
  return {.ordinal = ordinal,
          .name = name,
          .capability_major = get(DeviceAttribute::capability_major),
          .capability_minor = get(DeviceAttribute::capability_minor),
          .num_sms = get(DeviceAttribute::num_sms),
          .warp_size = get(DeviceAttribute::warp_size),
          .max_threads_per_block = get(DeviceAttribute::max_threads_per_block),
          .max_threads_per_sm = get(DeviceAttribute::max_threads_per_sm),
          .max_shared_bytes_per_block = get(DeviceAttribute::max_shared_bytes_per_block),
          .shared_bytes_per_sm = get(DeviceAttribute::shared_bytes_per_sm),
          .registers_per_sm = get(DeviceAttribute::registers_per_sm),
          .l2_bytes = get(DeviceAttribute::l2_bytes),
          .clock_khz = get(DeviceAttribute::clock_khz),
          .memory_clock_khz = get(DeviceAttribute::memory_clock_khz),
          .memory_bus_bits = get(DeviceAttribute::memory_bus_bits),
          .memory_bytes = memory_bytes};
}

std::string to_text(const std::array<uint32_t, 3>& extents) {
  return fmt::format("({}, {}, {})", extents[0], extents[1], extents[2]);
}

}  // namespace

std::string DeviceProperties::arch() const {
  return fmt::format("sm_{}{}{}", capability_major, capability_minor, capability_major >= 9 ? "a" : "");
}

// ---- Device ----

std::shared_ptr<const Device> Device::open(std::shared_ptr<const Driver> driver, int ordinal) {
  const int count = driver->num_devices();
  if (count == 0) {
    throw toolchain_error("the CUDA driver finds no GPU").hint("CUDA_VISIBLE_DEVICES or the container may hide it");
  }
  if (ordinal < 0 || ordinal >= count) {
    throw invalid_argument("there is no GPU {}", ordinal)
        .hint(count == 1 ? "the only one is 0" : fmt::format("they are numbered from 0 to {}", count - 1));
  }
  DeviceHandle handle = 0;
  driver->check(driver->api().cuDeviceGet(&handle, ordinal), "cuDeviceGet");
  auto out = std::shared_ptr<Device>(new Device(driver, handle));
  out->properties_ = read_properties(*driver, handle, ordinal);
  driver->check(driver->api().cuDevicePrimaryCtxRetain(&out->context_, handle), "cuDevicePrimaryCtxRetain");
  return out;
}

Device::~Device() {
  // At the end of the process the driver may be gone already, which it then says.
  if (context_ != nullptr) driver_->api().cuDevicePrimaryCtxRelease(handle_);
}

Module Device::load(const std::string& cubin) const {
  const CurrentContext current(*this);
  const auto device = shared_from_this();
  ModuleHandle module = nullptr;
  if (const int status = driver_->api().cuModuleLoadData(&module, cubin.data()); status != 0) {
    throw driver_->error(status, "loading a kernel")
        .note(fmt::format("device {}, {}; the driver supports CUDA {}.{}", properties_.name, properties_.arch(),
                          driver_->version() / 1000, driver_->version() % 1000 / 10));
  }
  const auto unload = [device](void* handle) {
    const DriverApi& api = device->driver().api();
    if (api.cuCtxPushCurrent(device->context()) != 0) return;  // the driver has shut down
    api.cuModuleUnload(static_cast<ModuleHandle>(handle));
    ContextHandle ignored = nullptr;
    api.cuCtxPopCurrent(&ignored);
  };
  return Module(device, std::shared_ptr<void>(module, unload));
}

void Device::synchronize() const {
  const CurrentContext current(*this);
  driver_->check(driver_->api().cuCtxSynchronize(), "running kernels");
}

CurrentContext::CurrentContext(const Device& device) : driver_(device.driver()) {
  ContextHandle current = nullptr;
  driver_.check(driver_.api().cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == device.context()) return;
  driver_.check(driver_.api().cuCtxPushCurrent(device.context()), "cuCtxPushCurrent");
  pushed_ = true;
}

CurrentContext::~CurrentContext() {
  ContextHandle ignored = nullptr;
  if (pushed_) driver_.api().cuCtxPopCurrent(&ignored);
}

// ---- Module and Kernel ----

Kernel Module::kernel(const std::string& name) const {
  const CurrentContext current(*device_);
  const Driver& driver = device_->driver();
  FunctionHandle function = nullptr;
  const int status =
      driver.api().cuModuleGetFunction(&function, static_cast<ModuleHandle>(handle_.get()), name.c_str());
  if (status != 0) throw driver.error(status, fmt::format("finding the kernel {} in its module", name));
  return Kernel(device_, handle_, function, name);
}

void Kernel::launch(const LaunchConfig& config, std::span<void* const> parameters) const {
  if (config.grid[0] == 0 || config.grid[1] == 0 || config.grid[2] == 0) return;  // the driver refuses it
  const CurrentContext current(*device_);
  const DriverLaunch launch(config);
  const int status = device_->driver().api().cuLaunchKernelEx(&launch.config, function_,
                                                              const_cast<void**>(parameters.data()), nullptr);
  if (status == 0) [[likely]]
    return;
  throw device_->driver()
      .error(status, fmt::format("launching {}", name_))
      .note(fmt::format("grid {}, block {}, cluster {}, {} bytes of dynamic shared memory", to_text(config.grid),
                        to_text(config.block), to_text(config.cluster), config.dynamic_shared_bytes));
}

int Kernel::attribute(FunctionAttribute attribute) const {
  const CurrentContext current(*device_);
  int value = 0;
  device_->driver().check(device_->driver().api().cuFuncGetAttribute(&value, int(attribute), function_),
                          "cuFuncGetAttribute");
  return value;
}

void Kernel::allow_shared(int dynamic_bytes) {
  const int limit = device_->properties().max_shared_bytes_per_block;
  const int static_bytes = attribute(FunctionAttribute::static_shared_bytes);
  if (dynamic_bytes > limit - static_bytes) {
    throw unsupported({}, "{} needs {} bytes of shared memory, but a block on {} has {}", name_,
                      int64_t(dynamic_bytes) + static_bytes, device_->properties().name, limit)
        .hint("smaller tiles or fewer stages");
  }
  const CurrentContext current(*device_);
  device_->driver().check(device_->driver().api().cuFuncSetAttribute(
                              function_, int(FunctionAttribute::max_dynamic_shared_bytes), dynamic_bytes),
                          "cuFuncSetAttribute");
}

void Kernel::allow_large_clusters() {
  const CurrentContext current(*device_);
  device_->driver().check(
      device_->driver().api().cuFuncSetAttribute(function_, int(FunctionAttribute::non_portable_cluster_size), 1),
      "cuFuncSetAttribute");
}

int Kernel::max_blocks_per_sm(int block_threads, size_t dynamic_shared_bytes) const {
  const CurrentContext current(*device_);
  int out = 0;
  device_->driver().check(device_->driver().api().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                              &out, function_, block_threads, dynamic_shared_bytes),
                          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return out;
}

int Kernel::max_active_clusters(const LaunchConfig& config) const {
  const CurrentContext current(*device_);
  const DriverLaunch launch(config);
  int out = 0;
  device_->driver().check(device_->driver().api().cuOccupancyMaxActiveClusters(&out, function_, &launch.config),
                          "cuOccupancyMaxActiveClusters");
  return out;
}

}  // namespace tilewright::cuda
