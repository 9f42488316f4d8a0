/* SPDX-License-Identifier: Apache-2.0 */
/* The scaling D A: powers of two, largest magnitudes from 1 to 2, rows of zeros, extreme values, and what is refused.
 */
#include <tessera/order.h>

#include "support/test.h"

static void find_scale(const oracle_csr *a, double *scale)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, a);

    assert_ok(ctx, tess_order_row_scale(matrix, scale));
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

static void rows_are_brought_to_one_size(void **state)
{
    oracle_csr matrices[] = {oracle_random(80, 50, 4, 7), oracle_convection2d(9, 3.0), oracle_with_empty_rows(300)};
    double scale[300];

    (void)state;
    for (size_t c = 0; c < sizeof matrices / sizeof *matrices; c++) {
        const oracle_csr *a = &matrices[c];

        find_scale(a, scale);
        for (int64_t i = 0; i < a->nrows; i++) {
            double largest = 0.0;
            int exponent = 0;

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                largest = fmax(largest, fabs(scale[i] * a->val[k]));
            }
            assert_true(frexp(scale[i], &exponent) == 0.5);
            assert_true(largest == 0.0 ? scale[i] == 1.0 : largest >= 1.0 && largest < 2.0);
        }
        oracle_free(&matrices[c]);
    }
}

static void exact_factors(void **state)
{
    static const double d[] = {1.0, -1.5, 2.0, 0x1p-300, -1e300, 0x1p-1074, 0x1p1023, 0.0};
    oracle_csr a = oracle_diagonal(8, d);
    double scale[8];

    (void)state;
    find_scale(&a, scale);
    assert_true(scale[0] == 1.0 && scale[1] == 1.0 && scale[2] == 0.5 && scale[3] == 0x1p300);
    assert_true(scale[4] == 0x1p-996 && scale[5] == 0x1p1000 && scale[6] == 0x1p-1000 && scale[7] == 1.0);
    oracle_free(&a);
}

static void nonfinite_values_are_refused(void **state)
{
    static const double d[] = {1.0, NAN};
    oracle_csr a = oracle_diagonal(2, d);
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double scale[2];

    (void)state;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_order_row_scale(matrix, scale));
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_brought_to_one_size),
        cmocka_unit_test(exact_factors),
        cmocka_unit_test(nonfinite_values_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
