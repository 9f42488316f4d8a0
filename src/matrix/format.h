/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a storage format (src/format/), and the product that all formats share. */
#ifndef TESS_MATRIX_FORMAT_H
#define TESS_MATRIX_FORMAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <tessera/matrix.h>

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The use of a row's sum instead of alpha, beta and residual: an iteration that writes the next vector directly. */
typedef enum tess_update_kind {
    TESS_UPDATE_NONE = 0,
    TESS_UPDATE_JACOBI,    /* y_i = x_i + omega ((rhs_i - sum) scale_i - x_i); omega = 1: (rhs_i - sum) scale_i */
    TESS_UPDATE_TIME_STEP, /* y_i = sum + scale_i x_i */
    TESS_UPDATE_POLYNOMIAL /* y_i = alpha sum + beta base_i; total_i = total_i + gamma y_i. Formats of one part */
} tess_update_kind;

typedef struct tess_update {
    tess_update_kind kind;
    const double *rhs, *scale;
    double omega;
    /* JACOBI with a reduction of one dot product: with[0] is not read, dots[0] adds ((y_i - x_i) / (omega scale_i))^2,
       the square of the residual of x at row i. */
    /* POLYNOMIAL: base and total have the precision of the vectors; base may be x or y, y may be absent, or total.
       wide_total (with FP32 vectors): the new total goes there in FP64 instead. Nothing is reduced. */
    const void *base;
    void *total;
    double *wide_total;
    double gamma;
} tess_update;

/* Which copy of a composite matrix is multiplied: for each row the assigned one, or level k - 1 for all rows. */
enum { TESS_COPY_ASSIGNED = 0, TESS_COPY_LEVEL = 1 };

/* A matrix-vector product with its epilogue, for arrays on the backend's device. */
typedef struct tess_spmv_args {
    tess_operation operation;
    const double *x;
    const float *x_shadow; /* NULL unless the format needs one */
    double *y;
    tess_precision vectors; /* FP32: x_fp32 and y_fp32 stand for x and y, with neither residual nor reduction */
    const float *x_fp32;
    float *y_fp32;
    double alpha, beta;       /* y = alpha A x + beta y; beta = 0: y is not read */
    const double *residual;   /* non-NULL: y = residual - A x instead */
    tess_reduction reduction; /* dot products with the new y, then a scalar update */
    tess_update update; /* x is the vector before, at the rows of y; but for POLYNOMIAL split and composite alone */
    /* Of multiply_columns: FP64 vectors of several columns, by rows (value c of row i at i * columns + c); a power of
       two, at most TESS_MAX_COLUMNS. reduction.state: one for each. Neither update nor segments. */
    int columns;
    const uint8_t *segments; /* how each block column is used, from a solve's extension; NULL: as stored */
    /* The rest: split and composite formats alone. */
    float *y_shadow; /* non-NULL: y is written here too, rounded; y may be NULL then */
    /* FP32: rows stored below fp64 multiply with x_shadow in FP32 and sum up in FP64 */
    tess_arithmetic low_arithmetic;
    int copy; /* TESS_COPY_ASSIGNED, or TESS_COPY_LEVEL + level */
} tess_spmv_args;

/* The formats that the library chooses when the caller leaves the choice open. Each role belongs to one format. */
typedef enum tess_format_role {
    TESS_ROLE_NONE = 0,
    TESS_ROLE_DIAGONALS, /* auto: matrices of few diagonals */
    TESS_ROLE_SLICES,    /* auto, and base auto: rows of like lengths */
    TESS_ROLE_BLOCKS,    /* auto, and squares of triangles: a policy by blocks */
    TESS_ROLE_PARTS,     /* auto, and schedules with mixed entries: any other policy */
    TESS_ROLE_COPIES,    /* schedules in which each entry has a precision */
    TESS_ROLE_NODES      /* auto: complex matrices */
} tess_format_role;

enum {
    TESS_EVERY_PRECISION = (1 << TESS_PRECISION_COUNT) - 1,
    TESS_PLAIN_ARITHMETICS = 1 << TESS_ARITHMETIC_FP64 | 1 << TESS_ARITHMETIC_FP32,
    TESS_EVERY_ARITHMETIC = TESS_PLAIN_ARITHMETICS | 1 << TESS_ARITHMETIC_FP32X2,
    /* of a format with one precision */
    TESS_WHOLE_POLICIES = 1 << TESS_POLICY_NONE | 1 << TESS_POLICY_LOSSLESS | 1 << TESS_POLICY_ERROR_BOUND,
    TESS_EVERY_POLICY =
        TESS_WHOLE_POLICIES | 1 << TESS_POLICY_FIXED_RANGE | 1 << TESS_POLICY_MEAN_RANGE | 1 << TESS_POLICY_MEAN_3STD
};

/* Whether a set of tess_format_capabilities contains an enumerator; accepts any number. */
static inline bool tess_in_set(unsigned set, int value)
{
    return value >= 0 && value < 32 && (set >> value & 1U) != 0;
}

/* Whether a policy judges the values alone, so that it can also choose one precision for the whole matrix. */
static inline bool tess_policy_judges_values(tess_policy policy)
{
    return policy == TESS_POLICY_LOSSLESS || policy == TESS_POLICY_ERROR_BOUND;
}

/* The largest relative change of a value that a policy allows; Inf: it sets no limit to that. Below 2^-53 error-bound
   allows none. */
static inline double tess_policy_loss(const tess_policy_options *o)
{
    const bool bounded = o->policy == TESS_POLICY_ERROR_BOUND;

    if (o->policy == TESS_POLICY_LOSSLESS || (bounded && o->componentwise)) { return o->parameter; }
    return bounded && o->parameter < 0x1p-53 ? 0.0 : INFINITY;
}

/* A storage format: what it can do. `storage` is the format's own object. registry/formats.def has name and number. */
typedef struct tess_format_ops {
    tess_format_capabilities can;
    tess_format_role role;
    /* Of another way to store the format (FORMAT_VARIANT in registry/papers.def): whether the options want it. */
    bool (*is_asked_for)(const tess_storage_options *options);
    /* What the capabilities do not say of options that fit them; NULL: nothing. nrows, ncols: -1 where they are not
       known. The granularity is settled. Also asked of the bases of parts. */
    tess_status (*check_options)(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_storage_options *options);
    /* For a format that takes parts: their assignment. */
    const tess_assignment_summary *(*summary)(const tess_matrix *a);
    bool (*rounds_products)(const tess_matrix *a); /* products of low values are rounded to FP32; NULL: never */
    bool (*takes_fp32)(const tess_matrix *a);      /* products with FP32 vectors; NULL: always */
    int (*block_size)(const tess_matrix *a);       /* rows of a block of nodes; NULL: there is none */
    tess_format (*base_of)(const tess_matrix *a, int level); /* the format of a level's part; NULL: its own */
    /* Builds from an assembled matrix (CSR, same context) by options that fit. assignment: the caller's, borrowed, made
       from this matrix; NULL: by options->policy, if the format takes parts. */
    tess_status (*build)(const tess_matrix *assembled, const tess_storage_options *options,
                         const tess_assignment *assignment, void **storage);
    /* New values from the assembled matrix into an existing storage. */
    tess_status (*refresh)(const tess_matrix *assembled, void *storage);
    void (*destroy)(tess_context *ctx, void *storage);
    /* Prepares everything else that products need, so that products allocate nothing; may be called again. */
    tess_status (*prepare)(const tess_matrix *a);
    tess_status (*spmv)(const tess_matrix *a, const tess_spmv_args *args);
    /* Whether this matrix has multiply_columns; steps: also with FP32 vectors and the update POLYNOMIAL. NULL: no. */
    bool (*takes_columns)(const tess_matrix *a, bool steps);
    /* The product of several columns in one pass, in FP64 or FP32, and the reduction of those that run.
       Columns that do not run may be written. */
    tess_status (*multiply_columns)(const tess_matrix *a, const tess_spmv_args *args);
    /* Host arrays of the stored nonzeros in CSR order, decoded to FP64; any may be NULL. */
    tess_status (*decode)(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val);
    int64_t (*bytes)(const tess_matrix *a);
} tess_format_ops;

/* In registry/formats.c: the table of a format, or NULL; that by which the options store it; the format that has a
 * role.
 */
const tess_format_ops *tess_find_format(tess_format format);
const tess_format_ops *tess_find_storage(const tess_storage_options *options);
tess_format tess_format_in_role(tess_format_role role);

#ifdef __cplusplus
}
#endif

#endif
