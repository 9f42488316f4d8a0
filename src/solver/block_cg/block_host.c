/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over blocks of vectors on the host: a few rows at a time, which stay in the cache from step to step. */
#include <string.h>

#include "device/host/host.h"
#include "solver/block_cg/block_ops.h"

enum { ROWS_IN_CACHE = 64 };
/* A product is summed in tiles of so many rows, and of as many columns as two vectors have. */
enum { TILE = 4, LANES = 4 };

/* Four columns of a row. The compiler keeps named sums of this type in registers, which it does not with arrays. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

/* No functions: one that returns such a vector warns that its calls differ between processors. */
#define LOAD(from) (*(const lanes *)(from))
#define STORE(to, value) (*(lanes *)(to) = (value))

/* ---- combinations ---- */

/* Of a block of two columns. */
TESS_INLINE void combine_pairs(const block_combination *c, int64_t first, int64_t end)
{
    const double *f = c->factor;

    for (int64_t i = first; i < end; i++) {
        const double scale = c->scale ? c->sign * c->scale[i] : c->sign, a = c->from[2 * i], b = c->from[2 * i + 1];
        const double left = c->base ? scale * c->base[2 * i] : 0.0, right = c->base ? scale * c->base[2 * i + 1] : 0.0;

        c->to[2 * i] = left + a * f[0] + b * f[2];
        c->to[2 * i + 1] = right + a * f[1] + b * f[3];
    }
}

/* Rows first .. end - 1 of a wider block. */
TESS_INLINE void combine_rows(int width, const block_combination *c, int64_t first, int64_t end)
{
    const int high = width > LANES ? LANES : 0; /* the second vector; of four columns the first again */

    for (int64_t i = first; i < end; i++) {
        const double scale = c->scale ? c->sign * c->scale[i] : c->sign;
        double from[TESS_MAX_COLUMNS];

        memcpy(from, c->from + i * width, (size_t)width * sizeof *from); /* `to` may be the same */
        for (int j = 0; j < width; j += 2 * LANES) {
            const double *factor = c->factor + j;
            const int64_t at = i * width + j;
            lanes low_sum = {0.0}, high_sum = {0.0};

            if (c->base) {
                low_sum = scale * LOAD(c->base + at);
                high_sum = scale * LOAD(c->base + at + high);
            }
            for (int l = 0; l < width; l++) {
                low_sum += from[l] * LOAD(factor + l * width);
                if (high) { high_sum += from[l] * LOAD(factor + l * width + high); }
            }
            STORE(c->to + at, low_sum);
            if (high) { STORE(c->to + at + high, high_sum); }
        }
    }
}

/* ---- products ---- */

TESS_INLINE void multiply_pairs(const block_product *p, int64_t first, int64_t end, double *sums)
{
    double s00 = sums[0], s01 = sums[1], s11 = sums[3];

    for (int64_t i = first; i < end; i++) {
        const double scale = p->scale ? p->scale[i] : 1.0, a = scale * p->x[2 * i], b = scale * p->x[2 * i + 1];

        s00 += a * p->y[2 * i];
        s01 += a * p->y[2 * i + 1];
        s11 += b * p->y[2 * i + 1];
    }
    sums[0] = s00;
    sums[1] = s01;
    sums[3] = s11;
}

/* The tile of a product that begins at (row, column). */
TESS_INLINE void multiply_tile(int width, const block_product *p, int64_t first, int64_t end, int row, int column,
                               double *sums)
{
    const int high = width > LANES ? LANES : 0;
    double *s0 = sums + row * width + column, *s1 = s0 + width, *s2 = s1 + width, *s3 = s2 + width;
    lanes low0 = LOAD(s0), low1 = LOAD(s1), low2 = LOAD(s2), low3 = LOAD(s3);
    lanes high0 = LOAD(s0 + high), high1 = LOAD(s1 + high), high2 = LOAD(s2 + high), high3 = LOAD(s3 + high);

    for (int64_t i = first; i < end; i++) {
        const double *x = p->x + i * width + row, *y = p->y + i * width + column;
        const double scale = p->scale ? p->scale[i] : 1.0;
        const double x0 = scale * x[0], x1 = scale * x[1], x2 = scale * x[2], x3 = scale * x[3];
        const lanes low = LOAD(y), upper = LOAD(y + high);

        low0 += x0 * low;
        low1 += x1 * low;
        low2 += x2 * low;
        low3 += x3 * low;
        if (!high) { continue; }
        high0 += x0 * upper;
        high1 += x1 * upper;
        high2 += x2 * upper;
        high3 += x3 * upper;
    }
    STORE(s0, low0);
    STORE(s1, low1);
    STORE(s2, low2);
    STORE(s3, low3);
    if (!high) { return; }
    STORE(s0 + high, high0);
    STORE(s1 + high, high1);
    STORE(s2 + high, high2);
    STORE(s3 + high, high3);
}

/* The tiles that have a part of the upper triangle. */
TESS_INLINE void multiply_rows(int width, const block_product *p, int64_t first, int64_t end, double *sums)
{
    for (int row = 0; row < width; row += TILE) {
        for (int column = row / (2 * LANES) * (2 * LANES); column < width; column += 2 * LANES) {
            multiply_tile(width, p, first, end, row, column, sums);
        }
    }
}

TESS_INLINE void run_rows(int width, const block_pass *pass, int64_t first, int64_t end, double *sums)
{
    for (int64_t i = first; i < end; i += ROWS_IN_CACHE) {
        const int64_t until = i + ROWS_IN_CACHE < end ? i + ROWS_IN_CACHE : end;

        for (int c = 0; c < pass->combinations; c++) {
            if (width == 2) {
                combine_pairs(&pass->combine[c], i, until);
            } else {
                combine_rows(width, &pass->combine[c], i, until);
            }
        }
        for (int p = 0; p < pass->products; p++) {
            if (width == 2) {
                multiply_pairs(&pass->multiply[p], i, until, sums + 4 * p);
            } else {
                multiply_rows(width, &pass->multiply[p], i, until, sums + p * width * width);
            }
        }
    }
}

HOST_CLONES
static void run_block(const block_pass *pass, int64_t first, int64_t end, double *sums)
{
    switch (pass->width) { /* a constant width lets the compiler keep rows in registers */
    case 2: run_rows(2, pass, first, end, sums); break;
    case 4: run_rows(4, pass, first, end, sums); break;
    case 8: run_rows(8, pass, first, end, sums); break;
    case 16: run_rows(16, pass, first, end, sums); break;
    default: run_rows(TESS_MAX_COLUMNS, pass, first, end, sums); break;
    }
}

static tess_status run_pass(tess_context *ctx, const block_pass *pass)
{
    const int64_t nblocks = (pass->n + HOST_BLOCK - 1) / HOST_BLOCK, values = pass->n * pass->width;
    const int64_t count = (int64_t)pass->products * pass->width * pass->width;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_partials(ctx, count * nblocks, &partials));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (values > HOST_SERIAL_WORK)
    for (int64_t b = 0; b < nblocks; b++) {
        const int64_t end = (b + 1) * HOST_BLOCK < pass->n ? (b + 1) * HOST_BLOCK : pass->n;
        double *sums = partials + b * count;

        memset(sums, 0, (size_t)count * sizeof *sums);
        run_block(pass, b * HOST_BLOCK, end, sums);
    }
    for (int64_t i = 0; i < count; i++) {
        double sum = 0.0;

        for (int64_t b = 0; b < nblocks; b++) {
            sum += partials[b * count + i];
        }
        pass->sums[i] = sum;
    }
cleanup:
    return status;
}

const block_ops block_host_ops = {.run = run_pass};
