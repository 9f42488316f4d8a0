/* SPDX-License-Identifier: Apache-2.0 */
/* Precision schedules inside the library. */
#ifndef TESS_SOLVER_SWEEP_SCHEDULE_H
#define TESS_SOLVER_SWEEP_SCHEDULE_H

#include "matrix/matrix.h"
#include <tessera/schedule.h>

/* INVALID_ARGUMENT unless 1 to TESS_MAX_SCHEDULE entries name precisions and counts that exist. */
tess_status schedule_check(tess_context *ctx, const tess_precision_schedule *schedule);
/* Whether an entry names its iterations. */
bool schedule_is_counted(const tess_precision_schedule *schedule);
bool schedule_has(const tess_precision_schedule *schedule, int what);
/* counts[i] iterations for entry i, at most `total` in all: those named, and equal shares of the rest for the others,
   the remainder to the last of them. */
void schedule_share(const tess_precision_schedule *schedule, int64_t total, int64_t counts[TESS_MAX_SCHEDULE]);
/* Adds the iterations of a schedule that begins alike; what it has beyond `to` is appended. */
void schedule_add(tess_precision_schedule *to, const tess_precision_schedule *more);
/* Adds iterations of a kind to the last entry, or to a new one where that is of another kind. */
void schedule_append(tess_precision_schedule *schedule, int what, int64_t iterations);

#endif
