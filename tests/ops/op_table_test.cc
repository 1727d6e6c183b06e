#include "ops/op_table.h"

#include <gtest/gtest.h>

namespace tilewright::tests {
namespace {

class OpTable : public ::testing::TestWithParam<Part> {};

TEST_P(OpTable, EveryRunnerAgreesWithTheReference) { check_rows(GetParam().rows(), GetParam().rows_per_program); }

INSTANTIATE_TEST_SUITE_P(All, OpTable, ::testing::ValuesIn(kParts), [](const auto& part) { return part.param.name; });

}  // namespace
}  // namespace tilewright::tests
