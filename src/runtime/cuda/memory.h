// Memory of a device, streams and events.
#pragma once

#include "runtime/cuda/device.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tilewright::cuda {

// Bytes of a device's memory; 256-byte aligned. Of 0 bytes the address is 0.
class DeviceBuffer {
 public:
  // Throws an Error (toolchain) when the device has too little free memory.
  DeviceBuffer(std::shared_ptr<const Device> device, size_t num_bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(std::move(other.device_)),
        address_(std::exchange(other.address_, 0)),
        num_bytes_(std::exchange(other.num_bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer();

  DeviceAddress address() const { return address_; }
  size_t num_bytes() const { return num_bytes_; }

  // These wait for the copy or the fill, so that host memory may change afterwards. The first
  // bytes of the buffer, up to all.
  void write(std::span<const std::byte> from, Stream stream = nullptr);
  void read(std::span<std::byte> to, Stream stream = nullptr) const;
  void fill(uint8_t value, Stream stream = nullptr);

 private:
  std::shared_ptr<const Device> device_;
  DeviceAddress address_ = 0;
  size_t num_bytes_ = 0;
};

// A stream of one's own, which does not wait for the default stream.
class OwnedStream {
 public:
  explicit OwnedStream(std::shared_ptr<const Device> device);
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream();

  Stream get() const { return stream_; }
  void synchronize() const;

 private:
  std::shared_ptr<const Device> device_;
  Stream stream_ = nullptr;
};

// Launches into the stream become a graph instead of running.
bool is_capturing(const Device& device, Stream stream);

// A point in a stream, with its time.
class Event {
 public:
  explicit Event(std::shared_ptr<const Device> device);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void record(Stream stream);
  void synchronize() const;
  // Milliseconds from `begin` to this one; both have been recorded and have passed.
  float ms_since(const Event& begin) const;

 private:
  std::shared_ptr<const Device> device_;
  EventHandle event_ = nullptr;
};

}  // namespace tilewright::cuda
