#include "runtime/sim/detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tilewright::sim {

namespace {

constexpr size_t kMaxFindings = 50;
// Some 15 MB of each.
constexpr size_t kMostSparePages = 256, kMostSpareReaders = size_t(1) << 17;

const char* verb_of(Access access, bool is_copy) {
  if (is_copy) return access == Access::read ? "reads by an asynchronous copy" : "copies asynchronously into";
  return access == Access::read ? "reads" : access == Access::write ? "writes" : "updates atomically";
}

}  // namespace

Detector::Detector(std::vector<Region> tensors, int shared_unit_bytes, int64_t red_zone_bytes,
                   const std::vector<SharedPart>& shared_parts)
    : shared_unit_bytes_(kCoarsestUnitBytes),
      finest_shared_unit_bytes_(shared_unit_bytes),
      red_zone_bytes_(red_zone_bytes) {
  for (const Region& region : tensors) {
    Global global{.region = region, .finest_unit_bytes = region.unit_bytes, .pages = {}};
    global.region.unit_bytes = kCoarsestUnitBytes;
    const int64_t cells = (region.bytes + kCoarsestUnitBytes - 1) / kCoarsestUnitBytes;
    global.pages.resize(size_t((cells + kCellsPerPage - 1) / kCellsPerPage));
    tensors_.push_back(std::move(global));
  }
  readers_ = std::move(spare().readers);
  for (const SharedPart& part : shared_parts) {
    held_.resize(std::max(held_.size(), size_t(part.end)));
    std::fill(held_.begin() + std::ptrdiff_t(part.begin), held_.begin() + std::ptrdiff_t(part.end), true);
  }
}

Detector::~Detector() {
  readers_.clear();
  if (readers_.capacity() <= kMostSpareReaders) spare().readers = std::move(readers_);
  for (Global& tensor : tensors_) {
    for (std::unique_ptr<Page>& page : tensor.pages) {
      if (page && spare().pages.size() < kMostSparePages) spare().pages.push_back(std::move(page));
    }
  }
}

Detector::Spare& Detector::spare() {
  thread_local Spare spare;
  return spare;
}

void Detector::begin_cluster(std::vector<SharedWindow> windows, int threads_of_block, int64_t shared_bytes,
                             int64_t margin_bytes) {
  ++cluster_;
  const int num_threads = threads_of_block * int(windows.size());
  clusters_.push_back(
      {.first_block = blocks_.size(), .threads_of_block = threads_of_block, .num_threads = num_threads});
  for (const SharedWindow& w : windows) blocks_.push_back(w.block);
  windows_ = std::move(windows);
  num_threads_ = columns_ = num_threads;
  names_.clear();
  launch_column_ = -1;
  shared_bytes_ = shared_bytes;
  margin_bytes_ = margin_bytes;
  shared_cells_.assign(windows_.size() * size_t(cells_of_window(shared_unit_bytes_)), Cell());
  clocks_.assign(size_t(num_threads) * size_t(num_threads), 0);
  floor_.assign(size_t(num_threads), num_threads == 1 ? 1 : 0);
  for (int t = 0; t < num_threads; ++t) clock(t)[size_t(t)] = 1;
}

// ---- Order ----

void Detector::release(int thread, Clock& to) {
  const std::span<uint32_t> own = clock(thread);
  if (to.size() < own.size()) to.resize(own.size(), 0);
  for (size_t u = 0; u < own.size(); ++u) to[u] = std::max(to[u], own[u]);
  ++own[size_t(thread)];
}

void Detector::acquire(int thread, const Clock& from) {
  const std::span<uint32_t> own = clock(thread);
  for (size_t u = 0; u < from.size(); ++u) own[u] = std::max(own[u], from[u]);
  floor_[size_t(thread)] = *std::min_element(own.begin(), own.begin() + num_threads_);
}

// ---- Accesses ----

Detector::Cell& Detector::cell(const Memory& memory, int unit_bytes) {
  const int64_t index = memory.offset / unit_bytes;
  if (memory.tensor < 0) return shared_cells_[size_t((-1 - memory.tensor) * cells_of_window(unit_bytes) + index)];
  auto& page = tensors_[size_t(memory.tensor)].pages[size_t(index / kCellsPerPage)];
  if (!page && !spare().pages.empty()) {
    page = std::move(spare().pages.back());
    spare().pages.pop_back();
    page->fill({});
  } else if (!page) {
    page = std::make_unique<Page>();
  }
  return (*page)[size_t(index % kCellsPerPage)];
}

// Calls fn(cell, memory) for each part of what is accessed; nothing where nobody shares it.
template <class Function>
void Detector::for_cells(const void* at, unsigned bytes, const Event& event, const Function& fn) {
  const auto* const begin = static_cast<const unsigned char*>(at);
  const auto each = [&](int tensor, int64_t offset, int unit) {
    for (int64_t o = offset / unit * unit; o < offset + bytes; o += unit) {
      const Memory memory{tensor, o};
      fn(cell(memory, unit), memory);
    }
  };
  for (size_t r = 0; r < windows_.size(); ++r) {
    const unsigned char* const shared = windows_[r].begin;
    if (begin < shared || begin + bytes > shared + shared_bytes_) continue;
    const int64_t offset = begin - shared;
    return holds(offset, bytes) ? each(-1 - int(r), offset, unit_of_shared(offset, bytes)) : outside(at, bytes, event);
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Region& r = tensors_[t].region;
    if (begin < r.begin || begin + bytes > r.begin + r.bytes) continue;
    return each(int(t), begin - r.begin, unit_of_tensor(t, begin - r.begin, bytes));
  }
  outside(at, bytes, event);
}

void Detector::access(int thread, const void* at, unsigned bytes, Access access, Site site) {
  const Event now{thread, access, site};
  for_cells(at, bytes, now, [&](Cell& c, const Memory& memory) {
    check(c, now, memory);
    access == Access::read ? note_read(c, now) : note_write(c, now);
  });
}

void Detector::copy_begins(int thread, const void* to, const void* from, unsigned bytes, unsigned valid_bytes,
                           Site site) {
  const Event write{thread, Access::write, site, true}, read{thread, Access::read, site, true};
  for_cells(to, bytes, write, [&](Cell& c, const Memory& memory) {
    check(c, write, memory);
    note_write(c, write);
    c.pending = true;
  });
  if (valid_bytes == 0) return;
  for_cells(from, valid_bytes, read, [&](Cell& c, const Memory& memory) {
    check(c, read, memory);
    note_read(c, read);
  });
}

void Detector::copy_ends(int thread, const void* to, const void* from, unsigned bytes, unsigned valid_bytes,
                         Site site) {
  const Event write{thread, Access::write, site, true}, read{thread, Access::read, site, true};
  for_cells(to, bytes, write, [&](Cell& c, const Memory&) {
    // Unless somebody wrote over it, which was reported.
    if (!c.pending) return;
    c.pending = false;
    note_write(c, write);
  });
  if (valid_bytes == 0) return;
  for_cells(from, valid_bytes, read, [&](Cell& c, const Memory& memory) {
    check(c, read, memory);
    note_read(c, read);
  });
}

void Detector::agent_access(const Agent& agent, const void* at, unsigned bytes, Access access, AgentAccess part,
                            Site site) {
  const Event now{.thread = agent.column, .access = access, .site = site, .is_copy = false, .agent = &agent};
  for_cells(at, bytes, now, [&](Cell& c, const Memory& memory) {
    // What somebody wrote over was reported.
    if (part == AgentAccess::end && access != Access::read && !c.pending) return;
    if (part != AgentAccess::end || access == Access::read) check(c, now, memory);
    if (part == AgentAccess::begin && access == Access::read) return;
    access == Access::read ? note_read(c, now) : note_write(c, now);
    c.pending = access != Access::read && part == AgentAccess::begin;
  });
}

// Reports what the new access of a cell conflicts with. Atomics of one proxy need no order among themselves; those of
// two proxies do (PTX ISA, "Morally Strong Operations").
void Detector::check(Cell& c, const Event& now, const Memory& memory) {
  if (c.write_time == 0) {
    if (memory.tensor < 0 && now.access != Access::write) {
      add({.kind = Finding::Kind::uninitialised,
           .text = fmt::format("{} {} shared memory that nobody wrote", name_of(now), verb_of(now.access, now.is_copy)),
           .site = now.site,
           .memory = {memory}},
          now.site.value, 0);
    }
  } else if (c.pending) {
    return report(now, memory, "copies asynchronously into", c.write_thread, c.write_cluster, c.write_site);
  } else if (!(c.write_atomic && now.access == Access::atomic && c.write_generic == is_generic(now)) &&
             !(c.write_cluster == cluster_ ? ordered(c.write_thread, c.write_time, now)
                                           : is_past(c.write_cluster, now))) {
    return report(now, memory, c.write_atomic ? "updates atomically" : "writes", c.write_thread, c.write_cluster,
                  c.write_site);
  } else if (!check_proxy(c, now, memory)) {
    return;
  }
  if (now.access != Access::read) check_readers(c, now, memory);
}

void Detector::check_readers(Cell& c, const Event& now, const Memory& memory) {
  if (c.foreign_cluster >= 0 && c.foreign_cluster != cluster_ && !is_past(c.foreign_cluster, now)) {
    return report(now, memory, "reads", c.foreign_thread, c.foreign_cluster, c.foreign_site);
  }
  if (c.read_time == 0) return;
  if (!(c.read_cluster == cluster_ ? read_ordered(c.read_thread, c.read_time, now) : is_past(c.read_cluster, now))) {
    return report(now, memory, "reads", c.read_thread, c.read_cluster, c.read_site);
  }
  if (c.read_cluster != cluster_) return;
  for (int i = c.more_readers; i >= 0; i = readers_[size_t(i)].next) {
    const Readers& r = readers_[size_t(i)];
    if (r.time <= floor_of(now) && int(r.threads.size()) * 64 <= num_threads_) continue;
    for (size_t word = 0; word < r.threads.size(); ++word) {
      for (uint64_t left = r.threads[word]; left; left &= left - 1) {
        const int thread = int(word) * 64 + std::countr_zero(left);
        if (!read_ordered(thread, r.time, now)) return report(now, memory, "reads", thread, cluster_, r.site);
      }
    }
  }
}

void Detector::free_readers(Cell& c) {
  while (c.more_readers >= 0) {
    Readers& r = readers_[size_t(c.more_readers)];
    const int next = r.next;
    r.next = free_readers_;
    free_readers_ = c.more_readers;
    c.more_readers = next;
  }
}

void Detector::add_reader(Cell& c, int thread, uint32_t time, Site site) {
  for (int i = c.more_readers; i >= 0; i = readers_[size_t(i)].next) {
    Readers& r = readers_[size_t(i)];
    if (r.time != time || r.site != site) continue;
    if (r.threads.size() <= size_t(thread / 64)) r.threads.resize(size_t(thread / 64) + 1);
    r.threads[size_t(thread / 64)] |= uint64_t(1) << thread % 64;
    return;
  }
  if (free_readers_ < 0) {
    readers_.emplace_back();
    free_readers_ = int(readers_.size()) - 1;
  }
  const int i = free_readers_;
  Readers& r = readers_[size_t(i)];
  free_readers_ = r.next;
  r.time = time;
  r.site = site;
  r.next = c.more_readers;
  r.threads.assign(size_t(thread / 64) + 1, 0);
  r.threads.back() = uint64_t(1) << thread % 64;
  c.more_readers = i;
}

void Detector::note_read(Cell& c, const Event& now) {
  const uint32_t time = time_of(now);
  if (c.read_time != 0 && c.read_cluster != cluster_) {
    // One reader of another cluster stands for all of them: no cluster is ordered before another.
    c.foreign_cluster = c.read_cluster;
    c.foreign_thread = c.read_thread;
    c.foreign_site = c.read_site;
    c.read_time = 0;
    free_readers(c);
  }
  // Who is ordered before this read need not be remembered: a write behind this read is behind both.
  if (c.read_time == 0 || ordered(c.read_thread, c.read_time, now)) {
    bool all_before = true;
    for (int i = c.more_readers; i >= 0; i = readers_[size_t(i)].next) {
      const Readers& r = readers_[size_t(i)];
      all_before = all_before && r.time <= floor_of(now) && int(r.threads.size()) * 64 <= num_threads_;
    }
    if (all_before) free_readers(c);
    c.read_thread = uint16_t(now.thread);
    c.read_time = time;
    c.read_site = now.site;
    c.read_cluster = cluster_;
    return;
  }
  add_reader(c, now.thread, time, now.site);
}

void Detector::note_write(Cell& c, const Event& now) {
  c.write_thread = uint16_t(now.thread);
  c.write_time = time_of(now);
  c.write_site = now.site;
  c.write_cluster = cluster_;
  c.write_atomic = now.access == Access::atomic;
  c.write_generic = is_generic(now);
  c.pending = false;
  c.read_time = 0;
  c.foreign_cluster = -1;
  free_readers(c);
}

// ---- Reports ----

std::vector<Memory> Detector::memory_at(const void* at) const {
  const auto* const p = static_cast<const unsigned char*>(at);
  for (size_t r = 0; r < windows_.size(); ++r) {
    const unsigned char* const shared = windows_[r].begin;
    if (p >= shared && p < shared + shared_bytes_) return {{-1 - int(r), p - shared}};
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const Region& r = tensors_[t].region;
    if (p >= r.begin && p < r.begin + r.bytes) return {{int(t), p - r.begin}};
  }
  return {};
}

// Memory that is not the kernel's own, near memory of the launch. Elsewhere are the registers and arrays of threads.
void Detector::outside(const void* at, unsigned bytes, const Event& event) {
  const auto* const begin = static_cast<const unsigned char*>(at);
  const auto near = [&](const unsigned char* first, int64_t size, int64_t margin) {
    return begin + bytes > first - margin && begin < first + size + margin;
  };
  Memory memory;
  const char* verb = event.access == Access::read ? "reads" : "writes";
  const auto window = std::ranges::find_if(
      windows_, [&](const SharedWindow& w) { return near(w.begin, shared_bytes_, margin_bytes_); });
  if (window != windows_.end()) {
    memory = {-1 - int(window - windows_.begin()), begin - window->begin};
  } else {
    for (size_t t = 0; t < tensors_.size(); ++t) {
      const Region& r = tensors_[t].region;
      if (r.guarded && red_zone_bytes_ > 0 && near(r.begin, r.bytes, red_zone_bytes_))
        memory = {int(t), begin - r.begin};
    }
    if (memory.tensor < 0) return;
  }
  add({.kind = Finding::Kind::out_of_bounds,
       .text = fmt::format("{} {} {} bytes outside of memory", name_of(event), verb, bytes),
       .site = event.site,
       .memory = {memory}},
      event.site.value, 0);
}

int64_t Detector::block_of(int column, int32_t cluster) const {
  size_t rank = 0;  // of asynchronous work of clusters that are gone nobody knows it
  const Cluster& c = clusters_[size_t(cluster)];
  if (column < c.num_threads)
    rank = size_t(column / c.threads_of_block);
  else if (cluster == cluster_)
    rank = size_t(names_[size_t(column - first_agent())].rank);
  return blocks_[c.first_block + rank];
}

std::string Detector::name_of(int column, int32_t cluster, int64_t here) const {
  const Cluster& c = clusters_[size_t(cluster)];
  const std::string name = column < c.num_threads ? fmt::format("thread {}", column % c.threads_of_block)
                           : cluster == cluster_  ? names_[size_t(column - first_agent())].name
                                                  : "asynchronous work";
  const int64_t block = block_of(column, cluster);
  return block == here ? name : fmt::format("{} of block {}", name, block);
}

std::string Detector::name_of(const Event& now) const { return name_of(now.thread, cluster_, -1); }

void Detector::report(const Event& now, const Memory& memory, const std::string& before, int thread, int32_t cluster,
                      Site site) {
  const std::string other = name_of(thread, cluster, block_of(now.thread, cluster_));
  add({.kind = Finding::Kind::race,
       .text = fmt::format("{} {}, {} {}, and nothing orders the two", name_of(now), verb_of(now.access, now.is_copy),
                           other, before),
       .site = now.site,
       .memory = {memory},
       .notes = {{.text = fmt::format("{} {}", other, before), .site = site}}},
      now.site.value, site.value);
}

void Detector::add(Finding finding, uint64_t first, uint64_t second) {
  if (findings_.size() >= kMaxFindings || !known_.emplace(finding.kind, first, second).second) return;
  findings_.push_back(std::move(finding));
}

}  // namespace tilewright::sim
