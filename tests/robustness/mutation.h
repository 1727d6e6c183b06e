// Broken texts from whole ones.
#pragma once

#include "fuzz/random.h"

#include <string>
#include <vector>

namespace tilewright::robustness {

// Printed programs: small ones of the table of operations, an example, and some that use what the others do not.
std::vector<std::string> corpus();

// `text` with some of its bytes or tokens deleted, repeated, exchanged, taken from another text of `others`, cut off,
// replaced by extreme numbers, or nested deeply.
std::string mutate(const std::string& text, const std::vector<std::string>& others, fuzz::Random& random);

}  // namespace tilewright::robustness
