#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# openmpi-bin 4.1.4-3+b1 and libopenmpi-dev, Debian 12, on an x86-64 processor with AVX2 or AVX-512.
# One would guess: what MPI_MAX makes of a NaN and a number is the same for every element of a vector.
# What happens: whole vector registers keep one operand, the elements that are left over keep the other one. Rank 0
# sends NaN and rank 1 sends 2 in all 17 elements: 16 results are 2, the last one is NaN. With the ranks exchanged, 16
# are NaN, and the last one is a number. All ranks agree.
# Seen on 2026-11-28.
. "$(dirname "$0")/common.sh"
from_debian openmpi-bin 4.1.4-3+b1
from_debian libopenmpi-dev 4.1.4-3+b1
grep -q avx2 /proc/cpuinfo || { echo "skipped: needs AVX2"; exit 77; }
cat >reduce.c <<'END'
#include <math.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int from = 0; from < 2; ++from) {
        double sent[17], got[17];
        for (int i = 0; i < 17; ++i) sent[i] = rank == from ? NAN : 1.0 + rank;
        MPI_Allreduce(sent, got, 17, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        int numbers = 0;
        for (int i = 0; i < 16; ++i) numbers += !isnan(got[i]);
        printf("NaN from %d: rank %d has %d numbers of the first 16; the last is %s\n", from, rank, numbers,
               isnan(got[16]) ? "NaN" : "a number");
    }
    MPI_Finalize();
}
END
mpicc.openmpi reduce.c -o reduce
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun.openmpi --oversubscribe -n 2 ./reduce 2>/dev/null | sort >seen
same seen <<'END'
NaN from 0: rank 0 has 16 numbers of the first 16; the last is NaN
NaN from 0: rank 1 has 16 numbers of the first 16; the last is NaN
NaN from 1: rank 0 has 0 numbers of the first 16; the last is a number
NaN from 1: rank 1 has 0 numbers of the first 16; the last is a number
END
