#include "sim/simulated_gpu.h"

#include "gpu/chip_record.h"
#include "harness/folders.h"
#include "sim/tools.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright::test {

namespace {

constexpr int64_t kMostShared = 227 * 1024;

std::vector<sim::KernelShape> kernels_of(const std::string& text) {
  static const std::regex kKernel(R"(__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\()");
  std::vector<sim::KernelShape> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kKernel), end; it != end; ++it) {
    out.push_back({(*it)[1].str(), kMostShared, 1});
  }
  return out;
}

constexpr int64_t kSlotBytes = 8192;  // for each array in shared memory

// What a kernel declares in shared memory, as references into the simulated block's: in each function from its end on
// downwards, as dynamic shared memory begins at 0.
std::string with_placed_arrays(const std::string& text, bool& has_arrays) {
  static const std::regex kDynamic(R"(extern __shared__ ([\w ]+) (\w+)\[\];)");
  static const std::regex kStatic(R"(((?:alignas\(\d+\) |static )*)__shared__ ((?:volatile )?\w+) ([^;]+);)");
  static const std::regex kArray(R"((\w+)((?:\[[^\]]*\])*)(?:, )?)");
  const std::string from = std::regex_replace(text, kDynamic, "$1* const $2 = reinterpret_cast<$1*>(shared_memory);");
  std::string out;
  size_t done = 0;
  int64_t place = kMostShared;
  for (std::sregex_iterator it(from.begin(), from.end(), kStatic), end; it != end; ++it) {
    const std::string between = from.substr(done, size_t(it->position()) - done);
    if (between.find("__global__") != std::string::npos || between.find("__device__") != std::string::npos)
      place = kMostShared;
    out += between;
    done = size_t(it->position() + it->length());
    const std::string type = (*it)[2], arrays = (*it)[3];
    for (std::sregex_iterator a(arrays.begin(), arrays.end(), kArray); a != end; ++a) {
      const std::string name = (*a)[1];
      place -= kSlotBytes;
      has_arrays = true;
      out += "using shared_" + name + " = " + type + (*a)[2].str() + "; shared_" + name + "& " + name +
             " = *reinterpret_cast<shared_" + name + "*>(shared_memory + " + std::to_string(place) + "); ";
    }
  }
  return out + from.substr(done);
}

}  // namespace

SimulatedModule::SimulatedModule(const std::string& original) {
  const std::string text = with_placed_arrays(original, has_arrays_);
  Tools& tools = Tools::get();
  SourceMap map;
  map.locs.resize(size_t(std::count(text.begin(), text.end(), '\n')) + 1);
  const std::vector<sim::KernelShape> kernels = kernels_of(text);
  for (const sim::KernelShape& k : kernels) numbers_.emplace(k.symbol, numbers_.size());
  code_ =
      sim::Module::compile(text + "\n", map, kernels, sim_target_from_name("sim:sm_90a"), tools.compiler, tools.cache);
}

void GpuTest::run_blocks(const SimulatedKernel& simulated, const cuda::LaunchConfig& config,
                         std::vector<void*> arguments) {
  sim::Code kernel = simulated.code;
  kernel.shared_bytes = simulated.has_arrays ? kMostShared : int64_t(config.dynamic_shared_bytes);
  const auto dim = [](const auto& d) { return device::sim::Dim3{unsigned(d[0]), unsigned(d[1]), unsigned(d[2])}; };
  const device::sim::Dim3 cluster = config.cluster[0] == 0 ? device::sim::Dim3{1, 1, 1} : dim(config.cluster);
  constexpr unsigned kMostPortableBlocks = 8;
  if (cluster.x * cluster.y * cluster.z > kMostPortableBlocks && !simulated.large_clusters) {
    throw unsupported({}, "a cluster of more than {} blocks", kMostPortableBlocks);
  }
  sim::Block block{.block = {}, .grid = dim(config.grid), .threads = dim(config.block), .cluster = cluster};
  for (block.block.z = 0; block.block.z < block.grid.z; block.block.z += cluster.z) {
    for (block.block.y = 0; block.block.y < block.grid.y; block.block.y += cluster.y) {
      for (block.block.x = 0; block.block.x < block.grid.x; block.block.x += cluster.x) {
        const auto found = sim::run_block(kernel, block, arguments.data(), {});
        ASSERT_FALSE(found) << found->text;
      }
    }
  }
}

void compare_with_chip(std::span<const std::byte> bytes) {
  static const ChipRecord::Lines record =
      ChipRecord::read(tilewright::testing::source_folder() / "tests/gpu/golden/h200.txt");
  const auto [name, number] = ChipRecord::next_key();
  const auto found = record.find({name, number});
  if (found == record.end()) {
    ADD_FAILURE() << "no chip's result of " << name << " " << number
                  << "; chip_record.h says how test_gpu extends tests/gpu/golden/h200.txt on an H200";
    return;
  }
  const ChipRecord::Line here = ChipRecord::line_of(bytes), &chip = found->second;
  EXPECT_EQ(here.bytes, chip.bytes) << name << " " << number;
  if (OpenOrder::current()) return;
  EXPECT_EQ(here.hash, chip.hash) << name << " " << number << " differs from the chip";
  EXPECT_EQ(here.words, chip.words) << name << " " << number;
}

}  // namespace tilewright::test
