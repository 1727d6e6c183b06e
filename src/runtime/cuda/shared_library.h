// Libraries that are loaded when they are first needed: NVRTC and the CUDA driver. Programs are not linked against
// them, so one binary runs with and without a GPU, and what is missing is an Error that says what was searched.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {
struct Options;
}

namespace tilewright::cuda {

// Where libraries are searched. The defaults search nothing but the loader's own places.
struct LibraryOptions {
  std::optional<std::filesystem::path> nvrtc = {};      // this file and no other
  std::optional<std::filesystem::path> driver = {};     // this file and no other
  std::vector<std::filesystem::path> cuda_homes = {};   // toolkits, searched first
  std::vector<std::filesystem::path> search_path = {};  // PATH: Python installations may hold NVIDIA's wheels
  std::optional<std::filesystem::path> home = {};       // for ~/.local/lib/python3*
  std::filesystem::path root = "/";                     // for usr/local/cuda* and the like
  bool use_loader = true;                               // LD_LIBRARY_PATH, ldconfig, system folders
};
LibraryOptions library_options(const Options& options);

// What dlopen is to try, best first: names without a slash are searched by the loader, the others are files.
struct LibrarySearch {
  std::string what;  // for messages: "NVRTC"
  std::vector<std::string> candidates;
  std::vector<std::string> places;  // what was looked through, for messages
  std::string hint;                 // how to get one
};
// NVRTC: the file that was named; or CUDA_HOME, the loader, wheels of the Python installations in PATH (newest first),
// /usr/local/cuda* (newest first), /opt/cuda.
LibrarySearch nvrtc_search(const LibraryOptions& options);
// The driver: the file that was named; or the loader and the folders where container run times and WSL put it.
LibrarySearch driver_search(const LibraryOptions& options);

// A loaded library. It stays loaded until the process ends: both libraries have threads and exit handlers of their own,
// which must not lose their code.
class SharedLibrary {
 public:
  // The first candidate that loads. Throws an Error (toolchain) with the places and, for each file that exists but does
  // not load, the loader's reason.
  static SharedLibrary open(const LibrarySearch& search);

  const std::string& what() const { return what_; }
  const std::filesystem::path& path() const { return path_; }  // the file that was loaded

  // Null where the library has no such symbol.
  void* find(const char* name) const;
  // Throws an Error (toolchain) that names library, file and symbol.
  void* require(const char* name) const;
  template <class Function>
  void bind(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(require(name));
  }

 private:
  SharedLibrary(void* handle, std::string what, std::string needed)
      : handle_(handle), what_(std::move(what)), hint_(std::move(needed)) {}

  void* handle_;
  std::string what_;
  std::string hint_;
  std::filesystem::path path_;
};

}  // namespace tilewright::cuda
