# SPDX-License-Identifier: Apache-2.0
# LAPACKE, the C interface of LAPACK: target LAPACKE::LAPACKE. Netlib's and OpenBLAS's (which holds it itself) both serve.

find_path(LAPACKE_INCLUDE_DIR lapacke.h PATH_SUFFIXES lapacke openblas)
find_library(LAPACKE_LIBRARY NAMES lapacke openblas)
# A static lapacke does not bring the rest along; a shared one does.
set(LAPACKE_NEEDS "")
if(LAPACKE_LIBRARY MATCHES "lapacke\\.a$")
    find_library(LAPACKE_LAPACK_LIBRARY lapack)
    find_library(LAPACKE_BLAS_LIBRARY blas)
    set(LAPACKE_NEEDS ${LAPACKE_LAPACK_LIBRARY} ${LAPACKE_BLAS_LIBRARY} gfortran m)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LAPACKE REQUIRED_VARS LAPACKE_LIBRARY LAPACKE_INCLUDE_DIR)
mark_as_advanced(LAPACKE_INCLUDE_DIR LAPACKE_LIBRARY LAPACKE_LAPACK_LIBRARY LAPACKE_BLAS_LIBRARY)

if(LAPACKE_FOUND AND NOT TARGET LAPACKE::LAPACKE)
    add_library(LAPACKE::LAPACKE UNKNOWN IMPORTED)
    set_target_properties(LAPACKE::LAPACKE PROPERTIES IMPORTED_LOCATION "${LAPACKE_LIBRARY}"
                          INTERFACE_INCLUDE_DIRECTORIES "${LAPACKE_INCLUDE_DIR}"
                          INTERFACE_LINK_LIBRARIES "${LAPACKE_NEEDS}")
endif()
