# SPDX-License-Identifier: Apache-2.0
"""
spsolve, splu and the automatic solver against SciPy's: python bench/python_direct.py [networks|columns|steps|complex].
networks: Newton's first Jacobian of pandapower's power flows (which must be installed), and smoothing filters; columns:
three matrices with 22,500 rows; steps: 400 right-hand sides one after another, each the last x, and others; complex:
2-D Helmholtz and Hermitian matrices with 199,809 rows. Times are the least of several calls in turns; `residual` is
||b - A x|| / ||b|| of ours, and of SciPy's. OPENBLAS_NUM_THREADS=1 gives SciPy its best times on small blocks.
"""
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as theirs

import tessera_sparse as ts

REPEATS, COLUMNS, STEPS = 15, 50, 400
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


def least(calls, repeats=REPEATS):
    """The least time of each call in milliseconds, in turns; and what they returned."""
    times, results = [np.inf] * len(calls), [None] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            results[k] = call()
            times[k] = min(times[k], 1e3 * (time.perf_counter() - start))
    return times, results


def networks():
    problems = [(name, jacobian(name)) for name in NETWORKS]
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


def grid(points, wind=0.0):
    """-Laplace u + a first derivative on a square."""
    line = sp.diags_array([-1.0 - wind, 2.0, -1.0 + wind], offsets=[-1, 0, 1], shape=(points, points))
    return sp.csr_array(sp.kron(line, sp.eye_array(points)) + sp.kron(sp.eye_array(points), line))


def walk(points):
    """I - 0.99 P of a random walk on a square."""
    steps = sp.diags_array(grid(points).diagonal()) - grid(points)
    return sp.csr_array(sp.eye_array(points**2) - 0.99 * sp.diags_array(1.0 / steps.sum(axis=1)) @ steps)


def option_prices(n):
    """A step of Black and Scholes' equation."""
    i = np.arange(1.0, n + 1.0)
    a, r = 5e-4 * i * i, 0.02 * i
    return sp.csr_array(sp.diags_array([(r - a)[1:], 1.01 + 2.0 * a, -(a + r)[:-1]], offsets=[-1, 0, 1], shape=(n, n)))


def columns():
    print(f"problem        {COLUMNS} columns: SciPy   ours ratio   spsolve: SciPy   ours ratio")
    for name, A in (("laplace", grid(150)), ("convection", grid(150, 0.3)), ("random walk", walk(150))):
        C, B = sp.csc_array(A), np.random.default_rng(1).standard_normal((A.shape[0], COLUMNS))
        factors = theirs.splu(C), ts.splu(A)
        (a, b), _ = least([lambda: factors[0].solve(B), lambda: factors[1].solve(B)])
        (c, d), _ = least([lambda: theirs.spsolve(C, B), lambda: ts.spsolve(A, B)])
        print(f"{name:14} {a:18.1f} {b:6.1f} {b / a:5.2f} {c:16.1f} {d:6.1f} {d / c:5.2f}", flush=True)


def microseconds(solve, b, each):
    """The mean of a call; each: other right-hand sides, or None for time steps."""
    start, x = time.perf_counter(), b
    for k in range(STEPS):
        x = solve(x if each is None else each[k % len(each)])
    return 1e6 * (time.perf_counter() - start) / STEPS


def steps():
    problems = [(f"heat {points**2}", sp.csr_array(sp.eye_array(points**2) + 0.5 * grid(points)))
                for points in (50, 100, 150)]
    problems += [("convection 22500", sp.csr_array(sp.eye_array(22500) + 0.5 * grid(150, 0.3)))]
    problems += [(f"prices {n}", option_prices(n)) for n in (2000, 20000)]
    problems += [(f"random walk {points**2}", 100.0 * walk(points)) for points in (50, 100)]  # of which x stays
    print(f"microseconds of each of {STEPS} solves: steps, by SciPy's splu, ours, and Solver(precond=lu); right-hand"
          "\nsides, by SciPy's splu and by Solver() with its default method, set-up included in both")
    for name, A in problems:
        C, rng, best = sp.csc_array(A), np.random.default_rng(0), np.full(5, np.inf)
        each, factors = rng.standard_normal((40, A.shape[0])), (theirs.splu(C), ts.splu(A))
        kept = ts.Solver(A, rtol=1e-10, precond="lu")
        for _ in range(3):
            by_scipy, by_us = [], []
            fresh = lambda v: (by_scipy or by_scipy.append(theirs.splu(C)) or by_scipy)[0].solve(v)
            chosen = lambda v: (by_us or by_us.append(ts.Solver(A, rtol=1e-10)) or by_us)[0].solve(v).x
            now = [microseconds(solve, each[0], None) for solve in (factors[0].solve, factors[1].solve,
                                                                    lambda v: kept.solve(v).x)]
            best = np.minimum(best, now + [microseconds(solve, each[0], each) for solve in (fresh, chosen)])
        print(f"{name:18} {best[0]:7.0f} {best[1]:7.0f} ({best[1] / best[0]:.2f}) {best[2]:7.0f} "
              f"({best[2] / best[0]:.2f})   {best[3]:7.0f} {best[4]:7.0f} ({best[4] / best[3]:.2f})", flush=True)


def complex_matrices():
    points = 447
    shift = sp.diags_array(np.full(points**2, (60.0 / (points + 1))**2 * (1.0 + 0.2j)))
    skew = sp.triu(grid(points), 1) - sp.tril(grid(points), -1)
    problems = (("Helmholtz", grid(points) - shift), ("with convection", grid(points, 0.01) - shift),
                ("Hermitian", grid(points) + 0.5 * sp.eye_array(points**2) + 0.3j * skew))
    print("factors and one application, ms: SciPy, ours, ratio; residuals of ours and SciPy's")
    for name, A in problems:
        A, C, b = sp.csr_array(A), sp.csc_array(A), np.random.default_rng(0).standard_normal(points**2) + 0j
        (a, c), x = least([lambda: theirs.splu(C).solve(b), lambda: ts.splu(A).solve(b)], 4)
        residuals = [np.linalg.norm(b - A @ each) / np.linalg.norm(b) for each in x[::-1]]
        print(f"{name:16} {a:8.0f} {c:8.0f} {c / a:5.2f}   {residuals[0]:.1e} {residuals[1]:.1e}", flush=True)


def main():
    parts = {"networks": networks, "columns": columns, "steps": steps, "complex": complex_matrices}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
