# SPDX-License-Identifier: Apache-2.0
# The GPU backend: CUDA when a GPU is at hand and nvcc is found, or the same sources through hipcc, or for a GPU emulated on the host, or none.
# Sets TESS_GPU_BACKEND (cuda, hip, emulated, none), TESS_GPU_DEFINITIONS, TESS_GPU_INCLUDE_DIRS, TESS_GPU_LINK_LIBRARIES,
# TESS_GPU_OBJECTS.

set(TESS_GPU_BACKEND none)
set(TESS_GPU_DEFINITIONS "")
set(TESS_GPU_INCLUDE_DIRS "")
set(TESS_GPU_LINK_LIBRARIES "")
set(TESS_GPU_OBJECTS "")

file(GLOB_RECURSE tess_gpu_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cu)
file(GLOB_RECURSE tess_gpu_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/src/*.cuh
     ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/include/*.cuh)

# Compute capabilities of the machine's GPUs, as 80 or 90; 90 where there is none.
function(tess_find_architectures out)
    set(found "")
    find_program(TESS_NVIDIA_SMI nvidia-smi)
    mark_as_advanced(TESS_NVIDIA_SMI)
    if(TESS_NVIDIA_SMI)
        execute_process(COMMAND ${TESS_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                        OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE result)
        if(result EQUAL 0)
            string(REGEX MATCHALL "[0-9]+[.][0-9]" found "${capabilities}")
            list(TRANSFORM found REPLACE "[.]" "")
            list(REMOVE_DUPLICATES found)
        endif()
    endif()
    if(NOT found)
        set(found 90)
    endif()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

function(tess_find_gpu out)
    set(found FALSE)
    find_program(TESS_NVIDIA_SMI nvidia-smi)
    mark_as_advanced(TESS_NVIDIA_SMI)
    if(EXISTS /dev/nvidia0)
        set(found TRUE)
    elseif(TESS_NVIDIA_SMI)
        execute_process(COMMAND ${TESS_NVIDIA_SMI} -L RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
        if(result EQUAL 0)
            set(found TRUE)
        endif()
    endif()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# CUDA sources take minutes to compile, which serves nobody where they cannot run.
set(tess_cuda ${TESS_CUDA})
if(TESS_CUDA STREQUAL "AUTO" AND NOT TESS_HIP AND NOT TESS_EMULATED_GPU)
    tess_find_gpu(found)
    if(NOT found)
        set(tess_cuda OFF)
        message(STATUS "No NVIDIA GPU here, so no CUDA; -DTESS_CUDA=ON builds the CUDA backend all the same")
    endif()
endif()

if(TESS_EMULATED_GPU)
    set(TESS_GPU_BACKEND emulated)
    enable_language(CXX)
    find_package(Boost REQUIRED COMPONENTS context)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(TESS_GPU_INCLUDE_DIRS ${PROJECT_SOURCE_DIR}/tests/emulator)
    list(APPEND TESS_GPU_LINK_LIBRARIES Boost::context Threads::Threads)
elseif(TESS_HIP)
    find_program(TESS_HIPCC hipcc HINTS /opt/rocm/bin REQUIRED)
    set(TESS_HIP_ARCHITECTURES gfx90a CACHE STRING "AMD architectures to compile for")
    set(TESS_HIP_OPTIMIZE -O3 CACHE STRING "How far hipcc optimises")
    set(TESS_GPU_BACKEND hip)
    enable_language(CXX)
    # Linking needs the runtime, compiling does not: without it the objects are still built.
    find_library(TESS_AMDHIP64 amdhip64 HINTS /opt/rocm/lib)
    if(TESS_AMDHIP64)
        list(APPEND TESS_GPU_LINK_LIBRARIES ${TESS_AMDHIP64})
    endif()
elseif(NOT tess_cuda STREQUAL "OFF")
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_program(TESS_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
        if(TESS_NVCC)
            set(CMAKE_CUDA_COMPILER ${TESS_NVCC})
        endif()
    endif()
    # Machine code and PTX for this machine's GPUs; where there is none, for compute capability 9.0.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
        tess_find_architectures(found)
        set(CMAKE_CUDA_ARCHITECTURES ${found} CACHE STRING "NVIDIA architectures to compile for")
    endif()
    set(TESS_CUDA_COMPRESS size CACHE STRING "How device code of the library is compressed: size, balance, speed or none")
    set_property(CACHE TESS_CUDA_COMPRESS PROPERTY STRINGS size balance speed none)
    # A process decompresses a source's machine code when it first uses it, which takes longer than loading it: that of what most
    # first set-ups and solves use stays as it is.
    set(TESS_CUDA_UNCOMPRESSED "/device/gpu/(fused|fused_settled|loop|runtime)" "/csr_plan_device" "/matrix/assembled_device"
        "/(blas|block_jacobi|arnoldi|cg|bicgstab|csr|ellr)_stored_device_FP64" "/(arnoldi|block_jacobi|block_jacobi_build)_device"
        "/single_kernel/plan_device" "/policy/" "/triangular/" "/incomplete_device" "/(tiles|ellr)_build_device"
        "/tiles_strips16_device")
    list(JOIN TESS_CUDA_UNCOMPRESSED "|" TESS_CUDA_UNCOMPRESSED)
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CXX)
        enable_language(CUDA)
        find_package(CUDAToolkit REQUIRED)
        set(TESS_GPU_BACKEND cuda)
        set(TESS_GPU_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIRS})
        list(APPEND TESS_GPU_LINK_LIBRARIES CUDA::cudart_static)
    elseif(TESS_CUDA STREQUAL "ON")
        message(FATAL_ERROR "TESS_CUDA=ON, but no working nvcc was found; set CUDACXX or CMAKE_CUDA_COMPILER")
    endif()
endif()

if(NOT TESS_GPU_BACKEND STREQUAL "none")
    set(TESS_GPU_DEFINITIONS TESS_HAVE_GPU=1 TESS_GPU_BACKEND="${TESS_GPU_BACKEND}")
    list(APPEND TESS_GPU_LINK_LIBRARIES stdc++)
endif()
message(STATUS "GPU backend: ${TESS_GPU_BACKEND}")
set(TESS_GPU_BACKEND_FOUND ${TESS_GPU_BACKEND} CACHE INTERNAL "Read by scripts/check.sh")
set(TESS_CUDA_COMPILER "${CMAKE_CUDA_COMPILER}" CACHE INTERNAL "Read by scripts/check.sh")

# hipcc writes one object per source; CMake's own HIP language wants a ROCm tree that Debian does not have.
function(tess_compile_hip out)
    set(flags -std=c++17 ${TESS_HIP_OPTIMIZE} -fPIC -fvisibility=hidden -ffp-contract=off -Wall -Wextra
        -Wno-missing-field-initializers) # of a class: the rest is zero, as nvcc's host compiler takes it too
    if(TESS_WERROR)
        list(APPEND flags -Werror)
    endif()
    foreach(arch IN LISTS TESS_HIP_ARCHITECTURES)
        list(APPEND flags --offload-arch=${arch})
    endforeach()
    foreach(definition IN LISTS TESS_GPU_DEFINITIONS)
        list(APPEND flags "-D${definition}")
    endforeach()
    set(objects "")
    foreach(source IN LISTS tess_gpu_sources)
        file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${source})
        string(REPLACE "/" "_" name ${name})
        set(object ${PROJECT_BINARY_DIR}/hip/${name}.o)
        add_custom_command(OUTPUT ${object}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/hip
            COMMAND ${TESS_HIPCC} -x hip ${flags} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
                    -c ${source} -o ${object}
            DEPENDS ${source} ${tess_gpu_headers}
            COMMENT "Compiling ${name} for ${TESS_HIP_ARCHITECTURES}" VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    add_custom_target(tessera_hip_objects DEPENDS ${objects})
    set(${out} ${objects} PARENT_SCOPE)
endfunction()

# Lists in `out` the C++ that tests/emulator/translate.py makes, below `to`, of the CUDA sources below `from` among those given;
# headers that change are written there too.
function(tess_translate out from to)
    set(names "")
    set(outputs "")
    foreach(source IN LISTS ARGN)
        cmake_path(IS_PREFIX from ${source} inside)
        if(inside)
            file(RELATIVE_PATH name ${from} ${source})
            list(APPEND names ${name})
            if(name MATCHES "[.]cu$")
                string(REGEX REPLACE "[.]cu$" ".cpp" output ${name})
                list(APPEND outputs ${to}/${output})
            endif()
        endif()
    endforeach()
    set(translate ${PROJECT_SOURCE_DIR}/tests/emulator/translate.py)
    add_custom_command(OUTPUT ${outputs} COMMAND ${Python3_EXECUTABLE} ${translate} ${from} ${to} ${names}
                       DEPENDS ${ARGN} ${translate} COMMENT "Making C++ of CUDA sources" VERBATIM)
    set(${out} ${outputs} PARENT_SCOPE)
endfunction()

# C++ that runs on the emulated GPU.
function(tess_emulated_options target)
    target_include_directories(${target} BEFORE PRIVATE ${PROJECT_BINARY_DIR}/emulated ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${target} PRIVATE TESS_EMULATED_GPU=1)
    if(NOT TESS_EMULATED_BULK_COPY)
        target_compile_definitions(${target} PRIVATE TESS_EMULATED_BULK_COPY=0)
    endif()
    set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS ON)
    set(flags -Wall -Wextra -Wno-unknown-pragmas -Wno-missing-field-initializers -ffp-contract=off ${TESS_SANITIZE_FLAGS})
    if(TESS_WERROR)
        list(APPEND flags -Werror)
    endif()
    if(TESS_SANITIZERS MATCHES "undefined" AND TESS_SANITIZE) # of an access, at which AddressSanitizer looks
        list(APPEND flags -fno-sanitize=null,object-size,vptr)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")
endfunction()

# Lists in `out` the sources for nvcc: those of src, *_stored_device.cu once for each line of TESS_PRECISION_LIST
# (device/gpu/storage_types.cuh says why); without TESS_CUDA_SPLIT once with all of them, as the other backends do.
function(tess_cuda_sources out)
    set(sources ${tess_gpu_sources})
    set(each "")
    if(TESS_CUDA_SPLIT)
        set(each ${tess_gpu_sources})
        list(FILTER sources EXCLUDE REGEX "_stored_device[.]cu$")
        list(FILTER each INCLUDE REGEX "_stored_device[.]cu$")
    endif()
    set(codec ${PROJECT_SOURCE_DIR}/include/tessera/codec.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${codec})
    file(READ ${codec} text)
    string(REGEX MATCHALL "\n    X[(]with, [^)]+[)]" precisions "${text}") # the lines of TESS_PRECISION_LIST
    list(LENGTH precisions count)
    foreach(source IN LISTS each)
        file(RELATIVE_PATH included ${PROJECT_SOURCE_DIR}/src ${source})
        cmake_path(GET source STEM name)
        foreach(precision IN LISTS precisions)
            string(REGEX MATCH "with, ([A-Z0-9]+), [0-9]+, ([a-z0-9]+)," found "${precision}")
            set(wrapper ${PROJECT_BINARY_DIR}/stored/${name}_${CMAKE_MATCH_1}.cu)
            file(CONFIGURE OUTPUT ${wrapper} @ONLY CONTENT
"#define TESS_STORED_TYPE tess::${CMAKE_MATCH_2}
#define TESS_STORED_COUNT ${count}
#include \"${included}\"
")
            list(APPEND sources ${wrapper})
        endforeach()
    endforeach()
    if(NOT TESS_CUDA_COMPRESS STREQUAL "none")
        set(compressed ${sources})
        list(FILTER compressed EXCLUDE REGEX "${TESS_CUDA_UNCOMPRESSED}")
        set_source_files_properties(${compressed} PROPERTIES
                                    COMPILE_OPTIONS "--compress-mode=${TESS_CUDA_COMPRESS};-Xfatbin=-compress-all")
    endif()
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(tess_add_gpu_sources target)
    target_compile_definitions(${target} PRIVATE ${TESS_GPU_DEFINITIONS})
    if(TESS_GPU_BACKEND STREQUAL "cuda")
        tess_cuda_sources(sources)
        target_sources(${target} PRIVATE ${sources})
        tess_cuda_options(${target})
    elseif(TESS_GPU_BACKEND STREQUAL "emulated")
        tess_translate(sources ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/emulated ${tess_gpu_sources} ${tess_gpu_headers})
        set(emulator ${PROJECT_SOURCE_DIR}/tests/emulator)
        target_sources(${target} PRIVATE ${sources} ${emulator}/emulator.cpp ${emulator}/streams.cpp)
        tess_emulated_options(${target})
        # Every barrier goes through these.
        set_source_files_properties(${emulator}/emulator.cpp ${emulator}/streams.cpp PROPERTIES COMPILE_OPTIONS -O3)
        if(TESS_SANITIZE)
            # Of the host's kernels, whose many instances take minutes to compile with them, the preset dev has them.
            file(GLOB_RECURSE kernels ${PROJECT_SOURCE_DIR}/src/*_host.c)
            set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
        endif()
        if(TESS_COVERAGE)
            # Counters that are not atomic: a count may be lost, but not whether a line ran.
            file(GLOB_RECURSE drivers ${PROJECT_SOURCE_DIR}/src/device_*.c
                 ${PROJECT_SOURCE_DIR}/src/precond/multigrid/*_device.c)
            set_source_files_properties(${sources} ${drivers} PROPERTIES COMPILE_OPTIONS
                                        "--coverage;-fprofile-update=single")
            list(APPEND TESS_GPU_LINK_LIBRARIES gcov)
            set(TESS_GPU_LINK_LIBRARIES ${TESS_GPU_LINK_LIBRARIES} PARENT_SCOPE)
        endif()
    elseif(TESS_GPU_BACKEND STREQUAL "hip")
        tess_compile_hip(objects)
        add_dependencies(${target} tessera_hip_objects)
        set(TESS_GPU_OBJECTS ${objects} PARENT_SCOPE)
    endif()
endfunction()

function(tess_cuda_options target)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
                          CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)
    set(flags -Xcompiler=-Wall,-Wextra,-ffp-contract=off --extended-lambda --expt-relaxed-constexpr)
    if(TESS_WERROR)
        list(APPEND flags -Werror=all-warnings -Xcompiler=-Werror)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${flags}>")
endfunction()
