#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What solvers call success, beside what their x is: SciPy's, PyAMG's, PETSc's, CuPy's and the tool's.

    pip install scipy pyamg
    python3 bench/referee.py --tool build/release/tessera          all that is installed, as a table in Markdown
    python3 bench/referee.py --of petsc --systems penalty          solvers and systems by the beginning of their names

Each solver gets rtol 1e-8 and at most 1,000 iterations. A claim is info 0, or PETSc's reason above 0. `judge` computes
residuals in extended precision. PETSc runs where petsc4py is, CuPy where a GPU is.
"""
import argparse
import glob
import importlib
import json
import os
import platform
import subprocess
import tempfile
import warnings

import numpy as np
import scipy.io
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

RTOL, LIMIT = 1e-8, 1000
FAR = 100 * RTOL


def judge(A, b, x):
    """Relative residual, the same with each row over its largest magnitude, largest row-wise backward error."""
    wide = np.longdouble
    A, b, x = sparse.csr_matrix(A).astype(wide), np.asarray(b, wide), np.asarray(x, wide)
    if not np.isfinite(x).all():
        return (np.inf, np.inf, np.inf)
    r, size = abs(b - A @ x), abs(A)
    rows = np.asarray(size.max(axis=1).todense(), wide).ravel()
    rows[rows == 0] = 1
    sums = size @ abs(x) + abs(b)
    row_wise = np.max(np.where(r > 0, r / np.where(sums > 0, sums, 1), 0))
    norm = lambda v: np.sqrt((v * v).sum())
    return tuple(float(v) for v in (norm(r) / norm(b), norm(r / rows) / norm(b / rows), row_wise))


def line(n, diagonal, below, above):
    return sparse.diags([np.full(n - 1, below), np.full(n, diagonal), np.full(n - 1, above)], [-1, 0, 1]).tolil()


def plane(n):
    one = line(n, 2.0, -1.0, -1.0)
    return (sparse.kron(one, sparse.eye(n)) + sparse.kron(sparse.eye(n), one)).tolil()


def held(A, rows, values, penalty):
    """Boundary values by penalty; the other rows have the load 1 / n."""
    b = np.full(A.shape[0], 1.0 / A.shape[0])
    for i, value in zip(rows, values):
        A[i, i] = penalty
        b[i] = penalty * value
    return A, b


def scaled(A, b, by):
    D = sparse.diags(by)
    return D @ A, D @ b


def neumann(n, shift):
    A = line(n, 2.0, -1.0, -1.0)
    A[0, 0] = A[n - 1, n - 1] = 1.0
    return A + shift * sparse.eye(n)


def systems(data):
    """(name, A, b) one after another."""
    random = np.random.default_rng(45)
    for penalty in (1e6, 1e10, 1e30):
        yield f"penalty 1-D {penalty:g}", *held(line(100, 2.0, -1.0, -1.0), (0, 99), (1.0, 3.0), penalty)
        yield f"penalty 2-D {penalty:g}", *held(plane(20), range(20), np.linspace(1, 2, 20), penalty)
    for digits in (2, 4, 8):
        by = 10.0**random.uniform(-digits, digits, 400)
        yield f"graded rows 2-D 1e{digits}", *scaled(plane(20).tocsr(), np.ones(400), by)
        yield f"graded rows convection 1e{digits}", *scaled(line(300, 3.0, -2.0, -0.5).tocsr(), np.ones(300), by[:300])
    units = np.where(np.arange(200) < 100, 1e-12, 1e6)
    yield "two units", *scaled((line(200, 2.5, -1.0, -1.0)).tocsr(), random.uniform(0.5, 1, 200), units)
    for shift in (1e-6, 1e-10, 1e-13):
        yield f"near singular {shift:g}", neumann(200, shift), neumann(200, shift) @ random.uniform(0, 1, 200)
    yield "Neumann consistent", neumann(200, 0), neumann(200, 0) @ random.uniform(0, 1, 200)
    yield "Neumann inconsistent 1e-6", neumann(200, 0), neumann(200, 0) @ random.uniform(0, 1, 200) + 1e-6
    yield "convection", line(300, 2.0, -1.9, -0.1), np.ones(300)
    yield "convection, tiny couplings", line(300, 60.0, -50.0, -1e-15), np.ones(300)
    yield "Laplacian 2-D", plane(30), np.ones(900)
    yield "indefinite 2-D", plane(20) - 1.3 * sparse.eye(400), np.ones(400)
    for path in sorted(glob.glob(os.path.join(data, "*.mtx.gz"))):
        A = scipy.io.mmread(path)
        if A.shape[0] == A.shape[1] and A.shape[0] <= 4000 and not path.endswith(".rhs.mtx.gz"):
            yield os.path.basename(path)[:-7], A, np.ones(A.shape[0])


def jacobi(A):
    diagonal = A.diagonal()
    return sparse.diags(1 / np.where(diagonal == 0, 1, diagonal))


def scipys():
    for name in "cg cgs bicg bicgstab gmres lgmres minres tfqmr gcrotmk".split():
        method = getattr(linalg, name)
        limit = LIMIT // 20 if name in ("gmres", "lgmres", "gcrotmk") else LIMIT # of cycles, which have 20 iterations
        yield f"scipy {name}", lambda A, b, f=method, k=limit: f(A, b, rtol=RTOL, maxiter=k)
        yield f"scipy {name}, Jacobi", lambda A, b, f=method, k=limit: f(A, b, M=jacobi(A), rtol=RTOL, maxiter=k)
    yield "scipy spsolve", lambda A, b: (linalg.spsolve(A.tocsc(), b), 0)


def pyamgs():
    pyamg = importlib.import_module("pyamg")
    for name, build in (("aggregation", pyamg.smoothed_aggregation_solver), ("classical", pyamg.ruge_stuben_solver)):
        for accel in (None, "cg", "gmres", "bicgstab"):
            yield f"pyamg {name}, {accel or 'alone'}", lambda A, b, make=build, accel=accel: make(A).solve(
                b, tol=RTOL, maxiter=LIMIT, accel=accel, return_info=True)


def petscs():
    petsc4py = importlib.import_module("petsc4py")
    PETSc = importlib.import_module("petsc4py.PETSc")

    def solve(A, b, method, precond):
        index = PETSc.IntType
        matrix = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr.astype(index), A.indices.astype(index), A.data))
        solver = PETSc.KSP().create()
        solver.setOperators(matrix)
        solver.setType(method)
        solver.getPC().setType(precond)
        solver.setTolerances(rtol=RTOL, max_it=LIMIT)
        x, rhs = matrix.createVecs()
        rhs.setArray(b)
        solver.solve(rhs, x)
        return x.getArray().copy(), 0 if solver.reason > 0 else 1

    for method in "cg gmres fgmres bcgs minres tfqmr gcr".split():
        for precond in ("none", "jacobi", "ilu"):
            yield f"petsc {method}, {precond}", lambda A, b, m=method, p=precond: solve(A, b, m, p)
    yield "petsc preonly, lu", lambda A, b: solve(A, b, "preonly", "lu")


def cupys():
    cupy = importlib.import_module("cupy")
    cupy.cuda.runtime.getDeviceCount() # an error without a GPU
    theirs = importlib.import_module("cupyx.scipy.sparse.linalg")
    on_device = importlib.import_module("cupyx.scipy.sparse")
    for name in ("cg", "cgs", "gmres", "minres"):
        def solve(A, b, f=getattr(theirs, name)):
            x, info = f(on_device.csr_matrix(A), cupy.asarray(b), tol=RTOL, maxiter=LIMIT)
            return cupy.asnumpy(x), info
        yield f"cupy {name}", solve


def tools(tool):
    def solve(A, b, options):
        with tempfile.TemporaryDirectory() as folder:
            matrix, rhs, x = (os.path.join(folder, name) for name in ("A.npz", "b.npy", "x.npy"))
            sparse.save_npz(matrix, A)
            np.save(rhs, b)
            done = subprocess.run([tool, "solve", matrix, "--rhs", rhs, "--rtol", repr(RTOL), "--output", x,
                                   "--choices", "none",
                                   "--json", "-", "--device", "cpu", "--max-iterations", str(LIMIT)] + options,
                                  capture_output=True, text=True)
            return np.load(x), 0 if json.loads(done.stdout)["converged"] else 1

    for options in ("--solver auto", "--solver cg --precond jacobi", "--solver gmres --precond jacobi",
                    "--solver bicgstab --precond ilu0", "--solver minres"):
        yield f"tessera {options.replace('--', '')}", lambda A, b, o=options.split(): solve(A, b, o)


def families(tool):
    """Solvers of what is installed; and the versions."""
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}
    solvers = list(scipys())
    for name, make in (("pyamg", pyamgs), ("petsc4py", petscs), ("cupy", cupys)):
        try:
            solvers += list(make())
            versions[name] = importlib.import_module(name).__version__
        except Exception: # not installed, or no GPU
            versions[name] = "none"
    if tool:
        solvers += list(tools(tool))
        versions["tessera"] = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.strip()
    return solvers, versions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool")
    parser.add_argument("--data", default=os.path.join(os.path.dirname(__file__), "..", "data"))
    parser.add_argument("--of", default="", help="solvers whose names begin so; several by commas")
    parser.add_argument("--systems", default="", help="systems whose names begin so")
    parser.add_argument("--each", action="store_true", help="a line for each claim that is off")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    solvers, versions = families(arguments.tool)
    solvers = [s for s in solvers if s[0].startswith(tuple(arguments.of.split(",")))]
    chosen = [(name, sparse.csr_matrix(A), b) for name, A, b in systems(arguments.data)
              if name.startswith(arguments.systems)]
    print(f"{len(chosen)} systems; " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "\n")
    print("| solver | claims | norm above rtol | above 100 rtol | row-scaled above 100 rtol | row-wise above 100 rtol "
          "| largest norm |\n| --- | --- | --- | --- | --- | --- | --- |")
    for solver, solve in solvers:
        found = []
        for name, A, b in chosen:
            try:
                x, info = solve(A.copy(), b.copy())
            except Exception: # no claim
                continue
            if info == 0:
                found.append((name, judge(A, b, x)))
        counts = [sum(j[0] > RTOL for _, j in found)] + [sum(j[i] > FAR for _, j in found) for i in range(3)]
        worst = max((j[0] for _, j in found), default=0)
        print(f"| {solver} | {len(found)} | " + " | ".join(map(str, counts)) + f" | {worst:.1e} |", flush=True)
        for name, (norm, rows, entry) in found if arguments.each else ():
            if max(norm, rows, entry) > FAR:
                print(f"|   {name} | | {norm:.1e} | | {rows:.1e} | {entry:.1e} | |")


if __name__ == "__main__":
    main()
