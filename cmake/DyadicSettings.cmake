# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

# A second checkout of the same sources compiles nothing but the precompiled headers: ccache sees paths below this folder as
# relative ones. CCACHE_DEPEND: a header counts by its content; by its preprocessed text, a changed #define in a precompiled header
# would not show (ccache 4.7 then hands out stale objects). CCACHE_PCH_EXTSUM: see precompile.sh.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

# -ffp-contract=off: g++ would fuse a * b + c where an instruction set has FMA, and bits would differ from what the source says.
add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off -fno-math-errno)
# Messages and the program name our files as src/..., wherever they were built.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# oneDNN's package brings OpenCL and Highway's its run-time library along; the program loads only what it calls.
add_link_options(-Wl,--as-needed)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-psabi -Wno-missing-field-initializers)
else()
  add_compile_options(-Wno-missing-field-initializers)
endif()
if(DYADIC_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")  # the largest kernel takes g++ 25 s with sanitizers at -O3, 7 s at -O1
  add_compile_options(-fsanitize=${DYADIC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  # What the address sanitizer finds too (a null pointer, an object too small) takes a sixth of the compiler's time.
  add_compile_options(-fno-sanitize=null,object-size,vptr)
  add_link_options(-fsanitize=${DYADIC_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What sanitizers write between statements misleads it (gcc's manual says so): std::regex, inlined in one order or another.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
if(DYADIC_ASSERTIONS)
  add_compile_definitions(DYADIC_ASSERTIONS=1)
endif()
