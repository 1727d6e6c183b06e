#include "doctor_command.h"

#include "driver/session.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/nvrtc.h"
#include "support/options.h"

#include <tilewright/error.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using tilewright::Session;
namespace cuda = tilewright::cuda;

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

constexpr const char* kOnlyForGpus = "only needed for NVIDIA GPUs: ";

// Text that shows whether compiler, driver and GPU work together.
constexpr const char* kProbeKernel = R"(extern "C" __global__ void probe(int* out) { *out = 42; })";
constexpr int kProbeResult = 42;

std::string cuda_version(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

struct CudaFindings {
  Finding nvrtc{.what = "NVRTC", .state = "not searched", .fix = {}};
  Finding driver{.what = "CUDA driver", .state = "not searched", .fix = {}};
  Finding gpu{.what = "GPU", .state = "none", .fix = "kernels run on the CPU"};
};

void set_failure(Finding& finding, const tilewright::Error& error) {
  finding.works = false;
  finding.state = first_line(error.message());
  finding.fix = error.hint().empty() ? std::string() : kOnlyForGpus + error.hint();
}

std::shared_ptr<const cuda::Driver> check_driver(const cuda::LibraryOptions& options, CudaFindings& out) {
  try {
    auto driver = cuda::Driver::load(options);
    out.driver.works = true;
    out.driver.state = fmt::format("supports {} ({})", cuda_version(driver->version()), driver->path().string());
    return driver;
  } catch (const tilewright::Error& error) {
    set_failure(out.driver, error);
    return nullptr;
  }
}

std::shared_ptr<const cuda::Device> check_gpu(std::shared_ptr<const cuda::Driver> driver, CudaFindings& out) {
  if (driver == nullptr) return nullptr;
  try {
    const int count = driver->num_devices();
    auto device = cuda::Device::open(driver, 0);
    const cuda::DeviceProperties& p = device->properties();
    out.gpu.state = fmt::format("{}{}, {}, {} SMs, {} MiB", count > 1 ? fmt::format("{} x ", count) : "", p.name,
                                p.arch(), p.num_sms, p.memory_bytes >> 20);
    return device;
  } catch (const tilewright::Error& error) {
    set_failure(out.gpu, error);
    return nullptr;
  }
}

// Compiles for the GPU, or for the newest architecture known here where there is none.
std::string compile_probe(const cuda::LibraryOptions& options, const cuda::Device* device, CudaFindings& out) {
  try {
    const cuda::Nvrtc nvrtc = cuda::Nvrtc::open(options);
    const std::string arch = device ? device->properties().arch() : "sm_90a";
    std::string cubin = nvrtc.compile({.text = kProbeKernel, .arch = arch, .flags = cuda::compile_flags()}).cubin;
    out.nvrtc.works = true;
    out.nvrtc.state = fmt::format("version {}.{} compiles for {} ({})", nvrtc.version().major, nvrtc.version().minor,
                                  arch, nvrtc.path().string());
    return cubin;
  } catch (const tilewright::Error& error) {
    set_failure(out.nvrtc, error);
    return {};
  }
}

void run_probe(const std::shared_ptr<const cuda::Device>& device, const std::string& cubin, Finding& out) {
  try {
    const cuda::Kernel kernel = device->load(cubin).kernel("probe");
    cuda::DeviceBuffer buffer(device, sizeof(int));
    cuda::DeviceAddress address = buffer.address();
    void* const parameters[] = {&address};
    kernel.launch({}, parameters);
    int result = 0;
    buffer.read(std::as_writable_bytes(std::span(&result, 1)));
    out.works = result == kProbeResult;
    out.state += out.works ? "; a kernel ran" : fmt::format("; a kernel gave {} instead of {}", result, kProbeResult);
    if (out.works) out.fix.clear();
  } catch (const tilewright::Error& error) {
    out.state += "; " + first_line(error.message());
    out.fix = error.hint();
  }
}

CudaFindings check_cuda() {
  CudaFindings out;
  const cuda::LibraryOptions options = cuda::library_options(Session::get().options());
  const auto device = check_gpu(check_driver(options, out), out);
  const std::string cubin = compile_probe(options, device.get(), out);
  if (device && cubin.empty())
    out.gpu.fix = "kernels for it cannot be compiled without NVRTC";
  else if (device)
    run_probe(device, cubin, out.gpu);
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
    const CudaFindings cuda = check_cuda();
    const std::vector<Finding> findings = {check_processor(), check_compiler(), check_cache(),
                                           cuda.nvrtc,        cuda.driver,      cuda.gpu};
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
