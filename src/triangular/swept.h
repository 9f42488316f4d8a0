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

#include "triangular/pieces.h"

/* N as one square, and space for two vectors. */
tess_status swept_cut(sparse_triangle *t, const triangle_pattern *p);
/* As triangle_solve. */
tess_status swept_solve(const sparse_triangle *t, const triangle_args *args);

#endif
