/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/truncate.h"

#include <math.h>
#include <string.h>

#include "precond/multigrid/interpolation.h"

enum { SERIAL = 4096 };

/* ---- a row ---- */

static bool goes_before(const int32_t *column, const double *weight, int64_t s, int64_t t)
{
    const double a = fabs(weight[s]), b = fabs(weight[t]);

    return a > b || (a == b && column[s] < column[t]);
}

static void swap(int32_t *column, double *weight, int64_t s, int64_t t)
{
    const int32_t c = column[s];
    const double w = weight[s];

    column[s] = column[t];
    weight[s] = weight[t];
    column[t] = c;
    weight[t] = w;
}

static double sum_of(int64_t count, const double *weight)
{
    double sum = 0.0;

    for (int64_t s = 0; s < count; s++) {
        sum += weight[s];
    }
    return sum;
}

/* Scales the weights to the sum, unless that would turn their signs or their sum is 0. */
static void scale_to_sum(double sum, int64_t count, double *weight)
{
    const double factor = sum / sum_of(count, weight);

    if (!isfinite(factor) || factor <= 0.0) { return; }
    for (int64_t s = 0; s < count; s++) {
        weight[s] *= factor;
    }
}

static void sort_columns(int64_t count, int32_t *column, double *weight)
{
    for (int64_t s = 1; s < count; s++) {
        for (int64_t t = s; t > 0 && column[t - 1] > column[t]; t--) {
            swap(column, weight, t - 1, t);
        }
    }
}

int64_t amg_truncate_row(int most, int64_t count, int32_t *column, double *weight)
{
    if (most > 0 && count > most) {
        const double sum = sum_of(count, weight);

        for (int64_t s = 0; s < most; s++) {
            int64_t first = s;

            for (int64_t t = s + 1; t < count; t++) {
                if (goes_before(column, weight, t, first)) { first = t; }
            }
            swap(column, weight, s, first);
        }
        count = most;
        scale_to_sum(sum, count, weight);
    }
    sort_columns(count, column, weight);
    return count;
}

/* ---- all rows ---- */

tess_status amg_compact(tess_context *ctx, const host_csr *room, const int64_t *length, host_csr *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, room->nrows, room->ncols, out));
    memcpy(out->row_ptr + 1, length, (size_t)room->nrows * sizeof *length);
    host_csr_sum_lengths(out);
    TESS_TRY(host_csr_allocate_entries(ctx, out));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (room->nrows > SERIAL)
    for (int64_t i = 0; i < room->nrows; i++) {
        const int64_t from = room->row_ptr[i], to = out->row_ptr[i];

        memcpy(out->col_ind + to, room->col_ind + from, (size_t)length[i] * sizeof *out->col_ind);
        memcpy(out->val + to, room->val + from, (size_t)length[i] * sizeof *out->val);
    }
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(ctx, out); }
    return status;
}

tess_status amg_truncate(tess_context *ctx, int truncation, host_csr *p)
{
    const int64_t nrows = p->nrows;
    host_csr room = *p;
    int64_t *length = NULL;
    tess_status status = tess_host_allocate(ctx, nrows, sizeof *length, (void **)&length);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (p->nrows > SERIAL)
    for (int64_t i = 0; i < p->nrows; i++) {
        const int64_t first = p->row_ptr[i];

        length[i] = amg_truncate_row(truncation, p->row_ptr[i + 1] - first, p->col_ind + first, p->val + first);
    }
    status = amg_compact(ctx, &room, length, p);
    host_csr_release(ctx, &room);
    tess_host_release(ctx, length, nrows, sizeof *length);
    return status;
}

static void restrict_row(const host_csr *full, int64_t i, host_csr *p)
{
    const int64_t first = p->row_ptr[i], count = p->row_ptr[i + 1] - first;
    int64_t m = full->row_ptr[i];

    for (int64_t k = first; k < first + count; k++) {
        while (m < full->row_ptr[i + 1] && full->col_ind[m] < p->col_ind[k]) {
            m++;
        }
        p->val[k] = m < full->row_ptr[i + 1] && full->col_ind[m] == p->col_ind[k] ? full->val[m] : 0.0;
    }
    scale_to_sum(sum_of(full->row_ptr[i + 1] - full->row_ptr[i], full->val + full->row_ptr[i]), count, p->val + first);
}

void amg_restrict_to_pattern(const tess_context *ctx, const host_csr *full, host_csr *p)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (p->nrows > SERIAL)
    for (int64_t i = 0; i < p->nrows; i++) {
        restrict_row(full, i, p);
    }
}
