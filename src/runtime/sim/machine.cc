#include "runtime/sim/machine.h"

#include "runtime/sim/executor.h"

namespace tilewright::sim {

const device::sim::Hooks& hooks() {
  using namespace device::sim;
  static constexpr Hooks kHooks = {
      .barrier = [](unsigned id, unsigned threads, BlockVote vote, unsigned x,
                    int line) { return Executor::mine().barrier(id, threads, vote, x, line); },
      .barrier_arrive = [](unsigned id, unsigned threads,
                           int line) { Executor::mine().barrier_arrive(id, threads, line); },
      .warp = [](WarpOp op, Lane* lane, int line) { Executor::mine().warp_op(op, lane, line); },
      .active_mask = [](int line) { return Executor::mine().active_mask(line); },
      .copy_async = [](unsigned to, const void* from, unsigned bytes, unsigned valid_bytes,
                       int line) { Executor::mine().copy_async(to, from, bytes, valid_bytes, line); },
      .copy_async_commit = [] { Executor::mine().copy_async_commit(); },
      .copy_async_wait = [](unsigned pending) { Executor::mine().copy_async_wait(pending); },
      .shared = [](unsigned address, unsigned bytes, Access access, int line) -> void* {
        return Executor::mine().shared(address, bytes, access, line);
      },
      .shared_of_cluster = [](unsigned address, unsigned bytes, Access access, int line) -> void* {
        return Executor::mine().shared_of_cluster(address, bytes, access, line);
      },
      .map_shared = [](unsigned address, unsigned rank,
                       int line) { return Executor::mine().map_shared(address, rank, line); },
      .cluster_arrive = [](bool relaxed, int line) { Executor::mine().cluster_arrive(relaxed, line); },
      .cluster_wait = [](int line) { Executor::mine().cluster_wait(line); },
      .store_async = [](unsigned to, const void* x, unsigned bytes, unsigned barrier,
                        int line) { Executor::mine().store_async(to, x, bytes, barrier, line); },
      .access = [](const void* at, unsigned bytes, unsigned alignment, Access access,
                   const void* where) { Executor::mine().access(at, bytes, alignment, access, where); },
      .outside_of_array = [](long long index, int line) { Executor::mine().outside_of_array(index, line); },
      .misaligned = [](const void* at, unsigned bytes,
                       int line) { Executor::mine().misaligned(at, bytes, bytes, Site::line(line)); },
      .atomic = [](AtomicOp op, Number type, void* at, unsigned long long x, unsigned long long expected,
                   int line) { return Executor::mine().atomic(op, type, at, x, expected, line); },
      .mbarrier = [](MbarrierOp op, unsigned address, unsigned x,
                     int line) { return Executor::mine().mbarrier(op, address, x, line); },
      .fence = [](Fence fence) { Executor::mine().fence(fence); },
      .bulk_copy = [](const BulkCopy* copy, int line) { Executor::mine().bulk_copy(*copy, line); },
      .bulk_commit = [] { Executor::mine().bulk_commit(); },
      .bulk_wait = [](unsigned pending, bool read_only) { Executor::mine().bulk_wait(pending, read_only); },
      .wgmma_wait = [](unsigned pending, int line) { Executor::mine().wgmma_wait(pending, line); },
      .more_registers = [](unsigned registers, int line) { Executor::mine().more_registers(registers, line); },
      .wait_for_grid = [] { Executor::mine().wait_for_grid(); },
      .rest = [](int line) { Executor::mine().rest(line); },
  };
  return kHooks;
}

std::optional<Finding> run_block(const Code& code, const Block& block, void* const* arguments,
                                 const SimAdversary& adversary, Detector* detector, WarpCounter* counter) {
  return Executor::mine().run(code, block, arguments, adversary, detector, counter);
}

}  // namespace tilewright::sim
