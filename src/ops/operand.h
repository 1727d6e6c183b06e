// How an author names the part of a tile that an op works on, and how the parts of a pair of operands line up.
#pragma once

#include "ir/kernel.h"

#include <string_view>
#include <vector>

namespace tilewright::ops {

// One subscript: `begin` alone is an index; with `extent` a range.
struct Subscript {
  ir::Expr begin;
  ir::Expr extent;
};

// A tile (no subscripts), an element or head address (all subscripts are indices), or a slice.
struct Operand {
  ir::TileId tile = -1;
  std::vector<Subscript> subscripts;
  Loc loc;

  bool whole() const { return subscripts.empty(); }
  bool head_address() const;
};

// The region an operand names by itself: a whole tile, or a slice whose indices have extent 1.
ir::TileRef resolve(const Operand& operand, const ir::Kernel& kernel, std::string_view op);

// The region at a head address, with the peer's extents, right-aligned: A(b, i * 64, 0) against a tile [64, 32] is the
// region [1, 64, 32]. Throws when the rank is too small.
ir::TileRef resolve_head_address(const Operand& head, const ir::TileRef& peer, const ir::Kernel& kernel,
                                 std::string_view op);

// Both regions of a copy-like pair: a head address takes the peer's extents; two of them are one element each.
struct Pair {
  ir::TileRef first, second;
};
Pair resolve_pair(const Operand& first, const Operand& second, const ir::Kernel& kernel, std::string_view op);

// The dimensions of a region whose extent is not the constant 1, in order.
std::vector<int> wide_dims(const ir::TileRef& ref);

// Their extents.
std::vector<ir::Expr> extents_of(const ir::TileRef& ref, const std::vector<int>& dims);

// Throws where source and destination are one tile, or views of one: the order of elements would matter.
void check_distinct(std::string_view op, const ir::TileRef& src, const ir::TileRef& dst, const ir::Kernel& kernel,
                    const Loc& loc);
// Throws where the extents other than 1 do not agree in order.
void check_same_extents(std::string_view op, const ir::TileRef& src, const ir::TileRef& dst, const ir::Kernel& kernel,
                        const Loc& loc);

// "A_shared  shared f16[128, 32]": the text of the note that points at a declaration.
std::string declaration(const ir::Tile& tile);

// `error` with a note at the declaration of each named tile.
Error with_declarations(Error error, const ir::Kernel& kernel, std::initializer_list<ir::TileId> tiles);

}  // namespace tilewright::ops
