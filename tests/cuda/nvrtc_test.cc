#include "runtime/cuda/found_nvrtc.h"

#include "codegen/embedded.h"
#include "cuda/fake_library.h"
#include "runtime/cache.h"
#include "support/options.h"
#include "harness/machine.h"
#include "support/text_writer.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <optional>

#include <dlfcn.h>

namespace tilewright::cuda {
namespace {

using test::TestFolder;

template <class Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "");
}

// Its "machine code" is what it was given, one item a line: text, options, headers.
// With the macros MAJOR, STATUS, LOG and NO_CUBIN (leaves a function out).
constexpr const char* kFakeNvrtc = R"(
#include <cstring>
#include <string>
#include <utility>
#ifndef MAJOR
#define MAJOR 12
#endif
#ifndef STATUS
#define STATUS 0
#endif
#ifndef LOG
#define LOG "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used 10 registers, used 0 barriers\n"
#endif
struct Program { std::string given; };
static int compilations = 0;
extern "C" {
int fake_compilations() { return compilations; }
int nvrtcVersion(int* major, int* minor) { *major = MAJOR; *minor = 4; return 0; }
const char* nvrtcGetErrorString(int) { return "STATUS OF THE FAKE"; }
int nvrtcGetNumSupportedArchs(int* n) { *n = 2; return 0; }
int nvrtcGetSupportedArchs(int* out) { out[0] = 80; out[1] = 90; return 0; }
int nvrtcCreateProgram(Program** out, const char* text, const char* name, int n, const char* const* headers,
                       const char* const* names) {
  *out = new Program{std::string(name) + "\n" + text + "\n"};
  for (int i = 0; i < n; ++i) (*out)->given += "header " + std::string(names[i]) + " " + std::to_string(strlen(headers[i])) + "\n";
  return 0;
}
int nvrtcDestroyProgram(Program** p) { delete *p; *p = nullptr; return 0; }
int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  ++compilations;
  for (int i = 0; i < n; ++i) p->given += "option " + std::string(options[i]) + "\n";
  return STATUS;
}
#ifndef NO_CUBIN
int nvrtcGetCUBINSize(Program* p, size_t* n) { *n = strstr(p->given.c_str(), "compute_") ? 0 : p->given.size(); return 0; }
#endif
int nvrtcGetCUBIN(Program* p, char* out) { memcpy(out, p->given.data(), p->given.size()); return 0; }
int nvrtcGetProgramLogSize(Program*, size_t* n) { *n = sizeof(LOG); return 0; }
int nvrtcGetProgramLog(Program*, char* out) { memcpy(out, LOG, sizeof(LOG)); return 0; }
}
)";

class FakeNvrtcTest : public ::testing::Test {
 protected:
  Nvrtc open(const std::vector<std::string>& defines = {}) {
    options.nvrtc = folder.path() / "libnvrtc.so.12";
    test::build_library(*options.nvrtc, kFakeNvrtc, defines);
    return Nvrtc::open(options);
  }
  const TestFolder folder;
  LibraryOptions options;
};

CudaSource source(std::string text = "int x;", std::string arch = "sm_90a") {
  return {.text = std::move(text), .arch = std::move(arch), .flags = {"--flag"}};
}

TEST_F(FakeNvrtcTest, OldVersionIsRefused) {
  const Error error = error_of([&] { open({"MAJOR=11"}); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "NVRTC 11.4 is too old: 12.0 or later is needed");
  EXPECT_NE(error.hint().find("TILEWRIGHT_NVRTC"), std::string::npos);
}

TEST_F(FakeNvrtcTest, BuiltinsBesideItAreLoadedBeforeItCompiles) {
  const std::filesystem::path builtins = folder.path() / "libnvrtc-builtins.so.12.4";
  test::build_library(builtins, "extern \"C\" int builtins() { return 1; }");
  open();
  void* const loaded = ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(loaded, nullptr);
}

TEST_F(FakeNvrtcTest, BuiltinsThatDoNotLoadAreSaid) {
  test::write_text(folder.path() / "libnvrtc-builtins.so.12.4", "no library");
  const Error error = error_of([&] { open(); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_TRUE(error.message().starts_with("the builtins library of NVRTC does not load: ")) << error.message();
}

TEST_F(FakeNvrtcTest, MissingFunctionIsNamed) {
  const Error error = error_of([&] { open({"NO_CUBIN"}); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_NE(error.message().find("it has no nvrtcGetCUBINSize"), std::string::npos) << error.message();
}

TEST_F(FakeNvrtcTest, TextFlagsAndHeadersReachTheCompiler) {
  const CompiledCuda compiled = open().compile(source("text of a kernel"));
  EXPECT_EQ(compiled.cubin.find("kernel.cu\ntext of a kernel\n"), 0u);
  EXPECT_NE(compiled.cubin.find("option --flag\n"), std::string::npos);
  EXPECT_NE(compiled.cubin.find("option --gpu-architecture=sm_90a\n"), std::string::npos);
  EXPECT_EQ(compiled.cubin.find("header tilewright/device/cpu/"), std::string::npos);
  for (const codegen::EmbeddedFile& file : codegen::embedded_files()) {
    if (!file.path.starts_with("cuda/")) continue;
    EXPECT_NE(compiled.cubin.find("header tilewright/device/" + std::string(file.path) + " " +
                                  std::to_string(file.text.size()) + "\n"),
              std::string::npos)
        << file.path;
  }
  ASSERT_NE(compiled.log.find("k"), nullptr);
  EXPECT_EQ(compiled.log.find("k")->num_registers, 10);
}

TEST_F(FakeNvrtcTest, RejectedTextIsMappedToTheAuthorsLine) {
  const Nvrtc nvrtc =
      open({"STATUS=6", R"(LOG="kernel.cu(2): warning: w\nkernel.cu(3): error: identifier \"x\" is undefined\n")"});
  SourceMap map;
  map.locs = {Loc(), Loc(), Loc::at("attention.cc", 41)};
  CudaSource text = source("first\nsecond\nthird\n");
  text.source_map = &map;
  const Error error = error_of([&] { nvrtc.compile(text); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_EQ(error.message(), "generated CUDA does not compile: identifier \"x\" is undefined");
  EXPECT_EQ(error.loc().to_string(), "attention.cc:41");
  ASSERT_GE(error.notes().size(), 2u);
  EXPECT_EQ(error.notes()[0].text, "generated line 3: third");
  EXPECT_EQ(error.notes()[1].text, "compiler: NVRTC 12.4 for sm_90a");
}

TEST_F(FakeNvrtcTest, ComplaintOfTheAssembler) {
  const Nvrtc nvrtc =
      open({"STATUS=6",
            R"(LOG="ptxas application ptx input, line 27; error   : Not a name of any known instruction: 'bogus'\n")"});
  const Error error = error_of([&] { nvrtc.compile(source()); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_EQ(error.message(), "generated CUDA does not compile: Not a name of any known instruction: 'bogus'");
}

TEST_F(FakeNvrtcTest, UnknownArchitectureNamesThoseThatAreKnown) {
  const Nvrtc nvrtc = open({"STATUS=5", R"(LOG="nvrtc: error: invalid value for --gpu-architecture (-arch)\n")"});
  const Error error = error_of([&] { nvrtc.compile(source("", "sm_100a")); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "NVRTC 12.4 does not compile for sm_100a");
  ASSERT_FALSE(error.notes().empty());
  EXPECT_EQ(error.notes()[0].text, "it knows sm_80, sm_90");
}

TEST_F(FakeNvrtcTest, FailureOfTheCompilerItself) {
  const Nvrtc nvrtc = open({"STATUS=7", R"(LOG="nvrtc: error: failed to open libnvrtc-builtins.so.12.4.\n")"});
  const Error error = error_of([&] { nvrtc.compile(source()); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "NVRTC 12.4 failed (STATUS OF THE FAKE): failed to open libnvrtc-builtins.so.12.4.");
}

TEST_F(FakeNvrtcTest, NoMachineCode) {
  const Error error = error_of([&] { open().compile(source("", "compute_90a")); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "NVRTC 12.4 made no machine code for compute_90a");
}

TEST_F(FakeNvrtcTest, CacheKeepsCodeAndLog) {
  const Nvrtc nvrtc = open();
  int (*compilations)() = nullptr;
  SharedLibrary::open(nvrtc_search(options)).bind(compilations, "fake_compilations");
  Cache cache = Cache::open({.dir = folder.path() / "cache"});
  const CompiledCuda first = compile_cached(source(), nvrtc, cache);
  const CompiledCuda again = compile_cached(source(), nvrtc, cache);
  EXPECT_EQ(compilations(), 1);
  EXPECT_EQ(again.cubin, first.cubin);
  EXPECT_EQ(again.log.text, first.log.text);
  EXPECT_EQ(again.log.find("k")->num_registers, 10);
  CudaSource moved = source();
  SourceMap map;
  moved.source_map = &map;
  compile_cached(moved, nvrtc, cache);
  EXPECT_EQ(compilations(), 1);  // where a line comes from is no part of the key
  compile_cached(source("int y;"), nvrtc, cache);
  compile_cached(source("int x;", "sm_80"), nvrtc, cache);
  CudaSource flagged = source();
  flagged.flags.push_back("--other");
  compile_cached(flagged, nvrtc, cache);
  EXPECT_EQ(compilations(), 4);
}

TEST_F(FakeNvrtcTest, IsOpenedOnlyWhereTheCacheLacksTheCode) {
  open();  // builds the library
  Cache cache = Cache::open({.dir = folder.path() / "cache"});
  FoundNvrtc first(options);
  const CompiledCuda compiled = compile_cached(source(), first, cache);
  EXPECT_TRUE(first.is_open());
  FoundNvrtc second(options);
  EXPECT_EQ(compile_cached(source(), second, cache).cubin, compiled.cubin);
  EXPECT_FALSE(second.is_open());
  EXPECT_EQ(second.identity(cache), first.get().identity());
  compile_cached(source("int y;"), second, cache);
  EXPECT_TRUE(second.is_open());
}

// What the cache remembers of a file holds while size and time of the file do.
TEST_F(FakeNvrtcTest, ALibraryThatChangedIsOpenedAgain) {
  open();
  Cache cache = Cache::open({.dir = folder.path() / "cache"});
  FoundNvrtc(options).identity(cache);
  FoundNvrtc same(options), changed(options), again(options);
  same.identity(cache);
  EXPECT_FALSE(same.is_open());
  std::filesystem::last_write_time(*options.nvrtc, std::filesystem::file_time_type::clock::now());
  changed.identity(cache);
  EXPECT_TRUE(changed.is_open());
  again.identity(cache);
  EXPECT_FALSE(again.is_open());
}

TEST_F(FakeNvrtcTest, KeyContainsTheVersion) {
  const Nvrtc old = open();
  const std::string key = cache_key(source(), old.identity());
  options.nvrtc = folder.path() / "other/libnvrtc.so.13";
  test::build_library(*options.nvrtc, kFakeNvrtc, {"MAJOR=13"});
  EXPECT_NE(cache_key(source(), Nvrtc::open(options).identity()), key);
}

// ---- The real one, where there is one ----

class RealNvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::FoundNvrtc found = testing::find_nvrtc();
    if (!found.nvrtc) GTEST_SKIP() << found.why_not;
    nvrtc = std::move(found.nvrtc);
  }
  std::optional<Nvrtc> nvrtc;
};

CudaSource real(std::string text) { return {.text = std::move(text), .arch = "sm_90a", .flags = compile_flags()}; }

TEST_F(RealNvrtcTest, CompilesToMachineCodeWithResources) {
  const CompiledCuda compiled =
      nvrtc->compile(real("extern \"C\" __global__ void k(float* x) {\n"
                          "  __shared__ float s[256];\n"
                          "  s[threadIdx.x] = x[threadIdx.x];\n"
                          "  __syncthreads();\n"
                          "  x[threadIdx.x] = s[255 - threadIdx.x];\n"
                          "}\n"));
  EXPECT_EQ(compiled.cubin.substr(1, 3), "ELF");
  ASSERT_NE(compiled.log.find("k"), nullptr) << compiled.log.text;
  EXPECT_GT(compiled.log.find("k")->num_registers, 0);
  EXPECT_GE(compiled.log.find("k")->static_shared_bytes, 1024);
  EXPECT_EQ(compiled.log.find("k")->num_barriers, 1);
  EXPECT_EQ(compiled.log.why_slow(), std::nullopt);
}

TEST_F(RealNvrtcTest, SpillsAreSeen) {
  const CompiledCuda compiled =
      nvrtc->compile(real("extern \"C\" __global__ void __launch_bounds__(1024, 2) k(float* o, int n) {\n"
                          "  float a[120];\n"
                          "  for (int i = 0; i < 120; i++) a[i] = o[i * 7 + threadIdx.x];\n"
                          "  for (int j = 0; j < n; j++) {\n"
                          "    for (int i = 0; i < 120; i++) a[i] = a[i] * a[(i + 7) % 120] + 1.f;\n"
                          "    __syncthreads();\n"
                          "  }\n"
                          "  for (int i = 0; i < 120; i++) o[i + threadIdx.x] = a[i];\n"
                          "}\n"));
  ASSERT_NE(compiled.log.find("k"), nullptr) << compiled.log.text;
  EXPECT_GT(compiled.log.find("k")->spill_store_bytes, 0);
  ASSERT_TRUE(compiled.log.why_slow().has_value());
}

TEST_F(RealNvrtcTest, IgnoredRegisterBudgetIsSeen) {
  const CompiledCuda compiled =
      nvrtc->compile(real("extern \"C\" __global__ void k(float* o) {\n"
                          "  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 40;\");\n"
                          "  o[0] = 1;\n"
                          "}\n"));
  ASSERT_EQ(compiled.log.advisories.size(), 1u) << compiled.log.text;
  EXPECT_EQ(compiled.log.advisories[0].kind, Advisory::Kind::setmaxnreg_ignored);
}

TEST_F(RealNvrtcTest, RejectedTextHasItsLine) {
  const Error error =
      error_of([&] { nvrtc->compile(real("extern \"C\" __global__ void k(int* o) {\n  *o = x;\n}\n")); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_EQ(error.message(), "generated CUDA does not compile: identifier \"x\" is undefined");
  ASSERT_FALSE(error.notes().empty());
  EXPECT_EQ(error.notes()[0].text, "generated line 2:   *o = x;");
}

TEST_F(RealNvrtcTest, ArchitectureThatDoesNotExist) {
  CudaSource source = real("");
  source.arch = "sm_12";
  const Error error = error_of([&] { nvrtc->compile(source); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_NE(error.message().find("does not compile for sm_12"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::cuda
