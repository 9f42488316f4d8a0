/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a solve: text and JSON. */
#include "columns.h"

#include <math.h>

static void print_preset(const cli_preset *preset)
{
    printf("%-17s %s:", "preset", preset->name);
    for (int i = 0; preset->options[i] != NULL; i++) {
        printf(" %s", preset->options[i]);
    }
    putchar('\n');
}

/* The precisions of GMRES' first cycles. */
static void print_roles(const tess_solve_options *o, const tess_solve_result *r)
{
    char inner[32];
    if (!r->gmres.inner.given) { return; }
    printf("%-17s inner %s, basis %s, restart after %s, %s\n", "cycles",
           cli_role_text(&r->gmres.inner, inner, sizeof inner), tess_precision_name(r->gmres.basis.storage),
           tess_count(o->gmres.restart, "vector").text, tess_orthogonalization_name(o->gmres.orthogonalization));
}

/* The inner iterations of the nested solver. */
static void print_inner(const tess_nested_result *r)
{
    char inner[32], bytes[32];
    if (!r->inner.given) { return; }
    printf("%-17s %s in %s, at most %s, matrix %s\n", "inner iterations", tess_solver_kind_name(r->solver),
           cli_role_text(&r->inner, inner, sizeof inner), tess_count(r->most_iterations, "iteration").text,
           cli_bytes_text((double)r->matrix_bytes, bytes, sizeof bytes));
}

/* ", with 90 inner ones (80 fp16, 10 fp32)" */
static void print_inner_iterations(const tess_nested_result *r)
{
    const char *separator = "";
    if (!r->inner.given) { return; }
    printf(", with %lld inner ones (", (long long)r->iterations);
    for (int p = TESS_PRECISION_COUNT - 1; p >= 0; p--) {
        if (r->iterations_per_precision[p] == 0) { continue; }
        printf("%s%s %lld", separator, tess_precision_name((tess_precision)p),
               (long long)r->iterations_per_precision[p]);
        separator = ", ";
    }
    putchar(')');
}

/* The storage of csr, and of the format that auto chose, follows the inner precision of GMRES. */
static tess_precision stored_precision(const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    const tess_precision asked = run->options->storage.precision;
    if (cli_chooses_whole(&run->options->storage)) { return r->storage.precision; }
    const bool may = r->storage.format == TESS_FORMAT_CSR || run->format_chosen;
    return r->gmres.inner.given && may && asked == TESS_PRECISION_FP64 ? r->gmres.inner.storage : asked;
}

/* Whether the precision that is named holds every value: not what gmres-fd or the guard went on with. */
static bool is_exact(const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    return r->storage.exact && !r->escalated && stored_precision(run) == r->storage.precision;
}

void cli_print_matrix(const cli_matrix *matrix)
{
    const cli_size size = cli_size_of(matrix->a);
    if (size.nrows == size.ncols) {
        printf("%-17s %s: n = %lld, %s%s\n", "matrix", cli_shown(matrix->name), (long long)size.nrows,
               tess_count(size.nnz, "nonzero").text, size.kind);
    } else {
        printf("%-17s %s: %lld x %lld, %s%s\n", "matrix", cli_shown(matrix->name), (long long)size.nrows,
               (long long)size.ncols, tess_count(size.nnz, "nonzero").text, size.kind);
    }
}

static bool has_normal_residual(const tess_solve_result *r)
{
    return r->solver == TESS_SOLVER_LSQR || r->solver == TESS_SOLVER_LSMR;
}

static void print_levels(const cli_solve_run *run)
{
    tess_amg_levels levels;
    if (run->solver == NULL || !cli_find_levels(tess_solver_precond(run->solver), &levels)) { return; }
    cli_print_levels(&levels, cli_convergence_factor(run->result));
}

static json_t *levels_json(const cli_solve_run *run)
{
    tess_amg_levels levels;
    if (run->solver == NULL || !cli_find_levels(tess_solver_precond(run->solver), &levels)) { return json_null(); }
    return cli_levels_json(&levels, cli_convergence_factor(run->result));
}

/* Which norm must meet which tolerance. */
static void print_stopping(const tess_solve_result *r, const tess_solve_options *o)
{
    char text[CLI_REAL_TEXT];
    printf("%-17s ", "stopping");
    if (r->stop_norm == TESS_STOP_NORM_PRECONDITIONED) {
        printf("||M^-1 (b - A x)|| <= max(rtol ||M^-1 b||, atol) (rtol %g, atol %g)", o->rtol, o->atol);
    } else if (r->stop_norm == TESS_STOP_NORM_ROWS) {
        printf("||b - A x|| <= max(rtol ||b||, atol) of scaled rows (rtol %g, atol %g)", o->rtol, o->atol);
    } else {
        printf("||b - A x|| <= %s (rtol %g, atol %g)%s", cli_norm_text(r->tolerance, text, sizeof text), o->rtol,
               o->atol, r->stop_norm == TESS_STOP_NORM_BOTH ? ", and of scaled rows" : "");
    }
    printf(", at most %s\n", tess_count(o->max_iterations, "iteration").text);
}

static void print_setting(const cli_solve_run *run)
{
    char buffer[64], precisions[64], format[32], norm[CLI_REAL_TEXT];
    const tess_solve_result *r = run->result;
    const tess_solve_options *o = run->options;
    bool mixed = cli_takes_policy(r->storage.format);
    cli_print_matrix(run->matrix);
    cli_print_chosen_device(run->ctx, run->device_why);
    if (run->preset != NULL) { print_preset(run->preset); }
    printf("%-17s %s, preconditioner %s, engine %s, %s %s%s, guard %s\n", "method", tess_solver_kind_name(r->solver),
           cli_precond_text(&o->precond, buffer, sizeof buffer), tess_engine_name(r->engine),
           cli_format_text(r->storage.format, run->format_chosen, format, sizeof format),
           mixed ? cli_levels_text(&o->storage.policy, precisions, sizeof precisions)
                 : cli_precision_text(stored_precision(run), is_exact(run), precisions, sizeof precisions),
           o->storage.arithmetic == TESS_ARITHMETIC_FP32X2 ? ", sums fp32x2" : "", tess_guard_name(o->guard));
    if (run->assignment != NULL) { cli_print_precisions(run->assignment); }
    const bool leaves_out = run->assignment != NULL && run->assignment->left_out > 0;
    if (mixed && !leaves_out && (r->jacobi.schedule.count == 0 || cli_has_mixed(&r->jacobi.schedule))) {
        cli_print_untouched(&o->storage.policy, r->storage.nonzeros_per_precision);
    }
    if (r->cg.recurrence != TESS_RECURRENCE_AUTO && r->cg.recurrence != TESS_RECURRENCE_STANDARD) {
        printf("%-17s %s\n", "recurrence", tess_recurrence_name(r->cg.recurrence));
    }
    print_roles(o, r);
    print_inner(&r->nested);
    cli_print_factors(&o->precond, r, run->solver);
    print_levels(run);
    if (run->solver != NULL) { cli_print_saddle(tess_solver_precond(run->solver)); }
    cli_print_sweeps(run);
    if (run->transformed) {
        printf("%-17s scale %s, reorder %s; b, x and residuals are of the transformed system\n", "transformation",
               tess_scaling_name(o->scale), tess_reordering_name(o->reorder));
    }
    if (r->scale != TESS_SCALING_NONE || r->reorder != TESS_REORDERING_NONE) {
        printf("%-17s scale %s, reorder %s; estimates and history are of the transformed system\n", "transformation",
               tess_scaling_name(r->scale), tess_reordering_name(r->reorder));
    }
    printf("%-17s %s, ||b|| = %s; x0 = %s", "right-hand side",
           cli_shown(cli_vector_describe(run->rhs, buffer, sizeof buffer)),
           cli_norm_text(r->rhs_norm, norm, sizeof norm),
           run->initial_guess == NULL ? "0" : cli_shown(run->initial_guess));
    if (run->session->options->resume != NULL) {
        printf(", after %s", tess_count(run->session->before, "iteration").text);
    }
    putchar('\n');
    if (r->accuracy.wanted > 0.0) {
        const bool rows = r->stop_norm == TESS_STOP_NORM_ROWS;
        printf("%-17s ||b - A x|| <= %.6g%s (accuracy %s), at most %s\n", "stopping",
               rows ? r->rows.tolerance : r->tolerance,
               rows                                  ? " of scaled rows"
               : r->stop_norm == TESS_STOP_NORM_BOTH ? ", and of scaled rows"
                                                     : "",
               cli_accuracy_text(&run->asked->accuracy, buffer, sizeof buffer),
               tess_count(o->max_iterations, "iteration").text);
        return;
    }
    print_stopping(r, o);
}

static void print_outcome(const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    char text[3][CLI_REAL_TEXT];
    printf("%-17s %lld", "iterations", (long long)r->iterations);
    print_inner_iterations(&r->nested);
    if (r->refinements > 0) { printf(", with %s", tess_count(r->refinements, "residual replacement").text); }
    if (r->escalated || (r->solver == TESS_SOLVER_GMRES_FD && stored_precision(run) != r->storage.precision)) {
        const tess_role_precision *inner = &r->nested.inner;
        printf(", ended in %s", tess_precision_name(inner->given ? inner->storage : r->storage.precision));
    }
    if (r->jacobi.schedule.count > 0) {
        char schedule[CLI_SCHEDULE_TEXT];
        printf(" (%s)", cli_schedule_text(&r->jacobi.schedule, schedule, sizeof schedule));
    }
    printf("\n%-17s %s%s (%s, %d)\n", "result",
           r->verified    ? ""
           : r->converged ? "NOT VERIFIED: "
                          : "NOT CONVERGED: ",
           tess_reason_text(r->reason), tess_reason_name(r->reason), (int)r->reason);
    if (run->detail[0] != '\0') { printf("%-17s %s\n", "", run->detail); }
    cli_print_relative("residual", r->estimated_relative_residual, "as the solver estimates it\n");
    cli_print_true_residual("", r->relative_residual, r->residual_norm, r->residual_bound);
    cli_print_row_residual(&r->rows);
    if (has_normal_residual(r)) {
        printf("%-17s %s, TRUE ||A^T r||; rounding bound %s; ||A||_F ||r|| = %s\n", "normal equations",
               cli_real_text(r->normal_residual_norm, 6, text[0], sizeof text[0]),
               cli_real_text(r->normal_residual_bound, 1, text[1], sizeof text[1]),
               cli_real_text(r->matrix_norm * r->residual_norm, 6, text[2], sizeof text[2]));
    }
    cli_print_accuracy(run);
    cli_print_findings(run);
}

void cli_report_solve(const cli_solve_run *run, bool timings)
{
    cli_print_columns(run->columns);
    print_setting(run);
    print_outcome(run);
    cli_print_why(run);
    cli_print_narrowing(run);
    cli_print_cost(run);
    if (timings) { cli_print_timings(run); }
}

/* ---- JSON ---- */

static json_t *storage_json(const tess_role_precision *role)
{
    return role->given ? json_string(tess_precision_name(role->storage)) : json_null();
}

/* What the caller asked for, where the library chose; of what was left open, the values that the solver used. */
static void add_choices_json(json_t *options, const cli_solve_run *run)
{
    char buffer[64];
    const tess_solve_result *r = run->result;
    const tess_solve_options *asked = run->asked;
    json_object_set_new(options, "solver", json_string(tess_solver_kind_name(asked->solver)));
    json_object_set_new(options, "precond", json_string(cli_precond_text(&asked->precond, buffer, sizeof buffer)));
    json_object_set_new(options, "idr_s",
                        r->solver == TESS_SOLVER_IDR ? json_integer(run->options->idr.s) : json_null());
    if (!run->options->gmres.inner_auto) {
        json_object_set_new(options, "inner_precision", cli_role_json(&r->gmres.inner));
    }
    json_object_set_new(options, "basis_precision", storage_json(&r->gmres.basis));
}

static json_t *options_json(const cli_solve_run *run)
{
    char rhs[64];
    json_t *options = cli_storage_json(&run->options->storage, run->format_chosen), *expansion = json_array();
    tess_solve_options o = *run->options;
    o.stop_norm = run->asked->stop_norm;
    o.accuracy = run->asked->accuracy;
    o.automatic = run->asked->automatic;
    cli_add_options_json(options, &o, TESS_OPTION_OF_SOLVE);
    cli_add_precond_json(options, &o.precond);
    cli_add_nullspace_json(options, run->nullspace);
    cli_add_saddle_json(options, run->saddle);
    add_choices_json(options, run);
    json_object_set_new(options, "rhs", cli_json_text(cli_vector_describe(run->rhs, rhs, sizeof rhs)));
    json_object_set_new(options, "initial_guess",
                        run->initial_guess == NULL ? json_null() : cli_json_text(run->initial_guess));
    json_object_set_new(options, "system", json_string(run->transformed ? "transformed" : "original"));
    for (int i = 0; run->preset != NULL && run->preset->options[i] != NULL; i++) {
        json_array_append_new(expansion, json_string(run->preset->options[i]));
    }
    json_object_set_new(options, "preset", run->preset == NULL ? json_null() : json_string(run->preset->name));
    json_object_set_new(options, "preset_options", expansion);
    return options;
}

static json_t *precisions_json(const int64_t per_precision[TESS_PRECISION_COUNT])
{
    json_t *counts = json_object();
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        json_object_set_new(counts, tess_precision_name((tess_precision)p), json_integer(per_precision[p]));
    }
    return counts;
}

/* The schedule with the iterations that each entry ran; null for solvers without one. */
static json_t *schedule_json(const tess_precision_schedule *schedule)
{
    if (schedule->count == 0) { return json_null(); }
    json_t *list = json_array();
    for (int i = 0; i < schedule->count; i++) {
        json_array_append_new(list, json_pack("{ss sI}", "what", tess_schedule_entry_name(schedule->entry[i].what),
                                              "iterations", (json_int_t)schedule->entry[i].iterations));
    }
    return list;
}

static void add_integers(json_t *root, const tess_solve_result *r)
{
    const struct {
        const char *key;
        int64_t value;
    } integers[] = {{"reason_code", (int64_t)r->reason},
                    {"iterations", r->iterations},
                    {"refinements", r->refinements},
                    {"matrix_bytes", r->storage.matrix_bytes},
                    {"fp64_csr_bytes", r->storage.fp64_csr_bytes},
                    {"resident_bytes", r->resident_bytes},
                    {"peak_device_bytes", r->peak_device_bytes}};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        json_object_set_new(root, integers[i].key, json_integer(integers[i].value));
    }
}

static void add_reals(json_t *root, const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    const struct {
        const char *key;
        double value;
    } reals[] = {{"relative_residual", r->relative_residual},
                 {"residual_norm", r->residual_norm},
                 {"residual_bound", r->residual_bound},
                 {"estimated_relative_residual", r->estimated_relative_residual},
                 {"estimated_residual_norm", r->estimated_residual_norm},
                 {"rhs_norm", r->rhs_norm},
                 {"tolerance", r->tolerance},
                 {"precond_shift", r->precond.shift},
                 {"read_seconds", run->matrix->seconds},
                 {"setup_seconds", r->setup_seconds},
                 {"solve_seconds", r->solve_seconds},
                 {"output_seconds", run->output_seconds},
                 {"total_seconds", run->total_seconds}};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        json_object_set_new(root, reals[i].key, cli_json_real(reals[i].value));
    }
}

/* Null for methods that solve no least-squares problem. */
static void add_normal_residual(json_t *root, const tess_solve_result *r)
{
    const bool has = has_normal_residual(r);
    json_object_set_new(root, "normal_residual_norm", has ? cli_json_real(r->normal_residual_norm) : json_null());
    json_object_set_new(root, "normal_residual_bound", has ? cli_json_real(r->normal_residual_bound) : json_null());
    json_object_set_new(root, "matrix_norm", has ? cli_json_real(r->matrix_norm) : json_null());
}

/* Seconds by phase; null where they were not measured. */
static json_t *phases_json(const tess_solve_result *r)
{
    if (!r->timed) { return json_null(); }
    json_t *object = json_object();
    for (int p = 0; p < TESS_PHASE_COUNT; p++) {
        json_object_set_new(object, tess_phase_name((tess_phase)p), cli_json_real(r->phase_seconds[p]));
    }
    return object;
}

/* Null for other solvers. */
static json_t *nested_json(const tess_nested_result *r)
{
    if (!r->inner.given) { return json_null(); }
    return json_pack("{ss so so sI sI so sI}", "solver", tess_solver_kind_name(r->solver), "inner_precision",
                     cli_role_json(&r->inner), "basis_precision", storage_json(&r->basis), "solves",
                     (json_int_t)r->solves, "iterations", (json_int_t)r->iterations, "iterations_per_precision",
                     precisions_json(r->iterations_per_precision), "matrix_bytes", (json_int_t)r->matrix_bytes);
}

/* Null where nothing is narrowed. */
static json_t *narrowing_json(const tess_papers_result *r)
{
    if (r->narrowing == TESS_NARROWING_OFF) { return json_null(); }
    return json_pack("{ss sb sI sI so}", "mode", tess_narrowing_name(r->narrowing), "misled", r->narrowing_misled,
                     "tile_products", (json_int_t)cli_tile_products(r), "bypassed",
                     (json_int_t)r->tile_products_bypassed, "per_precision", precisions_json(r->tile_products));
}

/* Level sets or groups of the triangles of incomplete factors; null for other preconditioners. */
static json_t *triangles_json(const tess_solve_result *r, const int64_t counts[2])
{
    if (!cli_is_incomplete(r->precond.kind)) { return json_null(); }
    return json_pack("[I, I]", (json_int_t)counts[0], (json_int_t)counts[1]);
}

json_t *cli_solve_json(const cli_solve_run *run)
{
    char buffer[64];
    const tess_solve_result *r = run->result;
    const cli_size size = cli_size_of(run->matrix->a);
    json_t *root = json_pack(
        "{ss ss so sI sI sb sb ss ss ss ss ss ss ss ss so si sb si}", "command", "solve", "version", tess_version(),
        "matrix", cli_json_text(run->matrix->name), "n", (json_int_t)size.nrows, "nnz", (json_int_t)size.nnz,
        "converged", r->converged, "verified", r->verified, "reason", tess_reason_name(r->reason), "solver",
        tess_solver_kind_name(r->solver), "precond", cli_precond_text(&run->options->precond, buffer, sizeof buffer),
        "format", tess_format_name(r->storage.format), "matrix_precision", tess_precision_name(r->storage.precision),
        "policy",
        cli_takes_policy(r->storage.format) || cli_chooses_whole(&run->options->storage)
            ? tess_policy_name(run->options->storage.policy.policy)
            : "none",
        "engine", tess_engine_name(r->engine), "device", cli_device_name(run->ctx), "device_name",
        cli_json_text(tess_context_device_name(run->ctx)), "threads", tess_context_threads(run->ctx), "escalated",
        r->escalated, "exit_code", run->exit_code);
    if (root == NULL) { return NULL; }
    json_object_set_new(root, "device_why", run->device_why == NULL ? json_null() : json_string(run->device_why));
    json_object_set_new(root, "recurrence",
                        r->cg.recurrence == TESS_RECURRENCE_AUTO ? json_null()
                                                                 : json_string(tess_recurrence_name(r->cg.recurrence)));
    json_object_set_new(root, "matrix_exact", json_boolean(r->storage.exact));
    json_object_set_new(root, "narrowing", narrowing_json(run->papers));
    json_object_set_new(root, "scale", json_string(tess_scaling_name(r->scale)));
    json_object_set_new(root, "reorder", json_string(tess_reordering_name(r->reorder)));
    json_object_set_new(root, "inner_precision", cli_role_json(&r->gmres.inner));
    json_object_set_new(root, "basis_precision", storage_json(&r->gmres.basis));
    json_object_set_new(root, "nested", nested_json(&r->nested));
    json_object_set_new(root, "phases", phases_json(r));
    json_object_set_new(root, "triangle_blocks", cli_blocks_json(run->solver));
    json_object_set_new(root, "triangle_levels", triangles_json(r, r->precond.triangle_level_sets));
    json_object_set_new(root, "triangle_steps", triangles_json(r, r->precond.triangle_groups));
    json_object_set_new(root, "amg", levels_json(run));
    json_object_set_new(root, "saddle", cli_saddle_json(run->solver == NULL ? NULL : tess_solver_precond(run->solver)));
    json_object_set_new(root, "sweeps", cli_sweeps_json(run));
    json_object_set_new(root, "factor_nonzeros", json_integer(r->precond.factor_nonzeros));
    json_object_set_new(root, "factor_precision", cli_factor_precision_json(&run->options->precond, run->solver));
    json_object_set_new(root, "factorization",
                        r->precond.factorization == TESS_FACTORIZATION_AUTO
                            ? json_null()
                            : json_string(tess_factorization_name(r->precond.factorization)));
    add_integers(root, r);
    cli_add_columns_json(root, run->columns);
    json_object_set_new(root, "ncols", json_integer(size.ncols));
    json_object_set_new(root, "complex", json_boolean(tess_matrix_is_complex(run->matrix->a)));
    add_reals(root, run);
    json_object_set_new(root, "stop_norm", json_string(tess_stop_norm_name(r->stop_norm)));
    json_object_set_new(root, "row_residual", cli_row_residual_json(&r->rows));
    cli_add_why_json(root, run);
    cli_session_add_json(root, run->session);
    add_normal_residual(root, r);
    json_object_set_new(root, "accuracy", cli_accuracy_json(run));
    json_object_set_new(root, "findings", cli_findings_json(run));
    json_object_set_new(root, "nonzeros_per_precision", precisions_json(r->storage.nonzeros_per_precision));
    json_object_set_new(root, "assignment",
                        run->assignment == NULL
                            ? json_null()
                            : cli_assignment_json(run->assignment, tess_matrix_nrows(run->matrix->a)));
    json_object_set_new(root, "steps", schedule_json(&r->jacobi.schedule));
    json_object_set_new(root, "options", options_json(run));
    json_object_set_new(root, "detail", run->detail[0] == '\0' ? json_null() : cli_json_text(run->detail));
    return root;
}
