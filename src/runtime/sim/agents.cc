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

void Detector::add_thread_columns() {
  if (columns_ == num_threads_) add_columns(first_agent() - num_threads_);
}

int Detector::column_of(const std::string& name, int rank) {
  const auto found = std::ranges::find_if(names_, [&](const AgentName& n) { return n.name == name && n.rank == rank; });
  const int number = int(found - names_.begin());
  if (found == names_.end()) names_.push_back({name, rank});
  const int column = first_agent() + number;
  constexpr int kAtOnce = 16;  // each time costs a copy of all clocks
  add_thread_columns();
  while (columns_ <= column) add_columns(kAtOnce);
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

// ---- Ends ----

void Detector::join_end(Clock& to, std::span<const uint32_t> from) {
  const auto threads = size_t(num_threads_), ends = size_t(end_column(0));
  if (to.size() < size_t(columns_)) to.resize(size_t(columns_), 0);
  for (size_t u = 0; u < threads; ++u) to[ends + u] = std::max(to[ends + u], from[u]);
  for (size_t u = threads; u < from.size(); ++u) to[u] = std::max(to[u], from[u]);
}

void Detector::release_end(int thread, Clock& to) {
  add_thread_columns();
  const std::span<uint32_t> own = clock(thread);
  join_end(to, own);
  ++own[size_t(thread)];
}

bool Detector::has_ended(const Clock& clock, int thread, uint32_t time) const {
  return time <= known(clock, thread) || time <= known(clock, end_column(thread));
}

// ---- Launches ----

void Detector::begin_launch(bool programmatic) {
  const int32_t before = launch_;
  launch_ = cluster_ + 1;
  if (!programmatic) {
    past_ = gap_ = launch_;
  } else {
    // Who waits for the launch in front knows that those before it have ended if that one waited for them.
    if (programmatic_ && !waited_) gap_ = before;
    if (!programmatic_) past_ = gap_ = before;
  }
  programmatic_ = programmatic;
  waited_ = false;
}

void Detector::wait_for_launch(int thread) {
  waited_ = true;
  if (!programmatic_) return;
  if (launch_column_ < 0) launch_column_ = column_of("the launch in front", 0);
  learn(thread, launch_column_, 1);
}

bool Detector::is_past(int32_t cluster, const Event& now) const {
  if (cluster >= launch_) return false;
  if (cluster < past_) return true;
  if (launch_column_ < 0 || cluster < gap_) return false;
  return now.agent ? known(now.agent->clock, launch_column_) > 0 : known(now.thread, launch_column_) > 0;
}

// ---- The asynchronous proxy ----

void Detector::fence_async(int thread, bool shared, bool global) {
  add_thread_columns();
  const std::span<uint32_t> own = clock(thread);
  if (shared) own[size_t(fenced_column(thread, true))] = own[size_t(thread)];
  if (global) own[size_t(fenced_column(thread, false))] = own[size_t(thread)];
  ++own[size_t(thread)];  // what it writes from here on is behind the fence
}

// An agent sees a thread's ordinary write, or writes over it, behind a fence by that thread that the agent knows of.
bool Detector::check_proxy(const Cell& c, const Event& now, const Memory& memory) {
  if (now.agent == nullptr || now.agent->generic || !c.write_generic) return true;
  if (c.write_cluster != cluster_) return true;  // of a launch that has ended
  const bool shared = memory.tensor < 0, by_thread = c.write_thread < num_threads_;
  if (by_thread && c.write_time <= known(now.agent->clock, fenced_column(c.write_thread, shared))) return true;
  const std::string writer = name_of(c.write_thread, c.write_cluster, block_of(now.thread, cluster_));
  const char* fence = shared ? "fence_async_shared" : "fence_async_global";
  add({.kind = Finding::Kind::race,
       .text = fmt::format("{} {} by the asynchronous proxy, {} wrote by the generic one, and no {} of the writer lies "
                           "between",
                           name_of(now), now.access == Access::read ? "reads" : "writes", writer, fence),
       .site = now.site,
       .memory = {memory},
       .notes = {{.text = fmt::format("{} writes; {}() belongs behind it, before the barrier", writer, fence),
                  .site = c.write_site}}},
      now.site.value, c.write_site.value);
  return false;
}

}  // namespace tilewright::sim
