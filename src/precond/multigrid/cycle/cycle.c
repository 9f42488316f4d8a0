/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/cycle.h"

#include "precond/multigrid/cycle/factors.h"

/* A pass of products and vectors of one level, in a loop or not. */
typedef struct level_pass {
    const amg_cycle *c;
    const amg_cycle_level *level;
    tess_loop_state *state;
} level_pass;

/* Values of the level's vectors. */
static int64_t values_of(const level_pass *p)
{
    return p->c->columns > 1 ? p->level->n * p->c->columns : p->level->n;
}

/* ---- products ---- */

/* y := alpha A x + beta base, and then total += gamma y. base NULL: beta is 0; total NULL: no sum; y may be NULL. */
typedef struct step {
    const tess_matrix *a;
    const void *x, *base;
    void *y, *total;
    double alpha, gamma;
    double *wide; /* the new total goes here, in FP64 */
} step;

static tess_status run_step(const level_pass *p, const step *s)
{
    tess_spmv_args args = {.operation = TESS_OP_NONE,
                           .alpha = s->alpha,
                           .beta = s->base ? 1.0 : 0.0,
                           .reduction = {.state = p->state},
                           .update = {.kind = TESS_UPDATE_POLYNOMIAL,
                                      .base = s->base,
                                      .total = s->total,
                                      .gamma = s->gamma,
                                      .wide_total = s->wide},
                           .vectors = p->c->vectors,
                           .columns = p->c->columns};

    if (p->c->vectors == TESS_PRECISION_FP32) {
        args.x_fp32 = s->x;
        args.y_fp32 = s->y;
    } else {
        args.x = s->x;
        args.y = s->y;
    }
    return p->c->columns > 1 ? s->a->ops->multiply_columns(s->a, &args) : s->a->ops->spmv(s->a, &args);
}

/* y := factor x */
static tess_status scale_vector(const level_pass *p, double factor, const void *x, void *y)
{
    const tess_fused op = {.op = TESS_FUSED_SCALE,
                           .n = values_of(p),
                           .x = {x, p->c->vectors},
                           .y = {y, p->c->vectors},
                           .result = y,
                           .a = factor,
                           .state = p->state};

    return p->c->ctx->backend->fused(p->c->ctx, &op);
}

/* y := a x + b y */
static tess_status add_vectors(const level_pass *p, double a, const void *x, double b, void *y)
{
    const tess_fused op = {.op = TESS_FUSED_AXPBY,
                           .n = values_of(p),
                           .x = {x, p->c->vectors},
                           .y = {y, p->c->vectors},
                           .result = y,
                           .a = a,
                           .b = b,
                           .state = p->state};

    return p->c->ctx->backend->fused(p->c->ctx, &op);
}

/* z := x in FP64 */
static tess_status widen_vector(const level_pass *p, const void *x, double *z)
{
    const tess_fused op = {.op = TESS_FUSED_SCALE,
                           .n = values_of(p),
                           .x = {x, p->c->vectors},
                           .y = {z, TESS_PRECISION_FP64},
                           .result = z,
                           .a = 1.0,
                           .state = p->state};

    return p->c->ctx->backend->fused(p->c->ctx, &op);
}

/* ---- smoothing ---- */

static tess_status swap_after(tess_status status, void **a, void **b)
{
    void *keep = *a;

    *a = *b;
    *b = keep;
    return status;
}

/* Richardson steps with the inverse roots omega_i of the smoothing polynomial: r_i+1 = r_i - omega_i A r_i,
   x += omega_i+1 r_i+1. Steps 1 .. degree - 1; *r and *other change places. The last residual is not kept if `last`. */
static tess_status smooth(const level_pass *p, void **r, void **other, bool last, double *wide)
{
    const amg_cycle_level *l = p->level;
    const int degree = p->c->options.degree;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i + 1 < degree; i++) {
        const bool ends = last && i + 2 == degree;
        const step s = {.a = l->a,
                        .x = *r,
                        .base = *r,
                        .y = ends ? NULL : *other,
                        .total = l->x,
                        .alpha = -l->omega[i],
                        .gamma = l->omega[i + 1],
                        .wide = ends ? wide : NULL};

        TESS_TRY(swap_after(run_step(p, &s), r, other));
    }
cleanup:
    return status;
}

/* A product and a solve with factors cost about two products. */
static int steps_with_factors(const level_pass *p)
{
    return (p->c->options.degree + 1) / 2;
}

/* With factors: x := damping M r, once or more, and in *r what is left. */
static tess_status solve_first(const level_pass *p, void **r, void **other)
{
    const amg_cycle_level *l = p->level;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_apply_factors(p->c, l, *r, l->x, p->state));
    if (l->damping != 1.0) { TESS_TRY(scale_vector(p, l->damping, l->x, l->x)); }
    TESS_TRY(swap_after(run_step(p, &(step){.a = l->a, .x = l->x, .base = *r, .y = *other, .alpha = -1.0}), r, other));
    for (int i = 1; i < steps_with_factors(p); i++) {
        TESS_TRY(amg_apply_factors(p->c, l, *r, *other, p->state));
        TESS_TRY(add_vectors(p, l->damping, *other, 1.0, l->x));
        TESS_TRY(run_step(p, &(step){.a = l->a, .x = *other, .base = *r, .y = *r, .alpha = -l->damping}));
    }
cleanup:
    return status;
}

/* The correction e in *other, which x has already: x += damping M (r - A e). */
static tess_status solve_again(const level_pass *p, void **r, void **other, double *wide)
{
    const amg_cycle_level *l = p->level;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < steps_with_factors(p); i++) {
        const double step_length = i == 0 ? 1.0 : l->damping;

        TESS_TRY(run_step(p, &(step){.a = l->a, .x = *other, .base = *r, .y = *r, .alpha = -step_length}));
        TESS_TRY(amg_apply_factors(p->c, l, *r, *other, p->state));
        TESS_TRY(add_vectors(p, l->damping, *other, 1.0, l->x));
    }
    if (wide) { status = widen_vector(p, l->x, wide); }
cleanup:
    return status;
}

/* With blocks: steps `first` .. degree - 1, z = M r, x += omega z, r -= omega A z. The residual after the last one is
   not kept if `last`. */
static tess_status solve_blocks(const level_pass *p, void *r, void *z, int first, bool last, double *wide)
{
    const amg_cycle_level *l = p->level;
    const int degree = p->c->options.degree;
    tess_status status = TESS_SUCCESS;

    for (int i = first; i < degree; i++) {
        const bool ends = last && i + 1 == degree;

        TESS_TRY(run_step(p, &(step){.a = l->blocks,
                                     .x = r,
                                     .y = ends ? NULL : z,
                                     .total = l->x,
                                     .alpha = 1.0,
                                     .gamma = l->omega[i],
                                     .wide = ends ? wide : NULL}));
        if (ends) { break; }
        TESS_TRY(run_step(p, &(step){.a = l->a, .x = z, .base = r, .y = r, .alpha = -l->omega[i]}));
    }
cleanup:
    return status;
}

/* From x = 0. */
static tess_status solve_blocks_first(const level_pass *p, void *r, void *z)
{
    const amg_cycle_level *l = p->level;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(run_step(p, &(step){.a = l->blocks, .x = r, .y = l->x, .alpha = l->omega[0]}));
    TESS_TRY(run_step(p, &(step){.a = l->a, .x = l->x, .base = r, .y = r, .alpha = -1.0}));
    status = solve_blocks(p, r, z, 1, false, NULL);
cleanup:
    return status;
}

/* The correction e in z, which x has already. */
static tess_status solve_blocks_again(const level_pass *p, void *r, void *z, double *wide)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(run_step(p, &(step){.a = p->level->a, .x = z, .base = r, .y = r, .alpha = -1.0}));
    status = solve_blocks(p, r, z, 0, true, wide);
cleanup:
    return status;
}

/* On fine unknowns twice, then on coarse ones; the correction e in z, which x has already. */
static tess_status relax_in_turn(const level_pass *p, void *r, void *z, double *wide)
{
    static const int turn[] = {0, 0, 1};
    enum { TURNS = sizeof turn / sizeof *turn };
    const amg_cycle_level *l = p->level;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < TURNS; i++) {
        const bool ends = i + 1 == TURNS;

        TESS_TRY(run_step(p, &(step){.a = l->a, .x = z, .base = r, .y = r, .alpha = -1.0}));
        TESS_TRY(run_step(p, &(step){.a = l->relax[turn[i]],
                                     .x = r,
                                     .y = ends ? NULL : z,
                                     .total = l->x,
                                     .alpha = 1.0,
                                     .gamma = 1.0,
                                     .wide = ends ? wide : NULL}));
    }
cleanup:
    return status;
}

/* From x = 0: x, and in *r what is left of the residual. */
static tess_status smooth_first(const level_pass *p, void **r, void **other)
{
    const amg_cycle_level *l = p->level;
    tess_status status = TESS_SUCCESS;

    if (l->factors) { return solve_first(p, r, other); }
    if (l->blocks) { return solve_blocks_first(p, *r, *other); }
    if (l->relax[0]) { return scale_vector(p, 0.0, *r, l->x); }
    TESS_TRY(scale_vector(p, l->omega[0], *r, l->x));
    TESS_TRY(smooth(p, r, other, false, NULL));
    status = swap_after(
        run_step(p, &(step){.a = l->a, .x = *r, .base = *r, .y = *other, .alpha = -l->omega[p->c->options.degree - 1]}),
        r, other);
cleanup:
    return status;
}

/* The correction e in *other, which x has already: the residual, then the steps. */
static tess_status smooth_again(const level_pass *p, void **r, void **other, double *wide)
{
    const amg_cycle_level *l = p->level;
    const bool ends = p->c->options.degree == 1;
    tess_status status = TESS_SUCCESS;

    if (l->factors) { return solve_again(p, r, other, wide); }
    if (l->blocks) { return solve_blocks_again(p, *r, *other, wide); }
    if (l->relax[0]) { return relax_in_turn(p, *r, *other, wide); }
    TESS_TRY(run_step(p, &(step){.a = l->a,
                                 .x = *other,
                                 .base = *r,
                                 .y = ends ? NULL : *r,
                                 .total = l->x,
                                 .alpha = -1.0,
                                 .gamma = l->omega[0],
                                 .wide = ends ? wide : NULL}));
    status = smooth(p, r, other, true, wide);
cleanup:
    return status;
}

/* ---- levels ---- */

static tess_status run_level(const amg_cycle *c, int l, tess_loop_state *state, double *wide);

static tess_status solve_coarsest(const level_pass *p)
{
    const amg_cycle_level *l = p->level;
    void *r = l->residual, *other = l->other;

    if (!l->inverse) { return smooth_first(p, &r, &other); }
    return run_step(p, &(step){.a = l->inverse, .x = l->residual, .y = l->x, .alpha = 1.0});
}

/* W: x := M r, then x += M (r - A x). */
static tess_status run_twice(const amg_cycle *c, int l, tess_loop_state *state)
{
    const amg_cycle_level *level = &c->level[l];
    const level_pass p = {c, level, state};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(scale_vector(&p, 1.0, level->residual, level->rhs));
    TESS_TRY(run_level(c, l, state, NULL));
    TESS_TRY(scale_vector(&p, 1.0, level->x, level->first));
    TESS_TRY(run_step(
        &p, &(step){.a = level->a, .x = level->first, .base = level->rhs, .y = level->residual, .alpha = -1.0}));
    TESS_TRY(run_level(c, l, state, NULL));
    status = add_vectors(&p, 1.0, level->first, 1.0, level->x);
cleanup:
    return status;
}

static tess_status run_coarser(const amg_cycle *c, int l, tess_loop_state *state)
{
    if (l + 1 == c->count || c->options.cycle == TESS_AMG_V) { return run_level(c, l, state, NULL); }
    return c->options.cycle == TESS_AMG_W ? run_twice(c, l, state) : amg_run_flexible(c, l);
}

/* x := M residual on level l; the residual is used up. wide: x also goes there, in FP64, if the cycle's is FP32. */
static tess_status run_level(const amg_cycle *c, int l, tess_loop_state *state, double *wide)
{
    const amg_cycle_level *level = &c->level[l];
    const level_pass p = {c, level, state};
    void *r = level->residual, *other = level->other;
    tess_status status = TESS_SUCCESS;

    if (l + 1 == c->count) { return solve_coarsest(&p); }
    TESS_TRY(smooth_first(&p, &r, &other));
    TESS_TRY(run_step(&p, &(step){.a = level->r, .x = r, .y = c->level[l + 1].residual, .alpha = 1.0}));
    TESS_TRY(run_coarser(c, l + 1, state));
    TESS_TRY(run_step(
        &p, &(step){.a = level->p, .x = c->level[l + 1].x, .y = other, .total = level->x, .alpha = 1.0, .gamma = 1.0}));
    status = smooth_again(&p, &r, &other, wide);
cleanup:
    return status;
}

tess_status amg_run_cycle(const amg_cycle *c, int l)
{
    return run_level(c, l, NULL, NULL);
}

/* ---- application ---- */

/* z := S r, on the finest level, in FP64; low: also there, in FP32. */
static tess_status scale_finest(const level_pass *p, const double *r, double *z, float *low)
{
    const tess_fused op = {.op = TESS_FUSED_DIAGONAL,
                           .n = values_of(p),
                           .in = {r},
                           .out = {z},
                           .scale = p->c->scale,
                           .shadow = low,
                           .columns = p->c->columns,
                           .state = p->state};

    return p->c->ctx->backend->fused(p->c->ctx, &op);
}

/* FP64 in and out. With an FP32 cycle z holds S r in between. */
static tess_status apply_wide(const amg_cycle *c, const double *r, double *z, tess_loop_state *state)
{
    const amg_cycle_level *finest = &c->level[0];
    const level_pass p = {c, finest, state};
    const bool fp32 = c->vectors == TESS_PRECISION_FP32, widens = fp32 && c->count > 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(scale_finest(&p, r, fp32 ? z : finest->residual, fp32 ? finest->residual : NULL));
    TESS_TRY(run_level(c, 0, state, widens ? z : NULL));
    if (fp32 && !widens) { TESS_TRY(widen_vector(&p, finest->x, z)); }
    status = scale_finest(&p, fp32 ? z : finest->x, z, NULL);
cleanup:
    return status;
}

/* FP32 in and out, by way of c->wide. */
static tess_status apply_narrow(const amg_cycle *c, const float *r, float *z, tess_loop_state *state)
{
    const tess_operand wide = {c->wide, TESS_PRECISION_FP64};
    tess_fused op = {.op = TESS_FUSED_SCALE, .n = c->level[0].n, .a = 1.0, .state = state};
    tess_status status = TESS_SUCCESS;

    op.x = (tess_operand){r, TESS_PRECISION_FP32};
    op.y = wide;
    op.result = c->wide;
    TESS_TRY(c->ctx->backend->fused(c->ctx, &op));
    TESS_TRY(apply_wide(c, c->wide, c->wide, state));
    op.x = wide;
    op.y = (tess_operand){z, TESS_PRECISION_FP32};
    op.result = z;
    status = c->ctx->backend->fused(c->ctx, &op);
cleanup:
    return status;
}

tess_status amg_cycle_apply(const amg_cycle *c, tess_precision vectors, const void *r, void *z, tess_loop_state *state)
{
    if (c->level[0].n == 0) { return TESS_SUCCESS; }
    if (vectors == TESS_PRECISION_FP64) { return apply_wide(c, r, z, state); }
    if (!c->wide) {
        return tess_fail(c->ctx, TESS_UNSUPPORTED, "set the arithmetic of tess_precond_options.role to fp32",
                         "amg was not set up for vectors in %s", tess_precision_name(vectors));
    }
    return apply_narrow(c, r, z, state);
}
