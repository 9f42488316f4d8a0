#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh PROGRAMS OUT [PART..]: all records behind the README's table of results, and the table. PROGRAMS is the
# folder of the benchmark programs, OUT gets the records (JSON), what was printed, and readme.md. Parts: product, cg,
# gmres, factors, blocks, dense, others; default all. A single record is a part too, by its name (cg-spd), so that a run
# can be cut into pieces. TESS_BENCH_OPTIONS go to every program (--quick: a trial; --cache DIR). A part that is
# interrupted leaves its records; run it again alone. Exit code 1 where a part or the table failed.
set -u
programs=$(realpath "${1:?usage: readme.sh PROGRAMS OUT [PART..]}")
out=${2:?usage: readme.sh PROGRAMS OUT [PART..]}
shift 2
parts=${*:-product cg gmres factors blocks dense others}
bench=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
failed=0

run() { # NAME PROGRAM OPTIONS..: where the part is NAME or begins it
    local name=$1 program=$2 begin=$SECONDS
    shift 2
    case $name in "$part" | "$part"-*) ;; models) [ "$part" = others ] || return ;; *) return ;; esac
    echo "$(date +%T) $name: $program $*"
    # shellcheck disable=SC2086 # several options
    "$programs/$program" --json "$out/$name.json" "$@" ${TESS_BENCH_OPTIONS:-} >"$out/$name.txt" 2>&1 || {
        failed=1
        echo "$name: failed; the end of $out/$name.txt:"
        tail -n 5 "$out/$name.txt"
    }
    echo "$(date +%T) $name: $((SECONDS - begin)) s"
}

for part in $parts; do
    case $part in
    product) run product bench_product --study formats --set large ;;
    cg | cg-spd | cg-unsym | cg-large)
        run cg-spd bench_solve --study krylov:goals --set spd --contestant 'csr,auto,cu-*'
        run cg-unsym bench_solve --study krylov:goals --set unsym --contestant 'csr,auto,cu-*'
        run cg-large bench_solve --study krylov:large --contestant 'csr,auto,auto-lossless,cu-graph'
        ;;
    gmres | gmres-grids | gmres-large)
        run gmres-grids bench_solve --study gmres --matrix gallery:laplace3d:150 --matrix gallery:uniflow2d:2500 \
            --matrix gallery:bentpipe2d:1500 --contestant 'cu-fp64*,cu-ir*,fp64,ir' --repeat 1
        run gmres-large bench_solve --study gmres:large --repeat 1
        ;;
    factors | factors-spd | factors-unsym)
        run factors-spd bench_solve --study factors:spd --rtol 1e-10 --contestant 'cg-ic0,cg-cu-ic0-*'
        run factors-unsym bench_solve --study factors:unsym --rtol 1e-10 \
            --contestant 'bicgstab-ilu0,bicgstab-cu-ilu0-*'
        ;;
    blocks) run blocks bench_papers --study block:goals --set large ;;
    dense) run dense bench_dense --operation dot,gemv-n,gemv-t,trsv-ln,trsv-un --storage fp32 ;;
    others)
        laplacians=()
        for size in 2d:64 2d:256 3d:100 3d:150; do laplacians+=(--matrix "gallery:laplace$size"); done
        run models bench_solve --study krylov:models "${laplacians[@]}" --contestant 'csr,auto,cu-*'
        echo "$(date +%T) others: others.py, CuPy"
        python3 "$bench/peers/others.py" "${laplacians[@]}" --json "$out/others.json" >"$out/others.txt" 2>&1 ||
            echo "others: none was found: $(tail -n 1 "$out/others.txt")"
        ;;
    *)
        echo "readme.sh: no part '$part'" >&2
        exit 2
        ;;
    esac
done
python3 "$bench/report.py" readme "$out"/*.json >"$out/readme.md" || failed=1
cat "$out/readme.md"
exit $failed
