// What a program must give, from the interpreter: results, and how far from them a backend may be.
#pragma once

#include "ops/op_table.h"

#include <string>
#include <vector>

namespace tilewright::tests {

struct Tracked {
  Args after;                               // what the interpreter wrote
  std::vector<std::vector<double>> bounds;  // of each argument and element (InterpResult::bounds)
};

// Runs `program` on a copy of `args` in tracked mode. What it prints is appended to `printed`, if there is one.
Tracked interpret_tracked(const Program& program, const Args& args, std::string* printed = nullptr);

// Empty when every element of `got` is within the bounds and nothing else was written; otherwise the first that is not.
std::string difference(const Tracked& want, const Args& got);

}  // namespace tilewright::tests
