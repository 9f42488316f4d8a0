/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the studies of CG and BiCGSTAB, and means over their matrices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_study.h"

json_t *study_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void study_print_number(int width, int digits, double value)
{
    if (isfinite(value)) {
        printf(" %*.*f", width, digits, value);
    } else {
        printf(" %*s", width, "-");
    }
}

/* ---- what follows from the records ---- */

static bool is_solved(const study_record *r)
{
    return study_variant_is_ours(r->o.variant) ? r->o.run.verified : r->o.run.claimed;
}

/* Of a solve of fewer iterations, what begins and ends it is most: it says nothing of an iteration. */
enum { FEWEST_ITERATIONS = 10 };

static double iteration_seconds(const study_record *r)
{
    if (r->o.run.timed) { return r->o.run.seconds_per_iteration; }
    if (r->o.variant->narrowing != TESS_NARROWING_OFF && is_solved(r) && r->o.run.iterations >= FEWEST_ITERATIONS) {
        return r->o.solve_seconds / (double)r->o.run.iterations;
    }
    return r->o.fixed_seconds / STUDY_FIXED_ITERATIONS;
}

double study_seconds(const study_record *r, study_time what)
{
    switch (what) {
    case STUDY_ITERATION: return iteration_seconds(r);
    case STUDY_SOLVE: return is_solved(r) ? r->o.solve_seconds : NAN;
    default: return is_solved(r) && r->o.run.solve_seconds > 0.0 ? r->o.run.solve_seconds : NAN;
    }
}

static const study_record *peer(const study_records *all, const study_record *r, const char *contestant)
{
    for (size_t i = 0; i < all->count; i++) {
        const study_record *other = &all->items[i];

        if (other->row == r->row && other->solver == r->solver && strcmp(other->matrix, r->matrix) == 0 &&
            strcmp(other->o.variant->name, contestant) == 0) {
            return other;
        }
    }
    return NULL;
}

double study_speedup(const study_records *all, const study_record *r, study_time what, const char *over)
{
    const study_record *other = peer(all, r, over);

    return other ? study_seconds(other, what) / study_seconds(r, what) : NAN;
}

double study_iterations_ratio(const study_records *all, const study_record *r)
{
    const study_record *reference = peer(all, r, "csr");

    if (!reference || !reference->o.run.verified || !r->o.run.solved || reference->o.run.iterations == 0) {
        return NAN;
    }
    if (!r->o.run.verified) { return INFINITY; }
    return (double)r->o.run.iterations / (double)reference->o.run.iterations;
}

double study_setup_products(const study_record *r)
{
    return r->o.run.setup_seconds > 0.0 ? r->o.run.setup_seconds / r->product_seconds : NAN;
}

enum { SPEEDUPS = 9 };

static const struct {
    const char *key, *over;
    study_time what;
} columns[SPEEDUPS] = {
    {"iteration_over_host", "cu-host", STUDY_ITERATION},   {"iteration_over_graph", "cu-graph", STUDY_ITERATION},
    {"iteration_over_csr", "csr", STUDY_ITERATION},        {"solve_over_host", "cu-host", STUDY_SOLVE},
    {"solve_over_graph", "cu-graph", STUDY_SOLVE},         {"solve_over_csr", "csr", STUDY_SOLVE},
    {"end_to_end_over_host", "cu-host", STUDY_END_TO_END}, {"end_to_end_over_graph", "cu-graph", STUDY_END_TO_END},
    {"end_to_end_over_csr", "csr", STUDY_END_TO_END}};

/* ---- rows ---- */

static void print_head(const study_row *row)
{
    printf("\n%s: %s, b = %s\n%-18s %-8s %-25s %9s %6s %9s %9s %9s %9s %-12s %20s %20s %6s %7s\n", row->study, row->set,
           row->five_sides ? "random, of five the median" : "A * ones", "", "", "", "", "", "", "", "", "", "",
           "per iteration", "solve", "iter.", "set-up");
    printf("%-18s %-8s %-25s %9s %6s %9s %9s %9s %9s %-12s %6s %6s %6s %6s %6s %6s %6s %7s\n", "matrix", "solver",
           "contestant", "us/it", "iter", "solve ms", "set-up ms", "both ms", "true res", "", "x host", "x grph",
           "x csr", "x host", "x grph", "x csr", "/ csr", "in A x");
}

static const char *state_of(const study_outcome *o)
{
    if (!o->run.solved) { return ""; }
    return o->false_claims > 0 || (o->run.claimed && !o->run.verified) ? "FALSE"
           : o->run.verified                                           ? "verified"
                                                                       : o->run.reason;
}

static void print_row(const study_records *all, const study_record *r)
{
    const study_outcome *o = &r->o;

    printf("%-18s %-8s %-25s", r->matrix, tess_solver_kind_name(r->solver), o->variant->name);
    if (o->refused) {
        printf(" not run: %s\n", o->why);
        return;
    }
    study_print_number(9, 2, 1e6 * study_seconds(r, STUDY_ITERATION));
    study_print_number(6, 0, o->run.solved ? (double)o->run.iterations : NAN);
    study_print_number(9, 3, 1e3 * study_seconds(r, STUDY_SOLVE));
    study_print_number(9, 3, o->run.setup_seconds > 0.0 ? 1e3 * o->run.setup_seconds : NAN);
    study_print_number(9, 3, 1e3 * study_seconds(r, STUDY_END_TO_END));
    if (o->run.solved && isfinite(o->run.true_relative)) {
        printf(" %9.2e %-12s", o->run.true_relative, state_of(o));
    } else {
        printf(" %9s %-12s", "-", state_of(o));
    }
    for (int k = 0; k < SPEEDUPS; k++) {
        if (columns[k].what == STUDY_END_TO_END) { continue; }
        study_print_number(6, 2, study_speedup(all, r, columns[k].what, columns[k].over));
    }
    study_print_number(6, 2, study_iterations_ratio(all, r));
    study_print_number(7, 1, study_setup_products(r));
    printf("\n");
}

static void add_solve(json_t *row, const study_outcome *o)
{
    json_object_set_new(row, "iterations", json_integer(o->run.iterations));
    json_object_set_new(row, "true_relative_residual", study_number(o->run.true_relative));
    json_object_set_new(row, "claimed", json_boolean(o->run.claimed));
    json_object_set_new(row, "verified", json_boolean(o->run.verified));
    json_object_set_new(row, "claims", json_integer(o->claims));
    json_object_set_new(row, "false_claims", json_integer(o->false_claims));
    json_object_set_new(row, "reason", json_string(o->run.reason));
}

/* An object from precisions to counts that are not zero. */
static json_t *counts_json(const int64_t counts[TESS_PRECISION_COUNT])
{
    json_t *object = json_object();

    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (counts[p] == 0) { continue; }
        json_object_set_new(object, tess_precision_name((tess_precision)p), json_integer(counts[p]));
    }
    return object;
}

static void add_narrowing(json_t *row, const tess_papers_result *r)
{
    json_object_set_new(row, "narrowing", json_string(tess_narrowing_name(r->narrowing)));
    json_object_set_new(row, "narrowing_misled", json_boolean(r->narrowing_misled));
    json_object_set_new(row, "tile_products", counts_json(r->tile_products));
    json_object_set_new(row, "tile_products_bypassed", json_integer(r->tile_products_bypassed));
}

/* What our last solve says of its matrix. */
static void add_facts(json_t *row, const tess_solve_result *r)
{
    json_object_set_new(row, "engine", json_string(tess_engine_name(r->engine)));
    json_object_set_new(row, "recurrence", json_string(tess_recurrence_name(r->cg.recurrence)));
    json_object_set_new(row, "format", json_string(tess_format_name(r->storage.format)));
    json_object_set_new(row, "escalated", json_boolean(r->escalated));
    json_object_set_new(row, "matrix_bytes", json_integer(r->storage.matrix_bytes));
    json_object_set_new(row, "nonzeros_per_precision", counts_json(r->storage.nonzeros_per_precision));
}

static void add_speedups(json_t *row, const study_records *all, const study_record *r)
{
    json_t *speedups = json_object();

    for (int k = 0; k < SPEEDUPS; k++) {
        json_object_set_new(speedups, columns[k].key,
                            study_number(study_speedup(all, r, columns[k].what, columns[k].over)));
    }
    json_object_set_new(row, "speedups", speedups);
    json_object_set_new(row, "iterations_over_csr", study_number(study_iterations_ratio(all, r)));
}

static json_t *describe(const study_records *all, const study_record *r)
{
    const study_outcome *o = &r->o;
    json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:b}", "study", r->row->study, "set", r->row->set,
                            "matrix", r->matrix, "nrows", (json_int_t)r->nrows, "nnz", (json_int_t)r->nnz, "solver",
                            tess_solver_kind_name(r->solver), "contestant", o->variant->name, "refused", o->refused);

    if (o->refused) {
        json_object_set_new(row, "reason", json_string(o->why));
        return row;
    }
    json_object_set_new(row, "seconds_per_iteration", study_number(study_seconds(r, STUDY_ITERATION)));
    json_object_set_new(row, "runs", json_pack("[I, I]", (json_int_t)o->run.from, (json_int_t)o->run.to));
    json_object_set_new(row, "fixed_seconds", study_number(o->fixed_seconds));
    json_object_set_new(row, "solve_seconds", study_number(study_seconds(r, STUDY_SOLVE)));
    json_object_set_new(row, "setup_seconds", study_number(o->run.setup_seconds > 0.0 ? o->run.setup_seconds : NAN));
    json_object_set_new(row, "end_to_end_seconds", study_number(study_seconds(r, STUDY_END_TO_END)));
    json_object_set_new(row, "product_seconds", study_number(r->product_seconds));
    if (o->run.solved) { add_solve(row, o); }
    if (study_variant_is_ours(o->variant)) { add_facts(row, &o->result); }
    if (o->papers.narrowing != TESS_NARROWING_OFF) { add_narrowing(row, &o->papers); }
    add_speedups(row, all, r);
    return row;
}

static void write_history(FILE *file, const study_record *r)
{
    for (int64_t k = 0; k < r->o.history_length; k++) {
        if (isnan(r->o.history[k])) { continue; }
        fprintf(file, "%s,%s,none,0,%s,%lld,%.9e\n", r->row->study, r->matrix, r->o.variant->name, (long long)k,
                r->o.history[k]);
    }
}

void study_report(study_session *s, size_t first)
{
    if (!s->begun) { print_head(s->row); }
    s->begun = true;
    for (size_t i = first; i < s->records.count; i++) {
        const study_record *r = &s->records.items[i];

        print_row(&s->records, r);
        if (s->histories) { write_history(s->histories, r); }
        bench_add(&s->run, describe(&s->records, r));
    }
}

/* ---- means ---- */

typedef struct study_means {
    bench_mean of[SPEEDUPS];
    bench_mean products;
    double iterations, most_iterations; /* over those of csr */
    int counted, matrices;
} study_means;

static void add_to_means(const study_records *all, const study_record *r, study_means *m)
{
    const double ratio = study_iterations_ratio(all, r), products = study_setup_products(r);

    m->matrices += !r->o.refused;
    for (int k = 0; k < SPEEDUPS; k++) {
        const double value = study_speedup(all, r, columns[k].what, columns[k].over);

        if (isfinite(value) && value > 0.0) { bench_mean_add(&m->of[k], value); }
    }
    if (isfinite(products)) { bench_mean_add(&m->products, products); }
    if (!isfinite(ratio)) { return; }
    m->iterations += ratio;
    m->most_iterations = fmax(m->most_iterations, ratio);
    m->counted += 1;
}

static bool same_group(const study_record *a, const study_record *b)
{
    return a->row == b->row && a->solver == b->solver && a->o.variant == b->o.variant;
}

static bool is_first_of_group(const study_records *all, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (same_group(&all->items[i], &all->items[k])) { return false; }
    }
    return true;
}

static void print_means(const study_record *r, const study_means *m)
{
    printf("%-16s %-8s %-25s %4d", r->row->set, tess_solver_kind_name(r->solver), r->o.variant->name, m->matrices);
    for (int k = 0; k < SPEEDUPS; k++) {
        study_print_number(7, 2, bench_mean_value(&m->of[k]));
        if (m->of[k].count > 0) {
            printf(" (%3d)", m->of[k].count);
        } else {
            printf(" %5s", "");
        }
    }
    study_print_number(6, 3, m->counted > 0 ? m->iterations / m->counted : NAN);
    study_print_number(6, 3, m->counted > 0 ? m->most_iterations : NAN);
    study_print_number(8, 1, bench_mean_value(&m->products));
    printf("\n");
}

static json_t *means_json(const study_record *r, const study_means *m)
{
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:i}", "study", r->row->study, "set", r->row->set, "solver",
                  tess_solver_kind_name(r->solver), "contestant", r->o.variant->name, "matrices", m->matrices);

    for (int k = 0; k < SPEEDUPS; k++) {
        json_object_set_new(row, columns[k].key, study_number(bench_mean_value(&m->of[k])));
    }
    json_object_set_new(row, "mean_iterations_over_csr",
                        study_number(m->counted > 0 ? m->iterations / m->counted : NAN));
    json_object_set_new(row, "most_iterations_over_csr", study_number(m->counted > 0 ? m->most_iterations : NAN));
    json_object_set_new(row, "setup_in_products", study_number(bench_mean_value(&m->products)));
    return row;
}

static void print_means_head(void)
{
    static const char *const head[SPEEDUPS] = {"it/host", "it/graph", "it/csr",   "so/host", "so/graph",
                                               "so/csr",  "ee/host",  "ee/graph", "ee/csr"};

    printf("\ngeometric means of speed-ups (of so many matrices): it per iteration, so solve, ee set-up and solve; "
           "iterations over csr's: mean and worst; set-up in products\n%-16s %-8s %-25s %4s",
           "set", "solver", "contestant", "ran");
    for (int k = 0; k < SPEEDUPS; k++) {
        printf(" %13s", head[k]);
    }
    printf(" %6s %6s %8s\n", "iter", "worst", "set-up");
}

void study_report_means(study_session *s)
{
    const study_records *all = &s->records;
    json_t *rows = json_array();

    if (all->count > 0) { print_means_head(); }
    for (size_t i = 0; i < all->count; i++) {
        study_means m = {.matrices = 0};

        if (!is_first_of_group(all, i)) { continue; }
        for (size_t j = i; j < all->count; j++) {
            if (same_group(&all->items[i], &all->items[j])) { add_to_means(all, &all->items[j], &m); }
        }
        print_means(&all->items[i], &m);
        json_array_append_new(rows, means_json(&all->items[i], &m));
    }
    json_object_set_new(s->run.root, "means", rows);
}
