/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The levels of a GPU in the cycle, for the first time and with new values, as cycle_setup.c has it. All levels are
 * stored in the precisions that are expected, and what the precisions depend on is found on the way, so that the host
 * does not wait for each. Levels that turn out to need another precision are stored again.
 */
#include "precond/multigrid/cycle/store_device.h"

#include "precond/multigrid/cycle/blocks.h"
#include "precond/multigrid/cycle/factors.h"
#include "precond/multigrid/cycle/level_precision.h"
#include "precond/multigrid/cycle/node_block.h"
#include "precond/multigrid/cycle/spectrum.h"

/* What is found of each level, in device memory and on the host: of the scales, A and P. */
typedef struct storing {
    amg_cycle *c;
    const amg_hierarchy *h;
    const amg_device_level *level;
    int count;
    amg_device_scale scale[TESS_MAX_AMG_LEVELS];
    amg_device_extremes *on_device;
    amg_extremes found[AMG_MOST_EXTREMES];
    bool taken[TESS_MAX_AMG_LEVELS]; /* the matrices have the values */
} storing;

static amg_device_source source_of(const storing *s, int l)
{
    const int next = l + 1 < s->count ? l + 1 : l;

    return (amg_device_source){.level = &s->level[l],
                               .own = &s->scale[l],
                               .next = &s->scale[next],
                               .vectors = s->c->vectors,
                               .block = amg_node_block(s->h, l),
                               .next_block = amg_node_block(s->h, next)};
}

/* Where the extremes of level l's A and P go. */
static amg_device_extremes *extremes_of(const storing *s, int l)
{
    return s->on_device + (ptrdiff_t)3 * l + 1;
}

/* ---- scales ---- */

static void free_scale(tess_context *ctx, amg_device_scale *scale)
{
    tess_device_release(ctx, scale->s, scale->n, sizeof *scale->s);
    tess_device_release(ctx, scale->inverse, scale->n, sizeof *scale->inverse);
    *scale = (amg_device_scale){0};
}

static tess_status make_scale(storing *s, int l)
{
    tess_context *ctx = s->c->ctx;
    const device_csr *a = &s->level[l].a;
    amg_device_scale *own = &s->scale[l];
    tess_status status = TESS_SUCCESS;

    *own = (amg_device_scale){.n = a->nrows};
    TESS_TRY(tess_device_allocate(ctx, own->n, sizeof *own->s, (void **)&own->s));
    TESS_TRY(tess_device_allocate(ctx, own->n, sizeof *own->inverse, (void **)&own->inverse));
    status = amg_device_ops_of(ctx)->scale(ctx, a, s->c->l1, own, s->on_device + (ptrdiff_t)3 * l);
cleanup:
    return status;
}

/* Of all levels; that of the finest one also for the cycle. */
static tess_status make_scales(storing *s)
{
    amg_cycle *c = s->c;
    const amg_device_scale *finest = &s->scale[0];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_device_ops_of(c->ctx)->open_extremes(c->ctx, 3 * s->count, &s->on_device));
    for (int l = 0; l < s->count; l++) {
        TESS_TRY(make_scale(s, l));
    }
    if (!c->scale) { TESS_TRY(tess_device_allocate(c->ctx, finest->n, sizeof *c->scale, (void **)&c->scale)); }
    status = c->ctx->backend->copy(c->ctx, c->scale, finest->s, (size_t)finest->n * sizeof *c->scale);
cleanup:
    return status;
}

static void close_storing(storing *s)
{
    tess_context *ctx = s->c->ctx;

    for (int l = 0; l < s->count; l++) {
        free_scale(ctx, &s->scale[l]);
    }
    tess_device_release(ctx, s->on_device, 3 * s->count, sizeof *s->on_device);
}

/* ---- precisions ---- */

/* Waits. */
static tess_status read_found(storing *s)
{
    tess_context *ctx = s->c->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_device_ops_of(ctx)->read_extremes(ctx, 3 * s->count, s->on_device, s->found));
    if (s->found[0].bad_row >= 0) { status = amg_fail_not_finite(ctx, s->found[0].bad_row); }
cleanup:
    return status;
}

static tess_precision precision_for(const storing *s, int l, tess_amg_precision wanted, const amg_range *range)
{
    if (amg_entries_decide(wanted) && l == 0 && !amg_is_even(s->found[0].least, s->found[0].most)) {
        return TESS_PRECISION_FP32;
    }
    return amg_choose_precision(wanted, range);
}

/* For entries near 1, as those of scaled matrices are; what was found of the scales is there. */
static tess_precision expected_precision(const storing *s, int l, tess_amg_precision wanted)
{
    return precision_for(s, l, wanted, &(amg_range){1.0, 1.0});
}

/* By what was found, by the rule of the host. */
static tess_precision precision_of(const storing *s, int l, tess_amg_precision wanted)
{
    const amg_extremes *found = &s->found[3 * l];
    amg_range range = {found[1].most, found[1].least};

    if (s->level[l].p.row_ptr) { range = amg_join_ranges(range, (amg_range){found[2].most, found[2].least}); }
    return precision_for(s, l, wanted, &range);
}

/* Matrices anew only if the precision is another one. */
static tess_status settle_matrices(storing *s, int l, tess_amg_precision wanted)
{
    const tess_precision precision = precision_of(s, l, wanted);
    amg_cycle_level *out = &s->c->level[l];
    const amg_device_source from = source_of(s, l);

    if (s->taken[l] && precision == out->precision) { return TESS_SUCCESS; }
    amg_device_drop_matrices(out);
    return amg_device_store_matrices(s->c->ctx, &from, precision, NULL, out);
}

/* ---- all levels ---- */

/* The precision, the smoother and the inverse of a level. */
static tess_status settle_level(storing *s, int l, tess_amg_precision wanted, bool first)
{
    amg_cycle *c = s->c;
    const amg_device_source from = source_of(s, l);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(settle_matrices(s, l, wanted));
    TESS_TRY(amg_make_blocks(c, s->h, l, s->scale[l].inverse, &c->level[l]));
    TESS_TRY(first ? amg_cycle_finish_level(c, l) : amg_cycle_renew_level(c, l));
    if (!s->level[l].p.row_ptr) { TESS_TRY(amg_device_store_inverse(c, &from, &c->level[l])); }
    TESS_TRY(amg_factor_device_level(c, &s->level[l].a, s->scale[l].s, &c->level[l]));
    status = amg_find_damping(c, &c->level[l]);
cleanup:
    return status;
}

static tess_status store_first(storing *s, tess_amg_precision wanted)
{
    amg_cycle *c = s->c;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_found(s));
    for (int l = 0; l < s->count; l++) {
        const amg_device_source from = source_of(s, l);
        const tess_precision expected = expected_precision(s, l, amg_wanted_precision(c, l, wanted));

        TESS_TRY(amg_device_store_matrices(c->ctx, &from, expected, extremes_of(s, l), &c->level[l]));
        s->taken[l] = true;
    }
cleanup:
    return status;
}

static tess_status store_again(storing *s)
{
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l < s->count; l++) {
        const amg_device_source from = source_of(s, l);

        TESS_TRY(amg_device_store_matrices_again(s->c->ctx, &from, extremes_of(s, l), &s->c->level[l], &s->taken[l]));
    }
cleanup:
    return status;
}

static tess_status store_levels(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted, bool first)
{
    storing s = {.c = c, .h = h, .level = h->device->level, .count = h->count};
    amg_device_tridiagonal *spectra = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_scales(&s));
    TESS_TRY(amg_device_begin_spectra(c, h, s.scale, &spectra));
    TESS_TRY(first ? store_first(&s, wanted) : store_again(&s));
    TESS_TRY(read_found(&s));
    TESS_TRY(amg_device_end_spectra(c, h, spectra));
    for (int l = 0; l < s.count; l++) {
        TESS_TRY(settle_level(&s, l, amg_wanted_precision(c, l, wanted), first));
    }
    status = c->ctx->backend->synchronize(c->ctx);
cleanup:
    amg_device_close_spectra(c, h, spectra);
    close_storing(&s);
    return status;
}

tess_status amg_device_store_levels(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted)
{
    return store_levels(c, h, wanted, true);
}

tess_status amg_device_renew_cycle(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision wanted)
{
    const double start = tess_wall_seconds();
    const tess_status status = store_levels(c, h, wanted, false);

    c->rank = h->level[h->count - 1].a.nrows;
    c->storing_seconds = tess_wall_seconds() - start;
    return status;
}
