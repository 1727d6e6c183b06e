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

void Executor::end_block() {
  finding_ = unfinished();
  if (finding_) return;
  // Stores whose shared memory has been read end with the kernel.
  for (int t = 0; t < num_threads_; ++t) {
    for (BulkTransfer& store : fibers_[size_t(t)].stores.transfers) write_target(store);
  }
}

void Executor::unsupported(const char* what, int line) { refuse(fmt::format("{} are not simulated", what), line); }

// What a block leaves behind whose threads have all ended.
std::optional<Finding> Executor::unfinished() const {
  const auto left = [](const char* what, int line) {
    return Finding{
        .kind = Finding::Kind::misuse, .text = fmt::format("the block ends before {}", what), .site = Site::line(line)};
  };
  if (!loads_.empty()) return left("a bulk load into its shared memory has ended", loads_.front().line);
  if (!arrivals_.empty())
    return left("asynchronous copies into its shared memory have arrived", arrivals_.front().line);
  for (const WarpProducts& warp : products_) {
    if (!warp.products.empty()) return left("anybody waited for a product of a warpgroup", warp.products.front().line);
  }
  for (int t = 0; t < num_threads_; ++t) {
    for (const BulkTransfer& store : fibers_[size_t(t)].stores.transfers) {
      if (store.waited < BulkTransfer::Waited::read) {
        return left("anybody waited for a bulk store to have read its shared memory", store.line);
      }
    }
  }
  return std::nullopt;
}

}  // namespace tilewright::sim
