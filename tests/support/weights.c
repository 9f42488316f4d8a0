/* SPDX-License-Identifier: Apache-2.0 */
#include "support/weights.h"

#include <float.h>

#include "precond/multigrid/classical/split.h"

/* ---- numbers with bounds ---- */

static const long double unit = DBL_EPSILON / 2;
/* Of a weight after its sums: quotients and products, in the order of any implementation. */
enum { WEIGHT_ROUNDINGS = 8 };

static bounded exact(double value)
{
    return (bounded){value, 0.0L};
}

static bounded multiply(bounded a, bounded b)
{
    const long double value = a.value * b.value;

    return (bounded){value, fabsl(a.value) * b.error + fabsl(b.value) * a.error + a.error * b.error +
                                unit * fabsl(value) * 2.0L};
}

static bounded divide(bounded a, bounded b)
{
    const long double value = a.value / b.value;

    if (!(b.error < fabsl(b.value) / 2)) { return (bounded){0.0L, INFINITY}; }
    return (bounded){value,
                     (a.error + fabsl(value) * b.error) / (fabsl(b.value) - b.error) + unit * fabsl(value) * 2.0L};
}

/* A sum of n terms t is off by (n - 1) u sum |t|, to first order, in whatever order they come; n for the higher orders
   and for the terms' own errors. */
typedef struct sum {
    long double value, error, magnitude;
    int terms;
} sum;

static void add(sum *s, bounded term)
{
    s->value += term.value;
    s->error += term.error;
    s->magnitude += fabsl(term.value) + term.error;
    s->terms++;
}

static bounded total(const sum *s)
{
    return (bounded){s->value, s->error + (long double)s->terms * unit * s->magnitude};
}

/* ---- a row ---- */

/* Sums of a row: of each column, of all, of those kept, and a~_ii. */
typedef struct row_bounds {
    sum *of;
    bool *in_set, *kept;
    int64_t *set;
    int64_t count;
    sum all, of_kept, diagonal;
} row_bounds;

static row_bounds open_row(int64_t n)
{
    return (row_bounds){.of = test_allocate(n, sizeof(sum)),
                        .in_set = test_allocate(n, sizeof(bool)),
                        .kept = test_allocate(n, sizeof(bool)),
                        .set = test_allocate(n, sizeof(int64_t))};
}

static void close_row(row_bounds *row)
{
    free(row->of);
    free(row->in_set);
    free(row->kept);
    free(row->set);
}

/* For the next row. */
static void clear_row(row_bounds *row)
{
    for (int64_t s = 0; s < row->count; s++) {
        row->of[row->set[s]] = (sum){0};
        row->in_set[row->set[s]] = row->kept[row->set[s]] = false;
    }
    row->count = 0;
    row->all = row->of_kept = row->diagonal = (sum){0};
}

static void take(row_bounds *row, int64_t j)
{
    if (row->in_set[j]) { return; }
    row->in_set[j] = true;
    row->set[row->count++] = j;
}

static void add_to(row_bounds *row, int64_t j, bounded term)
{
    add(&row->of[j], term);
    add(&row->all, term);
    if (row->kept[j]) { add(&row->of_kept, term); }
}

/* Weight j: its sum, over `divisor` and scaled to the sum of all if the row of p is shorter. */
static bounded weight_of(const row_bounds *row, int64_t j, bounded divisor, int64_t length)
{
    const bounded all = total(&row->all), kept = total(&row->of_kept);
    bounded weight = divide(total(&row->of[j]), divisor);

    if (row->count > length) {
        const bounded factor = divide(all, kept);

        if (!(factor.error < fabsl(factor.value))) { return (bounded){0.0L, INFINITY}; } /* its sign decides */
        if (factor.value > 0.0L) { weight = multiply(weight, factor); }
    }
    weight.error += WEIGHT_ROUNDINGS * unit * fabsl(weight.value);
    return weight;
}

/* ---- interpolation ---- */

static double entry_at(const host_csr *a, int64_t i, int64_t j)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == j) { return a->val[k]; }
    }
    return 0.0;
}

/* 0 where the sign is that of the row's diagonal: a- of eq. (4.10) */
static bounded opposed(double value, double diagonal)
{
    return exact((value < 0.0) == (diagonal < 0.0) ? 0.0 : value);
}

static void take_strong(const weights_of *w, int64_t i, row_bounds *row)
{
    for (int64_t k = w->a->row_ptr[i]; k < w->a->row_ptr[i + 1]; k++) {
        const int32_t j = w->a->col_ind[k];

        if (w->strong[k] && w->split[j] == AMG_COARSE) { take(row, j); }
    }
}

/* The coupling a_ik by way of the fine unknown k. */
static void go_through(const weights_of *w, int64_t i, int64_t k, double coupling, row_bounds *row)
{
    const host_csr *a = w->a;
    const double diagonal = entry_at(a, k, k);
    const bounded back = opposed(entry_at(a, k, i), diagonal);
    sum of_k = {0};
    bounded factor;

    add(&of_k, back);
    for (int64_t m = a->row_ptr[k]; m < a->row_ptr[k + 1]; m++) {
        if (row->in_set[a->col_ind[m]]) { add(&of_k, opposed(a->val[m], diagonal)); }
    }
    if (of_k.value == 0.0L) { /* of terms of one sign: there are none */
        add(&row->diagonal, exact(coupling));
        return;
    }
    factor = divide(exact(coupling), total(&of_k));
    add(&row->diagonal, multiply(factor, back));
    for (int64_t m = a->row_ptr[k]; m < a->row_ptr[k + 1]; m++) {
        const int32_t j = a->col_ind[m];

        if (row->in_set[j]) { add_to(row, j, multiply(factor, opposed(a->val[m], diagonal))); }
    }
}

static void sum_row(const weights_of *w, int64_t i, row_bounds *row)
{
    const host_csr *a = w->a;

    take_strong(w, i, row);
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (w->strong[k] && w->split[a->col_ind[k]] != AMG_COARSE) { take_strong(w, a->col_ind[k], row); }
    }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t j = a->col_ind[k];

        if (row->in_set[j]) {
            add_to(row, j, exact(a->val[k]));
        } else if (w->strong[k] && w->split[j] != AMG_COARSE) {
            go_through(w, i, j, a->val[k], row);
        } else {
            add(&row->diagonal, exact(a->val[k]));
        }
    }
}

void bound_weights(const weights_of *w, const host_csr *p, bounded *out)
{
    const int64_t n = w->a->nrows;
    int32_t *list = test_allocate(n, sizeof *list); /* coarse unknowns */
    row_bounds row = open_row(n);

    for (int64_t i = 0, count = 0; i < n; i++) {
        if (w->split[i] == AMG_COARSE) { list[count++] = (int32_t)i; }
    }
    for (int64_t r = 0; r < p->nrows; r++) {
        const int64_t i = w->rows ? w->rows[r] : r, begin = p->row_ptr[r], end = p->row_ptr[r + 1];

        if (w->split[i] == AMG_COARSE) {
            out[begin] = exact(1.0);
            continue;
        }
        for (int64_t k = begin; k < end; k++) {
            row.kept[list[p->col_ind[k]]] = true;
        }
        sum_row(w, i, &row);
        for (int64_t k = begin; k < end; k++) {
            const bounded diagonal = total(&row.diagonal);

            out[k] = weight_of(&row, list[p->col_ind[k]], (bounded){-diagonal.value, diagonal.error}, end - begin);
        }
        clear_row(&row);
    }
    close_row(&row);
    free(list);
}

/* ---- two stages ---- */

void bound_joined(const host_csr *p1, const bounded *val1, const host_csr *p2, const bounded *val2, const host_csr *p,
                  bounded *out)
{
    row_bounds row = open_row(p->ncols);

    for (int64_t r = 0; r < p->nrows; r++) {
        const int64_t begin = p->row_ptr[r], end = p->row_ptr[r + 1];

        for (int64_t k = begin; k < end; k++) {
            row.kept[p->col_ind[k]] = true;
        }
        for (int64_t k = p1->row_ptr[r]; k < p1->row_ptr[r + 1]; k++) {
            for (int64_t m = p2->row_ptr[p1->col_ind[k]]; m < p2->row_ptr[p1->col_ind[k] + 1]; m++) {
                take(&row, p2->col_ind[m]);
                add_to(&row, p2->col_ind[m], multiply(val1[k], val2[m]));
            }
        }
        for (int64_t k = begin; k < end; k++) {
            out[k] = weight_of(&row, p->col_ind[k], exact(1.0), end - begin);
        }
        clear_row(&row);
    }
    close_row(&row);
}
