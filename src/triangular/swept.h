/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangle I + N solved approximately by Jacobi iterations: x_0 = b, x_{k+1} = b - N x_k, each one product with N,
 * whose rows do not wait for one another. After as many as the triangle has level sets less one, x is exact but for
 * rounding, because N is nilpotent. K of them compute x = (I - N + N^2 - .. +- N^K) b: a linear map, whose transpose is
 * that of the transposed triangle, and which is never singular. Source: Anzt, Chow, Dongarra, Iterative sparse
 * triangular solves for preconditioning, Euro-Par (2015).
 */
#ifndef TESS_TRIANGULAR_SWEPT_H
#define TESS_TRIANGULAR_SWEPT_H

#include "matrix/matrix.h"
#include "triangular/leaf.h"

typedef struct swept_triangle {
    tess_context *ctx;
    int64_t n;
    int sweeps;
    const tess_matrix *beside; /* N, or NULL if it is empty */
    double *work;              /* two vectors of n values for each column, on the device */
} swept_triangle;

/* As triangle_solve. */
tess_status swept_solve(const swept_triangle *t, const triangle_args *args);

#endif
