// Asynchronous work in the eyes of the detector: columns of clocks, and the asynchronous proxy.
#include "runtime/sim/detector.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::sim {

// Appends columns to every clock. Clocks that others hold are shorter from then on: what they lack is 0.
void Detector::add_columns(int count) {
  const auto before = size_t(columns_), after = before + size_t(count);
  std::vector<uint32_t> wider(size_t(num_threads_) * after, 0);
  for (size_t t = 0; t < size_t(num_threads_); ++t) {
    std::copy_n(clocks_.begin() + std::ptrdiff_t(t * before), before, wider.begin() + std::ptrdiff_t(t * after));
  }
  clocks_ = std::move(wider);
  columns_ = int(after);
}

int Detector::column_of(const std::string& name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const int number = int(found - names_.begin());
  if (found == names_.end()) names_.push_back(name);
  const int column = 3 * num_threads_ + number;
  constexpr int kAtOnce = 16;  // each time costs a copy of all clocks
  while (columns_ <= column) add_columns(columns_ == num_threads_ ? 2 * num_threads_ : kAtOnce);
  return column;
}

Clock Detector::fork(int thread) {
  const std::span<uint32_t> own = clock(thread);
  Clock out(own.begin(), own.end());
  // What the thread does from here on is not known to the agent.
  ++own[size_t(thread)];
  return out;
}

Clock Detector::fork(std::span<const int> threads) {
  Clock out = fork(threads.front());
  for (const int t : threads.subspan(1)) {
    const Clock other = fork(t);
    for (size_t u = 0; u < out.size(); ++u) out[u] = std::min(out[u], other[u]);
  }
  return out;
}

void Detector::learn(int thread, int column, uint32_t time) {
  uint32_t& known = clock(thread)[size_t(column)];
  known = std::max(known, time);
}

// ---- The asynchronous proxy ----

void Detector::fence_async(int thread, bool shared, bool global) {
  if (columns_ == num_threads_) add_columns(2 * num_threads_);
  const std::span<uint32_t> own = clock(thread);
  if (shared) own[size_t(fenced_column(thread, true))] = own[size_t(thread)];
  if (global) own[size_t(fenced_column(thread, false))] = own[size_t(thread)];
  ++own[size_t(thread)];  // what it writes from here on is behind the fence
}

// An agent sees a thread's ordinary write, or writes over it, behind a fence by that thread that the agent knows of.
bool Detector::check_proxy(const Cell& c, const Event& now, const Memory& memory) {
  if (now.agent == nullptr || now.agent->generic || !c.write_generic) return true;
  const bool shared = memory.tensor < 0, by_thread = c.write_thread < num_threads_;
  if (by_thread && c.write_time <= known(now.agent->clock, fenced_column(c.write_thread, shared))) return true;
  const std::string writer = name_of(c.write_thread, c.write_block);
  const char* fence = shared ? "fence_async_shared" : "fence_async_global";
  add({.kind = Finding::Kind::race,
       .text = fmt::format("{} of block {} {} by the asynchronous proxy, {} wrote by the generic one, and no {} of the "
                           "writer lies between",
                           name_of(now.thread, block_), block_, now.access == Access::read ? "reads" : "writes", writer,
                           fence),
       .site = now.site,
       .memory = {memory},
       .notes = {{.text = fmt::format("{} writes; {}() belongs behind it, before the barrier", writer, fence),
                  .site = c.write_site}}},
      now.site.value, c.write_site.value);
  return false;
}

}  // namespace tilewright::sim
