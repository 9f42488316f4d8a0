/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads beside other work. Where other processes keep processors busy, a thread of ours too many waits for one, and
 * all others wait for it at the end of each loop: so a context takes only as many as there are processors left. Results
 * do not depend on the number. OMP_DYNAMIC=false keeps it as it was given.
 */
#ifndef TESS_BASE_BUSY_H
#define TESS_BASE_BUSY_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tess_context;

/* Times of the processors that a process may run on, and its own, in seconds; when. */
typedef struct busy_times {
    double all, own, at;
    int processors; /* 0: not known */
} busy_times;

/* What /proc/stat (`text`) says of processors: the seconds in which those of which allowed[k] were not idle, by ticks
   of a second. `allowed` has `count` elements; NULL: all are. */
busy_times busy_read(const char *text, const bool *allowed, int count, double ticks);
/* Threads between two times: at most `most`, and as many as others left processors, rounded; `most` where that is not
   known. */
int busy_threads_between(const busy_times *before, const busy_times *now, int most);

/* Between parallel loops: sets ctx->threads, from time to time. */
void busy_adapt(struct tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
