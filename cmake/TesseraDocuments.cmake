# SPDX-License-Identifier: Apache-2.0
# Manual pages and completions: the tool prints them from the tables of its help, when it has been built.

set(tess_can_run TRUE) # what was built, on this machine
if(CMAKE_CROSSCOMPILING OR (TESS_HIP AND NOT TESS_AMDHIP64))
    set(tess_can_run FALSE)
endif()
if(NOT TARGET tessera_cli OR NOT tess_can_run)
    return()
endif()

set(tess_documents "")
function(tess_document file folder name)
    set(output ${PROJECT_BINARY_DIR}/documents/${file})
    add_custom_command(OUTPUT ${output}
                       COMMAND ${CMAKE_COMMAND} -E env LLVM_PROFILE_FILE=/dev/null $<TARGET_FILE:tessera_cli> ${ARGN}
                               > ${output}
                       DEPENDS tessera_cli COMMENT "Writing ${file}" VERBATIM)
    install(FILES ${output} DESTINATION ${folder} RENAME ${name} COMPONENT documents)
    set(tess_documents ${tess_documents} ${output} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/documents)
tess_document(tessera.1 ${CMAKE_INSTALL_MANDIR}/man1 tessera.1 --man)
foreach(source IN LISTS tess_cli_sources)
    cmake_path(GET source STEM command)
    if(command MATCHES "^cmd_(.*)")
        tess_document(tessera-${CMAKE_MATCH_1}.1 ${CMAKE_INSTALL_MANDIR}/man1 tessera-${CMAKE_MATCH_1}.1
                      --man ${CMAKE_MATCH_1})
    endif()
endforeach()
tess_document(tessera.bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions tessera --completion bash)
if(TESS_PACKAGES) # Debian's zsh looks there for what packages bring
    set(tess_zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
else()
    set(tess_zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
tess_document(tessera.zsh ${tess_zsh_dir} _tessera --completion zsh)
tess_document(tessera.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d tessera.fish --completion fish)
add_custom_target(tessera_documents ALL DEPENDS ${tess_documents})
