#include "runtime/cuda/found_nvrtc.h"

#include "support/hash.h"

#include <fmt/format.h>

#include <sys/stat.h>

namespace tilewright::cuda {

namespace {

// Size and time of the file, which an update changes; empty when there is no such file.
std::string stamp_of(const std::string& path) {
  struct stat s = {};
  if (path.empty() || ::stat(path.c_str(), &s) != 0) return {};
  return fmt::format("{} {}.{:09}", s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

}  // namespace

const Nvrtc& FoundNvrtc::get() {
  const std::lock_guard lock(mutex_);
  if (!nvrtc_) nvrtc_ = std::make_unique<const Nvrtc>(Nvrtc::open(options_));
  return *nvrtc_;
}

bool FoundNvrtc::is_open() {
  const std::lock_guard lock(mutex_);
  return nvrtc_ != nullptr;
}

// Of what is searched, not of what is found. The search reads folders, which is done once.
std::string FoundNvrtc::search_key() {
  const std::lock_guard lock(mutex_);
  if (search_key_.empty()) search_key_ = KeyBuilder().add("nvrtc").add_list(nvrtc_search(options_).candidates).hex();
  return search_key_;
}

std::string FoundNvrtc::identity(Cache& cache) {
  if (is_open()) return get().identity();
  const std::string key = search_key();
  if (auto found = cache.find(key)) {
    const std::string stamp = stamp_of((*found)["path"]);
    if (!stamp.empty() && stamp == (*found)["stamp"]) return (*found)["identity"];
    cache.remove(key);
  }
  const Nvrtc& opened = get();
  const std::string path = opened.path().string();
  const std::string stamp = stamp_of(path);
  if (!stamp.empty()) {
    cache.get_or_build(key, [&](const std::filesystem::path&) {
      return CacheFiles{{"path", path}, {"stamp", stamp}, {"identity", opened.identity()}};
    });
  }
  return opened.identity();
}

// What is found by the remembered identity is of that compiler; what is made, of the one that made it.
CompiledCuda compile_cached(const CudaSource& source, FoundNvrtc& nvrtc, Cache& cache) {
  if (std::optional<CompiledCuda> found = find_compiled(source, nvrtc.identity(cache), cache)) return std::move(*found);
  return compile_cached(source, nvrtc.get(), cache);
}

}  // namespace tilewright::cuda
