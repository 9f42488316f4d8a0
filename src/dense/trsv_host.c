/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense triangular solves on the host, block after block. Each block is solved with the inverse of its diagonal block;
 * then its part of the solution is subtracted from all rows that are still to be solved. Every row is summed in the
 * same order, for any number of threads.
 */
#include "dense/trsv.h"
#include "device/host/host.h"

/* Rows that a thread computes at once: their sums stay in the first-level cache. */
enum { HOST_TRSV_ROWS = 256 };

typedef struct trsv_args_in_order {
    const tess_trsv_args *args;
    int64_t n;
    bool backward, transposed;
} trsv_args_in_order;

/* Part of A, of which element (0, 0) has index `at`. */
typedef struct trsv_tile {
    const void *a;
    int64_t at, ld, rows, columns;
} trsv_tile;

/* The diagonal block in the order of the solution; only the lower triangle is used. */
typedef struct trsv_inverse {
    double value[TRSV_BLOCK][TRSV_BLOCK];
} trsv_inverse;

/* Rows of the block that begins at `first`. */
static int64_t trsv_rows(const trsv_args_in_order *s, int64_t first)
{
    return s->n - first < TRSV_BLOCK ? s->n - first : TRSV_BLOCK;
}

/* Place of a row within its block in the order of the solution, and back. */
static int64_t trsv_place(const trsv_args_in_order *s, int64_t local)
{
    return s->backward ? TRSV_BLOCK - 1 - local : local;
}

/* The diagonal block as a lower triangle, padded with the identity. */
static void load_diagonal(const trsv_args_in_order *s, int64_t first, double (*l)[TRSV_BLOCK])
{
    const tess_dense_view *a = &s->args->a;
    const int64_t rows = trsv_rows(s, first);

    for (int r = 0; r < TRSV_BLOCK; r++) {
        for (int c = 0; c <= r; c++) {
            const int64_t own = trsv_place(s, r), other = trsv_place(s, c);
            const int64_t row = first + (s->transposed ? other : own), column = first + (s->transposed ? own : other);

            l[r][c] = r == c ? 1.0 : 0.0;
            if (own >= rows || other >= rows || (r == c && s->args->options.diagonal == TESS_UNIT)) { continue; }
            l[r][c] = tess_load(a->precision, a->data, row + column * a->ld);
            if (a->column_scale) { l[r][c] *= a->column_scale[column]; }
        }
    }
}

/* Column after column of the inverse by substitution (Higham, Accuracy and Stability, Method 1 of section 14.2). */
static void invert_in_fp64(double (*l)[TRSV_BLOCK], trsv_inverse *inverse)
{
    for (int column = 0; column < TRSV_BLOCK; column++) {
        double y[TRSV_BLOCK] = {0};

        y[column] = 1.0;
        for (int c = column; c < TRSV_BLOCK; c++) {
            y[c] /= l[c][c];
            for (int r = c + 1; r < TRSV_BLOCK; r++) {
                y[r] -= l[r][c] * y[c];
            }
            inverse->value[c][column] = y[c];
        }
    }
}

static void invert_in_fp32(double (*l)[TRSV_BLOCK], trsv_inverse *inverse)
{
    for (int column = 0; column < TRSV_BLOCK; column++) {
        float y[TRSV_BLOCK] = {0};

        y[column] = 1.0F;
        for (int c = column; c < TRSV_BLOCK; c++) {
            y[c] /= (float)l[c][c];
            for (int r = c + 1; r < TRSV_BLOCK; r++) {
                y[r] -= (float)l[r][c] * y[c];
            }
            inverse->value[c][column] = (double)y[c];
        }
    }
}

static void invert_block(const trsv_args_in_order *s, int64_t first, trsv_inverse *inverse)
{
    double l[TRSV_BLOCK][TRSV_BLOCK];

    load_diagonal(s, first, l);
    if (s->args->options.inversion == TESS_ARITHMETIC_FP32) {
        invert_in_fp32(l, inverse);
    } else {
        invert_in_fp64(l, inverse);
    }
}

#define REAL double
#define LOAD tess_load
#define STORE tess_store
#define NAMED(name) name##_in_fp64_arithmetic
#include "dense/trsv_host_body.h"
#undef REAL
#undef LOAD
#undef STORE
#undef NAMED

#define REAL float
#define LOAD tess_load_float
#define STORE tess_store_float
#define NAMED(name) name##_in_fp32_arithmetic
#include "dense/trsv_host_body.h"

static tess_status solve(tess_context *ctx, const tess_trsv_args *args)
{
    const trsv_args_in_order s = {.args = args,
                                  .n = args->a.nrows,
                                  .backward = trsv_backward(&args->options),
                                  .transposed = args->options.operation == TESS_OP_TRANSPOSE};
    double *work = NULL;
    tess_status status = host_partials(ctx, s.n, &work);

    if (status != TESS_SUCCESS) { return status; }
    if (args->options.arithmetic == TESS_ARITHMETIC_FP32) {
        solve_in_fp32_arithmetic(&s, ctx->threads, (float *)work);
    } else {
        solve_in_fp64_arithmetic(&s, ctx->threads, work);
    }
    return TESS_SUCCESS;
}

const trsv_ops trsv_host_ops = {solve};
