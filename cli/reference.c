/* SPDX-License-Identifier: Apache-2.0 */
/* docs/reference/options.md, made of the library's list: tessera --reference. A test compares the two. */
#include "help.h"

#include <string.h>

/* ---- what a value may be ---- */

static void print_words(FILE *to, const char *words)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, "|");
        fprintf(to, "`%.*s`%s", (int)length, words, words[length] == '|' ? " " : "");
        words += length + (words[length] == '|');
    }
}

static void print_names(FILE *to, const char *type)
{
    const char *words[CLI_MAX_NAMES];
    const int count = cli_list_names(type, words);
    for (int i = 0; i < count; i++) {
        fprintf(to, "%s`%s`", i == 0 ? "" : " ", words[i]);
    }
}

static void print_range(FILE *to, const tess_option *option)
{
    char range[96];
    fputs(tess_range_text(option->low, option->high, range, sizeof range), to);
    if (strcmp(option->standard, "auto") == 0) { fputs(", `auto`", to); }
}

static void print_values(FILE *to, const tess_option *option)
{
    static const struct {
        const char *type, *enumeration, *more;
    } types[] = {{"solver", "tess_solver_kind", " `idr:S`"},
                 {"triangular", "tess_triangular", " `sweeps:K`"},
                 {"factorization", "tess_factorization", " `sweeps:N`"},
                 {"precond", "tess_precond_kind", " [with parameters](preconditioners.md)"},
                 {"precision", "tess_precision", ""},
                 {"precisions", "tess_amg_precision", ", or a list by level"},
                 {"name", NULL, ""},
                 {"role", NULL, "`STORAGE` or `STORAGE/ARITHMETIC`"},
                 {"schedule", NULL, "precisions and `mixed`, each perhaps with `:N`"},
                 {"policy", NULL, "[a policy](policies.md), perhaps with `:PARAMETER`"},
                 {"levels", NULL, "up to 4 precisions, high to low"},
                 {"base", NULL, "formats `HIGH` or `HIGH,LOW`, `auto`"},
                 {"thresholds", NULL, "three numbers `D,TL,TU`"},
                 {"accuracy", NULL, "`E` or `backward:E`, 0 < E < 1"},
                 {"bytes", NULL, "bytes such as `500M`, `auto`"},
                 {"seed", NULL, "0 to 2^64 - 1"},
                 {"share", NULL, "percent, `at-most-one`"},
                 {"text", NULL, "a file"},
                 {"flag", NULL, "`1` `0`; here without a value"}};
    const bool names_auto = strcmp(option->name, "inner-precision") == 0 || strcmp(option->name, "reorder") == 0;
    const char *word = names_auto ? ", `auto`" : strcmp(option->name, "precond-precision") == 0 ? ", `adaptive`" : "";
    if (option->words != NULL) {
        print_words(to, option->words);
    } else if (strncmp(option->type, "tess_", 5) == 0) {
        print_names(to, option->type);
    } else if (strcmp(option->type, "integer") == 0 || strcmp(option->type, "real") == 0) {
        print_range(to, option);
    }
    for (size_t i = 0; option->words == NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].type, option->type) != 0) { continue; }
        if (types[i].enumeration != NULL) { print_names(to, types[i].enumeration); }
        fputs(types[i].more, to);
    }
    fputs(word, to);
}

/* ---- the page ---- */

static void print_code(FILE *to, const char *text)
{
    fprintf(to, " | %s%s%s", text[0] == '\0' ? "" : "`", text, text[0] == '\0' ? "" : "`");
}

static void print_row(FILE *to, const tess_option *option)
{
    char petsc[96];
    const bool ours = option->section != TESS_SECTION_NONE;
    fprintf(to, "| `%s%s` | ", ours ? "--" : "", option->name);
    print_values(to, option);
    print_code(to, option->standard);
    print_code(to, option->needs);
    print_code(to, tess_option_petsc(option, petsc, sizeof petsc));
    print_code(to, option->path);
    fputs(" |\n", to);
}

static void print_rows(FILE *to, int section)
{
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if (option->section == section) { print_row(to, option); }
    }
}

/* A part of the help, whose numbers order its options. */
static void print_part(FILE *to, int section, const char *title)
{
    fprintf(to, "\n## %.*s\n\n", (int)strcspn(title, ",:"), title);
    fputs("| option | values | default | for | PETSc | field |\n| --- | --- | --- | --- | --- | --- |\n", to);
    for (int k = 0; k < 10; k++) {
        print_rows(to, section + k);
    }
}

void cli_print_reference(FILE *stream)
{
    fputs(
        "# Options of a solve\n\n"
        "**When to use it.** You look for the option of what you want, or for what an option takes.\n\n"
        "Each option has one name, one set of values and one default on the command line, in Python, in C and in "
        "PETSc.\n"
        "`tessera solve --help` [explains them](command-line.md). `tessera --reference` prints this page.\n\n"
        "- *default*: empty means none. `auto` leaves a number to the library.\n"
        "- *for*: with another method or preconditioner the option would do nothing, and is refused. Empty: it always "
        "fits.\n"
        "- *field*: its place in `tess_solve_options`. `tess_options_set` of `tessera/options.h` takes it as well as "
        "the name.\n",
        stream);
    for (int section = TESS_SECTION_MAIN; section <= TESS_SECTION_PAPERS; section += 10) {
        if (section != TESS_SECTION_DEVICE) { print_part(stream, section, cli_group_title(section)); }
    }
    print_part(stream, TESS_SECTION_NONE, "Not on the command line");
}
