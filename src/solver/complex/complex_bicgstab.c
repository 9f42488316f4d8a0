/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BiCGSTAB with right preconditioning (van der Vorst 1992) in complex scalars; names as in bicgstab/bicgstab.c. The
 * inner products are (x, y), the sum of conj(x) y.
 */
#include "solver/complex/complex_method.h"

#include <math.h>
#include <string.h>

#include "solver/bicgstab/bicgstab_scalars.h"
#include "solver/method_solver.h"

enum { SHADOW, DIRECTION, V, T, DIRECTION_HAT, S_HAT };

typedef struct complex_bicgstab {
    double complex alpha, beta, omega, rho;
    double shadow_norm;
} complex_bicgstab;

static int vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? 4 : 6;
}

static double *hat(const tess_krylov *k, double *plain, int which)
{
    return tess_precond_is_identity(k->precond) ? plain : k->v[which];
}

/* ---- set-up ---- */

static tess_status setup(method_solver *s)
{
    tess_status status = solver_setup_storage(s);

    if (status == TESS_SUCCESS) { status = tess_host_allocate(s->ctx, 1, sizeof(complex_bicgstab), &s->own); }
    s->krylov.own = s->own;
    return status;
}

static void destroy(method_solver *s)
{
    tess_host_release(s->ctx, s->own, 1, sizeof(complex_bicgstab));
    s->own = NULL;
}

/* ---- a cycle ---- */

static tess_status products(const tess_krylov *k, int count, const double *const x[], const double *const y[],
                            double complex *out)
{
    pair_products p = {.n = k->n / 2, .count = count};
    pair sums[PAIRS_MOST];
    tess_status status = TESS_SUCCESS;

    for (int j = 0; j < count; j++) {
        p.x[j] = x[j];
        p.y[j] = y[j];
    }
    tess_enter_phase(k->ctx, TESS_PHASE_NORM);
    status = pairs_ops_of(k->ctx)->products(k->ctx, &p, sums);
    for (int j = 0; j < count && status == TESS_SUCCESS; j++) {
        out[j] = complex_of(sums[j]);
    }
    return status;
}

static tess_status start(tess_krylov *k)
{
    const tess_backend *backend = k->ctx->backend;
    const size_t bytes = (size_t)k->n * sizeof(double);
    complex_bicgstab *own = k->own;
    double *shadow = k->v[SHADOW];
    double complex sums[2];
    tess_status status = TESS_SUCCESS;

    memset(own, 0, sizeof *own);
    TESS_TRY(backend->zero(k->ctx, k->v[DIRECTION], bytes));
    TESS_TRY(backend->zero(k->ctx, k->v[V], bytes));
    if (k->attempt == 0) { /* r~ = r, the usual choice */
        TESS_TRY(backend->copy(k->ctx, shadow, k->r, bytes));
    } else { /* that choice broke down without progress: choose another r~ */
        TESS_TRY(backend->random(k->ctx, k->n, (uint64_t)k->attempt, -1.0, 1.0, shadow));
    }
    TESS_TRY(products(k, 2, (const double *[]){shadow, shadow}, (const double *[]){k->r, shadow}, sums));
    own->rho = sums[0];
    own->shadow_norm = sqrt(creal(sums[1]));
    if (!complex_is_finite(own->rho)) { status = krylov_stop(k, TESS_REASON_NAN_OR_INF); }
cleanup:
    return status;
}

/* p = r + beta (p - omega v); v = A M^-1 p; alpha = rho / (r~, v). *reason says why there is no alpha. */
static tess_status half_step(tess_krylov *k, tess_reason *reason)
{
    complex_bicgstab *own = k->own;
    const pairs_ops *ops = pairs_ops_of(k->ctx);
    double *p = k->v[DIRECTION], *v = k->v[V], *p_hat = hat(k, p, DIRECTION_HAT);
    const pair_combination direction = {.n = k->n / 2,
                                        .count = 3,
                                        .factor = {{1.0, 0.0}, pair_of(own->beta), pair_of(-own->beta * own->omega)},
                                        .x = {k->r, p, v},
                                        .y = p};
    double complex projection = 0.0;
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(k->ctx, TESS_PHASE_OTHER);
    TESS_TRY(ops->combine(k->ctx, &direction));
    TESS_TRY(complex_precondition(k, p, p_hat));
    TESS_TRY(krylov_iteration_spmv(k, 0, p_hat, v, (tess_reduction){0}));
    TESS_TRY(products(k, 1, (const double *[]){k->v[SHADOW]}, (const double *[]){v}, &projection));
    own->alpha = own->rho / projection;
    if (!complex_is_finite(projection)) {
        *reason = TESS_REASON_NAN_OR_INF;
    } else if (projection == 0.0 || !complex_is_finite(own->alpha)) {
        *reason = TESS_REASON_BREAKDOWN;
    }
cleanup:
    return status;
}

/* s = r - alpha v, kept in r; t = A M^-1 s; omega = (t, s) / (t, t) */
static tess_status stabilize(tess_krylov *k, tess_reason *reason)
{
    complex_bicgstab *own = k->own;
    double *t = k->v[T], *s_hat = hat(k, k->r, S_HAT);
    const pair_combination residual = {
        .n = k->n / 2, .count = 2, .factor = {{1.0, 0.0}, pair_of(-own->alpha)}, .x = {k->r, k->v[V]}, .y = k->r};
    double complex sums[2];
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(k->ctx, TESS_PHASE_OTHER);
    TESS_TRY(pairs_ops_of(k->ctx)->combine(k->ctx, &residual));
    TESS_TRY(complex_precondition(k, k->r, s_hat));
    TESS_TRY(krylov_iteration_spmv(k, 1, s_hat, t, (tess_reduction){0}));
    TESS_TRY(products(k, 2, (const double *[]){t, t}, (const double *[]){k->r, t}, sums));
    own->omega = creal(sums[1]) > 0.0 ? sums[0] / creal(sums[1]) : 0.0;
    if (!complex_is_finite(sums[0]) || !complex_is_finite(sums[1])) { *reason = TESS_REASON_NAN_OR_INF; }
cleanup:
    return status;
}

/* d += alpha p^ + omega s^; r = s - omega t; beta = (rho_new / rho) (alpha / omega) */
static tess_status advance(tess_krylov *k)
{
    complex_bicgstab *own = k->own;
    const pairs_ops *ops = pairs_ops_of(k->ctx);
    const double *p_hat = hat(k, k->v[DIRECTION], DIRECTION_HAT), *s_hat = hat(k, k->r, S_HAT);
    const pair_combination solution = {.n = k->n / 2,
                                       .count = 3,
                                       .factor = {{1.0, 0.0}, pair_of(own->alpha), pair_of(own->omega)},
                                       .x = {k->d, p_hat, s_hat},
                                       .y = k->d};
    const pair_combination residual = {
        .n = k->n / 2, .count = 2, .factor = {{1.0, 0.0}, pair_of(-own->omega)}, .x = {k->r, k->v[T]}, .y = k->r};
    double complex sums[2];
    double norm = 0.0;
    bool ends = false;
    tess_status status = TESS_SUCCESS;

    tess_enter_phase(k->ctx, TESS_PHASE_OTHER);
    TESS_TRY(ops->combine(k->ctx, &solution));
    TESS_TRY(ops->combine(k->ctx, &residual));
    TESS_TRY(products(k, 2, (const double *[]){k->v[SHADOW], k->r}, (const double *[]){k->r, k->r}, sums));
    norm = sqrt(creal(sums[1]));
    own->beta = sums[0] / own->rho * (own->alpha / own->omega);
    own->rho = sums[0];
    ends = !complex_is_finite(own->beta) || cabs(sums[0]) <= TESS_BICGSTAB_ORTHOGONAL * own->shadow_norm * norm;
    status = complex_end_iteration(k, norm, ends ? TESS_REASON_BREAKDOWN : TESS_REASON_RUNNING);
cleanup:
    return status;
}

static tess_status iterate(void *krylov)
{
    tess_krylov *k = krylov;
    tess_reason reason = TESS_REASON_RUNNING;
    bool runs = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(complex_runs(k, &runs));
    if (!runs) { return TESS_SUCCESS; }
    k->iterated += 1;
    TESS_TRY(half_step(k, &reason));
    if (reason == TESS_REASON_RUNNING) { TESS_TRY(stabilize(k, &reason)); }
    status = reason == TESS_REASON_RUNNING ? advance(k) : krylov_stop(k, reason);
cleanup:
    return status;
}

const tess_method complex_bicgstab_method = {.kind = TESS_SOLVER_BICGSTAB,
                                             .counts_iterations = true,
                                             .vectors = vectors,
                                             .setup = setup,
                                             .destroy = destroy,
                                             .start = start,
                                             .iterate = iterate};
