#include "target/cuda.h"

#include <fmt/format.h>

#include <charconv>

namespace tilewright {

std::string CudaTarget::arch() const { return fmt::format("sm_{}{}", sm, accelerated ? "a" : ""); }

std::string CudaTarget::name() const { return "cuda:" + arch(); }

int64_t CudaTarget::max_shared_bytes() const {
  switch (sm) {
    case 70:
    case 72: return 96 * 1024;
    case 75: return 64 * 1024;
    case 80:
    case 87: return 163 * 1024;
    case 86:
    case 89:
    case 120:
    case 121: return 99 * 1024;
    default: return sm >= 90 ? 227 * 1024 : 96 * 1024;
  }
}

std::optional<CudaTarget> cuda_target_from_arch(std::string_view arch) {
  constexpr std::string_view kPrefix = "sm_";
  if (!arch.starts_with(kPrefix)) return std::nullopt;
  arch.remove_prefix(kPrefix.size());
  CudaTarget out;
  const auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), out.sm);
  const std::string_view rest(end, size_t(arch.data() + arch.size() - end));
  if (error != std::errc() || (rest != "" && rest != "a") || out.sm < 70 || out.sm > 199) return std::nullopt;
  out.accelerated = rest == "a";
  if (out.accelerated && out.sm < 90) return std::nullopt;
  return out;
}

}  // namespace tilewright
