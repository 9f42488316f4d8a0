/* SPDX-License-Identifier: Apache-2.0 */
/* Inversion of one small dense block, the same on host and device. */
#ifndef TESS_PRECOND_BLOCK_JACOBI_INVERT_BLOCK_H
#define TESS_PRECOND_BLOCK_JACOBI_INVERT_BLOCK_H

#include <math.h>

#include <tessera/precond.h>

#include <tessera/export.h>

TESS_HD void swap_rows(double *a, int k, int p, int q)
{
    for (int j = 0; p != q && j < k; j++) {
        double t = a[p + k * j];

        a[p + k * j] = a[q + k * j];
        a[q + k * j] = t;
    }
}

TESS_HD void swap_columns(double *a, int k, int p, int q)
{
    for (int i = 0; p != q && i < k; i++) {
        double t = a[i + k * p];

        a[i + k * p] = a[i + k * q];
        a[i + k * q] = t;
    }
}

/* Step s of the elimination: column s becomes that of the inverse. */
TESS_HD void eliminate_column(double *a, int k, int s)
{
    double pivot = a[s + k * s];

    a[s + k * s] = 1.0;
    for (int j = 0; j < k; j++) {
        a[s + k * j] /= pivot;
    }
    for (int i = 0; i < k; i++) {
        double factor = a[i + k * s];

        if (i == s || factor == 0.0) { continue; }
        a[i + k * s] = 0.0;
        for (int j = 0; j < k; j++) {
            a[i + k * j] -= factor * a[s + k * j];
        }
    }
}

/*
 * Inverts the k by k column-major block in place by Gauss-Jordan elimination with partial pivoting (Higham, Accuracy
 * and Stability of Numerical Algorithms, section 14.4). Returns the number of the first row without a usable pivot, or
 * -1.
 */
TESS_HD int invert_block(double *a, int k)
{
    signed char swapped[TESS_MAX_BLOCK_SIZE];

    for (int s = 0; s < k; s++) {
        int pivot = s;

        for (int i = s + 1; i < k; i++) {
            if (fabs(a[i + k * s]) > fabs(a[pivot + k * s])) { pivot = i; }
        }
        if (!(fabs(a[pivot + k * s]) > 0.0) || a[pivot + k * s] - a[pivot + k * s] != 0.0) { return s; }
        swapped[s] = (signed char)pivot;
        swap_rows(a, k, s, pivot);
        eliminate_column(a, k, s);
    }
    for (int s = k - 1; s >= 0; s--) {
        swap_columns(a, k, s, swapped[s]);
    }
    for (int i = 0; i < k * k; i++) {
        if (a[i] - a[i] != 0.0) { return i % k; }
    }
    return -1;
}

#endif
