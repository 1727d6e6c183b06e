// What differs between two texts, line by line.
#pragma once

#include <string>
#include <string_view>

namespace tw {

// Lines of `after` that are new begin with "+", lines of `before` that are gone with "-"; up to `context` lines around
// them with a space, and "..." stands for the others. Empty for equal texts.
std::string line_diff(std::string_view before, std::string_view after, int context = 2);

}  // namespace tw
