// Where the tests and what they test lie: found from the running program, so that a build can be moved with its
// sources.
#pragma once

#include <filesystem>

namespace tilewright::testing {

std::filesystem::path build_folder();   // where this program lies, and `tw` beside it
std::filesystem::path source_folder();  // of the repository: what source_folder.txt in the build folder names

}  // namespace tilewright::testing
