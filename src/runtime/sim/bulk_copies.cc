#include "runtime/sim/bulk_copies.h"

#include "runtime/sim/atomics.h"
#include "runtime/sim/executor.h"
#include "runtime/sim/reductions.h"
#include "runtime/sim/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tilewright::sim {

using device::sim::AtomicOp;
using device::sim::BulkCopy;

namespace {

cuda::TensorMapType type_of(const BulkCopy& copy) {
  using enum cuda::TensorMapType;
  using device::sim::Element;
  if (copy.wide_integer) return u64;
  switch (copy.type) {
    case Element::f16: return f16;
    case Element::bf16: return bf16;
    case Element::f64: return f64;
    case Element::s32: return i32;
    default: return f32;
  }
}

// PTX ISA, "Swizzling Modes": 16-byte pieces of 128 bytes are exchanged by the number of these 128 bytes.
unsigned swizzled(unsigned address, cuda::TensorMapSwizzle swizzle) {
  const int span = cuda::span_bytes(swizzle);
  return span == 0 ? address : address ^ ((address / 128) % unsigned(span / 16)) * 16;
}

// In the phase that its barrier is in.
Agent agent_of(const BulkTransfer& load, const Mbarrier& b) {
  return {.column = b.column, .time = b.first_time + b.phase + 1, .clock = load.clock, .generic = !load.value.empty()};
}

// Of bytes that lie one behind the other on both sides.
std::vector<Piece> pieces_of_row(unsigned char* shared, unsigned char* other, unsigned bytes) {
  std::vector<Piece> out;
  for (unsigned at = 0; at < bytes; at += kPieceBytes) out.push_back({shared + at, other + at, kPieceBytes});
  return out;
}

unsigned bytes_of_piece(const BulkTransfer& load) {
  return load.value.empty() ? kPieceBytes : unsigned(load.value.size());
}

}  // namespace

unsigned char* Executor::shared_range(SharedPlace place, uint64_t bytes, unsigned alignment, int line) {
  const unsigned address = place.offset();
  if (address + bytes > uint64_t(code_.shared_bytes)) {
    stop({.kind = Finding::Kind::out_of_bounds,
          .text = fmt::format("{} copies {} bytes at address {} of shared memory, which has {}", name_of(current_),
                              bytes, address, code_.shared_bytes),
          .site = Site::line(line)});
  }
  if (address % alignment != 0) {
    refuse(fmt::format("{} copies in bulk at address {} of shared memory, no multiple of {}", name_of(current_),
                       address, alignment),
           line);
  }
  return blocks_[size_t(place.rank())].shared + address;
}

// ---- What a copy moves ----

void Executor::check_box(const TensorBox& box, const BulkCopy& copy, int line) {
  if (!box.is_valid()) refuse("a bulk copy by memory that holds no tensor map", line);
  if (box.rank != copy.rank) {
    refuse(fmt::format("a bulk copy of {} dimensions by a tensor map of {}", copy.rank, box.rank), line);
  }
  // Both end the launch on an H200.
  const int bytes = cuda::bytes_of(box.type);
  if (int64_t(copy.at[0]) * bytes % int64_t(kPieceBytes) != 0) {
    refuse(fmt::format("a bulk copy at the innermost coordinate {}, {} bytes, which is no multiple of {} bytes",
                       copy.at[0], int64_t(copy.at[0]) * bytes, kPieceBytes),
           line);
  }
  for (int d = 0; d < copy.rank && !copy.load; ++d) {
    if (copy.at[d] < 0) refuse(fmt::format("a bulk store at the negative coordinate {}", copy.at[d]), line);
  }
}

// A box lies in shared memory in rows of its innermost extent, one behind the other.
std::vector<Piece> Executor::pieces_of_box(const TensorBox& box, const BulkCopy& copy, SharedPlace place, int line) {
  const auto element = unsigned(cuda::bytes_of(box.type));
  const unsigned row_bytes = box.box[0] * element, span = unsigned(cuda::span_bytes(box.swizzle));
  uint64_t rows = 1;
  for (int d = 1; d < box.rank; ++d) rows *= box.copied(d);
  shared_range(place, rows * row_bytes, span == 0 ? 128 : 8 * span, line);
  unsigned char* const shared = blocks_[size_t(place.rank())].shared;
  std::vector<Piece> out;
  out.reserve(size_t(rows) * row_bytes / kPieceBytes);
  for (unsigned row = 0; row < unsigned(rows); ++row) {  // as many as fit into shared memory
    bool inside = true;
    unsigned rest = row;
    int64_t offset = 0;
    for (int d = 1; d < box.rank; ++d) {
      const int64_t x = copy.at[d] + int64_t(rest % box.copied(d)) * box.steps[size_t(d)];
      rest /= box.copied(d);
      inside = inside && x >= 0 && uint64_t(x) < box.extents[size_t(d)];
      offset += x * int64_t(box.strides[size_t(d)]);
    }
    for (unsigned at = 0; at < row_bytes; at += kPieceBytes) {
      const int64_t x = int64_t(copy.at[0]) * element + at, end = int64_t(box.extents[0]) * element;
      const unsigned address = swizzled(place.offset() + row * row_bytes + at, box.swizzle);
      Piece piece{.shared = shared + address};
      if (inside && x >= 0 && x < end) {
        piece.global = box.base + offset + x;
        // Stores are cut at whole pieces (measured on an H200).
        piece.bytes = uint8_t(copy.load ? std::min<int64_t>(end - x, kPieceBytes) : kPieceBytes);
      }
      out.push_back(piece);
    }
  }
  return out;
}

std::vector<Piece> Executor::pieces_of_rows(const BulkCopy& copy, SharedPlace place, int line) {
  const auto global = reinterpret_cast<uintptr_t>(copy.global);
  if (copy.bytes % kPieceBytes != 0 || global % kPieceBytes != 0) {
    refuse(fmt::format("a bulk copy of {} bytes at address {:#x} of global memory; multiples of {} are possible",
                       copy.bytes, global, kPieceBytes),
           line);
  }
  return pieces_of_row(shared_range(place, copy.bytes, kPieceBytes, line), static_cast<unsigned char*>(copy.global),
                       copy.bytes);
}

// From this block's shared memory to that of another.
std::vector<Piece> Executor::pieces_of_source(const BulkCopy& copy, SharedPlace place, int line) {
  if (copy.bytes % kPieceBytes != 0) {
    refuse(fmt::format("a bulk copy of {} bytes; multiples of {} are possible", copy.bytes, kPieceBytes), line);
  }
  unsigned char* const to = shared_range(place, copy.bytes, kPieceBytes, line);
  unsigned char* const from = shared_range(place_in_block(current_, copy.source, line), copy.bytes, kPieceBytes, line);
  return pieces_of_row(to, from, copy.bytes);
}

void Executor::bulk_copy(const BulkCopy& copy, int line) {
  note_change();
  TensorBox box{.type = type_of(copy)};
  if (copy.map) {
    box = decode_tensor_map(copy.map);
    check_box(box, copy, line);
  }
  if (copy.reduce != AtomicOp::exchange && cuda::bytes_of(box.type) == 1) {
    refuse("a bulk reduction of elements of one byte", line);
  }
  if (copy.load) return bulk_load(box, copy, line);
  const SharedPlace from = place_in_block(current_, copy.shared, line);
  BulkTransfer transfer{.pieces = copy.map ? pieces_of_box(box, copy, from, line) : pieces_of_rows(copy, from, line),
                        .thread = current_,
                        .line = line};
  transfer.reduce = copy.reduce;
  transfer.type = box.type;
  start_store(std::move(transfer));
}

// ---- Loads ----

void Executor::bulk_load(const TensorBox& box, const BulkCopy& copy, int line) {
  if (!copy.multicast) {
    return bulk_load_to(box, copy, place_in_cluster(copy.shared, line), place_in_cluster(copy.barrier, line), line);
  }
  // To the same place in each block, for the barrier there.
  if (copy.blocks == 0 || copy.blocks >> blocks_.size() != 0) {
    refuse(fmt::format("{} loads for the blocks {:#x} of its cluster, which has {}", name_of(current_), copy.blocks,
                       blocks_.size()),
           line);
  }
  const unsigned to = place_in_block(current_, copy.shared, line).offset();
  const unsigned barrier = place_in_block(current_, copy.barrier, line).offset();
  for (int r = 0; r < int(blocks_.size()); ++r) {
    if (copy.blocks >> r & 1) bulk_load_to(box, copy, SharedPlace::of(r, to), SharedPlace::of(r, barrier), line);
  }
}

void Executor::bulk_load_to(const TensorBox& box, const BulkCopy& copy, SharedPlace to, SharedPlace barrier, int line) {
  if (to.rank() != barrier.rank()) {
    refuse(fmt::format("{} copies to shared memory of block {} for an mbarrier of block {}", name_of(current_),
                       blocks_[size_t(to.rank())].number, blocks_[size_t(barrier.rank())].number),
           line);
  }
  check_barrier_of_load(barrier, line);
  BulkTransfer transfer{.pieces = copy.from_shared ? pieces_of_source(copy, to, line)
                                  : copy.map       ? pieces_of_box(box, copy, to, line)
                                                   : pieces_of_rows(copy, to, line),
                        .thread = current_,
                        .line = line};
  transfer.barrier = barrier;
  transfer.source_rank = copy.from_shared ? rank() : -1;
  transfer.fill_nan = box.fill_nan;
  start_load(std::move(transfer));
}

// PTX: st.async, of the generic proxy, to shared memory beside its barrier.
void Executor::store_async(unsigned to, const void* x, unsigned bytes, unsigned barrier, int line) {
  note_change();
  const SharedPlace place = place_in_cluster(to, line), at = place_in_cluster(barrier, line);
  if (place.rank() != at.rank()) refuse("an asynchronous store whose mbarrier lies in another block", line);
  mbarrier_at(at, "names", line);
  unsigned char* const shared = shared_at(current_, place, bytes, line);
  BulkTransfer store{.pieces = {{shared, nullptr, 0}}, .thread = current_, .line = line};
  store.barrier = at;
  store.value.assign(static_cast<const unsigned char*>(x), static_cast<const unsigned char*>(x) + bytes);
  start_load(std::move(store));
}

void Executor::check_barrier_of_load(SharedPlace barrier, int line) {
  const Mbarrier& b = mbarrier_at(barrier, "names", line);
  if (b.known_to_async) return;
  stop({.kind = Finding::Kind::race,
        .text = fmt::format("{} names an mbarrier that the asynchronous proxy does not know: no fence_mbarrier_init of "
                            "{} lies behind its initialisation",
                            name_of(current_), name_of(b.init_thread)),
        .site = Site::line(line),
        .memory = {barrier.memory()},
        .notes = {{.text = "initialised", .site = Site::line(b.init_line)}}});
}

void Executor::start_load(BulkTransfer load) {
  const Mbarrier& b = mbarriers_.at(load.barrier);
  if (detector_) {
    load.clock = detector_->fork(current_);
    const Agent agent = agent_of(load, b);
    for (const Piece& p : load.pieces) {
      detector_->agent_access(agent, p.shared, bytes_of_piece(load), Access::write, AgentAccess::begin,
                              Site::line(load.line));
      if (p.bytes == 0) continue;
      detector_->agent_access(agent, p.global, p.bytes, Access::read, AgentAccess::begin, Site::line(load.line));
    }
  }
  for (const Piece& p : load.pieces) std::memset(p.shared, kPoisonByte, bytes_of_piece(load));
  loads_.push_back(std::move(load));
  if (completes_now()) complete_load(loads_.size() - 1);
}

void Executor::complete_load(size_t index) {
  const SharedPlace barrier = loads_[index].barrier;
  const int line = loads_[index].line;
  const auto bytes = int64_t(loads_[index].pieces.size() * bytes_of_piece(loads_[index]));
  const auto found = mbarriers_.find(barrier);
  if (found == mbarriers_.end()) refuse("a bulk load ends at an mbarrier that was invalidated", line);
  Mbarrier& b = found->second;
  land(loads_[index], b);
  loads_.erase(loads_.begin() + std::ptrdiff_t(index));
  add_bytes(b, -bytes, line);
  end_phase_if_complete(barrier, b);
}

// The bytes of a load come, in the phase that its barrier is in.
void Executor::land(const BulkTransfer& load, Mbarrier& b) {
  const Agent agent = agent_of(load, b);
  for (const Piece& p : load.pieces) {
    if (p.bytes > 0) std::memcpy(p.shared, p.global, p.bytes);
    std::copy(load.value.begin(), load.value.end(), p.shared);
    // The NaN of an H200, for elements of any width.
    for (auto at = p.bytes; load.value.empty() && at < kPieceBytes; ++at)
      p.shared[at] = !load.fill_nan ? 0 : at % 2 == 0 ? 0xf7 : 0x7f;
    if (detector_ == nullptr) continue;
    detector_->agent_access(agent, p.shared, bytes_of_piece(load), Access::write, AgentAccess::end,
                            Site::line(load.line));
    if (p.bytes == 0) continue;
    detector_->agent_access(agent, p.global, p.bytes, Access::read, AgentAccess::end, Site::line(load.line));
  }
  if (detector_) join_agent(b, agent, rank_of(load.thread) != load.barrier.rank());
}

// ---- Stores and reductions ----

void Executor::start_store(BulkTransfer store) {
  BulkStores& stores = current().stores;
  store.group = stores.committed + 1;
  if (detector_) {
    if (stores.read_column < 0) {
      stores.read_column = detector_->column_of(fmt::format("a bulk store of thread {}", current_ % stride_), rank());
      stores.write_column =
          detector_->column_of(fmt::format("the end of a bulk store of thread {}", current_ % stride_), rank());
    }
    store.clock = detector_->fork(current_);
    note_store(store, stores);
  }
  if (completes_now()) {
    read_source(store);
    write_target(store);
  }
  stores.transfers.push_back(std::move(store));
}

// What it reads and writes is at this time; others know of it behind the wait for its group.
void Executor::note_store(const BulkTransfer& store, const BulkStores& stores) {
  const Access write = store.reduce == AtomicOp::exchange ? Access::write : Access::atomic;
  Agent agent{.column = stores.read_column, .time = store.group, .clock = store.clock};
  for (const Piece& p : store.pieces) {
    if (p.bytes == 0) continue;
    detector_->agent_access(agent, p.shared, kPieceBytes, Access::read, AgentAccess::whole, Site::line(store.line));
  }
  agent.column = stores.write_column;
  for (const Piece& p : store.pieces) {
    if (p.bytes == 0) continue;
    detector_->agent_access(agent, p.global, p.bytes, write, AgentAccess::whole, Site::line(store.line));
  }
}

void Executor::read_source(BulkTransfer& store) {
  if (!store.read.empty()) return;
  for (const Piece& p : store.pieces) store.read.insert(store.read.end(), p.shared, p.shared + kPieceBytes);
}

void Executor::write_target(BulkTransfer& store) {
  if (store.written) return;
  store.written = true;
  const unsigned char* from = store.read.data();
  for (const Piece& p : store.pieces) {
    if (p.bytes > 0 && store.reduce == AtomicOp::exchange)
      std::memcpy(p.global, from, p.bytes);
    else if (p.bytes > 0)
      reduce_elements(store.reduce, store.type, p.global, from, p.bytes);
    from += kPieceBytes;
  }
}

void Executor::bulk_commit() { ++current().stores.committed; }

void Executor::bulk_wait(unsigned pending, bool read_only) {
  BulkStores& stores = current().stores;
  const uint32_t done = stores.committed > pending ? stores.committed - pending : 0;
  for (BulkTransfer& store : stores.transfers) {
    if (store.group > done) continue;
    read_source(store);
    if (!read_only) write_target(store);
    store.waited = std::max(store.waited, read_only ? BulkTransfer::Waited::read : BulkTransfer::Waited::written);
  }
  std::erase_if(stores.transfers, [](const auto& s) { return s.waited == BulkTransfer::Waited::written; });
  if (detector_ == nullptr || stores.read_column < 0) return;
  detector_->learn(current_, stores.read_column, done);
  if (!read_only) detector_->learn(current_, stores.write_column, done);
}

}  // namespace tilewright::sim
