/* SPDX-License-Identifier: Apache-2.0 */
/* fsai:adaptive: rows against their definition by dense systems, and their bounds. */
#include "support/inverse.h"

#include <string.h>

#include "support/gallery.h"

enum { DENSE = 60 };

/* Row i as its definition has it, in quadruple precision and by dense systems: A g = -A e_i on the columns so far, and
   then those of the largest |A (g, 1)| sqrt a_jj^-1. `taken` are its columns; returns psi over a_ii. */
static double solve_dense(const oracle_csr *a, int64_t i, const bool *taken, wide *derivative)
{
    wide m[DENSE][DENSE + 1], g[DENSE] = {0};
    int64_t column[DENSE];
    int count = 0;
    wide psi = entry(a, i, i);

    for (int64_t j = 0; j < i; j++) {
        if (taken[j]) { column[count++] = j; }
    }
    for (int r = 0; r < count; r++) {
        for (int c = 0; c < count; c++) {
            m[r][c] = entry(a, column[r], column[c]);
        }
        m[r][count] = -(wide)entry(a, column[r], i);
    }
    for (int k = 0; k < count; k++) {
        for (int r = 0; r < count; r++) {
            const wide factor = m[r][k] / m[k][k];

            for (int c = k; c <= count && r != k; c++) {
                m[r][c] -= factor * m[k][c];
            }
        }
    }
    for (int k = 0; k < count; k++) {
        g[k] = m[k][count] / m[k][k];
        psi += g[k] * (wide)entry(a, column[k], i);
    }
    for (int64_t j = 0; j < i; j++) {
        derivative[j] = entry(a, i, j);
        for (int k = 0; k < count; k++) {
            derivative[j] += g[k] * (wide)entry(a, column[k], j);
        }
        derivative[j] = wide_abs(derivative[j]) / (wide)sqrt(diagonal_of(a, j));
    }
    return (double)(psi / (wide)entry(a, i, i));
}

static void grow_dense(const oracle_csr *a, int64_t i, const tess_inverse_options *o, bool *taken)
{
    wide derivative[DENSE];
    double psi = solve_dense(a, i, taken, derivative);

    for (int step = 0; step < o->steps; step++) {
        bool before[DENSE];
        double now = 0.0;

        memcpy(before, taken, sizeof before);
        for (int k = 0; k < o->step_size; k++) {
            int64_t best = -1;

            for (int64_t j = 0; j < i; j++) {
                if (!taken[j] && derivative[j] > 0.0 && (best < 0 || derivative[j] > derivative[best])) { best = j; }
            }
            if (best >= 0) { taken[best] = true; }
        }
        now = solve_dense(a, i, taken, derivative);
        if (!(psi - now > o->tolerance * psi)) {
            memcpy(taken, before, sizeof before);
            return;
        }
        psi = now;
    }
}

static void adaptive_rows_grow_by_their_derivatives(void **state)
{
    static const struct {
        int steps, size;
        double tolerance;
    } cases[] = {{1, 1, 0.0}, {5, 3, 1e-3}, {8, 1, 0.0}, {63, 2, 0.02}};
    oracle_csr a = random_dominant(DENSE, 7, true, 8), negative = oracle_copy(&a);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) { /* rows of different size, which scaling must not see */
        a.val[k] *= ldexp(1.0, (int)(row_of_entry(&a, k) % 5 + a.col_ind[k] % 5));
        negative.val[k] = -a.val[k];
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, TESS_INVERSE_ADAPTIVE, 0.0, 0.0);
        oracle_csr rows, mirrored;

        o.inverse.steps = cases[c].steps;
        o.inverse.step_size = cases[c].size;
        o.inverse.tolerance = cases[c].tolerance;
        rows = rows_of(&a, &o);
        mirrored = rows_of(&negative, &o);
        assert_int_equal(rows.nnz, mirrored.nnz);
        assert_memory_equal(rows.val, mirrored.val, (size_t)rows.nnz * sizeof *rows.val);
        check_factor(&a, &rows);
        for (int64_t i = 0; i < DENSE; i++) {
            bool taken[DENSE] = {false};
            int64_t k = rows.row_ptr[i];

            grow_dense(&a, i, &o.inverse, taken);
            for (int64_t j = 0; j < i; j++) {
                if (taken[j]) { assert_int_equal(rows.col_ind[k++], j); }
            }
            assert_int_equal(k + 1, rows.row_ptr[i + 1]);
        }
        oracle_free(&rows);
        oracle_free(&mirrored);
    }
    oracle_free(&a);
    oracle_free(&negative);
}

/* Rows have no more than they may; columns of full rows are taken for their own entries alone. */
static void adaptive_rows_are_bounded(void **state)
{
    enum { LONG = 3000, KEPT = 6 };
    oracle_csr wheel = arrow(LONG, true), grid = oracle_laplace2d(20);
    tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, TESS_INVERSE_ADAPTIVE, 0.0, 0.0);
    oracle_csr rows;

    (void)state;
    o.inverse.tolerance = 0.0;
    rows = rows_of(&wheel, &o);
    for (int64_t i = 1; i + 1 < LONG; i++) {
        assert_at_most((double)(rows.row_ptr[i + 1] - rows.row_ptr[i]), 2.0);
    }
    oracle_free(&rows);
    o.inverse.row = KEPT;
    rows = rows_of(&grid, &o);
    assert_int_equal(oracle_longest_row(&rows, false), KEPT);
    oracle_free(&rows);
    o.inverse.row = TESS_MAX_INVERSE_ROW;
    rows = rows_of(&grid, &o);
    assert_int_equal(oracle_longest_row(&rows, false), 1 + 2 + 4 * 3); /* the first step sees two columns */
    oracle_free(&rows);
    o.inverse.row = 1;
    rows = rows_of(&grid, &o);
    assert_int_equal(rows.nnz, grid.nrows);
    oracle_free(&rows);
    oracle_free(&wheel);
    oracle_free(&grid);
}

/* What stands here, for a GPU too. */
#define INVERSE_ADAPTIVE_TESTS \
    cmocka_unit_test(adaptive_rows_grow_by_their_derivatives), cmocka_unit_test(adaptive_rows_are_bounded)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_ADAPTIVE_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
