/* SPDX-License-Identifier: Apache-2.0 */
/* The command line before argp sees it. */
#ifndef TESS_CLI_ARGUMENTS_H
#define TESS_CLI_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- arguments.c: what happens before argp sees the command line ---- */

typedef struct cli_preset {
    const char *name;
    const char *options[13]; /* the full expansion, ended by NULL */
} cli_preset;

typedef struct cli_arguments {
    int argc;
    char **argv; /* owned, and so are the strings listed in `owned` */
    char **owned;
    int owned_count;
    const cli_preset *preset; /* NULL: no preset */
} cli_arguments;

/*
 * Checks every option's name against `argp` (with the nearest name in the message), refuses those of later versions,
 * and, with `solver_synonyms`, translates PETSc's names and expands --preset. --help, --usage and --version print and
 * end the program. Returns 0 or CLI_USAGE, message printed.
 */
int cli_arguments_prepare(const struct argp *argp, int argc, char **argv, bool solver_synonyms, cli_arguments *out);
/* Calls argp, whose own --help is off. */
void cli_arguments_parse(const struct argp *argp, const cli_arguments *arguments, void *input);
void cli_arguments_free(cli_arguments *arguments);
/* ---- presets.c ---- */

/* An exit code, message printed, if there is none of that name. */
int cli_find_preset(const char *name, const cli_preset **out);
/* "yang, tezcan-jacobi or loe", or each on a line of its own with the options that it stands for. */
const char *cli_presets_text(bool expanded, char *buffer, size_t size);
/* The preset whose expansion begins these arguments and gives the option, which the caller does not; NULL: none. */
const char *cli_preset_of(const char *option, int argc, char **argv);

/* ---- petsc.c: PETSc's names of options ---- */

/* Whether it is one of them, perhaps with =VALUE; *ours is the option here, NULL if it is accepted without effect. */
bool cli_is_petsc(const char *argument, const char **ours);
const char *cli_nearest_petsc(const char *argument); /* NULL: none is near */
/* What stands for the one at argv[*i] here, which the caller frees; NULL if nothing does. Moves *i over its value.
   Returns an exit code, message printed but for memory. */
int cli_translate_petsc(int argc, char **argv, int *i, char **translated);
/* A message with the options that it names as the caller wrote them; written into `buffer`. */
const char *cli_spelled(const char *text, char *buffer, size_t size);

#endif
