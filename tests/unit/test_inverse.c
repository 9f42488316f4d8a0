/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioners fsai and isai: rows against their definition, patterns, exact inverses, precisions, methods. */
#include "precond/inverse/inverse.h"

#include <string.h>

#include "matrix/assembled.h"
#include "support/gallery.h"
#include "support/incomplete.h"
#include "support/precond_of.h"
#include "support/solve.h"
#include "support/sweep.h"

static tess_precond_options inverse_options(tess_precond_kind kind, int power, double threshold, double filter)
{
    tess_precond_options o = precond_of(kind, 0);

    o.inverse.power = power;
    o.inverse.threshold = threshold;
    o.inverse.filter = filter;
    return o;
}

/* The row of entry k. */
static int64_t row_of_entry(const oracle_csr *a, int64_t k)
{
    int64_t i = 0;

    while (a->row_ptr[i + 1] <= k) {
        i++;
    }
    return i;
}

/* ---- the rows ---- */

/* G, or M, in FP64 as the device of the tests, or another, computes it. */
static oracle_csr rows_on(tess_device device, int threads, const oracle_csr *a, const tess_precond_options *o,
                          inverse_outcome *outcome)
{
    tess_context *ctx = open_on(device, threads);
    tess_matrix *matrix = make_matrix(ctx, a), *made = NULL;
    const inverse_ops *ops = inverse_ops_of(ctx);
    inverse_rows rows = {{0}, {0}};
    double *diagonal = NULL;
    inverse_request q = {.a = matrix,
                         .entries = inverse_choice_of(&o->inverse),
                         .symmetric = o->kind == TESS_PRECOND_FSAI,
                         .negative = a->val[0] < 0.0};
    oracle_csr out = {0};

    assert_ok(ctx, tess_device_allocate(ctx, a->nrows, sizeof *diagonal, (void **)&diagonal));
    assert_ok(ctx, tess_matrix_raw_diagonal(matrix, diagonal));
    q.diagonal = diagonal;
    assert_ok(ctx, inverse_find_pattern(&q, &rows));
    if (o->inverse.filter > 0.0) {
        assert_ok(ctx, ops->compute(&q, &rows, outcome));
        assert_ok(ctx, ops->drop_small(&q, &rows));
    }
    assert_ok(ctx, ops->compute(&q, &rows, outcome));
    assert_ok(ctx, ops->to_matrices(ctx, &rows, 1.0, &made, NULL));
    out = (oracle_csr){.nrows = a->nrows, .ncols = a->nrows, .nnz = ops->entries(&rows)};
    out.row_ptr = test_allocate(a->nrows + 1, sizeof *out.row_ptr);
    out.col_ind = test_allocate(out.nnz, sizeof *out.col_ind);
    out.val = test_allocate(out.nnz, sizeof *out.val);
    assert_ok(ctx, tess_matrix_get_csr(made, out.row_ptr, out.col_ind, out.val));
    tess_matrix_destroy(made);
    ops->release(ctx, &rows);
    tess_device_release(ctx, diagonal, a->nrows, sizeof *diagonal);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return out;
}

static oracle_csr rows_of(const oracle_csr *a, const tess_precond_options *o)
{
    inverse_outcome outcome;
    const oracle_csr out = rows_on(TEST_DEVICE, 2, a, o, &outcome);

    assert_int_equal(outcome.bad_row, -1);
    assert_int_equal(outcome.mended, 0);
    return out;
}

/* (row i of `rows`) A e_j, and the sum of magnitudes. */
static wide product_at(const oracle_csr *rows, const oracle_csr *a, int64_t i, int64_t j, double *magnitude)
{
    wide sum = 0.0;

    *magnitude = 0.0;
    for (int64_t k = rows->row_ptr[i]; k < rows->row_ptr[i + 1]; k++) {
        const double value = entry(a, rows->col_ind[k], j);

        sum += (wide)rows->val[k] * value;
        *magnitude += fabs(rows->val[k] * value);
    }
    return sum;
}

static double diagonal_of(const oracle_csr *a, int64_t i)
{
    return entry(a, i, i);
}

/* (G A)_ij = 0 for j < i on the pattern, and g_ii (G A)_ii = 1. Cholesky's factors solve (A + E) y = e with |E| <=
   gamma(3 m + 1) |L| |L^T|, whose entries are at most sqrt(a_kk a_jj) (Higham 2002, Theorem 10.4). */
static void check_factor(const oracle_csr *a, const oracle_csr *g)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t first = g->row_ptr[i], end = g->row_ptr[i + 1];
        double size = 0.0, magnitude = 0.0;

        assert_int_equal(g->col_ind[end - 1], i);
        for (int64_t k = first; k < end; k++) {
            size += fabs(g->val[k]) * sqrt(fabs(diagonal_of(a, g->col_ind[k])));
        }
        for (int64_t k = first; k < end; k++) {
            const int64_t j = g->col_ind[k];
            const double sign = diagonal_of(a, 0) < 0.0 ? -1.0 : 1.0;
            const double bound = gamma_of(4.0 * (double)(end - first) + 8.0) * size * sqrt(fabs(diagonal_of(a, j)));
            const wide product = (wide)sign * product_at(g, a, i, j, &magnitude);

            if (j < i) {
                assert_at_most((double)wide_abs(product), bound);
            } else {
                assert_at_most((double)wide_abs(product * g->val[end - 1] - 1.0), bound * g->val[end - 1]);
            }
        }
    }
}

/* (M A)_ij = delta_ij on the pattern, for dominant rows, where elimination grows no entry. */
static void check_inverse(const oracle_csr *a, const oracle_csr *m)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        const double length = (double)(m->row_ptr[i + 1] - m->row_ptr[i]);
        double size = 0.0;

        for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
            size += fabs(m->val[k]) * fabs(diagonal_of(a, m->col_ind[k]));
        }
        for (int64_t k = m->row_ptr[i]; k < m->row_ptr[i + 1]; k++) {
            double magnitude = 0.0;
            const wide product = product_at(m, a, i, m->col_ind[k], &magnitude);

            assert_at_most((double)wide_abs(product - (m->col_ind[k] == i ? 1.0 : 0.0)),
                           4.0 * gamma_of(3.0 * length + 8.0) * (size + 1.0));
        }
    }
}

static void rows_meet_their_definition(void **state)
{
    oracle_csr matrices[] = {oracle_laplace2d(9), random_dominant(150, 6, true, 3), random_dominant(150, 6, false, 4),
                             oracle_convection2d(9, 2.0), arrow(70, false)};
    const bool symmetric[] = {true, true, false, false, false}; /* values of the arrow are not */

    (void)state;
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
        for (int c = 0; c < 6; c++) {
            const double threshold = c % 3 == 1 ? 0.3 : 0.0, filter = c % 3 == 2 ? 0.1 : 0.0;
            const tess_precond_options fsai = inverse_options(TESS_PRECOND_FSAI, 1 + c / 3, threshold, filter);
            const tess_precond_options isai = inverse_options(TESS_PRECOND_ISAI, 1 + c / 3, threshold, filter);
            oracle_csr rows = rows_of(&matrices[k], &isai);

            check_inverse(&matrices[k], &rows);
            oracle_free(&rows);
            if (!symmetric[k]) { continue; }
            rows = rows_of(&matrices[k], &fsai);
            check_factor(&matrices[k], &rows);
            oracle_free(&rows);
            for (int64_t e = 0; e < matrices[k].nnz; e++) {
                matrices[k].val[e] = -matrices[k].val[e];
            }
            rows = rows_of(&matrices[k], &fsai);
            check_factor(&matrices[k], &rows);
            oracle_free(&rows);
            for (int64_t e = 0; e < matrices[k].nnz; e++) {
                matrices[k].val[e] = -matrices[k].val[e];
            }
        }
        oracle_free(&matrices[k]);
    }
}

/* ---- patterns ---- */

/* The pattern of |A|^power without the entries of A that do not count; values of it, not zero, in `dense`, n by n. */
static void spread_power(const oracle_csr *a, const tess_inverse_options *o, double *dense)
{
    const int64_t n = a->nrows;
    double *base = test_allocate(n * n, sizeof *base), *next = test_allocate(n * n, sizeof *next);

    memset(base, 0, (size_t)(n * n) * sizeof *base);
    for (int64_t i = 0; i < n; i++) {
        double largest = 0.0;

        for (int pass = 0; pass < 2; pass++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                const int64_t j = a->col_ind[k];
                const double weight = fabs(a->val[k]) / sqrt(fabs(diagonal_of(a, i) * diagonal_of(a, j)));

                if (pass == 0 && j != i) { largest = fmax(largest, weight); }
                if (pass == 1 && (j == i || weight >= o->threshold * largest)) { base[i * n + j] = 1.0; }
            }
        }
        base[i * n + i] = 1.0;
    }
    memcpy(dense, base, (size_t)(n * n) * sizeof *dense);
    for (int p = 1; p < o->power; p++) {
        for (int64_t i = 0; i < n * n; i++) {
            next[i] = 0.0;
            for (int64_t k = 0; k < n; k++) {
                next[i] += dense[i / n * n + k] * base[k * n + i % n];
            }
        }
        memcpy(dense, next, (size_t)(n * n) * sizeof *dense);
    }
    free(base);
    free(next);
}

static void patterns_are_those_of_powers(void **state)
{
    oracle_csr a = random_dominant(TESS_MAX_INVERSE_ROW - 4, 3, true, 8);
    const int64_t n = a.nrows;
    double *dense = test_allocate(n * n, sizeof *dense);

    (void)state;
    for (int c = 0; c < 12; c++) {
        const tess_precond_kind kind = c % 2 == 0 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI;
        const tess_precond_options o = inverse_options(kind, 1 + c / 2 % 3, c < 6 ? 0.0 : 0.5, 0.0);
        oracle_csr rows = rows_of(&a, &o);
        int64_t expected = 0;

        spread_power(&a, &o.inverse, dense);
        for (int64_t i = 0; i < n * n; i++) {
            expected += dense[i] != 0.0 && (kind == TESS_PRECOND_ISAI || i % n <= i / n);
        }
        assert_int_equal(rows.nnz, expected);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = rows.row_ptr[i]; k < rows.row_ptr[i + 1]; k++) {
                assert_true(dense[i * n + rows.col_ind[k]] != 0.0);
            }
        }
        oracle_free(&rows);
    }
    free(dense);
    oracle_free(&a);
}

/* Rows keep the largest entries; a full column and a full row cost neither time nor memory. */
static void long_rows_are_cut(void **state)
{
    enum { LONG = 3000, KEPT = 5 };
    oracle_csr wheel = arrow(LONG, true), band = oracle_laplace2d(20);

    (void)state;
    for (int power = 1; power <= 3; power++) {
        tess_precond_options o = inverse_options(TESS_PRECOND_ISAI, power, 0.0, 0.0);
        oracle_csr rows;

        o.inverse.row = KEPT;
        rows = rows_of(&wheel, &o);
        assert_int_equal(oracle_longest_row(&rows, false), KEPT);
        oracle_free(&rows);
        o.kind = TESS_PRECOND_FSAI;
        rows = rows_of(&band, &o);
        assert_at_most((double)oracle_longest_row(&rows, false), (double)KEPT);
        check_factor(&band, &rows);
        oracle_free(&rows);
    }
    for (int64_t k = 0; k < band.nnz; k++) { /* the coupling to the row before is the weakest, to that of the line
                                                before the strongest */
        const int64_t row = row_of_entry(&band, k);

        if (band.col_ind[k] == row - 1 || band.col_ind[k] == row + 1) { band.val[k] *= 0.5; }
    }
    tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 1, 0.0, 0.0);
    o.inverse.row = 2;
    oracle_csr rows = rows_of(&band, &o);
    for (int64_t i = 20; i < band.nrows; i++) {
        assert_int_equal(rows.row_ptr[i + 1] - rows.row_ptr[i], 2);
        assert_int_equal(rows.col_ind[rows.row_ptr[i]], i - 20);
    }
    oracle_free(&rows);
    oracle_free(&wheel);
    oracle_free(&band);
}

/* ---- adaptive patterns ---- */

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

/* Small entries of the inverse go: none of those that stay would have gone, and an entry of each row may. */
static void filters_leave_out_small_entries(void **state)
{
    oracle_csr a = oracle_laplace2d(15);
    tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 3, 0.0, 0.0);
    oracle_csr all = rows_of(&a, &o), few;
    int64_t expected = 0;

    (void)state;
    o.inverse.filter = 0.1;
    few = rows_of(&a, &o);
    for (int64_t i = 0; i < a.nrows; i++) {
        const double least = 0.1 * all.val[all.row_ptr[i + 1] - 1];

        for (int64_t k = all.row_ptr[i]; k < all.row_ptr[i + 1]; k++) {
            expected += fabs(all.val[k]) >= least;
        }
    }
    assert_true(few.nnz < all.nnz);
    assert_int_equal(few.nnz, expected);
    oracle_free(&all);
    oracle_free(&few);
    oracle_free(&a);
}

static void same_bits_for_any_threads(void **state)
{
    oracle_csr a = random_dominant(900, 9, true, 5);

    (void)state;
    for (int c = 0; c < 5; c++) {
        const tess_precond_options o =
            c == 4 ? inverse_options(TESS_PRECOND_FSAI, TESS_INVERSE_ADAPTIVE, 0.2, 0.05)
                   : inverse_options(c % 2 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 1 + c / 2, 0.2, 0.05);
        inverse_outcome outcome[2];
        oracle_csr one = rows_on(TEST_DEVICE, 1, &a, &o, &outcome[0]),
                   many = rows_on(TEST_DEVICE, 3, &a, &o, &outcome[1]);

        assert_int_equal(one.nnz, many.nnz);
        assert_memory_equal(one.col_ind, many.col_ind, (size_t)one.nnz * sizeof *one.col_ind);
        assert_memory_equal(one.val, many.val, (size_t)one.nnz * sizeof *one.val);
        assert_true(outcome[0].largest == outcome[1].largest && outcome[0].smallest == outcome[1].smallest);
        oracle_free(&one);
        oracle_free(&many);
    }
    oracle_free(&a);
}

/* ---- applications ---- */

/* On a full pattern M is A: A M^-1 r = r, and CG needs one iteration, with that of rounding. */
static void full_patterns_are_exact(void **state)
{
    enum { SIZE = 60 };
    oracle_csr a = random_dominant(SIZE, 8, true, 6);
    double *r = random_values(SIZE, 3, -1.0, 1.0), z[SIZE], x[SIZE], magnitude[SIZE];
    wide product[SIZE];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_precond_options o = inverse_options(k == 0 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 8, 0.0, 0.0);
        tess_solve_options solve = solve_options(k == 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
        tess_precond_factors facts = {.size = sizeof facts};
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        assert_ok(ctx, tess_precond_get_factors(m, &facts));
        assert_int_equal(facts.nonzeros, k == 0 ? SIZE * (SIZE + 1) / 2 : SIZE * SIZE);
        assert_int_equal(facts.entries, k == 0 ? SIZE * (SIZE + 1) : SIZE * SIZE);
        assert_true(facts.shift == 0.0);
        assert_true(tess_precond_bytes(m) >= 8 * facts.entries);
        apply_precond(m, SIZE, r, z);
        oracle_multiply(&a, false, z, product, magnitude);
        for (int i = 0; i < SIZE; i++) {
            assert_at_most((double)wide_abs(product[i] - r[i]), 1e3 * (double)SIZE * U64); /* condition below 10 */
        }
        tess_precond_destroy(m);
        solve.precond = o;
        solve.rtol = 1e-12;
        memset(x, 0, sizeof x);
        assert_at_most((double)solve_once(ctx, &a, &solve, r, x).iterations, 1.0);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* M^-1 = G^T G whatever G is rounded to: symmetric to the rounding of FP64, and definite. Its error is that of the
   storage. Values whose range a precision does not have are in a wider one. */
static void precisions_keep_symmetry(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                                TESS_PRECISION_FP16};
    static const double units[] = {0x1p-53, 0x1p-24, 0x1p-8, 0x1p-11};
    static const double sizes[] = {1.0, 1e12, 1e-70, 1e100};
    enum { SIZE = 400 };
    oracle_csr a = random_dominant(SIZE, 5, true, 9);
    double *x = random_values(SIZE, 3, -1.0, 1.0), *y = random_values(SIZE, 4, -1.0, 1.0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int s = 0; s < 4; s++) {
        oracle_csr scaled = oracle_copy(&a);
        double exact[SIZE];

        for (int64_t k = 0; k < a.nnz; k++) {
            scaled.val[k] *= sizes[s];
        }
        tess_matrix *matrix = make_matrix(ctx, &scaled);
        for (int p = 0; p < 4; p++) {
            tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 2, 0.0, 0.0);
            double mx[SIZE], my[SIZE], largest = 0.0;
            tess_precond *m = NULL;

            o.role = (tess_role_precision){1, precisions[p], TESS_ARITHMETIC_FP64};
            assert_ok(ctx, tess_precond_create(matrix, &o, &m));
            apply_precond(m, SIZE, x, mx);
            apply_precond(m, SIZE, y, my);
            if (p == 0) { memcpy(exact, mx, sizeof exact); }
            for (int i = 0; i < SIZE; i++) {
                largest = fmax(largest, fabs(exact[i]));
            }
            assert_at_most(largest_difference(mx, exact, SIZE), 32.0 * units[p] * largest);
            if (p > 0) { assert_true(largest_difference(mx, exact, SIZE) > 0.01 * units[p] * largest); }
            assert_at_most(fabs((double)(oracle_dot(x, my, SIZE) - oracle_dot(y, mx, SIZE))),
                           64.0 * U64 * SIZE * largest);
            assert_true(oracle_dot(x, mx, SIZE) > 0.0);
            tess_precond_destroy(m);
        }
        tess_matrix_destroy(matrix);
        oracle_free(&scaled);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
}

/* Rows of sizes that FP16 does not hold together. */
static void rows_far_apart_are_stored_wider(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    double *b = random_values(a.nrows, 7, -1.0, 1.0);
    tess_context *ctx = open_device(1);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    solved s;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= ldexp(1.0, 40 * (int)(row_of_entry(&a, k) % 3) + 40 * (a.col_ind[k] % 3));
    }
    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] *= ldexp(1.0, 40 * (int)(i % 3));
    }
    options.precond = inverse_options(TESS_PRECOND_FSAI, 2, 0.1, 0.05);
    options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
    s = solve_here(ctx, &a, &options, b);
    assert_true(s.result.converged && !s.result.escalated); /* at once, not after a cycle that failed */
    check_honest(&a, b, s.x, &options, &s.result);
    discard(&s);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* After a failure: the next higher precision, up to FP64. */
static void a_failure_raises_the_precision(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP16, TESS_PRECISION_FP32, TESS_PRECISION_FP64};
    oracle_csr a = random_dominant(100, 4, true, 3);
    double *r = random_values(100, 3, -1.0, 1.0), z[100], expected[100];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 2, 0.1, 0.05);
    tess_precond *raised = NULL;

    (void)state;
    for (int p = 0; p < 3; p++) {
        tess_precond *made = NULL;
        bool widened = false;

        o.role = (tess_role_precision){1, precisions[p], TESS_ARITHMETIC_FP64};
        assert_ok(ctx, tess_precond_create(matrix, &o, &made));
        if (p == 0) {
            raised = made;
            continue;
        }
        assert_true(tess_precond_can_widen(raised));
        assert_ok(ctx, tess_precond_widen(raised, &widened));
        assert_true(widened);
        apply_precond(raised, 100, r, z);
        apply_precond(made, 100, r, expected);
        assert_memory_equal(z, expected, sizeof z);
        tess_precond_destroy(made);
    }
    assert_false(tess_precond_can_widen(raised));
    tess_precond_destroy(raised);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* ---- within methods ---- */

static int64_t iterations_of(tess_context *ctx, const oracle_csr *a, tess_solver_kind kind,
                             const tess_precond_options *precond)
{
    double *b = random_values(a->nrows, 7, -1.0, 1.0);
    tess_solve_options options = solve_options(kind);
    int64_t iterations = 0;
    solved s;

    options.precond = *precond;
    s = solve_here(ctx, a, &options, b);
    assert_true(s.result.converged);
    check_honest(a, b, s.x, &options, &s.result);
    iterations = s.result.iterations;
    discard(&s);
    free(b);
    return iterations;
}

/* Each power of the pattern saves iterations, and a low precision of the inverse costs hardly any. */
static void methods_take_fewer_iterations(void **state)
{
    static const struct {
        tess_solver_kind solver;
        tess_precond_kind precond;
        bool symmetric;
    } cases[] = {{TESS_SOLVER_CG, TESS_PRECOND_FSAI, true},        {TESS_SOLVER_MINRES, TESS_PRECOND_FSAI, true},
                 {TESS_SOLVER_BICGSTAB, TESS_PRECOND_ISAI, false}, {TESS_SOLVER_GMRES, TESS_PRECOND_ISAI, false},
                 {TESS_SOLVER_GMRES_IR, TESS_PRECOND_ISAI, false}, {TESS_SOLVER_GMRES_IR, TESS_PRECOND_FSAI, true},
                 {TESS_SOLVER_FGMRES, TESS_PRECOND_ISAI, false},   {TESS_SOLVER_IDR, TESS_PRECOND_ISAI, false}};
    const int64_t side = on_gpu_or_emulated(40, 16);
    oracle_csr symmetric = oracle_laplace2d(side), general = oracle_convection2d(side, 2.0);
    const tess_precond_options jacobi = precond_of(TESS_PRECOND_JACOBI, 0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const oracle_csr *a = cases[k].symmetric ? &symmetric : &general;
        tess_precond_options o = inverse_options(cases[k].precond, 1, 0.0, 0.0);
        const double plain = (double)iterations_of(ctx, a, cases[k].solver, &jacobi);
        const double one = (double)iterations_of(ctx, a, cases[k].solver, &o);
        double two = 0.0;

        o.inverse.power = 2;
        two = (double)iterations_of(ctx, a, cases[k].solver, &o);
        assert_at_most(one, 0.8 * plain);
        assert_at_most(two, 0.9 * one + 1.0);
        if (cases[k].precond == TESS_PRECOND_FSAI) {
            tess_precond_options adaptive = o;

            adaptive.inverse.power = TESS_INVERSE_ADAPTIVE;
            adaptive.inverse.threshold = jacobi.inverse.threshold;
            assert_at_most((double)iterations_of(ctx, a, cases[k].solver, &adaptive), two + 1.0);
        }
        o.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
        assert_at_most((double)iterations_of(ctx, a, cases[k].solver, &o), 1.1 * two + 2.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&symmetric);
    oracle_free(&general);
}

/* ---- values ---- */

/* x0 of an indefinite matrix with a positive diagonal: shifts make rows of a definite M. */
static void indefinite_rows_are_shifted(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.5, 2.0, -1.5);
    const tess_precond_options fsai = inverse_options(TESS_PRECOND_FSAI, 2, 0.0, 0.0);
    double *x = random_values(50, 3, -1.0, 1.0), z[50];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_factors facts = {.size = sizeof facts};
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &fsai, &m));
    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    assert_true(facts.shift >= 0.001 && facts.shift < 1.0);
    apply_precond(m, 50, x, z);
    assert_true(oracle_dot(x, z, 50) > 0.0);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

/* Rows whose small systems are singular have the diagonal alone: those of [1 1; 1 1]. */
static void singular_rows_have_the_diagonal(void **state)
{
    oracle_csr a = two_by_two(4.0, 4.0, 4.0, 4.0);
    const tess_precond_options o = inverse_options(TESS_PRECOND_ISAI, 1, 0.0, 0.0);
    const double r[2] = {1.0, 3.0};
    double z[2];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    apply_precond(m, 2, r, z);
    assert_true(z[0] == 0.25 && z[1] == 0.75);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void new_values_are_noticed(void **state)
{
    oracle_csr a = random_dominant(200, 5, true, 12), other = oracle_copy(&a);
    double *r = random_values(200, 3, -1.0, 1.0), z[200], fresh[200];
    tess_context *ctx = open_device(2);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        other.val[k] *= 4.0;
    }
    for (int k = 0; k < 3; k++) {
        const tess_precond_options o = inverse_options(k == 1 ? TESS_PRECOND_ISAI : TESS_PRECOND_FSAI,
                                                       k == 2 ? TESS_INVERSE_ADAPTIVE : 2, 0.1, 0.05);
        tess_matrix *matrix = make_matrix(ctx, &a), *second = make_matrix(ctx, &other);
        tess_precond *m = NULL, *expected = NULL;
        tess_vector *v = NULL, *w = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        assert_ok(ctx, tess_precond_create(second, &o, &expected));
        assert_ok(ctx, tess_matrix_update_values(matrix, other.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, 200, r, z);
        apply_precond(expected, 200, r, fresh);
        assert_memory_equal(z, fresh, sizeof z); /* four times the values: the pattern is the same */
        const int64_t diagonal = csr_column_from(other.col_ind, other.row_ptr[5], other.row_ptr[6], 5);
        const double kept = other.val[diagonal];
        other.val[diagonal] = NAN;
        assert_ok(ctx, tess_matrix_update_values(matrix, other.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        assert_ok(ctx, tess_vector_create(ctx, 200, TESS_PRECISION_FP64, &v));
        assert_ok(ctx, tess_vector_create(ctx, 200, TESS_PRECISION_FP64, &w));
        assert_fails(ctx, TESS_SINGULAR, tess_precond_apply(m, v, w));
        tess_vector_destroy(v);
        tess_vector_destroy(w);
        other.val[diagonal] = kept;
        assert_ok(ctx, tess_matrix_update_values(matrix, other.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, 200, r, z);
        assert_memory_equal(z, fresh, sizeof z);
        tess_precond_destroy(m);
        tess_precond_destroy(expected);
        tess_matrix_destroy(matrix);
        tess_matrix_destroy(second);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&other);
    free(r);
}

static void values_without_an_inverse_are_refused(void **state)
{
    const double diagonals[][3] = {{2.0, -1.0, 2.0}, {2.0, 0.0, 2.0}, {2.0, NAN, 2.0}, {2.0, INFINITY, 2.0}};
    tess_context *ctx = open_device(1);

    (void)state;
    for (size_t k = 0; k < sizeof diagonals / sizeof *diagonals; k++) {
        oracle_csr a = oracle_diagonal(3, diagonals[k]);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 1, 0.0, 0.0);
        tess_precond *m = NULL;

        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &o, &m));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 2"));
        o.kind = TESS_PRECOND_ISAI;
        if (k > 0) {
            assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &o, &m));
        } else {
            assert_ok(ctx, tess_precond_create(matrix, &o, &m));
            tess_precond_destroy(m);
        }
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void wrong_requests_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(4, -1.0, 4.0, -1.0), none = oracle_diagonal(0, NULL);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a), *empty = make_matrix(ctx, &none);
    tess_precond *m = NULL;
    tess_precond_options o;

    (void)state;
    for (int k = 0; k < 8; k++) {
        const double wrong[] = {-0.1, 1.0, NAN};

        o = precond_of(k % 2 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 0);
        o.inverse.power = k == 0 ? 0 : k == 1 ? TESS_MAX_INVERSE_POWER + 1 : 2;
        o.inverse.row = k == 2 ? 0 : k == 3 ? TESS_MAX_INVERSE_ROW + 1 : 8;
        if (k == 4) { o.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}; }
        if (k == 5) { o.role = (tess_role_precision){1, TESS_PRECISION_E4M3, TESS_ARITHMETIC_FP64}; }
        for (int w = 0; w < 3; w++) {
            o.inverse.threshold = k == 6 ? wrong[w] : 0.0;
            o.inverse.filter = k == 7 ? wrong[w] : 0.0;
            assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        }
    }
    o = precond_of(TESS_PRECOND_FSAI, 0);
    assert_ok(ctx, tess_precond_create(empty, &o, &m));
    tess_precond_destroy(m);
    assert_int_equal(tess_precond_options_parse("fsai:3", &o), TESS_SUCCESS);
    assert_int_equal(o.inverse.power, 3);
    assert_int_equal(tess_precond_options_parse("isai:9", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("fsai:0", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("isai:adaptive", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("fsai:adaptive", &o), TESS_SUCCESS);
    assert_int_equal(o.inverse.power, TESS_INVERSE_ADAPTIVE);
    for (int k = 0; k < 6; k++) {
        const double wrong[] = {-0.1, 1.0, NAN};

        o.inverse.steps = k == 0 ? 0 : k == 1 ? TESS_MAX_INVERSE_ROW : 5;
        o.inverse.step_size = k == 2 ? 0 : 3;
        o.inverse.tolerance = k > 2 ? wrong[k - 3] : 0.0;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    }
    o = inverse_options(TESS_PRECOND_ISAI, TESS_INVERSE_ADAPTIVE, 0.0, 0.0);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(empty);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&none);
}

/* What stands here, for a GPU too. */
#define INVERSE_TESTS                                                                                           \
    cmocka_unit_test(rows_meet_their_definition), cmocka_unit_test(patterns_are_those_of_powers),               \
        cmocka_unit_test(adaptive_rows_grow_by_their_derivatives), cmocka_unit_test(adaptive_rows_are_bounded), \
        cmocka_unit_test(long_rows_are_cut), cmocka_unit_test(filters_leave_out_small_entries),                 \
        cmocka_unit_test(same_bits_for_any_threads), cmocka_unit_test(full_patterns_are_exact),                 \
        cmocka_unit_test(precisions_keep_symmetry), cmocka_unit_test(rows_far_apart_are_stored_wider),          \
        cmocka_unit_test(a_failure_raises_the_precision), cmocka_unit_test(methods_take_fewer_iterations),      \
        cmocka_unit_test(indefinite_rows_are_shifted), cmocka_unit_test(singular_rows_have_the_diagonal),       \
        cmocka_unit_test(new_values_are_noticed), cmocka_unit_test(values_without_an_inverse_are_refused),      \
        cmocka_unit_test(wrong_requests_are_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
