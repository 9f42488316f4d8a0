/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector products for the backends, and what host and device share. */
#ifndef TESS_DENSE_GEMV_H
#define TESS_DENSE_GEMV_H

#include <tessera/codec.h>
#include <tessera/dense.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y := alpha op(A) X + beta Y. The views are checked; Y has 1 or 2 columns and at least one row. */
typedef struct tess_gemv_args {
    tess_operation operation;
    tess_arithmetic arithmetic;
    double alpha, beta;
    tess_dense_view a, x, y;
} tess_gemv_args;

/* The functions of a device. */
typedef struct gemv_ops {
    tess_status (*gemv)(tess_context *ctx, const tess_gemv_args *args);
} gemv_ops;

extern const gemv_ops gemv_host_ops;
const gemv_ops *gemv_gpu_ops(void);
const gemv_ops *gemv_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

/* Not transposed: the factor of column j of A for column k of Y. In FP64; the caller rounds it once. */
TESS_HD double gemv_coefficient(const tess_gemv_args *g, int64_t j, int k)
{
    double value = g->alpha;

    if (g->x.column_scale) { value *= g->x.column_scale[k]; }
    value *= tess_load(g->x.precision, g->x.data, j + k * g->x.ld);
    if (g->a.column_scale) { value *= g->a.column_scale[j]; }
    return value;
}

/* Y(i, k) from the sum over op(A). The sum is over coefficient times A, or, transposed, over A times X as stored. */
TESS_HD void gemv_store(const tess_gemv_args *g, int64_t i, int k, double sum)
{
    const int64_t at = i + k * g->y.ld;
    double value = sum;

    if (g->operation == TESS_OP_TRANSPOSE) {
        double factor = g->alpha;

        if (g->x.column_scale) { factor *= g->x.column_scale[k]; }
        if (g->a.column_scale) { factor *= g->a.column_scale[i]; }
        value *= factor;
    }
    if (g->beta != 0.0) { value += g->beta * tess_load(g->y.precision, g->y.data, at); }
    tess_store(g->y.precision, g->y.data, at, value, TESS_OVERFLOW_INFINITY);
}

#endif
