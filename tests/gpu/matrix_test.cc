// Matrices between shared memory and registers.
#include "gpu/gpu_test.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

namespace tilewright::test {
namespace {

using MatrixTest = GpuTest;

// Four matrices of 8 x 8 elements; element e of matrix m at row r, column c has the value 64 * m + 8 * r + c.
TEST_F(MatrixTest, MatrixLoadsFollowTheManualsFigure) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/matrix.h>
#include <tilewright/device/cuda/warp.h>
using namespace tilewright::device;
extern "C" __global__ void k(u32* out) {
  alignas(16) __shared__ u16 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 32) tile[i] = u16(i);
  sync_block();
  const u32 lane = lane_id(), row = shared_address(tile) + 16 * lane;
  u32* to = out + 15 * lane;
  u32 r[4];
  load_matrix_x1(r, row); to[0] = r[0];
  load_matrix_x2(r, row); to[1] = r[0]; to[2] = r[1];
  load_matrix_x4(r, row); for (u32 i = 0; i < 4; ++i) to[3 + i] = r[i];
  load_matrix_x1_transposed(r, row); to[7] = r[0];
  load_matrix_x2_transposed(r, row); to[8] = r[0]; to[9] = r[1];
  load_matrix_x4_transposed(r, row); for (u32 i = 0; i < 4; ++i) to[10 + i] = r[i];
  load_matrix_x1(r, row);
  to[14] = transpose_matrix(r[0]);
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(15 * 32);
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, out);
  const auto got = out.read();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const auto pair = [&](uint32_t matrix, bool transposed) {
      const uint32_t group = lane / 4, first = lane % 4 * 2;
      const uint32_t low = transposed ? first * 8 + group : group * 8 + first;
      const uint32_t high = transposed ? (first + 1) * 8 + group : group * 8 + first + 1;
      return (64 * matrix + low) | (64 * matrix + high) << 16;
    };
    const uint32_t matrices[] = {0, 0, 1, 0, 1, 2, 3};
    for (uint32_t i = 0; i < 7; ++i) {
      EXPECT_EQ(got[15 * lane + i], pair(matrices[i], false)) << lane << " " << i;
      EXPECT_EQ(got[15 * lane + 7 + i], pair(matrices[i], true)) << lane << " " << i;
    }
    EXPECT_EQ(got[15 * lane + 14], pair(0, true)) << lane;
  }
}

TEST_F(MatrixTest, MatrixStoresAreTheInverse) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/matrix.h>
#include <tilewright/device/cuda/warp.h>
using namespace tilewright::device;
__device__ void save(u16* tile, u32* out, u32 which) {
  sync_block();
  for (u32 i = threadIdx.x; i < 256; i += 32) {
    out[which * 256 + i] = tile[i];
    tile[i] = 0xeeee;
  }
  sync_block();
}
extern "C" __global__ void k(u32* out) {
  alignas(16) __shared__ u16 tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 32) tile[i] = 0xeeee;
  sync_block();
  const u32 lane = lane_id(), row = shared_address(tile) + 16 * lane;
  u32 r[4];  // element pairs of lane and register
  for (u32 i = 0; i < 4; ++i) r[i] = pack16(u16(i * 64 + 2 * lane), u16(i * 64 + 2 * lane + 1));
  store_matrix_x1(row, r); save(tile, out, 0);
  store_matrix_x2(row, r); save(tile, out, 1);
  store_matrix_x4(row, r); save(tile, out, 2);
  store_matrix_x1_transposed(row, r); save(tile, out, 3);
  store_matrix_x2_transposed(row, r); save(tile, out, 4);
  store_matrix_x4_transposed(row, r); save(tile, out, 5);
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(6 * 256);
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, out);
  const auto got = out.read();
  for (uint32_t which = 0; which < 6; ++which) {
    const uint32_t matrices = 1u << which % 3;
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t matrix = i / 64, row = i / 8 % 8, column = i % 8;
      const uint32_t line = which < 3 ? row : column, place = which < 3 ? column : row;
      // Lane line * 4 + place / 2 holds it, in the half place % 2.
      const uint32_t want = matrix < matrices ? matrix * 64 + 2 * (line * 4 + place / 2) + place % 2 : 0xeeee;
      EXPECT_EQ(got[which * 256 + i], want) << which << " " << i;
    }
  }
}

}  // namespace
}  // namespace tilewright::test
