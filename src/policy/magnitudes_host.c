/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and standard deviation of magnitudes on the host. */
#include <string.h>

#include "device/host/host.h"
#include "policy/magnitudes.h"

static magnitude_sum join_lanes(magnitude_sum *lane)
{
    for (int half = MAGNITUDE_LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            magnitude_join(&lane[j], &lane[j + half]);
            magnitude_join_squares(&lane[j], &lane[j + half]);
        }
    }
    return lane[0];
}

/* Lanes side by side, so that the compiler can vectorise their additions. */
typedef struct magnitude_lanes {
    double high[MAGNITUDE_LANES], low[MAGNITUDE_LANES];
    int64_t count[MAGNITUDE_LANES];
    double largest[MAGNITUDE_LANES], scale[MAGNITUDE_LANES]; /* of the squares */
    double square_high[MAGNITUDE_LANES], square_low[MAGNITUDE_LANES];
} magnitude_lanes;

/* Each of the first `count` lanes adds its value. */
HOST_CLONES static void add_to_lanes(magnitude_lanes *lanes, const double *value, int count)
{
    for (int j = 0; j < count; j++) {
        double magnitude = magnitude_of(value[j]);
        tess_two_word s = tess_two_sum(lanes->high[j], magnitude);

        lanes->high[j] = s.high;
        lanes->low[j] += s.low;
        lanes->count[j] += magnitude > 0.0;
        lanes->largest[j] = magnitude > lanes->largest[j] ? magnitude : lanes->largest[j];
    }
}

/* When the scales are known. */
HOST_CLONES static void add_squares_to_lanes(magnitude_lanes *lanes, const double *value, int count)
{
    for (int j = 0; j < count; j++) {
        double scaled = magnitude_of(value[j]) * lanes->scale[j];
        tess_two_word square = {lanes->square_high[j], lanes->square_low[j]};

        magnitude_add_square(&square, scaled);
        lanes->square_high[j] = square.high;
        lanes->square_low[j] = square.low;
    }
}

/* Values from entry k on, at most one for each lane, except those that are left out. */
static const double *lane_values(const assign_task *task, int64_t k, int count, double *workspace)
{
    const double *value = (const double *)task->csr.val + k;

    if (!task->skip) { return value; }
    for (int j = 0; j < count; j++) {
        workspace[j] = task->skip[k + j] ? 0.0 : value[j];
    }
    return workspace;
}

static void add_tile(const assign_task *task, int64_t first,
                     void (*add)(magnitude_lanes *lanes, const double *value, int count), magnitude_lanes *lanes)
{
    double workspace[MAGNITUDE_LANES];
    int64_t end = first + MAGNITUDE_TILE < task->csr.nnz ? first + MAGNITUDE_TILE : task->csr.nnz;

    for (int64_t k = first; k < end; k += MAGNITUDE_LANES) {
        int count = end - k < MAGNITUDE_LANES ? (int)(end - k) : (int)MAGNITUDE_LANES;

        add(lanes, lane_values(task, k, count, workspace), count);
    }
}

static magnitude_sum sum_tile(const assign_task *task, int64_t first)
{
    magnitude_lanes lanes = {.high = {0.0}};
    magnitude_sum lane[MAGNITUDE_LANES];

    add_tile(task, first, add_to_lanes, &lanes);
    if (task->policy == TESS_POLICY_MEAN_3STD) {
        for (int j = 0; j < MAGNITUDE_LANES; j++) {
            lanes.scale[j] = magnitude_scale(magnitude_unit(lanes.largest[j]));
        }
        add_tile(task, first, add_squares_to_lanes, &lanes);
    }
    for (int j = 0; j < MAGNITUDE_LANES; j++) {
        lane[j] = (magnitude_sum){{lanes.high[j], lanes.low[j]},
                                  lanes.count[j],
                                  {lanes.square_high[j], lanes.square_low[j]},
                                  magnitude_unit(lanes.largest[j])};
    }
    return join_lanes(lane);
}

static tess_status sum_all(tess_context *ctx, const assign_task *task, magnitude_sum *sum)
{
    int64_t nnz = task->csr.nnz, ntiles = (nnz + MAGNITUDE_TILE - 1) / MAGNITUDE_TILE;
    magnitude_sum *tile = NULL, lane[MAGNITUDE_LANES];
    tess_status status = tess_host_allocate(ctx, ntiles, sizeof *tile, (void **)&tile);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > HOST_SERIAL_WORK)
    for (int64_t t = 0; t < ntiles; t++) {
        tile[t] = sum_tile(task, t * MAGNITUDE_TILE);
    }
    for (int j = 0; j < MAGNITUDE_LANES; j++) {
        lane[j] = magnitude_start();
    }
    for (int64_t t = 0; t < ntiles; t++) {
        magnitude_join(&lane[t % MAGNITUDE_LANES], &tile[t]);
        magnitude_join_squares(&lane[t % MAGNITUDE_LANES], &tile[t]);
    }
    *sum = join_lanes(lane);
    tess_host_release(ctx, tile, ntiles, sizeof *tile);
    return TESS_SUCCESS;
}

tess_status magnitudes_host(tess_context *ctx, const assign_task *task, assign_totals *totals)
{
    magnitude_sum sum = magnitude_start();
    tess_status status = TESS_SUCCESS;

    memset(totals, 0, sizeof *totals);
    if (magnitude_is_asked(task->policy)) { TESS_TRY(sum_all(ctx, task, &sum)); }
    magnitude_ranges(task, &sum, totals);
cleanup:
    return status;
}
