/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of plain CSR matrices, row by row (Gustavson, ACM TOMS 4 (1978)). A row's sum has the order of its terms,
 * whatever thread computes it.
 */
#include <omp.h>

#include "matrix/host_csr_rows.h"
#include "matrix/row_sum.h"

enum { SERIAL_TERMS = 8192 };

typedef struct product {
    tess_context *ctx;
    const host_csr *a, *b;
    bool sorted;
    const row_finish *finish; /* NULL: rows stay as they are */
    int threads;
    int64_t *bound; /* per row: at least its entries */
    int32_t *place; /* per thread: of each column */
} product;

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

/* ---- products ---- */

/* Asks for the start of row k of b, whose place in memory follows from nothing read before. */
static inline void fetch_row(const host_csr *b, int64_t k)
{
    const int64_t first = b->row_ptr[k];

    __builtin_prefetch(b->col_ind + first);
    __builtin_prefetch(b->val + first);
    __builtin_prefetch(b->val + first + 8);
}

static int64_t multiply_row(const void *user, int thread, int64_t i, int32_t *column, double *val)
{
    const product *t = user;
    row_sum s = {.place = t->place + thread * t->b->ncols, .column = column, .val = val};
    const int64_t end = t->a->row_ptr[t->a->nrows];

    for (int64_t k = t->a->row_ptr[i]; k < t->a->row_ptr[i + 1]; k++) {
        if (k + 4 < end) { fetch_row(t->b, t->a->col_ind[k + 4]); }
        row_sum_add(&s, t->b, t->a->col_ind[k], t->a->val[k]);
    }
    if (t->finish) { return t->finish->row(t->finish->user, i, s.count, column, val); }
    if (t->sorted) { host_csr_sort_row(s.count, column, val); }
    return s.count;
}

static tess_status multiply(product *t, host_csr *c)
{
    tess_status status = TESS_SUCCESS;

    *c = (host_csr){0};
    TESS_TRY(open_product(t));
    status = host_csr_from_rows(t->ctx,
                                &(row_source){.nrows = t->a->nrows,
                                              .ncols = t->b->ncols,
                                              .threads = t->threads,
                                              .bound = t->bound,
                                              .row = multiply_row,
                                              .user = t},
                                c);
cleanup:
    close_product(t);
    return status;
}

tess_status host_csr_multiply(tess_context *ctx, const host_csr *a, const host_csr *b, bool sorted, host_csr *c)
{
    return multiply(&(product){.ctx = ctx, .a = a, .b = b, .sorted = sorted}, c);
}

tess_status host_csr_multiply_finished(tess_context *ctx, const host_csr *a, const host_csr *b,
                                       const row_finish *finish, host_csr *c)
{
    return multiply(&(product){.ctx = ctx, .a = a, .b = b, .finish = finish}, c);
}

/* ---- into a known pattern ---- */

/* Columns that the pattern has not cannot appear: the factors have the patterns that it was made from. */
static void compute_again(const product *t, int64_t i, host_csr *c)
{
    const int64_t first = c->row_ptr[i], length = c->row_ptr[i + 1] - first;
    int32_t *place = t->place + omp_get_thread_num() * t->b->ncols;
    double *val = c->val + first;

    for (int64_t k = 0; k < length; k++) {
        place[c->col_ind[first + k]] = (int32_t)k;
        val[k] = 0.0;
    }
    for (int64_t k = t->a->row_ptr[i]; k < t->a->row_ptr[i + 1]; k++) {
        const int32_t row = t->a->col_ind[k];
        const double factor = t->a->val[k];

        for (int64_t m = t->b->row_ptr[row]; m < t->b->row_ptr[row + 1]; m++) {
            val[place[t->b->col_ind[m]]] += factor * t->b->val[m];
        }
    }
}

tess_status host_csr_multiply_again(tess_context *ctx, const host_csr *a, const host_csr *b, host_csr *c)
{
    const int64_t work = host_csr_nnz(a) + host_csr_nnz(c);
    product t = {.ctx = ctx, .a = a, .b = b};
    tess_status status = TESS_SUCCESS;

    t.threads = work < SERIAL_TERMS ? 1 : row_sum_threads(ctx, work, b->ncols);
    TESS_TRY(row_sum_places(ctx, t.threads, b->ncols, &t.place));
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
                                           host_csr *ap, host_csr *c)
{
    tess_status status = TESS_SUCCESS;

    if (ap->row_ptr) {
        TESS_TRY(host_csr_allocate_values(ctx, ap));
        TESS_TRY(host_csr_multiply_again(ctx, a, p, ap));
    } else {
        TESS_TRY(host_csr_multiply(ctx, a, p, false, ap));
    }
    status = host_csr_multiply_again(ctx, r, ap, c);
cleanup:
    host_csr_release_values(ctx, ap);
    return status;
}
