// Scalar operations inside T::Parallel, each over all pairs of a list of edge values.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using T::Expr;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

struct Value {
  Real value;
  Real bound = 0;
};

struct BinaryOp {
  const char* name;
  std::function<Expr(const Expr&, const Expr&)> build;
  std::function<Value(Real a, Real b, DType dtype)> expected;
};

// All pairs of `list` in arguments 0 and 1; one result per operation in the arguments after them. Operations run on
// fragments for even numbers and straight on the tensors for odd ones.
Row pairs_row(const std::string& name, DType dtype, std::initializer_list<Real> list, std::vector<BinaryOp> ops) {
  const auto count = static_cast<int64_t>(list.size()), n = count * count;
  HostArray single(dtype, {count}), a(dtype, {n}), b(dtype, {n});
  single.fill_with(list);
  for (int64_t i = 0; i < n; ++i) {
    a.set(i, single.get(i / count));
    b.set(i, single.get(i % count));
  }
  std::vector<HostArray> arrays = {a, b};
  for (size_t k = 0; k < ops.size(); ++k) arrays.emplace_back(dtype, std::vector{n});
  return tensor_row(
      fmt::format("{} {}", name, to_string(dtype)), arrays,
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1}, {.threads = 96});
        auto x = T::alloc_fragment({n}, dtype);
        auto y = T::alloc_fragment({n}, dtype);
        auto z = T::alloc_fragment({n}, dtype);
        T::copy(t[0], x);
        T::copy(t[1], y);
        for (size_t k = 0; k < ops.size(); ++k) {
          if (k % 2 == 0) {
            for (auto i : T::Parallel(n)) z(i) = ops[k].build(x(i), y(i));
            T::copy(z, t[2 + k]);
          } else {
            for (auto i : T::Parallel(n)) t[2 + k](i) = ops[k].build(t[0](i), t[1](i));
          }
        }
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (size_t k = 0; k < ops.size(); ++k) {
          for (int64_t i = 0; i < n; ++i) {
            const Value v = ops[k].expected(array(before, 0).get(i), array(before, 1).get(i), dtype);
            after[2 + k].set(i, v.value, v.bound);
          }
        }
      });
}

Real ignoring_nan(Real a, Real b, bool max) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return max ? std::max(a, b) : std::min(a, b);
}

std::vector<BinaryOp> float_ops() {
  return {
      {"a + b", [](auto& a, auto& b) { return a + b; },
       [](Real a, Real b, DType t) { return Value{round_real(t, a + b)}; }},
      {"a - b", [](auto& a, auto& b) { return a - b; },
       [](Real a, Real b, DType t) { return Value{round_real(t, a - b)}; }},
      {"a * b", [](auto& a, auto& b) { return a * b; },
       [](Real a, Real b, DType t) {
         // The product of two f64 numbers may have more bits than Real; std::fma finds the rest.
         if (t == T::f64) return Value{static_cast<double>(a) * static_cast<double>(b)};
         return Value{round_real(t, a * b)};
       }},
      {"a / b", [](auto& a, auto& b) { return a / b; },
       [](Real a, Real b, DType t) {
         if (t == T::f64) return Value{static_cast<double>(a) / static_cast<double>(b)};
         return Value{round_real(t, a / b)};
       }},
      {"-a", [](auto& a, auto&) { return -a; }, [](Real a, Real, DType) { return Value{-a}; }},
      {"abs", [](auto& a, auto&) { return T::abs(a); }, [](Real a, Real, DType) { return Value{std::fabs(a)}; }},
      {"max", [](auto& a, auto& b) { return T::max(a, b); },
       [](Real a, Real b, DType) { return Value{ignoring_nan(a, b, true)}; }},
      {"min", [](auto& a, auto& b) { return T::min(a, b); },
       [](Real a, Real b, DType) { return Value{ignoring_nan(a, b, false)}; }},
      {"max 0", [](auto& a, auto&) { return T::max(a, 0); },
       [](Real a, Real, DType) { return Value{ignoring_nan(a, 0, true)}; }},
      {"floor", [](auto& a, auto&) { return T::floor(a); }, [](Real a, Real, DType) { return Value{std::floor(a)}; }},
      {"ceil", [](auto& a, auto&) { return T::ceil(a); }, [](Real a, Real, DType) { return Value{std::ceil(a)}; }},
      {"round", [](auto& a, auto&) { return T::round(a); },
       [](Real a, Real, DType) { return Value{std::nearbyint(a)}; }},
      {"a < b", [](auto& a, auto& b) { return T::if_then_else(a < b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a < b)}; }},
      {"a <= b", [](auto& a, auto& b) { return T::if_then_else(a <= b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a <= b)}; }},
      {"a > b", [](auto& a, auto& b) { return T::if_then_else(a > b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a > b)}; }},
      {"a >= b", [](auto& a, auto& b) { return T::if_then_else(a >= b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a >= b)}; }},
      {"a == b", [](auto& a, auto& b) { return T::if_then_else(a == b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a == b)}; }},
      {"a != b", [](auto& a, auto& b) { return T::if_then_else(a != b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a != b)}; }},
      {"logic", [](auto& a, auto& b) { return T::if_then_else((a < b && !(a < 0)) || b == 0, a, b); },
       [](Real a, Real b, DType) { return Value{(a < b && !(a < 0)) || b == 0 ? a : b}; }},
      {"a * 3 - 0.5", [](auto& a, auto&) { return a * 3 - 0.5; },
       [](Real a, Real, DType t) {
         const Real r = a * 3 - Real(0.5);
         if (!(std::fabs(a * 4) < std::ldexp(Real(1), format_of(t).max_exponent))) return Value{r, kInf};
         return Value{r, unit_of(t) * std::fabs(a * 3) + unit_of(t) * (std::fabs(r) + unit_of(t) * std::fabs(a * 3)) +
                             subnormal_of(t)};
       }},
      {"through i32", [](auto& a, auto&) { return T::cast(T::cast(a, T::i32), T::f32) / 2; },
       [](Real a, Real, DType t) {
         const Real whole = cast_real(a, T::f64, T::i32);
         return Value{round_real(t, round_real(T::f32, whole) / 2)};
       }},
  };
}

// Comparisons give 0 or 1 in a floating tensor.
Row float_row(DType dtype) {
  const Real top = std::ldexp(2 - 2 * unit_of(dtype) * 2, format_of(dtype).max_exponent), tiny = subnormal_of(dtype);
  return pairs_row("float ops", dtype,
                   {0,       -0.0L,   1,    -1,   0.5L, -1.5L, 2.5L, 3,         -7.25L, 0.1L,  1e-3L,
                    -123.4L, 1000.5L, 2048, 6e4L, top,  -top,  tiny, -3 * tiny, kInf,   -kInf, kNan},
                   float_ops());
}

struct MathFunction {
  const char* name;
  Expr (*build)(const Expr&);
  Real (*real)(Real);
};

constexpr Real kLn2 = 0.693147180559945309417232121458L;

std::vector<MathFunction> math_functions() {
  return {
      {"exp", T::exp, [](Real x) { return std::exp(x); }},
      {"exp2", T::exp2, [](Real x) { return std::exp2(x); }},
      {"log", T::log, [](Real x) { return std::log(x); }},
      {"log2", T::log2, [](Real x) { return std::log2(x); }},
      {"sqrt", T::sqrt, [](Real x) { return std::sqrt(x); }},
      {"rsqrt", T::rsqrt, [](Real x) { return 1 / std::sqrt(x); }},
      {"sin", T::sin, [](Real x) { return std::sin(x); }},
      {"cos", T::cos, [](Real x) { return std::cos(x); }},
      {"tanh", T::tanh, [](Real x) { return std::tanh(x); }},
      {"erf", T::erf, [](Real x) { return std::erf(x); }},
      {"sigmoid", T::sigmoid, [](Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }}};
}

Value math_expected(const MathFunction& f, Real x, DType dtype) {
  if (std::string_view(f.name) == "sigmoid" && std::isinf(x)) return {x > 0 ? Real(1) : Real(0)};
  const Real r = f.real(x);
  if (std::isnan(r) || std::isinf(r)) return {r};
  const Real limit = std::ldexp(Real(1), format_of(dtype).max_exponent + 1);
  const Real slack = 8 * unit_of(dtype) * limit;
  if (std::fabs(r) > limit + slack) return {r > 0 ? kInf : -kInf};
  if (std::fabs(r) > limit - slack) return {r, kInf};
  return {r, 4 * ulp(dtype, r)};
}

HostArray math_inputs(DType dtype) {
  HostArray x(dtype, {400});
  x.fill_random(21, -12, 12);
  const std::vector<Real> edges = {0,
                                   -0.0L,
                                   1,
                                   -1,
                                   kInf,
                                   -kInf,
                                   kNan,
                                   0.5L,
                                   1e-3L,
                                   -1e-3L,
                                   1e-6L,
                                   -1e-6L,
                                   1e-20L,
                                   1e-40L,
                                   subnormal_of(dtype),
                                   16,
                                   20,
                                   -20,
                                   80,
                                   88.5L,
                                   -87,
                                   -95,
                                   -100,
                                   104,
                                   126.5L,
                                   -126.5L,
                                   -140,
                                   -149,
                                   200,
                                   700,
                                   -700,
                                   -744,
                                   1e3L,
                                   1e4L,
                                   12345.678L,
                                   -54321,
                                   1e5L,
                                   1e7L,
                                   3e10L,
                                   1e30L,
                                   -1e30L,
                                   3.14159265358979L,
                                   1.5707963267949L,
                                   2.71828L,
                                   kLn2,
                                   0.84375L,
                                   1.25L,
                                   2.857L,
                                   6,
                                   9,
                                   11,
                                   0x1p-14L,
                                   0x1p-126L,
                                   65504,
                                   3e38L,
                                   1.0009765625L,
                                   0.99951171875L,
                                   1.0000001L,
                                   0.9999999L};
  for (size_t i = 0; i < edges.size(); ++i) x.set(static_cast<int64_t>(i), edges[i]);
  for (int64_t i = 200; i < 300; ++i) x.set(i, std::fabs(x.get(i)) / 4 + Real(0.01));
  return x;
}

Row math_row(DType dtype, bool in_fragment) {
  const HostArray x = math_inputs(dtype);
  std::vector<HostArray> arrays = {x};
  for (size_t k = 0; k < math_functions().size(); ++k) arrays.emplace_back(dtype, x.shape());
  const int64_t n = x.size();
  return tensor_row(
      fmt::format("math {} {}", to_string(dtype), in_fragment ? "fragment" : "global"), arrays,
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_fragment({n}, dtype);
        if (in_fragment) T::copy(t[0], s);
        const std::vector<MathFunction> functions = math_functions();
        for (size_t k = 0; k < functions.size(); ++k) {
          for (auto i : T::Parallel(n)) t[1 + k](i) = functions[k].build(in_fragment ? s(i) : t[0](i));
        }
      },
      [=](const Args& before, std::vector<Expected>& after) {
        const std::vector<MathFunction> functions = math_functions();
        for (size_t k = 0; k < functions.size(); ++k) {
          for (int64_t i = 0; i < n; ++i) {
            const Value v = math_expected(functions[k], array(before, 0).get(i), dtype);
            after[1 + k].set(i, v.value, v.bound);
          }
        }
      });
}

// Floor division on numbers of at most 64 bits, from its definition q = floor(a / b), 0 for b = 0.
Real floor_quotient(Real a, Real b) {
  if (b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  const auto x = bits_of_int(std::fabs(a)), y = bits_of_int(std::fabs(b));
  const Real q = static_cast<Real>(x / y);
  return negative ? -q - (x % y != 0 ? 1 : 0) : q;
}

Value wrapped(DType t, uint64_t bits) { return {wrap_real(t, bits)}; }
uint64_t u(Real x) { return bits_of_int(x); }
// A quotient of 2^63 does not fit the signed 64 bits of bits_of_int's negative branch; as bits it is the same number.
Value wrapped_quotient(DType t, Real a, Real b) { return wrapped(t, u(floor_quotient(a, b))); }

Value shifted(DType t, Real a, Real amount, bool left) {
  const int bits = bits_of(t);
  const bool outside = amount < 0 || amount >= bits;
  if (left) return outside ? Value{0} : wrapped(t, u(a) << static_cast<int>(amount));
  if (outside) return {a < 0 ? Real(-1) : Real(0)};
  return {std::floor(std::ldexp(a, -static_cast<int>(amount)))};
}

std::vector<BinaryOp> integer_ops() {
  return {
      {"a + b", [](auto& a, auto& b) { return a + b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) + u(b)); }},
      {"a - b", [](auto& a, auto& b) { return a - b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) - u(b)); }},
      {"a * b", [](auto& a, auto& b) { return a * b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) * u(b)); }},
      {"-a", [](auto& a, auto&) { return -a; }, [](Real a, Real, DType t) { return wrapped(t, 0 - u(a)); }},
      {"floordiv", [](auto& a, auto& b) { return T::floordiv(a, b); },
       [](Real a, Real b, DType t) { return wrapped_quotient(t, a, b); }},
      {"floormod", [](auto& a, auto& b) { return T::floormod(a, b); },
       [](Real a, Real b, DType t) { return b == 0 ? Value{a} : wrapped(t, u(a) - u(floor_quotient(a, b)) * u(b)); }},
      {"a / b", [](auto& a, auto& b) { return a / b; },
       [](Real a, Real b, DType t) { return wrapped_quotient(t, a, b); }},
      {"a % b", [](auto& a, auto& b) { return a % b; },
       [](Real a, Real b, DType t) { return b == 0 ? Value{a} : wrapped(t, u(a) - u(floor_quotient(a, b)) * u(b)); }},
      {"a / 7", [](auto& a, auto&) { return a / 7; }, [](Real a, Real, DType t) { return wrapped_quotient(t, a, 7); }},
      {"a % 8", [](auto& a, auto&) { return a % 8; },
       [](Real a, Real, DType t) { return wrapped(t, u(a) - u(floor_quotient(a, 8)) * 8); }},
      {"a & b", [](auto& a, auto& b) { return a & b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) & u(b)); }},
      {"a | b", [](auto& a, auto& b) { return a | b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) | u(b)); }},
      {"a ^ b", [](auto& a, auto& b) { return a ^ b; },
       [](Real a, Real b, DType t) { return wrapped(t, u(a) ^ u(b)); }},
      {"a << b", [](auto& a, auto& b) { return a << b; },
       [](Real a, Real b, DType t) { return shifted(t, a, b, true); }},
      {"a >> b", [](auto& a, auto& b) { return a >> b; },
       [](Real a, Real b, DType t) { return shifted(t, a, b, false); }},
      {"max", [](auto& a, auto& b) { return T::max(a, b); },
       [](Real a, Real b, DType) { return Value{std::max(a, b)}; }},
      {"min", [](auto& a, auto& b) { return T::min(a, b); },
       [](Real a, Real b, DType) { return Value{std::min(a, b)}; }},
      {"ceildiv", [](auto& a, auto&) { return T::ceildiv(a, 4); },
       [](Real a, Real, DType t) { return wrapped_quotient(t, wrap_real(t, u(a) + 3), 4); }},
      {"a < b", [](auto& a, auto& b) { return T::if_then_else(a < b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a < b)}; }},
      {"a >= b", [](auto& a, auto& b) { return T::if_then_else(a >= b, 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a >= b)}; }},
      {"a == b", [](auto& a, auto& b) { return T::if_then_else(a == b, a, b); },
       [](Real, Real b, DType) { return Value{b}; }},
      {"a != b", [](auto& a, auto& b) { return T::if_then_else(a != b, a, 1); },
       [](Real a, Real b, DType) { return Value{a != b ? a : Real(1)}; }},
      {"through f32", [](auto& a, auto&) { return T::cast(T::cast(a, T::f32) * 0.5, T::i16); },
       [](Real a, Real, DType t) {
         const Real half = round_real(T::f32, a) / 2;
         return wrapped(t, u(cast_real(half, T::f32, T::i16)));
       }},
  };
}

Row integer_row(DType dtype) {
  const Real top =
      is_unsigned(dtype) ? std::ldexp(Real(1), bits_of(dtype)) - 1 : std::ldexp(Real(1), bits_of(dtype) - 1) - 1;
  if (is_unsigned(dtype)) {
    return pairs_row("integer ops", dtype,
                     {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 200, 255, top - 1, top},
                     integer_ops());
  }
  return pairs_row("integer ops", dtype, {0,  1,  -1, 2,  -2, 3,   -3,  7,    -7,  8,    -8,      15,
                                          16, 31, 32, 63, 64, -64, 100, -100, top, -top, top - 1, -top - 1},
                   integer_ops());
}

}  // namespace

std::vector<Row> float_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::f32, T::f16, T::bf16, T::f64}) rows.push_back(float_row(dtype));
  return rows;
}

std::vector<Row> math_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::f32, T::f16, T::bf16, T::f64}) {
    for (const bool in_fragment : {false, true}) rows.push_back(math_row(dtype, in_fragment));
  }
  return rows;
}

std::vector<Row> integer_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::i32, T::i64, T::i8, T::u8, T::i16, T::u16, T::u32, T::u64})
    rows.push_back(integer_row(dtype));
  return rows;
}

}  // namespace tilewright::tests
