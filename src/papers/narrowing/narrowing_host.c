/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at segments on the host. */
#include "device/host/host.h"
#include "papers/narrowing/narrowing.h"
#include "policy/assignment.h"

static tess_status count_tiles(tess_context *ctx, const tess_assignment *assignment, const narrowing_pass *p)
{
    const block_grid *grid = &assignment->grid;

    (void)ctx;
    for (int64_t b = 0; b < grid->nblocks; b++) {
        p->tiles[grid->column[b] * (int64_t)p->nlevels + (assignment->level ? assignment->level[b] : 0)] += 1;
    }
    return TESS_SUCCESS;
}

/* The largest magnitude in a segment; NaN where there is one. */
static double magnitude_of(const double *x, int64_t first, int64_t end)
{
    double largest = 0.0;

    for (int64_t i = first; i < end; i++) {
        if (!(fabs(x[i]) <= largest)) { largest = fabs(x[i]); }
        if (isnan(largest)) { break; }
    }
    return largest;
}

static tess_status mark(tess_context *ctx, const narrowing_pass *p, const double *x, int product,
                        tess_loop_state *state)
{
    uint64_t counts[NARROWING_COUNTS] = {0};

    if (!host_enter(state, false, false)) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : counts) if (p->n > HOST_SERIAL_WORK)
    for (int64_t s = 0; s < p->nsegments; s++) {
        const int64_t first = s * NARROWING_SEGMENT;
        const int64_t end = first + NARROWING_SEGMENT < p->n ? first + NARROWING_SEGMENT : p->n;
        const int level = narrowing_level(p->bounds, magnitude_of(x, first, end));

        p->use[s] = (uint8_t)narrowing_use(&p->segment[s], level, product, p->nproducts, p->for_good);
        narrowing_count(p, s, p->use[s], counts);
    }
    for (int k = 0; k < NARROWING_COUNTS; k++) {
        p->counts[k] += counts[k];
    }
    return TESS_SUCCESS;
}

const narrowing_ops narrowing_host_ops = {count_tiles, mark};
