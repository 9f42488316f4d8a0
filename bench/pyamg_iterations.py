#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Iterations of CG with smoothed aggregation: PyAMG's beside Tessera's, on the same matrices and right-hand sides.

    pip install pyamg
    python3 bench/pyamg_iterations.py build/release/tessera laplace3d:32:1e-10 elasticity3d:8:1e-8 FOLDER/NAME:1e-8

A problem is NAME:N:RTOL of the gallery, with b = 1, or a path and RTOL: PATH.mtx, PATH.rhs.mtx and, for elasticity,
PATH.coords.mtx. Prints a table in Markdown. With coordinates, both get the rigid-body modes and nodes of 3 unknowns.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import pyamg
import scipy.io


def lattice(n):
    """The nodes of the gallery's elasticity3d N."""
    z, y, x = numpy.meshgrid(numpy.arange(1, n + 1), numpy.arange(n + 1), numpy.arange(n + 1), indexing="ij")
    return numpy.stack([x.ravel(), y.ravel(), z.ravel()], axis=1).astype(float)


def rigid_body_modes(coordinates):
    x = coordinates - coordinates.mean(axis=0)
    nodes, dimensions = x.shape
    planes = [(0, 1), (1, 2), (2, 0)] if dimensions == 3 else [(0, 1)]
    modes = numpy.zeros((nodes, dimensions, dimensions + len(planes)))
    for d in range(dimensions):
        modes[:, d, d] = 1
    for k, (p, q) in enumerate(planes):
        modes[:, p, dimensions + k] = -x[:, q]
        modes[:, q, dimensions + k] = x[:, p]
    return numpy.linalg.qr(modes.reshape(nodes * dimensions, -1))[0]


def run_pyamg(matrix, rhs, coordinates, rtol):
    a = scipy.io.mmread(matrix).tocsr()
    b = numpy.ones(a.shape[0]) if rhs is None else numpy.asarray(scipy.io.mmread(rhs)).ravel()
    near = None
    if coordinates is not None:
        near = rigid_body_modes(coordinates)
        a = a.tobsr((coordinates.shape[1],) * 2)
    levels = pyamg.smoothed_aggregation_solver(a, B=near)
    residuals = []
    levels.solve(b, tol=rtol, accel="cg", residuals=residuals, maxiter=500)
    return len(residuals) - 1, levels.operator_complexity()


def run_tessera(tool, matrix, rhs, coordinates, rtol):
    command = [tool, "solve", str(matrix), "--solver", "cg", "--precond", "amg", "--amg-coarsening", "aggregation"]
    command += ["--rtol", repr(rtol), "--device", "cpu", "--json", "-", "--rhs", "ones" if rhs is None else str(rhs)]
    command += [] if coordinates is None else ["--coordinates", str(coordinates)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report["iterations"], report["amg"]["operator_complexity"]


def compare(tool, problem, folder):
    name, *rest = problem.split(":")
    rtol = float(rest[-1])
    if pathlib.Path(f"{name}.mtx").exists():
        matrix, rhs, nodes = f"{name}.mtx", f"{name}.rhs.mtx", pathlib.Path(f"{name}.coords.mtx")
        coordinates = numpy.asarray(scipy.io.mmread(nodes)) if nodes.exists() else None
        title = pathlib.Path(name).name
    else:
        matrix, rhs, coordinates, title = folder / f"{name}.mtx", None, None, f"{name} {rest[0]}"
        subprocess.run([tool, "generate", name, rest[0], "--output", str(matrix)], check=True, capture_output=True)
        if name == "elasticity3d":
            coordinates = lattice(int(rest[0]))
        nodes = folder / "coordinates.mtx"
        if coordinates is not None:
            scipy.io.mmwrite(nodes, coordinates)
    ours = run_tessera(tool, matrix, rhs, nodes if coordinates is not None else None, rtol)
    theirs = run_pyamg(matrix, rhs, coordinates, rtol)
    print(f"| {title} | {rtol:g} | {ours[0]} | {ours[1]:.2f} | {theirs[0]} | {theirs[1]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", help="the tessera program")
    parser.add_argument("problems", nargs="+")
    options = parser.parse_args()
    print("| problem | rtol | Tessera, iterations | complexity | PyAMG, iterations | complexity |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for problem in options.problems:
            compare(options.tool, problem, pathlib.Path(folder))


if __name__ == "__main__":
    main()
