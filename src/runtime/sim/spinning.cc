// Threads that go round and round.
#include "runtime/sim/executor.h"

#include <fmt/format.h>

namespace tilewright::sim {

namespace {

// Reads, barriers and operations of warps that change nothing: after so many the thread lets the others run, as one
// that waits for what another one writes must; after so many that no launch comes to, nobody will write it.
constexpr int64_t kRestAfter = 1 << 12;
constexpr int64_t kMostQuietSteps = int64_t(1) << 26;

}  // namespace

void Executor::note_quiet_step(Site site) {
  if (++quiet_steps_ % kRestAfter != 0) return;
  if (quiet_steps_ < kMostQuietSteps) return rest(site.line_number());
  stop({.kind = Finding::Kind::deadlock,
        .text = fmt::format("block {} goes on for ever: {} reads and barriers follow each other, and no memory changes "
                            "(blocks run one after the other: none can wait for a later one)",
                            blocks_[0].number, quiet_steps_),
        .site = site});
}

void Executor::outside_of_array(int64_t index, int line) {
  stop({.kind = Finding::Kind::out_of_bounds,
        .text = fmt::format("{} accesses element {} of an array of its own, which has none", name_of(current_), index),
        .site = Site::line(line)});
}

}  // namespace tilewright::sim
