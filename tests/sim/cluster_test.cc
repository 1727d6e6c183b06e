// Clusters: what the simulator finds of blocks that reach each other's shared memory, by kernels with one mistake each.
#include "sim/watched_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::test {
namespace {

using enum sim::Finding::Kind;

// Two blocks of a warp each, in one cluster. `me` and `other` are the ranks; line 1 of the body is line 7 of the text.
WatchedText pair(const std::string& body) {
  WatchedText out;
  out.body =
      "const u32 me = cluster_rank(), other = 1 - me;\nconst u32 mine = 4 * t, theirs = map_shared(mine, other);\n" +
      body;
  out.threads = 32;
  out.blocks = out.cluster = 2;
  return out;
}

// Each thread writes a word of its own block's and reads that of the other one.
WatchedText exchange(const std::string& between, const std::string& behind) {
  return pair("const u32 x = 100 * me + t;\nstore_shared_v1(mine, &x);\n" + between +
              "\nu32 y;\nload_cluster_v1(&y, theirs);\nout[32 * me + t] = y;\n" + behind);
}
uint32_t of_other_block(uint32_t i) { return 100 * (1 - i / 32) + i % 32; }

TEST(SimCluster, ReadsOfPeersAreOrderedByTheBarrierOfTheCluster) {
  expect_clean(exchange("sync_cluster();", "sync_cluster();"), 64, of_other_block);
  expect_clean(exchange("cluster_arrive(); cluster_wait();", "cluster_arrive(); cluster_wait();"), 64, of_other_block);
  // A fence stands for the release of the arrival.
  for (const char* fence : {"fence_cluster", "fence_gpu", "fence_system"}) {
    expect_clean(exchange(fence + std::string("(); cluster_arrive_relaxed(); cluster_wait();"), "sync_cluster();"), 64,
                 of_other_block);
  }
  expect_race(exchange("cluster_arrive_relaxed(); cluster_wait();", "sync_cluster();"), 8, 11);
  // A barrier of the block orders threads of the block.
  WatchedText::for_all([](const std::string& how) {
    const Outcome outcome = exchange("sync_block();", "sync_cluster();").run(how).outcome;
    ASSERT_FALSE(outcome.findings.empty()) << how;
    EXPECT_TRUE(outcome.findings[0].kind == race || outcome.findings[0].kind == uninitialised) << how;
  });
}

TEST(SimCluster, WritesToPeers) {
  const auto kernel = [](const std::string& between) {
    return pair("const u32 x = 100 * me + t;\nstore_cluster_v1(theirs, &x);\n" + between +
                "\nu32 y;\nload_shared_v1(&y, mine);\nout[32 * me + t] = y;");
  };
  // The block that is written to must have begun, which here only the barrier says on a GPU.
  expect_clean(kernel("sync_cluster();"), 64, of_other_block);
  expect_race(kernel("cluster_arrive_relaxed(); cluster_wait();"), 8, 11);
  expect_clean(pair("const u32 zero = 0;\nif (me == 0) store_shared_v1(mine, &zero);\nsync_cluster();\n"
                    "add_cluster(map_shared(mine, 0), 1.5f);\nsync_cluster();\n"
                    "u32 y;\nload_cluster_v1(&y, map_shared(mine, 0));\nout[32 * me + t] = y;\nsync_cluster();"),
               64, [](uint32_t) { return 0x40400000u; });  // 3
}

TEST(SimCluster, BlocksThatEndWhileOthersReadThem) {
  const auto ends = [](const std::string& behind) {
    const WatchedText kernel = pair(
        "const u32 x = t;\nstore_shared_v1(mine, &x);\nsync_cluster();\nif (me == 0) {\n"
        "  u32 y;\n  load_cluster_v1(&y, theirs);\n  out[t] = y;\n}\n" +
        behind);
    return kernel;
  };
  expect_clean(ends("sync_cluster();"), 32);
  // Whether the other block ended before, or as it happened after.
  WatchedText::for_all([&](const std::string& how) {
    const Outcome outcome = ends("").run(how).outcome;
    ASSERT_FALSE(outcome.findings.empty()) << how;
    const std::string& text = outcome.findings[0].text;
    EXPECT_TRUE(text.find("of block 1, which has ended") != std::string::npos ||
                text.find("of block 1, which ends, and nothing orders the two") != std::string::npos)
        << how << " " << text;
    EXPECT_EQ(outcome.lines[0], 12) << how;
  });
  // A relaxed arrival says nothing of what came before.
  WatchedText::for_all([&](const std::string& how) {
    const Outcome outcome = ends("cluster_arrive_relaxed(); cluster_wait();").run(how).outcome;
    ASSERT_EQ(outcome.findings.size(), 1u) << how;
    EXPECT_NE(outcome.findings[0].text.find("which ends, and nothing orders the two"), std::string::npos) << how;
  });
  // One thread of the block that stays is enough.
  expect_clean(
      pair("const u32 x = t;\nif (t == 0) {\n  mbarrier_init(1024, 32);\n  fence_mbarrier_init();\n}\n"
           "store_shared_v1(mine, &x);\nsync_cluster();\nif (me == 0) {\n  u32 y;\n"
           "  load_cluster_v1(&y, theirs);\n  out[t] = y;\n"
           "  mbarrier_arrive_cluster(map_shared(1024, 1));\n}\nif (me == 1 && t == 5) mbarrier_wait(1024, 0);"),
      32);
}

TEST(SimCluster, TheBarrierOfTheCluster) {
  expect_found(pair("cluster_arrive();\ncluster_arrive();\ncluster_wait();"), misuse,
               "arrives at the barrier of the cluster and has not waited since it last arrived", 8);
  expect_found(pair("cluster_wait();"), misuse, "waits at the barrier of the cluster and has not arrived", 7);
  expect_found(pair("if (t == 3) cluster_arrive();\nelse cluster_wait();\nif (t == 3) cluster_wait();"), misuse,
               "come to different operations", 8, "fair");
  expect_found(pair("if (t % 2)\n  cluster_arrive();\nelse\n  cluster_arrive_relaxed();\ncluster_wait();"), misuse,
               "in different forms", 8, "fair");
  // Who has ended is not waited for.
  expect_clean(pair("if (me == 1) return;\nsync_cluster();\nout[t] = t;"), 32);
  expect_deadlock(pair("if (me == 0) sync_cluster();\nelse cluster_arrive();\n"
                       "if (me == 1) {\n  if (t == 0) { mbarrier_init(64, 1); fence_mbarrier_init(); }\n"
                       "  __syncwarp();\n  mbarrier_wait(64, 0);\n}\nelse sync_cluster();"),
                  {{"threads 0-31 of block 0 wait at the barrier of the cluster, to which 32 of 64 threads came", 14},
                   {"threads 0-31 of block 1 wait for phase 0 of the mbarrier at byte 64 of shared memory of block 1: "
                    "0 of 1 arrivals came, 0 bytes are to come",
                    12}},
                  "fair");
}

TEST(SimCluster, AddressesOfOtherBlocks) {
  expect_found(pair("map_shared(mine, 2);"), misuse, "maps an address to block 2 of its cluster, which has 2", 7);
  expect_found(pair("u32 y;\nload_shared_v1(&y, theirs);"), misuse, "uses an address of the cluster's window, of block",
               8);
  expect_found(pair("u32 y;\nload_cluster_v1(&y, map_shared(65536 + mine, other));"), out_of_bounds,
               "of shared memory, which has 16384", 8);
  expect_found(pair("u32 y;\nload_cluster_v1(&y, theirs + 0x2000000);"), out_of_bounds, "that no map_shared", 8,
               "fair");
  const WatchedText unwritten =
      pair("sync_cluster();\nu32 y;\nload_cluster_v1(&y, theirs);\nout[32 * me + t] = y;\nsync_cluster();");
  expect_found(unwritten, uninitialised, "shared memory that nobody wrote", 9);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(unwritten.run("fair").out[i], 0xffffffffu) << i;
  // A mapped address of one's own block is one of the cluster's.
  expect_clean(pair("const u32 x = t;\nstore_shared_v1(mine, &x);\nu32 y;\nload_cluster_v1(&y, map_shared(mine, me));\n"
                    "out[32 * me + t] = y;"),
               64, [](uint32_t i) { return i % 32; });
}

// Thread 0 of both blocks makes an mbarrier at byte 1024 of so many arrivals.
WatchedText with_barrier(int arrivals, const std::string& body, const std::string& init = "fence_mbarrier_init();",
                         const std::string& sync = "sync_cluster();") {
  return pair("const u32 bar = 1024, far = map_shared(bar, other);\nif (t == 0) {\n  mbarrier_init(bar, " +
              std::to_string(arrivals) + ");\n  " + init + "\n}\n" + sync + "\n" + body);
}

TEST(SimCluster, ArrivalsAtBarriersOfOtherBlocks) {
  const std::string arrive = "mbarrier_arrive_cluster(far);\n", wait = "mbarrier_wait_cluster(bar, 0);\n",
                    end = "out[32 * me + t] = t;\nsync_cluster();";
  const auto lane = [](uint32_t i) { return i % 32; };
  expect_clean(with_barrier(32, arrive + wait + end), 64, lane);
  expect_clean(with_barrier(64, arrive + "mbarrier_arrive(bar);\n" + wait + end), 64, lane);
  expect_deadlock(
      with_barrier(33, arrive + wait + end),
      {{"threads 0-31 of block 0 wait for phase 0 of the mbarrier at byte 1024 of shared memory of block 0: "
        "32 of 33 arrivals came, 0 bytes are to come",
        14},
       {"threads 0-31 of block 1 wait for phase 0 of the mbarrier at byte 1024 of shared memory of block 1: "
        "32 of 33 arrivals came, 0 bytes are to come",
        14}});
  expect_found(with_barrier(32, "if (me == 0) mbarrier_arrive_cluster(map_shared(64, 1));\n" + end), misuse,
               "an mbarrier at byte 64 of shared memory of block 1, where none was initialised", 13);
}

TEST(SimCluster, InitialisationOfBarriersIsKnownBehindItsFence) {
  const std::string relaxed = "cluster_arrive_relaxed(); cluster_wait();";
  const std::string use = "mbarrier_arrive_cluster(far);\nmbarrier_wait_cluster(bar, 0);\nsync_cluster();";
  expect_clean(with_barrier(32, use, "fence_mbarrier_init();", relaxed));
  WatchedText::for_all([&](const std::string& how) {
    for (const WatchedText& wrong :
         {with_barrier(32, use, "", relaxed), with_barrier(32, use, "fence_async_shared();", relaxed)}) {
      const Outcome outcome = wrong.run(how).outcome;
      ASSERT_FALSE(outcome.findings.empty()) << how;
      EXPECT_EQ(outcome.findings[0].kind, race) << how;
      EXPECT_NE(outcome.findings[0].text.find("initialises, and nothing orders the two"), std::string::npos)
          << outcome.findings[0].text;
    }
  });
}

// Block 0 writes to block 1, arrives there and block 1 reads.
TEST(SimCluster, WhatArrivalsHandOn) {
  const auto message = [](const std::string& arrive, const std::string& wait) {
    return with_barrier(32, "if (me == 0) {\n  const u32 x = t;\n  store_cluster_v1(theirs, &x);\n  " + arrive +
                                "(far);\n} else {\n  u32 y;\n  " + wait +
                                "(bar, 0);\n  load_shared_v1(&y, mine);\n  out[t] = y;\n}\nsync_cluster();");
  };
  expect_clean(message("mbarrier_release_cluster", "mbarrier_wait_cluster"), 32);
  // Without a scope both are of the block alone.
  expect_race(message("mbarrier_arrive_cluster", "mbarrier_wait_cluster"), 15, 20);
  expect_race(message("mbarrier_release_cluster", "mbarrier_wait"), 15, 20);
  // That reads have ended needs no more.
  const auto frees = [](const std::string& arrive) {
    return with_barrier(32,
                        "const u32 x = t, z = 7;\nif (me == 1) store_shared_v1(mine, &x);\nsync_cluster();\n"
                        "if (me == 0) {\n  u32 y;\n  load_cluster_v1(&y, theirs);\n  " +
                            arrive +
                            "\n  out[t] = y;\n} else {\n  mbarrier_wait(bar, 0);\n  store_shared_v1(mine, &z);\n}\n"
                            "sync_cluster();");
  };
  expect_clean(frees("mbarrier_arrive_cluster(far);"), 32);
  // Too early: before the read.
  const WatchedText early = with_barrier(
      32,
      "const u32 x = t, z = 7;\nif (me == 1) store_shared_v1(mine, &x);\nsync_cluster();\nif (me == 0) {\n  u32 y;\n"
      "  mbarrier_arrive_cluster(far);\n  load_cluster_v1(&y, theirs);\n  out[t] = y;\n} else {\n"
      "  mbarrier_wait(bar, 0);\n  store_shared_v1(mine, &z);\n}\nsync_cluster();");
  expect_race(early, 19, 23);
}

// Each thread of block 0 stores into block 1, by 4 bytes, for a barrier there.
WatchedText stores_async(int bytes, const std::string& wait = "mbarrier_wait_cluster(bar, 0);") {
  return with_barrier(
      1, "if (me == 1 && t == 0) mbarrier_arrive_expect(bar, " + std::to_string(bytes) +
             ");\nconst u32 x = 3 * t;\nif (me == 0) store_async_v1(theirs, &x, far);\nif (me == 1) {\n  " + wait +
             "\n  u32 y;\n  load_shared_v1(&y, mine);\n  out[t] = y;\n}\nsync_cluster();");
}

TEST(SimCluster, AsynchronousStores) {
  expect_clean(stores_async(128), 32, [](uint32_t i) { return 3 * i; });
  WatchedText::for_all([](const std::string& how) {
    const Outcome more = stores_async(132).run(how).outcome, none = stores_async(128, "").run(how).outcome;
    ASSERT_FALSE(more.findings.empty()) << how;
    EXPECT_EQ(more.findings[0].kind, deadlock) << how;
    EXPECT_NE(more.findings[0].notes[1].text.find("4 bytes are to come"), std::string::npos) << how;
    ASSERT_FALSE(none.findings.empty()) << how;
  });
  expect_found(
      with_barrier(1, "const u32 x = t;\nif (me == 0 && t == 0) store_async_v1(theirs, &x, bar);\nsync_cluster();"),
      misuse, "an asynchronous store whose mbarrier lies in another block", 14);
}

// Block 0 copies 128 bytes of its own to byte 512 of block 1.
WatchedText copies(const std::string& fence = "fence_async_shared();", const std::string& barrier = "far",
                   const std::string& behind = "", const std::string& end = "sync_cluster();") {
  return with_barrier(1, "const u32 x = 5 * t, z = 9;\nstore_shared_v1(mine, &x);\n" + fence +
                             "\nsync_cluster();\nif (me == 1 && t == 0) mbarrier_arrive_expect(bar, 128);\n"
                             "if (me == 0 && t == 0) bulk_copy_cluster(map_shared(512, 1), 0, 128, " +
                             barrier + ");\n" + behind +
                             "\nif (me == 1) {\n  mbarrier_wait_cluster(bar, 0);\n  u32 y;\n"
                             "  load_shared_v1(&y, 512 + mine);\n  out[t] = y;\n}\n" +
                             end);
}

TEST(SimCluster, CopiesBetweenBlocks) {
  expect_clean(copies(), 32, [](uint32_t i) { return 5 * i; });
  expect_race(copies(""), 14, 18);
  expect_found(copies("fence_async_shared();", "bar"), misuse, "for an mbarrier of block 0", 18);
  expect_race(copies("fence_async_shared();", "far", "if (me == 0) store_shared_v1(mine, &z);"), 18, 19);
  WatchedText::for_all([](const std::string& how) {
    if (how.find("late") == std::string::npos) return;
    // Block 0 ends, and then what it copies is read.
    const Outcome outcome = copies("fence_async_shared();", "far", "", "if (me == 1) sync_cluster();").run(how).outcome;
    ASSERT_FALSE(outcome.findings.empty()) << how;
    EXPECT_NE(outcome.findings[0].text.find("the block ends before a bulk copy from its shared memory has ended"),
              std::string::npos)
        << outcome.findings[0].text;
  });
}

// Block 0 loads a box of 8 x 4 words for both blocks, to byte 0.
WatchedText multicast(const std::string& expected = "128", const std::string& mask = "3",
                      const std::string& wait = "mbarrier_wait(bar, 0);", const std::string& before = "") {
  return with_barrier(1, before + "\nif (t == 0) mbarrier_arrive_expect(bar, " + expected +
                             ");\nif (me == 0 && t == 0) tma_load_multicast_2d(0, &map, bar, u16(" + mask +
                             "), 8, 0);\n" + wait +
                             "\nu32 y;\nload_shared_v1(&y, mine);\nout[32 * me + t] = y;\nsync_cluster();");
}

TEST(SimCluster, MulticastLoads) {
  expect_clean(multicast(), 64, [](uint32_t i) { return i % 32 / 8 * 64 + 8 + i % 8; });
  expect_found(multicast("128", "7"), misuse, "loads for the blocks 0x7 of its cluster, which has 2", 15);
  expect_found(multicast("128", "0"), misuse, "loads for the blocks 0x0 of its cluster, which has 2", 15);
  expect_deadlock(
      multicast("128", "1"),
      {{"threads 0-31 of block 0 wait at the barrier of the cluster, to which 32 of 64 threads came", 20},
       {"threads 0-31 of block 1 wait for phase 0 of the mbarrier at byte 1024 of shared memory of block 1: "
        "1 of 1 arrivals came, 128 bytes are to come",
        16}});
  expect_deadlock(
      multicast("me == 0 ? 128 : 144"),
      {{"threads 0-31 of block 0 wait at the barrier of the cluster, to which 32 of 64 threads came", 20},
       {"threads 0-31 of block 1 wait for phase 0 of the mbarrier at byte 1024 of shared memory of block 1: "
        "1 of 1 arrivals came, 16 bytes are to come",
        16}});
  const WatchedText early = multicast("128", "3", "if (me == 0) mbarrier_wait(bar, 0);");
  expect_race(early, 15, 18);
  // What has not come yet is no number.
  for (size_t i = 32; i < 64; ++i) EXPECT_EQ(early.run("greedy+late").out[i], 0xffffffffu) << i;
  // Block 1 still writes what block 0 loads over.
  expect_race(multicast("128", "3", "mbarrier_wait(bar, 0);", "if (me == 1) store_shared_v1(mine, &t);"), 13, 15);
}

TEST(SimCluster, LaunchesThatCannotBe) {
  WatchedText kernel{"sync_cluster();"};
  const auto text_of = [&](int blocks, int cluster) {
    kernel.blocks = blocks;
    kernel.cluster = cluster;
    const Outcome outcome = kernel.run("fair").outcome;
    return outcome.findings.empty() ? "" : outcome.findings[0].text;
  };
  EXPECT_EQ(text_of(6, 3), "");
  EXPECT_EQ(text_of(16, 16), "");
  EXPECT_NE(text_of(5, 2).find("a grid of 5 x 1 x 1 blocks is no multiple of a cluster of 2 x 1 x 1"),
            std::string::npos);
  EXPECT_NE(text_of(34, 17).find("at most 16 blocks are possible"), std::string::npos);
  // Clusters are not ordered among each other.
  WatchedText clusters = pair("out[t] = me;");
  clusters.blocks = 4;
  expect_race(clusters, 7, 7);
}

TEST(SimCluster, OneBlockIsAClusterOfItsOwn) {
  expect_clean({"const u32 x = t;\nstore_shared_v1(4 * t, &x);\nsync_cluster();\nu32 y;\n"
                "load_cluster_v1(&y, map_shared(4 * (t ^ 33), 0));\nout[t] = y + cluster_size();"},
               64, [](uint32_t i) { return (i ^ 33) + 1; });
}

// ---- griddepcontrol ----

WatchedText launches(const std::string& body, std::vector<bool> programmatic) {
  WatchedText out{body};
  out.threads = 32;
  out.programmatic = std::move(programmatic);
  return out;
}

TEST(SimGrids, AProgrammaticLaunchWaitsForTheOneInFront) {
  const std::string passes_on = "out[32 * (launch + 1) + t] = launch == 0 ? t : out[32 * launch + t] + 1;";
  const auto want = [](uint32_t i) { return i < 32 ? 0xcdcdcdcdu : i % 32 + i / 32 - 1; };
  // In order of a stream.
  expect_clean(launches(passes_on, {false, false, false}), 128, want);
  expect_clean(launches("wait_for_grid();\nlaunch_next_grid();\n" + passes_on, {false, true, true}), 128, want);
  expect_clean(launches("launch_next_grid();\nwait_for_grid();\n" + passes_on, {false, true, true}), 128, want);
  expect_race(launches("launch_next_grid();\n" + passes_on, {false, true}), 6, 6);
  expect_race(launches(passes_on + "\nwait_for_grid();", {false, true}), 5, 5);
  // One thread waits and a barrier hands it on.
  expect_clean(launches("if (t == 0) wait_for_grid();\nsync_block();\n" + passes_on, {false, true, true}), 128, want);
  expect_race(launches("if (t == 0) wait_for_grid();\n" + passes_on, {false, true}), 6, 6);
  // What the one in front reads must not be written either.
  expect_race(launches("if (launch == 0) out[t] = in[t];\nelse in[t] = 7;", {false, true}), 5, 6);
  expect_clean(launches("if (launch == 0) out[t] = in[t];\nelse {\n  wait_for_grid();\n  in[t] = 7;\n}", {false, true}),
               32);
}

TEST(SimGrids, AWaitIsForTheLaunchInFrontAlone) {
  // The second launch has not waited for the first, the third waits for the second.
  const auto kernel = [](const std::string& second) {
    return launches("if (launch == 0) out[t] = t;\nif (launch == 1) " + second +
                        ";\nif (launch == 2) {\n  wait_for_grid();\n  reduce_min(out + 32 + t, out[t]);\n}",
                    {false, true, true});
  };
  const auto lane = [](uint32_t i) { return i % 32; };
  expect_clean(kernel("wait_for_grid()"), 64, lane);
  expect_race(kernel("launch_next_grid()"), 5, 9);
  WatchedText in_order = kernel("launch_next_grid()");
  in_order.programmatic = {false, false, true};
  expect_clean(in_order, 64, lane);
}

}  // namespace
}  // namespace tilewright::test
