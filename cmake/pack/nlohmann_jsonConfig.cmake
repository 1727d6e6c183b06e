# nlohmann_json of a pack; cmake/pack.cmake says what lies where.
if(NOT TARGET nlohmann_json::nlohmann_json)
  get_filename_component(deps "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  set_target_properties(nlohmann_json::nlohmann_json PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${deps}/include")
endif()
