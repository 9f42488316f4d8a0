/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/choice.h"

#include <math.h>

enum { CYCLES = 6 };
static const double most_complex = 3.5;
/* A cycle that alone diverges may still serve CG; it counts as this factor. */
static const double worst_factor = 0.999;

double amg_operator_complexity(const amg_cycle *c)
{
    double entries = 0.0;

    for (int l = 0; l < c->count; l++) {
        entries += (double)c->level[l].nnz;
    }
    return c->count > 0 && c->level[0].nnz > 0 ? entries / (double)c->level[0].nnz : 1.0;
}

bool amg_is_doubtful(const amg_candidate *first)
{
    const amg_hierarchy *h = &first->hierarchy;
    const tess_amg_options *o = &h->options;
    const bool single = first->cycle.count == 1 && first->cycle.n > o->coarsest && o->max_levels > 1;

    return o->coarsening == TESS_AMG_AUTO && !(h->device && h->coarsening->kind == TESS_AMG_CLASSICAL) &&
           (single || amg_operator_complexity(&first->cycle) > most_complex);
}

tess_amg_coarsening amg_other_coarsening(tess_amg_coarsening kind)
{
    return kind == TESS_AMG_CLASSICAL ? TESS_AMG_AGGREGATION : TESS_AMG_CLASSICAL;
}

/* ---- a few cycles ---- */

typedef struct trial {
    const amg_cycle *c;
    const tess_matrix *a;
    double *e, *product, *correction;
} trial;

static tess_status norm_of(const trial *t, double *norm)
{
    tess_fused op = {
        .op = TESS_FUSED_DOT, .n = t->c->n, .x = {t->e, TESS_PRECISION_FP64}, .y = {t->e, TESS_PRECISION_FP64}};
    const tess_status status = tess_fused_dots(t->c->ctx, &op, 1, norm);

    *norm = sqrt(*norm);
    return status;
}

/* e -= M A e */
static tess_status run_cycle(const trial *t)
{
    const tess_spmv_args args = {.operation = TESS_OP_NONE, .alpha = 1.0, .x = t->e, .y = t->product};
    const tess_fused subtract = {.op = TESS_FUSED_AXPBY,
                                 .n = t->c->n,
                                 .x = {t->correction, TESS_PRECISION_FP64},
                                 .y = {t->e, TESS_PRECISION_FP64},
                                 .result = t->e,
                                 .a = -1.0,
                                 .b = 1.0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(t->a->ops->spmv(t->a, &args));
    TESS_TRY(amg_cycle_apply(t->c, TESS_PRECISION_FP64, t->product, t->correction, NULL));
    status = t->c->ctx->backend->fused(t->c->ctx, &subtract);
cleanup:
    return status;
}

tess_status amg_measure_factor(const amg_cycle *c, const tess_matrix *a, double *factor)
{
    tess_context *ctx = c->ctx;
    trial t = {.c = c, .a = a};
    double **const vectors[] = {&t.e, &t.product, &t.correction};
    double before = 0.0, after = 0.0;
    tess_status status = TESS_SUCCESS;

    *factor = 1.0;
    for (int k = 0; k < 3; k++) {
        TESS_TRY(tess_device_allocate(ctx, c->n, sizeof(double), (void **)vectors[k]));
    }
    TESS_TRY(ctx->backend->random(ctx, c->n, c->options.seed, -1.0, 1.0, t.e));
    for (int k = 0; k < CYCLES; k++) {
        TESS_TRY(run_cycle(&t));
        before = after;
        TESS_TRY(norm_of(&t, &after));
    }
    if (before > 0.0 && isfinite(after / before)) { *factor = after / before; }
cleanup:
    for (int k = 0; k < 3; k++) {
        tess_device_release(ctx, *vectors[k], c->n, sizeof(double));
    }
    return status;
}

/* ---- the comparison ---- */

/* Bytes for a factor of e: CG with a condition number of 1 / (1 - factor). */
static double cost_of(const amg_cycle *c, double factor)
{
    const double root = 1.0 / sqrt(1.0 - fmin(fmax(factor, 0.0), worst_factor));
    double bytes = 0.0;

    for (int l = 0; l < c->count; l++) {
        bytes += (double)amg_level_bytes(&c->level[l]);
    }
    return bytes / log((root + 1.0) / fmax(root - 1.0, 1e-3));
}

bool amg_is_better(const amg_cycle *first, double first_factor, const amg_cycle *second, double second_factor)
{
    return second->count > 1 && (first->count == 1 || cost_of(second, second_factor) < cost_of(first, first_factor));
}
