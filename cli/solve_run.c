/* SPDX-License-Identifier: Apache-2.0 */
/* The work of tessera solve: vectors, the solver, each right-hand side. */
#include "solve.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

int cli_solve_exit_code(const tess_solve_result *result)
{
    if (result->verified) { return CLI_CONVERGED; }
    switch (result->reason) {
    case TESS_REASON_BREAKDOWN:
    case TESS_REASON_INDEFINITE_PRECOND:
    case TESS_REASON_NAN_OR_INF:
    case TESS_REASON_INDEFINITE_MATRIX:
    case TESS_REASON_PRECOND_SETUP:
    case TESS_REASON_OVERFLOW: return CLI_BREAKDOWN;
    default: return CLI_NOT_CONVERGED;
    }
}

int cli_check_shape(const char *name, const tess_matrix *a, tess_solver_kind solver)
{
    const int64_t nrows = tess_matrix_nrows(a), ncols = tess_matrix_ncols(a);
    if (nrows == ncols || cli_is_least_squares(solver) || solver == TESS_SOLVER_AUTO) { return CLI_CONVERGED; }
    cli_error("%s: the matrix is %lld x %lld, but a solve needs a square one; use --solver lsqr or lsmr for least "
              "squares",
              name, (long long)nrows, (long long)ncols);
    return CLI_INPUT;
}

int cli_check_engine(tess_engine engine, bool has_gpu)
{
    if (!cli_needs_gpu(engine) || has_gpu) { return CLI_CONVERGED; }
    cli_error("--engine %s needs a GPU, but none can be used here; choose --engine plain or auto",
              tess_engine_name(engine));
    return CLI_DEVICE;
}

int cli_solve_check_matrix(const solve_options *options, const solve_objects *o)
{
    const int code = cli_check_shape(options->matrix, o->matrix.a, options->solve.solver);
    if (code != CLI_CONVERGED) { return code; }
    return cli_check_engine(options->solve.engine, tess_context_device(o->ctx) == TESS_DEVICE_GPU);
}

/* What a checkpoint counts as options: those that decide which x a tolerance stands for, and how it is reached. */
static const char *options_text(const tess_solve_options *solve, char *buffer, size_t size)
{
    char precond[64];
    snprintf(buffer, size, "%s %s %s %s %s %s %a %a", tess_solver_kind_name(solve->solver),
             cli_precond_text(&solve->precond, precond, sizeof precond), tess_format_name(solve->storage.format),
             tess_precision_name(solve->storage.precision), tess_scaling_name(solve->scale),
             tess_reordering_name(solve->reorder), solve->rtol, solve->atol);
    return buffer;
}

static int load_rhs(const solve_options *options, solve_objects *o)
{
    const int64_t nrows = tess_matrix_nrows(o->matrix.a);
    if (options->rhs.source != CLI_VECTOR_FILE) {
        return cli_load_vector(o->ctx, &options->rhs, "rhs", nrows, o->matrix.a, &o->b);
    }
    int code = cli_columns_read(o->ctx, options->rhs.path, "rhs", nrows, o->matrix.a, &o->rhs);
    if (code != CLI_CONVERGED) { return code; }
    tess_status status = tess_vector_create(o->ctx, nrows, TESS_PRECISION_FP64, &o->b);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static int load_guess(const solve_options *options, solve_objects *o, int64_t columns)
{
    int code = cli_columns_read(o->ctx, options->initial_guess, "initial-guess", tess_matrix_ncols(o->matrix.a),
                                o->matrix.a, &o->guess);
    if (code != CLI_CONVERGED || o->guess.ncols == 1 || o->guess.ncols == columns) { return code; }
    cli_error("%s: the file for --initial-guess has %s, but there are %s; it may have 1 or %lld",
              options->initial_guess, tess_count(o->guess.ncols, "column").text,
              tess_count(columns, "right-hand side").text, (long long)columns);
    return CLI_INPUT;
}

/* A checkpoint is of one right-hand side. */
static int begin_session(const solve_options *options, solve_objects *o, int64_t columns)
{
    char text[256];
    if (columns > 1 && (options->stop.checkpoint != NULL || options->stop.resume != NULL)) {
        cli_error("%s: --checkpoint and --resume are for one right-hand side, but the file has %lld", options->rhs.path,
                  (long long)columns);
        return CLI_USAGE;
    }
    tess_status status = o->rhs.values == NULL ? TESS_SUCCESS : cli_columns_get(&o->rhs, 0, o->b);
    if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    return cli_session_begin(&o->session, o->matrix.a, o->b, options_text(&options->solve, text, sizeof text));
}

int cli_solve_load(const solve_options *options, solve_objects *o)
{
    int code = load_rhs(options, o);
    const int64_t columns = o->rhs.values == NULL ? 1 : o->rhs.ncols, n = tess_matrix_ncols(o->matrix.a);
    if (code == CLI_CONVERGED) { code = begin_session(options, o, columns); }
    if (code == CLI_CONVERGED && options->initial_guess != NULL) { code = load_guess(options, o, columns); }
    if (code == CLI_CONVERGED && !cli_column_list_create(columns, &o->columns)) {
        code = cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    }
    if (code != CLI_CONVERGED) { return code; }
    if (options->stop.resume != NULL) { return cli_resume(&o->session, o->ctx, n, false, &o->x); }
    tess_status status = tess_vector_create(o->ctx, n, TESS_PRECISION_FP64, &o->x);
    if (status == TESS_SUCCESS && columns > 1) { status = cli_columns_create(o->ctx, n, columns, &o->solution); }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static tess_status fetch_rhs(solve_objects *o, int64_t j)
{
    return o->rhs.values == NULL ? TESS_SUCCESS : cli_columns_get(&o->rhs, j, o->b);
}

static tess_status fetch_guess(solve_objects *o, int64_t j)
{
    if (o->guess.values == NULL) { return tess_vector_fill(o->x, 0.0); }
    return cli_columns_get(&o->guess, o->guess.ncols == 1 ? 0 : j, o->x);
}

static void note_detail(solve_objects *o)
{
    const tess_error *error = tess_context_last_error(o->ctx);
    snprintf(o->detail, sizeof o->detail, "%s%s%s", error->message, error->hint[0] == '\0' ? "" : "; ", error->hint);
}

/* A singular matrix for which no solver can be set up is reported as a solve of no iterations, for each column; the
   report below is of the first, whose b is there. */
static void note_singular(const solve_options *options, solve_objects *o)
{
    tess_solve_result *r = &o->result;

    tess_solve_result_init(r);
    tess_papers_result_init(&o->papers);
    r->reason = TESS_REASON_PRECOND_SETUP;
    r->solver = options->solve.solver;
    r->relative_residual = r->residual_norm = r->residual_bound = NAN;
    r->estimated_relative_residual = r->estimated_residual_norm = NAN;
    r->rows.norm = r->rows.relative = r->rows.bound = r->rows.backward_error = r->rows.backward_bound = NAN;
    for (int64_t j = 0; j < o->columns.count; j++) {
        cli_column_list_note(&o->columns, j, CLI_BREAKDOWN, r);
    }
    o->columns.worst = 0;
    note_detail(o);
    if (fetch_rhs(o, 0) == TESS_SUCCESS &&
        tess_vector_norm2(o->b, TESS_ARITHMETIC_FP64, &r->rhs_norm) == TESS_SUCCESS) {
        r->tolerance = fmax(options->solve.rtol * r->rhs_norm, options->solve.atol);
    }
}

/* What is wrong with the system, as far as it can be found: an error here would hide the failure itself. */
static void look_for_problems(solve_objects *o)
{
    tess_findings_init(&o->findings);
    o->hidden = (cli_hidden_rows){.count = 0};
    if (o->result.verified || o->result.reason == TESS_REASON_TIME_LIMIT ||
        o->result.reason == TESS_REASON_INTERRUPTED) {
        return;
    }
    if (tess_find_problems(o->matrix.a, o->b, o->x, &o->findings) != TESS_SUCCESS) { tess_findings_init(&o->findings); }
    cli_find_hidden_rows(o->matrix.a, o->b, o->x, &o->result, &o->hidden);
}

/* One line on stderr, for those who read the report later or not at all; on a terminal the report says it. */
static void say_failure(const solve_objects *o)
{
    const tess_findings *f = &o->findings;
    if (o->result.converged || isatty(STDOUT_FILENO)) { return; }
    cli_error("not converged: %s%s%s", tess_reason_text(o->result.reason),
              f->nonfinite.count > 0       ? "; the matrix has NaN or Inf"
              : f->nonfinite_rhs.count > 0 ? "; the right-hand side has NaN or Inf"
                                           : "",
              f->empty_rows.count > 0           ? "; the matrix has empty rows"
              : cli_is_structurally_singular(f) ? "; the matrix is structurally singular"
                                                : "");
}

/* Only the report of the worst column is kept. */
static tess_status note_column(solve_objects *o, int64_t j, tess_solve_result *result)
{
    if (!cli_column_list_note(&o->columns, j, cli_solve_exit_code(result), result)) { return TESS_SUCCESS; }
    o->result = *result;
    tess_papers_result_init(&o->papers);
    tess_status status = tess_solver_papers_result(o->solver, &o->papers);
    const bool timed_out = cli_setup_timed_out(o->ctx, &o->result);
    if (timed_out || o->result.reason == TESS_REASON_PRECOND_SETUP) { note_detail(o); }
    look_for_problems(o);
    return status;
}

/* One column. Returns an exit code; a message is printed but for TESS_SINGULAR. */
static int solve_column(const tess_solve_options *solve, solve_objects *o, int64_t j, cli_progress *progress)
{
    char label[64];
    snprintf(label, sizeof label, "column %lld of %lld", (long long)j + 1, (long long)o->columns.count);
    cli_progress_begin(progress, o->columns.count > 1 ? label : NULL);
    free(o->pieces.history);
    o->pieces = (cli_solve_pieces){.history = NULL};
    tess_status status = o->session.options->resume != NULL ? TESS_SUCCESS : fetch_guess(o, j);
    if (status == TESS_SUCCESS) { status = fetch_rhs(o, j); }
    if (status == TESS_SUCCESS) { status = tess_vector_norm2(o->b, TESS_ARITHMETIC_FP64, &progress->rhs_norm); }
    if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    int code = cli_solve_in_pieces(o->solver, solve, &o->session, o->b, o->x, &o->pieces);
    cli_progress_end(progress);
    progress->label = NULL;
    if (code != CLI_CONVERGED) { return code; }
    if (o->solution.values != NULL) { status = cli_columns_put(&o->solution, j, o->x); }
    o->columns.seconds += o->pieces.result.solve_seconds;
    if (status == TESS_SUCCESS) { status = note_column(o, j, &o->pieces.result); }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

/* Whether the columns that are still to come are left as they are. */
static bool is_stopped(const cli_column_list *list, int64_t first, int64_t count)
{
    for (int64_t j = first; j < first + count; j++) {
        const tess_reason reason = list->column[j].reason;
        if (reason == TESS_REASON_CANCELLED || reason == TESS_REASON_INTERRUPTED || reason == TESS_REASON_TIME_LIMIT) {
            return true;
        }
    }
    return false;
}

static int solve_all(const tess_solve_options *solve, solve_objects *o, cli_progress *progress)
{
    int code = CLI_CONVERGED;
    for (int64_t j = 0, count; j < o->columns.count && code == CLI_CONVERGED; j += count) {
        count = cli_columns_together(o, progress, j);
        code = count > 1 ? cli_solve_together(solve, o, j, count, progress, note_column)
                         : solve_column(solve, o, j, progress);
        if (is_stopped(&o->columns, j, count)) { break; }
    }
    return code;
}

/* Prepares the solver and runs it. Returns an exit code; a message is printed but for TESS_SINGULAR. */
static int set_up_and_solve(const solve_options *options, solve_objects *o, cli_progress *progress)
{
    char choices[CLI_PATH_LENGTH];
    tess_solve_options solve = options->solve;
    if (options->transformed) { /* it has been */
        solve.scale = TESS_SCALING_NONE;
        solve.reorder = TESS_REORDERING_NONE;
        solve.keep_order = 1;
    }
    if (o->columns.count > 1) { solve.keep_order = 1; } /* columns of a system as it is may go together */
    progress->every = options->monitor;
    progress->max_iterations = solve.max_iterations;
    solve.monitor = cli_progress_monitor;
    solve.monitor_user = progress;
    solve.automatic.choices = NULL;
    if (solve.solver == TESS_SOLVER_AUTO) {
        solve.automatic.choices = cli_choices_path(options->solve.automatic.choices, choices, sizeof choices);
    }
    solve.time_limit = cli_seconds_left(&o->session);
    cli_interrupt_on(o->ctx);
    o->pieces.status = tess_solver_create(o->matrix.a, &solve, &o->solver);
    if (o->pieces.status == TESS_SINGULAR) { return CLI_BREAKDOWN; }
    if (o->pieces.status != TESS_SUCCESS) { return cli_report_failure(o->ctx, o->pieces.status); }
    return solve_all(&solve, o, progress);
}

int cli_solve_run_columns(const solve_options *options, solve_objects *o, cli_progress *progress)
{
    int code = set_up_and_solve(options, o, progress);
    if (o->pieces.status == TESS_SINGULAR) {
        note_singular(options, o);
        look_for_problems(o);
        return cli_report_failure(o->ctx, TESS_SINGULAR);
    }
    if (code == CLI_CONVERGED) { say_failure(o); }
    return code;
}
