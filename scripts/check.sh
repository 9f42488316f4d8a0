#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [sanitized|all]: what must hold before a change goes in (make check), in about 8 minutes on two idle cores:
# every test that needs no GPU, in one build, the one of `make`.
# sanitized (make check-sanitized): the build by clang with sanitizers, its tests and the fuzz targets.
# all (make check-all, continuous integration): both, and what takes longer: the emulated GPU, races, coverage,
# packages, CUDA, HIP, clang-tidy. Ends with "N passed, N failed[, N skipped]", after the times.
set -u
cd "$(dirname "$0")/.." || exit 1
all=false packages=check
case "${1:-}" in
'') log_dir=build/check ;;
sanitized) log_dir=build/check-sanitized ;;
all) all=true packages=ci log_dir=build/check-all ;;
*)
    echo "usage: $0 [sanitized|all]" >&2
    exit 2
    ;;
esac
bash scripts/setup.sh $packages || exit 1
# shellcheck source=scripts/stages.sh
. scripts/stages.sh
less=-DCMAKE_C_FLAGS_RELEASE=-O1 # what is packed, installed and tried, not measured, is optimised less than for users
LEAST_BRANCHES=90 # percent; 92.2 measured: threads lose some counts

# build PRESET OPTION...: in build/PRESET
build()
{
    cmake --preset "$@" && cmake --build "build/$1" -j "$jobs"
}

cache_value()
{
    sed -n "s/^$1:[A-Z]*=//p" "build/$2/CMakeCache.txt"
}

# Examples as a user builds them: against an installed tree, through CMake and through pkg-config.
check_examples()
{
    local from=$1 name="examples ($1)" prefix=$PWD/$log_dir/prefix dir=$log_dir/examples
    local options=(-DTESS_EXAMPLES_CUDA=OFF)
    rm -rf "$prefix" "$dir"
    if [ "$(cache_value TESS_GPU_BACKEND_FOUND "$from")" = cuda ]; then
        options=(-DTESS_EXAMPLES_CUDA=ON "-DCMAKE_CUDA_COMPILER=$(cache_value TESS_CUDA_COMPILER "$from")")
    fi
    stage "$name: install" cmake --install "build/$from" --prefix "$prefix" || return
    stage "$name: build" cmake_examples "$prefix" "$dir" "${options[@]}" || return
    test_stage "$name: run" "$dir"
    stage "$name: pkg-config" make -C examples pkg-config PREFIX="$prefix" OUT="$PWD/$log_dir/pkg-config"
}

cmake_examples()
{
    local prefix=$1 dir=$2
    shift 2
    cmake -S examples -B "$dir" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "$@" &&
        cmake --build "$dir" -j "$jobs"
}

# As `make` builds it, with gcc or what cc is. In `all` without a device's sources, which the stage for CUDA compiles.
check_release()
{
    local options=(-DTESS_BUILD_TESTS=ON)
    if $all; then options+=(-DTESS_BUILD_BENCH=ON -DTESS_WERROR=ON -DTESS_CUDA=OFF); fi
    stage "release: build" build release "${options[@]}" || return
    test_stage "release: tests" build/release
    check_examples release
    if $all; then stage "static library" check_static; fi
}

# The static library has the objects of the shared one: only links differ.
check_static()
{
    local status=0
    build release -DBUILD_SHARED_LIBS=OFF && build/release/tessera --version || status=1
    build release -DBUILD_SHARED_LIBS=ON && return $status
}

# The Python package around the library of `release`, in a virtual environment with packages from PyPI.
check_python()
{
    if ! join "Python: environment"; then
        skip "Python" "no virtual environment, or PyPI is not reached ($log)"
        return
    fi
    stage "Python: wheel" bash scripts/python.sh build build/release/lib/libtessera.so || return
    pytest_stage "Python: tests"
}

# The sdist, the wheel built from it for other machines, and that wheel where nothing else is.
check_python_release()
{
    optional_stage "Python: sdist, wheel, clean" "PyPI is not reached" env CMAKE_ARGS="$less" \
        bash scripts/python.sh release
}

# By clang, with warnings as errors: no other build is needed for its warnings, for fuzzing and for clang-tidy.
check_sanitized()
{
    local bench=OFF
    if $all; then bench=ON; fi
    stage "dev (clang, sanitizers): build" build dev -DTESS_BUILD_BENCH=$bench || return
    if $all; then begin_idle "clang-tidy" bash scripts/tidy.sh build/dev; fi
    test_stage "dev (clang, sanitizers): tests, fuzz" build/dev -LE long
}

# The device's sources and tests where there is no device: for one without bulk copies, whose threads copy;
# check_device_coverage has the others.
check_emulated()
{
    stage "emulated GPU (sanitizers): build" build_emulated || return
    test_stage "emulated GPU (sanitizers): tests" build/emulated -L quick
}

build_emulated()
{
    cmake --preset emulated -DTESS_EMULATED_BULK_COPY=OFF && cmake --build build/emulated -j "$jobs" --target quick
}

# Races between threads: programs with four threads each, of which ThreadSanitizer follows every access.
check_threads()
{
    if ! thread_sanitizer_starts; then
        skip "threads (clang, TSan, Archer)" "ThreadSanitizer does not start on this system: its memory map is another"
        return
    fi
    stage "threads (clang, TSan, Archer): build" build_threads || return
    test_stage "threads (clang, TSan, Archer): tests" build/tsan -L threads
}

thread_sanitizer_starts()
{
    echo 'int main(void) { return 0; }' | clang -fsanitize=thread -x c - -o "$log_dir/probe" && "$log_dir/probe"
} >/dev/null 2>&1

build_threads()
{
    cmake --preset tsan && cmake --build build/tsan -j "$jobs" --target threads
}

# Branches of src/ and cli/ that tests take both ways. The tests may not leave profiles of another build behind.
check_coverage()
{
    rm -rf build/coverage/profiles
    stage "coverage (clang): build" build coverage || return
    test_stage "coverage (clang): tests" build/coverage -LE long
    stage "coverage (clang): branches" bash scripts/coverage.sh build/coverage "$LEAST_BRANCHES"
}

# The programs of the device, for speed without sanitizers, and each call of its runtime failing once; which lines of
# the device's sources they run. Two wait at a device's own pace, which an emulated one does not have.
check_device_coverage()
{
    local dir=build/emulated-coverage
    stage "emulated GPU (coverage): build" build emulated-coverage || return
    find $dir -name '*.gcda' -delete
    test_stage "emulated GPU (coverage): all tests" $dir -L 'gpu|emulator' -E 'gpu.single_kernel_robust|gpu.waits'
    stage "device sources: lines covered" python3 scripts/device_coverage.py --least 95 $dir && tail -n 1 "$log"
}

# Nothing runs on a device here, so little is optimised: a half of the time. nvcc knows -Ofc from 12.9 on. Programs of
# tests that are not for a device, and the plug-in for PETSc, are those of the optimised build.
build_cuda()
{
    local fast="-Xptxas -O1"
    if PATH=$PATH:/usr/local/cuda/bin nvcc --help | grep -q -- '-Ofc'; then fast=-Ofc=max; fi
    build cuda -DTESS_WERROR=ON -DTESS_TEST_LEVELS=gpu -DTESS_PETSC=OFF \
        -DTESS_CUDA_COMPRESS=speed -DTESS_CUDA_SPLIT=OFF "-DCMAKE_CUDA_FLAGS=$fast" \
        "-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG" "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"
}

has_nvcc()
{
    command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]
}

# Compiled once, with all that is asked of it; what needs a device says so.
check_cuda()
{
    local repeated=()
    if ! has_nvcc; then
        skip "CUDA" "no nvcc on this machine"
        return
    fi
    join_stage "CUDA: build" || return
    # Without a device the tool solves on the host, as the optimised build does: its command line and files are left.
    if ! [ -e /dev/nvidia0 ]; then repeated=(-E '^(cli\.([3-9]|h|documents)|robustness)'); fi
    test_stage "CUDA: tests of GPU, headers, tool" build/cuda -L 'gpu|headers|cli' "${repeated[@]}"
    check_examples cuda
}

# Compiled for AMD and linked, not run: nothing is optimised.
build_hip()
{
    cmake --preset hip -B build/hip-check -DTESS_WERROR=ON -DTESS_HIP_OPTIMIZE=-O0 -DTESS_PETSC=OFF \
        "-DCMAKE_C_FLAGS_RELEASE=-O0 -DTESS_SMALL_CODE" &&
        cmake --build build/hip-check -j "$jobs"
}

# What only compiles, beside stages that run programs.
begin_device_builds()
{
    begin_idle "HIP (AMD): compile and link" build_hip
    if has_nvcc; then begin_idle "CUDA: build" build_cuda; fi
    begin_idle "a format is a folder and a line" bash tests/dummy_format/run.sh
}

# The packages as their users get them: built from the tarball, installed and removed in a clean Debian.
check_packages()
{
    local tree=$PWD/$log_dir/tarball
    stage "tarball" unpack_tarball "$tree" || return
    stage "packages: build" env CMAKE_ARGS="$less" bash "$tree/scripts/packages.sh" || return
    # one core; the next takes the other
    begin "packages: clean root" bash scripts/packages_test.sh "$tree/build/packages"
    check_python_release
    join_optional "packages: clean root" "no Debian can be made here, or no mirror is reached"
}

unpack_tarball()
{
    rm -rf "$1" && mkdir -p "$1" && bash scripts/dist.sh &&
        tar -xzf build/dist/tessera-*.tar.gz -C "$1" --strip-components=1
}

echo "Tessera check: $jobs jobs, logs in $log_dir/"
if [ "${1:-}" = sanitized ]; then
    check_sanitized
    finish
    exit
fi
begin "Python: environment" bash scripts/python.sh prepare # which waits for the network
stage "layers, names, columns, paths" python3 scripts/check_layers.py
stage "documents: links, sentences" python3 scripts/check_docs.py
if $all; then stage "clang-format" bash scripts/format.sh --check; fi
check_release
check_python
if $all; then
    begin_device_builds
    check_sanitized
    check_emulated
    check_threads
    check_coverage
    check_device_coverage
    check_packages
    join_stage "a format is a folder and a line"
    check_cuda
    join_stage "HIP (AMD): compile and link"
    join_stage "clang-tidy"
fi
finish
