#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python3-petsc4py-real3.18 3.18.5-1 (PETSc 3.18.5) with openmpi-bin 4.1.4-3+b1, Debian 12.
# One would guess: MatIsSymmetric, which is collective, gives all processes one answer about the matrix that they share.
# What happens: each process answers for its own rows, and keeps that in the matrix as known. Of three processes with
# two rows each, two see that A[0,2] = 1 and A[2,0] = 3 differ; the third one says that the matrix is symmetric. Code
# that branches by the answer, between CG and GMRES say, then waits for messages that nobody sends.
# Seen on 2026-11-28: 6 rows, 2 on the diagonal, and the two entries.
. "$(dirname "$0")/common.sh"
from_debian python3-petsc4py-real3.18 3.18.5-1
from_debian openmpi-bin 4.1.4-3+b1
cat >symmetric.py <<'END'
import glob
import sys

sys.path[:0] = glob.glob("/usr/lib/petscdir/petsc3.18/*-real/lib/python3/dist-packages")
from petsc4py import PETSc

rank = PETSc.COMM_WORLD.rank
A = PETSc.Mat().createAIJ(((2, 6), (2, 6)), nnz=2, comm=PETSc.COMM_WORLD)
for i in range(2 * rank, 2 * rank + 2):
    A.setValue(i, i, 2)
if rank == 0:
    A.setValue(0, 2, 1)
if rank == 1:
    A.setValue(2, 0, 3)
A.assemble()
answer = A.isSymmetric()
with open(f"process-{rank}", "w") as file:
    print(f"process {rank}: symmetric {answer}; known: {A.isSymmetricKnown()[1]}", file=file)
END
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun.openmpi --oversubscribe -n 3 /usr/bin/python3 symmetric.py
cat process-? >seen
same seen <<'END'
process 0: symmetric False; known: False
process 1: symmetric False; known: False
process 2: symmetric True; known: True
END
