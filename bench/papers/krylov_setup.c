/* SPDX-License-Identifier: Apache-2.0 */
/* What a solver costs before its first iteration: time by steps (Yang et al. 2024, Figure 14) and memory (Figures 1,
 * 13). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/stages.h"
#include "matrix/matrix.h"
#include "solve/krylov.h"

enum { SAMPLES = 3 };

/* ---- time ---- */

/* Seconds, medians; `other`: arrays checked, vectors, plans, graphs; `first`: what a first solve takes beyond a later
 * one. */
typedef struct setup_times {
    double policy, conversion, other, first, all, run, product;
} setup_times;

/* Precisions and the stored matrix, each on its own, made from A as the solver makes them. */
static tess_status time_steps(const krylov_session *s, const tess_storage_options *storage, double *policy,
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
    bench_time first_run = {.samples = 0}, later_runs = {.samples = 0};
    double start = bench_wall_seconds();
    tess_status status = bench_contest_open(c);

    *all = bench_wall_seconds() - start;
    if (status == TESS_SUCCESS) { status = krylov_time_runs(c, 0.0, KRYLOV_FIXED_ITERATIONS, 1, &first_run, &done); }
    if (status == TESS_SUCCESS) {
        status = krylov_time_runs(c, 0.0, KRYLOV_FIXED_ITERATIONS, SAMPLES, &later_runs, &done);
    }
    *first = first_run.median;
    *run = later_runs.median;
    bench_contest_close(c);
    return status;
}

static double median(double samples[SAMPLES])
{
    return bench_time_of_samples(samples, SAMPLES, 1).median;
}

static tess_status measure(const krylov_session *s, bench_contest *c, setup_times *t)
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

static void report_setup(krylov_session *s, const krylov_variant *v, const setup_times *t)
{
    bench_record record = krylov_record(s, v);
    json_t *row = NULL;

    record.of = "set-up";
    record.time = bench_time_once(t->all);
    record.setup_seconds = t->all;
    row = krylov_record_row(s, &record);
    bench_set_real(row, "policy_seconds", t->policy);
    bench_set_real(row, "conversion_seconds", t->conversion);
    bench_set_real(row, "other_seconds", t->other);
    bench_set_real(row, "first_seconds", t->first);
    bench_set_time(row, "fixed_seconds", &(bench_time){t->run, t->run, t->run, 1, 1});
    bench_set_real(row, "product_seconds", t->product);
    bench_record_add(&s->run, &record, row,
                     "policy %.1f us, conversion %.1f us, other %.1f us, first %.1f us; %d iterations "
                     "%.1f us",
                     1e6 * t->policy, 1e6 * t->conversion, 1e6 * t->other, 1e6 * t->first, KRYLOV_FIXED_ITERATIONS,
                     1e6 * t->run);
}

static void report_refusal(krylov_session *s, const krylov_variant *v)
{
    const tess_error *error = tess_context_last_error(s->run.ctx);
    bench_record record = krylov_record(s, v);

    record.refused = error ? error->message : "not supported";
    bench_record_add(&s->run, &record, krylov_record_row(s, &record), "%s", "");
}

void krylov_setup(krylov_session *s)
{
    const krylov_variants variants = krylov_contestants(s);
    const double product = krylov_product_seconds(s->problem);

    for (int i = 0; i < variants.count; i++) {
        const krylov_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = krylov_variant_contest(v, s->problem, s->solver, &storage);
        setup_times t = {.product = product};
        tess_status status = TESS_SUCCESS;

        if (!krylov_variant_is_ours(v) || !krylov_variant_runs(&s->run, v, s->solver)) { continue; }
        krylov_variant_storage(v, &storage);
        status = measure(s, &c, &t);
        if (status == TESS_SUCCESS) {
            report_setup(s, v, &t);
            status = bench_stages(&s->run, open_contest, &c, s->matrix, v->name, product);
        }
        if (status == TESS_UNSUPPORTED) {
            report_refusal(s, v);
        } else if (status != TESS_SUCCESS) {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        bench_contest_close(&c);
    }
}

/* ---- memory ---- */

/* v NULL: each nonzero by itself. */
static void report_memory(krylov_session *s, const krylov_variant *v, int64_t bytes, int64_t resident,
                          const int64_t *nonzeros)
{
    static const krylov_variant alone = {.name = "(each nonzero alone)", .policy = "lossless:1e-15"};
    bench_record record = krylov_record(s, v ? v : &alone);
    json_t *row = NULL;

    record.bytes = (double)bytes;
    row = krylov_record_row(s, &record);
    json_object_set_new(row, "matrix_bytes", json_integer(bytes));
    json_object_set_new(row, "resident_bytes", json_integer(resident));
    json_object_set_new(row, "fp64_csr_bytes", json_integer(tess_matrix_bytes(s->problem->a)));
    json_object_set_new(row, "nonzeros_per_precision", bench_counts_json(nonzeros));
    bench_record_add(&s->run, &record, row, "%lld bytes, %.3f of FP64 CSR", (long long)bytes,
                     (double)bytes / (double)tess_matrix_bytes(s->problem->a));
}

/* What each nonzero by itself would take, within a relative loss of 1e-15 (section II-A). */
static tess_status report_entries(krylov_session *s)
{
    tess_policy_options policy;
    tess_assignment_summary summary = {.size = sizeof summary};
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
    report_memory(s, NULL, 0, 0, nonzeros);
    return TESS_SUCCESS;
}

void krylov_memory(krylov_session *s)
{
    const krylov_variants variants = krylov_contestants(s);
    tess_status status = TESS_SUCCESS;

    status = report_entries(s);
    if (status != TESS_SUCCESS) { bench_fault(&s->run, s->matrix, "precisions of nonzeros", status); }
    for (int i = 0; i < variants.count; i++) {
        const krylov_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = krylov_variant_contest(v, s->problem, s->solver, &storage);
        int64_t done = 0;

        if (!krylov_variant_is_ours(v) || !krylov_variant_runs(&s->run, v, s->solver)) { continue; }
        krylov_variant_storage(v, &storage);
        status = bench_contest_open(&c);
        if (status == TESS_SUCCESS) { status = bench_contest_run(&c, 0.0, 1, &done); }
        if (status == TESS_SUCCESS) {
            report_memory(s, v, c.result.storage.matrix_bytes, c.result.resident_bytes,
                          c.result.storage.nonzeros_per_precision);
        } else if (status != TESS_UNSUPPORTED) {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        bench_contest_close(&c);
    }
}
