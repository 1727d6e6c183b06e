// The command line as a user sees it: kernels as files, sources on disk.
#include "harness/folders.h"
#include "runtime/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

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

}  // namespace
}  // namespace tilewright
