#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random calls of the Python package, each claim judged in exact arithmetic by the x that was handed out.

    build/python/bin/python tests/claims/python.py                 3,000 calls, a few minutes
    build/python/bin/python tests/claims/python.py --seed 7 --only 123

The matrix and b are those of the caller, in the caller's types: containers of SciPy and NumPy, float16 to longdouble,
integers. Exit 1 if a claim is false, or a call hangs or ends the process. README.md says what is counted.
"""
import argparse
import collections
import fractions
import math
import random
import subprocess
import sys
import warnings

import exact
import systems

LONGEST = 60.0  # seconds of one call
FAULTS = ("false", "dtype", "hang", "signal")
CONTAINERS = ("csr_array", "csc_array", "coo_array", "bsr_array", "dia_array", "csr_matrix", "csc_matrix", "coo_matrix",
              "lil_array", "dense", "fortran", "duplicates", "Matrix")
DTYPES = ("float16", "float32", "float32", "float64", "float64", "float64", "int32", "int64", "longdouble")
FUNCTIONS = ("solve", "solve", "spsolve", "spsolve", "cg", "minres", "bicgstab", "gmres", "idrs", "lsqr", "lsmr",
             "Solver", "Solver")
SQUARE = ("cg", "minres", "bicgstab", "gmres", "idrs")


def number(value):
    """A NumPy number as one that has an exact fraction; longdouble stays, for Python's floats are narrower."""
    return value if type(value).__name__ in ("longdouble", "float128") else value.item()


def root(square, up):
    """The root of a fraction to 200 bits, rounded up or down."""
    scaled = square * fractions.Fraction(4)**400
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    return fractions.Fraction(whole + (1 if up else 0)) / fractions.Fraction(2)**400


class Call:
    """Call k of a seed."""

    def __init__(self, seed, k):
        import numpy as np
        generator = random.Random(f"{seed}/{k}")
        self.function = generator.choice(FUNCTIONS)
        self.container = generator.choice(CONTAINERS)
        self.dtypes = generator.choice(DTYPES), generator.choice(DTYPES)
        self.rtol = generator.choice((1e-2, 1e-5, 1e-5, 1e-8, 1e-10, 1e-12, 1e-15))
        self.atol = generator.choice((0.0, 0.0, 0.0, 1e-6))
        self.limit = generator.choice((0, 1, 3, 50, 500, 500))
        self.guess = generator.random() < 0.15
        system = systems.make(generator)
        n, count = system.size, generator.choice((1, 1, 1, 2, 4, 9))
        with np.errstate(all="ignore"):
            dense = np.zeros((n, n))
            for i, row in enumerate(system.rows):
                for j, value in row.items():
                    dense[i, j] = value
            whole = [self.cast(np, dense, self.dtypes[0])]
            columns = np.array([systems.right_hand_side(generator, system) for _ in range(count)]).T
            whole.append(self.cast(np, columns, self.dtypes[1]))
        self.kind, (self.dense, b) = system.kind, whole
        self.b = b[:, 0].copy() if count == 1 and generator.random() < 0.8 else b
        self.order = generator.random()

    @staticmethod
    def cast(np, values, dtype):
        if dtype.startswith("int"):
            return np.clip(np.round(values), -2**30, 2**30).astype(dtype)
        return values.astype(dtype)

    @property
    def text(self):
        return (f"{self.function}({self.container} {self.dtypes[0]}, b {self.dtypes[1]} {self.b.shape}), rtol "
                f"{self.rtol:g}, atol {self.atol:g}, limit {self.limit}{', x0' if self.guess else ''}, {self.kind}, "
                f"{len(self.dense)} rows")

    def usable(self, np):
        return np.isfinite(self.dense).all() and np.isfinite(self.b).all()

    def matrix(self, ts, np, sparse):
        if self.container == "dense":
            return self.dense
        if self.container == "fortran":
            return np.asfortranarray(self.dense)
        if self.container == "Matrix":
            return ts.Matrix(sparse.csr_array(self.dense.astype(np.float64)))
        if self.container == "duplicates" and self.dense.dtype.kind == "f":
            i, j = np.nonzero(self.dense)
            half = self.dense[i, j] / 2
            halves = np.concatenate((half, self.dense[i, j] - half))
            return sparse.coo_array((halves, (np.tile(i, 2), np.tile(j, 2))), shape=self.dense.shape)
        return getattr(sparse, "coo_array" if self.container == "duplicates" else self.container)(self.dense)

    def answer(self, ts, A):
        """(x, whether it is called solved, the row-scaled residual over its tolerance that this allows, or None)."""
        options = {"rtol": self.rtol, "atol": self.atol}
        x0 = {"x0": self.b.astype("float64") * 0 + 0.5} if self.guess else {}
        if self.function in SQUARE:
            x, info = getattr(ts, self.function)(A, self.b, maxiter=self.limit, **options, **x0)
            return x, info == 0, None
        if self.function in ("lsqr", "lsmr"):
            tolerances = {"atol": self.rtol, "btol": self.rtol}
            limit = {"iter_lim" if self.function == "lsqr" else "maxiter": self.limit}
            x, stop = getattr(ts, self.function)(A, self.b.ravel() if self.b.size == len(self.dense) else self.b[:, 0],
                                                 **tolerances, **limit)[:2]
            return x, stop, None
        if self.function == "spsolve":
            return ts.spsolve(A, self.b, rtol=self.rtol), True, 1
        options["max_iterations"] = self.limit
        method = "auto"
        if self.function == "solve":
            result = ts.solve(A, self.b, **options, **x0)
        else:
            method = ("auto", "cg", "gmres", "bicgstab", "idr")[int(self.order * 5)]
            result = ts.Solver(A, solver=method, **options).solve(self.b, **x0)
        slack = 1 if method == "auto" else 100 if result.verified else None
        return result.x, bool(result.converged), slack

    def judge(self):
        """(outcome, text)."""
        import numpy as np
        import scipy.sparse as sparse
        import tessera_sparse as ts
        if not self.usable(np):
            return "not representable", ""
        if self.container == "Matrix" and self.dense.dtype == np.longdouble:
            self.dense = self.dense.astype(np.float64)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                x, claim, slack = self.answer(ts, self.matrix(ts, np, sparse))
            except ts.ConvergenceError:
                return "not converged", ""
            except (ts.TesseraError, ValueError, TypeError) as error:
                return "refused", f"{type(error).__name__}: {error}"
        return self.judge_answer(np, x, claim, slack)

    def judge_answer(self, np, x, claim, slack):
        rows = [{j: number(value) for j, value in enumerate(row) if value} for row in self.dense]
        b, x = np.asarray(self.b), np.asarray(x)
        if self.function in ("lsqr", "lsmr"):
            b = b.reshape(len(b), -1)[:, 0]
            return self.judge_least_squares(rows, [number(v) for v in b], [number(v) for v in x], claim)
        if x.shape != b.shape:
            return "dtype", f"x has the shape {x.shape}, b has {b.shape}"
        if not claim:
            return "not converged", ""
        atol = 0.0 if self.function == "spsolve" else self.atol
        worst = None
        for bk, xk in zip(b.reshape(len(b), -1).T, x.reshape(len(x), -1).T):
            bk, xk = [number(v) for v in bk], [number(v) for v in xk]
            given, scaled = exact.exact_residual(rows, bk, xk), exact.exact_row_scaled_residual(rows, bk, xk)
            if not exact.within(given, self.rtol, atol):
                worst = f"relative residual {exact.ratio(given):.3g}"
            elif slack and not exact.rows_within(scaled, given, slack * self.rtol, slack * atol):
                worst = f"row-scaled residual {exact.ratio(scaled):.3g}"
        return ("right", "") if worst is None else ("false", f"{worst}, x is {x.dtype}")

    def judge_least_squares(self, rows, b, x, stop):
        """SciPy's tests 1 (of the residual) and 2 (of the normal equations); 0: x = 0 solves the problem."""
        squares, normal = exact.exact_residual(rows, b, x), exact.exact_least_squares(rows, b, x)
        if stop not in (0, 1, 2):
            return "not converged", ""
        if squares is None:
            return "false", f"stop {stop}, x is not finite"
        norm_a = root(sum(exact.fraction(v)**2 for row in rows for v in row.values()), True)
        norm_x = root(sum(exact.fraction(v)**2 for v in x), True)
        small = exact.fraction(self.rtol) * (norm_a * norm_x + root(squares.rhs, True))
        if squares.residual <= small**2 or stop != 1 and exact.within(normal, self.rtol):
            return "right", ""
        return "false", f"stop {stop}, residual {exact.ratio(squares):.3g}, normal residual {exact.ratio(normal):.3g}"


def work(seed, first, last):
    """In a process of its own: a line before and after each call."""
    for k in range(first, last):
        print(f"start {k}", flush=True)
        call = Call(seed, k)
        try:
            outcome, text = call.judge()
        except Exception as error: # an error that is not of the documented kinds
            outcome, text = "dtype", f"{type(error).__name__}: {error}"
        print(f"end {k}\t{outcome}\t{call.text}: {text}".replace("\n", " "), flush=True)


def outcomes(seed, runs):
    """(k, outcome, text) of all calls, 100 in one process; a process that hangs or dies costs one call."""
    k = 0
    while k < runs:
        last = min(runs, k + 100)
        command = [sys.executable, __file__, "--seed", str(seed), "--work", str(k), str(last)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST + 2 * (last - k))
            output, ended = done.stdout, "signal"
        except subprocess.TimeoutExpired as late:
            output, ended = (late.stdout or b"").decode(), "hang"
        for line in output.splitlines():
            if line.startswith("end "):
                name, outcome, text = line.split("\t", 2)
                yield int(name[4:]), outcome, text
                k = int(name[4:]) + 1
        if k < last:
            yield k, ended, Call(seed, k).text
            k += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="K", help="call K alone, in this process")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work or arguments.only is not None:
        work(arguments.seed, *(arguments.work or (arguments.only, arguments.only + 1)))
        return 0
    counts = collections.Counter()
    for k, outcome, text in outcomes(arguments.seed, arguments.runs):
        counts[outcome] += 1
        if outcome in FAULTS:
            print(f"{outcome}: --seed {arguments.seed} --only {k}: {text}", flush=True)
    print(f"python: {arguments.runs} calls, {counts['right']} claims right, " +
          ", ".join(f"{counts[name]} {name}" for name in (*FAULTS, "not converged", "refused", "not representable")))
    return 1 if any(counts[name] for name in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
