/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the scalar updates of all methods: the end of an iteration and its tests. */
#ifndef TESS_DEVICE_ITERATION_END_H
#define TESS_DEVICE_ITERATION_END_H

#include <math.h>

#include <tessera/reason.h>

#include "base/bits.h"
#include "base/loop_state.h"
#include <tessera/export.h>

/* True for all numbers but NaN and Inf; x - x is 0 exactly for finite x (compiled without -ffast-math). */
TESS_HD int scalar_is_finite(double x)
{
    return x - x == 0.0;
}

/* sqrt(x^2 + y^2) without overflow; hypot is not the same on every device. */
TESS_HD double scalar_length(double x, double y)
{
    double large = fabs(x) > fabs(y) ? fabs(x) : fabs(y), small = fabs(x) > fabs(y) ? fabs(y) : fabs(x);

    if (large == 0.0) { return 0.0; }
    small /= large;
    return large * sqrt(1.0 + small * small);
}

TESS_HD void loop_stop(tess_loop_state *s, int phase, tess_reason reason)
{
    s->phase = phase;
    s->reason = (int32_t)reason;
}

TESS_HD void loop_record(tess_loop_state *s)
{
    if (s->history && s->iteration < s->history_capacity) { s->history[s->iteration] = s->scale * s->residual_norm; }
}

/* In one word: the stall limit, the iterations without progress so far, and the lowest leading exponent of the residual
   norm. One word, because a single kernel keeps the state in registers and has none to spare. Exponents are compared by
   their last bits. */
enum { WATCH_COUNT_BITS = 11, WATCH_COUNT = (1 << WATCH_COUNT_BITS) - 1, WATCH_EXPONENT = (1 << 10) - 1 };

TESS_HD uint32_t stall_watch(uint32_t stall_limit, uint32_t waited, uint32_t exponent)
{
    return stall_limit | waited << WATCH_COUNT_BITS | (exponent & WATCH_EXPONENT) << (2 * WATCH_COUNT_BITS);
}

/* Whether the residual norm has not fallen below another power of two for too many iterations. It need not fall in each
   iteration. */
TESS_HD int loop_stalls(tess_loop_state *s)
{
    const uint32_t stall_limit = s->watch & WATCH_COUNT, lowest = s->watch >> (2 * WATCH_COUNT_BITS);
    const uint32_t exponent = (uint32_t)tess_leading_exponent(s->residual_norm);
    const uint32_t fallen = (lowest - exponent) & WATCH_EXPONENT;
    const uint32_t waited = (s->watch >> WATCH_COUNT_BITS & WATCH_COUNT) + 1U;
    const int lower = fallen > 0 && fallen <= WATCH_EXPONENT / 2;

    if (stall_limit == 0) { return 0; }
    s->watch = stall_watch(stall_limit, lower ? 0 : waited, lower ? exponent : lowest);
    return !lower && waited >= stall_limit;
}

/*
 * Ends an iteration whose residual norm is known. stop_phase is FINISHING if a later operation of the same iteration
 * must still run. Here the reason RTOL means "the estimate met the tolerance"; the host decides which tolerance.
 */
TESS_HD void loop_end_iteration(tess_loop_state *s, int stop_phase)
{
    s->iteration += 1;
    loop_record(s);
    if (!scalar_is_finite(s->residual_norm)) {
        loop_stop(s, TESS_LOOP_STOPPED, TESS_REASON_NAN_OR_INF);
    } else if (s->residual_norm <= s->tolerance) {
        loop_stop(s, stop_phase, TESS_REASON_RTOL);
    } else if (s->residual_norm > s->divergence_limit) {
        loop_stop(s, stop_phase, TESS_REASON_DIVERGENCE);
    } else if (s->iteration >= s->max_iterations) {
        loop_stop(s, stop_phase, TESS_REASON_ITERATIONS);
    } else if (s->cancel) {
        loop_stop(s, stop_phase, TESS_REASON_CANCELLED);
    }
}

/* The same as a scalar update: dots = {(r, r)}; it is the last operation of its iteration. */
TESS_HD void update_residual_end(tess_loop_state *s)
{
    s->residual_norm = sqrt(s->dots[0]);
    loop_end_iteration(s, TESS_LOOP_STOPPED);
}

/* The same for loops that end where they gain too little. */
TESS_HD void loop_end_if_stalled(tess_loop_state *s, int stop_phase)
{
    if (s->phase == TESS_LOOP_RUNNING && loop_stalls(s)) { loop_stop(s, stop_phase, TESS_REASON_STAGNATION); }
}

/* dots = {(r, r), ..}: the end of an iteration, or of a step of refinement, of a loop that ends where it gains too
   little. */
TESS_HD void update_watched_end(tess_loop_state *s)
{
    update_residual_end(s);
    loop_end_if_stalled(s, TESS_LOOP_STOPPED);
}

#endif
