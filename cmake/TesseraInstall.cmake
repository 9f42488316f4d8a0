# SPDX-License-Identifier: Apache-2.0
# Installed tree: headers, library, tool, CMake package, pkg-config file. The components: library (to run), development
# (to build), tool, and documents (TesseraDocuments.cmake).

include(CMakePackageConfigHelpers)

install(TARGETS tessera EXPORT tessera-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(tess_modules)
    install(TARGETS ${tess_modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera COMPONENT library)
endif()
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
if(TARGET tessera_cli)
    install(TARGETS tessera_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
endif()

set(tess_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${tess_package_dir} COMPONENT development)
configure_package_config_file(cmake/tessera-config.cmake.in ${PROJECT_BINARY_DIR}/tessera-config.cmake
                              INSTALL_DESTINATION ${tess_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
              cmake/FindLAPACKE.cmake cmake/FindLibzip.cmake cmake/FindISAL.cmake
        DESTINATION ${tess_package_dir} COMPONENT development)

# A static library leaves its own needs to the program that links it.
cmake_path(GET LAPACKE_LIBRARY STEM tess_lapacke_name) # libNAME
string(REGEX REPLACE "^lib" "" tess_lapacke_name ${tess_lapacke_name})
set(TESS_PC_PRIVATE_LIBS "-l${tess_lapacke_name} -lz -lm -lpthread ${OpenMP_C_FLAGS}")
if(TESS_LIBZIP_LIBRARIES)
    string(PREPEND TESS_PC_PRIVATE_LIBS "-lzip ")
endif()
if(TARGET LibArchive::LibArchive)
    string(PREPEND TESS_PC_PRIVATE_LIBS "-larchive ")
endif()
if(TARGET ISAL::ISAL)
    string(PREPEND TESS_PC_PRIVATE_LIBS "-lisal ")
endif()
if(TESS_GPU_BACKEND STREQUAL "cuda")
    string(APPEND TESS_PC_PRIVATE_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl -lstdc++")
elseif(TESS_GPU_BACKEND STREQUAL "hip")
    string(APPEND TESS_PC_PRIVATE_LIBS " -lamdhip64 -lstdc++")
endif()
if(BUILD_SHARED_LIBS AND CMAKE_SKIP_INSTALL_RPATH) # for a system's own folder
    set(TESS_PC_LIBS "")
elseif(BUILD_SHARED_LIBS)
    set(TESS_PC_LIBS " -Wl,-rpath,\${libdir}") # programs find the library wherever it is installed
else()
    set(TESS_PC_LIBS " ${TESS_PC_PRIVATE_LIBS}")
endif()
configure_file(cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
