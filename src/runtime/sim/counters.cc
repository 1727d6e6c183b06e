#include "runtime/sim/counters.h"

#include "runtime/sim/executor.h"

#include <algorithm>
#include <bit>

namespace tilewright {

Counters& Counters::operator+=(const Counters& other) {
  const auto add = [](Level& to, const Level& from) {
    to.requests += from.requests;
    to.transactions += from.transactions;
    to.ideal += from.ideal;
    to.read_bytes += from.read_bytes;
    to.written_bytes += from.written_bytes;
  };
  add(shared, other.shared);
  add(global, other.global);
  for (const auto& [width, bytes] : other.copied_bytes) copied_bytes[width] += bytes;
  mma += other.mma;
  flops += other.flops;
  for (const auto& [in_flight, times] : other.mma_with) mma_with[in_flight] += times;
  barriers += other.barriers;
  atomics += other.atomics;
  return *this;
}

namespace sim {

using device::sim::Lane;
using device::sim::Product;
using device::sim::WarpOp;

namespace {

constexpr uint64_t kBankBytes = 4, kNumBanks = 32, kSectorBytes = 32;
// 70 MB of them.
constexpr size_t kMostRequests = size_t(1) << 17;

// The most words that one bank is asked for.
int64_t wavefronts_of_group(std::span<const LaneAccess> lanes) {
  std::vector<uint64_t> words;
  for (const LaneAccess& lane : lanes) {
    if (lane.bytes == 0) continue;
    const uint64_t last = (lane.at + lane.bytes - 1) / kBankBytes;
    for (uint64_t word = lane.at / kBankBytes; word <= last; ++word) words.push_back(word);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<int64_t, kNumBanks> of_bank = {};
  for (const uint64_t word : words) ++of_bank[word % kNumBanks];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

// The lane's copies that it has not waited for.
Counters::InFlight in_flight(const Fiber& fiber) {
  Counters::InFlight out;
  uint32_t begin = 0;
  for (const uint32_t end : fiber.group_ends) {
    out.groups += end > begin;
    begin = end;
  }
  for (const PendingCopy& copy : fiber.copies) out.bytes += copy.bytes;
  return out;
}

}  // namespace

Transactions wavefronts(std::span<const LaneAccess> lanes) {
  unsigned widest = 0;
  for (const LaneAccess& lane : lanes) widest = std::max(widest, lane.bytes);
  const size_t group = widest > 8 ? 8 : widest > 4 ? 16 : 32;
  Transactions out;
  for (size_t first = 0; first < lanes.size(); first += group) {
    const int64_t needed = wavefronts_of_group(lanes.subspan(first, std::min(group, lanes.size() - first)));
    out.actual += needed;
    out.ideal += needed > 0;
  }
  return out;
}

Transactions sectors(std::span<const LaneAccess> lanes) {
  std::vector<LaneAccess> sorted;
  for (const LaneAccess& lane : lanes) {
    if (lane.bytes > 0) sorted.push_back(lane);
  }
  std::sort(sorted.begin(), sorted.end(), [](const LaneAccess& a, const LaneAccess& b) { return a.at < b.at; });
  Transactions out;
  uint64_t bytes = 0, end = 0, next_sector = 0;  // behind all bytes and sectors so far
  for (const LaneAccess& lane : sorted) {
    const uint64_t lane_end = lane.at + lane.bytes;
    if (lane_end <= end) continue;
    bytes += lane_end - std::max(end, lane.at);
    end = lane_end;
    const uint64_t first = std::max(next_sector, lane.at / kSectorBytes);
    const uint64_t behind = (lane_end + kSectorBytes - 1) / kSectorBytes;
    out.actual += int64_t(behind - std::min(first, behind));
    next_sector = behind;
  }
  out.ideal = int64_t((bytes + kSectorBytes - 1) / kSectorBytes);
  return out;
}

void WarpCounter::begin_block(int num_threads, const unsigned char* shared, int64_t shared_bytes) {
  shared_ = shared;
  shared_bytes_ = shared_bytes;
  warps_.resize(size_t((num_threads + kWarpSize - 1) / kWarpSize));
  for (size_t w = 0; w < warps_.size(); ++w) {
    const int lanes = std::min(kWarpSize, num_threads - int(w) * kWarpSize);
    warps_[w].exists = ~0u >> (kWarpSize - lanes);
  }
}

void WarpCounter::end_block() {
  for (size_t w = 0; w < warps_.size(); ++w) meet(int(w));
}

void WarpCounter::meet(int warp) {
  Warp& w = warps_[size_t(warp)];
  for (const int place : w.visited) {
    Visit& visit = w.visits[size_t(place)];
    for (const int32_t request : visit.requests) {
      if (request >= 0) count(places_[size_t(place)], w.requests[size_t(request)]);
    }
    visit.times = {};
    visit.requests.clear();
  }
  w.visited.clear();
  w.requests.clear();
  w.free.clear();
}

bool WarpCounter::is_global(const unsigned char* at) const {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [at](const Region& r) { return at >= r.begin && at < r.begin + r.bytes; });
}

int WarpCounter::place_of(Kind kind, Access access, Site site) {
  const uint64_t key = site.value << 5 | uint64_t(kind) << 2 | uint64_t(access);
  const auto [at, is_new] = place_numbers_.emplace(key, int(places_.size()));
  if (is_new) places_.push_back({kind, access, site.value});
  return at->second;
}

void WarpCounter::add(int thread, Kind kind, Access access, Site site, LaneAccess what) {
  const int place = place_of(kind, access, site), lane = thread % kWarpSize;
  Warp& warp = warps_[size_t(thread / kWarpSize)];
  if (warp.visits.size() <= size_t(place)) warp.visits.resize(places_.size());
  Visit& visit = warp.visits[size_t(place)];
  if (visit.requests.empty()) warp.visited.push_back(place);
  const size_t time = visit.times[size_t(lane)]++;
  if (time == visit.requests.size()) {
    if (warp.free.empty()) {
      overflowed_ = overflowed_ || warp.requests.size() >= kMostRequests;
      if (overflowed_) {
        --visit.times[size_t(lane)];
        return;
      }
      warp.free.push_back(int32_t(warp.requests.size()));
      warp.requests.emplace_back();
    }
    visit.requests.push_back(warp.free.back());
    warp.requests[size_t(warp.free.back())] = {};
    warp.free.pop_back();
  }
  int32_t& number = visit.requests[time];
  Request& request = warp.requests[size_t(number)];
  request.accesses[size_t(lane)] = what;
  request.lanes |= 1u << lane;
  if (request.lanes != warp.exists) return;
  count(places_[size_t(place)], request);
  warp.free.push_back(number);
  number = -1;
}

void WarpCounter::count(const Place& place, const Request& request) {
  Counters& to = sites_[place.site];
  if (place.kind == Kind::barrier) {
    ++to.barriers;
    return;
  }
  const bool is_global = place.kind == Kind::global || place.kind == Kind::copy_from;
  const Transactions needed = is_global ? sectors(request.accesses) : wavefronts(request.accesses);
  Counters::Level& level = is_global ? to.global : to.shared;
  int64_t bytes = 0;
  for (const LaneAccess& lane : request.accesses) bytes += lane.bytes;
  ++level.requests;
  level.transactions += needed.actual;
  level.ideal += needed.ideal;
  (place.access == Access::read ? level.read_bytes : level.written_bytes) += bytes;
  to.atomics += place.access == Access::atomic;
  if (place.kind != Kind::copy_to) return;
  for (const LaneAccess& lane : request.accesses) {
    if (lane.bytes > 0) to.copied_bytes[int(lane.bytes)] += lane.bytes;
  }
}

void WarpCounter::access(int thread, const void* at, unsigned bytes, Access access, Site site) {
  const auto* const begin = static_cast<const unsigned char*>(at);
  const bool shared = is_shared(begin);
  if (!shared && !is_global(begin)) return;
  // An instruction accesses up to 16 bytes.
  for (unsigned done = 0; done < bytes;) {
    const unsigned piece = std::min(std::bit_floor(bytes - done), 16u);
    const uint64_t address = shared ? uint64_t(begin - shared_) : reinterpret_cast<uint64_t>(begin);
    add(thread, shared ? Kind::shared : Kind::global, access, site, {address + done, piece});
    done += piece;
  }
}

void WarpCounter::copy(int thread, const void* to, const void* from, unsigned bytes, unsigned valid_bytes, Site site) {
  const auto offset = uint64_t(static_cast<const unsigned char*>(to) - shared_);
  add(thread, Kind::copy_to, Access::write, site, {offset, bytes});
  if (valid_bytes > 0) {
    add(thread, Kind::copy_from, Access::read, site, {reinterpret_cast<uint64_t>(from), valid_bytes});
  }
}

void WarpCounter::barrier(int thread, Site site) { add(thread, Kind::barrier, Access::read, site, {}); }

void WarpCounter::warp_op(WarpOp op, Lane* const* lanes, Executor& executor) {
  const bool is_load = op == WarpOp::load_matrix;
  if (!is_load && op != WarpOp::store_matrix && op != WarpOp::multiply) return;
  Counters& to = counters(Site::line(executor.current().line));
  if (op == WarpOp::multiply) {
    const Product& p = lanes[0]->product;
    Counters::InFlight meanwhile;
    for (int l = 0; l < kWarpSize; ++l) {
      const Counters::InFlight of_lane = in_flight(executor.lane_of_warp(l));
      meanwhile.groups = std::max(meanwhile.groups, of_lane.groups);
      meanwhile.bytes += of_lane.bytes;
    }
    ++to.mma;
    to.flops += int64_t(2) * p.m * p.n * p.k;
    ++to.mma_with[meanwhile];
    return;
  }
  const unsigned num = lanes[0]->n;
  ++to.shared.requests;
  for (unsigned m = 0; m < num; ++m) {
    std::array<LaneAccess, 8> rows;
    for (size_t row = 0; row < rows.size(); ++row) rows[row] = {lanes[m * 8 + row]->address, 16};
    const Transactions needed = wavefronts(rows);
    to.shared.transactions += needed.actual;
    to.shared.ideal += needed.ideal;
  }
  (is_load ? to.shared.read_bytes : to.shared.written_bytes) += int64_t(128) * num;
}

}  // namespace sim
}  // namespace tilewright
