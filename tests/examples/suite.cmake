set(SUITE_PROGRAMS tw examples)
include("${CMAKE_SOURCE_DIR}/tests/ops/library.cmake")
