# libmd (SHA-256) as the target LibMD::LibMD. Installed beside dyadicConfig.cmake: the library has no CMake file of its own.
find_library(LibMD_LIBRARY md)
find_path(LibMD_INCLUDE_DIR sha2.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibMD REQUIRED_VARS LibMD_LIBRARY LibMD_INCLUDE_DIR)
if(LibMD_FOUND AND NOT TARGET LibMD::LibMD)
  add_library(LibMD::LibMD UNKNOWN IMPORTED)
  set_target_properties(LibMD::LibMD PROPERTIES IMPORTED_LOCATION ${LibMD_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${LibMD_INCLUDE_DIR})
endif()
mark_as_advanced(LibMD_LIBRARY LibMD_INCLUDE_DIR)
