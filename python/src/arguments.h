// What a launch takes, from arrays of any Python package.
#pragma once

#include "convert.h"

#include <tilewright/runtime.h>

#include <optional>
#include <string>

namespace tilewright::python {

// Keeps what an argument points to alive until the launch is over.
struct HeldArgument {
  Argument argument;
  nb::object keep;
  bool read_only = false;
};
// Numbers, torch tensors, what has the buffer protocol, numpy arrays of ml_dtypes, and what speaks DLPack.
HeldArgument to_argument(nb::handle value);

}  // namespace tilewright::python
