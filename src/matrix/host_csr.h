/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain CSR matrices on the host, for set-ups that compute with whole matrices: transposes and products. Rows belong to
 * threads, and sums have the order of the entries, so that the bits do not depend on the number of threads.
 */
#ifndef TESS_MATRIX_HOST_CSR_H
#define TESS_MATRIX_HOST_CSR_H

#include "matrix/matrix.h"

/* row_ptr has nrows + 1 offsets from 0; NULL: there is no matrix. Arrays are from tess_host_allocate of one context.
   Columns are unique within a row; they ascend where a function says "sorted". */
typedef struct host_csr {
    int64_t nrows, ncols;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
    int64_t capacity; /* entries that col_ind and val have room for; 0: as many as there are */
    bool borrowed;    /* col_ind and val belong to a matrix, and are only read */
} host_csr;

static inline int64_t host_csr_nnz(const host_csr *a)
{
    return a->row_ptr ? a->row_ptr[a->nrows] : 0;
}

/* Offsets only, not set. */
tess_status host_csr_allocate_rows(tess_context *ctx, int64_t nrows, int64_t ncols, host_csr *out);
/* col_ind and val for the row_ptr that is there. */
tess_status host_csr_allocate_entries(tess_context *ctx, host_csr *a);
/* row_ptr[i + 1] holds the length of row i: makes offsets of them. */
void host_csr_sum_lengths(host_csr *a);
/* Frees the arrays and clears *a, whose row_ptr may be NULL. The entries are released by row_ptr's count. */
void host_csr_release(tess_context *ctx, host_csr *a);
/* Frees col_ind and val alone. */
void host_csr_release_entries(tess_context *ctx, host_csr *a);
/* Values for the pattern that is there, not set; and frees them alone. */
tess_status host_csr_allocate_values(tess_context *ctx, host_csr *a);
void host_csr_release_values(tess_context *ctx, host_csr *a);

/* An assembled matrix, sorted: of a CPU context its own arrays, borrowed until new values come; of a GPU a copy. */
tess_status host_csr_from_matrix(const tess_matrix *a, host_csr *out);
/* A copy as an assembled matrix on any context; rows need not be sorted. */
tess_status host_csr_to_matrix(tess_context *ctx, const host_csr *a, tess_matrix **out);

/* Exchanges two entries of a row. */
static inline void host_csr_swap(int32_t *column, double *val, int64_t s, int64_t t)
{
    const int32_t c = column[s];
    const double v = val[s];

    column[s] = column[t];
    val[s] = val[t];
    column[t] = c;
    val[t] = v;
}

/* Sorts the columns of one row, and of each row. */
void host_csr_sort_row(int64_t count, int32_t *column, double *val);
void host_csr_sort(tess_context *ctx, host_csr *a);
/* out := A^T, sorted. */
tess_status host_csr_transpose(tess_context *ctx, const host_csr *a, host_csr *out);
/* c := A B, row by row. `sorted`: c is; otherwise columns have the order in which
   they appear. Columns of entries that cancel to 0 stay. */
tess_status host_csr_multiply(tess_context *ctx, const host_csr *a, const host_csr *b, bool sorted, host_csr *c);
/* The same into the pattern that c has already. */
tess_status host_csr_multiply_again(tess_context *ctx, const host_csr *a, const host_csr *b, host_csr *c);
/* c := R A P, sorted. */
tess_status host_csr_multiply_triple(tess_context *ctx, const host_csr *r, const host_csr *a, const host_csr *p,
                                     host_csr *c);
/* The same into the pattern of c. ap: the pattern of A P without values, or nothing, and then it is found. */
tess_status host_csr_multiply_triple_again(tess_context *ctx, const host_csr *r, const host_csr *a, const host_csr *p,
                                           host_csr *ap, host_csr *c);

#endif
