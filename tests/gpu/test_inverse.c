/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and patterns of fsai and isai on the GPU: the tests of the host, and host and GPU side by side. */
#define TESTS_ON_GPU
#include "../unit/test_inverse.c" /* the same tests, in another context */

/* The operations of a row and their order are the same. */
static void host_and_gpu_have_the_same_bits(void **state)
{
    oracle_csr matrices[] = {random_dominant(400, 9, true, 5), random_dominant(300, 25, true, 6),
                             random_dominant(400, 7, false, 7), arrow(600, true), oracle_laplace2d(20)};

    (void)state;
    for (int c = 0; c < 5 * 8; c++) {
        oracle_csr *a = &matrices[c / 8];
        const bool symmetric = c % 2 == 0 && c / 8 != 2;
        const int power = symmetric && c % 8 == 6 ? TESS_INVERSE_ADAPTIVE : 1 + c / 2 % 3;
        const tess_precond_options o = inverse_options(symmetric ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, power,
                                                       c % 3 == 0 ? 0.0 : 0.3, c % 3 == 1 ? 0.05 : 0.0);
        inverse_outcome outcome[2];
        oracle_csr host = inverse_rows_at(&(inverse_place){TESS_DEVICE_CPU, 1, 0}, a, &o, &outcome[0]),
                   gpu = inverse_rows_at(&(inverse_place){TESS_DEVICE_GPU, 1, 0}, a, &o, &outcome[1]);

        check_same_rows(&host, &gpu);
        assert_true(outcome[0].largest == outcome[1].largest && outcome[0].smallest == outcome[1].smallest);
        assert_true(outcome[0].mended == outcome[1].mended && outcome[0].shift == outcome[1].shift);
        oracle_free(&host);
        oracle_free(&gpu);
    }
    for (int k = 0; k < 5; k++) {
        oracle_free(&matrices[k]);
    }
}

/* Weights of random values, which sums in another order or with other roundings would tell apart; and rows that are cut
   by them, in one product or in slices of it. */
static void slices_make_no_difference(void **state)
{
    oracle_csr a = random_dominant(on_gpu_or_emulated(2000, 520), 14, true, 15);

    (void)state;
    for (int c = 0; c < 8; c++) {
        tess_precond_options o =
            inverse_options(c % 2 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 2 + c / 2 % 2, 0.1, 0.0);
        const inverse_place places[] = {{TESS_DEVICE_CPU, 1, 0}, {TESS_DEVICE_GPU, 1, 0}, {TESS_DEVICE_GPU, 1, 20000}};
        oracle_csr pattern[3];

        o.inverse.row = c < 4 ? 64 : 20;
        for (int k = 0; k < 3; k++) {
            pattern[k] = inverse_pattern_at(&places[k], &a, &o);
        }
        check_same_pattern(&pattern[0], &pattern[1]);
        check_same_pattern(&pattern[0], &pattern[2]);
        for (int k = 0; k < 3; k++) {
            oracle_free(&pattern[k]);
        }
    }
    oracle_free(&a);
}

/* Offsets on a GPU have 32 bits: refused before anything is allocated. */
static void too_many_entries_are_refused(void **state)
{
    int64_t offsets[] = {0, INT64_C(1) << 31};
    host_csr pattern = {.nrows = 1, .ncols = 1, .row_ptr = offsets};
    inverse_rows rows = {{0}, {0}};
    tess_context *gpu = open_device(1);

    (void)state;
    assert_fails(gpu, TESS_OUT_OF_RANGE, inverse_ops_of(gpu)->take_pattern(gpu, &pattern, &rows));
    assert_non_null(strstr(tess_context_last_error(gpu)->message, "2147483648 nonzeros"));
    assert_null(rows.device.row_ptr);
    tess_context_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_TESTS,
        cmocka_unit_test(host_and_gpu_have_the_same_bits),
        cmocka_unit_test(slices_make_no_difference),
        cmocka_unit_test(too_many_entries_are_refused),
    };

    return run_gpu_tests(tests, NULL);
}
