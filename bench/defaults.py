#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves every square matrix of a folder with the default options, and some by named ones.

    defaults.py --tool build/release/tessera FOLDER [--rtol 1e-8] [--limit 60] [--search] [--names A,B] > records.jsonl

FOLDER has NAME.mtx or NAME.mtx.gz; NAME.rhs.mtx is its right-hand side, else b = A 1 is taken. Each solve is a process
of its own, without a file of choices. A record is a line of JSON: the matrix, the options, the exit code, what the
report says, and the time from start to end. --search adds the methods of SEARCH, in FP64 and with low precisions.
`defaults.py --summary records.jsonl` prints the tables of docs/results/automatic.md.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import subprocess
import sys
import time

FP64 = [
    ["--solver", "cg"],
    ["--solver", "cg", "--precond", "jacobi"],
    ["--solver", "cg", "--precond", "ic0"],
    ["--solver", "cg", "--precond", "cholesky", "--precond-precision", "fp64"],
    ["--solver", "minres"],
    ["--solver", "bicgstab", "--precond", "jacobi"],
    ["--solver", "bicgstab", "--precond", "ilu0"],
    ["--solver", "gmres", "--precond", "ilut", "--scale", "max-product"],
    ["--solver", "fgmres", "--precond", "lu", "--precond-precision", "fp64"],
]
LOW = [
    ["--solver", "cg", "--precond", "ic0", "--precond-precision", "fp32/fp64"],
    ["--solver", "cg", "--precond", "cholesky"],
    ["--solver", "bicgstab", "--precond", "ilu0", "--precond-precision", "fp32/fp64"],
    ["--solver", "fgmres", "--precond", "lu"],
    ["--solver", "gmres-ir", "--precond", "jacobi"],
]
SEARCH = [("fp64", options) for options in FP64] + [("low", options) for options in LOW]
REPORTED = ("verified", "reason", "relative_residual", "iterations", "solver", "precond", "setup_seconds",
            "solve_seconds", "why", "threads")


def files_of(folder, names):
    for path in sorted(pathlib.Path(folder).iterdir()):
        name = path.name.removesuffix(".gz").removesuffix(".mtx")
        if not path.name.endswith((".mtx", ".mtx.gz")) or name.endswith((".rhs", ".coords")):
            continue
        if not names or name in names:
            yield name, path


def solve(tool, path, rtol, limit, options):
    """The record of one process. A code of None: it was stopped at the limit."""
    rhs = path.with_name(path.name.removesuffix(".gz").removesuffix(".mtx") + ".rhs.mtx")
    command = [tool, "solve", str(path), "--rtol", str(rtol), "--rhs", str(rhs) if rhs.exists() else "a-times-ones",
               "--device", "cpu", "--choices", "none", "--json", "-", *options]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        code, output, error = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, output, error = None, "", ""
    seconds = time.perf_counter() - start
    report = json.loads(output) if output.startswith("{") else {}
    return {"code": code, "seconds": seconds, "error": error.strip()[-300:], "n": report.get("n"),
            "nnz": report.get("nnz"), **{key: report.get(key) for key in REPORTED}}


def is_square(path, tool):
    done = subprocess.run([tool, "info", str(path), "--json", "-"], capture_output=True, text=True, check=False)
    info = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return info and info.get("nrows") == info.get("ncols")


def measure(arguments):
    for name, path in files_of(arguments.folder, arguments.names.split(",") if arguments.names else ()):
        if not is_square(path, arguments.tool):
            continue
        runs = [("auto", [])] + (SEARCH if arguments.search else [])
        for kind, options in runs:
            record = solve(arguments.tool, path, arguments.rtol, arguments.limit, options)
            print(json.dumps({"matrix": name, "kind": kind, "options": " ".join(options), **record}), flush=True)


# ---- tables ----

def time_of(record):
    """Set-up, trials and solve, without the start of the process and the reading of the file."""
    return record["setup_seconds"] + record["solve_seconds"]


def compare(records, kind):
    """The time of auto over the best of a kind, for the matrices that both solve."""
    ratios = {}
    for name, runs in records.items():
        auto = [r for r in runs if r["kind"] == "auto" and r["verified"]]
        others = [r for r in runs if (r["kind"] == kind or kind == "any") and r["kind"] != "auto" and r["verified"]]
        if auto and others:
            ratios[name] = time_of(auto[0]) / min(map(time_of, others))
    return ratios


def summarise(path):
    records = collections.defaultdict(list)
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        records[record["matrix"]].append(record)
    autos = [runs[0] for runs in records.values() if runs[0]["kind"] == "auto"]
    print(f"{sum(bool(r['verified']) for r in autos)} of {len(autos)} verified, "
          f"{sum(r['seconds'] for r in autos):.1f} s in all")
    for record in autos:
        if not record["verified"]:
            last = (record["why"] or [""])[-1]
            print(f"  {record['matrix']}: code {record['code']}, {record['reason']}, "
                  f"residual {record['relative_residual']}, {record['seconds']:.1f} s; {last or record['error']}")
    for kind in ("any", "fp64"):
        ratios = compare(records, kind)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            worst = sorted(ratios, key=ratios.get)[-5:]
            print(f"auto over the best of {kind}: mean {mean:.2f} of {len(ratios)}, worst "
                  + ", ".join(f"{name} {ratios[name]:.2f}" for name in reversed(worst)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--tool", default="build/release/tessera")
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a solve (60)")
    parser.add_argument("--names", default="", help="only these matrices")
    parser.add_argument("--search", action="store_true", help="also solve by the methods of SEARCH")
    parser.add_argument("--summary", metavar="RECORDS")
    arguments = parser.parse_args()
    if arguments.summary:
        return summarise(arguments.summary)
    if not arguments.folder or not os.access(arguments.tool, os.X_OK):
        sys.exit("name a folder of matrices, and a tool that can be run (--tool)")
    return measure(arguments)


if __name__ == "__main__":
    main()
