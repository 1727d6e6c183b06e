#include "doctor_command.h"

#include "driver/session.h"
#include "support/options.h"

#include <tilewright/error.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace {

using tilewright::Session;

struct Finding {
  std::string what;
  bool works = false;
  bool needed = false;  // without it nothing runs
  std::string state;
  std::string fix;  // empty when it works
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Finding check_processor() {
  const tilewright::CpuFeatures& cpu = Session::get().cpu();
  return {.what = "processor",
          .works = true,
          .needed = true,
          .state = fmt::format("cpu:{}, {} usable cores, L1 {} KiB, L2 {} KiB", to_string(cpu.level), cpu.num_cores,
                               cpu.l1d_bytes >> 10, cpu.l2_bytes >> 10),
          .fix = {}};
}

Finding check_compiler() {
  try {
    const tilewright::HostCompiler& compiler = Session::get().compiler();
    return {.what = "C++ compiler",
            .works = true,
            .needed = true,
            .state = fmt::format("{} ({})", compiler.path().string(), compiler.version()),
            .fix = {}};
  } catch (const tilewright::Error& e) {
    return {.what = "C++ compiler", .works = false, .needed = true, .state = first_line(e.message()), .fix = e.hint()};
  }
}

Finding check_cache() {
  try {
    tilewright::Cache& cache = Session::get().cache();
    const std::vector<std::string> remarks = cache.take_remarks();
    if (cache.dir().empty()) {
      return {.what = "kernel cache",
              .works = false,
              .state = remarks.empty() ? "disabled" : remarks.front(),
              .fix = "set TILEWRIGHT_CACHE_DIR to a folder of yours; kernels compile every time until then"};
    }
    const tilewright::CacheStats stats = cache.stats();
    return {.what = "kernel cache",
            .works = true,
            .state =
                fmt::format("{}, {} entries, {} KiB", cache.dir().string(), stats.num_entries, stats.entry_bytes >> 10),
            .fix = {}};
  } catch (const tilewright::Error& e) {
    return {.what = "kernel cache", .works = false, .state = first_line(e.message()), .fix = e.hint()};
  }
}

// Loads one of several names of a shared library.
void* open_library(const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

Finding check_nvrtc() {
  void* library = open_library({"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"});
  using Version = int(int*, int*);
  auto* version = library ? reinterpret_cast<Version*>(dlsym(library, "nvrtcVersion")) : nullptr;
  int major = 0, minor = 0;
  if (version && version(&major, &minor) == 0) {
    return {.what = "NVRTC", .works = true, .state = fmt::format("version {}.{}", major, minor), .fix = {}};
  }
  return {.what = "NVRTC",
          .works = false,
          .state = "libnvrtc.so is not found",
          .fix = "only needed for NVIDIA GPUs: install the CUDA toolkit, or the PyPI package nvidia-cuda-nvrtc"};
}

struct Cuda {
  Finding driver, gpu;
};

Cuda check_cuda() {
  Cuda out{.driver = {.what = "CUDA driver",
                      .works = false,
                      .state = "libcuda.so.1 is not found",
                      .fix = "only needed for NVIDIA GPUs: install the NVIDIA driver"},
           .gpu = {.what = "GPU", .works = false, .state = "none", .fix = "kernels run on the CPU"}};
  void* library = open_library({"libcuda.so.1"});
  if (library == nullptr) return out;
  using Init = int(unsigned);
  using Query = int(int*);
  using Name = int(char*, int, int);
  auto* init = reinterpret_cast<Init*>(dlsym(library, "cuInit"));
  auto* version = reinterpret_cast<Query*>(dlsym(library, "cuDriverGetVersion"));
  auto* count = reinterpret_cast<Query*>(dlsym(library, "cuDeviceGetCount"));
  auto* name = reinterpret_cast<Name*>(dlsym(library, "cuDeviceGetName"));
  int number = 0;
  if (version && version(&number) == 0) {
    out.driver = {.what = "CUDA driver",
                  .works = true,
                  .state = fmt::format("supports CUDA {}.{}", number / 1000, number % 1000 / 10),
                  .fix = {}};
  }
  int devices = 0;
  const int status = init ? init(0) : -1;
  if (status != 0 || !count || count(&devices) != 0 || devices == 0) {
    out.gpu.state = status == 0 ? "none" : fmt::format("cuInit failed with status {}", status);
    return out;
  }
  char text[128] = {};
  if (name) name(text, int(sizeof(text)), 0);
  out.gpu = {.what = "GPU",
             .works = true,
             .state = fmt::format("{} x {}; the cuda target is not built yet (docs/status.md)", devices, text),
             .fix = {}};
  return out;
}

void print_text(const std::vector<Finding>& findings) {
  for (const Finding& f : findings) {
    fmt::print("{} {:<13} {}\n", f.works ? "ok  " : f.needed ? "FAIL" : "none", f.what, f.state);
    if (!f.fix.empty()) fmt::print("{:>19}{}\n", "", f.fix);
  }
}

}  // namespace

void add_doctor_command(CLI::App& app, ExitStatus& status) {
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this machine, and how to mend what does not");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object on standard output");
  command->footer(tilewright::options_help());
  command->callback([json, &status] {
    const Cuda cuda = check_cuda();
    const std::vector<Finding> findings = {check_processor(), check_compiler(), check_cache(),
                                           check_nvrtc(),     cuda.driver,      cuda.gpu};
    if (*json) {
      nlohmann::ordered_json out = nlohmann::ordered_json::object();
      for (const Finding& f : findings)
        out[f.what] = {{"works", f.works}, {"needed", f.needed}, {"state", f.state}, {"fix", f.fix}};
      fmt::print("{}\n", out.dump());
    } else {
      print_text(findings);
    }
    for (const Finding& f : findings) {
      if (f.needed && !f.works) status = ExitStatus::toolchain;
    }
  });
}
