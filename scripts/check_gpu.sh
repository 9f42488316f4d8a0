#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_gpu.sh BUILD_DIR [LOG_DIR]: what must hold on a machine with a GPU: every test of the device, and compute-sanitizer on small
# solves. Prints a line for each, as docs/results/*/tests.txt has them. BUILD_DIR may have been built on another machine.
set -u
case $# in
1 | 2) ;;
*)
    echo "usage: $0 BUILD_DIR [LOG_DIR]" >&2
    exit 2
    ;;
esac
build=$1 logs=${2:-$1/check_gpu}
most=${SECONDS_PER_PROGRAM:-600}
mkdir -p "$logs" || exit 2
export OMP_WAIT_POLICY=passive LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-}
failed=0

# outcome NAME STATUS TEXT: one line; what is wrong counts
outcome()
{
    if [ "$2" -ne 0 ]; then
        failed=$((failed + 1))
        echo "$1: FAILED (exit $2), $3; see $logs"
    else
        echo "$1: $3"
    fi
}

test_program()
{
    local name status=0 passed wrong
    name=$(basename "$1")
    timeout "$most" "$1" >"$logs/$name.log" 2>&1 || status=$?
    if [ $status -eq 77 ]; then
        echo "$name: skipped: $(grep -m 1 SKIPPED "$logs/$name.log")"
        return
    fi
    passed=$(grep -c '^\[ *OK \]' "$logs/$name.log")
    wrong=$(grep -c '^\[  FAILED  \] [a-z_0-9]*$' "$logs/$name.log")
    if [ $status -eq 0 ] && [ "$passed" -eq 0 ]; then status=1; fi
    outcome "$name" $status "$passed passed, $wrong failed"
}

# sanitize TOOL NAME COMMAND...: memcheck follows graphs with a loop only with one connection; racecheck does not run them
sanitize()
{
    local tool=$1 name=$2 status=0 log
    shift 2
    log=$logs/$tool-$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '-').log
    CUDA_DEVICE_MAX_CONNECTIONS=1 timeout "$most" compute-sanitizer --tool "$tool" --error-exitcode 9 "$@" >"$log" 2>&1 || status=$?
    outcome "$tool $name" $status "$(grep -m 1 SUMMARY "$log" || echo 'no summary')"
}

sanitize_solves()
{
    local solve=("$build/tessera" solve --device cuda --rtol 1e-8)
    for tool in memcheck racecheck; do
        for edge in 40 132; do
            for precond in none jacobi; do
                sanitize $tool "cg, laplace2d:$edge, $precond" "${solve[@]}" gallery:laplace2d:$edge --solver cg --precond $precond
            done
        done
        sanitize $tool "bicgstab, laplace2d:40" "${solve[@]}" gallery:laplace2d:40 --solver bicgstab
        sanitize $tool "cg, plain, ic0" "${solve[@]}" gallery:laplace2d:40 --solver cg --precond ic0 --engine plain
        sanitize $tool "bicgstab, plain, ilu0, factors by the device" "${solve[@]}" gallery:laplace2d:40 --solver bicgstab \
            --precond ilu0 --factorization device --engine plain
        sanitize $tool "cg, plain, tiles narrowed" "${solve[@]}" gallery:laplace2d:40 --solver cg --engine plain --format tiles --layout resident \
            --policy lossless --narrowing safe
        sanitize $tool "gmres, plain" "${solve[@]}" gallery:laplace2d:40 --solver gmres --engine plain
    done
    sanitize memcheck "cg, graph, ic0" "${solve[@]}" gallery:laplace2d:40 --solver cg --precond ic0 --engine graph
}

for program in "$build"/tests/gpu_* "$build"/tests/conformance_*; do
    if [ -x "$program" ]; then test_program "$program"; fi
done
if command -v compute-sanitizer >/dev/null && [ -x "$build/tessera" ]; then
    sanitize_solves
else
    echo "compute-sanitizer or $build/tessera is not there: nothing was sanitized"
fi
[ $failed -eq 0 ]
