# tilewright_embed_device_headers(VARIABLE): puts the path of a generated .cc with the text of every file below
# include/tilewright/device/ into VARIABLE; src/codegen/embedded.h is its interface.
function(tilewright_embed_device_headers variable)
  set(folder "${PROJECT_SOURCE_DIR}/include/tilewright/device")
  set(output "${PROJECT_BINARY_DIR}/embedded_device_headers.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*.h")
  list(SORT files)
  list(TRANSFORM files PREPEND "${folder}/" OUTPUT_VARIABLE inputs)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DFOLDER=${folder}" "-DFILES=${files}" -P "${script}"
    DEPENDS ${inputs} "${script}"
    COMMENT "Embedding device headers"
    VERBATIM)
  set_source_files_properties("${output}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()
