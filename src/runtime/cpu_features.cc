#include "runtime/cpu_features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tilewright {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
bool cpuid_bit(unsigned leaf, unsigned subleaf, int reg, int bit) {
  unsigned regs[4] = {};
  if (!__get_cpuid_count(leaf, subleaf, &regs[0], &regs[1], &regs[2], &regs[3])) return false;
  return (regs[reg] >> bit & 1) != 0;
}

// __builtin_cpu_supports also asks the operating system whether it saves the wide registers; plain cpuid bits below are
// only consulted for instructions on registers that this covers. Bits: Intel SDM volume 2, CPUID.
void probe_x86(CpuFeatures& out) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  constexpr int kEax = 0, kEcx = 2, kEdx = 3;
  const bool f16c = avx2 && cpuid_bit(1, 0, kEcx, 29);
  // Every processor with AVX2 has F16C; without it the level would need its own flags.
  out.level = avx512 && f16c ? CpuLevel::avx512 : avx2 && f16c ? CpuLevel::avx2 : CpuLevel::x86_64;
  out.f16c = f16c;
  if (out.level != CpuLevel::avx512) return;
  out.avx512_vnni = cpuid_bit(7, 0, kEcx, 11);
  out.avx512_bf16 = cpuid_bit(7, 1, kEax, 5);
  out.avx512_fp16 = cpuid_bit(7, 0, kEdx, 23);
}
#endif

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

// "32K" or "1M" of /sys/devices/system/cpu/cpu*/cache/index*/size
int64_t parse_size(const std::string& text) {
  char* unit = nullptr;
  const int64_t number = std::strtoll(text.c_str(), &unit, 10);
  return *unit == 'K' ? number << 10 : *unit == 'M' ? number << 20 : number;
}

// sysconf knows the sizes only on x86; /sys knows them wherever the kernel does.
void probe_caches(CpuFeatures& out) {
  for (int index = 0; index < 8; ++index) {
    const fs::path dir = fs::path("/sys/devices/system/cpu/cpu0/cache") / ("index" + std::to_string(index));
    const auto level = first_line(dir / "level"), type = first_line(dir / "type"), size = first_line(dir / "size");
    if (!level || !type || !size || *type == "Instruction") continue;
    const int64_t bytes = parse_size(*size);
    if (bytes <= 0) continue;
    if (*level == "1") out.l1d_bytes = bytes;
    if (*level == "2") out.l2_bytes = bytes;
    if (*level == "3") out.l3_bytes = bytes;
  }
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (out.l3_bytes == 0) out.l3_bytes = std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
}

int cores_in_affinity_mask() {
  for (int num_cpus = 1024; num_cpus <= 1 << 20; num_cpus *= 2) {  // the kernel refuses masks smaller than its own
    const size_t num_bytes = CPU_ALLOC_SIZE(num_cpus);
    std::vector<unsigned long> words(num_bytes / sizeof(unsigned long));
    cpu_set_t* const mask = reinterpret_cast<cpu_set_t*>(words.data());
    if (::sched_getaffinity(0, num_bytes, mask) == 0) return std::max(1, CPU_COUNT_S(num_bytes, mask));
  }
  return std::max(1, int(::sysconf(_SC_NPROCESSORS_ONLN)));
}

// Whole cores of "max 100000" or "150000 100000" (cgroup v2, cpu.max), rounded up.
std::optional<int> cores_in_quota(const std::string& quota, const std::string& period) {
  const double quota_us = std::atof(quota.c_str()), period_us = std::atof(period.c_str());
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;
  return std::max(1, int(std::ceil(quota_us / period_us)));
}

std::optional<int> quota_of(const fs::path& dir) {
  if (const auto line = first_line(dir / "cpu.max")) {
    const size_t space = line->find(' ');
    if (space != std::string::npos) return cores_in_quota(line->substr(0, space), line->substr(space + 1));
  }
  const auto quota = first_line(dir / "cpu.cfs_quota_us"), period = first_line(dir / "cpu.cfs_period_us");
  return quota && period ? cores_in_quota(*quota, *period) : std::nullopt;
}

// The smallest quota of the process's group and those around it. A line of /proc/self/cgroup is
// "0::/a/b" (v2) or "4:cpu,cpuacct:/a/b" (v1); inside a container the path may lie outside of what is mounted, so that
// the roots themselves are asked too.
int cores_in_cgroups() {
  int cores = 1 << 20;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers.find("cpu") == std::string::npos) continue;
    const fs::path root = controllers.empty() ? fs::path("/sys/fs/cgroup") : fs::path("/sys/fs/cgroup") / controllers;
    for (fs::path group = line.substr(second + 1);; group = group.parent_path()) {
      cores = std::min(cores, quota_of(root / group.relative_path()).value_or(cores));
      if (!group.has_relative_path()) break;
    }
  }
  return cores;
}

}  // namespace

int usable_cores() { return std::min(cores_in_affinity_mask(), cores_in_cgroups()); }

int64_t physical_memory_bytes() { return int64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE); }

CpuFeatures probe_cpu() {
  CpuFeatures out;
#if defined(__x86_64__)
  probe_x86(out);
#endif
  probe_caches(out);
  out.num_cores = usable_cores();
  return out;
}

}  // namespace tilewright
