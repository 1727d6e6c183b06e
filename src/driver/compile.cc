#include <tilewright/compile.h>

#include "driver/choose_target.h"
#include "driver/compiled_kernel.h"
#include "driver/cpu_executable.h"
#include "driver/cuda_executable.h"
#include "driver/session.h"
#include "driver/sim_executable.h"
#include "ir/verify.h"
#include "runtime/interp/interp.h"
#include "support/error.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

void check_options(const CompileOptions& options) {
  if (options.optimize < 0 || options.optimize > 3) {
    throw invalid_argument("optimize is {}", options.optimize).hint("0 to 3");
  }
  if (options.num_threads < 0 || options.num_threads > 1024) {
    throw invalid_argument("num_threads is {}", options.num_threads).hint("0 to 1024; 0 takes every usable core");
  }
}

struct Maker {
  CompiledKernel::Impl& impl;
  const CompileOptions& options;

  std::shared_ptr<Executable> operator()(const CpuTarget& target) const {
    return make_cpu_executable(impl.program, target, options, impl.remarks, impl.lowered_tiles);
  }
  std::shared_ptr<Executable> operator()(const CudaTarget& target) const {
    return make_cuda_executable(impl.program, target, options, impl.remarks, impl.lowered_tiles);
  }
  std::shared_ptr<Executable> operator()(const SimTarget& target) const {
    return make_sim_executable(impl.program, target, options, impl.remarks, impl.lowered_tiles);
  }
};

}  // namespace

CompiledKernel compile(const Program& program, const CompileOptions& options) {
  check_options(options);
  auto impl = std::make_shared<CompiledKernel::Impl>();
  impl->program = program.ir();
  ir::verify(impl->program);
  const AnyTarget chosen = choose_target(options.target, TargetUse::run);
  impl->target = name_of(chosen);
  impl->executable = std::visit(Maker{*impl, options}, chosen);
  for (std::string& text : Session::get().cache().take_remarks()) {
    impl->remarks.push_back({.kind = "cache", .text = std::move(text), .loc = {}});
  }
  return CompiledKernel(std::move(impl));
}

void interpret(const Program& program, std::vector<Argument> arguments, const PrintHook& on_print) {
  ir::verify(program.ir());
  InterpOptions options;
  options.on_print = on_print;
  interpret(program.ir(), std::span<const Argument>(arguments), options);
}

}  // namespace tilewright
