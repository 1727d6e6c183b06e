#include "ir/parse.h"

#include "ir/parser.h"
#include "support/error.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tilewright::ir {

namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

constexpr std::string_view kKernelForm =
    "a kernel is: kernel name(bx@0 < extent, ...) threads 128 { tiles, then statements }";
constexpr std::string_view kLoopForm =
    "a loop is: for i@1 in serial(0:n) { ... }; kinds are serial, unrolled, vectorized, pipelined, parallel";

}  // namespace

Program Parser::program() {
  form_ = "a program is: program name(A, B) vars 4 { tensors and scalars, then kernels }";
  program_.loc = here();
  expect("program");
  program_.name = name("the program's name");
  expect("(");
  const std::vector<ParamText> params = param_texts();
  expect("vars");
  program_.next_var = VarId(integer(0, kMaxTextVars));
  expect("{");
  while (true) {
    if (at("scalar") || at("extent")) {
      scalar();
    } else if (at("tensor") || at("workspace") || at("view")) {
      tensor();
    } else {
      break;
    }
  }
  while (at("kernel")) kernel();
  form_ = "a program's declarations come before its kernels";
  expect("}");
  if (peek().kind != TokenKind::end) fail_expected("the end of the text");
  for (const ParamText& p : params) program_.params.push_back(resolve(p));
  return std::move(program_);
}

std::vector<Parser::ParamText> Parser::param_texts() {
  std::vector<ParamText> out;
  if (accept(")")) return out;
  do {
    ParamText param{.name = {}, .row = std::nullopt, .loc = here()};
    if (at("tensor") || at("scalar")) {
      const bool is_tensor = take().text == "tensor";
      expect("@");
      param.row = Param{.is_tensor = is_tensor, .index = int(integer(-1, kMaxInt))};
    } else {
      param.name = name("a parameter's name");
    }
    out.push_back(std::move(param));
  } while (accept(","));
  expect(")");
  return out;
}

Param Parser::resolve(const ParamText& text) const {
  if (text.row) return *text.row;
  std::vector<Param> found;
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    if (program_.tensors[i].name == text.name) found.push_back({.is_tensor = true, .index = int(i)});
  }
  for (size_t i = 0; i < program_.scalars.size(); ++i) {
    if (program_.scalars[i].var->name == text.name) found.push_back({.is_tensor = false, .index = int(i)});
  }
  if (found.size() == 1) return found[0];
  throw invalid_kernel(text.loc, "{} tensors and scalars are named {}", found.size(), name_text(text.name))
      .hint("parameters are names of tensors and scalars; tensor@row and scalar@row tell equal names apart");
}

void Parser::scalar() {
  form_ = "a scalar is: scalar n@0: i32";
  Scalar row{.var = {}, .loc = here()};
  row.kind = take().text == "scalar" ? ScalarKind::parameter : ScalarKind::extent;
  row.var = definition("the scalar's name");
  program_.scalars.push_back(std::move(row));
}

void Parser::tensor() {
  constexpr std::string_view kForm = "a tensor is: tensor A: f16[m, 64] strides [64, 1]; a view ends with: of A";
  form_ = kForm;
  Tensor row{.name = {}, .shape = {}, .strides = {}, .loc = here()};
  const std::string word(take().text);
  row.kind = word == "tensor" ? TensorKind::parameter : word == "workspace" ? TensorKind::workspace : TensorKind::view;
  row.name = name("the tensor's name");
  expect(":");
  row.dtype = dtype();
  expect("[");
  row.shape = exprs("]");
  form_ = kForm;
  if (accept("of")) row.view_of = tensor_row();
  if (accept("strides")) {
    expect("[");
    row.strides = exprs("]");
  }
  program_.tensors.push_back(std::move(row));
}

void Parser::kernel() {
  form_ = kKernelForm;
  Kernel kernel;
  kernel.loc = here();
  expect("kernel");
  kernel.name = name("the kernel's name");
  grid(kernel);
  expect("threads");
  kernel.threads = int_number();
  if (accept("(")) {
    do {
      kernel.thread_extents.push_back(int_number());
    } while (accept(","));
    expect(")");
  }
  if (accept("as")) kernel.thread_var = definition("the thread's variable");
  expect("{");
  kernel_ = &kernel;
  while (at("tile")) kernel.tiles.push_back(tile());
  while (at("map") && at_name(1)) kernel.maps.push_back(map());
  while (at("role") && at(":", 2)) kernel.roles.push_back(role());
  while (at("channel") && at(":", 2)) kernel.channels.push_back(channel());
  kernel.body = rest_of_block();
  kernel_ = nullptr;
  program_.kernels.push_back(std::move(kernel));
}

void Parser::grid(Kernel& kernel) {
  expect("(");
  if (accept(")")) return;
  do {
    kernel.block_vars.push_back(definition("a block variable"));
    expect("<");
    kernel.grid.push_back(bound());
    form_ = kKernelForm;
  } while (accept(","));
  expect(")");
}

Space Parser::space() {
  for (Space s : {Space::global, Space::shared, Space::fragment, Space::local}) {
    if (accept(to_string(s))) return s;
  }
  fail_expected("global, shared, fragment or local");
}

int Parser::tensor_row() {
  const Loc loc = here();
  const bool named = at_name();
  const std::string tensor_name = named ? name("a tensor") : "";
  if (accept("@") || !named) return int_number();
  int found = -1;
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    if (program_.tensors[i].name != tensor_name) continue;
    if (found >= 0) fail(loc, fmt::format("several tensors are named {}; name@row tells them apart", tensor_name));
    found = int(i);
  }
  if (found < 0) fail(loc, fmt::format("no tensor is named {}", name_text(tensor_name)));
  return found;
}

Tile Parser::tile() {
  constexpr std::string_view kForm = "a tile is: tile a: shared f16[128, 32] {stages = 3}; global ones end with: of A";
  form_ = kForm;
  Tile row{.name = {}, .shape = {}, .layout = std::nullopt, .origin = {}, .loc = here()};
  expect("tile");
  row.name = name("the tile's name");
  expect(":");
  row.space = space();
  row.dtype = dtype();
  expect("[");
  row.shape = exprs("]");
  form_ = kForm;
  if (accept("of")) row.tensor = tensor_row();
  const Loc attrs_loc = here();
  for (const auto& [attr, value] : attrs()) set_tile_attr(row, attr, value, attrs_loc);
  return row;
}

namespace {

template <class Parse>
auto parsed_at(Parse parse, const std::string& text, const Loc& loc) {
  try {
    return parse(text);
  } catch (const Error& e) {
    throw e.with_loc(loc);
  }
}

}  // namespace

void Parser::set_tile_attr(Tile& tile, const std::string& attr, const AttrValue& value, const Loc& loc) const {
  const auto* text = std::get_if<std::string>(&value);
  const auto* number = std::get_if<int64_t>(&value);
  if (attr == "safe" && std::holds_alternative<double>(value)) {
    tile.safe_value = std::get<double>(value);
  } else if (attr == "layout" && text) {
    tile.layout = parsed_at(layout::parse, *text, loc);
  } else if (attr == "fragment" && text) {
    tile.fragment = parsed_at(layout::parse_fragment, *text, loc);
  } else if (attr == "annotated" && std::holds_alternative<bool>(value)) {
    tile.annotated = std::get<bool>(value) ? std::optional(tile.loc) : std::nullopt;
    if (tile.annotated) tile.placed = {.why = "the author", .loc = tile.loc};
  } else if (attr == "stages" && number && *number >= std::numeric_limits<int>::min() && *number <= kMaxInt) {
    tile.stages = int(*number);
  } else if (attr == "view_of" && number && *number >= std::numeric_limits<int>::min() && *number <= kMaxInt) {
    tile.view_of = TileId(*number);
  } else if (attr == "packed" && std::holds_alternative<bool>(value)) {
    tile.packed = std::get<bool>(value);
  } else if (attr == "unchecked" && std::holds_alternative<bool>(value)) {
    tile.unchecked = std::get<bool>(value);
  } else if (attr == "origin" && text) {
    tile.origin = *text;
  } else {
    throw invalid_kernel(loc, "a tile has no attribute {} of this form", name_text(attr))
        .hint(
            "tiles have safe (a real), layout and fragment (strings), stages and view_of (ints), annotated, packed and "
            "unchecked (bools), origin (a string)");
  }
}

Attrs Parser::attrs() {
  Attrs out;
  const bool present = at("{") && at_name(1) && at("=", 2);
  if (!present) return out;
  form_ = "attributes are: {name = value, ...}; values are true, false, integers, reals and strings";
  expect("{");
  do {
    std::string attr = name("an attribute's name");
    expect("=");
    out.emplace_back(std::move(attr), attr_value());
  } while (accept(","));
  expect("}");
  return out;
}

AttrValue Parser::attr_value() {
  if (at("true") || at("false")) return take().text == "true";
  if (peek().kind == TokenKind::string) return name("a string");
  if (peek(at("-") ? 1 : 0).kind == TokenKind::integer) return integer(kMinInt64, kMaxInt64);
  return real();
}

Block Parser::block() {
  const Nested nested(*this);
  expect("{");
  return rest_of_block();
}

Block Parser::rest_of_block() {
  Block out;
  while (!at("}")) {
    if (peek().kind == TokenKind::end) fail_expected("'}'");
    out.push_back(stmt());
  }
  expect("}");
  return out;
}

Stmt Parser::stmt() {
  form_ = "a statement is an operation, a store a[i] = x, let, for, while, if, lanes, role, break or continue";
  const Loc loc = here();
  if (at("let")) return let_stmt();
  if (at("atomic") && at("(", 1)) return atomic_stmt({}, loc);
  if (at("for")) return for_stmt();
  if (at("while")) return while_stmt();
  if (at("if")) return if_stmt();
  if (at("lanes")) return lanes_stmt();
  if (at("role") && at_name(1)) return role_stmt();
  if (accept("break")) return make_stmt(BreakStmt{}, loc);
  if (accept("continue")) return make_stmt(ContinueStmt{}, loc);
  if (at_name() && at("(", 1)) return op_stmt();
  if (at_name() || at("@")) return store_stmt();
  fail_expected("a statement");
}

Stmt Parser::let_stmt() {
  form_ = "a let is: let x@3: f32 = expression";
  const Loc loc = here();
  expect("let");
  LetStmt let{.var = definition("the variable's name"), .value = {}};
  expect("=");
  if (at("atomic") && at("(", 1)) return atomic_stmt(let.var, loc);
  let.value = expr();
  return make_stmt(std::move(let), loc);
}

Stmt Parser::store_stmt() {
  constexpr std::string_view kForm = "a store is: a[i, j] = expression";
  form_ = kForm;
  const Loc loc = here();
  StoreStmt store{.tile = tile_row(), .indices = {}, .value = {}};
  expect("[");
  store.indices = exprs("]");
  form_ = kForm;
  expect("=");
  store.value = expr();
  return make_stmt(std::move(store), loc);
}

Stmt Parser::atomic_stmt(Expr prev, const Loc& loc) {
  constexpr std::string_view kForm = "an atomic is: atomic(relaxed) a[i, j] add expression; a load has no expression";
  form_ = kForm;
  AtomicStmt atomic{.indices = {}, .value = {}, .prev = std::move(prev)};
  expect("atomic");
  expect("(");
  atomic.order = word_of<MemoryOrder>(kNumMemoryOrders, "a memory order");
  expect(")");
  atomic.tile = tile_row();
  expect("[");
  atomic.indices = exprs("]");
  form_ = kForm;
  atomic.kind = word_of<AtomicKind>(kNumAtomicKinds, "add, max, min, and, or, xor, load or store");
  if (atomic.kind != AtomicKind::load) atomic.value = expr();
  return make_stmt(std::move(atomic), loc);
}

Stmt Parser::op_stmt() {
  constexpr std::string_view kForm = "an operation is: gemm(a[0:16, 0:8], ...; scalars) {name = value}";
  const Loc loc = here();
  const std::string op_name = name("an operation");
  OpStmt op{.def = find_op(ops_, op_name)};
  if (op.def == nullptr) {
    throw invalid_kernel(loc, "there is no operation {}", name_text(op_name))
        .hint("the operations are those the parser was given; calls of functions stand inside expressions");
  }
  expect("(");
  if (!at(")") && !at(";")) {
    do {
      op.tiles.push_back(tile_ref());
    } while (accept(","));
  }
  form_ = kForm;
  if (accept(";")) {
    op.scalars = exprs(")");
  } else {
    expect(")");
  }
  op.attrs = attrs();
  op.exec = exec_set();
  return make_stmt(std::move(op), loc);
}

ExecSet Parser::exec_set() {
  ExecSet exec;
  if (!accept("warps")) return exec;
  expect("(");
  exec.first_warp = int_number();
  expect(",");
  exec.num_warps = int_number();
  expect(")");
  return exec;
}

LoopKind Parser::loop_kind() {
  for (LoopKind kind :
       {LoopKind::serial, LoopKind::unrolled, LoopKind::vectorized, LoopKind::pipelined, LoopKind::parallel}) {
    if (accept(to_string(kind))) return kind;
  }
  fail_expected("serial, unrolled, vectorized, pipelined or parallel");
}

LoopDim Parser::loop_dim(Expr var) {
  RegionDim bounds = range(false);
  LoopDim dim{.var = std::move(var), .begin = std::move(bounds.begin), .extent = std::move(bounds.extent)};
  if (accept("step")) dim.step = integer(kMinInt64, kMaxInt64);
  return dim;
}

Stmt Parser::for_stmt() {
  form_ = kLoopForm;
  const Loc loc = here();
  expect("for");
  std::vector<Expr> vars;
  do {
    vars.push_back(definition("a loop variable"));
  } while (accept(","));
  expect("in");
  ForStmt loop{.kind = loop_kind(), .dims = {}, .attrs = {}, .body = {}};
  expect("(");
  for (size_t i = 0; i < vars.size(); ++i) {
    if (i > 0) expect(",");
    loop.dims.push_back(loop_dim(vars[i]));
    form_ = kLoopForm;
  }
  expect(")");
  loop.attrs = attrs();
  const bool has_schedule = at("{") && at("schedule", 1) && at("anchor", 2);
  if (!has_schedule) {
    loop.body = block();
    return make_stmt(std::move(loop), loc);
  }
  const Nested nested(*this);
  expect("{");
  loop.schedule = schedule();
  loop.body = rest_of_block();
  return make_stmt(std::move(loop), loc);
}

Stmt Parser::while_stmt() {
  const Loc loc = here();
  expect("while");
  WhileStmt loop{.condition = expr(), .body = {}};
  loop.body = block();
  return make_stmt(std::move(loop), loc);
}

Stmt Parser::if_stmt() {
  const Loc loc = here();
  expect("if");
  IfStmt branch{.condition = expr(), .then = {}, .otherwise = {}};
  branch.then = block();
  if (accept("else")) branch.otherwise = block();
  return make_stmt(std::move(branch), loc);
}

Stmt Parser::lanes_stmt() {
  const Loc loc = here();
  expect("lanes");
  LanesStmt lanes{.exec = exec_set(), .body = {}};
  lanes.body = block();
  return make_stmt(std::move(lanes), loc);
}

Program parse(std::string_view text, std::string file_name, std::span<const OpDef* const> ops) {
  return Parser(text, std::move(file_name), ops).program();
}

}  // namespace tilewright::ir
