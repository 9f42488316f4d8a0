#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that a format is one folder and one line: a copy of the sources with src/format/coo/ from here and the line of
# line.def in src/registry/formats.def builds, the conformance suite covers the format, and the command line knows it.
# A solver and a preconditioner are added to the same copy, by ../dummy_solver/add.sh.
# run.sh [WORK], a folder that a later run may use again; CMAKE_ARGS are added.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${1:-$root/build/dummy_format}
tree=$work/tree build=$work/build
jobs=$(nproc)

say() { printf '%s\n' "$*"; }
die() { say "FAIL: $*"; exit 1; }
fail_with() { tail -n 40 "$work/$1"; die "$2"; }
has() { grep -Eq -- "$2" "$1" || { cat "$1"; die "$1 lacks /$2/"; }; }
# Runs the tool of the copy; output in $work/out and $work/err.
tool() { "$build/tessera" "$@" >"$work/out" 2>"$work/err" </dev/null; }

rm -rf "$tree"
mkdir -p "$tree/src" "$work"
cp -Rp "$root"/CMakeLists.txt "$root"/cmake "$root"/include "$root"/cli "$tree"
cp -Rp "$root"/src/. "$tree/src"
mkdir "$tree/tests"
cp -Rp "$root"/tests/CMakeLists.txt "$root"/tests/support "$root"/tests/conformance "$root"/tests/unit "$tree/tests"

# the whole change
cp -Rp "$here/coo" "$tree/src/format/coo"
cat "$here/line.def" >>"$tree/src/registry/formats.def"

# What differs is the folder and the line.
diff -r "$root/src" "$tree/src" >"$work/diff" || true
[ "$(grep -c '^Only in .*/format: coo$' "$work/diff")" = 1 ] || die "the folder is not all that is new"
[ "$(grep -c '^[<>]' "$work/diff")" = 1 ] || die "the line is not all that changed"
[ "$(grep -Ec '^(Only in|diff)' "$work/diff")" = 2 ] || die "more than a folder and a file differ"

# a solver and a preconditioner likewise (docs/howto/add-a-solver.md)
bash "$here/../dummy_solver/add.sh" "$tree"

# shellcheck disable=SC2086 # options
cmake -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DTESS_CUDA=OFF -DTESS_BUILD_TESTS=ON -DTESS_BUILD_CLI=ON \
    "-DCMAKE_C_FLAGS_DEBUG=-O1 -DTESS_SMALL_CODE" -DTESS_WERROR=ON ${CMAKE_ARGS:-} >"$work/log" 2>&1 ||
    fail_with log "configure"
cmake --build "$build" -j "$jobs" --target conformance_formats unit_names unit_storage_options tessera_cli \
    >"$work/log" 2>&1 || fail_with log "build"

TESSERA_FORMATS=coo "$build/tests/conformance_formats" >"$work/conformance" 2>&1 ||
    fail_with conformance "conformance"
for precision in fp64 fp32 bf16 fp16 e4m3 e5m2; do
    has "$work/conformance" "coo in $precision on "
done
has "$work/conformance" "OK.* formats_for_the_host_are_refused_on_a_gpu"
"$build/tests/unit_names" >"$work/names" 2>&1 || fail_with names "names"
"$build/tests/unit_storage_options" >"$work/options" 2>&1 || fail_with options "storage options"

tool spmv --help || die "spmv --help"
has "$work/out" 'coo:'
tool spmv gallery:laplace2d:12 --format coo --matrix-precision fp32 --repeat 1 || die "spmv --format coo"
has "$work/out" '^storage +coo fp32'
tool solve gallery:laplace2d:12 --device cpu --solver cg --format coo --rtol 1e-10 || die "solve --format coo"
tool compare gallery:laplace2d:8 --device cpu --repeat 1 || die "compare"
has "$work/out" '^cpu +coo +e5m2'
if tool spmv gallery:laplace2d:8 --format coo --levels fp64,fp32; then die "levels of a format with one precision"; fi
has "$work/err" '[(]--levels[)] is for format split, composite, tiles or packed, not coo'

tool solve gallery:laplace2d:20 --device cpu --solver steepest --rtol 1e-6 || die "solve --solver steepest"
has "$work/out" '^method +steepest, preconditioner none'
tool solve gallery:laplace2d:20 --device cpu --solver steepest --precond ic0 --rtol 1e-6 || die "steepest with ic0"
tool solve gallery:laplace2d:20 --device cpu --solver bicgstab --precond powers --rtol 1e-10 || die "--precond powers"
if tool solve gallery:indefinite:20 --device cpu --solver steepest; then die "an indefinite matrix"; fi
# The method keeps no direction but the last, so the signs of curvatures are not compared.
has "$work/out" 'NOT CONVERGED: .* [(]divergence, -4[)]'
if tool solve gallery:skew:20 --device cpu --solver bicgstab --precond powers; then die "no diagonal"; fi
has "$work/out" 'precond_setup, -11'
say "A solver and a preconditioner are a folder and three lines each: steepest and powers were built and run"
say "A format is one folder and one line: coo was built, tested and listed"
