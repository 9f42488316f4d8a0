/* SPDX-License-Identifier: Apache-2.0 */
/* A triangle that is solved level set by level set: a whole triangle, or a leaf of recursive blocks. For the backends.
 */
#ifndef TESS_TRIANGULAR_LEAF_H
#define TESS_TRIANGULAR_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/precision.h>

#include "base/loop_state.h"

/* Positions begin .. end - 1 of a schedule, on the host: rows of one level set that threads share, or rows for one
   thread. */
typedef struct level_run {
    int64_t begin, end;
    bool shared;
} level_run;

/* How a GPU solves; each plan gives the same bits. */
typedef struct leaf_plan {
    int blocks;       /* that may run on a multiprocessor while rows wait for one another; 0: one block for all rows */
    bool look_at_all; /* waiting rows look at all inputs each time */
} leaf_plan;

/* This many blocks are all that a multiprocessor takes. */
enum { MOST_RESIDENT = 8 };

/*
 * Rows and columns first .. first + n - 1 of a triangle with ones on its diagonal, which are not stored. Position p of
 * the schedule is row row[p]; its entries are row_ptr[p] .. row_ptr[p + 1] - 1, with ascending columns. A row comes
 * after the rows that it needs. Arrays are on the context's device, except `runs`.
 */
typedef struct triangle_leaf {
    int64_t first, n, nnz;
    int64_t level_sets; /* the rows are of one level set */
    int32_t *row;       /* n */
    void *row_ptr;      /* n + 1 offsets of row_ptr_bits */
    int row_ptr_bits;   /* 32 or 64 */
    int32_t *col_ind;   /* nnz, counted from the first column of the whole triangle */
    void *val;          /* nnz values of `precision` */
    int64_t *source;    /* nnz: the sources of the values */
    level_run *runs;    /* nruns, on the host; only for CPU contexts */
    int64_t nruns;
    leaf_plan plan;  /* of a GPU */
    bool has_chosen; /* the plan was measured */
    void *workspace; /* what the plan needs; NULL on the host */
    int64_t workspace_bytes;
    void *columns_workspace; /* the same of up to so many columns; NULL on the host, and before they are prepared */
    int64_t columns_bytes;
    int columns;
    tess_precision precision;
} triangle_leaf;

/*
 * x := T^-1 b on the leaf's rows; earlier elements of x hold the solution already. b may be x. FP64 vectors of the
 * whole triangle. Vectors of several columns are by rows (dense/columns.h), in no loop, and each column has the bits
 * that it has alone; on a GPU their number is a power of two, up to TESS_MAX_COLUMNS.
 */
typedef struct triangle_args {
    const double *b;
    double *x;
    const double *scale; /* also computes scaled_i = scale_i x_i; scaled is neither b nor x */
    double *scaled;
    tess_loop_state *state; /* NULL: not in a loop */
    int columns;            /* of b, x and scaled; 0 or 1: one */
} triangle_args;

static inline int columns_of(const triangle_args *args)
{
    return args->columns > 1 ? args->columns : 1;
}

#ifdef __cplusplus
extern "C" {
#endif

struct device_csr;
struct leveled_rows;

/* The functions of a device. */
typedef struct triangle_ops {
    /* Makes a plan by the leaf's size, when its arrays exist. */
    tess_status (*prepare)(tess_context *ctx, triangle_leaf *leaf);
    tess_status (*set_plan)(tess_context *ctx, triangle_leaf *leaf, leaf_plan plan);
    /* Solves by several plans and takes the fastest, if values exist; begins with none after so many seconds. */
    tess_status (*choose_plan)(tess_context *ctx, triangle_leaf *leaf, double seconds);
    /* Workspace for solves of up to so many columns; call it before them, and after the plan has changed. */
    tess_status (*prepare_columns)(tess_context *ctx, triangle_leaf *leaf, int columns);
    tess_status (*solve)(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args);
    /* work_p := b at order_p; x at order_p := work_p, and scaled likewise. */
    tess_status (*take)(tess_context *ctx, int64_t n, const int32_t *order, const triangle_args *args, double *work);
    tess_status (*give)(tess_context *ctx, int64_t n, const int32_t *order, const double *work,
                        const triangle_args *args);
    bool has_clock; /* the time of a solve says something: not on an emulated device */
    /* Level sets of triangles on the device (leveled.h); NULL on the host. */
    tess_status (*find_levels)(tess_context *ctx, const struct device_csr *t, const struct device_csr *needed_by,
                               int64_t most, struct leveled_rows *out, bool *found);
    tess_status (*take_rows)(tess_context *ctx, const struct device_csr *t, const int64_t *source, const int32_t *order,
                             struct device_csr *to, int64_t **to_source);
} triangle_ops;

extern const triangle_ops triangle_host_ops;
const triangle_ops *triangle_gpu_ops(void);
const triangle_ops *triangle_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
