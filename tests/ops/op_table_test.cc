#include "ops/op_table.h"

#include <gtest/gtest.h>

namespace tilewright::tests {
namespace {

TEST(OpTable, Copy) { check_rows(copy_rows(), 12); }
TEST(OpTable, Cast) { check_rows(cast_rows(), 6); }
TEST(OpTable, Fill) { check_rows(fill_rows(), 8); }
TEST(OpTable, Transpose) { check_rows(transpose_rows(), 12); }
TEST(OpTable, Gather) { check_rows(gather_rows(), 10); }
TEST(OpTable, View) { check_rows(view_rows(), 12); }
TEST(OpTable, Gemm) { check_rows(gemm_rows(), 12); }
TEST(OpTable, Reduce) { check_rows(reduce_rows(), 40); }
TEST(OpTable, Scan) { check_rows(scan_rows(), 40); }
TEST(OpTable, RowKernels) { check_rows(row_kernel_rows(), 8); }
TEST(OpTable, Atomic) { check_rows(atomic_rows(), 12); }
TEST(OpTable, FloatArithmetic) { check_rows(float_rows(), 4); }
TEST(OpTable, Math) { check_rows(math_rows(), 6); }
TEST(OpTable, FunctionsOfTwo) { check_rows(function_rows(), 6); }
TEST(OpTable, EveryNarrowNumber) { check_rows(pattern_rows(), 4); }
TEST(OpTable, IntegerArithmetic) { check_rows(integer_rows(), 8); }
TEST(OpTable, Raster) { check_rows(raster_rows(), 10); }
TEST(OpTable, Control) { check_rows(control_rows(), 10); }
TEST(OpTable, Blocks) { check_rows(block_rows(), 20); }
TEST(OpTable, DynamicExtents) { check_rows(dynamic_rows(), 4); }

}  // namespace
}  // namespace tilewright::tests
