/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the library's list as tables of argp, and the values that are given for them. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

/* ---- tables ---- */

enum { FIRST_KEY = 2000, MOST_OPTIONS = 128, SCOPES = 3, BESIDE_LISTS = SCOPES };

/* An empty row ends each. The last has those of preconditioners of a list. */
static struct argp_option tables[SCOPES + 1][MOST_OPTIONS];

/* What lists of compare say themselves. */
static bool is_of_lists(const tess_option *option)
{
    return strcmp(option->name, "precond") == 0 || strcmp(option->name, "precond-precision") == 0;
}

void cli_options_init(void)
{
    const tess_option *option = NULL;
    int count[SCOPES] = {0}, beside_lists = 0;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        int *rows = &count[option->scope];
        if (option->section == TESS_SECTION_NONE || *rows == MOST_OPTIONS - 1) { continue; }
        tables[option->scope][(*rows)++] = (struct argp_option){.name = option->name,
                                                                .key = FIRST_KEY + i,
                                                                .arg = option->argument,
                                                                .doc = option->help,
                                                                .group = option->section};
        if (option->scope == TESS_OPTION_OF_PRECOND && !is_of_lists(option)) {
            tables[BESIDE_LISTS][beside_lists++] = tables[option->scope][*rows - 1];
        }
    }
}

const tess_option *cli_option_of(int key, int scope)
{
    const tess_option *option = key >= FIRST_KEY ? tess_option_at(key - FIRST_KEY) : NULL;
    return option != NULL && (int)option->scope == scope ? option : NULL;
}

/* Options of a solve that the command line or a preset gives: one may have its default value. */
static bool were_given[MOST_OPTIONS];

bool cli_was_given(const char *name)
{
    const tess_option *option = NULL;
    for (int i = 0; i < MOST_OPTIONS && (option = tess_option_at(i)) != NULL; i++) {
        if (strcmp(option->name, name) == 0) { return were_given[i]; }
    }
    return false;
}

/* ---- values ---- */

void cli_refuse(struct argp_state *state, const char *format, ...)
{
    char text[TESS_OPTION_TEXT], spelled[2 * TESS_OPTION_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    argp_error(state, "%s", cli_spelled(text, spelled, sizeof spelled));
}

/* A text that is a file name has the tool's rules for one; a flag has no text. */
static const char *value_of(struct argp_state *state, const tess_option *option, const char *text)
{
    if (text == NULL) { return "1"; }
    return strcmp(option->type, "text") == 0 ? cli_parse_output(state, option->name, text) : text;
}

static error_t parse_method(int key, char *arg, struct argp_state *state)
{
    const tess_option *option = cli_option_of(key, TESS_OPTION_OF_SOLVE);
    if (option == NULL) { return ARGP_ERR_UNKNOWN; }
    cli_set_option(state, option->name, option->name, value_of(state, option, arg), state->input);
    if (key - FIRST_KEY < MOST_OPTIONS) { were_given[key - FIRST_KEY] = true; }
    return 0;
}

const struct argp cli_method_argp = {.options = tables[TESS_OPTION_OF_SOLVE], .parser = parse_method};

static error_t parse_precond(int key, char *arg, struct argp_state *state)
{
    char message[TESS_OPTION_TEXT];
    const tess_option *option = cli_option_of(key, TESS_OPTION_OF_PRECOND);
    tess_status status = TESS_SUCCESS;
    if (option == NULL) { return ARGP_ERR_UNKNOWN; }
    status =
        tess_precond_options_set(state->input, option->name, value_of(state, option, arg), message, sizeof message);
    if (status != TESS_SUCCESS) { cli_refuse(state, "%s", message); }
    return 0;
}

const struct argp cli_precond_argp = {.options = tables[TESS_OPTION_OF_PRECOND], .parser = parse_precond};
const struct argp cli_listed_precond_argp = {.options = tables[BESIDE_LISTS], .parser = parse_precond};

void cli_set_option(struct argp_state *state, const char *shown, const char *name, const char *text,
                    tess_solve_options *options)
{
    char message[TESS_OPTION_TEXT];
    const size_t length = strlen(name) + 2; /* the message begins with --NAME */
    if (tess_options_set(options, name, text, message, sizeof message) == TESS_SUCCESS) { return; }
    cli_refuse(state, "--%s%s", shown, message + (strlen(message) < length ? 0 : length));
}

/* ---- storage: what was given matters beside the values ---- */

void cli_storage_choice_init(cli_storage_choice *choice, tess_storage_options *options)
{
    *choice = (cli_storage_choice){.options = options};
    tess_papers_storage_init(&choice->papers);
    options->papers = &choice->papers;
}

/* Whether the word stands for a format by blocks, such as pbp. */
static bool is_shorthand(const char *word)
{
    for (int i = 0; i < tess_format_count(); i++) {
        const char *shorthand = tess_format_can(tess_format_at(i))->shorthand;
        if (shorthand != NULL && strcasecmp(shorthand, word) == 0) { return true; }
    }
    return false;
}

static void note_choice(const char *name, const char *text, cli_storage_choice *choice)
{
    if (strcmp(name, "format") == 0) {
        choice->assigns = false;
        choice->given = true;
        choice->shorthand = is_shorthand(text) ? text : NULL;
    } else if (strcmp(name, "policy") == 0) {
        choice->policy = text;
    }
}

static void set_storage(struct argp_state *state, const char *name, const char *text, cli_storage_choice *choice)
{
    char message[TESS_OPTION_TEXT];
    if (tess_storage_options_set(choice->options, name, text, message, sizeof message) != TESS_SUCCESS) {
        cli_refuse(state, "%s", message);
    }
}

/* A shorthand brings granularity, layout and, where none is given, the policy of its paper. */
static void complete_shorthand(struct argp_state *state, cli_storage_choice *choice)
{
    const tess_policy_options *policy = &choice->options->policy;
    const char *format = tess_format_name(choice->options->format);
    if (choice->shorthand == NULL) { return; }
    if (policy->granularity != TESS_GRANULARITY_BLOCK) {
        cli_refuse(state, "--granularity %s does not fit --format %s, which is %s by blocks",
                   tess_granularity_name(policy->granularity), choice->shorthand, format);
    }
    if (choice->papers.layout == TESS_LAYOUT_RESIDENT && cli_takes_papers(tess_format_can(choice->options->format))) {
        cli_refuse(state,
                   "--layout resident does not fit --format %s, which is %s with layout grouped; give --format %s",
                   choice->shorthand, format, format);
    }
    if (choice->policy != NULL) { set_storage(state, "policy", choice->policy, choice); }
}

/* Sets the format's granularity if none was given; the library judges one that was. Format auto without a granularity
   gets matrix, which leaves the choice open. */
static void complete_granularity(const cli_storage_choice *choice)
{
    tess_storage_options *options = choice->options;
    if (options->policy.granularity_given) { return; }
    if (options->format == TESS_FORMAT_AUTO) {
        options->policy.granularity = TESS_GRANULARITY_MATRIX;
    } else if (!choice->assigns) {
        cli_settle_granularity(options);
    }
}

static error_t parse_storage(int key, char *arg, struct argp_state *state)
{
    cli_storage_choice *choice = state->input;
    const tess_option *option = cli_option_of(key, TESS_OPTION_OF_STORAGE);
    if (key == ARGP_KEY_END) { /* after all options, so that their order does not matter */
        choice->chosen = choice->options->format == TESS_FORMAT_AUTO;
        complete_granularity(choice);
        complete_shorthand(state, choice);
        return 0;
    }
    if (option == NULL) { return ARGP_ERR_UNKNOWN; }
    set_storage(state, option->name, value_of(state, option, arg), choice);
    note_choice(option->name, arg, choice);
    return 0;
}

const struct argp cli_storage_argp = {.options = tables[TESS_OPTION_OF_STORAGE], .parser = parse_storage};

/* ---- help ---- */

/* Of CLI_LISTED: the help of that option, with that default. */
static void write_listed(FILE *to, const char *word)
{
    char name[32];
    const size_t length = strcspn(word, ":");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const tess_option *option = tess_option_find(name);
    const char *mark = option == NULL ? NULL : strstr(option->help, "(default ");
    if (mark == NULL || word[length] != ':') { return; }
    fprintf(to, "%.*s(default %s%s", (int)(mark - option->help), option->help, word + length + 1,
            mark + strcspn(mark, ")"));
}

/* What the tool has beside the lists of the library; false: it is one of those. */
static bool write_word(FILE *to, const char *word)
{
    char text[1024];
    const bool presets = strcmp(word, "presets") == 0;
    if (strncmp(word, "listed:", 7) == 0) {
        write_listed(to, word + 7);
    } else if (presets || strcmp(word, "preset-names") == 0) {
        fputs(cli_presets_text(presets, text, sizeof text), to);
    } else {
        return false;
    }
    return true;
}

const char *cli_fill_lists(const char *text, char *buffer, size_t size)
{
    char filled[2048] = "";
    FILE *to = fmemopen(filled, sizeof filled, "w");
    while (to != NULL && *text != '\0') {
        char word[64];
        const size_t plain = strcspn(text, "{"), length = strcspn(text + plain, "}");
        fprintf(to, "%.*s", (int)plain, text);
        text += plain;
        if (*text == '\0') { break; }
        snprintf(word, sizeof word, "%.*s", (int)length - 1, text + 1);
        if (!write_word(to, word)) { fprintf(to, "{%s}", word); }
        text += length + 1;
    }
    if (to != NULL) { fclose(to); }
    return tess_option_help(&(tess_option){.help = filled}, buffer, size);
}
