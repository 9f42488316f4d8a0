/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of GMRES: times to a verified tolerance, held against each other within one run. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "harness_gmres_contest.h"

enum { RESTART = 50, LARGE_BYTES = 100 * 1000 * 1000 };

/* Of contestants that match a pattern the fastest verified one counts. */
typedef struct gmres_goal {
    const char *name;
    bench_goal goal;              /* at most: time over that of `over`; at least: the inverse */
    const char *matrix, *precond; /* patterns */
    const char *set;              /* NULL: any */
    const char *of, *over;        /* patterns of contestants; `of` are ours */
    int64_t least_bytes;          /* of matrix and basis */
} gmres_goal;

#define OURS "[!c]*"
#define AT_MOST(bound)                               \
    {                                                \
        "time over theirs", BENCH_WORST, true, bound \
    }
#define AT_LEAST(bound)                       \
    {                                         \
        "speed-up", BENCH_WORST, false, bound \
    }

static const gmres_goal goals[] = {
    {"fp64 over cu-fp64", AT_MOST(0.75), "laplace3d-*", "none", NULL, "fp64", "cu-fp64", 0},
    {"ir over fp64", AT_LEAST(1.75), "laplace3d-*", "none", NULL, "ir", "fp64", 0},
    {"ir over fp64", AT_LEAST(1.75), "uniflow2d-*", "none", NULL, "ir", "fp64", 0},
    {"ir over fp64", AT_LEAST(1.75), "bentpipe2d-*", "none", NULL, "ir", "fp64", 0},
    {"best over cu-ir", AT_MOST(0.60), "laplace3d-*", "none", NULL, OURS, "cu-ir", 0},
    {"best over fp64", AT_LEAST(2.3), "laplace3d-*", "none", NULL, OURS, "fp64", 0},
    {"ir over fp64, p 40", AT_LEAST(1.5), "stretched2d-*", "polynomial:40", NULL, "ir", "fp64", 0},
    {"ir, 16-bit p 40, over fp64", AT_LEAST(1.75), "stretched2d-*", "polynomial:40", NULL, "ir-precond-*16", "fp64", 0},
    {"ir over fp64, set large",
     {"speed-up", BENCH_GEOMETRIC, false, 1.5},
     "*",
     "none",
     "large",
     "ir",
     "fp64",
     LARGE_BYTES},
    {"auto over fp64, set unsym", AT_LEAST(0.95), "*", "none", "unsym", "auto", "fp64", 0},
};

static bool same_problem(const gmres_record *a, const gmres_record *b)
{
    return strcmp(a->matrix, b->matrix) == 0 && strcmp(a->precond, b->precond) == 0 && strcmp(a->set, b->set) == 0 &&
           a->restart == b->restart;
}

static bool concerns(const gmres_goal *g, const gmres_record *r)
{
    return r->restart == RESTART && r->working_set >= g->least_bytes && fnmatch(g->matrix, r->matrix, 0) == 0 &&
           fnmatch(g->precond, r->precond, 0) == 0 && strcmp(r->set, g->set ? g->set : "") == 0;
}

/* The least time of a verified contestant; NaN where there is none. */
static double least_time(const gmres_records *all, const gmres_record *problem, const char *pattern)
{
    double least = NAN;

    for (size_t i = 0; i < all->count; i++) {
        const gmres_record *r = &all->items[i];

        if (r->verified && same_problem(r, problem) && fnmatch(pattern, r->contestant, 0) == 0) {
            least = fmin(least, r->seconds);
        }
    }
    return least;
}

/* The first record of each problem stands for it. */
static bool is_first(const gmres_records *all, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (same_problem(&all->items[i], &all->items[k])) { return false; }
    }
    return true;
}

static void report_goal(const gmres_goal *g, const gmres_records *all, json_t *rows)
{
    bench_reached reached = {.worst = 0.0};
    int without = 0;

    for (size_t i = 0; i < all->count; i++) {
        const gmres_record *r = &all->items[i];
        double of = 0.0, over = 0.0;

        if (!concerns(g, r) || !is_first(all, i)) { continue; }
        of = least_time(all, r, g->of);
        over = least_time(all, r, g->over);
        without += isfinite(of) && isfinite(over) ? 0 : 1;
        bench_goal_add(&g->goal, r->matrix, g->goal.at_most ? of / over : over / of, &reached);
    }
    bench_goal_report(&g->goal, g->name, &reached, rows);
    if (without > 0) { printf("  %-30s %d of its problems have no two verified times\n", g->name, without); }
    if (without > 0 && reached.mean.count == 0) {
        json_array_append_new(rows, json_pack("{s:s, s:s, s:f, s:i, s:b}", "kernel", g->name, "measure",
                                              g->goal.measure, "goal", g->goal.bound, "matrices", 0, "reached", 0));
    }
}

/* Ours that claimed what the independent residual denies. */
static int count_false(const gmres_records *all, int *claims)
{
    int wrong = 0;

    *claims = 0;
    for (size_t i = 0; i < all->count; i++) {
        const gmres_record *r = &all->items[i];

        if (r->theirs || r->refused) { continue; }
        *claims += r->claimed;
        wrong += r->claimed && !r->verified;
    }
    return wrong;
}

int gmres_report_goals(bench_run *run, const gmres_records *records)
{
    json_t *rows = json_array();
    int claims = 0, wrong = count_false(records, &claims);

    printf("\ngoals: time to a verified tolerance, restart %d\n", RESTART);
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        report_goal(&goals[i], records, rows);
    }
    printf("  false convergences: %d of %d claims\n", wrong, claims);
    json_object_set_new(run->root, "goals", rows);
    json_object_set_new(run->root, "claims", json_integer(claims));
    json_object_set_new(run->root, "false_convergences", json_integer(wrong));
    return wrong;
}
