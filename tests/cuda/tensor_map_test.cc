#include "runtime/cuda/tensor_map.h"

#include "cuda/fake_driver.h"
#include "cuda/fake_library.h"

#include <gtest/gtest.h>

namespace tilewright::cuda {
namespace {

constexpr DeviceAddress kAddress = 0x7f0000000010;

TensorMapSpec valid() {
  return {.type = TensorMapType::bf16,
          .extents = {1000, 300},
          .strides_bytes = {2048},
          .box = {64, 128},
          .swizzle = TensorMapSwizzle::span128};
}

std::string problem(const TensorMapSpec& spec, DeviceAddress address = kAddress) {
  return why_not_encodable(spec, address).value_or("");
}

TEST(TensorMap, EveryRuleNamesItsValue) {
  EXPECT_EQ(problem(valid()), "");
  EXPECT_EQ(problem(valid(), kAddress + 8), "the tensor starts at 0x7f0000000018; a multiple of 16 is possible");
  TensorMapSpec spec = valid();
  spec.strides_bytes = {2056};
  EXPECT_EQ(problem(spec), "the stride of dimension 1 is 2056 bytes; a multiple of 16 below 2^40 is possible");
  spec.strides_bytes = {uint64_t(1) << 40};
  EXPECT_NE(problem(spec), "");
  spec.strides_bytes = {(uint64_t(1) << 40) - 16};
  EXPECT_EQ(problem(spec), "");
  spec = valid();
  spec.extents = {0, 300};
  EXPECT_EQ(problem(spec), "the extent of dimension 0 is 0; 1 to 4294967296 is possible");
  spec.extents = {uint64_t(1) << 32, 300};
  EXPECT_EQ(problem(spec), "");
  spec.extents = {(uint64_t(1) << 32) + 1, 300};
  EXPECT_NE(problem(spec), "");
  spec = valid();
  spec.box = {64, 257};
  EXPECT_EQ(problem(spec), "the box extent of dimension 1 is 257; 1 to 256 is possible");
  spec.box = {72, 128};
  EXPECT_EQ(problem(spec), "a row of the box has 144 bytes; with this swizzle at most 128 are possible");
  spec.swizzle = TensorMapSwizzle::none;
  EXPECT_EQ(problem(spec), "");
  spec.box = {4, 128};
  EXPECT_EQ(problem(spec), "a row of the box has 8 bytes; a multiple of 16 is possible");
  spec = valid();
  spec.element_strides = {1, 9};
  EXPECT_EQ(problem(spec), "the element stride of dimension 1 is 9; 1 to 8 is possible");
  spec.element_strides = {2, 1};
  EXPECT_EQ(problem(spec), "the element stride of dimension 0 is 2; 1 to 1 is possible");
  spec.element_strides = {1};
  EXPECT_NE(problem(spec), "");
  spec = {.extents = {1, 1, 1, 1, 1, 1}, .strides_bytes = {16, 16, 16, 16, 16}, .box = {4, 1, 1, 1, 1, 1}};
  EXPECT_EQ(problem(spec), "it has 6 dimensions; 1 to 5 are possible");
}

TEST(TensorMap, StoresNeedRowsOfWholePieces) {
  EXPECT_EQ(why_not_storable(valid()), std::nullopt);  // 2000 bytes
  TensorMapSpec spec = valid();
  spec.extents = {1001, 300};
  EXPECT_EQ(why_not_storable(spec), "a row of the tensor has 2002 bytes; stores write whole multiples of 16");
}

TEST(TensorMap, ArgumentsReachTheDriver) {
  const test::TestFolder folder;
  LibraryOptions options;
  options.driver = folder.path() / "libcuda.so.1";
  test::build_library(*options.driver, test::kFakeDriver);
  const auto device = Device::open(Driver::load(options), 0);
  const TensorMap map = encode_tensor_map(*device, valid(), kAddress);
  EXPECT_EQ(map.opaque[0], 100u);
  EXPECT_EQ(map.opaque[15], 115u);
  test::FakeRecord* (*get_record)() = nullptr;
  SharedLibrary::open(driver_search(options)).bind(get_record, "fake_record");
  const std::vector<uint64_t> expected = {
      9 /* BFLOAT16 */,  2, kAddress, 1000, 300, 2048, 64, 128, 1, 1, 0 /* not interleaved */, 3 /* 128B */,
      2 /* 128 bytes */, 0 /* zero */};
  EXPECT_EQ(std::vector<uint64_t>(get_record()->map_arguments, get_record()->map_arguments + expected.size()),
            expected);
  const TensorMapSpec row = {.type = TensorMapType::u8, .extents = {100}, .strides_bytes = {}, .box = {16}};
  EXPECT_NO_THROW(encode_tensor_map(*device, row, kAddress));
  TensorMapSpec broken = valid();
  broken.box = {64};
  EXPECT_THROW(encode_tensor_map(*device, broken, kAddress), Error);
}

}  // namespace
}  // namespace tilewright::cuda
