// The entry point of every suite.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "harness/golden.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--update-golden") {
      std::fprintf(stderr, "error: unknown argument %s\n", argv[i]);
      return 2;
    }
    tilewright::testing::set_update_golden(true);
  }
  return RUN_ALL_TESTS();
}
