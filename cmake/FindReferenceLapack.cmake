# LAPACK of the reference implementation (netlib), static, as the target ReferenceLapack::ReferenceLapack: which library a system
# calls liblapack.so is its owner's choice, and with it speed, threads and bits. Installed beside dyadicConfig.cmake.
find_library(ReferenceLapack_LIBRARY liblapack.a PATH_SUFFIXES lapack lapack/reference)
find_library(ReferenceLapack_BLAS libblas.a PATH_SUFFIXES blas blas/reference)
# Texts are joined by the Fortran runtime; its shared library is there wherever Fortran programs run.
find_library(ReferenceLapack_FORTRAN NAMES gfortran libgfortran.so.5)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ReferenceLapack REQUIRED_VARS ReferenceLapack_LIBRARY ReferenceLapack_BLAS
                                  ReferenceLapack_FORTRAN)
if(ReferenceLapack_FOUND AND NOT TARGET ReferenceLapack::ReferenceLapack)
  add_library(ReferenceLapack::ReferenceLapack UNKNOWN IMPORTED)
  set_target_properties(ReferenceLapack::ReferenceLapack PROPERTIES IMPORTED_LOCATION ${ReferenceLapack_LIBRARY}
                        INTERFACE_LINK_LIBRARIES "${ReferenceLapack_BLAS};${ReferenceLapack_FORTRAN}")
endif()
mark_as_advanced(ReferenceLapack_LIBRARY ReferenceLapack_BLAS ReferenceLapack_FORTRAN)
