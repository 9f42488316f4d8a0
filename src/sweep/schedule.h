/* SPDX-License-Identifier: Apache-2.0 */
/* Precision schedules inside the library. */
#ifndef TESS_SWEEP_SCHEDULE_H
#define TESS_SWEEP_SCHEDULE_H

#include "matrix/matrix.h"
#include <tessera/schedule.h>

/* INVALID_ARGUMENT unless there are 1 to TESS_MAX_SCHEDULE entries with valid precisions and counts. */
tess_status schedule_check(tess_context *ctx, const tess_precision_schedule *schedule);
/* Whether an entry names its number of iterations. */
bool schedule_is_counted(const tess_precision_schedule *schedule);
bool schedule_has(const tess_precision_schedule *schedule, int what);
/* counts[i] iterations for entry i, at most `total` in all: the named numbers, and equal shares of the rest for the
   others; the last of them gets the remainder. */
void schedule_share(const tess_precision_schedule *schedule, int64_t total, int64_t counts[TESS_MAX_SCHEDULE]);
/* Adds the iterations of a schedule that begins with the same entries; further entries are appended to `to`. */
void schedule_add(tess_precision_schedule *to, const tess_precision_schedule *more);
/* Adds iterations of a kind to the last entry, or to a new entry if the last is of another kind. */
void schedule_append(tess_precision_schedule *schedule, int what, int64_t iterations);

#endif
