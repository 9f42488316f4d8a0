#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python3-petsc4py-real3.18 3.18.5-1 (PETSc 3.18.5), Debian 12.
# One would guess: a Krylov method that stops at -ksp_max_it says DIVERGED_MAX_IT, as the manual describes the reason.
# What happens: gcr says CONVERGED_ITS, a success, at a relative residual of 0.6; all others tried say DIVERGED_MAX_IT.
# And -ksp_max_it 0 is one iteration for cg, bcgs, minres and gcr, and none for gmres.
# Seen on 2026-11-28: tridiagonal (-1, 2.1, -1), 30 rows, b = 1, no preconditioner, unpreconditioned norm of residuals.
. "$(dirname "$0")/common.sh"
from_debian python3-petsc4py-real3.18 3.18.5-1
cat >limit.py <<'END'
import glob
import sys

sys.path[:0] = glob.glob("/usr/lib/petscdir/petsc3.18/*-real/lib/python3/dist-packages")
from petsc4py import PETSc

names = {value: name for name, value in vars(PETSc.KSP.ConvergedReason).items() if isinstance(value, int)}
A = PETSc.Mat().createAIJ(30, nnz=3)
for i in range(30):
    A.setValue(i, i, 2.1)
    if i:
        A.setValue(i, i - 1, -1)
        A.setValue(i - 1, i, -1)
A.assemble()
x, b = A.createVecs()
b.set(1)
for kind in ("cg", "bcgs", "gmres", "minres", "gcr"):
    for limit in (2, 0):
        solver = PETSc.KSP().create()
        solver.setOperators(A)
        solver.setType(kind)
        solver.getPC().setType("none")
        solver.setTolerances(max_it=limit)
        solver.solve(b, x)
        r = b.duplicate()
        A.mult(x, r)
        r.aypx(-1, b)
        print(f"{kind} -ksp_max_it {limit}: {names[solver.reason]} after {solver.its}, {r.norm() / b.norm():.2f}")
END
/usr/bin/python3 limit.py >seen
same seen <<'END'
cg -ksp_max_it 2: DIVERGED_MAX_IT after 2, 0.86
cg -ksp_max_it 0: DIVERGED_MAX_IT after 1, 1.50
bcgs -ksp_max_it 2: DIVERGED_MAX_IT after 2, 0.36
bcgs -ksp_max_it 0: DIVERGED_MAX_IT after 1, 0.66
gmres -ksp_max_it 2: DIVERGED_MAX_IT after 2, 0.60
gmres -ksp_max_it 0: DIVERGED_MAX_IT after 0, 1.00
minres -ksp_max_it 2: DIVERGED_MAX_IT after 2, 0.60
minres -ksp_max_it 0: DIVERGED_MAX_IT after 1, 0.83
gcr -ksp_max_it 2: CONVERGED_ITS after 2, 0.60
gcr -ksp_max_it 0: CONVERGED_ITS after 1, 0.83
END
