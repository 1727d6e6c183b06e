#include "runtime/cuda/nvrtc.h"

#include "codegen/embedded.h"
#include "runtime/cache.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/text_writer.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace tilewright::cuda {
namespace {

using Program = struct ProgramState*;

// Of nvrtcResult.
constexpr int kSuccess = 0, kInvalidOption = 5, kCompilation = 6;

constexpr NvrtcVersion kOldest = {12, 0};
constexpr std::string_view kSourceName = "kernel.cu";
constexpr std::string_view kHeaderFolder = "tilewright/device/";
constexpr size_t kMaxLogLines = 8;

}  // namespace

struct Nvrtc::Api {
  int (*version)(int* major, int* minor);
  const char* (*error_string)(int);
  int (*num_supported_archs)(int*);
  int (*supported_archs)(int*);
  int (*create)(Program*, const char* text, const char* name, int num_headers, const char* const* headers,
                const char* const* header_names);
  int (*destroy)(Program*);
  int (*compile)(Program, int num_options, const char* const* options);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
};

namespace {

std::shared_ptr<const Nvrtc::Api> bind_api(const SharedLibrary& library) {
  auto api = std::make_shared<Nvrtc::Api>();
  library.bind(api->version, "nvrtcVersion");
  library.bind(api->error_string, "nvrtcGetErrorString");
  library.bind(api->num_supported_archs, "nvrtcGetNumSupportedArchs");
  library.bind(api->supported_archs, "nvrtcGetSupportedArchs");
  library.bind(api->create, "nvrtcCreateProgram");
  library.bind(api->destroy, "nvrtcDestroyProgram");
  library.bind(api->compile, "nvrtcCompileProgram");
  library.bind(api->cubin_size, "nvrtcGetCUBINSize");
  library.bind(api->cubin, "nvrtcGetCUBIN");
  library.bind(api->log_size, "nvrtcGetProgramLogSize");
  library.bind(api->log, "nvrtcGetProgramLog");
  return api;
}

// The device headers with the names by which they are included.
struct Headers {
  std::vector<std::string> names, texts;
  std::vector<const char*> name_pointers, text_pointers;
  std::string digest;
};

const Headers& headers() {
  static const Headers made = [] {
    Headers out;
    KeyBuilder key;
    for (const codegen::EmbeddedFile& file : codegen::embedded_files()) {
      if (!file.path.starts_with("cuda/")) continue;
      out.names.push_back(std::string(kHeaderFolder) + std::string(file.path));
      out.texts.emplace_back(file.text);
      key.add(file.path).add(file.text);
    }
    for (const std::string& name : out.names) out.name_pointers.push_back(name.c_str());
    for (const std::string& text : out.texts) out.text_pointers.push_back(text.c_str());
    out.digest = key.hex();
    return out;
  }();
  return made;
}

struct Complaint {
  std::string message;
  int line = 0;  // of the source, 0: unknown
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) out.push_back(line);
  }
  return out;
}

// The front end writes "kernel.cu(12): error: message" or "...: catastrophic error: message"; the assembler, which sees
// other lines, "ptxas application ptx input, line 27; error   : message" and "ptxas fatal   : message".
Complaint first_complaint(const std::vector<std::string>& log) {
  for (const std::string& line : log) {
    const size_t at = line.find("error");
    const size_t fatal = line.find("ptxas fatal");
    if (at == std::string::npos && fatal == std::string::npos) continue;
    const size_t colon = line.find(": ", at != std::string::npos ? at : fatal);
    Complaint out{.message = colon == std::string::npos ? line : line.substr(colon + 2)};
    if (line.starts_with(std::string(kSourceName) + "(")) out.line = std::atoi(line.c_str() + kSourceName.size() + 1);
    return out;
  }
  return {.message = log.empty() ? "no message" : log.front()};
}

Error with_log(Error error, const std::vector<std::string>& log) {
  const size_t shown = std::min(log.size(), kMaxLogLines);
  for (size_t i = 0; i < shown; ++i) std::move(error).note("log: " + log[i]);
  if (shown < log.size()) std::move(error).note(fmt::format("log: ... {} more lines", log.size() - shown));
  return error;
}

std::string joined(const std::vector<int>& numbers) {
  std::string out;
  for (const int n : numbers) out += fmt::format("{}sm_{}", out.empty() ? "" : ", ", n);
  return out;
}

Error compile_error(const CudaSource& source, const Nvrtc& nvrtc, int status, const std::string& reason,
                    const std::string& log_text) {
  const std::vector<std::string> log = lines_of(log_text);
  const NvrtcVersion version = nvrtc.version();
  if (status == kInvalidOption && log_text.find("gpu-architecture") != std::string::npos) {
    return with_log(toolchain_error("NVRTC {}.{} does not compile for {}", version.major, version.minor, source.arch)
                        .note("it knows " + joined(nvrtc.supported_archs()))
                        .hint("install a newer CUDA toolkit, or name its libnvrtc.so in TILEWRIGHT_NVRTC"),
                    log);
  }
  const Complaint complaint = first_complaint(log);
  if (status != kCompilation) {
    return with_log(
        toolchain_error("NVRTC {}.{} failed ({}): {}", version.major, version.minor, reason, complaint.message)
            .note("loaded from " + nvrtc.path().string())
            .hint("libnvrtc-builtins.so of the same version must lie beside it"),
        log);
  }
  const Loc* loc = source.source_map ? source.source_map->find(complaint.line) : nullptr;
  Error error = internal_error(loc ? *loc : Loc(), "generated CUDA does not compile: {}", complaint.message);
  const std::vector<std::string> text = [&] {
    std::vector<std::string> out;
    std::istringstream in(source.text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }();
  if (complaint.line >= 1 && size_t(complaint.line) <= text.size()) {
    std::move(error).note(fmt::format("generated line {}: {}", complaint.line, text[size_t(complaint.line) - 1]));
  }
  std::move(error).note(fmt::format("compiler: NVRTC {}.{} for {}", version.major, version.minor, source.arch));
  return with_log(std::move(error), log);
}

// Owns one nvrtcProgram.
class OwnedProgram {
 public:
  OwnedProgram(const Nvrtc::Api& api, const CudaSource& source) : api_(api) {
    const Headers& all = headers();
    const int status = api.create(&program_, source.text.c_str(), std::string(kSourceName).c_str(),
                                  int(all.names.size()), all.text_pointers.data(), all.name_pointers.data());
    if (status != kSuccess) throw toolchain_error("NVRTC makes no program: {}", api.error_string(status));
  }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  ~OwnedProgram() { api_.destroy(&program_); }

  int compile(const CudaSource& source) {
    std::vector<std::string> flags = source.flags;
    flags.push_back("--gpu-architecture=" + source.arch);
    std::vector<const char*> pointers;
    for (const std::string& flag : flags) pointers.push_back(flag.c_str());
    return api_.compile(program_, int(pointers.size()), pointers.data());
  }
  std::string log() {
    size_t size = 0;
    if (api_.log_size(program_, &size) != kSuccess || size <= 1) return {};
    std::string out(size, '\0');
    if (api_.log(program_, out.data()) != kSuccess) return {};
    out.resize(out.find('\0') == std::string::npos ? size : out.find('\0'));
    return out;
  }
  // Empty when there is none.
  std::string cubin() {
    size_t size = 0;
    if (api_.cubin_size(program_, &size) != kSuccess || size == 0) return {};
    std::string out(size, '\0');
    return api_.cubin(program_, out.data()) == kSuccess ? out : std::string();
  }

 private:
  const Nvrtc::Api& api_;
  Program program_ = nullptr;
};

}  // namespace

std::vector<std::string> compile_flags() {
  return {"--std=c++17",
          // Everything is device code, so helpers need no __device__.
          "--device-as-default-execution-space",
          // Registers, spills, stack and shared memory of each kernel, for CompileLog.
          "--ptxas-options=-v",
          // Lines of the generated text in the profiler; changes no instruction.
          "--generate-line-info",
          // Unused variables and functions are normal in generated text.
          "--diag-suppress=177,550"};
}

Nvrtc::Nvrtc(SharedLibrary library, std::shared_ptr<const Api> api)
    : library_(std::move(library)), api_(std::move(api)) {}

namespace {

// NVRTC opens its builtins by their name alone, beside itself. A sanitizer's dlopen stands between the two and does not
// look there, and another NVRTC of the process may have brought others: once the right ones are loaded, the name is
// known.
void load_builtins(const Nvrtc& nvrtc) {
  const auto [major, minor] = nvrtc.version();
  const std::filesystem::path file =
      nvrtc.path().parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return;
  SharedLibrary::open({.what = "the builtins library of NVRTC",
                       .candidates = {file.string()},
                       .places = {file.string()},
                       .hint = "install the CUDA toolkit or the package nvidia-cuda-nvrtc anew"});
}

}  // namespace

Nvrtc Nvrtc::open(const LibraryOptions& options) {
  SharedLibrary library = SharedLibrary::open(nvrtc_search(options));
  auto api = bind_api(library);
  Nvrtc out(std::move(library), std::move(api));
  int& major = out.version_.major;
  int& minor = out.version_.minor;
  if (const int status = out.api_->version(&major, &minor); status != kSuccess) {
    throw toolchain_error("NVRTC does not tell its version: {}", out.api_->error_string(status))
        .note("loaded from " + out.path().string());
  }
  if (out.version_ < kOldest) {
    throw toolchain_error("NVRTC {}.{} is too old: {}.{} or later is needed", major, minor, kOldest.major,
                          kOldest.minor)
        .note("loaded from " + out.path().string())
        .hint("install a newer CUDA toolkit, or name its libnvrtc.so in TILEWRIGHT_NVRTC");
  }
  load_builtins(out);
  // Updates within one version number differ in size.
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(out.path(), error);
  out.identity_ = fmt::format("nvrtc {}.{} {}", major, minor, error ? uintmax_t(0) : bytes);
  return out;
}

std::vector<int> Nvrtc::supported_archs() const {
  int count = 0;
  if (api_->num_supported_archs(&count) != kSuccess || count <= 0) return {};
  std::vector<int> out(size_t(count), 0);
  if (api_->supported_archs(out.data()) != kSuccess) return {};
  return out;
}

CompiledCuda Nvrtc::compile(const CudaSource& source) const {
  OwnedProgram program(*api_, source);
  const int status = program.compile(source);
  const std::string log = program.log();
  if (status != kSuccess) throw compile_error(source, *this, status, api_->error_string(status), log);
  std::string cubin = program.cubin();
  if (cubin.empty()) {
    throw toolchain_error("NVRTC {}.{} made no machine code for {}", version_.major, version_.minor, source.arch)
        .hint("an architecture is named like sm_90a; compute_90a gives none");
  }
  return {.cubin = std::move(cubin), .log = parse_compile_log(log)};
}

std::string cache_key(const CudaSource& source, const std::string& nvrtc) {
  return KeyBuilder()
      .add("cuda")
      .add(source.text)
      .add(source.arch)
      .add_list(source.flags)
      .add(headers().digest)
      .add(nvrtc)
      .hex();
}

namespace {

CompiledCuda from_cache(const CacheFiles& files) {
  return {.cubin = files.at("kernel.cubin"), .log = parse_compile_log(files.at("log"))};
}

}  // namespace

CompiledCuda compile_cached(const CudaSource& source, const Nvrtc& nvrtc, Cache& cache) {
  return from_cache(cache.get_or_build(cache_key(source, nvrtc.identity()), [&](const std::filesystem::path&) {
    CompiledCuda built = nvrtc.compile(source);
    return CacheFiles{{"kernel.cubin", std::move(built.cubin)}, {"log", std::move(built.log.text)}};
  }));
}

std::optional<CompiledCuda> find_compiled(const CudaSource& source, const std::string& identity, Cache& cache) {
  const std::optional<CacheFiles> files = cache.find(cache_key(source, identity));
  return files ? std::optional(from_cache(*files)) : std::nullopt;
}

}  // namespace tilewright::cuda
