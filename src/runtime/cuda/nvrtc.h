// CUDA text to machine code, in this process, without any header of the CUDA toolkit.
//
// The device headers (include/tilewright/device/cuda/) are given to the compiler from memory under the names by which
// text includes them, e.g. <tilewright/device/cuda/mma.h>; nothing is read from disk.
#pragma once

#include "runtime/cuda/compile_log.h"
#include "runtime/cuda/shared_library.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {
class Cache;
struct SourceMap;
}  // namespace tilewright

namespace tilewright::cuda {

// Generated source without line directives; `source_map` says where each line comes from and is no part of the key.
struct CudaSource {
  std::string text;
  std::string arch;                       // "sm_90a": machine code for this very architecture
  std::vector<std::string> flags;         // compile_flags() and what the kernel adds
  const SourceMap* source_map = nullptr;  // line i of `text`
};

// The flags of every kernel but the architecture. nvrtc.cc gives the reason of each.
std::vector<std::string> compile_flags();

struct CompiledCuda {
  std::string cubin;
  CompileLog log;
};

struct NvrtcVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const NvrtcVersion&, const NvrtcVersion&) = default;
};

// All members are safe for many threads.
class Nvrtc {
 public:
  // Throws an Error (toolchain) when there is none, or one older than 12.0, the first with sm_90a.
  static Nvrtc open(const LibraryOptions& options);

  NvrtcVersion version() const { return version_; }
  const std::filesystem::path& path() const { return library_.path(); }
  const std::string& identity() const { return identity_; }  // what a cache key must contain
  // The architectures that it compiles for, e.g. 80, 90; "sm_90a" belongs to 90.
  std::vector<int> supported_archs() const;

  // Throws an Error: `internal` where the text is rejected (first complaint, mapped to the author's line), `toolchain`
  // where the compiler does not know the architecture or fails by itself.
  CompiledCuda compile(const CudaSource& source) const;

  struct Api;  // its functions

 private:
  Nvrtc(SharedLibrary library, std::shared_ptr<const Api> api);

  SharedLibrary library_;
  std::shared_ptr<const Api> api_;
  NvrtcVersion version_;
  std::string identity_;
};

// Contains the text of all device headers for CUDA, whichever the source includes.
// `nvrtc` is the identity of the compiler.
std::string cache_key(const CudaSource& source, const std::string& nvrtc);

// `nvrtc.compile(source)` through the cache: machine code and log are stored together.
CompiledCuda compile_cached(const CudaSource& source, const Nvrtc& nvrtc, Cache& cache);
// What the cache holds of a compiler of this identity.
std::optional<CompiledCuda> find_compiled(const CudaSource& source, const std::string& identity, Cache& cache);

}  // namespace tilewright::cuda
