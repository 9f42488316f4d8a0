/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured of the contestants of a study, on one problem. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/krylov.h"

/* The longer fixed run has LONG_RUN iterations, in a single kernel SINGLE_LONG_RUN: they are that much shorter. It goes
   on BEYOND times as long as to the tolerance: further on, numbers underflow. A large matrix is timed less often. */
enum {
    SAMPLES = 3,
    MAX_SAMPLES = 9,
    SHORTEST_RUN = 60,
    LONG_RUN = 300,
    SINGLE_LONG_RUN = 1200,
    BEYOND = 4,
    ITERATION_SAMPLES = 5,
    LARGE_SAMPLES = 2
};
static const int64_t large_nnz = 2000000;

static bool is_large(const krylov_session *s)
{
    return s->problem->host.nnz > large_nnz;
}

tess_status krylov_time_runs(bench_contest *c, double rtol, int64_t iterations, int samples, bench_time *time,
                             int64_t *done)
{
    double taken[MAX_SAMPLES];
    tess_status status = TESS_SUCCESS;

    for (int k = samples > 1 ? -1 : 0; k < samples && status == TESS_SUCCESS; k++) { /* -1: warm-up */
        const double start = bench_wall_seconds();

        status = bench_contest_run(c, rtol, iterations, done);
        taken[k < 0 ? 0 : k] = bench_wall_seconds() - start;
    }
    *time = (bench_time){.samples = 0};
    if (status == TESS_SUCCESS) { *time = bench_time_of_samples(taken, samples, 1); }
    return status;
}

/* ---- solves to the tolerance ---- */

/* Counts the claim that the last solve made of the present b. */
static tess_status judge(const krylov_session *s, const bench_contest *c, krylov_outcome *o)
{
    const bench_problem *p = c->problem;
    bench_residual truth;
    tess_status status = TESS_SUCCESS;

    if (!c->claimed) { return TESS_SUCCESS; }
    status = tess_vector_get(p->x, p->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    if (status != TESS_SUCCESS) { return status; }
    truth = bench_true_residual(&p->host, p->host_b, p->host_x);
    o->claims += 1;
    o->worst_relative = fmax(o->worst_relative, truth.norm / truth.rhs_norm);
    o->false_claims += truth.norm > s->rtol * truth.rhs_norm * (1.0 + 1e-15);
    return TESS_SUCCESS;
}

/* Of each b the time of a solve that is set up; one that does not end there has infinite time. */
static tess_status time_sides(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    const int sides = s->row->five_sides ? KRYLOV_SEEDS : 1, samples = sides > 1 || is_large(s) ? 1 : SAMPLES;
    double seconds[KRYLOV_SEEDS];
    bench_time time = {.samples = 0};
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < sides && status == TESS_SUCCESS; k++) {
        int64_t done = 0;

        if (k > 0) { status = bench_problem_set_rhs(s->problem, (uint64_t)(k + 1)); }
        if (status == TESS_SUCCESS) { status = krylov_time_runs(c, s->rtol, s->max_iterations, samples, &time, &done); }
        if (status == TESS_SUCCESS) { status = judge(s, c, o); }
        seconds[k] = c->claimed ? time.median : INFINITY;
    }
    if (status == TESS_SUCCESS && sides > 1) { status = bench_problem_set_rhs(s->problem, 1); }
    if (status != TESS_SUCCESS) { return status; }
    if (sides > 1) { time = bench_time_of_samples(seconds, sides, 1); }
    if (isfinite(sides > 1 ? time.median : seconds[0])) { o->solve = time; }
    return TESS_SUCCESS;
}

/* One solve, whose iterations count. */
static tess_status solve_once(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    tess_status status = bench_contest_run(c, s->rtol, s->max_iterations, &o->run.iterations);

    if (status == TESS_SUCCESS) { status = judge(s, c, o); }
    o->run.solved = status == TESS_SUCCESS;
    o->run.claimed = c->claimed;
    o->run.verified = c->claimed && o->false_claims == 0;
    o->run.true_relative = c->claimed ? o->worst_relative : NAN;
    o->run.reason = bench_contest_reason(c);
    return status;
}

static tess_status solve(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    tess_status status = TESS_SUCCESS;

    if (s->row->what & KRYLOV_ITERATIONS) { return solve_once(s, c, o); }
    status = bench_contest_time_solve(c, s->rtol, s->max_iterations, &o->run);
    if (status == TESS_SUCCESS) { status = time_sides(s, c, o); }
    return status;
}

/* ---- fixed runs ---- */

static tess_status time_iterations(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    int64_t run = o->variant->engine == TESS_ENGINE_SINGLE_KERNEL ? SINGLE_LONG_RUN : LONG_RUN, long_run = 0;

    if (s->run.options->quick) { run = SHORTEST_RUN; }
    if (o->run.solved && o->run.claimed && BEYOND * o->run.iterations < run) { run = BEYOND * o->run.iterations; }
    c->longest_run = run < SHORTEST_RUN ? SHORTEST_RUN : run;
    return bench_contest_time_iterations(c, &long_run, &o->run);
}

static int64_t products_of(const tess_papers_result *r)
{
    int64_t sum = r->tile_products_bypassed;

    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        sum += r->tile_products[p];
    }
    return sum;
}

/* How many of a fixed run's products were skipped, and how many of those before the tolerance was met: the bounds are
   those of the fixed run, so that a solve which ends there has made the same iterations. */
static tess_status count_bypassed(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    krylov_bypassed *b = &o->bypassed;
    tess_status status = TESS_SUCCESS;

    b->products = products_of(&c->papers);
    b->all = c->papers.tile_products_bypassed;
    status = bench_contest_run(c, s->rtol, KRYLOV_FIXED_ITERATIONS, &b->iterations);
    b->before = c->papers.tile_products_bypassed;
    b->counted = status == TESS_SUCCESS;
    return status;
}

static tess_status time_fixed(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    int64_t done = 0;
    tess_status status = krylov_time_runs(c, 0.0, KRYLOV_FIXED_ITERATIONS, SAMPLES, &o->fixed, &done);

    if (done != KRYLOV_FIXED_ITERATIONS) { o->fixed = (bench_time){.samples = 0}; }
    o->bypassed.made = done;
    if (status == TESS_SUCCESS && o->variant->narrowing != TESS_NARROWING_OFF) { status = count_bypassed(s, c, o); }
    return status;
}

/* One more solve that keeps its residuals: keeping them costs the others nothing. */
static tess_status keep_history(const krylov_session *s, bench_contest *c, krylov_outcome *o)
{
    const tess_solve_result *r = &c->result;
    int64_t done = 0;
    tess_status status = TESS_SUCCESS;

    bench_contest_close(c);
    c->history_capacity = s->max_iterations + 1;
    status = bench_contest_open(c);
    if (status == TESS_SUCCESS) { status = bench_contest_run(c, s->rtol, s->max_iterations, &done); }
    if (status != TESS_SUCCESS || r->history_length == 0) { return status; }
    o->history = bench_allocate((size_t)r->history_length, sizeof *o->history);
    o->history_length = r->history_length;
    for (int64_t k = 0; k < r->history_length; k++) {
        o->history[k] = r->history[k] / r->rhs_norm;
    }
    return TESS_SUCCESS;
}

/* ---- one contestant ---- */

static void take_results(const bench_contest *c, krylov_outcome *o)
{
    o->result = c->result;
    o->papers = c->papers;
}

static tess_status measure(const krylov_session *s, bench_contest *c, bool with_solve, krylov_outcome *o)
{
    const unsigned what = s->row->what;
    tess_status status = TESS_SUCCESS;

    if ((what & KRYLOV_SOLVES) && with_solve) { status = solve(s, c, o); }
    if (status == TESS_SUCCESS && krylov_variant_is_ours(o->variant)) { take_results(c, o); }
    if (status == TESS_SUCCESS && (what & KRYLOV_FIXED)) { status = time_fixed(s, c, o); }
    if (status == TESS_SUCCESS && (what & KRYLOV_TIMES)) { status = time_iterations(s, c, o); }
    if (o->result.storage.matrix_bytes == 0) { take_results(c, o); }
    o->result.history = NULL;
    if (status == TESS_SUCCESS && s->histories && (what & KRYLOV_HISTORIES) && krylov_variant_is_ours(o->variant)) {
        status = keep_history(s, c, o);
    }
    return status;
}

static void refuse(krylov_session *s, krylov_outcome *o, const bench_contest *c, tess_status status)
{
    o->refused = true;
    bench_contest_explain(c, status, o->why, sizeof o->why);
    if (status != TESS_UNSUPPORTED && status != TESS_INVALID_ARGUMENT) {
        bench_fault(&s->run, s->matrix, o->variant->name, status);
    }
}

static void run_variant(krylov_session *s, bool with_solve, krylov_outcome *o)
{
    tess_storage_options storage;
    bench_contest c = krylov_variant_contest(o->variant, s->problem, s->solver, &storage);
    tess_status status = TESS_SUCCESS;

    krylov_variant_storage(o->variant, &storage);
    c.narrowing_epsilon = s->rtol; /* the bounds do not depend on when a run ends */
    c.samples = is_large(s) ? LARGE_SAMPLES : ITERATION_SAMPLES;
    status = bench_contest_open(&c);
    if (status == TESS_SUCCESS) { status = measure(s, &c, with_solve, o); }
    if (status != TESS_SUCCESS) { refuse(s, o, &c, status); }
    bench_contest_close(&c);
}

/* ---- all of them ---- */

static tess_status multiply(void *user, int k)
{
    const bench_problem *p = user;

    (void)k;
    return tess_matrix_spmv(p->a, TESS_OP_NONE, 1.0, p->b, 0.0, p->x);
}

double krylov_product_seconds(bench_problem *p)
{
    bench_time time;

    return bench_measure(p->run, multiply, p, &time) == TESS_SUCCESS ? time.median : NAN;
}

krylov_variants krylov_contestants(const krylov_session *s)
{
    krylov_variants variants;
    char wrong[KRYLOV_NAME];

    if (!krylov_variants_choose(s->contestants ? s->contestants : s->row->contestants, &variants, wrong,
                                sizeof wrong)) {
        bench_die("no contestant '%s'", wrong);
    }
    return variants;
}

static void count_claims(krylov_session *s, const krylov_outcome *o)
{
    char text[KRYLOV_NAME + 64];

    if (!krylov_variant_is_ours(o->variant)) { return; }
    s->claims += o->claims;
    s->false_claims += o->false_claims;
    if (o->false_claims == 0) { return; }
    snprintf(text, sizeof text, "%s: %d FALSE CONVERGENCES", o->variant->name, o->false_claims);
    bench_fault(&s->run, s->matrix, text, TESS_SUCCESS);
}

void krylov_measure(krylov_session *s)
{
    const krylov_variants variants = krylov_contestants(s);
    const double product_seconds = s->row->what & KRYLOV_PRODUCT ? krylov_product_seconds(s->problem) : NAN;
    bool converges = true;

    for (int i = 0; i < variants.count; i++) {
        krylov_outcome o = {.variant = variants.items[i]};

        /* what the first of ours cannot solve gives no comparison, but ours still have to be honest */
        const bool solves = converges || krylov_variant_is_ours(o.variant);

        if (!krylov_variant_runs(&s->run, o.variant, s->solver)) { continue; }
        if (!solves && !(s->row->what & KRYLOV_EVERYWHERE)) { continue; }
        run_variant(s, solves, &o);
        if (i == 0 && o.run.solved) { converges = o.run.verified; }
        krylov_report(s, &o, product_seconds);
        count_claims(s, &o);
        free(o.history);
    }
}
