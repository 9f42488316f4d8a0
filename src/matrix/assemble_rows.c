/* SPDX-License-Identifier: Apache-2.0 */
/* CSR with rows in any order to assembled CSR: rows sorted, duplicates summed, arrays of the exact size. */
#include <string.h>

#include "base/offsets.h"
#include "matrix/assemble.h"

enum {
    ROWS_AT_ONCE = 512, /* rows per task */
    SHORT_ROW = 24,     /* sorted by insertion */
    LONG_ROW = 1 << 16  /* sorted one after another, so that the work space stays small */
};

typedef struct rows {
    int64_t nrows;
    const int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
    int threads;
    int64_t *length; /* of each row without duplicates */
    int32_t *scratch_col;
    double *scratch_val;
    int64_t scratch; /* entries of work space, all threads */
    int64_t duplicates;
} rows;

/* ---- one row ---- */

static bool ascends(const int32_t *col, int64_t count)
{
    for (int64_t k = 1; k < count; k++) {
        if (col[k - 1] > col[k]) { return false; }
    }
    return true;
}

static void sort_by_insertion(int32_t *col, double *val, int64_t count)
{
    for (int64_t k = 1; k < count; k++) {
        int32_t c = col[k];
        double v = val[k];
        int64_t at = k;

        for (; at > 0 && col[at - 1] > c; at--) {
            col[at] = col[at - 1];
            val[at] = val[at - 1];
        }
        col[at] = c;
        val[at] = v;
    }
}

/* Merges [0, middle) and [middle, count); the left half moves to the work space. Equal columns keep their order. */
static void merge_halves(int32_t *col, double *val, int64_t middle, int64_t count, int32_t *scratch_col,
                         double *scratch_val)
{
    int64_t left = 0, right = middle, at = 0;

    if (col[middle - 1] <= col[middle]) { return; }
    memcpy(scratch_col, col, (size_t)middle * sizeof *col);
    memcpy(scratch_val, val, (size_t)middle * sizeof *val);
    for (; left < middle; at++) {
        if (right < count && col[right] < scratch_col[left]) {
            col[at] = col[right];
            val[at] = val[right++];
        } else {
            col[at] = scratch_col[left];
            val[at] = scratch_val[left++];
        }
    }
}

/* Merge sort from the bottom; stable. The work space holds `count` entries. */
static void sort_row(int32_t *col, double *val, int64_t count, int32_t *scratch_col, double *scratch_val)
{
    for (int64_t k = 0; k < count; k += SHORT_ROW) {
        sort_by_insertion(col + k, val + k, count - k < SHORT_ROW ? count - k : SHORT_ROW);
    }
    for (int64_t width = SHORT_ROW; width < count; width *= 2) {
        for (int64_t k = 0; k + width < count; k += 2 * width) {
            int64_t length = count - k < 2 * width ? count - k : 2 * width;

            merge_halves(col + k, val + k, width, length, scratch_col, scratch_val);
        }
    }
}

/* Sums equal columns of a sorted row in place; returns its new length. */
static int64_t sum_duplicates(int32_t *col, double *val, int64_t count)
{
    int64_t kept = 0;

    for (int64_t k = 0; k < count; k++) {
        if (kept > 0 && col[kept - 1] == col[k]) {
            val[kept - 1] += val[k];
        } else {
            col[kept] = col[k];
            val[kept++] = val[k];
        }
    }
    return kept;
}

static int64_t row_length(const rows *r, int64_t i)
{
    return r->row_ptr[i + 1] - r->row_ptr[i];
}

/* ---- all rows ---- */

/* Length of the longest row that needs more than an insertion sort. */
static int64_t longest_unsorted(const rows *r)
{
    int64_t longest = 0;

#pragma omp parallel for schedule(dynamic, ROWS_AT_ONCE) reduction(max : longest) num_threads(r->threads)
    for (int64_t i = 0; i < r->nrows; i++) {
        int64_t count = row_length(r, i);

        if (count > SHORT_ROW && count > longest && !ascends(r->col_ind + r->row_ptr[i], count)) { longest = count; }
    }
    return longest;
}

static bool ascends_strictly(const int32_t *col, int64_t count)
{
    for (int64_t k = 1; k < count; k++) {
        if (col[k - 1] >= col[k]) { return false; }
    }
    return true;
}

static void tidy_row(const rows *r, int64_t i, int32_t *scratch_col, double *scratch_val)
{
    int32_t *col = r->col_ind + r->row_ptr[i];
    double *val = r->val + r->row_ptr[i];
    int64_t count = row_length(r, i);

    r->length[i] = count;
    if (ascends_strictly(col, count)) { return; }
    if (!ascends(col, count)) { sort_row(col, val, count, scratch_col, scratch_val); }
    r->length[i] = sum_duplicates(col, val, count);
}

static void tidy_rows(rows *r, int64_t scratch_per_thread)
{
    int64_t duplicates = 0, taken = 0;

#pragma omp parallel reduction(+ : duplicates) num_threads(r->threads)
    {
        int64_t mine = 0;

#pragma omp atomic capture
        mine = taken++;
#pragma omp for schedule(dynamic, ROWS_AT_ONCE)
        for (int64_t i = 0; i < r->nrows; i++) {
            if (row_length(r, i) > LONG_ROW) { continue; }
            tidy_row(r, i, r->scratch_col + mine * scratch_per_thread, r->scratch_val + mine * scratch_per_thread);
            duplicates += row_length(r, i) - r->length[i];
        }
    }
    for (int64_t i = 0; i < r->nrows; i++) {
        if (row_length(r, i) <= LONG_ROW) { continue; }
        tidy_row(r, i, r->scratch_col, r->scratch_val);
        duplicates += row_length(r, i) - r->length[i];
    }
    r->duplicates = duplicates;
}

static tess_status sort_and_sum(tess_context *ctx, rows *r)
{
    int64_t longest = longest_unsorted(r);
    int64_t per_thread = longest < LONG_ROW ? longest : LONG_ROW;
    int64_t shared = per_thread * r->threads;
    tess_status status = TESS_SUCCESS;

    r->scratch = longest > shared ? longest : shared;
    TESS_TRY(tess_host_allocate(ctx, r->scratch, sizeof *r->scratch_col, (void **)&r->scratch_col));
    TESS_TRY(tess_host_allocate(ctx, r->scratch, sizeof *r->scratch_val, (void **)&r->scratch_val));
    tidy_rows(r, per_thread);
cleanup:
    tess_host_release(ctx, r->scratch_col, r->scratch, sizeof *r->scratch_col);
    tess_host_release(ctx, r->scratch_val, r->scratch, sizeof *r->scratch_val);
    return status;
}

/* ---- the result's arrays ---- */

static tess_status allocate_offsets(tess_context *ctx, const rows *r, tess_assembled *out)
{
    int64_t at = 0;
    tess_status status = TESS_SUCCESS;

    out->row_ptr_bits = out->nnz <= INT32_MAX ? 32 : 64;
    status = tess_host_allocate(ctx, r->nrows + 1, (size_t)out->row_ptr_bits / 8, &out->row_ptr);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t i = 0; i < r->nrows; i++) {
        tess_row_offset_set(out->row_ptr, out->row_ptr_bits, i, at);
        at += r->length[i];
    }
    tess_row_offset_set(out->row_ptr, out->row_ptr_bits, r->nrows, at);
    return TESS_SUCCESS;
}

/* Copies the rows without the gaps that duplicates leave. */
static tess_status compact(tess_context *ctx, const rows *r, tess_assembled *out)
{
    tess_status status = tess_host_allocate(ctx, out->nnz, sizeof *out->col_ind, (void **)&out->col_ind);

    if (status == TESS_SUCCESS) { status = tess_host_allocate(ctx, out->nnz, sizeof *out->val, (void **)&out->val); }
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for schedule(dynamic, ROWS_AT_ONCE) num_threads(r->threads)
    for (int64_t i = 0; i < r->nrows; i++) {
        int64_t to = tess_row_offset(out->row_ptr, out->row_ptr_bits, i), from = r->row_ptr[i];

        memcpy(out->col_ind + to, r->col_ind + from, (size_t)r->length[i] * sizeof *out->col_ind);
        memcpy(out->val + to, r->val + from, (size_t)r->length[i] * sizeof *out->val);
    }
    return TESS_SUCCESS;
}

tess_status tess_assemble_csr(tess_context *ctx, int64_t nrows, int64_t nnz, int64_t *row_ptr, int32_t *col_ind,
                              double *val, tess_assembled *out)
{
    rows r = {.nrows = nrows,
              .row_ptr = row_ptr,
              .col_ind = col_ind,
              .val = val,
              .threads = tess_io_threads(ctx, nnz > nrows ? nnz : nrows)};
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){.nrows = nrows};
    TESS_TRY(tess_host_allocate(ctx, nrows, sizeof *r.length, (void **)&r.length));
    TESS_TRY(sort_and_sum(ctx, &r));
    out->duplicates = r.duplicates;
    out->nnz = nnz - r.duplicates;
    TESS_TRY(allocate_offsets(ctx, &r, out));
    if (r.duplicates > 0) {
        status = compact(ctx, &r, out);
    } else {
        out->col_ind = col_ind;
        out->val = val;
    }
cleanup:
    if (out->col_ind != col_ind) { tess_host_release(ctx, col_ind, nnz, sizeof *col_ind); }
    if (out->val != val) { tess_host_release(ctx, val, nnz, sizeof *val); }
    tess_host_release(ctx, row_ptr, nrows + 1, sizeof *row_ptr);
    tess_host_release(ctx, r.length, nrows, sizeof *r.length);
    if (status != TESS_SUCCESS) { tess_assembled_release(ctx, out); }
    return status;
}
