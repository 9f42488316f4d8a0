#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make check: everything that must hold before a change goes in. Ends with "N passed, N failed[, N skipped]".
set -u
cd "$(dirname "$0")/.." || exit 1
bash scripts/setup.sh check || exit 1
# shellcheck source=scripts/stages.sh
. scripts/stages.sh

build()
{
    cmake --preset "$@" && cmake --build "build/$1" -j "$jobs"
}

cache_value()
{
    sed -n "s/^$1:[A-Z]*=//p" build/release/CMakeCache.txt
}

# Examples as a user builds them: against an installed tree, through CMake and through pkg-config.
check_examples()
{
    local prefix=$PWD/build/check/prefix dir=build/check/examples options=(-DTESS_EXAMPLES_CUDA=OFF)
    rm -rf "$prefix" "$dir"
    # shellcheck disable=SC2154 # set below
    if [ "$backend" = cuda ]; then options=(-DTESS_EXAMPLES_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc"); fi
    stage "install" cmake --install build/release --prefix "$prefix" || return
    stage "examples: build (CMake)" cmake_examples "$prefix" "$dir" "${options[@]}" || return
    test_stage "examples: run" "$dir"
    stage "examples: pkg-config" make -C examples pkg-config PREFIX="$prefix" OUT="$PWD/build/check/pkg-config"
}

cmake_examples()
{
    local prefix=$1 dir=$2
    shift 2
    cmake -S examples -B "$dir" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "$@" &&
        cmake --build "$dir" -j "$jobs"
}

echo "Tessera check: $jobs jobs, logs in $log_dir/"
stage "layers, names, columns, paths" python3 scripts/check_layers.py
nvcc='' backend=none release=(-DTESS_BUILD_TESTS=ON)
# CUDA sources take long: continuous integration compiles them once, with all that it asks of them
if [ "${CI:-}" = true ]; then
    release+=(-DTESS_WERROR=ON -DTESS_BUILD_BENCH=ON)
    if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then release+=(-DTESS_CUDA=ON); fi
fi
if stage "release: build" build release "${release[@]}"; then
    backend=$(cache_value TESS_GPU_BACKEND_FOUND)
    nvcc=$(cache_value TESS_CUDA_COMPILER)
    test_stage "release: tests" build/release
    check_examples
    if [ $backend = none ]; then skip "CUDA build" "no nvcc on this machine"; fi
fi
if stage "dev (ASan, UBSan): build" build dev; then
    test_stage "dev (ASan, UBSan): tests" build/dev
fi
if stage "emulated GPU (ASan, UBSan): build" build emulated; then
    test_stage "emulated GPU (ASan, UBSan): tests" build/emulated -L quick
fi
if stage "fuzz: build" build fuzz; then
    for source in tests/fuzz/fuzz_*.c; do
        [ -e "$source" ] || continue
        target=$(basename "$source" .c)
        stage "fuzz: $target" bash scripts/fuzz.sh "$target" "${FUZZ_RUNS:-20000}"
    done
fi
finish
