/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors of a matrix in an order by colors. */
#include "support/incomplete.h"

static tess_precond_options colored_options(tess_precond_kind kind)
{
    tess_precond_options options = factor_options(kind);

    options.incomplete.triangular = TESS_TRIANGULAR_COLORS;
    return options;
}

static bool has_entry(const oracle_csr *a, int64_t i, int64_t j)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == j) { return true; }
    }
    return false;
}

/* The definition, by looking for every pair: rows by their first free color, then by their number. */
static int64_t order_by_definition(const oracle_csr *a, bool lower, int64_t *order)
{
    const int64_t n = a->nrows;
    int64_t *color = test_allocate(n, sizeof *color), count = 0, placed = 0;

    for (int64_t i = 0; i < n; i++) {
        bool taken = true;

        for (color[i] = -1; taken;) {
            color[i] += 1;
            taken = false;
            for (int64_t j = 0; j < i && !taken; j++) {
                taken = color[j] == color[i] && (has_entry(a, i, j) || (!lower && has_entry(a, j, i)));
            }
        }
        count = color[i] >= count ? color[i] + 1 : count;
    }
    for (int64_t c = 0; c < count; c++) {
        for (int64_t i = 0; i < n; i++) {
            if (color[i] == c) { order[placed++] = i; }
        }
    }
    free(color);
    return count;
}

static oracle_csr permuted(const oracle_csr *a, const int64_t *order)
{
    const int64_t n = a->nrows;
    oracle_csr out = oracle_open(n, n);
    double *row = test_allocate(n, sizeof *row);
    int64_t *place = test_allocate(n, sizeof *place);
    bool *used = test_allocate(n, sizeof *used);

    for (int64_t p = 0; p < n; p++) {
        place[order[p]] = p;
    }
    for (int64_t p = 0; p < n; p++) {
        memset(used, 0, (size_t)n * sizeof *used);
        for (int64_t k = a->row_ptr[order[p]]; k < a->row_ptr[order[p] + 1]; k++) {
            row[place[a->col_ind[k]]] = a->val[k];
            used[place[a->col_ind[k]]] = true;
        }
        for (int64_t q = 0; q < n; q++) {
            if (used[q]) { oracle_push(&out, q, row[q]); }
        }
        oracle_end_row(&out, p);
    }
    free(row);
    free(place);
    free(used);
    return out;
}

/* The bits of the factors of the matrix that the definition permutes; without fill as many level sets as colors, or
   fewer. */
static void colors_are_their_definition(void **state)
{
    static const tess_precond_kind of_symmetric[] = {TESS_PRECOND_IC0, TESS_PRECOND_ILU0, TESS_PRECOND_ICT};
    static const tess_precond_kind of_others[] = {TESS_PRECOND_ILU0, TESS_PRECOND_ILUT, TESS_PRECOND_ILUK};
    oracle_csr grid = oracle_laplace2d(11), symmetric = random_dominant(120, 5, true, 3),
               random = random_dominant(120, 4, false, 4), convection = oracle_convection2d(9, 0.6);
    const oracle_csr *const problems[] = {&grid, &symmetric, &random, &convection};

    (void)state;
    for (int c = 0; c < 4 * 3 * 2; c++) {
        const oracle_csr *a = problems[c / 6];
        const tess_precond_kind kind = c / 6 < 2 ? of_symmetric[c / 2 % 3] : of_others[c / 2 % 3];
        const bool fill = kind != TESS_PRECOND_IC0 && kind != TESS_PRECOND_ILU0;
        const int64_t n = a->nrows;
        int64_t *order = test_allocate(n, sizeof *order);
        const int64_t colors = order_by_definition(a, kind == TESS_PRECOND_IC0 || kind == TESS_PRECOND_ICT, order);
        oracle_csr other = permuted(a, order);
        double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(3 * n, sizeof *z), *pr = z + n, *pz = pr + n;
        tess_precond_options colored = colored_options(kind), plain = factor_options(kind);
        tess_precond_factors facts;

        colored.incomplete.factorization = plain.incomplete.factorization =
            fill || c % 2 == 1 ? TESS_FACTORIZATION_HOST : TESS_FACTORIZATION_DEVICE;
        apply_factors(a, &colored, 2, r, z, &facts);
        if (!fill) { assert_true(facts.lower_level_sets <= colors && facts.upper_level_sets <= colors); }
        if (a == &grid && !fill) { assert_int_equal(facts.lower_level_sets + facts.upper_level_sets, 4); }
        for (int64_t p = 0; p < n; p++) {
            pr[p] = r[order[p]];
        }
        apply_factors(&other, &plain, 2, pr, pz, &facts);
        for (int64_t p = 0; p < n; p++) {
            assert_true(z[order[p]] == pz[p]);
        }
        oracle_free(&other);
        free(order);
        free(r);
        free(z);
    }
    oracle_free(&grid);
    oracle_free(&symmetric);
    oracle_free(&random);
    oracle_free(&convection);
}

/* Messages have the caller's rows. */
static void rows_keep_their_numbers(void **state)
{
    oracle_csr nan = oracle_laplace2d(6), missing = oracle_open(20, 20);

    (void)state;
    nan.val[nan.row_ptr[9]] = (double)NAN;
    for (int64_t i = 0; i < 20; i++) {
        if (i > 0) { oracle_push(&missing, i - 1, -1.0); }
        if (i != 13) { oracle_push(&missing, i, 3.0); }
        oracle_end_row(&missing, i);
    }
    for (int k = 0; k < 2; k++) {
        const tess_precond_options options = colored_options(TESS_PRECOND_ILU0);
        tess_context *ctx = open_device(1);
        tess_matrix *matrix = make_matrix(ctx, k == 0 ? &nan : &missing);
        tess_precond *m = NULL;

        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &options, &m));
        if (strstr(tess_context_last_error(ctx)->message, k == 0 ? "row 10" : "row 14") == NULL) {
            fail_msg("%s", tess_context_last_error(ctx)->message);
        }
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&nan);
    oracle_free(&missing);
}

static void new_values_are_taken(void **state)
{
    oracle_csr a = oracle_laplace2d(13);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    const tess_precond_options options = colored_options(TESS_PRECOND_IC0);
    tess_precond_factors facts;
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= a.col_ind[k] == i ? 2.0 + (double)i / (double)n : 0.75;
        }
    }
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    apply_precond(m, n, r, z);
    apply_factors(&a, &options, 2, r, z + n, &facts);
    assert_true(same_bits(z, z + n, n));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(z);
}

#define INCOMPLETE_COLORS_TESTS                                                               \
    cmocka_unit_test(colors_are_their_definition), cmocka_unit_test(rows_keep_their_numbers), \
        cmocka_unit_test(new_values_are_taken)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_COLORS_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
