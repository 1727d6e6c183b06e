// Programs, kernels, loops and branches: what opens and what closes. The package closes in order; a program that an
// exception leaves is abandoned whole.
#include "convert.h"

#include "ir/loop_options.h"
#include "lang/open_builder.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <tilewright/program.h>

namespace tilewright::python {

namespace {

using lang::Expr;
namespace detail = lang::detail;

std::vector<int64_t> to_numbers(nb::handle list) {
  std::vector<int64_t> out;
  for (nb::handle item : list) out.push_back(nb::cast<int64_t>(item));
  return out;
}

detail::LoopOption to_option(nb::handle key, nb::handle value) {
  std::string name = nb::cast<std::string>(key);
  if (PyBool_Check(value.ptr())) return {name, nb::cast<bool>(value)};
  if (PyLong_Check(value.ptr())) return {name, nb::cast<int64_t>(value)};
  if (name == "order" || name == "stage") return {name, ir::list_text(to_numbers(value))};
  std::vector<std::vector<int64_t>> groups;
  for (nb::handle group : value) groups.push_back(to_numbers(group));
  return {name, ir::groups_text(groups)};
}

std::vector<detail::LoopOption> to_options(nb::dict options) {
  std::vector<detail::LoopOption> out;
  for (auto [key, value] : options) out.push_back(to_option(key, value));
  return out;
}

int open_range(int kind, nb::handle start, nb::handle stop, int64_t step, nb::dict options) {
  const lang::SourcePos pos = here();
  return detail::open_loop(
      lang::range_spec(detail::LoopKindTag(kind), to_expr(start), to_expr(stop), step, to_options(options), pos), pos);
}

int open_parallel(nb::handle extents, nb::dict options) {
  std::vector<Expr> stops = to_exprs(extents);
  const std::vector<Expr> starts(stops.size(), Expr(0));
  return detail::open_loop(
      {.kind = detail::kParallel, .begin = starts, .extent = std::move(stops), .options = to_options(options)}, here());
}

void bind_loops(nb::module_& m) {
  m.def("open_range", &open_range);
  m.def("open_parallel", &open_parallel);
  m.def("open_grid", [](nb::handle extents) { return detail::open_grid(to_exprs(extents), here()); });
  m.def("open_persistent", [](nb::handle domain, nb::handle wave_size, nb::handle index, int group_size) {
    return detail::open_persistent(to_exprs(domain), to_expr(wave_size), to_expr(index), group_size, here());
  });
  m.def("close_loop", &detail::close_loop);
  m.def("loop_var", &detail::loop_var);
  m.def("loop_break", [] { lang::loop_break(here()); });
  m.def("loop_continue", [] { lang::loop_continue(here()); });
  m.def("open_if", [](nb::handle condition) { detail::open_if(to_expr(condition), here()); });
  m.def("open_else", [] { detail::open_else(here()); });
  m.def("close_if", &detail::close_if);
  m.def("open_while", [](nb::handle condition) { detail::open_while(to_expr(condition), here()); });
  m.def("close_while", &detail::close_while);
}

}  // namespace

void bind_control(nb::module_& m) {
  m.def("begin_program", [](const std::string& name, const std::string& file, int line) {
    detail::begin_program(name, {.file = kept_name(file), .line = line});
  });
  m.def("end_program", &detail::end_program);
  m.def("num_statements", [] { return lang::builder(here()).num_appended(); });
  m.def("abandon_program", &detail::abandon_program);
  m.def("open_kernel", [](nb::handle grid, const std::vector<int>& threads) {
    // Threads has a constructor for each form; a list of any length needs the longest.
    lang::Threads extents = threads.size() == 1   ? lang::Threads(threads[0])
                            : threads.size() == 2 ? lang::Threads({threads[0], threads[1]})
                                                  : lang::Threads({threads[0], threads[1], threads[2]});
    return detail::open_kernel(to_exprs(grid), {.threads = extents}, here());
  });
  m.def("close_kernel", &detail::close_kernel);
  m.def("block_var", [](int dim) { return lang::get_block_binding(dim, here()); });
  m.def("block_extent", [](int dim) { return lang::get_block_extent(dim, here()); });
  m.def("thread_extent", [](int dim) { return lang::get_thread_extent(dim, here()); });
  bind_loops(m);
}

}  // namespace tilewright::python
