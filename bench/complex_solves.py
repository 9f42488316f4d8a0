# SPDX-License-Identifier: Apache-2.0
"""
Complex systems from nothing to a verified answer: the solve without options against SciPy's splu.
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python bench/complex_solves.py [MATRIX...]
MATRIX: a Matrix Market file, or NAME:N of the gallery; without one, Helmholtz on a square and eddy currents in a cube.
b = A 1. SciPy: splu, one solve and the norm of b - A x. Ours: ts.solve(A, b), which verifies its x, at the default
tolerance and at 1e-10. Seconds of the processor, which other work on the machine hardly changes: the least of some
calls in turns, each with its set-up. A system that splu calls singular has no ratio.
"""
import os
import sys
import time

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as theirs

import tessera_sparse as ts

TIGHT, SMALL = 1e-10, 20000
MODELS = ["helmholtz2d:447", "eddy3d:46"]


def load(name):
    if os.path.exists(name):
        return sp.csr_array(scipy.io.mmread(name))
    kind, *sizes = name.split(":")
    return ts.Matrix.gallery(kind, *(int(size) for size in sizes)).to_scipy()


def by_splu(C, b):
    x = theirs.splu(C).solve(b)
    return x, np.linalg.norm(b - C @ x) / np.linalg.norm(b), "splu"


def by_default(A, b, **options):
    result = ts.solve(A, b, **options)
    reached = result.relative_residual if result.verified else np.inf
    return result.x, reached, f"{result.solver}, {result.precond['kind']}"


def main(names):
    print(f"tessera {ts.__version__}, SciPy {scipy.__version__}, NumPy {np.__version__}, "
          f"OMP_NUM_THREADS {os.environ.get('OMP_NUM_THREADS', '-')}")
    print("matrix               unknowns   nonzeros  splu, s residual   default, s residual  over splu"
          "   1e-10, s residual  over splu  solved by (default; 1e-10)")
    ratios = [[], []]
    for name in names or MODELS:
        A = load(name)
        C, b = sp.csc_array(A), A @ np.ones(A.shape[1])
        calls = [lambda: by_splu(C, b), lambda: by_default(A, b), lambda: by_default(A, b, rtol=TIGHT)]
        best, results = [np.inf] * 3, [None] * 3
        for _ in range(7 if b.size < SMALL else 2):
            for k, call in enumerate(calls):
                start = time.process_time()
                try:
                    results[k] = call()
                    best[k] = min(best[k], time.process_time() - start)
                except RuntimeError as error:  # splu of a singular matrix
                    results[k] = None, np.inf, str(error)
        line = f"{os.path.basename(name):20} {b.size:8} {A.nnz:10}  {best[0]:7.3f} {results[0][1]:8.1e}"
        for k in (1, 2):
            ratio = best[k] / best[0] if np.isfinite(best[0]) and np.isfinite(results[k][1]) else np.nan
            if np.isfinite(ratio):
                ratios[k - 1].append(ratio)
            line += f"     {best[k]:7.3f} {results[k][1]:8.1e}  {ratio:8.2f}"
        print(f"{line}  {results[1][2]}; {results[2][2]}", flush=True)
    means = [np.exp(np.mean(np.log(each))) for each in ratios]
    print(f"geometric means over splu: {means[0]:.2f} at the default tolerance, {means[1]:.2f} at 1e-10")


main(sys.argv[1:])
