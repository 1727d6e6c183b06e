#include "harness/golden.h"

#include "harness/folders.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace tilewright::testing {
namespace {

bool update_golden = false;

std::string describe_difference(const std::string& expected, const std::string& actual) {
  std::istringstream expected_lines(expected), actual_lines(actual);
  std::string expected_line, actual_line;
  for (int line = 1;; ++line) {
    bool more_expected = bool(std::getline(expected_lines, expected_line));
    bool more_actual = bool(std::getline(actual_lines, actual_line));
    if (!more_expected && !more_actual) return "only the last newline differs";
    if (more_expected != more_actual || expected_line != actual_line) {
      return "line " + std::to_string(line) + "\n  expected: " + (more_expected ? expected_line : "<end of text>") +
             "\n  actual:   " + (more_actual ? actual_line : "<end of text>");
    }
  }
}

}  // namespace

void set_update_golden(bool update) { update_golden = update; }

::testing::AssertionResult matches_golden(std::string_view text, std::string_view path) {
  std::filesystem::path file = source_folder() / "tests" / path;
  if (update_golden) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.flush();
    if (!out) return ::testing::AssertionFailure() << "cannot write " << file;
    return ::testing::AssertionSuccess();
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) return ::testing::AssertionFailure() << file << " is missing; `tw test --update-golden` writes it";
  std::string expected((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (expected == text) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << file << " differs at " << describe_difference(expected, std::string(text));
}

}  // namespace tilewright::testing
