// Reductions.
#include "ops/combine_reference.h"
#include "ops/numbers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using Word = void (*)(const T::Operand&, const T::Operand&, const T::ReduceOptions&, T::SourcePos);

struct Named {
  const char* name;
  Word word;
};
constexpr std::array<Named, kNumCombinings> kWords = {{{"sum", T::reduce_sum},
                                                       {"max", T::reduce_max},
                                                       {"min", T::reduce_min},
                                                       {"abssum", T::reduce_abssum},
                                                       {"absmax", T::reduce_absmax},
                                                       {"bitand", T::reduce_bitand},
                                                       {"bitor", T::reduce_bitor},
                                                       {"bitxor", T::reduce_bitxor},
                                                       {"any", T::reduce_any},
                                                       {"all", T::reduce_all}}};

struct Reduction {
  Combining how = Combining::sum;
  std::vector<int64_t> shape;
  int dim = -1;
  DType in = T::f32;
  DType out = T::f32;
  bool clear = true;
  bool keep_dim = false;
  const char* values = "random";
  bool nan_propagate = false;
  std::optional<DType> accumulate = {};
  Where src = Where::fragment, dst = Where::fragment;
  Place from = Place::whole, to = Place::whole;
};

size_t axis_of(const Reduction& r) {
  return static_cast<size_t>(r.dim < 0 ? r.dim + static_cast<int>(r.shape.size()) : r.dim);
}

std::vector<int64_t> reduced_shape(const Reduction& r) {
  std::vector<int64_t> shape = r.shape;
  if (r.keep_dim)
    shape[axis_of(r)] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis_of(r)));
  return shape;
}

void reduce_reference(const Reduction& r, const Args& before, std::vector<Expected>& after) {
  const HostArray &src = array(before, 0), &dst = array(before, 1);
  const Box from = box_for(r.shape, r.from), to = box_for(reduced_shape(r), r.to);
  for_each_element(to.shape, [&](std::vector<int64_t>& at) {
    Line line(r.how, accumulating(r.in, r.out, r.accumulate), r.nan_propagate);
    std::vector<int64_t> element = at;
    if (!r.keep_dim) element.insert(element.begin() + static_cast<std::ptrdiff_t>(axis_of(r)), 0);
    for (int64_t i = 0; i < r.shape[axis_of(r)]; ++i) {
      element[axis_of(r)] = i;
      line.take(src.get(from.flat(element)), r.in);
    }
    if (!r.clear) line.take_old(dst.get(to.flat(at)), r.out);
    line.put(after[1], to.flat(at), r.out);
  });
}

std::string name_of(const Reduction& r) {
  std::string name = fmt::format(
      "reduce_{} {}->{} dim {} {}{}{} from {}/{} to {}/{}", kWords[static_cast<size_t>(r.how)].name, to_string(r.in),
      to_string(r.out), r.dim, r.values, r.clear ? "" : " no clear", r.nan_propagate ? " nan" : "",
      static_cast<int>(r.src), static_cast<int>(r.from), static_cast<int>(r.dst), static_cast<int>(r.to));
  if (r.accumulate) name += fmt::format(" in {}", to_string(*r.accumulate));
  for (const int64_t e : r.shape) name += fmt::format(" {}", e);
  return name;
}

void reduce_kernel(const Reduction& r, const Tiles& t) {
  auto [block] = T::Kernel({1});
  const Box from = box_for(r.shape, r.from), to = box_for(reduced_shape(r), r.to);
  const bool on_chip = r.dst != Where::global;
  const T::Tile s = r.src == Where::global ? t[0] : tile_in(r.src, from.whole(), r.in);
  const T::Tile d = on_chip ? tile_in(r.dst, to.whole(), r.out) : t[1];
  if (r.src != Where::global) T::copy(t[0], s);
  if (on_chip && (!r.clear || r.to != Place::whole)) T::copy(t[1], d);
  const T::ReduceOptions options{
      .dim = r.dim, .clear = r.clear, .nan_propagate = r.nan_propagate, .accumulate = r.accumulate};
  kWords[static_cast<size_t>(r.how)].word(operand_at(s, from, r.from, block), operand_at(d, to, r.to, block), options,
                                          T::SourcePos::here());
  if (on_chip) T::copy(d, t[1]);
}

Row reduce_row(const Reduction& r) {
  HostArray src(r.in, box_for(r.shape, r.from).whole()), dst(r.out, box_for(reduced_shape(r), r.to).whole());
  fill_values(src, r.values);
  dst.fill_random(12, is_boolean(r.out) ? 0 : -2, is_boolean(r.out) ? 1 : 2);
  return tensor_row(
      name_of(r), {src, dst}, [r](const Tiles& t) { reduce_kernel(r, t); },
      [r](const Args& before, std::vector<Expected>& after) { reduce_reference(r, before, after); });
}

constexpr std::array kDTypes = {T::f32, T::f16, T::bf16, T::f64, T::i8, T::i32, T::i64, T::u8, T::u32, T::boolean};

bool takes(Combining how, DType t) { return of_truths(how) || (of_bits(how) ? !is_float(t) : !is_boolean(t)); }
const char* values_of(Combining how, int number) {
  if (of_truths(how)) return (how == Combining::any) == (number % 2 == 0) ? "sparse" : "dense";
  return of_bits(how) ? "bits" : "random";
}
DType plain_dtype(Combining how) { return of_bits(how) ? T::i32 : T::f32; }

// Each operator with each dtype, and of no elements.
void add_dtypes(std::vector<Row>& rows, Combining how) {
  int number = 0;
  for (const DType t : kDTypes) {
    if (!takes(how, t)) continue;
    const DType out = of_truths(how) ? T::boolean : t;
    ++number;
    rows.push_back(reduce_row({.how = how,
                               .shape = {9, 37},
                               .dim = number % 2,
                               .in = t,
                               .out = out,
                               .clear = number % 3 != 0,
                               .values = values_of(how, number)}));
    rows.push_back(reduce_row({.how = how, .shape = {3, 0}, .in = t, .out = out, .clear = number % 4 != 0}));
  }
}

void add_shapes(std::vector<Row>& rows, Combining how) {
  const DType in = plain_dtype(how), out = of_truths(how) ? T::boolean : in;
  const char* values = values_of(how, 0);
  for (const int64_t width : {0, 1, 3, 31, 33, 160}) {
    rows.push_back(reduce_row({.how = how, .shape = {5, width}, .in = in, .out = out, .values = values}));
    rows.push_back(reduce_row({.how = how,
                               .shape = {width, 7},
                               .dim = 0,
                               .in = in,
                               .out = out,
                               .clear = width % 2 == 0,
                               .keep_dim = width % 3 == 0,
                               .values = values_of(how, 1)}));
  }
  rows.push_back(reduce_row({.how = how, .shape = {17}, .in = in, .out = out, .values = values}));
  rows.push_back(reduce_row({.how = how, .shape = {0, 4}, .in = in, .out = out}));
  for (const int dim : {0, -2, 2})
    rows.push_back(reduce_row(
        {.how = how, .shape = {3, 5, 7}, .dim = dim, .in = in, .out = out, .keep_dim = dim == 0, .values = values}));
  rows.push_back(reduce_row({.how = how, .shape = {2, 3, 4, 5}, .dim = 1, .in = in, .out = out, .values = values}));
}

// Every pair of spaces, with every way to name a part.
void add_places(std::vector<Row>& rows) {
  constexpr std::array kWheres = {Where::global, Where::shared, Where::fragment, Where::local};
  constexpr std::array kFrom = {Place::whole, Place::slice, Place::run_time};
  constexpr std::array kTo = {Place::head, Place::slice, Place::whole, Place::run_time};
  constexpr std::array kHow = {Combining::sum, Combining::min, Combining::max, Combining::abssum, Combining::absmax};
  size_t number = 0;
  for (const Where src : kWheres) {
    for (const Where dst : kWheres) {
      for (const size_t turn : {0, 1}) {
        const bool rows_of = (number + turn) % 2 == 0;
        rows.push_back(reduce_row({.how = kHow[number % 5],
                                   .shape = {6, 33},
                                   .dim = rows_of ? 1 : 0,
                                   .clear = number % 3 != 1,
                                   .keep_dim = turn == 1 && kTo[(number + turn) % 4] != Place::head,
                                   .src = src,
                                   .dst = dst,
                                   .from = kFrom[number % 3],
                                   .to = kTo[(number + turn) % 4]}));
        ++number;
      }
    }
  }
}

void add_nans(std::vector<Row>& rows) {
  for (const Combining how : {Combining::max, Combining::min, Combining::absmax, Combining::sum, Combining::abssum}) {
    const bool orders = how != Combining::sum && how != Combining::abssum;
    for (const char* values : {"nan", "all nan", "-inf"}) {
      for (const bool propagate : {false, true}) {
        if (propagate && !orders) continue;
        const DType t = propagate ? T::f16 : T::f32;
        rows.push_back(reduce_row(
            {.how = how, .shape = {6, 40}, .in = t, .out = t, .values = values, .nan_propagate = propagate}));
        rows.push_back(reduce_row({.how = how,
                                   .shape = {6, 5},
                                   .dim = 0,
                                   .in = T::bf16,
                                   .out = T::f64,
                                   .clear = false,
                                   .values = values,
                                   .nan_propagate = propagate}));
      }
    }
  }
  rows.push_back(
      reduce_row({.how = Combining::max, .shape = {6, 9}, .in = T::i32, .out = T::i32, .nan_propagate = true}));
}

// Between dtypes: what each element is cast to, and in what is accumulated.
void add_conversions(std::vector<Row>& rows) {
  const std::vector<std::array<DType, 2>> pairs = {
      {T::f16, T::f32}, {T::bf16, T::f32}, {T::f64, T::f32}, {T::f32, T::f16}, {T::f64, T::bf16}, {T::f16, T::bf16},
      {T::i8, T::i32},  {T::i32, T::i8},   {T::u8, T::i32},  {T::i32, T::u32}, {T::u32, T::i64},  {T::boolean, T::i32}};
  int number = 0;
  for (const auto& [in, out] : pairs) {
    for (const Combining how : {Combining::sum, Combining::max, Combining::min, Combining::abssum, Combining::absmax}) {
      if (++number % 3 == 0) continue;
      rows.push_back(reduce_row({.how = how,
                                 .shape = {4, 35},
                                 .dim = number % 2,
                                 .in = in,
                                 .out = out,
                                 .clear = number % 4 != 0,
                                 .values = is_float(in) ? "random" : "bits"}));
    }
  }
  for (const auto& [in, out, accumulate] : std::vector<std::array<DType, 3>>{{T::f16, T::f16, T::f16},
                                                                             {T::f32, T::f32, T::bf16},
                                                                             {T::f32, T::f32, T::f64},
                                                                             {T::f64, T::f64, T::f32},
                                                                             {T::i8, T::i8, T::i32},
                                                                             {T::i32, T::i64, T::i8}}) {
    for (const Combining how : {Combining::sum, Combining::absmax}) {
      rows.push_back(
          reduce_row({.how = how, .shape = {4, 35}, .in = in, .out = out, .clear = false, .accumulate = accumulate}));
    }
  }
}

// src and dst of one row as literal numbers.
Row literal_row(const char* name, Word word, HostArray src, HostArray dst, T::ReduceOptions options,
                std::vector<Real> wanted) {
  return tensor_row(
      name, {src, dst},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        word(t[0], t[1], options, T::SourcePos::here());
      },
      [=](const Args&, std::vector<Expected>& after) {
        for (size_t i = 0; i < wanted.size(); ++i) after[1].set(static_cast<int64_t>(i), wanted[i]);
      });
}

HostArray numbers(DType dtype, std::vector<int64_t> shape, std::initializer_list<Real> values) {
  HostArray out(dtype, std::move(shape));
  out.fill_with(values);
  return out;
}

// Results that only one accumulation gives, whatever the order.
void add_literals(std::vector<Row>& rows) {
  constexpr Real kInf = std::numeric_limits<Real>::infinity(), kNan = std::numeric_limits<Real>::quiet_NaN();
  // In f16 a sum of ones stops growing at 2048.
  rows.push_back(literal_row("4096 ones in f16", T::reduce_sum, numbers(T::f16, {4096}, {1}), numbers(T::f16, {1}, {0}),
                             {}, {4096}));
  const HostArray large = numbers(T::f16, {2}, {60000, 60000}), zero = numbers(T::f32, {1}, {0});
  rows.push_back(literal_row("f16 beyond its range", T::reduce_sum, large, zero, {}, {120000}));
  rows.push_back(
      literal_row("f16 beyond its range, asked for", T::reduce_sum, large, zero, {.accumulate = T::f16}, {kInf}));
  const HostArray ints = numbers(T::i32, {2}, {200, 5}), byte = numbers(T::i8, {1}, {0});
  rows.push_back(literal_row("elements wrap before the maximum", T::reduce_max, ints, byte, {}, {5}));
  rows.push_back(
      literal_row("elements wrap after the maximum", T::reduce_max, ints, byte, {.accumulate = T::i32}, {-56}));
  rows.push_back(literal_row("magnitude of the smallest i8", T::reduce_absmax, numbers(T::i8, {2}, {-128, 3}),
                             numbers(T::i32, {1}, {0}), {}, {128}));
  rows.push_back(literal_row("magnitude of the smallest i8 in i8", T::reduce_absmax, numbers(T::i8, {2}, {-128, 3}),
                             byte, {}, {3}));
  rows.push_back(literal_row("abssum keeps what was there", T::reduce_abssum, numbers(T::f32, {3}, {-1, 2, -3}),
                             numbers(T::f32, {1}, {-10}), {.clear = false}, {-4}));
  rows.push_back(literal_row("absmax keeps what was there", T::reduce_absmax, numbers(T::f32, {2}, {-1, 2}),
                             numbers(T::f32, {1}, {-10}), {.clear = false}, {2}));
  const HostArray nan = numbers(T::f32, {40}, {kNan}), old = numbers(T::f32, {1}, {kNan});
  rows.push_back(literal_row("NaN ignored in both", T::reduce_max, nan, old, {.clear = false}, {-kInf}));
  rows.push_back(literal_row("NaN kept from the result", T::reduce_min, numbers(T::f32, {2}, {1, 2}), old,
                             {.clear = false, .nan_propagate = true}, {kNan}));
  rows.push_back(literal_row("NaN counts as true", T::reduce_all, nan, numbers(T::boolean, {1}, {0}), {}, {1}));
}

// ---- products: literal numbers, and any order of rounded products of random ones ----

// Elements in [0.5, 1.5], combined along `dim` of [rows, width] in the dtype of accumulation.
Row product_row(DType in, DType out, int64_t rows, int64_t width, int dim, bool clear) {
  HostArray src(in, {rows, width}), dst(out, {dim == 1 ? rows : width});
  src.fill_random(21, 0.5, 1.5);
  dst.fill_random(22, -2, 2);
  return tensor_row(
      fmt::format("reduce_prod {}->{} {}x{} dim {}{}", to_string(in), to_string(out), rows, width, dim,
                  clear ? "" : " no clear"),
      {src, dst},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_fragment({rows, width}, in), d = T::alloc_fragment({t[1].shape(0)}, out);
        T::copy(t[0], s);
        T::copy(t[1], d);
        T::reduce_prod(s, d, {.dim = dim, .clear = clear});
        T::copy(d, t[1]);
      },
      [=](const Args& before, std::vector<Expected>& after) {
        const int64_t count = dim == 1 ? width : rows;
        const DType within = in == T::f64 || out == T::f64 ? T::f64 : T::f32;
        for (int64_t i = 0; i < array(before, 1).size(); ++i) {
          Real product = clear ? Real(1) : array(before, 1).get(i);
          for (int64_t k = 0; k < count; ++k)
            product *= dim == 1 ? array(before, 0).at({i, k}) : array(before, 0).at({k, i});
          // One rounding for each factor (Higham, Accuracy and Stability, section 3.1), and one to the result.
          const Real nu = static_cast<Real>(count + 1) * unit_of(within);
          const Real error = nu / (1 - nu) * std::fabs(product);
          after[1].set(i, product, error + unit_of(out) * (std::fabs(product) + error) + subnormal_of(out) / 2);
        }
      });
}

void add_products(std::vector<Row>& rows) {
  constexpr Real kInf = std::numeric_limits<Real>::infinity(), kNan = std::numeric_limits<Real>::quiet_NaN();
  const auto literal = [&](const char* name, HostArray src, DType out, T::ReduceOptions options, Real wanted) {
    rows.push_back(literal_row(name, T::reduce_prod, std::move(src), numbers(out, {1}, {3}), options, {wanted}));
  };
  literal("product of nothing", HostArray(T::f32, {0}), T::f32, {}, 1);
  literal("product of nothing, kept", HostArray(T::i32, {0}), T::i32, {.clear = false}, 3);
  literal("product of integers", numbers(T::i32, {4}, {1, -2, 3, 4}), T::i32, {}, -24);
  literal("product kept", numbers(T::i64, {3}, {5, -7, 1 << 30}), T::i64, {.clear = false}, Real(-105) * (1 << 30));
  literal("product wraps in i8", numbers(T::i8, {2}, {100, 3}), T::i8, {}, 44);
  literal("product wraps in u32", numbers(T::u32, {2}, {1 << 20, 1 << 13}), T::u32, {.clear = false}, 0);
  literal("elements wrap before the product", numbers(T::i32, {2}, {257, 5}), T::i8, {}, 5);
  literal("product in i32 into i8", numbers(T::i32, {2}, {256, 5}), T::i8, {.accumulate = T::i32}, 0);
  literal("product of truths", numbers(T::boolean, {5}, {1, 1, 1, 0, 1}), T::i32, {}, 0);
  literal("product beyond f16", numbers(T::f16, {3}, {1024, 512, 0.25}), T::f32, {}, 131072);
  literal("product beyond f16, asked for", numbers(T::f16, {2}, {1024, 512}), T::f32, {.accumulate = T::f16}, kInf);
  literal("product with NaN", numbers(T::f32, {3}, {2, kNan, 4}), T::f32, {}, kNan);
  literal("product of infinity and 0", numbers(T::bf16, {2}, {kInf, 0}), T::bf16, {}, kNan);
  bool clear = true;
  for (const auto& [in, out] : std::vector<std::array<DType, 2>>{{T::f32, T::f32},
                                                                 {T::f16, T::f16},
                                                                 {T::bf16, T::f32},
                                                                 {T::f64, T::f64},
                                                                 {T::f16, T::f64},
                                                                 {T::f64, T::f32}}) {
    for (const int64_t width : {1, 31, 160}) {
      rows.push_back(product_row(in, out, 5, width, 1, clear = !clear));
      rows.push_back(product_row(in, out, width, 7, 0, clear));
    }
  }
}

// A row of a larger result: the reduced dimension is not where dst has its extent 1. Scalars as results.
void add_forms(std::vector<Row>& rows) {
  for (const bool max : {false, true}) {
    HostArray src(T::f32, {6, 32}), dst(T::f32, {3, 6});
    fill_values(src, "random");
    rows.push_back(tensor_row(
        max ? "max into a row" : "sum into a row", {src, dst},
        [max](const Tiles& t) {
          auto blocks = T::Kernel({1});
          auto s = T::alloc_shared({6, 32}, T::f32), d = T::alloc_fragment({3, 6}, T::f32);
          T::copy(t[0], s);
          T::copy(t[1], d);
          (max ? T::reduce_max : T::reduce_sum)(s, d(1, T::all), {}, T::SourcePos::here());
          T::copy(d, t[1]);
        },
        [max](const Args& before, std::vector<Expected>& after) {
          for (int64_t i = 0; i < 6; ++i) {
            Line line(max ? Combining::max : Combining::sum, T::f32, false);
            for (int64_t k = 0; k < 32; ++k) line.take(array(before, 0).at({i, k}), T::f32);
            line.put(after[1], 6 + i, T::f32);
          }
        }));
  }
  for (const int64_t width : {3, 70}) {
    rows.push_back(tensor_row(
        "NaN ignored in both, on chip", {HostArray(T::f32, {2, width}), HostArray(T::f32, {2})},
        [](const Tiles& t) {
          auto blocks = T::Kernel({1});
          auto s = T::alloc_shared({2, t[0].shape(1)}, T::f32), d = T::alloc_fragment({2}, T::f32);
          T::copy(t[0], s);
          for (auto [i, j] : T::Parallel(2, t[0].shape(1))) s(i, j) = (s(i, j) + 1) * T::infinity(T::f32) * 0;
          for (auto i : T::Parallel(2)) d(i) = s(i, 0);
          T::reduce_max(s, d, {.clear = false});
          T::copy(d, t[1]);
        },
        [](const Args&, std::vector<Expected>& after) {
          for (int64_t i = 0; i < 2; ++i) after[1].set(i, -std::numeric_limits<Real>::infinity());
        }));
  }
  rows.push_back(tensor_row(
      "any_of and all_of", {numbers(T::i32, {3, 4}, {0, 0, 0, 0, 1, 1, 1, 1, 0, 5, 0, 0}), HostArray(T::i32, {3, 3})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_shared({3, 4}, T::i32);
        T::copy(t[0], s);
        for (auto i : T::serial(3)) {
          const T::Expr any = T::any_of(s(i, T::slice(0, 4)));
          s(i, 0) = 7;  // too late for `any`
          T::if_(any, [&] { t[1](i, 0) = 1; });
        }
        for (auto i : T::Parallel(3)) t[1](i, 1) = T::if_then_else(T::all_of(s(i, T::all)), 1, 2);
        t[1](0, 2) = T::cast(T::any_of(t[0]), T::i32) + T::cast(T::all_of(s(T::slice(1, 1), T::all)), T::i32) * 2;
      },
      [](const Args&, std::vector<Expected>& after) {
        const std::array<Real, 9> wanted = {0, 2, 3, 1, 1, 0, 1, 2, 0};
        for (size_t i = 0; i < wanted.size(); ++i) after[1].set(static_cast<int64_t>(i), wanted[i]);
      }));
  rows.push_back(tensor_row(
      "into a scalar", {numbers(T::f32, {4}, {1, -5, 2, 3}), HostArray(T::f32, {2})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto sum = T::alloc_var(T::f32);
        auto lowest = T::alloc_var(T::f32, -9);
        T::reduce_sum(t[0], sum);
        T::reduce_min(t[0], lowest, {.clear = false, .batch = 2});
        t[1](0) = sum;
        t[1](1) = lowest;
      },
      [](const Args&, std::vector<Expected>& after) {
        after[1].set(0, 1);
        after[1].set(1, -9);
      }));
}

}  // namespace

std::vector<Row> reduce_rows() {
  std::vector<Row> rows;
  for (int how = 0; how < kNumCombinings; ++how) {
    add_dtypes(rows, Combining(how));
    add_shapes(rows, Combining(how));
  }
  for (const int64_t width : {2, 96, 257, 1000}) {
    rows.push_back(reduce_row({.how = Combining::max, .shape = {5, width}}));
    rows.push_back(reduce_row({.how = Combining::sum, .shape = {5, width}}));
  }
  for (const DType t : {T::f32, T::f16, T::i8, T::i64})
    rows.push_back(reduce_row({.how = Combining::max, .shape = {9, 37}, .in = t, .out = t, .values = "negative"}));
  add_places(rows);
  add_nans(rows);
  add_conversions(rows);
  add_literals(rows);
  add_products(rows);
  add_forms(rows);
  return rows;
}

}  // namespace tilewright::tests
