#include "support/error.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace tilewright {
namespace {

TEST(Error, report_without_a_position) {
  const Error error = invalid_argument("argument {} has {} elements", "A", 3);
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_STREQ(error.what(), "error: argument A has 3 elements");
}

TEST(Error, report_with_notes_and_hint) {
  const Error error = invalid_kernel(Loc::at("missing.cc", 41), "gemm: K of A is {} but K of B is {}", 64, 32)
                          .note("q  shared f16[128, 64]", Loc::at("missing.cc", 22))
                          .note("by itself")
                          .hint("pass transpose_B");
  EXPECT_STREQ(error.what(),
               "error: gemm: K of A is 64 but K of B is 32\n"
               "  --> missing.cc:41   \n"
               "  note: q  shared f16[128, 64]  declared at missing.cc:22\n"
               "  note: by itself\n"
               "  hint: pass transpose_B");
}

TEST(Error, report_shows_the_line_and_a_caret) {
  const std::string path = testing::TempDir() + "tilewright_error_test.cc";
  std::ofstream(path) << "first\n    T::gemm(a, b, c);\n";
  const Error error = invalid_kernel(Loc::at(path, 2, 13), "b does not fit");
  const std::string position = "  --> " + path + ":2:13   ";
  EXPECT_EQ(std::string(error.what()),
            "error: b does not fit\n" + position + "T::gemm(a, b, c);\n" + std::string(position.size() + 8, ' ') + "^");
  std::remove(path.c_str());
}

TEST(Error, kinds) {
  EXPECT_STREQ(unsupported({}, "x").what(), "unsupported: x\n  hint: docs/status.md lists what is not built yet");
  EXPECT_EQ(toolchain_error("x {}", 1).kind(), ErrorKind::toolchain);
  EXPECT_EQ(std::string(internal_error({}, "x").what()).rfind("internal error: x\n", 0), 0u);
}

TEST(Error, with_loc_keeps_a_known_position) {
  const Error error = invalid_argument("x").with_loc(Loc::at("a.cc", 1));
  EXPECT_EQ(error.loc().to_string(), "a.cc:1");
  EXPECT_EQ(error.with_loc(Loc::at("b.cc", 2)).loc().to_string(), "a.cc:1");
}

TEST(Error, changing_after_what_changes_the_report) {
  Error error = invalid_argument("x");
  EXPECT_STREQ(error.what(), "error: x");
  std::move(error).hint("y");
  EXPECT_STREQ(error.what(), "error: x\n  hint: y");
}

}  // namespace
}  // namespace tilewright
