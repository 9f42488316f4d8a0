/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of bench_factors, and what is asked of them. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_factors.h"
#include "harness_goal.h"

/* ---- goals ---- */

/* Of contestants that match a pattern the fastest counts. */
typedef struct factors_goal {
    const char *name, *of, *over;
    bool end_to_end; /* set-up and solve of verified solves, else per iteration */
    double bound;
} factors_goal;

/* Yang et al. 2024, over cuSPARSE */
static const factors_goal goals[] = {
    {"cg-ic0 over cg-cu-ic0", "cg-ic0", "cg-cu-ic0", false, 6.0},
    {"cg-ic0 over cg-cu-ic0", "cg-ic0", "cg-cu-ic0", true, 6.0},
    {"best over best, cg ic0", "cg-ic0*", "cg-cu-ic0*", false, 6.0},
    {"best over best, cg ic0", "cg-ic0*", "cg-cu-ic0*", true, 6.0},
    {"bicgstab-ilu0 over -cu-ilu0", "bicgstab-ilu0", "bicgstab-cu-ilu0", false, 4.0},
    {"bicgstab-ilu0 over -cu-ilu0", "bicgstab-ilu0", "bicgstab-cu-ilu0", true, 4.0},
    {"best over best, bicgstab ilu0", "bicgstab-ilu0*", "bicgstab-cu-ilu0*", false, 4.0},
    {"best over best, bicgstab ilu0", "bicgstab-ilu0*", "bicgstab-cu-ilu0*", true, 4.0},
};
enum { GOALS = sizeof goals / sizeof *goals };

/* Seconds per iteration of the baseline that were known before. */
static const struct known_time {
    const char *matrix, *contestant;
    double seconds;
} known[] = {{"laplace2d-64", "cg-cu-ic0", 450e-6},
             {"wathen120", "cg-cu-ic0", 2.6e-3},
             {"bcsstk17", "cg-cu-ic0", 3.7e-3},
             {"G2_circuit", "cg-cu-ic0", 2.4e-3},
             {"raefsky1", "bicgstab-cu-ilu0", 5.5e-3}};
enum { KNOWN = sizeof known / sizeof *known };

struct factors_goals {
    bench_reached reached[GOALS];
    double baseline[KNOWN]; /* what this run measured; 0: nothing */
};

factors_goals *factors_goals_make(void)
{
    return bench_allocate(1, sizeof(factors_goals));
}

double factors_seconds(const factors_outcome *o)
{
    return o->run.timed || o->from_solve ? o->run.seconds_per_iteration : NAN;
}

/* Of set-up and solve, where verified. */
static double solve_seconds(const factors_outcome *o)
{
    return o->run.verified ? o->run.solve_seconds : NAN;
}

static double least(const factors_outcome *all, int count, const char *pattern, bool end_to_end)
{
    double seconds = NAN;

    for (int i = 0; i < count; i++) {
        if (fnmatch(pattern, all[i].variant->name, 0) == 0) {
            seconds = fmin(seconds, end_to_end ? solve_seconds(&all[i]) : factors_seconds(&all[i]));
        }
    }
    return seconds;
}

static bench_goal goal_of(const factors_goal *g)
{
    return (bench_goal){g->end_to_end ? "set-up and solve" : "per iteration", BENCH_GEOMETRIC, false, g->bound};
}

static void collect(const char *matrix, const factors_outcome *all, int count, factors_goals *reached)
{
    for (int i = 0; i < GOALS; i++) {
        const factors_goal *g = &goals[i];
        const bench_goal goal = goal_of(g);

        bench_goal_add(&goal, matrix,
                       least(all, count, g->over, g->end_to_end) / least(all, count, g->of, g->end_to_end),
                       &reached->reached[i]);
    }
    for (int i = 0; i < KNOWN; i++) {
        const double seconds = least(all, count, known[i].contestant, false);

        if (strcmp(matrix, known[i].matrix) == 0 && isfinite(seconds)) { reached->baseline[i] = seconds; }
    }
}

static void report_known(bench_run *run, const factors_goals *g)
{
    json_t *rows = json_array();

    for (int i = 0; i < KNOWN; i++) {
        if (g->baseline[i] <= 0.0) { continue; }
        printf("  %-30s %-19s %9.1f us per iteration; known: %.0f\n", known[i].contestant, known[i].matrix,
               1e6 * g->baseline[i], 1e6 * known[i].seconds);
        json_array_append_new(rows, json_pack("{s:s, s:s, s:f, s:f}", "contestant", known[i].contestant, "matrix",
                                              known[i].matrix, "seconds_per_iteration", g->baseline[i],
                                              "known_seconds_per_iteration", known[i].seconds));
    }
    json_object_set_new(run->root, "known_baselines", rows);
}

void factors_goals_report(bench_run *run, factors_goals *reached)
{
    json_t *rows = json_array();

    if (run->gpu) { printf("\ngoals: speed-up over cuSPARSE and cuBLAS\n"); }
    for (int i = 0; i < GOALS; i++) {
        const bench_goal goal = goal_of(&goals[i]);

        bench_goal_report(&goal, goals[i].name, &reached->reached[i], rows);
    }
    json_object_set_new(run->root, "goals", rows);
    report_known(run, reached);
    free(reached);
}

/* ---- rows ---- */

void factors_print_head(void)
{
    printf("%-18s %-25s %9s %9s %5s %9s %9s %9s %9s %-12s %6s %7s %6s %6s %8s %7s\n", "matrix", "contestant", "us/it",
           "us/M^-1", "iter", "M ms", "set-up ms", "solve ms", "true res", "", "x cu", "x solve", "steps", "", "MB",
           "shift");
}

/* The baseline of the same solver with scalars on the host. */
static const factors_outcome *baseline_of(const factors_outcome *all, int count)
{
    for (int i = 0; i < count; i++) {
        if (all[i].variant->which == BENCH_THEIRS_HOST) { return &all[i]; }
    }
    return NULL;
}

static void print_number(int width, int digits, double value)
{
    if (isfinite(value)) {
        printf(" %*.*f", width, digits, value);
    } else {
        printf(" %*s", width, "-");
    }
}

static const char *state_of(const factors_outcome *o)
{
    return o->run.verified ? "verified" : o->run.claimed ? "FALSE" : o->run.reason ? o->run.reason : "-";
}

static void print_facts(const factors_outcome *o)
{
    if (o->incomplete && !o->variant->theirs) {
        printf(" %6lld %6lld", (long long)o->facts.lower_groups, (long long)o->facts.upper_groups);
    } else {
        printf(" %6s %6s", "-", "-");
    }
    print_number(8, 2, 1e-6 * (double)o->bytes);
    print_number(7, 3, o->incomplete ? o->facts.shift : NAN);
    if (o->variant->theirs) { printf("  factors: %s", o->made_by); }
}

static void print_row(const char *matrix, const factors_outcome *o, double per_iteration, double end_to_end)
{
    const bool solved = o->run.solved;

    printf("%-18s %-25s", matrix, o->variant->name);
    if (o->refused) {
        printf(" not run: %s\n", o->why);
        return;
    }
    print_number(9, 2, 1e6 * factors_seconds(o));
    printf("%s", o->from_solve ? "~" : " ");
    print_number(8, 2, o->apply_seconds > 0.0 ? 1e6 * o->apply_seconds : NAN);
    print_number(5, 0, solved ? (double)o->run.iterations : NAN);
    print_number(9, 3, solved ? 1e3 * o->run.precond_seconds : NAN);
    print_number(9, 3, solved ? 1e3 * o->run.setup_seconds : NAN);
    print_number(9, 3, solved ? 1e3 * o->run.solve_seconds : NAN);
    printf(" %9.2e %-12s", solved ? o->run.true_relative : NAN, state_of(o));
    print_number(6, 2, per_iteration);
    print_number(7, 2, end_to_end);
    print_facts(o);
    printf("\n");
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void add_solve(json_t *row, const factors_outcome *o)
{
    const bench_contest_outcome *r = &o->run;

    json_object_set_new(row, "iterations", json_integer(r->iterations));
    json_object_set_new(row, "true_relative_residual", number(r->true_relative));
    json_object_set_new(row, "claimed", json_boolean(r->claimed));
    json_object_set_new(row, "verified", json_boolean(r->verified));
    json_object_set_new(row, "reason", json_string(r->reason));
    json_object_set_new(row, "precond_setup_seconds", json_real(r->precond_seconds));
    json_object_set_new(row, "setup_seconds", json_real(r->setup_seconds));
    json_object_set_new(row, "solve_seconds", json_real(r->solve_seconds));
}

static void add_facts(json_t *row, const factors_outcome *o)
{
    json_object_set_new(row, "precond_bytes", json_integer(o->bytes));
    if (!o->incomplete) { return; }
    json_object_set_new(row, "shift", json_real(o->facts.shift));
    if (o->variant->theirs) {
        json_object_set_new(row, "factors", json_string(o->made_by));
        return;
    }
    json_object_set_new(row, "factorization", json_string(tess_factorization_name(o->facts.factorization)));
    json_object_set_new(row, "lower_levels", json_integer(o->facts.lower_level_sets));
    json_object_set_new(row, "upper_levels", json_integer(o->facts.upper_level_sets));
    json_object_set_new(row, "lower_steps", json_integer(o->facts.lower_groups));
    json_object_set_new(row, "upper_steps", json_integer(o->facts.upper_groups));
    json_object_set_new(row, "entries", json_integer(o->facts.entries));
    json_object_set_new(row, "leaves", json_integer(o->facts.leaves));
    json_object_set_new(row, "squares", json_integer(o->facts.squares));
}

static json_t *describe(const bench_problem *p, const char *matrix, const factors_outcome *o)
{
    const tess_precond_options *m = &o->variant->precond;
    json_t *row = json_pack(
        "{s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:b}", "matrix", matrix, "nrows", (json_int_t)p->host.nrows, "nnz",
        (json_int_t)p->host.nnz, "contestant", o->variant->name, "solver", tess_solver_kind_name(o->variant->solver),
        "precond", tess_precond_kind_name(m->kind), "precond_precision",
        tess_precision_name(m->role.given ? m->role.storage : TESS_PRECISION_FP64), "refused", o->refused);

    if (o->refused) {
        json_object_set_new(row, "reason", json_string(o->why));
        return row;
    }
    json_object_set_new(row, "seconds_per_iteration", number(factors_seconds(o)));
    json_object_set_new(row, "seconds_per_iteration_from",
                        json_string(o->run.timed ? "two fixed runs" : "the solve by its iterations"));
    json_object_set_new(row, "runs", json_pack("[I, I]", (json_int_t)o->run.from, (json_int_t)o->run.to));
    json_object_set_new(row, "seconds_per_application", number(o->apply_seconds > 0.0 ? o->apply_seconds : NAN));
    if (o->run.solved) { add_solve(row, o); }
    add_facts(row, o);
    return row;
}

void factors_report(const bench_problem *p, const char *matrix, const factors_outcome *all, int count,
                    factors_goals *reached)
{
    const factors_outcome *base = baseline_of(all, count);

    for (int i = 0; i < count; i++) {
        const double per_iteration = base ? factors_seconds(base) / factors_seconds(&all[i]) : NAN;
        const double end_to_end = base ? solve_seconds(base) / solve_seconds(&all[i]) : NAN;
        json_t *row = describe(p, matrix, &all[i]);

        json_object_set_new(row, "speedup_per_iteration", number(per_iteration));
        json_object_set_new(row, "speedup_setup_and_solve", number(end_to_end));
        print_row(matrix, &all[i], per_iteration, end_to_end);
        bench_add(p->run, row);
    }
    collect(matrix, all, count, reached);
}
