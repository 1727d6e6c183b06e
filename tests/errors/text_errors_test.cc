// Texts that are no programs: one rule each, with its message, line and column.
#include "refusal.h"

#include <tilewright/program.h>

namespace errors {

namespace {

// A program of one kernel with a shared tile s of f32[4, 8], a statement at line 5, column 5, and what it says.
Refusal of_statement(const std::string& statement) {
  return refusal_of([&] {
    tilewright::parse_program(
        "program p(A, n) vars 20 {\n"
        "  scalar n@0: i32\n"
        "  tensor A: f32[4]\n"
        "  kernel k(bx@1 < 2) threads 8 { tile s: shared f32[4, 8] tile A: global f32[4] of A fill(s[0:4, 0:8]; "
        "0.0)\n"
        "    " +
            statement +
            "\n"
            "  }\n"
            "}\n",
        "wrong.tw");
  });
}

void expect_statement(const std::string& statement, const std::string& message, int column, int line = 5) {
  const Refusal r = of_statement(statement);
  ASSERT_TRUE(r.refused) << statement;
  EXPECT_EQ(r.kind, tilewright::ErrorKind::invalid_kernel) << r.report;
  EXPECT_EQ(r.message, message) << r.report;
  EXPECT_EQ(r.loc.path(), "wrong.tw");
  EXPECT_EQ(r.loc.line, line) << r.report;
  EXPECT_EQ(r.loc.column, column) << r.report;
  EXPECT_FALSE(r.hint.empty()) << r.report;
}

// A whole text; the position as "line:column".
void expect_text(const std::string& text, const std::string& message, const std::string& position) {
  const Refusal r = refusal_of([&] { tilewright::parse_program(text, "wrong.tw"); });
  ASSERT_TRUE(r.refused) << text;
  EXPECT_EQ(r.message, message) << r.report;
  EXPECT_EQ(r.loc.to_string(), "wrong.tw:" + position) << r.report;
}

TEST(TextErrors, Empty) { expect_text("", "expected 'program', found the end of the text", "1:1"); }

TEST(TextErrors, CharacterThatStartsNothing) {
  expect_text("program p() vars 0 { $ }", "the character \"$\" starts nothing", "1:22");
}

TEST(TextErrors, StringWithoutEnd) { expect_text("program \"p() vars 0 {\n}", "this string has no end", "1:9"); }

TEST(TextErrors, UnknownEscape) {
  expect_text("program \"p\\q\"() vars 0 { }", "this string has an unknown escape", "1:9");
}

TEST(TextErrors, TooManyVariables) {
  expect_text("program p() vars 2000000000 { }", "2000000000 is not between 0 and 1048576", "1:18");
}

TEST(TextErrors, NumberOfAnotherVariable) {
  expect_text("program p() vars 2 { kernel k(x@0 < 1, y@1 < 2) threads 1 { let z@2 = x@1 } }", "variable 1 is y, not x",
              "1:71");
}

TEST(TextErrors, TextAfterTheProgram) {
  expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 { } } x", "expected the end of the text, found 'x'",
              "1:56");
}

TEST(TextErrors, BraceThatIsMissing) {
  expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 {", "expected '}', found the end of the text", "1:51");
}

TEST(TextErrors, DeclarationAfterAKernel) {
  expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 { } scalar n@0: i32 }", "expected '}', found 'scalar'",
              "1:54");
}

TEST(TextErrors, ParameterThatIsNotDeclared) {
  expect_text("program p(A) vars 0 { }", "0 tensors and scalars are named A", "1:11");
}

TEST(TextErrors, ParameterThatIsNotListed) {
  expect_text("program p() vars 1 { tensor A: f32[4] kernel k(x@0 < 1) threads 1 { } }",
              "A is a parameter but is not listed as one", "1:22");
}

TEST(TextErrors, ParameterListedTwice) {
  expect_text("program p(A, A) vars 1 { tensor A: f32[4] kernel k(x@0 < 1) threads 1 { } }",
              "A is listed twice as a parameter", "1:26");
}

TEST(TextErrors, WorkspaceAsParameter) {
  expect_text("program p(A) vars 1 { workspace A: f32[4] kernel k(x@0 < 1) threads 1 { } }",
              "A is listed as a parameter but is a workspace", "1:23");
}

TEST(TextErrors, GridOfFourDimensions) {
  expect_text("program p() vars 4 { kernel k(x@0 < 1, y@1 < 1, z@2 < 1, w@3 < 1) threads 1 { } }",
              "the grid has 4 dimensions, but 1 to 3 are possible", "1:22");
}

TEST(TextErrors, TileOfAnotherDTypeThanItsTensor) {
  expect_text("program p(A) vars 1 { tensor A: f32[4] kernel k(x@0 < 1) threads 1 { tile A: global f16[4] of A } }",
              "tile A is f16 with 1 dimensions but its tensor A is f32 with 1", "1:70");
}

TEST(TextErrors, TensorThatIsMissing) {
  expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 { tile A: global f16[4] of @3 } }",
              "tile A refers to tensor 3, but the program has 0 tensors", "1:52");
}

TEST(TextErrors, TileWithoutStages) {
  expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 { tile a: shared f16[4] {stages = 0} } }",
              "tile a has 0 stages", "1:52");
}

TEST(TextErrors, UnknownTileAttribute) {
  expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 { tile a: shared f16[4] {colour = 0} } }",
              "a tile has no attribute colour of this form", "1:74");
}

TEST(TextErrors, UnbuiltDType) {
  expect_text("program p(A) vars 0 { tensor A: f4e2m1[4] }", "elements of dtype f4e2m1 are not built yet", "1:33");
}

TEST(TextErrors, UnknownDType) {
  expect_text("program p(A) vars 0 { tensor A: float[4] }", "expected a dtype like f16 or i64, found 'float'", "1:33");
}

TEST(TextErrors, UnknownOperation) { expect_statement("paint(s[0:4, 0:8])", "there is no operation paint", 5); }

TEST(TextErrors, UnknownFunction) { expect_statement("s[0, 0] = gamma(1.0)", "there is no function gamma", 15); }

TEST(TextErrors, ArgumentsOfAFunction) {
  expect_statement("s[0, 0] = exp(1.0, 2.0)", "exp takes 1 arguments, but 2 are given", 15);
}

TEST(TextErrors, OperandsOfTwoDTypes) { expect_statement("s[0, 0] = 1.0 + 1", "add of f32 and i64", 19); }

TEST(TextErrors, StoreOfAnotherDType) {
  expect_statement("s[0, 0] = 1", "the value stored to s has dtype i64, but s holds f32", 5);
}

TEST(TextErrors, UnknownVariable) { expect_statement("s[0, q] = 1.0", "nothing defines the variable q before", 10); }

TEST(TextErrors, UnknownTile) { expect_statement("t[0, 0] = 1.0", "no tile of this kernel is named t", 5); }

TEST(TextErrors, VariableDefinedTwice) {
  expect_statement("let x@2: i64 = 1 let x@2: i64 = 2", "variable x with id 2 is defined twice", 22);
}

TEST(TextErrors, VariableBeyondTheTable) {
  expect_statement("let x@20: i64 = 1", "variable x has id 20, but the program's ids are 0 to 19", 5);
}

TEST(TextErrors, LetOfAnotherDType) {
  expect_statement("let x@2: i32 = 1", "x has dtype i32 but its value has i64", 5);
}

TEST(TextErrors, NumberThatDoesNotFit) {
  expect_statement("let x@2: u8 = u8(300)", "300 is not between 0 and 255", 22);
}

TEST(TextErrors, FloatThatDoesNotFit) {
  expect_statement("let x@2: f16 = f16(1e6)", "1000000 is outside the range of f16", 20);
}

TEST(TextErrors, NegatedVariable) {
  expect_statement("let x@2: i64 = -bx", "a minus sign before something that is not a number", 20);
}

TEST(TextErrors, RangeThatIsNoConstant) {
  expect_statement("fill(s[bx:4, 0:8]; 0.0)", "begin:end needs constants", 12);
}

TEST(TextErrors, RegionRank) {
  expect_statement("fill(s[0:4]; 0.0)", "fill: s has 2 dimensions but its region has 1", 5);
}

TEST(TextErrors, RegionPastTheEnd) {
  expect_statement("fill(s[2:+3, 0:8]; 0.0)", "fill: the range 2:+3 of dimension 0 of s is outside its extent 4", 5);
}

TEST(TextErrors, Slot) {
  expect_statement("fill(s[0:4, 0:8] slot(1); 0.0)", "fill: slot 1 of s, which has 1 stages", 5);
}

TEST(TextErrors, NumberOfTiles) { expect_statement("copy(s[0:4, 0:8])", "copy has 1 tiles but takes 2", 5); }

TEST(TextErrors, NumberOfScalars) {
  expect_statement("fill(s[0:4, 0:8]; 0.0, 1.0)", "fill has 2 scalars but takes 1", 5);
}

TEST(TextErrors, NegativeWarps) {
  expect_statement("fill(s[0:4, 0:8]; 0.0) warps(-1, 2)", "fill runs on 2 warps from warp -1", 5);
}

TEST(TextErrors, SeveralVariablesOfASerialLoop) {
  expect_statement("for i@2, j@3 in serial(0:2, 0:2) { s[i, j] = 1.0 }", "a serial loop has 2 variables", 5);
}

TEST(TextErrors, UnknownLoop) {
  expect_statement("for i@2 in magic(0:2) { }",
                   "expected serial, unrolled, vectorized, pipelined or parallel, found "
                   "'magic'",
                   16);
}

TEST(TextErrors, LoopVariableOfAnotherDType) {
  expect_statement("for i@2: i32 in serial(0:2) { }", "loop variable i has dtype i32", 5);
}

TEST(TextErrors, UnknownMemoryOrder) {
  expect_statement("atomic(later) A[0] add 1.0", "expected a memory order, found 'later'", 12);
}

// What passes give to programs, and texts of lowered programs therefore have.
TEST(TextErrors, MarksOfPasses) {
  const auto tile = [](const std::string& attribute, const std::string& message) {
    expect_text("program p() vars 1 { kernel k(x@0 < 1) threads 1 { tile a: shared f16[4] {" + attribute + "} } }",
                "tile a " + message + ", which only the compiler gives", "1:52");
  };
  tile("layout = \"(4):(2)\"", "has a layout");
  tile("stages = 2", "has 2 stages");
  tile("packed = true", "is packed");
  tile("unchecked = true", "is unchecked");
  tile("origin = \"x\"", "has an origin");
  expect_text("program p() vars 2 { kernel k(x@0 < 1) threads 1 as t@1 { } }",
              "kernel k has a thread variable, which only the compiler gives", "1:22");
  expect_statement("lanes { s[0, 0] = 1.0 }", "this is code of single threads, which only the compiler gives", 5);
  expect_statement("fill(s[0:4, 0:8]; 0.0) warps(0, 2)", "fill names warps, which only the compiler gives", 5);
  expect_statement("fill(s[0:4, 0:8] slot(0); 0.0)", "fill names a slot of s, which only the compiler gives", 5);
}

TEST(TextErrors, TwoTilesOfOneTensor) {
  expect_text(
      "program p(A) vars 1 { tensor A: f32[4] kernel k(x@0 < 1) threads 1 {"
      " tile A: global f32[4] of A tile B: global f32[4] of A } }",
      "tiles A and B are of one tensor", "1:97");
}

TEST(TextErrors, DeepNesting) {
  expect_statement("s[0, 0] = " + std::string(5000, '(') + "1.0" + std::string(5000, ')'), "nested more than 1000 deep",
                   1015);
}

}  // namespace
}  // namespace errors
