#include "runtime/cuda/memory.h"

#include "support/error.h"

namespace tilewright::cuda {
namespace {

// Of CUstream_flags.
constexpr unsigned kNonBlocking = 1;

void check_size(const char* what, size_t given, size_t size) {
  if (given > size) throw internal_error({}, "{} {} bytes of a device buffer of {}", what, given, size);
}

}  // namespace

// ---- DeviceBuffer ----

DeviceBuffer::DeviceBuffer(std::shared_ptr<const Device> device, size_t num_bytes)
    : device_(std::move(device)), num_bytes_(num_bytes) {
  if (num_bytes == 0) return;
  const CurrentContext current(*device_);
  if (const int status = device_->driver().api().cuMemAlloc(&address_, num_bytes); status != 0) {
    throw device_->driver().error(status, fmt::format("allocating {} bytes on the GPU", num_bytes));
  }
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ == 0) return;
  const DriverApi& api = device_->driver().api();
  if (api.cuCtxPushCurrent(device_->context()) != 0) return;  // the driver has shut down
  api.cuMemFree(address_);
  ContextHandle ignored = nullptr;
  api.cuCtxPopCurrent(&ignored);
}

void DeviceBuffer::write(std::span<const std::byte> from, Stream stream) {
  check_size("writing", from.size(), num_bytes_);
  if (num_bytes_ == 0) return;
  const CurrentContext current(*device_);
  const Driver& driver = device_->driver();
  driver.check(driver.api().cuMemcpyHtoDAsync(address_, from.data(), from.size(), stream), "copying to the GPU");
  driver.check(driver.api().cuStreamSynchronize(stream), "copying to the GPU");
}

void DeviceBuffer::read(std::span<std::byte> to, Stream stream) const {
  check_size("reading", to.size(), num_bytes_);
  if (num_bytes_ == 0) return;
  const CurrentContext current(*device_);
  const Driver& driver = device_->driver();
  driver.check(driver.api().cuMemcpyDtoHAsync(to.data(), address_, to.size(), stream), "copying from the GPU");
  driver.check(driver.api().cuStreamSynchronize(stream), "copying from the GPU");
}

void DeviceBuffer::fill(uint8_t value, Stream stream) {
  if (num_bytes_ == 0) return;
  const CurrentContext current(*device_);
  const Driver& driver = device_->driver();
  driver.check(driver.api().cuMemsetD8Async(address_, value, num_bytes_, stream), "filling memory of the GPU");
  driver.check(driver.api().cuStreamSynchronize(stream), "filling memory of the GPU");
}

// ---- OwnedStream ----

OwnedStream::OwnedStream(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  const CurrentContext current(*device_);
  device_->driver().check(device_->driver().api().cuStreamCreate(&stream_, kNonBlocking), "cuStreamCreate");
}

OwnedStream::~OwnedStream() { device_->driver().api().cuStreamDestroy(stream_); }

void OwnedStream::synchronize() const {
  const CurrentContext current(*device_);
  device_->driver().check(device_->driver().api().cuStreamSynchronize(stream_), "running kernels");
}

bool is_capturing(const Device& device, Stream stream) {
  const CurrentContext current(device);
  int status = 0;
  device.driver().check(device.driver().api().cuStreamIsCapturing(stream, &status), "asking for a stream's state");
  return status != 0;
}

// ---- Event ----

Event::Event(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  const CurrentContext current(*device_);
  device_->driver().check(device_->driver().api().cuEventCreate(&event_, 0), "cuEventCreate");
}

Event::~Event() { device_->driver().api().cuEventDestroy(event_); }

void Event::record(Stream stream) {
  const CurrentContext current(*device_);
  device_->driver().check(device_->driver().api().cuEventRecord(event_, stream), "cuEventRecord");
}

void Event::synchronize() const {
  const CurrentContext current(*device_);
  device_->driver().check(device_->driver().api().cuEventSynchronize(event_), "running kernels");
}

float Event::ms_since(const Event& begin) const {
  const CurrentContext current(*device_);
  float out = 0;
  device_->driver().check(device_->driver().api().cuEventElapsedTime(&out, begin.event_, event_), "cuEventElapsedTime");
  return out;
}

}  // namespace tilewright::cuda
