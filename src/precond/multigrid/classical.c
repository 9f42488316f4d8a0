/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classical coarsening: a subset of the unknowns forms the coarser level. Aggressive levels are split twice, the second
 * time by paths of up to two strong couplings, and interpolated in two stages (Yang, Numer. Linear Algebra Appl. 17
 * (2010), section 4).
 */
#include <string.h>

#include "base/stages.h"
#include "precond/multigrid/hierarchy.h"
#include "precond/multigrid/interpolation.h"
#include "precond/multigrid/split.h"

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
    }
    tess_host_release(ctx, c->level, c->options.max_levels, sizeof *c->level);
    tess_host_release(ctx, c, 1, sizeof *c);
}

/* ---- the second split ---- */

/* The rows of S + I of the listed unknowns, all if `list` is NULL, with the columns that `number` numbers, all if it is
   NULL. The values do not matter. */
typedef struct pattern_part {
    const int32_t *list, *number;
    int64_t nrows, ncols;
} pattern_part;

static bool belongs(const host_csr *a, const uint8_t *strong, const pattern_part *part, int64_t i, int64_t k)
{
    const int32_t j = a->col_ind[k];

    return (strong[k] || j == i) && (!part->number || part->number[j] >= 0);
}

static tess_status take_part(tess_context *ctx, const host_csr *a, const uint8_t *strong, const pattern_part *part,
                             host_csr *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, part->nrows, part->ncols, out));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (part->nrows > SERIAL)
    for (int64_t r = 0; r < part->nrows; r++) {
        const int64_t i = part->list ? part->list[r] : r;

        out->row_ptr[r + 1] = 0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            out->row_ptr[r + 1] += belongs(a, strong, part, i, k);
        }
    }
    host_csr_sum_lengths(out);
    TESS_TRY(host_csr_allocate_entries(ctx, out));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (part->nrows > SERIAL)
    for (int64_t r = 0; r < part->nrows; r++) {
        const int64_t i = part->list ? part->list[r] : r;
        int64_t at = out->row_ptr[r];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (!belongs(a, strong, part, i, k)) { continue; }
            out->col_ind[at] = part->number ? part->number[a->col_ind[k]] : a->col_ind[k];
            out->val[at++] = 1.0;
        }
    }
cleanup:
    return status;
}

/* Splits the coarse unknowns of the first split again; i and j are coupled by a path of up to two strong couplings. */
static tess_status split_again(tess_context *ctx, const classical *c, const host_csr *a, const int32_t *list,
                               const int32_t *number, int64_t ncoarse, classical_level *own)
{
    const pattern_part from = {.list = list, .nrows = ncoarse, .ncols = a->nrows};
    const pattern_part to = {.number = number, .nrows = a->nrows, .ncols = ncoarse};
    host_csr left = {0}, right = {0}, paths = {0};
    uint8_t *split = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_part(ctx, a, own->strong, &from, &left));
    TESS_TRY(take_part(ctx, a, own->strong, &to, &right));
    TESS_TRY(host_csr_multiply(ctx, &left, &right, false, &paths));
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
    host_csr_release(ctx, &right);
    host_csr_release(ctx, &left);
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

/* P = P_1 P_2: from the second split's unknowns to those of the first, and from these to all. */
static tess_status interpolate_twice(tess_context *ctx, const amg_interpolation *first, const numbering *coarse,
                                     const classical_level *own, int truncation, host_csr *p)
{
    numbering fewer = {0};
    host_csr p1 = {0}, p2 = {0};
    amg_interpolation second = *first;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(number_split(ctx, own->n, own->second, &fewer));
    second.split = own->second;
    second.number = fewer.number;
    second.ncoarse = fewer.count;
    second.rows = coarse->list;
    second.nrows = coarse->count;
    TESS_TRY(amg_interpolate(ctx, first, &p1));
    TESS_TRY(amg_interpolate(ctx, &second, &p2));
    status = amg_multiply_truncated(ctx, truncation, &p1, &p2, p);
cleanup:
    host_csr_release(ctx, &p2);
    host_csr_release(ctx, &p1);
    free_numbering(ctx, &fewer);
    return status;
}

/* Interpolation for a level's splits, with rows of up to `truncation` entries; 0: all. */
static tess_status interpolate(tess_context *ctx, const classical *c, const classical_level *own, const host_csr *a,
                               int truncation, host_csr *p)
{
    numbering coarse = {0};
    amg_interpolation to = {.a = a, .strong = own->strong, .split = own->split, .nrows = own->n};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(number_split(ctx, own->n, own->split, &coarse));
    to.number = coarse.number;
    to.ncoarse = coarse.count;
    to.truncation = own->second ? c->options.truncation : truncation;
    status = own->second ? interpolate_twice(ctx, &to, &coarse, own, truncation, p) : amg_interpolate(ctx, &to, p);
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
    TESS_TRY(amg_split(ctx,
                       &(amg_graph){.n = own->n, .row_ptr = a->row_ptr, .col_ind = a->col_ind, .strong = own->strong},
                       c->options.seed, own->split));
    if (level < c->options.aggressive) { TESS_TRY(make_second_split(ctx, c, a, own)); }
    amg_add_seconds(&since, &c->seconds[AMG_STAGE_SPLIT]);
    TESS_TRY(tess_stage_end(ctx, "split"));
    TESS_TRY(interpolate(ctx, c, own, a, c->options.truncation, p));
    amg_add_seconds(&since, &c->seconds[AMG_STAGE_INTERPOLATION]);
    status = tess_stage_end(ctx, "interpolation");
cleanup:
    return status;
}

static tess_status renew(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p)
{
    classical *c = state;
    double since = tess_wall_seconds();
    host_csr full = {0};
    tess_status status = interpolate(ctx, c, &c->level[level], a, 0, &full);

    if (status == TESS_SUCCESS) { amg_restrict_to_pattern(ctx, &full, p); }
    host_csr_release(ctx, &full);
    amg_add_seconds(&since, &c->seconds[AMG_STAGE_INTERPOLATION]);
    return status;
}

static double *stage_seconds(void *state)
{
    return ((classical *)state)->seconds;
}

const amg_coarsening amg_classical = {.kind = TESS_AMG_CLASSICAL,
                                      .begin = begin,
                                      .coarsen = coarsen,
                                      .renew = renew,
                                      .end = end,
                                      .stage_seconds = stage_seconds};
