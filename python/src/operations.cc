// Operations on tiles, atomics and reports.
#include "convert.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include "support/error.h"

namespace tilewright::python {

namespace {

using OptionalName = std::optional<std::string>;

std::optional<DType> to_optional_dtype(const OptionalName& name) {
  return name ? dtype_from_string(*name) : std::nullopt;
}

void gemm(nb::handle a, nb::handle b, nb::handle c, bool transpose_a, bool transpose_b, int policy,
          nb::handle clear_accum, int k_pack) {
  lang::gemm(to_operand(a), to_operand(b), to_operand(c),
             {.transpose_A = transpose_a,
              .transpose_B = transpose_b,
              .policy = lang::WarpPolicy(policy),
              .clear_accum = to_expr(clear_accum),
              .k_pack = k_pack},
             here());
}

void reduce(const std::string& word, nb::handle src, nb::handle dst, int dim, bool clear, int batch, bool nan_propagate,
            const OptionalName& accumulate) {
  lang::detail::reduce(word, to_operand(src), to_operand(dst),
                       {.dim = dim,
                        .clear = clear,
                        .batch = batch,
                        .nan_propagate = nan_propagate,
                        .accumulate = to_optional_dtype(accumulate)},
                       here());
}

void scan(bool is_max, nb::handle src, nb::handle dst, int dim, bool reverse, bool nan_propagate,
          const OptionalName& accumulate) {
  const lang::ScanOptions options{
      .dim = dim, .reverse = reverse, .nan_propagate = nan_propagate, .accumulate = to_optional_dtype(accumulate)};
  const lang::Operand from = to_operand(src);
  if (dst.is_none()) return is_max ? lang::cummax(from, options, here()) : lang::cumsum(from, options, here());
  is_max ? lang::cummax(from, to_operand(dst), options, here()) : lang::cumsum(from, to_operand(dst), options, here());
}

nb::object atomic(const std::string& word, nb::handle dst, nb::handle value, const std::string& order,
                  bool return_prev) {
  using Word =
      lang::Previous (*)(const lang::Operand&, const lang::Value&, const lang::AtomicOptions&, lang::SourcePos);
  constexpr std::pair<std::string_view, Word> kWords[] = {{"add", &lang::atomic_add}, {"max", &lang::atomic_max},
                                                          {"min", &lang::atomic_min}, {"or", &lang::atomic_or},
                                                          {"and", &lang::atomic_and}, {"xor", &lang::atomic_xor}};
  for (const auto& [name, function] : kWords) {
    if (name != word) continue;
    const lang::Previous previous =
        function(to_operand(dst), to_value(value), {.memory_order = order, .return_prev = return_prev}, here());
    return return_prev ? nb::cast(lang::Expr(previous)) : nb::none();
  }
  throw internal_error(here_loc(), "no atomic is called {}", word);
}

void atomic_neighbours(int count, nb::handle dst, nb::handle value, const std::string& order, bool return_prev) {
  const lang::AtomicOptions options{.memory_order = order, .return_prev = return_prev};
  const lang::Access to = to_access(dst).made(), from = to_access(value).made();
  count == 2 ? lang::atomic_addx2(to, from, options, here()) : lang::atomic_addx4(to, from, options, here());
}

void bind_atomics(nb::module_& m) {
  m.def("atomic", &atomic);
  m.def("atomic_neighbours", &atomic_neighbours);
  m.def("atomic_load", [](nb::handle src, const std::string& order) {
    return lang::atomic_load(to_access(src).made(), order, here());
  });
  m.def("atomic_store", [](nb::handle dst, nb::handle value, const std::string& order) {
    lang::atomic_store(to_access(dst).made(), to_expr(value), order, here());
  });
}

}  // namespace

void bind_operations(nb::module_& m) {
  m.def("copy", [](nb::handle src, nb::handle dst) { lang::copy(to_operand(src), to_operand(dst), here()); });
  m.def("fill", [](nb::handle dst, nb::handle value) { lang::fill(to_operand(dst), to_expr(value), here()); });
  m.def("transpose", [](nb::handle src, nb::handle dst) { lang::transpose(to_operand(src), to_operand(dst), here()); });
  m.def("gather", [](nb::handle src, nb::handle index, nb::handle dst) {
    lang::gather(to_operand(src), to_operand(index), to_operand(dst), here());
  });
  m.def("gemm", &gemm);
  m.def("reduce", &reduce, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg("accumulate").none());
  m.def("scan", &scan, nb::arg(), nb::arg(), nb::arg("dst").none(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg("accumulate").none());
  m.def("any_of", [](nb::handle region) { return lang::any_of(to_operand(region), here()); });
  m.def("all_of", [](nb::handle region) { return lang::all_of(to_operand(region), here()); });
  m.def("use_swizzle", [](int panel_size, bool by_column, bool enable) {
    lang::use_swizzle(panel_size, {.order = by_column ? lang::col : lang::row, .enable = enable}, here());
  });
  m.def("print_value",
        [](nb::handle value, const std::string& message) { lang::print(to_value(value), message, here()); });
  m.def("print_message", [](const std::string& message) { lang::print(message, here()); });
  m.def("device_assert", [](nb::handle condition, const std::string& message) {
    lang::device_assert(to_expr(condition), message, here());
  });
  bind_atomics(m);
}

}  // namespace tilewright::python
