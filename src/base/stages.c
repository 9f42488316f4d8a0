/* SPDX-License-Identifier: Apache-2.0 */
/* Times of stages. */
#include "base/stages.h"

#include <string.h>

#include "base/deadline.h"

/* The stage of this name; NULL: there is no space for another stage. */
static tess_stage *find_stage(tess_stages *record, const char *name)
{
    int i = 0;

    while (i < record->count && strcmp(record->of[i].name, name) != 0) {
        i++;
    }
    if (i == TESS_MAX_STAGES) { return NULL; }
    if (i == record->count) {
        record->of[i] = (tess_stage){.name = name};
        record->count++;
    }
    return &record->of[i];
}

tess_status tess_stages_begin(tess_context *ctx, tess_stages *record)
{
    tess_status status = ctx->backend->synchronize(ctx);

    memset(record, 0, sizeof *record);
    record->since = tess_wall_seconds();
    if (status == TESS_SUCCESS) { ctx->stages = record; }
    return status;
}

void tess_stages_end(tess_context *ctx)
{
    ctx->stages = NULL;
}

tess_status tess_stage_note(tess_context *ctx, const char *name)
{
    tess_stages *record = ctx->stages;
    tess_stage *stage = NULL;
    tess_status status = TESS_SUCCESS;
    double now;

    if (!record) { return TESS_SUCCESS; }
    TESS_TRY(ctx->backend->synchronize(ctx));
    now = tess_wall_seconds();
    stage = find_stage(record, name);
    if (stage) {
        stage->count += 1;
        stage->seconds += now - record->since;
    }
    record->since = now;
cleanup:
    return status;
}

tess_status tess_stage_end(tess_context *ctx, const char *name)
{
    const tess_status status = tess_stage_note(ctx, name);

    return status == TESS_SUCCESS && tess_check_says_stop(ctx) ? tess_deadline_check(ctx, name) : status;
}
