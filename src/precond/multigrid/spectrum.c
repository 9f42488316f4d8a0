/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/spectrum.h"

#include <lapacke.h>
#include <math.h>

#include "base/random.h"
#include "precond/multigrid/factors.h"

/* Lanczos steps, and the factor between their estimate and the bound that is used. */
enum { STEPS = 10 };
static const double margin = 1.1;

/* ---- the largest eigenvalue ---- */

/* Vectors that change places, and the tridiagonal matrix. */
typedef struct lanczos {
    const amg_cycle *c;
    const amg_cycle_level *l;
    void *v, *before, *w;
    double alpha[STEPS], beta[STEPS];
    int count;
} lanczos;

static tess_status run_pass(const lanczos *z, tess_fused op)
{
    op.n = z->l->n;
    return z->c->ctx->backend->fused(z->c->ctx, &op);
}

static tess_status dot(const lanczos *z, const void *x, const void *y, double *out)
{
    tess_fused op = {.op = TESS_FUSED_DOT, .n = z->l->n, .x = {x, z->c->vectors}, .y = {y, z->c->vectors}};

    return tess_fused_dots(z->c->ctx, &op, 1, out);
}

/* v := random, before := 0 */
static tess_status start(lanczos *z)
{
    tess_context *ctx = z->c->ctx;
    const int64_t n = z->l->n;
    const size_t size = tess_precision_bytes(z->c->vectors);
    double *random = NULL, norm = 0.0;
    const tess_operand v = {z->v, z->c->vectors};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, n, sizeof *random, (void **)&random));
    TESS_TRY(ctx->backend->random(ctx, n, z->c->options.seed, -1.0, 1.0, random));
    TESS_TRY(run_pass(
        z, (tess_fused){.op = TESS_FUSED_SCALE, .x = {random, TESS_PRECISION_FP64}, .y = v, .result = z->v, .a = 1.0}));
    TESS_TRY(dot(z, z->v, z->v, &norm));
    TESS_TRY(run_pass(z, (tess_fused){.op = TESS_FUSED_SCALE, .x = v, .y = v, .result = z->v, .a = 1.0 / sqrt(norm)}));
    status = ctx->backend->zero(ctx, z->before, (size_t)n * size);
cleanup:
    tess_device_release(ctx, random, n, sizeof *random);
    return status;
}

/* w := A v - beta before */
static tess_status multiply(const lanczos *z, double beta)
{
    tess_spmv_args args = {.operation = TESS_OP_NONE,
                           .alpha = 1.0,
                           .beta = -beta,
                           .vectors = z->c->vectors,
                           .update = {.kind = TESS_UPDATE_POLYNOMIAL, .base = z->before}};

    if (z->c->vectors == TESS_PRECISION_FP32) {
        args.x_fp32 = z->v;
        args.y_fp32 = z->w;
    } else {
        args.x = z->v;
        args.y = z->w;
    }
    return z->l->a->ops->spmv(z->l->a, &args);
}

/* One step of the Lanczos process. *ended: the space is exhausted. */
static tess_status step(lanczos *z, bool *ended)
{
    const tess_precision p = z->c->vectors;
    double *alpha = &z->alpha[z->count], *beta = &z->beta[z->count], squares = 0.0;
    void *freed = z->before;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(multiply(z, z->count > 0 ? beta[-1] : 0.0));
    TESS_TRY(dot(z, z->w, z->v, alpha));
    TESS_TRY(run_pass(
        z,
        (tess_fused){.op = TESS_FUSED_AXPBY, .x = {z->v, p}, .y = {z->w, p}, .result = z->w, .a = -*alpha, .b = 1.0}));
    TESS_TRY(dot(z, z->w, z->w, &squares));
    *beta = sqrt(squares);
    z->count += 1;
    *ended = !(*beta > 1e-6); /* of values of about 1 */
    if (*ended) { goto cleanup; }
    z->before = z->v;
    z->v = freed;
    status = run_pass(
        z, (tess_fused){.op = TESS_FUSED_SCALE, .x = {z->w, p}, .y = {freed, p}, .result = freed, .a = 1.0 / *beta});
cleanup:
    return status;
}

static tess_status estimate(const amg_cycle *c, const amg_cycle_level *l, double *largest)
{
    lanczos z = {.c = c, .l = l, .v = l->x, .before = l->other, .w = l->residual};
    bool ended = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start(&z));
    while (!ended && z.count < STEPS && z.count < l->n) {
        TESS_TRY(step(&z, &ended));
    }
    if (LAPACKE_dsterf(z.count, z.alpha, z.beta) == 0) { *largest = z.alpha[z.count - 1]; }
cleanup:
    return status;
}

void amg_set_bound(const amg_cycle *c, double largest, amg_cycle_level *l)
{
    const bool l1 = c->options.smoother != TESS_AMG_JACOBI;

    l->bound = 1.0; /* of l1 norms, by Gershgorin's theorem */
    if (isfinite(largest) && largest > 0.0) { l->bound = l1 ? fmin(margin * largest, 1.0) : margin * largest; }
}

tess_status amg_find_bound(const amg_cycle *c, amg_cycle_level *l)
{
    double largest = NAN;
    tess_status status = TESS_SUCCESS;

    if (c->has_bounds) { return TESS_SUCCESS; }
    if (l->n > 0 && c->estimates) { status = estimate(c, l, &largest); }
    amg_set_bound(c, largest, l);
    return status;
}

/* The largest eigenvalue of M A in magnitude, by the power method. */
static tess_status estimate_with_factors(const amg_cycle *c, const amg_cycle_level *l, double *largest)
{
    const tess_precision p = c->vectors;
    lanczos z = {.c = c, .l = l, .v = l->x, .before = l->other, .w = l->residual};
    double squares = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start(&z));
    for (int k = 0; k < STEPS; k++) {
        TESS_TRY(multiply(&z, 0.0));
        TESS_TRY(amg_apply_factors(c, l, z.w, z.v, NULL));
        TESS_TRY(dot(&z, z.v, z.v, &squares));
        *largest = sqrt(squares);
        if (!(*largest > 0.0 && isfinite(*largest))) { goto cleanup; }
        TESS_TRY(run_pass(
            &z,
            (tess_fused){.op = TESS_FUSED_SCALE, .x = {z.v, p}, .y = {z.v, p}, .result = z.v, .a = 1.0 / *largest}));
    }
cleanup:
    return status;
}

/* A step with factors must not enlarge errors: a symmetric cycle would not be positive definite. */
tess_status amg_find_damping(const amg_cycle *c, amg_cycle_level *l)
{
    const double most = 1.8, target = 4.0 / 3.0;
    double largest = 0.0;
    tess_status status = TESS_SUCCESS;

    l->damping = 1.0;
    if (!l->factors) { return TESS_SUCCESS; }
    status = estimate_with_factors(c, l, &largest);
    if (isfinite(largest) && margin * largest > most) { l->damping = target / (margin * largest); }
    return status;
}

void amg_set_steps(const amg_cycle *c, amg_cycle_level *l)
{
    const tess_amg_options *options = &c->options;
    const double high = l->bound, low = high / c->ratio, pi = acos(-1.0);

    for (int i = 0; i < options->degree; i++) {
        const double root =
            0.5 * (high + low) + 0.5 * (high - low) * cos(pi * (2.0 * i + 1.0) / (2.0 * options->degree));

        l->omega[i] = options->smoother == TESS_AMG_CHEBYSHEV ? 1.0 / root : 1.0 / high;
        if (options->smoother == TESS_AMG_JACOBI) { l->omega[i] *= 4.0 / 3.0; }
    }
}
