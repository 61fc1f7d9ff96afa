# libdyadic.a from the objects of every layer below the command line, its headers, its CMake package and the program.
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY DY_LAYER_TARGETS)
list(FILTER layers EXCLUDE REGEX "^dy_cli")

# As one object: of single ones a linker would leave out the kernels, which are named by weak references alone.
set(objects "")
foreach(layer IN LISTS layers)
  list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()
set(whole ${PROJECT_BINARY_DIR}/dyadic${CMAKE_CXX_OUTPUT_EXTENSION})
add_custom_command(OUTPUT ${whole} COMMAND ${CMAKE_LINKER} -r -o ${whole} ${objects} DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM)
add_library(dyadic_library STATIC ${whole})
add_library(dyadic::dyadic ALIAS dyadic_library)
set_target_properties(dyadic_library PROPERTIES OUTPUT_NAME dyadic EXPORT_NAME dyadic LINKER_LANGUAGE CXX)
target_compile_features(dyadic_library PUBLIC cxx_std_20)
target_include_directories(dyadic_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(libraries "")
foreach(layer IN LISTS layers)
  get_target_property(links ${layer} LINK_LIBRARIES)
  list(APPEND libraries ${links})
endforeach()
list(REMOVE_DUPLICATES libraries)
foreach(library IN LISTS libraries)
  # A header-only library (nlohmann-json) is of no concern to a program that links the finished archive.
  if(TARGET ${library})
    get_target_property(type ${library} TYPE)
    get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
    if(type STREQUAL "INTERFACE_LIBRARY" AND NOT links)
      continue()
    endif()
  endif()
  target_link_libraries(dyadic_library PRIVATE ${library})
endforeach()

# Programs written for libtorch: their <torch/torch.h> is Dyadic's only where this target is linked.
add_library(dyadic_torch INTERFACE)
add_library(dyadic::torch ALIAS dyadic_torch)
set_target_properties(dyadic_torch PROPERTIES EXPORT_NAME torch)
target_link_libraries(dyadic_torch INTERFACE dyadic_library)
target_include_directories(dyadic_torch INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/dyadic/libtorch>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dyadic/libtorch>)

configure_file(cmake/version.h.in generated/dyadic/version.h @ONLY)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dyadic)
configure_package_config_file(cmake/dyadicConfig.cmake.in dyadicConfig.cmake INSTALL_DESTINATION ${package_dir})
# 0.x promises nothing from one minor version to the next.
write_basic_package_version_file(dyadicConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
install(TARGETS dyadic_library dyadic_torch EXPORT dyadicTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/dyadic ${PROJECT_BINARY_DIR}/generated/dyadic DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(EXPORT dyadicTargets NAMESPACE dyadic:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/dyadicConfig.cmake ${PROJECT_BINARY_DIR}/dyadicConfigVersion.cmake cmake/FindLibMD.cmake cmake/FindReferenceLapack.cmake
        DESTINATION ${package_dir})
set(installed ${CMAKE_INSTALL_LIBDIR}/libdyadic.a)
if(TARGET dyadic)
  install(TARGETS dyadic RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  list(APPEND installed ${CMAKE_INSTALL_BINDIR}/dyadic)
endif()
install(CODE "
  foreach(file ${installed})
    file(SIZE \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file} bytes)
    math(EXPR kib \"(\${bytes} + 1023) / 1024\")
    message(STATUS \"\${file}: \${kib} KiB\")
  endforeach()")
