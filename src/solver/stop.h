/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a solve from outside: the caller's monitor and check, and the limit of time. */
#ifndef TESS_SOLVER_STOP_H
#define TESS_SOLVER_STOP_H

#include <stdbool.h>

#include <tessera/solver.h>

typedef struct solve_stop {
    tess_monitor monitor; /* the caller's; may be NULL */
    void *user;
    const tess_context *ctx; /* whose check ends it (tess_context_set_interrupt_check) */
    double start, limit;     /* seconds; a limit of 0 is none */
    tess_reason reason;      /* RUNNING until something asks for the end, then why */
} solve_stop;

/* Puts itself in the monitor's place in `options`, if there is anything to watch. */
void stop_begin(solve_stop *stop, const tess_context *ctx, tess_solve_options *options);
/* Whether there is. A GPU is faster without a monitor: the caller's check alone is no reason for one. */
bool stop_is_watching(const solve_stop *stop);
/* Puts the monitor back. */
void stop_end(const solve_stop *stop, tess_solve_options *options);
/* What a loop that was cancelled ended for. */
tess_reason stop_reason(const solve_stop *stop, tess_reason reason);
/* Whether to go on, outside of a loop; for time steps. */
bool stop_asked(solve_stop *stop, const tess_progress *progress);
/* Whether a reason is one of those that end a solve from outside. */
bool reason_is_a_stop(tess_reason reason);

#endif
