#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PETSc's tutorial ex56, elasticity, unchanged: PCGAMG beside `-pc_type tessera -pc_tessera_type gamg`, in turn, by
# options alone. Part of petsc.sh and of petsc_gpu.sh.
# EX56: the program, or its source, which mpicc and pkg-config PETSc build in a temporary folder (Debian's source)
# EX56_RANKS (1 2 8): the program takes cubes, and two, of which it gives the second no rows; NE (19): cells a side, odd
# ROUNDS (5): runs of each variant; PLAIN (aij): PETSc's type; EX56_OPTIONS: more for all runs; BUILD (build/release)
# SECONDS_EACH (120): the longest run; CLOCK (wall): cpu, where other work runs: seconds of the processor
# A run has three solves, the second one with new values. The lines tell the least and the median time of the second
# and third solves, the least of the first one, and the least of its set-up: -log_view's seconds of KSPSolve and of the
# stage "Setup", the longest over the processes. The program prints the residual, |b - A x| / |b|, which is here the
# largest of all runs.
set -u
cd "$(dirname "$0")/.." || exit 1
plugin=${BUILD:-build/release}/lib/libtessera_petsc.so plain=${PLAIN:-aij} rounds=${ROUNDS:-5} cells=${NE:-19}
program=${EX56:-/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp/tutorials/ex56.c}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_WAIT_POLICY=passive OMPI_MCA_btl_vader_single_copy_mechanism=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ours="-pc_type tessera -pc_tessera_type gamg -pc_tessera_precision"
variants=("-pc_type gamg -mat_type $plain")
for type in "$plain" tessera; do
    for precision in fp64 fp32 fp16; do variants+=("$ours $precision -mat_type $type"); done
done

build()
{
    # shellcheck disable=SC2046 # the flags are meant to be split
    mpicc -O2 -w "$1" -o "$work/ex56" $(pkg-config --cflags --libs PETSc) \
        "-Wl,-rpath,$(pkg-config --variable=libdir PETSc)" -lm
}

# PETSc's clock is MPI's: for CLOCK=cpu the program finds one that counts the processor's time.
make_clock()
{
    printf '%s\n' '#include <time.h>' 'double MPI_Wtime(void) { struct timespec t;' \
        'clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }' |
        "${CC:-cc}" -O1 -shared -fPIC -x c - -o "$work/clock.so"
}

# solve RANKS VARIANT: its lines "VARIANT kind value" go to the file of samples
solve()
{
    # shellcheck disable=SC2086 # the options are meant to be split
    timeout "${SECONDS_EACH:-120}" mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$1" \
        env ${clock:+LD_PRELOAD="$clock"} "$program" -dll_append "$plugin" -ne "$cells" -two_solves \
        -use_mat_nearnullspace -ksp_type cg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned -ksp_converged_reason \
        -log_view ":$work/log.csv:ascii_csv" ${variants[$2]} ${EX56_OPTIONS:-} </dev/null >"$work/out" 2>&1 ||
        { tail -n 5 "$work/out"; return 1; }
    awk -v v="$2" '
        FNR == NR && / solve / { print v, "iterations", $NF; print v, "reason", $(NF - 2) }
        FNR == NR { if (sub(/.*\|b-Ax\|\/\|b\|=/, "")) print v, "residual", $1 + 0; next }
        { split($0, f, ",") }
        f[1] == "Setup" && f[2] == "summary" { setup = f[5] > setup ? f[5] : setup }
        f[1] ~ /Solve$/ && f[2] == "KSPSolve" { most[f[1]] = f[5] > most[f[1]] ? f[5] : most[f[1]] }
        END {
            print v, "setup", setup
            print v, "first", most["Solve"]
            print v, "later", most["2nd Solve"]
            print v, "later", most["3rd Solve"]
        }' "$work/out" "$work/log.csv" >>"$work/samples"
}

# A line for each variant, and the times over those of the first one.
report()
{
    sort -k1,1n -k2,2 -k3,3g "$work/samples" | awk -v names="$(IFS=';'; echo "${variants[*]}")" '
        BEGIN { count = split(names, name, ";") }
        $2 == "reason" || $2 == "iterations" {
            if (!seen[$0]++) said[$1, $2] = said[$1, $2] " " $3
            next
        }
        { list[$1, $2, n[$1, $2]++] = $3 }
        function least(v, kind) { return list[v, kind, 0] }
        function median(v, k) {
            k = n[v, "later"]
            return (list[v, "later", int((k - 1) / 2)] + list[v, "later", int(k / 2)]) / 2
        }
        END {
            for (v = 0; v < count; v++) {
                if (!n[v, "later"]) { print name[v + 1] ": no result"; continue }
                printf "%s:%s,%s iterations, residual %.2e, ", name[v + 1], said[v, "reason"], \
                    said[v, "iterations"], list[v, "residual", n[v, "residual"] - 1]
                printf "%.4f s, median %.4f s, first %.4f s, set-up %.4f s", least(v, "later"), median(v), \
                    least(v, "first"), least(v, "setup")
                if (v && n[0, "later"])
                    printf ", over PCGAMG %.2f, median %.2f", least(v, "later") / least(0, "later"), \
                        median(v) / median(0)
                print ""
            }
        }'
}

case "$program" in *.c) build "$program" && program=$work/ex56 || exit 1 ;; esac
clock=
[ "${CLOCK:-wall}" != cpu ] || { make_clock && clock=$work/clock.so || exit 1; }
failed=0
for ranks in ${EX56_RANKS:-1 2 8}; do
    echo "## ex56, $cells cells a side, CG to 1e-8, $ranks ranks, ${CLOCK:-wall} clock: PCGAMG;"
    echo "## gamg of ours with $plain, and with a matrix of ours"
    : >"$work/samples"
    for ((round = 0; round < rounds; round++)); do
        for v in "${!variants[@]}"; do solve "$ranks" "$v" || failed=1; done
    done
    report
done
exit $failed
