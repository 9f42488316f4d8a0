/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts: every code has its own, values outside the lists are survived, parsers invert the names. */
#include <tessera/names.h>
#include <tessera/solver.h>

#include "support/test.h"

static void status_texts_are_distinct(void **state)
{
    (void)state;
    for (int a = TESS_SUCCESS; a <= TESS_TIMED_OUT; a++) {
        assert_string_not_equal(tess_status_text((tess_status)a), "unknown status");
        for (int b = a + 1; b <= TESS_TIMED_OUT; b++) {
            assert_string_not_equal(tess_status_text((tess_status)a), tess_status_text((tess_status)b));
        }
    }
}

static void status_outside_the_list_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(tess_status_text((tess_status)(TESS_TIMED_OUT + 1)), "unknown status");
}

/* The codes are PETSc's, which scripts rely on. */
static void reasons_carry_petsc_numbers(void **state)
{
    (void)state;
    assert_int_equal(TESS_REASON_RTOL, 2);
    assert_int_equal(TESS_REASON_ATOL, 3);
    assert_int_equal(TESS_REASON_HAPPY_BREAKDOWN, 7);
    assert_int_equal(TESS_REASON_ITERATIONS, -3);
    assert_int_equal(TESS_REASON_DIVERGENCE, -4);
    assert_int_equal(TESS_REASON_BREAKDOWN, -5);
    assert_int_equal(TESS_REASON_NONSYMMETRIC, -7);
    assert_int_equal(TESS_REASON_INDEFINITE_PRECOND, -8);
    assert_int_equal(TESS_REASON_NAN_OR_INF, -9);
    assert_int_equal(TESS_REASON_INDEFINITE_MATRIX, -10);
    assert_int_equal(TESS_REASON_PRECOND_SETUP, -11);
    assert_int_equal(TESS_REASON_FALSE_CONVERGENCE, -100);
    assert_int_equal(TESS_REASON_STAGNATION, -101);
    assert_int_equal(TESS_REASON_OVERFLOW, -103);
}

static void reasons_have_names_and_texts(void **state)
{
    const tess_named_value *all = tess_enum_names("tess_reason");

    (void)state;
    for (int a = 0; all[a].name; a++) {
        assert_true(strlen(tess_reason_text((tess_reason)all[a].value)) > 10);
        for (int b = a + 1; all[b].name; b++) {
            assert_string_not_equal(tess_reason_text((tess_reason)all[a].value),
                                    tess_reason_text((tess_reason)all[b].value));
        }
    }
    assert_string_equal(tess_reason_name((tess_reason)12345), "?");
    assert_string_equal(tess_reason_text((tess_reason)12345), "?");
}

static void parsers_invert_names(void **state)
{
    tess_solver_kind solver = TESS_SOLVER_AUTO;
    tess_engine engine = TESS_ENGINE_AUTO;
    tess_format format = TESS_FORMAT_SHELL;

    (void)state;
    for (int k = TESS_SOLVER_AUTO; k <= TESS_SOLVER_BICGSTAB; k++) {
        assert_int_equal(tess_solver_kind_parse(tess_solver_kind_name((tess_solver_kind)k), &solver), TESS_SUCCESS);
        assert_int_equal(solver, k);
    }
    for (int k = TESS_ENGINE_AUTO; k <= TESS_ENGINE_GRAPH; k++) {
        assert_int_equal(tess_engine_parse(tess_engine_name((tess_engine)k), &engine), TESS_SUCCESS);
        assert_int_equal(engine, k);
    }
    assert_int_equal(tess_format_parse("CSR", &format), TESS_SUCCESS);
    assert_int_equal(format, TESS_FORMAT_CSR);
    assert_string_equal(tess_format_name(TESS_FORMAT_SHELL), "shell");
    assert_int_equal(tess_solver_kind_parse("cgg", &solver), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_engine_parse("", &engine), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_solver_kind_name((tess_solver_kind)99), "?");
}

static void preconditioners_are_parsed(void **state)
{
    static const char *const wrong[] = {"",
                                        "jacobi:2",
                                        "none:1",
                                        "auto:1",
                                        "auto:",
                                        "shell",
                                        "block-jacobi:",
                                        "block-jacobi:0",
                                        "block-jacobi:65",
                                        "block-jacobi:-1",
                                        "block-jacobi:8x",
                                        "block-jacobi:99999999999999999999",
                                        "a-name-far-longer-than-any-preconditioner-has"};
    tess_precond_options options;

    (void)state;
    assert_int_equal(tess_precond_options_parse("none", &options), TESS_SUCCESS);
    assert_int_equal(options.kind, TESS_PRECOND_NONE);
    assert_int_equal(tess_precond_options_parse("jacobi", &options), TESS_SUCCESS);
    assert_int_equal(options.kind, TESS_PRECOND_JACOBI);
    assert_int_equal(tess_precond_options_parse("block-jacobi", &options), TESS_SUCCESS);
    assert_int_equal(options.kind, TESS_PRECOND_BLOCK_JACOBI);
    assert_int_equal(options.block_jacobi.block_size, 8);
    assert_int_equal(tess_precond_options_parse("block-jacobi:64", &options), TESS_SUCCESS);
    assert_int_equal(options.block_jacobi.block_size, 64);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(tess_precond_options_parse(wrong[k], &options), TESS_INVALID_ARGUMENT);
    }
    assert_string_equal(tess_precond_kind_name(TESS_PRECOND_BLOCK_JACOBI), "block-jacobi");
    assert_string_equal(tess_precond_kind_name(TESS_PRECOND_SHELL), "shell");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_texts_are_distinct),   cmocka_unit_test(status_outside_the_list_has_a_text),
        cmocka_unit_test(reasons_carry_petsc_numbers), cmocka_unit_test(reasons_have_names_and_texts),
        cmocka_unit_test(parsers_invert_names),        cmocka_unit_test(preconditioners_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
