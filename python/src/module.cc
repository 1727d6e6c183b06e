// The extension module tilewright._core: the language's builder and the compiler, for the package's Python.
#include "convert.h"

NB_MODULE(_core, module) {
  using namespace tilewright::python;
  module.doc() = "The language and the compiler behind the package tilewright.";
  nanobind::set_leak_warnings(false);  // programs may be kept by module globals until the interpreter ends
  module.def("set_package_folder", &set_package_folder);
  bind_errors(module);
  bind_expressions(module);
  bind_tiles(module);
  bind_operations(module);
  bind_control(module);
  bind_layouts(module);
  bind_kernels(module);
  bind_devices(module);
}
