# SPDX-License-Identifier: Apache-2.0
# Each tests/fuzz/fuzz_*.c is a libFuzzer program; its seed corpus lies in tests/fuzz/corpus/.

# libFuzzer follows what the readers of files and the parsers of options reach; the rest is as in a build without it.
file(GLOB tess_fuzzed_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/io/*.c ${PROJECT_SOURCE_DIR}/src/matrix/*.c
     ${PROJECT_SOURCE_DIR}/src/base/*.c ${PROJECT_SOURCE_DIR}/src/policy/*.c ${PROJECT_SOURCE_DIR}/src/precond/*.c
     ${PROJECT_SOURCE_DIR}/src/registry/*.c ${PROJECT_SOURCE_DIR}/src/solver/*.c)
set_source_files_properties(${tess_fuzzed_sources} PROPERTIES COMPILE_OPTIONS -fsanitize=fuzzer-no-link)

file(GLOB tess_fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(source IN LISTS tess_fuzz_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    tess_host_options(${name})
    target_link_libraries(${name} PRIVATE tessera_internal)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    if(TESS_BUILD_TESTS) # so many inputs, the same each time
        string(REGEX REPLACE "^fuzz_" "" short ${name})
        add_test(NAME fuzz.${short} COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/fuzz.sh ${name} 20000)
        set_tests_properties(fuzz.${short} PROPERTIES LABELS fuzz TIMEOUT 600 COST 6
                             ENVIRONMENT "FUZZ_BUILD=${PROJECT_BINARY_DIR}")
    endif()
endforeach()

# The tool's command line: its sources, with their main() and what ends the program under other names.
if(TARGET tessera_cli AND TARGET fuzz_arguments)
    target_sources(fuzz_arguments PRIVATE ${tess_cli_sources})
    target_compile_definitions(fuzz_arguments PRIVATE main=tessera_main ${TESS_GPU_DEFINITIONS})
    target_include_directories(fuzz_arguments PRIVATE ${PROJECT_SOURCE_DIR} ${TESS_GPU_INCLUDE_DIRS})
    target_link_libraries(fuzz_arguments PRIVATE PkgConfig::JANSSON PNG::PNG)
    target_link_options(fuzz_arguments PRIVATE
                        -Wl,--wrap=exit,--wrap=cli_arguments_parse,--wrap=cli_limit_spinning)
endif()
