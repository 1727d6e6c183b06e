#include "codegen/embedded.h"
#include "harness/folders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tilewright::codegen {
namespace {

const std::filesystem::path kDeviceFolder = testing::source_folder() / "include/tilewright/device";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Embedded, HoldsEveryDeviceHeaderByteForByte) {
  size_t num_files = 0;
  if (std::filesystem::exists(kDeviceFolder)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kDeviceFolder)) {
      if (!entry.is_regular_file()) continue;
      ++num_files;
      std::string path = entry.path().lexically_relative(kDeviceFolder).generic_string();
      EXPECT_EQ(embedded_file(path), read_file(entry.path())) << path;
    }
  }
  EXPECT_EQ(embedded_files().size(), num_files);
}

TEST(Embedded, IsSortedByPath) { EXPECT_TRUE(std::ranges::is_sorted(embedded_files(), {}, &EmbeddedFile::path)); }

TEST(Embedded, UnknownPathIsEmpty) {
  EXPECT_TRUE(embedded_file("cpu/no_such_file.h").empty());
  EXPECT_TRUE(embedded_file("").empty());
  EXPECT_TRUE(embedded_file("../error.h").empty());
}

}  // namespace
}  // namespace tilewright::codegen
