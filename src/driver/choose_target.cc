#include "driver/choose_target.h"

#include "driver/session.h"
#include "support/error.h"

#include <fmt/format.h>

#include <optional>

namespace tilewright {

namespace {

constexpr const char* kTargets =
    "auto, cpu, cpu:x86-64, cpu:avx2, cpu:avx512, cpu:generic, cuda, cuda:sm_NN or sim:sm_NN";

CpuLevel cpu_level(const std::string& target, const CpuFeatures& features, TargetUse use) {
  if (target == "cpu") return features.level;
  const std::string name = target.substr(std::string("cpu:").size());
  const std::optional<CpuLevel> level = cpu_level_from_string(name);
  if (!level) {
    throw invalid_argument("there is no target '{}'", target).hint(fmt::format("targets are {}", kTargets));
  }
  const bool x86 = features.level != CpuLevel::generic;
  const bool lacks = (*level != CpuLevel::generic && !x86) || *level > features.level;
  if (use == TargetUse::run && lacks) {
    throw invalid_argument("target '{}' needs instructions that this processor does not have", target)
        .hint(fmt::format("the best here is cpu:{}", to_string(features.level)));
  }
  return *level;
}

CpuTarget choose_cpu(const std::string& requested, const CpuFeatures& features, TargetUse use) {
  CpuTarget target{.level = cpu_level(requested, features, use)};
  if (features.l3_bytes > 0) target.stream_bytes = features.l3_bytes / 4 * 3;
  return target;
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

bool is_of(const std::string& requested, const std::string& family) {
  return requested == family || requested.starts_with(family + ":");
}

}  // namespace

AnyTarget choose_target(const std::string& name, TargetUse use) {
  Session& session = Session::get();
  std::string requested = name == "auto" ? session.options().target : name;
  if (requested == "auto") requested = session.has_gpu() ? "cuda" : "cpu";
  if (is_of(requested, "cuda")) return choose_cuda(requested, session);
  if (is_of(requested, "sim") || requested.starts_with("sim+")) return sim_target_from_name(requested);
  if (is_of(requested, "cpu")) return choose_cpu(requested, session.cpu(), use);
  for (const char* family : {"hip", "webgpu"}) {
    if (!requested.starts_with(family)) continue;
    throw unsupported({}, "target '{}' is not built yet; targets are {}", requested, kTargets);
  }
  throw invalid_argument("there is no target '{}'", requested).hint(fmt::format("targets are {}", kTargets));
}

std::string name_of(const AnyTarget& target) {
  return std::visit([](const auto& t) { return t.name(); }, target);
}

}  // namespace tilewright
