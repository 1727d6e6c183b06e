#include "ir/print.h"

#include "ir/lexer.h"
#include "ir/op.h"
#include "ir/print_expr.h"
#include "support/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright::ir {

namespace {

class Printer {
 public:
  explicit Printer(bool with_ids, const Program* program = nullptr) : exprs_(with_ids), program_(program) {}

  void program();
  void kernel(const Kernel& kernel);
  void stmt(const Stmt& stmt, const Kernel& kernel) {
    exprs_.enter(&kernel);
    this->stmt(stmt);
  }
  const std::string& text() const { return out_.text(); }

 private:
  struct Branches;
  void tensor(const Tensor& tensor);
  void scalar(const Scalar& scalar);
  void tile(const Tile& tile);
  void map(const TensorMap& map);
  void channel(const Channel& channel, const Loc& loc);
  void schedule(const Schedule& schedule, const Loc& loc);
  void block(const Block& block) {
    for (const Stmt& s : block) stmt(s);
  }
  void stmt(const Stmt& stmt);
  void op(const OpStmt& op, const Loc& loc);
  void loop(const ForStmt& loop, const Loc& loc);
  std::string param(const Param& param) const;
  std::string tensor_ref(int row) const;

  TextWriter out_;
  ExprPrinter exprs_;
  const Program* program_;
};

template <class Rows, class Name>
bool unique_name(const Rows& rows, std::string_view name, Name name_of) {
  return std::count_if(rows.begin(), rows.end(), [&](const auto& row) { return name_of(row) == name; }) == 1;
}

std::string_view tensor_name(const Tensor& t) { return t.name; }
std::string_view scalar_name(const Scalar& s) { return s.var ? std::string_view(s.var->name) : std::string_view(); }

std::string Printer::tensor_ref(int row) const {
  if (program_ == nullptr || row < 0 || size_t(row) >= program_->tensors.size()) return fmt::format("@{}", row);
  const std::string& name = program_->tensors[size_t(row)].name;
  if (unique_name(program_->tensors, name, tensor_name)) return name_text(name);
  return fmt::format("{}@{}", name_text(name), row);
}

// A name that belongs to one row of the two tables, or the row by number.
std::string Printer::param(const Param& param) const {
  const size_t row = size_t(param.index);
  const auto& [tensors, scalars] = std::tie(program_->tensors, program_->scalars);
  if (param.index >= 0 && row < (param.is_tensor ? tensors.size() : scalars.size())) {
    const std::string name(param.is_tensor ? tensor_name(tensors[row]) : scalar_name(scalars[row]));
    const bool in_tensors =
        std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
    const bool in_scalars =
        std::any_of(scalars.begin(), scalars.end(), [&](const Scalar& s) { return scalar_name(s) == name; });
    const bool unique = param.is_tensor ? !in_scalars && unique_name(tensors, name, tensor_name)
                                        : !in_tensors && unique_name(scalars, name, scalar_name);
    if (unique) return name_text(name);
  }
  return fmt::format("{}@{}", param.is_tensor ? "tensor" : "scalar", param.index);
}

// " warps(4, 8)"; nothing for all warps.
std::string exec_text(const ExecSet& exec) { return exec == ExecSet() ? "" : " " + to_string(exec); }

void Printer::program() {
  const Program& p = *program_;
  std::string params;
  for (const Param& row : p.params) params += (params.empty() ? "" : ", ") + param(row);
  out_.open(fmt::format("program {}({}) vars {} {{", name_text(p.name), params, p.next_var), p.loc);
  for (const Scalar& row : p.scalars) scalar(row);
  for (const Tensor& row : p.tensors) tensor(row);
  for (const Kernel& k : p.kernels) {
    out_.line();
    kernel(k);
  }
  out_.close();
}

void Printer::scalar(const Scalar& scalar) {
  const char* word = scalar.kind == ScalarKind::parameter ? "scalar" : "extent";
  out_.line(fmt::format("{} {}", word, exprs_.definition(scalar.var)), scalar.loc);
}

void Printer::tensor(const Tensor& tensor) {
  constexpr std::array<std::string_view, 3> kWords = {"tensor", "workspace", "view"};
  std::string text = fmt::format("{} {}: {}[{}]", kWords[size_t(tensor.kind)], name_text(tensor.name),
                                 to_string(tensor.dtype), exprs_.list(tensor.shape));
  if (tensor.view_of != -1) text += " of " + tensor_ref(tensor.view_of);
  if (!tensor.strides.empty()) text += fmt::format(" strides [{}]", exprs_.list(tensor.strides));
  out_.line(text, tensor.loc);
}

void Printer::tile(const Tile& tile) {
  std::string text = fmt::format("tile {}: {} {}[{}]", name_text(tile.name), to_string(tile.space),
                                 to_string(tile.dtype), exprs_.list(tile.shape));
  if (tile.tensor != -1) text += " of " + tensor_ref(tile.tensor);
  Attrs attrs;
  if (float_text(tile.safe_value) != "0.0") attrs.emplace_back("safe", tile.safe_value);
  if (tile.fragment) attrs.emplace_back("fragment", layout::to_string(*tile.fragment));
  if (tile.layout) attrs.emplace_back("layout", layout::to_string(*tile.layout));
  if (tile.annotated) attrs.emplace_back("annotated", true);
  if (tile.stages != 1) attrs.emplace_back("stages", int64_t(tile.stages));
  if (tile.view_of != -1) attrs.emplace_back("view_of", int64_t(tile.view_of));
  if (tile.packed) attrs.emplace_back("packed", true);
  if (tile.unchecked) attrs.emplace_back("unchecked", true);
  if (!tile.origin.empty()) attrs.emplace_back("origin", tile.origin);
  out_.line(text + attrs_text(attrs), tile.loc);
}

void Printer::map(const TensorMap& map) {
  std::string text =
      fmt::format("map {}: {} box [{}]", name_text(map.name), tensor_ref(map.tensor), fmt::join(map.box, ", "));
  if (map.span_bytes != 0) text += fmt::format(" span {}", map.span_bytes);
  out_.line(text);
}

void Printer::channel(const Channel& channel, const Loc& loc) {
  std::string tiles, consumers;
  for (TileId id : channel.tiles) tiles += (tiles.empty() ? "" : ", ") + exprs_.tile(id);
  for (const ExecSet& exec : channel.consumers) consumers += (consumers.empty() ? "" : ", ") + to_string(exec);
  out_.line(fmt::format("channel {}: ({}) stages {} from {} to{}{}", name_text(channel.name), tiles, channel.stages,
                        to_string(channel.producer), consumers.empty() ? "" : " ", consumers),
            loc);
}

void Printer::schedule(const Schedule& schedule, const Loc& loc) {
  out_.line(fmt::format("schedule anchor {}", schedule.anchor), loc);
  for (const Channel& row : schedule.channels) channel(row, loc);
  for (const Slot& slot : schedule.slots) {
    out_.line(fmt::format("slot {}({}) stage {} order {}{}", to_string(slot.kind), slot.index, slot.stage, slot.order,
                          exec_text(slot.exec)),
              loc);
  }
}

std::string regs_text(int max_regs) { return max_regs == 0 ? "" : fmt::format(" regs {}", max_regs); }

void Printer::kernel(const Kernel& kernel) {
  exprs_.enter(&kernel);
  std::string grid;
  for (size_t d = 0; d < std::max(kernel.grid.size(), kernel.block_vars.size()); ++d) {
    grid += d > 0 ? ", " : "";
    grid += d < kernel.block_vars.size() ? exprs_.definition(kernel.block_vars[d]) : "<nothing>";
    grid += " < " + exprs_.bound(d < kernel.grid.size() ? kernel.grid[d] : Expr());
  }
  std::string threads = fmt::format("{}", kernel.threads);
  if (!kernel.thread_extents.empty()) threads += fmt::format(" ({})", fmt::join(kernel.thread_extents, ", "));
  if (kernel.thread_var) threads += " as " + exprs_.definition(kernel.thread_var);
  out_.open(fmt::format("kernel {}({}) threads {} {{", name_text(kernel.name), grid, threads), kernel.loc);
  for (const Tile& row : kernel.tiles) tile(row);
  for (const TensorMap& row : kernel.maps) map(row);
  for (const Role& row : kernel.roles) {
    out_.line(fmt::format("role {}: {}{}", name_text(row.name), to_string(row.exec), regs_text(row.max_regs)));
  }
  for (const Channel& row : kernel.channels) channel(row, kernel.loc);
  block(kernel.body);
  out_.close();
  exprs_.enter(nullptr);
}

struct Printer::Branches {
  Printer& p;
  const Loc& loc;

  void operator()(const OpStmt& op) const { p.op(op, loc); }
  void operator()(const LetStmt& let) const {
    const std::string var = p.exprs_.definition(let.var);
    p.out_.line(fmt::format("let {} = {}", var, p.exprs_.text(let.value)), loc);
  }
  void operator()(const StoreStmt& store) const {
    p.out_.line(
        fmt::format("{}[{}] = {}", p.exprs_.tile(store.tile), p.exprs_.list(store.indices), p.exprs_.text(store.value)),
        loc);
  }
  void operator()(const AtomicStmt& atomic) const {
    std::string text = atomic.prev ? fmt::format("let {} = ", p.exprs_.definition(atomic.prev)) : "";
    text += fmt::format("atomic({}) {}[{}] {}", to_string(atomic.order), p.exprs_.tile(atomic.tile),
                        p.exprs_.list(atomic.indices), to_string(atomic.kind));
    if (atomic.value) text += " " + p.exprs_.text(atomic.value);
    p.out_.line(text, loc);
  }
  void operator()(const ForStmt& loop) const { p.loop(loop, loc); }
  void operator()(const WhileStmt& loop) const {
    p.out_.open(fmt::format("while {} {{", p.exprs_.text(loop.condition)), loc);
    p.block(loop.body);
    p.out_.close();
  }
  void operator()(const IfStmt& branch) const {
    p.out_.open(fmt::format("if {} {{", p.exprs_.text(branch.condition)), loc);
    p.block(branch.then);
    if (!branch.otherwise.empty()) {
      p.out_.close("} else {");
      p.out_.indent();
      p.block(branch.otherwise);
    }
    p.out_.close();
  }
  void operator()(const LanesStmt& lanes) const {
    p.out_.open(fmt::format("lanes{} {{", exec_text(lanes.exec)), loc);
    p.block(lanes.body);
    p.out_.close();
  }
  void operator()(const RoleStmt& role) const {
    p.out_.open(fmt::format("role {} {}{}{} {{", name_text(role.name), to_string(role.exec), regs_text(role.max_regs),
                            role.elected ? " elected" : ""),
                loc);
    p.block(role.body);
    p.out_.close();
  }
  void operator()(const BreakStmt&) const { p.out_.line("break", loc); }
  void operator()(const ContinueStmt&) const { p.out_.line("continue", loc); }
};

void Printer::stmt(const Stmt& stmt) { std::visit(Branches{*this, stmt->loc}, stmt->value); }

void Printer::op(const OpStmt& op, const Loc& loc) {
  std::string args;
  for (const TileRef& ref : op.tiles) args += (args.empty() ? "" : ", ") + exprs_.ref(ref);
  if (!op.scalars.empty()) args += "; " + exprs_.list(op.scalars);
  const std::string text =
      fmt::format("{}({}){}", op.def ? name_text(op.def->name) : "<nothing>", args, attrs_text(op.attrs));
  out_.line(text + exec_text(op.exec), loc);
}

void Printer::loop(const ForStmt& loop, const Loc& loc) {
  std::string vars, ranges;
  for (const LoopDim& dim : loop.dims) vars += (vars.empty() ? "" : ", ") + exprs_.definition(dim.var);
  for (const LoopDim& dim : loop.dims) ranges += (ranges.empty() ? "" : ", ") + exprs_.dim(dim);
  out_.open(fmt::format("for {} in {}({}){} {{", vars, to_string(loop.kind), ranges, attrs_text(loop.attrs)), loc);
  if (loop.schedule) schedule(*loop.schedule, loc);
  block(loop.body);
  out_.close();
}

}  // namespace

std::string print(const Program& program) {
  Printer printer(true, &program);
  printer.program();
  return printer.text();
}

std::string print(const Kernel& kernel) {
  Printer printer(false);
  printer.kernel(kernel);
  return printer.text();
}

std::string print(const Stmt& stmt, const Kernel& kernel) {
  Printer printer(false);
  printer.stmt(stmt, kernel);
  return printer.text();
}

std::string print(const TileRef& ref, const Kernel& kernel) {
  ExprPrinter printer(false);
  printer.enter(&kernel);
  return printer.ref(ref);
}

std::string print(const Expr& e) { return ExprPrinter(false).text(e); }

}  // namespace tilewright::ir
