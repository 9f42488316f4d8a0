# SPDX-License-Identifier: Apache-2.0
# libzip, which opens SciPy's .npz archives: target Libzip::Libzip. Debian: libzip-dev. The package's own CMake files
# want programs of libzip that nothing here needs.

find_path(LIBZIP_INCLUDE_DIR zip.h)
find_library(LIBZIP_LIBRARY NAMES zip)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS LIBZIP_LIBRARY LIBZIP_INCLUDE_DIR)
mark_as_advanced(LIBZIP_INCLUDE_DIR LIBZIP_LIBRARY)

if(Libzip_FOUND AND NOT TARGET Libzip::Libzip)
    add_library(Libzip::Libzip UNKNOWN IMPORTED)
    set_target_properties(Libzip::Libzip PROPERTIES IMPORTED_LOCATION "${LIBZIP_LIBRARY}"
                          INTERFACE_INCLUDE_DIRECTORIES "${LIBZIP_INCLUDE_DIR}")
endif()
