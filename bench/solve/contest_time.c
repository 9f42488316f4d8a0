/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a contestant: per iteration, and to a verified tolerance. */
#include <math.h>

#include "solve/contest.h"

enum { FEWEST = 60, LONG_RUN = 1200, SHORT_SHARE = 6, STRIDE = 10, PROBE = 20, SOLVES = 3 };
/* A long run is shortened until it ends within this; a clock's noise is 1e-5. */
static const double long_run_seconds = 0.1;

/* ---- time per iteration ---- */

static tess_status timed_run(bench_contest *c, double rtol, int64_t iterations, int64_t *done, double *seconds)
{
    double start = bench_wall_seconds();
    tess_status status = bench_contest_run(c, rtol, iterations, done);

    *seconds = bench_wall_seconds() - start;
    return status;
}

static int64_t round_down(double value)
{
    return (int64_t)(value / STRIDE) * STRIDE;
}

/* A long run that ends in time and before the method stops by itself (an exact solution, a breakdown). */
static tess_status choose_long_run(bench_contest *c, int64_t *iterations)
{
    const double longest = c->longest_run > 0 ? fmin(LONG_RUN, (double)c->longest_run) : LONG_RUN;
    int64_t done = 0;
    double seconds = 0.0, first = 0.0;
    tess_status status = timed_run(c, 0.0, PROBE, &done, &first);

    if (status == TESS_SUCCESS) { status = timed_run(c, 0.0, PROBE, &done, &seconds); }
    if (status != TESS_SUCCESS) { return status; }
    seconds = fmin(first, seconds);
    *iterations = round_down(fmin(longest, fmax(FEWEST, long_run_seconds * PROBE / seconds)));
    status = timed_run(c, 0.0, *iterations, &done, &seconds);
    if (done < *iterations) { *iterations = round_down(0.8 * (double)done); }
    return status;
}

/* Differences of medians, of the shortest runs and of the longest ones. */
static bench_time time_of_difference(double *near_samples, double *far_samples, int count, double iterations)
{
    const bench_time far_runs = bench_time_of_samples(far_samples, count, 1);
    const bench_time near_runs = bench_time_of_samples(near_samples, count, 1);
    bench_time t = {.median = (far_runs.median - near_runs.median) / iterations, .samples = count, .calls = 1};

    t.lowest = fmin(t.median, (far_runs.lowest - near_runs.lowest) / iterations);
    t.highest = fmax(t.median, (far_runs.highest - near_runs.highest) / iterations);
    return t;
}

/* Medians of both runs; the set-up, the first residual and the verification are in each and drop out. */
tess_status bench_contest_time_iterations(bench_contest *c, int64_t *long_run, bench_contest_outcome *o)
{
    const int repeat = c->problem->run->options->repeat, usual = repeat < 5 ? 5 : repeat > 9 ? 9 : repeat;
    const int count = c->samples > 0 ? c->samples : usual;
    double near_samples[9], far_samples[9];
    int64_t near_done = 0, far_done = 0;
    tess_status status = TESS_SUCCESS;

    if (*long_run == 0) { status = choose_long_run(c, long_run); }
    o->to = *long_run;
    o->from = round_down((double)*long_run / SHORT_SHARE);
    if (status != TESS_SUCCESS || o->to < FEWEST) { return status; }
    for (int k = -1; k < count && status == TESS_SUCCESS; k++) { /* -1: warm-up */
        status = timed_run(c, 0.0, o->from, &near_done, &near_samples[k < 0 ? 0 : k]);
        if (status == TESS_SUCCESS) { status = timed_run(c, 0.0, o->to, &far_done, &far_samples[k < 0 ? 0 : k]); }
    }
    if (status != TESS_SUCCESS || near_done != o->from || far_done != o->to) { return status; }
    o->iteration = time_of_difference(near_samples, far_samples, count, (double)(o->to - o->from));
    o->timed = o->iteration.median > 0.0;
    return status;
}

/* ---- time to a verified tolerance ---- */

tess_status bench_contest_time_solve(bench_contest *c, double rtol, int64_t most_iterations, bench_contest_outcome *o)
{
    const bench_problem *p = c->problem;
    const int most = c->samples > 0 && c->samples < SOLVES ? c->samples : SOLVES;
    int count = 1;
    double total[SOLVES], setup[SOLVES], precond[SOLVES];
    bench_residual truth;
    tess_status status = TESS_SUCCESS;

    for (int k = -1; k < most && status == TESS_SUCCESS; k++) { /* -1: warm-up */
        int place = k < 0 ? 0 : k;
        double start = bench_wall_seconds();

        bench_contest_close(c);
        status = tess_context_synchronize(p->run->ctx);
        start = bench_wall_seconds();
        if (status == TESS_SUCCESS) { status = bench_contest_open(c); }
        setup[place] = bench_wall_seconds() - start;
        precond[place] = c->precond_seconds;
        if (status == TESS_SUCCESS) { status = bench_contest_run(c, rtol, most_iterations, &o->iterations); }
        total[place] = bench_wall_seconds() - start;
        count = place + 1;
        /* no solve's time is compared with it: one sample of the set-up will do */
        if (k >= 0 && !c->claimed) { break; }
    }
    if (status == TESS_SUCCESS) { status = tess_vector_get(p->x, p->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status != TESS_SUCCESS) { return status; }
    truth = bench_true_residual(&p->host, p->host_b, p->host_x);
    o->true_relative = truth.norm / truth.rhs_norm;
    /* their loops end at a NaN, too */
    if (!bench_contestant_is_ours(c->which) && !isfinite(o->true_relative)) { c->claimed = false; }
    o->claimed = c->claimed;
    o->verified = c->claimed && truth.norm <= rtol * truth.rhs_norm * (1.0 + 1e-15);
    o->precond_seconds = bench_time_of_samples(precond, count, 1).median;
    o->end_to_end = bench_time_of_samples(total, count, 1);
    o->setup = bench_time_of_samples(setup, count, 1);
    o->reason = bench_contest_reason(c);
    o->solved = true;
    return status;
}
