// The KERNEL argument of commands: a file with a printed program, or the name of an example.
#pragma once

#include <tilewright/program.h>

#include <string>
#include <vector>

namespace tw {

std::vector<std::string> example_names();
// Throws Error{invalid_argument} when it is neither, and what the parser says for a wrong file. `small`: an example
// with few blocks, for what looks at every access.
tilewright::Program load_kernel(const std::string& argument, bool small = false);

}  // namespace tw
