/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classical coarsening: a subset of the unknowns forms the coarser level. Aggressive levels are split twice, the second
 * time by paths of up to two strong couplings, and interpolated in two stages (Yang, Numer. Linear Algebra Appl. 17
 * (2010), section 4).
 */
#include <string.h>

#include "base/stages.h"
#include "matrix/host_csr_rows.h"
#include "matrix/row_sum.h"
#include "precond/multigrid/classical/plan.h"
#include "precond/multigrid/classical/restriction.h"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/hierarchy.h"

enum { SERIAL = 4096 };
static const double default_strength = 0.25;
/* Entries of a row, and the share of couplings that are strong, for an aggressive first level. */
static const double shortest_mean = 6.0, longest_mean = 12.0, most_are_strong = 0.85;

/* What a renewal reuses. */
typedef struct classical_level {
    int64_t n, nnz;
    uint8_t *strong; /* per entry */
    uint8_t *split;  /* per row */
    uint8_t *second; /* per row, of an aggressive level: the second split, in all rows' numbers; else NULL */
    host_csr p1, p2; /* of an aggressive level: the stages of the interpolation, from here to the first split's */
    amg_weight_plan plan, second_plan; /* of new values */
    amg_product_plan product;
} classical_level;

typedef struct classical {
    tess_amg_options options;
    double seconds[AMG_STAGES];
    classical_level *level;
} classical;

/* ---- memory ---- */

static void end(tess_context *ctx, void *state)
{
    classical *c = state;

    if (!c) { return; }
    for (int l = 0; c->level && l < c->options.max_levels; l++) {
        classical_level *own = &c->level[l];

        tess_host_release(ctx, own->strong, own->nnz, sizeof *own->strong);
        tess_host_release(ctx, own->split, own->n, sizeof *own->split);
        tess_host_release(ctx, own->second, own->n, sizeof *own->second);
        host_csr_release(ctx, &own->p1);
        host_csr_release(ctx, &own->p2);
        amg_weight_plan_release(ctx, &own->plan);
        amg_weight_plan_release(ctx, &own->second_plan);
        amg_product_plan_release(ctx, &own->product);
    }
    tess_host_release(ctx, c->level, c->options.max_levels, sizeof *c->level);
    tess_host_release(ctx, c, 1, sizeof *c);
}

static int64_t csr_bytes(const host_csr *a)
{
    return host_csr_nnz(a) * (int64_t)(sizeof *a->col_ind + sizeof *a->val) + a->nrows * (int64_t)sizeof *a->row_ptr;
}

/* One byte each: strengths, splits, codes. */
static int64_t bytes(const void *state, int levels)
{
    const classical *c = state;
    int64_t sum = 0;

    for (int l = 0; c && c->level && l < levels; l++) {
        const classical_level *own = &c->level[l];

        sum += own->nnz + own->n * (own->second ? 2 : 1) + csr_bytes(&own->p1) + csr_bytes(&own->p2);
        sum += own->plan.codes.count + own->second_plan.codes.count + own->product.codes.count;
    }
    return sum;
}

/* ---- the second split ---- */

/* Paths of up to two strong couplings between the coarse unknowns of the first split. */
typedef struct path_graph {
    const host_csr *a;
    const uint8_t *strong;
    const int32_t *list, *number;
    int64_t ncoarse;
    int threads;
    int32_t *place; /* per thread: of each coarse unknown */
    int64_t *bound;
} path_graph;

TESS_INLINE void add_end(const path_graph *g, int32_t j, row_sum *s)
{
    const int32_t end = g->number[j];

    if (end >= 0 && row_sum_find(s, end) < 0) { row_sum_append(s, end, 1.0); }
}

TESS_INLINE void add_ends(const path_graph *g, int64_t i, row_sum *s)
{
    for (int64_t k = g->a->row_ptr[i]; k < g->a->row_ptr[i + 1]; k++) {
        if (g->strong[k]) { add_end(g, g->a->col_ind[k], s); }
    }
}

/* The row of a coarse unknown: itself, and where paths from it end. */
static int64_t find_paths(const void *user, int thread, int64_t r, int32_t *column, double *val)
{
    const path_graph *g = user;
    const int64_t i = g->list[r];
    row_sum s = {.place = g->place + thread * g->ncoarse, .column = column, .val = val};

    row_sum_append(&s, (int32_t)r, 1.0);
    add_ends(g, i, &s);
    for (int64_t k = g->a->row_ptr[i]; k < g->a->row_ptr[i + 1]; k++) {
        if (g->strong[k]) { add_ends(g, g->a->col_ind[k], &s); }
    }
    return s.count;
}

static void bound_paths(const tess_context *ctx, const path_graph *g)
{
    const host_csr *a = g->a;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (g->ncoarse > SERIAL)
    for (int64_t r = 0; r < g->ncoarse; r++) {
        const int64_t i = g->list[r];
        int64_t ends = 1 + a->row_ptr[i + 1] - a->row_ptr[i];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            ends += a->row_ptr[a->col_ind[k] + 1] - a->row_ptr[a->col_ind[k]];
        }
        g->bound[r] = ends < g->ncoarse ? ends : g->ncoarse;
    }
}

static tess_status make_paths(tess_context *ctx, path_graph *g, host_csr *out)
{
    tess_status status = TESS_SUCCESS;

    g->threads = g->ncoarse > SERIAL ? row_sum_threads(ctx, host_csr_nnz(g->a), g->ncoarse) : 1;
    TESS_TRY(tess_host_allocate(ctx, g->ncoarse, sizeof *g->bound, (void **)&g->bound));
    TESS_TRY(row_sum_places(ctx, g->threads, g->ncoarse, &g->place));
    bound_paths(ctx, g);
    status = host_csr_from_rows(ctx,
                                &(row_source){.nrows = g->ncoarse,
                                              .ncols = g->ncoarse,
                                              .threads = g->threads,
                                              .bound = g->bound,
                                              .row = find_paths,
                                              .user = g},
                                out);
cleanup:
    tess_host_release(ctx, g->bound, g->ncoarse, sizeof *g->bound);
    tess_host_release(ctx, g->place, g->threads * g->ncoarse, sizeof *g->place);
    return status;
}

/* Splits the coarse unknowns of the first split again; i and j are coupled by a path of up to two strong couplings. */
static tess_status split_again(tess_context *ctx, const classical *c, const host_csr *a, const int32_t *list,
                               const int32_t *number, int64_t ncoarse, classical_level *own)
{
    path_graph g = {.a = a, .strong = own->strong, .list = list, .number = number, .ncoarse = ncoarse};
    host_csr paths = {0};
    uint8_t *split = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_paths(ctx, &g, &paths));
    TESS_TRY(tess_host_allocate(ctx, ncoarse, sizeof *split, (void **)&split));
    TESS_TRY(amg_split(ctx, &(amg_graph){.n = ncoarse, .row_ptr = paths.row_ptr, .col_ind = paths.col_ind},
                       c->options.seed + 1, split));
    memset(own->second, AMG_FINE, (size_t)own->n);
    for (int64_t r = 0; r < ncoarse; r++) { /* one without paths to others stays: nothing could interpolate to it */
        const bool alone = paths.row_ptr[r + 1] - paths.row_ptr[r] <= 1;

        own->second[list[r]] = alone ? AMG_COARSE : split[r];
    }
cleanup:
    tess_host_release(ctx, split, ncoarse, sizeof *split);
    host_csr_release(ctx, &paths);
    return status;
}

/* ---- interpolation ---- */

/* The numbers of the coarse unknowns of a split, and the list of them. */
typedef struct numbering {
    int32_t *number, *list;
    int64_t n, count;
} numbering;

static tess_status number_split(tess_context *ctx, int64_t n, const uint8_t *split, numbering *out)
{
    tess_status status = TESS_SUCCESS;

    out->n = n;
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *out->number, (void **)&out->number));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *out->list, (void **)&out->list));
    out->count = amg_number_coarse(n, split, out->number);
    for (int64_t i = 0; i < n; i++) {
        if (out->number[i] >= 0) { out->list[out->number[i]] = (int32_t)i; }
    }
cleanup:
    return status;
}

static void free_numbering(tess_context *ctx, numbering *n)
{
    tess_host_release(ctx, n->number, n->n, sizeof *n->number);
    tess_host_release(ctx, n->list, n->n, sizeof *n->list);
}

/* The interpolation, or its new values if it has a pattern. */
static tess_status interpolate_once(tess_context *ctx, const amg_interpolation *to, const int32_t *list,
                                    amg_weight_plan *plan, host_csr *p)
{
    return p->row_ptr ? amg_interpolate_again(ctx, to, list, plan, p) : amg_interpolate(ctx, to, p);
}

/* P = P_1 P_2: from the second split's unknowns to those of the first, and from these to all. */
static tess_status interpolate_twice(tess_context *ctx, const amg_interpolation *first, const numbering *coarse,
                                     classical_level *own, host_csr *p)
{
    numbering fewer = {0};
    amg_interpolation second = *first;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(number_split(ctx, own->n, own->second, &fewer));
    second.split = own->second;
    second.number = fewer.number;
    second.ncoarse = fewer.count;
    second.rows = coarse->list;
    second.nrows = coarse->count;
    TESS_TRY(interpolate_once(ctx, first, coarse->list, &own->plan, &own->p1));
    TESS_TRY(interpolate_once(ctx, &second, fewer.list, &own->second_plan, &own->p2));
    status = p->row_ptr ? amg_multiply_truncated_again(ctx, &own->p1, &own->p2, &own->product, p)
                        : amg_multiply_truncated(ctx, first->truncation, &own->p1, &own->p2, p);
cleanup:
    free_numbering(ctx, &fewer);
    return status;
}

/* Interpolation for a level's splits; if p has a pattern, new values on it. */
static tess_status interpolate(tess_context *ctx, const classical *c, classical_level *own, const host_csr *a,
                               host_csr *p)
{
    numbering coarse = {0};
    amg_interpolation to = {
        .a = a, .strong = own->strong, .split = own->split, .nrows = own->n, .truncation = c->options.truncation};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(number_split(ctx, own->n, own->split, &coarse));
    to.number = coarse.number;
    to.ncoarse = coarse.count;
    if (c->options.restriction == TESS_AMG_RESTRICTION_AIR) {
        if (!p->row_ptr) { status = amg_interpolate_from_one(ctx, &to, p); } /* ones, of any values */
        goto cleanup;
    }
    status = own->second ? interpolate_twice(ctx, &to, &coarse, own, p)
                         : interpolate_once(ctx, &to, coarse.list, &own->plan, p);
cleanup:
    free_numbering(ctx, &coarse);
    return status;
}

/* ---- the coarsening ---- */

static tess_status begin(tess_context *ctx, const tess_amg_options *options, const host_csr *a, void **state)
{
    classical *c = NULL;
    tess_status status = TESS_SUCCESS;

    (void)a;
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *c, (void **)&c));
    *c = (classical){.options = *options};
    c->options.strength = amg_classical_strength(options);
    TESS_TRY(tess_host_allocate(ctx, options->max_levels, sizeof *c->level, (void **)&c->level));
    memset(c->level, 0, (size_t)options->max_levels * sizeof *c->level);
cleanup:
    if (status != TESS_SUCCESS) {
        end(ctx, c);
        c = NULL;
    }
    *state = c;
    return status;
}

static tess_status make_second_split(tess_context *ctx, const classical *c, const host_csr *a, classical_level *own)
{
    numbering coarse = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, own->n, sizeof *own->second, (void **)&own->second));
    TESS_TRY(number_split(ctx, own->n, own->split, &coarse));
    status = split_again(ctx, c, a, coarse.list, coarse.number, coarse.count, own);
cleanup:
    free_numbering(ctx, &coarse);
    return status;
}

double amg_classical_strength(const tess_amg_options *options)
{
    return options->strength < 0.0 ? default_strength : options->strength;
}

/* One aggressive level pays where nearly all couplings are strong and rows are short, as with 7 points on a grid: the
   second level would have more entries than the finest. With rows of two dimensions, jumps or anisotropy it costs more
   iterations than it saves, and with 27 points coarser levels are small anyway (docs/reference/preconditioners.md). */
int amg_choose_aggressive(int64_t n, int64_t nnz, int64_t strong)
{
    const double mean = (double)nnz / (double)n;

    return mean >= shortest_mean && mean <= longest_mean && (double)strong >= most_are_strong * (double)(nnz - n);
}

static int64_t count_strong(const tess_context *ctx, const classical_level *own)
{
    int64_t strong = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : strong)
    for (int64_t k = 0; k < own->nnz; k++) {
        strong += own->strong[k];
    }
    return strong;
}

static tess_status make_split(tess_context *ctx, const classical *c, const host_csr *a, classical_level *own)
{
    const amg_graph g = {.n = own->n, .row_ptr = a->row_ptr, .col_ind = a->col_ind, .strong = own->strong};

    if (c->options.split != TESS_AMG_SPLIT_RUGE_STUEBEN) { return amg_split(ctx, &g, c->options.seed, own->split); }
    return amg_split_in_turn(ctx, &g, c->options.restriction == TESS_AMG_RESTRICTION_AIR, own->split);
}

static tess_status coarsen(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p)
{
    classical *c = state;
    classical_level *own = &c->level[level];
    double since = tess_wall_seconds();
    tess_status status = TESS_SUCCESS;

    own->n = a->nrows;
    own->nnz = host_csr_nnz(a);
    TESS_TRY(tess_host_allocate(ctx, own->nnz, sizeof *own->strong, (void **)&own->strong));
    TESS_TRY(tess_host_allocate(ctx, own->n, sizeof *own->split, (void **)&own->split));
    amg_find_strong(ctx, a, c->options.strength, c->options.max_row_sum, own->strong);
    if (c->options.aggressive < 0) {
        c->options.aggressive = amg_choose_aggressive(own->n, own->nnz, count_strong(ctx, own));
    }
    amg_add_seconds(&since, &c->seconds[AMG_STAGE_STRENGTH]);
    TESS_TRY(tess_stage_end(ctx, "strong couplings"));
    TESS_TRY(make_split(ctx, c, a, own));
    if (level < c->options.aggressive) { TESS_TRY(make_second_split(ctx, c, a, own)); }
    amg_add_seconds(&since, &c->seconds[AMG_STAGE_SPLIT]);
    TESS_TRY(tess_stage_end(ctx, "split"));
    TESS_TRY(interpolate(ctx, c, own, a, p));
    amg_add_seconds(&since, &c->seconds[AMG_STAGE_INTERPOLATION]);
    status = tess_stage_end(ctx, "interpolation");
cleanup:
    return status;
}

static tess_status renew(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p)
{
    classical *c = state;
    double since = tess_wall_seconds();
    const tess_status status = interpolate(ctx, c, &c->level[level], a, p);

    amg_add_seconds(&since, &c->seconds[AMG_STAGE_INTERPOLATION]);
    return status;
}

static tess_status make_restriction(tess_context *ctx, void *state, int level, const host_csr *a, const host_csr *p,
                                    host_csr *r)
{
    const classical *c = state;
    const classical_level *own = &c->level[level];
    numbering coarse = {0};
    amg_interpolation to = {.a = a, .split = own->split, .nrows = own->n};
    tess_status status = TESS_SUCCESS;

    if (c->options.restriction != TESS_AMG_RESTRICTION_AIR) {
        host_csr_release(ctx, r);
        return host_csr_transpose(ctx, p, r);
    }
    TESS_TRY(number_split(ctx, own->n, own->split, &coarse));
    to.ncoarse = coarse.count;
    status = r->row_ptr ? amg_restrict_again(ctx, &to, coarse.list, r) : amg_restrict_locally(ctx, &to, coarse.list, r);
cleanup:
    free_numbering(ctx, &coarse);
    return status;
}

/* The unknowns that the next level has. */
static const uint8_t *split_of(const void *state, int level)
{
    const classical_level *own = &((const classical *)state)->level[level];

    return own->second ? own->second : own->split;
}

static double *stage_seconds(void *state)
{
    return ((classical *)state)->seconds;
}

const amg_coarsening amg_classical = {.kind = TESS_AMG_CLASSICAL,
                                      .begin = begin,
                                      .coarsen = coarsen,
                                      .restriction = make_restriction,
                                      .renew = renew,
                                      .end = end,
                                      .bytes = bytes,
                                      .split = split_of,
                                      .stage_seconds = stage_seconds};
