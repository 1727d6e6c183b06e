// How the elements of an on-chip tile lie in memory on a CPU.
#pragma once

#include "ir/tile.h"
#include "target/cpu.h"

namespace tilewright::passes {

// Tiles with views of another dtype keep their own element type; the others the one that is computed with.
inline DType storage_of(const ir::Tile& tile) { return tile.packed ? tile.dtype : cpu_storage(tile.dtype); }

}  // namespace tilewright::passes
