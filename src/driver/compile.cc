#include <tilewright/compile.h>

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

constexpr const char* kTargets =
    "auto, cpu, cpu:x86-64, cpu:avx2, cpu:avx512, cpu:generic, cuda, cuda:sm_NN or sim:sm_NN";

CpuLevel cpu_level(const std::string& target, const CpuFeatures& features) {
  if (target == "cpu") return features.level;
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

// Targets that are named but not built.
void refuse_unbuilt(const std::string& requested) {
  for (const char* family : {"hip", "webgpu"}) {
    if (!requested.starts_with(family)) continue;
    throw unsupported({}, "target '{}' is not built yet; targets are {}", requested, kTargets);
  }
  throw invalid_argument("there is no target '{}'", requested).hint(fmt::format("targets are {}", kTargets));
}

// "cuda" takes the architecture of the GPU that is present.
CudaTarget choose_cuda(const std::string& requested, Session& session) {
  const bool named = requested.starts_with("cuda:");
  const std::string arch = named ? requested.substr(5) : session.gpu()->properties().arch();
  const std::optional<CudaTarget> target = cuda_target_from_arch(arch);
  if (target) return *target;
  throw invalid_argument("'{}' is no architecture of an NVIDIA GPU", arch)
      .hint("for instance cuda:sm_80 or cuda:sm_90a");
}

bool is_simulated(const std::string& requested) {
  return requested == "sim" || requested.starts_with("sim:") || requested.starts_with("sim+");
}

void check_options(const CompileOptions& options) {
  if (options.optimize < 0 || options.optimize > 3) {
    throw invalid_argument("optimize is {}", options.optimize).hint("0 to 3");
  }
  if (options.num_threads < 0 || options.num_threads > 1024) {
    throw invalid_argument("num_threads is {}", options.num_threads).hint("0 to 1024; 0 takes every usable core");
  }
}

}  // namespace

CompiledKernel compile(const Program& program, const CompileOptions& options) {
  Session& session = Session::get();
  std::string requested = options.target == "auto" ? session.options().target : options.target;
  check_options(options);
  auto impl = std::make_shared<CompiledKernel::Impl>();
  impl->program = program.ir();
  ir::verify(impl->program);
  if (requested == "auto") requested = session.has_gpu() ? "cuda" : "cpu";
  if (requested == "cuda" || requested.starts_with("cuda:")) {
    const CudaTarget target = choose_cuda(requested, session);
    impl->target = target.name();
    impl->executable = make_cuda_executable(impl->program, target, impl->remarks, impl->lowered_tiles);
  } else if (is_simulated(requested)) {
    const SimTarget target = sim_target_from_name(requested);
    impl->target = target.name();
    impl->executable = make_sim_executable(impl->program, target, options, impl->remarks, impl->lowered_tiles);
  } else if (requested == "cpu" || requested.starts_with("cpu:")) {
    CpuTarget target{.level = cpu_level(requested, session.cpu())};
    if (session.cpu().l3_bytes > 0) target.stream_bytes = session.cpu().l3_bytes / 4 * 3;
    impl->target = target.name();
    impl->executable = make_cpu_executable(impl->program, target, options, impl->remarks, impl->lowered_tiles);
  } else {
    refuse_unbuilt(requested);
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
