// NVIDIA GPUs as targets: architectures and their limits (CUDA C++ Programming Guide, "Compute Capabilities").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

struct CudaTarget {
  int sm = 80;  // 10 * major + minor
  // Every tensor begins at a multiple of 16 bytes; launches with others take a variant of the kernel without.
  bool aligned_tensors = true;
  bool accelerated = false;  // sm_90a: with the instructions of that architecture alone

  // "cuda:sm_90a"
  std::string name() const;
  // "sm_90a"
  std::string arch() const;

  int64_t max_shared_bytes() const;  // of a block
  bool has_cp_async() const { return sm >= 80; }
  bool has_bf16_mma() const { return sm >= 80; }
  bool has_wgmma() const { return sm == 90 && accelerated; }
  bool has_tma() const { return sm >= 90; }

  friend bool operator==(const CudaTarget&, const CudaTarget&) = default;
};

// From "sm_80", "sm_90a", ...; nullopt for what is no architecture of this form or older than sm_70.
std::optional<CudaTarget> cuda_target_from_arch(std::string_view arch);

}  // namespace tilewright
