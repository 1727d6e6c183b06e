// How the tiles of channels are filled and read, from the accesses of the statements that do it.
#pragma once

#include "ir/op.h"

#include <vector>

namespace tilewright::passes {

// How the buffers of a channel change hands.
struct Handover {
  bool own = false;  // the same warps fill and read: groups of copies, and barriers of threads
  // By what they are filled and read.
  bool fills_bulk = false, fills_copies = false, fills_stores = false;
  bool reads_products = false, reads_loads = false;
  bool reads_async = false;  // past ordinary loads
  int64_t bytes = 0;         // that bulk copies bring for one buffer
  ir::TileId full = -1, empty = -1;

  // What ordinary stores wrote is read past them.
  bool needs_fence() const { return reads_async && (fills_copies || fills_stores); }
};

// One for each row of Kernel::channels. Throws Error{unsupported} for mixtures that no barrier counts.
std::vector<Handover> channel_handovers(const ir::Kernel& kernel);

}  // namespace tilewright::passes
