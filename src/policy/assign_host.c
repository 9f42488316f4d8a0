/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments on the host. */
#include <string.h>

#include "device/host/host.h"
#include "policy/choice.h"
#include "policy/error_bound.h"
#include "policy/magnitudes.h"

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

/* ---- levels ---- */

static void assign_one_row(const assign_task *task, const policy_ranges *ranges, int64_t row, unsigned long long *count)
{
    item_statistics s = item_start();
    int64_t end = assign_row_start(&task->csr, row + 1);
    assign_outcome o;

    for (int64_t k = assign_row_start(&task->csr, row); k < end; k++) {
        if (!assign_skips(task->skip, k)) { item_add(&s, ranges, task->rules.lossless, assign_value(&task->csr, k)); }
    }
    o = assign_row(task, TESS_MAX_LEVELS, row, &s);
    assign_count(&o, count);
}

static void assign_one_entry(const assign_task *task, const policy_ranges *ranges, int64_t k, unsigned long long *count)
{
    int level;

    if (assign_skips(task->skip, k)) { return; } /* its level already says so */
    level = assign_entry_level(task, TESS_MAX_LEVELS, task->rules.lossless, ranges, assign_value(&task->csr, k));
    task->level[k] = (uint8_t)level;
    count[ASSIGN_ITEMS + level] += 1;
    count[ASSIGN_NONZEROS + level] += 1;
}

static tess_status assign_levels(tess_context *ctx, const assign_task *task, assign_totals *totals)
{
    unsigned long long count[ASSIGN_COUNTS] = {0};
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;
    tess_status status = TESS_SUCCESS;

    if (task->rules.bounded) { return bound_assign_host(ctx, task, NULL, totals); }
    TESS_TRY(magnitudes_host(ctx, task, totals));
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

const assign_ops assign_host_ops = {mark_diagonal, assign_levels,      bound_assign_host, assign_blocks_host,
                                    measure_error, bound_measure_host, choice_count_host};
