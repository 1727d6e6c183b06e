// Clusters: who a block is, peers' shared memory, barriers and copies for several blocks.
#include "gpu/gpu_test.h"
#include "runtime/cuda/tensor_map.h"

#include <fmt/format.h>

namespace tilewright::test {
namespace {

const std::string kHead = R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/cluster.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/mbarrier.h>
#include <tilewright/device/cuda/memory.h>
#include <tilewright/device/cuda/tma.h>
using namespace tilewright::device;
)";

class ClusterTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (machine().device && machine().device->properties().capability_major < 9) {
      GTEST_SKIP() << machine().device->properties().arch() << " has no clusters";
    }
  }
};

TEST_F(ClusterTest, RanksOfBlocks) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32* out) {
  u32* to = out + 9 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  to[0] = cluster_rank(); to[1] = cluster_size();
  to[2] = cluster_rank_x(); to[3] = cluster_rank_y(); to[4] = cluster_rank_z();
  to[5] = cluster_id_x(); to[6] = cluster_id_y(); to[7] = cluster_id_z(); to[8] = num_clusters_x();
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(9 * 6 * 4 * 2);
  run(loaded->kernel("k"), {.grid = {6, 4, 2}, .cluster = {3, 2, 1}}, out);
  const auto got = out.read();
  for (uint32_t z = 0; z < 2; ++z) {
    for (uint32_t y = 0; y < 4; ++y) {
      for (uint32_t x = 0; x < 6; ++x) {
        const uint32_t* block = &got[9 * (x + 6 * (y + 4 * z))];
        EXPECT_EQ(std::vector<uint32_t>(block, block + 9),
                  (std::vector<uint32_t>{x % 3 + 3 * (y % 2), 6, x % 3, y % 2, 0, x / 3, y / 2, z, 2}));
      }
    }
  }
}

TEST_F(ClusterTest, SharedMemoryOfPeers) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32* out) {
  alignas(16) __shared__ u32 tile[128];
  alignas(16) __shared__ u32 copied[128];
  __shared__ float sum;
  __shared__ u64 cells[2];
  const u32 t = threadIdx.x, rank = cluster_rank(), size = cluster_size(), next = (rank + 1) % size;
  const u32 landed = shared_address(cells), told = landed + 8;
  tile[t] = rank * 1000 + t;
  copied[t] = 0;
  if (t == 0) {
    sum = 0;
    mbarrier_init(landed, 1);
    mbarrier_init(told, 128 * size);
    fence_mbarrier_init();
    mbarrier_arrive_expect(landed, 64 * 4 + 16 * 16);
  }
  fence_async_shared();
  sync_cluster();
  u32 r[4];
  // Loads from the next block.
  load_cluster_v1(r, map_shared(shared_address(tile) + 4 * t, next));
  out[(rank * 6 + 0) * 128 + t] = r[0];
  if (t < 32) {
    load_cluster_v4(r, map_shared(shared_address(tile) + 16 * t, next));
    store_global_v4(out + (rank * 6 + 1) * 128 + 4 * t, r);
  }
  // Sums at block 0.
  add_cluster(map_shared(shared_address(&sum), 0), 1.0f);
  // Stores that are told to a barrier there: words 0..63 one by one, 64..127 by four.
  const u32 to = map_shared(shared_address(copied), next), barrier = map_shared(landed, next);
  const u32 x[4] = {rank * 7 + 4 * t, rank * 7 + 4 * t + 1, rank * 7 + 4 * t + 2, rank * 7 + 4 * t + 3};
  if (t < 64) store_async_v1(to + 4 * t, x, barrier);
  if (t < 16) store_async_v4(to + 256 + 16 * t, x, barrier);
  mbarrier_wait_cluster(landed, 0);
  out[(rank * 6 + 2) * 128 + t] = copied[t];
  // Every thread of every block arrives at each block's barrier.
  for (u32 peer = 0; peer < size; ++peer) mbarrier_arrive_cluster(map_shared(told, peer));
  mbarrier_wait_cluster(told, 0);
  sync_cluster();
  // Ordinary stores to the next block, seen behind the cluster's barrier.
  store_cluster_v1(map_shared(shared_address(tile) + 4 * t, next), x);
  cluster_arrive();
  cluster_wait();
  out[(rank * 6 + 3) * 128 + t] = tile[t];
  sync_cluster();
  if (t < 32) store_cluster_v4(map_shared(shared_address(tile) + 16 * t, next), x);
  sync_cluster();
  out[(rank * 6 + 4) * 128 + t] = tile[t];
  // A bulk copy between blocks.
  fence_async_shared();
  sync_cluster();
  if (t == 0) {
    mbarrier_arrive_expect(landed, 512);
    bulk_copy_cluster(map_shared(shared_address(copied), next), shared_address(tile), 512, map_shared(landed, next));
  }
  mbarrier_wait_cluster(landed, 1);
  out[(rank * 6 + 5) * 128 + t] = copied[t];
  if (rank == 0 && t == 0) out[size * 6 * 128] = bits_of(sum);
  sync_cluster();
})");
  TW_SKIP_WITHOUT(loaded);
  for (const uint32_t size : {2u, 4u, 8u}) {
    const auto out = array<uint32_t>(size * 6 * 128 + 1);
    run(loaded->kernel("k"), {.grid = {size, 1, 1}, .block = {128, 1, 1}, .cluster = {size, 1, 1}}, out);
    const auto got = out.read();
    float sum;
    std::memcpy(&sum, &got[size * 6 * 128], 4);
    EXPECT_EQ(sum, float(128 * size));
    for (uint32_t rank = 0; rank < size && !HasFailure(); ++rank) {
      const uint32_t next = (rank + 1) % size, previous = (rank + size - 1) % size,
                     before = (previous + size - 1) % size;
      for (uint32_t t = 0; t < 128; ++t) {
        const auto at = [&](uint32_t part) { return got[(rank * 6 + part) * 128 + t]; };
        EXPECT_EQ(at(0), next * 1000 + t);
        EXPECT_EQ(at(1), next * 1000 + t);
        EXPECT_EQ(at(2), previous * 7 + (t < 64 ? 4 * t : t - 64)) << t;
        EXPECT_EQ(at(3), previous * 7 + 4 * t);
        EXPECT_EQ(at(4), previous * 7 + t);
        EXPECT_EQ(at(5), before * 7 + t);
      }
    }
  }
}

// Messages by ordinary stores, told by an arrival of the cluster's scope.
TEST_F(ClusterTest, MessagesToPeers) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32 rounds, u32* out) {
  alignas(16) __shared__ u32 box[256];
  __shared__ u64 cells[2];
  const u32 t = threadIdx.x, rank = cluster_rank(), size = cluster_size(), next = (rank + 1) % size;
  const u32 full = shared_address(cells), empty = full + 8;
  if (t == 0) {
    mbarrier_init(full, 128);
    mbarrier_init(empty, 128);
    fence_mbarrier_init();
  }
  cluster_arrive_relaxed();
  cluster_wait();
  u32 sum = 0;
  for (u32 r = 0; r < rounds; ++r) {
    // The one before has read what it was sent in the last round.
    mbarrier_wait(empty, (r & 1) ^ 1);
    const u32 x = rank * 1000 + r * 7 + t;
    store_cluster_v1(map_shared(shared_address(box) + 4 * (t ^ 33), next), &x);
    mbarrier_release_cluster(map_shared(full, next));
    mbarrier_wait_cluster(full, r & 1);
    u32 y;
    load_shared_v1(&y, shared_address(box) + 4 * t);
    sum = sum * 3 + y;
    mbarrier_arrive_cluster(map_shared(empty, (rank + size - 1) % size));
  }
  out[rank * 128 + t] = sum;
  sync_cluster();
})");
  TW_SKIP_WITHOUT(loaded);
  for (const uint32_t size : {2u, 3u, 8u}) {
    const uint32_t rounds = 50;
    const auto out = array<uint32_t>(size * 128);
    run(loaded->kernel("k"), {.grid = {size, 1, 1}, .block = {128, 1, 1}, .cluster = {size, 1, 1}}, rounds, out);
    const auto got = out.read();
    for (uint32_t i = 0; i < size * 128; ++i) {
      uint32_t want = 0;
      const uint32_t from = (i / 128 + size - 1) % size;
      for (uint32_t r = 0; r < rounds; ++r) want = want * 3 + from * 1000 + r * 7 + (i % 128 ^ 33);
      EXPECT_EQ(got[i], want) << size << " " << i;
    }
  }
}

TEST_F(ClusterTest, MulticastLoads) {
  std::string text = kHead;
  for (int rank = 1; rank <= 5; ++rank) {
    std::string zeros;
    for (int d = 1; d < rank; ++d) zeros += ", 0";
    for (const bool policy : {false, true}) {
      text += fmt::format(R"(
// Block 0 loads for the blocks of `mask`; each of them expects the whole box.
extern "C" __global__ void k{0}{1}(const __grid_constant__ TensorMap map, u32 mask, u32 words, u32* out) {{
  alignas(128) __shared__ u32 tile[256];
  __shared__ u64 cell;
  const u32 b = shared_address(&cell), me = cluster_rank();
  for (u32 i = threadIdx.x; i < 256; i += 32) tile[i] = 7;
  if (threadIdx.x == 0) {{
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    if (mask >> me & 1) mbarrier_arrive_expect(b, words * 4);
  }}
  fence_async_shared();
  sync_cluster();
  if (me == 0 && threadIdx.x == 0) tma_load_multicast_{0}d(shared_address(tile), &map, b, u16(mask), 4{2}{3});
  if (mask >> me & 1) mbarrier_wait(b, 0);
  sync_cluster();
  for (u32 i = threadIdx.x; i < 256; i += 32) out[me * 256 + i] = tile[i];
}}
)",
                          rank, policy ? "p" : "", zeros, policy ? ", policy_evict_last()" : "");
    }
  }
  text += R"(
extern "C" __global__ void row(const u32* in, u32 mask, u32 words, u32* out) {
  alignas(128) __shared__ u32 tile[256];
  __shared__ u64 cell;
  const u32 b = shared_address(&cell), me = cluster_rank();
  for (u32 i = threadIdx.x; i < 256; i += 32) tile[i] = 7;
  if (threadIdx.x == 0) {
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    if (mask >> me & 1) mbarrier_arrive_expect(b, words * 4);
  }
  fence_async_shared();
  sync_cluster();
  if (me == 0 && threadIdx.x == 0) bulk_load_multicast(shared_address(tile), in + 4, words * 4, b, u16(mask));
  if (mask >> me & 1) mbarrier_wait(b, 0);
  sync_cluster();
  for (u32 i = threadIdx.x; i < 256; i += 32) out[me * 256 + i] = tile[i];
}
)";
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  std::vector<uint32_t> tensor(256);
  for (uint32_t i = 0; i < 256; ++i) tensor[i] = 100 + i;
  const auto from = array(tensor);
  const auto check = [&](const std::vector<uint32_t>& got, uint32_t mask, const std::string& name) {
    for (uint32_t block = 0; block < 4; ++block) {
      for (uint32_t i = 0; i < 256; ++i) {
        EXPECT_EQ(got[block * 256 + i], mask >> block & 1 && i < 16 ? 104 + i : 7) << name << " " << block << " " << i;
      }
    }
  };
  for (const uint32_t mask : {0xfu, 0xau, 0x1u}) {
    for (int rank = 1; rank <= 5 && !HasFailure(); ++rank) {
      for (const char* suffix : {"", "p"}) {
        cuda::TensorMapSpec spec{.type = cuda::TensorMapType::u32, .extents = {32}, .strides_bytes = {}, .box = {16}};
        for (int d = 1; d < rank; ++d) {
          spec.extents.push_back(1);
          spec.strides_bytes.push_back(128);
          spec.box.push_back(1);
        }
        const auto out = array<uint32_t>(1024);
        run(loaded->kernel(fmt::format("k{}{}", rank, suffix)),
            {.grid = {4, 1, 1}, .block = {32, 1, 1}, .cluster = {4, 1, 1}},
            cuda::encode_tensor_map(*machine().device, spec, from.address()), mask, 16u, out);
        check(out.read(), mask, fmt::format("rank {}{}", rank, suffix));
      }
    }
    const auto out = array<uint32_t>(1024);
    run(loaded->kernel("row"), {.grid = {4, 1, 1}, .block = {32, 1, 1}, .cluster = {4, 1, 1}}, from, mask, 16u, out);
    check(out.read(), mask, "row");
  }
}

TEST_F(ClusterTest, SixteenBlocksMustBeAllowed) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32* out) {
  __shared__ u32 x;
  x = cluster_rank();
  sync_cluster();
  u32 peer[1];
  load_cluster_v1(peer, map_shared(shared_address(&x), 15 - cluster_rank()));
  out[cluster_rank()] = peer[0];
  sync_cluster();
})");
  TW_SKIP_WITHOUT(loaded);
  Kernel kernel = loaded->kernel("k");
  const auto out = array<uint32_t>(16);
  const cuda::LaunchConfig config = {.grid = {16, 1, 1}, .cluster = {16, 1, 1}};
  EXPECT_THROW(run(kernel, config, out), Error);
  kernel.allow_large_clusters();
  EXPECT_GE(kernel.max_active_clusters(config), 1);
  run(kernel, config, out);
  const auto got = out.read();
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(got[i], 15 - i);
  fmt::print("  {} clusters of 16 and {} of 2 fit\n", kernel.max_active_clusters(config),
             kernel.max_active_clusters({.grid = {132, 1, 1}, .cluster = {2, 1, 1}}));
}

}  // namespace
}  // namespace tilewright::test
