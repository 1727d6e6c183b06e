// Where the tests and what they test lie.
#pragma once

#include <filesystem>

namespace tilewright::testing {

std::filesystem::path source_folder();  // of the repository
std::filesystem::path build_folder();   // of this build: `tw` is there

}  // namespace tilewright::testing
