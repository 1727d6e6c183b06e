// The CUDA driver: loaded, checked, and its failures as Errors.
#pragma once

#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/shared_library.h"

#include <tilewright/error.h>

#include <memory>
#include <string>
#include <string_view>

namespace tilewright::cuda {

class Driver {
 public:
  // Loads the library and finds every function; starts nothing. Throws an Error (toolchain) when it is not installed or
  // older than CUDA 12.0.
  static std::shared_ptr<const Driver> load(const LibraryOptions& options);

  // The highest version of CUDA that it supports: 12040 is 12.4.
  int version() const { return version_; }
  const std::filesystem::path& path() const { return library_.path(); }
  const DriverApi& api() const { return api_; }

  // Starts the driver. Throws an Error (toolchain) where it cannot start: no device, kernel module not loaded, ...
  int num_devices() const;

  // Does nothing on status 0; otherwise throws `error`.
  void check(int status, std::string_view call) const {
    if (status != 0) [[unlikely]]
      throw error(status, call);
  }
  // Names the call, the driver's name for the status and its text. `toolchain` where the machine is the cause (memory,
  // device, driver), `internal` where a kernel or a call of ours is.
  Error error(int status, std::string_view call) const;

 private:
  explicit Driver(SharedLibrary library);

  SharedLibrary library_;
  DriverApi api_;
  int version_ = 0;
};

}  // namespace tilewright::cuda
