// cumsum and cummax.
#include "ops/combine_reference.h"
#include "ops/numbers.h"

#include <fmt/format.h>

#include <array>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;

struct Scan {
  bool max = false;
  std::vector<int64_t> shape;
  int dim = 0;
  bool reverse = false;
  DType in = T::f32;
  DType out = T::f32;
  bool in_place = false;  // on chip, then in == out
  const char* values = "random";
  bool nan_propagate = false;
  std::optional<DType> accumulate = {};
  Where src = Where::fragment, dst = Where::fragment;
  Place from = Place::whole, to = Place::whole;
};

void scan_reference(const Scan& s, const Args& before, std::vector<Expected>& after) {
  const HostArray& src = array(before, 0);
  const Box from = box_for(s.shape, s.from), to = s.in_place ? from : box_for(s.shape, s.to);
  const auto rank = static_cast<int>(s.shape.size());
  const auto axis = static_cast<size_t>(s.dim < 0 ? s.dim + rank : s.dim);
  if (s.in_place) {  // the rest of the tile stays
    for (int64_t i = 0; i < src.size(); ++i) after[1].set(i, src.get(i));
  }
  for_each_element(s.shape, [&](std::vector<int64_t>& at) {
    Line line(s.max ? Combining::max : Combining::sum, accumulating(s.in, s.out, s.accumulate), s.nan_propagate);
    std::vector<int64_t> element = at;
    const int64_t first = s.reverse ? at[axis] : 0, last = s.reverse ? s.shape[axis] - 1 : at[axis];
    for (int64_t i = first; i <= last; ++i) {
      element[axis] = i;
      line.take(src.get(from.flat(element)), s.in);
    }
    line.put(after[1], to.flat(at), s.out);
  });
}

std::string name_of(const Scan& s) {
  std::string name = fmt::format(
      "{} {}->{} dim {}{}{}{} {} from {}/{} to {}/{}", s.max ? "cummax" : "cumsum", to_string(s.in), to_string(s.out),
      s.dim, s.reverse ? " reverse" : "", s.in_place ? " in place" : "", s.nan_propagate ? " nan" : "", s.values,
      static_cast<int>(s.src), static_cast<int>(s.from), static_cast<int>(s.dst), static_cast<int>(s.to));
  for (const int64_t e : s.shape) name += fmt::format(" {}", e);
  return name;
}

void scan_kernel(const Scan& s, const Tiles& t) {
  auto [block] = T::Kernel({1});
  const Box from = box_for(s.shape, s.from), to = box_for(s.shape, s.to);
  const T::Tile src = s.src == Where::global ? t[0] : tile_in(s.src, from.whole(), s.in);
  if (s.src != Where::global) T::copy(t[0], src);
  const T::Operand operand = operand_at(src, from, s.from, block);
  const T::ScanOptions options{
      .dim = s.dim, .reverse = s.reverse, .nan_propagate = s.nan_propagate, .accumulate = s.accumulate};
  if (s.in_place) {
    (s.max ? T::cummax(operand, options) : T::cumsum(operand, options));
    T::copy(src, t[1]);
    return;
  }
  const bool on_chip = s.dst != Where::global;
  const T::Tile dst = on_chip ? tile_in(s.dst, to.whole(), s.out) : t[1];
  if (on_chip && s.to != Place::whole) T::copy(t[1], dst);
  const T::Operand result = operand_at(dst, to, s.to, block);
  (s.max ? T::cummax(operand, result, options) : T::cumsum(operand, result, options));
  if (on_chip) T::copy(dst, t[1]);
}

Row scan_row(const Scan& s) {
  const Place to = s.in_place ? s.from : s.to;
  HostArray src(s.in, box_for(s.shape, s.from).whole()), dst(s.out, box_for(s.shape, to).whole());
  fill_values(src, s.values);
  dst.fill_random(13, -2, 2);
  return tensor_row(
      name_of(s), {src, dst}, [s](const Tiles& t) { scan_kernel(s, t); },
      [s](const Args& before, std::vector<Expected>& after) { scan_reference(s, before, after); });
}

void add_shapes(std::vector<Row>& rows, bool max) {
  int number = 0;
  for (const int64_t width : {0, 1, 3, 31, 33, 160}) {
    ++number;
    rows.push_back(scan_row({.max = max, .shape = {width}, .reverse = number % 2 == 0}));
    rows.push_back(scan_row({.max = max, .shape = {4, width}, .dim = -1, .in_place = number % 2 == 0}));
    rows.push_back(scan_row({.max = max, .shape = {width, 5}, .reverse = number % 2 != 0}));
  }
  for (const int dim : {0, 1, 2, -1, -2, -3})
    rows.push_back(scan_row({.max = max, .shape = {3, 5, 7}, .dim = dim, .reverse = dim % 2 != 0}));
  rows.push_back(scan_row({.max = max, .shape = {2, 3, 4, 5}, .dim = 1, .in_place = true}));
  rows.push_back(scan_row({.max = max, .shape = {1, 6, 1}, .dim = 1}));
  rows.push_back(scan_row({.max = max, .shape = {1, 6, 1}, .dim = 0}));
}

void add_dtypes(std::vector<Row>& rows, bool max) {
  int number = 0;
  for (const DType t : {T::f32, T::f16, T::bf16, T::f64, T::i8, T::i32, T::i64, T::u8, T::u32}) {
    const bool in_place = ++number % 2 == 0;
    rows.push_back(scan_row({.max = max,
                             .shape = {9, 37},
                             .dim = number % 3 == 0 ? 0 : 1,
                             .reverse = number % 4 < 2,
                             .in = t,
                             .out = t,
                             .in_place = in_place}));
  }
  for (const auto& [in, out] : std::vector<std::array<DType, 2>>{{T::f16, T::f32},
                                                                 {T::f32, T::bf16},
                                                                 {T::f64, T::f16},
                                                                 {T::i8, T::i32},
                                                                 {T::i32, T::u8},
                                                                 {T::boolean, T::i32}}) {
    rows.push_back(scan_row({.max = max, .shape = {4, 35}, .dim = 1, .in = in, .out = out}));
  }
  rows.push_back(scan_row({.max = max, .shape = {40}, .in = T::f16, .out = T::f16, .accumulate = T::f16}));
  rows.push_back(scan_row({.max = max, .shape = {40}, .in = T::f32, .out = T::f32, .accumulate = T::f64}));
  for (const char* values : {"nan", "all nan", "-inf"}) {
    rows.push_back(scan_row({.max = max, .shape = {4, 40}, .dim = 1, .values = values}));
    if (max)
      rows.push_back(scan_row({.max = max, .shape = {40}, .in_place = true, .values = values, .nan_propagate = true}));
  }
}

// Every pair of spaces, with every way to name a part.
void add_places(std::vector<Row>& rows) {
  constexpr std::array kWheres = {Where::global, Where::shared, Where::fragment, Where::local};
  constexpr std::array kFrom = {Place::whole, Place::slice, Place::run_time};
  constexpr std::array kTo = {Place::head, Place::slice, Place::whole, Place::run_time};
  size_t number = 0;
  for (const Where src : kWheres) {
    for (const Where dst : kWheres) {
      rows.push_back(scan_row({.max = number % 2 == 1,
                               .shape = {6, 33},
                               .dim = number % 3 == 0 ? 0 : 1,
                               .src = src,
                               .dst = dst,
                               .from = kFrom[number % 3],
                               .to = kTo[number % 4]}));
      ++number;
    }
    for (const Place from : {Place::whole, Place::slice, Place::run_time}) {
      if (src == Where::global) continue;
      rows.push_back(scan_row({.max = number++ % 2 == 1, .shape = {6, 9}, .in_place = true, .src = src, .from = from}));
    }
  }
}

// In f16 a running sum of ones stops at 2048; the source at its head, a tensor in place.
void add_literals(std::vector<Row>& rows) {
  HostArray ones(T::f16, {2200});
  ones.fill_with({1});
  rows.push_back(tensor_row(
      "ones in f16", {ones, HostArray(T::f16, {2200})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        T::cumsum(t[0], t[1]);
      },
      [](const Args&, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 2200; ++i) after[1].set(i, round_real(T::f16, static_cast<Real>(i + 1)));
      }));
  HostArray numbers(T::i32, {6});
  numbers.fill_with({3, 1, 4, 1, 5, 9});
  rows.push_back(tensor_row(
      "a tensor in place", {numbers, numbers, numbers},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_shared({4}, T::i32);
        T::cumsum(t[0]);
        T::cummax(t[1](T::slice(1, 5)), {.reverse = true});
        T::cumsum(t[2](2), s);
        T::copy(s, t[2](0));
      },
      [](const Args&, std::vector<Expected>& after) {
        const std::array<std::array<Real, 6>, 3> wanted = {
            {{3, 4, 8, 9, 14, 23}, {3, 5, 5, 5, 5, 9}, {4, 5, 10, 19, 5, 9}}};
        for (size_t a = 0; a < 3; ++a) {
          for (size_t i = 0; i < 6; ++i) after[a].set(static_cast<int64_t>(i), wanted[a][i]);
        }
      }));
}

}  // namespace

std::vector<Row> scan_rows() {
  std::vector<Row> rows;
  for (const bool max : {false, true}) {
    add_shapes(rows, max);
    add_dtypes(rows, max);
  }
  add_places(rows);
  add_literals(rows);
  return rows;
}

}  // namespace tilewright::tests
