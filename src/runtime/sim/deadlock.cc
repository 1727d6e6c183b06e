// Who waits where, when nobody can go on.
#include "runtime/sim/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace tilewright::sim {

namespace {

// "threads 0-31, 64"
std::string name_threads(const std::vector<int>& ids) {
  std::string out = ids.size() == 1 ? "thread " : "threads ";
  for (size_t i = 0; i < ids.size();) {
    size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (i > 0) out += ", ";
    out += end - i > 1 ? fmt::format("{}-{}", ids[i], ids[end - 1]) : fmt::format("{}", ids[i]);
    i = end;
  }
  return out;
}

// "2 of 4 warps"
std::string name_who_came(const std::vector<WarpProducts>& products, int warp, int first) {
  const WarpProducts& own = products[size_t(warp)];
  int came = 0;
  for (int w = first; w < first + kWarpsOfGroup; ++w) came += products[size_t(w)].started >= own.started;
  return fmt::format("{} of {} warps", came, kWarpsOfGroup);
}

}  // namespace

// Threads that wait at the same place for the same.
struct Waiting {
  Fiber::Wait wait;
  unsigned what;  // number of the barrier, place of the mbarrier, warp, registers
  uint32_t mask;
  int line;
  int rank;                  // of their block
  std::vector<int> threads;  // of it
};

Finding::Note Executor::describe(const Waiting& w) const {
  const std::string who = name_threads(w.threads) + of_block(w.rank) + (w.threads.size() == 1 ? " waits" : " wait");
  Finding::Note out{.text = {}, .site = Site::line(w.line)};
  switch (w.wait) {
    case Fiber::Wait::barrier: {
      const BlockState& own = blocks_[size_t(w.rank)];
      const Barrier& b = own.barriers[w.what];
      out.text = fmt::format("{} at barrier {}, to which {} of {} threads came", who, w.what, b.arrived,
                             b.whole_block ? unsigned(own.num_alive) : b.expected);
      break;
    }
    case Fiber::Wait::mbarrier:
      out.text = fmt::format("{} for {}", who, state_of_mbarrier({w.what}));
      out.memory = {SharedPlace{w.what}.memory()};
      break;
    case Fiber::Wait::products:
      out.text = fmt::format("{} for products to which {} came", who,
                             name_who_came(products_, int(w.what), first_of_warpgroup(int(w.what))));
      break;
    case Fiber::Wait::registers:
      out.text = fmt::format("{} for {} registers each: the {} threads of the block have {}, of which {} are free", who,
                             w.what, num_threads_, launch_registers() * unsigned(num_warps_ * kWarpSize),
                             free_registers(w.rank) * kWarpSize);
      break;
    case Fiber::Wait::cluster:
      out.text = fmt::format("{} at the barrier of the cluster, to which {} of {} threads came", who,
                             cluster_barrier_.arrived, num_alive_);
      break;
    default:  // those that let others run first are never the last who could
      out.text = fmt::format("{} for the lanes {:#x} of a warp", who, w.mask);
  }
  return out;
}

Finding Executor::deadlock() const {
  std::vector<Waiting> groups;
  for (int t = 0; t < num_fibers_; ++t) {
    const Fiber& f = fibers_[size_t(t)];
    if (f.ended) continue;
    const unsigned what = f.wait == Fiber::Wait::barrier     ? f.barrier
                          : f.wait == Fiber::Wait::mbarrier  ? f.mbarrier.packed
                          : f.wait == Fiber::Wait::registers ? f.registers
                          : f.wait == Fiber::Wait::products  ? unsigned(t / kWarpSize)
                                                             : 0;
    const uint32_t mask = f.wait == Fiber::Wait::warp ? f.lane->mask : 0;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Waiting& w) {
      return w.wait == f.wait && w.what == what && w.mask == mask && w.line == f.line && w.rank == rank_of(t);
    });
    if (same != groups.end())
      same->threads.push_back(t % stride_);
    else
      groups.push_back({f.wait, what, mask, f.line, rank_of(t), {t % stride_}});
  }
  const int threads = num_threads_ * int(blocks_.size());
  Finding out{.kind = Finding::Kind::deadlock,
              .text = fmt::format("{}block {} waits for ever: {} of its {} threads have ended",
                                  blocks_.size() > 1 ? "the cluster of " : "", blocks_[0].number, threads - num_alive_,
                                  threads),
              .site = Site::line(groups.empty() ? 0 : groups.front().line)};
  for (const Waiting& w : groups) out.notes.push_back(describe(w));
  return out;
}

}  // namespace tilewright::sim
