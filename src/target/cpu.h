// The CPU as a target: which instructions generated code may use.
#pragma once

#include <tilewright/dtype.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// The vector instruction set that code is compiled for. `generic`: what the compiler assumes by itself (aarch64: NEON).
enum class CpuLevel : uint8_t { generic, x86_64, avx2, avx512 };

struct CpuTarget {
  CpuLevel level = CpuLevel::generic;
  // A tensor of at least so many bytes is written past the caches: it would push everything else out and not be there
  // when it is read. memcpy's rule: three quarters of the last level.
  int64_t stream_bytes = 24 << 20;

  int vector_bytes() const { return level == CpuLevel::avx512 ? 64 : level == CpuLevel::avx2 ? 32 : 16; }
  std::string name() const;  // "cpu:avx512"
  friend bool operator==(const CpuTarget&, const CpuTarget&) = default;
};

std::string_view to_string(CpuLevel level);  // "generic", "x86-64", "avx2", "avx512"
std::optional<CpuLevel> cpu_level_from_string(std::string_view name);

// How an element of `t` is held on chip: narrow floats as f32, which holds their values exactly; casts round.
constexpr DType cpu_storage(DType t) { return is_narrow_float(t) ? DType::f32 : t; }

// Elements of one vector register.
inline int vector_lanes(const CpuTarget& target, DType storage) { return target.vector_bytes() / bytes_of(storage); }

}  // namespace tilewright
