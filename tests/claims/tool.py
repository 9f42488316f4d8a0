#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random solves by the tool, each claim judged in exact arithmetic.

    tests/claims/tool.py build/release/tessera                       2,000 solves, a few minutes
    tests/claims/tool.py build/release/tessera --runs 10000 --seed 7
    tests/claims/tool.py build/release/tessera --seed 7 --only 123   one of them, with its files in claim-123/

Run k of seed S is the same everywhere. Exit 1 if a claim is false, or a run hangs, ends by a signal, or reports what
does not fit together. README.md says what is counted.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

import exact
import systems

LONGEST = 60.0  # seconds of one solve
BREAKDOWNS = {-5, -8, -9, -10, -11, -103}
FAULTS = ("false", "bound", "invalid", "hang", "signal")

SOLVERS = ("auto", "auto", "auto", "cg", "bicgstab", "gmres", "gmres-ir", "gmres-fd", "minres", "fgmres", "idr",
           "idr:2", "lsqr", "lsmr", "jacobi")
PRECONDS = ("none", "none", "jacobi", "block-jacobi:3", "polynomial:4", "ilu0", "ic0", "ilut", "ict", "iluk:2", "lu",
            "lu", "cholesky", "jacobi-sweeps", "amg", "fsai", "isai:1")
PLAIN = ("csr", "ellr", "sell", "dia", "bsr", "auto")
BY_POLICY = ("split", "composite", "tiles", "packed")
PRECISIONS = ("fp64", "fp32", "bf16", "fp16", "e4m3", "e5m2")
STOP_NORMS = ("given", "rows", "both", "preconditioned")
POLICIES = ("fixed-range:2", "mean-range:0.5", "mean-3std", "mean-3std:auto", "lossless", "lossless:1e-4")


def padding_of(name):
    return [] if name == "csr" else ["--max-padding", "100"]


def storage_options(generator):
    """Formats and precisions that go together."""
    kind = generator.random()
    if kind < 0.5:
        return []
    if kind < 0.75:
        name = generator.choice(PLAIN[:4])
        return ["--format", name, "--matrix-precision", generator.choice(PRECISIONS), *padding_of(name)]
    if kind < 0.8:
        name = generator.choice(PLAIN)
        return ["--format", name, "--policy", "lossless", *padding_of(name)]
    name = generator.choice(BY_POLICY)
    options = ["--format", name, "--policy", generator.choice(POLICIES)]
    if name == "tiles":
        options += ["--granularity", "block"]
    return options


def method_options(generator):
    solver = generator.choice(SOLVERS)
    options = ["--solver", solver]
    if solver == "auto":
        return options + generator.choice(([], [], ["--precision", "fp64"], ["--precond", generator.choice(PRECONDS)]))
    if solver == "jacobi":
        return options + ["--format", generator.choice(("composite", "split", "csr"))]
    precond = generator.choice(PRECONDS)
    options += ["--precond", precond]
    if precond in ("lu", "cholesky"):
        options += ["--precond-precision", generator.choice(("fp32", "fp64"))]
    elif precond != "none" and generator.random() < 0.2:
        options += ["--precond-precision", generator.choice(("fp32/fp64", "bf16/fp64", "fp16/fp64", "fp64"))]
    if solver == "gmres" and generator.random() < 0.4:
        options += ["--inner-precision", generator.choice(("fp32", "fp16/fp64", "fp32/fp32", "bf16/fp64", "auto"))]
    if solver in ("gmres", "gmres-ir", "gmres-fd", "fgmres") and generator.random() < 0.5:
        options += ["--restart", generator.choice(("1", "2", "5", "20"))]
    if generator.random() < 0.15:
        options += ["--scale", generator.choice(("max-product", "symmetric", "rows"))]
    if generator.random() < 0.1:
        options += ["--reorder", "rcm"]
    if generator.random() < 0.25:
        options += ["--stop-norm", generator.choice(STOP_NORMS)]
    if generator.random() < 0.2:
        options += ["--guard", "report"]
    return options + storage_options(generator)


def stopping(generator):
    """rtol and atol."""
    rtol = generator.choice((0.5, 1e-2, 1e-5, 1e-5, 1e-8, 1e-10, 1e-12, 1e-14, 1e-15, 1e-16, 0.0))
    atol = generator.choice((0.0, 0.0, 0.0, 1e-12, 1e-6, 1e-300, 5e-324, 1.0))
    return rtol, atol


def write_matrix(path, system, generator):
    n, entries = system.size, [(i, j, v) for i, row in enumerate(system.rows) for j, v in sorted(row.items())]
    symmetric = system.symmetric and generator.random() < 0.5
    if symmetric:
        entries = [entry for entry in entries if entry[0] >= entry[1]]
    whole = system.kind == "integer"
    generator.shuffle(entries)
    lines = [f"%%MatrixMarket matrix coordinate {'integer' if whole else 'real'} "
             f"{'symmetric' if symmetric else 'general'}", f"{n} {n} {len(entries)}"]
    lines += [f"{i + 1} {j + 1} {int(v) if whole else repr(v)}" for i, j, v in entries]
    path.write_text("\n".join(lines) + "\n")


def write_columns(path, columns):
    lines = ["%%MatrixMarket matrix array real general", f"{len(columns[0])} {len(columns)}"]
    path.write_text("\n".join(lines + [repr(v) for column in columns for v in column]) + "\n")


def read_columns(path):
    words = path.read_text().split("\n", 1)[1].split()
    n, count = int(words[0]), int(words[1])
    values = [float(word) for word in words[2:]]
    return [values[k * n:(k + 1) * n] for k in range(count)]


class Run:
    """Run k of a seed: its system, files and command."""

    def __init__(self, tool, seed, k, folder):
        generator = random.Random(f"{seed}/{k}")
        self.folder = pathlib.Path(folder)
        self.system = systems.make(generator)
        self.rtol, self.atol = stopping(generator)
        count = generator.choice((1, 1, 1, 1, 2, 4, 9))
        self.columns = [systems.right_hand_side(generator, self.system) for _ in range(count)]
        write_matrix(self.folder / "A.mtx", self.system, generator)
        write_columns(self.folder / "b.mtx", self.columns)
        self.command = [tool, "solve", "A.mtx", "--rhs", "b.mtx", "--rtol", repr(self.rtol), "--atol", repr(self.atol),
                        "--max-iterations", generator.choice(("0", "1", "5", "300", "300", "2000")),
                        "--output", "x.mtx", "--json", "result.json", "--choices", "none", "--device", "cpu",
                        "--threads", generator.choice(("1", "2"))]
        if generator.random() < 0.15:
            write_columns(self.folder / "x0.mtx", [[generator.uniform(-2, 2) for _ in self.columns[0]]])
            self.command += ["--initial-guess", "x0.mtx"]
        method = method_options(generator)
        self.command += method
        by_itself = "both" if method[:2] == ["--solver", "auto"] else "given"
        self.stop_norm = method[method.index("--stop-norm") + 1] if "--stop-norm" in method else by_itself

    def judge(self):
        """(outcome, text): refused, not converged, right, or a fault."""
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        try:
            done = subprocess.run(self.command, cwd=self.folder, capture_output=True, timeout=LONGEST, env=environment)
        except subprocess.TimeoutExpired:
            return "hang", f"more than {LONGEST:g} s"
        if done.returncode < 0 or done.returncode > 5:
            return "signal", f"exit {done.returncode}"
        if done.returncode in (2, 3, 4) or done.returncode == 5 and not (self.folder / "result.json").exists():
            return ("refused" if done.stderr.strip() else "invalid"), f"exit {done.returncode} without a message"
        return self.judge_result(done.returncode)

    def judge_result(self, code):
        try:
            result = json.loads((self.folder / "result.json").read_text(), parse_constant=lambda name: int(name))
            if code == 5 and result["reason"] == "precond_setup" and not (self.folder / "x.mtx").exists():
                return "not converged", "no set-up, and no x"
            solutions = read_columns(self.folder / "x.mtx")
        except (OSError, ValueError, IndexError) as error:
            return "invalid", f"exit {code}, {error}"
        if result["exit_code"] != code:
            return "invalid", f"exit {code}, the report says {result['exit_code']}"
        claims = result["columns"] or [result]
        if len(claims) != len(self.columns) or len(solutions) != len(self.columns):
            return "invalid", f"{len(claims)} claims, {len(solutions)} solutions, {len(self.columns)} right-hand sides"
        if (code == 0) != all(claim["verified"] for claim in claims):
            return "invalid", f"exit {code}, verified {[claim['verified'] for claim in claims]}"
        outcomes = [self.judge_claim(*parts) for parts in zip(claims, self.columns, solutions)]
        return min(outcomes, key=lambda outcome: ("false", "bound", "invalid", "not converged", "least squares",
                                                  "right").index(outcome[0]))

    def judge_claim(self, claim, b, x):
        """One column."""
        squares = exact.exact_residual(self.system.rows, b, x)
        if claim["verified"] and not claim["converged"]:
            return "invalid", "verified and not converged"
        fitting = 0 if claim["verified"] else 5 if claim["reason_code"] in BREAKDOWNS else 1
        if claim["exit_code"] != fitting:
            return "invalid", f"exit code {claim['exit_code']} with reason {claim['reason']}"
        text = squares and (norm_is_off(claim, squares) or rows_are_off(claim, self.system.rows, b, x))
        if text:
            return "bound", text
        if not (claim["converged"] or claim["verified"]):
            return "not converged", claim["reason"]
        if claim["reason"] == "least_squares":
            normal = exact.exact_least_squares(self.system.rows, b, x)
            right = exact.within(normal, self.rtol)
            return "least squares" if right else "false", f"normal residual {exact.ratio(normal):.3g}"
        return self.judge_norms(claim, squares, exact.exact_row_scaled_residual(self.system.rows, b, x))

    def judge_norms(self, claim, given, scaled):
        """A claim is of the norm that the solve stopped by; verified, of both."""
        asked = self.stop_norm
        if (claim["verified"] or asked in ("given", "both")) and not exact.within(given, self.rtol, self.atol):
            return "false", f"relative residual {exact.ratio(given):.3g}, reason {claim['reason']}"
        slack = 1 if asked in ("rows", "both") else 100 if claim["verified"] else None
        if slack and not exact.rows_within(scaled, given, slack * self.rtol, slack * self.atol):
            return "false", f"row-scaled residual {exact.ratio(scaled):.3g}, stop norm {asked}"
        return "right", "" if claim["verified"] else "converged, not verified"


def norm_is_off(claim, squares):
    """A text where the reported norm is further than its bound from the exact one."""
    norm, bound = claim["residual_norm"], claim["residual_bound"]
    if norm is None or bound is None or exact.agrees(squares.residual, norm, bound):
        return ""
    return f"residual_norm {norm:.17g} is not within {bound:.3g}"


def rows_are_off(claim, rows, b, x):
    """The same of the row-scaled norm and the row-wise backward error."""
    reported = claim["row_residual"]
    if reported is None or None in (reported["norm"], reported["bound"]):
        return ""
    squares = exact.exact_row_scaled_residual(rows, b, x)
    if not exact.agrees(squares.residual, reported["norm"], reported["bound"]):
        return f"row-scaled norm {reported['norm']:.17g} is not within {reported['bound']:.3g}"
    error, bound = reported["backward_error"], reported["backward_bound"]
    if error is None or bound is None:
        return ""
    most = exact.fraction(error) + exact.fraction(bound)  # an upper bound; the quotient itself is rounded
    least = exact.fraction(error) * (1 - rounding_of_rows(rows, b, x)) - exact.fraction(bound)
    return "" if least <= exact.exact_backward_error(rows, b, x) <= most else f"backward error {error:.17g} is off"


def rounding_of_rows(rows, b, x):
    """A bound on the relative rounding of a row's sums, where numbers below the normal ones lose digits too."""
    operations = max(len(row) for row in rows) + 4
    least = min((size for size in exact.row_sizes(rows, b, x) if size), default=1)
    return operations * (exact.fraction(2.0**-52) + exact.fraction(5e-324) / least)


def one(tool, seed, k):
    with tempfile.TemporaryDirectory() as folder:
        run = Run(tool, seed, k, folder)
        return (k, run, *run.judge())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="solves at a time (2)")
    parser.add_argument("--only", type=int, metavar="K", help="run K alone, and keep its files")
    arguments = parser.parse_args()
    tool = str(pathlib.Path(arguments.tool).resolve())
    if arguments.only is not None:
        folder = pathlib.Path(f"claim-{arguments.only}")
        folder.mkdir(exist_ok=True)
        run = Run(tool, arguments.seed, arguments.only, folder)
        print(f"cd {folder} && {shlex.join(run.command)}", run.system.kind, *run.judge(), sep="\n")
        return 0
    counts, notes = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for k, run, outcome, text in pool.map(lambda k: one(tool, arguments.seed, k), range(arguments.runs)):
            counts[outcome] += 1
            notes[text if outcome == "right" else ""] += 1
            if outcome in FAULTS:
                print(f"{outcome}: --seed {arguments.seed} --only {k} ({run.system.kind}, {run.system.size} rows): "
                      f"{text}: {shlex.join(run.command[1:])}", flush=True)
    print(f"tool: {arguments.runs} runs, {counts['right']} claims right, " +
          ", ".join(f"{counts[name]} {name}" for name in (*FAULTS, "not converged", "least squares", "refused")) +
          f"; {notes['converged, not verified']} of the right ones converged without being verified")
    return 1 if any(counts[name] for name in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
