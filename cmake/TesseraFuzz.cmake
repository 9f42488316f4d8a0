# SPDX-License-Identifier: Apache-2.0
# Each tests/fuzz/fuzz_*.c is a libFuzzer program; its seed corpus lies in tests/fuzz/corpus/.

file(GLOB tess_fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(source IN LISTS tess_fuzz_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    tess_host_options(${name})
    target_link_libraries(${name} PRIVATE tessera_internal)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
endforeach()
