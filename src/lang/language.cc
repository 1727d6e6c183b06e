// <tilewright/language.h> over lang::Builder. The open builder is the one thread-local of the library: C++ statements
// have no other way to find the program they belong to.
#include <tilewright/language.h>

#include "ir/bounds.h"
#include "ir/print.h"
#include "lang/convert.h"
#include "lang/open_builder.h"
#include "ops/access.h"
#include "ops/assume.h"
#include "ops/copy.h"
#include "ops/gather.h"
#include "ops/gemm.h"
#include "ops/raster.h"
#include "ops/reduce.h"
#include "ops/scan.h"
#include "ops/transpose.h"
#include "support/error.h"

#include <exception>

namespace tilewright::lang {

namespace {

thread_local std::unique_ptr<Builder> open_builder;

}  // namespace

ir::Expr checked_difference(const ir::Expr& a, const ir::Expr& b, const Loc& loc) {
  if (!open_builder) return difference(a, b);
  open_builder->check_made(a, loc);
  open_builder->check_made(b, loc);
  return open_builder->adopt(difference(a, b));
}

Loc to_loc(SourcePos pos) { return Loc::at(pos.file, pos.line); }

Builder& builder(SourcePos pos) {
  if (!open_builder) {
    throw invalid_kernel(to_loc(pos), "a word of the language is used outside T::prim_func")
        .hint("tensors, kernels and statements stand in the function given to T::prim_func");
  }
  return *open_builder;
}

std::vector<ir::Expr> to_extents(const std::vector<Expr>& extents, const Loc& loc) {
  std::vector<ir::Expr> out;
  for (const Expr& e : extents) out.push_back(to_index(e, "an extent", loc));
  return out;
}

ops::Operand to_operand(const Operand& operand) {
  const Loc loc = to_loc(operand.pos);
  Builder& b = builder(operand.pos);
  ops::Operand out{.tile = b.tile_id(operand.tile, loc), .subscripts = {}, .loc = loc};
  const std::vector<ir::Expr>& shape = b.shape_of(operand.tile, loc);
  for (size_t d = 0; d < operand.subscripts.size(); ++d) {
    const Subscript& s = operand.subscripts[d];
    const ir::Expr begin = to_index(s.begin, "an index", loc);
    ops::Subscript subscript{.begin = begin, .extent = {}};
    if (s.kind == Subscript::Kind::range) {
      const ir::Expr end = to_index(s.end, "the end of a slice", loc);
      subscript.extent = checked_difference(end, begin, loc);
      if (const auto extent = subscript.extent.as_int(); extent && *extent < 0) {
        throw invalid_kernel(loc, "a slice from {} to {} ends before it begins", ir::print(begin), ir::print(end))
            .hint("T::slice(begin, end) has the elements begin, ..., end - 1");
      }
    }
    if (s.kind == Subscript::Kind::whole) subscript.extent = d < shape.size() ? shape[d] : ir::int_imm(1);
    // Read once: the operation may write what the index reads.
    if (ir::reads_tile(begin)) subscript.begin = b.let(begin, loc);
    out.subscripts.push_back(std::move(subscript));
  }
  return out;
}

std::vector<ir::Expr> to_indices(const std::vector<Subscript>& subscripts) {
  std::vector<ir::Expr> out;
  for (const Subscript& s : subscripts) {
    if (s.kind != Subscript::Kind::index) {
      throw invalid_kernel(to_loc(s.pos), "a slice is used as an element")
          .hint("slices are operands of tile operations; elements have one index per dimension");
    }
    out.push_back(to_index(s.begin, "an index", to_loc(s.pos)));
  }
  return out;
}

Loc loc_of(const std::vector<Subscript>& subscripts) {
  return subscripts.empty() ? Loc() : to_loc(subscripts.front().pos);
}

namespace {

int make_tile(ir::Space space, const Shape& shape, DType dtype, const std::string& name, SourcePos pos) {
  const Loc loc = to_loc(pos);
  return builder(pos).add_tile(space, name, to_extents(shape.extents(), loc), dtype, loc);
}

}  // namespace

DType Tile::dtype(SourcePos pos) const { return builder(pos).dtype_of(id_, to_loc(pos)); }
int Tile::rank(SourcePos pos) const { return int(builder(pos).shape_of(id_, to_loc(pos)).size()); }

Expr Tile::shape(int dim, SourcePos pos) const {
  const std::vector<ir::Expr>& shape = builder(pos).shape_of(id_, to_loc(pos));
  const int rank = int(shape.size());
  if (dim < -rank || dim >= rank) {
    throw invalid_kernel(to_loc(pos), "shape({}) of a tile with {} dimensions", dim, rank)
        .hint("dimensions count from 0, or from -1 backwards");
  }
  const ir::Expr extent = shape[size_t(dim < 0 ? dim + rank : dim)];
  return extent.as_int() ? Expr(*extent.as_int()) : from_ir(extent);
}

Access::operator Expr() const { return from_ir(builder().load(tile_, to_indices(subscripts_), loc_of(subscripts_))); }

void Access::operator=(const Expr& value) const {
  const Loc loc = loc_of(subscripts_);
  Builder& b = builder();
  b.store(tile_, to_indices(subscripts_), to_dtype(value, b.dtype_of(tile_, loc), loc), loc);
}

Tile tensor(const std::string& name, const Shape& shape, DType dtype, const TensorOptions& options, SourcePos pos) {
  const Loc loc = to_loc(pos);
  return Tile(builder(pos).add_tensor({.name = name,
                                       .dtype = dtype,
                                       .shape = to_extents(shape.extents(), loc),
                                       .strides = to_extents(options.strides, loc),
                                       .loc = loc},
                                      options.safe_value));
}

Expr scalar(const std::string& name, DType dtype, SourcePos pos) {
  return from_ir(builder(pos).add_scalar(name, dtype, ir::ScalarKind::parameter, to_loc(pos)));
}

Expr dynamic(const std::string& name, SourcePos pos) {
  return from_ir(builder(pos).add_scalar(name, ir::kIndex, ir::ScalarKind::extent, to_loc(pos)));
}

Tile alloc_global(const Shape& shape, DType dtype, SourcePos pos) {
  const Loc loc = to_loc(pos);
  return Tile(builder(pos).add_workspace(to_extents(shape.extents(), loc), dtype, loc));
}

Tile alloc_shared(const Shape& shape, DType dtype, const std::string& name, SourcePos pos) {
  return Tile(make_tile(ir::Space::shared, shape, dtype, name, pos));
}
Tile alloc_fragment(const Shape& shape, DType dtype, const std::string& name, SourcePos pos) {
  return Tile(make_tile(ir::Space::fragment, shape, dtype, name, pos));
}
Tile alloc_local(const Shape& shape, DType dtype, const std::string& name, SourcePos pos) {
  return Tile(make_tile(ir::Space::local, shape, dtype, name, pos));
}

namespace {

Tile owned_tile(ir::Space space, const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos) {
  if (options.owner == Owner::warp) {
    throw unsupported(to_loc(pos),
                      "a {} tile owned by each warp needs code at the level of threads, which is not built",
                      to_string(space));
  }
  return Tile(make_tile(space, shape, dtype, options.name, pos));
}

}  // namespace

Tile alloc_shared(const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos) {
  return owned_tile(ir::Space::shared, shape, dtype, options, pos);
}
Tile alloc_fragment(const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos) {
  return owned_tile(ir::Space::fragment, shape, dtype, options, pos);
}
Tile alloc_local(const Shape& shape, DType dtype, const TileOptions& options, SourcePos pos) {
  return owned_tile(ir::Space::local, shape, dtype, options, pos);
}

Var alloc_var(DType dtype, const Expr& init, SourcePos pos) {
  const int id = make_tile(ir::Space::local, Shape(std::vector<Expr>{}), dtype, {}, pos);
  builder(pos).store(id, {}, to_dtype(init, dtype, to_loc(pos)), to_loc(pos));
  return Var(id);
}
Var alloc_var(DType dtype, SourcePos pos) {
  return Var(make_tile(ir::Space::local, Shape(std::vector<Expr>{}), dtype, {}, pos));
}

void assume(const Expr& condition, SourcePos pos) {
  Builder& b = builder(pos);
  b.append(ops::make_assume(to_condition(condition, to_loc(pos)), b.kernel(to_loc(pos)), to_loc(pos)));
}

namespace {

Tile make_view(const char* word, const Tile& tile, const std::vector<Expr>* shape, DType dtype, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  std::vector<ir::Expr> extents = shape ? to_extents(*shape, loc) : b.shape_of(tile.id(), loc);
  return Tile(b.add_view(word, tile.id(), std::move(extents), dtype, loc));
}

}  // namespace

Tile reshape(const Tile& tile, const Shape& shape, SourcePos pos) {
  return make_view("reshape", tile, &shape.extents(), tile.dtype(pos), pos);
}
Tile view(const Tile& tile, const Shape& shape, DType dtype, SourcePos pos) {
  return make_view("view", tile, &shape.extents(), dtype, pos);
}
Tile view(const Tile& tile, const Shape& shape, SourcePos pos) {
  return make_view("view", tile, &shape.extents(), tile.dtype(pos), pos);
}
Tile view(const Tile& tile, DType dtype, SourcePos pos) { return make_view("view", tile, nullptr, dtype, pos); }

Expr let(const Expr& value, SourcePos pos) { return from_ir(builder(pos).let(to_strong(value), to_loc(pos))); }

namespace {

size_t grid_dim(int dim, SourcePos pos) {
  const ir::Kernel& kernel = builder(pos).kernel(to_loc(pos));
  if (dim >= 0 && size_t(dim) < kernel.grid.size()) return size_t(dim);
  throw invalid_kernel(to_loc(pos), "dimension {} of the grid is asked for, but it has {}", dim, kernel.grid.size())
      .note("the kernel", kernel.loc)
      .hint("dimensions are numbered from 0");
}

}  // namespace

Expr get_block_binding(int dim, SourcePos pos) { return from_ir(builder(pos).block_var(int(grid_dim(dim, pos)))); }

Expr get_block_extent(int dim, SourcePos pos) {
  const ir::Expr extent = builder(pos).kernel(to_loc(pos)).grid[grid_dim(dim, pos)];
  return extent.as_int() ? Expr(*extent.as_int()) : from_ir(extent);
}

int get_thread_extent(int dim, SourcePos pos) {
  const ir::Kernel& kernel = builder(pos).kernel(to_loc(pos));
  if (dim < 0 || dim > 2) {
    throw invalid_kernel(to_loc(pos), "dimension {} of the threads is asked for", dim).hint("0 to 2");
  }
  if (kernel.thread_extents.empty()) return dim == 0 ? kernel.threads : 1;
  return size_t(dim) < kernel.thread_extents.size() ? kernel.thread_extents[size_t(dim)] : 1;
}

namespace detail {

int open_kernel(std::vector<Expr> grid, const KernelOptions& options, SourcePos pos) {
  const Loc loc = to_loc(pos);
  return builder(pos).open_kernel(to_extents(grid, loc), options.threads.extents(), loc);
}

void close_kernel(int depth) noexcept {
  if (open_builder) open_builder->close_kernel(depth);
}

Expr block_var(int dim) { return get_block_binding(dim, {.file = "", .line = 0}); }

void close_loop(int depth) { builder().close_loop(depth); }

void abandon_loop(int depth) noexcept {
  if (open_builder) open_builder->abandon_loop(depth, std::uncaught_exceptions() > 0);
}

Expr loop_var(int depth, int dim) { return from_ir(builder().loop_var(depth, dim)); }

void open_if(const Expr& condition, SourcePos pos) {
  builder(pos).open_if(to_condition(condition, to_loc(pos)), to_loc(pos));
}
void open_else(SourcePos pos) { builder(pos).open_else(to_loc(pos)); }
void close_if() { builder().close_if(); }
void open_while(const Expr& condition, SourcePos pos) {
  builder(pos).open_while(to_condition(condition, to_loc(pos)), to_loc(pos));
}
void close_while() { builder().close_while(); }
void abandon_body() noexcept {
  if (open_builder) open_builder->abandon_body();
}

void begin_program(const std::string& name, SourcePos pos) {
  if (open_builder) {
    throw invalid_kernel(to_loc(pos), "T::prim_func inside T::prim_func").hint("build one program at a time");
  }
  open_builder = std::make_unique<Builder>(name, to_loc(pos));
}

Program end_program() {
  const std::unique_ptr<Builder> finished = std::move(open_builder);
  return Program(std::make_shared<const ir::Program>(finished->finish()));
}

void abandon_program() noexcept { open_builder.reset(); }

}  // namespace detail

void loop_break(SourcePos pos) { builder(pos).append(ir::make_stmt(ir::BreakStmt{}, to_loc(pos))); }
void loop_continue(SourcePos pos) { builder(pos).append(ir::make_stmt(ir::ContinueStmt{}, to_loc(pos))); }

void copy(const Operand& src, const Operand& dst, SourcePos pos) {
  const ops::Operand from = to_operand(src), to = to_operand(dst);
  Builder& b = builder(pos);
  b.append(ops::make_copy(from, to, b.kernel(to_loc(pos)), to_loc(pos)));
}

void fill(const Operand& dst, const Expr& value, SourcePos pos) {
  const ops::Operand to = to_operand(dst);
  Builder& b = builder(pos);
  const ir::Expr v = to_dtype(value, b.dtype_of(dst.tile, to_loc(pos)), to_loc(pos));
  b.append(ops::make_fill(to, v, b.kernel(to_loc(pos)), to_loc(pos)));
}

void clear(const Operand& dst, SourcePos pos) { fill(dst, 0, pos); }

void transpose(const Operand& src, const Operand& dst, SourcePos pos) {
  const ops::Operand from = to_operand(src), to = to_operand(dst);
  Builder& b = builder(pos);
  b.append(ops::make_transpose(from, to, b.kernel(to_loc(pos)), to_loc(pos)));
}

void gather(const Operand& src, const Operand& index, const Operand& dst, SourcePos pos) {
  const ops::Operand from = to_operand(src), rows = to_operand(index), to = to_operand(dst);
  Builder& b = builder(pos);
  b.append(ops::make_gather(from, rows, to, b.kernel(to_loc(pos)), to_loc(pos)));
}

void gemm(const Operand& A, const Operand& B, const Operand& C, const GemmOptions& options, SourcePos pos) {
  const ops::Operand a = to_operand(A), b = to_operand(B), c = to_operand(C);
  const ops::GemmAttrs attrs{.transpose_A = options.transpose_A,
                             .transpose_B = options.transpose_B,
                             .policy = ops::WarpPolicy(options.policy),
                             .k_pack = options.k_pack};
  Builder& open = builder(pos);
  const ir::Expr clear_accum = to_condition(options.clear_accum, to_loc(pos));
  open.append(ops::make_gemm(a, b, c, attrs, clear_accum, open.kernel(to_loc(pos)), to_loc(pos)));
}

namespace {

void scan(ops::ScanKind kind, const Operand& src, const Operand* dst, const ScanOptions& options, SourcePos pos) {
  const ops::Operand from = to_operand(src), to = dst ? to_operand(*dst) : from;
  const ops::ScanAttrs attrs{.dim = options.dim,
                             .reverse = options.reverse,
                             .combine = {.nan_propagate = options.nan_propagate, .accumulate = options.accumulate}};
  Builder& b = builder(pos);
  b.append(ops::make_scan(kind, from, to, attrs, b.kernel(to_loc(pos)), to_loc(pos)));
}

// Whether some or all elements are not 0: a variable that serial loops set, so that it can be used in parallel loops.
Expr truth_of(const Operand& operand, bool all, SourcePos pos) {
  const Loc loc = to_loc(pos);
  const ops::Operand part = to_operand(operand);
  Builder& b = builder(pos);
  const ir::TileRef ref = ops::resolve(part, b.kernel(loc), all ? "all_of" : "any_of");
  const int result = b.add_tile(ir::Space::local, {}, {}, DType::boolean, loc);
  b.store(result, {}, ir::bool_imm(all, loc), loc);
  const std::vector<int> dims = ops::wide_dims(ref);
  std::vector<ir::Expr> vars;
  std::vector<int> loops;
  for (const int d : dims) {
    vars.push_back(b.fresh_var("k", ir::kIndex, loc));
    const ir::LoopDim dim{.var = vars.back(), .begin = ir::int_imm(0), .extent = ref.region[size_t(d)].extent};
    loops.push_back(b.open_loop(ir::LoopKind::serial, {dim}, {}, loc));
  }
  const ir::Expr element =
      b.adopt(ops::read(b.kernel(loc), ref, ops::coordinates(ref, dims, vars), DType::boolean, loc));
  const ir::ExprKind kind = all ? ir::ExprKind::bit_and : ir::ExprKind::bit_or;
  b.store(result, {}, ir::binary(kind, b.load(result, {}, loc), element, loc), loc);
  for (size_t k = loops.size(); k-- > 0;) b.close_loop(loops[k]);
  return from_ir(b.load(result, {}, loc));
}

}  // namespace

void detail::reduce(std::string_view name, const Operand& src, const Operand& dst, const ReduceOptions& options,
                    SourcePos pos) {
  const ops::Operand from = to_operand(src), to = to_operand(dst);
  const ops::ReduceAttrs attrs{.dim = options.dim,
                               .clear = options.clear,
                               .batch = options.batch,
                               .combine = {.nan_propagate = options.nan_propagate, .accumulate = options.accumulate}};
  Builder& b = builder(pos);
  b.append(ops::make_reduce(name, from, to, attrs, b.kernel(to_loc(pos)), to_loc(pos)));
}

Expr any_of(const Operand& region, SourcePos pos) { return truth_of(region, false, pos); }
Expr all_of(const Operand& region, SourcePos pos) { return truth_of(region, true, pos); }

void cumsum(const Operand& src, const Operand& dst, const ScanOptions& options, SourcePos pos) {
  scan(ops::ScanKind::sum, src, &dst, options, pos);
}
void cumsum(const Operand& tile, const ScanOptions& options, SourcePos pos) {
  scan(ops::ScanKind::sum, tile, nullptr, options, pos);
}
void cummax(const Operand& src, const Operand& dst, const ScanOptions& options, SourcePos pos) {
  scan(ops::ScanKind::max, src, &dst, options, pos);
}
void cummax(const Operand& tile, const ScanOptions& options, SourcePos pos) {
  scan(ops::ScanKind::max, tile, nullptr, options, pos);
}

void use_swizzle(int panel_size, const SwizzleOptions& options, SourcePos pos) {
  Builder& b = builder(pos);
  const ops::Raster raster{.panel_size = panel_size, .order = ops::RasterOrder(options.order)};
  const ir::Stmt stmt = ops::make_use_swizzle(raster, b.kernel(to_loc(pos)), to_loc(pos));
  if (options.enable) b.append(stmt);
}

}  // namespace tilewright::lang
