/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of CG and BiCGSTAB, held against the records of all studies that ran. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness_study.h"

typedef enum measure { MICROSECONDS, ITERATION_SPEEDUP, SOLVE_SPEEDUP, ITERATIONS, SETUP } measure;

static const char *const measure_names[] = {"us per iteration", "speed-up per iter.", "speed-up of solves",
                                            "iterations / csr", "set-up in products"};

/* Who is held to a goal: what users get, the best of ours on each matrix, or each contestant that matches `of`. */
typedef struct study_goal {
    const char *name, *set;
    tess_solver_kind solver;
    measure what;
    bench_statistic statistic;
    double bound;
    const char *over;   /* of speed-ups */
    const char *of;     /* a pattern: each that matches has a line; NULL: a line for `auto` and one for the best */
    const char *matrix; /* a pattern; NULL: all of the set */
    int64_t most_rows, most_nnz; /* 0: any */
} study_goal;

#define CG .solver = TESS_SOLVER_CG
#define BICGSTAB .solver = TESS_SOLVER_BICGSTAB

static const study_goal goals[] = {
    {"laplace2d, n <= 4,096", "laplace2d", CG, MICROSECONDS, BENCH_WORST, 2.5, .most_rows = 4096},
    {"laplace2d, n <= 65,536", "laplace2d", CG, MICROSECONDS, BENCH_WORST, 3.5, .most_rows = 65536},
    {"spd, nnz <= 330,000", "spd", CG, MICROSECONDS, BENCH_MEDIAN, 3.5, .most_nnz = 330000},
    {"spd, nnz <= 330,000", "spd", CG, MICROSECONDS, BENCH_WORST, 6.0, .most_nnz = 330000},
    {"cg, spd, over host", "spd", CG, SOLVE_SPEEDUP, BENCH_GEOMETRIC, 16.0, .over = "cu-host"},
    {"cg, spd, over graph", "spd", CG, SOLVE_SPEEDUP, BENCH_GEOMETRIC, 4.5, .over = "cu-graph"},
    {"bicgstab, unsym, over host", "unsym", BICGSTAB, ITERATION_SPEEDUP, BENCH_GEOMETRIC, 14.0, .over = "cu-host"},
    {"bicgstab, unsym, over graph", "unsym", BICGSTAB, ITERATION_SPEEDUP, BENCH_GEOMETRIC, 4.0, .over = "cu-graph"},
    {"bicgstab, unsym, over host", "unsym", BICGSTAB, SOLVE_SPEEDUP, BENCH_GEOMETRIC, 14.0, .over = "cu-host"},
    {"bicgstab, unsym, over graph", "unsym", BICGSTAB, SOLVE_SPEEDUP, BENCH_GEOMETRIC, 4.0, .over = "cu-graph"},
    {"cg, large, over graph", "large-symmetric", CG, ITERATION_SPEEDUP, BENCH_GEOMETRIC, 1.8, .over = "cu-graph"},
    {"cg, large, over graph", "large-symmetric", CG, SOLVE_SPEEDUP, BENCH_GEOMETRIC, 1.8, .over = "cu-graph"},
    {"laplace3d-150", "large-symmetric", CG, MICROSECONDS, BENCH_WORST, 110.0, .matrix = "laplace3d-150"},
    {"cg, spd", "spd", CG, ITERATIONS, BENCH_ARITHMETIC, 1.03, .of = "*"},
    {"cg, spd", "spd", CG, ITERATIONS, BENCH_WORST, 1.25, .of = "*"},
    {"set-up, spd", "spd", CG, SETUP, BENCH_GEOMETRIC, 10.0, .of = "*"},
    {"set-up, large", "large-symmetric", CG, SETUP, BENCH_GEOMETRIC, 10.0, .of = "*"},
};

/* ---- values ---- */

static double value_of(const study_records *all, const study_record *r, const study_goal *g)
{
    switch (g->what) {
    case MICROSECONDS: return r->o.run.timed ? 1e6 * r->o.run.seconds_per_iteration : NAN;
    case ITERATION_SPEEDUP: return study_speedup(all, r, STUDY_ITERATION, g->over);
    case SOLVE_SPEEDUP: return study_speedup(all, r, STUDY_SOLVE, g->over);
    case ITERATIONS: return study_iterations_ratio(all, r);
    default: return study_setup_products(r);
    }
}

static bool is_at_most(measure what)
{
    return what == MICROSECONDS || what == ITERATIONS || what == SETUP;
}

static bool concerns(const study_goal *g, const study_record *r)
{
    return strcmp(g->set, r->row->set) == 0 && g->solver == r->solver && !r->o.refused &&
           study_variant_is_ours(r->o.variant) && (!g->matrix || fnmatch(g->matrix, r->matrix, 0) == 0) &&
           (g->most_rows == 0 || r->nrows <= g->most_rows) && (g->most_nnz == 0 || r->nnz <= g->most_nnz);
}

static bool same_problem(const study_record *a, const study_record *b)
{
    return a->row == b->row && a->solver == b->solver && strcmp(a->matrix, b->matrix) == 0;
}

/* Of contestants that match, the best on the problem of record k; NaN unless that is the first record of its problem.
 */
static double best_value(const study_records *all, size_t k, const study_goal *g, const char *contestants)
{
    double best = NAN;

    for (size_t i = 0; i < all->count; i++) {
        const study_record *r = &all->items[i];

        if (!same_problem(r, &all->items[k]) || !concerns(g, r)) { continue; }
        if (fnmatch(contestants, r->o.variant->name, 0) != 0) { continue; }
        if (i < k) { return NAN; }
        best = is_at_most(g->what) ? fmin(best, value_of(all, r, g)) : fmax(best, value_of(all, r, g));
    }
    return best;
}

/* ---- lines ---- */

static void report_for(const study_records *all, const study_goal *g, const char *contestants, const char *label,
                       json_t *rows)
{
    const bench_goal goal = {measure_names[g->what], g->statistic, is_at_most(g->what), g->bound};
    bench_reached reached = {.worst = 0.0};
    char name[128];

    for (size_t i = 0; i < all->count; i++) {
        const study_record *r = &all->items[i];

        if (!concerns(g, r) || fnmatch(contestants, r->o.variant->name, 0) != 0) { continue; }
        bench_goal_add(&goal, r->matrix, best_value(all, i, g, contestants), &reached);
    }
    snprintf(name, sizeof name, "%s: %s", g->name, label);
    bench_goal_report(&goal, name, &reached, rows);
}

/* FP64 CSR is what iterations are compared with. */
static bool is_its_reference(const study_goal *g, const study_variant *v)
{
    return g->what == ITERATIONS && strcmp(v->name, "csr") == 0;
}

/* Solves that do not converge where FP64 CSR does have no ratio of iterations: they are counted. */
static void report_lost(const study_records *all, const study_goal *g, const char *contestant, json_t *rows)
{
    int64_t solves = 0, lost = 0;
    char name[128];

    for (size_t i = 0; i < all->count; i++) {
        const study_record *r = &all->items[i];
        const double ratio = study_iterations_ratio(all, r);

        if (!concerns(g, r) || isnan(ratio) || strcmp(r->o.variant->name, contestant) != 0) { continue; }
        solves += 1;
        lost += isinf(ratio);
    }
    snprintf(name, sizeof name, "%s: %s", g->name, contestant);
    bench_goal_report_count(name, "not converged", lost, solves, rows);
}

static void report_each(const study_records *all, const study_goal *g, json_t *rows)
{
    const study_variant *seen[STUDY_MAX_VARIANTS];
    int count = 0;

    for (size_t i = 0; i < all->count; i++) {
        const study_variant *v = all->items[i].o.variant;
        bool known = !concerns(g, &all->items[i]) || is_its_reference(g, v) || fnmatch(g->of, v->name, 0) != 0;

        for (int k = 0; k < count && !known; k++) {
            known = seen[k] == v;
        }
        if (known) { continue; }
        seen[count++] = v;
        report_for(all, g, v->name, v->name, rows);
        if (g->what == ITERATIONS && g->statistic == BENCH_WORST) { report_lost(all, g, v->name, rows); }
    }
}

static void report_claims(const study_session *s, json_t *rows)
{
    int64_t claims = 0, wrong = 0;

    for (size_t i = 0; i < s->records.count; i++) {
        const study_outcome *o = &s->records.items[i].o;

        if (!study_variant_is_ours(o->variant)) { continue; }
        claims += o->claims;
        wrong += o->false_claims;
    }
    bench_goal_report_count("solves that claim convergence", "false claims", wrong, claims, rows);
    json_object_set_new(s->run.root, "claims", json_integer(claims));
    json_object_set_new(s->run.root, "false_convergences", json_integer(wrong));
    if (wrong > 0) { printf("  *** %lld FALSE CONVERGENCES ***\n", (long long)wrong); }
}

void study_report_goals(study_session *s)
{
    json_t *rows = json_array();

    printf("\ngoals\n");
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        const study_goal *g = &goals[i];

        if (g->of) {
            report_each(&s->records, g, rows);
        } else {
            report_for(&s->records, g, "auto", "auto", rows);
            report_for(&s->records, g, "*", "best", rows);
        }
    }
    report_claims(s, rows);
    bench_goal_report_count("solves back to back", "wrong results", s->endurance[0].wrong, s->endurance[0].solves,
                            rows);
    bench_goal_report_count("half of the device occupied", "wrong results", s->endurance[1].wrong,
                            s->endurance[1].solves, rows);
    json_object_set_new(s->run.root, "goals", rows);
}
