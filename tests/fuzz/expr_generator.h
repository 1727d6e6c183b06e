// Random scalar expressions over what a place in a program may read.
#pragma once

#include "fuzz/random.h"

#include <tilewright/language.h>

#include <cstdint>
#include <vector>

namespace tilewright::fuzz {

namespace T = tilewright::lang;

// A tensor or an on-chip tile, with its extents at run time.
struct TileInfo {
  T::Tile tile;
  DType dtype;
  std::vector<int64_t> shape;
  bool serial_only = false;  // not to be written in parallel loops
  bool global = false;
  bool frozen = false;                // never written again: its values are exact, so that indices may be read from it
  std::vector<T::Expr> extents = {};  // of a tensor, as declared
  bool strided = false;               // a tensor that has no views
  bool read_only = false;             // a view of a frozen tile
  int root = -1;                      // of a view: the tile whose storage it names

  int storage() const { return root >= 0 ? root : tile.id(); }

  int rank() const { return int(shape.size()); }
  bool empty() const;
};

// An exact integer and the range it lies in.
struct Index {
  T::Expr value;
  int64_t low, high;
};

// A scalar that is not an index: a parameter, a variable or the value of a let.
struct Scalar {
  T::Expr value;
  DType dtype;
};

// What expressions may use at a place. Scopes are kept by truncating to the sizes of an earlier copy.
struct Surroundings {
  std::vector<TileInfo> tiles;    // on chip, written, readable
  std::vector<TileInfo> tensors;  // in global memory
  std::vector<Index> indices;     // block indices, loop variables, integer parameters
  std::vector<Index> nest;        // variables of the innermost Parallel loop
  std::vector<Scalar> scalars;
  std::vector<Scalar> own;  // elements that the current iteration writes and so may read
};

class ExprGenerator {
 public:
  ExprGenerator(Random& random, const Surroundings& surroundings) : random_(random), around_(surroundings) {}

  // An expression of dtype `t` with at most `depth` levels.
  T::Expr make(DType t, int depth);
  // A condition that depends on exact integers only.
  T::Expr exact_condition();
  T::Expr constant(DType t);
  // In [0, extent), for extent >= 1.
  T::Expr index_into(int64_t extent);
  // Near [0, extent), perhaps outside.
  T::Expr index_near(int64_t extent);
  T::Expr element(const TileInfo& tile);

 private:
  T::Expr leaf(DType t);
  T::Expr floating(DType t, int depth);
  T::Expr function(DType t, int depth);
  T::Expr integer(DType t, int depth);
  T::Expr boolean(int depth);
  T::Expr compare(int depth);
  T::Expr select(DType t, int depth);
  T::Expr gathered(int64_t extent);
  const Index& any_index();
  DType any_dtype();

  Random& random_;
  const Surroundings& around_;
  int gathers_ = 0;
};

}  // namespace tilewright::fuzz
