// parse is the inverse of print; its errors have positions; no text makes it crash.
#include "ir/lexer.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/random_program.h"
#include "ir/verify.h"
#include "ops/ops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace tilewright::ir {
namespace {

Program read(const std::string& text) { return parse(text, "test.tw", ops::all_ops()); }

void expect_round_trip(const Program& program) {
  const std::string text = print(program);
  Program again;
  try {
    again = read(text);
  } catch (const Error& e) {
    FAIL() << e.what() << "\n" << text;
  }
  ASSERT_TRUE(equal(program, again)) << text << "\nread as\n" << print(again);
  ASSERT_EQ(print(again), text);
}

constexpr const char* kMatmul = R"tw(program matmul(A, B, C, n) vars 8 {
  scalar n@0: i32
  extent m@1
  tensor A: f16[m, 256]
  tensor B: f16[256, 384] strides [384, 1]
  tensor C: f16[m, 384]
  workspace W: f32[4, m]

  kernel matmul(bx@2 < 3, by@3 < (m + 127) // 128) threads 128 {
    tile A_shared: shared f16[128, 32] {layout = "(128,32):(32,1)", stages = 3}
    tile C_local: fragment f32[128, 128]
    tile v: local i32[]
    tile A: global f16[m, 256] of A {safe = -inf}
    tile B: global f16[256, 384] of B {unchecked = true}
    tile acc: local f32[] {origin = "gemm"}
    use_swizzle() {panel_size = 4, order = "row"}
    fill(C_local[0:128, 0:128]; 0.0)
    v[] = i32(0)
    for ko@4 in pipelined(0:8) {num_stages = 3} {
      copy(A[by * 128:+128, ko * 32:+32], A_shared[0:128, 0:32] slot(ko % 3)) warps(4, 1)
      gemm(A_shared[0:128, 0:32], B[ko * 32:+32, 0:128], C_local[0:128, 0:128]; ko == 0) {transpose_B = true}
    }
    for i@5, j@6 in parallel(0:128, 0:128) {
      C_local[i, j] = max(C_local[i, j] * 0.5, 0.0)
    }
    let x@7: f32 = select(n < i32(4), exp(C_local[0, 1]), -0.0)
    while v[] < n && !(v[] == i32(7)) {
      if x < 1.0 {
        break
      } else {
        v[] = v[] + i32(1)
        continue
      }
    }
    for i@5 in serial(10:+4 step -2) {
      C_local[i, 0] = f32(A_shared.f32[i, 2:3])
    }
  }
}
)tw";

TEST(PrintParse, TextIsReadable) {
  // One index with a range is not an expression: the last store of the text above.
  std::string text = kMatmul;
  const size_t at = text.find("f32(A_shared.f32[i, 2:3])");
  EXPECT_THROW(read(text), Error);
  text.replace(at, 25, "A_shared.f32[i, 2]");
  EXPECT_EQ(print(read(text)), text);
}

TEST(PrintParse, OptionsOfReductionsAndScans) {
  const std::string text = R"tw(program p() vars 1 {

  kernel k(bx@0 < 1) threads 1 {
    tile a: shared f32[4, 8]
    tile r: fragment f16[4, 1]
    tile b: shared bool[8]
    reduce_sum(a[0:4, 0:8], r[0:4, 0]) {dim = 1, batch = 4, accumulate = "bf16"}
    reduce_absmax(a[0:4, bx:+8], r[0:4, 0]) {dim = 1, clear = false, nan_propagate = true, accumulate = "f64"}
    reduce_all(a[0:4, 0:8], b[0:8]) {dim = 0}
    reduce_bitxor(b[0:8], b[0]) {dim = 0}
    cumsum(a[0:4, 0:8], a[0:4, 0:8]) {dim = 0, reverse = true, accumulate = "f16"}
    cummax(a[0, 0:4], r[0:4, 0]) {dim = 1, nan_propagate = true}
  }
}
)tw";
  EXPECT_EQ(print(read(text)), text);
  expect_round_trip(read(text));
}

TEST(PrintParse, CodeOfOneThread) {
  const std::string text = R"tw(program p() vars 2 {

  kernel k(bx@0 < 1) threads 128 as tid@1 {
    tile c: fragment f32[16, 8] {fragment = "[16,8] threads(4:d1*2,8:d0*1,4:-) regs(2:d1*1,2:d0*8)"}
    tile s: shared f32[128]
    lanes {
      s[tid] = 1.0
    }
    lanes warps(1, 2) {
      s[tid + 1] = s[tid]
    }
  }
}
)tw";
  const Program p = read(text);
  EXPECT_EQ(print(p), text);
  expect_round_trip(p);
  const Kernel& k = p.kernels[0];
  EXPECT_EQ(k.thread_var->name, "tid");
  ASSERT_TRUE(k.tile(0).fragment.has_value());
  EXPECT_EQ(k.tile(0).fragment->num_threads(), 128);
  EXPECT_EQ(get_if<LanesStmt>(k.body[0])->exec, ExecSet());
  EXPECT_EQ(get_if<LanesStmt>(k.body[1])->exec, (ExecSet{.first_warp = 1, .num_warps = 2}));
}

TEST(PrintParse, RandomProgramsRoundTrip) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    expect_round_trip(RandomProgram(seed, ops::all_ops()).program());
    if (HasFatalFailure()) return;
  }
}

TEST(PrintParse, AtomicsViewsAndReports) {
  const std::string text = R"tw(program p(A, n) vars 5 {
  scalar n@0: i32
  tensor A: f32[64]
  view V: u32[8, 8] of A

  kernel p(bx@1 < 2) threads 128 {
    tile A: global f32[64] of A
    tile V: global u32[8, 8] of V {view_of = 0}
    tile s: shared f16[4, 8]
    tile t: shared u8[64] {view_of = 2}
    tile atomic: shared i64[1]
    atomic[0] = 3
    atomic(relaxed) atomic[0] add bx
    let prev@2 = atomic(acq_rel) atomic[0] max (prev - 1)
    let seen@3: u32 = atomic(seq_cst) V[bx, 0] load
    let was@4: f32 = atomic(release) A[bx] store 0.5
    atomic(seq_cst) V[bx, 1] xor shl(seen, u32(2))
    atomic_add(s[0, 0:8], A[8:16]) {memory_order = "release"}
    print(t[0:64]; bx) {message = "bytes"}
    for i@1 in parallel(0:4) {
      report(; n < i32(7), bx, n) {kind = "assert", message = "", subject = "n < 7", label0 = "n"}
    }
  }
}
)tw";
  std::string wrong = text;
  EXPECT_THROW(read(wrong.replace(wrong.find("prev - 1"), 8, "what - 1")), Error);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    return out.replace(out.find(from), from.size(), to);
  };
  const std::string right = replaced("(prev - 1)", "7");
  EXPECT_EQ(print(read(right)), right);
  for (const auto& [from, to] : {std::pair("atomic(relaxed)", "atomic(loose)"),
                                 {"add bx", "plus bx"},
                                 {"V[bx, 0] load", "V[bx, 0] load 3"},
                                 {"[8, 8] of A", "[8, 8] off A"}}) {
    EXPECT_THROW(read(replaced(from, to)), Error) << to;
  }
}

Expr round_trip(const Expr& e) {
  Program p{.name = "p", .params = {}, .tensors = {}, .scalars = {}, .kernels = {}, .next_var = 1, .loc = {}};
  Kernel k;
  k.name = "k";
  k.grid = {int_imm(1)};
  k.block_vars = {var(0, "bx")};
  k.body = {make_stmt(LetStmt{.var = var(1, "x", e.dtype()), .value = e})};
  p.kernels = {k};
  return get_if<LetStmt>(read(print(p)).kernels[0].body[0])->value;
}

TEST(PrintParse, FloatsAreExact) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (DType t : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::tf32, DType::f32, DType::f64}) {
    for (double v :
         {0.0, -0.0, 0.1, 1.0 / 3, 1e-45, 5e-324, 65504.0, 3.4e38, 1e308, kInf, -kInf, std::nan(""), -std::nan("1")}) {
      const Expr e = float_imm(v, t);
      EXPECT_TRUE(equal(round_trip(e), e)) << print(e);
    }
  }
  EXPECT_EQ(print(float_imm(0.1, DType::f32)), "0.1");
  EXPECT_EQ(print(float_imm(0.1, DType::f16)), "f16(0.1)");
  EXPECT_EQ(print(float_imm(-0.0, DType::f64)), "f64(-0.0)");
  EXPECT_EQ(print(float_imm(1e20, DType::f32)), "1e+20");
}

TEST(PrintParse, RandomFloatsAreExact) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    const double v = std::bit_cast<double>(random());
    for (DType t : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::tf32, DType::f32, DType::f64}) {
      const Expr e = float_imm(std::ldexp(v, -int(random() % 2) * 900), t);
      ASSERT_TRUE(equal(round_trip(e), e)) << print(e);
    }
  }
}

TEST(PrintParse, FunctionsOfSeveralOperandsAndReinterpret) {
  const Expr x = float_imm(0.5, DType::f32), c = bool_imm(true);
  EXPECT_EQ(print(call(MathFn::atan2, {x, x})), "atan2(0.5, 0.5)");
  EXPECT_EQ(print(reinterpret(x, DType::u32)), "as_u32(0.5)");
  EXPECT_EQ(print(call(MathFn::blend, {c, x, x})), "blend(true, 0.5, 0.5)");
  for (const Expr& e : {call(MathFn::atan2, {x, x}), reinterpret(x, DType::u32), call(MathFn::blend, {c, x, x}),
                        call(MathFn::ieee_fmaf, {x, x, x}), call(MathFn::ldexp, {x, int_imm(3)})}) {
    EXPECT_TRUE(equal(round_trip(e), e)) << print(e);
  }
}

TEST(PrintParse, IntegersOfEveryDType) {
  for (int i = 0; i <= int(DType::u64); ++i) {
    const auto t = DType(i);
    for (int64_t v : {int64_t(0), int64_t(1), int64_t(-1), INT64_MIN, INT64_MAX, int64_t(128), int64_t(-128)}) {
      EXPECT_TRUE(equal(round_trip(int_imm(v, t)), int_imm(v, t))) << print(int_imm(v, t));
    }
  }
  EXPECT_EQ(print(int_imm(-1, DType::u64)), "u64(18446744073709551615)");
  EXPECT_EQ(print(int_imm(-5, DType::i8)), "i8(-5)");
}

TEST(PrintParse, MinimalParentheses) {
  const Expr a = var(0, "a"), b = var(1, "b"), c = var(2, "c");
  EXPECT_EQ(print(a + b * c), "a + b * c");
  EXPECT_EQ(print((a + b) * c), "(a + b) * c");
  EXPECT_EQ(print(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(print(a - b - c), "a - b - c");
  EXPECT_EQ(print(a - 5), "a - 5");
  EXPECT_EQ(print(a + int_imm(INT64_MIN)), "a + -9223372036854775808");
  EXPECT_EQ(print(floormod(floordiv(a, b), c)), "a // b % c");
  EXPECT_EQ(print(logical_not(logical_and(lt(a, b), le(b, c)))), "!(a < b && b <= c)");
}

TEST(PrintParse, EqualNamesAreToldApart) {
  Program p = read(R"tw(program p(A, tensor@1) vars 2 {
  tensor A: f32[4]
  tensor "for": f32[4]
  kernel k(i@0 < 4) threads 1 {
    tile a: local f32[]
    tile a: local f32[]
    a@0[] = 1.0
    for i@1 in serial(0:i@0) {
      @1[] = f32(i - i@0)
    }
  }
})tw");
  const std::string text = print(p);
  EXPECT_NE(text.find("program p(A, \"for\")"), std::string::npos) << text;
  EXPECT_NE(text.find("a@1[] = f32(i - i@0)"), std::string::npos) << text;
  expect_round_trip(p);
}

TEST(PrintParse, PartsForMessages) {
  const Program p = read(R"tw(program p() vars 2 {
  kernel k(bx@0 < 4) threads 1 {
    tile a: local f32[2]
    let x@1: f32 = a[bx] + 1.0
    fill(a[0:2]; x)
  }
})tw");
  const Kernel& k = p.kernels[0];
  EXPECT_EQ(print(get_if<LetStmt>(k.body[0])->value), "a[bx] + 1.0");
  EXPECT_EQ(print(k.body[1], k), "fill(a[0:2]; x)\n");
  EXPECT_EQ(print(get_if<OpStmt>(k.body[1])->tiles[0], k), "a[0:2]");
  EXPECT_NE(print(k).find("let x = a[bx] + 1.0\n"), std::string::npos);
  EXPECT_EQ(print(Expr()), "<nothing>");
  EXPECT_EQ(print(make_stmt(StoreStmt{.tile = 9, .indices = {}, .value = {}}), k), "@9[] = <nothing>\n");
}

TEST(PrintParse, NodesHavePositions) {
  const Program p = read("program p() vars 2 {\n  kernel k(bx@0 < 4) threads 1 {\n    let x@1 = bx + 7 * bx\n  }\n}");
  const Stmt& let = p.kernels[0].body[0];
  EXPECT_EQ(let->loc.to_string(), "test.tw:3:5");
  EXPECT_EQ(get_if<LetStmt>(let)->value.loc().to_string(), "test.tw:3:18");
  EXPECT_EQ(get_if<LetStmt>(let)->value.arg(1).loc().to_string(), "test.tw:3:22");
}

// The text with its `$` taken out, which marks the position of the error.
void expect_error(std::string text, const std::string& message) {
  const size_t mark = text.find('$');
  text.erase(mark, 1);
  const auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(mark), '\n');
  const size_t line_start = mark == 0 ? 0 : text.rfind('\n', mark - 1) + 1;
  try {
    read(text);
    FAIL() << "accepted: " << text;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_kernel);
    EXPECT_EQ(e.message(), message) << text;
    EXPECT_EQ(e.loc().to_string(), fmt::format("test.tw:{}:{}", line, mark - line_start + 1)) << text << e.message();
    EXPECT_FALSE(e.hint().empty()) << message;
  }
}

void expect_stmt_error(const std::string& stmt, const std::string& message) {
  expect_error(
      "program p(n) vars 3 {\n  scalar n@0: i32\n  kernel k(bx@1 < 4) threads 1 {\n    tile a: local f32[2]\n    " +
          stmt + "\n  }\n}",
      message);
}

TEST(ParseErrors, Programs) {
  expect_error("$", "expected 'program', found the end of the text");
  expect_error("program $7() vars 1 {}", "expected the program's name, found '7'");
  expect_error("program p() vars $99999999999 {}", "99999999999 is not between 0 and 1048576");
  expect_error("program p($A) vars 0 {}", "0 tensors and scalars are named A");
  expect_error("program p() vars 0 { tensor A: $g32[] }", "expected a dtype like f16 or i64, found 'g32'");
  expect_error("program p() vars 0 {} $x", "expected the end of the text, found 'x'");
  expect_error("program p() vars 0 { $", "expected '}', found the end of the text");
  expect_error("program $\"p", "this string has no end");
  expect_error("program $\"\\q\"() vars 0 {}", "this string has an unknown escape");
  expect_error("program p$~", "the character \"~\" starts nothing");
  expect_error("program p() vars 0 { kernel k() threads 1 { tile a: $far f32[] } }",
               "expected global, shared, fragment or local, found 'far'");
  expect_error("program p() vars 0 { kernel k() threads 1 { tile a: local f32[] ${x = 1} } }",
               "a tile has no attribute x of this form");
  expect_error("program p() vars 0 { kernel k() threads 1 { tile a: global f32[] of $B } }", "no tensor is named B");
}

TEST(ParseErrors, LayoutsHaveThePositionOfTheTile) {
  try {
    read("program p() vars 0 {\n kernel k() threads 1 {\n  tile a: local f32[4] {layout = \"(4\"} } }");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_kernel);
    EXPECT_EQ(e.loc().to_string(), "test.tw:3:24");
  }
}

TEST(ParseErrors, Statements) {
  expect_stmt_error("$7", "expected a statement, found '7'");
  expect_stmt_error("$jump(a[0])", "there is no operation jump");
  expect_stmt_error("$b[0] = 1.0", "no tile of this kernel is named b");
  expect_stmt_error("@$4[0] = 1.0", "4 is not between 0 and 0");
  expect_stmt_error("a[0] $+ 1.0", "expected '=', found '+'");
  expect_stmt_error("let x $= 1", "expected '@', found '='");
  expect_stmt_error("for i@2 in $backwards(0:4) {}",
                    "expected serial, unrolled, vectorized, pipelined or parallel, found 'backwards'");
  expect_stmt_error("for i@2 in serial($bx:4) {}", "begin:end needs constants");
  expect_stmt_error("if n < i32(4) $break", "expected '{', found 'break'");
}

TEST(ParseErrors, Expressions) {
  const auto expect = [](const std::string& e, const std::string& message) {
    expect_stmt_error("let x@2 = " + e, message);
  };
  expect("$y + 1", "nothing defines the variable y before");
  expect("n $+ 1", "add of i32 and i64");
  expect("1.0 $% 2.0", "floormod is not defined on f32");
  expect("$round(bx)", "round is not defined on i64");
  expect("$sech(1.0)", "there is no function sech");
  expect("$min(bx)", "min takes 2 arguments, but 1 are given");
  expect("$select(bx, 1, 2)", "the condition of a select has dtype i64");
  expect("$select(true, 1, 2.0)", "the last operand of select has dtype f32, but needs i64");
  expect("a[$n]", "an index has dtype i32, but needs i64");
  expect("u8($300)", "300 is not between 0 and 255");
  expect("$u64(99999999999999999999)", "99999999999999999999 does not fit u64");
  expect("$9223372036854775808", "9223372036854775808 is not between -9223372036854775808 and 9223372036854775807");
  expect("$1e39", "1e+39 is outside the range of f32");
  expect("$f8e4m3(464.0)", "464 is outside the range of f8e4m3");
  expect("$f8e4m3(inf)", "inf is outside the range of f8e4m3");
  expect("$atan2(1.0)", "atan2 takes 2 arguments, but 1 are given");
  expect("$as_f64(n)", "reinterpret of i32 as f64: 32 and 64 bits");
  expect("f64($1e999)", "'1e999' is outside the range of f64");
  expect("$-bx", "a minus sign before something that is not a number");
  expect("(bx\n  $}", "expected ')', found '}'");
}

TEST(ParseErrors, DTypesThatAreNotBuilt) {
  for (const char* value : {"i4(1)", "f4e2m1(1.0)", "as_f6e2m3(1.0)", "f8e8m0(1.0)"}) {
    try {
      read(fmt::format("program p() vars 3 {{\n  kernel k(bx@1 < 4) threads 1 {{\n    let x@2 = {}\n  }}\n}}", value));
      ADD_FAILURE() << value;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::unsupported) << e.what();
      EXPECT_EQ(e.loc().to_string(), "test.tw:3:15");
      EXPECT_EQ(e.hint(), "docs/status.md lists what is not built yet");
    }
  }
  try {
    read("program p() vars 0 { tensor A: u4[] }");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "elements of dtype u4 are not built yet");
  }
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(ParseErrors, NestingIsLimited) {
  const auto refused = [](const std::string& stmt) {
    try {
      read("program p() vars 3 { kernel k(bx@1 < 4) threads 1 { tile a: local i64[1] " + stmt + " } }");
    } catch (const Error& e) {
      return e.message().find("nested more than 1000 deep") != std::string::npos;
    }
    return false;
  };
  constexpr int kMany = 100000;
  EXPECT_TRUE(refused("let x@2 = " + repeated("(", kMany)));
  EXPECT_TRUE(refused("let x@2 = bx" + repeated(" + bx", kMany)));
  EXPECT_TRUE(refused("let x@2 = bx" + repeated(" * (bx", 900) + repeated(" + bx)", 900)));
  EXPECT_TRUE(refused("let x@2 = " + repeated("a[", kMany)));
  EXPECT_TRUE(refused("let x@2 = " + repeated("min(bx, ", kMany)));
  EXPECT_TRUE(refused("if true {" + repeated("if true {", kMany)));
  EXPECT_FALSE(refused("let x@2 = bx" + repeated(" + bx", 900)));
  // Constants fold, so that the tree stays flat, but its height is counted as written.
  EXPECT_TRUE(refused("let x@2: bool = " + repeated("!", kMany) + "true"));
  EXPECT_TRUE(refused("let x@2 = 1" + repeated(" + 1", kMany)));
}

void expect_sane(const std::string& text) {
  Program program;
  try {
    program = read(text);
  } catch (const Error& e) {
    ASSERT_TRUE(e.kind() == ErrorKind::invalid_kernel || e.kind() == ErrorKind::unsupported) << text << "\n"
                                                                                             << e.what();
    ASSERT_TRUE(e.loc().known()) << text << "\n" << e.what();
    return;
  }
  expect_round_trip(program);
  try {
    verify(program);
  } catch (const Error& e) {
    ASSERT_TRUE(e.kind() == ErrorKind::invalid_kernel || e.kind() == ErrorKind::unsupported) << text << "\n"
                                                                                             << e.what();
  }
}

TEST(ParseRobustness, MutatedCharacters) {
  std::mt19937 random(3);
  const auto below = [&](size_t n) { return size_t(random() % n); };
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::string text = print(RandomProgram(seed % 150, ops::all_ops()).program());
    for (size_t n = 1 + below(3); n > 0 && !text.empty(); --n) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0: text.erase(at, 1 + below(4)); break;
        case 1: text.insert(at, text.substr(at, 1 + below(12))); break;
        case 2: text[at] = char(below(256)); break;
        default: text[at] = text[below(text.size())]; break;
      }
    }
    expect_sane(text);
    if (HasFatalFailure()) return;
  }
}

TEST(ParseRobustness, MutatedTokens) {
  std::mt19937 random(5);
  const auto below = [&](size_t n) { return size_t(random() % n); };
  const auto file = std::make_shared<const std::string>("test.tw");
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const std::string text = print(RandomProgram(seed % 150, ops::all_ops()).program());
    std::vector<std::string> words;
    for (const Token& t : tokenize(text, file)) words.emplace_back(t.text);
    for (size_t n = 1 + below(2); n > 0; --n) {
      const auto at = words.begin() + std::ptrdiff_t(below(words.size()));
      const std::string other = words[below(words.size())];
      switch (below(3)) {
        case 0: words.erase(at); break;
        case 1: words.insert(at, other); break;
        default: *at = other; break;
      }
    }
    std::string mutated;
    for (const std::string& w : words) mutated += w + " ";
    expect_sane(mutated);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tilewright::ir
