#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone as C17, as C++11, as C++17 and, where there is nvcc (NVCC), as CUDA.
set -u
include=$(cd "$(dirname "$0")/../include" && pwd)
cc=${CC:-cc}
cxx=${CXX:-c++}
nvcc=${NVCC:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# try LANGUAGE HEADER COMMAND...: twice included, so that a missing guard shows
try()
{
    local language=$1 header=$2
    shift 2
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$header does not compile as $language:"
        cat "$work/log"
    fi
}

for path in "$include"/tessera/*.h; do
    header=tessera/$(basename "$path")
    for suffix in c cpp; do
        printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$header" "$header" >"$work/t.$suffix"
    done
    try C17 "$header" "$cc" -std=c17 -Wall -Wextra -Wconversion -pedantic -Werror -I"$include" -fsyntax-only "$work/t.c"
    if command -v "$cxx" >/dev/null; then
        sed -i 's/(void)/()/' "$work/t.cpp"
        for standard in 11 17; do
            try C++$standard "$header" "$cxx" -std=c++$standard -Wall -Wextra -Wconversion -pedantic -Werror \
                -I"$include" -fsyntax-only "$work/t.cpp"
        done
    else
        skipped=$((skipped + 1))
    fi
done
for path in "$include"/tessera/*.cuh; do
    header=tessera/$(basename "$path")
    if command -v "$cxx" >/dev/null; then
        printf '#include <%s>\n#include <%s>\nint main() { return 0; }\n' "$header" "$header" >"$work/t.cpp"
        try C++17 "$header" "$cxx" -std=c++17 -Wall -Wextra -Wconversion -pedantic -Werror -I"$include" -fsyntax-only \
            "$work/t.cpp"
    else
        skipped=$((skipped + 1))
    fi
done
if [ -n "$nvcc" ]; then
    mkdir "$work/cuda"
    for path in "$include"/tessera/*.h "$include"/tessera/*.cuh; do
        [ -e "$path" ] || continue
        header=$(basename "$path")
        printf '#include <tessera/%s>\n#include <tessera/%s>\n' "$header" "$header" >"$work/cuda/${header//./_}.cu"
    done
    cd "$work/cuda" || exit 1
    try CUDA "a header" "$nvcc" -std=c++17 -arch=sm_90 -t 2 -I"$include" -c ./*.cu
fi
printf '%d passed, %d failed' $passed $failed
if [ $skipped -gt 0 ]; then printf ', %d skipped' $skipped; fi
printf '\n'
[ $failed -eq 0 ]
