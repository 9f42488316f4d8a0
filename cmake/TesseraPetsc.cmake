# SPDX-License-Identifier: Apache-2.0
# The plug-in for PETSc: AUTO builds it where pkg-config finds PETSc and CMake finds MPI. Sanitizers and coverage look
# at the library alone: PETSc and MPI leave memory behind.

set(tess_petsc_missing "")
if(TESS_PETSC STREQUAL "OFF")
    set(tess_petsc_missing "TESS_PETSC is OFF")
elseif(TESS_PETSC STREQUAL "AUTO" AND (TESS_SANITIZE OR TESS_COVERAGE OR TESS_EMULATED_GPU OR NOT BUILD_SHARED_LIBS))
    set(tess_petsc_missing "only a plain build of the shared library has it")
else()
    find_package(PkgConfig)
    if(PkgConfig_FOUND)
        pkg_check_modules(PETSC QUIET IMPORTED_TARGET PETSc)
    endif()
    find_package(MPI QUIET COMPONENTS C)
    if(NOT PETSC_FOUND OR NOT MPI_C_FOUND)
        set(tess_petsc_missing "no PETSc or no MPI (Debian: libpetsc-real-dev)")
    endif()
endif()

if(NOT tess_petsc_missing)
    message(STATUS "Plug-in for PETSc ${PETSC_VERSION}")
    add_subdirectory(petsc)
elseif(TESS_PETSC STREQUAL "ON")
    message(FATAL_ERROR "TESS_PETSC is ON, but ${tess_petsc_missing}")
elseif(TESS_BUILD_TESTS AND NOT TESS_SANITIZE AND NOT TESS_COVERAGE AND NOT TESS_EMULATED_GPU)
    # The tests that are missing are seen to be missing.
    add_test(NAME petsc COMMAND sh -c "echo 'No plug-in for PETSc: ${tess_petsc_missing}'; exit 77")
    set_tests_properties(petsc PROPERTIES LABELS petsc SKIP_RETURN_CODE 77)
endif()
