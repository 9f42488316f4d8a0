/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers: numbers do not change, because programs were built with them, and every number has a text. Names:
   test_names.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tessera/tessera.h>

static void test_published_numbers_stay(void **state)
{
    (void)state;
    assert_int_equal(TESS_SUCCESS, 0);
    assert_int_equal(TESS_OUT_OF_MEMORY, 1);
    assert_int_equal(TESS_INTERNAL, 15);
    assert_int_equal(TESS_REASON_RTOL, 2);
    assert_int_equal(TESS_REASON_ITERATIONS, -3);
    assert_int_equal(TESS_REASON_NAN_OR_INF, -9);
    assert_int_equal(TESS_REASON_FALSE_CONVERGENCE, -100);
    assert_int_equal(TESS_PRECISION_FP64, 0);
    assert_int_equal(TESS_PRECISION_E5M2, 5);
    assert_int_equal(TESS_FORMAT_CSR, 0);
    assert_int_equal(TESS_FORMAT_ELLR, 1);
    assert_int_equal(TESS_FORMAT_SELL, 2);
    assert_int_equal(TESS_FORMAT_DIA, 5);
    assert_int_equal(TESS_FORMAT_BSR, 7);
    assert_int_equal(TESS_SOLVER_BICGSTAB, 2);
    assert_int_equal(TESS_SCALING_MAX_PRODUCT, 1);
    assert_int_equal(TESS_REORDERING_RCM, 1);
}

static void test_strings_are_never_null(void **state)
{
    (void)state;
    for (int code = -200; code <= 200; code++) {
        assert_non_null(tess_status_text((tess_status)code));
        assert_non_null(tess_reason_name((tess_reason)code));
        assert_non_null(tess_reason_text((tess_reason)code));
    }
    assert_non_null(tess_gpu_backend());
    assert_int_equal(tess_has_gpu_backend(), strcmp(tess_gpu_backend(), "none") != 0);
}

static void test_version_is_the_build_s(void **state)
{
    (void)state;
    assert_string_equal(tess_version(), TESS_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_numbers_stay),
        cmocka_unit_test(test_strings_are_never_null),
        cmocka_unit_test(test_version_is_the_build_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
