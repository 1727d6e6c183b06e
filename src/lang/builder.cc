#include "lang/builder.h"

#include "ir/loop_options.h"
#include "ir/verify.h"
#include "ir/verify_parts.h"
#include "ir/view.h"
#include "support/error.h"

#include <algorithm>
#include <cstdint>

namespace tilewright::lang {

using ir::Expr;
using ir::Stmt;

Builder::Builder(std::string name, Loc loc) {
  program_.name = std::move(name);
  program_.loc = std::move(loc);
}

void Builder::require_no_kernel(const char* what, const Loc& loc) const {
  if (!kernel_open_) return;
  throw invalid_kernel(loc, "{} inside a kernel", what)
      .note("the kernel", kernel_.loc)
      .hint("declare tensors, scalars and workspaces before T::Kernel, or close the kernel's C++ block first");
}

int Builder::add_tensor(ir::Tensor tensor, double safe_value) {
  require_no_kernel("a tensor is declared", tensor.loc);
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size()) {
    throw invalid_kernel(tensor.loc, "tensor {} has {} dimensions but {} strides", tensor.name, tensor.shape.size(),
                         tensor.strides.size());
  }
  const auto check = [&](const std::vector<Expr>& values, const char* what) {
    for (const Expr& e : values) check_launch_value(e, fmt::format("{} of tensor {}", what, tensor.name), tensor.loc);
  };
  check(tensor.shape, "an extent");
  check(tensor.strides, "a stride");
  const int row = int(program_.tensors.size());
  if (tensor.kind == ir::TensorKind::parameter) program_.params.push_back({.is_tensor = true, .index = row});
  program_.tensors.push_back(std::move(tensor));
  return add_handle({.tensor = row, .safe_value = safe_value});
}

int Builder::add_workspace(std::vector<Expr> shape, DType dtype, Loc loc) {
  std::string name = fmt::format("workspace_{}", program_.tensors.size());
  return add_tensor({.name = std::move(name),
                     .dtype = dtype,
                     .shape = std::move(shape),
                     .strides = {},
                     .kind = ir::TensorKind::workspace,
                     .loc = std::move(loc)},
                    0);
}

Expr Builder::add_scalar(std::string name, DType dtype, ir::ScalarKind kind, Loc loc) {
  require_no_kernel("a scalar is declared", loc);
  const Expr var = fresh_var(std::move(name), dtype, loc);
  if (kind == ir::ScalarKind::parameter) {
    program_.params.push_back({.is_tensor = false, .index = int(program_.scalars.size())});
  }
  program_.scalars.push_back({.var = var, .kind = kind, .loc = std::move(loc)});
  return var;
}

std::string Builder::unique_tile_name(ir::Space space) const {
  return fmt::format("{}_{}", to_string(space), kernel_.tiles.size());
}

int Builder::add_tile(ir::Space space, std::string name, std::vector<Expr> shape, DType dtype, Loc loc) {
  if (!kernel_open_) {
    throw invalid_kernel(loc, "a {} tile is allocated outside a kernel", to_string(space))
        .hint("allocate it after T::Kernel; T::alloc_global makes a workspace between kernels");
  }
  if (name.empty()) name = unique_tile_name(space);
  for (const Expr& e : shape) {
    if (e.as_int() && *e.as_int() >= 0) continue;
    if (e.as_int()) throw invalid_kernel(loc, "tile {} has extent {}", name, *e.as_int()).hint("extents are 0 or more");
    throw invalid_kernel(loc, "tile {} has an extent that is not a constant", name)
        .hint("on-chip tiles have constant extents; only tensors may have dynamic ones");
  }
  const auto id = ir::TileId(kernel_.tiles.size());
  kernel_.tiles.push_back({.name = std::move(name),
                           .space = space,
                           .dtype = dtype,
                           .shape = std::move(shape),
                           .layout = std::nullopt,
                           .origin = {},
                           .loc = std::move(loc)});
  return add_handle({.kernel = kernel_count_, .tile = id});
}

namespace {

// Room for the rest of a view's name.
constexpr size_t kMaxRootName = 40;

std::string view_name(const std::string& root, size_t row) {
  return fmt::format("{}_view_{}", root.substr(0, kMaxRootName), row);
}

ir::Tile as_tile(const ir::Tensor& tensor) {
  return {.name = tensor.name,
          .space = ir::Space::global,
          .dtype = tensor.dtype,
          .shape = tensor.shape,
          .layout = std::nullopt,
          .origin = {},
          .loc = tensor.loc};
}

}  // namespace

int Builder::handle_of_tensor(int tensor) const {
  for (const auto& [number, handle] : handles_) {
    if (handle.tensor == tensor) return number;
  }
  throw internal_error({}, "tensor {} has no handle", tensor);
}

int Builder::add_tensor_view(std::string_view word, Handle of, std::vector<Expr> shape, DType dtype, Loc loc) {
  const int root = program_.tensors[size_t(of.tensor)].kind == ir::TensorKind::view
                       ? program_.tensors[size_t(of.tensor)].view_of
                       : of.tensor;
  const ir::Tensor& tensor = program_.tensors[size_t(root)];
  if (!ir::is_contiguous(tensor)) {
    throw invalid_kernel(loc, "{}: {} has strides", word, tensor.name)
        .note(ops::declaration(as_tile(tensor)), tensor.loc)
        .hint("only contiguous tensors have views; copy it into a contiguous one");
  }
  ir::check_view_bits(word, as_tile(tensor), dtype, shape, loc);
  // Another dtype has no use for the safe value of this one.
  const double safe_value = dtype == tensor.dtype ? of.safe_value : 0;
  const int row = int(program_.tensors.size());
  program_.tensors.push_back({.name = view_name(tensor.name, size_t(row)),
                              .dtype = dtype,
                              .shape = std::move(shape),
                              .strides = {},
                              .kind = ir::TensorKind::view,
                              .view_of = root,
                              .loc = std::move(loc)});
  return add_handle({.tensor = row, .safe_value = safe_value});
}

int Builder::add_view(std::string_view word, int handle, std::vector<Expr> shape, DType dtype, Loc loc) {
  const Handle of = this->handle(handle, loc);
  for (const Expr& e : shape) check_made(e, loc);
  if (of.tensor >= 0) return add_tensor_view(word, of, std::move(shape), dtype, std::move(loc));
  const ir::TileId root = kernel_.storage_of(tile_id(handle, loc));
  const ir::Tile& tile = kernel_.tile(root);
  for (const Expr& e : shape) {
    if (e.as_int() && *e.as_int() >= 0) continue;
    if (e.as_int()) throw invalid_kernel(loc, "{}: the extent {}", word, *e.as_int()).hint("extents are 0 or more");
    throw invalid_kernel(loc, "{}: an extent is not a constant", word)
        .note(ops::declaration(tile), tile.loc)
        .hint("on-chip tiles have constant extents; only tensors may have dynamic ones");
  }
  ir::check_view_bits(word, tile, dtype, shape, loc);
  const auto id = ir::TileId(kernel_.tiles.size());
  kernel_.tiles.push_back({.name = view_name(tile.name, size_t(id)),
                           .space = tile.space,
                           .dtype = dtype,
                           .shape = std::move(shape),
                           .layout = std::nullopt,
                           .view_of = root,
                           .origin = {},
                           .loc = std::move(loc)});
  return add_handle({.kernel = kernel_count_, .tile = id});
}

namespace {

// Large enough a product for `verify` to refuse it.
int saturated_product(const std::vector<int>& extents) {
  int64_t product = 1;
  for (int e : extents) product = std::clamp<int64_t>(product * e, INT32_MIN, INT32_MAX);
  return int(product);
}

}  // namespace

int Builder::open_kernel(std::vector<Expr> grid, std::vector<int> threads, Loc loc) {
  if (kernel_open_) {
    throw invalid_kernel(loc, "a kernel inside a kernel")
        .note("the outer kernel", kernel_.loc)
        .hint("close the first kernel's C++ block before opening the next");
  }
  for (const Expr& e : grid) check_launch_value(e, "a grid extent", loc);
  kernel_ = {};
  kernel_.name = kernel_count_ == 0 ? program_.name : fmt::format("{}_{}", program_.name, kernel_count_);
  kernel_.threads = saturated_product(threads);
  if (threads.size() != 1) kernel_.thread_extents = std::move(threads);
  kernel_.loc = loc;
  constexpr const char* kNames[] = {"bx", "by", "bz"};
  for (size_t d = 0; d < grid.size(); ++d) kernel_.block_vars.push_back(fresh_var(kNames[d], ir::kIndex, loc));
  kernel_.grid = std::move(grid);
  kernel_open_ = true;
  frames_.push_back({.kind = FrameKind::kernel, .loc = std::move(loc)});
  return int(frames_.size()) - 1;
}

namespace {

// A schedule by hand names each statement of the body once. Lets may be left out of the count.
void check_schedule(const ir::ForStmt& loop, const Loc& loc) {
  const ir::AttrValue* value = ir::find_attr(loop.attrs, "order");
  const std::string* text = value ? std::get_if<std::string>(value) : nullptr;
  const auto order = text ? ir::list_from_text(*text) : std::nullopt;
  if (!order) return;
  const auto lets = std::count_if(loop.body.begin(), loop.body.end(),
                                  [](const Stmt& s) { return ir::get_if<ir::LetStmt>(s) != nullptr; });
  const size_t all = loop.body.size(), without_lets = all - size_t(lets);
  if (order->size() == all || order->size() == without_lets) return;
  throw invalid_kernel(loc, "order has {} entries, but the body of this loop has {} statements", order->size(),
                       without_lets)
      .hint("give each statement of the body a position, in the order of the text");
}

}  // namespace

void Builder::close_kernel(int depth) {
  frames_.resize(size_t(depth) + 1, {.kind = FrameKind::kernel});
  kernel_.body = std::move(frames_.back().stmts);
  frames_.pop_back();
  program_.kernels.push_back(std::move(kernel_));
  kernel_ = {};
  kernel_open_ = false;
  ++kernel_count_;
}

const Expr& Builder::block_var(int dim) const { return kernel_.block_vars[size_t(dim)]; }

Builder::Frame& Builder::top(const Loc& loc) {
  if (frames_.empty()) {
    throw invalid_kernel(loc, "a statement outside a kernel").hint("open one with T::Kernel first");
  }
  return frames_.back();
}

// Scopes close in the order of C++ blocks unless an author keeps their objects.
[[noreturn]] void refuse_order() {
  throw invalid_kernel({}, "a loop ends after the kernel, or inside a loop or branch, that it does not stand in")
      .hint("write loops as for (auto i : T::serial(n)) { ... }, and let kernels end with their C++ block");
}

Builder::Frame Builder::pop(FrameKind kind) {
  if (frames_.empty() || frames_.back().kind != kind) refuse_order();
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  return frame;
}

int Builder::open_loop(ir::LoopKind kind, std::vector<ir::LoopDim> dims, ir::Attrs attrs, Loc loc) {
  top(loc);
  check_depth(loc);
  for (const ir::LoopDim& dim : dims) check_made(dim.begin, loc), check_made(dim.extent, loc);
  Frame frame{.kind = FrameKind::loop, .loc = std::move(loc)};
  for (const ir::LoopDim& dim : dims) frame.vars.push_back(dim.var);
  frame.loop = {.kind = kind, .dims = std::move(dims), .attrs = std::move(attrs), .body = {}};
  frames_.push_back(std::move(frame));
  return int(frames_.size()) - 1;
}

void Builder::join_loops(int depth, std::vector<Expr> vars) { frames_[size_t(depth)].vars = std::move(vars); }

void Builder::close_loop(int depth) {
  const bool in_order = depth >= 0 && int(frames_.size()) > depth &&
                        std::all_of(frames_.begin() + depth, frames_.end(),
                                    [](const Frame& frame) { return frame.kind == FrameKind::loop; });
  if (!in_order) refuse_order();
  while (int(frames_.size()) > depth) {
    Frame frame = pop(FrameKind::loop);
    frame.loop.body = std::move(frame.stmts);
    check_schedule(frame.loop, frame.loc);
    append(ir::make_stmt(std::move(frame.loop), frame.loc));
  }
}

void Builder::abandon_loop(int depth, bool unwinding) {
  if (depth < 0 || int(frames_.size()) <= depth) return;
  if (!deferred_) {
    deferred_ = invalid_kernel(frames_[size_t(depth)].loc, "the body of this loop was left by a C++ {}",
                               unwinding ? "exception" : "break or return")
                    .hint("the C++ loop only records the body once; T::loop_break() leaves the kernel's loop");
  }
  frames_.resize(size_t(depth), {.kind = FrameKind::kernel});
}

void Builder::abandon_body() {
  if (frames_.empty()) return;
  if (!deferred_) {
    deferred_ = invalid_kernel(frames_.back().loc, "the body of this {} was left by a C++ exception",
                               frames_.back().kind == FrameKind::while_loop ? "while_" : "if_")
                    .hint("the C++ function only records the body; nothing that it throws is part of the kernel");
  }
  frames_.pop_back();
}

const Expr& Builder::loop_var(int depth, int dim) const {
  if (depth >= 0 && size_t(depth) < frames_.size() && size_t(dim) < frames_[size_t(depth)].vars.size()) {
    return frames_[size_t(depth)].vars[size_t(dim)];
  }
  throw invalid_kernel({}, "the variable of a loop that is not open is asked for")
      .hint("write loops as for (auto i : T::serial(n)) { ... }");
}

void Builder::open_if(Expr condition, Loc loc) {
  top(loc);
  check_depth(loc);
  check_made(condition, loc);
  frames_.push_back({.kind = FrameKind::if_then, .condition = std::move(condition), .loc = std::move(loc)});
}

void Builder::close_if() {
  const bool in_else = !frames_.empty() && frames_.back().kind == FrameKind::if_else;
  Frame frame = pop(in_else ? FrameKind::if_else : FrameKind::if_then);
  ir::IfStmt branch{.condition = frame.condition, .then = in_else ? frame.then : frame.stmts, .otherwise = {}};
  if (in_else) branch.otherwise = std::move(frame.stmts);
  append(ir::make_stmt(std::move(branch), frame.loc));
}

void Builder::open_else(Loc loc) {
  Frame& frame = top(loc);
  const auto* branch = frame.stmts.empty() ? nullptr : ir::get_if<ir::IfStmt>(frame.stmts.back());
  if (branch == nullptr || !branch->otherwise.empty()) {
    throw invalid_kernel(loc, "else_ does not follow its if_").hint("write T::if_(c, [&] {...}).else_([&] {...})");
  }
  Frame next{
      .kind = FrameKind::if_else, .condition = branch->condition, .then = branch->then, .loc = frame.stmts.back()->loc};
  frame.stmts.pop_back();
  frames_.push_back(std::move(next));
}

void Builder::open_while(Expr condition, Loc loc) {
  top(loc);
  check_depth(loc);
  check_made(condition, loc);
  frames_.push_back({.kind = FrameKind::while_loop, .condition = std::move(condition), .loc = std::move(loc)});
}

void Builder::close_while() {
  Frame frame = pop(FrameKind::while_loop);
  append(ir::make_stmt(ir::WhileStmt{.condition = frame.condition, .body = std::move(frame.stmts)}, frame.loc));
}

void Builder::append(Stmt stmt) {
  Frame& frame = top(stmt->loc);
  check_made(stmt);
  ++num_appended_;
  frame.stmts.push_back(std::move(stmt));
}

Expr Builder::let(Expr value, Loc loc, std::string name) {
  const Expr var = fresh_var(std::move(name), value.dtype(), loc);
  append(ir::make_stmt(ir::LetStmt{.var = var, .value = std::move(value)}, std::move(loc)));
  return var;
}

namespace {

void check_subscripts(const ir::Tile& tile, size_t count, const Loc& loc) {
  if (int(count) == tile.rank()) return;
  throw invalid_kernel(loc, "{} has {} dimensions but {} indices are given", tile.name, tile.rank(), count)
      .note(ops::declaration(tile), tile.loc)
      .hint(count == 0 ? "an element needs one index per dimension" : "give one index per dimension");
}

}  // namespace

void Builder::store(int handle, std::vector<Expr> indices, Expr value, Loc loc) {
  const ir::TileId id = tile_id(handle, loc);
  check_subscripts(kernel_.tile(id), indices.size(), loc);
  value = ir::cast(std::move(value), kernel_.tile(id).dtype, loc);
  append(ir::make_stmt(ir::StoreStmt{.tile = id, .indices = std::move(indices), .value = std::move(value)}, loc));
}

void Builder::check_atomic(ir::AtomicKind kind, int handle, ir::MemoryOrder order, const Loc& loc) {
  ir::check_atomic(kind, order, kernel_.tile(tile_id(handle, loc)), loc);
}

Expr Builder::atomic(ir::AtomicKind kind, int handle, std::vector<Expr> indices, Expr value, ir::MemoryOrder order,
                     bool with_prev, Loc loc) {
  check_atomic(kind, handle, order, loc);
  const ir::TileId id = tile_id(handle, loc);
  check_subscripts(kernel_.tile(id), indices.size(), loc);
  const Expr prev = with_prev ? fresh_var("prev", kernel_.tile(id).dtype, loc) : Expr();
  append(ir::make_stmt(ir::AtomicStmt{.kind = kind,
                                      .tile = id,
                                      .indices = std::move(indices),
                                      .value = std::move(value),
                                      .prev = prev,
                                      .order = order},
                       loc));
  return prev;
}

Expr Builder::load(int handle, std::vector<Expr> indices, Loc loc) {
  const ir::TileId id = tile_id(handle, loc);
  const ir::Tile& tile = kernel_.tile(id);
  check_subscripts(tile, indices.size(), loc);
  return keep(ir::load(id, tile.name, tile.dtype, std::move(indices), std::move(loc)));
}

const ir::Tile& Builder::open_tile(const Handle& handle, const Loc& loc) const {
  const ir::Kernel& open = kernel(loc);
  if (handle.kernel == kernel_count_) return open.tile(handle.tile);
  throw invalid_kernel(loc, "a tile of another kernel is used here")
      .note("this kernel", open.loc)
      .hint("on-chip tiles live in one kernel; pass data on through T::alloc_global");
}

ir::TileId Builder::tile_id(int number, const Loc& loc) {
  const Handle& known = handle(number, loc);
  kernel(loc);
  if (known.kernel == kernel_count_) return known.tile;
  if (known.tensor < 0) open_tile(known, loc);
  const ir::Tensor& tensor = program_.tensors[size_t(known.tensor)];
  const ir::TileId root = tensor.view_of >= 0 ? tile_id(handle_of_tensor(tensor.view_of), loc) : -1;
  Handle& h = handles_.at(number);
  h.kernel = kernel_count_;
  h.tile = ir::TileId(kernel_.tiles.size());
  kernel_.tiles.push_back({.name = tensor.name,
                           .space = ir::Space::global,
                           .dtype = tensor.dtype,
                           .shape = tensor.shape,
                           .tensor = h.tensor,
                           .safe_value = h.safe_value,
                           .layout = std::nullopt,
                           .view_of = root,
                           .origin = {},
                           .loc = tensor.loc});
  return h.tile;
}

const ir::Kernel& Builder::kernel(const Loc& loc) const {
  if (!kernel_open_) throw invalid_kernel(loc, "a tile is used outside a kernel").hint("open one with T::Kernel first");
  return kernel_;
}

DType Builder::dtype_of(int number, const Loc& loc) const {
  const Handle& h = handle(number, loc);
  return h.tensor >= 0 ? program_.tensors[size_t(h.tensor)].dtype : open_tile(h, loc).dtype;
}

const std::vector<Expr>& Builder::shape_of(int number, const Loc& loc) const {
  const Handle& h = handle(number, loc);
  return h.tensor >= 0 ? program_.tensors[size_t(h.tensor)].shape : open_tile(h, loc).shape;
}

Expr Builder::fresh_var(std::string name, DType dtype, Loc loc) {
  return keep(program_.fresh_var(std::move(name), dtype, std::move(loc)));
}

ir::Program Builder::finish() {
  if (deferred_) throw *deferred_;
  if (kernel_open_) throw internal_error(kernel_.loc, "a kernel is still open");
  if (program_.kernels.empty()) {
    throw invalid_kernel(program_.loc, "{} has no kernel", program_.name).hint("open one with T::Kernel");
  }
  ir::verify(program_);
  return std::move(program_);
}

}  // namespace tilewright::lang
