/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of several columns. The library keeps them by rows, value c of row i at i * columns + c, so that a product
 * reads what belongs to one entry of the matrix side by side; callers have them as they like (tess_columns).
 */
#ifndef TESS_DENSE_COLUMNS_H
#define TESS_DENSE_COLUMNS_H

#include <tessera/columns.h>

#include "base/fused.h"

#ifdef __cplusplus
extern "C" {
#endif

/* FP64 values (i, c) at data[i * row_stride + c * column_stride], on the context's device. */
typedef struct columns_place {
    double *data;
    int64_t row_stride, column_stride;
} columns_place;

/* The functions of a device. */
typedef struct columns_ops {
    /* to := from, which do not overlap */
    tess_status (*move)(tess_context *ctx, int64_t rows, int64_t columns, columns_place from, columns_place to);
} columns_ops;

extern const columns_ops columns_host_ops;
const columns_ops *columns_gpu_ops(void);
const columns_ops *columns_ops_of(const tess_context *ctx);

/* Column c of vectors by rows. */
static inline columns_place column_of(double *data, int columns, int64_t c)
{
    return (columns_place){data + c, columns, 1};
}

/* A vector of one column. */
static inline columns_place column_alone(double *data)
{
    return (columns_place){data, 1, 1};
}

/* Copies columns of the caller's array, from `first` on, to vectors by rows on the device; and the reverse. */
tess_status columns_get(tess_context *ctx, const tess_columns *from, int64_t first, int columns, double *to);
tess_status columns_set(tess_context *ctx, const double *from, const tess_columns *to, int64_t first, int columns);

/* Checks an array of the caller of so many rows. Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT. */
tess_status columns_require(tess_context *ctx, const tess_columns *v, int64_t rows, const char *role);

#ifdef __cplusplus
}
#endif

#endif
