# fmt of a pack; cmake/pack.cmake says what lies where.
if(NOT TARGET fmt::fmt)
  get_filename_component(deps "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(fmt::fmt STATIC IMPORTED)
  set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION "${deps}/lib/libfmt.a"
    INTERFACE_INCLUDE_DIRECTORIES "${deps}/include")
endif()
