include("${CMAKE_SOURCE_DIR}/tests/ops/library.cmake")
