# CLI11 of a pack; cmake/pack.cmake says what lies where.
if(NOT TARGET CLI11::CLI11)
  get_filename_component(deps "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(CLI11::CLI11 INTERFACE IMPORTED)
  set_target_properties(CLI11::CLI11 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${deps}/include")
endif()
