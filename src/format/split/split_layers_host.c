/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers in slices and diagonals on the host (split.h): one pass over the rows. A block of rows goes through all layers
 * before its sums are finished, so that the sums stay in the first-level cache. Each sum has one order for any number
 * of threads.
 */
#include "device/host/host.h"
#include "format/ellr/ellr_rows.h"
#include "format/row_epilogue.h"
#include "format/split/split.h"

/* Rows of a block, in whole slices; their dot products are one partial sum. */
enum { BLOCK = 8 * ELLR_SLICE };

_Static_assert((int)BLOCK <= (int)DIA_HOST_ROWS, "rows that both bases add up at a time");

static int64_t rows_of(const split_layer *layer)
{
    return layer->in_diagonals ? layer->diagonals.nrows : layer->slices.nrows;
}

/* Slices have their sums by lanes. */
static void add_slices(const ellr_view *v, const tess_spmv_args *args, int64_t first, int count, double *sum)
{
    for (int begin = 0; begin < count; begin += ELLR_SLICE) {
        double own[ELLR_SLICE] = {0.0};

        ellr_host_add_slice(v, args, (first + begin) / ELLR_SLICE, own);
        for (int lane = 0; lane < ELLR_SLICE; lane++) {
            const int64_t row = begin + ellr_rank_at(lane);

            if (row < count) { sum[row] += own[lane]; }
        }
    }
}

static void multiply_block(int count, const split_layer *layers, const tess_spmv_args *args, int64_t first, int rows,
                           double *dots)
{
    double sum[BLOCK] = {0.0};

    for (int l = 0; l < count; l++) {
        if (layers[l].in_diagonals) {
            dia_host_add_rows(&layers[l].diagonals, args, first, rows, sum);
        } else {
            add_slices(&layers[l].slices, args, first, rows, sum);
        }
    }
    for (int i = 0; i < rows; i++) {
        const double value = spmv_finish_row(args, first + i, sum[i]);

        spmv_add_row_dots(args, args->reduction.ndots, first + i, value, dots);
    }
}

tess_status split_host_spmv_layers(tess_context *ctx, int count, const split_layer *layers, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int64_t nrows = rows_of(layers), nblocks = (nrows + BLOCK - 1) / BLOCK;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nblocks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (nblocks > 4)
    for (int64_t b = 0; b < nblocks; b++) {
        const int64_t first = b * BLOCK;
        double dots[2] = {0.0, 0.0};

        multiply_block(count, layers, args, first, nrows - first < BLOCK ? (int)(nrows - first) : BLOCK, dots);
        partials[b] = dots[0];
        partials[nblocks + b] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nblocks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}
