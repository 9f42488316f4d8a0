/* SPDX-License-Identifier: Apache-2.0 */
/* tessera compare: A x = b by each solver, preconditioner and precision, sorted by the time to a verified answer. */
#include "compare.h"
#include "request.h"
#include "solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A solve shorter than SHORT_SECONDS runs MOST_RUNS times, and the fastest counts. */
enum { MOST_RUNS = 3 };
static const double short_seconds = 0.2;

/* ---- the precision of each part ---- */

static bool is_gmres(tess_solver_kind kind)
{
    return kind == TESS_SOLVER_GMRES || kind == TESS_SOLVER_GMRES_IR || kind == TESS_SOLVER_GMRES_FD ||
           cli_is_flexible(kind);
}

/* The preconditioner keeps FP64 arithmetic where it can: its vectors are in FP64, except in the cycles of GMRES. */
static void set_precond_precision(tess_precision precision, tess_solve_options *o)
{
    const tess_precond_kind kind = o->precond.kind;
    const bool low = precision != TESS_PRECISION_FP64 || o->solver == TESS_SOLVER_GMRES_FD;
    if (kind == TESS_PRECOND_NONE || kind == TESS_PRECOND_JACOBI) { return; }
    if (kind == TESS_PRECOND_JACOBI_SWEEPS) { return; }                     /* its steps have precisions of their own */
    if (kind == TESS_PRECOND_AMG && is_gmres(o->solver) && low) { return; } /* it follows the vectors of the cycles */
    o->precond.role = (tess_role_precision){.given = 1, .storage = precision, .arithmetic = TESS_ARITHMETIC_FP64};
    if (kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY || kind == TESS_PRECOND_BLOCK_JACOBI ||
        kind == TESS_PRECOND_POLYNOMIAL) {
        tess_role_precision_parse(tess_precision_name(precision), &o->precond.role);
    }
}

void cli_set_precision(tess_precision precision, tess_solve_options *o)
{
    const bool low = precision != TESS_PRECISION_FP64;
    if (is_gmres(o->solver)) {
        if (low || o->solver != TESS_SOLVER_GMRES_FD) {
            tess_role_precision_parse(tess_precision_name(precision), &o->gmres.inner);
        }
    } else {
        o->storage.precision = precision;
    }
    if (cli_is_flexible(o->solver)) { o->gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
    set_precond_precision(precision, o);
}

/* ---- one solve ---- */

typedef struct watch {
    cli_progress progress;
    double start, budget;
} watch;

/* A signal ends the comparison, the budget only this solve. */
static int watch_solve(void *user, const tess_progress *state)
{
    watch *w = user;
    const int reason = cli_progress_monitor(&w->progress, state);
    if (reason != 0) { return reason; }
    return cli_seconds() - w->start > w->budget ? (int)TESS_REASON_TIME_LIMIT : 0;
}

static void note_refusal(const tess_context *ctx, tess_status status, cli_solve_row *row)
{
    const tess_error *error = tess_context_last_error(ctx);
    row->status = status;
    snprintf(row->reason, sizeof row->reason, "%s",
             error->status == status && error->message[0] != '\0' ? error->message : tess_status_text(status));
}

/* Some points of the history, the last among them. */
static void keep_history(cli_solve_row *row)
{
    const tess_solve_result *r = &row->result;
    const double scale = r->rhs_norm > 0.0 ? r->rhs_norm : 1.0;
    const int64_t step = r->history_length / (CLI_HISTORY_POINTS - 1) + 1;
    row->points = 0;
    for (int64_t i = 0; i < r->history_length && row->points < CLI_HISTORY_POINTS; i++) {
        const bool last = i == r->history_length - 1;
        if ((i % step != 0 && !last) || !(r->history[i] > 0.0) || !isfinite(r->history[i])) { continue; }
        row->iteration[row->points] = (double)i;
        row->residual[row->points++] = r->history[i] / scale;
    }
    row->result.history = NULL; /* the solver's */
}

/* From x = 0. Returns false after a failure, which is noted. */
static bool run_once(const tess_matrix *a, const tess_vector *b, tess_vector *x, watch *w, cli_solve_row *row)
{
    tess_solver *solver = NULL;
    tess_solve_options options = row->options;
    options.monitor = watch_solve;
    options.monitor_user = w;
    options.time_limit = w->budget; /* of the set-up; the monitor has both */
    w->start = cli_seconds();
    w->progress.first_residual = 0.0;
    tess_solve_result_init(&row->result);
    tess_status status = tess_vector_fill(x, 0.0);
    if (status == TESS_SUCCESS) { status = tess_solver_create(a, &options, &solver); }
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, b, x, &row->result); }
    cli_progress_end(&w->progress);
    if (status != TESS_SUCCESS) {
        note_refusal(tess_matrix_context(a), status, row);
    } else {
        const tess_context *ctx = tess_matrix_context(a);
        if (row->result.reason == TESS_REASON_PRECOND_SETUP || cli_setup_timed_out(ctx, &row->result)) {
            snprintf(row->reason, sizeof row->reason, "%s", tess_context_last_error(ctx)->message);
        }
        if (row->automatic) { (void)tess_solver_chosen_options(solver, &row->options); }
        row->together = row->automatic && cli_leans_on_others(solver, &row->result);
        row->seconds = row->result.setup_seconds + row->result.solve_seconds;
        keep_history(row);
    }
    row->options.monitor = NULL;
    row->options.automatic.choices = NULL;
    tess_solver_destroy(solver);
    return status == TESS_SUCCESS;
}

static void measure_row(const tess_matrix *a, const tess_vector *b, tess_vector *x, cli_solves *all,
                        const cli_solve_row *plan)
{
    char label[160], precond[64];
    watch w = {.budget = all->options->budget};
    cli_progress_init(&w.progress);
    snprintf(label, sizeof label, "%d of %d, %s%s%s", all->count + 1, all->capacity,
             tess_solver_kind_name(plan->options.solver), plan->automatic ? "" : ", ",
             plan->automatic ? "" : cli_precond_text(&plan->options.precond, precond, sizeof precond));
    w.progress.label = label;
    w.progress.budget = all->options->budget;
    w.progress.max_iterations = all->options->max_iterations;
    cli_solve_row *best = &all->rows[all->count];
    for (int run = 0; run < MOST_RUNS; run++) {
        cli_solve_row row = *plan;
        const bool fine = run_once(a, b, x, &w, &row);
        row.stopped = fine && row.result.reason == TESS_REASON_TIME_LIMIT;
        if (run == 0 || (fine && row.seconds < best->seconds)) { *best = row; }
        if (!fine || cli_is_interrupted() || row.seconds > short_seconds) { break; }
    }
    all->interrupted = cli_is_interrupted();
    if (!all->interrupted) { all->count++; }
}

/* ---- all of them ---- */

static cli_solve_row plan_row(const cli_solves *all, const tess_context *ctx, tess_solver_kind solver)
{
    cli_solve_row row = {.device = cli_device_name(ctx), .automatic = solver == TESS_SOLVER_AUTO};
    tess_solve_options_init(&row.options);
    row.options.solver = solver;
    row.options.rtol = all->options->rtol;
    row.options.max_iterations = all->options->max_iterations;
    return row;
}

static void measure_automatic(const tess_matrix *a, const tess_vector *b, tess_vector *x, cli_solves *all)
{
    cli_solve_row row = plan_row(all, tess_matrix_context(a), TESS_SOLVER_AUTO);
    row.options.automatic.fp64_only =
        all->options->precisions == 1 && all->options->precision[0] == TESS_PRECISION_FP64;
    row.precision = TESS_PRECISION_FP64;
    measure_row(a, b, x, all, &row);
}

static void measure_solver(const tess_matrix *a, const tess_vector *b, tess_vector *x, int s, cli_solves *all)
{
    const cli_solves_options *o = all->options;
    for (int m = 0; m < o->preconds && !all->interrupted; m++) {
        for (int p = 0; p < o->precisions && !all->interrupted; p++) {
            cli_solve_row row = plan_row(all, tess_matrix_context(a), o->solver[s].kind);
            cli_set_pair(o, s, m, p, &row.options);
            row.precision = o->precision[p];
            if (cli_request_fits(o, &row.options)) { measure_row(a, b, x, all, &row); }
        }
    }
}

/* Nothing was listed: auto and what it would try. */
static bool takes_advice(const cli_solves_options *o)
{
    return o->solvers == 0 && o->preconds == 0;
}

static void measure_advice(const tess_matrix *a, const tess_vector *b, tess_vector *x, cli_solves *all)
{
    const cli_solves_options *o = all->options;
    measure_automatic(a, b, x, all);
    for (int k = 0; k < o->advice.count && !all->interrupted; k++) {
        for (int p = 0; p < o->precisions && !all->interrupted; p++) {
            cli_solve_row row = plan_row(all, tess_matrix_context(a), o->advice.attempt[k].solver);
            cli_set_attempt(o, k, p, &row.options);
            row.precision = o->precision[p];
            if (cli_request_fits(o, &row.options)) { measure_row(a, b, x, all, &row); }
        }
    }
}

static bool make_space(cli_solves *all)
{
    const cli_solves_options *o = all->options;
    all->capacity = all->count + (takes_advice(o) ? 1 + o->advice.count * o->precisions : 0);
    for (int s = 0; s < o->solvers; s++) {
        if (o->solver[s].kind == TESS_SOLVER_AUTO) { all->capacity++; }
        for (int m = 0; m < o->preconds && o->solver[s].kind != TESS_SOLVER_AUTO; m++) {
            all->capacity += o->precisions;
        }
    }
    cli_solve_row *rows = realloc(all->rows, ((size_t)all->capacity + 1) * sizeof *rows);
    if (rows != NULL) { all->rows = rows; }
    return rows != NULL;
}

int cli_solves_measure(const tess_matrix *a, cli_solves *all)
{
    tess_context *ctx = tess_matrix_context(a);
    tess_vector *b = NULL, *x = NULL;
    int code = make_space(all) ? CLI_CONVERGED : cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    if (code == CLI_CONVERGED) { code = cli_load_vector(ctx, &all->options->rhs, "rhs", tess_matrix_nrows(a), a, &b); }
    if (code == CLI_CONVERGED) {
        tess_status status = tess_vector_create(ctx, tess_matrix_ncols(a), TESS_PRECISION_FP64, &x);
        if (status != TESS_SUCCESS) { code = cli_report_failure(ctx, status); }
    }
    cli_interrupt_on(ctx);
    if (code == CLI_CONVERGED && takes_advice(all->options)) { measure_advice(a, b, x, all); }
    for (int s = 0; s < all->options->solvers && code == CLI_CONVERGED && !all->interrupted; s++) {
        if (all->options->solver[s].kind == TESS_SOLVER_AUTO) {
            measure_automatic(a, b, x, all);
        } else {
            measure_solver(a, b, x, s, all);
        }
    }
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return code;
}

static int compare_rows(const void *left, const void *right)
{
    const cli_solve_row *a = left, *b = right;
    const int rank_a = a->result.verified ? 0 : a->status == TESS_SUCCESS ? 1 : 2;
    const int rank_b = b->result.verified ? 0 : b->status == TESS_SUCCESS ? 1 : 2;
    if (rank_a != rank_b) { return rank_a - rank_b; }
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

void cli_solves_sort(cli_solves *all)
{
    if (all->count > 0) { qsort(all->rows, (size_t)all->count, sizeof *all->rows, compare_rows); }
}

void cli_solves_free(cli_solves *all)
{
    free(all->rows);
    all->rows = NULL;
}
