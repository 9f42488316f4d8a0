/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of plain CSR matrices, row by row (Gustavson, ACM TOMS 4 (1978)). A hash table finds a column's place in its
 * row: its size follows from the row, not from the number of columns. A first pass counts, a second one computes.
 */
#include "matrix/host_csr.h"

#include <omp.h>

#include "matrix/row_table.h"

enum { SERIAL_WORK = 8192, ROWS_AT_A_TIME = 256 };

/* A table for each thread. */
typedef struct hash_tables {
    row_entry *entry;
    int threads;
    int64_t size; /* of each */
} hash_tables;

/* Products that row i of A B sums up. */
static int64_t work_of_row(const host_csr *a, const host_csr *b, int64_t i)
{
    int64_t work = 0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        work += b->row_ptr[a->col_ind[k] + 1] - b->row_ptr[a->col_ind[k]];
    }
    return work;
}

static int64_t most_entries(const host_csr *b, int64_t work)
{
    return work < b->ncols ? work : b->ncols;
}

static tess_status make_tables(tess_context *ctx, const host_csr *a, const host_csr *b, hash_tables *out)
{
    int64_t most = 0, total = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : most) reduction(+ : total)
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t work = work_of_row(a, b, i);

        most = work > most ? work : most;
        total += work;
    }
    out->threads = total > SERIAL_WORK ? ctx->threads : 1;
    out->size = INT64_C(1) << row_table_bits(most_entries(b, most));
    return tess_host_allocate(ctx, out->threads * out->size, sizeof *out->entry, (void **)&out->entry);
}

static void free_tables(tess_context *ctx, hash_tables *t)
{
    tess_host_release(ctx, t->entry, t->threads * t->size, sizeof *t->entry);
}

static row_entry *clear_table(const hash_tables *t, int bits)
{
    row_entry *table = t->entry + omp_get_thread_num() * t->size;

    row_table_clear(table, bits);
    return table;
}

static int64_t count_row(const host_csr *a, const host_csr *b, int64_t i, const hash_tables *t)
{
    const int bits = row_table_bits(most_entries(b, work_of_row(a, b, i)));
    row_entry *table = clear_table(t, bits);
    int64_t count = 0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t row = a->col_ind[k];

        for (int64_t m = b->row_ptr[row]; m < b->row_ptr[row + 1]; m++) {
            row_entry *e = row_table_find(table, bits, b->col_ind[m]);

            count += e->column < 0;
            e->column = b->col_ind[m];
        }
    }
    return count;
}

/* `known`: the columns of c are there. */
static void compute_row(const host_csr *a, const host_csr *b, int64_t i, const hash_tables *t, bool known, host_csr *c)
{
    const int64_t first = c->row_ptr[i], length = c->row_ptr[i + 1] - first;
    const int bits = row_table_bits(length);
    row_entry *table = clear_table(t, bits);
    int32_t count = 0;

    for (; known && count < length; count++) {
        *row_table_find(table, bits, c->col_ind[first + count]) = (row_entry){c->col_ind[first + count], count};
        c->val[first + count] = 0.0;
    }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t row = a->col_ind[k];
        const double factor = a->val[k];

        for (int64_t m = b->row_ptr[row]; m < b->row_ptr[row + 1]; m++) {
            row_entry *e = row_table_find(table, bits, b->col_ind[m]);

            if (e->column >= 0) {
                c->val[first + e->place] += factor * b->val[m];
            } else {
                *e = (row_entry){b->col_ind[m], count};
                c->col_ind[first + count] = b->col_ind[m];
                c->val[first + count] = factor * b->val[m];
                count++;
            }
        }
    }
}

static void count_rows(const host_csr *a, const host_csr *b, const hash_tables *t, host_csr *c)
{
#pragma omp parallel for num_threads(t->threads) schedule(dynamic, ROWS_AT_A_TIME)
    for (int64_t i = 0; i < a->nrows; i++) {
        c->row_ptr[i + 1] = count_row(a, b, i, t);
    }
}

static void compute_rows(const host_csr *a, const host_csr *b, const hash_tables *t, bool known, host_csr *c)
{
#pragma omp parallel for num_threads(t->threads) schedule(dynamic, ROWS_AT_A_TIME)
    for (int64_t i = 0; i < a->nrows; i++) {
        compute_row(a, b, i, t, known, c);
    }
}

tess_status host_csr_multiply(tess_context *ctx, const host_csr *a, const host_csr *b, bool sorted, host_csr *c)
{
    hash_tables t = {0};
    tess_status status = TESS_SUCCESS;

    *c = (host_csr){0};
    TESS_TRY(make_tables(ctx, a, b, &t));
    TESS_TRY(host_csr_allocate_rows(ctx, a->nrows, b->ncols, c));
    count_rows(a, b, &t, c);
    host_csr_sum_lengths(c);
    TESS_TRY(host_csr_allocate_entries(ctx, c));
    compute_rows(a, b, &t, false, c);
    if (sorted) { host_csr_sort(ctx, c); }
cleanup:
    free_tables(ctx, &t);
    if (status != TESS_SUCCESS) { host_csr_release(ctx, c); }
    return status;
}

tess_status host_csr_multiply_again(tess_context *ctx, const host_csr *a, const host_csr *b, host_csr *c)
{
    hash_tables t = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(make_tables(ctx, a, b, &t));
    compute_rows(a, b, &t, true, c);
cleanup:
    free_tables(ctx, &t);
    return status;
}
