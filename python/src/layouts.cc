// Layouts and fragments that authors give.
#include "convert.h"

#include <nanobind/stl/vector.h>

#include "support/error.h"

namespace tilewright::python {

namespace {

using lang::Fragment;
using lang::Layout;
using lang::Tile;

// What `function` of Python gives for coordinates (and a replica's number).
template <class... I>
nb::object call(const nb::object& function, I... at) {
  return function(at...);
}

template <size_t N, size_t... D>
Layout layout_of(const std::vector<int64_t>& shape, const nb::object& offset, std::index_sequence<D...>) {
  const int64_t extents[N] = {shape[D]...};
  const auto at = [&offset](lang::detail::Same<D, int64_t>... i) { return nb::cast<int64_t>(call(offset, i...)); };
  return Layout(extents, at, here());
}

template <size_t N, size_t... D>
Fragment fragment_of(const std::vector<int64_t>& shape, const nb::object& held, const lang::FragmentOptions& options,
                     std::index_sequence<D...>) {
  const int64_t extents[N] = {shape[D]...};
  const auto at = [&held](lang::detail::Same<D, int64_t>... i, int64_t replica) {
    const nb::object pair = call(held, i..., replica);
    return lang::Held{nb::cast<int64_t>(pair[0]), nb::cast<int64_t>(pair[1])};
  };
  return Fragment(extents, at, options, here());
}

[[noreturn]] void refuse_rank(size_t rank) {
  throw invalid_kernel(here_loc(), "a layout of {} dimensions", rank).hint("1 to 6 dimensions");
}

Layout make_layout(const std::vector<int64_t>& shape, const nb::object& offset) {
  switch (shape.size()) {
    case 1: return layout_of<1>(shape, offset, std::make_index_sequence<1>());
    case 2: return layout_of<2>(shape, offset, std::make_index_sequence<2>());
    case 3: return layout_of<3>(shape, offset, std::make_index_sequence<3>());
    case 4: return layout_of<4>(shape, offset, std::make_index_sequence<4>());
    case 5: return layout_of<5>(shape, offset, std::make_index_sequence<5>());
    case 6: return layout_of<6>(shape, offset, std::make_index_sequence<6>());
    default: refuse_rank(shape.size());
  }
}

Fragment make_fragment(const std::vector<int64_t>& shape, const nb::object& held, int64_t replicas,
                       int64_t num_threads) {
  const lang::FragmentOptions options{.replicas = replicas, .num_threads = num_threads};
  switch (shape.size()) {
    case 1: return fragment_of<1>(shape, held, options, std::make_index_sequence<1>());
    case 2: return fragment_of<2>(shape, held, options, std::make_index_sequence<2>());
    case 3: return fragment_of<3>(shape, held, options, std::make_index_sequence<3>());
    case 4: return fragment_of<4>(shape, held, options, std::make_index_sequence<4>());
    default: refuse_rank(shape.size());
  }
}

}  // namespace

void bind_layouts(nb::module_& m) {
  nb::class_<Layout>(m, "Layout")
      .def("__init__", [](Layout* self, const std::string& text) { new (self) Layout(text, here()); })
      .def_prop_ro("notation", &Layout::notation);
  nb::class_<Fragment>(m, "Fragment")
      .def("__init__", [](Fragment* self, const std::string& text) { new (self) Fragment(text, here()); })
      .def("replicate", [](const Fragment& f, int64_t count) { return f.replicate(count, here()); })
      .def_prop_ro("notation", &Fragment::notation);
  m.def("make_layout", &make_layout);
  m.def("make_fragment", &make_fragment);
  m.def("make_linear_layout", [](const Tile& t) { return lang::make_linear_layout(t, here()); });
  m.def("make_padded_layout", [](const Tile& t, int64_t n) { return lang::make_padded_layout(t, n, here()); });
  m.def("make_swizzled_layout", [](const Tile& t, int64_t n) { return lang::make_swizzled_layout(t, n, here()); });
  m.def("make_fully_replicated_fragment",
        [](const Tile& t) { return lang::make_fully_replicated_layout_fragment(t, here()); });
  m.def("make_mma_accumulator_fragment", [](const Tile& t, int64_t warps_m, int64_t warps_n) {
    return lang::make_mma_accumulator_fragment(t, warps_m, warps_n, here());
  });
  m.def("annotate_layout", [](const Tile& t, const Layout& layout) { lang::annotate_layout(t, layout, here()); });
  m.def("annotate_fragment", [](const Tile& t, const Fragment& f) { lang::annotate_layout(t, f, here()); });
}

}  // namespace tilewright::python
