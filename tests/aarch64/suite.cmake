include("${CMAKE_SOURCE_DIR}/tests/ops/library.cmake")
# The rows themselves.
file(GLOB SUITE_SOURCES CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/ops/*_rows.cc")
list(APPEND SUITE_SOURCES "${CMAKE_SOURCE_DIR}/tests/ops/combine_reference.cc" "${CMAKE_SOURCE_DIR}/tests/ops/pairs.cc")
