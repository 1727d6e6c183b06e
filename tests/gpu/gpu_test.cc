#include "gpu/gpu_test.h"

#include "harness/machine.h"
#include "runtime/cache.h"
#include "support/options.h"

#include <tilewright/error.h>

namespace tilewright::test {

GpuTest::Machine& GpuTest::machine() {
  static Machine made = [] {
    Machine out;
    const cuda::LibraryOptions options = cuda::library_options(read_options_from_environment());
    try {
      out.driver = cuda::Driver::load(options);
      out.device = cuda::Device::open(out.driver, 0);
    } catch (const Error& error) {
      out.why_not = error.message();
    }
    testing::FoundNvrtc found = testing::find_nvrtc();
    if (!found.nvrtc) out.why_not = found.why_not;
    out.nvrtc = std::move(found.nvrtc);
    return out;
  }();
  return made;
}

void GpuTest::SetUp() {
  if (!machine().nvrtc) GTEST_SKIP() << machine().why_not;
}

std::optional<cuda::Module> GpuTest::module(const std::string& text, cuda::CompileLog* log) {
  const Machine& m = machine();
  const std::string arch = m.device ? m.device->properties().arch() : "sm_90a";
  // A folder of its own would be cold each time; the user's cache makes a second run start at once.
  static Cache cache = Cache::open(cache_options(read_options_from_environment()));
  cuda::CompiledCuda compiled =
      cuda::compile_cached({.text = text, .arch = arch, .flags = cuda::compile_flags()}, *m.nvrtc, cache);
  *log = std::move(compiled.log);
  if (!m.device) return std::nullopt;
  return m.device->load(compiled.cubin);
}

std::optional<cuda::Module> GpuTest::module(const std::string& text) {
  cuda::CompileLog log;
  auto out = module(text, &log);
  EXPECT_EQ(log.why_slow(), std::nullopt) << log.text;
  return out;
}

}  // namespace tilewright::test
