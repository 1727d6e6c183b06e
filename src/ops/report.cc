#include "ops/report.h"

#include "ir/print.h"
#include "ir/rewrite.h"
#include "ops/access.h"
#include "support/error.h"

#include <algorithm>
#include <bit>

namespace tilewright::ops {

using ir::Attrs;
using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

constexpr int64_t kPrintedInLine = 16;

std::string label_name(size_t i) { return fmt::format("label{}", i); }

size_t num_labels(const Attrs& attrs) {
  size_t count = 0;
  while (ir::find_attr(attrs, label_name(count))) ++count;
  return count;
}

void verify_report(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const std::string kind = ir::text_attr(op.attrs, "kind");
  const int64_t rank = ir::int_attr(op.attrs, "rank", 0);
  const auto fail = [&](const char* what) {
    throw invalid_kernel(loc, "report: {}", what)
        .hint(
            "report(; condition, block indices, begins, extents, values) {kind = \"print\" or \"assert\", message, "
            "subject, rank, label0, ...}");
  };
  if (kind != "print" && kind != "assert") fail("the kind is neither print nor assert");
  constexpr int64_t kMaxRank = 64;
  if (rank < 0 || rank > kMaxRank) fail("the rank is not one of 0 to 64");
  if (kind == "assert" && rank != 0) fail("an assertion has no region");
  if (num_labels(op.attrs) > kMaxAssertValues) fail("an assertion has at most 8 values");
  const size_t fixed = 1 + kernel.grid.size() + 2 * size_t(rank);
  if (op.scalars.size() < fixed) fail("there are too few values");
  if (!is_boolean(op.scalars[0].dtype())) fail("the condition is not boolean");
  for (size_t i = 1; i < fixed; ++i) {
    if (op.scalars[i].dtype() != ir::kIndex) fail("block indices, begins and extents are i64");
  }
  const size_t values = op.scalars.size() - fixed;
  if (kind == "assert" && values != num_labels(op.attrs)) fail("an assertion has one label for each value");
  if (kind == "print" && !ir::find_attr(op.attrs, "rank") && values > 1) fail("a print has one value");
}

std::vector<ir::Access> no_effects(const OpStmt&, const Kernel&) { return {}; }
std::vector<ir::Access> reads_region(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = ir::Mode::read}};
}

void verify_print(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  if (op.scalars.size() == kernel.grid.size()) return;
  throw invalid_kernel(loc, "print: {} block indices are given for a grid of {} dimensions", op.scalars.size(),
                       kernel.grid.size())
      .hint("print(region; bx, by) {message = \"\"}");
}

Block expand_report(const OpStmt& op, ExpandContext&, const Loc& loc) { return {ir::make_stmt(op, loc)}; }

OpStmt report(const char* kind, const Expr& condition, std::span<const Expr> blocks, const std::string& message,
              std::string subject) {
  OpStmt op{.def = &report_op(), .tiles = {}, .scalars = {condition}, .attrs = {}};
  op.scalars.insert(op.scalars.end(), blocks.begin(), blocks.end());
  op.attrs.emplace_back("kind", std::string(kind));
  op.attrs.emplace_back("message", message);
  op.attrs.emplace_back("subject", std::move(subject));
  return op;
}

Block expand_print(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef& ref = op.tiles[0];
  const Kernel& kernel = context.kernel;
  OpStmt out = report_of_print(op, kernel, [&](int64_t, const std::vector<Expr>& at) {
    return read(kernel, ref, at, kernel.tile(ref.tile).dtype, loc);
  });
  return {ir::make_stmt(std::move(out), loc)};
}

// The loads and variables of a condition, each once; constants have no news.
class Leaves : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const Expr& e) override {
    const bool is_leaf = e.is(ExprKind::load) || e.is(ExprKind::var);
    const bool known = std::any_of(found.begin(), found.end(), [&](const Expr& f) { return ir::equal(f, e); });
    if (is_leaf && !known) found.push_back(e);
    visit_args(e);
  }
  std::vector<Expr> found;
};

// Tiles that the values are read from.
class Loads : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ExprKind::load)) tiles.push_back(e.tile_id());
    visit_args(e);
  }
  std::vector<ir::TileId> tiles;
};

std::string value_text(DType dtype, int64_t cell) {
  if (is_float(dtype)) return ir::float_text(std::bit_cast<double>(cell), dtype);
  if (is_boolean(dtype)) return cell ? "true" : "false";
  return dtype == DType::u64 ? fmt::format("{}", uint64_t(cell)) : fmt::format("{}", cell);
}

}  // namespace

int64_t num_printed(const TileRef& region) {
  int64_t count = 1;
  for (const ir::RegionDim& dim : region.region) {
    if (!dim.extent.as_int()) return kMaxPrinted;
    if (*dim.extent.as_int() == 0) return 0;
    count = std::min(kMaxPrinted, count * std::min(*dim.extent.as_int(), kMaxPrinted));
  }
  return count;
}

OpStmt report_of_print(const OpStmt& print, const Kernel& kernel, const PrintedElement& element) {
  const TileRef& ref = print.tiles[0];
  const ir::Tile& tile = kernel.tile(ref.tile);
  OpStmt out = report("print", ir::bool_imm(true), print.scalars, ir::text_attr(print.attrs, "message"),
                      fmt::format("{} {} {}", tile.name, to_string(tile.space), to_string(tile.dtype)));
  out.attrs.emplace_back("rank", int64_t(ref.region.size()));
  Expr size = ir::int_imm(1);
  for (const ir::RegionDim& dim : ref.region) out.scalars.push_back(dim.begin);
  for (const ir::RegionDim& dim : ref.region) {
    out.scalars.push_back(dim.extent);
    size = size * dim.extent;
  }
  const int64_t count = num_printed(ref);
  for (int64_t k = 0; k < count; ++k) {
    const Expr is_element = ir::lt(ir::int_imm(k), size);
    std::vector<Expr> at(ref.region.size());
    Expr rest = ir::int_imm(k);
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = ref.region[d].begin + ir::floormod(rest, ref.region[d].extent);
      rest = ir::floordiv(rest, ref.region[d].extent);
    }
    const Expr value = element(k, at);
    out.scalars.push_back(is_element.is_int(1) ? value
                                               : ir::select(is_element, value, ir::imm(0, tile.dtype, tile.loc)));
  }
  return out;
}

const ir::OpDef& print_op() {
  static constexpr ir::OpDef kOp{.name = "print",
                                 .num_tiles = 1,
                                 .num_scalars = -1,
                                 .verify = verify_print,
                                 .effects = reads_region,
                                 .expand = expand_print};
  return kOp;
}

const ir::OpDef& report_op() {
  static constexpr ir::OpDef kOp{.name = "report",
                                 .num_tiles = 0,
                                 .num_scalars = -1,
                                 .verify = verify_report,
                                 .effects = no_effects,
                                 .expand = expand_report,
                                 .reports = true};
  return kOp;
}

Stmt make_print(const Operand& region, const std::string& message, const Kernel& kernel, const Loc& loc) {
  OpStmt op{.def = &print_op(), .tiles = {resolve(region, kernel, "print")}, .scalars = kernel.block_vars, .attrs = {}};
  op.attrs.emplace_back("message", message);
  return ir::make_stmt(std::move(op), loc);
}

Stmt make_print(const Expr& value, const std::string& message, const Kernel& kernel, const Loc& loc) {
  OpStmt op = report("print", ir::bool_imm(true), kernel.block_vars, message, value ? ir::print(value) : "");
  if (value) op.scalars.push_back(value);
  return ir::make_stmt(std::move(op), loc);
}

Stmt make_assert(const Expr& condition, const std::string& message, const Kernel& kernel, const Loc& loc) {
  OpStmt op = report("assert", condition, kernel.block_vars, message, ir::print(condition));
  Leaves leaves;
  leaves.visit(condition);
  if (leaves.found.size() > kMaxAssertValues) leaves.found.resize(kMaxAssertValues);
  for (size_t i = 0; i < leaves.found.size(); ++i) {
    op.scalars.push_back(leaves.found[i]);
    op.attrs.emplace_back(label_name(i), ir::print(leaves.found[i]));
  }
  return ir::make_stmt(std::move(op), loc);
}

Report Report::of(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  Report out{.is_assert = ir::text_attr(op.attrs, "kind") == "assert",
             .message = ir::text_attr(op.attrs, "message"),
             .subject = ir::text_attr(op.attrs, "subject"),
             .labels = {},
             .num_blocks = kernel.grid.size(),
             .rank = ir::int_attr(op.attrs, "rank", -1),
             .dtypes = {},
             .declarations = {},
             .loc = loc};
  for (size_t i = 0; i < num_labels(op.attrs); ++i) out.labels.push_back(ir::text_attr(op.attrs, label_name(i)));
  const size_t first = 1 + out.num_blocks + 2 * size_t(std::max<int64_t>(out.rank, 0));
  Loads loads;
  for (size_t i = first; i < op.scalars.size(); ++i) {
    out.dtypes.push_back(op.scalars[i].dtype());
    if (out.is_assert) loads.visit(op.scalars[i]);
  }
  for (ir::TileId id : loads.tiles) {
    Note note{.text = declaration(kernel.tile(id)), .loc = kernel.tile(id).loc};
    const bool known = std::any_of(out.declarations.begin(), out.declarations.end(),
                                   [&](const Note& n) { return n.text == note.text; });
    if (!known) out.declarations.push_back(std::move(note));
  }
  return out;
}

namespace {

std::string block_text(std::span<const int64_t> indices) { return fmt::format("block ({})", fmt::join(indices, ", ")); }

// Lines of at most kPrintedInLine elements, each of one row of the region.
std::string element_lines(const Report& report, std::span<const int64_t> begins, std::span<const int64_t> extents,
                          std::span<const int64_t> values) {
  int64_t total = 1;
  for (int64_t e : extents) total = e <= 0 ? 0 : total * e;
  const auto printed = std::min<int64_t>(total, int64_t(values.size()));
  if (total == 0) return "  no elements\n";
  std::string out;
  const int64_t row = extents.empty() ? 1 : extents.back();
  for (int64_t k = 0; k < printed;) {
    const int64_t col = k % row, last = std::min({printed, k + kPrintedInLine, k - col + row});
    std::string at;
    int64_t rest = k / row;
    for (size_t d = extents.size() - std::min<size_t>(extents.size(), 1); d-- > 0;) {
      at = fmt::format("{}, {}", begins[d] + rest % extents[d], at);
      rest /= extents[d];
    }
    if (!extents.empty()) at += fmt::format("{}:{}", begins.back() + col, begins.back() + col + last - k);
    out += fmt::format("  [{}]", at);
    for (; k < last; ++k) out += " " + value_text(report.dtypes[size_t(k)], values[size_t(k)]);
    out += "\n";
  }
  if (printed < total) out += fmt::format("  ... {} of {} elements more\n", total - printed, total);
  return out;
}

}  // namespace

std::string Report::text(std::span<const int64_t> cells) const {
  const std::span<const int64_t> blocks = cells.first(num_blocks);
  const auto dims = size_t(std::max<int64_t>(rank, 0));
  const std::span<const int64_t> begins = cells.subspan(num_blocks, dims);
  const std::span<const int64_t> extents = cells.subspan(num_blocks + dims, dims);
  const std::span<const int64_t> values = cells.subspan(num_blocks + 2 * dims);
  std::string out = block_text(blocks) + ":";
  if (!message.empty()) out += " " + message + (subject.empty() ? "" : ":");
  if (!subject.empty()) out += " " + subject;
  if (rank < 0) return values.empty() ? out + "\n" : out + " = " + value_text(dtypes[0], values[0]) + "\n";
  out += "[";
  for (size_t d = 0; d < dims; ++d) out += fmt::format("{}{}:{}", d ? ", " : "", begins[d], begins[d] + extents[d]);
  return out + "]\n" + element_lines(*this, begins, extents, values);
}

Error Report::error(std::span<const int64_t> cells) const {
  std::string what = "device_assert: " + (message.empty() ? "" : message + ": ") + subject + " is false";
  for (size_t i = 0; i < labels.size(); ++i) {
    what += fmt::format("{}{} = {}", i ? ", " : " with ", labels[i], value_text(dtypes[i], cells[num_blocks + i]));
  }
  Error error(ErrorKind::invalid_kernel, what + ", in " + block_text(cells.first(num_blocks)), loc);
  for (const Note& note : declarations) std::move(error).note(note.text, note.loc);
  return std::move(error).hint("the condition must hold for these values, or the assertion be another");
}

}  // namespace tilewright::ops
