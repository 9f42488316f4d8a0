/* SPDX-License-Identifier: Apache-2.0 */
/* The table of solves of tessera compare: text and JSON. */
#include "compare.h"
#include "request.h"

#include <math.h>
#include <string.h>

/* ---- parts of a row ---- */

static bool has_factors(const tess_solve_options *o)
{
    return o->precond.kind != TESS_PRECOND_NONE && o->precond.kind != TESS_PRECOND_JACOBI &&
           o->precond.kind != TESS_PRECOND_AUTO;
}

static tess_solver_kind solver_of(const cli_solve_row *row)
{
    return row->status == TESS_SUCCESS && row->result.reason != TESS_REASON_RUNNING ? row->result.solver
                                                                                    : row->options.solver;
}

/* With S of idr:S. */
static const char *solver_text(const cli_solve_row *row, char *buffer, size_t size)
{
    const tess_solver_kind kind = solver_of(row);
    return kind == row->options.solver ? cli_value_text(&row->options, "solver", buffer, size)
                                       : tess_solver_kind_name(kind);
}

const char *cli_row_method(const cli_solve_row *row, char *buffer, size_t size)
{
    char solver[CLI_NAME_LENGTH];
    snprintf(buffer, size, "%s%s", row->automatic ? "auto: " : "", solver_text(row, solver, sizeof solver));
    return buffer;
}

static const char *precond_storage(const cli_solve_row *row)
{
    const tess_solve_options *o = &row->options;
    const tess_solve_result *r = &row->result;
    const tess_role_precision *cycles = r->nested.inner.given ? &r->nested.basis : &r->gmres.inner;
    const tess_role_precision *role = o->precond.role.given ? &o->precond.role : cycles;
    if (!has_factors(o)) { return o->precond.kind == TESS_PRECOND_JACOBI ? "fp64" : "-"; }
    return role->given ? tess_precision_name(role->storage) : "fp64";
}

/* What the iterations read: GMRES takes csr in the storage of its cycles. */
static const char *matrix_storage(const cli_solve_row *row)
{
    const tess_solve_result *r = &row->result;
    if (r->nested.inner.given) { return tess_precision_name(r->nested.inner.storage); }
    const bool cycles = r->gmres.inner.given && row->options.storage.precision == TESS_PRECISION_FP64;
    return tess_precision_name(cycles ? r->gmres.inner.storage : row->options.storage.precision);
}

static const char *vector_storage(const cli_solve_row *row)
{
    if (row->result.nested.inner.given) { return tess_arithmetic_name(row->result.nested.inner.arithmetic); }
    return row->result.gmres.basis.given ? tess_precision_name(row->result.gmres.basis.storage) : "fp64";
}

const char *cli_row_precisions(const cli_solve_row *row, char *buffer, size_t size)
{
    if (row->status != TESS_SUCCESS) {
        snprintf(buffer, size, "%s", tess_precision_name(row->precision));
    } else {
        snprintf(buffer, size, "%s/%s/%s%s", matrix_storage(row), precond_storage(row), vector_storage(row),
                 row->result.escalated ? "+" : "");
    }
    return buffer;
}

/* "2.2e-11, rows 3.1e-10": of b - A x, and of its rows scaled to one size. */
static const char *residuals_text(const tess_solve_result *r, char *buffer, size_t size)
{
    char text[2][CLI_REAL_TEXT];
    cli_real_text(r->relative_residual, 1, text[0], sizeof text[0]);
    if (isnan(r->rows.norm)) {
        snprintf(buffer, size, "%s", text[0]);
    } else {
        snprintf(buffer, size, "%s, rows %s", text[0], cli_real_text(r->rows.relative, 1, text[1], sizeof text[1]));
    }
    return buffer;
}

const char *cli_row_outcome(const cli_solve_row *row, double budget, char *buffer, size_t size)
{
    char residuals[64];
    const tess_solve_result *r = &row->result;
    if (row->status != TESS_SUCCESS) {
        snprintf(buffer, size, "refused: %s", row->reason);
    } else if (row->stopped) {
        snprintf(buffer, size, "stopped at the budget of %g s, at %s", budget,
                 residuals_text(r, residuals, sizeof residuals));
    } else if (r->verified) {
        snprintf(buffer, size, "verified, %s", residuals_text(r, residuals, sizeof residuals));
    } else if (r->converged) {
        snprintf(buffer, size, "NOT VERIFIED: %s (%d), %s", tess_reason_text(r->reason), (int)r->reason,
                 residuals_text(r, residuals, sizeof residuals));
    } else {
        snprintf(buffer, size, "NOT CONVERGED: %s (%d)%s%s", tess_reason_text(r->reason), (int)r->reason,
                 row->reason[0] == '\0' ? "" : ": ", row->reason);
    }
    return buffer;
}

/* What the row asked for, in the norm that decided, with a limit of iterations that lets it end. */
static tess_solve_options request_of(const cli_solve_row *row, const cli_solves *all)
{
    tess_solve_options request, defaults;
    const tess_precond_kind kind = row->options.precond.kind;
    const bool direct = kind == TESS_PRECOND_LU || kind == TESS_PRECOND_CHOLESKY;
    tess_solve_options_init(&defaults);
    request = row->together ? defaults : row->options;
    request.solver = row->together ? TESS_SOLVER_AUTO : solver_of(row);
    request.automatic = defaults.automatic;
    request.automatic.fp64_only = row->together && row->options.automatic.fp64_only;
    request.automatic.choices = row->together ? "none" : NULL;
    request.stop_norm = row->status == TESS_SUCCESS ? row->result.stop_norm : TESS_STOP_NORM_AUTO;
    request.rtol = all->options->rtol;
    request.max_iterations =
        row->result.iterations >= defaults.max_iterations ? all->options->max_iterations : defaults.max_iterations;
    if (!direct && request.precond.role.storage == TESS_PRECISION_FP64) { request.precond.role.given = 0; }
    return request;
}

const char *cli_row_command(const cli_solve_row *row, const cli_solves *all, char *buffer, size_t size)
{
    const tess_solve_options request = request_of(row, all);
    const cli_request_words words = {.matrix = all->matrix, .rhs = &all->options->rhs, .solver = true, .rtol = true};
    FILE *to = fmemopen(buffer, size, "w");
    buffer[0] = '\0';
    if (to == NULL) { return buffer; }
    cli_write_request(to, &request, &words);
    fclose(to);
    buffer[size - 1] = '\0';
    return buffer;
}

/* ---- text ---- */

static void print_row(const cli_solve_row *row, double budget)
{
    char method[64], precond[64], precisions[64], outcome[CLI_REASON_LENGTH + 64], time[32], setup[32], bytes[32];
    const tess_solve_result *r = &row->result;
    cli_row_outcome(row, budget, outcome, sizeof outcome);
    printf("%-6s %-14s %-14s %-15s", row->device, cli_row_method(row, method, sizeof method),
           cli_precond_text(&row->options.precond, precond, sizeof precond),
           cli_row_precisions(row, precisions, sizeof precisions));
    if (row->status != TESS_SUCCESS) {
        printf(" %9s %9s %7s %8s  %s\n", "-", "-", "-", "-", outcome);
        return;
    }
    printf(" %9s %9s %7lld %8s  %s\n", cli_seconds_text(row->seconds, time, sizeof time),
           cli_seconds_text(r->setup_seconds, setup, sizeof setup), (long long)r->iterations,
           cli_bytes_text((double)r->resident_bytes, bytes, sizeof bytes), outcome);
}

void cli_solves_print(const cli_solves *all)
{
    char buffer[CLI_COMMAND_LENGTH];
    const cli_solves_options *o = all->options;
    printf("%-17s %s, rtol %g, at most %g s each; set-up counts\n",
           "solves b =", cli_shown(cli_vector_describe(&o->rhs, buffer, sizeof buffer)), o->rtol, o->budget);
    for (int i = 0; i < o->parts_left_out; i++) {
        printf("%-17s %s\n", "left out", cli_left_out_text(&o->left_out[i], buffer, sizeof buffer));
    }
    if (all->interrupted) { printf("%-17s the rest was left out\n", "interrupted"); }
    printf("\n%-6s %-14s %-14s %-15s %9s %9s %7s %8s  %s\n", "device", "solver", "precond", "precisions", "time",
           "set-up", "iterat.", "bytes", "result, true relative residual, that of scaled rows");
    for (int i = 0; i < all->count; i++) {
        print_row(&all->rows[i], o->budget);
    }
    printf("precisions: matrix/preconditioner/vectors; +: the guard raised one\n");
    if (all->count > 0 && all->rows[0].result.verified) {
        printf("%-17s %s\n", "fastest", cli_row_command(&all->rows[0], all, buffer, sizeof buffer));
    } else {
        printf("%-17s none is verified\n", "fastest");
    }
}

/* ---- JSON ---- */

static json_t *row_json(const cli_solve_row *row, const cli_solves *all)
{
    char solver[CLI_NAME_LENGTH], precond[64], outcome[CLI_REASON_LENGTH + 64], command[CLI_COMMAND_LENGTH];
    const tess_solve_result *r = &row->result;
    const bool ran = row->status == TESS_SUCCESS;
    json_t *item = json_pack(
        "{ss sb ss ss so ss ss ss sb sb ss ss si so so sb}", "device", row->device, "automatic", row->automatic,
        "solver", solver_text(row, solver, sizeof solver), "precond",
        cli_precond_text(&row->options.precond, precond, sizeof precond), "precision",
        row->automatic ? json_string("auto") : json_string(tess_precision_name(row->precision)), "matrix_precision",
        matrix_storage(row), "precond_precision", precond_storage(row), "vector_precision", vector_storage(row),
        "verified", r->verified, "converged", r->converged, "status", tess_status_name(row->status), "reason",
        tess_reason_name(r->reason), "reason_code", (int)r->reason, "outcome",
        cli_json_text(cli_row_outcome(row, all->options->budget, outcome, sizeof outcome)), "command",
        cli_json_text(cli_row_command(row, all, command, sizeof command)), "stopped", row->stopped);
    if (item == NULL) { return NULL; }
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"iterations", r->iterations},
                  {"refinements", r->refinements},
                  {"matrix_bytes", r->storage.matrix_bytes},
                  {"resident_bytes", r->resident_bytes}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        json_object_set_new(item, counts[i].key, ran ? json_integer(counts[i].value) : json_null());
    }
    json_object_set_new(item, "escalated", json_boolean(r->escalated));
    json_object_set_new(item, "seconds", ran ? cli_json_real(row->seconds) : json_null());
    json_object_set_new(item, "setup_seconds", ran ? cli_json_real(r->setup_seconds) : json_null());
    json_object_set_new(item, "solve_seconds", ran ? cli_json_real(r->solve_seconds) : json_null());
    json_object_set_new(item, "relative_residual", ran ? cli_json_real(r->relative_residual) : json_null());
    json_object_set_new(item, "stop_norm", ran ? json_string(tess_stop_norm_name(r->stop_norm)) : json_null());
    json_object_set_new(item, "row_residual", ran ? cli_row_residual_json(&r->rows) : json_null());
    return item;
}

/* A pair each. */
static json_t *left_out_json(const cli_solves_options *o)
{
    json_t *list = json_array();
    for (int i = 0; i < o->parts_left_out; i++) {
        const cli_left_out *part = &o->left_out[i];
        for (int k = 0; k < part->preconds; k++) {
            json_array_append_new(list, json_pack("{ss ss so}", "solver", part->solver, "precond", part->precond[k],
                                                  "reason", cli_json_text(part->reason)));
        }
    }
    return list;
}

json_t *cli_solves_json(const cli_solves *all)
{
    char buffer[CLI_PATH_LENGTH];
    const cli_solves_options *o = all->options;
    json_t *list = json_array();
    for (int i = 0; i < all->count; i++) {
        json_array_append_new(list, row_json(&all->rows[i], all));
    }
    return json_pack("{so so so sI sb so so}", "rhs",
                     cli_json_text(cli_vector_describe(&o->rhs, buffer, sizeof buffer)), "rtol", cli_json_real(o->rtol),
                     "budget", cli_json_real(o->budget), "max_iterations", (json_int_t)o->max_iterations, "interrupted",
                     all->interrupted, "left_out", left_out_json(o), "rows", list);
}
