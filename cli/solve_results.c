/* SPDX-License-Identifier: Apache-2.0 */
/* What tessera solve writes: x, history, text, JSON, page. */
#include "html.h"
#include "solve.h"

static int write_solution(const char *path, const void *user)
{
    const solve_objects *o = user;
    tess_status status = TESS_SUCCESS;
    if (cli_check_reader(path) != 0) { return CLI_INPUT; }
    if (o->solution.values == NULL) {
        status = cli_write_vector(o->matrix.a, o->x, path);
    } else {
        status = cli_write_values(o->matrix.a, o->solution.values, o->solution.nrows, o->solution.ncols, path);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(o->ctx, status);
}

static int write_outputs(const solve_options *options, const solve_objects *o)
{
    int code = CLI_CONVERGED;
    if (options->output != NULL) { code = write_solution(options->output, o); }
    if (code != CLI_CONVERGED) { return code; }
    return options->history == NULL ? CLI_CONVERGED : cli_write_history(options->history, &o->result);
}

/* Whether the library chose the format: --format auto, or an automatic solve without --format that took another one. */
static bool chose_format(const solve_options *options, const solve_objects *o)
{
    const tess_attempt *attempts = NULL;
    const bool automatic = o->solver != NULL && tess_solver_attempts(o->solver, &attempts) > 0;
    return options->storage.chosen ||
           (automatic && !options->storage.given && o->result.storage.format != options->solve.storage.format);
}

/* The options of the report: with those that the library or the matrix settled. */
static int settle_options(const solve_options *options, const solve_objects *o, tess_solve_options *settled)
{
    const tess_attempt *attempts = NULL;
    *settled = options->solve;
    if (o->solver == NULL || tess_solver_attempts(o->solver, &attempts) == 0) {
        if (settled->precond.kind == TESS_PRECOND_AUTO) { settled->precond.kind = o->result.precond.kind; }
        if (!options->transformed) { settled->reorder = o->result.reorder; }
        cli_note_format(o->result.storage.format, &settled->storage);
        return CLI_CONVERGED;
    }
    tess_status status = tess_solver_chosen_options(o->solver, settled);
    if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    settled->papers = options->solve.papers;
    settled->storage.papers = options->solve.storage.papers;
    if (options->transformed) {
        settled->scale = options->solve.scale;
        settled->reorder = options->solve.reorder;
    }
    cli_note_format(o->result.storage.format, &settled->storage);
    return CLI_CONVERGED;
}

/* By the policy of a solve: rows, nonzeros and errors at each precision. false: there is none, or the matrix that it
   is for is inside the solver. */
static bool find_assignment(const solve_options *options, const solve_objects *o, const tess_solve_options *settled,
                            tess_assignment_summary *out)
{
    const bool inside = !options->transformed &&
                        (options->solve.scale != TESS_SCALING_NONE || options->solve.reorder != TESS_REORDERING_NONE);
    const tess_storage_options *storage = &settled->storage;
    const bool bounded = cli_chooses_whole(storage) && storage->policy.policy == TESS_POLICY_ERROR_BOUND;
    if (o->result.jacobi.schedule.count > 0 && !cli_has_mixed(&o->result.jacobi.schedule)) { return false; }
    if (inside || o->solver == NULL || storage->policy.policy == TESS_POLICY_NONE) { return false; }
    if (!bounded && !cli_takes_policy(o->result.storage.format)) { return false; }
    return cli_measure_assignment(o->matrix.a, storage, out) == TESS_SUCCESS;
}

int cli_solve_report(const solve_options *options, const solve_objects *o, const cli_preset *preset, double start)
{
    double before = cli_seconds();
    int code = o->solver == NULL ? CLI_CONVERGED : write_outputs(options, o);
    double now = cli_seconds();
    tess_solve_options settled;
    int settled_code = settle_options(options, o, &settled);
    if (settled_code != CLI_CONVERGED) { return settled_code; }
    tess_assignment_summary assignment = {.size = sizeof assignment};
    const bool assigned = find_assignment(options, o, &settled, &assignment);
    cli_solve_run run = {.matrix = &o->matrix,
                         .ctx = o->ctx,
                         .options = &settled,
                         .asked = &options->solve,
                         .format_chosen = chose_format(options, o),
                         .transformed = options->transformed,
                         .solver = o->solver,
                         .explain = options->explain,
                         .result = &o->result,
                         .papers = &o->papers,
                         .rhs = &options->rhs,
                         .initial_guess = options->stop.resume != NULL ? options->stop.resume : options->initial_guess,
                         .device = options->device == TESS_DEVICE_AUTO  ? NULL
                                   : options->device == TESS_DEVICE_CPU ? "cpu"
                                                                        : tess_gpu_backend(),
                         .device_why = o->device_why[0] == '\0' ? NULL : o->device_why,
                         .session = &o->session,
                         .nullspace = &options->nullspace,
                         .saddle = &options->saddle,
                         .preset = preset,
                         .assignment = assigned ? &assignment : NULL,
                         .findings = &o->findings,
                         .hidden = &o->hidden,
                         .detail = o->detail,
                         .output_seconds = now - before,
                         .total_seconds = now - start,
                         .columns = &o->columns,
                         .exit_code = o->solver == NULL ? cli_solve_exit_code(&o->result)
                                                        : cli_column_list_exit_code(&o->columns)};
    if (cli_text_wanted(options->host.json)) { cli_report_solve(&run, options->solve.timings != 0); }
    if (options->host.json != NULL) {
        int json_code = cli_write_json(options->host.json, cli_solve_json(&run));
        if (code == CLI_CONVERGED) { code = json_code; }
    }
    if (code == CLI_CONVERGED) { code = o->session.failed; }
    if (options->html != NULL) {
        int html_code = cli_write_solve_html(options->html, &run, options->command);
        if (code == CLI_CONVERGED) { code = html_code; }
    }
    return code == CLI_CONVERGED ? run.exit_code : code;
}
