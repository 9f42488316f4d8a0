/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the library's list (tessera/options.h) on the command line: tables of argp, values, JSON, commands. */
#ifndef TESS_CLI_OPTIONS_H
#define TESS_CLI_OPTIONS_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include <tessera/options.h>
#include <tessera/tessera.h>

/* ---- options.c: parsing ---- */

/* Fills the tables below from the list. Call it first in main(). */
void cli_options_init(void);
/* Of a solve but for preconditioner and storage; input: tess_solve_options, whose `papers` are set. */
extern const struct argp cli_method_argp;
extern const struct argp cli_precond_argp; /* input: tess_precond_options */
/* The same without --precond and --precond-precision, which lists of compare have. */
extern const struct argp cli_listed_precond_argp;
/* An option of the list whose key this is, as the tables have it, and of that scope; else NULL. */
const tess_option *cli_option_of(int key, int scope);
/* Whether the command line or a preset gives an option of a solve, which may be its default. */
bool cli_was_given(const char *name);
/* Takes a text as the value of an option of the list, for an option of the command line called `shown`. A bad value
   ends the program (exit 2). */
void cli_set_option(struct argp_state *state, const char *shown, const char *name, const char *text,
                    tess_solve_options *options);
/* argp_error, which ends the program, with options as the caller wrote them. */
void cli_refuse(struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In place of the help of the list, in a row with OPTION_DOC: the same with another default. */
#define CLI_LISTED(name, standard) "{listed:" name ":" standard "}"
/* A text of help with lists in place of its {WORDS}: the library's, those of presets, CLI_LISTED. */
const char *cli_fill_lists(const char *text, char *buffer, size_t size);

/* ---- options_report.c: as JSON, and in commands ---- */

/* Adds the options of a scope to an object: numbers, texts, flags; null: none is given, or auto for a number. */
void cli_add_options_json(json_t *object, const tess_solve_options *options, int scope);
/* " --NAME VALUE", with files quoted. */
void cli_write_option(FILE *to, const tess_solve_options *options, const tess_option *option);
/* The same for all of a scope that have another value than by default. */
void cli_write_options(FILE *to, const tess_solve_options *options, int scope);
/* The value of an option as text; uses `buffer`, and is cut where it is too small. */
const char *cli_value_text(const tess_solve_options *options, const char *name, char *buffer, size_t size);

#endif
