// Functions of floats, each over a list of edge values, and conversions of every number of the narrow floats.
#include "ops/pairs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string_view>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using T::Expr;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

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
      {"exp10", T::exp10, [](Real x) { return std::pow(Real(10), x); }},
      {"expm1", T::expm1, [](Real x) { return std::expm1(x); }},
      {"log", T::log, [](Real x) { return std::log(x); }},
      {"log2", T::log2, [](Real x) { return std::log2(x); }},
      {"log10", T::log10, [](Real x) { return std::log10(x); }},
      {"log1p", T::log1p, [](Real x) { return std::log1p(x); }},
      {"sqrt", T::sqrt, [](Real x) { return std::sqrt(x); }},
      {"rsqrt", T::rsqrt, [](Real x) { return 1 / std::sqrt(x); }},
      {"sin", T::sin, [](Real x) { return std::sin(x); }},
      {"cos", T::cos, [](Real x) { return std::cos(x); }},
      {"tan", T::tan, [](Real x) { return std::tan(x); }},
      {"sinh", T::sinh, [](Real x) { return std::sinh(x); }},
      {"cosh", T::cosh, [](Real x) { return std::cosh(x); }},
      {"tanh", T::tanh, [](Real x) { return std::tanh(x); }},
      {"asin", T::asin, [](Real x) { return std::asin(x); }},
      {"acos", T::acos, [](Real x) { return std::acos(x); }},
      {"atan", T::atan, [](Real x) { return std::atan(x); }},
      {"asinh", T::asinh, [](Real x) { return std::asinh(x); }},
      {"acosh", T::acosh, [](Real x) { return std::acosh(x); }},
      {"atanh", T::atanh, [](Real x) { return std::atanh(x); }},
      {"erf", T::erf, [](Real x) { return std::erf(x); }},
      {"sigmoid", T::sigmoid, [](Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
      {"exp_fast", T::exp_fast, [](Real x) { return std::exp(x); }},
      {"exp10_fast", T::exp10_fast, [](Real x) { return std::pow(Real(10), x); }},
      {"log_fast", T::log_fast, [](Real x) { return std::log(x); }},
      {"log2_fast", T::log2_fast, [](Real x) { return std::log2(x); }},
      {"log10_fast", T::log10_fast, [](Real x) { return std::log10(x); }},
      {"sin_fast", T::sin_fast, [](Real x) { return std::sin(x); }},
      {"cos_fast", T::cos_fast, [](Real x) { return std::cos(x); }},
      {"tan_fast", T::tan_fast, [](Real x) { return std::tan(x); }},
      {"fast_rcp", T::fast_rcp, [](Real x) { return 1 / x; }}};
}

// Within `ulps` of the real result r, converted to the dtype: 4 in f32 and f64, 1 in narrower floats.
Value within_ulps(Real r, DType dtype) {
  if (std::isnan(r)) return {r};
  const bool wide = dtype == T::f32 || dtype == T::f64;
  const Real top = top_of(dtype), slack = (wide ? 4 : 1) * ulp(dtype, top);
  if (is_8_bit_float(dtype)) return {std::min(std::max(r, -top), top), ulp(dtype, std::min(std::fabs(r), top))};
  if (std::fabs(r) > top + 2 * slack) return {r > 0 ? kInf : -kInf};
  if (std::fabs(r) > top - slack) return {r, kInf};
  return {r, (wide ? 4 : 1) * ulp(dtype, r)};
}

Value math_expected(const MathFunction& f, Real x, DType dtype) {
  if (std::string_view(f.name) == "sigmoid" && std::isinf(x)) return {x > 0 ? Real(1) : Real(0)};
  return within_ulps(f.real(x), dtype);
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

// ---- two operands, and results that are exact ------------------------------------------------------------------

bool is_wide(DType t) { return t == T::f32 || t == T::f64; }

std::vector<BinaryOp> float_functions(DType dtype) {
  std::vector<BinaryOp> ops = {
      {"atan2", [](auto& a, auto& b) { return T::atan2(a, b); },
       [](Real a, Real b, DType t) { return within_ulps(std::atan2(a, b), t); }},
      {"pow", [](auto& a, auto& b) { return T::pow(a, b); },
       [](Real a, Real b, DType t) { return within_ulps(std::pow(a, b), t); }},
      {"hypot", [](auto& a, auto& b) { return T::hypot(a, b); },
       [](Real a, Real b, DType t) { return within_ulps(std::hypot(a, b), t); }},
      {"fmod", [](auto& a, auto& b) { return T::fmod(a, b); },
       [](Real a, Real b, DType) { return Value{std::fmod(a, b)}; }},
      {"copysign", [](auto& a, auto& b) { return T::copysign(a, b); },
       // The sign of a NaN is free.
       [](Real a, Real b, DType) {
         return Value{std::copysign(a, b), std::isnan(b) ? kInf : 0};
       }},
      {"nextafter", [](auto& a, auto& b) { return T::nextafter(a, b); },
       [](Real a, Real b, DType t) {
         if (t == T::f64) return Value{std::nextafter(static_cast<double>(a), static_cast<double>(b))};
         return Value{neighbour(t, a, b)};
       }},
      {"ldexp", [](auto& a, auto& b) { return T::ldexp(a, T::cast(b, T::i32)); },
       [](Real a, Real b, DType t) {
         const Real n = std::min(std::max(cast_real(b, t, T::i32), Real(-20000)), Real(20000));
         return Value{round_real(t, std::ldexp(a, static_cast<int>(n)))};
       }},
      {"trunc", [](auto& a, auto&) { return T::trunc(a); }, [](Real a, Real, DType) { return Value{std::trunc(a)}; }},
      {"nearbyint", [](auto& a, auto&) { return T::nearbyint(a); },
       [](Real a, Real, DType) { return Value{std::nearbyint(a)}; }},
      {"isnan", [](auto& a, auto&) { return T::if_then_else(T::isnan(a), 1, 0); },
       [](Real a, Real, DType) { return Value{Real(std::isnan(a))}; }},
      {"isinf", [](auto& a, auto&) { return T::if_then_else(T::isinf(a), 1, 0); },
       [](Real a, Real, DType) { return Value{Real(std::isinf(a))}; }},
      {"isfinite", [](auto& a, auto&) { return T::if_then_else(T::isfinite(a), 1, 0); },
       [](Real a, Real, DType) { return Value{Real(std::isfinite(a))}; }},
      {"clamp", [](auto& a, auto&) { return T::clamp(a, -1.5, 3); },
       [](Real a, Real, DType) {
         return Value{std::isnan(a) ? Real(-1.5) : std::min(std::max(a, Real(-1.5)), Real(3))};
       }},
      {"select", [](auto& a, auto& b) { return T::select(T::all_of(a<b, a> - 2, T::isfinite(b)), a, b); },
       [](Real a, Real b, DType) { return Value{a < b && a > -2 && std::isfinite(b) ? a : b}; }},
      {"any_of", [](auto& a, auto& b) { return T::select(T::any_of(T::likely(a < b), T::isnan(a)), 1, 0); },
       [](Real a, Real b, DType) { return Value{Real(a < b || std::isnan(a))}; }},
      {"max_value", [](auto& a, auto&) { return T::max(a, T::min_value(a.dtype())); },
       [](Real a, Real, DType t) { return Value{std::isnan(a) ? -top_of(t) : std::max(a, -top_of(t))}; }},
      {"ieee_add", [](auto& a, auto& b) { return T::ieee_add(a, b); },
       [](Real a, Real b, DType t) { return Value{round_real(t, a + b)}; }},
      {"ieee_sub", [](auto& a, auto& b) { return T::ieee_sub(a, b); },
       [](Real a, Real b, DType t) { return Value{round_real(t, a - b)}; }},
      {"ieee_mul", [](auto& a, auto& b) { return T::ieee_mul(a, b, "rn"); },
       [](Real a, Real b, DType t) {
         if (t == T::f64) return Value{static_cast<double>(a) * static_cast<double>(b)};
         return Value{round_real(t, a * b)};
       }},
      {"ieee_fdiv", [](auto& a, auto& b) { return T::ieee_fdiv(a, b); },
       [](Real a, Real b, DType t) {
         if (t == T::f64) return Value{static_cast<double>(a) / static_cast<double>(b)};
         return Value{round_real(t, a / b)};
       }},
      {"ieee_frcp", [](auto& a, auto&) { return T::ieee_frcp(a); },
       [](Real a, Real, DType t) {
         if (t == T::f64) return Value{1 / static_cast<double>(a)};
         return Value{round_real(t, 1 / a)};
       }},
      {"ieee_fsqrt", [](auto& a, auto&) { return T::ieee_fsqrt(a); },
       [](Real a, Real, DType t) {
         if (t == T::f64) return Value{std::sqrt(static_cast<double>(a))};
         return Value{round_real(t, std::sqrt(a))};
       }},
  };
  if (!is_wide(dtype)) return ops;
  ops.push_back({"ieee_fmaf", [](auto& a, auto& b) { return T::ieee_fmaf(a, b, b); },
                 [](Real a, Real b, DType t) {
                   if (t == T::f64) {
                     const auto x = static_cast<double>(a), y = static_cast<double>(b);
                     return Value{std::fma(x, y, y)};
                   }
                   const auto x = static_cast<float>(a), y = static_cast<float>(b);
                   return Value{std::fma(x, y, y)};
                 }});
  if (dtype == T::f64) return ops;
  ops.push_back({"ieee_frsqrt", [](auto& a, auto&) { return T::ieee_frsqrt(a); },
                 [](Real a, Real, DType t) { return Value{round_real(t, 1 / std::sqrt(a))}; }});
  // The product 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11: a fused sum would keep the rest.
  ops.push_back({"no fusion after", [](auto& a, auto& b) { return T::ieee_mul(a, b) - T::Expr(1 + 0x1p-11); },
                 [](Real a, Real b, DType t) { return Value{round_real(t, round_real(t, a * b) - (1 + 0x1p-11L))}; }});
  ops.push_back({"no fusion before", [](auto& a, auto& b) { return T::ieee_sub(a * b, T::Expr(1 + 0x1p-11)); },
                 [](Real a, Real b, DType t) { return Value{round_real(t, round_real(t, a * b) - (1 + 0x1p-11L))}; }});
  return ops;
}

Row function_row(DType dtype) {
  const Real top = top_of(dtype), tiny = subnormal_of(dtype),
             normal = std::ldexp(Real(1), format_of(dtype).min_exponent);
  return pairs_row(
      "functions", dtype,
      {0,    -0.0L, 1,   -1,   0.5L,         -1.5L,        2.5L,         3,         -7.25L, 0.1L,  -123.4L, 1000,
       2048, 6e4L,  top, -top, top * 0.75L,  normal,       tiny,         -3 * tiny, kInf,   -kInf, kNan,    2,
       -4,   0.25L, 7,   -149, 1 + 0x1p-12L, 1 + 0x3p-12L, normal - tiny},
      float_functions(dtype));
}

// ---- every number of the 8- and 16-bit floats ------------------------------------------------------------------

// All patterns of `from` in order, as numbers and converted to each of `to`.
Row patterns_row(DType from, std::vector<DType> to) {
  const int64_t count = int64_t(1) << bits_of(from);
  const DType bits = bits_of(from) == 8 ? T::u8 : T::u16;
  HostArray source(bits, {count});
  for (int64_t i = 0; i < count; ++i) source.set(i, static_cast<Real>(i));
  std::vector<HostArray> arrays = {source, HostArray(T::f32, {count}), HostArray(bits, {count})};
  for (const DType t : to) arrays.emplace_back(t, std::vector{count});
  return tensor_row(
      fmt::format("every pattern of {}", to_string(from)), arrays,
      [=](const Tiles& t) {
        auto [bx] = T::Kernel({count / 256});
        auto x = T::alloc_fragment({256}, from);
        for (auto i : T::Parallel(256)) x(i) = T::reinterpret(t[0](bx * 256 + i), from);
        T::copy(x, t[1](bx * 256));
        for (auto i : T::Parallel(256)) t[2](bx * 256 + i) = T::reinterpret(x(i), bits);
        for (size_t k = 0; k < to.size(); ++k) {
          if (k % 2 == 0) {
            T::copy(x, t[3 + k](bx * 256));
          } else {
            auto y = T::alloc_shared({256}, to[k]);
            T::copy(x, y);
            T::copy(y, t[3 + k](bx * 256));
          }
        }
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < count; ++i) {
          const Real v = value_of_bits(from, static_cast<uint32_t>(i));
          after[1].set(i, v);
          // A NaN may be any.
          after[2].set(i, static_cast<Real>(i), std::isnan(v) ? kInf : 0);
          for (size_t k = 0; k < to.size(); ++k) after[3 + k].set(i, cast_real(v, from, array(before, 3 + k).dtype()));
        }
      });
}

// f32 and its bits, both ways, also of what is no tf32.
Row bits_row() {
  const std::vector<Real> patterns = {0,          1,          0x3f800000, 0x3f800fff, 0x3f801000,
                                      0x3f803000, 0x7f7fffff, 0x80000000, 0xff800000, 0x7f800000,
                                      0xc0490fdb, 0x00800000, 0x807fffff};
  const auto n = static_cast<int64_t>(patterns.size());
  HostArray bits(T::u32, {n});
  for (int64_t i = 0; i < n; ++i) bits.set(i, patterns[static_cast<size_t>(i)]);
  return tensor_row(
      "reinterpret",
      {bits, HostArray(T::f32, {n}), HostArray(T::i32, {n}), HostArray(T::tf32, {n}), HostArray(T::u32, {n})},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        for (auto i : T::Parallel(n)) {
          auto x = T::let(T::reinterpret(t[0](i), T::f32));
          t[1](i) = x;
          t[2](i) = T::reinterpret(x, T::i32);
          auto y = T::let(T::reinterpret(t[0](i), T::tf32));
          t[3](i) = y;
          t[4](i) = T::reinterpret(y, T::u32);
        }
      },
      [=](const Args&, std::vector<Expected>& after) {
        for (int64_t i = 0; i < n; ++i) {
          const auto u = static_cast<uint32_t>(patterns[static_cast<size_t>(i)]);
          after[1].set(i, value_of_bits(T::f32, u));
          after[2].set(i, wrap_real(T::i32, u));
          const Real rounded = value_of_bits(T::tf32, u);
          after[3].set(i, rounded);
          // The lower 13 bits are 0, and rounding may carry.
          const uint32_t down = u & ~0x1fffu, rest = u & 0x1fffu;
          const bool up = rest > 0x1000 || (rest == 0x1000 && (down & 0x2000));
          after[4].set(i, static_cast<Real>(down + (up ? 0x2000u : 0u)));
        }
      });
}

}  // namespace

std::vector<Row> math_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::f32, T::f16, T::bf16, T::f64, T::f8e4m3, T::f8e5m2, T::tf32}) {
    for (const bool in_fragment : {false, true}) rows.push_back(math_row(dtype, in_fragment));
  }
  return rows;
}

std::vector<Row> function_rows() {
  std::vector<Row> rows;
  for (const DType dtype : {T::f32, T::f16, T::bf16, T::f64, T::f8e4m3, T::f8e5m2, T::tf32})
    rows.push_back(function_row(dtype));
  return rows;
}

std::vector<Row> pattern_rows() {
  const std::vector<DType> floats = {T::f8e4m3, T::f8e5m2, T::f16, T::bf16, T::tf32, T::f64};
  const std::vector<DType> all = {T::f8e4m3, T::f8e5m2, T::f8e5m2, T::f8e4m3, T::f16, T::bf16, T::bf16,   T::f16,
                                  T::tf32,   T::f64,    T::i8,     T::u8,     T::i32, T::u64,  T::boolean};
  return {patterns_row(T::f8e4m3, all), patterns_row(T::f8e5m2, all), patterns_row(T::f16, floats),
          patterns_row(T::bf16, floats), bits_row()};
}

}  // namespace tilewright::tests
