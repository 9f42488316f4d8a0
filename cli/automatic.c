/* SPDX-License-Identifier: Apache-2.0 */
/* The report of an automatic solve: why, the attempts, and the command that repeats the choice. */
#include "request.h"

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

static void write_file(FILE *to, const char *option, const char *file)
{
    char name[CLI_QUOTED_LENGTH];
    if (file != NULL) { fprintf(to, " --%s %s", option, cli_quoted_file(file, name, sizeof name)); }
}

void cli_write_precond_files(FILE *to, const cli_nullspace *nullspace, const cli_saddle *saddle, tess_precond_kind kind)
{
    const bool open = kind == TESS_PRECOND_AUTO;
    if (nullspace != NULL && (open || kind == TESS_PRECOND_AMG)) {
        write_file(to, "coordinates", nullspace->coordinates);
        write_file(to, "near-nullspace", nullspace->vectors);
    }
    if (saddle != NULL && (open || kind == TESS_PRECOND_SADDLE)) {
        write_file(to, "saddle-index", saddle->index);
        write_file(to, "schur-matrix", saddle->schur);
    }
}

/* The files that a solve takes besides the matrix and the right-hand side. */
static void write_files(FILE *to, const cli_solve_run *run, const tess_solve_options *o)
{
    write_file(to, run->session->options->resume != NULL ? "resume" : "initial-guess", run->initial_guess);
    cli_write_precond_files(to, run->nullspace, run->saddle, o->precond.kind);
}

/* Half of the way, in digits, at least: what ended the solve would have done it alone. */
#define LEAST_SHARE 0.5

/* Whether the last attempt began so near to its end that it says little of a start from the caller's x. */
bool cli_leans_on_others(const tess_solver *solver, const tess_solve_result *result)
{
    const tess_attempt *attempts = NULL;
    const int count = solver == NULL ? 0 : tess_solver_attempts(solver, &attempts);
    const double end = fmax(result->relative_residual, DBL_MIN);
    double begin = 1.0;
    for (int i = 0; i + 1 < count; i++) {
        const double reached = attempts[i].relative_residual;
        if (attempts[i].status == TESS_SUCCESS && attempts[i].iterations > 0 && reached > 0.0) {
            begin = fmin(begin, reached);
        }
    }
    return count > 1 && end < 1.0 && log(begin / end) < LEAST_SHARE * log(1.0 / end);
}

/* Whether attempts before the last moved x. */
static bool began_elsewhere(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    const int count = run->solver == NULL ? 0 : tess_solver_attempts(run->solver, &attempts);
    for (int i = 0; i + 1 < count; i++) {
        const bool moved = run->initial_guess != NULL || attempts[i].relative_residual < 1.0;
        if (attempts[i].status == TESS_SUCCESS && attempts[i].iterations > 0 && moved) { return true; }
    }
    return false;
}

/* Whether the method scaled or reordered a system that the caller had scaled or reordered likewise: no options say so.
 */
static bool transforms_twice(const cli_solve_run *run)
{
    const tess_attempt *attempts = NULL;
    const int count = run->solver == NULL ? 0 : tess_solver_attempts(run->solver, &attempts);
    const tess_attempt *last = count > 0 ? &attempts[count - 1] : NULL;
    const bool scales = last != NULL && last->scale != TESS_SCALING_NONE;
    const bool reorders = last != NULL && last->reorder != TESS_REORDERING_NONE;
    return (scales && run->asked->scale != TESS_SCALING_NONE) ||
           (reorders && run->asked->reorder != TESS_REORDERING_NONE) || (run->transformed && (scales || reorders));
}

/* What the caller asked for beside the method that the library chose. */
static tess_solve_options request_of(const cli_solve_run *run, bool together)
{
    tess_solve_options request = together ? *run->asked : *run->options;
    request.stop_norm = run->result->stop_norm;
    request.divergence_tolerance = run->asked->divergence_tolerance;
    request.accuracy = run->asked->accuracy;
    request.max_iterations = run->asked->max_iterations;
    request.guard = run->asked->guard;
    request.engine = run->asked->engine;
    request.return_last = run->asked->return_last;
    request.automatic = run->asked->automatic;
    request.automatic.fp64_only = together && run->asked->automatic.fp64_only;
    request.automatic.choices = together ? "none" : NULL;
    return request;
}

/* A chosen host is named: by the GPU it would be another solve. */
static const char *device_by_hand(const cli_solve_run *run)
{
    const bool host = run->device_why != NULL && tess_context_device(run->ctx) == TESS_DEVICE_CPU;
    return host ? "cpu" : run->device;
}

/* Whether only all attempts together solved it, or no options name the last one. */
static bool needs_all(const cli_solve_run *run)
{
    return cli_leans_on_others(run->solver, run->result) || transforms_twice(run);
}

/* "tessera solve FILE --solver cg --precond jacobi": the options that the library chose, and the system. Where it needs
   all attempts: the automatic solve. */
static void write_command(const cli_solve_run *run, char *buffer, size_t size)
{
    const bool together = needs_all(run);
    const tess_solve_options request = request_of(run, together);
    const cli_request_words words = {.matrix = run->matrix->name,
                                     .rhs = run->rhs,
                                     .device = device_by_hand(run),
                                     .transformed = run->transformed,
                                     .solver = true,
                                     .format = together && run->asked->automatic.format_given,
                                     .rtol = true};
    FILE *to = fmemopen(buffer, size, "w");
    buffer[0] = '\0';
    if (to == NULL) { return; }
    cli_write_request(to, &request, &words);
    write_files(to, run, &request);
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

/* Whether a line stands before `line` already: stages of a solve to an accuracy each say what they found. */
static bool was_said(const char *text, const char *line, size_t length)
{
    while (text < line) {
        const size_t before = strcspn(text, "\n");
        if (before == length && strncmp(text, line, length) == 0) { return true; }
        text += before + 1;
    }
    return false;
}

/* The next line of `text` that is not empty and was not said, from *at on, which moves behind it; NULL: there is none.
 */
static const char *next_line(const char *text, const char **at, size_t *length)
{
    while (**at != '\0') {
        const char *line = *at;
        *length = strcspn(line, "\n");
        *at += *length + (line[*length] == '\n');
        if (*length > 0 && !was_said(text, line, *length)) { return line; }
    }
    return NULL;
}

static int count_lines(const char *text)
{
    int lines = 0;
    size_t length = 0;
    for (const char *at = text; next_line(text, &at, &length) != NULL;) {
        lines++;
    }
    return lines;
}

/* The first line has the facts; of the attempts the last ones are printed. */
void cli_print_why(const cli_solve_run *run)
{
    char command[CLI_COMMAND_LENGTH];
    const char *text = run->solver == NULL ? "" : tess_solver_why(run->solver), *at = text, *line = NULL;
    const int lines = count_lines(text), skipped = run->explain || lines <= MOST_LINES ? 0 : lines - MOST_LINES;
    size_t length = 0;
    for (int i = 0; (line = next_line(text, &at, &length)) != NULL; i++) {
        if (i == 0 || i > skipped) { printf("%-17s %.*s\n", i == 0 ? "why" : "", (int)length, line); }
        if (i == 0 && skipped > 0) { printf("%-17s (%s more: --explain)\n", "", tess_count(skipped, "attempt").text); }
    }
    if (lines == 0 || !may_repeat(run)) { return; }
    write_command(run, command, sizeof command);
    printf("%-17s %s\n", "by hand", command);
    if (!needs_all(run) && began_elsewhere(run)) {
        printf("%-17s (here it began with the x of the attempts before; alone it may end otherwise)\n", "");
    }
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
    const char *text = run->solver == NULL ? "" : tess_solver_why(run->solver), *at = text, *line = NULL;
    const bool automatic = text[0] != '\0'; /* without an attempt where the matrix has NaN */
    json_t *list = automatic ? json_array() : json_null(), *lines = automatic ? json_array() : json_null();
    for (int i = 0; i < count; i++) {
        json_array_append_new(list, attempt_json(&attempts[i]));
    }
    size_t length = 0;
    while ((line = next_line(text, &at, &length)) != NULL) {
        json_array_append_new(lines, json_stringn(line, length));
    }
    if (count > 0) { write_command(run, command, sizeof command); }
    json_object_set_new(root, "attempts", list);
    json_object_set_new(root, "why", lines);
    json_object_set_new(root, "by_hand", count > 0 && may_repeat(run) ? cli_json_text(command) : json_null());
}
