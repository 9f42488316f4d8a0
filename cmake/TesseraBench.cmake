# SPDX-License-Identifier: Apache-2.0
# Each bench/bench_*.c is a program, each bench/bench_*.cu too when there is CUDA; bench/harness*.{c,cu} is shared.

file(GLOB tess_bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/bench_*.c)
file(GLOB tess_harness_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/harness*.c)
set(tess_bench_libraries "")
if(TESS_GPU_BACKEND STREQUAL "cuda")
    file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/bench_*.cu)
    file(GLOB cuda_harness CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/harness*.cu)
    list(APPEND tess_bench_sources ${cuda_sources})
    list(APPEND tess_harness_sources ${cuda_harness})
    # The baselines to measure against; the library itself needs neither.
    list(APPEND tess_bench_libraries CUDA::cusparse CUDA::cublas)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(TESS_BENCH_JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(TESS_BENCH_CBLAS IMPORTED_TARGET openblas)
pkg_check_modules(TESS_BENCH_LAPACKE IMPORTED_TARGET lapacke)

# Reports name the commit they were made at, as it was when CMake ran.
execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE tess_bench_commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT tess_bench_commit)
    set(tess_bench_commit unknown)
endif()

if(tess_harness_sources)
    add_library(tess_bench_harness STATIC ${tess_harness_sources})
    tess_host_options(tess_bench_harness)
    if(TESS_GPU_BACKEND STREQUAL "cuda")
        tess_cuda_options(tess_bench_harness)
        target_compile_definitions(tess_bench_harness PUBLIC BENCH_CUDA)
    endif()
    target_compile_definitions(tess_bench_harness PRIVATE BENCH_COMMIT="${tess_bench_commit}"
                               BENCH_MATRICES="${PROJECT_SOURCE_DIR}/../shared/matrices")
    if(TESS_GPU_BACKEND STREQUAL "cuda")
        target_compile_definitions(tess_bench_harness PUBLIC BENCH_CUDA=1)
        target_compile_options(tess_bench_harness PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fopenmp>)
    endif()
    target_include_directories(tess_bench_harness PUBLIC ${PROJECT_SOURCE_DIR}/bench ${TESS_GPU_INCLUDE_DIRS})
    target_link_libraries(tess_bench_harness PUBLIC tessera_internal PkgConfig::TESS_BENCH_JANSSON
                          ${tess_bench_libraries})
    if(TESS_BENCH_CBLAS_FOUND) # another baseline on the host
        target_compile_definitions(tess_bench_harness PRIVATE BENCH_CBLAS)
        target_link_libraries(tess_bench_harness PUBLIC PkgConfig::TESS_BENCH_CBLAS)
    endif()
    if(TESS_BENCH_LAPACKE_FOUND) # LU factors for the study of triangular solves
        target_compile_definitions(tess_bench_harness PRIVATE BENCH_LAPACKE)
        target_link_libraries(tess_bench_harness PUBLIC PkgConfig::TESS_BENCH_LAPACKE)
    endif()
    list(PREPEND tess_bench_libraries tess_bench_harness)
endif()

foreach(source IN LISTS tess_bench_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    tess_host_options(${name})
    if(TESS_GPU_BACKEND STREQUAL "cuda")
        tess_cuda_options(${name})
    endif()
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench ${TESS_GPU_INCLUDE_DIRS})
    target_link_libraries(${name} PRIVATE tessera_internal PkgConfig::TESS_BENCH_JANSSON ${tess_bench_libraries})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench
                          BUILD_RPATH "$ORIGIN;${CUDAToolkit_LIBRARY_DIR}")
endforeach()
