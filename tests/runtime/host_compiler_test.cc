#include "runtime/host_compiler.h"

#include "runtime/test_folder.h"
#include "support/options.h"
#include "support/text_writer.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <sys/stat.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using test::TestFolder;

const std::vector<fs::path> kSearchPath = {"/usr/local/bin", "/usr/bin", "/bin"};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

constexpr const char* kVectorKernel = R"(
typedef float Vec __attribute__((vector_size(64)));
extern "C" void axpy(const float* x, float* y, float a, unsigned long n) {
  unsigned long i = 0;
  for (; i + 16 <= n; i += 16) {
    Vec vx, vy;
    __builtin_memcpy(&vx, x + i, 64);
    __builtin_memcpy(&vy, y + i, 64);
    vy += (a - Vec{}) * vx;
    __builtin_memcpy(y + i, &vy, 64);
  }
  for (; i < n; ++i) y[i] += a * x[i];
}
)";

class HostCompilerTest : public testing::Test {
 protected:
  HostSource source(std::string text) const {
    return {.text = std::move(text), .flags = compile_flags(probe_cpu(), compiler.kind())};
  }
  int call(const std::string& text) { return compile_and_load(source(text), compiler, cache)->function<int()>("f")(); }

  const TestFolder folder;
  Cache cache = Cache::open({.dir = folder.path() / "cache"});
  const HostCompiler compiler = HostCompiler::find({.search_path = kSearchPath}, cache);
};

TEST_F(HostCompilerTest, compiles_loads_and_runs) {
  const auto module = compile_and_load(source(kVectorKernel), compiler, cache);
  std::vector<float> x(100, 2), y(100, 1);
  module->function<void(const float*, float*, float, unsigned long)>("axpy")(x.data(), y.data(), 3, 100);
  EXPECT_EQ(y, std::vector<float>(100, 7));
  EXPECT_THROW(module->symbol("nothing"), Error);
}

TEST_F(HostCompilerTest, libm_and_libgcc_are_linked) {
  const auto module =
      compile_and_load(source("extern \"C\" float expf(float); extern \"C\" float f(float x) { return expf(x); }\n"
                              "extern \"C\" __int128 g(__int128 a, __int128 b) { return a / b; }"),
                       compiler, cache);
  EXPECT_NEAR(module->function<float(float)>("f")(1), 2.7182818f, 1e-6f);
  __extension__ typedef __int128 Wide;
  EXPECT_EQ(int(module->function<Wide(Wide, Wide)>("g")(Wide(7) << 80, Wide(1) << 80)), 7);
}

// dlopen takes files of one name for one; each load must give its own code, loaded or not at the same time.
TEST_F(HostCompilerTest, modules_do_not_mix) {
  std::vector<std::shared_ptr<LoadedModule>> modules;
  for (int i = 0; i < 6; ++i) {
    modules.push_back(
        compile_and_load(source("extern \"C\" int f() { return " + std::to_string(i) + "; }"), compiler, cache));
  }
  for (int i = 0; i < 6; ++i) EXPECT_EQ(modules[size_t(i)]->function<int()>("f")(), i);
  modules.erase(modules.begin(), modules.begin() + 3);
  EXPECT_EQ(call("extern \"C\" int f() { return 42; }"), 42);
  EXPECT_EQ(modules[0]->function<int()>("f")(), 3);
}

TEST_F(HostCompilerTest, loaded_code_outlives_its_entry) {
  const auto module = compile_and_load(source(kVectorKernel), compiler, cache);
  const fs::path entry = cache.dir() / cache_key(source(kVectorKernel), compiler);
  ASSERT_TRUE(fs::exists(entry));
  fs::resize_file(entry, 10);
  std::vector<float> x(16, 2), y(16, 1);
  module->function<void(const float*, float*, float, unsigned long)>("axpy")(x.data(), y.data(), 3, 16);
  EXPECT_EQ(y[15], 7);
  fs::remove_all(cache.dir());
  const auto again = compile_and_load(source(kVectorKernel), compiler, cache);
  again->function<void(const float*, float*, float, unsigned long)>("axpy")(x.data(), y.data(), 3, 16);
  EXPECT_EQ(y[15], 13);
}

TEST_F(HostCompilerTest, keep_folder_holds_source_and_object) {
  const LoadOptions keep = {.keep_dir = folder.path() / "keep" / "here"};
  const std::string text = "extern \"C\" int f() { return 5; }";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(compile_and_load(source(text), compiler, cache, keep)->function<int()>("f")(), 5);
  }
  const fs::path stem = *keep.keep_dir / cache_key(source(text), compiler).substr(0, 16);
  EXPECT_EQ(test::read_text(stem.string() + ".cc"), text);
  EXPECT_TRUE(fs::exists(stem.string() + ".so"));
}

TEST_F(HostCompilerTest, key_holds_everything_that_matters_and_no_more) {
  const HostSource base = source("int x;");
  HostSource text = base, flags = base, included = base, moved = base;
  text.text += " ";
  flags.flags.push_back("-DX");
  included.included = "header";
  SourceMap map;
  map.locs.push_back(Loc::at("a.cc", 7));
  moved.source_map = &map;
  const std::string key = cache_key(base, compiler);
  EXPECT_NE(cache_key(text, compiler), key);
  EXPECT_NE(cache_key(flags, compiler), key);
  EXPECT_NE(cache_key(included, compiler), key);
  EXPECT_EQ(cache_key(moved, compiler), key);
}

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "");
}

TEST_F(HostCompilerTest, a_rejected_text_names_the_authors_line) {
  for (const char* cxx : {"g++", "clang++"}) {
    HostCompilerOptions options = {.cxx = cxx, .search_path = kSearchPath};
    std::optional<HostCompiler> chosen;
    try {
      chosen = HostCompiler::find(options, cache);
    } catch (const Error&) {
      continue;  // not on this machine
    }
    TextWriter writer;
    writer.line("extern \"C\" int f() {");
    writer.line("  return undeclared;", Loc::at("attention.cc", 41));
    writer.line("}");
    HostSource bad = source(writer.text());
    bad.flags = compile_flags(probe_cpu(), chosen->kind());
    bad.source_map = &writer.source_map();
    const Error error = error_of([&] { compile_and_load(bad, *chosen, cache); });
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_EQ(error.message().rfind("generated code does not compile: ", 0), 0u) << error.message();
    EXPECT_NE(error.message().find("undeclared"), std::string::npos);
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    EXPECT_EQ(error.loc().to_string(), "attention.cc:41");
    ASSERT_GE(error.notes().size(), 3u);
    EXPECT_LE(error.notes().size(), 11u);
    EXPECT_EQ(error.notes()[0].text, "generated line 2:   return undeclared;");
    EXPECT_EQ(cache.find(cache_key(bad, *chosen)), std::nullopt);
  }
}

TEST_F(HostCompilerTest, a_complaint_about_a_header_is_placed_where_it_is_included) {
  fs::create_directory(folder.path() / "include");
  test::write_text(folder.path() / "include" / "broken.h", "\n\nint x = nothing;\n");
  TextWriter writer;
  writer.line("// first");
  writer.line("#include <broken.h>", Loc::at("author.cc", 9));
  HostSource bad = source(writer.text());
  bad.source_map = &writer.source_map();
  bad.flags.push_back("-I" + (folder.path() / "include").string());
  const Error error = error_of([&] { compile_and_load(bad, compiler, cache); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_EQ(error.loc().to_string(), "author.cc:9");
}

TEST_F(HostCompilerTest, a_long_log_is_cut) {
  std::string text = "extern \"C\" int f() { return 0\n";
  for (int i = 0; i < 100; ++i) text += "nonsense" + std::to_string(i) + ";\n";
  const Error error = error_of([&] { call(text); });
  EXPECT_LE(error.notes().size(), 11u);
}

TEST_F(HostCompilerTest, code_with_an_unknown_symbol_does_not_load) {
  const Error error = error_of([&] { call("extern \"C\" int nowhere(); extern \"C\" int f() { return nowhere(); }"); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_NE(error.message().find("nowhere"), std::string::npos) << error.message();
}

TEST_F(HostCompilerTest, no_compiler) {
  const Error none = error_of([&] { HostCompiler::find({.search_path = {"/no/bin", "/none"}}, cache); });
  EXPECT_EQ(none.kind(), ErrorKind::toolchain);
  EXPECT_EQ(none.message(), "no host C++ compiler is installed, which CPU kernels need");
  EXPECT_EQ(none.notes()[0].text, "searched c++, g++, clang++, g++-N and clang++-N in /no/bin:/none");
  EXPECT_NE(none.hint().find("apt install g++"), std::string::npos);
  const Error named = error_of([&] { HostCompiler::find({.cxx = "nocxx", .search_path = {"/none"}}, cache); });
  EXPECT_EQ(named.message(), "the host compiler \"nocxx\" is not a program");
}

void write_script(const fs::path& path, const std::string& text) {
  test::write_text(path, "#!/bin/sh\n" + text);
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
}

TEST_F(HostCompilerTest, a_compiler_that_breaks) {
  write_script(folder.path() / "c++", "echo 'broken compiler: no cc1plus' >&2; exit 4\n");
  EXPECT_EQ(error_of([&] { HostCompiler::find({.search_path = {folder.path()}}, cache); }).kind(),
            ErrorKind::toolchain);
  write_script(folder.path() / "c++", "[ $1 = --version ] && echo gcc 1 && exit 0\necho 'no cc1plus' >&2; exit 4\n");
  const HostCompiler half = HostCompiler::find({.search_path = {folder.path()}}, cache);
  const Error error = error_of([&] { compile_and_load(source("int x;"), half, cache); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), (folder.path() / "c++").string() + " failed (exit code 4): no cc1plus");
  write_script(folder.path() / "c++", "[ $1 = --version ] && echo gcc 1 && exit 0\nsleep 100\n");
  const LoadOptions hasty = {.time_limit = std::chrono::milliseconds(100)};
  const HostCompiler slow = HostCompiler::find({.search_path = {folder.path()}}, cache);
  const Error late = error_of([&] { compile_and_load(source("int x;"), slow, cache, hasty); });
  EXPECT_NE(late.message().find("time limit exceeded"), std::string::npos);
}

// The version is asked once for a program, in every process for a script, which may change what it calls.
TEST_F(HostCompilerTest, version_is_remembered_by_file) {
  const fs::path bin = folder.path() / "bin", log = folder.path() / "log";
  fs::create_directory(bin);
  write_script(bin / "c++", "echo x >> " + log.string() + "\necho gcc " + "1\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(HostCompiler::find({.search_path = {bin}}, cache).version(), "gcc 1");
  EXPECT_EQ(test::read_text(log), "x\nx\n");
  const uint64_t before = cache.stats().num_entries;
  HostCompiler::find({.search_path = kSearchPath}, cache);
  EXPECT_EQ(cache.stats().num_entries, before);
}

TEST_F(HostCompilerTest, ccache_in_the_path_is_passed_over) {
  const fs::path front = folder.path() / "front";
  fs::create_directory(front);
  test::write_text(front / "ccache",
                   "\x7f"
                   "ELF");
  ASSERT_EQ(::chmod((front / "ccache").c_str(), 0755), 0);
  fs::create_symlink("ccache", front / "c++");
  std::vector<fs::path> search_path = kSearchPath;
  search_path.insert(search_path.begin(), front);
  EXPECT_EQ(HostCompiler::find({.search_path = search_path}, cache).path(), compiler.path());
}

TEST_F(HostCompilerTest, many_threads_compile_at_once) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const int number = t % 3;
      if (call("extern \"C\" int f() { return " + std::to_string(number) + "; }") != number) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HostCompiler, every_level_compiles_with_every_compiler) {
  const TestFolder folder;
  Cache cache = Cache::open({.dir = folder.path() / "cache"});
  for (const char* cxx : {"g++", "clang++-14", "clang++-16"}) {
    std::optional<HostCompiler> compiler;
    try {
      compiler = HostCompiler::find({.cxx = cxx, .search_path = kSearchPath}, cache);
    } catch (const Error&) {
      continue;
    }
    CpuFeatures features = probe_cpu();
    for (int level = int(features.level); level >= 0; --level) {
      features.level = CpuLevel(level);
      if (features.level != CpuLevel::avx512) features.avx512_bf16 = features.avx512_vnni = false;
      compile_and_load({.text = kVectorKernel, .flags = compile_flags(features, compiler->kind())}, *compiler, cache);
    }
  }
}

TEST(CpuFeatures, are_plausible) {
  const CpuFeatures features = probe_cpu();
  EXPECT_GE(features.num_cores, 1);
  EXPECT_LE(features.num_cores, int(std::thread::hardware_concurrency()));
  EXPECT_GE(features.l1d_bytes, 8 << 10);
  EXPECT_GE(features.l2_bytes, features.l1d_bytes);
#if defined(__x86_64__)
  EXPECT_GE(features.level, CpuLevel::x86_64);
#endif
}

// Prints the figures quoted in host_compiler.cc; the bound is loose, for slow and busy machines and sanitizers.
TEST_F(HostCompilerTest, compile_latency) {
  std::vector<double> cold;
  for (int i = 0; i < 7; ++i) {
    const auto begin = Clock::now();
    compile_and_load(source(kVectorKernel + std::string("// ") + std::to_string(i)), compiler, cache);
    cold.push_back(ms_since(begin));
  }
  std::sort(cold.begin(), cold.end());
  std::printf("compile and load: median %.1f ms (%s)\n", cold[3], compiler.version().c_str());
  EXPECT_LT(cold[0], 2000);
}

TEST_F(HostCompilerTest, warm_latency) {
  // An object of 100 kB: code that is never called.
  std::string text = kVectorKernel;
  text += "extern \"C\" { extern const unsigned char ballast[100000]; const unsigned char ballast[100000] = {1}; }\n";
  compile_and_load(source(text), compiler, cache);
  std::vector<double> warm;
  for (int i = 0; i < 21; ++i) {
    const auto begin = Clock::now();
    Cache own = Cache::open({.dir = folder.path() / "cache"});
    const HostCompiler found = HostCompiler::find({.search_path = kSearchPath}, own);
    const HostSource same = {.text = text, .flags = compile_flags(probe_cpu(), found.kind())};
    compile_and_load(same, found, own);
    warm.push_back(ms_since(begin));
  }
  std::sort(warm.begin(), warm.end());
  std::printf("warm start (open, find compiler, find, verify, load 100 kB): median %.2f ms\n", warm[10]);
  EXPECT_LT(warm[0], 100);
}

}  // namespace
}  // namespace tilewright
