/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the order by clusters on a host: rows by all threads. */
#include <string.h>

#include "device/host/host.h"
#include "order/clusters.h"

static tess_status seed(tess_context *ctx, int64_t n, int generation, int32_t *label)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        label[i] = cluster_label(generation, i, label[i]);
    }
    return TESS_SUCCESS;
}

static tess_status grow(tess_context *ctx, const csr_view *v, int pass, const int32_t *from, int32_t *to,
                        uint8_t *reached)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, v->nnz)) schedule(dynamic, 1024)
    for (int64_t i = 0; i < v->nrows; i++) {
        int32_t label = from[i];

        for (int64_t k = csr_offset(v, i); label < 0 && k < csr_offset(v, i + 1); k++) {
            label = from[v->col_ind[k]];
            if (label >= 0) { reached[i] = (uint8_t)pass; }
        }
        to[i] = label;
    }
    return TESS_SUCCESS;
}

static tess_status count(tess_context *ctx, int64_t n, const int32_t *label, int64_t *out)
{
    int64_t sum = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, n)) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        sum += label[i] < 0;
    }
    *out = sum;
    return TESS_SUCCESS;
}

static tess_status number(tess_context *ctx, int64_t n, int32_t *label, int64_t *cells)
{
    int32_t *of_seed = NULL, found = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n, sizeof *of_seed, (void **)&of_seed));
    for (int64_t i = 0; i < n; i++) {
        of_seed[i] = found;
        found += label[i] == i;
    }
    *cells = found;
#pragma omp parallel for num_threads(host_threads_for(ctx, n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        label[i] = cluster_number(of_seed, found, label[i], i);
    }
cleanup:
    tess_host_release(ctx, of_seed, n, sizeof *of_seed);
    return status;
}

/* The highest of all threads' numbers stays. */
static void put_higher(int32_t *slot, int32_t other)
{
    int32_t now = __atomic_load_n(slot, __ATOMIC_RELAXED);

    while (other > now && !__atomic_compare_exchange_n(slot, &now, other, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static tess_status neighbours(tess_context *ctx, const csr_view *v, int64_t cells, const int32_t *cell, int32_t *slot)
{
#pragma omp parallel for num_threads(host_threads_for(ctx, v->nnz)) schedule(dynamic, 1024)
    for (int64_t i = 0; i < v->nrows; i++) {
        const int32_t mine = cell[i];

        for (int64_t k = csr_offset(v, i); mine < cells && k < csr_offset(v, i + 1); k++) {
            const int32_t other = cell[v->col_ind[k]];

            if (other != mine && other < cells) { put_higher(&slot[cluster_slot(mine, other)], other + 1); }
        }
    }
    return TESS_SUCCESS;
}

/* Stable counting sort. */
static tess_status sort(tess_context *ctx, int64_t n, int64_t cells, int depth, const int32_t *cell,
                        const int32_t *cell_place, const uint8_t *reached, int32_t *perm)
{
    const int64_t bins = (cells + n / CLUSTER_REST + 1) * depth;
    int32_t *first = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, bins + 1, sizeof *first, (void **)&first));
    memset(first, 0, (size_t)(bins + 1) * sizeof *first);
    for (int64_t i = 0; i < n; i++) {
        first[cluster_key(cells, depth, cell_place, cell[i], reached[i]) + 1]++;
    }
    for (int64_t k = 0; k < bins; k++) {
        first[k + 1] += first[k];
    }
    for (int64_t i = 0; i < n; i++) {
        perm[first[cluster_key(cells, depth, cell_place, cell[i], reached[i])]++] = (int32_t)i;
    }
cleanup:
    tess_host_release(ctx, first, bins + 1, sizeof *first);
    return status;
}

/* ---- what a product fetches ---- */

enum { FETCH_TABLE = 2 * FETCH_ENTRIES };

/* Whether the line is new to the table of `size`, a power of 2 above the number of lines; 0 is an empty place. */
static bool is_new(int32_t *table, uint32_t size, int32_t line)
{
    uint32_t at = (uint32_t)line * UINT32_C(2654435769) & (size - 1);

    while (table[at] != 0) {
        if (table[at] == line + 1) { return false; }
        at = (at + 1) & (size - 1);
    }
    table[at] = line + 1;
    return true;
}

static void fetch_slice(const csr_view *v, const int32_t *perm, const int32_t *place, int64_t slice, fetch_sums *sums)
{
    const int64_t first = slice * FETCH_ROWS, last = first + FETCH_ROWS < v->nrows ? first + FETCH_ROWS : v->nrows;
    int32_t table[FETCH_TABLE];
    int64_t entries = 0, left = FETCH_ENTRIES;
    uint32_t size = 2;

    for (int64_t r = first; r < last; r++) {
        const int64_t i = perm ? perm[r] : r;

        entries += csr_offset(v, i + 1) - csr_offset(v, i);
    }
    left = entries < left ? entries : left;
    while (size < 2 * left) {
        size *= 2;
    }
    memset(table, 0, size * sizeof *table);
    sums->entries += left;
    for (int64_t r = first; r < last; r++) {
        const int64_t i = perm ? perm[r] : r;

        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1) && left > 0; k++, left--) {
            sums->lines += is_new(table, size, fetch_line(v, place, k));
        }
    }
}

static tess_status fetch(tess_context *ctx, const csr_view *v, const int32_t *perm, const int32_t *place, int64_t step,
                         fetch_sums *sums)
{
    const int64_t slices = (v->nrows + FETCH_ROWS - 1) / FETCH_ROWS;
    int64_t lines = 0, entries = 0;

#pragma omp parallel for num_threads(host_threads_for(ctx, v->nnz)) schedule(dynamic, 16) reduction(+ : lines, entries)
    for (int64_t s = 0; s < slices; s += step) {
        fetch_sums one = {0, 0};

        fetch_slice(v, perm, place, s, &one);
        lines += one.lines;
        entries += one.entries;
    }
    *sums = (fetch_sums){lines, entries};
    return TESS_SUCCESS;
}

const cluster_ops clusters_host_ops = {seed, grow, count, number, neighbours, sort, fetch};
