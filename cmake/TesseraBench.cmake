# SPDX-License-Identifier: Apache-2.0
# bench/<folder>/bench_*.c is a program; all other sources of bench/ are objects that the programs share.

file(GLOB tess_bench_programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/bench_*.c)
file(GLOB tess_bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/*.c)
list(REMOVE_ITEM tess_bench_sources ${tess_bench_programs})
set(tess_bench_libraries "")
if(TESS_GPU_BACKEND STREQUAL "cuda")
    file(GLOB tess_bench_cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/*.cu)
    list(APPEND tess_bench_sources ${tess_bench_cuda_sources})
    # The baselines to measure against; the library itself needs neither.
    list(APPEND tess_bench_libraries CUDA::cusparse CUDA::cublas)
endif()
# The accessor for C++ on the host; left out where there is no C++ compiler.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    file(GLOB tess_bench_cxx_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/*.cpp)
    list(APPEND tess_bench_sources ${tess_bench_cxx_sources})
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

add_library(tess_bench_harness STATIC ${tess_bench_sources})
tess_host_options(tess_bench_harness)
if(TESS_GPU_BACKEND STREQUAL "cuda")
    tess_cuda_options(tess_bench_harness)
    target_compile_definitions(tess_bench_harness PUBLIC BENCH_CUDA=1)
    target_compile_options(tess_bench_harness PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fopenmp>)
endif()
if(CMAKE_CXX_COMPILER)
    set_target_properties(tess_bench_harness PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(tess_bench_harness PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-ffp-contract=off;-fopenmp;$<$<BOOL:${TESS_WERROR}>:-Werror>>")
    target_compile_definitions(tess_bench_harness PRIVATE BENCH_REFERENCE)
endif()
target_compile_definitions(tess_bench_harness PRIVATE BENCH_COMMIT="${tess_bench_commit}"
                           BENCH_MATRICES="${PROJECT_SOURCE_DIR}/../shared/matrices")
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

foreach(source IN LISTS tess_bench_programs)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    tess_host_options(${name})
    target_link_libraries(${name} PRIVATE tess_bench_harness)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench
                          BUILD_RPATH "$ORIGIN;${CUDAToolkit_LIBRARY_DIR}")
    if(TESS_GPU_BACKEND STREQUAL "cuda")
        tess_cuda_options(${name})
    endif()
endforeach()
