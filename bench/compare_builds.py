#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves by two builds of the tool, in turns: compare_builds.py BEFORE AFTER [--device cuda] [--runs 9] [--json FILE]

Each case is a system with a named method, or the automatic solve. A row has the least time of a solve, verification
included, by each build, the medians' ratio, and the iterations of both. Prints a Markdown table.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

CASES = [
    ("laplace3d:100 cg", ["gallery:laplace3d:100", "--solver", "cg"]),
    ("laplace3d:100 cg jacobi", ["gallery:laplace3d:100", "--solver", "cg", "--precond", "jacobi"]),
    ("laplace2d:1000 cg", ["gallery:laplace2d:1000", "--solver", "cg", "--max-iterations", "500"]),
    ("laplace3d27:64 cg", ["gallery:laplace3d27:64", "--solver", "cg"]),
    ("laplace3d:100 cg amg", ["gallery:laplace3d:100", "--solver", "cg", "--precond", "amg"]),
    ("laplace2d:1000 cg amg", ["gallery:laplace2d:1000", "--solver", "cg", "--precond", "amg"]),
    ("laplace3d27:64 cg amg", ["gallery:laplace3d27:64", "--solver", "cg", "--precond", "amg"]),
    ("laplace2d:60 cg", ["gallery:laplace2d:60", "--solver", "cg"]),
    ("laplace3d:100 auto", ["gallery:laplace3d:100"]),
    ("laplace2d:300 auto", ["gallery:laplace2d:300"]),
]


def solve(tool, arguments, device, folder):
    """One run: the tool's JSON."""
    path = os.path.join(folder, "solve.json")
    command = [tool, "solve", *arguments, "--rtol", "1e-8", "--choices", "none", "--device", device, "--json", path]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def measure(before, after, arguments, device, runs):
    """Results of both builds, in turns."""
    results = ([], [])
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            for tool, list_of in zip((before, after), results):
                list_of.append(solve(tool, arguments, device, folder))
    return results


def row_of(name, results):
    """A case's figures."""
    row = {"case": name}
    for which, list_of in zip(("before", "after"), results):
        seconds = [r["solve_seconds"] for r in list_of]
        row[which] = {"least": min(seconds), "median": statistics.median(seconds),
                      "iterations": list_of[0]["iterations"], "verified": all(r["verified"] for r in list_of)}
    row["ratio_least"] = row["after"]["least"] / row["before"]["least"]
    row["ratio_median"] = row["after"]["median"] / row["before"]["median"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    print("| case | before, ms | after, ms | ratio | of medians | iterations |\n| --- | --- | --- | --- | --- | --- |")
    for name, arguments in CASES:
        rows.append(row_of(name, measure(options.before, options.after, arguments, options.device, options.runs)))
        row = rows[-1]
        print(f"| {name} | {1e3 * row['before']['least']:.3f} | {1e3 * row['after']['least']:.3f} | "
              f"{row['ratio_least']:.3f} | {row['ratio_median']:.3f} | "
              f"{row['before']['iterations']}; {row['after']['iterations']} |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
