#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# studies.sh FOLDER: each study of the benchmark programs in FOLDER on small problems on the host; that each record has
# what all records have, that reports add up, and that bench/report.py finds means and goals. Exit code 77: no python3.
set -eu
export OMP_NUM_THREADS=1
programs=$(realpath "${1:?usage: studies.sh FOLDER}")
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

run() { # NAME PROGRAM OPTIONS...: the report is NAME.json, the text NAME.txt, what report.py says NAME.report
    local name=$1 program=$2
    shift 2
    "$programs/$program" --quick --json "$name.json" "$@" >"$name.txt" || {
        cat "$name.txt"
        echo "FAIL $name: exit code $?"
        exit 1
    }
    python3 "$root/bench/report.py" "$name.json" --json "$name.summary" >"$name.report" || {
        cat "$name.report"
        echo "FAIL: report.py on $name"
        exit 1
    }
}

product() { run "$1" bench_product --device cpu "${@:2}"; }
solve() { run "$1" bench_solve --device cpu "${@:2}"; }
papers() { run "$1" bench_papers --device cpu "${@:2}"; }

one=(--matrix gallery:laplace2d:12)
small=(--matrix gallery:laplace2d:12 --matrix gallery:laplace2d:17)

product formats "${one[@]}" --format csr,sell
product precisions "${one[@]}" --format packed --precision fp16 --policy mean-3std:0.5
product columns --study columns "${one[@]}" --columns 2
product digits --study digits "${one[@]}" --seeds 2
product lossless --study lossless "${one[@]}"
solve plain "${one[@]}"
solve goals --study krylov:goals "${small[@]}" --matrix gallery:uniflow2d:12 --solves 5 --contestant 'csr,auto,tiles-*'
solve iterations --study krylov:iterations "${small[@]}"
solve factors --study factors "${one[@]}" --contestant 'cg-ic0,bicgstab-ilu0-merged'
solve factor_stages --study factors --stages "${one[@]}" --contestant 'cg-ic0,bicgstab-ilu0-merged'
solve gmres --study gmres "${one[@]}" --contestant 'fp64,ir' --profile --histories gmres.csv
solve facts --study facts:times,stages "${one[@]}"
solve many --study many "${one[@]}"
solve batch --study batch "${one[@]}"
solve sequences --study sequences
solve verify --study verify "${one[@]}"
solve first --study first-use --edge 6 --rounds 3
run dense bench_dense --device cpu --operation dot,gemv-n --sizes 64
run read bench_read --megabytes 1 --threads 1 --repeat 2
papers papers --study krylov:papers "${small[@]}" --histories papers.csv
papers fixed --study krylov:fixed,ablation "${small[@]}"
papers shares --study krylov:shares "${one[@]}"
papers direction --study krylov:direction "${small[@]}"
papers setup --study krylov:setup "${one[@]}"
papers memory --study krylov:memory "${one[@]}"
papers limit --study krylov:papers --max-iterations 5 "${one[@]}"
papers split --study split --matrix gallery:rowscale:12:25
papers block --study block:goals,setup "${one[@]}"
papers jacobi --study jacobi "${one[@]}"
papers timestep --study timestep --cells 2000 --order natural
papers accuracy --study accuracy --operation dot,spmv --sizes 64 --seeds 2 "${one[@]}"
papers roofline --study roofline --megabytes 1
papers fig5 --study gmres:fig5 --scale-down 150

python3 - precisions.json <<'END'
import json, sys
found = {row["contestant"]: row["precision"] for row in json.load(open(sys.argv[1]))["results"]}
if found != {"packed-fp16": "fp16", "packed-mean-3std:0.5": "mixed"}:
    sys.exit(f"FAIL: precisions of formats in parts: {found}")
END

refused() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        echo "FAIL: $what was run"
        exit 1
    fi
}
refused "an unknown study" "$programs/bench_solve" --device cpu --study nonsense
refused "a part of another program" "$programs/bench_solve" --device cpu --study krylov:papers
refused "a part of a study without parts" "$programs/bench_product" --device cpu --study digits:goals
refused "an unknown contestant" "$programs/bench_papers" --device cpu --study krylov:papers --contestant nobody \
    "${one[@]}"
for program in bench_product bench_solve bench_dense bench_read bench_papers; do
    "$programs/$program" --help | grep -q '^Studies:' || {
        echo "FAIL: $program --help lists no studies"
        exit 1
    }
done
"$programs/bench_solve" --study factors --help | grep -q -e --triangular || {
    echo "FAIL: the options of a study are not printed"
    exit 1
}
"$programs/bench_solve" --device cpu --study krylov:goals --list >list.txt
grep -q 'laplace2d-256' list.txt && grep -q 'laplace3d-150' list.txt || {
    echo "FAIL: --list lacks matrices of the goals"
    exit 1
}
# a signal ends a run after the matrix at hand, and the report is of what ran
many=()
for n in $(seq 300 339); do many+=(--matrix "gallery:laplace2d:$n"); done
"$programs/bench_solve" --device cpu --quick --json early.json --study krylov:goals --contestant csr \
    "${many[@]}" >early.txt &
pid=$!
until [ -s early.txt ]; do sleep 0.1; done # the first line is there once signals are heeded
kill -TERM $pid
kill -TERM $pid 2>/dev/null || true # as timeout(1) sends it twice
code=0
wait $pid || code=$?
if [ $code -ne 1 ] || ! grep -q '^ended early by a signal' early.txt ||
    ! grep -q 'skipped: ended by a signal before it' early.txt; then
    echo "FAIL: ended early with exit code $code"
    cat early.txt
    exit 1
fi
python3 "$root/bench/report.py" early.json | grep -q 'the run ended early' || {
    echo "FAIL: report.py does not say that a run ended early"
    exit 1
}
# sets of the part choose among its rows: five matrices with times, two for endurance
lines=$("$programs/bench_solve" --device cpu --study krylov:goals --set laplace2d --list | wc -l)
if [ "$lines" -ne 7 ]; then
    echo "FAIL: --set laplace2d lists $lines matrices"
    exit 1
fi

python3 "$root/bench/report.py" readme formats.json goals.json factors.json gmres.json >readme.md

python3 "$root/tests/bench/check_reports.py" "$root"
