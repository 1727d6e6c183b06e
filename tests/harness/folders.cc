#include "harness/folders.h"

#include <fstream>
#include <stdexcept>
#include <string>

namespace tilewright::testing {

std::filesystem::path build_folder() {
  static const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return folder;
}

std::filesystem::path source_folder() {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path file = build_folder() / "source_folder.txt";
    std::ifstream in(file);
    std::string line;
    if (!std::getline(in, line)) throw std::runtime_error(file.string() + " cannot be read: configure the build again");
    return (build_folder() / line).lexically_normal();
  }();
  return folder;
}

}  // namespace tilewright::testing
