/* SPDX-License-Identifier: Apache-2.0 */
/* Level sets that a GPU finds: those of the host, row by row; and factors of many rows by them. */
#define TESTS_ON_GPU
#include "support/incomplete.h"
#include "triangular/leveled.h"
#include "triangular/triangular.h"

/* A strict triangle of n rows: row i needs some rows before it, or in an upper one behind it. */
static oracle_csr make_triangle(int64_t n, int64_t far, int64_t most, bool upper, uint64_t seed)
{
    oracle_csr t = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t count = (int64_t)(oracle_random_bits(&seed) % (uint64_t)(most + 1));
        const int64_t room = upper ? n - 1 - i : i, reach = room < far ? room : far;
        int64_t last = upper ? i : i - reach - 1;

        for (int64_t c = 0; c < count && reach > 0; c++) {
            const int64_t left = (upper ? i + reach : i - 1) - last;

            if (left <= 0) { break; }
            last += 1 + (int64_t)(oracle_random_bits(&seed) % (uint64_t)left);
            oracle_push(&t, last, 1.0);
        }
        oracle_end_row(&t, i);
    }
    return t;
}

/* The order of the host, or nothing if there are more than `most` level sets. */
static void check_levels(tess_context *ctx, const oracle_csr *t, bool upper, int64_t most)
{
    const int64_t n = t->nrows;
    tess_matrix *matrix = make_matrix(ctx, t);
    triangle_pattern pattern = {.n = n, .upper = upper, .row_ptr = t->row_ptr, .col_ind = t->col_ind};
    level_schedule expected = {0};
    device_csr own = {0}, transpose = {0};
    int32_t *source = NULL, *order = test_allocate(n, sizeof *order);
    leveled_rows rows = {0};
    bool found = false;

    assert_ok(ctx, level_sets_find(ctx, &pattern, 0, n, &expected));
    device_csr_borrow(matrix, &own);
    assert_ok(ctx, device_csr_ops_of(ctx)->transpose(ctx, &own, &transpose, &source));
    assert_ok(ctx, triangle_ops_of(ctx)->find_levels(ctx, &own, &transpose, most, &rows, &found));
    assert_int_equal(found, expected.level_sets <= most);
    if (found) {
        assert_int_equal(rows.level_sets, expected.level_sets);
        assert_ok(ctx, ctx->backend->download(ctx, order, rows.order, (size_t)n * sizeof *order));
        for (int64_t l = 0; l < rows.level_sets; l++) {
            assert_int_equal(rows.runs[l].begin, expected.runs[l].begin);
            assert_int_equal(rows.runs[l].end, expected.runs[l].end);
            for (int64_t p = rows.runs[l].begin; p < rows.runs[l].end; p++) { /* ascending, both lower and upper */
                assert_true(p == rows.runs[l].begin || order[p] > order[p - 1]);
            }
        }
    }
    for (int64_t l = 0; found && l < rows.level_sets;
         l++) { /* the same rows; the host has those of upper ones turned */
        const int64_t begin = rows.runs[l].begin, end = rows.runs[l].end;

        for (int64_t p = begin; p < end; p++) {
            assert_int_equal(order[p], expected.order[upper ? begin + end - 1 - p : p]);
        }
    }
    leveled_release(ctx, &rows);
    level_sets_release(ctx, &expected);
    tess_device_release(ctx, source, own.nnz, sizeof *source);
    device_csr_release(ctx, &transpose);
    tess_matrix_destroy(matrix);
    free(order);
}

static void level_sets_are_those_of_the_host(void **state)
{
    static const struct {
        int64_t n, far, most;
    } cases[] = {{1, 1, 0}, {1, 1, 1}, {300, 1, 1}, {3000, 40, 3}, {9000, 9000, 2}, {5000, 5000, 0}, {12289, 64, 2}};
    tess_context *ctx = open_device(1);

    (void)state;
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        const bool upper = c % 2 == 1;
        oracle_csr t = make_triangle(cases[c / 2].n, cases[c / 2].far, cases[c / 2].most, upper, c + 1);

        check_levels(ctx, &t, upper, 10000);
        oracle_free(&t);
    }
    tess_context_destroy(ctx);
}

/* As many as there may be, one more, and as many as are looked for at a time. */
static void too_many_level_sets_are_left(void **state)
{
    tess_context *ctx = open_device(1);

    (void)state;
    for (int64_t n = 63; n <= 65; n++) {
        oracle_csr chain = oracle_open(n, n);

        for (int64_t i = 0; i < n; i++) {
            if (i > 0) { oracle_push(&chain, i - 1, 1.0); }
            oracle_end_row(&chain, i);
        }
        for (int64_t most = n - 2; most <= n + 1; most++) {
            check_levels(ctx, &chain, false, most);
        }
        oracle_free(&chain);
    }
    tess_context_destroy(ctx);
}

/* 66,049 rows in two level sets: the GPU finds them, and the factors are those of the host. */
static void factors_of_many_rows(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};
    static const tess_triangular ways[] = {TESS_TRIANGULAR_LEVELS, TESS_TRIANGULAR_AUTO};
    oracle_csr a = red_black(257);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);

    (void)state;
    for (int c = 0; c < 4; c++) {
        tess_precond_options options = factor_options(kinds[c % 2]);
        tess_precond_factors facts;
        test_factors f;

        options.incomplete.factorization = TESS_FACTORIZATION_AUTO;
        options.incomplete.triangular = ways[c / 2];
        tess_precond_factors_init(&facts);
        apply_factors(&a, &options, 1, r, z, &facts);
        assert_int_equal(facts.factorization, TESS_FACTORIZATION_DEVICE);
        assert_int_equal(facts.lower_level_sets, 2);
        assert_int_equal(facts.upper_level_sets, 2);
        assert_int_equal(facts.leaves, 2);
        f = factors_of(&a, kinds[c % 2]);
        check_factor_solution(&f, r, z, 0.0);
        free_factors(&f);
    }
    oracle_free(&a);
    free(r);
    free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(level_sets_are_those_of_the_host),
                                       cmocka_unit_test(too_many_level_sets_are_left),
                                       cmocka_unit_test(factors_of_many_rows)};

    return run_gpu_tests(tests, NULL);
}
