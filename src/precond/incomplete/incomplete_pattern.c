/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of incomplete factors. */
#include <string.h>

#include "precond/incomplete/fill.h"
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

static void release_side(tess_context *ctx, incomplete_side *s)
{
    tess_device_release(ctx, s->source, s->pattern.nnz, sizeof *s->source);
    device_csr_release(ctx, &s->pattern);
}

void incomplete_release_split(tess_context *ctx, int64_t n, incomplete_split *s)
{
    tess_device_release(ctx, s->diagonal, n, sizeof *s->diagonal);
    release_side(ctx, &s->lower);
    release_side(ctx, &s->upper);
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

void fill_transpose(const fill_input *a, bool lower, int64_t *row_ptr, int32_t *col_ind, int64_t *source)
{
    memset(row_ptr, 0, (size_t)(a->n + 1) * sizeof *row_ptr);
    for (int64_t i = 0; i < a->n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && !(lower && a->col_ind[k] > i); k++) {
            row_ptr[a->col_ind[k] + 1] += 1;
        }
    }
    for (int64_t i = 0; i < a->n; i++) {
        row_ptr[i + 1] += row_ptr[i];
    }
    for (int64_t i = 0; i < a->n;
         i++) { /* rows fill in ascending order of columns, because rows are visited in order */
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1] && !(lower && a->col_ind[k] > i); k++) {
            const int64_t place = row_ptr[a->col_ind[k]]++;

            col_ind[place] = (int32_t)i;
            if (source) { source[place] = k; }
        }
    }
    memmove(row_ptr + 1, row_ptr, (size_t)a->n * sizeof *row_ptr);
    row_ptr[0] = 0;
}

tess_status incomplete_mirror(tess_context *ctx, const triangle_pattern *lower, triangle_pattern *t)
{
    const fill_input input = {.n = lower->n, .row_ptr = lower->row_ptr, .col_ind = lower->col_ind};
    const int64_t nnz = entries_of(lower);
    tess_status status = TESS_SUCCESS;

    *t = (triangle_pattern){.n = lower->n, .upper = true};
    TESS_TRY(tess_host_allocate(ctx, t->n + 1, sizeof *t->row_ptr, (void **)&t->row_ptr));
    memset(t->row_ptr, 0, (size_t)(t->n + 1) * sizeof *t->row_ptr);
    t->row_ptr[t->n] = nnz;
    TESS_TRY(allocate_entries(ctx, t));
    fill_transpose(&input, false, t->row_ptr, t->col_ind, t->source);
    for (int64_t k = 0; k < nnz; k++) {
        t->source[k] = lower->source[t->source[k]];
    }
cleanup:
    return status;
}
