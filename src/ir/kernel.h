// Kernels and programs.
#pragma once

#include "ir/stmt.h"
#include "ir/tile.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

// The box of a tensor that one bulk copy moves; the host encodes it for the hardware when tensors are bound.
struct TensorMap {
  std::string name;
  int tensor = -1;           // row of Program::tensors
  std::vector<int64_t> box;  // elements, in the order of the tensor's dimensions
  int span_bytes = 0;        // of the swizzle in shared memory: 128, 64, 32 or 0
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

// A grid of blocks, each running `body`. Blocks are independent and may run in any order.
struct Kernel {
  std::string name;
  std::vector<Expr> grid;        // extents, 1 to 3 of them: x, y, z
  std::vector<Expr> block_vars;  // one var per grid dimension, 0 <= var < extent
  int threads = 128;             // of one block, where the target has threads
  Expr thread_var = {};          // 0 <= var < threads, in kernels that passes wrote for one thread; else none
  // x, y, z, where they are arranged in 2 or 3 dimensions; their product is `threads`. Otherwise empty.
  std::vector<int> thread_extents = {};
  std::vector<Tile> tiles;
  std::vector<TensorMap> maps = {};
  std::vector<Role> roles = {};        // empty: all warps run everything
  std::vector<Channel> channels = {};  // of loops whose schedules are expanded
  Block body;
  Loc loc;

  const Tile& tile(TileId id) const { return tiles[size_t(id)]; }
  // For a row that a pass adds at the end of `tiles`: "stem_7", which no other row is called.
  std::string fresh_tile_name(std::string_view stem) const;
  // The row that has the storage of `id`: itself, or what it is a view of.
  TileId storage_of(TileId id) const { return tile(id).view_of >= 0 ? tile(id).view_of : id; }
  bool share_storage(TileId a, TileId b) const { return storage_of(a) == storage_of(b); }
};

enum class TensorKind : uint8_t {
  parameter,  // passed at launch
  workspace,  // allocated by the runtime, contents undefined at launch
  view,       // the memory of another tensor by another shape or dtype; contiguous, as that one is
};

// A tensor in global memory. `strides` are in elements; empty means contiguous row-major.
struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Expr> shape;
  std::vector<Expr> strides;
  TensorKind kind = TensorKind::parameter;
  int view_of = -1;  // of a view: the earlier row of Program::tensors that has the memory; itself no view
  Loc loc;
};

// Elements between neighbours in each dimension: the declared strides, or those of row-major order.
std::vector<Expr> strides_of(const Tensor& tensor);

enum class ScalarKind : uint8_t {
  parameter,  // passed at launch
  extent,     // solved from the tensors' shapes and strides at launch
};

struct Scalar {
  Expr var;
  ScalarKind kind = ScalarKind::parameter;
  Loc loc;
};

// A launch argument: a row of Program::tensors or of Program::scalars, of kind parameter.
struct Param {
  bool is_tensor = true;
  int index = 0;
  friend bool operator==(const Param&, const Param&) = default;
};

// An ordered list of kernels over tensors and scalars.
struct Program {
  std::string name;
  std::vector<Param> params;  // launch arguments in order
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;
  std::vector<Kernel> kernels;
  VarId next_var = 0;  // every var id of the program is below this
  Loc loc;

  Expr fresh_var(std::string var_name, DType dtype = kIndex, Loc var_loc = {}) {
    return var(next_var++, std::move(var_name), dtype, std::move(var_loc));
  }
};

bool equal(const Program& a, const Program& b);

}  // namespace tilewright::ir
