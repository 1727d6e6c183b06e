// What authors say about tiles beside their shapes: where elements lie, and what lies outside.
#include "lang/builder.h"

#include "ir/verify_parts.h"
#include "support/error.h"

namespace tilewright::lang {

void Builder::annotate(int handle, std::optional<layout::Layout> layout, std::optional<layout::Fragment> fragment,
                       Loc loc) {
  ir::Tile& tile = kernel_.tiles[size_t(tile_id(handle, loc))];
  if (tile.annotated) {
    throw invalid_kernel(loc, "annotate_layout: {} has a {} already", tile.name, tile.layout ? "layout" : "fragment")
        .note("the first one", *tile.annotated)
        .hint("annotate a tile once");
  }
  const ir::Tile before = tile;
  tile.layout = std::move(layout);
  tile.fragment = std::move(fragment);
  tile.placed = {.why = "the author", .loc = loc};
  tile.annotated = std::move(loc);
  try {
    ir::verify_annotated(kernel_);
  } catch (const Error&) {
    tile = before;
    throw;
  }
}

void Builder::annotate_safe_value(int handle, double value, const Loc& loc) {
  ir::Tile& tile = kernel_.tiles[size_t(tile_id(handle, loc))];
  if (tile.on_chip()) {
    throw invalid_kernel(loc, "annotate_safe_value: {} is {}", tile.name, to_string(tile.space))
        .note(fmt::format("{}  {}", tile.name, ir::describe(tile)), tile.loc)
        .hint("reads outside of tensors have a safe value; those outside of tiles on chip are errors");
  }
  ir::check_safe_value(tile, value, loc);
  tile.safe_value = value;
}

}  // namespace tilewright::lang
