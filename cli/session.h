/* SPDX-License-Identifier: Apache-2.0 */
/* Long runs: signals, limits, checkpoints, pieces, and the memory that they take. */
#ifndef TESS_CLI_SESSION_H
#define TESS_CLI_SESSION_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <tessera/tessera.h>

/* ---- stop.c: signals, the time limit, checkpoints ---- */

/* From now on SIGINT, SIGTERM and SIGHUP ask the monitor and set-ups in ctx to stop. One that comes more than half a
 * second after the first ends the program. */
void cli_interrupt_on(tess_context *ctx);
bool cli_is_interrupted(void);
/* A tess_monitor that stops after a signal. */
int cli_interrupt_monitor(void *user, const tess_progress *progress);

typedef struct cli_stop_options {
    double time_limit;               /* seconds of the command; 0: none */
    const char *checkpoint, *resume; /* NULL: none */
    double every;                    /* seconds between checkpoints; 0: the default */
} cli_stop_options;
extern const struct argp cli_stop_argp; /* --time-limit --checkpoint --checkpoint-every --resume */

/* A run in pieces, with a checkpoint after each. */
typedef struct cli_session {
    const cli_stop_options *options;
    double start;          /* of the command, by cli_seconds */
    tess_checkpoint facts; /* what checkpoints say so far */
    int64_t before;        /* iterations, or steps, of the runs before this one */
    int failed;            /* an exit code: a checkpoint could not be written */
} cli_session;
/* Fingerprints of the matrix, of b (NULL: none) and of the options as text. Returns an exit code, message printed. */
int cli_session_begin(cli_session *session, const tess_matrix *a, const tess_vector *b, const char *options);
/* x of the checkpoint, which must be of the same system, and with `same_options` of the same options. */
int cli_resume(cli_session *session, tess_context *ctx, int64_t n, bool same_options, tess_vector **x);
double cli_seconds_left(const cli_session *session);  /* of the command; 0: no limit */
double cli_piece_seconds(const cli_session *session); /* the limit of the next piece; 0: none */
bool cli_goes_on(const cli_session *session, tess_reason reason);
/* Why all pieces end, from the reason of the last: a signal between two of them counts, not the limit of a piece. */
tess_reason cli_reason_of_end(const cli_session *session, tess_reason reason);
/* Adds to the facts and writes a checkpoint, if one is asked for. */
void cli_session_save(cli_session *session, const tess_vector *x, int64_t iterations, double seconds);
void cli_session_add_json(json_t *root, const cli_session *session);

/* ---- estimate.c ---- */

typedef struct cli_solve_estimate {
    tess_solve_estimate parts;
    char precond[64]; /* with its parameters */
} cli_solve_estimate;

/* With solver auto the first attempt of the advice; *estimated is false where it has none. Returns an exit code,
   message printed. */
int cli_estimate_solve(const tess_matrix *a, const tess_advice *advice, const tess_solve_options *request,
                       int64_t columns, cli_solve_estimate *estimate, bool *estimated);
void cli_print_estimate(const cli_solve_estimate *estimate, int64_t columns,
                        const tess_advice *advice); /* NULL: there is none */
json_t *cli_estimate_json(const cli_solve_estimate *estimate, int64_t columns);

/* ---- pieces.c ---- */

typedef struct cli_solve_pieces {
    tess_solve_result result; /* of all pieces */
    double *history;          /* owned; NULL: the solver's */
    int64_t length;
    tess_status status; /* of the last call */
} cli_solve_pieces;
/* Whether the limit of time was too short for the set-up: the last error says more. */
bool cli_setup_timed_out(const tess_context *ctx, const tess_solve_result *result);
/* Returns an exit code, message printed but for TESS_SINGULAR. */
int cli_solve_in_pieces(tess_solver *solver, const tess_solve_options *asked, cli_session *session,
                        const tess_vector *b, tess_vector *x, cli_solve_pieces *all);

#endif
