// The driver's calls, against a fake that records them.
#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"

#include "cuda/fake_driver.h"
#include "cuda/fake_library.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace tilewright::cuda {
namespace {

using test::FakeRecord;
using test::TestFolder;

template <class Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "");
}

class FakeDriverTest : public testing::Test {
 protected:
  std::shared_ptr<const Driver> load(const std::vector<std::string>& defines = {}) {
    const auto path = folder_.path() / "libcuda.so.1";
    test::build_library(path, test::kFakeDriver, defines);
    LibraryOptions options;
    options.driver = path;
    auto driver = Driver::load(options);
    // The library is loaded; its record is found through it.
    FakeRecord* (*get_record)() = nullptr;
    SharedLibrary::open(driver_search(options)).bind(get_record, "fake_record");
    record = get_record();
    return driver;
  }
  FakeRecord* record = nullptr;

 private:
  const TestFolder folder_;
};

TEST_F(FakeDriverTest, OldDriverIsRefusedWithItsVersion) {
  const Error error = error_of([&] { load({"VERSION=11080"}); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "the CUDA driver supports CUDA 11.8; 12.0 or later is needed");
}

TEST_F(FakeDriverTest, MissingFunctionIsNamed) {
  const Error error = error_of([&] { load({"NO_LAUNCH"}); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_NE(error.message().find("it has no cuLaunchKernelEx"), std::string::npos) << error.message();
}

TEST_F(FakeDriverTest, DriverThatCannotStartSaysWhy) {
  const auto driver = load({"INIT_STATUS=100"});
  const Error error = error_of([&] { Device::open(driver, 0); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "cuInit failed: CUDA_ERROR_NO_DEVICE (100), said by the fake");
  EXPECT_NE(error.hint().find("CUDA_VISIBLE_DEVICES"), std::string::npos);
}

TEST_F(FakeDriverTest, NoDeviceAndDeviceOutOfRange) {
  EXPECT_EQ(error_of([&] { Device::open(load({"DEVICES=0"}), 0); }).kind(), ErrorKind::toolchain);
}

TEST_F(FakeDriverTest, DeviceOutOfRangeNamesTheRange) {
  const Error error = error_of([&] { Device::open(load(), 2); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error.message(), "there is no GPU 2");
  EXPECT_EQ(error.hint(), "they are numbered from 0 to 1");
}

TEST_F(FakeDriverTest, PropertiesAndArchitecture) {
  const auto device = Device::open(load(), 1);
  EXPECT_EQ(device->properties().name, "Fake GPU");
  EXPECT_EQ(device->properties().arch(), "sm_90a");
  EXPECT_EQ(device->properties().num_sms, 132);
  EXPECT_EQ(device->properties().memory_bytes, uint64_t(141) << 30);
  DeviceProperties older;
  older.capability_major = 8;
  older.capability_minor = 6;
  EXPECT_EQ(older.arch(), "sm_86");
}

TEST_F(FakeDriverTest, LaunchPassesTheConfiguration) {
  const auto device = Device::open(load(), 0);
  const Kernel kernel = device->load("cubin").kernel("k");
  int argument = 5;
  void* const parameters[] = {&argument};
  const auto stream = reinterpret_cast<Stream>(0x1234);
  kernel.launch({.grid = {7, 8, 9},
                 .block = {128, 2, 1},
                 .dynamic_shared_bytes = 4096,
                 .cluster = {2, 1, 1},
                 .programmatic = true,
                 .cooperative = true,
                 .stream = stream},
                parameters);
  EXPECT_EQ((std::array{record->grid[0], record->grid[1], record->grid[2]}), (std::array{7u, 8u, 9u}));
  EXPECT_EQ((std::array{record->block[0], record->block[1], record->block[2]}), (std::array{128u, 2u, 1u}));
  EXPECT_EQ(record->dynamic_shared_bytes, 4096u);
  EXPECT_EQ(record->stream, stream);
  EXPECT_EQ(record->parameters, &argument);
  ASSERT_EQ(record->num_attributes, 3u);
  EXPECT_EQ(record->attribute_ids[0], 4);
  EXPECT_EQ(record->attribute_values[0][0], 2u);
  EXPECT_EQ(record->attribute_values[0][2], 1u);
  EXPECT_EQ(record->attribute_ids[1], 6);
  EXPECT_EQ(record->attribute_values[1][0], 1u);
  EXPECT_EQ(record->attribute_ids[2], 2);
  kernel.launch({}, parameters);
  EXPECT_EQ(record->num_attributes, 0u);
  kernel.launch({.grid = {5, 0, 1}}, parameters);  // nothing to do
  EXPECT_EQ(record->grid[0], 1u);
}

TEST_F(FakeDriverTest, CallersContextIsRestored) {
  const auto device = Device::open(load(), 0);
  const Kernel kernel = device->load("cubin").kernel("k");
  void* const parameters[] = {nullptr};
  kernel.launch({}, parameters);
  device->synchronize();
  EXPECT_GT(record->contexts_pushed, 0);
  EXPECT_EQ(record->contexts_pushed, record->contexts_popped);
  // Where the context is current already, nothing is pushed.
  const CurrentContext current(*device);
  const int pushed = record->contexts_pushed;
  kernel.launch({}, parameters);
  EXPECT_EQ(record->contexts_pushed, pushed);
}

TEST_F(FakeDriverTest, FailedLaunchNamesKernelAndConfiguration) {
  const auto device = Device::open(load({"LAUNCH_STATUS=700"}), 0);
  const Kernel kernel = device->load("cubin").kernel("k");
  void* const parameters[] = {nullptr};
  const Error error = error_of([&] { kernel.launch({.grid = {3, 1, 1}}, parameters); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_EQ(error.message(), "launching k failed: CUDA_ERROR_ILLEGAL_ADDRESS (700), said by the fake");
  ASSERT_EQ(error.notes().size(), 1u);
  EXPECT_EQ(error.notes()[0].text,
            "grid (3, 1, 1), block (1, 1, 1), cluster (0, 0, 0), 0 bytes of dynamic shared memory");
}

TEST_F(FakeDriverTest, UnknownKernelAndUnloadableModule) {
  const auto device = Device::open(load(), 0);
  const Error missing = error_of([&] { device->load("cubin").kernel("other"); });
  EXPECT_EQ(missing.kind(), ErrorKind::internal);
  EXPECT_NE(missing.message().find("finding the kernel other in its module"), std::string::npos);
  const Error image = error_of([&] { device->load("X"); });
  EXPECT_EQ(image.kind(), ErrorKind::toolchain);
  EXPECT_NE(image.hint().find("another architecture"), std::string::npos);
}

TEST_F(FakeDriverTest, ModuleLivesAsLongAsItsKernels) {
  const auto device = Device::open(load(), 0);
  {
    const Kernel kernel = device->load("cubin").kernel("k");
    EXPECT_EQ(record->modules_unloaded, 0);
  }
  EXPECT_EQ(record->modules_unloaded, 1);
  EXPECT_EQ(record->contexts_pushed, record->contexts_popped);
}

TEST_F(FakeDriverTest, SharedMemoryBeyondTheDeviceIsRefused) {
  const auto device = Device::open(load(), 0);
  Kernel kernel = device->load("cubin").kernel("k");  // 1024 bytes of static shared memory
  kernel.allow_shared(232448 - 1024);
  EXPECT_EQ(record->shared_bytes_set, 232448 - 1024);
  const Error error = error_of([&] { kernel.allow_shared(232448 - 1023); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.message(), "k needs 232449 bytes of shared memory, but a block on Fake GPU has 232448");
  kernel.allow_large_clusters();
  EXPECT_EQ(record->large_clusters_set, 1);
  EXPECT_EQ(kernel.max_blocks_per_sm(256, 0), 8);
  EXPECT_EQ(kernel.max_active_clusters({.cluster = {2, 1, 1}}), 66);
}

TEST_F(FakeDriverTest, BuffersCopyAndFree) {
  const auto device = Device::open(load(), 0);
  {
    DeviceBuffer buffer(device, 8);
    const uint64_t value = 0x1122334455667788;
    buffer.write(std::as_bytes(std::span(&value, 1)));
    uint64_t back = 0;
    buffer.read(std::as_writable_bytes(std::span(&back, 1)));
    EXPECT_EQ(back, value);
    buffer.fill(0xab);
    buffer.read(std::as_writable_bytes(std::span(&back, 1)));
    EXPECT_EQ(back, 0xabababababababab);
    uint32_t half = 0;
    buffer.read(std::as_writable_bytes(std::span(&half, 1)));
    EXPECT_EQ(half, 0xababababu);
    uint64_t more[2] = {};
    EXPECT_EQ(error_of([&] { buffer.read(std::as_writable_bytes(std::span(more))); }).kind(), ErrorKind::internal);
    EXPECT_EQ(error_of([&] { buffer.write(std::as_bytes(std::span(more))); }).kind(), ErrorKind::internal);
    DeviceBuffer moved = std::move(buffer);
    DeviceBuffer empty(device, 0);
    EXPECT_EQ(empty.address(), 0u);
    EXPECT_EQ(record->allocations, 1);
  }
  EXPECT_EQ(record->allocations, 0);
}

TEST_F(FakeDriverTest, OutOfMemoryNamesTheBytes) {
  const auto device = Device::open(load({"ALLOC_STATUS=2"}), 0);
  const Error error = error_of([&] { DeviceBuffer(device, 4096); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "allocating 4096 bytes on the GPU failed: an unknown status (2), said by the fake");
}

}  // namespace
}  // namespace tilewright::cuda
