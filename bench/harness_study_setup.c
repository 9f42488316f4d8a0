/* SPDX-License-Identifier: Apache-2.0 */
/* What a solver costs before its first iteration: time by steps (Yang et al. 2024, Figure 14) and memory (Figures 1,
 * 13). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness_stages.h"
#include "harness_study.h"
#include "matrix/matrix.h"

enum { SAMPLES = 3 };

/* ---- time ---- */

/* Seconds, medians; `other`: arrays checked, vectors, plans, graphs; `first`: what a first solve takes beyond a later
 * one. */
typedef struct setup_times {
    double policy, conversion, other, first, all, run, product;
} setup_times;

/* Precisions and the stored matrix, each on its own, made from A as the solver makes them. */
static tess_status time_steps(const study_session *s, const tess_storage_options *storage, double *policy,
                              double *conversion)
{
    tess_assignment *made = NULL;
    tess_matrix *stored = NULL;
    const bool assigned = storage->policy.policy != TESS_POLICY_NONE;
    double start = bench_wall_seconds();
    tess_status status = TESS_SUCCESS;

    *policy = *conversion = 0.0;
    if (storage->format == TESS_FORMAT_CSR) { return TESS_SUCCESS; }
    if (assigned) {
        status = tess_assignment_create(s->problem->a, &storage->policy, &made);
        if (status == TESS_SUCCESS) { status = tess_context_synchronize(s->run.ctx); }
        *policy = bench_wall_seconds() - start;
    }
    start = bench_wall_seconds();
    if (status == TESS_SUCCESS) {
        status = assigned ? tess_matrix_convert_assigned(s->problem->a, storage, made, &stored)
                          : tess_matrix_convert(s->problem->a, storage, &stored);
    }
    if (status == TESS_SUCCESS) { status = tess_context_synchronize(s->run.ctx); }
    *conversion = bench_wall_seconds() - start;
    tess_matrix_destroy(stored);
    tess_assignment_destroy(made);
    return status;
}

/* A set-up from arrays on the device, its first run and a later one. */
static tess_status time_runs(bench_contest *c, double *all, double *first, double *run)
{
    int64_t done = 0;
    double start = bench_wall_seconds();
    tess_status status = bench_contest_open(c);

    *all = bench_wall_seconds() - start;
    if (status == TESS_SUCCESS) { status = study_time_runs(c, 0.0, STUDY_FIXED_ITERATIONS, 1, first, &done); }
    if (status == TESS_SUCCESS) { status = study_time_runs(c, 0.0, STUDY_FIXED_ITERATIONS, SAMPLES, run, &done); }
    bench_contest_close(c);
    return status;
}

static double median(double samples[SAMPLES])
{
    return bench_time_of_samples(samples, SAMPLES, 1).median;
}

static tess_status measure(const study_session *s, bench_contest *c, setup_times *t)
{
    double policy[SAMPLES], conversion[SAMPLES], all[SAMPLES], first[SAMPLES], run[SAMPLES];
    tess_status status = TESS_SUCCESS;

    for (int k = -1; k < SAMPLES && status == TESS_SUCCESS; k++) { /* -1: warm-up */
        const int place = k < 0 ? 0 : k;

        status = time_steps(s, c->storage, &policy[place], &conversion[place]);
        if (status == TESS_SUCCESS) { status = time_runs(c, &all[place], &first[place], &run[place]); }
        first[place] = fmax(first[place] - run[place], 0.0);
    }
    if (status != TESS_SUCCESS) { return status; }
    t->policy = median(policy);
    t->conversion = median(conversion);
    t->first = median(first);
    t->all = median(all);
    t->run = median(run);
    t->other = fmax(t->all - t->policy - t->conversion, 0.0);
    t->all += t->first;
    return TESS_SUCCESS;
}

/* ---- stages ---- */

static tess_status open_contest(void *user, int k)
{
    bench_contest *c = user;
    tess_status status = bench_contest_open(c);

    (void)k;
    if (status == TESS_SUCCESS) { status = tess_stage_end(c->problem->run->ctx, "the rest"); }
    bench_contest_close(c);
    return status;
}

/* ---- report ---- */

static void print_setup_head(study_session *s)
{
    if (!s->begun) {
        printf("\nset-up by steps, of it all in products with FP64 CSR, and %d iterations; share: of set-up and "
               "iterations\n%-18s %-8s %-25s %9s %9s %9s %9s %9s %8s %9s %7s\n",
               STUDY_FIXED_ITERATIONS, "matrix", "solver", "contestant", "policy ms", "conv. ms", "other ms",
               "first ms", "all ms", "in A x", "iter. ms", "share %");
    }
    s->begun = true;
}

static void report_setup(study_session *s, const study_variant *v, const setup_times *t)
{
    const double steps[] = {t->policy, t->conversion, t->other, t->first, t->all};

    printf("%-18s %-8s %-25s", s->matrix, tess_solver_kind_name(s->solver), v->name);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        study_print_number(9, 3, 1e3 * steps[k]);
    }
    study_print_number(8, 1, t->all / t->product);
    study_print_number(9, 3, 1e3 * t->run);
    study_print_number(7, 1, 100.0 * t->all / (t->all + t->run));
    printf("\n");
    bench_add(&s->run, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "study", "setup",
                                 "matrix", s->matrix, "solver", tess_solver_kind_name(s->solver), "contestant", v->name,
                                 "nrows", (json_int_t)s->problem->host.nrows, "nnz", (json_int_t)s->problem->host.nnz,
                                 "policy_seconds", t->policy, "conversion_seconds", t->conversion, "other_seconds",
                                 t->other, "first_seconds", t->first, "setup_seconds", t->all, "fixed_seconds", t->run,
                                 "product_seconds", study_number(t->product)));
}

static void print_refusal(const study_session *s, const study_variant *v)
{
    const tess_error *error = tess_context_last_error(s->run.ctx);

    printf("%-18s %-8s %-25s not run: %s\n", s->matrix, tess_solver_kind_name(s->solver), v->name,
           error ? error->message : "");
}

void study_setup(study_session *s)
{
    const study_variants variants = study_contestants(s);
    const double product = study_product_seconds(s->problem);

    print_setup_head(s);
    for (int i = 0; i < variants.count; i++) {
        const study_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = study_variant_contest(v, s->problem, s->solver, &storage);
        setup_times t = {.product = product};
        tess_status status = TESS_SUCCESS;

        if (!study_variant_is_ours(v) || !study_variant_runs(&s->run, v, s->solver)) { continue; }
        study_variant_storage(v, &storage);
        status = measure(s, &c, &t);
        if (status == TESS_SUCCESS) {
            report_setup(s, v, &t);
            status = bench_stages(&s->run, open_contest, &c, s->matrix, v->name, product);
        }
        if (status == TESS_UNSUPPORTED) {
            print_refusal(s, v);
        } else if (status != TESS_SUCCESS) {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        bench_contest_close(&c);
    }
}

/* ---- memory ---- */

static void print_memory_head(study_session *s)
{
    if (!s->begun) {
        printf("\nbytes of the matrix over those of FP64 CSR (all: with vectors and the original), and percent of the "
               "nonzeros in each precision\n%-18s %-25s %10s %7s %7s",
               "matrix", "contestant", "bytes", "ratio", "all");
        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            printf(" %6s", tess_precision_name((tess_precision)p));
        }
        printf("\n");
    }
    s->begun = true;
}

static void report_memory(study_session *s, const char *contestant, int64_t bytes, int64_t resident,
                          const int64_t *nonzeros)
{
    const double csr = (double)tess_matrix_bytes(s->problem->a), nnz = (double)s->problem->host.nnz;
    json_t *counts = json_object();

    printf("%-18s %-25s", s->matrix, contestant);
    study_print_number(10, 0, bytes > 0 ? (double)bytes : NAN);
    study_print_number(7, 3, bytes > 0 ? (double)bytes / csr : NAN);
    study_print_number(7, 3, resident > 0 ? (double)resident / csr : NAN);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        study_print_number(6, 2, nnz > 0.0 ? 100.0 * (double)nonzeros[p] / nnz : NAN);
        json_object_set_new(counts, tess_precision_name((tess_precision)p), json_integer(nonzeros[p]));
    }
    printf("\n");
    bench_add(&s->run, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "study", "memory", "matrix",
                                 s->matrix, "contestant", contestant, "nrows", (json_int_t)s->problem->host.nrows,
                                 "nnz", (json_int_t)s->problem->host.nnz, "matrix_bytes", (json_int_t)bytes,
                                 "resident_bytes", (json_int_t)resident, "fp64_csr_bytes",
                                 (json_int_t)tess_matrix_bytes(s->problem->a), "nonzeros_per_precision", counts));
}

/* What each nonzero by itself would take, within a relative loss of 1e-15 (section II-A). */
static tess_status report_entries(study_session *s)
{
    tess_policy_options policy;
    tess_assignment_summary summary;
    tess_assignment *made = NULL;
    int64_t nonzeros[TESS_PRECISION_COUNT] = {0};
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&policy);
    policy.granularity = TESS_GRANULARITY_ENTRY;
    status = tess_policy_options_parse("lossless:1e-15", &policy);
    if (status == TESS_SUCCESS) { status = tess_assignment_create(s->problem->a, &policy, &made); }
    if (status != TESS_SUCCESS) { return status; }
    tess_assignment_get_summary(made, &summary);
    for (int l = 0; l < summary.options.nlevels; l++) {
        nonzeros[summary.options.level[l].precision] += summary.nonzeros_at[l];
    }
    tess_assignment_destroy(made);
    report_memory(s, "(each nonzero alone)", 0, 0, nonzeros);
    return TESS_SUCCESS;
}

void study_memory(study_session *s)
{
    const study_variants variants = study_contestants(s);
    tess_status status = TESS_SUCCESS;

    print_memory_head(s);
    status = report_entries(s);
    if (status != TESS_SUCCESS) { bench_fault(&s->run, s->matrix, "precisions of nonzeros", status); }
    for (int i = 0; i < variants.count; i++) {
        const study_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = study_variant_contest(v, s->problem, s->solver, &storage);
        int64_t done = 0;

        if (!study_variant_is_ours(v) || !study_variant_runs(&s->run, v, s->solver)) { continue; }
        study_variant_storage(v, &storage);
        status = bench_contest_open(&c);
        if (status == TESS_SUCCESS) { status = bench_contest_run(&c, 0.0, 1, &done); }
        if (status == TESS_SUCCESS) {
            report_memory(s, v->name, c.result.storage.matrix_bytes, c.result.resident_bytes,
                          c.result.storage.nonzeros_per_precision);
        } else if (status != TESS_UNSUPPORTED) {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        bench_contest_close(&c);
    }
}
