/* SPDX-License-Identifier: Apache-2.0 */
/* The report of an automatic solve: why, the attempts, and the command that repeats the choice. */
#include "cli.h"

#include <errno.h>
#include <float.h>
#include <math.h>
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

/* The shortest decimal number that reads as the same value. */
static const char *real_text(double value, char *buffer, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) { break; }
    }
    return buffer;
}

/* The files that a solve takes besides the matrix and the right-hand side. */
static void write_files(FILE *to, const cli_solve_run *run, const tess_solve_options *o)
{
    const bool amg = o->precond.kind == TESS_PRECOND_AMG || o->precond.kind == TESS_PRECOND_AUTO;
    const struct {
        const char *option, *file;
    } files[] = {{"initial-guess", run->initial_guess},
                 {"coordinates", run->nullspace != NULL && amg ? run->nullspace->coordinates : NULL},
                 {"near-nullspace", run->nullspace != NULL && amg ? run->nullspace->vectors : NULL}};
    char name[CLI_QUOTED_LENGTH];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].file == NULL) { continue; }
        fprintf(to, " --%s %s", files[i].option, cli_quoted_file(files[i].file, name, sizeof name));
    }
}

/* The tolerance, the limit and the right-hand side, as they were asked for. */
static void write_system(FILE *to, const cli_solve_run *run, const tess_solve_options *o)
{
    char text[48], rhs[CLI_QUOTED_LENGTH];
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    if (run->result->accuracy.wanted > 0.0) {
        fprintf(to, " --accuracy %s", cli_accuracy_text(&run->asked->accuracy, text, sizeof text));
    } else {
        fprintf(to, " --rtol %s", real_text(o->rtol, text, sizeof text));
        if (o->atol > 0.0) { fprintf(to, " --atol %s", real_text(o->atol, text, sizeof text)); }
    }
    fputs(cli_rhs_option(run->rhs, rhs, sizeof rhs), to);
    if (run->asked->max_iterations != defaults.max_iterations) {
        fprintf(to, " --max-iterations %lld", (long long)run->asked->max_iterations);
    }
    write_files(to, run, o);
}

/* How values are stored. */
static void write_storage(FILE *to, const tess_solve_options *o)
{
    const tess_storage_options *s = &o->storage;
    char levels[64];
    if (s->policy.policy == TESS_POLICY_NONE) {
        if (s->format != TESS_FORMAT_CSR) { fprintf(to, " --format %s", tess_format_name(s->format)); }
        if (s->precision != TESS_PRECISION_FP64) {
            fprintf(to, " --matrix-precision %s", tess_precision_name(s->precision));
        }
    }
    if (s->policy.policy == TESS_POLICY_LOSSLESS) {
        fprintf(to, " --format %s --policy lossless --levels %s", tess_format_name(s->format),
                cli_levels_text(&s->policy, levels, sizeof levels));
    }
}

/* Half of the way, in digits, at least: what ended the solve would have done it alone. */
#define LEAST_SHARE 0.5

/* Whether the last attempt began so near to its end that it says little of a start from the caller's x. */
static bool leans_on_others(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    const int count = run->solver == NULL ? 0 : tess_solver_attempts(run->solver, &attempts);
    const double end = fmax(run->result->relative_residual, DBL_MIN);
    double begin = 1.0;
    for (int i = 0; i + 1 < count; i++) {
        const double reached = attempts[i].relative_residual;
        if (attempts[i].status == TESS_SUCCESS && attempts[i].iterations > 0 && reached > 0.0) {
            begin = fmin(begin, reached);
        }
    }
    return count > 1 && end < 1.0 && log(begin / end) < LEAST_SHARE * log(1.0 / end);
}

/* "tessera solve FILE --solver cg --precond jacobi": the options that the library chose, and the system. Where only all
   attempts together solved it: the automatic solve. */
static void write_command(const cli_solve_run *run, char *buffer, size_t size)
{
    const bool together = leans_on_others(run);
    const tess_solve_options *o = together ? run->asked : run->options;
    char precond[64], text[256], name[CLI_QUOTED_LENGTH];
    FILE *to = fmemopen(buffer, size, "w");
    buffer[0] = '\0';
    if (to == NULL) { return; }
    fprintf(to, "tessera solve %s --solver %s", cli_quoted_file(run->matrix->name, name, sizeof name),
            tess_solver_kind_name(o->solver));
    if (o->precond.kind != TESS_PRECOND_AUTO) {
        fprintf(to, " --precond %s", cli_precond_text(&o->precond, precond, sizeof precond));
    }
    if (has_factors(o->precond.kind) && o->precond.role.given) {
        fprintf(to, " --precond-precision %s", cli_role_text(&o->precond.role, text, sizeof text));
    }
    if (o->precond.kind == TESS_PRECOND_AMG) { fputs(cli_amg_options_text(&o->precond.amg, text, sizeof text), to); }
    if (o->scale != TESS_SCALING_NONE) { fprintf(to, " --scale %s", tess_scaling_name(o->scale)); }
    if (run->asked->stop_norm != TESS_STOP_NORM_AUTO || (!together && o->scale != run->asked->scale)) {
        fprintf(to, " --stop-norm %s", tess_stop_norm_name(o->stop_norm)); /* rows were scaled for this norm */
    }
    if (o->reorder != TESS_REORDERING_NONE) { fprintf(to, " --reorder %s", tess_reordering_name(o->reorder)); }
    if (run->transformed) { fputs(" --system transformed", to); }
    if (!together || o->automatic.format_given) { write_storage(to, o); }
    if (together && o->automatic.fp64_only) { fputs(" --precision fp64", to); }
    write_system(to, run, o);
    if (together) { fputs(" --choices none", to); }
    fclose(to);
    buffer[size - 1] = '\0';
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
