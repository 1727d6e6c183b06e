// Programs, compilation, launches and timing.
#include "arguments.h"
#include "interrupts.h"

#include "ir/op.h"
#include "ir/rewrite.h"
#include "support/error.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include <tilewright/compile.h>

#include <set>

namespace tilewright::python {

namespace {

// Collects the tensors that some statement writes.
class WrittenTensors : public ir::Visitor {
 public:
  explicit WrittenTensors(const ir::Program& program) {
    for (const ir::Kernel& kernel : program.kernels) {
      kernel_ = &kernel;
      ir::Visitor::visit(kernel.body);
    }
  }
  bool contains(int tensor) const { return written_.contains(tensor); }

 private:
  using ir::Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) add(store->tile);
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      if (atomic->kind != ir::AtomicKind::load) add(atomic->tile);
    }
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) {
      for (const ir::Access& access : op->def->effects(*op, *kernel_)) {
        if (access.mode != ir::Mode::read) add(access.ref.tile);
      }
    }
    ir::Visitor::visit_parts(stmt);
  }
  void add(ir::TileId id) {
    const int tensor = kernel_->tile(kernel_->storage_of(id)).tensor;
    if (tensor >= 0) written_.insert(tensor);
  }

  const ir::Kernel* kernel_ = nullptr;
  std::set<int> written_;
};

// One (is_tensor, name, dtype, is_written) for each argument of a launch.
nb::list parameters(const Program& program) {
  const ir::Program& ir = program.ir();
  const WrittenTensors written(ir);
  nb::list out;
  for (const ir::Param& param : ir.params) {
    if (param.is_tensor) {
      const ir::Tensor& tensor = ir.tensors[size_t(param.index)];
      out.append(
          nb::make_tuple(true, tensor.name, std::string(to_string(tensor.dtype)), written.contains(param.index)));
    } else {
      const ir::Expr& var = ir.scalars[size_t(param.index)].var;
      out.append(nb::make_tuple(false, var->name, std::string(to_string(var.dtype())), false));
    }
  }
  return out;
}

struct Arguments {
  std::vector<Argument> values;
  std::vector<nb::object> keep;
};

// `written`: for each argument whether the kernel writes it.
Arguments to_arguments(nb::handle sequence, const std::vector<bool>& written) {
  Arguments out;
  out.values.reserve(written.size());
  out.keep.reserve(written.size());
  for (nb::handle item : sequence) {
    HeldArgument held = to_argument(item);
    const size_t at = out.values.size();
    if (held.read_only && at < written.size() && written[at]) {
      throw invalid_argument("argument {} is read-only, but the kernel writes it", at + 1).hint("pass a copy of it");
    }
    out.values.push_back(std::move(held.argument));
    out.keep.push_back(std::move(held.keep));
  }
  return out;
}

// Calls a function of Python from threads that do not hold the interpreter. What it raises ends there.
PrintHook to_hook(nb::object function) {
  if (function.is_none()) return {};
  auto* kept = new nb::object(std::move(function));  // as long as the process: kernels end on any thread
  return [kept](std::string_view text) {
    nb::gil_scoped_acquire interpreter;
    try {
      (*kept)(std::string(text));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable(*kept);
    }
  };
}

CompiledKernel compile_program(const Program& program, const std::string& target, int num_threads, int optimize,
                               nb::object on_print) {
  CompileOptions options{
      .target = target, .num_threads = num_threads, .optimize = optimize, .on_print = to_hook(std::move(on_print))};
  nb::gil_scoped_release others;
  return compile(program, options);
}

// Runs kernels by `run` while other threads have the interpreter. Ctrl-C ends them, as KeyboardInterrupt.
template <class F>
auto run_kernels(F&& run) {
  try {
    const InterruptGuard guard;
    nb::gil_scoped_release others;
    return run();
  } catch (const Error&) {
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();  // KeyboardInterrupt
    throw;
  }
}

// A kernel with what every call of it needs to know.
struct Runner {
  CompiledKernel kernel;
  std::vector<bool> written;

  void operator()(nb::handle arguments) const {
    Arguments given = to_arguments(arguments, written);
    run_kernels([&] { kernel.run(std::move(given.values)); });
  }
};

std::vector<double> profile_launches(const CompiledKernel& kernel, nb::handle arguments,
                                     const std::vector<bool>& written, int warmup, int min_repeats, double min_seconds,
                                     double max_seconds) {
  const Arguments given = to_arguments(arguments, written);
  const ProfileOptions options{
      .warmup = warmup, .min_repeats = min_repeats, .min_seconds = min_seconds, .max_seconds = max_seconds};
  return run_kernels([&] { return kernel.profile(given.values, options).samples_ms; });
}

nb::list remarks_of(const std::vector<Remark>& remarks) {
  nb::list out;
  for (const Remark& remark : remarks) out.append(nb::make_tuple(remark.kind, remark.text, remark.loc.to_string()));
  return out;
}

void bind_launches(nb::module_& m) {
  struct BoundLaunch {
    Launch launch;
    std::vector<nb::object> keep;
  };
  nb::class_<BoundLaunch>(m, "Launch")
      .def("__call__", [](const BoundLaunch& bound) { run_kernels([&] { bound.launch(); }); })
      .def("wait", [](const BoundLaunch& bound) { run_kernels([&] { bound.launch.wait(); }); })
      .def("remarks", [](const BoundLaunch& bound) { return remarks_of(bound.launch.remarks()); });
  m.def("bind", [](const CompiledKernel& kernel, nb::handle arguments, const std::vector<bool>& written) {
    Arguments given = to_arguments(arguments, written);
    return BoundLaunch{.launch = kernel.bind_arguments(std::move(given.values)), .keep = std::move(given.keep)};
  });
}

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::class_<Program>(m, "Program")
      .def_prop_ro("name", &Program::name)
      .def("print", &Program::print)
      .def("parameters", &parameters);
  nb::class_<CompiledKernel>(m, "CompiledKernel")
      .def_prop_ro("target", &CompiledKernel::target)
      .def_prop_ro("source", &CompiledKernel::get_kernel_source)
      .def("report", &CompiledKernel::report)
      .def("remarks", [](const CompiledKernel& kernel) { return remarks_of(kernel.remarks()); })
      .def("runner", [](const CompiledKernel& kernel,
                        std::vector<bool> written) { return Runner{.kernel = kernel, .written = std::move(written)}; })
      .def("profile", &profile_launches);
  m.def("compile", &compile_program, nb::arg("program"), nb::arg("target"), nb::arg("num_threads"), nb::arg("optimize"),
        nb::arg("on_print").none());
  m.def("interpret", [](const Program& program, nb::handle arguments) {
    const Arguments given = to_arguments(arguments, {});
    run_kernels([&] { interpret(program, given.values); });
  });
  nb::class_<Runner>(m, "Runner").def("__call__", &Runner::operator());
  bind_launches(m);
}

}  // namespace tilewright::python
