# SPDX-License-Identifier: Apache-2.0
# Before CPack writes the packages: manual pages and changelogs are compressed, without a date, as Debian asks.
file(GLOB_RECURSE tess_files ${CPACK_TEMPORARY_DIRECTORY}/*/*.1 ${CPACK_TEMPORARY_DIRECTORY}/*/changelog
     ${CPACK_TEMPORARY_DIRECTORY}/*/changelog.Debian)
foreach(tess_file IN LISTS tess_files)
    execute_process(COMMAND gzip -9nf ${tess_file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
