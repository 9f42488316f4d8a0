#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CG and GMRES of CuPy on the matrices of bench_solve, as records that bench/report.py reads.

    others.py --json others.json                                   on laplace2d:64 to laplace3d:150
    others.py --contestant cupy-cg --matrix gallery:laplace3d:150  one method, one matrix

bench/contest/contest.py has more libraries, each at its recommended settings.

b = A * ones, x0 = 0, to --rtol of ||b||; a residual that is computed here in FP64 from the solver's x decides
`verified`. A time is a wall clock's until x is there, the median of --repeat after one that does not count. Nothing of
CuPy is part of this repository.
"""
import argparse
import datetime
import fnmatch
import json
import pathlib
import subprocess
import sys
import time

try:
    import numpy as np
    import scipy.io
    from scipy import sparse
except ImportError as missing:
    sys.exit(f"others.py: needs NumPy and SciPy ({missing}): pip install scipy")

MATRICES = ("gallery:laplace2d:64", "gallery:laplace2d:256", "gallery:laplace3d:100", "gallery:laplace3d:150")


# ---- matrices: square, CSR in FP64 with indices of 32 bits ----

def laplacian(edge, dimensions):
    """The stencil of 2 d on the diagonal and -1 beside it, as the gallery has it."""
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(edge, edge))
    matrix = line
    for _ in range(dimensions - 1):
        matrix = sparse.kronsum(matrix, line)
    return matrix


def load_matrix(source):
    """Its name and the matrix."""
    words = source.split(":")
    if words[0] != "gallery":
        name, matrix = pathlib.Path(source).name.split(".mtx")[0], scipy.io.mmread(source)
    elif words[1] in ("laplace2d", "laplace3d"):
        name, matrix = "-".join(words[1:]), laplacian(int(words[2]), int(words[1][7]))
    else:
        raise SystemExit(f"{source}: of the gallery only laplace2d:N and laplace3d:N are here")
    if not sparse.issparse(matrix) or matrix.shape[0] != matrix.shape[1] or np.iscomplexobj(matrix):
        raise SystemExit(f"{source}: not a square real matrix of coordinates")
    matrix = sparse.csr_matrix(matrix, dtype=np.float64)
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    return name, matrix


# ---- CuPy ----

class Cupy:
    """cupyx.scipy.sparse.linalg: the matrix is on the device; the time ends when x is there."""

    def __init__(self, matrix, b, method):
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg as linalg
        self.cupy, self.method, self.solve_by = cupy, method, getattr(linalg, method)
        self.version = "CuPy " + cupy.__version__
        self.a = cupyx.scipy.sparse.csr_matrix(matrix)
        self.b = cupy.asarray(b)
        self.iterations = 0

    def count(self, _):
        self.iterations += 1

    def solve(self, rtol, most, counting):
        """Counting iterations calls back to Python at each: no time is taken of it."""
        options = {"maxiter": most, "atol": 0.0}
        code = self.solve_by.__code__
        options["rtol" if "rtol" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] else "tol"] = rtol
        if self.method == "gmres":
            options["restart"] = 50
        self.iterations = 0
        x, info = self.solve_by(self.a, self.b, callback=self.count if counting else None, **options)
        self.cupy.cuda.Device().synchronize()
        return x, info == 0

    def on_host(self, x):
        return self.cupy.asnumpy(x)


# ---- records ----

def contestants(options):
    """{name: how to make it of a matrix and b}; those whose library is there."""
    found = {}
    try:
        import cupy
        cupy.cuda.Device().synchronize()
        found.update({f"cupy-{method}": lambda a, b, method=method: Cupy(a, b, method) for method in ("cg", "gmres")})
    except Exception as error:  # no module, or no device: either way it is not there
        print(f"cupy: not there ({error})")
    return {name: make for name, make in found.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.contestant.split(","))}


def measure(solver, matrix, b, options):
    """What a record has of one contestant."""
    samples, x, claimed = [], None, False
    for k in range(-1, options.repeat):  # -1: warm-up
        start = time.perf_counter()
        x, claimed = solver.solve(options.rtol, options.most, False)
        samples += [time.perf_counter() - start] if k >= 0 else []
    residual = b - matrix @ solver.on_host(x)
    relative = float(np.linalg.norm(residual) / np.linalg.norm(b))
    if isinstance(solver, Cupy):
        solver.solve(options.rtol, options.most, True)
    return {"of": "solve", "seconds": {"min": min(samples), "median": float(np.median(samples)), "max": max(samples)},
            "samples": len(samples), "calls_per_sample": 1, "iterations": solver.iterations, "claimed": bool(claimed),
            "verified": bool(claimed and relative <= options.rtol), "true_relative_residual": relative,
            "solved": bool(claimed), "reason": "rtol" if claimed else "iterations"}


def record_of(name, make, source, matrix, device, options):
    label, a = matrix
    n, b = a.shape[0], a @ np.ones(a.shape[0])
    record = dict.fromkeys(("part", "bytes", "gbs", "share_of_ceiling", "setup_seconds", "refused", "seconds",
                            "samples", "calls_per_sample", "iterations", "true_relative_residual"))
    record.update({"study": "krylov", "set": "others", "matrix": label, "nrows": n, "ncols": n, "nnz": a.nnz,
                   "contestant": name, "ours": False, "device": device, "precision": "fp64", "of": "solve",
                   "in_cache": False, "solver": "gmres" if name.endswith("gmres") else "cg", "source": source,
                   "rtol": options.rtol})
    try:
        solver = make(a, b)
        record.update(library_version=solver.version, **measure(solver, a, b, options))
        print(f"{label:<20} {name:<14} {1e3 * record['seconds']['median']:10.3f} ms {record['iterations']:6d} it, "
              f"residual {record['true_relative_residual']:.2e} {'verified' if record['verified'] else 'NOT verified'}")
    except Exception as error:  # another library's failure is a record, not the end of the run
        record["refused"] = f"{type(error).__name__}: {error}"
        print(f"{label:<20} {name:<14} not run: {record['refused']}")
    return record


def report_of(records, device):
    folder = pathlib.Path(__file__).resolve().parent
    commit = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=False).stdout.strip() or "unknown"
    versions = dict.fromkeys(record["library_version"] for record in records if "library_version" in record)
    return {"program": "others.py", "study": "krylov", "version": ", ".join(versions) or "unknown", "commit": commit,
            "device": device, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "quick": False, "failures": 0, "skipped": [], "results": records}


def device_name():
    try:
        import cupy
        return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception:  # without CuPy nobody asks
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrix", action="append", help="FILE.mtx[.gz], gallery:laplace2d:N or gallery:laplace3d:N")
    parser.add_argument("--contestant", default="*", help="names and patterns with commas: cupy-cg, cupy-gmres")
    parser.add_argument("--rtol", type=float, default=1e-10)
    parser.add_argument("--max-iterations", dest="most", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", help="write the records to this file")
    options = parser.parse_args()
    chosen = contestants(options)
    if not chosen:
        raise SystemExit("others.py: no contestant to run: CuPy or its device is missing, or --contestant has none")
    device, records = device_name(), []
    for source in options.matrix or MATRICES:
        matrix = load_matrix(source)
        records += [record_of(name, make, source, matrix, device, options) for name, make in chosen.items()]
    if options.json:
        report = report_of(records, device)
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
