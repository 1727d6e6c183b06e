// Generated C++ to callable code: finds the host C++ compiler, runs it through the cache and loads the result.
#pragma once

#include "runtime/cache.h"
#include "runtime/cpu_features.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Options;
struct SourceMap;

enum class CompilerKind { gcc, clang };

struct HostCompilerOptions {
  std::string cxx = {};  // a path or a name; empty: the first that is found
  std::vector<std::filesystem::path> search_path = {};
};
HostCompilerOptions host_compiler_options(const Options& options);

class HostCompiler {
 public:
  // Throws an Error (toolchain) that says what was searched and what to install. Asks the compiler for its version only
  // when the cache does not know this very file (path, inode, size, time of change), so a warm start starts no program.
  static HostCompiler find(const HostCompilerOptions& options, Cache& cache);

  const std::filesystem::path& path() const { return path_; }
  const std::string& version() const { return version_; }  // first line of --version
  CompilerKind kind() const { return kind_; }
  const std::string& identity() const { return identity_; }  // what a cache key must contain

 private:
  std::filesystem::path path_;
  std::string version_;
  CompilerKind kind_ = CompilerKind::gcc;
  std::string identity_;
};

// The flags of every kernel, in a fixed order. host_compiler.cc gives the reason and the measurement of each.
std::vector<std::string> compile_flags(const CpuFeatures& features, CompilerKind kind);

// Generated source without line directives: `source_map` says where each line comes from, and is no part of the key, so
// that a moved line in the author's file does not compile again.
//
// The text must not need the run time library of C++: no exceptions, no iostreams, no static or thread-local objects
// with destructors. It links with libm, libgcc (conversions of _Float16, 128-bit arithmetic) and the process's libc.
struct HostSource {
  std::string text;
  std::vector<std::string> flags;         // compile_flags and what the kernel adds, e.g. -I
  std::string included = {};              // text, or a digest of it, of every header that `text` includes
  const SourceMap* source_map = nullptr;  // line i of `text`
};

// Code in memory. Pointers to its functions are valid while it lives.
class LoadedModule {
 public:
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule();

  // Throws an Error (internal) when there is no such function.
  void* symbol(const std::string& name) const;
  template <class Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  // Loads the bytes of a shared object, which no file in the cache has to outlive. With `keep_path` they are written
  // there and loaded from there, where perf and gdb find them.
  static std::shared_ptr<LoadedModule> load(const std::string& bytes, const std::filesystem::path& keep_path = {});

  // The bytes it was loaded from; empty unless LoadOptions::keep_object.
  const std::string& object() const { return object_; }
  void set_object(std::string bytes) { object_ = std::move(bytes); }

 private:
  explicit LoadedModule(void* handle) : handle_(handle) {}
  void* handle_;
  std::string object_;
};

struct LoadOptions {
  std::optional<std::filesystem::path> keep_dir = {};  // also leaves <key>.cc and <key>.so there
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);
  bool keep_object = false;  // for who wants to read its line table
};

std::string cache_key(const HostSource& source, const HostCompiler& compiler);

// Throws an Error: `internal` where the compiler rejects the text (message and position of its first complaint, mapped
// to the author's line), `toolchain` where the compiler itself fails.
std::shared_ptr<LoadedModule> compile_and_load(const HostSource& source, const HostCompiler& compiler, Cache& cache,
                                               const LoadOptions& options = {});

}  // namespace tilewright
