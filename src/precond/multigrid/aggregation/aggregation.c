/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation, smoothed or plain, as a coarsening of the hierarchy: what carries from level to level. */
#include "precond/multigrid/aggregation/aggregation.h"

#include <string.h>

#include <tessera/names.h>

#include "precond/multigrid/hierarchy.h"

/* The default strength: on the finest level the pattern decides. Smoothed interpolation fills the coarser levels with
   couplings of nodes that have little to do with each other. There, a threshold of 0 costs up to half as many
   iterations again. */
#define FINEST_STRENGTH 0.0
#define COARSE_STRENGTH 0.5
/* Plain aggregates follow what is strong on each level: with convection that is its direction. */
#define PLAIN_STRENGTH 0.25

double amg_aggregation_strength(const tess_amg_options *options, bool plain, int level)
{
    const double finest = options->strength >= 0.0 ? options->strength : plain ? PLAIN_STRENGTH : FINEST_STRENGTH;

    return level > 0 && !plain && finest < COARSE_STRENGTH ? COARSE_STRENGTH : finest;
}

typedef struct aggregation_state {
    int count;  /* of `level` */
    bool plain; /* P = T */
    tess_amg_options options;
    aggregation_level *level;
} aggregation_state;

static void release_level(tess_context *ctx, aggregation_level *level)
{
    tess_host_release(ctx, level->near, level->rows.nrows * level->vectors, sizeof *level->near);
    tess_host_release(ctx, level->tentative, level->rows.nrows * level->vectors, sizeof *level->tentative);
    tess_host_release(ctx, level->coarse_first, level->aggregates.count + 1, sizeof *level->coarse_first);
    aggregates_release(ctx, &level->aggregates);
    node_rows_release(ctx, &level->rows);
}

static void end(tess_context *ctx, void *state)
{
    aggregation_state *s = state;

    if (!s) { return; }
    for (int l = 0; l < s->count; l++) {
        release_level(ctx, &s->level[l]);
    }
    tess_host_release(ctx, s->level, s->count, sizeof *s->level);
    tess_host_release(ctx, s, 1, sizeof *s);
}

/* ---- the finest level ---- */

/* The user's vectors; else the constant of each unknown of a node. */
static void fill_near(const tess_amg_options *options, int block, aggregation_level *level)
{
    const int64_t n = level->rows.nrows;
    const int k = level->vectors;

    for (int64_t i = 0; i < n; i++) {
        for (int c = 0; c < k; c++) {
            level->near[i * k + c] =
                options->near_nullspace ? options->near_nullspace[c * n + i] : (double)(i % block == c);
        }
    }
}

static tess_status start_finest(tess_context *ctx, const tess_amg_options *options, const host_csr *a, int block,
                                aggregation_level *level)
{
    tess_status status = TESS_SUCCESS;

    level->most_height = block;
    level->vectors = options->near_nullspace ? options->near_nullspace_columns : block;
    TESS_TRY(node_rows_of_block(ctx, a->nrows, block, &level->rows));
    TESS_TRY(tess_host_allocate(ctx, a->nrows * level->vectors, sizeof *level->near, (void **)&level->near));
    fill_near(options, block, level);
cleanup:
    return status;
}

static tess_status check_block(tess_context *ctx, const host_csr *a, int block)
{
    if (a->nrows % block == 0) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "leave out --amg-block-size, or keep all unknowns of each point",
                     "amg: %s not a multiple of the block size %d", tess_count(a->nrows, "row is|rows are").text,
                     block);
}

static tess_status begin(tess_context *ctx, const tess_amg_options *options, const host_csr *a, void **state)
{
    const int block = options->block_size > 0 ? options->block_size : find_block_size(a);
    aggregation_state *s = NULL;
    tess_status status = TESS_SUCCESS;

    *state = NULL;
    TESS_TRY(check_block(ctx, a, block));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    *s = (aggregation_state){.options = *options};
    *state = s;
    TESS_TRY(tess_host_allocate(ctx, options->max_levels + 1, sizeof *s->level, (void **)&s->level));
    s->count = options->max_levels + 1;
    memset(s->level, 0, (size_t)s->count * sizeof *s->level);
    status = start_finest(ctx, options, a, block, &s->level[0]);
cleanup:
    if (status != TESS_SUCCESS) {
        end(ctx, *state);
        *state = NULL;
    }
    return status;
}

/* ---- a level ---- */

static tess_status find_aggregates(tess_context *ctx, aggregation_level *level, double theta, const host_csr *a)
{
    node_graph strong = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(node_graph_of_matrix(ctx, a, &level->rows, theta, &strong));
    status = aggregate_nodes(ctx, &strong, &level->aggregates);
cleanup:
    node_graph_release(ctx, &strong);
    return status;
}

/* P = T, or smoothed. */
static tess_status make_prolongator(tess_context *ctx, bool plain, const host_csr *a, const aggregation_level *level,
                                    host_csr *p)
{
    tess_status status = TESS_SUCCESS;

    if (plain) { return tentative_as_matrix(ctx, level, p); }
    TESS_TRY(smoothed_pattern(ctx, a, level, p));
    status = smoothed_values(ctx, a, level, p);
cleanup:
    return status;
}

static tess_status coarsen_level(tess_context *ctx, aggregation_level *level, double theta, bool plain,
                                 const host_csr *a, aggregation_level *next, host_csr *p)
{
    double *near = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_aggregates(ctx, level, theta, a));
    if (level->aggregates.count == 0) { goto cleanup; }
    TESS_TRY(make_tentative(ctx, level, &near));
    status = node_rows_of_ranges(ctx, level->aggregates.count, level->coarse_first, &next->rows);
    if (status != TESS_SUCCESS) {
        tess_host_release(ctx, near, level->coarse_first[level->aggregates.count] * level->vectors, sizeof *near);
        goto cleanup;
    }
    next->near = near;
    next->vectors = next->most_height = level->vectors;
    status = make_prolongator(ctx, plain, a, level, p);
cleanup:
    return status;
}

static tess_status coarsen(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p)
{
    aggregation_state *s = state;
    const double theta = amg_aggregation_strength(&s->options, s->plain, level);

    return coarsen_level(ctx, &s->level[level], theta, s->plain, a, &s->level[level + 1], p);
}

static tess_status product(tess_context *ctx, void *state, int level, const host_csr *a, const host_csr *p,
                           host_csr *coarse)
{
    aggregation_state *s = state;

    return aggregation_product(ctx, &s->level[level], a, p, coarse);
}

/* The nodes, aggregates and T stay: they depend on the pattern, on what was strong, and on the near-nullspace. */
static tess_status renew(tess_context *ctx, void *state, int level, const host_csr *a, host_csr *p)
{
    aggregation_state *s = state;

    return s->plain ? TESS_SUCCESS : smoothed_values(ctx, a, &s->level[level], p);
}

static tess_status begin_plain(tess_context *ctx, const tess_amg_options *options, const host_csr *a, void **state)
{
    const tess_status status = begin(ctx, options, a, state);
    aggregation_state *s = *state;

    if (status != TESS_SUCCESS) { return status; }
    s->plain = true;
    return TESS_SUCCESS;
}

static const aggregation_level *nodes(const void *state, int level)
{
    return &((const aggregation_state *)state)->level[level];
}

#define AGGREGATION_OPERATIONS .coarsen = coarsen, .product = product, .renew = renew, .end = end, .nodes = nodes

const amg_coarsening amg_aggregation = {.kind = TESS_AMG_AGGREGATION, .begin = begin, AGGREGATION_OPERATIONS};
const amg_coarsening amg_plain = {.kind = TESS_AMG_PLAIN, .begin = begin_plain, AGGREGATION_OPERATIONS};
