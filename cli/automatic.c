/* SPDX-License-Identifier: Apache-2.0 */
/* The report of an automatic solve: why, the attempts, and the command that repeats the choice. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Lines of `why` that are printed without --explain. */
enum { MOST_LINES = 6 };

/* ---- the file of choices ---- */

static bool make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *cli_choices_path(const char *argument, char *buffer, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (argument != NULL) { return strcmp(argument, "none") == 0 ? NULL : argument; }
    const bool has_cache = cache != NULL && cache[0] == '/';
    const char *root = has_cache ? cache : home, *folder = has_cache ? "" : "/.cache";
    if (root == NULL || root[0] != '/') { return NULL; }
    /* two folders, which are made, and the file */
    const char *const parts[] = {"", "/tessera", "/tessera/choices"};
    for (int i = 0; i < 3; i++) {
        const int length = snprintf(buffer, size, "%s%s%s", root, folder, parts[i]);
        if (length < 0 || (size_t)length >= size || (i < 2 && !make_folder(buffer))) { return NULL; }
    }
    return buffer;
}

/* ---- by hand ---- */

static bool has_factors(tess_precond_kind kind)
{
    return kind != TESS_PRECOND_NONE && kind != TESS_PRECOND_JACOBI && kind != TESS_PRECOND_AUTO;
}

/* The tolerance and the right-hand side, as they were asked for. */
static void write_system(const cli_solve_run *run, char *buffer, size_t size)
{
    const tess_solve_options *o = run->options;
    char accuracy[48], atol[32] = "", rhs[CLI_PATH_LENGTH + 16];
    cli_rhs_option(run->rhs, rhs, sizeof rhs);
    if (run->result->accuracy.wanted > 0.0) {
        snprintf(buffer, size, " --accuracy %s%s", cli_accuracy_text(&run->asked->accuracy, accuracy, sizeof accuracy),
                 rhs);
        return;
    }
    if (o->atol > 0.0) { snprintf(atol, sizeof atol, " --atol %g", o->atol); }
    snprintf(buffer, size, " --rtol %g%s%s", o->rtol, atol, rhs);
}

/* "tessera solve FILE --solver cg --precond jacobi": the options that the library chose, and the system. */
static void write_command(const cli_solve_run *run, char *buffer, size_t size)
{
    const tess_solve_options *o = run->options;
    const bool by_itself =
        o->scale != run->asked->scale; /* for the norm of rows, which a named method must be asked for */
    char precond[64], role[32], levels[64], amg[256];
    int used = snprintf(buffer, size, "tessera solve %s --solver %s --precond %s", run->matrix->name,
                        tess_solver_kind_name(o->solver), cli_precond_text(&o->precond, precond, sizeof precond));
    if (has_factors(o->precond.kind) && o->precond.role.given && used > 0 && (size_t)used < size) {
        used += snprintf(buffer + used, size - (size_t)used, " --precond-precision %s",
                         cli_role_text(&o->precond.role, role, sizeof role));
    }
    if (o->precond.kind == TESS_PRECOND_AMG && used > 0 && (size_t)used < size) {
        used +=
            snprintf(buffer + used, size - (size_t)used, "%s", cli_amg_options_text(&o->precond.amg, amg, sizeof amg));
    }
    if (o->scale != TESS_SCALING_NONE && used > 0 && (size_t)used < size) {
        used += snprintf(buffer + used, size - (size_t)used, " --scale %s%s%s", tess_scaling_name(o->scale),
                         by_itself ? " --stop-norm " : "", by_itself ? tess_stop_norm_name(o->stop_norm) : "");
    }
    if (o->reorder != TESS_REORDERING_NONE && used > 0 && (size_t)used < size) {
        used += snprintf(buffer + used, size - (size_t)used, " --reorder %s", tess_reordering_name(o->reorder));
    }
    if (o->storage.policy.policy == TESS_POLICY_NONE && used > 0 && (size_t)used < size) {
        const bool plain = o->storage.format == TESS_FORMAT_CSR, whole = o->storage.precision == TESS_PRECISION_FP64;
        used += snprintf(buffer + used, size - (size_t)used, "%s%s%s%s", plain ? "" : " --format ",
                         plain ? "" : tess_format_name(o->storage.format), whole ? "" : " --matrix-precision ",
                         whole ? "" : tess_precision_name(o->storage.precision));
    }
    if (o->storage.policy.policy == TESS_POLICY_LOSSLESS && used > 0 && (size_t)used < size) {
        used +=
            snprintf(buffer + used, size - (size_t)used, " --format %s --policy lossless --levels %s",
                     tess_format_name(o->storage.format), cli_levels_text(&o->storage.policy, levels, sizeof levels));
    }
    if (used > 0 && (size_t)used < size) { write_system(run, buffer + used, size - (size_t)used); }
}

/* With --accuracy the error may have been found small enough after attempts that ended above the last tolerance. The
   last of them by itself would not be. */
static bool may_repeat(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    const int count = run->solver == NULL ? 0 : tess_solver_attempts(run->solver, &attempts);
    return run->result->converged &&
           (run->result->accuracy.wanted == 0.0 || (count > 0 && (int)attempts[count - 1].reason > 0));
}

/* ---- text ---- */

static int count_lines(const char *text)
{
    int lines = text[0] == '\0' ? 0 : 1;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* The first line has the facts; of the attempts the last ones are printed. */
void cli_print_why(const cli_solve_run *run)
{
    char command[CLI_COMMAND_LENGTH];
    const char *text = run->solver == NULL ? "" : tess_solver_why(run->solver);
    const int lines = count_lines(text), skipped = run->explain || lines <= MOST_LINES ? 0 : lines - MOST_LINES;
    for (int i = 0; i < lines; i++) {
        const int length = (int)strcspn(text, "\n");
        if (i == 0 || i > skipped) { printf("%-17s %.*s\n", i == 0 ? "why" : "", length, text); }
        if (i == 0 && skipped > 0) { printf("%-17s (%d attempts more: --explain)\n", "", skipped); }
        text += length + (text[length] == '\n');
    }
    if (lines == 0 || !may_repeat(run)) { return; }
    write_command(run, command, sizeof command);
    printf("%-17s %s\n", "by hand", command);
}

/* ---- JSON ---- */

static json_t *attempt_json(const tess_attempt *a)
{
    json_t *object =
        json_pack("{ss ss ss ss ss ss sb ss ss sI}", "solver", tess_solver_kind_name(a->solver), "precond",
                  tess_precond_kind_name(a->precond), "precond_storage", tess_precision_name(a->factors), "scale",
                  tess_scaling_name(a->scale), "format", tess_format_name(a->format), "matrix_precision",
                  tess_precision_name(a->matrix), "left", a->left, "status", tess_status_name(a->status), "reason",
                  tess_reason_name(a->reason), "iterations", (json_int_t)a->iterations);
    if (object == NULL) { return NULL; }
    json_object_set_new(object, "reorder", cli_json_text(tess_reordering_name(a->reorder)));
    json_object_set_new(object, "relative_residual", cli_json_real(a->relative_residual));
    json_object_set_new(object, "setup_seconds", cli_json_real(a->setup_seconds));
    json_object_set_new(object, "solve_seconds", cli_json_real(a->solve_seconds));
    return object;
}

void cli_add_why_json(json_t *root, const cli_solve_run *run)
{
    char command[CLI_COMMAND_LENGTH];
    const tess_attempt *attempts = NULL;
    const int count = run->solver == NULL ? 0 : tess_solver_attempts(run->solver, &attempts);
    json_t *list = count > 0 ? json_array() : json_null(), *lines = count > 0 ? json_array() : json_null();
    for (int i = 0; i < count; i++) {
        json_array_append_new(list, attempt_json(&attempts[i]));
    }
    for (const char *text = count > 0 ? tess_solver_why(run->solver) : ""; *text != '\0';) {
        const size_t length = strcspn(text, "\n");
        json_array_append_new(lines, json_stringn(text, length));
        text += length + (text[length] == '\n');
    }
    if (count > 0) { write_command(run, command, sizeof command); }
    json_object_set_new(root, "attempts", list);
    json_object_set_new(root, "why", lines);
    json_object_set_new(root, "by_hand", count > 0 && may_repeat(run) ? cli_json_text(command) : json_null());
}
