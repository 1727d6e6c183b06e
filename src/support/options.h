// The settings that come from the environment: declared, documented and read in this one place.
//
// Everything below driver/ receives these as values and never reads the environment itself.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct OptionInfo {
  std::string_view name;
  std::string_view meaning;
  std::string_view default_value;
};
// Every environment variable that Tilewright reads, its own first.
std::span<const OptionInfo> option_table();
// The table as aligned text, for `tw --help`.
std::string options_help();

struct Options {
  std::optional<std::filesystem::path> cache_dir;          // TILEWRIGHT_CACHE_DIR
  std::optional<std::filesystem::path> default_cache_dir;  // from XDG_CACHE_HOME or HOME; absent without either
  bool disable_cache = false;                              // TILEWRIGHT_DISABLE_CACHE
  std::string cxx;                                         // TILEWRIGHT_CXX, empty: search
  int num_threads = 0;                                     // TILEWRIGHT_NUM_THREADS, 0: one per usable core
  std::string target = "auto";                             // TILEWRIGHT_TARGET
  std::optional<std::filesystem::path> keep_dir;           // TILEWRIGHT_KEEP_DIR
  std::optional<std::filesystem::path> nvrtc;              // TILEWRIGHT_NVRTC
  std::optional<std::filesystem::path> cuda_driver;        // TILEWRIGHT_CUDA_DRIVER
  std::vector<std::filesystem::path> cuda_homes;           // CUDA_HOME, CUDA_PATH
  std::optional<std::filesystem::path> home;               // HOME
  std::filesystem::path temp_dir = "/tmp";                 // TMPDIR
  std::vector<std::filesystem::path> search_path;          // PATH
};

// The value of an environment variable; absent when it is not set.
using ReadVariable = std::function<std::optional<std::string>(std::string_view name)>;

// Throws an Error (invalid_argument) that names the variable, its value and what would be legal.
Options read_options(const ReadVariable& read);
Options read_options_from_environment();

}  // namespace tilewright
