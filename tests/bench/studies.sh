#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# studies.sh BENCH_KRYLOV: each study on small problems on the host, and that its report adds up; stages of bench_factors beside it. Exit code 77 without python3.
set -eu
export OMP_NUM_THREADS=1
bench=$(realpath "${1:?usage: studies.sh BENCH_KRYLOV}")
command -v python3 >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

run() { # NAME OPTIONS...: the report is NAME.json, the text NAME.txt
    local name=$1
    shift
    "$bench" --device cpu --quick --json "$name.json" "$@" >"$name.txt" || {
        cat "$name.txt"
        echo "FAIL $name: exit code $?"
        exit 1
    }
}

small="--matrix gallery:laplace2d:12 --matrix gallery:laplace2d:17"
# shellcheck disable=SC2086
{
    run goals --study goals $small --matrix gallery:uniflow2d:12 --solves 5 --contestant 'csr,auto,tiles-*'
    run papers --study papers $small --histories papers.csv
    run fixed --study fixed,ablation $small
    run iterations --study iterations $small
    run shares --study shares $small
    run direction --study direction $small
    run setup --study setup $small
    run memory --study memory $small
    run limit --study papers --max-iterations 5 --matrix gallery:laplace2d:12
    run plain --iterations-only --matrix gallery:laplace2d:12
}
"$(dirname "$bench")/bench_factors" --device cpu --quick --stages --matrix gallery:laplace2d:12 --contestant 'cg-ic0,bicgstab-ilu0-merged' \
    --json factors.json >factors.txt || {
    cat factors.txt
    echo "FAIL: stages of factors"
    exit 1
}
if "$bench" --device cpu --study nonsense >/dev/null 2>&1; then
    echo "FAIL: an unknown study was run"
    exit 1
fi
if "$bench" --device cpu --study papers --contestant nobody --matrix gallery:laplace2d:12 >/dev/null 2>&1; then
    echo "FAIL: an unknown contestant was run"
    exit 1
fi
"$bench" --device cpu --study goals --list >list.txt
grep -q 'laplace2d-256' list.txt && grep -q 'laplace3d-150' list.txt || {
    echo "FAIL: --list lacks matrices of the goals"
    exit 1
}
# a signal ends a run after the matrix at hand, with its means and goals
many=$(seq -f '--matrix gallery:laplace2d:%g' 300 339)
# shellcheck disable=SC2086
"$bench" --device cpu --quick --json early.json --study goals --contestant csr $many >early.txt &
pid=$!
until [ -s early.txt ]; do sleep 0.1; done # the first line is there once signals are heeded
kill -TERM $pid
kill -TERM $pid 2>/dev/null || true # as timeout(1) sends it twice
code=0
wait $pid || code=$?
if [ $code -ne 1 ] || ! grep -q '^ended early by a signal' early.txt || ! grep -q '^goals$' early.txt ||
    ! grep -q 'skipped: ended by a signal before it' early.txt; then
    echo "FAIL: ended early with exit code $code"
    cat early.txt
    exit 1
fi
# sets of the study choose among its rows: five matrices with times, two for endurance
lines=$("$bench" --device cpu --study goals --set laplace2d --list | wc -l)
if [ "$lines" -ne 7 ]; then
    echo "FAIL: --set laplace2d lists $lines matrices"
    exit 1
fi

python3 - <<'PYTHON'
import csv, json, math

def load(name):
    with open(name + ".json") as file:
        return json.load(file)

def check(condition, what):
    if not condition:
        raise SystemExit("FAIL: " + what)

def adds_up(stages):  # nine digits of each are in the report: half a unit of the last is 5e-9 of it at most, and as much of the sum
    return math.isclose(stages[-1]["seconds"], sum(t["seconds"] for t in stages[:-1]), rel_tol=1e-8)


def rows_of(report, **wanted):
    return [r for r in report["results"] if all(r.get(k) == v for k, v in wanted.items())]

goals = load("goals")
check(goals["failures"] == 0 and goals["false_convergences"] == 0 and goals["claims"] > 0, "claims")
by_name = {(g["kernel"], g["statistic"]): g for g in goals["goals"]}
times = [1e6 * r["seconds_per_iteration"] for r in rows_of(goals, set="laplace2d", solver="cg", contestant="auto")]
worst = by_name[("laplace2d, n <= 4,096: auto", "worst case")]
check(len(times) == 2 and math.isclose(worst["value"], max(times), rel_tol=1e-6), "worst time per iteration")
check(worst["reached"] == (worst["value"] <= worst["goal"]), "verdict")
check(by_name[("solves back to back", "count")]["of"] == 5 * 2 * 4, "solves back to back")
check(by_name[("solves that claim convergence", "count")]["value"] == 0, "false claims")
check(all(r["verified"] for r in rows_of(goals, solver="bicgstab")), "bicgstab")
check(rows_of(goals, solver="bicgstab", matrix="uniflow2d-12") and not rows_of(goals, solver="cg", matrix="uniflow2d-12"),
      "methods by symmetry")
check(rows_of(goals, solver="bicgstab")[0]["claims"] == 5, "five right-hand sides")

iterations = load("iterations")
mean = next(g for g in iterations["goals"]
            if g["kernel"] == "cg, spd: tiles-lossless" and g["statistic"] == "arithmetic mean")
ratios = [r["iterations"] / c["iterations"] for r, c in
          zip(rows_of(iterations, solver="cg", contestant="tiles-lossless"), rows_of(iterations, solver="cg", contestant="csr"))]
check(len(ratios) == 2 and math.isclose(mean["value"], sum(ratios) / 2, rel_tol=1e-6), "mean of ratios of iterations")

with open("papers.csv") as file:
    history = [r for r in csv.DictReader(file) if r["matrix"] == "laplace2d-12" and r["contestant"] == "csr"]
solved = rows_of(load("papers"), matrix="laplace2d-12", contestant="csr")[0]
check(len(history) == solved["iterations"] + 1 and float(history[-1]["relative_residual"]) <= 1e-10, "history")

fixed = rows_of(load("fixed"), set="papers", contestant="csr")
check(any(r["fixed_seconds"] is not None for r in fixed), "100 iterations")

narrowed = rows_of(load("fixed"), set="papers", contestant="resident-narrowing", matrix="laplace2d-17")
check(any(r["verified"] and sum(r["tile_products"].values()) > 0 and not r["false_claims"] for r in narrowed
          if "verified" in r), "products of tiles are counted")

share = rows_of(load("shares"), contestant="csr", solver="cg")[0]
check(0 < share["spmv"] < share["seconds_per_iteration"], "share of products")
check(math.isclose(share["spmv"] + share["fused"] + share["verification"], share["seconds_per_iteration"], rel_tol=1e-3),
      "shares add up")

for r in load("direction")["results"]:
    for way in ("absolute", "relative"):
        for kind in ("segments", "elements"):
            counts = r[way][kind]
            check(all(len(c) == r["iterations"] for c in counts), "a count for each iteration")
            check(all(a <= b for low, high in zip(counts, counts[1:]) for a, b in zip(low, high)), "wider bounds hold more")
    inner = (math.isqrt(r["nrows"]) - 2) ** 2  # rows of A whose entries add up to zero: the first p is b
    check(r["relative"]["elements"][0][0] == r["absolute"]["elements"][0][0] == inner, "the first p")
    check(r["relative_residuals"][0] == 1.0 and r["relative_residuals"][-1] < 1e-6, "residuals")
    # x converges with the solver's iterations: the same method
    solver = rows_of(load("iterations"), matrix=r["matrix"], solver="cg", contestant="csr")[0]
    check(abs(r["iterations"] - solver["iterations"]) <= 1, "Algorithm 1 takes as many iterations as the solver")

setup = load("setup")
for r in rows_of(setup, study="setup"):
    parts = r["policy_seconds"] + r["conversion_seconds"] + r["other_seconds"] + r["first_seconds"]
    check(parts >= 0.99 * r["setup_seconds"] > 0, "set-up by steps")
    stages = rows_of(setup, study="stages", matrix=r["matrix"], contestant=r["contestant"])
    check(len(stages) > 1 and stages[-1]["seconds"] > 0, "set-up by stages")
    check(adds_up(stages), "stages add up")

factors = load("factors")["results"]
for name in ("cg-ic0", "bicgstab-ilu0-merged"):
    stages = [r for r in factors if r["contestant"] == name]
    check(len(stages) > 1 and adds_up(stages), "stages of factors")

memory = load("memory")
alone = rows_of(memory, matrix="laplace2d-12", contestant="(each nonzero alone)")[0]["nonzeros_per_precision"]
tiles = rows_of(memory, matrix="laplace2d-12", contestant="tiles-lossless")[0]
check(alone["e4m3"] == tiles["nonzeros_per_precision"]["e4m3"] == tiles["nnz"], "4 and -1 are in 8 bits")
check(tiles["matrix_bytes"] < tiles["fp64_csr_bytes"], "tiles take less")

limit = load("limit")
check(all(not r["verified"] and r["reason"] == "iterations" and r["solve_seconds"] is None for r in limit["results"]),
      "a limit is no solution")
check(limit["claims"] == 0 and not any(g["kernel"].startswith("solves that") for g in limit["goals"]), "no claims")
check(load("plain")["results"], "runs without a study")
PYTHON
