# GoogleTest of a pack; cmake/pack.cmake says what lies where.
if(NOT TARGET GTest::gtest)
  get_filename_component(deps "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(GTest::gtest STATIC IMPORTED)
  set_target_properties(GTest::gtest PROPERTIES IMPORTED_LOCATION "${deps}/lib/libgtest.a"
    INTERFACE_INCLUDE_DIRECTORIES "${deps}/include")
endif()
