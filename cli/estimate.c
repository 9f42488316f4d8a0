/* SPDX-License-Identifier: Apache-2.0 */
/* tessera info --solve: the memory of a solve, by part. */
#include "cli.h"

/* An automatic solve that the advice is for: its first attempt, as the library would find it once more. */
static void choose_first(const tess_advice *advice, tess_solve_options *options)
{
    const bool transforms = options->scale != TESS_SCALING_NONE || options->reorder != TESS_REORDERING_NONE;
    if (transforms || options->precond.kind != TESS_PRECOND_AUTO) { return; }
    (void)tess_advised_options(&advice->attempt[0], options);
    tess_options_prune(options);
}

int cli_estimate_solve(const tess_matrix *a, const tess_advice *advice, const tess_solve_options *request,
                       int64_t columns, cli_solve_estimate *estimate, bool *estimated)
{
    tess_solve_options options = *request;
    tess_solve_estimate *out = &estimate->parts;
    options.automatic.choices = NULL;  /* the advice has read it */
    options.engine = TESS_ENGINE_AUTO; /* of the device that solves; the matrix is on the host here */
    *estimated = options.solver != TESS_SOLVER_AUTO || advice->count > 0;
    if (!*estimated) { return CLI_CONVERGED; }
    if (options.solver == TESS_SOLVER_AUTO) { choose_first(advice, &options); }
    tess_solve_estimate_init(out);
    tess_status status = tess_solve_estimate_columns(a, &options, columns, out);
    if (options.precond.kind == out->precond_kind) {
        cli_precond_text(&options.precond, estimate->precond, sizeof estimate->precond);
    } else {
        snprintf(estimate->precond, sizeof estimate->precond, "%s", tess_precond_kind_name(out->precond_kind));
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

/* Complete factors that no analysis has counted. */
static bool is_unknown(const tess_solve_estimate *e)
{
    const bool complete = e->precond_kind == TESS_PRECOND_LU || e->precond_kind == TESS_PRECOND_CHOLESKY;
    return complete && e->precond == 0;
}

static void print_columns(const tess_solve_estimate *e, int64_t columns)
{
    char loop[32], arrays[32], how[96] = "one after another";
    const int64_t slices = e->together > 0 ? (columns + e->together - 1) / e->together : 0;
    if (columns == 1) { return; }
    if (slices == 1) {
        snprintf(how, sizeof how, "in one loop");
    } else if (e->together > 1) {
        snprintf(how, sizeof how, "in %lld loops of up to %lld", (long long)slices, (long long)e->together);
    }
    printf("%-17s %lld columns %s: %s more, and %s for b and x\n", "", (long long)columns, how,
           cli_bytes_text((double)e->loop, loop, sizeof loop),
           cli_bytes_text((double)e->arrays, arrays, sizeof arrays));
}

void cli_print_estimate(const cli_solve_estimate *estimate, int64_t columns, const tess_advice *advice)
{
    const tess_solve_estimate *e = estimate != NULL ? &estimate->parts : NULL;
    char total[32], vectors[32], precond[32], stored[32], history[32], matrix[32], spare[32], setup[32], more[64] = "";
    if (e == NULL) {
        printf("%-17s none: %s\n", "memory of a solve", advice->why);
        return;
    }
    printf("%-17s %s with preconditioner %s: %s %s beside the matrix (%s)\n", "memory of a solve",
           tess_solver_kind_name(e->solver), estimate->precond, is_unknown(e) ? "factors and" : "about",
           cli_bytes_text((double)e->total, total, sizeof total),
           cli_bytes_text((double)e->matrix, matrix, sizeof matrix));
    if (e->setup > 0) {
        snprintf(more, sizeof more, " and %s to set it up", cli_bytes_text((double)e->setup, setup, sizeof setup));
    }
    printf("%-17s vectors %s, preconditioner %s%s, stored matrix %s, history %s\n", "",
           cli_bytes_text((double)e->vectors, vectors, sizeof vectors),
           is_unknown(e) ? "unknown" : cli_bytes_text((double)e->precond, precond, sizeof precond), more,
           cli_bytes_text((double)e->stored, stored, sizeof stored),
           cli_bytes_text((double)e->history, history, sizeof history));
    print_columns(e, columns);
    if (e->spare == INT64_MAX) { return; }
    printf("%-17s %s are left on this machine%s\n", "", cli_bytes_text((double)e->spare, spare, sizeof spare),
           e->total > e->spare ? ": the solve does NOT FIT" : "");
}

json_t *cli_estimate_json(const cli_solve_estimate *estimate, int64_t columns)
{
    const tess_solve_estimate *e = &estimate->parts;
    return json_pack("{ss ss sI sI sI sI sI sI so sI sI sI sI so sb}", "solver", tess_solver_kind_name(e->solver),
                     "precond", estimate->precond, "columns", (json_int_t)columns, "columns_together",
                     (json_int_t)(columns > 1 ? e->together : 1), "loop", (json_int_t)e->loop, "arrays",
                     (json_int_t)e->arrays, "matrix", (json_int_t)e->matrix, "stored", (json_int_t)e->stored,
                     "precond_bytes", is_unknown(e) ? json_null() : json_integer(e->precond), "setup",
                     (json_int_t)e->setup, "vectors", (json_int_t)e->vectors, "history", (json_int_t)e->history,
                     "total", (json_int_t)e->total, "spare",
                     e->spare == INT64_MAX ? json_null() : json_integer(e->spare), "fits", e->total <= e->spare);
}
