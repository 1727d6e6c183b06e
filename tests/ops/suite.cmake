include("${CMAKE_SOURCE_DIR}/tests/ops/library.cmake")
set(SUITE_LONG ON)
