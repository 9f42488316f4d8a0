/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the options that only the tool has: numbers, words, files and vectors. A bad value ends the program with
   exit code 2 and a message. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void refuse_number(struct argp_state *state, const char *option, const char *text, double low, double high)
{
    char range[96];
    argp_error(state, "--%s: %s is out of range (%s)", option, text, tess_range_text(low, high, range, sizeof range));
}

double cli_parse_real(struct argp_state *state, const char *option, const char *text, double low, double high)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0') { argp_error(state, "--%s: '%s' is not a number", option, text); }
    if (!(value >= low && value <= high)) { refuse_number(state, option, text, low, high); }
    return value;
}

int64_t cli_parse_integer(struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') { argp_error(state, "--%s: '%s' is not an integer", option, text); }
    if (errno == ERANGE || value < low || value > high) {
        refuse_number(state, option, text, (double)low, (double)high);
    }
    return value;
}

uint64_t cli_parse_seed(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool signed_text = strchr(text, '-') != NULL; /* strtoull would wrap it silently */
    if (end == text || *end != '\0' || signed_text || errno == ERANGE) {
        argp_error(state, "--%s: '%s' is not a seed (an integer from 0 to 2^64 - 1)", option, text);
    }
    return value;
}

static void refuse_word(struct argp_state *state, const char *option, const char *text, const char *const *available,
                        int count)
{
    char list[256];
    size_t used = 0;
    const char *nearest = tess_nearest_word(text, available, count);
    for (int i = 0; i < count && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", available[i]);
    }
    argp_error(state, "--%s: unknown value '%s'; %s%s%s: %s", option, text, nearest != NULL ? "did you mean '" : "",
               nearest != NULL ? nearest : "", nearest != NULL ? "'? Available" : "available", list);
}

int cli_parse_word(struct argp_state *state, const char *option, const char *text, const char *const *available)
{
    int count = 0;
    while (available[count] != NULL) {
        if (strcmp(available[count], text) == 0) { return count; }
        count++;
    }
    refuse_word(state, option, text, available, count);
    return -1;
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

bool cli_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

const char *cli_parse_output(struct argp_state *state, const char *option, const char *text)
{
    if (text[0] == '\0' || strcmp(text, "-") == 0) {
        argp_error(state,
                   "--%s: '%s' is not a file name; - for standard output is for --json, and for --output of solve",
                   option, text);
    }
    return text;
}

const char *cli_parse_input(struct argp_state *state, const char *option, const char *text)
{
    if (text[0] == '\0') { argp_error(state, "--%s: the file name is empty", option); }
    return text;
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

bool cli_has_mixed(const tess_precision_schedule *schedule)
{
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->entry[i].what == TESS_MIXED) { return true; }
    }
    return false;
}

void cli_take_matrix(struct argp_state *state, const char *argument, const char **matrix)
{
    if (argument == NULL) { argp_error(state, "no matrix was given; name a file or gallery:NAME"); }
    if (argument != NULL && state->arg_num > 0) {
        argp_error(state, "one matrix at a time is possible, but '%s' is a second one", argument);
    }
    *matrix = argument;
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
        argp_error(state, "--%s: the value is empty", option);
    }
    return choice;
}

void cli_take_seed(const cli_seed *seed, cli_vector_choice *choice)
{
    if (!choice->seeded) { choice->seed = seed->value; }
}

static bool reads_seed(const cli_vector_choice *choice)
{
    return choice != NULL && !choice->seeded &&
           (choice->source == CLI_VECTOR_RANDOM || choice->source == CLI_VECTOR_UNIFORM);
}

void cli_check_seed(struct argp_state *state, const cli_seed *seed, const char *options,
                    const cli_vector_choice *choice, const cli_vector_choice *other)
{
    if (!seed->given || reads_seed(choice) || reads_seed(other)) { return; }
    cli_refuse(state, "--seed is for %s random or uniform without a seed of its own", options);
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
