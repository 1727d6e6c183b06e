// One wrong program for each rule, with its message and position.
#include "ir/parse.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ops/ops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace tilewright::ir {
namespace {

struct Refusal {
  std::string message, position, hint;
  std::vector<Note> notes;
};

Refusal refusal_of(const Program& program) {
  try {
    verify(program);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_kernel) << e.what();
    EXPECT_FALSE(e.hint().empty()) << e.what();
    return {.message = e.message(), .position = e.loc().to_string(), .hint = e.hint(), .notes = e.notes()};
  }
  return {.message = "accepted", .position = {}, .hint = {}, .notes = {}};
}

// Verifies the text without its `$`, which marks the position of the error; `change` breaks what no text can say.
Refusal expect_refused(
    std::string text, const std::string& message, const std::function<void(Program&)>& change = [](Program&) {}) {
  const size_t mark = text.find('$');
  text.erase(mark, 1);
  const auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(mark), '\n');
  const size_t line_start = mark == 0 ? 0 : text.rfind('\n', mark - 1) + 1;
  Program program = parse(text, "t", ops::all_ops());
  change(program);
  const Refusal r = refusal_of(program);
  EXPECT_EQ(r.message, message) << text;
  EXPECT_EQ(r.position, fmt::format("t:{}:{}", line, mark - line_start + 1)) << r.message << "\n" << text;
  return r;
}

std::string in_kernel(const std::string& body) {
  return "program p(A, n) vars 20 {\n  scalar n@0: i32\n  extent m@1\n  tensor A: f32[m, 64]\n"
         "  kernel k(bx@2 < m) threads 128 {\n    tile A: global f32[m, 64] of A\n    tile a: shared f32[8, 64]\n"
         "    tile c: fragment f32[8, 8]\n    tile v: local i64[]\n    " +
         body + "\n  }\n}";
}

Refusal refused(
    const std::string& body, const std::string& message,
    const std::function<void(Program&)>& change = [](Program&) {}) {
  return expect_refused(in_kernel(body), message, change);
}

void accepted(const std::string& body) {
  const std::string text = in_kernel(body);
  EXPECT_EQ(refusal_of(parse(text, "t", ops::all_ops())).message, "accepted") << text;
}

const std::string kDecl = "program p(A) vars 9 { ";

TEST(VerifyDeclarations, Names) {
  expect_refused("$program \"a;b\"() vars 0 {}", "'a;b' is not an identifier");
  expect_refused("$program \"\"() vars 0 {}", "'' is not an identifier");
}

TEST(VerifyDeclarations, LongAndReservedNames) {
  expect_refused("program p(int) vars 0 { $tensor int: f32[] }", "'int' is a keyword of C++");
  const std::string name(65, 'x');
  expect_refused("program p(" + name + ") vars 0 { $tensor " + name + ": f32[] }",
                 "the name " + name.substr(0, 32) + "... has 65 characters, but at most 64 are possible");
  refused("$for \"i j\"@3 in serial(0:4) {}", "'i j' is not an identifier");
}

TEST(VerifyDeclarations, DuplicateNames) {
  const Refusal r = expect_refused("program p(tensor@0, tensor@1) vars 0 { tensor A: f32[] $tensor A: f32[] }",
                                   "the name A is used twice");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].loc.to_string(), "t:1:40");
  expect_refused("program p(tensor@0, scalar@0) vars 1 { scalar A@0 $tensor A: f32[] }", "the name A is used twice");
  expect_refused("program p() vars 2 { kernel k(b@0 < 1) threads 1 {} $kernel k(b@1 < 1) threads 1 {} }",
                 "the name k is used twice");
  expect_refused("program p() vars 2 { kernel k(b@0 < 1) threads 1 { tile a: local f32[] $tile a: local f32[] } }",
                 "the name a is used twice");
}

TEST(VerifyDeclarations, Tensors) {
  expect_refused(kDecl + "$tensor A: f32[-4] }", "tensor A has extent -4");
  expect_refused(kDecl + "$tensor A: f32[4, 4] strides [4] }", "tensor A has 2 dimensions but 1 strides");
  expect_refused(kDecl + "$tensor A: f32[i32(4)] }", "an extent of tensor A has dtype i32");
  expect_refused(kDecl + "tensor A: f32[$n@5.i64] }", "n is used here but nothing defines it before");
  expect_refused("program p() vars 3 { $workspace W: f32[b@2.i64] kernel k(b@2 < 1) threads 1 {} }",
                 "b is used here but nothing defines it before",
                 [](Program& p) { p.tensors[0].shape[0] = var(2, "b"); });
  EXPECT_EQ(refusal_of(parse("program p(A) vars 0 { tensor A: f32[] }", "t", ops::all_ops())).message, "accepted");
}

TEST(VerifyDeclarations, Parameters) {
  expect_refused("$program p(tensor@3) vars 0 {}", "parameter 0 is tensor 3, but the program has 0 of them");
  expect_refused("program p(A, A) vars 0 { $tensor A: f32[] }", "A is listed twice as a parameter");
  expect_refused("program p(A) vars 0 { $workspace A: f32[] }", "A is listed as a parameter but is a workspace");
  expect_refused("program p(m) vars 1 { $extent m@0 }", "m is listed as a parameter but is an extent");
  expect_refused("program p() vars 0 { $tensor A: f32[] }", "A is a parameter but is not listed as one");
  expect_refused("program p() vars 1 { $scalar n@0 }", "n is a parameter but is not listed as one");
}

std::string with_kernel(const std::string& kernel) {
  return "program p(A, n) vars 9 {\n  scalar n@0\n  tensor A: f32[n]\n  " + kernel + "\n}";
}

TEST(VerifyDeclarations, Grids) {
  expect_refused(with_kernel("$kernel k() threads 1 {}"), "the grid has 0 dimensions, but 1 to 3 are possible");
  expect_refused(with_kernel("$kernel k(a@1 < 1, b@2 < 1, c@3 < 1, d@4 < 1) threads 1 {}"),
                 "the grid has 4 dimensions, but 1 to 3 are possible");
  expect_refused(with_kernel("$kernel k(a@1 < 1) threads 1 {}"), "the grid has 1 dimensions but 0 block variables",
                 [](Program& p) { p.kernels[0].block_vars.clear(); });
  expect_refused(with_kernel("$kernel k(a@1 < -1) threads 1 {}"), "the grid has extent -1");
  expect_refused(with_kernel("$kernel k(a@1 < i32(4)) threads 1 {}"), "a grid extent has dtype i32");
  expect_refused(with_kernel("$kernel k(a@1: i32 < 4) threads 1 {}"), "block variable a has dtype i32");
  expect_refused(with_kernel("kernel k(a@1 < n, b@2 < $a) threads 1 {}"),
                 "a is used here but nothing defines it before");
}

TEST(VerifyDeclarations, Threads) {
  const Refusal r = expect_refused(with_kernel("$kernel k(a@1 < 1) threads 1025 {}"),
                                   "a block has 1025 threads, but 1 to 1024 are possible");
  EXPECT_EQ(r.hint, "the nearest is 1024");
  expect_refused(with_kernel("$kernel k(a@1 < 1) threads 0 {}"), "a block has 0 threads, but 1 to 1024 are possible");
}

TEST(VerifyDeclarations, Tiles) {
  const auto tile = [](const std::string& row, const std::string& message) {
    return expect_refused(with_kernel("kernel k(a@1 < 1) threads 1 {\n $tile " + row + " }"), message);
  };
  tile("t: shared f32[n]", "tile t has an extent that is not a constant");
  tile("t: shared f32[-1]", "tile t has extent -1");
  tile("t: shared f32[4] of A", "tile t is shared but refers to tensor 0");
  tile("t: global f32[4]", "tile t refers to tensor -1, but the program has 1 tensors");
  tile("t: global f32[4] of @1", "tile t refers to tensor 1, but the program has 1 tensors");
  tile("t: global f16[n] of A", "tile t is f16 with 1 dimensions but its tensor A is f32 with 1");
  tile("t: global f32[n, 1] of A", "tile t is f32 with 2 dimensions but its tensor A is f32 with 1");
  tile("t: shared f32[4] {stages = 0}", "tile t has 0 stages");
  tile("t: shared f32[4294967296, 4294967296]", "tile t has more bytes than 64 bits can count");
  tile("t: shared f32[4] {layout = \"(5):(1)\"}", "the layout (5):(1) does not fit tile t");
  EXPECT_EQ(tile("t: shared f16[4] {safe = 0.1}", "the safe value 0.1 of t is not a value of f16").hint,
            "the nearest is 0.0999755859375");
  tile("t: shared u8[4] {safe = 256.0}", "the safe value 256.0 of t is not a value of u8");
  tile("t: shared u8[4] {safe = nan}", "the safe value nan of t is not a value of u8");
}

TEST(VerifyScopes, Variables) {
  refused("for k@3 in serial(0:4) {}\n    v[] = $k", "k is used outside the loop that defines it");
  refused("if bx < 4 {\n let x@3 = 1\n }\n    v[] = $x", "x is used outside the block that defines it");
  refused("v[] = $x@3.i64\n    let x@3 = 1", "x is used here but nothing defines it before");
  refused("let x@3 = $x@3.i64", "x is used here but nothing defines it before");
  refused("for k@3 in serial(0:$k@3.i64) {}", "k is used here but nothing defines it before");
  refused("v[] = i64($n@0.i64)", "n is used as i64 but defined as i32");
  refused("let x@3 = 1\n    $let y@3 = 1", "variable y with id 3 is defined twice");
  refused("$let x@20 = 1", "variable x has id 20, but the program's ids are 0 to 19");
  expect_refused("program p() vars 9 { kernel k(a@1 < 1) threads 1 {}\n kernel l(b@2 < 1) threads 1 { let x@3 = $a } }",
                 "a is used outside the kernel that defines it");
}

TEST(VerifyScopes, PositionOfSharedNodesIsTheStatement) {
  // Languages share one node between the definition and the uses of a variable.
  const Loc there = Loc::at("k.cc", 3), here = Loc::at("k.cc", 7);
  Program p{.name = "p", .params = {}, .tensors = {}, .scalars = {}, .kernels = {}, .next_var = 3, .loc = {}};
  Kernel k;
  k.name = "k";
  k.grid = {int_imm(1)};
  k.block_vars = {var(0, "bx")};
  const Expr i = var(1, "i", kIndex, there);
  k.body = {make_stmt(ForStmt{.kind = LoopKind::serial,
                              .dims = {{.var = i, .begin = int_imm(0), .extent = int_imm(4)}},
                              .attrs = {},
                              .body = {}},
                      there),
            make_stmt(LetStmt{.var = var(2, "x"), .value = i}, here)};
  p.kernels = {k};
  const Refusal r = refusal_of(p);
  EXPECT_EQ(r.message, "i is used outside the loop that defines it");
  EXPECT_EQ(r.position, "k.cc:7");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].loc.to_string(), "k.cc:3");
}

TEST(VerifyAccesses, Loads) {
  refused("fill(a[0:8, 0:64]; 0.0)\n    let x@3: f32 = $a[0]", "a has 2 dimensions but 1 indices are given");
  refused("fill(a[0:8, 0:64]; 0.0)\n    let x@3: f32 = $a[8, 0]",
          "index 8 of dimension 0 of a is outside its extent 8");
  refused("fill(a[0:8, 0:64]; 0.0)\n    let x@3: f32 = $a[0, -1]",
          "index -1 of dimension 1 of a is outside its extent 64");
  refused("fill(a[0:8, 0:64]; 0.0)\n    let x@3: f64 = $a.f64[0, 0]", "a is loaded as f64 but holds f32");
  refused("$let x@3: f32 = 0.0", "tile 9 is used, but the kernel has 4 tiles", [](Program& p) {
    const Loc loc = p.kernels[0].body[0]->loc;
    p.kernels[0].body = {
        make_stmt(LetStmt{.var = var(3, "x", DType::f32), .value = load(9, "z", DType::f32, {})}, loc)};
  });
  accepted("let x@3: f32 = select(bx < 0, a[8, 0], 0.0)\n    let y@4: f32 = A[-1, 64]");
  accepted("fill(a[0:8, 0:64]; 0.0)\n    if false { let x@3: f32 = a[8, 0] } else { let y@4: f32 = a[7, 0] }");
}

TEST(VerifyAccesses, Stores) {
  refused("$a[0] = 1.0", "a has 2 dimensions but 1 indices are given");
  refused("$a[0, 64] = 1.0", "index 64 of dimension 1 of a is outside its extent 64");
  refused("$a[i32(0), 0] = 1.0", "index 0 of a has dtype i32");
  const Refusal r = refused("$a[0, 0] = f16(1.0)", "the value stored to a has dtype f16, but a holds f32");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "a  shared f32[8, 64]");
  EXPECT_EQ(r.notes[0].loc.to_string(), "t:7:5");
  refused("$v[] = 1", "tile 4 is used, but the kernel has 4 tiles", [](Program& p) {
    p.kernels[0].body = {
        make_stmt(StoreStmt{.tile = 4, .indices = {}, .value = int_imm(1)}, p.kernels[0].body[0]->loc)};
  });
  refused("$v[] = 1", "an expression is missing", [](Program& p) {
    p.kernels[0].body = {make_stmt(StoreStmt{.tile = 3, .indices = {}, .value = {}}, p.kernels[0].body[0]->loc)};
  });
}

TEST(VerifyAccesses, Lets) {
  refused("$let x@3: f32 = 1", "x has dtype f32 but its value has i64");
  refused("$let x@3 = 1", "a definition without a variable", [](Program& p) {
    p.kernels[0].body = {make_stmt(LetStmt{.var = int_imm(1), .value = int_imm(1)}, p.kernels[0].body[0]->loc)};
  });
}

TEST(VerifyOps, Operands) {
  refused("$fill(a[0:8]; 0.0)", "fill: a has 2 dimensions but its region has 1");
  refused("$fill(a[0:8, 0:bx]; 0.0)", "fill: dimension 1 of the region of a has an extent that is not a constant");
  refused("$fill(a[0:8, 0:-1]; 0.0)", "fill: dimension 1 of the region of a has extent -1");
  refused("$fill(a[4:9, 0:64]; 0.0)", "fill: the range 4:+5 of dimension 0 of a is outside its extent 8");
  refused("$fill(a[-1:7, 0:64]; 0.0)", "fill: the range -1:+8 of dimension 0 of a is outside its extent 8");
  refused("$fill(a[n:+1, 0:64]; 0.0)", "fill: the begin of a region of a has dtype i32");
  refused("$fill(a[0:8, 0:64] slot(1); 0.0)", "fill: slot 1 of a, which has 1 stages");
  refused("$fill(a[0:8, 0:64])", "fill has 0 scalars but takes 1");
  refused("$fill(; 0.0)", "fill has 0 tiles but takes 1");
  refused("$copy(a[0:8, 0:64], a[0:8, 0:64])", "copy: source and destination are both a");
  refused("$fill(a[0:8, 0:64]; 0.0) warps(-1, 2)", "fill runs on 2 warps from warp -1");
  refused("$fill(a[0:8, 0:64]; 0.0)", "an operation without a definition",
          [](Program& p) { p.kernels[0].body = {make_stmt(OpStmt{}, p.kernels[0].body[0]->loc)}; });
  accepted("fill(a[bx:+8, 0:64]; 0.0)\n    fill(a[8:8, 0:64]; 0.0)\n    fill(A[0:m, 60:70]; 0.0)");
}

TEST(VerifyLoops, Form) {
  refused("$for i@3, j@4 in serial(0:4, 0:4) {}", "a serial loop has 2 variables");
  refused("$for i@3 in serial(0:4) {}", "a loop without a variable",
          [](Program& p) { p.kernels[0].body = {make_stmt(ForStmt{}, p.kernels[0].body[0]->loc)}; });
  refused("$for i@3 in serial(0:+4 step 0) {}", "a loop with step 0");
  refused("$for i@3: i32 in serial(0:4) {}", "loop variable i has dtype i32");
  refused("$for i@3 in serial(i32(0):+4) {}", "the start of a loop has dtype i32");
  refused("$for i@3 in serial(0:n) {}", "the extent of a loop has dtype i32");
  refused("$for i@3 in parallel(0:-4) {}", "a parallel loop has extent -4");
  refused("$for i@3 in pipelined(0:4) {num_stages = -1} {}", "num_stages is -1, but must be 0 or more");
  refused("$for i@3 in pipelined(0:4) {num_stages = true} {}", "num_stages is not an integer");
  accepted("for i@3 in serial(0:-4) {}\n    for j@4 in serial(9:+10 step -1) {}");
}

TEST(VerifyLoops, Parallel) {
  const Refusal r =
      refused("for i@3 in parallel(0:4) {\n      $fill(a[0:8, 0:64]; 0.0)\n    }", "fill inside a parallel loop");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].loc.to_string(), "t:10:5");
  refused("for i@3 in parallel(0:4) { if bx < 2 { $for j@4 in parallel(0:4) {} } }",
          "a parallel loop inside a parallel loop");
  refused("for i@3 in parallel(0:4) { $for j@4 in pipelined(0:4) {} }", "a pipelined loop inside a parallel loop");
  accepted("for i@3 in parallel(0:4) { for j@4 in serial(0:4) { if j < i { break } } }");
}

TEST(VerifyLoops, Jumps) {
  refused("$break", "break outside a loop");
  refused("if bx < 4 { $continue }", "continue outside a loop");
  refused("for i@3 in parallel(0:4) { $break }", "break inside a parallel loop");
  refused("for k@4 in serial(0:4) { for i@3 in parallel(0:4) { $continue } }", "continue inside a parallel loop");
  accepted("while bx < 4 { for i@3 in parallel(0:4) { while i < 2 { continue } } break }");
}

TEST(VerifyLoops, Conditions) {
  refused("$if bx {}", "a condition has dtype i64");
  refused("$while n {}", "a condition has dtype i32");
  const std::string endless = "this loop never ends: its condition is always true and nothing breaks out of it";
  refused("$while true {}", endless);
  refused("$while true { for i@3 in serial(0:4) { break } }", endless);
  accepted("while true { if bx < 4 { break } }\n    while false {}\n    if false { while true {} }");
}

TEST(VerifyNesting, IsLimited) {
  const std::string message = "an expression nested more than 1000 deep";
  refused("$v[] = 1", message, [](Program& p) {
    Expr e = p.kernels[0].block_vars[0];
    for (int i = 0; i < 5000; ++i) e = e + p.kernels[0].block_vars[0];
    p.kernels[0].body = {make_stmt(StoreStmt{.tile = 3, .indices = {}, .value = e}, p.kernels[0].body[0]->loc)};
  });
  refused("$v[] = 1", "statements nested more than 1000 deep", [](Program& p) {
    const Loc loc = p.kernels[0].body[0]->loc;
    Block body;
    for (int i = 0; i < 5000; ++i)
      body = {make_stmt(IfStmt{.condition = bool_imm(true), .then = body, .otherwise = {}}, loc)};
    p.kernels[0].body = body;
  });
}

// Each doubling is one more node, and twice as much to print.
TEST(VerifyNesting, SharedNodesCountEachTime) {
  Program p = parse(in_kernel("v[] = 1"), "t", ops::all_ops());
  const auto doubled = [&](int times) {
    Expr e = p.kernels[0].block_vars[0];
    for (int i = 0; i < times; ++i) e = binary(ExprKind::add, e, e);
    p.kernels[0].body = {make_stmt(StoreStmt{.tile = 3, .indices = {}, .value = e})};
    return refusal_of(p).message;
  };
  EXPECT_EQ(doubled(19), "accepted");
  EXPECT_EQ(doubled(20), "an expression with more than 1048576 parts");
  EXPECT_EQ(doubled(900), "an expression with more than 1048576 parts");
}

const std::string kUnwritten = "c is read here but nothing wrote it before";
const std::string kGemm = "gemm(a[0:8, 0:8], a[0:8, 0:8], c[0:8, 0:8]; false)";
const std::string kFillA = "fill(a[0:8, 0:64]; 0.0)\n    ";

TEST(VerifyInitialisation, UpdatesNeedAnInitialValue) {
  const Refusal r = refused(kFillA + "$" + kGemm, kUnwritten);
  EXPECT_EQ(r.hint, "call T::clear(c) first, or have the operation clear it");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "c  fragment f32[8, 8]");
  // The update of an earlier iteration has read undefined values itself.
  refused(kFillA + "for k@3 in pipelined(0:m) { $" + kGemm + " }", kUnwritten);
  accepted(kFillA + "for k@3 in pipelined(0:m) { " + kGemm + "\n fill(c[0:8, 0:8]; 0.0) }");
  accepted(kFillA + "gemm(a[0:8, 0:8], a[0:8, 0:8], c[0:8, 0:8]; true)");
  accepted(kFillA + "for k@3 in serial(0:1) { gemm(a[0:8, 0:8], a[0:8, 0:8], c[0:8, 0:8]; k == 0) }");
}

TEST(VerifyInitialisation, Reads) {
  refused("$copy(c[0:8, 0:8], A[0:8, 0:8])", kUnwritten);
  refused("let x@3: f32 = 1.0 + $c[0, 0]", kUnwritten);
  refused("v[] = i64($c[0, 0])", kUnwritten);
  refused("if $c[0, 0] < 0.0 {}", kUnwritten);
  refused("for i@3 in parallel(0:8) { c[i, 0] = $c[i, 0] + 1.0 }", kUnwritten);
  accepted(
      "let x@3: f32 = select(bx < 0, c[0, 0], 0.0)\n    copy(c[0:0, 0:0], A[0:0, 0:0])\n    let y@4: f32 = A[0, 0]");
}

TEST(VerifyInitialisation, Paths) {
  const std::string read = "let x@5: f32 = c[0, 0]", write = "c[0, 0] = 1.0";
  accepted("if bx < 4 { " + write + " }\n    " + read);
  accepted("for i@3 in serial(0:m) { " + write + " }\n    " + read);
  accepted("while bx < 4 { " + write + " }\n    " + read);
  accepted("for i@3 in serial(0:m) { " + read + "\n " + write + " }");
  refused("for i@3 in serial(0:1) { let x@5: f32 = $c[0, 0]\n " + write + " }", kUnwritten);
  refused("if bx < 4 { " + write + " } else { let x@5: f32 = $c[0, 0] }", kUnwritten);
  refused("if false { " + write + " }\n    let x@5: f32 = $c[0, 0]", kUnwritten);
  refused("for i@3 in serial(0:0) { " + write + " }\n    let x@5: f32 = $c[0, 0]", kUnwritten);
  refused("let x@5: f32 = $c[0, 0]\n    " + write, kUnwritten);
  accepted("if false { " + read + " }\n    for i@3 in serial(0:0) { " + "let y@6: f32 = c[0, 0]" + " }");
}

TEST(VerifyInitialisation, UncheckedRowsAreTheSameTile) {
  EXPECT_EQ(refusal_of(parse("program p() vars 2 { kernel k(b@0 < 1) threads 1 { tile a: local f32[1]\n"
                             " tile a: local f32[1] {unchecked = true}\n a@1[0] = 1.0\n let x@1: f32 = a@0[0] } }",
                             "t", ops::all_ops()))
                .message,
            "accepted");
}

TEST(Verify, ExpansionsAreAccepted) {
  const Program p =
      parse(in_kernel("copy(A[bx * 8:+8, 0:64], a[0:8, 0:64])\n    fill(c[0:8, 0:8]; 0.0)\n"
                      "    for k@3 in pipelined(0:8) { gemm(a[0:8, k * 8:+8], a[0:8, 0:8], c[0:8, 0:8]; k == 0) }\n"
                      "    copy(c[0:8, 0:8], A[0:8, 0:8])"),
            "t", ops::all_ops());
  EXPECT_EQ(refusal_of(p).message, "accepted");
  EXPECT_EQ(refusal_of(expand_ops(p)).message, "accepted");
}

TEST(Verify, Atomics) {
  refused("$atomic(relaxed) c[0, 0] add 1.0", "atomic_add: c is a fragment tile, which no two threads share");
  refused("$atomic(relaxed) v[] max 1", "atomic_max: v is a local tile, which no two threads share");
  refused("$atomic(relaxed) A[0, 0] and 1.0", "atomic_and: A holds f32, but bits are those of integers");
  refused("$atomic(consume) A[0, 0] store 1.0", "atomic_store: the memory order is consume");
  refused("$atomic(relaxed) A[0, 0] add 1", "atomic_add: the value has dtype i64");
  refused("$atomic(relaxed) A[0] add 1.0", "A has 2 dimensions but 1 indices are given");
  refused("fill(a[0:8, 0:64]; 0.0)\n    $let x@3: f16 = atomic(relaxed) a[0, 0] add 1.0",
          "atomic_add: x has dtype f16");
  refused("fill(a[0:8, 0:64]; 0.0)\n    $atomic(relaxed) a[8, 0] add 1.0",
          "index 8 of dimension 0 of a is outside its extent 8");
  refused("$atomic(relaxed) a[0, 0] add 1.0", "a is read here but nothing wrote it before");
  refused("$atomic(relaxed) A[0, 0] add 1.0", "atomic_add has no value", [](Program& p) {
    AtomicStmt atomic = *get_if<AtomicStmt>(p.kernels[0].body[0]);
    atomic.value = {};
    p.kernels[0].body[0] = make_stmt(atomic, p.kernels[0].body[0]->loc);
  });
}

TEST(Verify, Views) {
  const auto with_tiles = [](const std::string& tiles) {
    return "program p(A) vars 20 {\n  tensor A: f32[8, 64]\n  view V: i32[512] of A\n"
           "  kernel k(bx@2 < 1) threads 128 {\n    tile A: global f32[8, 64] of A\n"
           "    tile a: shared f32[8, 64]\n    " +
           tiles + "\n  }\n}";
  };
  expect_refused(with_tiles("$tile b: shared f32[512] {view_of = 2}"), "tile b is a view of tile 2");
  expect_refused(with_tiles("$tile b: fragment f32[512] {view_of = 1}"),
                 "tile b is a view of a, which differs in more than shape and dtype");
  expect_refused(with_tiles("$tile b: shared f32[500] {view_of = 1}"), "view: a has 16384 bits but f32[500] has 16000");
  expect_refused(with_tiles("$tile V: global i32[512] of V"), "tile V is of a tensor's view but names no tile");
  expect_refused(with_tiles("$tile B: global f32[8, 64] of A {view_of = 0}"),
                 "tile B is a view of A but not of its tensor");
  const auto with_tensors = [](const std::string& tensors) {
    return "program p(A) vars 20 {\n  tensor A: f32[8, 64]\n  view V: i32[512] of A\n  " + tensors +
           "\n  kernel k(bx@2 < 1) threads 128 {\n  }\n}";
  };
  expect_refused(with_tensors("$view W: i32[512] of V"), "W is a view of tensor 1");
  expect_refused(with_tensors("$view W: i32[512] of 9"), "W is a view of tensor 9");
  expect_refused(with_tensors("$workspace W: i32[512] of A"), "tensor W is no view but names tensor 0");
  expect_refused(with_tensors("$view W: i32[512] of A strides [1]"), "view W of A: W has strides");
}

TEST(Verify, Reports) {
  refused("$report(; true, bx, 1.0)", "report: the kind is neither print nor assert");
  refused("$report(; true) {kind = \"print\"}", "report: there are too few values");
  refused("$report(; 1, bx) {kind = \"print\"}", "report: the condition is not boolean");
  refused("$report(; true, bx, 1.0) {kind = \"assert\"}", "report: an assertion has one label for each value");
  refused("$report(; true, bx, 1, 2) {kind = \"print\"}", "report: a print has one value");
  refused("$report(; true, bx, 1) {kind = \"print\", rank = 1}", "report: there are too few values");
  refused("$print(A[0, 0:64])", "print: 0 block indices are given for a grid of 1 dimensions");
}

}  // namespace
}  // namespace tilewright::ir
