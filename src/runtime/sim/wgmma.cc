#include "runtime/sim/wgmma.h"

#include "runtime/sim/executor.h"
#include "runtime/sim/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

namespace tilewright::sim {

using device::sim::Lane;
using device::sim::WarpOp;

namespace {

constexpr uint32_t kPoison = ~0u;
constexpr size_t kBytesOfA = 16;  // in the registers of a lane

int accumulator_registers(const device::sim::Product& form) {
  return int(form.n) / (form.d == device::sim::Element::f16 ? 4 : 2);
}

bool same(const WarpgroupOrder::Entry& x, const WarpgroupProduct& y) {
  const auto& p = x.form;
  const auto& q = y.form;
  // Where `a` lies is the same for all warps: each takes its own rows.
  return std::tie(p.n, p.k, p.a, p.b, p.d) == std::tie(q.n, q.k, q.a, q.b, q.d) && x.operands == y.operands &&
         x.a_in_registers == y.a_in_registers;
}

std::vector<uint32_t> read_registers(const Accumulators& a) {
  std::vector<uint32_t> out(size_t(kWarpSize) * size_t(a.registers));
  for (size_t l = 0; l < kWarpSize; ++l) {
    std::memcpy(out.data() + l * size_t(a.registers), a.at[l], 4 * size_t(a.registers));
  }
  return out;
}

void show(Accumulators& a, std::vector<uint32_t> values) {
  for (size_t l = 0; l < kWarpSize; ++l) {
    std::memcpy(a.at[l], values.data() + l * size_t(a.registers), 4 * size_t(a.registers));
  }
  a.shown = std::move(values);
}

}  // namespace

void Executor::warpgroup_op(WarpOp op, Lane* const* lanes) {
  const int own = current_ / kWarpSize;
  WarpProducts& warp = products_[size_t(own)];
  const int line = current().line;
  for (int l = 0; l < kWarpSize; ++l) {
    if (lanes[l] == nullptr)
      refuse(fmt::format("{} executes an operation of warpgroups without lane {}", name_of_warp(own), l), line);
  }
  switch (op) {
    case WarpOp::wgmma_fence: return fence_products(warp);
    case WarpOp::wgmma_product: return start_product(lanes);
    case WarpOp::wgmma_commit: ++warp.committed; return;
    case WarpOp::fewer_registers: return give_registers(own, lanes[0]->n, line);
    case WarpOp::more_registers:
      wanted_registers_[size_t(own)] = lanes[0]->n;
      take_registers(own);
      return;
    default: break;
  }
  const bool done = products_have_come(own, lanes[0]->n);
  if (done) finish_groups(own, lanes[0]->n);
  for (int l = 0; l < kWarpSize; ++l) lanes[l]->result = done;
}

// ---- Start ----

// The operation that the warps of a warpgroup come to one after the other must be the same.
void Executor::check_order(const WarpgroupProduct& product, int line) {
  const int own = current_ / kWarpSize, first = first_of_warpgroup(own);
  if (first + kWarpsOfGroup > (rank() + 1) * num_warps_ || num_threads_ % kWarpSize != 0) {
    refuse(fmt::format("{} multiplies as one of a warpgroup, which are four warps; the block has {} threads",
                       name_of_warp(own), num_threads_),
           line);
  }
  WarpgroupOrder& order = orders_[size_t(first)];
  const size_t at = product.number - order.first;
  if (at == order.entries.size()) {
    order.entries.push_back({product.form, product.operands, product.a_in_registers, own, line});
    return;
  }
  const WarpgroupOrder::Entry& other = order.entries[at];
  if (!same(other, product)) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("warps {} and {} of a warpgroup{} come to different products", warp_in_block(other.warp),
                              warp_in_block(own), of_block(rank())),
          .site = Site::line(line),
          .notes = {{.text = "the other", .site = Site::line(other.line)}}});
  }
  // What all four came to is past.
  uint32_t least = product.number + 1;
  for (int w = first; w < first + kWarpsOfGroup; ++w) {
    if (w != own) least = std::min(least, products_[size_t(w)].started);
  }
  for (; order.first < least; ++order.first) order.entries.erase(order.entries.begin());
}

Accumulators& Executor::accumulators_of(WarpProducts& warp, Lane* const* lanes, int registers, int line) {
  auto& all = warp.accumulators;
  auto* const first = static_cast<unsigned char*>(lanes[0]->d);
  for (size_t i = 0; i < all.size();) {
    const bool same = all[i]->at[0] == first && all[i]->registers == registers;
    const bool apart = first + 4 * registers <= all[i]->at[0] || all[i]->at[0] + 4 * all[i]->registers <= first;
    if (same) return *all[i];
    if (!apart && all[i]->in_flight > 0) {
      refuse(fmt::format("products of {} that are in flight share a part of their accumulators",
                         name_of_warp(current_ / kWarpSize)),
             line);
    }
    apart ? void(++i) : void(all.erase(all.begin() + std::ptrdiff_t(i)));
  }
  all.push_back(std::make_unique<Accumulators>());
  for (int l = 0; l < kWarpSize; ++l) all.back()->at[size_t(l)] = static_cast<unsigned char*>(lanes[l]->d);
  all.back()->registers = registers;
  return *all.back();
}

bool Image::differs(const void* at, size_t count) const {
  const size_t offset = size_t(static_cast<const unsigned char*>(at) - begin);
  return std::memcmp(at, bytes.data() + offset, count) != 0;
}

void Executor::fence_products(WarpProducts& warp) {
  warp.fenced = true;
  for (const auto& a : warp.accumulators) a->fenced = read_registers(*a);
  if (detector_ == nullptr) return;
  // Registers that products have not used yet lie on the stacks.
  for (int l = 0; l < kWarpSize; ++l) {
    const int thread = current_ / kWarpSize * kWarpSize + l;
    const void* const from = thread == current_ ? __builtin_frame_address(0) : fibers_[size_t(thread)].stack;
    warp.at_fence[size_t(l)] = {static_cast<const unsigned char*>(from), stacks_.contents(thread, from)};
  }
}

// PTX: wgmma.fence orders what else wrote the registers before the product.
void Executor::check_fence(const WarpProducts& warp, const Accumulators& a, Lane* const* lanes, int line) {
  bool is_fenced = warp.fenced;
  if (!a.shown.empty()) {
    const std::vector<uint32_t> now = read_registers(a);
    is_fenced = now == a.shown || now == a.fenced;
  } else if (is_fenced && lanes[0]->operands.accumulate) {
    for (size_t l = 0; l < kWarpSize; ++l) {
      const size_t bytes = 4 * size_t(a.registers);
      const Image& image = warp.at_fence[l];
      is_fenced = is_fenced && !(image.holds(a.at[l], bytes) && image.differs(a.at[l], bytes));
    }
  }
  if (is_fenced) return;
  refuse(fmt::format("accumulators of {} were written by other instructions, and no wgmma_fence lies between these "
                     "and the product",
                     name_of_warp(current_ / kWarpSize)),
         line);
}

void Executor::check_fence_of_a(const WarpProducts& warp, Lane* const* lanes, int line) {
  for (size_t l = 0; l < kWarpSize; ++l) {
    const Image& image = warp.at_fence[l];
    if (!image.holds(lanes[l]->a, kBytesOfA) || !image.differs(lanes[l]->a, kBytesOfA)) continue;
    refuse(fmt::format("registers of {} that a product reads as `a` were written by other instructions, and no "
                       "wgmma_fence lies between these and the product",
                       name_of_warp(current_ / kWarpSize)),
           line);
  }
}

void Executor::start_product(Lane* const* lanes) {
  const int own = current_ / kWarpSize, line = current().line;
  WarpProducts& warp = products_[size_t(own)];
  WarpgroupProduct product{.form = lanes[0]->product, .operands = lanes[0]->operands};
  product.number = warp.started;
  product.group = warp.committed + 1;
  product.line = line;
  product.a_in_registers = lanes[0]->a != nullptr;
  for (size_t l = 0; l < kWarpSize && product.a_in_registers; ++l) {
    product.a_at[l] = lanes[l]->a;
    std::memcpy(product.a[l].data(), lanes[l]->a, kBytesOfA);
  }
  if (product.a_in_registers) check_fence_of_a(warp, lanes, line);
  check_order(product, line);
  Accumulators& a = accumulators_of(warp, lanes, accumulator_registers(product.form), line);
  if (a.in_flight == 0) {
    check_fence(warp, a, lanes, line);
    a.sums = read_registers(a);
    show(a, std::vector<uint32_t>(a.sums.size(), kPoison));
  }
  ++a.in_flight;
  product.sums = &a;
  ++warp.started;
  if (detector_) note_operands(product, own);
  warp.products.push_back(std::move(product));
  if (completes_now()) {
    for (WarpgroupProduct& p : warp.products) complete_product(p, own);
  }
  for (int w = first_of_warpgroup(own), end = w + kWarpsOfGroup; w < end; ++w) {
    warps_[size_t(w)].runnable |= products_[size_t(w)].waiting;
    products_[size_t(w)].waiting = 0;
  }
}

// Which rows of an operand a warp reads, 16 bytes at a time.
void Executor::note_operands(const WarpgroupProduct& product, int own) {
  WarpProducts& warp = products_[size_t(own)];
  const int rank = rank_of_warp(own);
  if (warp.column < 0)
    warp.column = detector_->column_of(fmt::format("a product of warp {}", warp_in_block(own)), rank);
  std::array<int, kWarpSize> threads;
  std::iota(threads.begin(), threads.end(), own * kWarpSize);
  const Agent agent{.column = warp.column, .time = product.group, .clock = detector_->fork(threads)};
  const auto read = [&](uint64_t descriptor, bool mn_major, unsigned bytes, unsigned first_row, unsigned rows) {
    const OperandLayout layout(descriptor, mn_major, bytes);
    const unsigned step = 16 / bytes;
    for (unsigned row = 0; row < rows; row += mn_major ? step : 1) {
      for (unsigned k = 0; k < product.form.k; k += mn_major ? 1 : step) {
        const unsigned char* const at = blocks_[size_t(rank)].shared + layout.at(first_row + row, k);
        detector_->agent_access(agent, at, 16, Access::read, AgentAccess::whole, Site::line(product.line));
      }
    }
  };
  const auto bytes = [](device::sim::Element e) { return unsigned(bits_of(e)) / 8; };
  const device::sim::WarpgroupOperands& o = product.operands;
  if (!product.a_in_registers) {
    read(o.a, o.mn_major_a, bytes(product.form.a), unsigned(warp_in_block(own) % kWarpsOfGroup) * 16, 16);
  }
  read(o.b, o.mn_major_b, bytes(product.form.b), 0, product.form.n);
}

// ---- End ----

void Executor::complete_product(WarpgroupProduct& product, int warp) {
  if (product.done) return;
  product.done = true;
  check_operands(product, warp);
  multiply_rows(product, warp_in_block(warp) % kWarpsOfGroup, blocks_[size_t(rank_of_warp(warp))].shared);
  if (adversary_.completion == SimCompletion::late) return;
  check_untouched(*product.sums, warp, product.line);
  show(*product.sums, product.sums->sums);
}

// Operands lie in the block's shared memory.
void Executor::check_operands(const WarpgroupProduct& product, int warp) {
  const auto check = [&](uint64_t descriptor, bool mn_major, device::sim::Element type, unsigned rows,
                         const char* name) {
    const OperandLayout layout(descriptor, mn_major, unsigned(bits_of(type)) / 8);
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned k = 0; k < product.form.k; ++k) {
        const unsigned at = layout.at(row, k);
        if (int64_t(at) + layout.bytes <= code_.shared_bytes) continue;
        stop({.kind = Finding::Kind::out_of_bounds,
              .text = fmt::format("a product of {} reads {}[{}, {}] at address {} of shared memory, which has {}",
                                  name_of_warp(warp), name, row, k, at, code_.shared_bytes),
              .site = Site::line(product.line)});
      }
    }
  };
  const device::sim::WarpgroupOperands& o = product.operands;
  if (!product.a_in_registers) check(o.a, o.mn_major_a, product.form.a, 64, "a");
  check(o.b, o.mn_major_b, product.form.b, product.form.n, "b");
}

void Executor::check_untouched(const Accumulators& a, int warp, int line) {
  if (read_registers(a) == a.shown) return;
  refuse(fmt::format("accumulators of {} were written while a product was in flight", name_of_warp(warp)), line);
}

// Nothing may write registers of `a` before the wait for the product that reads them.
void Executor::check_a_untouched(const WarpgroupProduct& product, int warp) {
  for (size_t l = 0; l < kWarpSize && product.a_in_registers; ++l) {
    if (std::memcmp(product.a_at[l], product.a[l].data(), kBytesOfA) == 0) continue;
    refuse(fmt::format("registers of {} were written while a product that reads them as `a` was in flight",
                       name_of_warp(warp)),
           product.line);
  }
}

bool Executor::products_have_come(int warp, unsigned pending) const {
  const WarpProducts& own = products_[size_t(warp)];
  const uint32_t groups = own.committed > pending ? own.committed - pending : 0;
  uint32_t needed = 0;
  for (const WarpgroupProduct& p : own.products) {
    if (p.group <= groups) needed = p.number + 1;
  }
  const int first = first_of_warpgroup(warp);
  for (int w = first; w < first + kWarpsOfGroup; ++w) {
    if (products_[size_t(w)].started < needed) return false;
  }
  return true;
}

void Executor::finish_groups(int warp, unsigned pending) {
  WarpProducts& own = products_[size_t(warp)];
  const uint32_t groups = own.committed > pending ? own.committed - pending : 0;
  for (WarpgroupProduct& p : own.products) {
    if (p.group > groups) break;
    complete_product(p, warp);
    check_a_untouched(p, warp);
    if (--p.sums->in_flight > 0) continue;
    check_untouched(*p.sums, warp, p.line);
    show(*p.sums, p.sums->sums);
  }
  std::erase_if(own.products, [&](const auto& p) { return p.group <= groups; });
  if (detector_ == nullptr || own.column < 0) return;
  for (int l = 0; l < kWarpSize; ++l) detector_->learn(warp * kWarpSize + l, own.column, groups);
}

void Executor::wgmma_wait(unsigned pending, int line) {
  for (;;) {
    Lane lane{.mask = ~0u, .n = pending};
    warp_op(WarpOp::wgmma_wait, &lane, line);
    if (lane.result) return;
    // Another warp may have come since this one looked.
    if (products_have_come(current_ / kWarpSize, pending)) continue;
    products_[size_t(current_ / kWarpSize)].waiting |= 1u << current_ % kWarpSize;
    wait(Fiber::Wait::products, line);
  }
}

}  // namespace tilewright::sim
