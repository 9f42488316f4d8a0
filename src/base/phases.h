/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time by phases, measured where the work runs. Each operation names its phase when it is enqueued (tess_enter_phase).
 * When the operation begins, the time since the previous one began is added to the previous phase: on the host at once,
 * on a GPU by the first thread of each kernel of a loop, with the device's clock. Measuring waits for nothing.
 */
#ifndef TESS_BASE_PHASES_H
#define TESS_BASE_PHASES_H

#include <stdint.h>

#include <tessera/export.h>
#include <tessera/phase.h>

/* In the memory of the backend's device. Nanoseconds. */
typedef struct tess_phase_clock {
    int64_t total[TESS_PHASE_COUNT];
    int64_t last; /* when the present phase began; 0: no phase has begun */
    int32_t now;
} tess_phase_clock;

TESS_HD void phase_stamp(tess_phase_clock *clock, int32_t phase, int64_t time)
{
    if (clock->last != 0) { clock->total[clock->now] += time - clock->last; }
    clock->last = time;
    clock->now = phase;
}

#endif
