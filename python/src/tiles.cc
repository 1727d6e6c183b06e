// Tensors, tiles and scalar variables, and the statements that declare, name and store.
#include "convert.h"

#include "ir/print.h"
#include "lang/convert.h"
#include "lang/open_builder.h"
#include "support/error.h"

#include <nanobind/stl/vector.h>

namespace tilewright::python {

namespace {

using lang::Expr;

ir::Space to_space(const std::string& name) {
  if (name == "shared") return ir::Space::shared;
  if (name == "fragment") return ir::Space::fragment;
  if (name == "local") return ir::Space::local;
  throw internal_error(here_loc(), "no space is called {}", name);
}

int add_tile(const std::string& space, const std::string& name, nb::handle shape, nb::handle dtype) {
  const Loc loc = here_loc();
  return lang::builder(here()).add_tile(to_space(space), name, lang::to_extents(to_exprs(shape), loc), to_dtype(dtype),
                                        loc);
}

int add_tensor(const std::string& name, nb::handle shape, nb::handle dtype, nb::handle strides, double safe_value) {
  return lang::tensor(name, lang::Shape(to_exprs(shape)), to_dtype(dtype),
                      {.strides = to_exprs(strides), .safe_value = safe_value}, here())
      .id();
}

nb::list shape_of(const lang::Tile& tile) {
  nb::list out;
  for (int d = 0; d < tile.rank(here()); ++d) {
    const Expr extent = tile.shape(d, here());
    const std::optional<int64_t> constant = ir::Expr(extent.node()).as_int();
    if (constant) {
      out.append(*constant);
    } else {
      out.append(extent);
    }
  }
  return out;
}

// A name for the value that an expression has here; `name` is the author's.
Expr let(nb::handle value, const std::string& name) {
  const Loc loc = here_loc();
  return lang::from_ir(lang::builder(here()).let(lang::to_strong(to_expr(value)), loc, name));
}

void store(nb::handle target, nb::handle value) {
  const Loc loc = here_loc();
  lang::Builder& b = lang::builder(here());
  const Access access = to_access(target);
  b.store(access.tile, lang::to_indices(access.subscripts),
          lang::to_dtype(to_expr(value), b.dtype_of(access.tile, loc), loc), loc);
}

int view(nb::handle tile, nb::handle shape, nb::handle dtype, const std::string& word) {
  const auto& of = *nb::inst_ptr<lang::Tile>(tile);
  const Loc loc = here_loc();
  lang::Builder& b = lang::builder(here());
  std::vector<ir::Expr> extents = shape.is_none() ? b.shape_of(of.id(), loc) : lang::to_extents(to_exprs(shape), loc);
  const DType as = dtype.is_none() ? b.dtype_of(of.id(), loc) : to_dtype(dtype);
  return b.add_view(word, of.id(), std::move(extents), as, loc);
}

}  // namespace

void bind_tiles(nb::module_& module) {
  nb::class_<lang::Tile>(module, "Tile", nb::is_weak_referenceable(), nb::dynamic_attr())
      .def(nb::init<int>())
      .def_prop_ro("id", &lang::Tile::id);
  module.def("add_tile", &add_tile);
  module.def("add_tensor", &add_tensor);
  module.def("add_workspace", [](nb::handle shape, nb::handle dtype) {
    return lang::alloc_global(lang::Shape(to_exprs(shape)), to_dtype(dtype), here()).id();
  });
  module.def("add_scalar",
             [](const std::string& name, nb::handle dtype) { return lang::scalar(name, to_dtype(dtype), here()); });
  module.def("add_dynamic", [](const std::string& name) { return lang::dynamic(name, here()); });
  module.def("shape_of", &shape_of);
  module.def("let", &let);
  module.def("store", &store);
  module.def("view", &view, nb::arg("tile"), nb::arg("shape").none(), nb::arg("dtype").none(), nb::arg("word"));
  module.def("assume", [](nb::handle condition) { lang::assume(to_expr(condition), here()); });
  module.def("annotate_safe_value",
             [](const lang::Tile& tensor, double value) { lang::annotate_safe_value(tensor, value, here()); });
}

}  // namespace tilewright::python
