// How the elements of an on-chip tile lie in memory on a CPU.
#pragma once

#include "ir/tile.h"
#include "target/cpu.h"

namespace tilewright::passes {

// Tiles with views of another dtype keep their own element type; the others the one that is computed with.
inline DType storage_of(const ir::Tile& tile) { return tile.packed ? tile.dtype : cpu_storage(tile.dtype); }

constexpr int64_t kLineBytes = 64;  // of the caches

// Bytes of a tile, padding included: whole lines, so that loops over rows may go on into the padding of the last one.
inline int64_t storage_bytes(const ir::Tile& tile) {
  const int64_t bytes = tile.layout->cosize() * bytes_of(storage_of(tile));
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace tilewright::passes
