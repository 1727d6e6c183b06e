// Runs the synchronisation of one block after place_channel_sync without data: every warp is a list of events, which
// happen in a random order that the barriers allow. The buffers of channels hold the iteration that they were filled
// for. Happens-before is a vector clock per warp and per buffer that a bulk copy fills, so that an access is refused
// unless every order makes it right:
//   - a fill needs that all reads and fills of the buffer happened before it, and are over;
//   - a read needs that the fill of the wanted iteration is over and happened before it;
//   - what products read was written past ordinary stores, or the writer has made it seen;
//   - registers of products under way are not touched;
//   - barriers in shared memory get no more arrivals and bytes in a phase than they count.
// The semantics are those of the PTX manual, and know nothing of tables.
#pragma once

#include "ir/kernel.h"

#include <map>
#include <optional>
#include <string>

namespace tilewright::testing {

struct ExecutionCounts {
  int64_t steps_read = 0;  // iterations that each consumer read
};

struct Execution {
  std::optional<std::string> error;
  ExecutionCounts counts;
};

// `steps`: iterations that every consumer must read, in order, `rounds` times. `extents`: values of variables.
Execution execute(const ir::Program& program, int64_t steps, int rounds, unsigned seed,
                  const std::map<ir::VarId, int64_t>& extents = {});

}  // namespace tilewright::testing
