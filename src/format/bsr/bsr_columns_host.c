/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BSR times several columns on the host: each value is read once, and multiplies as many that lie side by side. The
 * sum of a row and column has the order of the product of one column, and its bits.
 */
#include <math.h>

#include "format/bsr/bsr_host.h"
#include "format/columns_host.h"

/* Columns that are summed together. */
enum { LANES = 8 };

#define REAL double
#define X double
#define READ host_read_fp64
#define NAMED(name) name##_fp64
#include "format/bsr/bsr_columns_sums.h"
#undef REAL
#undef X
#undef READ
#undef NAMED

#define REAL double
#define X float
#define READ host_read_fp64
#define NAMED(name) name##_fp64_by_fp32
#include "format/bsr/bsr_columns_sums.h"
#undef REAL
#undef X
#undef READ
#undef NAMED

#define REAL float
#define X float
#define READ host_read_fp32
#define NAMED(name) name##_fp32
#include "format/bsr/bsr_columns_sums.h"
#undef REAL
#undef X
#undef READ
#undef NAMED

/* A block row times `lanes` columns from `first` on. */
static void sum_row(const bsr_view *v, const tess_spmv_args *args, int64_t block_row, int64_t first, int lanes,
                    double (*out)[LANES])
{
    if (args->vectors == TESS_PRECISION_FP64) {
        sum_row_fp64(v, args, block_row, first, lanes, out);
    } else if (v->arithmetic == TESS_ARITHMETIC_FP64) {
        sum_row_fp64_by_fp32(v, args, block_row, first, lanes, out);
    } else {
        sum_row_fp32(v, args, block_row, first, lanes, out);
    }
}

/* Sums that are NaN, again by the masks; all of them where the matrix is narrower than a block. */
static void repair(const bsr_view *v, const tess_spmv_args *args, int64_t block_row, int64_t first, int lanes,
                   double (*sum)[LANES])
{
    const bool narrow = bsr_is_narrow(v), fp32 = args->vectors == TESS_PRECISION_FP32;

    for (int r = 0; r < v->height; r++) {
        for (int l = 0; l < lanes; l++) {
            const void *const x = fp32 ? (const void *)(args->x_fp32 + first + l) : (const void *)(args->x + first + l);

            if (narrow || isnan(sum[r][l])) { sum[r][l] = bsr_masked_sum(v, block_row, r, x, fp32, args->columns); }
        }
    }
}

static void multiply_chunk(const void *matrix, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    const bsr_view *v = matrix;
    const int lanes = args->columns < LANES ? args->columns : LANES;
    const bool plain = columns_are_plain(args);
    const int64_t end = bsr_chunk_row(v, chunk + 1);

    for (int64_t i = bsr_chunk_row(v, chunk); i < end; i++) {
        for (int64_t first = 0; first < args->columns; first += lanes) {
            double sum[BSR_MOST_BLOCK][LANES] = {{0.0}};

            if (!bsr_is_narrow(v)) { sum_row(v, args, i, first, lanes, sum); }
            if (v->mask) { repair(v, args, i, first, lanes, sum); }
            for (int r = 0; r < bsr_rows_of(v, i); r++) {
                columns_finish(args, plain, (i * v->height + r) * args->columns + first, lanes, sum[r], dots + first);
            }
        }
    }
}

tess_status bsr_host_multiply_columns(tess_context *ctx, const bsr_view *v, const tess_spmv_args *args)
{
    return columns_multiply(ctx, args, bsr_chunks(v), v->nnz * args->columns > HOST_SERIAL_WORK, multiply_chunk, v);
}
