// What a program uses, counted from its tree.
#include "fuzz/program_generator.h"

#include "ir/kernel.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "target/dtype.h"

#include <fmt/format.h>

namespace tilewright::fuzz {

namespace {

std::string dtype_class(DType t) { return is_float(t) ? "float" : is_boolean(t) ? "bool" : "int"; }

class Counter : public ir::Visitor {
 public:
  Counter(const ir::Program& program, const ir::Kernel& kernel, Coverage& coverage)
      : program_(program), kernel_(kernel), coverage_(coverage) {}
  using Visitor::visit;

  void visit(const ir::Expr& e) override {
    if (!e) return;
    const bool by_operand = ir::is_comparison(e.kind()) || e.is(ir::ExprKind::cast);
    const DType t = by_operand ? e.arg(0).dtype() : e.dtype();
    count("expr " + std::string(ir::to_string(e.kind())) + " " + dtype_class(t));
    if (e.is(ir::ExprKind::load)) count_read(e.tile_id());
    if (e.is(ir::ExprKind::cast)) count("cast " + text(t) + " to " + text(e.dtype()));
    if (e.is(ir::ExprKind::call)) count("math " + std::string(ir::to_string(ir::MathFn(e->i))) + " " + text(e.dtype()));
    visit_args(e);
  }

  void visit(const ir::Stmt& stmt) override {
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) count_op(*op);
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) count("store " + text(kernel_.tile(store->tile).dtype));
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      count("atomic " + std::string(ir::to_string(atomic->kind)) + " " + text(kernel_.tile(atomic->tile).dtype));
    }
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) count("loop " + std::string(ir::to_string(loop->kind)));
    if (ir::get_if<ir::WhileStmt>(stmt)) count("while");
    if (ir::get_if<ir::BreakStmt>(stmt)) count("break");
    if (ir::get_if<ir::ContinueStmt>(stmt)) count("continue");
    if (ir::get_if<ir::LetStmt>(stmt)) count("let");
    if (ir::get_if<ir::IfStmt>(stmt)) count("if");
    visit_parts(stmt);
  }

 private:
  void count_read(ir::TileId id) {
    const int row = kernel_.tile(id).tensor;
    if (row >= 0 && program_.tensors[size_t(row)].kind == ir::TensorKind::workspace) count("workspace read");
  }
  static std::string text(DType t) { return std::string(to_string(t)); }
  void count(const std::string& what) { ++coverage_[what]; }

  // Under every dtype that an operand has.
  void count_op(const ir::OpStmt& op) {
    const std::string name = "op " + std::string(op.def->name);
    count(name);
    std::string last;
    for (const ir::TileRef& ref : op.tiles) {
      if (&ref != &op.tiles.back()) count_read(ref.tile);
      if (op.def->name == "gather" && &ref == &op.tiles[1]) continue;  // the indices
      const std::string t = text(kernel_.tile(ref.tile).dtype);
      if (t != last) count(name + " " + t);
      last = t;
    }
  }

  const ir::Program& program_;
  const ir::Kernel& kernel_;
  Coverage& coverage_;
};

}  // namespace

void add_coverage(const ir::Program& program, Coverage& coverage) {
  for (const ir::Kernel& kernel : program.kernels) {
    Counter counter(program, kernel, coverage);
    for (const ir::Stmt& stmt : kernel.body) counter.visit(stmt);
    for (const ir::Tile& tile : kernel.tiles) {
      if (tile.annotated) ++coverage[tile.layout ? "word Layout" : "word Fragment"];
      if (tile.view_of < 0) continue;
      const DType root = kernel.tile(tile.view_of).dtype;
      ++coverage[(root == tile.dtype ? "reshape " : "view of ") + std::string(to_string(root))];
    }
  }
}

std::vector<std::string> required_coverage() {
  std::vector<std::string> out = {"op use_swizzle",
                                  "loop serial",
                                  "loop unrolled",
                                  "loop vectorized",
                                  "loop pipelined",
                                  "loop parallel",
                                  "word grid",
                                  "word Persistent",
                                  "word several kernels",
                                  "word alloc_global",
                                  "word Layout",
                                  "word Fragment",
                                  "workspace read",
                                  "while",
                                  "break",
                                  "continue",
                                  "if",
                                  "let"};
  for (const char* t : {"f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64"})
    out.push_back(fmt::format("op gemm {}", t));
  for (int number = 0; number < kNumDTypes; ++number) {
    const DType t = DType(number);
    if (t == DType::f8e4m3 || t == DType::f8e5m2 || t == DType::tf32) continue;  // the generator makes none
    const auto require = [&](const char* op) { out.push_back(fmt::format("op {} {}", op, to_string(t))); };
    for (const char* op : {"copy", "fill", "transpose", "gather"}) require(op);
    out.push_back(fmt::format("reshape {}", to_string(t)));
    out.push_back(fmt::format("store {}", to_string(t)));
    if (!is_boolean(t)) out.push_back(fmt::format("view of {}", to_string(t)));
    for (const char* op : {"reduce_any", "reduce_all", "cumsum", "cummax"}) require(op);
    for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_abssum", "reduce_absmax"}) require(op);
    if (is_float(t)) continue;
    for (const char* op : {"reduce_bitand", "reduce_bitor", "reduce_bitxor"}) require(op);
  }
  for (const char* t : {"f32", "f16", "bf16", "f64", "i32", "u32", "i64", "u64"}) {
    for (const char* word : {"add", "max", "min", "and", "or", "xor"}) {
      const bool bits = *word == 'a' ? word[1] == 'n' : *word == 'o' || *word == 'x';
      if (bits && std::string_view(t).find('f') != std::string_view::npos) continue;
      out.push_back(fmt::format("op atomic_{} {}", word, t));
      out.push_back(fmt::format("atomic {} {}", word, t));
    }
  }
  for (const char* kind : {"load", "add", "sub", "mul", "min", "max", "eq", "ne", "lt", "le", "select", "cast"}) {
    for (const char* c : {"float", "int"}) out.push_back(fmt::format("expr {} {}", kind, c));
  }
  for (const char* kind :
       {"floordiv", "floormod", "bit_and", "bit_or", "bit_xor", "shl", "shr", "call", "int_imm", "var"}) {
    out.push_back(fmt::format("expr {} int", kind));
  }
  for (const char* kind : {"div", "float_imm", "call"}) out.push_back(fmt::format("expr {} float", kind));
  for (const char* kind : {"load", "eq", "ne", "and", "or", "not", "bit_and", "bit_or", "bit_xor", "select", "cast"}) {
    out.push_back(fmt::format("expr {} bool", kind));
  }
  // Those that the generator makes.
  for (const char* fn : {"abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid",
                         "floor", "ceil", "round"}) {
    for (const char* t : {"f32", "f16", "bf16", "f64"}) out.push_back(fmt::format("math {} {}", fn, t));
  }
  return out;
}

}  // namespace tilewright::fuzz
