/* SPDX-License-Identifier: Apache-2.0 */
/* A problem of the study gmres, and one set-up and solve by a contestant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/csr/csr.h"
#include "matrix/matrix.h"
#include "papers/gmres.h"

/* ---- the problem ---- */

bool gmres_parse_precond(const char *text, tess_precond_options *out)
{
    static const char polynomial[] = "polynomial";
    const size_t length = strlen(polynomial);
    char *end = NULL;

    tess_precond_options_init(out);
    if (strncmp(text, polynomial, length) != 0) { return tess_precond_options_parse(text, out) == TESS_SUCCESS; }
    out->kind = TESS_PRECOND_POLYNOMIAL;
    if (text[length] == '\0') {
        out->polynomial.degree = out->polynomial.degree > 0 ? out->polynomial.degree : 10;
        return true;
    }
    out->polynomial.degree = (int)strtol(text + length + 1, &end, 10);
    return text[length] == ':' && *end == '\0' && out->polynomial.degree > 0;
}

static tess_status make_rhs(gmres_problem *p, gmres_rhs rhs)
{
    tess_status status = TESS_SUCCESS;

    if (rhs == GMRES_RHS_ONES) {
        status = tess_vector_fill(p->b, 1.0);
    } else {
        status = tess_vector_fill(p->x, 1.0);
        if (status == TESS_SUCCESS) { status = tess_matrix_spmv(p->a, TESS_OP_NONE, 1.0, p->x, 0.0, p->b); }
    }
    return status == TESS_SUCCESS ? tess_vector_get(p->b, p->host_b, TESS_PRECISION_FP64, TESS_MEMORY_HOST) : status;
}

tess_status gmres_problem_make(bench_run *run, const tess_matrix *a, const bench_case *which, const char *set,
                               gmres_rhs rhs, bool baseline, gmres_problem *out)
{
    const int64_t n = tess_matrix_nrows(a);
    tess_status status = TESS_SUCCESS;

    *out = (gmres_problem){.run = run, .a = a, .set = set ? set : "", .no_baseline = "needs a GPU"};
    snprintf(out->name, sizeof out->name, "%s", which->name);
    out->host_b = bench_allocate((size_t)n, sizeof *out->host_b);
    out->host_x = bench_allocate((size_t)n, sizeof *out->host_x);
    status = bench_csr_get(a, &out->host);
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, n, TESS_PRECISION_FP64, &out->b); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(run->ctx, n, TESS_PRECISION_FP64, &out->x); }
    if (status == TESS_SUCCESS) { status = make_rhs(out, rhs); }
    if (run->gpu && baseline) {
        out->handles = bench_gmres_open(a, &out->host, out->no_baseline, sizeof out->no_baseline);
    }
    return status;
}

void gmres_problem_free(gmres_problem *p)
{
    bench_gmres_close(p->handles);
    bench_csr_free(&p->host);
    tess_vector_destroy(p->b);
    tess_vector_destroy(p->x);
    free(p->host_b);
    free(p->host_x);
    *p = (gmres_problem){0};
}

/* ---- both ---- */

void gmres_refuse(gmres_outcome *o, tess_status status, const char *reason)
{
    o->refused = true;
    o->status = status;
    snprintf(o->reason, sizeof o->reason, "%s", reason);
}

void gmres_refuse_by_error(const gmres_problem *p, gmres_outcome *o, tess_status status)
{
    const tess_error *error = tess_context_last_error(p->run->ctx);
    char text[256];

    snprintf(text, sizeof text, "%s: %.200s", tess_status_text(status), error ? error->message : "");
    gmres_refuse(o, status, text);
}

void gmres_take_sample(gmres_outcome *o, double setup, double solve)
{
    o->setup[o->samples] = setup;
    o->solve[o->samples] = solve;
    o->samples += 1;
    o->spent += setup + solve;
}

/* The claim is ||b - A x|| <= rtol ||b||; the comparison allows for the rounding of rtol ||b|| itself. */
void gmres_verify(const gmres_problem *p, double rtol, gmres_outcome *o)
{
    bench_residual truth;

    if (o->samples > 1) { return; }
    if (tess_vector_get(p->x, p->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST) != TESS_SUCCESS) {
        gmres_refuse(o, TESS_DEVICE, "the solution could not be read");
        return;
    }
    truth = bench_true_residual(&p->host, p->host_b, p->host_x);
    o->true_relative = truth.norm / truth.rhs_norm;
    o->verified = o->claimed && truth.norm <= rtol * truth.rhs_norm * (1.0 + 1e-15);
}

void gmres_keep_history(const double *history, int64_t length, gmres_outcome *o)
{
    const double scale = length > 0 && history[0] > 0.0 ? 1.0 / history[0] : 1.0;

    free(o->history);
    o->history = bench_allocate((size_t)length, sizeof *o->history);
    o->history_length = length;
    for (int64_t i = 0; i < length; i++) {
        o->history[i] = scale * history[i];
    }
}

/* ---- ours ---- */

static void our_options(const gmres_settings *s, const gmres_variant *v, tess_solve_options *o)
{
    tess_solve_options_init(o);
    o->solver = v->solver;
    o->precond = s->precond_options;
    o->precond.role = v->precond;
    o->reorder = s->reorder;
    o->guard = s->guard;
    o->rtol = s->rtol;
    o->max_iterations = s->max_iterations;
    o->history_capacity = s->history ? s->max_iterations + 1 : 0;
    o->gmres.restart = s->restart;
    o->gmres.inner = v->inner;
    o->gmres.inner_auto = v->chooses;
    o->gmres.basis = v->basis;
    o->gmres.orthogonalization = v->orthogonalization;
    o->gmres.switch_at = v->switch_at < 0 ? 0 : v->switch_at;
}

/* Borrows the arrays, so that each set-up starts from nothing. */
static tess_status borrow_matrix(const gmres_problem *p, tess_matrix **out)
{
    const csr_view *v = &csr_of(p->a)->view;
    const tess_csr_arrays arrays = {.size = sizeof arrays,
                                    .nrows = v->nrows,
                                    .ncols = v->ncols,
                                    .nnz = v->nnz,
                                    .row_ptr = v->row_ptr,
                                    .col_ind = v->col_ind,
                                    .val = v->val,
                                    .row_ptr_bits = v->row_ptr_bits,
                                    .col_ind_bits = 32,
                                    .where = p->run->gpu ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST,
                                    .ownership = TESS_BORROW};

    return tess_matrix_create_csr(p->run->ctx, &arrays, out);
}

static tess_status open_ours(const gmres_problem *p, const tess_solve_options *options, tess_matrix **own,
                             tess_solver **solver)
{
    tess_status status = borrow_matrix(p, own);

    if (status == TESS_SUCCESS) { status = tess_solver_create(*own, options, solver); }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(p->run->ctx); }
    return status;
}

static tess_status solve_ours(const gmres_problem *p, tess_solver *solver, const tess_solve_options *options,
                              tess_solve_result *result, double *seconds)
{
    double start = 0.0;
    tess_status status = tess_solver_set_limits(solver, options);

    if (status == TESS_SUCCESS) { status = tess_vector_fill(p->x, 0.0); }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(p->run->ctx); }
    start = bench_wall_seconds();
    tess_solve_result_init(result);
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, p->b, p->x, result); }
    *seconds = bench_wall_seconds() - start;
    return status;
}

static void take_ours(const gmres_settings *s, const tess_solve_result *r, gmres_outcome *o)
{
    o->iterations = r->iterations;
    o->refinements = r->refinements;
    o->claimed = r->converged != 0;
    o->estimated_relative = r->estimated_relative_residual;
    o->peak_bytes = r->peak_device_bytes;
    o->resident_bytes = r->resident_bytes;
    o->matrix_bytes = r->storage.matrix_bytes;
    o->format = r->storage.format;
    o->matrix_precision = r->storage.precision;
    o->escalated = r->escalated != 0;
    snprintf(o->reason, sizeof o->reason, "%s", tess_reason_name(r->reason));
    if (s->history) { gmres_keep_history(r->history, r->history_length, o); }
}

static tess_status run_ours(const gmres_problem *p, const gmres_settings *s, gmres_outcome *o)
{
    tess_solve_options options, few;
    tess_solve_result result;
    tess_matrix *own = NULL;
    tess_solver *solver = NULL;
    double start = 0.0, setup = 0.0, seconds = 0.0;
    tess_status status = TESS_SUCCESS;

    our_options(s, o->variant, &options);
    few = options;
    few.max_iterations = GMRES_WARM_UP_ITERATIONS;
    p->run->ctx->peak_bytes = p->run->ctx->held_bytes;
    start = bench_wall_seconds();
    status = open_ours(p, &options, &own, &solver);
    setup = bench_wall_seconds() - start;
    if (status == TESS_SUCCESS) { status = solve_ours(p, solver, &few, &result, &seconds); }
    if (status == TESS_SUCCESS) { status = solve_ours(p, solver, &options, &result, &seconds); }
    if (status == TESS_SUCCESS) {
        gmres_take_sample(o, setup, seconds);
        take_ours(s, &result, o);
        gmres_verify(p, s->rtol, o);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(own);
    return status;
}

/* One more solve, with its time by phases. */
static tess_status profile_ours(const gmres_problem *p, const gmres_settings *s, gmres_outcome *o)
{
    static const tess_phase phases[BENCH_GMRES_PARTS] = {TESS_PHASE_SPMV, TESS_PHASE_GEMV_T,  TESS_PHASE_GEMV_N,
                                                         TESS_PHASE_NORM, TESS_PHASE_PRECOND, TESS_PHASE_REFINEMENT};
    tess_solve_options options;
    tess_solve_result result;
    tess_matrix *own = NULL;
    tess_solver *solver = NULL;
    tess_status status = TESS_SUCCESS;

    our_options(s, o->variant, &options);
    options.timings = 1;
    status = open_ours(p, &options, &own, &solver);
    if (status == TESS_SUCCESS) { status = solve_ours(p, solver, &options, &result, &o->profiled_seconds); }
    for (int k = 0; k < BENCH_GMRES_PARTS && status == TESS_SUCCESS; k++) {
        o->part_seconds[k] = result.phase_seconds[phases[k]];
    }
    o->profiled = status == TESS_SUCCESS;
    tess_solver_destroy(solver);
    tess_matrix_destroy(own);
    return status;
}

/* ---- our product alone ---- */

typedef struct product_call {
    const tess_matrix *a;
    const tess_vector *x;
    tess_vector *y;
} product_call;

static tess_status call_product(void *user, int k)
{
    const product_call *c = user;

    (void)k;
    return tess_matrix_spmv(c->a, TESS_OP_NONE, 1.0, c->x, 0.0, c->y);
}

/* In the precisions that a cycle multiplies in; stays 0 where there is no such product by itself. */
static void time_our_product(const gmres_problem *p, gmres_outcome *o)
{
    const gmres_variant *v = o->variant;
    const bool wide = v->solver == TESS_SOLVER_GMRES && !v->inner.given;
    const tess_precision vector = wide ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;
    tess_storage_options storage;
    tess_matrix *converted = NULL;
    tess_vector *x = NULL, *y = NULL;
    bench_time time;
    tess_status status = tess_vector_create(p->run->ctx, p->host.nrows, vector, &x);

    tess_storage_options_init(&storage);
    storage.precision = wide ? TESS_PRECISION_FP64 : v->inner.given ? v->inner.storage : TESS_PRECISION_FP32;
    if (status == TESS_SUCCESS) { status = tess_vector_create(p->run->ctx, p->host.nrows, vector, &y); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(x, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_matrix_convert(p->a, &storage, &converted); }
    if (status == TESS_SUCCESS) {
        product_call call = {converted, x, y};

        status = bench_measure(p->run, call_product, &call, &time);
    }
    if (status == TESS_SUCCESS) { o->product_seconds = time.median; }
    tess_matrix_destroy(converted);
    tess_vector_destroy(x);
    tess_vector_destroy(y);
}

/* ---- a sample ---- */

void gmres_run_once(const gmres_problem *p, const gmres_settings *settings, gmres_outcome *o)
{
    tess_status status = tess_context_trim(p->run->ctx); /* what others released is not at hand */

    if (status == TESS_SUCCESS) { status = tess_context_synchronize(p->run->ctx); }
    if (status == TESS_SUCCESS && o->variant->theirs) {
        gmres_run_theirs(p, settings, o);
    } else if (status == TESS_SUCCESS) {
        status = run_ours(p, settings, o);
        if (status == TESS_SUCCESS && settings->profile && o->samples == 1) {
            time_our_product(p, o);
            status = profile_ours(p, settings, o);
        }
    }
    if (status != TESS_SUCCESS) { gmres_refuse_by_error(p, o, status); }
}

void gmres_outcome_finish(const gmres_problem *p, const gmres_settings *settings, gmres_outcome *o)
{
    if (o->samples == 0) { return; }
    o->solve_time = bench_time_of_samples(o->solve, o->samples, 1);
    o->setup_time = bench_time_of_samples(o->setup, o->samples, 1);
    o->model_bytes = gmres_model_bytes(p, settings, o);
}

void gmres_outcome_free(gmres_outcome *o)
{
    free(o->history);
    o->history = NULL;
}
