/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain CSR matrices in the memory of a GPU, for set-ups that compute with whole matrices: products and transposes.
 * Sums have the order of the entries, so that the bits are the same on every run.
 */
#ifndef TESS_MATRIX_DEVICE_CSR_H
#define TESS_MATRIX_DEVICE_CSR_H

#include "matrix/host_csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows are sorted, their columns unique. row_ptr NULL: there is no matrix; val NULL: a pattern. Arrays are from
   tess_device_allocate of one context. */
typedef struct device_csr {
    int64_t nrows, ncols, nnz; /* nnz < 2^31 */
    int32_t *row_ptr, *col_ind;
    double *val;
    bool borrowed; /* the arrays belong to a matrix, and are only read */
} device_csr;

/* Where the products of C = A B go, for one new set of values after another: a byte for each, the entry of its row.
   code NULL: there is no plan. */
typedef struct device_csr_plan {
    bool made; /* tried: rows may be too long, or memory too small */
    int64_t nrows, units;
    int32_t *first; /* nrows + 1: where codes of a row begin, in units of 4 */
    uint8_t *code;  /* 4 * units */
    int32_t longest;
} device_csr_plan;

/* The functions of a GPU; the host has host_csr.h instead. They release what they made when they fail. */
typedef struct device_csr_ops {
    /* c := A B; a pattern if a or b is one. Each entry is summed in the order of A's row. OUT_OF_RANGE: c would have
       2^31 entries or more. */
    tess_status (*multiply)(tess_context *ctx, const device_csr *a, const device_csr *b, device_csr *c);
    /* The same into the pattern that c has already; c->val is allocated where it is NULL. */
    tess_status (*multiply_again)(tess_context *ctx, const device_csr *a, const device_csr *b, device_csr *c);
    /* A plan of c = A B, if rows are short enough. */
    tess_status (*plan)(tess_context *ctx, const device_csr *a, const device_csr *b, const device_csr *c,
                        device_csr_plan *plan);
    /* As multiply_again, with the same bits; plan->code is there. */
    tess_status (*multiply_planned)(tess_context *ctx, const device_csr *a, const device_csr *b,
                                    const device_csr_plan *plan, device_csr *c);
    /* out := A^T. source: nnz numbers, the entry of A for each entry of out; NULL: not wanted. */
    tess_status (*transpose)(tess_context *ctx, const device_csr *a, device_csr *out, int32_t **source);
    /* values[k] = from[source[k]] for k < n */
    tess_status (*gather)(tess_context *ctx, int64_t n, const double *from, const int32_t *source, double *values);
} device_csr_ops;

const device_csr_ops *device_csr_gpu_ops(void);
/* NULL: the context has no GPU. */
const device_csr_ops *device_csr_ops_of(const tess_context *ctx);

/* Offsets for nrows rows, not set. */
tess_status device_csr_allocate_rows(tess_context *ctx, int64_t nrows, int64_t ncols, device_csr *out);
/* col_ind and, if `values`, val for nnz entries. OUT_OF_RANGE: they are too many for 32-bit offsets. */
tess_status device_csr_allocate_entries(tess_context *ctx, int64_t nnz, bool values, device_csr *a);
/* A copy without values. The caller releases what there is after a failure. */
tess_status device_csr_copy_pattern(tess_context *ctx, const device_csr *a, device_csr *out);
/* Frees the arrays and clears *a. */
void device_csr_release(tess_context *ctx, device_csr *a);
void device_csr_release_values(tess_context *ctx, device_csr *a);
int64_t device_csr_bytes(const device_csr *a);
void device_csr_plan_release(tess_context *ctx, device_csr_plan *plan);
int64_t device_csr_plan_bytes(const device_csr_plan *plan);

/* Whether a matrix of a GPU context has offsets of 32 bits; then it can be borrowed. */
bool device_csr_takes(const tess_matrix *a);
void device_csr_borrow(const tess_matrix *a, device_csr *out);
/* An assembled matrix that takes the arrays, also on failure. */
tess_status device_csr_to_matrix(tess_context *ctx, device_csr *a, tess_matrix **out);
/* A copy on the host. */
tess_status device_csr_download(tess_context *ctx, const device_csr *a, host_csr *out);

#ifdef __cplusplus
}
#endif

#endif
