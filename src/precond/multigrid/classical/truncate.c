/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/classical/truncate.h"

#include <math.h>
#include <string.h>

#include "matrix/host_csr_rows.h"
#include "precond/multigrid/classical/interpolation.h"

/* Products with rows of up to MOST_SHORT entries need no table. */
enum { SERIAL = 4096, MOST_SHORT = 16 };

/* ---- a row ---- */

/* Larger for what truncation keeps first: a larger magnitude, or of equal ones a smaller column. Weights that differ by
   the rounding of FP64 alone count as equal, so that every device keeps the same columns. */
static uint64_t rank_of(int32_t column, double weight)
{
    const float magnitude = fabsf((float)weight);
    uint32_t bits = 0;

    memcpy(&bits, &magnitude, sizeof bits); /* ascends with the magnitude */
    return (uint64_t)bits << 32 | (UINT32_MAX - (uint32_t)column);
}

static double sum_of(int64_t count, const double *weight)
{
    double sum = 0.0;

    for (int64_t s = 0; s < count; s++) {
        sum += weight[s];
    }
    return sum;
}

void amg_scale_to_sum(double sum, int64_t count, double *weight)
{
    const double factor = sum / sum_of(count, weight);

    if (!isfinite(factor) || factor <= 0.0) { return; }
    for (int64_t s = 0; s < count; s++) {
        weight[s] *= factor;
    }
}

void amg_scale_row(int64_t all, const double *full, int64_t count, double *weight)
{
    if (all > count) { amg_scale_to_sum(sum_of(all, full), count, weight); }
}

static void sort_columns(int64_t count, int32_t *column, double *weight)
{
    for (int64_t s = 1; s < count; s++) {
        for (int64_t t = s; t > 0 && column[t - 1] > column[t]; t--) {
            host_csr_swap(column, weight, t - 1, t);
        }
    }
}

int64_t amg_truncate_row(int most, int64_t count, int32_t *column, double *weight)
{
    const bool shortens = most > 0 && count > most;
    const double sum = shortens ? sum_of(count, weight) : 0.0;

    for (int64_t s = 0; shortens && s < most; s++) {
        uint64_t most_rank = rank_of(column[s], weight[s]);
        int64_t first = s;

        for (int64_t t = s + 1; t < count; t++) {
            const uint64_t rank = rank_of(column[t], weight[t]);

            first = rank > most_rank ? t : first;
            most_rank = rank > most_rank ? rank : most_rank;
        }
        host_csr_swap(column, weight, s, first);
    }
    count = shortens ? most : count;
    sort_columns(count, column, weight);
    if (shortens) {
        amg_scale_to_sum(sum, count, weight);
    } /* in the order of a renewal, so that the bits are the same */
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

/* ---- products ---- */

/* A row of a b: at most `truncation` squared entries, found one by one. Returns how many. */
static int64_t multiply_row(const host_csr *a, const host_csr *b, int64_t i, int32_t *column, double *weight)
{
    int64_t count = 0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t row = a->col_ind[k];

        for (int64_t m = b->row_ptr[row]; m < b->row_ptr[row + 1]; m++) {
            int64_t at = 0;

            while (at < count && column[at] != b->col_ind[m]) {
                at++;
            }
            if (at == count) {
                column[count] = b->col_ind[m];
                weight[count++] = 0.0;
            }
            weight[at] += a->val[k] * b->val[m];
        }
    }
    return count;
}

typedef struct short_product {
    int truncation;
    const host_csr *a, *b;
} short_product;

static int64_t multiply_and_truncate_row(const void *user, int thread, int64_t i, int32_t *column, double *val)
{
    const short_product *t = user;
    int32_t columns[MOST_SHORT * MOST_SHORT];
    double weight[MOST_SHORT * MOST_SHORT];
    const int64_t count =
        amg_truncate_row(t->truncation, multiply_row(t->a, t->b, i, columns, weight), columns, weight);

    (void)thread;
    memcpy(column, columns, (size_t)count * sizeof *column);
    memcpy(val, weight, (size_t)count * sizeof *val);
    return count;
}

tess_status amg_multiply_truncated(tess_context *ctx, int truncation, const host_csr *a, const host_csr *b, host_csr *p)
{
    tess_status status = TESS_SUCCESS;

    if (truncation > 0 && truncation <= MOST_SHORT) {
        const short_product t = {truncation, a, b};

        return host_csr_from_rows(ctx,
                                  &(row_source){.nrows = a->nrows,
                                                .ncols = b->ncols,
                                                .threads = a->nrows > SERIAL ? ctx->threads : 1,
                                                .most = truncation,
                                                .row = multiply_and_truncate_row,
                                                .user = &t},
                                  p);
    }
    TESS_TRY(host_csr_multiply(ctx, a, b, true, p));
    if (truncation > 0) { status = amg_truncate(ctx, truncation, p); }
cleanup:
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
