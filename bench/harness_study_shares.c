/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of an iteration: products, dot products, updates of vectors, and the rest (Yang et al. 2024, Figure 2). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness_study.h"
#ifdef BENCH_CUDA
#include "harness_krylov.h"
#endif

enum { SAMPLES = 5 };

/* Seconds of an iteration by kinds; NaN: not known apart. Ours make dot products and updates in the same passes. */
typedef struct iteration_parts {
    double all, spmv, dot, axpy, fused, verification, rest;
    const char *remark;
} iteration_parts;

static const iteration_parts unknown = {
    .all = NAN, .spmv = NAN, .dot = NAN, .axpy = NAN, .fused = NAN, .verification = NAN, .rest = NAN};

/* ---- measuring ---- */

/* The device's clock at the kernels of each phase; within a single kernel there are none. */
static tess_status measure_ours(bench_contest *c, iteration_parts *t)
{
    const double *phase = c->result.phase_seconds;
    int64_t done = 0;
    const tess_status status = study_time_runs(c, 0.0, STUDY_FIXED_ITERATIONS, SAMPLES, &t->all, &done);

    if (status != TESS_SUCCESS || done == 0) { return status; }
    t->all = c->result.solve_seconds / (double)done;
    if (c->result.engine == TESS_ENGINE_SINGLE_KERNEL || !c->result.timed) {
        t->remark = "one launch: no phases";
        return TESS_SUCCESS;
    }
    t->spmv = phase[TESS_PHASE_SPMV] / (double)done;
    t->fused = phase[TESS_PHASE_OTHER] / (double)done;
    t->verification = phase[TESS_PHASE_REFINEMENT] / (double)done;
    return TESS_SUCCESS;
}

#ifdef BENCH_CUDA
static tess_status measure_theirs(bench_contest *c, iteration_parts *t)
{
    const bench_problem *p = c->problem;
    double seconds[BENCH_KRYLOV_PARTS];
    int64_t done = 0;
    const tess_status status = study_time_runs(c, 0.0, STUDY_FIXED_ITERATIONS, SAMPLES, &t->all, &done);

    if (status != TESS_SUCCESS) { return status; }
    t->all /= (double)done;
    bench_krylov_time_parts(p->handles, p->a, c->solver, tess_vector_data_const(p->b), seconds);
    t->spmv = seconds[BENCH_KRYLOV_SPMV];
    t->dot = seconds[BENCH_KRYLOV_DOT];
    t->axpy = seconds[BENCH_KRYLOV_AXPY];
    t->rest = fmax(t->all - t->spmv - t->dot - t->axpy, 0.0);
    return TESS_SUCCESS;
}
#endif

static tess_status measure(bench_contest *c, iteration_parts *t)
{
#ifdef BENCH_CUDA
    if (!bench_contestant_is_ours(c->which)) { return measure_theirs(c, t); }
#endif
    return measure_ours(c, t);
}

/* ---- report ---- */

static void print_share(const iteration_parts *t, double part)
{
    study_print_number(7, 1, 100.0 * part / t->all);
}

static void report(study_session *s, const study_variant *v, const iteration_parts *t)
{
    printf("%-18s %-8s %-25s", s->matrix, tess_solver_kind_name(s->solver), v->name);
    study_print_number(9, 2, 1e6 * t->all);
    print_share(t, t->spmv);
    print_share(t, t->dot);
    print_share(t, t->axpy);
    print_share(t, t->fused);
    print_share(t, t->verification);
    print_share(t, t->rest);
    printf("  %s\n", t->remark ? t->remark : "");
    bench_add(&s->run, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "study", "shares",
                                 "matrix", s->matrix, "solver", tess_solver_kind_name(s->solver), "contestant", v->name,
                                 "nrows", (json_int_t)s->problem->host.nrows, "nnz", (json_int_t)s->problem->host.nnz,
                                 "seconds_per_iteration", study_number(t->all), "spmv", study_number(t->spmv), "dot",
                                 study_number(t->dot), "axpy", study_number(t->axpy), "fused", study_number(t->fused),
                                 "verification", study_number(t->verification), "rest", study_number(t->rest)));
}

static void print_head(study_session *s)
{
    if (!s->begun) {
        printf("\nseconds of %d iterations by kinds, in percent; fused: dot products and updates in the same passes, "
               "launches; rest: synchronisation, launches, gaps\n%-18s %-8s %-25s %9s %7s %7s %7s %7s %7s %7s\n",
               STUDY_FIXED_ITERATIONS, "matrix", "solver", "contestant", "us/it", "SpMV", "dot", "AXPY", "fused",
               "verify", "rest");
    }
    s->begun = true;
}

void study_shares(study_session *s)
{
    const study_variants variants = study_contestants(s);

    print_head(s);
    for (int i = 0; i < variants.count; i++) {
        const study_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = study_variant_contest(v, s->problem, s->solver, &storage);
        iteration_parts t = unknown;
        tess_status status = TESS_SUCCESS;

        if (!study_variant_runs(&s->run, v, s->solver)) { continue; }
        study_variant_storage(v, &storage);
        c.timings = true;
        status = bench_contest_open(&c);
        if (status == TESS_SUCCESS) { status = measure(&c, &t); }
        if (status == TESS_UNSUPPORTED) {
            t.remark = "not run: not supported";
        } else if (status != TESS_SUCCESS) {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        report(s, v, &t);
        bench_contest_close(&c);
    }
}
