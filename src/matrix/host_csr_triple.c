/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Galerkin product R A P of plain CSR matrices, row by row as (r_i A) P: the row r_i A is summed up first, because
 * many of its terms fall on one column. Chunks of rows are computed into space that is used again, so that no pass
 * counts entries and little new memory is touched. A row's sum has the order of its terms, whatever thread computes it.
 */
#include "matrix/host_csr.h"

#include <string.h>

#include <omp.h>

#include "matrix/row_table.h"

/* Entries that the rows of a chunk may have, and chunks per thread between two appends. */
enum { CHUNK_ENTRIES = 1 << 18, CHUNKS_PER_THREAD = 4, FIRST_BITS = 6 };

/* The row under construction: its entries so far, and the table of their places. */
typedef struct row_sum {
    row_entry *table;
    int bits;
    int64_t count;
    int32_t *column;
    double *val;
} row_sum;

typedef struct triple {
    tess_context *ctx;
    const host_csr *r, *a, *p;
    int64_t *bound; /* per row: at least its entries */
    /* per thread: tables for r_i A and for the row, and the entries of r_i A */
    row_entry *tables;
    int32_t *columns;
    double *values;
    int64_t inner_table, table; /* sizes of the tables */
    int64_t inner;              /* most entries of r_i A */
} triple;

/* A range of rows, and where its entries are computed. */
typedef struct chunk {
    int64_t first, end, start, count;
} chunk;

/* ---- a row ---- */

static void grow_table(row_sum *s)
{
    s->bits += 2;
    row_table_clear(s->table, s->bits);
    for (int64_t k = 0; k < s->count; k++) {
        *row_table_find(s->table, s->bits, s->column[k]) = (row_entry){s->column[k], (int32_t)k};
    }
}

/* sum += factor p_k */
static inline __attribute__((always_inline)) void add_row(row_sum *s, const host_csr *p, int64_t k, double factor)
{
    const int64_t end = p->row_ptr[k + 1];

    while (2 * (s->count + end - p->row_ptr[k]) > INT64_C(1) << s->bits) {
        grow_table(s);
    }
    for (int64_t m = p->row_ptr[k]; m < end; m++) {
        row_entry *e = row_table_find(s->table, s->bits, p->col_ind[m]);

        if (e->column >= 0) {
            s->val[e->place] += factor * p->val[m];
        } else {
            *e = (row_entry){p->col_ind[m], (int32_t)s->count};
            s->column[s->count] = p->col_ind[m];
            s->val[s->count++] = factor * p->val[m];
        }
    }
}

/* s := (r_i A) P; inner has space for r_i A. */
static void sum_row(const triple *t, int64_t i, row_sum *inner, row_sum *s)
{
    inner->count = 0;
    row_table_clear(inner->table, inner->bits);
    for (int64_t k = t->r->row_ptr[i]; k < t->r->row_ptr[i + 1]; k++) {
        add_row(inner, t->a, t->r->col_ind[k], t->r->val[k]);
    }
    for (int64_t k = 0; k < inner->count; k++) {
        add_row(s, t->p, inner->column[k], inner->val[k]);
    }
}

/* ---- set-up ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Terms of r_i A. */
static int64_t count_terms(const triple *t, int64_t i)
{
    int64_t terms = 0;

    for (int64_t k = t->r->row_ptr[i]; k < t->r->row_ptr[i + 1]; k++) {
        terms += t->a->row_ptr[t->r->col_ind[k] + 1] - t->a->row_ptr[t->r->col_ind[k]];
    }
    return terms;
}

static int64_t longest_row(const tess_context *ctx, const host_csr *p)
{
    int64_t longest = 1;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : longest)
    for (int64_t i = 0; i < p->nrows; i++) {
        longest = p->row_ptr[i + 1] - p->row_ptr[i] > longest ? p->row_ptr[i + 1] - p->row_ptr[i] : longest;
    }
    return longest;
}

static void close_triple(triple *t)
{
    const int64_t threads = t->ctx->threads;

    tess_host_release(t->ctx, t->bound, t->r->nrows, sizeof *t->bound);
    tess_host_release(t->ctx, t->tables, threads * (t->inner_table + t->table), sizeof *t->tables);
    tess_host_release(t->ctx, t->columns, threads * t->inner, sizeof *t->columns);
    tess_host_release(t->ctx, t->values, threads * t->inner, sizeof *t->values);
}

/* Tables have room to spare: grow_table takes steps of four, and asks for a row's whole length more. */
static int64_t size_of_table(int64_t entries)
{
    return INT64_C(1) << (row_table_bits(entries) + 4);
}

static tess_status open_triple(triple *t)
{
    const int64_t longest = longest_row(t->ctx, t->p), threads = t->ctx->threads;
    int64_t inner = 1, most = 1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(t->ctx, t->r->nrows, sizeof *t->bound, (void **)&t->bound));
#pragma omp parallel for num_threads(t->ctx->threads) schedule(static) reduction(max : most, inner)
    for (int64_t i = 0; i < t->r->nrows; i++) {
        const int64_t entries = smaller(count_terms(t, i), t->a->ncols);

        t->bound[i] = smaller(entries * longest, t->p->ncols);
        inner = entries > inner ? entries : inner;
        most = t->bound[i] > most ? t->bound[i] : most;
    }
    t->inner = inner;
    t->inner_table = size_of_table(inner);
    t->table = size_of_table(most);
    TESS_TRY(tess_host_allocate(t->ctx, threads * (t->inner_table + t->table), sizeof *t->tables, (void **)&t->tables));
    TESS_TRY(tess_host_allocate(t->ctx, threads * t->inner, sizeof *t->columns, (void **)&t->columns));
    status = tess_host_allocate(t->ctx, threads * t->inner, sizeof *t->values, (void **)&t->values);
cleanup:
    return status;
}

/* The calling thread's space for r_i A. */
static row_sum begin_inner(const triple *t)
{
    const int64_t thread = omp_get_thread_num();

    return (row_sum){.table = t->tables + thread * (t->inner_table + t->table),
                     .bits = FIRST_BITS,
                     .column = t->columns + thread * t->inner,
                     .val = t->values + thread * t->inner};
}

static row_sum begin_row(const triple *t, int bits, int32_t *column, double *val)
{
    const int64_t thread = omp_get_thread_num();
    const row_sum s = {.table = t->tables + thread * (t->inner_table + t->table) + t->inner_table,
                       .bits = bits,
                       .column = column,
                       .val = val};

    row_table_clear(s.table, s.bits);
    return s;
}

/* ---- chunks ---- */

/* The next chunks from row `first` on; returns how many. Their entries need *total places. */
static int cut_chunks(const triple *t, int64_t first, int most, chunk *out, int64_t *total)
{
    int count = 0;

    *total = 0;
    for (int64_t i = first; i < t->r->nrows && count < most; count++) {
        int64_t entries = 0;

        out[count] = (chunk){.first = i, .start = *total};
        do {
            entries += t->bound[i++];
        } while (i < t->r->nrows && entries + t->bound[i] <= CHUNK_ENTRIES);
        out[count].end = i;
        *total += entries;
    }
    return count;
}

/* Rows of a chunk one after another, sorted; their lengths go to c. */
static void compute_chunk(const triple *t, chunk *own, int32_t *column, double *val, host_csr *c)
{
    row_sum inner = begin_inner(t);
    int bits = FIRST_BITS;

    own->count = 0;
    for (int64_t i = own->first; i < own->end; i++) {
        row_sum s = begin_row(t, bits, column + own->start + own->count, val + own->start + own->count);

        sum_row(t, i, &inner, &s);
        host_csr_sort_row(s.count, s.column, s.val);
        c->row_ptr[i + 1] = s.count;
        own->count += s.count;
        bits = s.bits > FIRST_BITS && 8 * s.count < INT64_C(1) << s.bits ? s.bits - 1 : s.bits;
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

static tess_status append_chunks(tess_context *ctx, const chunk *chunks, int count, const chunk_space *from,
                                 int64_t *used, host_csr *c)
{
    int64_t added = 0, at = *used;
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < count; k++) {
        added += chunks[k].count;
    }
    TESS_TRY(reserve(ctx, c, chunks[count - 1].end, *used, added));
    for (int k = 0; k < count; k++) {
        memcpy(c->col_ind + at, from->column + chunks[k].start, (size_t)chunks[k].count * sizeof *c->col_ind);
        memcpy(c->val + at, from->val + chunks[k].start, (size_t)chunks[k].count * sizeof *c->val);
        at += chunks[k].count;
    }
    *used = at;
cleanup:
    return status;
}

static tess_status compute_all(const triple *t, chunk *chunks, int most, host_csr *c)
{
    chunk_space space = {0};
    int64_t used = 0, total = 0;
    tess_status status = TESS_SUCCESS;

    for (int64_t first = 0; first < t->r->nrows;) {
        const int count = cut_chunks(t, first, most, chunks, &total);

        if (total > space.size) {
            release_space(t->ctx, &space);
            TESS_TRY(make_space(t->ctx, total, &space));
        }
#pragma omp parallel for num_threads(t->ctx->threads) schedule(dynamic, 1) if (count > 1)
        for (int k = 0; k < count; k++) {
            compute_chunk(t, &chunks[k], space.column, space.val, c);
        }
        TESS_TRY(append_chunks(t->ctx, chunks, count, &space, &used, c));
        first = chunks[count - 1].end;
    }
cleanup:
    release_space(t->ctx, &space);
    return status;
}

tess_status host_csr_multiply_triple(tess_context *ctx, const host_csr *r, const host_csr *a, const host_csr *p,
                                     host_csr *c)
{
    const int most = CHUNKS_PER_THREAD * ctx->threads;
    triple t = {.ctx = ctx, .r = r, .a = a, .p = p};
    chunk *chunks = NULL;
    tess_status status = TESS_SUCCESS;

    *c = (host_csr){0};
    TESS_TRY(open_triple(&t));
    TESS_TRY(tess_host_allocate(ctx, most, sizeof *chunks, (void **)&chunks));
    TESS_TRY(host_csr_allocate_rows(ctx, r->nrows, p->ncols, c));
    TESS_TRY(compute_all(&t, chunks, most, c));
    host_csr_sum_lengths(c);
    if (!c->col_ind) { status = host_csr_allocate_entries(ctx, c); }
cleanup:
    tess_host_release(ctx, chunks, most, sizeof *chunks);
    close_triple(&t);
    if (status != TESS_SUCCESS) { host_csr_release(ctx, c); }
    return status;
}

/* ---- into a known pattern ---- */

/* Columns that the pattern has not cannot appear: the factors have the patterns that it was made from. */
static void compute_again(const triple *t, int64_t i, host_csr *c)
{
    const int64_t first = c->row_ptr[i], length = c->row_ptr[i + 1] - first;
    row_sum inner = begin_inner(t), s = begin_row(t, row_table_bits(length), c->col_ind + first, c->val + first);

    for (; s.count < length; s.count++) {
        *row_table_find(s.table, s.bits, s.column[s.count]) = (row_entry){s.column[s.count], (int32_t)s.count};
        s.val[s.count] = 0.0;
    }
    sum_row(t, i, &inner, &s);
}

tess_status host_csr_multiply_triple_again(tess_context *ctx, const host_csr *r, const host_csr *a, const host_csr *p,
                                           host_csr *c)
{
    triple t = {.ctx = ctx, .r = r, .a = a, .p = p};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_triple(&t));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (int64_t i = 0; i < c->nrows; i++) {
        compute_again(&t, i, c);
    }
cleanup:
    close_triple(&t);
    return status;
}
