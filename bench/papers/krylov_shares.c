/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of an iteration: products, dot products, updates of vectors, and the rest (Yang et al. 2024, Figure 2). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/krylov.h"
#ifdef BENCH_CUDA
#include "papers/krylov_parts.h"
#endif

enum { SAMPLES = 5 };

/* Seconds of an iteration by kinds; NaN: not known apart. Ours make dot products and updates in the same passes. */
typedef struct iteration_parts {
    double all, spmv, dot, axpy, fused, verification, rest;
    const char *remark, *refused;
} iteration_parts;

static const iteration_parts unknown = {
    .all = NAN, .spmv = NAN, .dot = NAN, .axpy = NAN, .fused = NAN, .verification = NAN, .rest = NAN};

/* ---- measuring ---- */

/* The device's clock at the kernels of each phase; within a single kernel there are none. */
static tess_status measure_ours(bench_contest *c, iteration_parts *t)
{
    const double *phase = c->result.phase_seconds;
    bench_time runs = {.samples = 0};
    int64_t done = 0;
    const tess_status status = krylov_time_runs(c, 0.0, KRYLOV_FIXED_ITERATIONS, SAMPLES, &runs, &done);

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
    bench_time runs = {.samples = 0};
    int64_t done = 0;
    const tess_status status = krylov_time_runs(c, 0.0, KRYLOV_FIXED_ITERATIONS, SAMPLES, &runs, &done);

    if (status != TESS_SUCCESS) { return status; }
    t->all = runs.median / (double)done;
    bench_krylov_time_parts(p->handles, c->solver, tess_vector_data_const(p->b), seconds);
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

static void report(krylov_session *s, const krylov_variant *v, const iteration_parts *t)
{
    const struct {
        const char *key;
        double seconds;
    } kinds[] = {{"spmv", t->spmv}, {"dot", t->dot},
                 {"axpy", t->axpy}, {"fused", t->fused}, /* dot products and updates in the same passes, launches */
                 {"rest", t->rest}, {"verification", t->verification}};
    bench_record record = krylov_record(s, v);
    json_t *row = NULL, *parts = json_object();

    record.of = "iteration";
    record.time = bench_time_once(t->all);
    record.bytes = krylov_iteration_bytes(s->problem, s->solver, 0);
    record.refused = t->refused;
    row = krylov_record_row(s, &record);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bench_set_real(parts, kinds[k].key, kinds[k].seconds);
    }
    json_object_set_new(row, "part_seconds", parts);
    bench_record_add(&s->run, &record, row, "SpMV %.1f %%%s%s", 100.0 * t->spmv / t->all, t->remark ? ", " : "",
                     t->remark ? t->remark : "");
}

void krylov_shares(krylov_session *s)
{
    const krylov_variants variants = krylov_contestants(s);

    for (int i = 0; i < variants.count; i++) {
        const krylov_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = krylov_variant_contest(v, s->problem, s->solver, &storage);
        iteration_parts t = unknown;
        tess_status status = TESS_SUCCESS;

        if (!krylov_variant_runs(&s->run, v, s->solver)) { continue; }
        krylov_variant_storage(v, &storage);
        c.timings = true;
        status = bench_contest_open(&c);
        if (status == TESS_SUCCESS) { status = measure(&c, &t); }
        if (status == TESS_UNSUPPORTED) {
            t.refused = "not supported";
        } else if (status != TESS_SUCCESS) {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        report(s, v, &t);
        bench_contest_close(&c);
    }
}
