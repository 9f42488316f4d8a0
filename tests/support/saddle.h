/* SPDX-License-Identifier: Apache-2.0 */
/* Small saddle points, and options of their preconditioner. */
#ifndef TESS_TESTS_SUPPORT_SADDLE_H
#define TESS_TESTS_SUPPORT_SADDLE_H

#include "support/precond.h"
#include "support/precond_of.h"

static inline tess_precond_options saddle(tess_saddle_factorization factorization, tess_saddle_schur schur,
                                          tess_precond_kind inner)
{
    tess_precond_options o = precond_of(TESS_PRECOND_SADDLE, 0);

    o.saddle.factorization = factorization;
    o.saddle.schur = schur;
    o.saddle.a_precond = o.saddle.schur_precond = inner;
    return o;
}

/* ---- matrices ---- */

/* A dense system as it is filled, and then as CSR without its zeros. */
typedef struct dense {
    int64_t n;
    double *a;
} dense;

static inline dense dense_open(int64_t n)
{
    dense d = {n, test_allocate(n * n, sizeof *d.a)};

    memset(d.a, 0, (size_t)(n * n) * sizeof *d.a);
    return d;
}

static inline void put_pair(dense *d, int64_t i, int64_t j, double value)
{
    d->a[i * d->n + j] = value;
    d->a[j * d->n + i] = value;
}

/* Rows and columns in the order of `order`, of whose numbers row i gets order[i]; NULL: as they are. */
static inline oracle_csr dense_close(dense *d, const int64_t *order)
{
    oracle_csr a = oracle_open(d->n, d->n);

    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t j = 0; j < d->n; j++) {
            const int64_t from = order ? order[i] : i, to = order ? order[j] : j;
            const double value = d->a[from * d->n + to];

            if (value != 0.0) { oracle_push(&a, j, value); }
        }
        oracle_end_row(&a, i);
    }
    free(d->a);
    return a;
}

enum { UNKNOWNS = 40, CONSTRAINTS = 12, ROWS = UNKNOWNS + CONSTRAINTS, PATCH = 3 };

/* A with `beside` next to its diagonal within each group of 3; constraint i couples 3 i, 3 i + 1, 3 i + 2 and, where it
   overlaps, 3 i + 3. With beside = 0 selfp and lsc are exact, without overlap local is. */
static inline dense chain(double beside, bool overlap, double c)
{
    dense d = dense_open(ROWS);

    for (int64_t i = 0; i < UNKNOWNS; i++) {
        put_pair(&d, i, i, 2.5 + (double)(i % 5));
        if (i + 1 < UNKNOWNS && i % PATCH != PATCH - 1 && beside != 0.0) { put_pair(&d, i, i + 1, beside); }
    }
    for (int64_t i = 0; i < CONSTRAINTS; i++) {
        for (int64_t j = PATCH * i; j < PATCH * (i + 1) + (overlap ? 1 : 0); j++) {
            put_pair(&d, UNKNOWNS + i, j, 1.0 + 0.25 * (double)(j % 3));
        }
        put_pair(&d, UNKNOWNS + i, UNKNOWNS + i, c);
    }
    return d;
}

static inline oracle_csr chain_of(double beside, bool overlap, double c)
{
    dense d = chain(beside, overlap, c);

    return dense_close(&d, NULL);
}

static inline tess_precond *make_precond(tess_context *ctx, const tess_matrix *m, const tess_precond_options *o)
{
    tess_precond *made = NULL;

    assert_ok(ctx, tess_precond_create(m, o, &made));
    return made;
}

#endif
