/* SPDX-License-Identifier: Apache-2.0 */
/* Building ELLPACK-R and SELL-C-sigma on the host, and decoding them. */
#include <stdlib.h>

#include "device/host/host.h"
#include "format/ellr/ellr_rows.h"

tess_status ellr_host_longest_row(tess_context *ctx, const csr_view *csr, int32_t *longest)
{
    int32_t most = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) \
    reduction(max                                                   \
              : most) if (csr->nrows > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < csr->nrows; i++) {
        int32_t length = ellr_csr_length(csr, i);

        if (length > most) { most = length; }
    }
    *longest = most;
    return TESS_SUCCESS;
}

/* Ascending keys: descending lengths, and rows of one length in their order. */
static int compare_keys(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts the window that begins at position `first` if this pays; otherwise it keeps its order. */
static bool sort_window(const csr_view *csr, const ellr_view *v, int64_t first, int64_t count)
{
    uint64_t key[ELLR_LARGEST_WINDOW];
    int64_t in_order = 0, sorted = 0;
    bool pays = false;

    for (int64_t i = 0, widest = 0; i < count; i++) {
        int32_t length = ellr_csr_length(csr, first + i);

        widest = i % ELLR_SLICE == 0 || length > widest ? length : widest;
        if (i % ELLR_SLICE == ELLR_SLICE - 1) { in_order += widest; }
        key[i] = ((uint64_t)(INT32_MAX - length) << 32) | (uint64_t)i;
    }
    qsort(key, (size_t)count, sizeof *key, compare_keys);
    for (int64_t i = 0; i < count; i += ELLR_SLICE) {
        sorted += INT32_MAX - (int64_t)(key[i] >> 32);
    }
    pays = ellr_sorting_pays(in_order, sorted) && in_order > 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = ellr_position_of(i);

        v->order[first + place] = (int16_t)(pays ? (int64_t)(key[i] & UINT32_MAX) - place : 0);
    }
    return pays;
}

/* Lengths of a slice's rows; leaves its width and flags in the slice. Returns the entries of rows that exist. */
static int64_t measure_slice(const csr_view *csr, const ellr_view *v, int64_t s, bool permuted,
                             const ellr_arrangement *a)
{
    int64_t begin = s * ELLR_SLICE, rows = csr->nrows - begin < ELLR_SLICE ? csr->nrows - begin : ELLR_SLICE;
    int32_t width = 0;
    bool narrow = true;

    for (int64_t p = begin; p < begin + ELLR_SLICE; p++) {
        int64_t row = ellr_row_at(v, permuted, p);
        int32_t length = ellr_csr_length(csr, row);

        ellr_set_length(v, p, length);
        width = length > width ? length : width;
        narrow = narrow && ellr_is_narrow(csr, row);
    }
    v->slice[s].width = (uint32_t)(a->uniform ? a->common_width : width);
    v->slice[s].flags = (permuted ? (uint32_t)ELLR_PERMUTED : 0U) | (narrow ? 0U : (uint32_t)ELLR_WIDE);
    return (a->common_width >= 0 ? a->common_width : width) * rows;
}

static void place_slices(const ellr_view *v, ellr_arrangement *a)
{
    a->value_units = 0;
    a->column_units = 0;
    for (int64_t s = 0; s < v->nslices; s++) {
        int64_t capacity = a->common_width >= 0 ? a->common_width : (int64_t)v->slice[s].width;

        v->slice[s].first_value = (uint32_t)a->value_units;
        v->slice[s].first_column = (uint32_t)a->column_units;
        a->value_units += capacity;
        a->column_units += ellr_has_wide_columns(v->slice[s]) ? 2 * capacity : capacity;
    }
}

tess_status ellr_host_arrange(tess_context *ctx, const csr_view *csr, const ellr_view *v, ellr_arrangement *a)
{
    int64_t window = a->window > 0 ? a->window : ELLR_SLICE, positions = v->nslices * ELLR_SLICE;
    int64_t nwindows = (positions + window - 1) / window, entries = 0, permuted = 0;
    const bool parallel = csr->nnz > HOST_SERIAL_WORK;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : entries, permuted) if (parallel)
    for (int64_t w = 0; w < nwindows; w++) {
        int64_t first = w * window, count = positions - first < window ? positions - first : window;
        bool sorted = a->window > 0 && sort_window(csr, v, first, count);

        permuted += sorted;
        for (int64_t s = first / ELLR_SLICE; s < (first + count) / ELLR_SLICE; s++) {
            entries += measure_slice(csr, v, s, sorted, a);
        }
    }
    a->entries = entries;
    a->permuted = permuted;
    place_slices(v, a);
    return TESS_SUCCESS;
}

tess_status ellr_host_fill_columns(tess_context *ctx, const csr_view *csr, const ellr_view *v)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static, ELLR_SLICE) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t p = 0; p < v->nslices * ELLR_SLICE; p++) {
        ellr_fill_row_columns(csr, v, p);
    }
    return TESS_SUCCESS;
}

tess_status ellr_host_fill_values(tess_context *ctx, const csr_view *csr, const ellr_view *v)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static, ELLR_SLICE) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t p = 0; p < v->nslices * ELLR_SLICE; p++) {
        ellr_fill_row_values(csr, v, p);
    }
    return TESS_SUCCESS;
}

tess_status ellr_host_decode(tess_context *ctx, const csr_view *csr, const ellr_view *v, int32_t *col_ind, double *val)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static, ELLR_SLICE) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t p = 0; p < v->nslices * ELLR_SLICE; p++) {
        ellr_decode_row(csr, v, p, col_ind, val);
    }
    return TESS_SUCCESS;
}
