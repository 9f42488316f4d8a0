#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python3-petsc4py-real3.18 3.18.5-1 (PETSc 3.18.5), Debian 12.
# One would guess: without a preconditioner GMRES cannot take a residual for small that is not, so that a singular
# system without a solution ends at the limit of iterations or in a breakdown.
# What happens: CONVERGED_ATOL after 30 iterations, with x of some 1e15 and a true residual above that of x = 0.
# The estimate fell to rounding when the basis was full; nobody computed b - A x again. minres says
# DIVERGED_INDEFINITE_MAT, lsqr the least-squares solution.
# Seen on 2026-11-28: pure Neumann in one dimension, 30 rows, b = (1, 0, ..., 0), rtol 1e-8.
. "$(dirname "$0")/common.sh"
from_debian python3-petsc4py-real3.18 3.18.5-1
cat >neumann.py <<'END'
import glob
import sys

sys.path[:0] = glob.glob("/usr/lib/petscdir/petsc3.18/*-real/lib/python3/dist-packages")
from petsc4py import PETSc

names = {value: name for name, value in vars(PETSc.KSP.ConvergedReason).items() if isinstance(value, int)}
A = PETSc.Mat().createAIJ(30, nnz=3)
for i in range(30):
    A.setValue(i, i, 1 if i in (0, 29) else 2)
    if i:
        A.setValue(i, i - 1, -1)
        A.setValue(i - 1, i, -1)
A.assemble()
x, b = A.createVecs()
b.setValue(0, 1)
b.assemble()
for kind in ("gmres", "fgmres", "minres", "lsqr"):
    solver = PETSc.KSP().create()
    solver.setOperators(A)
    solver.setType(kind)
    solver.getPC().setType("none")
    solver.setTolerances(rtol=1e-8, max_it=300)
    x.set(0)
    solver.solve(b, x)
    r = b.duplicate()
    A.mult(x, r)
    r.aypx(-1, b)
    print(kind, names[solver.reason], "residual above that of 0" if r.norm() > b.norm() else f"{r.norm():.3f}",
          "x above 1e14" if x.norm() > 1e14 else "")
END
/usr/bin/python3 neumann.py >seen
same seen <<'END'
gmres CONVERGED_ATOL residual above that of 0 x above 1e14
fgmres CONVERGED_ATOL residual above that of 0 x above 1e14
minres DIVERGED_INDEFINITE_MAT residual above that of 0 x above 1e14
lsqr CONVERGED_RTOL_NORMAL 0.183 
END
