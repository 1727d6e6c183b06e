// The functions of expressions as a table; its rows, and what each column says, are in ir/math_functions.inc.
#pragma once

#include <tilewright/dtype.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::ir {

enum class MathFn : uint8_t {
#define TW_FLOAT_1(name, ...) name,
#define TW_FLOAT_2(name, ...) name,
#define TW_FLOAT_3(name, ...) name,
#define TW_TEST(name, ...) name,
#define TW_INT_1(name, ...) name,
#define TW_INT_2(name, ...) name,
#define TW_CHOICE(name, ...) name,
#include "ir/math_functions.inc"
};
inline constexpr int kNumMathFns = int(MathFn::blend) + 1;

// What a function takes. Operands have one dtype, and the result has it too, unless said otherwise.
enum class MathOperands : uint8_t {
  floats,
  wide_floats,  // f32 and f64
  f32_only,
  numbers,   // floats or integers
  integers,  // no bool
  scaled,    // a float and an integer; the float's dtype
  test,      // a float; bool
  choice,    // a bool and two values of any dtype; the values' dtype
};

struct MathInfo {
  std::string_view name;
  MathOperands operands;
  int arity;
  double ulps;  // 0: exact
  std::string_view cpu;
};
const MathInfo& math_info(MathFn fn);
std::string_view to_string(MathFn fn);
std::optional<MathFn> math_fn_from_string(std::string_view name);

// Meanings. A float result is not rounded to `dtype` yet (except of f64); exact functions need no rounding.
double float_value(MathFn fn, DType dtype, const std::array<double, 3>& operands);
bool test_value(MathFn fn, double x);
int64_t int_value(MathFn fn, DType dtype, int64_t x, int64_t y = 0);

}  // namespace tilewright::ir
