// The command line as a user sees it: kernels as files, sources on disk.
#include "harness/folders.h"
#include "harness/golden.h"
#include "runtime/process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

const std::string kTw = testing::build_folder() / "tw";

class Tw : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tw-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "tmp");
    ASSERT_TRUE(fs::exists(kTw)) << "build tw first";
  }
  void TearDown() override { fs::remove_all(folder_); }

  ProcessResult run(std::vector<std::string> arguments, bool cache = true) {
    arguments.insert(arguments.begin(), kTw);
    return run_process({.command = std::move(arguments),
                        .environment = {{"TMPDIR", (folder_ / "tmp").string()},
                                        {"TILEWRIGHT_CACHE_DIR", (folder_ / "cache").string()},
                                        {"TILEWRIGHT_DISABLE_CACHE", cache ? "0" : "1"},
                                        {"TILEWRIGHT_KEEP_DIR", std::nullopt}}});
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  size_t files_in_tmp() const {
    return size_t(std::distance(fs::recursive_directory_iterator(folder_ / "tmp"), fs::recursive_directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Tw, PrintTakesAPrintedFile) {
  const ProcessResult example = run({"print", "matmul_relu"});
  ASSERT_TRUE(example.ok()) << example.output;
  const std::string file = write("kernel.tw", example.output);
  const ProcessResult again = run({"print", file});
  EXPECT_TRUE(again.ok());
  EXPECT_EQ(again.output, example.output);
  const ProcessResult source = run({"print", file, "--source"});
  EXPECT_TRUE(source.ok()) << source.output;
  EXPECT_NE(source.output.find("extern \"C\" void tw_matmul_relu("), std::string::npos) << source.output;
  EXPECT_NE(source.output.find("kernel.tw:"), std::string::npos) << "lines of the file in the comments";
  const ProcessResult report = run({"print", file, "--report"});
  EXPECT_NE(report.output.find("matmul_relu on cpu:"), std::string::npos) << report.output;
  EXPECT_EQ(files_in_tmp(), 0u);
}

TEST_F(Tw, PrintSaysWhatIsWrongWithAFile) {
  const std::string file = write("wrong.tw", "program p() vars 1 {\n  kernel k(bx@0 < 4) threads 0 {}\n}\n");
  const ProcessResult wrong = run({"print", file});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.output.find("error: a block has 0 threads, but 1 to 1024 are possible\n  --> " + file + ":2:3"),
            std::string::npos)
      << wrong.output;
  const ProcessResult missing = run({"print", "no_such_kernel"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.output.find("'no_such_kernel' is neither a file nor an example"), std::string::npos);
}

TEST_F(Tw, SourceOfTheDemoIsThereAfterwards) {
  for (const bool cache : {true, false}) {
    const ProcessResult demo = run({"demo", "--m", "20", "--n", "20", "--k", "20", "--json"}, cache);
    ASSERT_TRUE(demo.ok()) << demo.output;
    const size_t begin = demo.output.find('{');
    ASSERT_NE(begin, std::string::npos) << demo.output;
    const fs::path source =
        nlohmann::json::parse(demo.output.substr(begin, demo.output.find('\n', begin) - begin)).at("source");
    ASSERT_TRUE(fs::is_regular_file(source)) << source;
    std::ifstream in(source);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_NE(text.find("extern \"C\" void tw_matmul_relu("), std::string::npos) << source;
    // With a cache all that is written lies there.
    if (cache) {
      EXPECT_EQ(source.string().find((folder_ / "cache").string()), 0u) << source;
      EXPECT_EQ(files_in_tmp(), 0u);
    }
  }
  // Without one, the folder of the last run and the file in it, which the user was told about.
  EXPECT_EQ(files_in_tmp(), 2u);
}

// ---- trace -----------------------------------------------------------------------------------------------------

TEST_F(Tw, TraceGivesEachPassInOrder) {
  const ProcessResult trace = run({"trace", "matmul_relu", "--target", "cuda:sm_80"});
  ASSERT_TRUE(trace.ok()) << trace.output;
  size_t at = 0;
  for (const char* pass : {"authored", "simplify", "expand_unselected", "infer_fragments", "expand_pipelines",
                           "lower_tiles", "plan_shared", "place_sync", "source", "in all"}) {
    const std::string head = std::string(pass) == "in all" ? "in all" : std::string("== ") + pass;
    at = trace.output.find(head, at);
    ASSERT_NE(at, std::string::npos) << pass << "\n" << trace.output;
  }
  // The first pass finds nothing to do, so that its program is not printed again.
  EXPECT_NE(trace.output.find("unchanged\n== place_views"), std::string::npos) << trace.output;
  EXPECT_NE(trace.output.find("extern \"C\" __global__"), std::string::npos);
}

TEST_F(Tw, TraceOfOnePassIsAProgram) {
  const ProcessResult authored = run({"trace", "matmul_relu", "--pass", "authored"});
  ASSERT_TRUE(authored.ok()) << authored.output;
  EXPECT_EQ(authored.output, run({"print", "matmul_relu"}).output);
  // A level that this machine may lack: nothing runs.
  const ProcessResult lowered = run({"trace", "matmul_relu", "--target", "cpu:avx512", "--pass", "plan_cpu_tiles"});
  ASSERT_TRUE(lowered.ok()) << lowered.output;
  EXPECT_NE(lowered.output.find("{layout = "), std::string::npos) << lowered.output;
}

// A tensor of n elements that is copied to a shared tile and back.
std::string through_shared(const std::string& name, int n) {
  return fmt::format(R"(program {0}(A) vars 1 {{
  tensor A: f32[{1}]

  kernel {0}(bx@0 < 1) threads 32 {{
    tile A: global f32[{1}] of A
    tile S: shared f32[{1}]
    copy(A[0:{1}], S[0:{1}])
    copy(S[0:{1}], A[0:{1}])
  }}
}}
)",
                     name, n);
}

TEST_F(Tw, TraceAsDifferences) {
  const std::string file = write("add.tw", through_shared("add", 8));
  const ProcessResult trace = run({"trace", file, "--target", "cpu:x86-64", "--diff"});
  ASSERT_TRUE(trace.ok()) << trace.output;
  EXPECT_NE(trace.output.find("\n-    tile S: shared f32[8]\n+    tile S: shared f32[8] {layout = "), std::string::npos)
      << trace.output;
  EXPECT_EQ(trace.output.find("\n-  tensor A"), std::string::npos);
}

TEST_F(Tw, TraceRefusesWhatIsNotThere) {
  const ProcessResult pass = run({"trace", "matmul_relu", "--target", "cpu:x86-64", "--pass", "nothing"});
  EXPECT_EQ(pass.exit_code, 2) << pass.output;
  EXPECT_NE(pass.output.find("there is no pass 'nothing'"), std::string::npos) << pass.output;
  EXPECT_NE(pass.output.find("plan_cpu_tiles"), std::string::npos) << pass.output;
  const ProcessResult target = run({"trace", "matmul_relu", "--target", "tpu"});
  EXPECT_EQ(target.exit_code, 2);
  EXPECT_NE(target.output.find("there is no target 'tpu'"), std::string::npos) << target.output;
  // What goes before an error of a later pass is shown.
  const std::string file = write("large.tw", through_shared("large", 100000));
  const ProcessResult refused = run({"trace", file, "--target", "cuda:sm_80", "--summary"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_GT(refused.output.find("large needs 400384 bytes of shared memory"),
            refused.output.find("== expand_unselected"));
  EXPECT_NE(refused.output.find("large needs 400384 bytes of shared memory"), std::string::npos) << refused.output;
}

// ---- plot ------------------------------------------------------------------------------------------------------

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

// The drawings of docs/layouts.md are what the commands above them print; --update-golden makes them anew.
TEST_F(Tw, PlotsOfTheDocument) {
  std::ifstream in(testing::source_folder() / "docs/layouts.md");
  bool inside = false;
  std::string document;
  int commands = 0;
  for (std::string line; std::getline(in, line);) {
    const bool is_command = inside && line.starts_with("$ tw ");
    if (line == "```console" || (inside && line == "```")) inside = !inside;
    if (!inside || is_command || line == "```console") document += line + "\n";
    if (!is_command) continue;
    const ProcessResult plot = run(words_of(line.substr(5)));
    EXPECT_TRUE(plot.ok()) << plot.output;
    document += plot.output;
    ++commands;
  }
  EXPECT_GE(commands, 8);
  EXPECT_TRUE(testing::matches_golden(document, "../docs/layouts.md"));
}

TEST_F(Tw, PlotWritesPictures) {
  const std::string file = (folder_ / "c.svg").string();
  const ProcessResult plot = run({"plot", "matmul_relu", "C_local", "--target", "cuda:sm_80", "-o", file});
  ASSERT_TRUE(plot.ok()) << plot.output;
  std::ifstream in(file);
  const std::string svg((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg.substr(0, 80);
  // Row 77 and column 70 of two warps by two: warp 3, row 13 and column 6 of it; PTX ISA, m16n8 accumulators.
  EXPECT_NE(svg.find("<title>(77, 70); thread 119 (warp 3, lane 23), register 2</title>"), std::string::npos);
}

TEST_F(Tw, PlotSaysWhatPlacedATile) {
  const std::string file = write("placed.tw",
                                 "program placed(A, B) vars 3 {\n"
                                 "  tensor A: f32[8, 8]\n  tensor B: f32[8, 8]\n"
                                 "  kernel placed(bx@0 < 1) threads 32 {\n"
                                 "    tile A: global f32[8, 8] of A\n    tile B: global f32[8, 8] of B\n"
                                 "    tile s: shared f32[8, 8] {layout = \"(8,8):(12,1)\", annotated = true}\n"
                                 "    tile c: fragment f32[8, 8] {fragment = \"[8,8] threads(8:d1*1,4:d0*1) "
                                 "regs(2:d0*4)\", annotated = true}\n"
                                 "    tile d: fragment f32[8, 8]\n"
                                 "    copy(A[0:8, 0:8], s[0:8, 0:8])\n"
                                 "    for i@1, j@2 in parallel(0:8, 0:8) {\n      c[i@1, j@2] = s[i@1, j@2]\n"
                                 "      d[i@1, j@2] = c[i@1, j@2]\n    }\n"
                                 "    copy(d[0:8, 0:8], B[0:8, 0:8])\n  }\n}\n");
  const ProcessResult plot = run({"plot", file, "--target", "cuda:sm_80"});
  ASSERT_TRUE(plot.ok()) << plot.output;
  const std::string held = "[8,8] threads(8:d1*1,4:d0*1) regs(2:d0*4)";
  EXPECT_EQ(plot.output, fmt::format("{:<20} {:<16} {:<28} {}  # the author at placed.tw:8\n", "placed", "c",
                                     "fragment f32[8, 8]", held) +
                             fmt::format("{:<20} {:<16} {:<28} {}  # a loop at placed.tw:11\n", "placed", "d",
                                         "fragment f32[8, 8]", held) +
                             fmt::format("{:<20} {:<16} {:<28} {}  # the author at placed.tw:7\n", "placed", "s",
                                         "shared f32[8, 8]", "(8,8):(12,1)"));
  const ProcessResult report = run({"print", file, "--report", "--target", "cuda:sm_80"});
  EXPECT_NE(report.output.find("s                shared f32[8, 8]  # the author at placed.tw:7\n"), std::string::npos)
      << report.output;
  EXPECT_NE(report.output.find("f32[2]  # a loop at placed.tw:11\n"), std::string::npos) << report.output;
  // What is printed is parsed as the same.
  const ProcessResult text = run({"print", file});
  EXPECT_NE(text.output.find("tile s: shared f32[8, 8] {layout = \"(8,8):(12,1)\", annotated = true}"),
            std::string::npos)
      << text.output;
}

TEST_F(Tw, PlotRefusesWhatIsNotThere) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& message) {
    arguments.insert(arguments.begin(), {"plot", "matmul_relu"});
    arguments.insert(arguments.end(), {"--target", "cuda:sm_80"});
    const ProcessResult plot = run(arguments);
    EXPECT_EQ(plot.exit_code, 2) << plot.output;
    EXPECT_NE(plot.output.find(message), std::string::npos) << plot.output;
  };
  refused({"D_local"}, "matmul_relu has no tile 'D_local' on chip\n  hint: tiles are C_local, A_shared, B_shared");
  refused({"C_local", "--region", "0:x"}, "'0:x' is no region");
  refused({"C_local", "--region", "0:4"}, "1 ranges for a shape of 2 dimensions");
  refused({"C_local", "--region", "0:4,100:129"}, "[100, 129) is no part of dimension 1, whose extent is 128");
  refused({"C_local", "-o", "picture.pdf"}, "the name picture.pdf does not say what to write");
  refused({"C_local", "-o", "/nowhere/picture.svg"}, "/nowhere/picture.svg cannot be written");
}

TEST_F(Tw, BenchWantsANameFirst) {
  const ProcessResult bench = run({"bench", "--seed", "3"});
  EXPECT_EQ(bench.exit_code, 2) << bench.output;
  EXPECT_NE(bench.output.find("there is no benchmark '3'"), std::string::npos) << bench.output;
  const ProcessResult options = run({"bench", "--seed"});
  EXPECT_EQ(options.exit_code, 2) << options.output;
  EXPECT_NE(options.output.find("no benchmark is named before --seed"), std::string::npos) << options.output;
}

}  // namespace
}  // namespace tilewright
