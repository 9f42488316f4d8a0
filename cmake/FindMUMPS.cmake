# SPDX-License-Identifier: Apache-2.0
# MUMPS, sequential, in single and double precision, real and complex: target MUMPS::MUMPS. Debian: libmumps-seq-dev.

find_path(MUMPS_INCLUDE_DIR smumps_c.h PATH_SUFFIXES mumps mumps_seq MUMPS)
find_library(MUMPS_SINGLE_LIBRARY NAMES smumps_seq)
find_library(MUMPS_DOUBLE_LIBRARY NAMES dmumps_seq)
find_library(MUMPS_COMPLEX_SINGLE_LIBRARY NAMES cmumps_seq)
find_library(MUMPS_COMPLEX_DOUBLE_LIBRARY NAMES zmumps_seq)

include(FindPackageHandleStandardArgs)
set(mumps_libraries MUMPS_SINGLE_LIBRARY MUMPS_DOUBLE_LIBRARY MUMPS_COMPLEX_SINGLE_LIBRARY MUMPS_COMPLEX_DOUBLE_LIBRARY)
find_package_handle_standard_args(MUMPS REQUIRED_VARS ${mumps_libraries} MUMPS_INCLUDE_DIR)
mark_as_advanced(MUMPS_INCLUDE_DIR ${mumps_libraries})

set(mumps_paths ${MUMPS_SINGLE_LIBRARY} ${MUMPS_DOUBLE_LIBRARY} ${MUMPS_COMPLEX_SINGLE_LIBRARY}
                ${MUMPS_COMPLEX_DOUBLE_LIBRARY})
if(MUMPS_FOUND AND NOT TARGET MUMPS::MUMPS)
    add_library(MUMPS::MUMPS INTERFACE IMPORTED)
    set_target_properties(MUMPS::MUMPS PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${MUMPS_INCLUDE_DIR}"
                          INTERFACE_LINK_LIBRARIES "${mumps_paths}")
endif()
