# dy_python_package(MODULE name SOURCES files...): the package `dyadic` in ${PROJECT_BINARY_DIR}/python/dyadic,
# made of the extension module and of every .py, .pyi and py.typed below python/dyadic. The same files are the component `python`
# of cmake --install, which is what the wheel holds (pyproject.toml).
# nanobind comes from the interpreter's own packages: `./dev build --python` and pip both provide it.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE status
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind; run ./dev build --python, or pip install nanobind for this Python")
endif()
find_package(nanobind CONFIG REQUIRED)

function(dy_python_package)
  cmake_parse_arguments(arg "" "MODULE" "SOURCES" ${ARGN})
  set(package ${PROJECT_BINARY_DIR}/python/dyadic)
  nanobind_add_module(${arg_MODULE} NB_STATIC ${arg_SOURCES})
  target_compile_options(nanobind-static PRIVATE -w)  # not ours to mend
  target_include_directories(${arg_MODULE} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${arg_MODULE} PRIVATE dyadic_library fmt::fmt)
  set_target_properties(${arg_MODULE} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
  install(TARGETS ${arg_MODULE} LIBRARY DESTINATION dyadic COMPONENT python EXCLUDE_FROM_ALL)

  set(root ${PROJECT_SOURCE_DIR}/python/dyadic)
  file(GLOB_RECURSE files RELATIVE ${root} CONFIGURE_DEPENDS ${root}/*.py ${root}/*.pyi ${root}/py.typed)
  set(copies "")
  foreach(file IN LISTS files)
    add_custom_command(OUTPUT ${package}/${file} DEPENDS ${root}/${file}
                       COMMAND ${CMAKE_COMMAND} -E copy ${root}/${file} ${package}/${file})
    list(APPEND copies ${package}/${file})
    get_filename_component(folder dyadic/${file} DIRECTORY)
    install(FILES ${root}/${file} DESTINATION ${folder} COMPONENT python EXCLUDE_FROM_ALL)
  endforeach()
  add_custom_target(${arg_MODULE}_files ALL DEPENDS ${copies})
  set(${arg_MODULE}_files ${copies} PARENT_SCOPE)
endfunction()
