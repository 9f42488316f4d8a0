/* SPDX-License-Identifier: Apache-2.0 */
/* How the host cuts the rows of a CSR matrix, or of a part of one, into chunks of about equal work. */
#include <string.h>

#include "device/host/host.h"
#include "format/csr/csr_host.h"

/* With that many long rows for each thread, the chunks alone keep all threads busy. */
enum { LONG_ROWS_PER_THREAD = 4 };

/* First row i with offset(i) + i >= target, with offsets counted from that of the first row. */
static int64_t find_row(const csr_view *v, int64_t target)
{
    int64_t low = 0, high = v->nrows, first = csr_offset(v, 0);

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (csr_offset(v, middle) - first + middle >= target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static int64_t row_length(const csr_view *v, int64_t i)
{
    return csr_offset(v, i + 1) - csr_offset(v, i);
}

static int64_t segments_of(int64_t length)
{
    return (length + CSR_SEGMENT - 1) / CSR_SEGMENT;
}

void csr_host_free_plan(tess_context *ctx, csr_plan *p)
{
    if (!p) { return; }
    tess_host_release(ctx, p->chunk_row, p->nchunks + 1, sizeof *p->chunk_row);
    tess_host_release(ctx, p->partials, 2 * p->nchunks, sizeof *p->partials);
    tess_host_release(ctx, p->long_row, p->nlong, sizeof *p->long_row);
    tess_host_release(ctx, p->long_sum, p->nlong, sizeof *p->long_sum);
    tess_host_release(ctx, p->segment_sum, csr_plan_segments(p), sizeof *p->segment_sum);
    tess_host_release(ctx, p->first_segment, p->nlong + 1, sizeof *p->first_segment);
    tess_host_release(ctx, p, 1, sizeof *p);
}

static int64_t count_long_rows(const csr_view *v, int threads)
{
    int64_t count = 0;

    for (int64_t i = 0; i < v->nrows; i++) {
        count += row_length(v, i) > CSR_SEGMENT;
    }
    return count < (int64_t)LONG_ROWS_PER_THREAD * threads ? count : 0;
}

static void find_long_rows(const csr_view *v, csr_plan *p)
{
    int64_t found = 0;

    p->first_segment[0] = 0;
    for (int64_t i = 0; i < v->nrows && found < p->nlong; i++) {
        if (row_length(v, i) <= CSR_SEGMENT) { continue; }
        p->long_row[found] = (int32_t)i;
        p->first_segment[found + 1] = p->first_segment[found] + segments_of(row_length(v, i));
        found += 1;
    }
}

static tess_status make_plan(tess_context *ctx, const csr_view *v, csr_plan **out)
{
    csr_plan *p = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *p, (void **)&p));
    memset(p, 0, sizeof *p);
    p->nchunks = (v->nnz + v->nrows + CSR_CHUNK - 1) / CSR_CHUNK;
    p->nlong = count_long_rows(v, ctx->threads);
    TESS_TRY(tess_host_allocate(ctx, p->nchunks + 1, sizeof *p->chunk_row, (void **)&p->chunk_row));
    TESS_TRY(tess_host_allocate(ctx, 2 * p->nchunks, sizeof *p->partials, (void **)&p->partials));
    TESS_TRY(tess_host_allocate(ctx, p->nlong, sizeof *p->long_row, (void **)&p->long_row));
    TESS_TRY(tess_host_allocate(ctx, p->nlong, sizeof *p->long_sum, (void **)&p->long_sum));
    TESS_TRY(tess_host_allocate(ctx, p->nlong + 1, sizeof *p->first_segment, (void **)&p->first_segment));
    find_long_rows(v, p);
    TESS_TRY(tess_host_allocate(ctx, csr_plan_segments(p), sizeof *p->segment_sum, (void **)&p->segment_sum));
    for (int64_t c = 0; c <= p->nchunks; c++) {
        p->chunk_row[c] = (int32_t)find_row(v, c * CSR_CHUNK);
    }
    p->chunk_row[p->nchunks] = (int32_t)v->nrows;
    *out = p;
cleanup:
    if (status != TESS_SUCCESS) { csr_host_free_plan(ctx, p); }
    return status;
}

tess_status csr_host_make_plans(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out)
{
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < count; i++) {
        out[i] = NULL;
    }
    for (int i = 0; i < count; i++) {
        TESS_TRY(make_plan(ctx, views[i], &out[i]));
    }
cleanup:
    for (int i = 0; i < count && status != TESS_SUCCESS; i++) {
        csr_host_free_plan(ctx, out[i]);
        out[i] = NULL;
    }
    return status;
}
