/* SPDX-License-Identifier: Apache-2.0 */
/* Policy error-bound on the host, and the backward error of storage. */
#include <string.h>

#include "device/host/host.h"
#include "policy/error_bound.h"
#include "policy/magnitudes.h"

/* ---- rows ---- */

static item_statistics look_at_row(const assign_task *task, int64_t row)
{
    const int64_t end = assign_row_start(&task->csr, row + 1);
    item_statistics s = item_start();

    for (int64_t k = assign_row_start(&task->csr, row); k < end; k++) {
        if (!assign_skips(task->skip, k)) { bound_look_at(&s, assign_value(&task->csr, k)); }
    }
    return s;
}

static uint64_t add_norm(const assign_task *task, int64_t row, const item_statistics *s)
{
    const int64_t end = assign_row_start(&task->csr, row + 1);
    uint64_t units = 0;

    for (int64_t k = assign_row_start(&task->csr, row); k < end; k++) {
        if (!assign_skips(task->skip, k)) { units += bound_norm_units(s, assign_value(&task->csr, k)); }
    }
    return units;
}

static double whole_norm(tess_context *ctx, const assign_task *task)
{
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;
    double norm = 0.0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024) reduction(max : norm) if (parallel)
    for (int64_t row = 0; row < task->csr.nrows; row++) {
        const item_statistics s = look_at_row(task, row);
        const double own = bound_whole_norm(&s, add_norm(task, row, &s));

        norm = own > norm ? own : norm;
    }
    return norm;
}

/* ---- levels ---- */

static void assign_one_row(const assign_task *task, int64_t index, const bound_row *row, unsigned long long *count)
{
    const int64_t end = assign_row_start(&task->csr, index + 1);
    uint64_t sum[TESS_MAX_LEVELS] = {0};
    assign_outcome o;

    for (int64_t k = assign_row_start(&task->csr, index); k < end; k++) {
        bound_errors e;

        if (assign_skips(task->skip, k)) { continue; }
        e = bound_row_errors_of(&task->rules, row, assign_value(&task->csr, k));
        for (int l = 1; l < TESS_MAX_LEVELS; l++) {
            sum[l] += e.at[l];
        }
    }
    o = bound_assign_row(task, index, row, sum);
    assign_count(&o, count);
}

static int find_step(const assign_task *task, int64_t index, const bound_row *row, bool leaves_out)
{
    const int64_t end = assign_row_start(&task->csr, index + 1);
    const int least = bound_least_step(row->entries.count);
    uint64_t sum[BOUND_STEPS];

    memset(sum + least, 0, (size_t)(BOUND_STEPS - least) * sizeof *sum);
    for (int64_t k = assign_row_start(&task->csr, index); k < end; k++) {
        bound_rise rise[BOUND_CHOICES];
        bound_errors e;

        if (assign_skips(task->skip, k)) { continue; }
        e = bound_errors_of(&task->rules, row, leaves_out, assign_value(&task->csr, k));
        bound_rises_of(&e, least, rise);
        for (int i = 1; i < BOUND_CHOICES; i++) {
            if (rise[i].step >= 0) { sum[rise[i].step] += rise[i].units; }
        }
    }
    return bound_last_step(sum, least);
}

/* The levels of a row's entries, or where `fits` is given which they may have. */
static void assign_row_entries(const assign_task *task, int64_t index, const bound_row *row, uint8_t *fits,
                               unsigned long long *count)
{
    const int64_t end = assign_row_start(&task->csr, index + 1);
    const bool leaves_out = !fits && task->rules.nlevels > 1;
    const int step = find_step(task, index, row, leaves_out);

    for (int64_t k = assign_row_start(&task->csr, index); k < end; k++) {
        assign_outcome o = {0, 0, 0, 1};
        bound_errors e;
        unsigned allowed;

        if (assign_skips(task->skip, k)) { continue; } /* its level already says so */
        e = bound_errors_of(&task->rules, row, leaves_out, assign_value(&task->csr, k));
        allowed = bound_fits_of(&e, step);
        if (fits) {
            fits[k] = (uint8_t)allowed;
        } else {
            o.level = bound_lowest(allowed);
            task->level[k] = (uint8_t)o.level;
            assign_count(&o, count);
        }
    }
}

tess_status bound_assign_host(tess_context *ctx, const assign_task *task, uint8_t *fits, assign_totals *totals)
{
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK, entries = fits || task->rules.entries;
    unsigned long long count[ASSIGN_COUNTS] = {0};
    const tess_status status = magnitudes_host(ctx, task, totals);

    if (status != TESS_SUCCESS) { return status; }
    if (task->matrix_norm) { totals->norm = whole_norm(ctx, task); }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024) reduction(+ : count) if (parallel)
    for (int64_t index = 0; index < task->csr.nrows; index++) {
        const item_statistics s = look_at_row(task, index);
        const bound_row row = bound_row_of(&s, add_norm(task, index, &s), task->parameter, totals->norm);

        if (entries) {
            assign_row_entries(task, index, &row, fits, count);
        } else {
            assign_one_row(task, index, &row, count);
        }
    }
    memcpy(totals->count, count, sizeof count);
    return TESS_SUCCESS;
}

/* ---- the backward error ---- */

static double measure_row(const assign_task *task, int64_t row)
{
    const int64_t start = assign_row_start(&task->csr, row), end = assign_row_start(&task->csr, row + 1);
    item_statistics s = item_start();
    bound_sums lane[BOUND_LANES];

    for (int j = 0; j < BOUND_LANES; j++) {
        lane[j] = bound_sums_start();
    }
    for (int64_t k = start; k < end; k++) {
        if (bound_counts(task, row, k)) { bound_look_at(&s, assign_value(&task->csr, k)); }
    }
    for (int64_t k = start; k < end && s.not_finite == 0; k++) {
        bound_add_entry(task, &s, row, k, &lane[(k - start) % BOUND_LANES]);
    }
    for (int half = BOUND_LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            bound_join_sums(&lane[j], &lane[j + half]);
        }
    }
    return bound_backward_error(&s, &lane[0], task->norm);
}

tess_status bound_measure_host(tess_context *ctx, const assign_task *task, double *out)
{
    const bool parallel = task->csr.nnz > HOST_SERIAL_WORK;
    double largest = 0.0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024) reduction(max : largest) if (parallel)
    for (int64_t row = 0; row < task->csr.nrows; row++) {
        const double error = measure_row(task, row);

        largest = error > largest ? error : largest;
    }
    *out = largest;
    return TESS_SUCCESS;
}
