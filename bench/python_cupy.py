#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
CG on arrays of a GPU against CuPy's: python3 bench/python_cupy.py [--json FILE] [--edges 16,40,100,150].

Whole solves of Laplacians on a cube to 1e-10, warm, b and x on the GPU: `tessera_sparse.cg` with its set-up, a `Solver`
that is set up, the same with multigrid, and `cupyx.scipy.sparse.linalg.cg`. Each is the least of some repeats. A column
`true` has the residual of each x, computed by CuPy.
"""
import argparse
import inspect
import json
import time

import cupy
import cupyx.scipy.sparse as cusparse
import cupyx.scipy.sparse.linalg as theirs

import tessera_sparse as ts

RTOL = 1e-10
# CuPy 14 has rtol, as SciPy does; earlier versions have tol.
TOLERANCE = "rtol" if "rtol" in inspect.signature(theirs.cg).parameters else "tol"


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


def measure(edge):
    A = cusparse.csr_matrix(ts.Matrix.gallery("laplace3d", edge, context=ts.Context(device="cpu")).to_scipy())
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
    row = {"edge": edge, "n": A.shape[0]}
    for name, way in ways.items():
        seconds, x = least_time(way)
        true = float(cupy.linalg.norm(b - A @ x) / cupy.linalg.norm(b))
        row[name] = {"seconds": seconds, "true": true}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--edges", default="16,40,100,150")
    arguments = parser.parse_args()
    rows = []
    print(f"{'n':>9} {'cupy':>12} {'cg':>12} {'solver':>12} {'multigrid':>12}   seconds; times faster than CuPy")
    for edge in (int(word) for word in arguments.edges.split(",")):
        row = measure(edge)
        rows.append(row)
        times = [row[name]["seconds"] for name in ("cupy", "cg", "solver", "multigrid")]
        print(f"{row['n']:>9} " + " ".join(f"{t:12.3e}" for t in times) + "   " +
              " ".join(f"{times[0] / t:8.1f}" for t in times[1:]) + "   true " +
              " ".join(f"{row[name]['true']:.1e}" for name in ("cupy", "cg", "solver", "multigrid")), flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"device": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), "version": ts.__version__,
                       "rtol": RTOL, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
