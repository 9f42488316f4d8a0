/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides that one loop takes together. */
#include "solve.h"

#include <stdlib.h>

int64_t cli_columns_together(const solve_objects *o, const cli_progress *progress, int64_t first)
{
    /* --monitor prints one column's iterations */
    return progress->every ? 1 : tess_solver_columns_together(o->solver, o->columns.count - first);
}

/* The initial guesses, in the place of the solutions. */
static void fill_guesses(solve_objects *o, int64_t first, int64_t count)
{
    const int64_t n = o->solution.nrows;
    for (int64_t j = first; j < first + count; j++) {
        const double *from =
            o->guess.values == NULL ? NULL : o->guess.values + (o->guess.ncols == 1 ? 0 : j) * o->guess.nrows;
        for (int64_t i = 0; i < n; i++) {
            o->solution.values[j * n + i] = from == NULL ? 0.0 : from[i];
        }
    }
}

static tess_status solve_columns(solve_objects *o, int64_t first, int64_t count, tess_solve_result *results)
{
    const int64_t nrows = o->rhs.nrows, ncols = o->solution.nrows;
    const tess_columns b = tess_columns_by_column(nrows, count, o->rhs.values + first * nrows, TESS_MEMORY_HOST);
    const tess_columns x = tess_columns_by_column(ncols, count, o->solution.values + first * ncols, TESS_MEMORY_HOST);
    for (int64_t j = 0; j < count; j++) {
        tess_solve_result_init(&results[j]);
    }
    return tess_solver_solve_many(o->solver, &b, &x, results);
}

int cli_solve_together(const tess_solve_options *solve, solve_objects *o, int64_t first, int64_t count,
                       cli_progress *progress, cli_note_column *note)
{
    char label[80];
    tess_solve_options limits = *solve;
    tess_solve_result *results = calloc((size_t)count, sizeof *results);
    if (results == NULL) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    snprintf(label, sizeof label, "columns %lld to %lld of %lld", (long long)first + 1, (long long)(first + count),
             (long long)o->columns.count);
    cli_progress_begin(progress, label);
    fill_guesses(o, first, count);
    limits.time_limit = cli_seconds_left(&o->session);
    const double start = cli_seconds();
    tess_status status = tess_solver_set_limits(o->solver, &limits);
    if (status == TESS_SUCCESS) { status = solve_columns(o, first, count, results); }
    cli_progress_end(progress);
    progress->label = NULL;
    o->columns.seconds += cli_seconds() - start;
    for (int64_t j = first; j < first + count && status == TESS_SUCCESS; j++) {
        status = cli_columns_get(&o->rhs, j, o->b);
        if (status == TESS_SUCCESS) { status = cli_columns_get(&o->solution, j, o->x); }
        if (status == TESS_SUCCESS) { status = note(o, j, &results[j - first]); }
    }
    free(results);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}
