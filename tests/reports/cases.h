// Situations in which compilers for tiles are known to go wrong, each run by the interpreter and on the CPU.
#pragma once

#include "ops/numbers.h"
#include "ops/op_table.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <string>

namespace tilewright::tests {

// 0, 1, 2, ...
inline HostArray counted(DType dtype, std::vector<int64_t> shape) {
  HostArray a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real(i));
  return a;
}

// As many elements as `like`, each to be equal.
inline Expected exactly(const HostArray& like) {
  return {.value = std::vector<Real>(size_t(like.size())), .bound = std::vector<Real>(size_t(like.size()))};
}

// Runs `program` on copies of `args` and compares argument `out`.
inline void expect_result(const Program& program, const Args& args, size_t out, const Expected& want) {
  for (const char* runner : {"interpreter", "cpu"}) {
    const Args after = run_on(runner, program, args);
    EXPECT_EQ(difference(array(after, out), want), "") << runner << "\n" << program.print();
    EXPECT_TRUE(array(after, out).surroundings_intact()) << runner;
  }
}

}  // namespace tilewright::tests
