/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over vectors of several columns on the host: which columns run, and the ends of their reductions. */
#ifndef TESS_DEVICE_HOST_COLUMNS_H
#define TESS_DEVICE_HOST_COLUMNS_H

#include "device/host/host.h"

/* The columns that a pass writes and reduces. */
typedef struct host_columns {
    int count, running;
    bool runs[TESS_MAX_COLUMNS];
} host_columns;

/* As host_enter, for each column; state may be NULL. */
host_columns host_columns_enter(tess_loop_state *state, int count, bool finishing, bool reduces);

/* As host_finish_reduction, for the columns that run: partials[(k * columns + c) * count + i]. */
void host_columns_finish(const host_columns *columns, const double *partials, int64_t count, int ndots,
                         tess_scalar_update scalar, tess_loop_state *state);

/* A fused operation on several columns. */
tess_status host_columns_fused(tess_context *ctx, const tess_fused *op);

#endif
