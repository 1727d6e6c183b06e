# What `./tw pack` carries to a machine without network: the programs of this build, linked once more so that they need
# nothing but the C library, and what a build there needs. `cmake --install . --component pack` collects both; nothing
# else is installed. A packed program has the name and the folder that it has in a build.

# Debian's libfmt has no static library. Its header does: all its inline functions, kept although nothing calls them.
function(tilewright_add_static_fmt)
  set(source "${PROJECT_BINARY_DIR}/static_fmt.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#define FMT_HEADER_ONLY\n#include <fmt/format.h>\n")
  add_library(tilewright_static_fmt STATIC EXCLUDE_FROM_ALL "${source}")
  set_target_properties(tilewright_static_fmt PROPERTIES OUTPUT_NAME fmt POSITION_INDEPENDENT_CODE ON)
  target_include_directories(tilewright_static_fmt SYSTEM PRIVATE
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_options(tilewright_static_fmt PRIVATE -fkeep-inline-functions -ffunction-sections -fdata-sections)
endfunction()

# tilewright_pack_program(TARGET FOLDER LIBRARY...): TARGET's objects, linked with the libraries, as FOLDER/<its name>.
function(tilewright_pack_program target folder)
  if(NOT TARGET packed)
    return()
  endif()
  get_target_property(name ${target} OUTPUT_NAME)
  if(NOT name)
    set(name ${target})
  endif()
  add_executable(packed_${target} EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:${target}> $<TARGET_OBJECTS:tilewright_static_fmt>)
  target_link_libraries(packed_${target} PRIVATE ${ARGN})
  # The static fmt comes first, so nothing is left for the shared one, which --as-needed then leaves out.
  target_link_options(packed_${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
  set_target_properties(packed_${target} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/packed/${folder}")
  add_dependencies(packed packed_${target})
  install(TARGETS packed_${target} RUNTIME DESTINATION ${folder} COMPONENT pack EXCLUDE_FROM_ALL)
endfunction()

# tilewright_pack_headers(TARGET NAME...): the folders NAME in the include directories of an imported target.
function(tilewright_pack_headers target)
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  foreach(name IN LISTS ARGN)
    foreach(folder IN LISTS folders)
      if(IS_DIRECTORY "${folder}/${name}")
        install(DIRECTORY "${folder}/${name}" DESTINATION deps/include COMPONENT pack EXCLUDE_FROM_ALL)
        break()
      endif()
    endforeach()
  endforeach()
endfunction()

# deps/: fmt, CLI11, nlohmann-json and GoogleTest as CMake packages. cmake/pack/*.cmake are their configurations.
function(tilewright_pack_dependencies)
  tilewright_pack_headers(fmt::fmt fmt)
  tilewright_pack_headers(CLI11::CLI11 CLI)
  tilewright_pack_headers(nlohmann_json::nlohmann_json nlohmann)
  tilewright_pack_headers(GTest::gtest gtest)
  add_dependencies(packed tilewright_static_fmt)
  install(FILES $<TARGET_FILE:tilewright_static_fmt> $<TARGET_FILE:GTest::gtest> DESTINATION deps/lib
    COMPONENT pack EXCLUDE_FROM_ALL)
  file(GLOB configurations CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/pack/*.cmake")
  foreach(configuration IN LISTS configurations)
    get_filename_component(name "${configuration}" NAME)
    string(REGEX REPLACE "(-config|Config)[.]cmake$" "" name "${name}")
    install(FILES "${configuration}" DESTINATION deps/lib/cmake/${name} COMPONENT pack EXCLUDE_FROM_ALL)
  endforeach()
endfunction()

# What tests read: tests.txt without the Python suite, and the sources that source_folder.txt names.
function(tilewright_pack_test_files)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/packed/source_folder.txt" CONTENT "source\n")
  install(FILES "${PROJECT_BINARY_DIR}/packed/tests.txt" "${PROJECT_BINARY_DIR}/packed/source_folder.txt" DESTINATION .
    COMPONENT pack EXCLUDE_FROM_ALL)
  foreach(folder IN ITEMS docs examples include tests)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION source COMPONENT pack EXCLUDE_FROM_ALL)
  endforeach()
endfunction()

# The target `packed`: before the programs are added. It is there where all that is packed is built with g++.
function(tilewright_begin_pack)
  if(TILEWRIGHT_TESTS AND TILEWRIGHT_BENCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT TILEWRIGHT_SANITIZE)
    add_custom_target(packed)
    tilewright_add_static_fmt()
  endif()
endfunction()

function(tilewright_end_pack)
  if(TARGET packed)
    tilewright_pack_dependencies()
    tilewright_pack_test_files()
  endif()
endfunction()
