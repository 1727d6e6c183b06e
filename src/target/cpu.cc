#include "target/cpu.h"

#include <array>

namespace tilewright {

namespace {
constexpr std::array<std::string_view, 4> kLevelNames = {"generic", "x86-64", "avx2", "avx512"};
}

std::string_view to_string(CpuLevel level) { return kLevelNames[size_t(level)]; }

std::optional<CpuLevel> cpu_level_from_string(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return CpuLevel(i);
  }
  return std::nullopt;
}

std::string CpuTarget::name() const { return "cpu:" + std::string(to_string(level)); }

}  // namespace tilewright
