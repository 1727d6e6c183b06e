include("${CMAKE_SOURCE_DIR}/tests/ops/library.cmake")
set(document "${CMAKE_SOURCE_DIR}/docs/language.md")
set(script "${CMAKE_SOURCE_DIR}/tests/lang/extract_examples.cmake")
set(output "${CMAKE_BINARY_DIR}/document_examples.cc")
add_custom_command(
  OUTPUT "${output}"
  COMMAND ${CMAKE_COMMAND} "-DDOCUMENT=${document}" "-DNAME=docs/language.md" "-DOUTPUT=${output}" -P "${script}"
  DEPENDS "${document}" "${script}"
  VERBATIM)
set(SUITE_SOURCES "${output}")
