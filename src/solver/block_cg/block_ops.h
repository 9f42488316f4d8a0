/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over blocks of vectors: n rows of `width` values, one row after another, times small matrices. A width is a
 * power of two, at most TESS_MAX_COLUMNS; small matrices have width by width values by rows, on the device.
 */
#ifndef TESS_SOLVER_BLOCK_CG_BLOCK_OPS_H
#define TESS_SOLVER_BLOCK_CG_BLOCK_OPS_H

#include "base/context.h"
#include "base/fused.h"

#ifdef __cplusplus
extern "C" {
#endif

/* to := sign diag(scale) base + from factor. `to` may be `from` or `base`. */
typedef struct block_combination {
    double *to;
    const double *from, *factor;
    const double *base;  /* NULL: none */
    const double *scale; /* n values; NULL: 1 */
    double sign;         /* 1 or -1 */
} block_combination;

/* x^T diag(scale) y, which is symmetric but for rounding: the upper triangle is computed. */
typedef struct block_product {
    const double *x, *y;
    const double *scale; /* n values; NULL: 1 */
} block_product;

enum { BLOCK_COMBINATIONS = 3, BLOCK_PRODUCTS = 2 };

/* Combinations, one after another, then products. */
typedef struct block_pass {
    int64_t n;
    int width;
    int combinations, products;
    block_combination combine[BLOCK_COMBINATIONS];
    block_product multiply[BLOCK_PRODUCTS];
    double *sums; /* on the device: the products, one after another */
} block_pass;

/* The functions of a device. Sums do not depend on the number of threads. */
typedef struct block_ops {
    tess_status (*run)(tess_context *ctx, const block_pass *pass);
} block_ops;

extern const block_ops block_host_ops;
const block_ops *block_gpu_ops(void);
const block_ops *block_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
