#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
CG on arrays of a GPU against CuPy's: python3 bench/python_cupy.py [--json FILE] [--commit TEXT]
[--problems laplace3d:16,laplace2d:64].

Whole solves of model problems to 1e-10, warm, b and x on the GPU: `tessera_sparse.cg` with its set-up, a `Solver` that
is set up, the same with multigrid, and `cupyx.scipy.sparse.linalg.cg`. Each is the least of some repeats. A column
`true` has the residual of each x, computed by CuPy.
"""
import argparse
import datetime
import inspect
import json
import os
import subprocess
import time

import cupy
import cupyx.scipy.sparse as cusparse
import cupyx.scipy.sparse.linalg as theirs

import tessera_sparse as ts

RTOL = 1e-10
# CuPy 14 has rtol, as SciPy does; earlier versions have tol.
TOLERANCE = "rtol" if "rtol" in inspect.signature(theirs.cg).parameters else "tol"
PROBLEMS = "laplace3d:16,laplace3d:40,laplace3d:100,laplace3d:150,laplace2d:64,laplace2d:256,laplace2d:1000"
WAYS = ("cupy", "cg", "solver", "multigrid")


def least_time(function, seconds=2.0, repeats=20):
    """(least time of a call in seconds, its result); the first call is not counted."""
    result, best, begin = function(), float("inf"), time.perf_counter()
    for _ in range(repeats):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        result = function()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > seconds:
            break
    return best, result


def measure(problem):
    name, *numbers = problem.split(":")
    A = cusparse.csr_matrix(ts.Matrix.gallery(name, *numbers, context=ts.Context(device="cpu")).to_scipy())
    b = cupy.random.default_rng(1).standard_normal(A.shape[0])
    matrix = ts.Matrix(A)
    plain = ts.Solver(matrix, solver="cg", precond="none", rtol=RTOL, max_iterations=100000, history_capacity=0)
    multigrid = ts.Solver(matrix, solver="cg", precond="amg", rtol=RTOL, history_capacity=0)
    ways = {
        "cupy": lambda: theirs.cg(A, b, maxiter=100000, **{TOLERANCE: RTOL})[0],
        "cg": lambda: ts.cg(A, b, rtol=RTOL, maxiter=100000)[0],
        "solver": lambda: plain.solve(b).x,
        "multigrid": lambda: multigrid.solve(b).x,
    }
    row = {"problem": problem, "n": A.shape[0], "iterations": plain.solve(b).iterations}
    for name, way in ways.items():
        seconds, x = least_time(way)
        true = float(cupy.linalg.norm(b - A @ x) / cupy.linalg.norm(b))
        row[name] = {"seconds": seconds, "true": true}
    return row


def commit_here():
    """What git says of this folder; "unknown" without git, as in a copy that was carried to another machine."""
    folder = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def head(commit):
    return {"program": "python_cupy.py", "commit": commit, "date": datetime.date.today().isoformat(),
            "device": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), "version": ts.__version__,
            "cupy": cupy.__version__, "rtol": RTOL}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--commit", help="commit to name in the report (default: that of this folder)")
    parser.add_argument("--problems", default=PROBLEMS, help="of the gallery, such as laplace3d:100")
    arguments = parser.parse_args()
    report = dict(head(arguments.commit or commit_here()), rows=[])
    print(", ".join(f"{name} {report[name]}" for name in ("device", "commit", "date", "version", "cupy")))
    print(f"{'problem':>14} {'n':>9} {'iterations':>10} " + " ".join(f"{way:>10}" for way in WAYS) +
          "   seconds; times faster than CuPy")
    for problem in arguments.problems.split(","):
        row = measure(problem)
        report["rows"].append(row)
        times = [row[way]["seconds"] for way in WAYS]
        print(f"{problem:>14} {row['n']:>9} {row['iterations']:>10} " + " ".join(f"{t:10.3e}" for t in times) + "   " +
              " ".join(f"{times[0] / t:6.1f}" for t in times[1:]) + "   true " +
              " ".join(f"{row[way]['true']:.1e}" for way in WAYS), flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
