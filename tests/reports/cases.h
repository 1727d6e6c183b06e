// Situations in which compilers for tiles are known to go wrong, each run by the interpreter and on the CPU.
#pragma once

#include "ops/numbers.h"
#include "ops/op_table.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <functional>
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

// The line of the statement that has to be refused: AT(statement).
inline int refused_line = 0;
#define AT(...) (::tilewright::tests::refused_line = __LINE__, __VA_ARGS__)

inline void expect_refusal(const std::function<void()>& code, const std::string& message) {
  try {
    code();
    ADD_FAILURE() << "accepted; expected: " << message;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_kernel) << e.what();
    EXPECT_EQ(e.message(), message) << e.what();
    EXPECT_EQ(e.loc().line, refused_line) << e.what();
    EXPECT_FALSE(e.hint().empty()) << e.what();
  }
}

}  // namespace tilewright::tests
