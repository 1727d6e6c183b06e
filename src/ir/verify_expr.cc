#include "ir/parse.h"
#include "ir/verify_parts.h"
#include "support/error.h"

#include <algorithm>

namespace tilewright::ir {

namespace {

std::string_view reach(VarRole role) {
  switch (role) {
    case VarRole::loop: return "loop";
    case VarRole::block:
    case VarRole::thread: return "kernel";
    case VarRole::let: return "block";
    case VarRole::scalar: return "program";
  }
  return "?";
}

// Expressions share the node of a variable's definition; a position of its own is the more exact one.
const Loc& position(const Expr& e, const Loc& definition, const Loc& stmt) {
  return e.loc().known() && !(e.loc() == definition) ? e.loc() : stmt;
}

}  // namespace

Error&& note_tile(Error&& error, const Tile& tile) {
  return std::move(error).note(fmt::format("{}  {}", tile.name, describe(tile)), tile.loc);
}

void VarScopes::close() {
  for (size_t i = marks_.back(); i < visible_.size(); ++i) definitions_[visible_[i]].visible = false;
  visible_.resize(marks_.back());
  marks_.pop_back();
}

void VarScopes::define(const Expr& var, VarRole role, const Loc& loc) {
  if (!var.is(ExprKind::var)) throw invalid_kernel(loc, "a definition without a variable").hint("define a variable");
  check_name(var->name, loc);
  const VarId id = var.var_id();
  if (id < 0 || id >= next_var_) {
    throw invalid_kernel(loc, "variable {} has id {}, but the program's ids are 0 to {}", var->name, id, next_var_ - 1)
        .hint("take variables from Program::fresh_var");
  }
  const auto [it, is_new] = definitions_.try_emplace(id);
  if (!is_new) {
    throw invalid_kernel(loc, "variable {} with id {} is defined twice", var->name, id)
        .note(fmt::format("{}  the first definition", it->second.name), it->second.loc)
        .hint("give each definition a variable of its own");
  }
  it->second = {.name = var->name, .dtype = var.dtype(), .role = role, .loc = loc};
  visible_.push_back(id);
}

void VarScopes::use(const Expr& var, const Loc& loc) const {
  const auto it = definitions_.find(var.var_id());
  if (it == definitions_.end()) {
    throw invalid_kernel(position(var, {}, loc), "{} is used here but nothing defines it before", var->name)
        .hint("loops, lets, grids and scalars define variables, for the statements after them");
  }
  const Definition& d = it->second;
  if (!d.visible) {
    throw invalid_kernel(position(var, d.loc, loc), "{} is used outside the {} that defines it", d.name, reach(d.role))
        .note(fmt::format("{}  defined", d.name), d.loc)
        .hint("keep the value in a tile of rank 0 (alloc_var) if it is needed later");
  }
  if (d.dtype == var.dtype()) return;
  throw invalid_kernel(position(var, d.loc, loc), "{} is used as {} but defined as {}", d.name, to_string(var.dtype()),
                       to_string(d.dtype))
      .note(fmt::format("{}  defined", d.name), d.loc)
      .hint("cast the variable");
}

void check_size(const Expr& e, const Loc& loc) {
  if (e->height > kMaxNesting) {
    throw invalid_kernel(loc, "an expression nested more than {} deep", kMaxNesting)
        .hint("bind parts of it with T::let");
  }
  if (e->size <= kMaxExprSize) return;
  throw invalid_kernel(loc, "an expression with more than {} parts", kMaxExprSize)
      .hint("bind parts that are used more than once with T::let");
}

void ExprChecker::check(const Expr& e, const Loc& loc) {
  seen_.clear();
  if (e) check_size(e, loc);
  visit(e, true, loc);
}

void ExprChecker::check(const Expr& e, DType dtype, std::string_view what, const Loc& loc) {
  check(e, loc);
  if (e.dtype() == dtype) return;
  throw invalid_kernel(loc, "{} has dtype {}", what, to_string(e.dtype()))
      .hint(is_boolean(dtype) ? std::string("compare with a value to get a condition")
                              : fmt::format("cast it to {}", to_string(dtype)));
}

void ExprChecker::check_launch_value(const Expr& e, std::string_view what, const Loc& loc) {
  check(e, kIndex, what, loc);
  std::vector<const ExprNode*> left = {&*e};
  while (!left.empty()) {
    const ExprNode* node = left.back();
    left.pop_back();
    if (seen_.erase(node) == 0) continue;  // checked already
    if (is_float(node->dtype)) {
      throw invalid_kernel(loc, "{} is computed with {}", what, to_string(node->dtype))
          .hint("use integer arithmetic, or pass the rounded value as an integer scalar");
    }
    const bool is_scalar =
        node->kind != ExprKind::var || scopes_.role(var(VarId(node->i), node->name)) == VarRole::scalar;
    if (node->kind == ExprKind::load || !is_scalar) {
      throw invalid_kernel(loc, "{} uses {}, which is not known at launch", what, node->name)
          .hint("use scalars and extents of tensors");
    }
    for (const Expr& a : node->args) left.push_back(&*a);
  }
}

// Nodes that are shared are visited once.
void ExprChecker::visit(const Expr& e, bool certain, const Loc& loc) {
  if (!e) throw invalid_kernel(loc, "an expression is missing").hint("the statement was built without a value");
  if (!seen_.insert(&*e).second) return;
  if (e.is(ExprKind::var)) scopes_.use(e, loc);
  for (size_t i = 0; i < e.args().size(); ++i) {
    // A side of a select may never be evaluated.
    const bool always = certain && !(e.is(ExprKind::select) && i > 0);
    visit(e.arg(i), always, loc);
  }
  if (e.is(ExprKind::load)) {
    const Loc& at = e.loc().known() ? e.loc() : loc;
    const Tile& tile = check_tile(e.tile_id(), at);
    check_indices(e.tile_id(), e.args(), certain, at);
    // Backends keep narrow floats of on-chip tiles in f32 and may read them as such.
    const bool wide = tile.on_chip() && is_narrow_float(tile.dtype) && e.dtype() == DType::f32;
    if (e.dtype() != tile.dtype && !wide) {
      throw note_tile(
          invalid_kernel(at, "{} is loaded as {} but holds {}", tile.name, to_string(e.dtype()), to_string(tile.dtype))
              .hint("load the tile's dtype and cast the value"),
          tile);
    }
  }
}

const Tile& ExprChecker::check_tile(TileId id, const Loc& loc) const {
  if (kernel_ == nullptr) {
    throw invalid_kernel(loc, "a tile is read outside a kernel").hint("use scalars and extents of tensors");
  }
  if (id >= 0 && size_t(id) < kernel_->tiles.size()) return kernel_->tile(id);
  throw invalid_kernel(loc, "tile {} is used, but the kernel has {} tiles", id, kernel_->tiles.size())
      .note("the kernel", kernel_->loc)
      .hint("tile ids are rows of the kernel's table");
}

void ExprChecker::check_indices(TileId id, std::span<const Expr> indices, bool certain, const Loc& loc) const {
  const Tile& tile = check_tile(id, loc);
  if (int(indices.size()) != tile.rank()) {
    throw note_tile(
        invalid_kernel(loc, "{} has {} dimensions but {} indices are given", tile.name, tile.rank(), indices.size())
            .hint("give one index per dimension"),
        tile);
  }
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].dtype() != kIndex) {
      throw note_tile(invalid_kernel(loc, "index {} of {} has dtype {}", d, tile.name, to_string(indices[d].dtype()))
                          .hint(fmt::format("cast it to {}", to_string(kIndex))),
                      tile);
    }
    const std::optional<int64_t> at = indices[d].as_int();
    if (!at || !tile.on_chip() || !certain || dead_) continue;
    const int64_t extent = *tile.shape[d].as_int();
    if (*at >= 0 && *at < extent) continue;
    throw note_tile(
        invalid_kernel(loc, "index {} of dimension {} of {} is outside its extent {}", *at, d, tile.name, extent)
            .hint(extent > 0 ? fmt::format("indices are 0 to {}", extent - 1)
                             : std::string("a tile of extent 0 has no elements")),
        tile);
  }
}

void ExprChecker::check_ref(const TileRef& ref, std::string_view op, const Loc& loc) {
  const Tile& tile = check_tile(ref.tile, loc);
  if (int(ref.region.size()) != tile.rank()) {
    throw note_tile(invalid_kernel(loc, "{}: {} has {} dimensions but its region has {}", op, tile.name, tile.rank(),
                                   ref.region.size())
                        .hint("a region has one range per dimension"),
                    tile);
  }
  for (size_t d = 0; d < ref.region.size(); ++d) {
    check(ref.region[d].begin, kIndex, fmt::format("{}: the begin of a region of {}", op, tile.name), loc);
    check(ref.region[d].extent, kIndex, fmt::format("{}: an extent of a region of {}", op, tile.name), loc);
    check_region_dim(ref, d, op, loc);
  }
  if (!ref.slot) return;
  check(ref.slot, kIndex, fmt::format("{}: the slot of {}", op, tile.name), loc);
  const std::optional<int64_t> slot = ref.slot.as_int();
  if (!slot || (*slot >= 0 && *slot < tile.stages)) return;
  throw note_tile(invalid_kernel(loc, "{}: slot {} of {}, which has {} stages", op, *slot, tile.name, tile.stages)
                      .hint(fmt::format("slots are 0 to {}", tile.stages - 1)),
                  tile);
}

void ExprChecker::check_region_dim(const TileRef& ref, size_t d, std::string_view op, const Loc& loc) const {
  const Tile& tile = kernel_->tile(ref.tile);
  const std::optional<int64_t> begin = ref.region[d].begin.as_int(), extent = ref.region[d].extent.as_int();
  const auto fail = [&](std::string message, std::string hint) {
    throw note_tile(invalid_kernel(loc, "{}: {}", op, message).hint(std::move(hint)), tile);
  };
  if (extent && *extent < 0) {
    fail(fmt::format("dimension {} of the region of {} has extent {}", d, tile.name, *extent), "extents are 0 or more");
  }
  if (!tile.on_chip()) return;
  if (!extent) {
    fail(fmt::format("dimension {} of the region of {} has an extent that is not a constant", d, tile.name),
         "regions of on-chip tiles have constant extents; their begins may be variable");
  }
  const int64_t size = *tile.shape[d].as_int();
  if (!begin || dead_ || (*begin >= 0 && *begin <= size && *extent <= size - *begin)) return;
  fail(fmt::format("the range {}:+{} of dimension {} of {} is outside its extent {}", *begin, *extent, d, tile.name,
                   size),
       fmt::format("ranges lie in 0:{}", size));
}

}  // namespace tilewright::ir
