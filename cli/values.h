/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options. */
#ifndef TESS_CLI_VALUES_H
#define TESS_CLI_VALUES_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <tessera/papers.h>
#include <tessera/tessera.h>

/* ---- values.c: values of options that only the tool has; on a bad one they end the program through argp_error (exit
 * 2) ---- */

double cli_parse_real(struct argp_state *state, const char *option, const char *text, double low, double high);
int64_t cli_parse_integer(struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high);
uint64_t cli_parse_seed(struct argp_state *state, const char *option, const char *text);
/* The option --seed. */
typedef struct cli_seed {
    uint64_t value;
    bool given;
} cli_seed;
/* Index of `text` in the list `available`, which ends with NULL. */
int cli_parse_word(struct argp_state *state, const char *option, const char *text, const char *const *available);
/* Lists the names of a public enum that an option may have, ended by NULL; returns their number. CLI_MAX_NAMES are
   enough for any enum. */
enum { CLI_MAX_NAMES = 32 };
int cli_list_names(const char *type, const char **words);
/* The name of an output file. Refuses an empty name, and "-", which only the JSON report takes. */
const char *cli_parse_output(struct argp_state *state, const char *option, const char *text);
/* The name of an input file, or - for standard input. Refuses an empty name. */
const char *cli_parse_input(struct argp_state *state, const char *option, const char *text);
/* The argument MATRIX, of which a command takes one; NULL: none was given. */
void cli_take_matrix(struct argp_state *state, const char *argument, const char **matrix);
/* STORAGE/ARITHMETIC */
const char *cli_role_text(const tess_role_precision *role, char *buffer, size_t size);
json_t *cli_role_json(const tess_role_precision *role); /* null where it is not given */
/* "fp32:20,mixed,fp64"; written into `buffer`, cut off where it is too small */
enum { CLI_SCHEDULE_TEXT = 256 };
const char *cli_schedule_text(const tess_precision_schedule *schedule, char *buffer, size_t size);
/* Whether a step takes the precisions that a policy chose. */
bool cli_has_mixed(const tess_precision_schedule *schedule);

/* A vector named on the command line. */
typedef enum cli_vector_source {
    CLI_VECTOR_ONES,
    CLI_VECTOR_A_TIMES_ONES,
    CLI_VECTOR_A_TIMES_RAMP, /* A x with x_i = i / n, i from 1 */
    CLI_VECTOR_RANDOM,       /* in (-1, 1) */
    CLI_VECTOR_UNIFORM,      /* in (0, 1) */
    CLI_VECTOR_FILE
} cli_vector_source;

typedef struct cli_vector_choice {
    cli_vector_source source;
    uint64_t seed;
    bool seeded; /* a seed was given after the colon */
    const char *path;
} cli_vector_choice;
cli_vector_choice cli_parse_vector(struct argp_state *state, const char *option, const char *text, bool a_times_ones);
/* Gives --seed to a vector at random that has none of its own. */
void cli_take_seed(const cli_seed *seed, cli_vector_choice *choice);
/* Refuses --seed where no vector reads it. `other`: NULL, or a second one. */
void cli_check_seed(struct argp_state *state, const cli_seed *seed, const char *options,
                    const cli_vector_choice *choice, const cli_vector_choice *other);
/* "ones", "random:7", the path, ...; written into `buffer` */
const char *cli_vector_describe(const cli_vector_choice *choice, char *buffer, size_t size);
/* " --rhs NAME" for a command that repeats a solve; "" for ones, the default. */
const char *cli_rhs_option(const cli_vector_choice *rhs, char *buffer, size_t size);

#endif
