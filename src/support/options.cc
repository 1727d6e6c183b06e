#include "support/options.h"

#include "support/error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr OptionInfo kOptions[] = {
    {"TILEWRIGHT_CACHE_DIR", "folder of compiled kernels; must be writable by nobody else",
     "$XDG_CACHE_HOME/tilewright or ~/.cache/tilewright"},
    {"TILEWRIGHT_DISABLE_CACHE", "1: compile every time and store nothing", "0"},
    {"TILEWRIGHT_CXX", "host C++ compiler, as a path or a name in PATH",
     "first of c++, g++, clang++, g++-N, clang++-N"},
    {"TILEWRIGHT_NUM_THREADS", "threads of the CPU backend, 1 to 4096", "one per usable core"},
    {"TILEWRIGHT_TARGET", "target of programs compiled for \"auto\"", "auto"},
    {"TILEWRIGHT_KEEP_DIR", "also write each kernel's source and object here and load it from here, for perf and gdb",
     "not kept"},
    {"TILEWRIGHT_NVRTC", "file of the CUDA run-time compiler, such as /opt/cuda/lib64/libnvrtc.so.13", "searched"},
    {"TILEWRIGHT_CUDA_DRIVER", "file of the CUDA driver library", "libcuda.so.1, searched"},
    {"CUDA_HOME", "folder of a CUDA toolkit, where NVRTC is searched first", "/usr/local/cuda*, /opt/cuda"},
    {"CUDA_PATH", "the same, for toolkits that set this one", "/usr/local/cuda*, /opt/cuda"},
    {"XDG_CACHE_HOME", "where the default cache folder lies", "~/.cache"},
    {"HOME", "where ~/.cache and ~/.local/lib/python3* lie", "no cache"},
    {"TMPDIR", "where compilers write when there is no cache folder", "/tmp"},
    {"PATH", "where the host compiler, and Python installations that hold NVRTC, are searched", "nowhere"},
};

// The cap only guards against typing errors; no host has more cores.
constexpr int kMaxThreads = 4096;

bool parse_bool(std::string_view name, std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  if (text == "1" || text == "true" || text == "yes" || text == "on") return true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return false;
  throw invalid_argument("{} is \"{}\", which is neither 1 nor 0", name, text)
      .hint("1, true, yes, on or 0, false, no, off");
}

int parse_num_threads(std::string_view name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxThreads) {
    throw invalid_argument("{} is \"{}\", which is not a number of threads", name, text)
        .hint(fmt::format("a whole number from 1 to {}, or unset for one per usable core", kMaxThreads));
  }
  return value;
}

fs::path parse_path(std::string_view name, const std::string& text) {
  const fs::path path(text);
  if (path.is_absolute()) return path;
  throw invalid_argument("{} is \"{}\", which is not an absolute path", name, text)
      .hint(fmt::format("{}", fs::absolute(path).string()));
}

// A path that is no whole path counts as unset: the XDG base directory specification says so for its variables, and the
// others that are read this way were set for other programs.
std::optional<fs::path> absolute_or_nothing(const std::optional<std::string>& text) {
  if (!text || text->empty() || text->front() != '/') return std::nullopt;
  return fs::path(*text);
}

std::optional<fs::path> default_cache_dir(const ReadVariable& read) {
  if (const auto xdg = absolute_or_nothing(read("XDG_CACHE_HOME"))) return *xdg / "tilewright";
  if (const auto home = absolute_or_nothing(read("HOME"))) return *home / ".cache" / "tilewright";
  return std::nullopt;
}

// Relative elements are left out: what a compile runs must not depend on the folder in which it was started.
std::vector<fs::path> parse_search_path(const std::string& text) {
  std::vector<fs::path> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin && text[begin] == '/') out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// An empty value counts as unset, as `NAME= program` is a usual way to unset one.
std::optional<std::string> nonempty(const ReadVariable& read, std::string_view name) {
  auto value = read(name);
  return value && !value->empty() ? value : std::nullopt;
}

}  // namespace

std::span<const OptionInfo> option_table() { return kOptions; }

std::string options_help() {
  size_t width = 0;
  for (const OptionInfo& option : kOptions) width = std::max(width, option.name.size());
  std::string out;
  for (const OptionInfo& option : kOptions) {
    out += fmt::format("  {:<{}}  {} (default: {})\n", option.name, width, option.meaning, option.default_value);
  }
  return out;
}

Options read_options(const ReadVariable& read) {
  Options out;
  if (const auto v = nonempty(read, "TILEWRIGHT_CACHE_DIR")) out.cache_dir = parse_path("TILEWRIGHT_CACHE_DIR", *v);
  if (const auto v = nonempty(read, "TILEWRIGHT_DISABLE_CACHE")) {
    out.disable_cache = parse_bool("TILEWRIGHT_DISABLE_CACHE", *v);
  }
  if (const auto v = nonempty(read, "TILEWRIGHT_CXX")) out.cxx = *v;
  if (const auto v = nonempty(read, "TILEWRIGHT_NUM_THREADS")) {
    out.num_threads = parse_num_threads("TILEWRIGHT_NUM_THREADS", *v);
  }
  if (const auto v = nonempty(read, "TILEWRIGHT_TARGET")) out.target = *v;
  if (const auto v = nonempty(read, "TILEWRIGHT_KEEP_DIR")) out.keep_dir = parse_path("TILEWRIGHT_KEEP_DIR", *v);
  if (const auto v = nonempty(read, "TILEWRIGHT_NVRTC")) out.nvrtc = parse_path("TILEWRIGHT_NVRTC", *v);
  if (const auto v = nonempty(read, "TILEWRIGHT_CUDA_DRIVER")) {
    out.cuda_driver = parse_path("TILEWRIGHT_CUDA_DRIVER", *v);
  }
  for (const std::string_view name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto folder = absolute_or_nothing(read(name))) out.cuda_homes.push_back(*folder);
  }
  out.home = absolute_or_nothing(read("HOME"));
  if (const auto temp_dir = absolute_or_nothing(read("TMPDIR"))) out.temp_dir = *temp_dir;
  out.default_cache_dir = default_cache_dir(read);
  out.search_path = parse_search_path(read("PATH").value_or(""));
  return out;
}

Options read_options_from_environment() {
  return read_options([](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace tilewright
