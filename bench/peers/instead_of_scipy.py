# SPDX-License-Identifier: Apache-2.0
"""
Tessera's solvers in place of SciPy's of the same names, and in place of four of PyAMG's, so that suites and examples of
other packages run on them: `pytest -p instead_of_scipy`, or an import before the package. It counts the calls and their
warnings, and prints both at the end. Warnings go no further: suites such as scikit-image's fail at any that they do not
know. SUITES_WITH=scipy replaces nothing.
"""
import atexit
import collections
import functools
import os
import sys
import warnings

import scipy.sparse.linalg

NAMES = ("bicg", "bicgstab", "cg", "cgs", "factorized", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "spilu", "splu",
         "spsolve", "spsolve_triangular", "tfqmr")
OF_PYAMG = ("bicgstab", "cg", "fgmres", "gmres")
calls: collections.Counter = collections.Counter()


def counted(name, function):
    @functools.wraps(function)
    def call(*arguments, **keywords):
        calls[name] += 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return function(*arguments, **keywords)
            finally:
                calls["warnings of " + name] += len(caught)
    return call


def as_pyamgs(name, function):
    """PyAMG's signature. All of its criteria stop at rtol = tol here; `residuals` gets the norms of the iterations."""
    def solve(A, b, x0=None, tol=1e-5, criteria="rr", maxiter=None, M=None, callback=None, residuals=None, **others):
        import numpy as np
        calls["pyamg." + name] += 1
        options = {key: others[key] for key in ("restart",) if key in others}
        x0 = None if x0 is None else np.ravel(x0)
        x, info = function(A, np.ravel(b), x0, rtol=tol, atol=0.0, maxiter=maxiter, M=M, callback=callback, **options)
        if residuals is not None:
            start = np.ravel(b) if x0 is None else np.ravel(b) - A @ x0
            residuals[:] = [np.linalg.norm(start), np.linalg.norm(np.ravel(b) - A @ x)]
        return x, info
    solve.__name__ = name
    return solve


def replace():
    import tessera_sparse as ts
    for name in NAMES:
        setattr(scipy.sparse.linalg, name, counted(name, getattr(ts, name)))
    try:
        import pyamg.krylov
    except ImportError:
        return
    for name in OF_PYAMG:
        setattr(pyamg.krylov, name, as_pyamgs(name, getattr(ts, name)))


def report():
    text = ", ".join(f"{name} {count}" for name, count in sorted(calls.items()) if count) or "none"
    print(f"calls of Tessera: {text}", file=sys.stderr)


if os.environ.get("SUITES_WITH", "tessera") != "scipy":
    replace()
    atexit.register(report)
