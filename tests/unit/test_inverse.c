/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioners fsai and isai: rows against their definition, patterns of powers, cuts, filters. */
#include "support/inverse.h"

#include <stdlib.h>
#include <string.h>

#include "support/solve.h"

/* ---- the rows ---- */

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

/* ---- cuts ---- */

enum { MOST_ROWS = 200, ABSENT = -1 };

/* Weights of entries by row and column; ABSENT: there is none. */
typedef struct weight_table {
    int64_t n;
    double at[MOST_ROWS][MOST_ROWS];
} weight_table;

static const weight_table *sorted_table;
static int64_t sorted_row;

/* The diagonal first, then larger weights, then nearer columns, then the left one. */
static int by_rank(const void *a, const void *b)
{
    const int64_t i = sorted_row, p = *(const int64_t *)a, q = *(const int64_t *)b;
    const int64_t far_p = llabs(p - i), far_q = llabs(q - i);
    const double first = sorted_table->at[i][p], second = sorted_table->at[i][q];

    if (p == i || q == i) { return p == i ? -1 : 1; }
    if (first != second) { return first > second ? -1 : 1; }
    return far_p != far_q ? (far_p < far_q ? -1 : 1) : (p < q ? -1 : 1);
}

/* Rows keep `most` entries, of the lower triangle if wanted, and a diagonal of 1. */
static void cut_table(weight_table *t, int64_t most, bool lower)
{
    for (int64_t i = 0; i < t->n; i++) {
        int64_t order[MOST_ROWS], count = 0;

        t->at[i][i] = 1.0;
        for (int64_t j = 0; j < t->n; j++) {
            if (lower && j > i) { t->at[i][j] = ABSENT; }
            if (t->at[i][j] >= 0.0) { order[count++] = j; }
        }
        sorted_table = t;
        sorted_row = i;
        qsort(order, (size_t)count, sizeof *order, by_rank);
        for (int64_t k = most; k < count; k++) {
            t->at[i][order[k]] = ABSENT;
        }
    }
}

/* A's weights, without the small ones. */
static void weigh(const oracle_csr *a, double threshold, weight_table *t)
{
    t->n = a->nrows;
    for (int64_t i = 0; i < t->n; i++) {
        double largest = 0.0;

        for (int64_t j = 0; j < t->n; j++) {
            t->at[i][j] = ABSENT;
        }
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int64_t j = a->col_ind[k];
            const double own = diagonal_of(a, i), other = diagonal_of(a, j);

            t->at[i][j] = fabs(a->val[k]) / sqrt((own != 0.0 ? fabs(own) : 1.0) * (other != 0.0 ? fabs(other) : 1.0));
            if (j != i) { largest = fmax(largest, t->at[i][j]); }
        }
        for (int64_t j = 0; j < t->n; j++) {
            if (j != i && t->at[i][j] < threshold * largest) { t->at[i][j] = ABSENT; }
        }
    }
}

/* product := power base */
static void multiply_tables(const weight_table *power, const weight_table *base, weight_table *product)
{
    product->n = power->n;
    for (int64_t i = 0; i < power->n; i++) {
        for (int64_t j = 0; j < power->n; j++) {
            product->at[i][j] = ABSENT;
        }
        for (int64_t k = 0; k < power->n; k++) {
            for (int64_t j = 0; power->at[i][k] >= 0.0 && j < power->n; j++) {
                if (base->at[k][j] < 0.0) { continue; }
                product->at[i][j] = fmax(product->at[i][j], 0.0) + power->at[i][k] * base->at[k][j];
            }
        }
    }
}

/* The pattern by its definition. Sums of the weights of these matrices are exact, in any order. */
static oracle_csr define_pattern(const oracle_csr *a, const tess_precond_options *o)
{
    weight_table *base = test_allocate(1, sizeof *base), *power = test_allocate(1, sizeof *power),
                 *next = test_allocate(1, sizeof *next);
    const bool lower = o->kind == TESS_PRECOND_FSAI;
    oracle_csr out = oracle_open(a->nrows, a->nrows);

    weigh(a, o->inverse.threshold, base);
    if (o->inverse.power > 1) { cut_table(base, 2 * (int64_t)o->inverse.row, false); }
    memcpy(power, base, sizeof *power);
    for (int p = 1; p < o->inverse.power; p++) {
        multiply_tables(power, base, next);
        cut_table(next, 2 * (int64_t)o->inverse.row, false);
        memcpy(power, next, sizeof *power);
    }
    cut_table(power, o->inverse.row, lower);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t j = 0; j < a->nrows; j++) {
            if (power->at[i][j] >= 0.0) { oracle_push(&out, j, 1.0); }
        }
        oracle_end_row(&out, i);
    }
    free(base);
    free(power);
    free(next);
    return out;
}

/* Entries of 1 to `sizes` eighths, of both signs, and 4 on the diagonal, so that weights are multiples of 1/32. */
static void make_exact(oracle_csr *a, uint64_t sizes, uint64_t seed)
{
    uint64_t state = seed;

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const double size = (double)(1 + oracle_random_bits(&state) % sizes) / 8.0;

            a->val[k] = a->col_ind[k] == i ? 4.0 : oracle_random_bits(&state) % 2 ? size : -size;
        }
    }
}

/* Columns i - before to i + after. */
static oracle_csr band_of(int64_t n, int64_t before, int64_t after)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > before ? i - before : 0; j <= i + after && j < n; j++) {
            oracle_push(&a, j, 1.0);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void check_pattern(const oracle_csr *a, const tess_precond_options *o, int64_t slice_terms)
{
    const inverse_place place = {TEST_DEVICE, 2, slice_terms};
    oracle_csr expected = define_pattern(a, o), computed = inverse_pattern_at(&place, a, o);

    check_same_pattern(&expected, &computed);
    oracle_free(&expected);
    oracle_free(&computed);
}

/* Long rows keep the entries that the definition names, also among many that are equal. */
static void cut_rows_have_the_largest_weights(void **state)
{
    oracle_csr matrices[] = {random_dominant(120, 9, true, 3), random_dominant(150, 12, false, 4),
                             band_of(140, 139, 139)};
    static const int rows[] = {64, 7, 1};

    (void)state;
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3 * 3 * 2; c += (int)on_gpu_or_emulated(1, 5)) {
            const int power = 1 + c % 3;
            tess_precond_options o = inverse_options(k != 1 && c % 2 == 0 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI,
                                                     power, c >= 9 ? 0.3 : 0.0, 0.0);

            make_exact(&matrices[k], c % 2 == 0 ? 1 : 6, 5 + (uint64_t)c); /* of one size, and of six */
            o.inverse.row = rows[c / 3 % 3];
            check_pattern(&matrices[k], &o, c % 3 == 2 ? 1 : 0);
        }
        oracle_free(&matrices[k]);
    }
}

/* As long as a row may be, an entry less and one more: of the lower triangle, of both, and twice that of a product. */
static void rows_at_the_limit_are_whole(void **state)
{
    static const struct {
        tess_precond_kind kind;
        int power, before, after;
    } cases[] = {{TESS_PRECOND_FSAI, 1, 62, 62}, {TESS_PRECOND_FSAI, 1, 63, 63}, {TESS_PRECOND_FSAI, 1, 64, 64},
                 {TESS_PRECOND_ISAI, 1, 31, 31}, {TESS_PRECOND_ISAI, 1, 31, 32}, {TESS_PRECOND_ISAI, 1, 32, 32},
                 {TESS_PRECOND_FSAI, 2, 31, 31}, {TESS_PRECOND_FSAI, 2, 32, 32}, {TESS_PRECOND_FSAI, 2, 31, 33},
                 {TESS_PRECOND_ISAI, 2, 31, 33}, {TESS_PRECOND_ISAI, 2, 63, 64}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        oracle_csr a = band_of(180, cases[k].before, cases[k].after);
        tess_precond_options o = inverse_options(cases[k].kind, cases[k].power, 0.0, 0.0);

        make_exact(&a, 5, 3 + k);
        check_pattern(&a, &o, 0);
        o.inverse.threshold = 0.5; /* of the largest of a long row */
        check_pattern(&a, &o, 0);
        oracle_free(&a);
    }
}

/* Rows without entries, and without that of the diagonal, get one. */
static void rows_may_be_empty(void **state)
{
    oracle_csr a = oracle_with_empty_rows(150), none = oracle_open(MOST_ROWS, MOST_ROWS);

    (void)state;
    make_exact(&a, 3, 2);
    for (int64_t i = 0; i < MOST_ROWS; i++) {
        oracle_end_row(&none, i);
    }
    for (int c = 0; c < 12; c++) {
        tess_precond_options o =
            inverse_options(c % 2 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 1 + c / 2 % 3, 0.0, 0.0);

        o.inverse.row = c < 6 ? 64 : 3;
        check_pattern(&a, &o, c % 3 == 0 ? 1 : 0);
        check_pattern(&none, &o, 0);
    }
    oracle_free(&a);
    oracle_free(&none);
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

/* Values of another order keep the pattern, also where rows were cut or filtered; rows are those of the new values. */
static void new_values_keep_the_pattern(void **state)
{
    enum { KINDS = 3 };
    const inverse_place place = {TEST_DEVICE, 2, 0}, host = {TESS_DEVICE_CPU, 1, 0};
    oracle_csr matrices[KINDS] = {random_dominant(150, 9, true, 3), random_dominant(150, 9, false, 4),
                                  random_dominant(150, 9, true, 5)};

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        tess_precond_options o = inverse_options(k == 1 ? TESS_PRECOND_ISAI : TESS_PRECOND_FSAI,
                                                 k == 2 ? TESS_INVERSE_ADAPTIVE : 2, k == 2 ? 0.0 : 0.1, 0.02);
        inverse_outcome outcome;
        oracle_csr other = oracle_copy(&matrices[k]), first, renewed, expected;

        for (int64_t i = 0; i < other.nrows; i++) { /* still dominant, with other weights */
            for (int64_t e = other.row_ptr[i]; e < other.row_ptr[i + 1]; e++) {
                if (other.col_ind[e] != i) { other.val[e] /= 1.0 + (double)((i + other.col_ind[e]) % 7); }
            }
        }
        o.inverse.row = 12;
        first = inverse_rows_at(&place, &matrices[k], &o, &outcome);
        renewed = inverse_renewed_at(&place, &matrices[k], other.val, &o, &outcome);
        expected = inverse_renewed_at(&host, &matrices[k], other.val, &o, &outcome);
        assert_int_equal(oracle_longest_row(&first, false), 12);
        check_same_pattern(&first, &renewed);
        check_same_rows(&expected, &renewed);
        if (k == 1) {
            check_inverse(&other, &renewed);
        } else {
            check_factor(&other, &renewed);
        }
        oracle_free(&first);
        oracle_free(&renewed);
        oracle_free(&expected);
        oracle_free(&other);
        oracle_free(&matrices[k]);
    }
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
        oracle_csr one = inverse_rows_at(&(inverse_place){TEST_DEVICE, 1, 0}, &a, &o, &outcome[0]),
                   many = inverse_rows_at(&(inverse_place){TEST_DEVICE, 3, 0}, &a, &o, &outcome[1]);

        check_same_rows(&one, &many);
        assert_true(outcome[0].largest == outcome[1].largest && outcome[0].smallest == outcome[1].smallest);
        oracle_free(&one);
        oracle_free(&many);
    }
    oracle_free(&a);
}

/* What stands here, for a GPU too. */
#define INVERSE_TESTS                                                                                     \
    cmocka_unit_test(rows_meet_their_definition), cmocka_unit_test(patterns_are_those_of_powers),         \
        cmocka_unit_test(long_rows_are_cut), cmocka_unit_test(cut_rows_have_the_largest_weights),         \
        cmocka_unit_test(rows_at_the_limit_are_whole), cmocka_unit_test(rows_may_be_empty),               \
        cmocka_unit_test(filters_leave_out_small_entries), cmocka_unit_test(new_values_keep_the_pattern), \
        cmocka_unit_test(same_bits_for_any_threads)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
