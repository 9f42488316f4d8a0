/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/spectrum.h"

#include <lapacke.h>
#include <math.h>

#include "base/blas_calls.h"
#include "base/random.h"
#include "precond/multigrid/cycle/factors.h"

/* Lanczos steps, and the factor between their estimate and the bound that is used. */
enum { STEPS = 10 };
static const double margin = 1.1;

/* ---- the largest eigenvalue ---- */

/* Vectors that change places, and the tridiagonal matrix. */
typedef struct lanczos {
    const amg_cycle *c;
    const amg_cycle_level *l;
    void *v, *before, *w;
    void *z;     /* with blocks: M v, whose products with v make norms; else NULL, and M is the identity */
    double sign; /* of A, and so of M: -1 where c->negative */
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

/* y := A x + beta base */
static tess_status run_product(const lanczos *z, const tess_matrix *a, const void *x, double beta, const void *base,
                               void *y)
{
    tess_spmv_args args = {.operation = TESS_OP_NONE,
                           .alpha = 1.0,
                           .beta = beta,
                           .vectors = z->c->vectors,
                           .update = {.kind = TESS_UPDATE_POLYNOMIAL, .base = base}};

    if (z->c->vectors == TESS_PRECISION_FP32) {
        args.x_fp32 = x;
        args.y_fp32 = y;
    } else {
        args.x = x;
        args.y = y;
    }
    return a->ops->spmv(a, &args);
}

static tess_status scale(const lanczos *z, double factor, const void *x, void *y)
{
    const tess_precision p = z->c->vectors;

    return run_pass(z, (tess_fused){.op = TESS_FUSED_SCALE, .x = {x, p}, .y = {y, p}, .result = y, .a = factor});
}

/* z := M x; *norm: of x. */
static tess_status find_norm(const lanczos *z, const void *x, double *norm)
{
    tess_status status = TESS_SUCCESS;

    if (z->z) { TESS_TRY(run_product(z, z->l->blocks, x, 0.0, NULL, z->z)); }
    TESS_TRY(dot(z, x, z->z ? z->z : x, norm));
    *norm = sqrt(z->z ? z->sign * *norm : *norm);
cleanup:
    return status;
}

/* v := x / norm, and so z */
static tess_status take_direction(const lanczos *z, double norm, const void *x, void *v)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(scale(z, 1.0 / norm, x, v));
    if (z->z) { status = scale(z, 1.0 / norm, z->z, z->z); }
cleanup:
    return status;
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
    TESS_TRY(find_norm(z, z->v, &norm));
    TESS_TRY(take_direction(z, norm, z->v, z->v));
    status = ctx->backend->zero(ctx, z->before, (size_t)n * size);
cleanup:
    tess_device_release(ctx, random, n, sizeof *random);
    return status;
}

/* One step of the Lanczos process: w = A z - beta before - alpha v. *ended: the space is exhausted. */
static tess_status step(lanczos *z, bool *ended)
{
    const tess_precision p = z->c->vectors;
    const void *direction = z->z ? z->z : z->v;
    double *alpha = &z->alpha[z->count], *beta = &z->beta[z->count];
    void *freed = z->before;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(run_product(z, z->l->a, direction, z->count > 0 ? -beta[-1] : 0.0, z->before, z->w));
    TESS_TRY(dot(z, z->w, direction, alpha));
    if (z->z) { *alpha *= z->sign; }
    TESS_TRY(run_pass(
        z,
        (tess_fused){.op = TESS_FUSED_AXPBY, .x = {z->v, p}, .y = {z->w, p}, .result = z->w, .a = -*alpha, .b = 1.0}));
    TESS_TRY(find_norm(z, z->w, beta));
    z->count += 1;
    *ended = !(*beta > 1e-6); /* of values of about 1 */
    if (*ended) { goto cleanup; }
    z->before = z->v;
    z->v = freed;
    status = take_direction(z, *beta, z->w, freed);
cleanup:
    return status;
}

static tess_status estimate(const amg_cycle *c, const amg_cycle_level *l, double *largest)
{
    const size_t size = tess_precision_bytes(c->vectors);
    lanczos z = {.c = c, .l = l, .v = l->x, .before = l->other, .w = l->residual, .sign = c->negative ? -1.0 : 1.0};
    bool ended = false;
    lapack_int info = 0;
    tess_status status = TESS_SUCCESS;

    if (l->blocks) { TESS_TRY(tess_device_allocate(c->ctx, l->n, size, &z.z)); }
    TESS_TRY(start(&z));
    while (!ended && z.count < STEPS && z.count < l->n) {
        TESS_TRY(step(&z, &ended));
    }
    for (int k = 0; k < z.count && !z.z; k++) {
        z.alpha[k] *= z.sign;
    }
    TESS_LAPACK(info, LAPACKE_dsterf(z.count, z.alpha, z.beta));
    if (info == 0) { *largest = z.alpha[z.count - 1]; }
cleanup:
    tess_device_release(c->ctx, z.z, l->n, size);
    return status;
}

void amg_set_bound(const amg_cycle *c, double largest, amg_cycle_level *l)
{
    const bool l1 = c->l1 && !l->blocks;

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
    lanczos z = {.c = c, .l = l, .v = l->x, .before = l->other, .w = l->residual, .sign = 1.0};
    double squares = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start(&z));
    for (int k = 0; k < STEPS; k++) {
        TESS_TRY(run_product(&z, l->a, z.v, 0.0, NULL, z.w));
        TESS_TRY(amg_apply_factors(c, l, z.w, z.v, NULL));
        TESS_TRY(dot(&z, z.v, z.v, &squares));
        *largest = sqrt(squares);
        if (!(*largest > 0.0 && isfinite(*largest))) { goto cleanup; }
        TESS_TRY(scale(&z, 1.0 / *largest, z.v, z.v));
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
    const bool chebyshev = options->smoother == TESS_AMG_CHEBYSHEV || options->smoother == TESS_AMG_BLOCK_JACOBI;
    const double sign = c->negative && !l->blocks ? -1.0 : 1.0; /* blocks bring theirs */
    const double high = sign * l->bound, low = high / c->ratio, pi = acos(-1.0);

    for (int i = 0; i < options->degree; i++) {
        const double root =
            0.5 * (high + low) + 0.5 * (high - low) * cos(pi * (2.0 * i + 1.0) / (2.0 * options->degree));

        l->omega[i] = chebyshev ? 1.0 / root : 1.0 / high;
        if (options->smoother == TESS_AMG_JACOBI) { l->omega[i] *= 4.0 / 3.0; }
    }
}
