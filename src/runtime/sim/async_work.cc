// When asynchronous work takes place, and what a block leaves behind of it.
#include "runtime/sim/executor.h"

#include <fmt/format.h>

namespace tilewright::sim {

bool Executor::completes_now() {
  const SimCompletion when = adversary_.completion;
  return when == SimCompletion::early || (when == SimCompletion::random && random(2) == 0);
}

// What may end at any time: loads that complete at an mbarrier and arrivals of copies, oldest first unless drawn.
bool Executor::complete_one() {
  const size_t count = loads_.size() + arrivals_.size();
  if (count == 0) return false;
  const size_t i = adversary_.completion == SimCompletion::random ? size_t(random(count)) : 0;
  i < loads_.size() ? complete_load(i) : complete_arrival(arrivals_[i - loads_.size()].thread);
  return true;
}

void Executor::end_block(int rank) {
  if (std::optional<Finding> left = unfinished(rank)) stop(std::move(*left));
  check_visits(rank);
  // Stores whose shared memory has been read end with the kernel.
  for (int t = rank * stride_; t < (rank + 1) * stride_; ++t) {
    for (BulkTransfer& store : fibers_[size_t(t)].stores.transfers) write_target(store);
  }
}

// What a block leaves behind whose threads have all ended.
std::optional<Finding> Executor::unfinished(int rank) const {
  const auto left = [](const char* what, int line) {
    return Finding{
        .kind = Finding::Kind::misuse, .text = fmt::format("the block ends before {}", what), .site = Site::line(line)};
  };
  for (const BulkTransfer& load : loads_) {
    if (load.barrier.rank() == rank) return left("a bulk load into its shared memory has ended", load.line);
    if (load.source_rank == rank) return left("a bulk copy from its shared memory has ended", load.line);
  }
  for (const CopiesArrival& arrival : arrivals_) {
    if (rank_of(arrival.thread) == rank)
      return left("asynchronous copies into its shared memory have arrived", arrival.line);
  }
  for (int w = rank * num_warps_; w < (rank + 1) * num_warps_; ++w) {
    const auto& products = products_[size_t(w)].products;
    if (!products.empty()) return left("anybody waited for a product of a warpgroup", products.front().line);
  }
  for (int t = rank * stride_; t < (rank + 1) * stride_; ++t) {
    for (const BulkTransfer& store : fibers_[size_t(t)].stores.transfers) {
      if (store.waited < BulkTransfer::Waited::read) {
        return left("anybody waited for a bulk store to have read its shared memory", store.line);
      }
    }
  }
  return std::nullopt;
}

}  // namespace tilewright::sim
