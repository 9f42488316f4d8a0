/* SPDX-License-Identifier: Apache-2.0 */
/* tessera info --solve: the memory of a solve, by part. */
#include "cli.h"

#include <string.h>

/* "gmres,ilu0", "cg" or NULL, which is auto. Returns an exit code, message printed. */
static int parse_request(const char *text, tess_solve_options *options)
{
    char solver[32];
    tess_solve_options_init(options);
    if (text == NULL) { return CLI_CONVERGED; }
    const size_t length = strcspn(text, ",");
    snprintf(solver, sizeof solver, "%.*s", (int)(length < sizeof solver ? length : sizeof solver - 1), text);
    if (tess_solver_kind_parse(solver, &options->solver) != TESS_SUCCESS) {
        cli_error("--solve: unknown solver '%s'; it takes a solver and perhaps a preconditioner, such as gmres,ilu0",
                  solver);
        return CLI_USAGE;
    }
    if (text[length] == ',' && tess_precond_options_parse(text + length + 1, &options->precond) != TESS_SUCCESS) {
        cli_error("--solve: unknown preconditioner '%s'; 'tessera solve --help' lists them", text + length + 1);
        return CLI_USAGE;
    }
    return CLI_CONVERGED;
}

/* What an automatic solve tries first. */
static void choose_first(const tess_advice *advice, tess_solve_options *options)
{
    if (options->solver != TESS_SOLVER_AUTO || options->precond.kind != TESS_PRECOND_AUTO || advice->count == 0) {
        return;
    }
    (void)tess_advised_options(&advice->attempt[0], options);
}

int cli_estimate_solve(const tess_matrix *a, const tess_advice *advice, const char *request, tess_solve_estimate *out)
{
    tess_solve_options options;
    int code = parse_request(request, &options);
    if (code != CLI_CONVERGED) { return code; }
    choose_first(advice, &options);
    tess_solve_estimate_init(out);
    tess_status status = tess_solve_estimate_memory(a, &options, out);
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

void cli_print_estimate(const tess_solve_estimate *e)
{
    char total[32], vectors[32], precond[32], stored[32], history[32], matrix[32], spare[32];
    printf("%-17s %s with preconditioner %s: about %s beside the matrix (%s)\n", "memory of a solve",
           tess_solver_kind_name(e->solver), tess_precond_kind_name(e->precond_kind),
           cli_bytes_text((double)e->total, total, sizeof total),
           cli_bytes_text((double)e->matrix, matrix, sizeof matrix));
    printf("%-17s vectors %s, preconditioner %s, stored matrix %s, history %s\n", "",
           cli_bytes_text((double)e->vectors, vectors, sizeof vectors),
           cli_bytes_text((double)e->precond, precond, sizeof precond),
           cli_bytes_text((double)e->stored, stored, sizeof stored),
           cli_bytes_text((double)e->history, history, sizeof history));
    if (e->spare == INT64_MAX) { return; }
    printf("%-17s %s are left on this machine%s\n", "", cli_bytes_text((double)e->spare, spare, sizeof spare),
           e->total > e->spare ? ": the solve does NOT FIT" : "");
}

json_t *cli_estimate_json(const tess_solve_estimate *e)
{
    return json_pack("{ss ss sI sI sI sI sI sI so sb}", "solver", tess_solver_kind_name(e->solver), "precond",
                     tess_precond_kind_name(e->precond_kind), "matrix", (json_int_t)e->matrix, "stored",
                     (json_int_t)e->stored, "precond_bytes", (json_int_t)e->precond, "vectors", (json_int_t)e->vectors,
                     "history", (json_int_t)e->history, "total", (json_int_t)e->total, "spare",
                     e->spare == INT64_MAX ? json_null() : json_integer(e->spare), "fits", e->total <= e->spare);
}
