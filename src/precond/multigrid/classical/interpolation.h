/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation of classical multigrid. */
#ifndef TESS_PRECOND_MULTIGRID_CLASSICAL_INTERPOLATION_H
#define TESS_PRECOND_MULTIGRID_CLASSICAL_INTERPOLATION_H

#include "matrix/host_csr.h"

/* What to interpolate from and to. */
typedef struct amg_interpolation {
    const host_csr *a;
    const uint8_t *strong; /* per entry of a */
    const uint8_t *split;  /* per row: AMG_COARSE or AMG_FINE */
    const int32_t *number; /* the column of a coarse row */
    int64_t ncoarse;
    const int32_t *rows; /* the rows of a to interpolate to; NULL: all */
    int64_t nrows;       /* how many */
    int truncation;      /* most entries of a row; 0: all */
} amg_interpolation;

/*
 * Extended+i interpolation, sorted: De Sterck, Falgout, Nolting, Yang, Numer. Linear Algebra Appl. 15 (2008), eq.
 * (4.10) and (4.11), and truncation to the entries of largest magnitude (of equal ones those of the first columns),
 * which are scaled so that the row keeps its sum. A coarse row has a 1; a fine one without coarse neighbours nothing.
 */
tess_status amg_interpolate(tess_context *ctx, const amg_interpolation *to, host_csr *p);
/* Truncates rows of a matrix in the same way. Sorted rows stay so. */
tess_status amg_truncate(tess_context *ctx, int truncation, host_csr *p);
/* p := a b, truncated in the same way. Rows of a and b have at most `truncation` entries; 0: any number. Sorted. */
tess_status amg_multiply_truncated(tess_context *ctx, int truncation, const host_csr *a, const host_csr *b,
                                   host_csr *p);

#endif
