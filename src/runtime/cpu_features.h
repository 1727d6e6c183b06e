// What the host processor offers, as far as generated CPU code cares.
#pragma once

#include "target/cpu.h"

#include <cstdint>

namespace tilewright {

struct CpuFeatures {
  CpuLevel level = CpuLevel::generic;  // the highest that processor and operating system support
  bool f16c = false;
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
  bool avx512_fp16 = false;
  int64_t l1d_bytes = 32 << 10;  // of one core; a usual size where the system does not tell
  int64_t l2_bytes = 512 << 10;  // of one core
  int64_t l3_bytes = 0;          // shared; 0: none known
  int num_cores = 1;             // that this process may use: affinity mask and cgroup quota, at least 1
};

CpuFeatures probe_cpu();
// A part of it: the affinity mask and the CPU quota of the cgroups around this process.
int usable_cores();
int64_t physical_memory_bytes();

}  // namespace tilewright
