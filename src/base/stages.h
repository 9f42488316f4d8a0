/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a set-up is made of, for benches. While a context has a record, each launch, transfer and allocation is waited
 * for, and has the time since the one before, with what the host did in between: all of it together takes longer than
 * it does without a record.
 */
#ifndef TESS_CORE_STAGES_H
#define TESS_CORE_STAGES_H

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

/* In the order in which they first came; those that have no space are left out. */
typedef struct tess_stages {
    tess_stage of[TESS_MAX_STAGES];
    int count;
    double since;
} tess_stages;

/* Clears the record and keeps it in the context until tess_stages_end: the caller's. Waits for what is queued. */
tess_status tess_stages_begin(tess_context *ctx, tess_stages *record);
void tess_stages_end(tess_context *ctx);
/* What has just been queued or done. Nothing without a record. */
tess_status tess_stage_end(tess_context *ctx, const char *name);

#ifdef __cplusplus
}
#endif

#endif
