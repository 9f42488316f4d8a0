/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of plain CSR matrices, row by row (Gustavson, ACM TOMS 4 (1978)). Chunks of rows are computed into space
 * that is used again, so that no pass counts entries and little new memory is touched. A row's sum has the order of its
 * terms, whatever thread computes it.
 */
#include "matrix/host_csr.h"

#include <string.h>

#include <omp.h>

#include "matrix/row_sum.h"

/* Entries that the rows of a chunk may have, and chunks per thread between two appends. */
enum { CHUNK_ENTRIES = 1 << 18, CHUNKS_PER_THREAD = 4, SERIAL_TERMS = 8192 };

typedef struct product {
    tess_context *ctx;
    const host_csr *a, *b;
    bool sorted;
    int threads;
    int64_t *bound; /* per row: at least its entries */
    int32_t *place; /* per thread: of each column */
} product;

/* A range of rows, and where its entries are computed. */
typedef struct chunk {
    int64_t first, end, start, count;
} chunk;

/* ---- set-up ---- */

/* Terms of row i. */
static int64_t count_terms(const product *t, int64_t i)
{
    int64_t terms = 0;

    for (int64_t k = t->a->row_ptr[i]; k < t->a->row_ptr[i + 1]; k++) {
        terms += t->b->row_ptr[t->a->col_ind[k] + 1] - t->b->row_ptr[t->a->col_ind[k]];
    }
    return terms;
}

static void close_product(product *t)
{
    tess_host_release(t->ctx, t->bound, t->a->nrows, sizeof *t->bound);
    tess_host_release(t->ctx, t->place, t->threads * t->b->ncols, sizeof *t->place);
}

static tess_status open_product(product *t)
{
    int64_t terms = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(t->ctx, t->a->nrows, sizeof *t->bound, (void **)&t->bound));
#pragma omp parallel for num_threads(t->ctx->threads) schedule(static) reduction(+ : terms)
    for (int64_t i = 0; i < t->a->nrows; i++) {
        const int64_t own = count_terms(t, i);

        t->bound[i] = own < t->b->ncols ? own : t->b->ncols;
        terms += own;
    }
    t->threads = terms < SERIAL_TERMS ? 1 : row_sum_threads(t->ctx, terms, t->b->ncols);
    status = row_sum_places(t->ctx, t->threads, t->b->ncols, &t->place);
cleanup:
    return status;
}

/* A row of the calling thread that goes to column and val. */
static row_sum begin_row(const product *t, int32_t *column, double *val)
{
    return (row_sum){.place = t->place + omp_get_thread_num() * t->b->ncols, .column = column, .val = val};
}

/* ---- chunks ---- */

/* The next chunks from row `first` on; returns how many. Their entries need *total places. */
static int cut_chunks(const product *t, int64_t first, int most, chunk *out, int64_t *total)
{
    int count = 0;

    *total = 0;
    for (int64_t i = first; i < t->a->nrows && count < most; count++) {
        int64_t entries = 0;

        out[count] = (chunk){.first = i, .start = *total};
        do {
            entries += t->bound[i++];
        } while (i < t->a->nrows && entries + t->bound[i] <= CHUNK_ENTRIES);
        out[count].end = i;
        *total += entries;
    }
    return count;
}

/* Rows of a chunk one after another; their lengths go to c. */
static void compute_chunk(const product *t, chunk *own, int32_t *column, double *val, host_csr *c)
{
    own->count = 0;
    for (int64_t i = own->first; i < own->end; i++) {
        row_sum s = begin_row(t, column + own->start + own->count, val + own->start + own->count);

        for (int64_t k = t->a->row_ptr[i]; k < t->a->row_ptr[i + 1]; k++) {
            row_sum_add(&s, t->b, t->a->col_ind[k], t->a->val[k]);
        }
        if (t->sorted) { host_csr_sort_row(s.count, s.column, s.val); }
        c->row_ptr[i + 1] = s.count;
        own->count += s.count;
    }
}

/* Space for the entries of some chunks. */
typedef struct chunk_space {
    int64_t size;
    int32_t *column;
    double *val;
} chunk_space;

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

/* Room in c for `added` entries beyond its first `used`. Rows that follow are expected to be as long as the first
   `rows` on average. */
static tess_status reserve(tess_context *ctx, host_csr *c, int64_t rows, int64_t used, int64_t added)
{
    const int64_t needed = used + added;
    const double expected = 1.06 * (double)needed / (double)rows * (double)c->nrows;
    chunk_space larger = {0};
    tess_status status = TESS_SUCCESS;

    if (needed <= c->capacity) { return TESS_SUCCESS; }
    TESS_TRY(make_space(ctx, (double)needed < expected ? (int64_t)expected : needed, &larger));
    if (used > 0) {
        memcpy(larger.column, c->col_ind, (size_t)used * sizeof *c->col_ind);
        memcpy(larger.val, c->val, (size_t)used * sizeof *c->val);
    }
    host_csr_release_entries(ctx, c);
    c->col_ind = larger.column;
    c->val = larger.val;
    c->capacity = larger.size;
    larger = (chunk_space){0};
cleanup:
    release_space(ctx, &larger);
    return status;
}

static tess_status append_chunks(const product *t, const chunk *chunks, int count, const chunk_space *from,
                                 int64_t *used, host_csr *c)
{
    int64_t added = 0;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < count; k++) {
        added += chunks[k].count;
    }
    TESS_TRY(reserve(t->ctx, c, chunks[count - 1].end, *used, added));
#pragma omp parallel for num_threads(t->threads) schedule(static) if (count > 1)
    for (int k = 0; k < count; k++) {
        int64_t at = *used;

        for (int before = 0; before < k; before++) {
            at += chunks[before].count;
        }
        memcpy(c->col_ind + at, from->column + chunks[k].start, (size_t)chunks[k].count * sizeof *c->col_ind);
        memcpy(c->val + at, from->val + chunks[k].start, (size_t)chunks[k].count * sizeof *c->val);
    }
    *used += added;
cleanup:
    return status;
}

static tess_status compute_all(const product *t, chunk *chunks, int most, host_csr *c)
{
    chunk_space space = {0};
    int64_t used = 0, total = 0;
    tess_status status = TESS_SUCCESS;

    for (int64_t first = 0; first < t->a->nrows;) {
        const int count = cut_chunks(t, first, most, chunks, &total);

        if (total > space.size) {
            release_space(t->ctx, &space);
            TESS_TRY(make_space(t->ctx, total, &space));
        }
#pragma omp parallel for num_threads(t->threads) schedule(dynamic, 1) if (count > 1)
        for (int k = 0; k < count; k++) {
            compute_chunk(t, &chunks[k], space.column, space.val, c);
        }
        TESS_TRY(append_chunks(t, chunks, count, &space, &used, c));
        first = chunks[count - 1].end;
    }
cleanup:
    release_space(t->ctx, &space);
    return status;
}

tess_status host_csr_multiply(tess_context *ctx, const host_csr *a, const host_csr *b, bool sorted, host_csr *c)
{
    product t = {.ctx = ctx, .a = a, .b = b, .sorted = sorted};
    chunk *chunks = NULL;
    int most = 0;
    tess_status status = TESS_SUCCESS;

    *c = (host_csr){0};
    TESS_TRY(open_product(&t));
    most = CHUNKS_PER_THREAD * t.threads;
    TESS_TRY(tess_host_allocate(ctx, most, sizeof *chunks, (void **)&chunks));
    TESS_TRY(host_csr_allocate_rows(ctx, a->nrows, b->ncols, c));
    TESS_TRY(compute_all(&t, chunks, most, c));
    host_csr_sum_lengths(c);
    if (!c->col_ind) { status = host_csr_allocate_entries(ctx, c); }
cleanup:
    tess_host_release(ctx, chunks, most, sizeof *chunks);
    close_product(&t);
    if (status != TESS_SUCCESS) { host_csr_release(ctx, c); }
    return status;
}

/* ---- into a known pattern ---- */

/* Columns that the pattern has not cannot appear: the factors have the patterns that it was made from. */
static void compute_again(const product *t, int64_t i, host_csr *c)
{
    const int64_t first = c->row_ptr[i], length = c->row_ptr[i + 1] - first;
    const row_sum s = begin_row(t, c->col_ind + first, c->val + first);

    for (int64_t k = 0; k < length; k++) {
        s.place[s.column[k]] = (int32_t)k;
        s.val[k] = 0.0;
    }
    for (int64_t k = t->a->row_ptr[i]; k < t->a->row_ptr[i + 1]; k++) {
        const int32_t row = t->a->col_ind[k];
        const double factor = t->a->val[k];

        for (int64_t m = t->b->row_ptr[row]; m < t->b->row_ptr[row + 1]; m++) {
            s.val[s.place[t->b->col_ind[m]]] += factor * t->b->val[m];
        }
    }
}

tess_status host_csr_multiply_again(tess_context *ctx, const host_csr *a, const host_csr *b, host_csr *c)
{
    product t = {.ctx = ctx, .a = a, .b = b};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_product(&t));
#pragma omp parallel for num_threads(t.threads) schedule(dynamic, 64)
    for (int64_t i = 0; i < c->nrows; i++) {
        compute_again(&t, i, c);
    }
cleanup:
    close_product(&t);
    return status;
}

/* ---- Galerkin products ---- */

tess_status host_csr_multiply_triple(tess_context *ctx, const host_csr *r, const host_csr *a, const host_csr *p,
                                     host_csr *c)
{
    host_csr ap = {0};
    tess_status status = TESS_SUCCESS;

    *c = (host_csr){0};
    TESS_TRY(host_csr_multiply(ctx, a, p, false, &ap));
    status = host_csr_multiply(ctx, r, &ap, true, c);
cleanup:
    host_csr_release(ctx, &ap);
    return status;
}

tess_status host_csr_multiply_triple_again(tess_context *ctx, const host_csr *r, const host_csr *a, const host_csr *p,
                                           host_csr *c)
{
    host_csr ap = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_multiply(ctx, a, p, false, &ap));
    status = host_csr_multiply_again(ctx, r, &ap, c);
cleanup:
    host_csr_release(ctx, &ap);
    return status;
}
