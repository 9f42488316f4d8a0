/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments on the host. */
#include <string.h>

#include "backend/host/host.h"
#include "granule/assign.h"

/* ---- the diagonal ---- */

static tess_status mark_diagonal(tess_context *ctx, const csr_view *csr, uint8_t *skip)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t row = 0; row < csr->nrows; row++) {
        int64_t start = assign_row_start(csr, row), diagonal = assign_find_diagonal(csr, row);

        memset(skip + start, 0, (size_t)(assign_row_start(csr, row + 1) - start));
        if (diagonal >= 0) { skip[diagonal] = TESS_LEVEL_NONE; }
    }
    return TESS_SUCCESS;
}

/* ---- the mean magnitude ---- */

static magnitude_sum join_lanes(magnitude_sum *lane)
{
    for (int half = MAGNITUDE_LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            magnitude_join(&lane[j], lane[j + half]);
        }
    }
    return lane[0];
}

/* Lanes side by side, so that the compiler can add many at once. */
typedef struct magnitude_lanes {
    double high[MAGNITUDE_LANES], low[MAGNITUDE_LANES];
    int64_t count[MAGNITUDE_LANES];
} magnitude_lanes;

/* Each of the first `count` lanes adds its value. */
HOST_CLONES static void add_to_lanes(magnitude_lanes *lanes, const double *value, int count)
{
    for (int j = 0; j < count; j++) {
        double magnitude = magnitude_of(value[j]);
        two_word s = two_sum(lanes->high[j], magnitude);

        lanes->high[j] = s.high;
        lanes->low[j] += s.low;
        lanes->count[j] += magnitude > 0.0;
    }
}

static magnitude_sum sum_tile(const assign_task *task, int64_t first)
{
    magnitude_lanes lanes = {{0.0}, {0.0}, {0}};
    magnitude_sum lane[MAGNITUDE_LANES];
    double kept[MAGNITUDE_LANES];
    int64_t end = first + MAGNITUDE_TILE < task->csr.nnz ? first + MAGNITUDE_TILE : task->csr.nnz;

    for (int64_t k = first; k < end; k += MAGNITUDE_LANES) {
        const double *value = (const double *)task->csr.val + k;
        int count = end - k < MAGNITUDE_LANES ? (int)(end - k) : (int)MAGNITUDE_LANES;

        if (task->skip) {
            for (int j = 0; j < count; j++) {
                kept[j] = task->skip[k + j] ? 0.0 : value[j];
            }
            value = kept;
        }
        add_to_lanes(&lanes, value, count);
    }
    for (int j = 0; j < MAGNITUDE_LANES; j++) {
        lane[j] = (magnitude_sum){{lanes.high[j], lanes.low[j]}, lanes.count[j]};
    }
    return join_lanes(lane);
}

static tess_status mean_magnitude(tess_context *ctx, const assign_task *task, double *mean)
{
    int64_t nnz = task->csr.nnz, ntiles = (nnz + MAGNITUDE_TILE - 1) / MAGNITUDE_TILE;
    magnitude_sum *tile = NULL, lane[MAGNITUDE_LANES] = {{{0.0, 0.0}, 0}};
    tess_status status = tess_host_allocate(ctx, ntiles, sizeof *tile, (void **)&tile);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > HOST_SERIAL_WORK)
    for (int64_t t = 0; t < ntiles; t++) {
        tile[t] = sum_tile(task, t * MAGNITUDE_TILE);
    }
    for (int64_t t = 0; t < ntiles; t++) {
        magnitude_join(&lane[t % MAGNITUDE_LANES], tile[t]);
    }
    *mean = magnitude_mean(join_lanes(lane));
    tess_host_release(ctx, tile, ntiles, sizeof *tile);
    return TESS_SUCCESS;
}

/* ---- levels ---- */

static void assign_one_row(const assign_task *task, const policy_ranges *ranges, int64_t row, unsigned long long *count)
{
    granule_statistics s = granule_start();
    int64_t end = assign_row_start(&task->csr, row + 1);
    assign_outcome o;

    for (int64_t k = assign_row_start(&task->csr, row); k < end; k++) {
        if (!assign_skips(task->skip, k)) { granule_add(&s, ranges, assign_value(&task->csr, k)); }
    }
    o = assign_row(task, TESS_MOST_LEVELS, row, &s);
    if (o.level == TESS_LEVEL_NONE) {
        count[ASSIGN_EMPTY] += 1;
        return;
    }
    count[ASSIGN_GRANULES + o.level] += 1;
    count[ASSIGN_NONZEROS + o.level] += (unsigned)o.nonzeros;
    count[ASSIGN_SCALED + o.scaled_level] += o.exponent != 0;
}

static void assign_one_entry(const assign_task *task, const policy_ranges *ranges, int64_t k, unsigned long long *count)
{
    int level;

    if (assign_skips(task->skip, k)) { return; } /* its level says so already */
    level = assign_entry_level(task, TESS_MOST_LEVELS, ranges, assign_value(&task->csr, k));
    task->level[k] = (uint8_t)level;
    count[ASSIGN_GRANULES + level] += 1;
    count[ASSIGN_NONZEROS + level] += 1;
}

static tess_status assign_levels(tess_context *ctx, const assign_task *task, assign_totals *totals)
{
    unsigned long long count[ASSIGN_COUNTS] = {0};
    double range = task->parameter;
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;
    tess_status status = TESS_SUCCESS;

    memset(totals, 0, sizeof *totals);
    if (task->policy == TESS_POLICY_MEAN_RANGE) {
        TESS_TRY(mean_magnitude(ctx, task, &totals->mean));
        range = task->parameter * totals->mean;
    }
    totals->ranges = policy_ranges_of(&task->rules, range);
    if (task->rules.entries) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : count) if (parallel)
        for (int64_t k = 0; k < task->csr.nnz; k++) {
            assign_one_entry(task, &totals->ranges, k, count);
        }
    } else {
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024) reduction(+ : count) if (parallel)
        for (int64_t row = 0; row < task->csr.nrows; row++) {
            assign_one_row(task, &totals->ranges, row, count);
        }
    }
    memcpy(totals->count, count, sizeof count);
cleanup:
    return status;
}

/* ---- the error of what is stored ---- */

static tess_status measure_error(tess_context *ctx, const assign_task *task, double *out)
{
    double largest = 0.0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024) reduction(max : largest)
    for (int64_t row = 0; row < task->csr.nrows; row++) {
        int64_t end = assign_row_start(&task->csr, row + 1);

        for (int64_t k = assign_row_start(&task->csr, row); k < end; k++) {
            double error = assign_error(task, row, k);

            largest = error > largest ? error : largest;
        }
    }
    *out = largest;
    return TESS_SUCCESS;
}

const assign_backend assign_host = {mark_diagonal, assign_levels, measure_error};
