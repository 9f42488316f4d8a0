#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The goals of multigrid on a host, in one command: prints the table of docs/results/multigrid.md in Markdown.

    python3 bench/multigrid.py build/release/tessera                          # model problems of the gallery
    python3 bench/multigrid.py build/release/tessera --fem FOLDER             # and systems that fem.py wrote there
    python3 bench/multigrid.py build/release/tessera --real FOLDER            # CG on matrices of class spd there
    python3 bench/multigrid.py build/release/tessera --figure docs/figures    # and the page's pictures

Each command runs several times, and the least time counts. Times need an idle machine. Set-up again for new values is
in `bench_solve --study multigrid`.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import tempfile


def solve(tool, problem, extra=(), repeats=3, rtol="1e-10"):
    """The result of the run with the least time: set-up and solve together."""
    best = None
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            command = [tool, "solve", problem, "--device", "cpu", "--solver", "cg", "--precond", "amg", "--rtol", rtol,
                       "--json", path, *extra]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        if not result["converged"]:
            raise SystemExit(f"{problem}: not converged")
        if best is None or seconds(result) < seconds(best):
            best = result
    return best


def seconds(result):
    return result["setup_seconds"] + result["solve_seconds"]


def coarse_share(result):
    """Bytes of the hierarchy below the finest level over those of the matrix in FP64 CSR."""
    levels = result["amg"]["levels"]
    return sum(level["bytes"] for level in levels[1:]) / result["fp64_csr_bytes"]


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def table(head, rows):
    row(*head)
    row(*["---"] * len(head))
    for cells in rows:
        row(*cells)
    print()


def iterations_by_size(tool, sizes, repeats):
    rows = []
    for size in sizes:
        r = solve(tool, f"gallery:laplace3d:{size}", repeats=repeats)
        low = solve(tool, f"gallery:laplace3d:{size}", ["--amg-precision", "fp16"], repeats=1)
        rows.append((f"laplace3d:{size}", f"{size ** 3:,}", r["iterations"],
                     f"{r['amg']['operator_complexity']:.2f}", f"{coarse_share(r):.2f}", f"{coarse_share(low):.2f}",
                     f"{r['setup_seconds']:.2f}", f"{r['solve_seconds']:.2f}"))
    table(("problem", "unknowns", "iterations to 1e-10", "complexity", "coarse bytes over FP64 CSR, fp32", "fp16",
           "set-up, s", "solve, s"), rows)
    return rows


def fem_options(folder, name):
    options = ["--rhs", str(folder / f"{name}.rhs.mtx")]
    coordinates = folder / f"{name}.coords.mtx"
    return options + (["--coordinates", str(coordinates)] if coordinates.exists() else [])


def finite_elements(tool, folder, names, repeats):
    rows = []
    for name in names:
        if not (folder / f"{name}.mtx").exists():
            continue
        r = solve(tool, str(folder / f"{name}.mtx"), fem_options(folder, name), repeats, "1e-8")
        rows.append((name, f"{r['amg']['levels'][0]['rows']:,}", r["amg"]["coarsening"], r["iterations"],
                     f"{r['amg']['operator_complexity']:.2f}", f"{r['setup_seconds']:.2f}",
                     f"{r['solve_seconds']:.2f}", f"{seconds(r):.2f}"))
    table(("system", "unknowns", "coarsening", "iterations to 1e-8", "complexity", "set-up, s", "solve, s", "both, s"),
          rows)


def smoothers(tool, folder, names, repeats):
    rows = []
    for name in names:
        if not (folder / f"{name}.mtx").exists():
            continue
        for smoother in ("chebyshev", "block-jacobi", "jacobi", "l1-jacobi", "ilu0"):
            options = [*fem_options(folder, name), "--amg-smoother", smoother]
            r = solve(tool, str(folder / f"{name}.mtx"), options, repeats, "1e-8")
            rows.append((name, smoother, r["iterations"], f"{r['setup_seconds']:.3f}", f"{r['solve_seconds']:.3f}"))
    table(("system", "smoother", "iterations to 1e-8", "set-up, s", "solve, s"), rows)


def precisions(tool, problem, extra, rtol, repeats):
    wide = None
    rows = []
    for precision in ("fp64", "fp32", "fp16", "fp32,fp16,fp8"):
        r = solve(tool, problem, [*extra, "--amg-precision", precision], repeats, rtol)
        wide = wide or r
        rows.append((precision, r["iterations"], f"{r['amg']['bytes'] / 1e6:.1f}", f"{r['solve_seconds']:.3f}",
                     f"{wide['solve_seconds'] / r['solve_seconds']:.2f}"))
    table(("levels in", "iterations", "MB of levels", "solve, s", "times as fast as fp64"), rows)
    return rows


# ---- real matrices ----

def attempt(tool, path, precond):
    """The report of CG to 1e-8 with b = A 1, at most 3,000 iterations, which need not converge."""
    command = [tool, "solve", str(path), "--device", "cpu", "--solver", "cg", "--precond", precond, "--rtol", "1e-8",
               "--max-iterations", "3000", "--rhs", "a-times-ones", "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout)


def real_matrices(tool, folder):
    preconds = ("amg", "ic0", "jacobi")
    with open(folder / "MANIFEST.tsv", encoding="utf-8") as file:
        names = [entry["name"] for entry in csv.DictReader(file, delimiter="\t") if entry["class"] == "spd"]
    rows = []
    for name in sorted(names):
        found = [attempt(tool, folder / f"{name}.mtx.gz", precond) for precond in preconds]
        levels = found[0]["amg"]
        rows.append((name, levels["levels"][0]["rows"], len(levels["levels"]), levels["coarsening"],
                     f"{levels['operator_complexity']:.2f}", levels["raised"],
                     *(r["iterations"] if r["verified"] else r["reason"] for r in found)))
    table(("matrix", "rows", "levels", "coarsening", "complexity", "raised", *preconds), rows)
    for k, precond in enumerate(preconds):
        print(f"{precond}: {sum(isinstance(cells[6 + k], int) for cells in rows)} of {len(rows)} verified")


# ---- pictures ----

def bars(path, title, unit, items):
    """A bar for each (label, value, note), in plain SVG."""
    width, height, left = 720, 26, 180
    most = max(value for _, value, _ in items)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{60 + height * len(items)}" '
             'font-family="sans-serif" font-size="14">',
             f'<rect width="{width}" height="{60 + height * len(items)}" fill="white"/>',
             f'<text x="10" y="24" font-size="16">{title}</text>']
    for k, (label, value, note) in enumerate(items):
        y = 42 + height * k
        size = (width - left - 170) * value / most
        lines.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{label}</text>')
        lines.append(f'<rect x="{left}" y="{y}" width="{size:.1f}" height="{height - 6}" fill="#3b6ea5"/>')
        lines.append(f'<text x="{left + size + 8:.1f}" y="{y + 16}">{note}</text>')
    lines.append(f'<text x="{left}" y="{52 + height * len(items)}" font-size="12">{unit}</text>')
    lines.append("</svg>")
    pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def figures(tool, folder, sizes):
    r = solve(tool, "gallery:laplace3d:64", ["--amg-precision", "fp16"], 1)
    levels = [(f"level {k + 1}: {level['rows']:,} rows", math.log10(max(level["bytes"], 10)),
               f"{level['bytes'] / 1e3:,.0f} kB, {level['precision']}") for k, level in enumerate(r["amg"]["levels"])]
    bars(folder / "multigrid-levels.svg", "Levels of laplace3d:64, stored by --amg-precision fp16",
         "bytes, logarithmic", levels)
    sizes = [(f"{size ** 3:,} unknowns", r["iterations"], f"{r['iterations']} iterations")
             for size in sizes for r in [solve(tool, f"gallery:laplace3d:{size}", repeats=1)]]
    bars(folder / "multigrid-sizes.svg", "Iterations of CG with multigrid to 1e-10, laplace3d", "iterations", sizes)
    shown = []
    for precision in ("fp64", "fp32", "fp16", "fp32,fp16,fp8"):
        r = solve(tool, "gallery:laplace3d:48", ["--amg-precision", precision], 1)
        megabytes = r["amg"]["bytes"] / 1e6
        shown.append((precision, megabytes, f"{megabytes:.1f} MB, {r['iterations']} iterations"))
    bars(folder / "multigrid-precision.svg", "Precision by level, laplace3d:48: bytes of all levels", "MB", shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--fem", type=pathlib.Path)
    parser.add_argument("--real", type=pathlib.Path, help="folder with MANIFEST.tsv and NAME.mtx.gz; other tables are "
                        "left out")
    parser.add_argument("--figure", type=pathlib.Path, help="folder for pictures; tables are left out")
    parser.add_argument("--sizes", default="64,100,150")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.figure:
        figures(options.tool, options.figure, [20, 32, 48, 64, 100])
        return
    if options.real:
        real_matrices(options.tool, options.real)
        return
    iterations_by_size(options.tool, sizes, options.repeats)
    precisions(options.tool, f"gallery:laplace3d:{sizes[0]}", [], "1e-10", options.repeats)
    if options.fem:
        names = ["jump3d-48", "jump3d-96", "aniso3d-48", "elasticity-8", "elasticity-14", "elasticity-19"]
        finite_elements(options.tool, options.fem, names, options.repeats)
        smoothers(options.tool, options.fem, ["elasticity-8", "elasticity-14", "elasticity-19"], options.repeats)


if __name__ == "__main__":
    main()
