#include "codegen/cpu.h"

#include "codegen/embedded.h"
#include "codegen/emitter.h"
#include "ir/rewrite.h"
#include "passes/cpu_atoms.h"
#include "passes/cpu_storage.h"
#include "support/error.h"

#include <algorithm>
#include <set>

namespace tilewright::codegen {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileId;

namespace {

bool asserts(const Block& body) {
  return ir::any_stmt(body, [](const Stmt& stmt) {
    const auto* op = ir::get_if<OpStmt>(stmt);
    return op && op->def->reports && ir::text_attr(op->attrs, "kind") == "assert";
  });
}

// Whether blocks may access one element of a tensor atomically.
bool shares_elements(const ir::Program& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(), [](const Kernel& kernel) {
    return ir::any_stmt(kernel.body, [&](const Stmt& stmt) {
      const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt);
      return atomic && !kernel.tile(atomic->tile).on_chip();
    });
  });
}

// Two rows of one storage by different element types.
bool reinterprets(const ir::Program& program) {
  const auto differs = [](const auto& rows) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row.view_of >= 0 && row.dtype != rows[size_t(row.view_of)].dtype;
    });
  };
  return differs(program.tensors) ||
         std::any_of(program.kernels.begin(), program.kernels.end(), [&](const Kernel& k) { return differs(k.tiles); });
}

// Whether there are loops, and whether memory is accessed under conditions: a branch, a side of a select, or a check.
class ConditionalAccesses : public ir::Visitor {
 public:
  explicit ConditionalAccesses(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) access(store->tile);
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) access(atomic->tile);
    has_loops |= ir::get_if<ir::ForStmt>(stmt) != nullptr;
    conditions_ += ir::get_if<ir::IfStmt>(stmt) != nullptr;
    visit_parts(stmt);
    conditions_ -= ir::get_if<ir::IfStmt>(stmt) != nullptr;
  }
  void visit(const Expr& e) override {
    if (!e) return;
    if (e.is(ir::ExprKind::load)) access(e.tile_id());
    conditions_ += e.is(ir::ExprKind::select);
    visit_args(e);
    conditions_ -= e.is(ir::ExprKind::select);
  }
  bool has_loops = false, has_conditions = false;

 private:
  void access(TileId id) {
    const Tile& tile = kernel_.tile(id);
    has_conditions |= tile.rank() > 0 && (conditions_ > 0 || !tile.unchecked);
  }

  const Kernel& kernel_;
  int conditions_ = 0;
};

// What statements of the body need from the function around: tiles that they declare by name, numbers of row streams.
class RowState : public ir::Visitor {
 public:
  explicit RowState(const Kernel& kernel) : kernel_(kernel) { visit(kernel.body); }
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op && op->def == &passes::cpu_row_tile()) tiles.insert(kernel_.tile(op->tiles[0].tile).name);
    if (op && ir::find_attr(op->attrs, "stream")) streams.insert(ir::int_attr(op->attrs, "stream", 0));
    visit_parts(stmt);
  }
  std::set<std::string> tiles;
  std::set<int64_t> streams;

 private:
  const Kernel& kernel_;
};

// Writes the body of one kernel.
class CpuKernelWriter : public Emitter {
 public:
  CpuKernelWriter(const ir::Program& program, const Kernel& kernel, TextWriter& out, CpuModule& module)
      : Emitter(program, kernel, Dialect::cpu, out, module.sites), reports_(module.reports), rows_(kernel) {}

  CpuEntry write();

 private:
  void write_op(const OpStmt& op, const Loc& loc) override;
  void write_atomic(const ir::AtomicStmt& atomic, const Loc& loc) override {
    out_.line(exprs_.atomic(atomic, loc), loc);
  }
  std::string loop_hint(const ir::ForStmt& loop, size_t dim) const override;
  std::string first_line(const ir::ForStmt& loop, size_t dim) const override;
  std::string scalar_loop(const Block& body, bool is_last_dim) const;
  void open_while(const ir::WhileStmt& loop, const Loc& loc) override;
  void write_arguments();
  int64_t write_scratch();
  void write_copy(const OpStmt& op, bool in, const Loc& loc);
  void write_prefetch(const OpStmt& op, const Loc& loc);
  void write_row_tile(const OpStmt& op, const Loc& loc);
  void write_gemm(const OpStmt& op, const Loc& loc);
  void write_reduce_row(const OpStmt& op, const Loc& loc);
  void write_accumulate(const OpStmt& op, const Loc& loc);
  void write_result(const OpStmt& op, const std::string& function, std::vector<std::string> args, const Loc& loc);
  void write_reduce_columns(const OpStmt& op, const Loc& loc);
  void write_report(const OpStmt& op, const Loc& loc);

  std::vector<CpuReport>& reports_;
  bool streams_ = false;  // a copy out of scratch may bypass the caches
  const RowState rows_;
};

void CpuKernelWriter::write_arguments() {
  for (size_t i = 0; i < program_.scalars.size(); ++i) {
    const Expr& v = program_.scalars[i].var;
    const std::string type = value_type(v.dtype());
    const std::string value = is_float(v.dtype()) ? fmt::format("{}(tw::bit_cast<double>(scalars[{}]))", type, i)
                                                  : fmt::format("{}(scalars[{}])", type, i);
    out_.line(fmt::format("const {} {} = {};", type, names_.var(v), value));
  }
  for (size_t id = 0; id < kernel_.tiles.size(); ++id) {
    const Tile& tile = kernel_.tiles[id];
    // An unchecked row shares the pointer of the row it was made from.
    if (tile.on_chip() || tile.unchecked) continue;
    const std::string type = names_.memory_type(TileId(id));
    out_.line(
        fmt::format("{}* const {} = static_cast<{}*>(tensors[{}]);", type, names_.tile(TileId(id)), type, tile.tensor),
        tile.loc);
  }
}

int64_t CpuKernelWriter::write_scratch() {
  int64_t bytes = 0;
  for (size_t i = 0; i < kernel_.tiles.size(); ++i) {
    const Tile& tile = kernel_.tiles[i];
    if (!tile.on_chip() || tile.unchecked || tile.view_of >= 0 || is_only_private(TileId(i))) continue;
    if (rows_.tiles.contains(tile.name)) continue;
    if (tile.rank() == 0) {
      declare_local(TileId(i), tile.loc);
      continue;
    }
    const std::string type = names_.memory_type(TileId(i)), name = names_.tile(TileId(i));
    out_.line(fmt::format("{}* const {} = reinterpret_cast<{}*>(scratch + {});  // {}", type, name, type, bytes,
                          ir::describe(tile)),
              tile.loc);
    bytes += passes::storage_bytes(tile);
    declare_views(TileId(i), tile.loc);
  }
  return bytes;
}

CpuEntry CpuKernelWriter::write() {
  CpuEntry entry{.symbol = "tw_" + kernel_.name, .grid = kernel_.grid, .scratch_bytes = 0};
  out_.open(fmt::format("extern \"C\" void {}(void* const* tensors, const long long* scalars, long long first, "
                        "long long last,",
                        entry.symbol),
            kernel_.loc);
  out_.line("                  char* scratch, tw::Failure* failure) {");
  write_arguments();
  entry.scratch_bytes = write_scratch();
  for (const int64_t stream : rows_.streams) out_.line(fmt::format("tw::RowStream stream_{};", stream), kernel_.loc);
  out_.open("for (long long block = first; block < last; ++block) {", kernel_.loc);
  if (const std::string line = scalar_loop(kernel_.body, true); !line.empty()) out_.line(line, kernel_.loc);
  // Blocks that have not begun are not needed after a failed assertion.
  if (asserts(kernel_.body)) out_.line("if (tw::stopped(failure)) return;", kernel_.loc);
  write_block_indices();
  Emitter::write(kernel_.body);
  out_.close();
  if (streams_) out_.line("tw::finish_streaming();");
  out_.close();
  return entry;
}

// What the author asked for, as far as the host compilers take it.
std::string CpuKernelWriter::loop_hint(const ir::ForStmt& loop, size_t dim) const {
  constexpr int64_t kMaxFactor = 65534;  // of g++
  if (loop.kind == ir::LoopKind::parallel) {
    const bool innermost = dim + 1 == loop.dims.size();
    return innermost && !iterations_meet(loop.body) ? "TW_VECTORIZE" : "";
  }
  int64_t factor = ir::int_attr(loop.attrs, "factor", 0);
  if (ir::bool_attr(loop.attrs, "explicit", false)) factor = loop.dims[0].extent.as_int().value_or(0);
  if (loop.kind != ir::LoopKind::unrolled || factor < 1) return "";
  return fmt::format("#pragma GCC unroll {}", std::min(factor, kMaxFactor));
}

std::string CpuKernelWriter::scalar_loop(const Block& body, bool is_last_dim) const {
  ConditionalAccesses accesses(kernel_);
  accesses.visit(body);
  const bool innermost = is_last_dim && !accesses.has_loops;
  return accesses.has_conditions && !innermost ? "TW_SCALAR_LOOP" : "";
}
std::string CpuKernelWriter::first_line(const ir::ForStmt& loop, size_t dim) const {
  return scalar_loop(loop.body, dim + 1 == loop.dims.size());
}

// A loop that never ends can be interrupted.
void CpuKernelWriter::open_while(const ir::WhileStmt& loop, const Loc& loc) {
  out_.open(fmt::format("for (unsigned turn = 0; {};) {{", exprs_.text(loop.condition)), loc);
  sites_.push_back({.tile = {}, .shape = {}, .is_loop = true, .loc = loc, .declared = {}});
  out_.line(fmt::format("if (tw::stops(++turn, failure, {})) return;", sites_.size()), loc);
}

void CpuKernelWriter::write_op(const OpStmt& op, const Loc& loc) {
  if (op.def->assumes) return out_.line(exprs_.assumption(op.scalars[0], loc), loc);
  if (op.def == &passes::cpu_copy_in()) return write_copy(op, true, loc);
  if (op.def == &passes::cpu_copy_out()) return write_copy(op, false, loc);
  if (op.def == &passes::cpu_row_tile()) return write_row_tile(op, loc);
  if (op.def == &passes::cpu_prefetch()) return write_prefetch(op, loc);
  if (op.def == &passes::cpu_gemm()) return write_gemm(op, loc);
  if (op.def == &passes::cpu_reduce_row()) return write_reduce_row(op, loc);
  if (ir::find_attr(op.attrs, "accumulator")) return write_accumulate(op, loc);
  if (op.def == &passes::cpu_reduce_columns()) return write_reduce_columns(op, loc);
  if (op.def->reports) return write_report(op, loc);
  throw internal_error(loc, "op {} reached the CPU emitter", op.def->name);
}

void CpuKernelWriter::write_report(const OpStmt& op, const Loc& loc) {
  const CpuReport& report = reports_.emplace_back(CpuReport::of(op, kernel_, loc));
  const std::string cells = report_cells(op);
  const std::string condition = exprs_.text(op.scalars[0]);
  out_.open(fmt::format("if ({}({})) {{", report.is_assert ? "!" : "", condition), loc);
  out_.line(fmt::format("const tw::i64 cells[] = {{{}}};", cells), loc);
  out_.line(fmt::format("failure->report(failure->host, {}, cells);", reports_.size() - 1), loc);
  if (report.is_assert) out_.line("return;", loc);
  out_.close();
}

void CpuKernelWriter::write_copy(const OpStmt& op, bool in, const Loc& loc) {
  const int64_t rows = ir::int_attr(op.attrs, "rows", 0), cols = ir::int_attr(op.attrs, "cols", 0);
  const int64_t ld = ir::int_attr(op.attrs, "ld", 0);
  std::string src = exprs_.address(op.tiles[0]), dst = exprs_.address(op.tiles[1]);
  const DType from = kernel_.tile(op.tiles[0].tile).dtype, to = kernel_.tile(op.tiles[1].tile).dtype;
  // The memory's type says how its elements are converted.
  if (in && from == DType::f32 && to == DType::tf32) src = fmt::format("reinterpret_cast<const tw::TF32*>({})", src);
  if (!in && converting_type(from, to) != memory_type(to)) {
    dst = fmt::format("reinterpret_cast<{}*>({})", converting_type(from, to), dst);
  }
  const std::string row_stride = exprs_.text(op.scalars[0]);
  const std::string valid = fmt::format("{}, {}", exprs_.text(op.scalars[2]), exprs_.text(op.scalars[3]));
  const bool contiguous = op.scalars[1].is_int(1);
  const std::string strides = contiguous ? row_stride : fmt::format("{}, {}", row_stride, exprs_.text(op.scalars[1]));
  const char* suffix = contiguous ? "" : "_strided";
  if (in) {
    out_.line(fmt::format("tw::copy_in{}<{}, {}, {}, {}>({}, {}, {}, {});", suffix,
                          names_.memory_type(op.tiles[1].tile), rows, cols, ld, src, strides, valid, dst),
              loc);
    return;
  }
  // Only rows that are contiguous on both sides are streamed.
  const bool streams = contiguous && !op.scalars[4].is_int(0);
  streams_ |= streams;
  if (streams && ir::find_attr(op.attrs, "stream")) {
    return out_.line(fmt::format("tw::copy_out_by<{}, {}, {}>(stream_{}, {}, {}, {}, {}, {});", cols, ld,
                                 ir::int_attr(op.attrs, "ragged", 0) != 0, ir::int_attr(op.attrs, "stream", 0), src,
                                 dst, strides, valid, exprs_.text(op.scalars[4])),
                     loc);
  }
  const std::string option = streams ? ", " + exprs_.text(op.scalars[4]) : "";
  out_.line(fmt::format("tw::copy_out{}<{}, {}, {}>({}, {}, {}, {}{});", suffix, rows, cols, ld, src, dst, strides,
                        valid, option),
            loc);
}

void CpuKernelWriter::write_prefetch(const OpStmt& op, const Loc& loc) {
  out_.line(fmt::format("tw::prefetch<{}, {}>({} + ({}));", ir::int_attr(op.attrs, "cols", 0),
                        ir::int_attr(op.attrs, "level", 2), exprs_.address(op.tiles[0]), exprs_.text(op.scalars[0])),
            loc);
}

void CpuKernelWriter::write_row_tile(const OpStmt& op, const Loc& loc) {
  const TileId id = op.tiles[0].tile;
  const int64_t elem_bytes = bytes_of(passes::storage_of(kernel_.tile(id)));
  const int64_t bytes = passes::storage_bytes(kernel_.tile(id));
  out_.line(fmt::format("alignas(64) {} {}[{}];", names_.memory_type(id), names_.tile(id), bytes / elem_bytes), loc);
}

void CpuKernelWriter::write_gemm(const OpStmt& op, const Loc& loc) {
  const auto attr = [&](std::string_view name) { return ir::int_attr(op.attrs, name, 0); };
  const auto flag = [&](std::string_view name) { return attr(name) ? "true" : "false"; };
  out_.line(fmt::format("tw::gemm_tile<{}, {}, {}, {}, {}, {}, {}, {}, {}, {}>({}, {}, {});",
                        names_.memory_type(op.tiles[2].tile), attr("m"), attr("n"), attr("k"), attr("lda"), attr("ldb"),
                        attr("ldc"), flag("transpose_A"), flag("transpose_B"), flag("padded"),
                        exprs_.address(op.tiles[0]), exprs_.address(op.tiles[1]), exprs_.address(op.tiles[2])),
            loc);
}

// "tw::Sum": the functor of a reduction.
std::string functor_name(const OpStmt& op) { return "tw::" + std::get<std::string>(*ir::find_attr(op.attrs, "op")); }

// dst = function(args and what dst held, if it keeps that), rounded.
void CpuKernelWriter::write_result(const OpStmt& op, const std::string& function, std::vector<std::string> args,
                                   const Loc& loc) {
  const bool adds = functor_name(op).ends_with("Sum");  // others hand on one of the elements
  std::vector<Expr> at;
  for (const ir::RegionDim& dim : op.tiles[1].region) at.push_back(dim.begin);
  const std::string dst = exprs_.element(op.tiles[1].tile, at);
  if (ir::int_attr(op.attrs, "keeps", 0)) args.push_back(dst);
  std::string value = fmt::format("{}({})", function, fmt::join(args, ", "));
  const DType dtype = kernel_.tile(op.tiles[1].tile).dtype;
  if (is_narrow_float(dtype) && adds) value = rounded_text(dtype, std::move(value));
  out_.line(fmt::format("{} = {};", dst, value), loc);
}

void CpuKernelWriter::write_reduce_row(const OpStmt& op, const Loc& loc) {
  write_result(
      op, fmt::format("tw::reduce_{}row<{}>", ir::int_attr(op.attrs, "padded", 0) ? "padded_" : "", functor_name(op)),
      {exprs_.address(op.tiles[0]), std::to_string(ir::int_attr(op.attrs, "n", 0))}, loc);
}

void CpuKernelWriter::write_accumulate(const OpStmt& op, const Loc& loc) {
  const std::string name = fmt::format("reduction_{}", ir::int_attr(op.attrs, "accumulator", 0));
  if (op.def == &passes::cpu_begin_accumulate()) {
    const std::string type = names_.memory_type(op.tiles[0].tile);
    return out_.line(fmt::format("tw::RowReduction<{}, {}> {};", functor_name(op), type, name), loc);
  }
  if (op.def == &passes::cpu_end_accumulate()) return write_result(op, name + ".result", {}, loc);
  out_.line(fmt::format("{}.take<{}>({});", name, ir::int_attr(op.attrs, "n", 0), exprs_.address(op.tiles[0])), loc);
}

void CpuKernelWriter::write_reduce_columns(const OpStmt& op, const Loc& loc) {
  const DType dtype = kernel_.tile(op.tiles[1].tile).dtype;
  const char* rounding = dtype == DType::f16 ? "ToF16" : dtype == DType::bf16 ? "ToBF16" : "Exact";
  const auto attr = [&](std::string_view name) { return ir::int_attr(op.attrs, name, 0); };
  out_.line(fmt::format("tw::reduce_columns<{}, tw::{}, {}>({}, {}, {}, {}, {});", functor_name(op), rounding,
                        attr("keeps") ? "true" : "false", exprs_.address(op.tiles[0]), attr("n"), attr("row_stride"),
                        attr("cols"), exprs_.address(op.tiles[1])),
            loc);
}

bool streams_rows(const ir::Program& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(),
                     [](const Kernel& kernel) { return !RowState(kernel).streams.empty(); });
}

}  // namespace

CpuModule emit_cpu(const ir::Program& lowered, const CpuTarget& target) {
  CpuModule module;
  TextWriter out;
  out.line(fmt::format("// {}, generated by Tilewright for {}.", lowered.name, target.name()));
  for (const std::string_view header : {"math.h", "reduce.h", "gemm.h", "atomic.h", "row_stream.h"}) {
    if (header == "atomic.h" && !shares_elements(lowered)) continue;
    if (header == "row_stream.h" && !streams_rows(lowered)) continue;
    out.line(fmt::format("#include <tilewright/device/cpu/{}>", header));
  }
  out.line();
  out.line("namespace tw = tilewright::device::cpu;");
  for (const Kernel& kernel : lowered.kernels) {
    out.line();
    module.entries.push_back(CpuKernelWriter(lowered, kernel, out, module).write());
  }
  module.reinterprets = reinterprets(lowered);
  module.source = out.text();
  module.annotated = out.annotated();
  module.source_map = out.source_map();
  return module;
}

namespace {

constexpr std::string_view kInclude = "#include ", kPrefix = "tilewright/device/";

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(line.size());
  return line;
}

// The path below device/ that an #include line names, seen from `folder`.
std::string included_path(std::string_view line, std::string_view folder) {
  std::string_view name = line.substr(kInclude.size() + 1);
  name = name.substr(0, name.find_first_of("\">"));
  if (name.starts_with(kPrefix)) return std::string(name.substr(kPrefix.size()));
  return std::string(folder) + "/" + std::string(name);
}

// The simulator's header of the same name stands in for one of CUDA.
std::string stand_in(const std::string& path, bool simulated) {
  constexpr std::string_view kCuda = "cuda/";
  if (!simulated || !path.starts_with(kCuda)) return path;
  const std::string out = "sim/" + path.substr(kCuda.size());
  return embedded_file(out).empty() ? path : out;
}

// Appends a header and, once each, the headers that it includes.
void append_header(std::string path, bool simulated, std::set<std::string, std::less<>>& done, std::string& out) {
  path = stand_in(path, simulated);
  if (!done.insert(path).second) return;
  std::string_view text = embedded_file(path);
  if (text.empty()) throw internal_error({}, "device header {} is not in the library", path);
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("#pragma once")) continue;
    if (line.starts_with(kInclude))
      append_header(included_path(line, path.substr(0, path.rfind('/'))), simulated, done, out);
    else
      out += line;
  }
}

}  // namespace

StandaloneSource inline_device_headers(const std::string& source, const SourceMap& map, bool simulated) {
  StandaloneSource out;
  std::set<std::string, std::less<>> done;
  std::string_view text = source;
  if (simulated) append_header("sim/cuda.h", simulated, done, out.text);
  for (size_t i = 0; !text.empty(); ++i) {
    const std::string_view line = take_line(text);
    if (line.starts_with(kInclude)) {
      append_header(included_path(line, ""), simulated, done, out.text);
      out.source_map.locs.resize(size_t(std::count(out.text.begin(), out.text.end(), '\n')));
    } else {
      out.text += line;
      out.source_map.locs.push_back(map.locs[i]);
    }
  }
  return out;
}

}  // namespace tilewright::codegen
