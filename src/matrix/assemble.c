/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries to rows: a counting sort by rows that keeps the order of the entries, so that the result depends neither on
 * the number of threads nor on their timing. Each part (a stretch of the entries) has its own counter per row.
 */
#include <string.h>

#include "base/offsets.h"
#include "matrix/complex_form.h"

typedef struct scatter {
    const tess_entries *entries;
    int parts;
    int threads;
    int64_t *position; /* parts x nrows: counts, then where a part's next entry of a row goes */
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
} scatter;

static int64_t part_start(const scatter *s, int part)
{
    return s->entries->count / s->parts * part + s->entries->count % s->parts * part / s->parts;
}

/* As many parts as threads, unless their counters would take more memory than the entries do. */
static int choose_parts(const tess_context *ctx, const tess_entries *entries)
{
    int64_t affordable = entries->nrows > 0 ? 2 * entries->count / entries->nrows : 1;
    int useful = tess_io_threads(ctx, entries->count);

    if (affordable < 1) { return 1; }
    return affordable < useful ? (int)affordable : useful;
}

static bool is_mirrored(const tess_entries *entries, int64_t k)
{
    return entries->symmetry != TESS_SYMMETRY_GENERAL && entries->row[k] != entries->col[k];
}

static void count_part(const scatter *s, int part)
{
    const tess_entries *entries = s->entries;
    int64_t *count = s->position + part * entries->nrows;
    int64_t end = part_start(s, part + 1);

    memset(count, 0, (size_t)entries->nrows * sizeof *count);
    for (int64_t k = part_start(s, part); k < end; k++) {
        count[entries->row[k]]++;
        if (is_mirrored(entries, k)) { count[entries->col[k]]++; }
    }
}

/* Counts become offsets: within the row over the parts, then over the rows. */
static int64_t offset_rows(const scatter *s)
{
    int64_t nrows = s->entries->nrows, total = 0;

#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < nrows; i++) {
        int64_t sum = 0;

        for (int part = 0; part < s->parts; part++) {
            int64_t *position = s->position + part * nrows + i;
            int64_t count = *position;

            *position = sum;
            sum += count;
        }
        s->row_ptr[i] = sum;
    }
    for (int64_t i = 0; i < nrows; i++) {
        int64_t count = s->row_ptr[i];

        s->row_ptr[i] = total;
        total += count;
    }
    s->row_ptr[nrows] = total;
    return total;
}

static inline void put(const scatter *s, int64_t *position, int32_t row, int32_t col, double value)
{
    int64_t k = s->row_ptr[row] + position[row]++;

    s->col_ind[k] = col;
    s->val[k] = value;
}

static void scatter_part(const scatter *s, int part)
{
    const tess_entries *entries = s->entries;
    int64_t *position = s->position + part * entries->nrows;
    double sign = entries->symmetry == TESS_SYMMETRY_SKEW ? -1.0 : 1.0;
    int64_t end = part_start(s, part + 1);

    for (int64_t k = part_start(s, part); k < end; k++) {
        double value = entries->val ? entries->val[k] : 1.0;

        put(s, position, entries->row[k], entries->col[k], value);
        if (is_mirrored(entries, k)) { put(s, position, entries->col[k], entries->row[k], sign * value); }
    }
}

static tess_status allocate_scatter(tess_context *ctx, scatter *s)
{
    tess_status status = tess_host_allocate(ctx, s->entries->nrows + 1, sizeof *s->row_ptr, (void **)&s->row_ptr);

    if (status != TESS_SUCCESS) { return status; }
    return tess_host_allocate(ctx, s->parts * s->entries->nrows, sizeof *s->position, (void **)&s->position);
}

tess_status tess_assemble_entries(tess_context *ctx, const tess_entries *entries, tess_assembled *out)
{
    scatter s = {
        .entries = entries, .parts = choose_parts(ctx, entries), .threads = tess_io_threads(ctx, entries->nrows)};
    int64_t total = 0;
    bool handed_on = false;
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){0};
    if (entries->is_complex) { return tess_assemble_complex_entries(ctx, entries, out); }
    TESS_TRY(allocate_scatter(ctx, &s));
#pragma omp parallel for schedule(static) num_threads(s.parts)
    for (int part = 0; part < s.parts; part++) {
        count_part(&s, part);
    }
    total = offset_rows(&s);
    TESS_TRY(tess_host_allocate(ctx, total, sizeof *s.col_ind, (void **)&s.col_ind));
    TESS_TRY(tess_host_allocate(ctx, total, sizeof *s.val, (void **)&s.val));
#pragma omp parallel for schedule(static) num_threads(s.parts)
    for (int part = 0; part < s.parts; part++) {
        scatter_part(&s, part);
    }
    tess_host_release(ctx, s.position, s.parts * entries->nrows, sizeof *s.position);
    s.position = NULL;
    handed_on = true;
    status = tess_assemble_csr(ctx, entries->nrows, total, s.row_ptr, s.col_ind, s.val, out);
cleanup:
    tess_host_release(ctx, s.position, s.parts * entries->nrows, sizeof *s.position);
    if (!handed_on) {
        tess_host_release(ctx, s.row_ptr, entries->nrows + 1, sizeof *s.row_ptr);
        tess_host_release(ctx, s.col_ind, total, sizeof *s.col_ind);
        tess_host_release(ctx, s.val, total, sizeof *s.val);
    }
    return status;
}

tess_status tess_assemble_coo(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, const int32_t *row,
                              const int32_t *col, const double *val, tess_assembled *out)
{
    tess_entries entries = {.nrows = nrows,
                            .ncols = ncols,
                            .count = nnz,
                            .row = row,
                            .col = col,
                            .val = val,
                            .symmetry = TESS_SYMMETRY_GENERAL};

    return tess_assemble_entries(ctx, &entries, out);
}

/* ---- entries in order ---- */

enum { LOOK_EVERY = 1 << 14 /* entries of one part before it asks whether another has found disorder */ };

typedef struct sorted_entries {
    int64_t nrows, count;
    const int32_t *row, *col;
    void *row_ptr;
    int bits;
    bool disorder;
} sorted_entries;

/* Where rows are in disorder two parts may set the same offset, which nobody reads then. */
static void set_offset(const sorted_entries *s, int64_t row, int64_t offset)
{
    if (s->bits == 64) {
        int64_t *const to = (int64_t *)s->row_ptr + row;
#pragma omp atomic write
        *to = offset;
    } else {
        int32_t *const to = (int32_t *)s->row_ptr + row;
#pragma omp atomic write
        *to = (int32_t)offset;
    }
}

/* Offsets of the rows that begin between the entry before `start` and the last one before `end`. */
static bool offset_sorted(const sorted_entries *s, int64_t start, int64_t end)
{
    int64_t row = start > 0 ? s->row[start - 1] : -1, col = start > 0 ? s->col[start - 1] : 0;

    for (int64_t k = start; k < end; k++) {
        if (s->row[k] < row || (s->row[k] == row && s->col[k] <= col)) { return false; }
        while (row < s->row[k]) {
            set_offset(s, ++row, k);
        }
        col = s->col[k];
    }
    return true;
}

static void offset_part(sorted_entries *s, int part, int parts)
{
    const int64_t end = s->count / parts * (part + 1) + s->count % parts * (part + 1) / parts;
    bool disorder = false;

    for (int64_t k = s->count / parts * part + s->count % parts * part / parts; k < end && !disorder; k += LOOK_EVERY) {
#pragma omp atomic read
        disorder = s->disorder;
        if (disorder || offset_sorted(s, k, end - k < LOOK_EVERY ? end : k + LOOK_EVERY)) { continue; }
#pragma omp atomic write
        s->disorder = true;
    }
}

tess_status tess_assemble_sorted(tess_context *ctx, int64_t nrows, int64_t count, const int32_t *row, int32_t *col,
                                 double *val, tess_assembled *out)
{
    sorted_entries s = {.nrows = nrows, .count = count, .row = row, .col = col, .bits = count <= INT32_MAX ? 32 : 64};
    const int parts = tess_io_threads(ctx, count);
    const tess_status status = tess_host_allocate(ctx, nrows + 1, (size_t)s.bits / 8, &s.row_ptr);

    *out = (tess_assembled){0};
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for schedule(static) num_threads(parts)
    for (int part = 0; part < parts; part++) {
        offset_part(&s, part, parts);
    }
    if (s.disorder) {
        tess_host_release(ctx, s.row_ptr, nrows + 1, (size_t)s.bits / 8);
        return TESS_SUCCESS;
    }
    for (int64_t i = count > 0 ? row[count - 1] + 1 : 0; i <= nrows; i++) {
        tess_row_offset_set(s.row_ptr, s.bits, i, count);
    }
    *out = (tess_assembled){
        .nrows = nrows, .nnz = count, .row_ptr = s.row_ptr, .row_ptr_bits = s.bits, .col_ind = col, .val = val};
    return TESS_SUCCESS;
}

void tess_assembled_release(tess_context *ctx, tess_assembled *assembled)
{
    if (assembled->row_ptr) {
        tess_host_release(ctx, assembled->row_ptr, assembled->nrows + 1, (size_t)assembled->row_ptr_bits / 8);
    }
    tess_host_release(ctx, assembled->col_ind, assembled->nnz, sizeof *assembled->col_ind);
    tess_host_release(ctx, assembled->val, assembled->nnz, sizeof *assembled->val);
    *assembled = (tess_assembled){0};
}
