#include "runtime/host_compiler.h"

#include "runtime/owned_fd.h"
#include "runtime/process.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/options.h"
#include "support/text_writer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSourceFile = "kernel.cc";
constexpr std::string_view kObjectFile = "kernel.so";
constexpr size_t kMaxLogLines = 8;
constexpr std::array<int, 12> kVersionSuffixes = {20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9};

// ---- Finding the compiler ----

std::vector<std::string> candidate_names() {
  std::vector<std::string> out = {"c++", "g++", "clang++"};
  for (const char* stem : {"g++-", "clang++-"}) {
    for (const int suffix : kVersionSuffixes) out.push_back(stem + std::to_string(suffix));
  }
  return out;
}

bool is_program(const fs::path& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// ccache and its like stand in PATH under the compiler's name. Their file says nothing about the compiler that they
// would run, and our cache makes them needless, so the search goes on behind them, as theirs does.
bool is_compiler_cache(const fs::path& path) {
  std::error_code error;
  const std::string name = fs::canonical(path, error).filename().string();
  return name == "ccache" || name == "sccache" || name == "distcc" || name == "icecc";
}

std::optional<fs::path> search(const std::string& name, const std::vector<fs::path>& search_path) {
  if (name.find('/') != std::string::npos) {
    return is_program(name) ? std::optional<fs::path>(fs::absolute(name)) : std::nullopt;
  }
  for (const fs::path& dir : search_path) {
    if (is_program(dir / name) && !is_compiler_cache(dir / name)) return dir / name;
  }
  return std::nullopt;
}

std::string joined(const std::vector<fs::path>& paths) {
  std::string out;
  for (const fs::path& path : paths) out += (out.empty() ? "" : ":") + path.string();
  return out.empty() ? "(empty)" : out;
}

fs::path find_compiler(const HostCompilerOptions& options) {
  if (!options.cxx.empty()) {
    if (const auto found = search(options.cxx, options.search_path)) return *found;
    throw toolchain_error("the host compiler \"{}\" is not a program", options.cxx)
        .note("searched in " + joined(options.search_path))
        .hint("TILEWRIGHT_CXX names a C++17 compiler such as g++ or clang++");
  }
  for (const std::string& name : candidate_names()) {
    if (const auto found = search(name, options.search_path)) return *found;
  }
  throw toolchain_error("no host C++ compiler is installed, which CPU kernels need")
      .note(fmt::format("searched c++, g++, clang++, g++-N and clang++-N in {}", joined(options.search_path)))
      .hint("install one (Debian, Ubuntu: apt install g++), or name it in TILEWRIGHT_CXX");
}

// A file that is replaced has another inode, size or time. A script may run another compiler tomorrow without changing
// itself: it has no identity (empty), and is asked for its version in every process.
std::string file_identity(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  struct stat info;
  std::array<char, 2> start = {};
  if (error || ::stat(real.c_str(), &info) != 0) return {};
  std::ifstream(real, std::ios::binary).read(start.data(), start.size());
  if (start[0] == '#' && start[1] == '!') return {};
  return fmt::format("{} {} {} {} {}.{}", path.string(), real.string(), info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

// Messages are parsed, so they must be in English; and what is in a header must not depend on the caller's environment.
std::vector<std::pair<std::string, std::optional<std::string>>> compiler_environment() {
  return {{"LC_ALL", "C"},
          {"CPATH", std::nullopt},
          {"C_INCLUDE_PATH", std::nullopt},
          {"CPLUS_INCLUDE_PATH", std::nullopt},
          {"DEPENDENCIES_OUTPUT", std::nullopt},
          {"SUNPRO_DEPENDENCIES", std::nullopt}};
}

std::string ask_version(const fs::path& path) {
  const ProcessResult result = run_process({.command = {path.string(), "--version"},
                                            .environment = compiler_environment(),
                                            .timeout = std::chrono::seconds(30)});
  if (!result.ok()) {
    throw toolchain_error("{} --version failed: {}", path.string(), result.describe())
        .hint("TILEWRIGHT_CXX names a C++17 compiler such as g++ or clang++");
  }
  return result.output.substr(0, result.output.find('\n'));
}

// ---- Diagnostics ----

struct Complaint {
  std::string message;
  int line = 0;  // of kernel.cc, 0: unknown
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// The number behind "kernel.cc:", or 0.
int line_in(const std::string& text) {
  const size_t at = text.find(std::string(kSourceFile) + ":");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + kSourceFile.size() + 1);
}

// Both compilers write "kernel.cc:LINE:COLUMN: error: message". A complaint about a header follows the lines that say
// where kernel.cc includes it.
std::optional<Complaint> first_complaint(const std::vector<std::string>& log) {
  Complaint out;
  for (const std::string& line : log) {
    if (out.line == 0) out.line = line_in(line);
    const size_t at = line.find("error: ");
    if (at == std::string::npos) continue;
    out.message = line.substr(at + std::strlen("error: "));
    if (const int own = line_in(line)) out.line = own;
    return out;
  }
  return std::nullopt;
}

std::string source_line(const std::string& text, int line) {
  const std::vector<std::string> lines = lines_of(text);
  return line >= 1 && size_t(line) <= lines.size() ? lines[size_t(line) - 1] : std::string();
}

Error with_log(Error error, const std::vector<std::string>& log) {
  const size_t shown = std::min(log.size(), kMaxLogLines);
  for (size_t i = 0; i < shown; ++i) std::move(error).note("log: " + log[i]);
  if (shown < log.size()) std::move(error).note(fmt::format("log: ... {} more lines", log.size() - shown));
  return error;
}

Error compile_error(const HostSource& source, const HostCompiler& compiler, const ProcessResult& result) {
  const std::vector<std::string> log = lines_of(result.output);
  const auto complaint = first_complaint(log);
  // Without a place in the source it is the compiler that fails: killed, no disk space, half installed.
  if (!complaint || complaint->line == 0 || result.signal != 0 || result.timed_out) {
    const std::string reason = complaint ? complaint->message : log.empty() ? "no output" : log.front();
    return with_log(toolchain_error("{} failed ({}): {}", compiler.path().string(), result.describe(), reason), log)
        .hint("the compiler is incomplete, or out of memory, disk or time");
  }
  const Loc* loc = source.source_map ? source.source_map->find(complaint->line) : nullptr;
  Error error =
      internal_error(loc ? *loc : Loc(), "generated code does not compile: {}", complaint->message)
          .note(fmt::format("generated line {}: {}", complaint->line, source_line(source.text, complaint->line)))
          .note("compiler: " + compiler.version());
  return with_log(std::move(error), log);
}

// ---- Compiling ----

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw toolchain_error("cannot write {}: {}", path.string(), std::strerror(errno));
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string out((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in || out.empty()) throw toolchain_error("the compiler left no {}", path.string());
  return out;
}

CacheFiles compile(const HostSource& source, const HostCompiler& compiler, const LoadOptions& options,
                   const fs::path& scratch) {
  write_file(scratch / kSourceFile, source.text);
  ProcessOptions process = {.command = {compiler.path().string()},
                            .working_dir = scratch,
                            .environment = compiler_environment(),
                            .timeout = options.time_limit};
  process.environment.emplace_back("TMPDIR", scratch.string());
  process.command.insert(process.command.end(), source.flags.begin(), source.flags.end());
  // Libraries come last: a linker takes from an archive only what it misses so far. Shared objects may leave libc open.
  for (const std::string_view argument :
       {std::string_view("-o"), kObjectFile, kSourceFile, std::string_view("-lm"), std::string_view("-lgcc")}) {
    process.command.emplace_back(argument);
  }
  const ProcessResult result = run_process(process);
  if (!result.ok()) throw compile_error(source, compiler, result);
  return {{std::string(kObjectFile), read_file(scratch / kObjectFile)}};
}

// ---- Loading ----

// dlopen takes two files of one name for one object as long as the first is loaded. A descriptor's number is used
// again, so each load spells the path in a way of its own: binary digits of a counter as "/" and "./".
std::string unique_descriptor_path(int fd) {
  static std::atomic<uint64_t> counter{0};
  std::string out = "/proc/self/fd/";
  for (uint64_t n = counter++; n != 0; n >>= 1) out += n & 1 ? "./" : "/";
  return out + std::to_string(fd);
}

void* open_object(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw internal_error({}, "compiled code does not load: {}", ::dlerror());
  return handle;
}

void replace_file(const fs::path& path, const std::string& bytes) {
  static std::atomic<uint64_t> counter{0};
  const fs::path temporary = fmt::format("{}.{}-{}", path.string(), ::getpid(), counter++);
  write_file(temporary, bytes);
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) throw toolchain_error("cannot write {}: {}", path.string(), error.message());
}

bool write_bytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(size_t(count));
  }
  return true;
}

// Memory, not a file: the bytes are those that were verified, whatever happens to the cache afterwards, and a cache
// folder mounted noexec does not matter. Null where the system forbids executable memory files (vm.memfd_noexec) or has
// no /proc.
void* open_in_memory(const std::string& bytes) {
  const OwnedFd fd(::memfd_create("tilewright-kernel", MFD_CLOEXEC));
  if (!fd.valid() || !write_bytes(fd.get(), bytes)) return nullptr;
  return ::dlopen(unique_descriptor_path(fd.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* open_from_temporary(const std::string& bytes) {
  std::string path = "/tmp/tilewright-XXXXXX";
  const OwnedFd fd(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) throw toolchain_error("cannot load compiled code through /tmp: {}", std::strerror(errno));
  const bool written = write_bytes(fd.get(), bytes);
  const int error = errno;
  void* const handle = written ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::unlink(path.c_str());
  if (!written) throw toolchain_error("cannot load compiled code through /tmp: {}", std::strerror(error));
  if (handle == nullptr) throw internal_error({}, "compiled code does not load: {}", ::dlerror());
  return handle;
}

}  // namespace

HostCompilerOptions host_compiler_options(const Options& options) {
  return {.cxx = options.cxx, .search_path = options.search_path};
}

HostCompiler HostCompiler::find(const HostCompilerOptions& options, Cache& cache) {
  HostCompiler out;
  out.path_ = find_compiler(options);
  const std::string identity = file_identity(out.path_);
  if (identity.empty()) {
    out.version_ = ask_version(out.path_);
  } else {
    const std::string key = KeyBuilder().add("compiler").add(identity).hex();
    const auto build = [&](const fs::path&) { return CacheFiles{{"version", ask_version(out.path_)}}; };
    out.version_ = cache.get_or_build(key, build)["version"];
  }
  out.kind_ = out.version_.find("clang") != std::string::npos ? CompilerKind::clang : CompilerKind::gcc;
  out.identity_ = identity + "\n" + out.path_.string() + "\n" + out.version_;
  return out;
}

// Measured with two small kernels (an axpy, an 8 x 2 vector micro-kernel; 25 lines) on an EPYC of family 25 model 17 at
// two cores, AVX-512 flags, median of 12 runs each, 2026-11-30. The test HostCompilerTest.compile_latency prints
// today's figure.
//   g++ 12.2    as it comes 69 ms; -pipe 65; -fno-use-linker-plugin 66; -x c++ - 64; -nostdlib 49..53;
//               -nostdlib -fno-use-linker-plugin 51, with -pipe 50, with gold 55, with lld 67, with -lc 71;
//               -nostdlib -lm -lgcc 57; -c alone 48; an empty text 10; -O2 instead of -O3 54 (as it comes)
//   clang++-16  as it comes 153 ms; -nostdlib 85, with gold 87, with lld 108; -c alone 54
// So what counts is -nostdlib (no start files, no libstdc++, no libc to read); the default linker is the fastest; the
// rest is the compiler proper. -lc is left out because symbols of libc are found in the process at load.
std::vector<std::string> compile_flags(const CpuFeatures& features, CompilerKind kind) {
  std::vector<std::string> out = {
      "-std=c++17", "-O3", "-fPIC", "-shared", "-nostdlib", "-pipe", "-w",
      // Contraction also across statements: a product and its sum become one fma, as the error bounds assume.
      "-ffp-contract=fast",
      // Neither changes a result; without them loops with sqrt or comparisons are not vectorized.
      "-fno-math-errno", "-fno-trapping-math", "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables",
      "-fno-stack-protector", "-fdiagnostics-color=never"};
  const auto add = [&](std::initializer_list<const char*> flags) { out.insert(out.end(), flags.begin(), flags.end()); };
  if (kind == CompilerKind::gcc)
    add({"-fno-use-linker-plugin", "-fmax-errors=5", "-fno-diagnostics-show-caret"});
  else
    add({"-ferror-limit=5", "-fno-caret-diagnostics"});
#if defined(__x86_64__)
  // g++ 12 moves 8 bytes through an MMX register now and then, without the emms that long double needs afterwards.
  add({"-mno-mmx"});
#endif
  if (features.level >= CpuLevel::avx2) add({"-mavx2", "-mfma", "-mf16c"});
  if (features.level == CpuLevel::avx512) {
    add({"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"});
  }
  if (features.avx512_vnni) add({"-mavx512vnni"});
  if (features.avx512_bf16) add({"-mavx512bf16"});
  // -mavx512fp16 is left to kernels that want it: compilers older than g++ 12 and clang 14 refuse the word.
  return out;
}

std::string cache_key(const HostSource& source, const HostCompiler& compiler) {
  return KeyBuilder()
      .add("host object")
      .add(source.text)
      .add_list(source.flags)
      .add(source.included)
      .add(compiler.identity())
      .hex();
}

LoadedModule::~LoadedModule() { ::dlclose(handle_); }

void* LoadedModule::symbol(const std::string& name) const {
  if (void* const found = ::dlsym(handle_, name.c_str())) return found;
  throw internal_error({}, "compiled code has no function \"{}\"", name);
}

std::shared_ptr<LoadedModule> LoadedModule::load(const std::string& bytes, const fs::path& keep_path) {
  void* handle = nullptr;
  if (keep_path.empty()) {
    handle = open_in_memory(bytes);
    if (handle == nullptr) handle = open_from_temporary(bytes);
  } else {
    replace_file(keep_path, bytes);  // another process may have the file of this name mapped
    handle = open_object(keep_path.string());
  }
  return std::shared_ptr<LoadedModule>(new LoadedModule(handle));
}

std::shared_ptr<LoadedModule> compile_and_load(const HostSource& source, const HostCompiler& compiler, Cache& cache,
                                               const LoadOptions& options) {
  const std::string key = cache_key(source, compiler);
  const CacheFiles files =
      cache.get_or_build(key, [&](const fs::path& scratch) { return compile(source, compiler, options, scratch); });
  const auto object = files.find(std::string(kObjectFile));
  if (object == files.end()) throw internal_error({}, "the cache entry {} holds no {}", key, kObjectFile);
  fs::path keep_path;
  if (options.keep_dir) {
    std::error_code error;
    fs::create_directories(*options.keep_dir, error);
    replace_file(*options.keep_dir / (key.substr(0, 16) + ".cc"), source.text);
    keep_path = *options.keep_dir / (key.substr(0, 16) + ".so");
  }
  std::shared_ptr<LoadedModule> module = LoadedModule::load(object->second, keep_path);
  if (options.keep_object) module->set_object(object->second);
  return module;
}

}  // namespace tilewright
