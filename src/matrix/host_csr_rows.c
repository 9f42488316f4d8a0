/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/host_csr_rows.h"

#include <string.h>

#include <omp.h>

/* Entries that the rows of a chunk may have, and chunks per thread between two appends. */
enum { CHUNK_ENTRIES = 1 << 16, CHUNKS_PER_THREAD = 4 };

/* A range of rows, and where its entries are computed. */
typedef struct chunk {
    int64_t first, end, start, count;
} chunk;

/* Space for the entries of some chunks. */
typedef struct chunk_space {
    int64_t size;
    int32_t *column;
    double *val;
} chunk_space;

static int64_t bound_of(const row_source *from, int64_t i)
{
    return from->bound ? from->bound[i] : from->most;
}

/* The next chunks from row `first` on; returns how many. Their entries need *total places. */
static int cut_chunks(const row_source *from, int64_t first, int most, chunk *out, int64_t *total)
{
    int count = 0;

    *total = 0;
    for (int64_t i = first; i < from->nrows && count < most; count++) {
        int64_t entries = 0;

        out[count] = (chunk){.first = i, .start = *total};
        do {
            entries += bound_of(from, i++);
        } while (i < from->nrows && entries + bound_of(from, i) <= CHUNK_ENTRIES);
        out[count].end = i;
        *total += entries;
    }
    return count;
}

/* Rows of a chunk one after another; their lengths go to out. */
static void compute_chunk(const row_source *from, chunk *own, const chunk_space *space, host_csr *out)
{
    const int thread = omp_get_thread_num();

    own->count = 0;
    for (int64_t i = own->first; i < own->end; i++) {
        const int64_t at = own->start + own->count;

        out->row_ptr[i + 1] = from->row(from->user, thread, i, space->column + at, space->val + at);
        own->count += out->row_ptr[i + 1];
    }
}

static void release_space(tess_context *ctx, chunk_space *s)
{
    tess_host_release(ctx, s->column, s->size, sizeof *s->column);
    tess_host_release(ctx, s->val, s->size, sizeof *s->val);
    *s = (chunk_space){0};
}

static tess_status make_space(tess_context *ctx, int64_t size, chunk_space *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (chunk_space){.size = size};
    TESS_TRY(tess_host_allocate(ctx, size, sizeof *out->column, (void **)&out->column));
    status = tess_host_allocate(ctx, size, sizeof *out->val, (void **)&out->val);
cleanup:
    return status;
}

/* Room for `added` entries beyond the first `used`. Rows that follow are expected to be as long as the first `rows` on
   average. */
static tess_status reserve(tess_context *ctx, host_csr *out, int64_t rows, int64_t used, int64_t added)
{
    const int64_t needed = used + added;
    const double expected = 1.06 * (double)needed / (double)rows * (double)out->nrows;
    chunk_space larger = {0};
    tess_status status = TESS_SUCCESS;

    if (needed <= out->capacity) { return TESS_SUCCESS; }
    TESS_TRY(make_space(ctx, (double)needed < expected ? (int64_t)expected : needed, &larger));
    if (used > 0) {
        memcpy(larger.column, out->col_ind, (size_t)used * sizeof *out->col_ind);
        memcpy(larger.val, out->val, (size_t)used * sizeof *out->val);
    }
    host_csr_release_entries(ctx, out);
    out->col_ind = larger.column;
    out->val = larger.val;
    out->capacity = larger.size;
    larger = (chunk_space){0};
cleanup:
    release_space(ctx, &larger);
    return status;
}

static tess_status append_chunks(tess_context *ctx, int threads, const chunk *chunks, int count,
                                 const chunk_space *space, int64_t *used, host_csr *out)
{
    int64_t added = 0;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < count; k++) {
        added += chunks[k].count;
    }
    TESS_TRY(reserve(ctx, out, chunks[count - 1].end, *used, added));
#pragma omp parallel for num_threads(threads) schedule(static) if (count > 1)
    for (int k = 0; k < count; k++) {
        int64_t at = *used;

        if (chunks[k].count == 0) { continue; } /* there may be no arrays at all */
        for (int before = 0; before < k; before++) {
            at += chunks[before].count;
        }
        memcpy(out->col_ind + at, space->column + chunks[k].start, (size_t)chunks[k].count * sizeof *out->col_ind);
        memcpy(out->val + at, space->val + chunks[k].start, (size_t)chunks[k].count * sizeof *out->val);
    }
    *used += added;
cleanup:
    return status;
}

static tess_status compute_all(tess_context *ctx, const row_source *from, chunk *chunks, int most, host_csr *out)
{
    chunk_space space = {0};
    int64_t used = 0, total = 0;
    tess_status status = TESS_SUCCESS;

    for (int64_t first = 0; first < from->nrows;) {
        const int count = cut_chunks(from, first, most, chunks, &total);

        if (total > space.size || space.size == 0) {
            release_space(ctx, &space);
            TESS_TRY(make_space(ctx, total > 0 ? total : 1, &space)); /* rows get an address also for no entries */
        }
#pragma omp parallel for num_threads(from->threads) schedule(dynamic, 1) if (count > 1)
        for (int k = 0; k < count; k++) {
            compute_chunk(from, &chunks[k], &space, out);
        }
        TESS_TRY(append_chunks(ctx, from->threads, chunks, count, &space, &used, out));
        first = chunks[count - 1].end;
    }
cleanup:
    release_space(ctx, &space);
    return status;
}

tess_status host_csr_from_rows(tess_context *ctx, const row_source *from, host_csr *out)
{
    const int most = CHUNKS_PER_THREAD * from->threads;
    chunk *chunks = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (host_csr){0};
    TESS_TRY(tess_host_allocate(ctx, most, sizeof *chunks, (void **)&chunks));
    TESS_TRY(host_csr_allocate_rows(ctx, from->nrows, from->ncols, out));
    TESS_TRY(compute_all(ctx, from, chunks, most, out));
    host_csr_sum_lengths(out);
    if (!out->col_ind) { status = host_csr_allocate_entries(ctx, out); }
cleanup:
    tess_host_release(ctx, chunks, most, sizeof *chunks);
    if (status != TESS_SUCCESS) { host_csr_release(ctx, out); }
    return status;
}
