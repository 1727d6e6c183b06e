#include "ir/tile.h"

#include "support/error.h"

#include <algorithm>

namespace tilewright::ir {

std::string_view to_string(Space space) {
  switch (space) {
    case Space::global: return "global";
    case Space::shared: return "shared";
    case Space::fragment: return "fragment";
    case Space::local: return "local";
  }
  return "?";
}

std::string to_string(const Placement& placement) {
  if (placement.why.empty() || !placement.loc.known()) return placement.why;
  const std::string_view path = placement.loc.path();
  return fmt::format("{} at {}:{}", placement.why, path.substr(path.rfind('/') + 1), placement.loc.line);
}

std::vector<int64_t> Tile::extents() const {
  std::vector<int64_t> out;
  for (const Expr& e : shape) {
    if (!e.as_int()) throw internal_error(loc, "tile {} has an extent that is not a constant", name);
    out.push_back(*e.as_int());
  }
  return out;
}

int64_t Tile::num_elems() const {
  int64_t n = 1;
  const std::vector<int64_t> all = extents();
  if (std::find(all.begin(), all.end(), 0) != all.end()) return 0;
  for (int64_t e : all) n *= e;
  return n;
}

bool equal(const TileRef& a, const TileRef& b) {
  if (a.tile != b.tile || a.region.size() != b.region.size() || !equal(a.slot, b.slot)) return false;
  for (size_t d = 0; d < a.region.size(); ++d) {
    if (!equal(a.region[d].begin, b.region[d].begin) || !equal(a.region[d].extent, b.region[d].extent)) return false;
  }
  return true;
}

namespace {

std::string extent_text(const Expr& e) {
  if (e.as_int()) return fmt::format("{}", *e.as_int());
  if (e.is(ExprKind::var)) return e->name;
  return "?";
}

}  // namespace

std::string describe(const Tile& tile) {
  std::string out = fmt::format("{} {}[", to_string(tile.space), to_string(tile.dtype));
  for (size_t d = 0; d < tile.shape.size(); ++d) out += (d ? ", " : "") + extent_text(tile.shape[d]);
  return out + "]";
}

}  // namespace tilewright::ir
