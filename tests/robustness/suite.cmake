include("${CMAKE_SOURCE_DIR}/tests/ops/library.cmake")
# The programs of the table of operations are where mutations begin.
if(NOT TARGET tilewright_op_rows)
  file(GLOB rows CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/ops/*_rows.cc")
  add_library(tilewright_op_rows STATIC ${rows} "${CMAKE_SOURCE_DIR}/tests/ops/combine_reference.cc"
    "${CMAKE_SOURCE_DIR}/tests/ops/pairs.cc")
  target_link_libraries(tilewright_op_rows PUBLIC tilewright_op_table)
endif()
list(PREPEND SUITE_LIBRARIES tilewright_op_rows)
