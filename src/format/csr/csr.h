/* SPDX-License-Identifier: Apache-2.0 */
/* The format CSR: products of compressed sparse rows (matrix/assembled.h) in any precision, alone and as parts of other
 * formats. */
#ifndef TESS_FORMAT_CSR_CSR_H
#define TESS_FORMAT_CSR_CSR_H

#include "matrix/assembled.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of at most TESS_MAX_LEVELS + 1 parts of a matrix. */
typedef struct csr_part {
    csr_view view;
    csr_plan *plan;
} csr_part;

/*
 * The plan of a product by layers. There are 2 to TESS_MAX_LEVELS layers. Each has all rows of the matrix in their
 * order, a precision of its own, no scales, and offsets from 0; the matrix is the sum of its layers.
 */
typedef struct csr_layers csr_layers;

/* The functions of a device for CSR. */
typedef struct csr_ops {
    /* Plans of `count` matrices, or of as many parts of one, at most TESS_MAX_LEVELS + 1. All are NULL on failure. */
    tess_status (*make_plans)(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out);
    void (*free_plan)(tess_context *ctx, csr_plan *plan);
    tess_status (*spmv)(tess_context *ctx, const csr_view *view, const csr_plan *plan, const tess_spmv_args *args);
    /* The same in pairs of FP32 numbers (format/pairs.h). */
    tess_status (*multiply_pairs)(tess_context *ctx, const csr_view *view, const tess_spmv_args *args);
    /* As multiply_columns of a format; also of a part, without reduction. Empty rows need no plan. */
    tess_status (*multiply_columns)(tess_context *ctx, const csr_view *view, const csr_plan *plan,
                                    const tess_spmv_args *args);
    bool columns_take_steps; /* FP32 vectors, and steps of a polynomial */
    /* Data that products by parts need in addition to the parts' plans, made after these; NULL: none. The first plan
       owns it. */
    tess_status (*prepare_parts)(tess_context *ctx, int count, const csr_part *parts);
    /* The product of a matrix in parts, which own disjoint rows of y. All offsets have the same width. */
    tess_status (*spmv_parts)(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args);
    /* NULL on failure. */
    tess_status (*make_layers)(tess_context *ctx, int count, const csr_view *layers, csr_layers **out);
    void (*free_layers)(tess_context *ctx, csr_layers *plan);
    /* The product of a matrix in layers, in one pass over its rows: each sum goes through all layers. All offsets have
       the same width. */
    tess_status (*spmv_layers)(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                               const tess_spmv_args *args);
    /* values[k] = source[from[k]] for k < n */
    tess_status (*gather)(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values);
} csr_ops;

extern const csr_ops csr_host_ops;
const csr_ops *csr_gpu_ops(void);
const csr_ops *csr_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
