// <tilewright/language.h> over lang::Builder. The open builder is the one thread-local of the library: C++ statements
// have no other way to find the program they belong to.
#include <tilewright/language.h>

#include "ir/bounds.h"
#include "ir/loop_options.h"
#include "lang/builder.h"
#include "lang/convert.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/raster.h"
#include "ops/reduce.h"
#include "support/error.h"

#include <exception>

namespace tilewright::lang {

namespace {

thread_local std::unique_ptr<Builder> open_builder;

Loc to_loc(SourcePos pos) { return Loc::at(pos.file, pos.line); }

Builder& builder(SourcePos pos) {
  if (!open_builder) {
    throw invalid_kernel(to_loc(pos), "a word of the language is used outside T::prim_func")
        .hint("tensors, kernels and statements stand in the function given to T::prim_func");
  }
  return *open_builder;
}

Builder& builder() { return builder({.file = "", .line = 0}); }

std::vector<ir::Expr> to_extents(const std::vector<Expr>& extents, const Loc& loc) {
  std::vector<ir::Expr> out;
  for (const Expr& e : extents) out.push_back(to_index(e, "an extent", loc));
  return out;
}

ops::Operand to_operand(const Operand& operand) {
  const Loc loc = to_loc(operand.pos);
  Builder& b = builder(operand.pos);
  ops::Operand out{.tile = b.tile_id(operand.tile, loc), .subscripts = {}, .loc = loc};
  const std::vector<ir::Expr>& shape = b.shape_of(operand.tile);
  for (size_t d = 0; d < operand.subscripts.size(); ++d) {
    const Subscript& s = operand.subscripts[d];
    const ir::Expr begin = to_index(s.begin, "an index", loc);
    ops::Subscript subscript{.begin = begin, .extent = {}};
    if (s.kind == Subscript::Kind::range)
      subscript.extent = difference(to_index(s.end, "the end of a slice", loc), begin);
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

int make_tile(ir::Space space, const Shape& shape, DType dtype, const std::string& name, SourcePos pos) {
  const Loc loc = to_loc(pos);
  return builder(pos).add_tile(space, name, to_extents(shape.extents(), loc), dtype, loc);
}

using Options = std::vector<detail::LoopOption>;

detail::LoopRange<1> range(detail::LoopKindTag kind, const Expr& start, const Expr& stop, int64_t step, Options options,
                           SourcePos pos) {
  const Loc loc = to_loc(pos);
  ir::check_step(step, loc);
  const ir::Expr begin = to_index(start, "the start of a loop", loc), end = to_index(stop, "the end of a loop", loc);
  const ir::Expr span = step > 0 ? difference(end, begin) : difference(begin, end);
  const int64_t width = step > 0 ? step : -step;
  const ir::Expr count = ir::ceildiv(span, ir::int_imm(width));
  const bool may_be_negative = !(begin.is_int(0) && step > 0);
  const ir::Expr extent = may_be_negative ? ir::binary(ir::ExprKind::max, count, ir::int_imm(0), loc) : count;
  const detail::LoopSpec spec{
      .kind = kind, .begin = {start}, .extent = {from_ir(extent)}, .step = step, .options = std::move(options)};
  return detail::LoopRange<1>([spec, pos] { return detail::open_loop(spec, pos); });
}

}  // namespace

DType Tile::dtype() const { return builder().dtype_of(id_); }
int Tile::rank() const { return int(builder().shape_of(id_).size()); }

Expr Tile::shape(int dim) const {
  const std::vector<ir::Expr>& shape = builder().shape_of(id_);
  const int rank = int(shape.size());
  if (dim < -rank || dim >= rank) {
    throw invalid_kernel({}, "shape({}) of a tile with {} dimensions", dim, rank);
  }
  const ir::Expr extent = shape[size_t(dim < 0 ? dim + rank : dim)];
  return extent.as_int() ? Expr(*extent.as_int()) : from_ir(extent);
}

Access::operator Expr() const { return from_ir(builder().load(tile_, to_indices(subscripts_), loc_of(subscripts_))); }

void Access::operator=(const Expr& value) const {
  const Loc loc = loc_of(subscripts_);
  Builder& b = builder();
  b.store(tile_, to_indices(subscripts_), to_dtype(value, b.dtype_of(tile_), loc), loc);
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

Expr block_var(int dim) { return from_ir(builder().block_var(dim)); }

namespace {

constexpr const char* kNestNames[] = {"i", "j", "k", "l"};

}  // namespace

int open_loop(const LoopSpec& spec, SourcePos pos) {
  const Loc loc = to_loc(pos);
  const auto kind = ir::LoopKind(spec.kind);
  std::vector<ir::LoopDim> dims;
  for (size_t d = 0; d < spec.extent.size(); ++d) {
    std::string name = kind == ir::LoopKind::parallel ? kNestNames[d % 4] : "k";
    dims.push_back({.var = builder(pos).fresh_var(std::move(name), ir::kIndex, loc),
                    .begin = to_index(spec.begin[d], "the start of a loop", loc),
                    .extent = to_index(spec.extent[d], "the extent of a loop", loc),
                    .step = spec.step});
  }
  return builder(pos).open_loop(kind, std::move(dims), spec.options, loc);
}

int open_grid(const std::vector<Expr>& extents, SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  std::vector<ir::Expr> vars;
  int depth = -1;
  for (size_t d = 0; d < extents.size(); ++d) {
    vars.push_back(b.fresh_var(kNestNames[d % 4], ir::kIndex, loc));
    const ir::LoopDim dim{
        .var = vars.back(), .begin = ir::int_imm(0), .extent = to_index(extents[d], "the extent of a loop", loc)};
    const int opened = b.open_loop(ir::LoopKind::serial, {dim}, {}, loc);
    if (depth < 0) depth = opened;
  }
  b.join_loops(depth, std::move(vars));
  return depth;
}

namespace {

// Read once, before the loop.
ir::Expr kept(const Expr& e, const char* what, Builder& b, const Loc& loc) {
  const ir::Expr index = to_index(e, what, loc);
  return ir::reads_tile(index) ? b.let(index, loc) : index;
}

void check_persistent(const std::vector<ir::Expr>& domain, const ir::Expr& wave_size, const ir::Expr& index,
                      int group_size, const Loc& loc) {
  for (const ir::Expr& e : domain) {
    if (e.as_int().value_or(0) >= 0) continue;
    throw invalid_kernel(loc, "Persistent: the domain has extent {}", *e.as_int()).hint("extents are 0 or more");
  }
  if (group_size < 1) {
    throw invalid_kernel(loc, "Persistent: group_size is {}, but must be at least 1", group_size)
        .hint("1 goes through the last dimension slowest; 8 is the default");
  }
  const std::optional<int64_t> wave = wave_size.as_int(), number = index.as_int();
  if (wave && *wave < 1) {
    throw invalid_kernel(loc, "Persistent: wave_size is {}, but must be at least 1", *wave)
        .hint("it is the number of blocks that share the domain, the extent of the grid");
  }
  if (!number || (*number >= 0 && (!wave || *number < *wave))) return;
  throw invalid_kernel(loc, "Persistent: index is {}, but lies from 0 to wave_size - 1{}", *number,
                       wave ? fmt::format(" = {}", *wave - 1) : "")
      .hint("pass the block's index");
}

// The number of waves; 0 where the arguments of a launch leave none.
ir::Expr num_waves(const ir::Expr& padded, const ir::Expr& wave_size, const ir::Expr& index) {
  const ir::Expr fits = ir::logical_and(ir::le(ir::int_imm(1), wave_size),
                                        ir::logical_and(ir::le(ir::int_imm(0), index), ir::lt(index, wave_size)));
  return ir::select(fits, ir::ceildiv(padded, wave_size), ir::int_imm(0));
}

}  // namespace

int open_persistent(const std::vector<Expr>& domain, const Expr& wave_size, const Expr& index, int group_size,
                    SourcePos pos) {
  const Loc loc = to_loc(pos);
  Builder& b = builder(pos);
  std::vector<ir::Expr> extents;
  for (const Expr& e : domain) extents.push_back(kept(e, "an extent of a domain", b, loc));
  const ir::Expr wave = kept(wave_size, "a wave size", b, loc), number = kept(index, "an index", b, loc);
  check_persistent(extents, wave, number, group_size, loc);
  for (ir::Expr& e : extents) e = ir::binary(ir::ExprKind::max, e, ir::int_imm(0));

  const ir::Expr last = extents.back();
  const ir::Expr group =
      ir::binary(ir::ExprKind::max, ir::int_imm(1), ir::binary(ir::ExprKind::min, ir::int_imm(group_size), last));
  ir::Expr padded = ir::ceildiv(last, group) * group;
  for (size_t d = 0; d + 1 < extents.size(); ++d) padded = padded * extents[d];
  const ir::Expr w = b.fresh_var("wave", ir::kIndex, loc);
  const ir::LoopDim dim{.var = w, .begin = ir::int_imm(0), .extent = num_waves(padded, wave, number)};
  const int depth = b.open_loop(ir::LoopKind::serial, {dim}, {}, loc);

  // The digits of the number, the fastest first.
  ir::Expr rest = b.let(w * wave + number, loc, "point");
  std::vector<ir::Expr> at(extents.size());
  const ir::Expr in_group = ir::floormod(rest, group);
  rest = ir::floordiv(rest, group);
  for (size_t d = extents.size() - 1; d-- > 0;) {
    at[d] = b.let(ir::floormod(rest, extents[d]), loc, "at");
    rest = ir::floordiv(rest, extents[d]);
  }
  at.back() = b.let(rest * group + in_group, loc, "at");
  // Beyond the domain, as what the last wave has too much.
  b.append(ir::make_stmt(
      ir::IfStmt{
          .condition = ir::le(last, at.back()), .then = {ir::make_stmt(ir::ContinueStmt{}, loc)}, .otherwise = {}},
      loc));
  b.join_loops(depth, std::move(at));
  return depth;
}

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

namespace {

Options unroll_options(const UnrollOptions& options) {
  Options out;
  if (options.explicit_) out.emplace_back("explicit", true);
  if (options.factor) out.emplace_back("factor", int64_t(*options.factor));
  return out;
}

std::vector<int64_t> wide(const std::vector<int>& numbers) { return {numbers.begin(), numbers.end()}; }

std::string groups_text(const std::vector<std::vector<int>>& groups) {
  std::vector<std::vector<int64_t>> out;
  for (const std::vector<int>& g : groups) out.push_back(wide(g));
  return ir::groups_text(out);
}

Options pipeline_options(const PipelineOptions& options) {
  Options out = {{"num_stages", int64_t(options.num_stages)}};
  if (!options.order.empty()) out.emplace_back("order", ir::list_text(wide(options.order)));
  if (!options.stage.empty()) out.emplace_back("stage", ir::list_text(wide(options.stage)));
  if (!options.sync.empty()) out.emplace_back("sync", groups_text(options.sync));
  if (!options.group.empty()) out.emplace_back("group", groups_text(options.group));
  return out;
}

}  // namespace

detail::LoopRange<1> serial(const Expr& stop, SourcePos pos) { return range(detail::kSerial, 0, stop, 1, {}, pos); }
detail::LoopRange<1> serial(const Expr& start, const Expr& stop, int64_t step, SourcePos pos) {
  return range(detail::kSerial, start, stop, step, {}, pos);
}
detail::LoopRange<1> unroll(const Expr& stop, SourcePos pos) { return range(detail::kUnrolled, 0, stop, 1, {}, pos); }
detail::LoopRange<1> unroll(const Expr& stop, const UnrollOptions& options, SourcePos pos) {
  return range(detail::kUnrolled, 0, stop, 1, unroll_options(options), pos);
}
detail::LoopRange<1> unroll(const Expr& start, const Expr& stop, int64_t step, SourcePos pos) {
  return range(detail::kUnrolled, start, stop, step, {}, pos);
}
detail::LoopRange<1> unroll(const Expr& start, const Expr& stop, int64_t step, const UnrollOptions& options,
                            SourcePos pos) {
  return range(detail::kUnrolled, start, stop, step, unroll_options(options), pos);
}
detail::LoopRange<1> vectorized(const Expr& stop, SourcePos pos) {
  return range(detail::kVectorized, 0, stop, 1, {}, pos);
}
detail::LoopRange<1> vectorized(const Expr& start, const Expr& stop, SourcePos pos) {
  return range(detail::kVectorized, start, stop, 1, {}, pos);
}
detail::LoopRange<1> Pipelined(const Expr& stop, const PipelineOptions& options, SourcePos pos) {
  return range(detail::kPipelined, 0, stop, 1, pipeline_options(options), pos);
}
detail::LoopRange<1> Pipelined(const Expr& start, const Expr& stop, const PipelineOptions& options, SourcePos pos) {
  return range(detail::kPipelined, start, stop, 1, pipeline_options(options), pos);
}

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
  const ir::Expr v = to_dtype(value, b.dtype_of(dst.tile), to_loc(pos));
  b.append(ops::make_fill(to, v, b.kernel(to_loc(pos)), to_loc(pos)));
}

void clear(const Operand& dst, SourcePos pos) { fill(dst, 0, pos); }

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

void reduce(ops::ReduceKind kind, const Operand& src, const Operand& dst, const ReduceOptions& options, SourcePos pos) {
  const ops::Operand from = to_operand(src), to = to_operand(dst);
  Builder& b = builder(pos);
  b.append(ops::make_reduce(kind, from, to, options.dim, options.clear, b.kernel(to_loc(pos)), to_loc(pos)));
}

}  // namespace

void reduce_sum(const Operand& src, const Operand& dst, const ReduceOptions& options, SourcePos pos) {
  reduce(ops::ReduceKind::sum, src, dst, options, pos);
}
void reduce_max(const Operand& src, const Operand& dst, const ReduceOptions& options, SourcePos pos) {
  reduce(ops::ReduceKind::max, src, dst, options, pos);
}

void use_swizzle(int panel_size, const SwizzleOptions& options, SourcePos pos) {
  Builder& b = builder(pos);
  const ops::Raster raster{.panel_size = panel_size, .order = ops::RasterOrder(options.order)};
  const ir::Stmt stmt = ops::make_use_swizzle(raster, b.kernel(to_loc(pos)), to_loc(pos));
  if (options.enable) b.append(stmt);
}

}  // namespace tilewright::lang
