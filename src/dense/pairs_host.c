/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over complex vectors on the host: sums by blocks, in their order. */
#include "dense/pairs.h"
#include "device/host/host.h"

HOST_CLONES static void combine_range(const pair_combination *c, int64_t begin, int64_t end)
{
    const pair_combination mine = *c;

    for (int64_t i = begin; i < end; i++) {
        pair_combine(&mine, i);
    }
}

HOST_CLONES static void multiply_range(const pair_products *p, int64_t begin, int64_t end, pair *sums)
{
    const pair_products mine = *p;

    for (int64_t i = begin; i < end; i++) {
        pair_multiply(&mine, i, sums);
    }
}

static int64_t end_of(int64_t block, int64_t n)
{
    return (block + 1) * HOST_BLOCK < n ? (block + 1) * HOST_BLOCK : n;
}

static tess_status combine(tess_context *ctx, const pair_combination *c)
{
    const int64_t nblocks = (c->n + HOST_BLOCK - 1) / HOST_BLOCK;

#pragma omp parallel for num_threads(host_threads_for(ctx, 2 * c->n)) schedule(static)
    for (int64_t block = 0; block < nblocks; block++) {
        combine_range(c, block * HOST_BLOCK, end_of(block, c->n));
    }
    return TESS_SUCCESS;
}

static tess_status products(tess_context *ctx, const pair_products *p, pair *sums)
{
    const int64_t nblocks = (p->n + HOST_BLOCK - 1) / HOST_BLOCK;
    double *partials = NULL;
    pair *of_block = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_partials(ctx, (int64_t)(sizeof(pair) / sizeof(double)) * PAIRS_MOST * (nblocks + 1), &partials));
    of_block = (pair *)(void *)partials;
#pragma omp parallel for num_threads(host_threads_for(ctx, 2 * p->n)) schedule(static)
    for (int64_t block = 0; block < nblocks; block++) {
        pair mine[PAIRS_MOST] = {{0.0, 0.0}};

        multiply_range(p, block * HOST_BLOCK, end_of(block, p->n), mine);
        for (int j = 0; j < PAIRS_MOST; j++) {
            of_block[block * PAIRS_MOST + j] = mine[j];
        }
    }
    for (int j = 0; j < p->count; j++) {
        sums[j] = (pair){0.0, 0.0};
        for (int64_t block = 0; block < nblocks; block++) {
            sums[j].re += of_block[block * PAIRS_MOST + j].re;
            sums[j].im += of_block[block * PAIRS_MOST + j].im;
        }
    }
cleanup:
    return status;
}

static tess_status turn(tess_context *ctx, int64_t n, const double *d, const double *x, double *y)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, 2 * n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        pair_turn(d, x, y, i);
    }
    return TESS_SUCCESS;
}

const pairs_ops pairs_host_ops = {combine, products, turn};
