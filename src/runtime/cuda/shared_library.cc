#include "runtime/cuda/shared_library.h"

#include "support/error.h"
#include "support/options.h"

#include <algorithm>

#include <dlfcn.h>
#include <link.h>

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;

// Names that NVRTC has had since it can compile for sm_90a; the bare one last, as it may be older.
constexpr const char* kNvrtcNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr const char* kDriverName = "libcuda.so.1";

// "cuda-12.10" after "cuda-12.9", and "python3.13" after "python3.9": digits compare as numbers.
bool is_older(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!std::isdigit(static_cast<unsigned char>(a[i])) || !std::isdigit(static_cast<unsigned char>(b[j]))) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const size_t i_end = std::min(a.find_first_not_of("0123456789", i), a.size());
    const size_t j_end = std::min(b.find_first_not_of("0123456789", j), b.size());
    const std::string left = a.substr(i, i_end - i), right = b.substr(j, j_end - j);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
    i = i_end, j = j_end;
  }
  return a.size() - i < b.size() - j;
}

// The folders in `parent` whose names begin with `prefix`, newest version first.
std::vector<fs::path> folders(const fs::path& parent, const std::string& prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(prefix) && it->is_directory(ignored)) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) { return is_older(b, a); });
  std::vector<fs::path> out;
  for (const std::string& name : names) out.push_back(parent / name);
  return out;
}

class SearchBuilder {
 public:
  explicit SearchBuilder(LibrarySearch& search) : search_(search) {}

  // Every file of `folder` with one of NVRTC's names.
  void nvrtc_in(const fs::path& folder) {
    std::error_code ignored;
    for (const char* name : kNvrtcNames) {
      if (fs::exists(folder / name, ignored)) search_.candidates.push_back((folder / name).string());
    }
  }
  void toolkit(const fs::path& home) {
    search_.places.push_back(home.string());
    for (const char* part : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
      nvrtc_in(home / part);
  }
  // A wheel of CUDA 13 puts it into nvidia/cu13/lib, one of CUDA 12 into nvidia/cuda_nvrtc/lib.
  void python_library(const fs::path& lib) {
    for (const fs::path& python : folders(lib, "python3")) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const fs::path& wheel : folders(python / packages / "nvidia", "cu")) nvrtc_in(wheel / "lib");
      }
    }
  }

 private:
  LibrarySearch& search_;
};

bool has_python(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "python3", ignored) || fs::exists(folder / "python", ignored);
}

void search_wheels(const LibraryOptions& options, LibrarySearch& search) {
  std::vector<fs::path> libraries;
  for (const fs::path& folder : options.search_path) {
    if (has_python(folder)) libraries.push_back(folder.parent_path() / "lib");
  }
  libraries.push_back(options.root / "usr/local/lib");
  if (options.home) libraries.push_back(*options.home / ".local/lib");
  for (const fs::path& library : libraries) SearchBuilder(search).python_library(library);
  search.places.push_back("NVIDIA's packages in " + std::to_string(libraries.size()) + " Python installations");
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out.empty() ? "nowhere" : out;
}

// The file behind a handle; the name it was asked for where the loader does not tell.
fs::path path_of(void* handle, const std::string& name) {
  const link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr || *map->l_name == 0) {
    return name;
  }
  return map->l_name;
}

}  // namespace

LibraryOptions library_options(const Options& options) {
  return {.nvrtc = options.nvrtc,
          .driver = options.cuda_driver,
          .cuda_homes = options.cuda_homes,
          .search_path = options.search_path,
          .home = options.home};
}

LibrarySearch nvrtc_search(const LibraryOptions& options) {
  LibrarySearch out{.what = "NVRTC",
                    .candidates = {},
                    .places = {},
                    .hint =
                        "install a CUDA toolkit of version 12 or later, or `pip install nvidia-cuda-nvrtc`, or name "
                        "the file in TILEWRIGHT_NVRTC"};
  if (options.nvrtc) {
    out.candidates = {options.nvrtc->string()};
    out.places = out.candidates;
    out.hint = "TILEWRIGHT_NVRTC names the file libnvrtc.so.12 or .13; unset, it is searched";
    return out;
  }
  SearchBuilder builder(out);
  for (const fs::path& home : options.cuda_homes) builder.toolkit(home);
  if (options.use_loader) {
    out.places.push_back("the loader's folders");
    out.candidates.insert(out.candidates.end(), std::begin(kNvrtcNames), std::end(kNvrtcNames));
  }
  search_wheels(options, out);
  for (const fs::path& home : folders(options.root / "usr/local", "cuda")) builder.toolkit(home);
  builder.toolkit(options.root / "opt/cuda");
  return out;
}

LibrarySearch driver_search(const LibraryOptions& options) {
  LibrarySearch out{.what = "the CUDA driver",
                    .candidates = {},
                    .places = {},
                    .hint = "install the NVIDIA driver; in a container, start it with access to the GPU"};
  if (options.driver) {
    out.candidates = {options.driver->string()};
    out.places = out.candidates;
    out.hint = "TILEWRIGHT_CUDA_DRIVER names the file libcuda.so.1; unset, it is searched";
    return out;
  }
  if (options.use_loader) {
    out.places.push_back("the loader's folders");
    out.candidates.push_back(kDriverName);
  }
  for (const char* folder : {"usr/local/nvidia/lib64", "usr/lib/wsl/lib", "usr/lib/x86_64-linux-gnu",
                             "usr/lib/aarch64-linux-gnu", "usr/lib64"}) {
    const fs::path file = options.root / folder / kDriverName;
    out.places.push_back(file.parent_path().string());
    std::error_code ignored;
    if (fs::exists(file, ignored)) out.candidates.push_back(file.string());
  }
  return out;
}

SharedLibrary SharedLibrary::open(const LibrarySearch& search) {
  std::vector<std::string> reasons;
  for (const std::string& candidate : search.candidates) {
    if (void* const handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      SharedLibrary out(handle, search.what, search.hint);
      out.path_ = path_of(handle, candidate);
      return out;
    }
    const char* const reason = ::dlerror();
    // A name that the loader did not find says nothing; a file that is there and does not load does.
    if (reason != nullptr && candidate.find('/') != std::string::npos) reasons.emplace_back(reason);
  }
  Error error = reasons.empty() ? toolchain_error("{} is not found", search.what)
                                : toolchain_error("{} does not load: {}", search.what, reasons.front());
  std::move(error).note("searched " + joined(search.places));
  for (size_t i = 1; i < reasons.size(); ++i) std::move(error).note(reasons[i]);
  throw std::move(error).hint(search.hint);
}

void* SharedLibrary::find(const char* name) const { return ::dlsym(handle_, name); }

void* SharedLibrary::require(const char* name) const {
  if (void* const symbol = find(name)) return symbol;
  throw toolchain_error("{} is too old or not what its name says: it has no {}", what_, name)
      .note("loaded from " + path_.string())
      .hint(hint_);
}

}  // namespace tilewright::cuda
