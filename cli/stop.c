/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a long run early, and lets it go on: signals, --time-limit, --checkpoint and --resume. */
#include "cli.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- signals ---- */

#define REPEAT_SECONDS 0.5

static volatile sig_atomic_t interrupted; /* int on all systems here */
static double interrupted_at;             /* of the first signal; only the handler, which blocks others, reads it */

/* A second signal ends the program, unless it comes at once: timeout(1) sends each signal to the program and again to
 * its process group. */
static void note_interrupt(int number)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (interrupted == 0) {
        interrupted = 1;
        interrupted_at = seconds;
    } else if (seconds - interrupted_at > REPEAT_SECONDS) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

void cli_interrupt_on(tess_context *ctx)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_interrupt}, found;
    (void)sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        /* what the shell, or nohup, wants ignored stays so */
        if (sigaction(numbers[i], NULL, &found) == 0 && found.sa_handler == SIG_IGN) { continue; }
        sigaction(numbers[i], &action, NULL);
    }
    (void)tess_context_set_interrupt(ctx, &interrupted);
}

bool cli_is_interrupted(void)
{
    return interrupted != 0;
}

int cli_interrupt_monitor(void *user, const tess_progress *progress)
{
    (void)user;
    (void)progress;
    return interrupted != 0 ? (int)TESS_REASON_INTERRUPTED : 0;
}

/* ---- options ---- */

enum { KEY_TIME_LIMIT = 800, KEY_CHECKPOINT, KEY_CHECKPOINT_EVERY, KEY_RESUME };

static error_t parse_stop(int key, char *arg, struct argp_state *state)
{
    cli_stop_options *options = state->input;
    switch (key) {
    case KEY_TIME_LIMIT:
        options->time_limit = strcmp(arg, "auto") == 0 ? 0.0 : cli_parse_real(state, "time-limit", arg, DBL_MIN, 1e9);
        return 0;
    case KEY_CHECKPOINT: options->checkpoint = cli_parse_output(state, "checkpoint", arg); return 0;
    case KEY_CHECKPOINT_EVERY: options->every = cli_parse_real(state, "checkpoint-every", arg, 0.001, 1e9); return 0;
    case KEY_RESUME: options->resume = cli_parse_input(state, "resume", arg); return 0;
    case ARGP_KEY_END:
        if (options->every > 0.0 && options->checkpoint == NULL) {
            argp_error(state, "--checkpoint-every needs --checkpoint");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option stop_options[] = {
    {"time-limit", KEY_TIME_LIMIT, "S", 0,
     "end after S seconds of the whole command, with the best x so far (default auto: no limit)",
     TESS_SECTION_STOPPING + 1},
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0,
     "write x to FILE now and then and at the end, for --resume (default: none)", TESS_SECTION_OUTPUT + 2},
    {"checkpoint-every", KEY_CHECKPOINT_EVERY, "S", 0, "seconds between checkpoints (default 900)",
     TESS_SECTION_OUTPUT + 2},
    {"resume", KEY_RESUME, "FILE", 0, "go on from the checkpoint in FILE, of the same matrix (default: none)",
     TESS_SECTION_OUTPUT + 2},
    {0}};
const struct argp cli_stop_argp = {.options = stop_options, .parser = parse_stop};

/* ---- a run in pieces ---- */

#define DEFAULT_EVERY 900.0
/* A limit that is over already still lets a run begin, so that there is a result. */
#define LEAST_SECONDS 1e-9

double cli_seconds_left(const cli_session *session)
{
    const double limit = session->options->time_limit;
    return limit > 0.0 ? fmax(limit - (cli_seconds() - session->start), LEAST_SECONDS) : 0.0;
}

double cli_piece_seconds(const cli_session *session)
{
    const cli_stop_options *o = session->options;
    const double every = o->every > 0.0 ? o->every : DEFAULT_EVERY;
    const double left = o->time_limit > 0.0 ? cli_seconds_left(session) : INFINITY;
    const double piece = o->checkpoint != NULL ? fmin(every, left) : left;
    return isinf(piece) ? 0.0 : piece;
}

tess_reason cli_reason_of_end(const cli_session *session, tess_reason reason)
{
    const cli_stop_options *o = session->options;
    const bool over = o->time_limit > 0.0 && cli_seconds() - session->start >= o->time_limit;
    return reason == TESS_REASON_TIME_LIMIT && !over && cli_is_interrupted() ? TESS_REASON_INTERRUPTED : reason;
}

bool cli_goes_on(const cli_session *session, tess_reason reason)
{
    const cli_stop_options *o = session->options;
    const bool over = o->time_limit > 0.0 && cli_seconds() - session->start >= o->time_limit;
    return reason == TESS_REASON_TIME_LIMIT && o->checkpoint != NULL && !over && !cli_is_interrupted();
}

/* Refuses the checkpoint of another system. Other options are allowed where x is only an initial guess. */
static int compare_facts(cli_session *session, const tess_checkpoint *found, bool same_options)
{
    const char *path = session->options->resume;
    if (found->matrix != session->facts.matrix || found->rhs != session->facts.rhs) {
        cli_error("%s: the checkpoint belongs to another %s", path,
                  found->matrix != session->facts.matrix ? "matrix" : "right-hand side");
        return CLI_INPUT;
    }
    if (found->options != session->facts.options && same_options) {
        cli_error("%s: the checkpoint was made with other options, which change what the steps compute", path);
        return CLI_INPUT;
    }
    if (found->options != session->facts.options) { cli_error("%s: the options have changed since then", path); }
    session->facts.iterations = found->iterations;
    session->facts.seconds = found->seconds;
    session->before = found->iterations;
    return CLI_CONVERGED;
}

int cli_session_begin(cli_session *session, const tess_matrix *a, const tess_vector *b, const char *options)
{
    tess_checkpoint_init(&session->facts);
    if (session->options->checkpoint == NULL && session->options->resume == NULL) { return CLI_CONVERGED; }
    session->facts.options = tess_fingerprint(0, options, strlen(options));
    tess_status status = tess_matrix_fingerprint(a, &session->facts.matrix);
    if (status == TESS_SUCCESS && b != NULL) { status = tess_vector_fingerprint(b, &session->facts.rhs); }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_matrix_context(a), status);
}

int cli_resume(cli_session *session, tess_context *ctx, int64_t n, bool same_options, tess_vector **x)
{
    tess_checkpoint found;
    tess_checkpoint_init(&found);
    tess_status status = tess_checkpoint_read(ctx, session->options->resume, &found, x);
    if (status != TESS_SUCCESS) { return cli_report_failure(ctx, status); }
    if (tess_vector_size(*x) != n) {
        cli_error("%s: the checkpoint has %s, but the matrix needs %lld", session->options->resume,
                  tess_count(tess_vector_size(*x), "value").text, (long long)n);
        return CLI_INPUT;
    }
    return compare_facts(session, &found, same_options);
}

void cli_session_save(cli_session *session, const tess_vector *x, int64_t iterations, double seconds)
{
    session->facts.iterations += iterations;
    session->facts.seconds += seconds;
    if (session->options->checkpoint == NULL || session->failed != 0) { return; }
    tess_status status = tess_checkpoint_write(x, &session->facts, session->options->checkpoint);
    if (status != TESS_SUCCESS) { session->failed = cli_report_failure(tess_vector_context(x), status); }
}

void cli_session_add_json(json_t *root, const cli_session *session)
{
    const cli_stop_options *o = session->options;
    json_object_set_new(root, "time_limit", o->time_limit > 0.0 ? json_real(o->time_limit) : json_null());
    json_object_set_new(root, "checkpoint", o->checkpoint == NULL ? json_null() : cli_json_text(o->checkpoint));
    json_object_set_new(root, "resumed_from", o->resume == NULL ? json_null() : cli_json_text(o->resume));
    json_object_set_new(root, "iterations_before", json_integer(session->before));
}
