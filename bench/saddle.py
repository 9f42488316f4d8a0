#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Saddle points on a host, in one command: prints the tables of docs/results/saddle-points.md in Markdown.

    python3 bench/saddle.py build/release/tessera                             # flows of the gallery
    python3 bench/saddle.py build/release/tessera A.mtx B.mtx ...             # and matrices in files
    python3 bench/saddle.py build/release/tessera --before old/tessera ...    # beside another build's default solve

A right-hand side A.rhs.mtx beside A.mtx is taken. Each command runs several times, and the least time counts.
"""

import argparse
import json
import os
import subprocess
import tempfile

FLOWS = ["gallery:stokes2d:82", "gallery:stokes2d:173", "gallery:stokes2d:259",
         "gallery:stokes3d:17", "gallery:stokes3d:28", "gallery:stokes3d:37"]
WAYS = [("default", []), ("fgmres", ["--solver", "fgmres", "--precond", "saddle"]),
        ("minres", ["--solver", "minres", "--precond", "saddle"]),
        ("selfp", ["--solver", "fgmres", "--precond", "saddle", "--schur-precondition", "selfp"]),
        ("lsc", ["--solver", "fgmres", "--precond", "saddle", "--schur-precondition", "lsc"])]


def solve(tool, problem, options, repeats, limit):
    """The JSON of the run with the least time, or None where none converged."""
    best = None
    rhs = problem.removesuffix(".gz").removesuffix(".mtx") + ".rhs.mtx"
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            command = [tool, "solve", problem, "--device", "cpu", "--choices", "none", "--stop-norm", "both",
                       "--time-limit", str(limit), "--json", path, *options]
            command += ["--rhs", rhs] if os.path.exists(rhs) else []
            done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode != 0:
                return None
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        if best is None or seconds(result) < seconds(best):
            best = result
    return best


def seconds(result):
    return result["setup_seconds"] + result["solve_seconds"]


def cell(result):
    if result is None:
        return "no"
    return f"{result['iterations']}, {seconds(result):.2g} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("matrices", nargs="*")
    parser.add_argument("--before", help="another build's tool, whose default solve is shown")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a solve")
    o = parser.parse_intermixed_args()
    head = ["problem"] + (["before"] if o.before else []) + [name for name, _ in WAYS]
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join(["---"] * len(head)) + " |")
    for problem in FLOWS + o.matrices:
        cells = [cell(solve(o.before, problem, [], o.repeats, o.limit))] if o.before else []
        cells += [cell(solve(o.tool, problem, options, o.repeats, o.limit)) for _, options in WAYS]
        print("| " + " | ".join([problem.removeprefix("gallery:")] + cells) + " |", flush=True)


if __name__ == "__main__":
    main()
