#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves systems whose exact solution is known, and compares the true error with what --accuracy says.

    tests/claims/accuracy.py build/release/tessera --count 2000 --seed 1

x is a vector of small integers, or of powers of two, and b = A x is exact: a system whose b would round is solved in
rational arithmetic by neither, so it is left out. Prints "N solves, N reached, N false" and a line per family; exits
with 1 if a claim is false, 3 if a solve ends by a signal or takes more than a minute. Needs NumPy and SciPy.
"""
import argparse
import collections
import fractions
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp

SOLVERS = ("auto", "cg", "minres", "bicgstab", "gmres", "idr")
PRECONDS = ("none", "jacobi", "lu", "cholesky", "amg", "ilu0")
WISHES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)


def path_graph(n):
    off = -np.ones(n - 1)
    diagonal = np.r_[1.0, 2.0 * np.ones(n - 2), 1.0]
    return sp.diags([off, diagonal, off], offsets=[-1, 0, 1]).tocsr()


def neumann(rng):
    n = int(rng.integers(4, 20))
    t = path_graph(n)
    eps = 2.0 ** -int(rng.integers(10, 45))
    return (sp.kron(t, sp.eye(n)) + sp.kron(sp.eye(n), t) + eps * sp.eye(n * n)).tocsr()


def chain(rng):
    n = int(rng.integers(4, 60))
    held = np.zeros(n)
    held[rng.integers(n)] = 2.0 ** -int(rng.integers(5, 46))
    return (path_graph(n) + sp.diags(held)).tocsr()


def two_by_two(rng):
    return sp.csr_matrix(np.array([[1.0, 1.0], [1.0, 1.0 + 2.0 ** -int(rng.integers(8, 50))]]))


def singular_in_fp32(rng):
    n = int(rng.integers(3, 12))
    a = rng.integers(-4, 5, (n, n)).astype(float)
    a[-1] = a[:-1].sum(axis=0)
    a[-1, rng.integers(n)] += 2.0 ** -int(rng.integers(25, 40))
    return sp.csr_matrix(a)


def graded(rng):
    n = int(rng.integers(5, 100))
    t = sp.diags([-np.ones(n - 1), 3.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    scale = sp.diags(2.0 ** rng.integers(-40, 41, n))
    return (scale @ t if rng.random() < 0.5 else t @ scale).tocsr()


def chosen_condition(rng):
    n = int(rng.integers(4, 12))
    lower, upper = (np.tril(rng.integers(-3, 4, (n, n)), -1) + np.eye(n) for _ in range(2))
    steps = 2.0 ** -np.round(np.linspace(0, rng.uniform(6, 40), n))
    return sp.csr_matrix(lower @ np.diag(steps) @ (lower if rng.random() < 0.5 else upper).T)


def saddle(rng):
    n, m = int(rng.integers(6, 30)), int(rng.integers(2, 5))
    b = sp.csr_matrix(rng.integers(-2, 3, (m, n)).astype(float))
    return sp.bmat([[path_graph(n) + sp.eye(n), b.T], [b, None]]).tocsr()


def upwind(rng):
    n = int(rng.integers(5, 100))
    low = 2.0 ** -int(rng.integers(0, 50))
    return sp.diags([-np.full(n - 1, 50.0), np.full(n, 60.0), -np.full(n - 1, low)], offsets=[-1, 0, 1]).tocsr()


def laplacian(rng):
    n = int(rng.integers(5, 40))
    t = sp.diags([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return (sp.kron(t, sp.eye(n)) + sp.kron(sp.eye(n), t)).tocsr()


FAMILIES = (neumann, chain, two_by_two, singular_in_fp32, graded, chosen_condition, saddle, upwind, laplacian)


def exact_rhs(a, x):
    """A x in doubles, or None if an entry of it rounds."""
    b = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        row = range(a.indptr[i], a.indptr[i + 1])
        total = sum(fractions.Fraction(a.data[k]) * fractions.Fraction(x[a.indices[k]]) for k in row)
        b[i] = float(total)
        if fractions.Fraction(b[i]) != total:
            return None
    return b


def make_system(rng):
    family = FAMILIES[rng.integers(len(FAMILIES))]
    while True:
        a = family(rng)
        a.eliminate_zeros()
        kind = rng.integers(3)
        n = a.shape[0]
        x = rng.integers(-9, 10, n).astype(float) if kind == 0 else np.arange(n) % 7 + 1.0 if kind == 1 else np.zeros(n)
        if not x.any():
            x[-1] = 1.0
        b = exact_rhs(a, x)
        if b is not None and b.any():
            return family.__name__, a, x, b


def solve(tool, folder, a, b, options):
    scipy.io.mmwrite(folder / "a.mtx", sp.coo_matrix(a), precision=17, symmetry="general")
    scipy.io.mmwrite(folder / "b.mtx", b.reshape(-1, 1), precision=17)
    for name in ("x.npy", "r.json"):
        (folder / name).unlink(missing_ok=True)
    run = subprocess.run([tool, "solve", "a.mtx", "--rhs", "b.mtx", "--device", "cpu", "--choices", "none", "--output",
                          "x.npy", "--json", "r.json", *options], cwd=folder, capture_output=True, timeout=60)
    report = folder / "r.json"
    x = folder / "x.npy"
    found = json.loads(report.read_text()) if report.exists() and report.stat().st_size else {}
    return run.returncode, found, np.load(x).ravel() if x.exists() else None


def main():
    parser = argparse.ArgumentParser(description="Compares what --accuracy says with the true error.")
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tool = str(pathlib.Path(arguments.tool).resolve())
    rng = np.random.default_rng(arguments.seed)
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    broken = 0
    with tempfile.TemporaryDirectory() as name:
        for _ in range(arguments.count):
            family, a, exact, b = make_system(rng)
            wish = WISHES[rng.integers(len(WISHES))]
            options = ["--solver", SOLVERS[rng.integers(len(SOLVERS))], "--accuracy", str(wish)]
            if options[1] != "auto":
                options += ["--precond", PRECONDS[rng.integers(len(PRECONDS))]]
            try:
                code, found, x = solve(tool, pathlib.Path(name), a, b, options)
            except subprocess.TimeoutExpired:
                code, found, x = -1, {}, None
            broken += code < 0
            count = counts[family]
            count[0] += 1
            reached = bool((found.get("accuracy") or {}).get("reached")) or code == 0
            error = np.inf if x is None else np.linalg.norm(x - exact) / max(np.linalg.norm(x), 1e-300)
            count[1] += reached
            count[2] += error <= wish
            if reached and not error <= wish:
                count[3] += 1
                print(f"false: {family} of {a.shape[0]} rows, {' '.join(options)}: the error is {error:.1e}, told was "
                      f"{found.get('accuracy')}")
    for family, (solves, reached, right, false) in sorted(counts.items()):
        print(f"{family:18} {solves} solves, {reached} reached of {right} right ones, {false} false")
    totals = [sum(c[k] for c in counts.values()) for k in range(4)]
    print(f"{totals[0]} solves, {totals[1]} reached, {totals[3]} false ({totals[2]} right)")
    return 1 if totals[3] else 3 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
