#include "support/options.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <map>

namespace tilewright {
namespace {

Options read(const std::map<std::string, std::string, std::less<>>& variables) {
  return read_options([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

Error error_of(const std::map<std::string, std::string, std::less<>>& variables) {
  try {
    read(variables);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "");
}

TEST(Options, defaults) {
  const Options options = read({});
  EXPECT_FALSE(options.cache_dir || options.default_cache_dir || options.keep_dir || options.disable_cache);
  EXPECT_EQ(options.num_threads, 0);
  EXPECT_EQ(options.target, "auto");
  EXPECT_EQ(options.cxx, "");
  EXPECT_EQ(options.temp_dir, "/tmp");
  EXPECT_TRUE(options.search_path.empty());
}

TEST(Options, values) {
  const Options options = read({{"TILEWRIGHT_CACHE_DIR", "/c"},
                                {"TILEWRIGHT_DISABLE_CACHE", "True"},
                                {"TILEWRIGHT_CXX", "clang++"},
                                {"TILEWRIGHT_NUM_THREADS", "7"},
                                {"TILEWRIGHT_TARGET", "cpu"},
                                {"TILEWRIGHT_KEEP_DIR", "/k"},
                                {"TILEWRIGHT_NVRTC", "/n/libnvrtc.so.13"},
                                {"TILEWRIGHT_CUDA_DRIVER", "/d/libcuda.so.1"},
                                {"CUDA_HOME", "/cuda"},
                                {"CUDA_PATH", "relative"},
                                {"HOME", "/home/a"},
                                {"TMPDIR", "/t"},
                                {"PATH", "/a:relative::/b:"}});
  EXPECT_EQ(options.cache_dir, "/c");
  EXPECT_TRUE(options.disable_cache);
  EXPECT_EQ(options.cxx, "clang++");
  EXPECT_EQ(options.num_threads, 7);
  EXPECT_EQ(options.target, "cpu");
  EXPECT_EQ(options.keep_dir, "/k");
  EXPECT_EQ(options.nvrtc, "/n/libnvrtc.so.13");
  EXPECT_EQ(options.cuda_driver, "/d/libcuda.so.1");
  EXPECT_EQ(options.cuda_homes, (std::vector<std::filesystem::path>{"/cuda"}));
  EXPECT_EQ(options.home, "/home/a");
  EXPECT_EQ(options.temp_dir, "/t");
  EXPECT_EQ(options.search_path, (std::vector<std::filesystem::path>{"/a", "/b"}));
}

TEST(Options, default_cache_folder) {
  EXPECT_EQ(read({{"HOME", "/home/a"}}).default_cache_dir, "/home/a/.cache/tilewright");
  EXPECT_EQ(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/x"}}).default_cache_dir, "/x/tilewright");
  EXPECT_EQ(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "relative"}}).default_cache_dir, "/home/a/.cache/tilewright");
  EXPECT_EQ(read({{"HOME", ""}}).default_cache_dir, std::nullopt);
}

TEST(Options, empty_is_unset) {
  const Options options =
      read({{"TILEWRIGHT_NUM_THREADS", ""}, {"TILEWRIGHT_DISABLE_CACHE", ""}, {"TILEWRIGHT_TARGET", ""}});
  EXPECT_EQ(options.num_threads, 0);
  EXPECT_FALSE(options.disable_cache);
  EXPECT_EQ(options.target, "auto");
}

TEST(Options, bad_values_are_errors) {
  for (const char* value : {"abc", "0", "-3", "4097", "2.5", "8 ", "99999999999999999999", "0x8"}) {
    const Error error = error_of({{"TILEWRIGHT_NUM_THREADS", value}});
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(error.message(),
              "TILEWRIGHT_NUM_THREADS is \"" + std::string(value) + "\", which is not a number of threads");
    EXPECT_EQ(error.hint(), "a whole number from 1 to 4096, or unset for one per usable core");
  }
  EXPECT_EQ(error_of({{"TILEWRIGHT_DISABLE_CACHE", "maybe"}}).message(),
            "TILEWRIGHT_DISABLE_CACHE is \"maybe\", which is neither 1 nor 0");
  EXPECT_EQ(error_of({{"TILEWRIGHT_CACHE_DIR", "here"}}).message(),
            "TILEWRIGHT_CACHE_DIR is \"here\", which is not an absolute path");
  EXPECT_EQ(error_of({{"TILEWRIGHT_KEEP_DIR", "~/k"}}).kind(), ErrorKind::invalid_argument);
}

// A variable that is read but not in the table would be an undocumented option.
TEST(Options, table_and_reader_agree) {
  std::map<std::string, int> reads;
  read_options([&](std::string_view name) -> std::optional<std::string> {
    ++reads[std::string(name)];
    return std::nullopt;
  });
  EXPECT_EQ(reads.size(), option_table().size());
  const std::string help = options_help();
  for (const OptionInfo& option : option_table()) {
    EXPECT_EQ(reads.count(std::string(option.name)), 1u) << option.name;
    EXPECT_NE(help.find("  " + std::string(option.name) + " "), std::string::npos);
    EXPECT_NE(help.find(option.meaning), std::string::npos);
  }
}

}  // namespace
}  // namespace tilewright
