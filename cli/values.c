/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options: numbers, words and vectors. A bad value ends the program with exit code 2 and a message. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* argp_error ends the program, so that one buffer is enough. */
static const char *spelled(const char *option)
{
    static char buffer[64];
    return cli_option_text(option, buffer, sizeof buffer);
}

double cli_parse_real(struct argp_state *state, const char *option, const char *text, double low, double high)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0') { argp_error(state, "%s: '%s' is not a number", spelled(option), text); }
    if (!(value >= low && value <= high)) {
        argp_error(state, "%s: %s is out of range (%g to %g)", spelled(option), text, low, high);
    }
    return value;
}

int64_t cli_parse_integer(struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') { argp_error(state, "%s: '%s' is not an integer", spelled(option), text); }
    if (errno == ERANGE || value < low || value > high) {
        argp_error(state, "%s: %s is out of range (%" PRId64 " to %" PRId64 ")", spelled(option), text, low, high);
    }
    return value;
}

int64_t cli_parse_bytes(struct argp_state *state, const char *option, const char *text)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    errno = 0;
    const double value = strtod(text, &end);
    const char *unit = *end == '\0' ? NULL : strchr(units, *end);
    const double bytes = unit == NULL ? value : ldexp(value, 10 * (int)(unit - units + 1));
    if (end == text || (*end != '\0' && (unit == NULL || end[1] != '\0')) || !(bytes >= 1.0 && bytes < 0x1p62)) {
        argp_error(state, "%s: '%s' is not a number of bytes such as 500M or 8G", spelled(option), text);
    }
    return (int64_t)bytes;
}

uint64_t cli_parse_seed(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool signed_text = strchr(text, '-') != NULL; /* strtoull would wrap it silently */
    if (end == text || *end != '\0' || signed_text || errno == ERANGE) {
        argp_error(state, "%s: '%s' is not a seed (an integer from 0 to 2^64 - 1)", spelled(option), text);
    }
    return value;
}

static int count_words(const char *const *words)
{
    int count = 0;
    while (words != NULL && words[count] != NULL) {
        count++;
    }
    return count;
}

static int find_word(const char *text, const char *const *words)
{
    for (int i = 0; words != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) { return i; }
    }
    return -1;
}

static void join_words(const char *const *words, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; words[i] != NULL && used < size; i++) {
        int n = snprintf(buffer + used, size - used, "%s%s", i == 0 ? "" : ", ", words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void refuse_word(struct argp_state *state, const char *option, const char *text, const char *const *available,
                        const char *const *later)
{
    char list[512];
    join_words(available, list, sizeof list);
    if (find_word(text, later) >= 0) {
        argp_error(state, "%s: '%s' is not available in this version of tessera; available: %s", spelled(option), text,
                   list);
    }
    const char *nearest = cli_nearest(text, available, count_words(available));
    if (nearest != NULL) {
        argp_error(state, "%s: unknown value '%s'; did you mean '%s'? Available: %s", spelled(option), text, nearest,
                   list);
    }
    argp_error(state, "%s: unknown value '%s'; available: %s", spelled(option), text, list);
}

int cli_parse_word(struct argp_state *state, const char *option, const char *text, const char *const *available,
                   const char *const *later)
{
    int index = find_word(text, available);
    if (index < 0) { refuse_word(state, option, text, available, later); }
    return index;
}

int cli_list_names(const char *type, const char **words)
{
    int count = 0;
    for (const tess_named_value *entry = tess_enum_names(type); entry->name != NULL; entry++) {
        if (strcmp(entry->name, "shell") != 0) { words[count++] = entry->name; }
    }
    words[count] = NULL;
    return count;
}

int cli_parse_name(struct argp_state *state, const char *option, const char *text, const char *type)
{
    const char *words[CLI_MAX_NAMES];
    const tess_named_value *entry = tess_enum_names(type);
    cli_list_names(type, words);
    while (entry->name != NULL && (strcasecmp(entry->name, text) != 0 || strcmp(entry->name, "shell") == 0)) {
        entry++;
    }
    if (entry->name == NULL) { refuse_word(state, option, text, words, NULL); }
    return entry->value;
}

const char *cli_parse_output(struct argp_state *state, const char *option, const char *text)
{
    if (text[0] == '\0' || strcmp(text, "-") == 0) {
        argp_error(state, "%s: '%s' is not a file name; - for standard output is for --json, and for --output of solve",
                   spelled(option), text);
    }
    if (cli_ends_with(text, ".mat")) {
        argp_error(state,
                   "%s: '%s' would be a MATLAB file, which the tool does not write; write .npy or .npz, and "
                   "convert it by scipy.io.savemat",
                   spelled(option), text);
    }
    return text;
}

tess_solver_kind cli_parse_solver(struct argp_state *state, const char *text)
{
    return (tess_solver_kind)cli_parse_name(state, "solver", text, "tess_solver_kind");
}

tess_engine cli_parse_engine(struct argp_state *state, const char *text)
{
    return (tess_engine)cli_parse_name(state, "engine", text, "tess_engine");
}

tess_recurrence cli_parse_recurrence(struct argp_state *state, const char *text)
{
    return (tess_recurrence)cli_parse_name(state, "recurrence", text, "tess_recurrence");
}

tess_orthogonalization cli_parse_orthogonalization(struct argp_state *state, const char *text)
{
    return (tess_orthogonalization)cli_parse_name(state, "orthogonalization", text, "tess_orthogonalization");
}

tess_role_precision cli_parse_role(struct argp_state *state, const char *option, const char *text)
{
    tess_role_precision role = {.given = 0};
    if (tess_role_precision_parse(text, &role) != TESS_SUCCESS) {
        argp_error(state,
                   "%s: '%s' is not STORAGE or STORAGE/ARITHMETIC; storage:" CLI_PRECISION_NAMES "; arithmetic: "
                   "fp64, or fp32 with storage below fp64",
                   spelled(option), text);
    }
    return role;
}

const char *cli_role_text(const tess_role_precision *role, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s/%s", tess_precision_name(role->storage), tess_arithmetic_name(role->arithmetic));
    return buffer;
}

json_t *cli_role_json(const tess_role_precision *role)
{
    char text[32];
    return role->given ? json_string(cli_role_text(role, text, sizeof text)) : json_null();
}

tess_scaling cli_parse_scaling(struct argp_state *state, const char *text)
{
    return (tess_scaling)cli_parse_name(state, "scale", text, "tess_scaling");
}

tess_reordering cli_parse_reordering(struct argp_state *state, const char *text)
{
    return (tess_reordering)cli_parse_name(state, "reorder", text, "tess_reordering");
}

tess_precond_options cli_parse_precond(struct argp_state *state, const char *text)
{
    static const char *const available[] = {"none",
                                            "jacobi",
                                            "block-jacobi",
                                            "block-jacobi:K",
                                            "polynomial",
                                            "polynomial:D",
                                            "ilu0",
                                            "ic0",
                                            "ilut",
                                            "ilut:T:F",
                                            "ict",
                                            "ict:T:F",
                                            "iluk",
                                            "iluk:K",
                                            "lu",
                                            "cholesky",
                                            "jacobi-sweeps",
                                            "jacobi-sweeps:K",
                                            "amg",
                                            "auto",
                                            NULL};
    tess_precond_options precond;
    tess_precond_options_init(&precond);
    if (tess_precond_options_parse(text, &precond) != TESS_SUCCESS) {
        if (strncmp(text, "block-jacobi:", 13) == 0) {
            argp_error(state, "--precond: '%s' is not a block size (1 to 64)", text + 13);
        }
        if (strncmp(text, "polynomial:", 11) == 0) {
            argp_error(state, "--precond: '%s' is not a degree (1 to 200)", text + 11);
        }
        if (strncmp(text, "ilut:", 5) == 0 || strncmp(text, "ict:", 4) == 0) {
            argp_error(state, "--precond: '%s' is not a drop tolerance and a fill, such as 1e-3:10",
                       strchr(text, ':') + 1);
        }
        if (strncmp(text, "jacobi-sweeps:", 14) == 0) {
            argp_error(state, "--precond: '%s' is not a number of sweeps (1 to 1000)", text + 14);
        }
        if (strncmp(text, "iluk:", 5) == 0) {
            argp_error(state, "--precond: '%s' is not a level of fill (1 to 1000)", text + 5);
        }
        refuse_word(state, "precond", text, available, NULL);
    }
    return precond;
}

tess_precision_schedule cli_parse_schedule(struct argp_state *state, const char *text)
{
    tess_precision_schedule schedule = {.count = 0};
    if (tess_schedule_parse(text, &schedule) != TESS_SUCCESS) {
        argp_error(state,
                   "--steps: '%s' is not a list of up to %d of mixed and the precisions, each with :N for N "
                   "iterations, such as fp32,mixed,fp64 or mixed:100,fp64:50",
                   text, (int)TESS_MAX_SCHEDULE);
    }
    return schedule;
}

bool cli_has_mixed(const tess_precision_schedule *schedule)
{
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->entry[i].what == TESS_MIXED) { return true; }
    }
    return false;
}

const char *cli_schedule_text(const tess_precision_schedule *schedule, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < schedule->count && used < size; i++) {
        const tess_schedule_entry *entry = &schedule->entry[i];
        int n = snprintf(buffer + used, size - used, "%s%s", i == 0 ? "" : ",", tess_schedule_entry_name(entry->what));
        used += n > 0 ? (size_t)n : 0;
        if (entry->iterations == 0 || used >= size) { continue; }
        n = snprintf(buffer + used, size - used, ":%" PRId64, entry->iterations);
        used += n > 0 ? (size_t)n : 0;
    }
    return buffer;
}

/* NAME, or NAME:SEED. */
static bool parse_random(struct argp_state *state, const char *option, const char *text, const char *name,
                         cli_vector_choice *choice)
{
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || (text[length] != '\0' && text[length] != ':')) { return false; }
    choice->seeded = text[length] == ':';
    if (choice->seeded) { choice->seed = cli_parse_seed(state, option, text + length + 1); }
    return true;
}

cli_vector_choice cli_parse_vector(struct argp_state *state, const char *option, const char *text, bool a_times_ones)
{
    cli_vector_choice choice = {.source = CLI_VECTOR_FILE, .path = text};
    if (strcmp(text, "ones") == 0) {
        choice.source = CLI_VECTOR_ONES;
    } else if (a_times_ones && strcmp(text, "a-times-ones") == 0) {
        choice.source = CLI_VECTOR_A_TIMES_ONES;
    } else if (a_times_ones && strcmp(text, "a-times-ramp") == 0) {
        choice.source = CLI_VECTOR_A_TIMES_RAMP;
    } else if (parse_random(state, option, text, "random", &choice)) {
        choice.source = CLI_VECTOR_RANDOM;
    } else if (parse_random(state, option, text, "uniform", &choice)) {
        choice.source = CLI_VECTOR_UNIFORM;
    } else if (text[0] == '\0') {
        argp_error(state, "%s: the value is empty", spelled(option));
    }
    return choice;
}

const char *cli_vector_describe(const cli_vector_choice *choice, char *buffer, size_t size)
{
    switch (choice->source) {
    case CLI_VECTOR_ONES: return "ones";
    case CLI_VECTOR_A_TIMES_ONES: return "a-times-ones";
    case CLI_VECTOR_A_TIMES_RAMP: return "a-times-ramp";
    case CLI_VECTOR_RANDOM: snprintf(buffer, size, "random:%" PRIu64, choice->seed); return buffer;
    case CLI_VECTOR_UNIFORM: snprintf(buffer, size, "uniform:%" PRIu64, choice->seed); return buffer;
    case CLI_VECTOR_FILE: break;
    }
    return choice->path;
}

const char *cli_rhs_option(const cli_vector_choice *rhs, char *buffer, size_t size)
{
    char text[64], name[CLI_QUOTED_LENGTH];
    const bool file = rhs->source == CLI_VECTOR_FILE;
    const char *words =
        file ? cli_quoted_file(rhs->path, name, sizeof name) : cli_vector_describe(rhs, text, sizeof text);
    snprintf(buffer, size, "%s%s", rhs->source == CLI_VECTOR_ONES ? "" : " --rhs ",
             rhs->source == CLI_VECTOR_ONES ? "" : words);
    return buffer;
}
