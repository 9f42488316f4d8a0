# SPDX-License-Identifier: Apache-2.0
"""
spsolve and splu against SciPy's, on Newton's first Jacobian of pandapower's power flows and on smoothing filters:
python bench/python_direct.py [NETWORK...]. Needs SciPy, and pandapower for the networks. Times are the least of REPEATS
calls in turns; `residual` is ||b - A x|| / ||b|| of ours, and of SciPy's.
"""
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as theirs

import tessera_sparse as ts

REPEATS, COLUMNS = 15, 50
NETWORKS = ["case1888rte", "case2848rte", "case2869pegase", "case3120sp", "case6470rte", "case6495rte", "case6515rte",
            "case9241pegase"]


def jacobian(name):
    import pandapower
    import pandapower.networks
    import pandapower.pypower.newtonpf as newton
    taken, solve = [], newton.spsolve
    newton.spsolve = lambda A, b, *rest, **options: taken.append((sp.csr_array(A), np.array(b))) or solve(A, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pandapower.runpp(getattr(pandapower.networks, name)(), init="dc", numba=False)
    newton.spsolve = solve
    return taken[0]


def smoothing(n, penalty):
    second = sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(n - 2, n))
    return (sp.csr_array(sp.eye_array(n) + penalty * (second.T @ second)),
            np.cumsum(np.random.default_rng(0).standard_normal(n)))


def least(calls):
    """The least time of each call in milliseconds, in turns; and what they returned."""
    times, results = [np.inf] * len(calls), [None] * len(calls)
    for _ in range(REPEATS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            results[k] = call()
            times[k] = min(times[k], 1e3 * (time.perf_counter() - start))
    return times, results


def main():
    problems = [(name, jacobian(name)) for name in sys.argv[1:] or NETWORKS]
    problems += [(f"filter {penalty:g}", smoothing(200000, penalty)) for penalty in (1600.0, 1e8)]
    print("problem          unknowns  spsolve: SciPy   ours ratio   residuals        apply: SciPy  ours ratio   "
          f"{COLUMNS} columns: SciPy  ours ratio")
    for name, (A, b) in problems:
        C, B = sp.csc_array(A), np.random.default_rng(1).standard_normal((b.size, COLUMNS))
        (scipy_solve, our_solve), x = least([lambda: theirs.spsolve(C, b), lambda: ts.spsolve(A, b)])
        residuals = [np.linalg.norm(b - A @ each) / np.linalg.norm(b) for each in x[::-1]]
        factors = theirs.splu(C), ts.splu(A)
        (scipy_apply, our_apply), _ = least([lambda: factors[0].solve(b), lambda: factors[1].solve(b)])
        (scipy_many, our_many), _ = least([lambda: factors[0].solve(B), lambda: factors[1].solve(B)])
        print(f"{name:16} {b.size:8}   {scipy_solve:9.2f} {our_solve:9.2f} {our_solve / scipy_solve:4.2f}   "
              f"{residuals[0]:.1e} {residuals[1]:.1e}   {scipy_apply:8.2f} {our_apply:8.2f} "
              f"{our_apply / scipy_apply:4.2f}   {scipy_many:9.1f} {our_many:9.1f} {our_many / scipy_many:4.2f}",
              flush=True)


if __name__ == "__main__":
    main()
