// The main job: the quickstart kernel on a device, checked against f64 and timed.
#pragma once

#include <tilewright/dtype.h>

#include <cstdint>
#include <string>

namespace tw {

struct DemoOptions {
  int64_t m = 1024, n = 1024, k = 1024;
  int block_m = 128, block_n = 128, block_k = 32;
  std::string dtype = "f16";
  std::string target = "auto";
  bool json = false;
};

// Prints what it did, or with json one object on stdout. Returns the exit status: 0 right, 1 wrong result.
int run_demo(const DemoOptions& options);

}  // namespace tw
