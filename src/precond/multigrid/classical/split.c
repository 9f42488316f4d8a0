/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/classical/split.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* Unknowns below which threads do not pay. */
enum { SERIAL = 4096 };
/* Couplings that differ from the threshold by rounding alone count as strong, on every device. */
static const double slack = 1.0 - 0x1p-30;

/* ---- strong couplings ---- */

static void find_strong_row(const host_csr *a, int64_t i, double theta, double max_row_sum, uint8_t *strong)
{
    double diagonal = 0.0, most = 0.0, sum = 0.0, sign = 1.0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == i) { diagonal = a->val[k]; }
        sum += a->val[k];
    }
    sign = diagonal < 0.0 ? -1.0 : 1.0;
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const double coupling = -sign * a->val[k];

        if (a->col_ind[k] != i && coupling > most) { most = coupling; }
    }
    if (max_row_sum < 1.0 && fabs(sum) > max_row_sum * fabs(diagonal)) { most = 0.0; }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        strong[k] =
            most > 0.0 && a->col_ind[k] != i && -sign * a->val[k] >= theta * slack * most && -sign * a->val[k] > 0.0;
    }
}

void amg_find_strong(const tess_context *ctx, const host_csr *a, double theta, double max_row_sum, uint8_t *strong)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (a->nrows > SERIAL)
    for (int64_t i = 0; i < a->nrows; i++) {
        find_strong_row(a, i, theta, max_row_sum, strong);
    }
}

/* ---- the split ---- */

enum { UNDECIDED = 2 };

/* measure: how many depend on an unknown, then random bits. Undecided unknowns are listed; `state` is of the round
   before. */
typedef struct pmis {
    tess_context *ctx;
    const amg_graph *g;
    uint64_t *measure;
    int32_t *list;
    int64_t listed;
    uint8_t *state, *beaten;
} pmis;

/* The measure of i: |S_i^T| + a random number in [0, 1), as an integer. */
static void find_measures(const pmis *p, uint64_t seed)
{
    const amg_graph *g = p->g;
    const int random_bits = 32;

    memset(p->measure, 0, (size_t)g->n * sizeof *p->measure);
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (g->n > SERIAL)
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            if (!amg_is_strong(g, i, k)) { continue; }
#pragma omp atomic
            p->measure[g->col_ind[k]] += UINT64_C(1) << random_bits;
        }
    }
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (g->n > SERIAL)
    for (int64_t i = 0; i < g->n; i++) {
        p->state[i] = p->measure[i] == 0 ? AMG_FINE : UNDECIDED; /* nothing depends on it */
        p->measure[i] += tess_random_bits(seed, (uint64_t)i) >> (64 - random_bits);
    }
}

/* The loser of a coupling is not taken in this round. Both directions count, and each is seen from its row. */
static inline void compare_row(const amg_graph *g, const uint64_t *restrict measure, const uint8_t *restrict state,
                               uint8_t *restrict beaten, int64_t i)
{
    const int32_t *restrict column = g->col_ind;
    const uint8_t *restrict strong = g->strong;
    const uint64_t own = measure[i];
    const int64_t end = g->row_ptr[i + 1];

    for (int64_t k = g->row_ptr[i]; k < end; k++) {
        const int64_t j = column[k];
        const bool wins = own > measure[j] || (own == measure[j] && i > j);

        if (!(strong ? strong[k] != 0 : j != i) || state[j] != UNDECIDED) { continue; }
#pragma omp atomic write
        beaten[wins ? j : i] = 1;
    }
}

static void take_independent_set(const pmis *p)
{
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->listed > SERIAL)
    for (int64_t l = 0; l < p->listed; l++) {
        p->beaten[p->list[l]] = 0;
    }
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->listed > SERIAL)
    for (int64_t l = 0; l < p->listed; l++) {
        compare_row(p->g, p->measure, p->state, p->beaten, p->list[l]);
    }
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->listed > SERIAL)
    for (int64_t l = 0; l < p->listed; l++) {
        if (!p->beaten[p->list[l]]) { p->state[p->list[l]] = AMG_COARSE; }
    }
}

static bool depends_on_coarse(const pmis *p, int64_t i)
{
    const amg_graph *g = p->g;

    for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
        if (amg_is_strong(g, i, k) && p->state[g->col_ind[k]] == AMG_COARSE) { return true; }
    }
    return false;
}

/* Undecided unknowns that depend on a coarse one become fine: first marked in `beaten`, then set. The list shrinks. */
static void settle_dependent(pmis *p)
{
    int64_t left = 0;

#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->listed > SERIAL)
    for (int64_t l = 0; l < p->listed; l++) {
        const int32_t i = p->list[l];

        p->beaten[i] = p->state[i] == UNDECIDED && depends_on_coarse(p, i);
    }
    for (int64_t l = 0; l < p->listed; l++) {
        const int32_t i = p->list[l];

        if (p->beaten[i]) { p->state[i] = AMG_FINE; }
        if (p->state[i] == UNDECIDED) { p->list[left++] = i; }
    }
    p->listed = left;
}

tess_status amg_split(tess_context *ctx, const amg_graph *g, uint64_t seed, uint8_t *split)
{
    pmis p = {.ctx = ctx, .g = g, .state = split};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *p.measure, (void **)&p.measure));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *p.list, (void **)&p.list));
    TESS_TRY(tess_host_allocate(ctx, g->n, sizeof *p.beaten, (void **)&p.beaten));
    find_measures(&p, seed);
    for (int64_t i = 0; i < g->n; i++) {
        if (p.state[i] == UNDECIDED) { p.list[p.listed++] = (int32_t)i; }
    }
    while (p.listed > 0) {
        take_independent_set(&p);
        settle_dependent(&p);
    }
cleanup:
    tess_host_release(ctx, p.beaten, g->n, sizeof *p.beaten);
    tess_host_release(ctx, p.list, g->n, sizeof *p.list);
    tess_host_release(ctx, p.measure, g->n, sizeof *p.measure);
    return status;
}

int64_t amg_number_coarse(int64_t n, const uint8_t *split, int32_t *number)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        number[i] = split[i] == AMG_COARSE ? (int32_t)count++ : -1;
    }
    return count;
}
