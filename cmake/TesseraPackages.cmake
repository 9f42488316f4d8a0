# SPDX-License-Identifier: Apache-2.0
# Debian packages by CPack, one for each group of installed files (scripts/packages.sh): library, headers, tool. A build
# with CUDA gives the library alone, as libtessera0-cuda, in the place of libtessera0: the other two serve both.

set(TESS_PACKAGE_CONTACT "The Tessera authors <tessera@users.noreply.github.com>" CACHE STRING
    "Maintainer of the packages")
set(TESS_PACKAGE_RELEASE 1 CACHE STRING "Debian revision of the packages")
set(tess_library_package libtessera0)
set(CPACK_COMPONENTS_ALL library development tool documents)
if(TESS_GPU_BACKEND STREQUAL "cuda")
    set(tess_library_package libtessera0-cuda)
    set(CPACK_COMPONENTS_ALL library)
endif()
set(tess_package_version ${PROJECT_VERSION}-${TESS_PACKAGE_RELEASE})

# ---- what every package has: copyright, changelogs, control files ----

string(TIMESTAMP TESS_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, if it is set
set(tess_package_files ${PROJECT_BINARY_DIR}/package_files)
function(tess_package_documents component package)
    set(TESS_PACKAGE ${package})
    set(copyright cmake/packages/copyright)
    if(ARGN)
        set(copyright ${ARGN})
    endif()
    configure_file(cmake/packages/changelog.in ${tess_package_files}/${package}/changelog.Debian @ONLY)
    configure_file(CHANGELOG.md ${tess_package_files}/${package}/changelog COPYONLY)
    install(FILES ${copyright} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component}
            RENAME copyright)
    install(FILES ${tess_package_files}/${package}/changelog.Debian ${tess_package_files}/${package}/changelog
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endfunction()
tess_package_documents(library ${tess_library_package})
tess_package_documents(development libtessera-dev)
tess_package_documents(tool tessera)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libtessera-dev COMPONENT development
        PATTERN README.md EXCLUDE)

# The site, where `make site` has made it or a tarball brought it: one package for every architecture.
set(tess_site ${PROJECT_SOURCE_DIR}/build/site)
if(EXISTS ${tess_site}/index.html AND NOT TESS_GPU_BACKEND STREQUAL "cuda")
    list(APPEND CPACK_COMPONENTS_ALL site)
    tess_package_documents(site tessera-doc cmake/packages/copyright.site)
    install(DIRECTORY ${tess_site}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tessera-doc/html COMPONENT site)
    install(FILES cmake/packages/doc-base RENAME tessera-doc DESTINATION ${CMAKE_INSTALL_DATADIR}/doc-base
            COMPONENT site)
endif()

# The name is that of the whole series 0; `shlibs` below keeps programs from a version with another SONAME.
set(tess_this_minor ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
file(WRITE ${tess_package_files}/${tess_library_package}/override
     "${tess_library_package}: package-name-doesnt-match-sonames libtessera${tess_this_minor}\n"
     "# a table of KLU's functions\n"
     "${tess_library_package}: library-not-linked-against-libc *libtessera_klu.so*\n")
install(FILES ${tess_package_files}/${tess_library_package}/override COMPONENT library
        DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${tess_library_package})

# Programs need the packages of this minor version: the SONAME has it (CMakeLists.txt).
math(EXPR tess_next_minor "${PROJECT_VERSION_MINOR} + 1")
file(WRITE ${tess_package_files}/shlibs "libtessera ${tess_this_minor} libtessera0 (>= ${tess_this_minor}), "
     "libtessera0 (<< ${PROJECT_VERSION_MAJOR}.${tess_next_minor})\n")
file(WRITE ${tess_package_files}/triggers "activate-noawait ldconfig\n")

# ---- for CPack ----

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_VENDOR "The Tessera authors")
set(CPACK_PACKAGE_CONTACT "${TESS_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packages/compress.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${TESS_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${tess_library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
# The BLAS that complete factors should have: Netlib's, which libblas3 is, takes up to four times as long.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS libopenblas0-openmp)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${tess_package_files}/shlibs;${tess_package_files}/triggers")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "Sparse linear systems in mixed precision (library)
Tessera solves large sparse linear systems A x = b in mixed precision and
verifies every answer by its true residual in FP64: Krylov methods,
incomplete and complete factors, algebraic multigrid.
.
This package has the shared library.")
if(tess_library_package STREQUAL "libtessera0-cuda")
    string(APPEND CPACK_DEBIAN_LIBRARY_DESCRIPTION
           " It runs on NVIDIA GPUs as well, and\nfinds their driver when a program starts.")
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_PROVIDES "libtessera0 (= ${tess_package_version})")
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONFLICTS libtessera0)
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_REPLACES libtessera0)
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS libcuda1)
endif()

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtessera0 (= ${tess_package_version})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "Sparse linear systems in mixed precision (headers)
Tessera solves large sparse linear systems A x = b in mixed precision and
verifies every answer by its true residual in FP64.
.
This package has the headers, the files for pkg-config and CMake, and
examples.")

# The tool and what it prints of itself are one package.
set(CPACK_COMPONENT_TOOL_GROUP program)
set(CPACK_COMPONENT_DOCUMENTS_GROUP program)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tessera)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libtessera0 (= ${tess_package_version})")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "Sparse linear systems in mixed precision (tool)
Tessera solves large sparse linear systems A x = b in mixed precision and
verifies every answer by its true residual in FP64.
.
This package has the command tessera: solve, info, spmv, compare, timestep,
generate and convert, its manual pages and its completions for shells.")

set(CPACK_DEBIAN_SITE_PACKAGE_NAME tessera-doc)
set(CPACK_DEBIAN_SITE_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_SITE_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SITE_DESCRIPTION "Sparse linear systems in mixed precision (documentation)
Tessera solves large sparse linear systems A x = b in mixed precision and
verifies every answer by its true residual in FP64.
.
This package has the documentation as pages for a browser, with a search:
how-tos, concepts, results, references of the command, of C and of Python.")
include(CPack)
