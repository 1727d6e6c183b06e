#include "codegen/cpu.h"

#include "codegen/cpu_expr.h"
#include "codegen/embedded.h"
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

// The row that declares the storage of `id`: no view, and not the unchecked form of another row.
TileId declaring_row(const Kernel& kernel, TileId id) {
  const TileId root = kernel.storage_of(id);
  if (!kernel.tile(root).unchecked) return root;
  const auto it = std::find_if(kernel.tiles.begin(), kernel.tiles.end(),
                               [&](const Tile& t) { return !t.unchecked && t.name == kernel.tile(root).name; });
  return TileId(it - kernel.tiles.begin());
}

// The storage of every tile that a block stores to.
class StoredTiles : public ir::Visitor {
 public:
  explicit StoredTiles(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) tiles.insert(declaring_row(kernel_, store->tile));
    visit_parts(stmt);
  }
  std::set<TileId> tiles;

 private:
  const Kernel& kernel_;
};

// The storage of every tile that is used outside of parallel loops.
class SerialUses : public ir::Visitor {
 public:
  explicit SerialUses(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (!e) return;
    if (e.is(ir::ExprKind::load)) add(e.tile_id());
    visit_args(e);
  }
  void visit(const ir::TileRef& ref) override {
    add(ref.tile);
    Visitor::visit(ref);
  }
  void visit(const Stmt& stmt) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop && loop->kind == ir::LoopKind::parallel) {
      for (const ir::LoopDim& dim : loop->dims) {
        visit(dim.begin);
        visit(dim.extent);
      }
      return;
    }
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) add(store->tile);
    visit_parts(stmt);
  }
  std::set<TileId> tiles;

 private:
  void add(TileId id) { tiles.insert(declaring_row(kernel_, id)); }
  const Kernel& kernel_;
};

// Statements whose iterations touch common elements by right, or leave the loop.
class HasAtomic : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    found = found || ir::get_if<ir::AtomicStmt>(stmt) || (op && op->def->reports);
    visit_parts(stmt);
  }
  bool found = false;
};

class Asserts : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    found = found || (op && op->def->reports && ir::text_attr(op->attrs, "kind") == "assert");
    visit_parts(stmt);
  }
  bool found = false;
};

bool asserts(const Block& body) {
  Asserts asserts;
  asserts.visit(body);
  return asserts.found;
}

// Whether blocks may access one element of a tensor atomically.
bool shares_elements(const ir::Program& program) {
  class Finder : public ir::Visitor {
   public:
    using Visitor::visit;
    void visit(const Stmt& stmt) override {
      const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt);
      found = found || (atomic && !kernel->tile(atomic->tile).on_chip());
      visit_parts(stmt);
    }
    const Kernel* kernel = nullptr;
    bool found = false;
  } finder;
  for (const Kernel& kernel : program.kernels) {
    finder.kernel = &kernel;
    finder.visit(kernel.body);
  }
  return finder.found;
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

// Bytes of an on-chip tile in scratch, padding included.
int64_t storage_bytes(const Tile& tile) { return tile.layout->cosize() * bytes_of(passes::storage_of(tile)); }

// An initialiser; elements as they lie in memory may be structs.
std::string zero_of(const Tile& tile) { return tile.packed ? "{}" : " = 0"; }

// Writes the body of one kernel.
class CpuKernelWriter {
 public:
  CpuKernelWriter(const ir::Program& program, const Kernel& kernel, TextWriter& out, CpuModule& module)
      : kernel_(kernel), names_(program, kernel), exprs_(names_, module.sites), out_(out), reports_(module.reports) {}

  CpuEntry write();

 private:
  void write_arguments();
  int64_t write_scratch();
  void write_block_indices();
  void write(const Block& block);
  void write(const Stmt& stmt);
  void write(const OpStmt& op, const Loc& loc);
  void write(const ir::ForStmt& loop, const Loc& loc);
  void write_copy(const OpStmt& op, bool in, const Loc& loc);
  void write_gemm(const OpStmt& op, const Loc& loc);
  void write_reduce(const OpStmt& op, const Loc& loc);
  void write_private_tiles(const Block& body, const Loc& loc);
  void write_report(const OpStmt& op, const Loc& loc);
  void write_views(TileId root, const Loc& loc);
  bool is_private(TileId id) const { return private_.contains(declaring_row(kernel_, id)); }
  // Used in parallel loops alone; otherwise the declaration in a loop hides one around it.
  bool is_only_private(TileId id) const { return is_private(id) && !used_serially_.contains(id); }
  void find_private_tiles();

  const Kernel& kernel_;
  CpuNames names_;
  CpuExprWriter exprs_;
  TextWriter& out_;
  std::vector<CpuReport>& reports_;
  std::set<TileId> used_serially_;
  std::set<TileId> private_;  // local tiles that a parallel loop writes: declared in its body
};

class PrivateTiles : public ir::Visitor {
 public:
  explicit PrivateTiles(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop == nullptr || loop->kind != ir::LoopKind::parallel) return visit_parts(stmt);
    StoredTiles stored(kernel_);
    stored.visit(loop->body);
    for (TileId id : stored.tiles) {
      if (kernel_.tile(id).space == ir::Space::local) tiles.insert(id);
    }
  }
  std::set<TileId> tiles;

 private:
  const Kernel& kernel_;
};

void CpuKernelWriter::find_private_tiles() {
  PrivateTiles finder(kernel_);
  finder.visit(kernel_.body);
  private_ = std::move(finder.tiles);
  SerialUses uses(kernel_);
  uses.visit(kernel_.body);
  used_serially_ = std::move(uses.tiles);
}

void CpuKernelWriter::write_arguments() {
  const ir::Program& program = names_.program();
  for (size_t i = 0; i < program.scalars.size(); ++i) {
    const Expr& v = program.scalars[i].var;
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
    const std::string type = names_.memory_type(TileId(i)), name = names_.tile(TileId(i));
    if (tile.rank() == 0) {
      out_.line(fmt::format("{} {}{};", type, name, zero_of(tile)), tile.loc);
      write_views(TileId(i), tile.loc);
      continue;
    }
    out_.line(fmt::format("{}* const {} = reinterpret_cast<{}*>(scratch + {});  // {}", type, name, type, bytes,
                          ir::describe(tile)),
              tile.loc);
    bytes += (storage_bytes(tile) + 63) / 64 * 64;
    write_views(TileId(i), tile.loc);
  }
  return bytes;
}

// The other names of a tile's storage.
void CpuKernelWriter::write_views(TileId root, const Loc& loc) {
  for (size_t i = 0; i < kernel_.tiles.size(); ++i) {
    const Tile& tile = kernel_.tiles[i];
    if (tile.view_of != root || tile.unchecked) continue;
    const std::string type = names_.memory_type(TileId(i)), name = names_.tile(TileId(i));
    const std::string address = (kernel_.tile(root).rank() == 0 ? "&" : "") + names_.tile(root);
    if (tile.rank() == 0)
      out_.line(fmt::format("{}& {} = *reinterpret_cast<{}*>({});", type, name, type, address), loc);
    else
      out_.line(fmt::format("{}* const {} = reinterpret_cast<{}*>({});", type, name, type, address), loc);
  }
}

void CpuKernelWriter::write_private_tiles(const Block& body, const Loc& loc) {
  StoredTiles stored(kernel_);
  stored.visit(body);
  for (TileId id : stored.tiles) {
    const Tile& tile = kernel_.tile(id);
    if (!is_private(id)) continue;
    const std::string size = tile.rank() == 0 ? "" : fmt::format("[{}]", std::max<int64_t>(tile.layout->cosize(), 1));
    const std::string type = names_.memory_type(id);
    // Views may need more than the alignment of the element.
    const char* align = tile.packed ? "alignas(8) " : "";
    out_.line(fmt::format("{}{} {}{}{};", align, type, names_.tile(id), size, size.empty() ? zero_of(tile) : ""), loc);
    write_views(id, loc);
  }
}

// `block` counts blocks in launch order; the last grid dimension is the slowest.
void CpuKernelWriter::write_block_indices() {
  std::string rest = "block";
  for (size_t d = 0; d < kernel_.grid.size(); ++d) {
    const std::string extent = exprs_.text(kernel_.grid[d]);
    const bool last = d + 1 == kernel_.grid.size();
    const std::string value = last ? rest : fmt::format("{} % ({})", rest, extent);
    out_.line(fmt::format("const tw::i64 {} = {};", names_.var(kernel_.block_vars[d]), value), kernel_.loc);
    rest = fmt::format("{} / ({})", rest, extent);
  }
}

CpuEntry CpuKernelWriter::write() {
  find_private_tiles();
  CpuEntry entry{.symbol = "tw_" + kernel_.name, .grid = kernel_.grid, .scratch_bytes = 0};
  out_.open(fmt::format("extern \"C\" void {}(void* const* tensors, const long long* scalars, long long first, "
                        "long long last,",
                        entry.symbol),
            kernel_.loc);
  out_.line("                  char* scratch, tw::Failure* failure) {");
  write_arguments();
  entry.scratch_bytes = write_scratch();
  out_.open("for (long long block = first; block < last; ++block) {", kernel_.loc);
  // Blocks that have not begun are not needed after a failed assertion.
  if (asserts(kernel_.body)) out_.line("if (tw::stopped(failure)) return;", kernel_.loc);
  write_block_indices();
  write(kernel_.body);
  out_.close();
  out_.close();
  return entry;
}

void CpuKernelWriter::write(const Block& block) {
  for (const Stmt& stmt : block) write(stmt);
}

void CpuKernelWriter::write(const ir::ForStmt& loop, const Loc& loc) {
  const bool parallel = loop.kind == ir::LoopKind::parallel;
  HasAtomic has_atomic;  // such iterations depend on each other
  if (parallel) has_atomic.visit(loop.body);
  for (size_t d = 0; d < loop.dims.size(); ++d) {
    const ir::LoopDim& dim = loop.dims[d];
    const std::string v = names_.var(dim.var);
    const bool innermost = d + 1 == loop.dims.size();
    if (parallel && innermost && !has_atomic.found) out_.line("TW_VECTORIZE", loc);
    const std::string begin = exprs_.text(dim.begin);
    const char* compare = dim.step > 0 ? "<" : ">";
    const std::string advance = dim.step == 1 ? "++" + v : fmt::format("{} += {}", v, dim.step);
    if (dim.begin.as_int() && dim.extent.as_int()) {
      out_.open(fmt::format("for (tw::i64 {} = {}; {} {} {}; {}) {{", v, begin, v, compare,
                            *dim.begin.as_int() + *dim.extent.as_int() * dim.step, advance),
                loc);
    } else {
      const Expr end = dim.begin + dim.extent * dim.step;
      out_.open(fmt::format("for (tw::i64 {} = {}, end_{} = {}; {} {} end_{}; {}) {{", v, begin, v, exprs_.text(end), v,
                            compare, v, advance),
                loc);
    }
  }
  if (parallel) write_private_tiles(loop.body, loc);
  write(loop.body);
  for (size_t d = 0; d < loop.dims.size(); ++d) out_.close();
}

void CpuKernelWriter::write(const Stmt& stmt) {
  const Loc& loc = stmt->loc;
  if (const auto* op = ir::get_if<OpStmt>(stmt)) return write(*op, loc);
  if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) return write(*loop, loc);
  if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) return out_.line(exprs_.store(*store, loc), loc);
  if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) return out_.line(exprs_.atomic(*atomic, loc), loc);
  if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) {
    return out_.line(
        fmt::format("const {} {} = {};", value_type(let->var.dtype()), names_.var(let->var), exprs_.text(let->value)),
        loc);
  }
  if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
    out_.open(fmt::format("if ({}) {{", exprs_.text(branch->condition)), loc);
    write(branch->then);
    if (!branch->otherwise.empty()) {
      out_.close("} else {");
      out_.indent();
      write(branch->otherwise);
    }
    return out_.close();
  }
  if (const auto* loop = ir::get_if<ir::WhileStmt>(stmt)) {
    out_.open(fmt::format("while ({}) {{", exprs_.text(loop->condition)), loc);
    write(loop->body);
    return out_.close();
  }
  out_.line(ir::get_if<ir::BreakStmt>(stmt) ? "break;" : "continue;", loc);
}

void CpuKernelWriter::write(const OpStmt& op, const Loc& loc) {
  if (op.def == &passes::cpu_copy_in()) return write_copy(op, true, loc);
  if (op.def == &passes::cpu_copy_out()) return write_copy(op, false, loc);
  if (op.def == &passes::cpu_gemm()) return write_gemm(op, loc);
  if (op.def == &passes::cpu_reduce_row()) return write_reduce(op, loc);
  if (op.def->reports) return write_report(op, loc);
  throw internal_error(loc, "op {} reached the CPU emitter", op.def->name);
}

void CpuKernelWriter::write_report(const OpStmt& op, const Loc& loc) {
  const CpuReport& report = reports_.emplace_back(CpuReport::of(op, kernel_, loc));
  std::string cells;
  for (size_t i = 1; i < op.scalars.size(); ++i) {
    const Expr& e = op.scalars[i];
    cells += fmt::format("{}tw::cell({}({}))", i > 1 ? ", " : "", value_type(e.dtype()), exprs_.text(e));
  }
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
  const std::string src = exprs_.address(op.tiles[0]), dst = exprs_.address(op.tiles[1]);
  const std::string row_stride = exprs_.text(op.scalars[0]);
  const std::string valid = fmt::format("{}, {}", exprs_.text(op.scalars[2]), exprs_.text(op.scalars[3]));
  const bool contiguous = op.scalars[1].is_int(1);
  const std::string strides = contiguous ? row_stride : fmt::format("{}, {}", row_stride, exprs_.text(op.scalars[1]));
  const char* suffix = contiguous ? "" : "_strided";
  if (in) {
    out_.line(fmt::format("tw::copy_in{}<{}, {}, {}, {}>({}, {}, {}, {});", suffix,
                          names_.memory_type(op.tiles[1].tile), rows, cols, ld, src, strides, valid, dst),
              loc);
  } else {
    out_.line(
        fmt::format("tw::copy_out{}<{}, {}, {}>({}, {}, {}, {});", suffix, rows, cols, ld, src, dst, strides, valid),
        loc);
  }
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

void CpuKernelWriter::write_reduce(const OpStmt& op, const Loc& loc) {
  const char* kind = ir::int_attr(op.attrs, "max", 0) ? "Max" : "Sum";
  std::vector<Expr> at;
  for (const ir::RegionDim& dim : op.tiles[1].region) at.push_back(dim.begin);
  const std::string dst = exprs_.element(op.tiles[1].tile, at);
  std::string value = fmt::format("tw::reduce_row<tw::{}>({}, {}, {})", kind, exprs_.address(op.tiles[0]),
                                  ir::int_attr(op.attrs, "n", 0), dst);
  const DType dtype = kernel_.tile(op.tiles[1].tile).dtype;
  if (dtype == DType::f16) value = "tw::round_f16(" + value + ")";
  if (dtype == DType::bf16) value = "tw::round_bf16(" + value + ")";
  out_.line(fmt::format("{} = {};", dst, value), loc);
}

}  // namespace

CpuModule emit_cpu(const ir::Program& lowered, const CpuTarget& target) {
  CpuModule module;
  TextWriter out;
  out.line(fmt::format("// {}, generated by Tilewright for {}.", lowered.name, target.name()));
  for (const char* header : {"math.h", "reduce.h", "gemm.h", "atomic.h"}) {
    if (header == std::string_view("atomic.h") && !shares_elements(lowered)) continue;
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

// Appends a header and, once each, the headers that it includes.
void append_header(const std::string& path, std::set<std::string, std::less<>>& done, std::string& out) {
  if (!done.insert(path).second) return;
  std::string_view text = embedded_file(path);
  if (text.empty()) throw internal_error({}, "device header {} is not in the library", path);
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("#pragma once")) continue;
    if (line.starts_with(kInclude))
      append_header(included_path(line, path.substr(0, path.rfind('/'))), done, out);
    else
      out += line;
  }
}

}  // namespace

StandaloneSource inline_device_headers(const std::string& source, const SourceMap& map) {
  StandaloneSource out;
  std::set<std::string, std::less<>> done;
  std::string_view text = source;
  for (size_t i = 0; !text.empty(); ++i) {
    const std::string_view line = take_line(text);
    if (line.starts_with(kInclude)) {
      append_header(included_path(line, ""), done, out.text);
      out.source_map.locs.resize(size_t(std::count(out.text.begin(), out.text.end(), '\n')));
    } else {
      out.text += line;
      out.source_map.locs.push_back(map.locs[i]);
    }
  }
  return out;
}

}  // namespace tilewright::codegen
