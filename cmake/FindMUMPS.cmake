# SPDX-License-Identifier: Apache-2.0
# MUMPS, sequential, in single and double precision: target MUMPS::MUMPS. Debian: libmumps-seq-dev.

find_path(MUMPS_INCLUDE_DIR smumps_c.h PATH_SUFFIXES mumps mumps_seq MUMPS)
find_library(MUMPS_SINGLE_LIBRARY NAMES smumps_seq)
find_library(MUMPS_DOUBLE_LIBRARY NAMES dmumps_seq)
# A static library does not bring the rest along; a shared one does.
set(MUMPS_NEEDS "")
if(MUMPS_SINGLE_LIBRARY MATCHES "\\.a$")
    foreach(name mumps_common_seq mpiseq_seq pord_seq esmumps scotch scotcherr lapack blas)
        find_library(MUMPS_${name}_LIBRARY ${name})
        mark_as_advanced(MUMPS_${name}_LIBRARY)
        if(MUMPS_${name}_LIBRARY)
            list(APPEND MUMPS_NEEDS ${MUMPS_${name}_LIBRARY})
        endif()
    endforeach()
    list(APPEND MUMPS_NEEDS gfortran m)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MUMPS REQUIRED_VARS MUMPS_SINGLE_LIBRARY MUMPS_DOUBLE_LIBRARY MUMPS_INCLUDE_DIR)
mark_as_advanced(MUMPS_INCLUDE_DIR MUMPS_SINGLE_LIBRARY MUMPS_DOUBLE_LIBRARY)

if(MUMPS_FOUND AND NOT TARGET MUMPS::MUMPS)
    add_library(MUMPS::MUMPS INTERFACE IMPORTED)
    set_target_properties(MUMPS::MUMPS PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${MUMPS_INCLUDE_DIR}"
                          INTERFACE_LINK_LIBRARIES "${MUMPS_SINGLE_LIBRARY};${MUMPS_DOUBLE_LIBRARY};${MUMPS_NEEDS}")
endif()
