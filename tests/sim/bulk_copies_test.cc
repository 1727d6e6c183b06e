// Bulk copies: what must be waited for and fenced, and what their arguments must be. What they move is tested by the
// tests of the GPU (tma_atoms_test.cc).
#include "sim/watched_text.h"

#include <tilewright/error.h>

namespace tilewright::test {
namespace {

using enum sim::Finding::Kind;

// Lines 5 and 6.
const std::string kInit = "if (t == 0) { mbarrier_init(8192, 1); fence_mbarrier_init(); }\nsync_block();\n";
const std::string kExpect = "if (t == 0) mbarrier_arrive_expect(8192, 256);\n";
const std::string kLoad = "if (t == 0) bulk_load(0, in, 256, 8192);\n";
const std::string kWait = "mbarrier_wait(8192, 0);\n";

TEST(SimBulkLoad, NeedsTheWait) {
  expect_clean({kInit + kExpect + kLoad + kWait + "out[t] = box[63 - t];"}, 64, [](uint32_t i) { return 63 - i; });
  expect_race({kInit + kExpect + kLoad + "out[t] = box[63 - t];"}, 8, 9);
  // A barrier of threads tells nothing about a copy.
  expect_race({kInit + kExpect + kLoad + "sync_block();\nout[t] = box[63 - t];\n" + kWait}, 8, 10);
  // One that waited tells the others.
  expect_clean({kInit + kExpect + kLoad + "if (t == 5) mbarrier_wait(8192, 0);\nsync_block();\nout[t] = box[t];"}, 64);
}

TEST(SimBulkLoad, WhatNobodyWaitsFor) {
  expect_found({kInit + kExpect + kLoad}, misuse, "the block ends before a bulk load into its shared memory has ended",
               8, "fair");
}

TEST(SimBulkLoad, IntoWhatOthersStillRead) {
  const std::string another = "if (t == 0) mbarrier_init(8200, 1);\n";
  const std::string first = another + kInit + kExpect + kLoad + kWait + "out[t] = box[t];\n";
  const std::string second =
      "if (t == 0) mbarrier_arrive_expect(8200, 256);\nif (t == 0) bulk_load(0, in + 64, 256, 8200);\n"
      "mbarrier_wait(8200, 0);\nout[64 + t] = box[t];";
  expect_clean({first + "sync_block();\n" + second}, 128);
  expect_race({first + "\n" + second}, 11, 14);
}

TEST(SimBulkLoad, TwoIntoOnePlace) {
  expect_race({kInit + "if (t == 0) mbarrier_arrive_expect(8192, 512);\n" + kLoad +
               "if (t == 0) bulk_load(128, in, 256, 8192);\n" + kWait},
              8, 9);
}

// What was written by ordinary stores before.
TEST(SimBulkLoad, OverOrdinaryStoresNeedsAFence) {
  const std::string end = kExpect + kLoad + kWait + "out[t] = box[t];";
  expect_clean({"box[t] = 7;\nfence_async_shared();\n" + kInit + end}, 64);
  expect_found(
      {"box[t] = 7;\n\n" + kInit + end}, race,
      "a copy for the mbarrier at byte 8192 of block 0 writes by the asynchronous proxy, thread 0 wrote by the "
      "generic one, and no fence_async_shared of the writer lies between",
      10);
}

TEST(SimBulkLoad, OfWhatTheKernelWrote) {
  const std::string start = kInit + "in[t] = 2 * t;\n",
                    end = "sync_block();\n" + kExpect + kLoad + kWait + "out[t] = box[t];";
  const auto twice = [](uint32_t i) { return 2 * i; };
  expect_clean({start + "fence_async_global();\n" + end}, 64, twice);
  expect_clean({start + "fence_async();\n" + end}, 64, twice);
  expect_found({start + "fence_async_shared();\n" + end}, race, "no fence_async_global of the writer lies between", 11);
}

TEST(SimBulkLoad, ABarrierThatTheProxyDoesNotKnow) {
  expect_found(
      {"if (t == 0) mbarrier_init(8192, 1);\nsync_block();\n" + kExpect + kLoad + kWait}, race,
      "names an mbarrier that the asynchronous proxy does not know: no fence_mbarrier_init of thread 0 lies behind "
      "its initialisation",
      8);
}

const std::string kWrite = "box[t] = t;\n", kFence = "fence_async_shared();\n", kSync = "sync_block();\n";
const std::string kStore = "if (t == 0) bulk_store(out, 0, 256);\n", kCommit = "if (t == 0) bulk_commit();\n";

TEST(SimBulkStore, NeedsFenceBarrierAndWait) {
  expect_clean({kWrite + kFence + kSync + kStore + kCommit + "bulk_wait<0>();"}, 64);
  const std::string missing =
      "a bulk store of thread 0 of block 0 reads by the asynchronous proxy, thread 0 wrote by the generic one, "
      "and no fence_async_shared of the writer lies between";
  expect_found({kWrite + kSync + kStore + kCommit + "bulk_wait<0>();"}, race, missing, 7);
  // Not by the thread that starts the store: by each that wrote.
  expect_found({kWrite + kSync + "if (t == 0) fence_async_shared();\n" + kStore + kCommit + "bulk_wait<0>();"}, race,
               "thread 1 wrote by the generic one, and no fence_async_shared of the writer lies between", 8);
  // Behind the store of the thread, before the barrier.
  expect_found({kFence + kWrite + kSync + kStore + kCommit + "bulk_wait<0>();"}, race, missing, 8);
  expect_race({kWrite + kFence + kStore + kCommit + "bulk_wait<0>();"}, 5, 7);
}

TEST(SimBulkStore, SharedMemoryIsFreeBehindTheWaitForReading) {
  const std::string start = kWrite + kFence + kSync + kStore + kCommit, reuse = "sync_block();\nbox[t] = 5;";
  expect_clean({start + "bulk_wait_read<0>();\n" + reuse}, 64);
  expect_race({start + "\n" + reuse + "\nbulk_wait<0>();"}, 8, 12);
  expect_race({start + "bulk_wait_read<1>();\n" + reuse + "\nbulk_wait<0>();"}, 8, 12);  // for an older group
}

TEST(SimBulkStore, GlobalMemoryIsWrittenBehindTheWait) {
  const std::string start = kWrite + kFence + kSync + kStore + kCommit,
                    read = "sync_block();\nout[64 + t] = out[63 - t];";
  expect_clean({start + "bulk_wait<0>();\n" + read}, 64);
  expect_race({start + "bulk_wait_read<0>();\n" + read}, 8, 12);
}

TEST(SimBulkStore, WhatNobodyWaitsFor) {
  const std::string start = kWrite + kFence + kSync + kStore;
  const std::string text = "the block ends before anybody waited for a bulk store to have read its shared memory";
  expect_found({start + kCommit}, misuse, text, 8);
  expect_found({start + "bulk_wait<0>();"}, misuse, text, 8);  // of no group
  expect_clean({start + kCommit + "bulk_wait_read<0>();"}, 64);
}

// PTX ISA, "Morally Strong Operations": atomics of one proxy need no order among themselves, those of two do. Lines 5
// to 7 are the start.
TEST(SimBulkStore, AtomicsOfTwoProxies) {
  const std::string start = kWrite + kFence + kSync;
  const std::string end = "if (t < 2) bulk_commit();\nbulk_wait<0>();\n";
  const std::string reduce = "if (t == 0) bulk_reduce_add_s32(out, 0, 256);\n", count = "reduce_add(out + t, 1u);\n";
  expect_clean({start + "if (t < 2) bulk_reduce_add_s32(out, 0, 256);\n" + end}, 64,
               [](uint32_t i) { return 0xcdcdcdcd + 2 * i; });
  expect_clean({start + count + count}, 64, [](uint32_t) { return 0xcdcdcdcd + 2; });
  expect_race({start + reduce + count + end}, 8, 9);
  expect_clean({start + reduce + end + kSync + count}, 64, [](uint32_t i) { return 0xcdcdcdcd + i + 1; });
  expect_clean({start + count + "fence_async_global();\n" + kSync + reduce + end}, 64,
               [](uint32_t i) { return 0xcdcdcdcd + i + 1; });
  expect_found({start + count + kSync + reduce + end}, race, "no fence_async_global of the writer lies between", 10);
}

// As late as it may: the values show what was overwritten too early.
TEST(SimBulkStore, ReadsWhenItTakesPlace) {
  const WatchedText kernel{kWrite + kFence + kSync + kStore + kCommit +
                           "sync_block();\nbox[t] = 900;\nsync_block();\nbulk_wait<0>();"};
  EXPECT_EQ(kernel.run("fair+late").out[3], 900u);
  EXPECT_EQ(kernel.run("fair+early").out[3], 3u);
}

// ---- boxes of tensors: [16, 64] of u32, 0, 1, 2, ...; a box has 4 rows of 8 ----

const std::string kBox = "if (t == 0) mbarrier_arrive_expect(8192, 128);\nif (t == 0) ";

TEST(SimTensorCopy, LoadsABox) {
  const std::string end = "\nmbarrier_wait(8192, 0);\nif (t < 32) out[t] = box[t];";
  expect_clean({kInit + kBox + "tma_load_2d(0, &map, 8192, 4, 3);" + end}, 32,
               [](uint32_t i) { return (3 + i / 8) * 64 + 4 + i % 8; });
  // Behind both edges: zeros, which count as bytes too.
  expect_clean({kInit + kBox + "tma_load_2d(0, &map, 8192, 60, 14);" + end}, 32,
               [](uint32_t i) { return i % 8 < 4 && i / 8 < 2 ? (14 + i / 8) * 64 + 60 + i % 8 : 0; });
  // The first 128 bytes of a tile of span 32: pieces of 16 bytes change places in every second row of 128 bytes.
  WatchedText swizzled{kInit +
                       "if (t == 0) mbarrier_arrive_expect(8192, 256);\nif (t == 0) tma_load_2d(0, &map, 8192, 0, 0);"
                       "\nmbarrier_wait(8192, 0);\nout[t] = box[t];"};
  swizzled.map.box = {8, 8};
  swizzled.map.swizzle = cuda::TensorMapSwizzle::span32;
  expect_clean(swizzled, 64, [](uint32_t i) { return i / 8 * 64 + (i < 32 ? i % 8 : (i % 8 + 4) % 8); });
}

TEST(SimTensorCopy, Misuse) {
  const auto load = [](const std::string& call) { return WatchedText{kInit + kBox + call}; };
  expect_found(load("tma_load_2d(64, &map, 8192, 0, 0);"), misuse,
               "thread 0 copies in bulk at address 64 of shared memory, no multiple of 128", 8);
  WatchedText swizzled = load("tma_load_2d(128, &map, 8192, 0, 0);");
  swizzled.map.swizzle = cuda::TensorMapSwizzle::span32;
  expect_found(swizzled, misuse, "at address 128 of shared memory, no multiple of 256", 8);
  expect_found(load("tma_load_2d(0, &map, 8192, 3, 0);"), misuse,
               "a bulk copy at the innermost coordinate 3, 12 bytes, which is no multiple of 16 bytes", 8);
  expect_found(load("tma_load_3d(0, &map, 8192, 0, 0, 0);"), misuse, "a bulk copy of 3 dimensions by a tensor map of 2",
               8);
  expect_found(load("tma_load_2d(0, reinterpret_cast<TensorMap*>(in), 8192, 0, 0);"), misuse,
               "a bulk copy by memory that holds no tensor map", 8);
  expect_found(load("tma_load_2d(16384 - 64, &map, 8192, 0, 0);"), out_of_bounds,
               "thread 0 copies 128 bytes at address 16320 of shared memory, which has 16384", 8);
  expect_found({"if (t == 0) tma_store_2d(&map, 0, 0, -1);"}, misuse, "a bulk store at the negative coordinate -1", 5);
  expect_found({"if (t == 0) bulk_store(out, 0, 24);"}, misuse, "multiples of 16 are possible", 5);
  expect_found({"if (t == 0) bulk_store(out + 1, 0, 16);"}, misuse, "multiples of 16 are possible", 5);
  expect_found(load("tma_load_multicast_2d(0, &map, 8192, u16(3), 0, 0);"), misuse,
               "thread 0 loads for the blocks 0x3 of its cluster, which has 1", 8);
}

TEST(SimTensorCopy, MapsThatCannotBe) {
  cuda::TensorMapSpec spec = WatchedText{}.map;
  std::vector<uint32_t> tensor(1024);
  spec.type = cuda::TensorMapType::tf32;
  EXPECT_THROW(sim::encode_tensor_map(spec, tensor.data()), Error);
  spec.type = cuda::TensorMapType::u32;
  spec.box = {6, 4};
  EXPECT_THROW(sim::encode_tensor_map(spec, tensor.data()), Error);
}

}  // namespace
}  // namespace tilewright::test
