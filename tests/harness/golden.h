// Golden files: expected text that lives beside the tests.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace tilewright::testing {

// Compares `text` with the file tests/<path>; a failure shows the first line that differs. With --update-golden
// (`tw test --update-golden`) the file is rewritten instead and the comparison holds.
::testing::AssertionResult matches_golden(std::string_view text, std::string_view path);

void set_update_golden(bool update);

}  // namespace tilewright::testing
