/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of the public headers: numbers and names are unique, parse back, and stay what programs were built with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tessera/tessera.h>

typedef struct list_entry {
    int value;
    const char *name;
} list_entry;

#define ENTRY_VALUE_FIRST(NAME, value, ...) {value, #NAME},
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const list_entry statuses[] = {TESS_STATUS_LIST(ENTRY_VALUE_FIRST)};
static const list_entry reasons[] = {TESS_REASON_LIST(ENTRY_VALUE_FIRST)};
static const list_entry formats[] = {TESS_FORMAT_LIST(ENTRY_VALUE_FIRST)};
static const list_entry solvers[] = {TESS_SOLVER_LIST(ENTRY_VALUE_FIRST)};
static const list_entry engines[] = {TESS_ENGINE_LIST(ENTRY_VALUE_FIRST)};
static const list_entry scalings[] = {TESS_SCALING_LIST(ENTRY_VALUE_FIRST)};
static const list_entry reorderings[] = {TESS_REORDERING_LIST(ENTRY_VALUE_FIRST)};
static const list_entry preconds[] = {TESS_PRECOND_LIST(ENTRY_VALUE_FIRST)};
static const list_entry precisions[] = {TESS_PRECISION_LIST(ENTRY_VALUE_FIRST)};

static void assert_unique(const list_entry *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            assert_int_not_equal(list[i].value, list[j].value);
            assert_string_not_equal(list[i].name, list[j].name);
        }
    }
}

static void test_numbers_are_unique(void **state)
{
    (void)state;
    assert_unique(statuses, COUNT(statuses));
    assert_unique(reasons, COUNT(reasons));
    assert_unique(formats, COUNT(formats));
    assert_unique(solvers, COUNT(solvers));
    assert_unique(engines, COUNT(engines));
    assert_unique(scalings, COUNT(scalings));
    assert_unique(reorderings, COUNT(reorderings));
    assert_unique(preconds, COUNT(preconds));
    assert_unique(precisions, COUNT(precisions));
}

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
    assert_int_equal(TESS_SOLVER_BICGSTAB, 2);
    assert_int_equal(TESS_SCALING_MAX_PRODUCT, 1);
    assert_int_equal(TESS_REORDERING_RCM, 1);
}

static void test_precisions_are_counted(void **state)
{
    (void)state;
    assert_int_equal(COUNT(precisions), TESS_PRECISION_COUNT);
    for (size_t i = 0; i < COUNT(precisions); i++) {
        assert_int_equal(precisions[i].value, (int)i);
    }
}

static void test_names_parse_back(void **state)
{
    tess_precision precision;
    tess_format format;
    tess_solver_kind solver;
    tess_engine engine;
    tess_scaling scaling;
    tess_reordering reordering;

    (void)state;
    for (size_t i = 0; i < COUNT(precisions); i++) {
        assert_int_equal(tess_precision_parse(tess_precision_name((tess_precision)i), &precision), TESS_SUCCESS);
        assert_int_equal(precision, precisions[i].value);
    }
    for (size_t i = 0; i < COUNT(formats); i++) {
        assert_int_equal(tess_format_parse(tess_format_name((tess_format)formats[i].value), &format), TESS_SUCCESS);
        assert_int_equal(format, formats[i].value);
    }
    for (size_t i = 0; i < COUNT(solvers); i++) {
        const char *name = tess_solver_name((tess_solver_kind)solvers[i].value);

        assert_int_equal(tess_solver_parse(name, &solver), TESS_SUCCESS);
        assert_int_equal(solver, solvers[i].value);
    }
    for (size_t i = 0; i < COUNT(engines); i++) {
        assert_int_equal(tess_engine_parse(tess_engine_name((tess_engine)engines[i].value), &engine), TESS_SUCCESS);
        assert_int_equal(engine, engines[i].value);
    }
    for (size_t i = 0; i < COUNT(scalings); i++) {
        const char *name = tess_scaling_name((tess_scaling)scalings[i].value);

        assert_int_equal(tess_scaling_parse(name, &scaling), TESS_SUCCESS);
        assert_int_equal(scaling, scalings[i].value);
    }
    for (size_t i = 0; i < COUNT(reorderings); i++) {
        const char *name = tess_reordering_name((tess_reordering)reorderings[i].value);

        assert_int_equal(tess_reordering_parse(name, &reordering), TESS_SUCCESS);
        assert_int_equal(reordering, reorderings[i].value);
    }
}

static void test_strings_are_never_null(void **state)
{
    (void)state;
    for (int code = -200; code <= 200; code++) {
        assert_non_null(tess_status_string((tess_status)code));
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
        cmocka_unit_test(test_numbers_are_unique),     cmocka_unit_test(test_published_numbers_stay),
        cmocka_unit_test(test_precisions_are_counted), cmocka_unit_test(test_names_parse_back),
        cmocka_unit_test(test_strings_are_never_null), cmocka_unit_test(test_version_is_the_build_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
