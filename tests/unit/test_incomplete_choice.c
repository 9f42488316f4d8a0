/* SPDX-License-Identifier: Apache-2.0 */
/* Where incomplete factors are computed if nobody says: tests/gpu/test_incomplete_choice.c has the same on a GPU. */
#include "support/incomplete.h"

/* Threads of a CPU context share level sets; a GPU leaves small matrices to its host. */
static void check_choice(const oracle_csr *a, tess_factorization on_gpu)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a);

    for (int k = 0; k < 2; k++) {
        tess_precond_options options;
        tess_precond_factors facts = {.size = sizeof facts};
        tess_precond *m = NULL;

        tess_precond_options_init(&options);
        assert_int_equal(options.incomplete.factorization, TESS_FACTORIZATION_AUTO);
        options.kind = kinds[k];
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_ok(ctx, tess_precond_get_factors(m, &facts));
        assert_int_equal(facts.factorization, TEST_DEVICE == TESS_DEVICE_GPU ? on_gpu : TESS_FACTORIZATION_DEVICE);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

/* Symmetric, 2 half rows in two level sets: row i and row i + half know each other. */
static oracle_csr make_pairs(int64_t half)
{
    oracle_csr a = oracle_open(2 * half, 2 * half);

    for (int64_t i = 0; i < 2 * half; i++) {
        if (i >= half) { oracle_push(&a, i - half, -1.0); }
        oracle_push(&a, i, 4.0);
        if (i < half) { oracle_push(&a, i + half, -1.0); }
        oracle_end_row(&a, i);
    }
    return a;
}

static void little_is_left_to_the_host(void **state)
{
    oracle_csr small = oracle_laplace2d(12), pairs = make_pairs(5000);

    (void)state;
    check_choice(&small, TESS_FACTORIZATION_HOST);
    check_choice(&pairs, TESS_FACTORIZATION_HOST);
    oracle_free(&small);
    oracle_free(&pairs);
}

/* Two level sets are soon done, however many rows they have. */
static void wide_level_sets_are_for_the_device(void **state)
{
    oracle_csr pairs = make_pairs(10000);

    (void)state;
    check_choice(&pairs, TESS_FACTORIZATION_DEVICE);
    oracle_free(&pairs);
}

#define INCOMPLETE_CHOICE_TESTS \
    cmocka_unit_test(little_is_left_to_the_host), cmocka_unit_test(wide_level_sets_are_for_the_device)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {INCOMPLETE_CHOICE_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
