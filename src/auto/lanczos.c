/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/lanczos.h"

#include <lapacke.h>
#include <math.h>

#include "base/blas_calls.h"

tess_status lanczos_allocate(tess_context *ctx, int64_t capacity, lanczos_record *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (lanczos_record){.capacity = capacity};
    TESS_TRY(tess_host_allocate(ctx, capacity, sizeof(double), (void **)&out->diagonal));
    status = tess_host_allocate(ctx, capacity, sizeof(double), (void **)&out->beside);
cleanup:
    return status;
}

void lanczos_release(tess_context *ctx, lanczos_record *record)
{
    tess_host_release(ctx, record->diagonal, record->capacity, sizeof(double));
    tess_host_release(ctx, record->beside, record->capacity, sizeof(double));
}

static tess_precond_kind kind_of(const tess_precond *m)
{
    return m ? m->kind : TESS_PRECOND_NONE;
}

bool lanczos_fits(const method_facts *f)
{
    return f->kind == TESS_SOLVER_CG && f->loop && (!f->precond || tess_precond_scale(f->precond));
}

void lanczos_note(lanczos_record *t, const method_solver *running)
{
    const method_facts f = running ? method_look(running) : (method_facts){0};
    const tess_loop_state *now = running && lanczos_fits(&f) ? f.loop : NULL;
    const bool first = !now || t->count == 0 || f.cycles != t->cycle;

    if (!now || kind_of(f.precond) != t->precond) { t->count = 0; }
    if (!now || t->count == t->capacity || !(now->alpha > 0.0)) { return; }
    t->precond = kind_of(f.precond);
    /* t_kk = 1 / alpha_k + beta_(k-1) / alpha_(k-1), t_(k,k-1) = sqrt(beta_(k-1)) / alpha_(k-1) */
    t->diagonal[t->count] = 1.0 / now->alpha + (first ? 0.0 : t->beta / t->alpha);
    if (t->count > 0) { t->beside[t->count - 1] = first ? 0.0 : sqrt(t->beta) / t->alpha; }
    t->alpha = now->alpha;
    t->beta = now->beta;
    t->cycle = f.cycles;
    t->count += 1;
}

/* The eigenvalue of T with this number, from 1 in ascending order; NaN: LAPACK found none. `found` has room for all. */
static double eigenvalue(const lanczos_record *t, int64_t number, double *found, lapack_int *places)
{
    const lapack_int n = (lapack_int)t->count, k = (lapack_int)number;
    lapack_int count = 0, splits = 0, info = 0;

    TESS_LAPACK(info, LAPACKE_dstebz('I', 'E', n, 0.0, 0.0, k, k, 0.0, t->diagonal, t->beside, &count, &splits, found,
                                     places, places + n));
    if (info != 0 || count < 1) { return NAN; }
    return found[0];
}

/*
 * S = D^-1/2 A D^-1/2 with its extreme eigenvalues by T. ||e||_2 <= ||D^-1/2||_2 ||D^1/2 e||_2, and D^1/2 e =
 * S^-1 D^-1/2 r, so that the last norm is at most ||D^-1/2 r||_2 / lambda_min.
 */
static void bound_by_lanczos(const double *inverse_diagonal, const error_of_x *e, double least,
                             tess_accuracy_result *out)
{
    double largest = 1.0, sum = 0.0;

    out->forward_error = e->residual_norm / least / e->x_norm;
    if (!inverse_diagonal || e->residual_norm == 0.0) { return; }
    largest = 0.0;
    for (int64_t i = 0; i < e->a->nrows; i++) {
        const double r = e->residual[i] / e->residual_norm;

        largest = fmax(largest, inverse_diagonal[i]);
        sum += r * r * inverse_diagonal[i];
    }
    out->forward_error *= sqrt(largest) * sqrt(sum);
}

static tess_status lanczos_ends(tess_context *ctx, const lanczos_record *t, double *least, double *most)
{
    double *found = NULL;
    lapack_int *places = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, t->count, sizeof *found, (void **)&found));
    TESS_TRY(tess_host_allocate(ctx, 2 * t->count, sizeof *places, (void **)&places));
    *least = eigenvalue(t, 1, found, places);
    *most = eigenvalue(t, t->count, found, places);
cleanup:
    tess_host_release(ctx, found, t->count, sizeof *found);
    tess_host_release(ctx, places, 2 * t->count, sizeof *places);
    return status;
}

tess_status error_by_lanczos(const tess_precond *m, const lanczos_record *t, const error_of_x *e,
                             tess_accuracy_result *out)
{
    double least = NAN, most = NAN, random_least = NAN, random_most = NAN;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(lanczos_ends(e->a->ctx, t, &least, &most));
    if (e->random && e->random->count > 0) {
        TESS_TRY(lanczos_ends(e->a->ctx, e->random, &random_least, &random_most));
        least = fmin(least, random_least);
        most = fmax(most, random_most);
    }
    if (!(least > 0.0 && most > 0.0)) { return TESS_SUCCESS; }
    out->source = TESS_CONDITION_LANCZOS;
    out->condition = most / least;
    bound_by_lanczos(tess_precond_scale(m), e, least, out);
cleanup:
    return status;
}
