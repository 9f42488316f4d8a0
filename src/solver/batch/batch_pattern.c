/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern of a batch: indices of the caller's widths, mirrors for the test of symmetry, levels for ILU(0). */
#include "solver/batch/batch_pattern.h"

#include <tessera/names.h>

#include "matrix/assembled.h"
#include "precond/incomplete/incomplete.h"
#include "triangular/level_sets.h"

static tess_status allocate_part(tess_context *ctx, batch_pattern *p, pattern_part part, int64_t count)
{
    p->count[part] = count;
    return tess_host_allocate(ctx, count, sizeof(int32_t), (void **)&p->on_host[part]);
}

/* Indices of the caller as 32 bits; -1 where one does not fit, which is no sound pattern. */
static tess_status get_indices(tess_context *ctx, const tess_batch *a, const void *index, int bits, int64_t count,
                               int32_t *to)
{
    const size_t bytes = (size_t)bits / 8;
    const bool copies = a->pattern_where == TESS_MEMORY_DEVICE;
    const void *from = index;
    void *copy = NULL;
    tess_status status = TESS_SUCCESS;

    if (copies) {
        TESS_TRY(tess_host_allocate(ctx, count, bytes, &copy));
        if (count > 0) { TESS_TRY(ctx->backend->download(ctx, copy, index, (size_t)count * bytes)); }
        from = copy;
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t value = tess_row_offset(from, bits, k);

        to[k] = value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
    }
cleanup:
    tess_host_release(ctx, copy, count, bytes);
    return status;
}

static csr_view view_of(const tess_batch *a, const batch_pattern *p)
{
    const csr_view view = {.nrows = a->n,
                           .ncols = a->n,
                           .nnz = a->nnz,
                           .row_ptr = p->on_host[PATTERN_ROW_PTR],
                           .col_ind = p->on_host[PATTERN_COL_IND],
                           .row_ptr_bits = 32,
                           .precision = TESS_PRECISION_FP64};

    return view;
}

/* Row offsets and columns, which are sound. */
static tess_status take_indices(tess_context *ctx, const tess_batch *a, batch_pattern *p)
{
    csr_view view;
    int64_t bad = -1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_part(ctx, p, PATTERN_ROW_PTR, a->n + 1));
    TESS_TRY(allocate_part(ctx, p, PATTERN_COL_IND, a->nnz));
    TESS_TRY(get_indices(ctx, a, a->row_ptr, a->row_ptr_bits, a->n + 1, p->on_host[PATTERN_ROW_PTR]));
    TESS_TRY(get_indices(ctx, a, a->col_ind, a->col_ind_bits, a->nnz, p->on_host[PATTERN_COL_IND]));
    view = view_of(a, p);
    TESS_TRY(assembled_host_ops.check(ctx, &view, &bad));
    if (bad >= 0) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "sort the columns of each row, sum duplicates, and count from 0",
                         "row %lld of a batch's pattern has offsets out of order, or columns that are unsorted, "
                         "duplicate or out of range",
                         (long long)bad);
    }
cleanup:
    return status;
}

static tess_status find_mirror(tess_context *ctx, const csr_view *v, batch_pattern *p)
{
    const tess_status status = allocate_part(ctx, p, PATTERN_MIRROR, v->nnz);

    for (int64_t i = 0; status == TESS_SUCCESS && i < v->nrows; i++) {
        for (int64_t k = csr_offset(v, i); k < csr_offset(v, i + 1); k++) {
            p->on_host[PATTERN_MIRROR][k] = (int32_t)csr_find(v, v->col_ind[k], i);
        }
    }
    return status;
}

/* ---- for ILU(0) ---- */

static tess_status find_diagonal(tess_context *ctx, const csr_view *v, batch_pattern *p)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_part(ctx, p, PATTERN_DIAGONAL, v->nrows));
    for (int64_t i = 0; i < v->nrows; i++) {
        const int64_t k = csr_find(v, i, i);

        if (k < 0) {
            return tess_fail(ctx, TESS_SINGULAR, "store it in each system, even if it is zero",
                             "row %lld of a batch's pattern has no diagonal entry, which ILU(0) needs", (long long)i);
        }
        p->on_host[PATTERN_DIAGONAL][i] = (int32_t)k;
    }
cleanup:
    return status;
}

/* One level of all rows, for a thread of the host. */
static tess_status take_all_rows(tess_context *ctx, int64_t n, pattern_part begin, batch_pattern *p)
{
    const tess_status status = allocate_part(ctx, p, begin, 2);

    if (status != TESS_SUCCESS) { return status; }
    p->on_host[begin][0] = 0;
    p->on_host[begin][1] = (int32_t)n;
    return TESS_SUCCESS;
}

/* The level sets of a triangle; `begin` and the part after it. */
static tess_status find_levels(tess_context *ctx, const triangle_pattern *t, pattern_part begin, batch_pattern *p)
{
    const pattern_part order = (pattern_part)(begin + 1);
    level_schedule found = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(level_sets_find_each(ctx, t, &found));
    TESS_TRY(allocate_part(ctx, p, begin, found.nruns + 1));
    TESS_TRY(allocate_part(ctx, p, order, found.n));
    p->on_host[begin][0] = 0;
    for (int64_t r = 0; r < found.nruns; r++) {
        p->on_host[begin][r + 1] = (int32_t)found.runs[r].end;
    }
    for (int64_t i = 0; i < found.n; i++) {
        p->on_host[order][i] = found.order[i];
    }
cleanup:
    level_sets_release(ctx, &found);
    return status;
}

/* The pattern with offsets of 64 bits, as incomplete factors have it. */
static tess_status widen(tess_context *ctx, const csr_view *v, const batch_pattern *p, incomplete_pattern *wide)
{
    tess_status status = TESS_SUCCESS;

    *wide = (incomplete_pattern){.n = v->nrows, .nnz = v->nnz};
    TESS_TRY(tess_host_allocate(ctx, wide->n + 1, sizeof *wide->row_ptr, (void **)&wide->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, wide->nnz, sizeof *wide->col_ind, (void **)&wide->col_ind));
    TESS_TRY(tess_host_allocate(ctx, wide->n, sizeof *wide->diagonal, (void **)&wide->diagonal));
    wide->row_ptr[0] = 0;
    for (int64_t i = 0; i < wide->n; i++) {
        wide->row_ptr[i + 1] = csr_offset(v, i + 1);
        wide->diagonal[i] = p->on_host[PATTERN_DIAGONAL][i];
    }
    for (int64_t k = 0; k < wide->nnz; k++) {
        wide->col_ind[k] = v->col_ind[k];
    }
cleanup:
    return status;
}

static tess_status find_both_levels(tess_context *ctx, const csr_view *v, batch_pattern *p)
{
    incomplete_pattern wide = {0};
    triangle_pattern lower = {0}, upper = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(widen(ctx, v, p, &wide));
    TESS_TRY(incomplete_take_lower(ctx, &wide, &lower));
    TESS_TRY(incomplete_take_upper(ctx, &wide, &upper));
    TESS_TRY(find_levels(ctx, &lower, PATTERN_LOWER_BEGIN, p));
    status = find_levels(ctx, &upper, PATTERN_UPPER_BEGIN, p);
cleanup:
    incomplete_release_triangle(ctx, &lower);
    incomplete_release_triangle(ctx, &upper);
    incomplete_release_pattern(ctx, &wide);
    return status;
}

static tess_status prepare_factors(tess_context *ctx, const csr_view *v, batch_pattern *p)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_diagonal(ctx, v, p));
    if (ctx->device == TESS_DEVICE_GPU) { return find_both_levels(ctx, v, p); }
    TESS_TRY(take_all_rows(ctx, v->nrows, PATTERN_LOWER_BEGIN, p));
    status = take_all_rows(ctx, v->nrows, PATTERN_UPPER_BEGIN, p);
cleanup:
    return status;
}

/* ---- the whole ---- */

static void note_places(const batch_pattern *p, int32_t *const *parts, batch_task *task)
{
    task->row_ptr = parts[PATTERN_ROW_PTR];
    task->col_ind = parts[PATTERN_COL_IND];
    task->mirror = parts[PATTERN_MIRROR];
    task->diagonal = parts[PATTERN_DIAGONAL];
    task->lower = (batch_levels){(int32_t)(p->count[PATTERN_LOWER_BEGIN] - 1), parts[PATTERN_LOWER_BEGIN],
                                 parts[PATTERN_LOWER_ORDER]};
    task->upper = (batch_levels){(int32_t)(p->count[PATTERN_UPPER_BEGIN] - 1), parts[PATTERN_UPPER_BEGIN],
                                 parts[PATTERN_UPPER_ORDER]};
}

static tess_status place(tess_context *ctx, batch_pattern *p, batch_task *task)
{
    tess_status status = TESS_SUCCESS;

    if (ctx->device == TESS_DEVICE_CPU) {
        note_places(p, p->on_host, task);
        return TESS_SUCCESS;
    }
    for (int part = 0; part < PATTERN_PARTS; part++) {
        if (!p->on_host[part]) { continue; }
        TESS_TRY(
            tess_device_upload(ctx, p->on_host[part], p->count[part], sizeof(int32_t), (void **)&p->on_device[part]));
    }
    note_places(p, p->on_device, task);
cleanup:
    return status;
}

tess_status batch_pattern_make(tess_context *ctx, const tess_batch *a, batch_pattern *p, batch_task *task)
{
    const bool mirrored = task->method == BATCH_CHOSEN || task->method == BATCH_CG;
    csr_view view;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_indices(ctx, a, p));
    view = view_of(a, p);
    if (mirrored) { TESS_TRY(find_mirror(ctx, &view, p)); }
    if (task->precond == BATCH_ILU0) { TESS_TRY(prepare_factors(ctx, &view, p)); }
    status = place(ctx, p, task);
cleanup:
    return status;
}

void batch_pattern_release(tess_context *ctx, const batch_pattern *p)
{
    for (int part = 0; part < PATTERN_PARTS; part++) {
        tess_host_release(ctx, p->on_host[part], p->count[part], sizeof(int32_t));
        tess_device_release(ctx, p->on_device[part], p->count[part], sizeof(int32_t));
    }
}
