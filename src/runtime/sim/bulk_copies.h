// Copies by the asynchronous proxy, as the PTX manual ("cp.async.bulk") has them.
#pragma once

#include "runtime/cuda/tensor_map.h"
#include "runtime/sim/cluster.h"

#include <cstdint>
#include <vector>

namespace tilewright::sim {

// 16 bytes of shared memory and what they are in global memory (of a copy between blocks, in the other one's).
struct Piece {
  unsigned char* shared = nullptr;
  unsigned char* global = nullptr;
  uint8_t bytes = 0;  // that exist there, from the first on
};
constexpr unsigned kPieceBytes = 16;

struct BulkTransfer {
  std::vector<Piece> pieces;
  int thread = 0, line = 0;
  // Loads.
  SharedPlace barrier = {};               // of the block that the load is for
  int source_rank = -1;                   // of a copy between blocks
  std::vector<unsigned char> value = {};  // of a store that ends as a load does: one piece
  bool fill_nan = false;
  Clock clock = {};
  // Stores.
  device::sim::AtomicOp reduce = device::sim::AtomicOp::exchange;
  cuda::TensorMapType type = cuda::TensorMapType::u8;  // of the elements of a reduction
  uint32_t group = 0;                                  // from 1 on, in order of their commits
  enum class Waited : uint8_t { no, read, written };
  Waited waited = Waited::no;
  bool written = false;
  std::vector<unsigned char> read = {};  // the bytes of its pieces, once it has read them
};

// The stores and reductions of one thread.
struct BulkStores {
  std::vector<BulkTransfer> transfers;  // that are not waited for, in order of their start
  uint32_t committed = 0;               // groups
  int read_column = -1, write_column = -1;
};

}  // namespace tilewright::sim
