/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern of a batch: checked, with what its methods ask of it, on the host and on the context's device. */
#ifndef TESS_SOLVER_BATCH_BATCH_PATTERN_H
#define TESS_SOLVER_BATCH_BATCH_PATTERN_H

#include <tessera/batch.h>

#include "solver/batch/batch.h"

/* Arrays of a pattern; the last ones are those of a batch_task's levels. */
typedef enum pattern_part {
    PATTERN_ROW_PTR,
    PATTERN_COL_IND,
    PATTERN_MIRROR,
    PATTERN_DIAGONAL,
    PATTERN_LOWER_BEGIN,
    PATTERN_LOWER_ORDER,
    PATTERN_UPPER_BEGIN,
    PATTERN_UPPER_ORDER,
    PATTERN_PARTS
} pattern_part;

typedef struct batch_pattern {
    int64_t count[PATTERN_PARTS];
    int32_t *on_host[PATTERN_PARTS];   /* NULL: nobody asks for it */
    int32_t *on_device[PATTERN_PARTS]; /* of a GPU; NULL else */
} batch_pattern;

/* Fills the pattern, and the task's places of it. Release it, also after a failure. Errors: OUT_OF_RANGE where it is
   not sound; SINGULAR where ILU(0) finds no diagonal; memory. */
tess_status batch_pattern_make(tess_context *ctx, const tess_batch *a, batch_pattern *p, batch_task *task);
void batch_pattern_release(tess_context *ctx, const batch_pattern *p);

#endif
