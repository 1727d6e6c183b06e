#include "runtime/cuda/shared_library.h"

#include "cuda/fake_library.h"
#include "runtime/cuda/nvrtc.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;
using test::TestFolder;

template <class Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "");
}

void touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  test::write_text(path, "");
}

// Nothing of this machine.
LibraryOptions nowhere(const fs::path& root) { return {.root = root, .use_loader = false}; }

TEST(LibrarySearch, NamedFileIsTheOnlyCandidate) {
  const TestFolder folder;
  LibraryOptions options = nowhere(folder.path());
  options.use_loader = true;
  options.nvrtc = "/x/libnvrtc.so.12";
  options.driver = "/x/libcuda.so.1";
  touch(folder.path() / "usr/local/cuda/lib64/libnvrtc.so.13");
  EXPECT_EQ(nvrtc_search(options).candidates, std::vector<std::string>{"/x/libnvrtc.so.12"});
  EXPECT_EQ(driver_search(options).candidates, std::vector<std::string>{"/x/libcuda.so.1"});
}

TEST(LibrarySearch, OrderIsHomeLoaderWheelsToolkits) {
  const TestFolder folder;
  const fs::path root = folder.path();
  const fs::path home = root / "my_cuda/lib64/libnvrtc.so.12";
  const fs::path wheel = root / "venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
  const fs::path old_wheel = root / "venv/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
  const fs::path toolkit9 = root / "usr/local/cuda-12.9/lib64/libnvrtc.so.12";
  const fs::path toolkit10 = root / "usr/local/cuda-12.10/targets/x86_64-linux/lib/libnvrtc.so.12";
  const fs::path user = root / "home/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
  for (const fs::path& file : {home, wheel, old_wheel, toolkit9, toolkit10, user, root / "venv/bin/python3"})
    touch(file);
  touch(root / "other/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");  // no python in other/bin
  const LibraryOptions options = {.cuda_homes = {root / "my_cuda"},
                                  .search_path = {root / "other/bin", root / "venv/bin"},
                                  .home = root / "home",
                                  .root = root};
  const std::vector<std::string> expected = {home.string(), "libnvrtc.so.13",   "libnvrtc.so.12",
                                             "libnvrtc.so", wheel.string(),     old_wheel.string(),
                                             user.string(), toolkit10.string(), toolkit9.string()};
  EXPECT_EQ(nvrtc_search(options).candidates, expected);
}

TEST(LibrarySearch, DriverIsFoundWhereContainersPutIt) {
  const TestFolder folder;
  const fs::path file = folder.path() / "usr/local/nvidia/lib64/libcuda.so.1";
  touch(file);
  EXPECT_EQ(driver_search(nowhere(folder.path())).candidates, std::vector<std::string>{file.string()});
}

TEST(SharedLibrary, NothingFoundSaysWhereItWasSearched) {
  const TestFolder folder;
  const Error error = error_of([&] { SharedLibrary::open(nvrtc_search(nowhere(folder.path()))); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "NVRTC is not found");
  ASSERT_EQ(error.notes().size(), 1u);
  EXPECT_NE(error.notes()[0].text.find((folder.path() / "opt/cuda").string()), std::string::npos);
  EXPECT_NE(error.hint().find("pip install nvidia-cuda-nvrtc"), std::string::npos);
}

TEST(SharedLibrary, FileThatDoesNotLoadGivesTheLoadersReason) {
  const TestFolder folder;
  const fs::path file = folder.path() / "opt/cuda/lib64/libnvrtc.so.13";
  touch(file);
  test::write_text(file, "no library");
  const Error error = error_of([&] { SharedLibrary::open(nvrtc_search(nowhere(folder.path()))); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message().find("NVRTC does not load: " + file.string()), 0u) << error.message();
}

TEST(SharedLibrary, GoesOnBehindAFileThatDoesNotLoad) {
  const TestFolder folder;
  const fs::path broken = folder.path() / "usr/local/cuda-13.0/lib64/libnvrtc.so.13";
  const fs::path good = folder.path() / "opt/cuda/lib64/libnvrtc.so.12";
  touch(broken);
  test::build_library(good, "extern \"C\" int answer() { return 42; }");
  const SharedLibrary library = SharedLibrary::open(nvrtc_search(nowhere(folder.path())));
  EXPECT_EQ(library.path(), good);
  int (*answer)() = nullptr;
  library.bind(answer, "answer");
  EXPECT_EQ(answer(), 42);
  EXPECT_EQ(library.find("question"), nullptr);
  const Error error = error_of([&] { library.require("question"); });
  EXPECT_EQ(error.kind(), ErrorKind::toolchain);
  EXPECT_EQ(error.message(), "NVRTC is too old or not what its name says: it has no question");
}

}  // namespace
}  // namespace tilewright::cuda
