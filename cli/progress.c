/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a solve on stderr, and the log. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_progress_init(cli_progress *progress)
{
    *progress = (cli_progress){.terminal = isatty(STDERR_FILENO) == 1};
}

/* Earlier than this nothing can be told from the residuals. */
static const double first_estimate = 0.5;

/* Seconds left, from the mean rate at which the residual's logarithm fell so far; the limits of iterations and of time
   cap it. */
static double estimate_left(const cli_progress *progress, const tess_progress *state)
{
    double by_limit = INFINITY, by_residual = INFINITY;
    if (state->residual_norm <= state->tolerance) { return 0.0; } /* it is verified next */
    if (state->elapsed_seconds < first_estimate) { return INFINITY; }
    const double by_budget = progress->budget > 0.0 ? progress->budget - state->elapsed_seconds : INFINITY;
    if (state->iteration > 0) {
        double per_iteration = state->elapsed_seconds / (double)state->iteration;
        by_limit = per_iteration * (double)(progress->max_iterations - state->iteration);
    }
    double done = log(progress->first_residual / state->residual_norm);
    double whole = log(progress->first_residual / state->tolerance);
    if (isfinite(done) && isfinite(whole) && done > 0.0 && whole > done) {
        by_residual = state->elapsed_seconds * (whole - done) / done;
    }
    return fmax(0.0, fmin(by_budget, fmin(by_limit, by_residual)));
}

static void print_line(cli_progress *progress, const tess_progress *state)
{
    char left[32] = "";
    double seconds = estimate_left(progress, state);
    if (isfinite(seconds)) { snprintf(left, sizeof left, ", about %.0f s left", ceil(seconds)); }
    fprintf(stderr, "\r\033[K%s%siteration %lld, residual %.3e (stops at %.3e)%s",
            progress->label == NULL ? "" : progress->label, progress->label == NULL ? "" : ": ",
            (long long)state->iteration, state->residual_norm, state->tolerance, left);
    fflush(stderr);
    progress->line_open = true;
}

int cli_progress_monitor(void *user, const tess_progress *state)
{
    cli_progress *progress = user;
    if (progress->first_residual == 0.0) { progress->first_residual = state->residual_norm; }
    if (progress->every) {
        double scale = progress->rhs_norm > 0.0 ? progress->rhs_norm : 1.0;
        fprintf(stderr, "%8lld  residual %.12e  relative %.12e\n", (long long)state->iteration, state->residual_norm,
                state->residual_norm / scale);
    } else if (progress->terminal && state->elapsed_seconds >= progress->next_seconds) {
        progress->next_seconds = state->elapsed_seconds + 0.1;
        print_line(progress, state);
    }
    return cli_interrupt_monitor(NULL, state);
}

void cli_progress_begin(cli_progress *progress, const char *label)
{
    progress->label = label;
    progress->first_residual = 0.0;
    progress->next_seconds = 0.0;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->line_open) { fputs("\r\033[K", stderr); }
    progress->line_open = false;
}

void cli_log(void *user, tess_log_level level, const char *message)
{
    static const char *const names[] = {"", "warning: ", "", "debug: "};
    if (user != NULL) { cli_progress_end(user); }
    bool named = level >= TESS_LOG_NONE && level <= TESS_LOG_DEBUG;
    fprintf(stderr, "tessera: %s", named ? names[level] : "");
    cli_write_shown(stderr, message, false);
    fputc('\n', stderr);
}

tess_log_level cli_log_level(void)
{
    const char *text = getenv("TESSERA_LOG");
    if (text == NULL || text[0] == '\0' || strcmp(text, "warn") == 0) { return TESS_LOG_WARN; }
    if (strcmp(text, "info") == 0) { return TESS_LOG_INFO; }
    if (strcmp(text, "debug") == 0) { return TESS_LOG_DEBUG; }
    cli_error("warning: TESSERA_LOG is '%s'; it takes debug, info or warn (warn is used)", text);
    return TESS_LOG_WARN;
}
