// The device atoms as text: every header stands alone on every architecture, and needs none of the CUDA toolkit.
#include "codegen/embedded.h"
#include "harness/machine.h"
#include "runtime/cuda/nvrtc.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <regex>
#include <string>
#include <utility>

namespace tilewright::cuda {
namespace {

std::vector<codegen::EmbeddedFile> atom_headers() {
  std::vector<codegen::EmbeddedFile> out;
  for (const codegen::EmbeddedFile& file : codegen::embedded_files()) {
    if (file.path.starts_with("cuda/")) out.push_back(file);
  }
  return out;
}

TEST(CudaAtoms, IncludeOnlyEachOtherByTheirFullNames) {
  EXPECT_FALSE(atom_headers().empty());
  const std::regex include(R"(^\s*#\s*include\s*(\S+))", std::regex::multiline);
  for (const codegen::EmbeddedFile& file : atom_headers()) {
    const std::string text(file.text);
    for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
      const std::string name = (*it)[1];
      ASSERT_TRUE(name.starts_with("<tilewright/device/cuda/") && name.ends_with(">")) << file.path << ": " << name;
      EXPECT_FALSE(codegen::embedded_file(name.substr(19, name.size() - 20)).empty()) << file.path << ": " << name;
    }
  }
}

class CudaAtomsCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::FoundNvrtc found = testing::find_nvrtc();
    if (!found.nvrtc) GTEST_SKIP() << found.why_not;
    nvrtc = std::move(found.nvrtc);
  }
  std::optional<Nvrtc> nvrtc;
};

TEST_F(CudaAtomsCompile, EveryHeaderAloneAndTwice) {
  for (const codegen::EmbeddedFile& file : atom_headers()) {
    const std::string include = "#include <tilewright/device/" + std::string(file.path) + ">\n";
    const std::string text = include + include + "extern \"C\" __global__ void k(int* x) { *x = 1; }\n";
    EXPECT_NO_THROW(nvrtc->compile({.text = text, .arch = "sm_90a", .flags = testing::quick_cuda_flags(*nvrtc)}))
        << file.path;
  }
}

TEST_F(CudaAtomsCompile, AllHeadersOnEveryArchitecture) {
  std::string text;
  for (const codegen::EmbeddedFile& file : atom_headers()) {
    text += "#include <tilewright/device/" + std::string(file.path) + ">\n";
  }
  text += "extern \"C\" __global__ void k(int* x) { *x = int(tilewright::device::lane_id()); }\n";
  std::vector<std::string> archs = testing::cuda_archs(*nvrtc);
  // What belongs to one processor alone must not be needed by the text of others, nor by one that wants no more than
  // its generation has.
  for (const char* plain : {"sm_90a", "sm_100a"}) {
    if (std::ranges::find(archs, plain) != archs.end()) archs.emplace_back(plain, std::strlen(plain) - 1);
  }
  if (std::ranges::find(archs, "sm_120") != archs.end()) archs.emplace_back("sm_120a");
  std::erase(archs, "sm_75");  // whose text includes none of what came later
  for (const std::string& arch : archs) {
    EXPECT_NO_THROW(nvrtc->compile({.text = text, .arch = arch, .flags = testing::quick_cuda_flags(*nvrtc)})) << arch;
  }
}

TEST_F(CudaAtomsCompile, IllegalConstantsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"wgmma_bf16.h", "float d[2]; wgmma_m64k16_f32_bf16<12>(d, u64(0), u64(0), false);"},
      {"wgmma_s8.h", "i32 d[20]; wgmma_m64k32_s32_s8<40>(d, u64(0), u64(0), false);"},
      {"barrier.h", "sync_threads<16, 128>();"},
      {"barrier.h", "sync_threads<1, 100>();"},
      {"grid.h", "more_registers<236>();"},
      {"async_copy.h", "copy_async<12>(u32(0), nullptr);"},
      {"memory.h", "swizzle<256>(0);"},
  };
  for (const auto& [header, statement] : cases) {
    const std::string text = std::string("#include <tilewright/device/cuda/") + header +
                             ">\nusing namespace tilewright::device;\nextern \"C\" __global__ void k() { " + statement +
                             " }\n";
    EXPECT_THROW(nvrtc->compile({.text = text, .arch = "sm_90a", .flags = compile_flags()}), Error) << statement;
  }
}

}  // namespace
}  // namespace tilewright::cuda
