# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags of host code.

find_package(Threads REQUIRED)

# Complete factors (--precond lu and cholesky), and orders for those of large matrices.
if(NOT TESS_MUMPS STREQUAL "OFF")
    find_package(MUMPS)
    if(NOT MUMPS_FOUND AND TESS_MUMPS STREQUAL "ON")
        message(FATAL_ERROR "TESS_MUMPS is ON, but there is no sequential MUMPS (Debian: libmumps-seq-dev)")
    endif()
endif()
if(NOT TESS_KLU STREQUAL "OFF" AND TARGET MUMPS::MUMPS)
    find_package(KLU)
    if(NOT KLU_FOUND AND TESS_KLU STREQUAL "ON")
        message(FATAL_ERROR "TESS_KLU is ON, but there is no KLU (Debian: libsuitesparse-dev)")
    endif()
endif()
if(NOT TESS_METIS STREQUAL "OFF")
    find_package(METIS)
    if(NOT METIS_FOUND AND TESS_METIS STREQUAL "ON")
        message(FATAL_ERROR "TESS_METIS is ON, but there is no METIS (Debian: libmetis-dev)")
    endif()
endif()

# Archives of SciPy (.npz).
set(TESS_LIBZIP_LIBRARIES "")
if(NOT TESS_LIBZIP STREQUAL "OFF")
    find_package(Libzip)
    if(Libzip_FOUND)
        set(TESS_LIBZIP_LIBRARIES Libzip::Libzip)
    elseif(TESS_LIBZIP STREQUAL "ON")
        message(FATAL_ERROR "TESS_LIBZIP is ON, but there is no libzip (Debian: libzip-dev)")
    endif()
endif()

# Archives and compressed files other than gzip, and gzip at two to three times the speed of zlib.
set(TESS_FILE_LIBRARIES ${TESS_LIBZIP_LIBRARIES})
set(TESS_ARCHIVE_LIBRARIES "")
if(TESS_LIBARCHIVE STREQUAL "STATIC")
    # What is called of libarchive.a needs no XML; Debian's shared library brings libxml2 and ICU, 36 MB.
    set(tess_archive_parts "")
    foreach(part "libarchive.a" "z" "bz2;libbz2.so.1.0" "lzma;liblzma.so.5" "zstd;libzstd.so.1" "lz4;liblz4.so.1"
            "nettle;libnettle.so.8")
        list(GET part 0 name)
        find_library(TESS_ARCHIVE_${name} NAMES ${part} REQUIRED)
        list(APPEND tess_archive_parts ${TESS_ARCHIVE_${name}})
    endforeach()
    find_path(TESS_ARCHIVE_INCLUDE archive.h REQUIRED)
    add_library(tess_libarchive INTERFACE)
    target_include_directories(tess_libarchive INTERFACE ${TESS_ARCHIVE_INCLUDE})
    target_link_libraries(tess_libarchive INTERFACE ${tess_archive_parts})
    set(TESS_ARCHIVE_LIBRARIES $<BUILD_INTERFACE:tess_libarchive>)
elseif(NOT TESS_LIBARCHIVE STREQUAL "OFF")
    find_package(LibArchive)
    if(LibArchive_FOUND)
        list(APPEND TESS_FILE_LIBRARIES LibArchive::LibArchive)
    elseif(TESS_LIBARCHIVE STREQUAL "ON")
        message(FATAL_ERROR "TESS_LIBARCHIVE is ON, but there is no libarchive (Debian: libarchive-dev)")
    endif()
endif()
if(NOT TESS_ISAL STREQUAL "OFF")
    find_package(ISAL)
    if(ISAL_FOUND)
        list(APPEND TESS_FILE_LIBRARIES ISAL::ISAL)
    elseif(TESS_ISAL STREQUAL "ON")
        message(FATAL_ERROR "TESS_ISAL is ON, but there is no ISA-L (Debian: libisal-dev)")
    endif()
endif()

set(TESS_SANITIZE_FLAGS "")
if(TESS_SANITIZE)
    list(APPEND TESS_SANITIZE_FLAGS -fsanitize=${TESS_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()
if(TESS_BUILD_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TESS_BUILD_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
endif()
# gcov counts the branches of every inlined copy, also those that a constant precision decides.
# clang counts those of the source. Atomic counters make inner loops several times as slow; without them,
# two threads may lose a count, so tests run with one thread unless they ask for more.
if(TESS_COVERAGE AND NOT TESS_EMULATED_GPU) # there, of device sources alone (TesseraGpu.cmake)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "TESS_COVERAGE needs clang: configure with -DCMAKE_C_COMPILER=clang")
    endif()
    list(APPEND TESS_SANITIZE_FLAGS -fprofile-instr-generate -fcoverage-mapping)
endif()

# Hundreds of programs link for tests, large ones where code is instrumented: lld takes a tenth to a half of the time.
# The library and the tool of a plain build are linked as users link them.
set(TESS_FAST_LINK "")
find_program(TESS_LLD ld.lld)
mark_as_advanced(TESS_LLD)
if(TESS_LLD)
    set(TESS_FAST_LINK "$<$<LINK_LANGUAGE:C,CXX>:-fuse-ld=lld>")
endif()
if(TESS_SANITIZE OR TESS_COVERAGE)
    add_link_options(${TESS_FAST_LINK})
    # Sources with an instance of their loops for each type and use: instrumented ones take up to two minutes.
    set_source_files_properties(src/format/csr/csr_host.c bench/papers/roofline_host.c PROPERTIES
                                COMPILE_DEFINITIONS TESS_SMALL_CODE)
endif()

# C17, warnings, and the same results from every compiler: no contraction of a*b+c into a fused operation.
function(tess_host_options target)
    set_target_properties(${target} PROPERTIES C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
                          C_VISIBILITY_PRESET hidden)
    set(warnings -Wall -Wextra -Wconversion)
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        list(APPEND warnings -Wno-pass-failed) # a loop left unvectorised is no fault of the source
    endif()
    if(TESS_WERROR)
        list(APPEND warnings -Werror)
    endif()
    set(flags ${warnings} -ffp-contract=off ${TESS_SANITIZE_FLAGS})
    if(TESS_NATIVE)
        list(APPEND flags -march=native)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${flags}>")
    # mmap, argp and the like; an empty value agrees with a plain #define in a source
    target_compile_definitions(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>")
endfunction()

function(tess_link_options target)
    if(TESS_SANITIZE_FLAGS)
        target_link_options(${target} PUBLIC "$<BUILD_INTERFACE:${TESS_SANITIZE_FLAGS}>")
    endif()
endfunction()
