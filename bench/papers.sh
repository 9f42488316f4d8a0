#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# papers.sh PROGRAMS OUT [PART..]: one command for each table and figure of docs/traceability.md that needs a device.
# PROGRAMS is the folder of the benchmark programs, OUT gets the records (JSON) and what was printed. Parts: rows,
# sweeps, jacobi, timestep, roofline, gmres, blocks, krylov, warp; default all. A single record is a part too, by its
# name (gmres-fig6), so that a run can be cut into pieces. TESS_BENCH_OPTIONS go to every program (--quick: a trial;
# --cache DIR; --device cpu), LARGE chooses the large matrices (default --set large), SCALE_DOWN divides the sizes of
# GMRES's. A part that is interrupted leaves its records; run it again alone. Exit code 1 where a part failed.
set -u
programs=$(realpath "${1:?usage: papers.sh PROGRAMS OUT [PART..]}")
out=${2:?usage: papers.sh PROGRAMS OUT [PART..]}
shift 2
parts=${*:-rows sweeps jacobi timestep roofline gmres blocks krylov warp}
bench=$(cd "$(dirname "$0")" && pwd)
read -ra large <<<"${LARGE:---set large}"
read -ra more <<<"${TESS_BENCH_OPTIONS:-}"
once=(--repeat 1 ${SCALE_DOWN:+--scale-down "$SCALE_DOWN"})
gmres=(--guard report "${once[@]}")
mkdir -p "$out"
out=$(realpath "$out")
failed=0

# COMMAND.. into OUT/NAME.txt; 77 is a part that cannot run here.
keep() { # NAME COMMAND..
    local name=$1 begin=$SECONDS code=0
    shift
    "$@" >"$out/$name.txt" 2>&1 || code=$?
    echo "$(date +%T) $name: $((SECONDS - begin)) s, exit code $code"
    [ $code = 0 ] && return
    tail -n 3 "$out/$name.txt"
    [ $code = 77 ] || failed=1
}

run() { # NAME PROGRAM OPTIONS..: where the part is NAME or begins it
    local name=$1 program=$2
    shift 2
    case $name in "$part" | "$part"-*) known=yes ;; *) return ;; esac
    keep "$name" "$programs/$program" --json "$out/$name.json" "$@" "${more[@]}"
}

# Tezcan et al. (2022): kernels of the paper under the rule at-most-one; the published protocol; Jacobi; time steps
run_rows()
{
    run rows-tezcan bench_papers --study split --protocol tezcan "${large[@]}"
    run rows-default bench_papers --study split "${large[@]}"
    run sweeps bench_solve --study gmres --precond none,jacobi,jacobi-sweeps:4 --contestant fp64,ir "${once[@]}" \
        --matrix gallery:laplace3d:100 --matrix gallery:laplace2d:256
    run jacobi bench_papers --study jacobi --scale max-product --set papers
    run timestep-small bench_papers --study timestep --cells 200000,1000000 --order natural
    run timestep-large bench_papers --study timestep --cells 4000000 --order rcm
}

# Grützmacher et al. (2021, 2023); Loe et al. (2021) in report mode, where nothing mends what FP32 loses
run_accessor_and_gmres()
{
    run roofline bench_papers --study roofline
    run gmres-fig6 bench_papers --study gmres:fig6 --histories "$out/gmres-fig6.csv" "${gmres[@]}"
    run gmres-fig7 bench_papers --study gmres:fig7 "${once[@]}"
    run gmres-degrees bench_solve --study gmres:degrees "${gmres[@]}"
}

# Zhao et al. (2024); Yang et al. (2024)
run_blocks_and_krylov()
{
    run blocks-factor bench_papers --study block:factor --contestant 'tiles-*,pbp-csr-*' "${large[@]}"
    run blocks-shape bench_papers --study block:shape --contestant 'tiles-*,pbp-csr-*' "${large[@]}"
    run blocks-thresholds bench_papers --study block:thresholds "${large[@]}"
    run krylov-fixed bench_papers --study krylov:fixed --set papers
    run krylov-histories bench_papers --study krylov:papers --histories "$out/krylov-histories.csv"
    run krylov-ablation bench_papers --study krylov:ablation
}

for part in $parts; do
    known=
    run_rows
    run_accessor_and_gmres
    run_blocks_and_krylov
    if [ "$part" = warp ]; then
        known=yes
        keep warp "$bench/papers/warp_efficiency.sh" "$programs/bench_papers"
    fi
    [ -n "$known" ] || { echo "papers.sh: no part '$part'" >&2; exit 2; }
done
exit $failed
