/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of incomplete factors. */
#include <string.h>

#include "precond/incomplete/incomplete.h"

tess_status incomplete_read_pattern(const tess_matrix *a, incomplete_pattern *p, int64_t *missing_row)
{
    tess_context *ctx = a->ctx;
    tess_status status = TESS_SUCCESS;

    *p = (incomplete_pattern){.n = a->nrows, .nnz = a->nnz};
    *missing_row = -1;
    TESS_TRY(tess_host_allocate(ctx, p->n + 1, sizeof *p->row_ptr, (void **)&p->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, p->nnz, sizeof *p->col_ind, (void **)&p->col_ind));
    TESS_TRY(tess_host_allocate(ctx, p->n, sizeof *p->diagonal, (void **)&p->diagonal));
    TESS_TRY(a->ops->decode(a, p->row_ptr, p->col_ind, NULL));
    for (int64_t i = 0; i < p->n; i++) {
        int64_t k = p->row_ptr[i];

        while (k < p->row_ptr[i + 1] && p->col_ind[k] < i) {
            k++;
        }
        p->diagonal[i] = k;
        if (*missing_row < 0 && (k == p->row_ptr[i + 1] || p->col_ind[k] != i)) { *missing_row = i; }
    }
cleanup:
    return status;
}

void incomplete_release_pattern(tess_context *ctx, incomplete_pattern *p)
{
    tess_host_release(ctx, p->row_ptr, p->n + 1, sizeof *p->row_ptr);
    tess_host_release(ctx, p->col_ind, p->nnz, sizeof *p->col_ind);
    tess_host_release(ctx, p->diagonal, p->n, sizeof *p->diagonal);
}

/* Number of entries of a triangle; known before row_ptr is. */
static int64_t entries_of(const triangle_pattern *t)
{
    return t->row_ptr ? t->row_ptr[t->n] : 0;
}

void incomplete_release_triangle(tess_context *ctx, triangle_pattern *t)
{
    const int64_t nnz = entries_of(t);

    tess_host_release(ctx, t->col_ind, nnz, sizeof *t->col_ind);
    tess_host_release(ctx, t->source, nnz, sizeof *t->source);
    tess_host_release(ctx, t->row_ptr, t->n + 1, sizeof *t->row_ptr);
}

/* Row offsets exist; allocates columns and sources. */
static tess_status allocate_entries(tess_context *ctx, triangle_pattern *t)
{
    const int64_t nnz = entries_of(t);
    const tess_status status = tess_host_allocate(ctx, nnz, sizeof *t->col_ind, (void **)&t->col_ind);

    return status == TESS_SUCCESS ? tess_host_allocate(ctx, nnz, sizeof *t->source, (void **)&t->source) : status;
}

static tess_status take_side(tess_context *ctx, const incomplete_pattern *p, bool upper, triangle_pattern *t)
{
    int64_t taken = 0;
    tess_status status = TESS_SUCCESS;

    *t = (triangle_pattern){.n = p->n, .upper = upper};
    TESS_TRY(tess_host_allocate(ctx, p->n + 1, sizeof *t->row_ptr, (void **)&t->row_ptr));
    t->row_ptr[0] = 0;
    for (int64_t i = 0; i < p->n; i++) {
        t->row_ptr[i + 1] =
            t->row_ptr[i] + (upper ? p->row_ptr[i + 1] - p->diagonal[i] - 1 : p->diagonal[i] - p->row_ptr[i]);
    }
    TESS_TRY(allocate_entries(ctx, t));
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t begin = upper ? p->diagonal[i] + 1 : p->row_ptr[i];
        const int64_t end = upper ? p->row_ptr[i + 1] : p->diagonal[i];

        for (int64_t k = begin; k < end; k++) {
            t->col_ind[taken] = p->col_ind[k];
            t->source[taken++] = k;
        }
    }
cleanup:
    return status;
}

tess_status incomplete_take_lower(tess_context *ctx, const incomplete_pattern *p, triangle_pattern *out)
{
    return take_side(ctx, p, false, out);
}

tess_status incomplete_take_upper(tess_context *ctx, const incomplete_pattern *p, triangle_pattern *out)
{
    return take_side(ctx, p, true, out);
}

/* Rows of the transpose fill in ascending order of columns, because rows are visited in order. */
tess_status incomplete_mirror(tess_context *ctx, const triangle_pattern *lower, triangle_pattern *t)
{
    const int64_t n = lower->n, nnz = entries_of(lower);
    tess_status status = TESS_SUCCESS;

    *t = (triangle_pattern){.n = n, .upper = true};
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *t->row_ptr, (void **)&t->row_ptr));
    memset(t->row_ptr, 0, (size_t)(n + 1) * sizeof *t->row_ptr);
    for (int64_t k = 0; k < nnz; k++) {
        t->row_ptr[lower->col_ind[k] + 1] += 1;
    }
    for (int64_t i = 0; i < n; i++) {
        t->row_ptr[i + 1] += t->row_ptr[i];
    }
    TESS_TRY(allocate_entries(ctx, t));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = lower->row_ptr[i]; k < lower->row_ptr[i + 1]; k++) {
            const int64_t place = t->row_ptr[lower->col_ind[k]]++;

            t->col_ind[place] = (int32_t)i;
            t->source[place] = lower->source[k];
        }
    }
    memmove(t->row_ptr + 1, t->row_ptr, (size_t)n * sizeof *t->row_ptr);
    t->row_ptr[0] = 0;
cleanup:
    return status;
}
