#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python3-petsc4py-real3.18 3.18.5-1 (PETSc 3.18.5) with openmpi-bin 4.1.4-3+b1, Debian 12.
# One would guess: an SBAIJ matrix of which only entries on and above the diagonal are set is the same symmetric matrix
# for any block size, on any number of processes, and after MatConvert to AIJ.
# What happens: on one process it is. On two, MatConvert writes the unset entries below the diagonal of diagonal blocks
# as zeros, from block size 2 on, and from block size 8 on MatMult leaves them out as well: it multiplies by another,
# unsymmetric matrix. No error is raised.
# Seen on 2026-11-28: tridiag(-1, 4, -1) of two blocks a process, times (1, 2, 3, ...); the largest errors.
. "$(dirname "$0")/common.sh"
from_debian python3-petsc4py-real3.18 3.18.5-1
from_debian openmpi-bin 4.1.4-3+b1
cat >blocks.py <<'END'
import glob
import sys

sys.path[:0] = glob.glob("/usr/lib/petscdir/petsc3.18/*-real/lib/python3/dist-packages")
import numpy as np
from petsc4py import PETSc

comm = PETSc.COMM_WORLD
lines = []
for size in (1, 2, 7, 8):
    n = 2 * size * comm.size
    S = PETSc.Mat().create(comm)
    S.setSizes(((2 * size, n), (2 * size, n)))
    S.setType("sbaij")
    S.setBlockSize(size)
    S.setPreallocationNNZ((3, 3))
    first, last = S.getOwnershipRange()
    for i in range(first, last):
        S.setValue(i, i, 4)
        if i + 1 < n:
            S.setValue(i, i + 1, -1)
    S.assemble()
    x, y = S.createVecRight(), S.createVecLeft()
    x.setArray(np.arange(first, last) + 1.0)
    whole = np.arange(n) + 1.0
    right = 4 * whole - np.r_[whole[1:], 0] - np.r_[0, whole[:-1]]
    found = []
    for A in (S, S.duplicate(copy=True).convert("aij")):
        A.mult(x, y)
        found.append(f"{abs(y.array - right[first:last]).max():g}")
    lines.append(f"{comm.size} processes, blocks of {size}: MatMult {found[0]}, as AIJ {found[1]}")
if comm.rank == comm.size - 1:
    print("\n".join(lines), file=open(f"of-{comm.size}", "w"))
END
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for processes in 1 2; do
    mpirun.openmpi --oversubscribe -n $processes /usr/bin/python3 blocks.py
done
cat of-1 of-2 >seen
same seen <<'END'
1 processes, blocks of 1: MatMult 0, as AIJ 0
1 processes, blocks of 2: MatMult 0, as AIJ 0
1 processes, blocks of 7: MatMult 0, as AIJ 0
1 processes, blocks of 8: MatMult 0, as AIJ 0
2 processes, blocks of 1: MatMult 0, as AIJ 0
2 processes, blocks of 2: MatMult 0, as AIJ 8
2 processes, blocks of 7: MatMult 0, as AIJ 54
2 processes, blocks of 8: MatMult 31, as AIJ 62
END
