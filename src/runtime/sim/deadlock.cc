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
std::string name_who_came(const std::array<WarpProducts, kMaxWarps>& products, int warp) {
  const WarpProducts& own = products[size_t(warp)];
  const int first = warp / kWarpsOfGroup * kWarpsOfGroup;
  int came = 0;
  for (int w = first; w < first + kWarpsOfGroup; ++w) came += products[size_t(w)].started >= own.started;
  return fmt::format("{} of {} warps", came, kWarpsOfGroup);
}

}  // namespace

Finding Executor::deadlock() const {
  struct Group {
    Fiber::Wait wait;
    unsigned barrier;
    uint32_t mask;
    int line;
    std::vector<int> threads;
  };
  std::vector<Group> groups;
  for (int t = 0; t < num_threads_; ++t) {
    const Fiber& f = fibers_[size_t(t)];
    if (f.ended) continue;
    const unsigned barrier = f.wait == Fiber::Wait::barrier     ? f.barrier
                             : f.wait == Fiber::Wait::mbarrier  ? f.mbarrier
                             : f.wait == Fiber::Wait::registers ? f.registers
                             : f.wait == Fiber::Wait::products  ? unsigned(t / kWarpSize)
                                                                : 0;
    const uint32_t mask = f.wait == Fiber::Wait::warp ? f.lane->mask : 0;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.wait == f.wait && g.barrier == barrier && g.mask == mask && g.line == f.line;
    });
    if (same != groups.end())
      same->threads.push_back(t);
    else
      groups.push_back({f.wait, barrier, mask, f.line, {t}});
  }
  const device::sim::Dim3 block = fibers_[0].view.block;
  Finding out{.kind = Finding::Kind::deadlock,
              .text = fmt::format("block {} waits for ever: {} of its {} threads have ended", block.x,
                                  num_threads_ - num_alive_, num_threads_),
              .site = Site::line(groups.empty() ? 0 : groups.front().line)};
  for (const Group& g : groups) {
    const std::string who = name_threads(g.threads);
    const char* verb = g.threads.size() == 1 ? "waits" : "wait";
    if (g.wait == Fiber::Wait::barrier) {
      const Barrier& b = barriers_[g.barrier];
      const unsigned expected = b.whole_block ? unsigned(num_alive_) : b.expected;
      out.notes.push_back({fmt::format("{} {} at barrier {}, to which {} of {} threads came", who, verb, g.barrier,
                                       b.arrived, expected),
                           Site::line(g.line)});
    } else if (g.wait == Fiber::Wait::mbarrier) {
      out.notes.push_back({fmt::format("{} {} for {}", who, verb, state_of_mbarrier(g.barrier)),
                           Site::line(g.line),
                           {{-1, int64_t(g.barrier)}}});
    } else if (g.wait == Fiber::Wait::products) {
      out.notes.push_back(
          {fmt::format("{} {} for products to which {} came", who, verb, name_who_came(products_, int(g.barrier))),
           Site::line(g.line)});
    } else if (g.wait == Fiber::Wait::registers) {
      const unsigned held = launch_registers() * unsigned(num_warps_) - free_registers();
      out.notes.push_back(
          {fmt::format("{} {} for {} registers each: the {} threads of the block have {}, of which {} are "
                       "free",
                       who, verb, g.barrier, num_threads_, (held + free_registers()) * kWarpSize,
                       free_registers() * kWarpSize),
           Site::line(g.line)});
    } else {  // those that let others run first are never the last who could
      out.notes.push_back({fmt::format("{} {} for the lanes {:#x} of a warp", who, verb, g.mask), Site::line(g.line)});
    }
  }
  return out;
}

}  // namespace tilewright::sim
