/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of time for set-ups, and signals in them. A solver that is created, or that solves, with a limit sets the
 * context's deadline; the loops of set-ups look at it and at the caller's flag, since no monitor is called there.
 */
#ifndef TESS_BASE_DEADLINE_H
#define TESS_BASE_DEADLINE_H

#include <tessera/reason.h>

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on set-ups end after so many seconds (0: no limit), or at the present deadline if that is earlier. Returns
   the present one, for tess_deadline_restore. */
double tess_deadline_begin(tess_context *ctx, double seconds);
void tess_deadline_restore(tess_context *ctx, double before);
/* Until the deadline, negative after it; INFINITY: there is none. */
double tess_seconds_left(const tess_context *ctx);
/* Fails with TIMED_OUT after the deadline or an interrupt; `what` was being set up. */
tess_status tess_deadline_check(tess_context *ctx, const char *what);
/* Whether it would. Any thread may ask. NULL: no. */
bool tess_deadline_passed(const tess_context *ctx);
/* Whether the caller's flag or check says so (tess_context_set_interrupt, tess_context_set_interrupt_check). */
bool tess_is_interrupted(const tess_context *ctx);
/* Whether the caller's check says so; for the ends of iterations. */
bool tess_check_says_stop(const tess_context *ctx);
/* The reason of a solve whose set-up failed with TIMED_OUT. */
tess_reason tess_deadline_reason(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
