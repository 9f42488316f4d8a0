#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpich 4.0.2-3+b1 and libmpich-dev, Debian 12.
# One would guess: MPI_Allreduce gives every rank the same number. With a NaN it may be the NaN or not, but one of them.
# What happens: of one double on two ranks, rank 0 gets the other rank's value and rank 1 gets the NaN, or the reverse.
# A stopping test behind it sends the ranks different ways. Of 8 doubles the ranks agree: one half of them has the
# numbers, the other half the NaN.
# Seen on 2026-11-28: MPI_MAX, rank r sends 1 + r, or NaN.
. "$(dirname "$0")/common.sh"
from_debian mpich 4.0.2-3+b1
from_debian libmpich-dev 4.0.2-3+b1
cat >reduce.c <<'END'
#include <math.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int from = 0; from < 2; ++from)
        for (int count = 1; count <= 8; count += 7) {
            double sent[8], got[8];
            for (int i = 0; i < count; ++i) sent[i] = rank == from ? NAN : 1.0 + rank;
            MPI_Allreduce(sent, got, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            printf("NaN from %d, count %d: rank %d has", from, count, rank);
            for (int i = 0; i < count; ++i) printf(isnan(got[i]) ? " NaN" : " %g", got[i]);
            printf("\n");
        }
    MPI_Finalize();
}
END
mpicc.mpich reduce.c -o reduce
mpiexec.mpich -n 2 ./reduce | sort >seen
same seen <<'END'
NaN from 0, count 1: rank 0 has 2
NaN from 0, count 1: rank 1 has NaN
NaN from 0, count 8: rank 0 has 2 2 2 2 NaN NaN NaN NaN
NaN from 0, count 8: rank 1 has 2 2 2 2 NaN NaN NaN NaN
NaN from 1, count 1: rank 0 has NaN
NaN from 1, count 1: rank 1 has 1
NaN from 1, count 8: rank 0 has NaN NaN NaN NaN 1 1 1 1
NaN from 1, count 8: rank 1 has NaN NaN NaN NaN 1 1 1 1
END
