// Tiles of one chunk of columns, in place of a row that is made and used within one pass over it.
#pragma once

#include "passes/column_loops.h"

#include <set>

namespace tilewright::passes {

// For one group of statements that run chunk by chunk. From the statement on that writes a row which only the rest of
// the group uses, the chunk lies in a tile of its own, which the host compiler keeps in registers.
class ChunkTiles {
 public:
  // `cols` is the room for a chunk's columns; `ends_here` names the row tiles that no statement after the group uses.
  ChunkTiles(ir::Kernel& kernel, const std::vector<ColumnLoop>& group, const std::set<std::string>& ends_here,
             int64_t cols);

  // What declares the tiles, for each place where chunks run.
  ir::Block declarations(const Loc& loc) const;
  // An operand of a statement of the group that means a whole chunk.
  ir::TileRef of_chunk(const ir::TileRef& ref, size_t statement) const;
  bool moves(const ir::TileRef& ref, size_t statement) const { return of_chunk(ref, statement).tile != ref.tile; }
  // The body of a nest of the group, whose accesses to a moved tile are to the element `column` of the chunk.
  ir::Block of_nest(const ir::Block& body, size_t statement, const ir::Expr& column) const;
  int64_t cols() const { return cols_; }

 private:
  struct Moved {
    std::string name;   // of the row
    size_t writer = 0;  // the statement from whose store on the chunk's tile is meant
    ir::TileId tile = -1, unchecked = -1;
  };
  const Moved* moved(ir::TileId id) const;
  friend class ChunkAccesses;

  ir::Kernel& kernel_;
  const int64_t cols_;
  std::vector<Moved> moved_;
};

}  // namespace tilewright::passes
