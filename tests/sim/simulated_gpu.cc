#include "sim/simulated_gpu.h"

#include "sim/tools.h"

#include <algorithm>

namespace tilewright::test {

namespace {

constexpr int64_t kMostShared = 99 * 1024;

std::vector<sim::KernelShape> kernels_of(const std::string& text) {
  static const std::regex kKernel(R"(__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\()");
  std::vector<sim::KernelShape> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kKernel), end; it != end; ++it) {
    out.push_back({(*it)[1].str(), kMostShared, 1});
  }
  return out;
}

}  // namespace

SimulatedModule::SimulatedModule(const std::string& text) {
  Tools& tools = Tools::get();
  SourceMap map;
  map.locs.resize(size_t(std::count(text.begin(), text.end(), '\n')) + 1);
  const std::vector<sim::KernelShape> kernels = kernels_of(text);
  for (const sim::KernelShape& k : kernels) numbers_.emplace(k.symbol, numbers_.size());
  code_ =
      sim::Module::compile(text + "\n", map, kernels, sim_target_from_name("sim:sm_90a"), tools.compiler, tools.cache);
}

void GpuTest::run_blocks(sim::Code kernel, const cuda::LaunchConfig& config, std::vector<void*> arguments) {
  kernel.shared_bytes = config.dynamic_shared_bytes;
  const auto dim = [](const auto& d) { return device::sim::Dim3{unsigned(d[0]), unsigned(d[1]), unsigned(d[2])}; };
  sim::Block block{.block = {}, .grid = dim(config.grid), .threads = dim(config.block)};
  for (block.block.z = 0; block.block.z < block.grid.z; ++block.block.z) {
    for (block.block.y = 0; block.block.y < block.grid.y; ++block.block.y) {
      for (block.block.x = 0; block.block.x < block.grid.x; ++block.block.x) {
        const auto found = sim::run_block(kernel, block, arguments.data(), {});
        ASSERT_FALSE(found) << found->text;
      }
    }
  }
}

}  // namespace tilewright::test
