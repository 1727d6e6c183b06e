// docs/language.md: each runnable block is compiled with this suite and run here, and each word of the header is in
// one.
#include "harness/folders.h"
#include "ir/kernel.h"
#include "lang/document_examples.h"
#include "lang/header_words.h"
#include "ops/tracked.h"
#include "runtime/test_folder.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

namespace tilewright::tests {
namespace {

constexpr int64_t kM = 130, kN = 70, kK = 40, kDynamic = 37, kScalar = 8;

std::vector<std::string> runnable_blocks() {
  static const std::regex kBlock("```cpp\n// runnable([^`]*)```");
  const std::string text = test::read_text(testing::source_folder() / "docs/language.md");
  std::vector<std::string> blocks;
  for (std::sregex_iterator it(text.begin(), text.end(), kBlock), end; it != end; ++it) blocks.push_back((*it)[1]);
  return blocks;
}

// Random numbers for what an example takes; dynamic extents are kDynamic, other scalars kScalar.
Args arguments_of(const ir::Program& program) {
  const auto sizes = [](const std::vector<ir::Expr>& exprs) {
    std::vector<int64_t> out;
    for (const ir::Expr& e : exprs) out.push_back(e.as_int().value_or(kDynamic));
    return out;
  };
  Args args;
  for (const ir::Param& param : program.params) {
    if (!param.is_tensor) {
      const DType dtype = program.scalars[size_t(param.index)].var.dtype();
      args.push_back(is_float(dtype) ? Arg(double(kScalar)) : Arg(kScalar));
      continue;
    }
    const ir::Tensor& tensor = program.tensors[size_t(param.index)];
    args.emplace_back(
        HostArray(tensor.dtype, sizes(tensor.shape), sizes(tensor.strides)).fill_random(args.size() + 1, -2, 2));
  }
  return args;
}

// The lines of each block in order, of the blocks in any order.
std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void check(const DocumentExample& example) {
  const Program program = example.build(kM, kN, kK);
  const Args args = arguments_of(program.ir());
  std::string printed, expected;
  const Tracked want = interpret_tracked(program, args, &expected);
  const CompiledKernel kernel = compile(
      program,
      {.target = "cpu", .num_threads = 1, .optimize = 0, .on_print = [&](std::string_view s) { printed += s; }});
  Args got = args;
  kernel.run(views(got));
  EXPECT_EQ(difference(want, got), "");
  EXPECT_EQ(sorted_lines(printed), sorted_lines(expected));
}

TEST(Document, EveryExampleRuns) {
  EXPECT_EQ(document_examples().size(), runnable_blocks().size()) << "extract_examples.cmake sees other blocks";
  EXPECT_GE(document_examples().size(), 20u);
  for (const DocumentExample& example : document_examples()) {
    SCOPED_TRACE(fmt::format("docs/language.md:{}", example.line));
    try {
      check(example);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Of language.h and of each of its parts, which all have some; sorted, each once.
std::vector<std::string> words_of_language() {
  const std::filesystem::path folder = "include/tilewright";
  std::vector<std::filesystem::path> headers = {folder / "language.h"};
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_folder() / folder / "language")) {
    headers.push_back(folder / "language" / entry.path().filename());
  }
  std::set<std::string> words;
  for (const std::filesystem::path& header : headers) {
    const std::vector<std::string> more = words_of_header(test::read_text(testing::source_folder() / header));
    EXPECT_FALSE(more.empty()) << header;
    words.insert(more.begin(), more.end());
  }
  return {words.begin(), words.end()};
}

TEST(Document, EveryWordOfTheHeaderIsInAnExample) {
  const std::string examples = fmt::format("{}", fmt::join(runnable_blocks(), "\n"));
  for (const std::string& word : words_of_language()) {
    if (word == "T::per_warp") continue;  // is refused
    const std::string pattern = word[0] == '.' ? "\\" + word : word;
    EXPECT_TRUE(std::regex_search(examples, std::regex(pattern + "\\b"))) << word << " is in no runnable block";
  }
}

TEST(Document, WordsAreFound) {
  const std::vector<std::string> words = words_of_language();
  EXPECT_GE(words.size(), 190u);
  for (const char* word : {"T::f32",      "T::boolean",  "T::all",         "T::slice",
                           "T::Kernel",   "T::Parallel", "T::Persistent",  "T::reduce_sum",
                           "T::any_of",   "T::if_",      "T::prim_func",   "T::col",
                           "T::column",   "T::exp",      "T::ieee_frsqrt", "T::get_thread_extent",
                           ".num_stages", ".group",      ".transpose_A",   ".safe_value"})
    EXPECT_TRUE(std::binary_search(words.begin(), words.end(), word)) << word;
  EXPECT_EQ(
      words_of_header("namespace tilewright::lang {\n"
                      "namespace detail {\nint hidden(int a);\n}\n"
                      "inline constexpr A x = A::y, z = A::w;  // v = 1\n"
                      "struct All {};\ninline constexpr All all{};\n"
                      "class C {\n public:\n  void method();\n};\n"
                      "struct FooOptions {\n  bool on = true;\n  int a = 1, b = 2;\n};\n"
                      "Expr operator+(const Expr& a, const Expr& b);\n"
                      "template <class... E>\nrequires(sizeof...(E) > 0) Expr f(const E&... e) { return g(e); }\n"
                      "detail::R<1> loop(const Expr& stop, const FooOptions& options = {}, int p = here());\n}\n"),
      (std::vector<std::string>{".a", ".b", ".on", "T::all", "T::f", "T::loop", "T::x", "T::z"}));
}

}  // namespace
}  // namespace tilewright::tests
