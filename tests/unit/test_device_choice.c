/* SPDX-License-Identifier: Apache-2.0 */
/* Host or GPU, by the size of a matrix: tables, and that a larger matrix never goes back to the host. */
#include <string.h>

#include <tessera/advise.h>

#include "auto/device_choice.h"
#include "support/test.h"

typedef struct choice_case {
    int64_t nrows, nnz;
    tess_device first, started; /* in a process without a context on a GPU, and with one */
} choice_case;

static const choice_case cases[] = {
    {0, 0, TESS_DEVICE_CPU, TESS_DEVICE_CPU},
    {1, 1, TESS_DEVICE_CPU, TESS_DEVICE_CPU},
    {1200, 17760, TESS_DEVICE_CPU, TESS_DEVICE_GPU}, /* an iteration: 13 us on the host, 8 on a GPU */
    {900, 4380, TESS_DEVICE_CPU, TESS_DEVICE_CPU},   /* 30 by 30: 6 us */
    {10000, 49600, TESS_DEVICE_CPU, TESS_DEVICE_GPU},
    {40000, 199200, TESS_DEVICE_CPU, TESS_DEVICE_GPU}, /* 200 by 200: 93 ms, before a GPU has started */
    {160000, 798400, TESS_DEVICE_GPU, TESS_DEVICE_GPU},
    {1000, 1000000, TESS_DEVICE_GPU, TESS_DEVICE_GPU}, /* dense */
    {1000000, 1000000, TESS_DEVICE_GPU, TESS_DEVICE_GPU},
    {INT64_MAX, INT64_MAX, TESS_DEVICE_GPU, TESS_DEVICE_GPU},
};

static void table_of_sizes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const choice_case *c = &cases[i];
        char why[TESS_ADVICE_LENGTH];

        assert_int_equal(choose_device_by_rates(c->nrows, c->nnz, false, why, sizeof why), c->first);
        assert_non_null(strstr(why, c->first == TESS_DEVICE_CPU ? "before a GPU has started" : "with its start"));
        assert_int_equal(choose_device_by_rates(c->nrows, c->nnz, true, why, sizeof why), c->started);
        assert_non_null(strstr(why, "nonzero"));
        assert_null(strstr(why, "start,")); /* nothing starts */
    }
}

/* In rows, in nonzeros, and from a process without a GPU's context to one with it. */
static void larger_never_goes_back(void **unused)
{
    char why[TESS_ADVICE_LENGTH];

    (void)unused;
    for (int started = 0; started < 2; started++) {
        for (int64_t rows = 1; rows < INT64_C(1) << 24; rows *= 2) {
            for (int64_t nnz = 1; nnz < INT64_C(1) << 28; nnz *= 2) {
                if (choose_device_by_rates(rows, nnz, started != 0, why, sizeof why) == TESS_DEVICE_CPU) { continue; }
                assert_int_equal(choose_device_by_rates(rows + 1, nnz, started != 0, why, sizeof why), TESS_DEVICE_GPU);
                assert_int_equal(choose_device_by_rates(2 * rows, nnz, started != 0, why, sizeof why), TESS_DEVICE_GPU);
                assert_int_equal(choose_device_by_rates(rows, nnz + 1, started != 0, why, sizeof why), TESS_DEVICE_GPU);
                assert_int_equal(choose_device_by_rates(rows, 2 * nnz, started != 0, why, sizeof why), TESS_DEVICE_GPU);
                assert_int_equal(choose_device_by_rates(rows, nnz, true, why, sizeof why), TESS_DEVICE_GPU);
            }
        }
    }
}

/* Without a GPU there is nothing to choose; where one may be, the table decides. */
static void only_where_a_gpu_is(void **unused)
{
    tess_device device = TESS_DEVICE_GPU;
    char why[TESS_ADVICE_LENGTH] = "unread";

    (void)unused;
    assert_int_equal(tess_advise_device(900, 4380, 0, &device, why), TESS_SUCCESS);
    assert_int_equal(device == TESS_DEVICE_AUTO, why[0] == '\0');
    assert_int_not_equal(device, TESS_DEVICE_GPU);
    if (!tess_has_gpu_backend()) { assert_int_equal(device, TESS_DEVICE_AUTO); }
    device = TESS_DEVICE_GPU;
    assert_int_equal(tess_advise_device(900, 4380, 0, &device, NULL), TESS_SUCCESS);
    assert_int_not_equal(device, TESS_DEVICE_GPU);
    assert_int_equal(tess_advise_device(-1, 0, 0, &device, why), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_advise_device(0, -1, 0, &device, why), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_advise_device(0, 0, 0, NULL, why), TESS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_sizes),
        cmocka_unit_test(larger_never_goes_back),
        cmocka_unit_test(only_where_a_gpu_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
