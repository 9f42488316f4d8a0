/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jacobi sweeps as a preconditioner (Tezcan et al. 2022, section III-D): some iterations x := x + omega D^-1 (r - A x)
 * from zero, in steps of rising precision. With G = I - omega D^-1 A, K of them are
 *
 *     M^-1 = (I - G^K) A^-1 = omega (I + G + .. + G^(K-1)) D^-1
 *
 * which is symmetric if A is, but for the rounding of low steps, and positive definite if the eigenvalues of A are in
 * (0, 2 / omega) times D's. Gershgorin bounds the eigenvalues of D^-1 A by g, so that the weight min(1, 2 / g) will do
 * for any K.
 */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "matrix/host_csr.h"
#include "precond/precond.h"
#include "sweep/sweep.h"

typedef struct jacobi_sweeps {
    tess_sweep *sweep;
    int count;
    bool weighs; /* the weight follows the matrix */
    bool raised; /* a failure left FP64 alone */
    uint64_t revision;
    int64_t counts[TESS_MAX_SCHEDULE]; /* of each entry of the schedule */
} jacobi_sweeps;

static jacobi_sweeps *own_of(const tess_precond *m)
{
    return m->own;
}

/* ---- set-up ---- */

static tess_status check(const tess_matrix *a, const tess_precond_options *o)
{
    const tess_jacobi_sweeps_options *s = &o->jacobi_sweeps;
    const bool fp64 = o->role.storage == TESS_PRECISION_FP64 && o->role.arithmetic == TESS_ARITHMETIC_FP64;

    if (s->count < 1 || s->count > TESS_MAX_JACOBI_SWEEPS) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use a number from 1 to 1000", "jacobi-sweeps cannot have %s",
                         tess_count(s->count, "sweep").text);
    }
    if (!(s->omega >= 0.0) || !isfinite(s->omega)) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "give a finite number above 0, or 0 for the library's choice",
                         "jacobi-sweeps cannot have the weight %g", s->omega);
    }
    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi, with a diagonal, or polynomial",
                         "jacobi-sweeps needs the entries of the matrix, but a shell matrix has none");
    }
    if (o->role.given && !fp64) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED,
                         "name the precisions of the sweeps, such as fp32,mixed (--precond-steps)",
                         "jacobi-sweeps takes no precision of its own (--precond-precision)");
    }
    return TESS_SUCCESS;
}

/* The largest sum_j |a_ij| / |d_i| and the largest sum_j |a_ij| / sqrt(|d_i d_j|): each bounds the eigenvalues of D^-1
   A, the second those of D^-1/2 A D^-1/2, which are the same. Rows without a diagonal entry are left to the set-up. */
static double find_bound(const host_csr *a, const double *diagonal)
{
    double by_rows = 0.0, symmetric = 0.0;

    for (int64_t i = 0; i < a->nrows; i++) {
        double rows = 0.0, roots = 0.0;

        if (diagonal[i] == 0.0) { continue; }
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const double other = diagonal[a->col_ind[k]];

            rows += fabs(a->val[k]) / diagonal[i];
            if (other > 0.0) { roots += fabs(a->val[k]) / (sqrt(diagonal[i]) * sqrt(other)); }
        }
        by_rows = fmax(by_rows, rows);
        symmetric = fmax(symmetric, roots);
    }
    return fmin(by_rows, symmetric);
}

/* min(1, 2 / g) with the smaller bound as g. */
static tess_status find_weight(const tess_matrix *a, double *omega)
{
    host_csr csr = {.row_ptr = NULL};
    double *diagonal = NULL, bound = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_from_matrix(a, &csr));
    TESS_TRY(tess_host_allocate(a->ctx, csr.nrows, sizeof *diagonal, (void **)&diagonal));
    for (int64_t i = 0; i < csr.nrows; i++) {
        diagonal[i] = 0.0;
        for (int64_t k = csr.row_ptr[i]; k < csr.row_ptr[i + 1]; k++) {
            if (csr.col_ind[k] == i) { diagonal[i] = fabs(csr.val[k]); }
        }
    }
    bound = find_bound(&csr, diagonal);
    *omega = bound > 2.0 && isfinite(bound) ? 2.0 / bound : 1.0;
cleanup:
    tess_host_release(a->ctx, diagonal, a->nrows, sizeof *diagonal);
    host_csr_release(a->ctx, &csr);
    return status;
}

static tess_status make_sweep(const tess_precond *m, const tess_sweep_request *request, jacobi_sweeps *j)
{
    tess_sweep *sweep = NULL;
    tess_status status = sweep_create(m->matrix, request, &sweep);

    if (status != TESS_SUCCESS) { return status; }
    sweep_destroy(j->sweep);
    j->sweep = sweep;
    j->revision += 1;
    memset(j->counts, 0, sizeof j->counts);
    schedule_share(&sweep->request.schedule, j->count, j->counts);
    return sweep_renew(sweep);
}

static tess_sweep_request request_of(const tess_jacobi_sweeps_options *o)
{
    tess_sweep_request request = {.storage = o->storage,
                                  .schedule = o->schedule,
                                  .kind = TESS_UPDATE_JACOBI,
                                  .omega = o->omega,
                                  .factor = 0.1, /* section IV */
                                  .launches_apart = true};

    if (request.storage.format == TESS_FORMAT_AUTO) {
        request.storage.format = sweep_choose_format(&request.storage, &request.schedule);
    }
    return request;
}

tess_status sweeps_require_fit(tess_context *ctx, const tess_jacobi_sweeps_options *o)
{
    tess_sweep_request request = request_of(o);

    return sweep_resolve(ctx, &request);
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    const tess_jacobi_sweeps_options *o = &options->jacobi_sweeps;
    tess_sweep_request request = request_of(o);
    jacobi_sweeps *j = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, 1, sizeof *j, (void **)&j));
    memset(j, 0, sizeof *j);
    m->own = j;
    j->count = o->count;
    j->weighs = o->omega == 0.0;
    if (j->weighs) { TESS_TRY(find_weight(m->matrix, &request.omega)); }
    status = make_sweep(m, &request, j);
cleanup:
    return status;
}

static tess_status renew(tess_precond *m)
{
    jacobi_sweeps *j = own_of(m);
    double omega = j->sweep->request.omega;
    tess_status status = TESS_SUCCESS;

    if (j->weighs) { TESS_TRY(find_weight(m->matrix, &omega)); }
    if (omega != j->sweep->request.omega) { j->revision += 1; }
    j->sweep->request.omega = omega;
    status = sweep_renew(j->sweep);
cleanup:
    return status;
}

/* From now on all sweeps in FP64. */
static tess_status widen(tess_precond *m, bool *widened)
{
    static const tess_precision_schedule fp64 = {1, {{TESS_PRECISION_FP64, 0}}};
    jacobi_sweeps *j = own_of(m);
    const tess_precision_schedule *now = &j->sweep->request.schedule;
    tess_sweep_request request = j->sweep->request;
    tess_status status = TESS_SUCCESS;

    *widened = !(now->count == 1 && now->entry[0].what == TESS_PRECISION_FP64);
    if (!*widened) { return TESS_SUCCESS; }
    request.schedule = fp64;
    request.storage.format = tess_format_in_role(TESS_ROLE_COPIES);
    request.storage.policy.granularity = TESS_GRANULARITY_ROW;
    TESS_TRY(make_sweep(m, &request, j));
    j->raised = true;
    tess_log(m->ctx, TESS_LOG_INFO, "jacobi-sweeps: from now on in fp64");
cleanup:
    return status;
}

static void destroy(tess_precond *m)
{
    jacobi_sweeps *j = own_of(m);

    if (!j) { return; }
    sweep_destroy(j->sweep);
    tess_host_release(m->ctx, j, 1, sizeof *j);
    m->own = NULL;
}

/* ---- use ---- */

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    const jacobi_sweeps *j = own_of(m);

    (void)reduction;
    if (!j->sweep->renewed) {
        return tess_fail(m->ctx, TESS_SINGULAR, "renew the preconditioner with values that have a diagonal",
                         "the preconditioner cannot be applied, because a diagonal entry could not be inverted");
    }
    return sweep_apply(j->sweep, j->counts, vectors, r, z);
}

/* ---- questions ---- */

static int *count_of(tess_precond_options *options, int *most)
{
    *most = TESS_MAX_JACOBI_SWEEPS;
    return &options->jacobi_sweeps.count;
}

/* Steps have precisions of their own, whatever the vectors' is. */
static tess_role_precision default_role(tess_role_precision inner)
{
    (void)inner;
    return (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
}

static uint64_t revision(const tess_precond *m)
{
    return own_of(m)->revision;
}

static int64_t bytes(const tess_precond *m)
{
    const jacobi_sweeps *j = own_of(m);

    return j->sweep ? sweep_bytes(j->sweep) + tess_matrix_bytes(j->sweep->stored) : 0;
}

static void describe(const tess_precond *m, tess_precond_sweeps *out)
{
    const jacobi_sweeps *j = own_of(m);
    const tess_assignment_summary *summary = tess_matrix_assigned_to(j->sweep->stored);

    out->count = j->count;
    out->omega = j->sweep->request.omega;
    out->schedule = j->sweep->request.schedule;
    out->raised = j->raised;
    for (int i = 0; i < out->schedule.count; i++) {
        out->schedule.entry[i].iterations = j->counts[i];
    }
    for (int l = 0; l < summary->options.nlevels; l++) {
        out->nonzeros_per_precision[summary->options.level[l].precision] += summary->nonzeros_at[l];
    }
}

const tess_precond_ops precond_jacobi_sweeps = {.kind = TESS_PRECOND_JACOBI_SWEEPS,
                                                .number = count_of,
                                                .default_role = default_role,
                                                .check = check,
                                                .create = create,
                                                .renew = renew,
                                                .apply = apply,
                                                .widen = widen,
                                                .revision = revision,
                                                .bytes = bytes,
                                                .sweeps = describe,
                                                .destroy = destroy};
