#include <tilewright/compile.h>

#include "driver/compiled_kernel.h"
#include "driver/session.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "runtime/interp/interp.h"
#include "support/error.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

constexpr const char* kTargets = "auto, cpu, cpu:x86-64, cpu:avx2, cpu:avx512 or cpu:generic";

CpuLevel cpu_level(const std::string& target, const CpuFeatures& features) {
  if (target == "cpu" || target == "auto") return features.level;
  const std::string name = target.substr(std::string("cpu:").size());
  const std::optional<CpuLevel> level = cpu_level_from_string(name);
  if (!level) {
    throw invalid_argument("there is no target '{}'", target).hint(fmt::format("targets are {}", kTargets));
  }
  const bool x86 = features.level != CpuLevel::generic;
  if ((*level != CpuLevel::generic && !x86) || *level > features.level) {
    throw invalid_argument("target '{}' needs instructions that this processor does not have", target)
        .hint(fmt::format("the best here is cpu:{}", to_string(features.level)));
  }
  return *level;
}

// Splits "auto", "cpu..." from the targets that are named but not built.
CpuTarget choose_target(const std::string& requested, const CpuFeatures& features) {
  if (requested == "auto" || requested == "cpu" || requested.starts_with("cpu:")) {
    return {.level = cpu_level(requested, features)};
  }
  for (const char* family : {"cuda", "sim:", "hip", "webgpu"}) {
    if (requested.starts_with(family)) {
      throw unsupported({}, "target '{}' is not built yet; targets are {}", requested, kTargets);
    }
  }
  throw invalid_argument("there is no target '{}'", requested).hint(fmt::format("targets are {}", kTargets));
}

}  // namespace

CompiledKernel compile(const Program& program, const CompileOptions& options) {
  Session& session = Session::get();
  const std::string requested = options.target == "auto" ? session.options().target : options.target;
  const CpuTarget target = choose_target(requested, session.cpu());
  auto impl = std::make_shared<CompiledKernel::Impl>();
  impl->program = program.ir();
  ir::verify(impl->program);
  impl->target = target.name();
  if (options.optimize < 0 || options.optimize > 3) {
    throw invalid_argument("optimize is {}", options.optimize).hint("0 to 3");
  }
  if (options.num_threads < 0 || options.num_threads > 1024) {
    throw invalid_argument("num_threads is {}", options.num_threads).hint("0 to 1024; 0 takes every usable core");
  }
  impl->num_threads = options.num_threads > 0 ? options.num_threads : session.num_threads();
  const ir::Program lowered = passes::cpu_pipeline(impl->program, target, impl->remarks);
  impl->module = codegen::emit_cpu(lowered, target);
  impl->on_print = options.on_print;
  impl->lowered_tiles = describe_tiles(lowered);

  const codegen::StandaloneSource standalone =
      codegen::inline_device_headers(impl->module.source, impl->module.source_map);
  CpuFeatures features = session.cpu();
  if (target.level != features.level) features = {.level = target.level};
  const HostCompiler& compiler = session.compiler();
  HostSource source{
      .text = standalone.text, .flags = compile_flags(features, compiler.kind()), .source_map = &standalone.source_map};
  source.flags.push_back("-fwrapv");  // integers wrap, as the language says
  // Memory that two element types name.
  if (impl->module.reinterprets) source.flags.push_back("-fno-strict-aliasing");
  if (options.optimize != 3) source.flags.push_back(fmt::format("-O{}", options.optimize));
  impl->loaded = compile_and_load(source, compiler, session.cache(), {.keep_dir = session.options().keep_dir});
  for (const codegen::CpuEntry& entry : impl->module.entries) {
    impl->entries.push_back(impl->loaded->function<CpuEntryFunction>(entry.symbol));
  }
  for (std::string& text : session.cache().take_remarks()) {
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
