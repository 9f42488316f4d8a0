#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_gpu.sh BUILD_DIR [LOG_DIR]: what must hold on a machine with a GPU: every test of the device, and
# compute-sanitizer on small solves. Prints a line for each, as docs/results/raw/*/tests.txt has them. BUILD_DIR may
# have been built on another machine. JOBS of them run at a time (1); those that need the device for themselves run
# alone.
set -u
case $# in
1 | 2) ;;
*)
    echo "usage: $0 BUILD_DIR [LOG_DIR]" >&2
    exit 2
    ;;
esac
build=$1 logs=${2:-$1/check_gpu}
most=${SECONDS_PER_PROGRAM:-600} jobs=${JOBS:-1}
case $jobs in '' | *[!0-9]* | 0)
    echo "$0: JOBS is '$jobs', not a number from 1 on" >&2
    exit 2
    ;;
esac
mkdir -p "$logs" || exit 2
rm -f "$logs/failed"
export OMP_WAIT_POLICY=passive LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-}

# outcome NAME STATUS TEXT: one line; what is wrong is listed in a file of the logs
outcome()
{
    if [ "$2" -ne 0 ]; then
        echo "$1" >>"$logs/failed"
        echo "$1: FAILED (exit $2), $3; see $logs"
    else
        echo "$1: $3"
    fi
}

# later FUNCTION ARGUMENT...: beside others, as many as there may be
later()
{
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    "$@" &
}

# What holds half of the device, what tells how long somebody may wait for others, what looks at the memory that is
# left.
needs_the_device() { case "$1" in */gpu_single_kernel_robust | */gpu_waits | */gpu_memory) true ;; *) false ;; esac; }

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
    wrong=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s).*/\1/p' "$logs/$name.log")
    if [ $status -eq 0 ] && [ "$passed" -eq 0 ]; then status=1; fi
    outcome "$name" $status "$passed passed, ${wrong:-0} failed"
}

# sanitize TOOL NAME COMMAND...: memcheck follows graphs with a loop only with one connection; racecheck does not run
# them
sanitize()
{
    local tool=$1 name=$2 status=0 log
    shift 2
    log=$logs/$tool-$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '-').log
    CUDA_DEVICE_MAX_CONNECTIONS=1 timeout "$most" compute-sanitizer --tool "$tool" --error-exitcode 9 "$@" \
        >"$log" 2>&1 || status=$?
    outcome "$tool $name" $status "$(grep -m 1 SUMMARY "$log" || echo 'no summary')"
}

# What the emulated GPU of continuous integration cannot run: a line for each of tests/gpu/device_only.tsv, from the
# logs.
only_on_a_device()
{
    local list program cases what passed failed
    list=$(dirname "$0")/../tests/gpu/device_only.tsv
    echo "only on a device (not in continuous integration):"
    while IFS=$'\t' read -r program cases what; do
        passed=0 failed=0
        while read -r word name; do
            # shellcheck disable=SC2053 # a pattern
            if [[ $name != $cases ]]; then continue; fi
            case $word in OK) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
        done < <(sed -n 's/^\[ *\(OK\|FAILED\) *\] \([a-z_0-9A-Z]*\)$/\1 \2/p' "$logs/$program.log" 2>/dev/null)
        echo "  $program $cases: $passed passed, $failed failed: $what"
        if [ $passed -eq 0 ] && ! grep -q SKIPPED "$logs/$program.log"; then echo "$program $cases" >>"$logs/failed"; fi
    done < <(grep -v '^#' "$list")
}

# solved NAME MATRIX OPTION...: a solve under $tool; plainly: by the plain engine
solved()
{
    local name=$1
    shift
    later sanitize "$tool" "$name" "$build/tessera" solve --device cuda --rtol 1e-8 "$@"
}
plainly() { solved "$@" --engine plain; }

# Every launch of the plain engine is examined anew: its problems are small.
sanitize_solves()
{
    local small=gallery:laplace2d:20 tool edge precond solver
    local tiles=(--format tiles --layout resident --policy lossless --narrowing safe)
    for tool in memcheck racecheck; do
        for edge in 40 132; do
            for precond in none jacobi; do
                solved "cg, laplace2d:$edge, $precond" gallery:laplace2d:$edge --solver cg --precond $precond
            done
        done
        solved "bicgstab, laplace2d:40" gallery:laplace2d:40 --solver bicgstab
        plainly "cg, plain, ic0" $small --solver cg --precond ic0
        plainly "bicgstab, plain, ilu0, factors by the device" $small --solver bicgstab --precond ilu0 \
            --factorization device
        plainly "cg, plain, tiles narrowed" $small --solver cg "${tiles[@]}"
        plainly "gmres, plain" $small --solver gmres
        plainly "cg, plain, amg, classical" gallery:laplace3d:12 --solver cg --precond amg
        plainly "cg, plain, amg, aggregation" gallery:elasticity3d:4 --solver cg --precond amg \
            --amg-coarsening aggregation
        plainly "cg, plain, amg, vectors found" gallery:elasticity3d:4 --solver cg --precond amg --amg-modes 3
        plainly "bicgstab, plain, complex blocks" gallery:helmholtz2d:12 --solver bicgstab
        plainly "gmres, plain, complex blocks" gallery:eddy3d:4 --solver gmres
        plainly "cg, plain, blocks" gallery:elasticity3d:4 --solver cg --format bsr
        plainly "cg, plain, packed, entries left out" $small --solver cg --format packed --policy error-bound:1e-6
        plainly "cg, plain, pairs of fp32" $small --solver cg --arithmetic fp32x2
        plainly "cg, plain, ic0 by sweeps" $small --solver cg --precond ic0 --triangular sweeps:3 \
            --factorization sweeps:5
        plainly "bicgstab, plain, ilu0 by colors" $small --solver bicgstab --precond ilu0 --triangular colors
        plainly "bicgstab, plain, amg, air" $small --solver bicgstab --precond amg --amg-restriction air
        plainly "idr, plain" $small --solver idr
        plainly "cg, plain, fsai" $small --solver cg --precond fsai:2 --precond-precision fp16/fp64
        plainly "bicgstab, plain, isai" $small --solver bicgstab --precond isai
        plainly "cg, plain, fsai:adaptive" $small --solver cg --precond fsai:adaptive
        plainly "cg, plain, amg, fsai" $small --solver cg --precond amg --amg-smoother fsai
        for solver in fgmres minres; do
            plainly "$solver, plain, saddle" gallery:stokes2d:8 --solver $solver --precond saddle
        done
    done
    tool=memcheck
    solved "cg, graph, ic0" gallery:laplace2d:40 --solver cg --precond ic0 --engine graph
    wait
}

for program in "$build"/tests/gpu_* "$build"/tests/conformance_*; do
    if [ -x "$program" ] && ! needs_the_device "$program"; then later test_program "$program"; fi
done
wait
for program in "$build"/tests/gpu_*; do
    if [ -x "$program" ] && needs_the_device "$program"; then test_program "$program"; fi
done
only_on_a_device
if command -v compute-sanitizer >/dev/null && [ -x "$build/tessera" ]; then
    sanitize_solves
else
    echo "compute-sanitizer or $build/tessera is not there: nothing was sanitized"
fi
[ ! -e "$logs/failed" ]
