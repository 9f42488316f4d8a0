/* SPDX-License-Identifier: Apache-2.0 */
/* Many solves back to back, alone and beside a kernel that occupies half of the device: none hangs, all give the same
 * bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/occupy.h"
#include "solve/krylov.h"

enum { ON_DEVICE = 10000, ON_HOST = 100, QUICK_SHARE = 50 };
static const double occupied_seconds = 200e-6; /* at the beginning of each solve */

typedef struct series {
    int64_t solves, wrong;
    double seconds, longest;
    bool occupied;
} series;

static int64_t count_of(const krylov_session *s)
{
    const int64_t count = s->run.gpu ? ON_DEVICE : ON_HOST;

    if (s->solves > 0) { return s->solves; }
    return s->run.options->quick ? count / QUICK_SHARE : count;
}

/* The x that all solves have to give: a verified one's. */
static tess_status find_x(const krylov_session *s, bench_contest *c, double *expected)
{
    const bench_problem *p = s->problem;
    int64_t done = 0;
    bench_residual truth;
    tess_status status = bench_contest_run(c, s->rtol, s->max_iterations, &done);

    if (status == TESS_SUCCESS) { status = tess_vector_get(p->x, expected, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status != TESS_SUCCESS) { return status; }
    truth = bench_true_residual(&p->host, p->host_b, expected);
    return c->claimed && truth.norm <= s->rtol * truth.rhs_norm * (1.0 + 1e-15) ? TESS_SUCCESS : TESS_INTERNAL;
}

static bool is_right(const bench_problem *p, const bench_contest *c, const double *expected)
{
    return c->claimed && tess_vector_get(p->x, p->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST) == TESS_SUCCESS &&
           memcmp(p->host_x, expected, (size_t)p->host.nrows * sizeof *expected) == 0;
}

static void run_series(const krylov_session *s, bench_contest *c, const double *expected, bench_occupant *occupant,
                       series *all)
{
    const double begin = bench_wall_seconds();

    for (all->solves = 0; all->solves < count_of(s); all->solves++) {
        const double start = bench_wall_seconds();
        int64_t done = 0;
        tess_status status = TESS_SUCCESS;

        if (occupant) { bench_occupant_start(occupant, occupied_seconds); }
        status = bench_contest_run(c, s->rtol, s->max_iterations, &done);
        all->longest = fmax(all->longest, bench_wall_seconds() - start);
        all->wrong += status != TESS_SUCCESS || !is_right(s->problem, c, expected);
    }
    all->seconds = bench_wall_seconds() - begin;
}

static void report(krylov_session *s, const krylov_variant *v, const series *all)
{
    bench_record record = krylov_record(s, v);
    json_t *row = NULL;

    record.of = "solve";
    record.time = bench_time_once(all->seconds / (double)all->solves);
    record.time.highest = fmax(record.time.median, all->longest);
    row = krylov_record_row(s, &record);
    bench_set(row, "{s:b, s:I, s:I}", "occupied", all->occupied, "solves", (json_int_t)all->solves, "wrong",
              (json_int_t)all->wrong);
    bench_record_add(&s->run, &record, row, "%s: %lld solves, %lld wrong; the longest %.3f ms",
                     all->occupied ? "half of the device occupied" : "alone", (long long)all->solves,
                     (long long)all->wrong, 1e3 * all->longest);
    if (all->wrong > 0) { bench_fault(&s->run, s->matrix, "WRONG RESULTS of solves back to back", TESS_SUCCESS); }
}

static void run_both(krylov_session *s, const krylov_variant *v, bench_contest *c, const double *expected)
{
    series alone = {.occupied = false}, beside = {.occupied = true};
    bench_occupant *occupant = s->run.gpu ? bench_occupant_open() : NULL;

    run_series(s, c, expected, NULL, &alone);
    report(s, v, &alone);
    if (occupant) {
        run_series(s, c, expected, occupant, &beside);
        report(s, v, &beside);
    }
    bench_occupant_close(occupant);
}

void krylov_endurance(krylov_session *s)
{
    const krylov_variants variants = krylov_contestants(s);
    double *expected = bench_allocate((size_t)s->problem->host.nrows, sizeof *expected);

    for (int i = 0; i < variants.count; i++) {
        const krylov_variant *v = variants.items[i];
        tess_storage_options storage;
        bench_contest c = krylov_variant_contest(v, s->problem, s->solver, &storage);
        tess_status status = TESS_SUCCESS;

        if (!krylov_variant_is_ours(v) || !krylov_variant_runs(&s->run, v, s->solver)) { continue; }
        krylov_variant_storage(v, &storage);
        status = bench_contest_open(&c);
        if (status == TESS_SUCCESS) { status = find_x(s, &c, expected); }
        if (status == TESS_SUCCESS) {
            run_both(s, v, &c, expected);
        } else {
            bench_fault(&s->run, s->matrix, v->name, status);
        }
        bench_contest_close(&c);
    }
    free(expected);
}
