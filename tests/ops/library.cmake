# The arrays, numbers and comparisons of tests/ops for other suites.
if(NOT TARGET tilewright_op_table)
  add_library(tilewright_op_table STATIC "${CMAKE_SOURCE_DIR}/tests/ops/host_array.cc"
    "${CMAKE_SOURCE_DIR}/tests/ops/numbers.cc" "${CMAKE_SOURCE_DIR}/tests/ops/op_table.cc"
    "${CMAKE_SOURCE_DIR}/tests/ops/tracked.cc")
  target_link_libraries(tilewright_op_table PUBLIC tilewright_harness)
endif()
list(APPEND SUITE_LIBRARIES tilewright_op_table)
