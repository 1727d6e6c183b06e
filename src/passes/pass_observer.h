// Who watches a pipeline.
#pragma once

#include "ir/kernel.h"

#include <functional>

namespace tilewright::passes {

// Called behind each pass with its name, what it gave, and how long it took. May be empty.
using PassObserver = std::function<void(const char* pass, const ir::Program& program, double milliseconds)>;

}  // namespace tilewright::passes
