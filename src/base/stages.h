/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of a set-up, for benchmarks. While a context has a record, the library waits for each launch, transfer and
 * allocation, and adds the time since the previous one (host work in between included) to its stage. The total is
 * longer than without a record.
 */
#ifndef TESS_BASE_STAGES_H
#define TESS_BASE_STAGES_H

#include <tessera/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TESS_MAX_STAGES = 64 };

typedef struct tess_stage {
    const char *name; /* a constant */
    int count;        /* how often */
    double seconds;
} tess_stage;

/* In the order of their first appearance. Stages without space are left out. */
typedef struct tess_stages {
    tess_stage of[TESS_MAX_STAGES];
    int count;
    double since;
} tess_stages;

/* Clears the record and attaches it to the context until tess_stages_end. The caller owns it. Waits for queued work. */
tess_status tess_stages_begin(tess_context *ctx, tess_stages *record);
void tess_stages_end(tess_context *ctx);
/* Names the work just queued or done. Does nothing without a record. */
tess_status tess_stage_note(tess_context *ctx, const char *name);
/* The same at the end of a stage of a set-up: TIMED_OUT if the caller's check says stop (base/deadline.h). */
tess_status tess_stage_end(tess_context *ctx, const char *name);

#ifdef __cplusplus
}
#endif

#endif
