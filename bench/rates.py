#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what work costs on this device, as the table of src/auto/rates.c holds it.

    rates.py --tool build/release/tessera [--device cpu|cuda] [--threads 1] [--repeat 3] [--processor]

Named methods solve problems of the gallery, each in a process of its own; the least time of --repeat runs counts. Rates
are fitted by least squares, so that times of any size count alike, none below 0: the cost of an iteration of CG with
Jacobi by entries, rows and a start; that of an application of multigrid by entries and a start; its set-up, without
what CG with Jacobi needs, by rows, entries and a start; the set-up of incomplete factors by entries and a start; of
complete ones by rows, entries and a start, of matrices whose factors take few operations. A line for each problem shows
measured and fitted. `--threads 1` measures what the host's table is for; `--processor` takes processor time, for a host
with other work, which still disturbs the caches. Needs numpy.
"""

import argparse
import itertools
import json
import resource
import subprocess

import numpy as np

SMALL = ["laplace2d:60", "laplace2d:150", "laplace3d:30", "stretched2d:150", "elasticity3d:8"]
LARGE = {"cpu": ["laplace2d:500", "laplace3d:60", "laplace3d27:50", "stretched2d:400", "elasticity3d:16"],
         "cuda": ["laplace3d:150", "laplace3d:256", "laplace3d27:128", "stretched2d:1500", "elasticity3d:48"]}
MORE = 60  # iterations
CHAINS = ["laplace2d:20:500", "laplace2d:20:2000", "laplace1d:20000", "stretched2d:60", "laplace2d:100"]


def run(o, problem, iterations, *options):
    """The report, and the processor time of the process."""
    command = [o.tool, "solve", "gallery:" + problem, "--rtol", "1e-14", "--rhs", "random:1", "--device", o.device,
               "--max-iterations", str(iterations), "--guard", "report", "--json", "-", *options]
    command += ["--threads", str(o.threads)] if o.threads else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (json.loads(done.stdout), seconds) if done.stdout.startswith("{") else (None, 0.0)


def solve(o, problem, *options):
    """n, nnz, set-up and each iteration; with --processor what differs between few and more iterations."""
    best = None
    few = 2 if o.processor else MORE
    for _ in range(o.repeat):
        r, seconds = run(o, problem, few, *options)
        if not r:
            return None
        found = {"n": r["n"], "nnz": r["nnz"], "setup": r["setup_seconds"],
                 "each": r["solve_seconds"] / max(1, r["iterations"])}
        if o.processor:
            more, longer = run(o, problem, MORE, *options)
            found["each"] = (longer - seconds) / max(1, more["iterations"] - r["iterations"])
            found["setup"] = seconds - found["each"] * r["iterations"]
        best = found if best is None else {**found, **{k: min(found[k], best[k]) for k in ("setup", "each")}}
    return best


def fit(names, rows, times):
    """Least squares of errors over the geometric mean of measured and fitted times, over all sets of terms;
    coefficients are not negative."""
    a, t = np.array(rows, float), np.array(times, float)
    best = (np.inf, np.zeros(a.shape[1]))
    for size in range(1, a.shape[1] + 1):
        for chosen in map(list, itertools.combinations(range(a.shape[1]), size)):
            weight = 1 / t
            for _ in range(20):
                c = np.linalg.lstsq(a[:, chosen] * weight[:, None], t * weight, rcond=None)[0]
                fitted = np.maximum(a[:, chosen] @ c, 1e-3 * t)
                weight = 1 / np.sqrt(t * fitted)
            error = np.linalg.norm(np.log(fitted / t))
            if (c >= 0).all() and error < best[0] * 0.98:
                best = (error, np.zeros(a.shape[1]))
                best[1][chosen] = c
    print("    " + ", ".join(f".{n} = {v:.2g}" for n, v in zip(names, best[1])) + ",")
    return a @ best[1]


def part(title, names, found, times, columns):
    kept = [(f, t) for f, t in zip(found, times) if f and t is not None and t > 0]
    if len(kept) < len(names):
        print(f"{title}: too few problems")
        return
    print(title + ":")
    fitted = fit(names, [columns(f) for f, _ in kept], [t for _, t in kept])
    for (f, t), v in zip(kept, fitted):
        print(f"      n {f['n']:>9} entries {f['nnz']:>10}: {t:.3g} s, fitted {v:.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--processor", action="store_true")
    o = parser.parse_args()
    problems = SMALL + LARGE[o.device]
    jacobi = ("--solver", "cg", "--precond", "jacobi")
    plain = {p: solve(o, p, *jacobi) for p in problems + CHAINS}

    def beside(names, precond, what):
        """What a preconditioner takes beside Jacobi, with n and nnz."""
        found = [(plain[p], solve(o, p, "--solver", "cg", "--precond", precond)) for p in names]
        return [a for a, _ in found], [a and b and b[what] - a[what] for a, b in found]

    part("iteration", ("entry", "vector", "start"), [plain[p] for p in problems],
         [plain[p] and plain[p]["each"] for p in problems], lambda f: (f["nnz"], f["n"], 1))
    part("cycle (over .entry: .cycle_passes)", ("cycle_entry", "cycle_start"), *beside(problems, "amg", "each"),
         lambda f: (f["nnz"], 1))
    part("set-up of multigrid", ("multigrid_entry", "multigrid_row", "multigrid_start"),
         *beside(problems, "amg", "setup"), lambda f: (f["nnz"], f["n"], 1))
    part("set-up of incomplete factors", ("incomplete_entry", "incomplete_start"), *beside(SMALL, "ic0", "setup"),
         lambda f: (f["nnz"], 1))
    part("complete factors", ("direct_entry", "direct_row", "direct_start"), *beside(CHAINS, "cholesky", "setup"),
         lambda f: (f["nnz"], f["n"], 1))


if __name__ == "__main__":
    main()
