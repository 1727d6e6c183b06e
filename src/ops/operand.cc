#include "ops/operand.h"

#include "support/error.h"

#include <algorithm>

namespace tilewright::ops {

using ir::Expr;
using ir::Kernel;
using ir::Tile;
using ir::TileRef;

bool Operand::head_address() const {
  return !subscripts.empty() &&
         std::all_of(subscripts.begin(), subscripts.end(), [](const Subscript& s) { return !s.extent; });
}

std::string declaration(const Tile& tile) { return fmt::format("{}  {}", tile.name, ir::describe(tile)); }

Error with_declarations(Error error, const Kernel& kernel, std::initializer_list<ir::TileId> tiles) {
  for (ir::TileId id : tiles) {
    const Tile& tile = kernel.tile(id);
    std::move(error).note(declaration(tile), tile.loc);
  }
  return error;
}

namespace {

void check_rank(const Operand& operand, const Kernel& kernel, std::string_view op) {
  const Tile& tile = kernel.tile(operand.tile);
  if (operand.whole() || int(operand.subscripts.size()) == tile.rank()) return;
  throw with_declarations(invalid_kernel(operand.loc, "{}: {} has {} dimensions but {} subscripts are given", op,
                                         tile.name, tile.rank(), operand.subscripts.size()),
                          kernel, {operand.tile})
      .hint("give one index or slice per dimension; T::all takes a whole dimension");
}

}  // namespace

TileRef resolve_head_address(const Operand& head, const TileRef& peer, const Kernel& kernel, std::string_view op) {
  check_rank(head, kernel, op);
  ir::Region region;
  const size_t rank = head.subscripts.size();
  const size_t peer_rank = peer.region.size();
  for (size_t d = 0; d < peer_rank && d + rank < peer_rank; ++d) {
    if (peer.region[d].extent.is_int(1)) continue;
    const Tile& tile = kernel.tile(head.tile);
    const Tile& other = kernel.tile(peer.tile);
    throw with_declarations(invalid_kernel(head.loc, "{}: {} has {} dimensions, too few for the {} of {}", op,
                                           tile.name, rank, peer_rank, other.name),
                            kernel, {head.tile, peer.tile});
  }
  for (size_t d = 0; d < rank; ++d) {
    const bool has_peer = d + peer_rank >= rank;
    const Expr extent = has_peer ? peer.region[d + peer_rank - rank].extent : ir::int_imm(1);
    region.push_back({.begin = head.subscripts[d].begin, .extent = extent});
  }
  return {.tile = head.tile, .region = std::move(region), .slot = {}};
}

TileRef resolve(const Operand& operand, const Kernel& kernel, std::string_view op) {
  check_rank(operand, kernel, op);
  const Tile& tile = kernel.tile(operand.tile);
  TileRef ref{.tile = operand.tile, .region = {}, .slot = {}};
  for (int d = 0; d < tile.rank(); ++d) {
    if (operand.whole()) {
      ref.region.push_back({.begin = ir::int_imm(0), .extent = tile.shape[size_t(d)]});
      continue;
    }
    const Subscript& s = operand.subscripts[size_t(d)];
    ref.region.push_back({.begin = s.begin, .extent = s.extent ? s.extent : ir::int_imm(1)});
  }
  return ref;
}

Pair resolve_pair(const Operand& first, const Operand& second, const Kernel& kernel, std::string_view op) {
  check_rank(first, kernel, op);
  check_rank(second, kernel, op);
  const bool scalars = first.head_address() && second.head_address();
  Pair pair;
  if (scalars || !first.head_address()) pair.first = resolve(first, kernel, op);
  if (scalars || !second.head_address()) pair.second = resolve(second, kernel, op);
  if (scalars) return pair;
  if (first.head_address()) pair.first = resolve_head_address(first, pair.second, kernel, op);
  if (second.head_address()) pair.second = resolve_head_address(second, pair.first, kernel, op);
  return pair;
}

std::vector<int> wide_dims(const TileRef& ref) {
  std::vector<int> dims;
  for (size_t d = 0; d < ref.region.size(); ++d) {
    if (!ref.region[d].extent.is_int(1)) dims.push_back(int(d));
  }
  return dims;
}

std::vector<Expr> extents_of(const TileRef& ref, const std::vector<int>& dims) {
  std::vector<Expr> out;
  for (int d : dims) out.push_back(ref.region[size_t(d)].extent);
  return out;
}

void check_distinct(std::string_view op, const TileRef& src, const TileRef& dst, const Kernel& kernel, const Loc& loc) {
  if (!kernel.share_storage(src.tile, dst.tile)) return;
  const std::string &from = kernel.tile(src.tile).name, &to = kernel.tile(dst.tile).name;
  const std::string what = src.tile == dst.tile
                               ? fmt::format("{}: source and destination are both {}", op, from)
                               : fmt::format("{}: source {} and destination {} are one tile", op, from, to);
  throw with_declarations(Error(ErrorKind::invalid_kernel, what, loc), kernel, {src.tile, dst.tile})
      .hint("go through another tile, so that the order of elements does not matter");
}

namespace {

std::string extents_text(const TileRef& ref) {
  std::string out = "[";
  for (int d : wide_dims(ref)) {
    const Expr& e = ref.region[size_t(d)].extent;
    out += (out.size() > 1 ? ", " : "") + (e.as_int() ? fmt::format("{}", *e.as_int()) : std::string("?"));
  }
  return out + "]";
}

}  // namespace

void check_same_extents(std::string_view op, const TileRef& src, const TileRef& dst, const Kernel& kernel,
                        const Loc& loc) {
  const std::vector<Expr> from = extents_of(src, wide_dims(src)), to = extents_of(dst, wide_dims(dst));
  if (ir::equal(from, to)) return;
  throw with_declarations(
      invalid_kernel(loc, "{}: {} elements of {} do not fit {} elements of {}", op, extents_text(src),
                     kernel.tile(src.tile).name, extents_text(dst), kernel.tile(dst.tile).name),
      kernel, {src.tile, dst.tile})
      .hint("extents other than 1 must agree in order; slice the larger side");
}

}  // namespace tilewright::ops
