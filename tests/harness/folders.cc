#include "harness/folders.h"

namespace tilewright::testing {

std::filesystem::path source_folder() { return TILEWRIGHT_SOURCE_DIR; }
std::filesystem::path build_folder() { return TILEWRIGHT_BINARY_DIR; }

}  // namespace tilewright::testing
