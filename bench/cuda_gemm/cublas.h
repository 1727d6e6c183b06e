// cuBLAS as a peer, loaded at run time so that this builds anywhere. Declares the few functions that are called; the
// names and values are those of cublas_v2.h.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace bench {

class Cublas {
 public:
  // Nothing where no library is found: CUBLAS_LIBRARY names one, otherwise the loader's folders are searched.
  static std::optional<Cublas> load() {
    Cublas out;
    void* library = nullptr;
    const char* named = std::getenv("CUBLAS_LIBRARY");
    for (const char* name : {named, "libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"}) {
      if (name && !library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) return std::nullopt;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    int (*create)(void**) = nullptr;
    int (*version)(void*, int*) = nullptr;
    if (!find(create, "cublasCreate_v2") || !find(out.gemm_, "cublasGemmEx") || !find(version, "cublasGetVersion_v2") ||
        create(&out.handle_) != 0) {
      return std::nullopt;
    }
    version(out.handle_, &out.version_);
    return out;
  }

  std::string name() const {
    return fmt::format("cuBLAS {}.{}.{}", version_ / 10000, version_ / 100 % 100, version_ % 100);
  }

  // Row-major C [m, n] = A [m, k] B, where B is [k, n], or [n, k] if transposed; f16 or bf16, sums in f32. Column-major
  // cuBLAS computes C^T = B^T A^T of the same memory.
  int gemm(int m, int n, int k, bool transpose_b, bool bf16, const void* a, const void* b, void* c) const {
    constexpr int kNone = 0, kTransposed = 1, kF16 = 2, kBf16 = 14, kCompute32F = 68, kDefaultAlgorithm = -1;
    const float one = 1, zero = 0;
    const int type = bf16 ? kBf16 : kF16;
    return gemm_(handle_, transpose_b ? kTransposed : kNone, kNone, n, m, k, &one, b, type, transpose_b ? k : n, a,
                 type, k, &zero, c, type, n, kCompute32F, kDefaultAlgorithm);
  }

 private:
  using Gemm = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                   const void*, void*, int, int, int, int);
  void* handle_ = nullptr;
  Gemm* gemm_ = nullptr;
  int version_ = 0;
};

}  // namespace bench
