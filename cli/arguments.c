/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over the command line before argp: names of options, PETSc's synonyms, presets. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* Options of later versions, which are refused by name. */
static const char *const later_options[] = {"reduction"};

enum { NAME_LENGTH = 64, NAME_LIMIT = 128 };

typedef struct known_options {
    const char *names[NAME_LIMIT];
    bool takes_value[NAME_LIMIT];
    int count;
    const struct argp *argp; /* whose options these are */
} known_options;

static void collect_options(const struct argp *argp, known_options *known)
{
    for (const struct argp_option *o = argp->options; o != NULL && (o->name || o->key || o->doc || o->group); o++) {
        if (o->name == NULL || (o->flags & OPTION_DOC) != 0 || known->count >= NAME_LIMIT) { continue; }
        known->names[known->count] = o->name;
        known->takes_value[known->count++] = o->arg != NULL && (o->flags & OPTION_ARG_OPTIONAL) == 0;
    }
    for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++) {
        collect_options(c->argp, known);
    }
}

static const char *const standard_options[] = {"help", "usage", "version"};

static void add_standard_options(known_options *known)
{
    for (int i = 0; i < 3 && known->count < NAME_LIMIT; i++) {
        known->names[known->count] = standard_options[i];
        known->takes_value[known->count++] = false;
    }
}

/* --help, --usage and --version end the program. */
static void take_standard_option(const struct argp *argp, const char *program, const char *name)
{
    if (strcmp(name, "help") == 0) {
        cli_print_help(stdout, program, argp);
    } else if (strcmp(name, "usage") == 0) {
        cli_print_usage(stdout, program, argp);
    } else if (strcmp(name, "version") == 0) {
        cli_print_version(stdout);
    } else {
        return;
    }
    exit(cli_close_output(CLI_CONVERGED));
}

/* Index of an option by its name or an abbreviation of it, -1 when there is none. `other`, if not NULL, is a second
   option that the abbreviation may stand for, or -1. */
static int find_option(const known_options *known, const char *name, size_t length, int *other)
{
    int abbreviated = -1, second = -1;
    for (int i = 0; i < known->count && length > 0; i++) {
        if (strncmp(known->names[i], name, length) != 0) { continue; }
        if (strlen(known->names[i]) == length) {
            abbreviated = i;
            second = -1;
            break;
        }
        second = abbreviated;
        abbreviated = i;
    }
    if (other != NULL) { *other = second; }
    return abbreviated;
}

static int refuse_option(const known_options *known, const char *argument, size_t name_length)
{
    char name[NAME_LENGTH + 1];
    snprintf(name, sizeof name, "%.*s", (int)(name_length < NAME_LENGTH ? name_length : NAME_LENGTH), argument);
    for (size_t i = 0; i < sizeof later_options / sizeof later_options[0]; i++) {
        if (strcmp(later_options[i], name) == 0) {
            cli_error("option '--%s' is not available in this version of tessera", name);
            return CLI_USAGE;
        }
    }
    const char *nearest = tess_nearest_word(name, known->names, known->count);
    if (nearest != NULL) {
        cli_error("unknown option '--%s'; did you mean '--%s'?", name, nearest);
    } else {
        cli_error("unknown option '--%s'; --help lists the options", name);
    }
    return CLI_USAGE;
}

static int refuse_short(const known_options *known, const char *argument, bool solver_synonyms)
{
    int other = -1, long_one = find_option(known, argument + 1, strcspn(argument + 1, "="), &other);
    if (long_one >= 0 && other < 0) {
        cli_error("unknown option '%s'; did you mean '--%s'?", argument, known->names[long_one]);
        return CLI_USAGE;
    }
    if (other >= 0) {
        cli_error("unknown option '%s'; options that begin so are '--%s' and '--%s'", argument, known->names[other],
                  known->names[long_one]);
        return CLI_USAGE;
    }
    const char *nearest = solver_synonyms ? cli_nearest_petsc(argument) : NULL;
    if (nearest != NULL) {
        cli_error("unknown option '%s'; did you mean '%s'?", argument, nearest);
    } else {
        cli_error("unknown option '%s'; --help lists the options", argument);
    }
    return CLI_USAGE;
}

static void append(cli_arguments *out, char *argument)
{
    out->argv[out->argc++] = argument;
    out->argv[out->argc] = NULL;
}

/* A PETSc option at argv[*i], which is `ours` here; moves *i over its value. */
static int take_petsc(const known_options *known, const char *ours, int argc, char **argv, int *i, cli_arguments *out)
{
    if (ours != NULL && find_option(known, ours + 2, strlen(ours + 2), NULL) < 0) {
        cli_error("option '%s' (here '%s') is not available in this version of tessera", argv[*i], ours);
        return CLI_USAGE;
    }
    char *translated = NULL;
    int code = cli_translate_petsc(argc, argv, i, &translated);
    if (translated != NULL) {
        out->owned[out->owned_count++] = translated;
        append(out, translated);
    }
    return code;
}

/* A long option at argv[*i]; moves *i over its value. */
static int take_long(const known_options *known, int argc, char **argv, int *i, cli_arguments *out)
{
    const char *name = argv[*i] + 2;
    size_t length = strcspn(name, "=");
    int other = -1;
    int index = find_option(known, name, length, &other);
    if (index < 0) { return refuse_option(known, name, length); }
    if (other >= 0) {
        cli_error("option '%.*s' is ambiguous; it may be '--%s' or '--%s'", (int)length + 2, argv[*i],
                  known->names[other], known->names[index]);
        return CLI_USAGE;
    }
    take_standard_option(known->argp, argv[0], known->names[index]);
    append(out, argv[*i]);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (value == NULL && known->takes_value[index] && *i + 1 < argc) {
        value = argv[++*i];
        if (strncmp(value, "--", 2) == 0) {
            cli_error("option '--%s' requires an argument, but '%s' follows (write --%s=%s if you mean it)",
                      known->names[index], value, known->names[index], value);
            return CLI_USAGE;
        }
        append(out, argv[*i]);
    }
    bool is_preset = strcmp(known->names[index], "preset") == 0;
    return is_preset && value != NULL ? cli_find_preset(value, &out->preset) : 0;
}

/* Puts the expansion first, so that the user's own options override it. */
static bool insert_preset(cli_arguments *out)
{
    int added = 0;
    while (out->preset->options[added] != NULL) {
        added++;
    }
    memmove(out->argv + 1 + added, out->argv + 1, (size_t)out->argc * sizeof *out->argv);
    out->argc += added;
    for (int i = 0; i < added; i++) {
        char *copy = strdup(out->preset->options[i]);
        out->argv[1 + i] = copy;
        if (copy == NULL) { return false; }
        out->owned[out->owned_count++] = copy;
    }
    return true;
}

/* A file, or a word of a model problem. */
static int take_word(char *word, cli_arguments *out)
{
    if (word[0] == '\0') {
        cli_error("an argument is empty; name a file, or a model problem");
        return CLI_USAGE;
    }
    append(out, word);
    return 0;
}

static int take_arguments(const known_options *known, int argc, char **argv, bool solver_synonyms, cli_arguments *out)
{
    append(out, argv[0]);
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        const char *ours = NULL;
        int code = 0;
        if (strcmp(argument, "--") == 0) {
            append(out, argv[i]);
            while (code == 0 && ++i < argc) {
                code = take_word(argv[i], out);
            }
        } else if (strncmp(argument, "--", 2) == 0) {
            code = take_long(known, argc, argv, &i, out);
        } else if (solver_synonyms && cli_is_petsc(argument, &ours)) {
            code = take_petsc(known, ours, argc, argv, &i, out);
        } else if (strcmp(argument, "-?") == 0 || strcmp(argument, "-V") == 0) {
            take_standard_option(known->argp, argv[0], argument[1] == 'V' ? "version" : "help");
        } else if (argument[0] == '-' && argument[1] != '\0') {
            code = refuse_short(known, argument, solver_synonyms);
        } else {
            code = take_word(argv[i], out);
        }
        if (code != 0) { return code; }
    }
    if (out->preset != NULL && !insert_preset(out)) { return CLI_DEVICE; }
    return 0;
}

int cli_arguments_prepare(const struct argp *argp, int argc, char **argv, bool solver_synonyms, cli_arguments *out)
{
    enum { WORKSPACE = 16 }; /* for a preset's expansion and the closing NULL */
    known_options known = {.count = 0, .argp = argp};
    collect_options(argp, &known);
    add_standard_options(&known);
    *out = (cli_arguments){.argv = calloc((size_t)argc + WORKSPACE, sizeof(char *)),
                           .owned = calloc((size_t)argc + WORKSPACE, sizeof(char *))};
    int code = CLI_DEVICE;
    if (out->argv != NULL && out->owned != NULL) { code = take_arguments(&known, argc, argv, solver_synonyms, out); }
    if (code == CLI_DEVICE) { cli_error("there is no memory for the command line"); }
    if (code != 0) { cli_arguments_free(out); }
    return code;
}

void cli_arguments_parse(const struct argp *argp, const cli_arguments *arguments, void *input)
{
    argp_parse(argp, arguments->argc, arguments->argv, ARGP_NO_HELP, NULL, input);
}

void cli_arguments_free(cli_arguments *arguments)
{
    for (int i = 0; i < arguments->owned_count; i++) {
        free(arguments->owned[i]);
    }
    free(arguments->owned);
    free(arguments->argv);
    *arguments = (cli_arguments){.argc = 0};
}

char *cli_quote_command(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) {
        cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
        return NULL;
    }
    fputs(argv[0], to); /* "tessera solve" */
    for (int i = 1; i < argc; i++) {
        fputc(' ', to);
        cli_write_quoted(to, argv[i]);
    }
    if (fclose(to) == 0) { return text; }
    free(text);
    cli_report_failure(NULL, TESS_OUT_OF_MEMORY);
    return NULL;
}
