/* SPDX-License-Identifier: Apache-2.0 */
/* One set-up and solve of the study gmres by cuSPARSE and cuBLAS, with no preconditioner or the library's polynomial.
 */
#include <stdio.h>

#include "papers/gmres.h"
#include "precond/polynomial/polynomial.h"

enum { PROFILED_CYCLES = 4 };

static void take_theirs(const gmres_problem *p, const gmres_settings *s, const bench_gmres *solver,
                        const bench_gmres_result *r, gmres_outcome *o)
{
    o->iterations = r->iterations;
    o->refinements = r->cycles > 0 ? r->cycles - 1 : 0;
    o->claimed = r->claimed;
    o->estimated_relative =
        r->history_length > 0 && r->history[0] > 0.0 ? r->history[r->history_length - 1] / r->history[0] : 0.0;
    o->matrix_bytes = bench_gmres_matrix_bytes(solver);
    o->product = bench_gmres_product_name(solver);
    o->resident_bytes = o->peak_bytes =
        bench_gmres_bytes(solver) + bench_spmv_bytes(p->host.nrows, p->host.ncols, p->host.nnz, 8);
    o->format = TESS_FORMAT_CSR;
    o->matrix_precision = o->variant->kind == BENCH_GMRES_FP64 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;
    snprintf(o->reason, sizeof o->reason, "%s", r->reason);
    if (s->history) { gmres_keep_history(r->history, r->history_length, o); }
}

/* A few cycles with events around each call, multiplied up to the whole solve. */
static void profile_theirs(const gmres_problem *p, const gmres_settings *s, bench_gmres *solver, gmres_outcome *o)
{
    const bench_gmres_limits limits = {
        .rtol = s->rtol, .max_iterations = (int64_t)PROFILED_CYCLES * s->restart, .profile = true};
    bench_gmres_result r;

    if (!bench_gmres_solve(solver, tess_vector_data_const(p->b), tess_vector_data(p->x), &limits, &r)) { return; }
    for (int k = 0; k < BENCH_GMRES_PARTS && r.iterations > 0; k++) {
        o->part_seconds[k] = r.part_seconds[k] * (double)o->iterations / (double)r.iterations;
    }
    o->profiled = true;
}

static bool solve_theirs(const gmres_problem *p, const gmres_settings *s, bench_gmres *solver, double setup,
                         gmres_outcome *o)
{
    const double *b = tess_vector_data_const(p->b);
    double *x = tess_vector_data(p->x);
    bench_gmres_limits limits = {.rtol = s->rtol, .max_iterations = GMRES_WARM_UP_ITERATIONS};
    bench_gmres_result r = {0};
    double start = 0.0, seconds = 0.0;
    bool done = bench_gmres_solve(solver, b, x, &limits, &r);

    limits.max_iterations = s->max_iterations;
    start = bench_wall_seconds();
    done = done && bench_gmres_solve(solver, b, x, &limits, &r);
    seconds = bench_wall_seconds() - start;
    if (!done) {
        gmres_refuse(o, TESS_DEVICE, r.reason);
        return false;
    }
    gmres_take_sample(o, setup, seconds);
    take_theirs(p, s, solver, &r, o);
    gmres_verify(p, s->rtol, o);
    return true;
}

/* The library's polynomial in the precision of the baseline's cycles. */
static tess_status make_polynomial(const gmres_problem *p, const gmres_settings *s, const gmres_variant *v,
                                   tess_polynomial **out)
{
    tess_precond_options options = s->precond_options;

    if (v->kind != BENCH_GMRES_FP64) {
        options.role =
            (tess_role_precision){.given = 1, .storage = TESS_PRECISION_FP32, .arithmetic = TESS_ARITHMETIC_FP32};
    }
    return polynomial_create(p->a, &options, out);
}

static void run_prepared(const gmres_problem *p, const gmres_settings *s, gmres_outcome *o)
{
    const bool delayed = o->variant->orthogonalization == TESS_ORTHOGONALIZATION_CGS2_DELAYED;
    char reason[BENCH_GMRES_REASON];
    bench_gmres *solver = NULL;
    bench_time time;
    double start = 0.0;

    if (bench_gmres_choose(p->handles, o->variant->kind, reason, sizeof reason)) {
        start = bench_wall_seconds();
        solver = bench_gmres_create(p->handles, o->variant->kind, delayed, s->restart, reason, sizeof reason);
    }
    if (!solver) {
        gmres_refuse(o, TESS_UNSUPPORTED, reason);
        return;
    }
    if (solve_theirs(p, s, solver, bench_wall_seconds() - start, o) && s->profile && o->samples == 1) {
        profile_theirs(p, s, solver, o);
        if (bench_measure(p->run, bench_gmres_product, solver, &time) == TESS_SUCCESS) {
            o->product_seconds = time.median;
        }
    }
    bench_gmres_destroy(solver);
}

void gmres_run_theirs(const gmres_problem *p, const gmres_settings *s, gmres_outcome *o)
{
    const bool with = s->precond_options.kind == TESS_PRECOND_POLYNOMIAL;
    tess_polynomial *polynomial = NULL;
    tess_status status = TESS_SUCCESS;

    if (!p->handles || (!with && s->precond_options.kind != TESS_PRECOND_NONE)) {
        gmres_refuse(o, TESS_UNSUPPORTED,
                     p->handles ? "the baseline's preconditioner is a polynomial" : p->no_baseline);
        return;
    }
    if (with) { status = make_polynomial(p, s, o->variant, &polynomial); }
    if (status == TESS_SUCCESS) {
        bench_gmres_precondition(p->handles, polynomial);
        run_prepared(p, s, o);
        bench_gmres_precondition(p->handles, NULL);
    } else {
        gmres_refuse_by_error(p, o, status);
    }
    polynomial_destroy(polynomial);
}
