// The loops of <tilewright/language.h>.
#include "ir/bounds.h"
#include "ir/loop_options.h"
#include "lang/convert.h"
#include "lang/open_builder.h"
#include "support/error.h"

namespace tilewright::lang {

detail::LoopSpec range_spec(detail::LoopKindTag kind, const Expr& start, const Expr& stop, int64_t step,
                            std::vector<detail::LoopOption> options, SourcePos pos) {
  const Loc loc = to_loc(pos);
  ir::check_step(step, loc);
  const ir::Expr begin = to_index(start, "the start of a loop", loc), end = to_index(stop, "the end of a loop", loc);
  const std::optional<int64_t> from = begin.as_int(), to = end.as_int();
  int64_t steps = 0;
  if (from && to && __builtin_sub_overflow(step > 0 ? *to : *from, step > 0 ? *from : *to, &steps)) {
    throw invalid_kernel(loc, "a loop from {} to {} has more iterations than 64 bits can count", *from, *to)
        .hint("nest two loops");
  }
  const ir::Expr span = step > 0 ? checked_difference(end, begin, loc) : checked_difference(begin, end, loc);
  const int64_t width = step > 0 ? step : -step;
  const ir::Expr count = ir::ceildiv(span, ir::int_imm(width));
  const bool may_be_negative = !(begin.is_int(0) && step > 0);
  const ir::Expr extent = may_be_negative ? ir::binary(ir::ExprKind::max, count, ir::int_imm(0), loc) : count;
  return {.kind = kind, .begin = {start}, .extent = {from_ir(extent)}, .step = step, .options = std::move(options)};
}

namespace {

using Options = std::vector<detail::LoopOption>;

detail::LoopRange<1> range(detail::LoopKindTag kind, const Expr& start, const Expr& stop, int64_t step, Options options,
                           SourcePos pos) {
  const detail::LoopSpec spec = range_spec(kind, start, stop, step, std::move(options), pos);
  return detail::LoopRange<1>([spec, pos] { return detail::open_loop(spec, pos); });
}

}  // namespace

namespace detail {

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
  int64_t points = 1;
  bool countable = true, empty = false;
  for (size_t d = 0; d < domain.size(); ++d) {
    empty |= domain[d].is_int(0);
    int64_t extent = domain[d].as_int().value_or(1);
    // The last dimension is rounded up to whole groups.
    if (d + 1 == domain.size()) {
      countable &= !__builtin_add_overflow(extent, std::min<int64_t>(group_size, extent) - 1, &extent);
    }
    countable &= !__builtin_mul_overflow(points, extent, &points);
  }
  if (!countable && !empty) {
    throw invalid_kernel(loc, "Persistent: the domain has more points than 64 bits can count").hint("nest two loops");
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

}  // namespace tilewright::lang
