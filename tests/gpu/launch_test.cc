// Launches: streams, shared memory, graphs, programmatic launches, registers, faults.
#include "gpu/gpu_test.h"
#include "gpu/graph_calls.h"

#include <tilewright/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tilewright::test {
namespace {

using LaunchTest = GpuTest;

TEST_F(LaunchTest, PropertiesOfTheDevice) {
  if (!machine().device) GTEST_SKIP() << machine().why_not;
  const cuda::DeviceProperties& p = machine().device->properties();
  fmt::print("  {} {}: {} SMs, {} bytes of shared memory, L2 {} MiB, {} MiB, {} MHz\n", p.name, p.arch(), p.num_sms,
             p.max_shared_bytes_per_block, p.l2_bytes >> 20, p.memory_bytes >> 20, p.clock_khz / 1000);
  EXPECT_EQ(p.warp_size, 32);
  EXPECT_EQ(p.max_threads_per_block, 1024);
  EXPECT_GE(p.max_shared_bytes_per_block, 49152);
  EXPECT_GE(p.registers_per_sm, 65536);
  EXPECT_GT(p.memory_bytes, uint64_t(1) << 30);
}

constexpr const char* kSharedText = R"(
extern "C" __global__ void k(unsigned* out, unsigned words) {
  extern __shared__ unsigned tile[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) tile[i] = i * 3;
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) sum += tile[words - 1 - i];
  atomicAdd(out, sum);
})";

TEST_F(LaunchTest, AllSharedMemoryOfABlock) {
  const auto loaded = module(kSharedText);
  TW_SKIP_WITHOUT(loaded);
  cuda::Kernel kernel = loaded->kernel("k");
  const int bytes = machine().device->properties().max_shared_bytes_per_block;
  const auto out = array(std::vector<uint32_t>{0});
  const cuda::LaunchConfig config = {.block = {256, 1, 1}, .dynamic_shared_bytes = uint32_t(bytes)};
  EXPECT_THROW(run(kernel, config, out, uint32_t(bytes / 4)), Error);
  kernel.allow_shared(bytes);
  run(kernel, config, out, uint32_t(bytes / 4));
  const uint64_t words = uint64_t(bytes) / 4;
  EXPECT_EQ(out.read()[0], uint32_t(3 * words * (words - 1) / 2));
  EXPECT_THROW(kernel.allow_shared(bytes + 1), Error);
  EXPECT_EQ(kernel.max_blocks_per_sm(256, size_t(bytes)), 1);
}

TEST_F(LaunchTest, StreamsEventsAndLatency) {
  const auto loaded = module(R"(
extern "C" __global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
}
extern "C" __global__ void empty(int) {})");
  TW_SKIP_WITHOUT(loaded);
  const auto& device = machine().device;
  const cuda::OwnedStream stream(device);
  cuda::Event begin(device), end(device);
  const cuda::Kernel spin = loaded->kernel("spin"), empty = loaded->kernel("empty");
  begin.record(stream.get());
  launch(spin, {.stream = stream.get()}, (long long)(2'000'000));
  end.record(stream.get());
  end.synchronize();
  const float ms = end.ms_since(begin);
  EXPECT_GT(ms, 0.5f);  // 2 million cycles at no more than 4 GHz
  EXPECT_LT(ms, 100);
  // Host time beyond the driver's own call, with the context current already and without: best of ten batches.
  int value = 0;
  void* parameters[] = {&value};
  const auto us_per_launch = [&](const auto& one) {
    double best = INFINITY;
    for (int batch = 0; batch < 10; ++batch) {
      constexpr int kLaunches = 200;
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kLaunches; ++i) one();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count() / kLaunches);
      stream.synchronize();
    }
    return best;
  };
  const double switching = us_per_launch([&] { empty.launch({.stream = stream.get()}, parameters); });
  const cuda::CurrentContext current(*device);
  const double ours = us_per_launch([&] { empty.launch({.stream = stream.get()}, parameters); });
  cuda::FunctionHandle function = nullptr;
  cuda::ModuleHandle module_handle = nullptr;
  const cuda::DriverApi& api = machine().driver->api();
  const auto compiled = machine().nvrtc->compile({.text = "extern \"C\" __global__ void empty(int) {}",
                                                  .arch = device->properties().arch(),
                                                  .flags = cuda::compile_flags()});
  ASSERT_EQ(api.cuModuleLoadData(&module_handle, compiled.cubin.data()), 0);
  ASSERT_EQ(api.cuModuleGetFunction(&function, module_handle, "empty"), 0);
  const cuda::DriverLaunchConfig config = {{1, 1, 1}, {1, 1, 1}, 0, stream.get(), nullptr, 0};
  const double direct = us_per_launch([&] { api.cuLaunchKernelEx(&config, function, parameters, nullptr); });
  fmt::print(
      "  spin {:.3f} ms; us of host time per launch: {:.2f}, with a context to switch {:.2f}, the driver alone "
      "{:.2f}\n",
      ms, ours, switching, direct);
  EXPECT_LT(ours - direct, 2);
}

TEST_F(LaunchTest, LaunchesAreCapturedIntoGraphs) {
  const auto loaded = module("extern \"C\" __global__ void add(int* x, int n) { *x = *x * 2 + n; }");
  TW_SKIP_WITHOUT(loaded);
  const GraphCalls graphs(*machine().driver);
  const cuda::CurrentContext current(*machine().device);
  const cuda::OwnedStream stream(machine().device);
  const auto x = array(std::vector<int>{1});
  const cuda::Kernel add = loaded->kernel("add");
  ASSERT_EQ(graphs.begin_capture(stream.get(), 2 /* relaxed */), 0);
  launch(add, {.stream = stream.get()}, x, 3);
  launch(add, {.programmatic = true, .stream = stream.get()}, x, 4);
  void *graph = nullptr, *executable = nullptr;
  ASSERT_EQ(graphs.end_capture(stream.get(), &graph), 0);
  EXPECT_EQ(x.read()[0], 1);  // captured, not run
  ASSERT_EQ(graphs.instantiate(&executable, graph, 0), 0);
  ASSERT_EQ(graphs.launch(executable, stream.get()), 0);
  ASSERT_EQ(graphs.launch(executable, stream.get()), 0);
  stream.synchronize();
  EXPECT_EQ(x.read()[0], ((1 * 2 + 3) * 2 + 4) * 4 + 3 * 2 + 4);
}

TEST_F(LaunchTest, ProgrammaticLaunchesWaitForTheirInputs) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/grid.h>
using namespace tilewright::device;
// Each kernel of the chain doubles what the one before it left, after a long time in its last block.
extern "C" __global__ void k(u32* x, u32 first) {
  launch_next_grid();
  if (!first) wait_for_grid();
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  if (blockIdx.x == gridDim.x - 1) {
    const u64 begin = clock_cycles();
    while (clock_cycles() - begin < 200000) {}
  }
  x[i] = x[i] * 2 + 1;
})");
  TW_SKIP_WITHOUT(loaded);
  const cuda::Kernel kernel = loaded->kernel("k");
  const cuda::OwnedStream stream(machine().device);
  const auto x = array(std::vector<uint32_t>(64 * 128, 1));
  cuda::LaunchConfig config = {.grid = {64, 1, 1}, .block = {128, 1, 1}, .stream = stream.get()};
  for (uint32_t i = 0; i < 8; ++i) {
    config.programmatic = i != 0;
    launch(kernel, config, x, uint32_t(i == 0));
  }
  stream.synchronize();
  EXPECT_EQ(x.read(), std::vector<uint32_t>(64 * 128, 511));
}

TEST_F(LaunchTest, RegistersMoveBetweenWarpgroups) {
  cuda::CompileLog log;
  const auto loaded = module(R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/grid.h>
#include <tilewright/device/cuda/wgmma.h>
using namespace tilewright::device;
// 168 registers at launch; 40 in one warpgroup leave 232 in each of the two others.
extern "C" __global__ void __launch_bounds__(384, 1) k(const float* in, float* out, u32 rounds) {
  __shared__ float tile[128];
  if (threadIdx.x >= 256) {
    fewer_registers<40>();
    tile[threadIdx.x - 256] = in[threadIdx.x - 256];
    arrive_threads<1, 384>();
  } else {
    more_registers<232>();
    sync_threads<1, 384>();
    float x[160];
#pragma unroll
    for (u32 i = 0; i < 160; ++i) x[i] = tile[(threadIdx.x + i) % 128];
    for (u32 r = 0; r < rounds; ++r) {
      pin<160>(x);
#pragma unroll
      for (u32 i = 0; i < 160; ++i) x[i] = x[i] + x[(i + 1) % 160];
    }
    float sum = 0;
#pragma unroll
    for (u32 i = 0; i < 160; ++i) sum += x[i];
    out[threadIdx.x] = sum;
  }
})",
                             &log);
  for (const cuda::Advisory& advisory : log.advisories) ADD_FAILURE() << advisory.text;
  EXPECT_EQ(log.find("k")->spill_store_bytes, 0) << log.text;
  EXPECT_EQ(log.find("k")->num_registers, 168) << log.text;
  TW_SKIP_WITHOUT(loaded);
  std::vector<float> in(128);
  for (size_t i = 0; i < 128; ++i) in[i] = float(i % 5);
  const auto out = array<float>(256);
  run(loaded->kernel("k"), {.block = {384, 1, 1}}, array(in), out, 2u);
  const auto got = out.read();
  for (size_t t = 0; t < 256; ++t) {
    std::vector<float> x(160);
    for (size_t i = 0; i < 160; ++i) x[i] = in[(t + i) % 128];
    for (int r = 0; r < 2; ++r) {
      // In place, in order, as the kernel does: the last one sees the changed first.
      for (size_t i = 0; i < 160; ++i) x[i] = x[i] + x[(i + 1) % 160];
    }
    float sum = 0;
    for (const float v : x) sum += v;
    EXPECT_EQ(got[t], sum) << t;  // small integers: exact in any order
  }
}

// In a process of its own: a fault loses the context for good.
TEST_F(LaunchTest, FaultsAreErrors) {
  const auto loaded = module("extern \"C\" __global__ void k(int* x) { *x = 1; }");
  TW_SKIP_WITHOUT(loaded);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        try {
          const auto again = module("extern \"C\" __global__ void k(int* x) { *x = 1; }");
          run(again->kernel("k"), {}, cuda::DeviceAddress(0x10));
        } catch (const Error& error) {
          std::fprintf(stderr, "%s\n", error.what());
          std::_Exit(error.kind() == ErrorKind::internal ? 7 : 8);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(7), "running kernels failed: CUDA_ERROR_ILLEGAL_ADDRESS");
}

}  // namespace
}  // namespace tilewright::test
