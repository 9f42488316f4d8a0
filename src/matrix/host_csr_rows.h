/* SPDX-License-Identifier: Apache-2.0 */
/* Plain CSR matrices from a function that computes a row. */
#ifndef TESS_MATRIX_HOST_CSR_ROWS_H
#define TESS_MATRIX_HOST_CSR_ROWS_H

#include "matrix/host_csr.h"

/* Where rows come from. `row` writes row i to arrays with room for its bound, and returns its length. Threads are
   numbered from 0, and a thread computes one row at a time. */
typedef struct row_source {
    int64_t nrows, ncols;
    int threads;
    const int64_t *bound; /* per row; NULL: `most` of each */
    int64_t most;
    int64_t (*row)(const void *user, int thread, int64_t i, int32_t *column, double *val);
    const void *user;
} row_source;

/* Chunks of rows are computed into space that is used again, so that no pass counts entries and little new memory is
   touched. */
tess_status host_csr_from_rows(tess_context *ctx, const row_source *from, host_csr *out);

/* What becomes of the rows of a product: `row` changes the `count` entries of row i, whose columns are in no order, in
   place, and returns how many are left. */
typedef struct row_finish {
    int64_t (*row)(const void *user, int64_t i, int64_t count, int32_t *column, double *val);
    const void *user;
} row_finish;

/* c := A B with finished rows. The product itself is in no memory. */
tess_status host_csr_multiply_finished(tess_context *ctx, const host_csr *a, const host_csr *b,
                                       const row_finish *finish, host_csr *c);

#endif
