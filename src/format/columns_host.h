/* SPDX-License-Identifier: Apache-2.0 */
/* Products of several columns on the host: what all formats share. */
#ifndef TESS_FORMAT_COLUMNS_HOST_H
#define TESS_FORMAT_COLUMNS_HOST_H

#include "device/host/columns.h"
#include "format/row_epilogue.h"

/* Nothing but y = A x and its dot products. */
static inline bool columns_are_plain(const tess_spmv_args *args)
{
    return args->vectors != TESS_PRECISION_FP32 && args->update.kind == TESS_UPDATE_NONE && !args->residual &&
           args->alpha == 1.0 && args->beta == 0.0;
}

/* Values of y from `at` on, which lie side by side, from their sums, and their terms of the dot products: dots has a
   place for each column, for the first product and then for the second. */
TESS_INLINE void columns_finish(const tess_spmv_args *args, bool plain, int64_t at, int width, const double *sum,
                                double *dots)
{
    const tess_reduction *reduction = &args->reduction;

    if (!plain) {
        for (int l = 0; l < width; l++) {
            double own[2] = {0.0, 0.0};

            spmv_finish_single(args, at + l, sum[l], own);
            for (int k = 0; k < reduction->ndots; k++) {
                dots[k * args->columns + l] += own[k];
            }
        }
        return;
    }
#pragma omp simd
    for (int l = 0; l < width; l++) {
        args->y[at + l] = sum[l];
    }
    for (int k = 0; k < reduction->ndots; k++) {
        double *const own = dots + k * args->columns;
        const double *const with = reduction->with[k] + at;

#pragma omp simd
        for (int l = 0; l < width; l++) {
            own[l] += sum[l] * with[l];
        }
    }
}

/* A chunk of the product with a matrix. dots as of columns_finish; zeros before. */
typedef void (*columns_chunk)(const void *matrix, const tess_spmv_args *args, int64_t chunk, double *dots);

/* All chunks, by all threads if it is worth it, and the reduction. */
static inline tess_status columns_multiply(tess_context *ctx, const tess_spmv_args *args, int64_t nchunks, bool worth,
                                           columns_chunk multiply, const void *matrix)
{
    const tess_reduction *reduction = &args->reduction;
    const int sums = reduction->ndots * args->columns;
    const host_columns columns = host_columns_enter(reduction->state, args->columns, false, true);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (columns.running == 0) { return TESS_SUCCESS; }
    if (sums > 0) { TESS_TRY(host_partials(ctx, sums * nchunks, &partials)); }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (worth)
    for (int64_t c = 0; c < nchunks; c++) {
        double dots[2 * TESS_MAX_COLUMNS] = {0.0};

        multiply(matrix, args, c, dots);
        for (int k = 0; k < sums; k++) {
            partials[k * nchunks + c] = dots[k];
        }
    }
    if (sums > 0) {
        host_columns_finish(&columns, partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
cleanup:
    return status;
}

#endif
