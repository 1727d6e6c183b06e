// Runs code that must be refused and hands out what it said.
#pragma once

#include <tilewright/error.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace errors {

namespace T = tilewright::lang;

// The line of the statement that breaks the rule: AT(statement).
inline int broken_line = 0;
#define AT(...) (::errors::broken_line = __LINE__, __VA_ARGS__)

struct Refusal {
  bool refused = false;
  tilewright::ErrorKind kind = tilewright::ErrorKind::internal;
  std::string message, hint, report;
  int line = 0;
  tilewright::Loc loc;  // the whole position
  std::vector<tilewright::Note> notes;
};

inline Refusal refusal_of(const std::function<void()>& code) {
  broken_line = 0;
  Refusal r;
  try {
    code();
  } catch (const tilewright::Error& e) {
    r = {.refused = true,
         .kind = e.kind(),
         .message = e.message(),
         .hint = e.hint(),
         .report = e.what(),
         .line = e.loc().line,
         .loc = e.loc(),
         .notes = e.notes()};
  }
  return r;
}

// A program of one kernel with 4 blocks, whose body is `body(A, B, C)`: f32 tensors of 64 x 64.
template <class F>
void in_kernel(F body) {
  T::prim_func("wrong", [&] {
    auto A = T::tensor("A", {64, 64}, T::f32);
    auto B = T::tensor("B", {64, 64}, T::f32);
    auto C = T::tensor("C", {64, 64}, T::f32);
    auto [bx] = T::Kernel({T::Expr(4)});
    body(A, B, C);
  });
}

inline void expect_refused(const Refusal& r, const std::string& message) {
  ASSERT_TRUE(r.refused) << "accepted; expected: " << message;
  EXPECT_EQ(r.kind, tilewright::ErrorKind::invalid_kernel) << r.report;
  EXPECT_EQ(r.message, message) << r.report;
  EXPECT_EQ(r.line, broken_line) << r.report;
  EXPECT_NE(r.report.find("  --> "), std::string::npos) << r.report;
}

}  // namespace errors
