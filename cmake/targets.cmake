# One function for each kind of target. A new file or folder is found by its place; nothing is listed by hand.

# src/**/*.cc and the embedded device headers -> the static library `tilewright`.
function(tilewright_add_library)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cc")
  tilewright_embed_device_headers(embedded)
  add_library(tilewright STATIC ${sources} "${embedded}")
  target_include_directories(tilewright PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(tilewright PUBLIC fmt::fmt Threads::Threads ${CMAKE_DL_LIBS} tilewright_flags)
  # A Python module or another shared library can link it. The programs here are not, so that they can share one
  # precompiled header with the test harness.
  set_target_properties(tilewright PROPERTIES POSITION_INDEPENDENT_CODE ON)
  tilewright_precompile(tilewright)
endfunction()

# tools/<name>/*.cc -> the executable <build>/<name>. Each file that includes CLI11 would compile it whole, in 3 to 4 s: the
# commands are one file for the compiler, and their unnamed namespaces one.
function(tilewright_add_tool name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/${name}/*.cc")
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tools/${name}")
  target_compile_definitions(${name} PRIVATE TILEWRIGHT_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE tilewright nlohmann_json::nlohmann_json CLI11::CLI11)
  target_compile_options(${name} PRIVATE ${TILEWRIGHT_TOOL_COMPILE})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  set(commands ${sources})
  list(FILTER commands INCLUDE REGEX "/(main|[^/]*_command)[.]cc$")
  set_source_files_properties(${commands} PROPERTIES UNITY_GROUP commands)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  tilewright_precompile(${name})
  tilewright_pack_program(${name} . tilewright)
endfunction()

# examples/<name>.cc -> <build>/examples/<name>; the target `examples` builds them all.
function(tilewright_add_examples)
  add_custom_target(examples)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cc")
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example_${name} "${source}")
    target_link_libraries(example_${name} PRIVATE tilewright)
    if(TILEWRIGHT_PCH)
      target_compile_options(example_${name} PRIVATE -fPIC)  # as the library and its precompiled header
      target_precompile_headers(example_${name} REUSE_FROM tilewright)
    endif()
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
    add_dependencies(examples example_${name})
    tilewright_pack_program(example_${name} examples tilewright)
  endforeach()
endfunction()

# tests/<folder>/*.cc -> the suite <build>/test_<folder>, one ctest entry with the label <folder>; the target `tests`
# builds them all. tests/harness/*.cc is code which every suite links, the `main` of the suites among it.
# A folder may hold a suite.cmake which sets SUITE_SERIAL (runs alone), SUITE_LABELS (further labels) or
# SUITE_LIBRARIES (further libraries to link), SUITE_SOURCES (further files, such as generated ones), SUITE_OPTIONS
# (further options of the compiler), SUITE_PROGRAMS (targets whose programs it starts), SUITE_LONG (begins before others,
# so that none of the long ones is alone at the end).
# <build>/tests.txt, which `tw test` reads, has one line for each suite: executable, labels with commas, RUN_SERIAL or
# nothing.
function(tilewright_add_tests)
  file(GLOB harness CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/harness/*.cc")
  add_library(tilewright_harness STATIC ${harness})
  target_include_directories(tilewright_harness PUBLIC "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(tilewright_harness PUBLIC ${TILEWRIGHT_TEST_COMPILE})
  target_link_libraries(tilewright_harness PUBLIC tilewright GTest::gtest nlohmann_json::nlohmann_json)
  tilewright_precompile(tilewright_harness <gtest/gtest.h>)

  add_custom_target(tests DEPENDS tw)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*/*.cc")
  set(folders "")
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(REMOVE_ITEM folders harness)

  set(lines "")
  set(long_lines "")
  foreach(folder IN LISTS folders)
    tilewright_add_suite(${folder} line is_long)
    if(is_long)
      string(APPEND long_lines "${line}\n")
    else()
      string(APPEND lines "${line}\n")
    endif()
  endforeach()
  string(PREPEND lines "${long_lines}")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/packed/tests.txt" CONTENT "${lines}" @ONLY)
  if(NOT TILEWRIGHT_SANITIZE)
    tilewright_add_python_suite()
    string(APPEND lines "test_python python\n")
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/tests.txt" CONTENT "${lines}" @ONLY)
  tilewright_write_source_folder()
endfunction()

# tests/python/*.py -> the suite <build>/test_python, a script; without the package it says why it skips its tests.
function(tilewright_add_python_suite)
  set(suite_python "")
  add_custom_target(test_python)
  if(TILEWRIGHT_PYTHON)
    set(suite_python "${Python_EXECUTABLE}")
    add_dependencies(test_python tilewright_python)
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/tests/python/suite.sh.in" "${PROJECT_BINARY_DIR}/test_python" @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  add_dependencies(tests test_python)
  add_test(NAME test_python COMMAND test_python)
  set_tests_properties(test_python PROPERTIES LABELS python)
endfunction()

# <build>/source_folder.txt tells the tests where the sources are. Relative where the build lies among them: both can be
# moved together then.
function(tilewright_write_source_folder)
  file(REAL_PATH "${PROJECT_SOURCE_DIR}" source)
  file(REAL_PATH "${PROJECT_BINARY_DIR}" build)
  string(FIND "${build}" "${source}/" at)
  if(at EQUAL 0)
    file(RELATIVE_PATH source "${build}" "${source}")
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/source_folder.txt" CONTENT "${source}\n" @ONLY)
endfunction()

function(tilewright_add_suite folder line_variable long_variable)
  set(SUITE_SERIAL OFF)
  set(SUITE_LONG OFF)
  set(SUITE_LABELS "")
  set(SUITE_LIBRARIES "")
  set(SUITE_OPTIONS "")
  set(SUITE_SOURCES "")
  set(SUITE_PROGRAMS "")
  include("${PROJECT_SOURCE_DIR}/tests/${folder}/suite.cmake" OPTIONAL)
  set(labels ${folder} ${SUITE_LABELS})

  set(name test_${folder})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc")
  get_property(shared GLOBAL PROPERTY TILEWRIGHT_SHARED_TEST_SOURCES)  # which a library of SUITE_LIBRARIES holds
  list(REMOVE_ITEM sources ${shared})
  add_executable(${name} ${sources} ${SUITE_SOURCES})
  target_link_libraries(${name} PRIVATE tilewright_harness ${SUITE_LIBRARIES})
  target_compile_options(${name} PRIVATE ${SUITE_OPTIONS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  # clang refuses a precompiled header that was made with other options.
  if(TILEWRIGHT_PCH AND NOT SUITE_OPTIONS)
    target_precompile_headers(${name} REUSE_FROM tilewright_harness)
  endif()
  add_dependencies(tests ${name})
  if(SUITE_PROGRAMS)
    add_dependencies(${name} ${SUITE_PROGRAMS})
  endif()

  tilewright_pack_program(${name} . tilewright_harness ${SUITE_LIBRARIES})

  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" RUN_SERIAL ${SUITE_SERIAL})
  string(REPLACE ";" "," line "${labels}")
  set(line "${name} ${line}")
  if(SUITE_SERIAL)
    string(APPEND line " RUN_SERIAL")
  endif()
  set(${line_variable} "${line}" PARENT_SCOPE)
  set(${long_variable} ${SUITE_LONG} PARENT_SCOPE)
endfunction()

# bench/<name>.cc or bench/<name>/*.cc -> <build>/bench/<name>; the target `benches` builds them all. A benchmark
# whose sources include <cblas.h> is built only where OpenBLAS is found.
function(tilewright_add_benches)
  add_custom_target(benches)
  find_package(OpenBLAS QUIET CONFIG)
  if(NOT OpenBLAS_LIBRARIES)
    find_library(OpenBLAS_LIBRARIES openblas)
    find_path(OpenBLAS_INCLUDE_DIRS cblas.h PATH_SUFFIXES openblas openblas-pthread)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cc" "${PROJECT_SOURCE_DIR}/bench/*/*.cc")
  set(names "")
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/bench" "${source}")
    string(REGEX REPLACE "(/|\\.cc$).*" "" name "${name}")
    list(APPEND names ${name})
    list(APPEND sources_${name} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    tilewright_add_bench(${name} ${sources_${name}})
  endforeach()
endfunction()

function(tilewright_add_bench name)
  set(uses_openblas OFF)
  set(packed_libraries "")
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" includes REGEX "^#include <cblas.h>")
    if(includes)
      set(uses_openblas ON)
    endif()
  endforeach()
  if(uses_openblas AND NOT (OpenBLAS_LIBRARIES AND OpenBLAS_INCLUDE_DIRS))
    message(STATUS "bench/${name} is left out: OpenBLAS was not found (libopenblas-dev)")
    return()
  endif()
  add_executable(bench_${name} ${ARGN})
  target_link_libraries(bench_${name} PRIVATE tilewright nlohmann_json::nlohmann_json CLI11::CLI11)
  if(uses_openblas)
    target_include_directories(bench_${name} SYSTEM PRIVATE ${OpenBLAS_INCLUDE_DIRS})
    target_link_libraries(bench_${name} PRIVATE ${OpenBLAS_LIBRARIES})
    # Of OpenBLAS a pack holds the static library, without what it takes from Fortran: no benchmark calls LAPACK.
    string(REGEX REPLACE "[.]so$" ".a" packed_libraries "${OpenBLAS_LIBRARIES}")
  endif()
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(benches bench_${name})
  tilewright_pack_program(bench_${name} bench tilewright ${packed_libraries})
endfunction()

# python/src/*.cc -> the extension module <build>/python/tilewright/_core, beside links to the package's files: with
# <build>/python in PYTHONPATH an edited file is seen at once. A wheel is installed from the same targets.
# A macro, so that Python_EXECUTABLE is there for the suite.
macro(tilewright_add_python)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_folder
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "TILEWRIGHT_PYTHON needs nanobind: ${Python_EXECUTABLE} -m pip install nanobind")
  endif()
  find_package(nanobind CONFIG REQUIRED PATHS "${nanobind_folder}" NO_DEFAULT_PATH)

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cc")
  if(NOT TARGET tilewright_static_fmt)
    tilewright_add_static_fmt()
  endif()
  # One module for all versions from 3.12 on, where the stable interface is complete enough; one for each before.
  nanobind_add_module(tilewright_python STABLE_ABI NB_STATIC ${sources} $<TARGET_OBJECTS:tilewright_static_fmt>)
  target_link_libraries(tilewright_python PRIVATE tilewright)
  # A wheel needs nothing but the C library, as a packed program.
  target_link_options(tilewright_python PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
  target_include_directories(tilewright_python SYSTEM BEFORE PRIVATE "${NB_DIR}/include")
  set_target_properties(tilewright_python PROPERTIES OUTPUT_NAME _core
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python/tilewright")

  set(package "${PROJECT_SOURCE_DIR}/python/tilewright")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${package}" "${package}/*.py" "${package}/*.pyi" "${package}/py.typed")
  foreach(file IN LISTS files)
    get_filename_component(folder "${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/python/tilewright/${folder}")
    file(CREATE_LINK "${package}/${file}" "${PROJECT_BINARY_DIR}/python/tilewright/${file}" SYMBOLIC)
  endforeach()
  install(TARGETS tilewright_python LIBRARY DESTINATION tilewright COMPONENT python)
endmacro()
