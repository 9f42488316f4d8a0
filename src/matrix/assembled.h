/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assembled matrix: compressed sparse rows in FP64. Row i owns entries row_ptr[i] .. row_ptr[i + 1] - 1 of col_ind
 * and val; columns ascend within a row and are unique. Offsets are 32 bits when nnz < 2^31, else 64.
 */
#ifndef TESS_MATRIX_ASSEMBLED_H
#define TESS_MATRIX_ASSEMBLED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/offsets.h"
#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The view for kernels: arrays in the memory of the backend that runs it. */
typedef struct csr_view {
    int64_t nrows, ncols, nnz;
    const void *row_ptr; /* nrows + 1 offsets of row_ptr_bits */
    const int32_t *col_ind;
    const void *val;  /* nnz values of `precision` */
    int row_ptr_bits; /* 32 or 64 */
    tess_precision precision;
    /*
     * For a part of a matrix that is stored in a row order of its own (src/format/split): the row of y of each row, and
     * the scales of its values. A part may begin in the middle of arrays that it shares: then row_ptr[0] > 0. row_ptr
     * NULL: all rows are empty.
     */
    const int32_t *row_of; /* NULL: row i is row_shift + i of y */
    int64_t row_shift;
    const int16_t *exponent; /* of a row's scale: its values are stored over 2^exponent; NULL: none has one */
    bool unsorted;           /* columns were renumbered, and do not ascend within a row */
} csr_view;

/* Of entries low .. high - 1, whose columns ascend: the first from `column` on; high: there is none. */
TESS_HD int64_t csr_column_from(const int32_t *col_ind, int64_t low, int64_t high, int64_t column)
{
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (col_ind[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The same of row i. */
TESS_HD int64_t csr_row_from(const csr_view *v, int64_t i, int64_t column)
{
    return csr_column_from(v->col_ind, tess_row_offset(v->row_ptr, v->row_ptr_bits, i),
                           tess_row_offset(v->row_ptr, v->row_ptr_bits, i + 1), column);
}

/* The entry (i, j); -1: there is none. */
TESS_HD int64_t csr_find(const csr_view *v, int64_t i, int64_t j)
{
    const int64_t k = csr_row_from(v, i, j), end = tess_row_offset(v->row_ptr, v->row_ptr_bits, i + 1);

    return k < end && v->col_ind[k] == j ? k : -1;
}

/* a_ij of a matrix in FP64: 0 where there is no entry. */
TESS_HD double csr_value_at(const csr_view *v, int64_t i, int64_t j)
{
    const int64_t k = csr_find(v, i, j);

    return k >= 0 ? ((const double *)v->val)[k] : 0.0;
}

/* The plan of the SpMV, which the format makes once per pattern (format/csr/csr.h). */
typedef struct csr_plan csr_plan;

/* Arrays that matrices of several contexts read (matrix/share.c). */
typedef struct csr_shared csr_shared;

/* A CSR matrix on one context's device. */
typedef struct csr_storage {
    csr_view view;
    bool owns_index, owns_values; /* whether row_ptr and col_ind, or val, are freed with the matrix */
    csr_plan *plan;               /* of the pattern; NULL until it is needed */
    bool owns_plan;
    struct csr_storage *transpose; /* made at the first transposed product; NULL before */
    int64_t *transpose_source;     /* on the device: the entry of val for each entry of the transpose */
    uint64_t values_version;       /* values of the original that are stored here */
    csr_shared *shared;            /* holds the arrays in place of owns_index and owns_values; NULL: nothing does */
} csr_storage;

struct tess_residual_sums;

/* Residuals of several columns on the host, of a group in one pass over the matrix. Group g of b begins at g * b_group,
   and row i of it at i * b_stride from there, with RESIDUAL_GROUP values, those beyond `columns` finite; likewise x. */
enum { RESIDUAL_GROUP = 8, RESIDUAL_COLUMNS = 32 };
typedef struct residual_columns {
    int columns; /* at most RESIDUAL_COLUMNS */
    const double *b, *x;
    int64_t b_group, b_stride, x_group, x_stride;
    double *residual; /* nrows times RESIDUAL_GROUP values for each group; NULL: not wanted */
    int exponent;     /* the sums are of values times 2^-exponent */
} residual_columns;

/* The functions of a device for assembled matrices, besides products. */
typedef struct assembled_ops {
    /* Missing entries are 0. */
    tess_status (*diagonal)(const tess_matrix *assembled, double *diagonal);
    /* r = b - A x in two words, and its sums of values times 2^-exponent (tessera/residual.h); residual may be NULL */
    tess_status (*true_residual)(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                 int exponent, struct tess_residual_sums *sums);
    /* *bad_row: first row with an offset out of order, a column out of range, unsorted or duplicate; -1 when none */
    tess_status (*check)(tess_context *ctx, const csr_view *view, int64_t *bad_row);
    /* true_residual of several columns, each with the bits that it has alone: `columns` sums. NULL: there is none */
    tess_status (*true_residuals)(const tess_matrix *assembled, const residual_columns *q,
                                  struct tess_residual_sums *sums);
} assembled_ops;

/* residual_host.c */
tess_status true_residual_host(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                               int exponent, struct tess_residual_sums *sums);
tess_status true_residuals_host(const tess_matrix *assembled, const residual_columns *q,
                                struct tess_residual_sums *sums);

extern const assembled_ops assembled_host_ops;
const assembled_ops *assembled_gpu_ops(void);
const assembled_ops *assembled_ops_of(const tess_context *ctx);

/* Frees the arrays of a view that were allocated on the context's device. */
void csr_release_view(tess_context *ctx, const csr_view *view);
/* Assembled matrix over a view on the context's device; owned: its arrays are taken, also on failure. */
tess_status tess_matrix_from_view(tess_context *ctx, const csr_view *view, bool owned, tess_matrix **out);
/* Lets go of shared arrays; the last holder frees them. */
void csr_shared_release(tess_context *ctx, csr_storage *s);
/* Whether another matrix holds them too, or they are another matrix's. */
bool csr_shared_is_fixed(const csr_storage *s);
/* A^T on the device of `ctx`, from a matrix on the host. */
tess_status csr_make_transpose(tess_context *ctx, const csr_view *host, tess_matrix **out);
/* The values of A^T in its order. */
tess_status csr_renew_transpose(tess_context *ctx, const csr_view *host, tess_matrix *transpose);
/* Assembled matrix on the device from host arrays, which stay the caller's. */
tess_status tess_matrix_upload_csr(tess_context *ctx, const csr_view *host, tess_matrix **out);

/* The values of storage that owns them, for writing: its view has them as const. */
static inline void *csr_own_values(csr_storage *s)
{
    return (void *)(uintptr_t)s->view.val;
}

/* The storage of an assembled or converted CSR matrix. */
static inline const csr_storage *csr_of(const tess_matrix *a)
{
    return (const csr_storage *)a->storage;
}

#ifdef __cplusplus
}
#endif

static inline int64_t csr_offset(const csr_view *v, int64_t i)
{
    return tess_row_offset(v->row_ptr, v->row_ptr_bits, i);
}

#endif
