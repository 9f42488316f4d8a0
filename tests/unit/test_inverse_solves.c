/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioners fsai and isai: applications, precisions, methods, new values, refusals. */
#include <string.h>

#include "matrix/assembled.h"
#include "support/gallery.h"
#include "support/inverse.h"
#include "support/solve.h"
#include "support/sweep.h"

/* ---- applications ---- */

/* On a full pattern M is A: A M^-1 r = r, and CG needs one iteration, with that of rounding. */
static void full_patterns_are_exact(void **state)
{
    enum { SIZE = 60 };
    oracle_csr a = random_dominant(SIZE, 8, true, 6);
    double *r = random_values(SIZE, 3, -1.0, 1.0), z[SIZE], x[SIZE], magnitude[SIZE];
    wide product[SIZE];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_precond_options o = inverse_options(k == 0 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 8, 0.0, 0.0);
        tess_solve_options solve = solve_options(k == 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
        tess_precond_factors facts = {.size = sizeof facts};
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        assert_ok(ctx, tess_precond_get_factors(m, &facts));
        assert_int_equal(facts.nonzeros, k == 0 ? SIZE * (SIZE + 1) / 2 : SIZE * SIZE);
        assert_int_equal(facts.entries, k == 0 ? SIZE * (SIZE + 1) : SIZE * SIZE);
        assert_true(facts.shift == 0.0);
        assert_true(tess_precond_bytes(m) >= 8 * facts.entries);
        apply_precond(m, SIZE, r, z);
        oracle_multiply(&a, false, z, product, magnitude);
        for (int i = 0; i < SIZE; i++) {
            assert_at_most((double)wide_abs(product[i] - r[i]), 1e3 * (double)SIZE * U64); /* condition below 10 */
        }
        tess_precond_destroy(m);
        solve.precond = o;
        solve.rtol = 1e-12;
        memset(x, 0, sizeof x);
        assert_at_most((double)solve_once(ctx, &a, &solve, r, x).iterations, 1.0);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* M^-1 = G^T G whatever G is rounded to: symmetric to the rounding of FP64, and definite. Its error is that of the
   storage. Values whose range a precision does not have are in a wider one. */
static void precisions_keep_symmetry(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                                TESS_PRECISION_FP16};
    static const double units[] = {0x1p-53, 0x1p-24, 0x1p-8, 0x1p-11};
    static const double sizes[] = {1.0, 1e12, 1e-70, 1e100};
    enum { SIZE = 400 };
    oracle_csr a = random_dominant(SIZE, 5, true, 9);
    double *x = random_values(SIZE, 3, -1.0, 1.0), *y = random_values(SIZE, 4, -1.0, 1.0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int s = 0; s < 4; s++) {
        oracle_csr scaled = oracle_copy(&a);
        double exact[SIZE];

        for (int64_t k = 0; k < a.nnz; k++) {
            scaled.val[k] *= sizes[s];
        }
        tess_matrix *matrix = make_matrix(ctx, &scaled);
        for (int p = 0; p < 4; p++) {
            tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 2, 0.0, 0.0);
            double mx[SIZE], my[SIZE], largest = 0.0;
            tess_precond *m = NULL;

            o.role = (tess_role_precision){1, precisions[p], TESS_ARITHMETIC_FP64};
            assert_ok(ctx, tess_precond_create(matrix, &o, &m));
            apply_precond(m, SIZE, x, mx);
            apply_precond(m, SIZE, y, my);
            if (p == 0) { memcpy(exact, mx, sizeof exact); }
            for (int i = 0; i < SIZE; i++) {
                largest = fmax(largest, fabs(exact[i]));
            }
            assert_at_most(largest_difference(mx, exact, SIZE), 32.0 * units[p] * largest);
            if (p > 0) { assert_true(largest_difference(mx, exact, SIZE) > 0.01 * units[p] * largest); }
            assert_at_most(fabs((double)(oracle_dot(x, my, SIZE) - oracle_dot(y, mx, SIZE))),
                           64.0 * U64 * SIZE * largest);
            assert_true(oracle_dot(x, mx, SIZE) > 0.0);
            tess_precond_destroy(m);
        }
        tess_matrix_destroy(matrix);
        oracle_free(&scaled);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
    free(y);
}

/* Rows of sizes that FP16 does not hold together. */
static void rows_far_apart_are_stored_wider(void **state)
{
    oracle_csr a = oracle_laplace2d(12);
    double *b = random_values(a.nrows, 7, -1.0, 1.0);
    tess_context *ctx = open_device(1);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    solved s;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= ldexp(1.0, 40 * (int)(row_of_entry(&a, k) % 3) + 40 * (a.col_ind[k] % 3));
    }
    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] *= ldexp(1.0, 40 * (int)(i % 3));
    }
    options.precond = inverse_options(TESS_PRECOND_FSAI, 2, 0.1, 0.05);
    options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
    s = solve_here(ctx, &a, &options, b);
    assert_true(s.result.converged && !s.result.escalated); /* at once, not after a cycle that failed */
    check_honest(&a, b, s.x, &options, &s.result);
    discard(&s);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* After a failure: the next higher precision, up to FP64. */
static void a_failure_raises_the_precision(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP16, TESS_PRECISION_FP32, TESS_PRECISION_FP64};
    oracle_csr a = random_dominant(100, 4, true, 3);
    double *r = random_values(100, 3, -1.0, 1.0), z[100], expected[100];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 2, 0.1, 0.05);
    tess_precond *raised = NULL;

    (void)state;
    for (int p = 0; p < 3; p++) {
        tess_precond *made = NULL;
        bool widened = false;

        o.role = (tess_role_precision){1, precisions[p], TESS_ARITHMETIC_FP64};
        assert_ok(ctx, tess_precond_create(matrix, &o, &made));
        if (p == 0) {
            raised = made;
            continue;
        }
        assert_true(tess_precond_can_widen(raised));
        assert_ok(ctx, tess_precond_widen(raised, &widened));
        assert_true(widened);
        apply_precond(raised, 100, r, z);
        apply_precond(made, 100, r, expected);
        assert_memory_equal(z, expected, sizeof z);
        tess_precond_destroy(made);
    }
    assert_false(tess_precond_can_widen(raised));
    tess_precond_destroy(raised);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* ---- within methods ---- */

static int64_t iterations_of(tess_context *ctx, const oracle_csr *a, tess_solver_kind kind,
                             const tess_precond_options *precond)
{
    double *b = random_values(a->nrows, 7, -1.0, 1.0);
    tess_solve_options options = solve_options(kind);
    int64_t iterations = 0;
    solved s;

    options.precond = *precond;
    s = solve_here(ctx, a, &options, b);
    assert_true(s.result.converged);
    check_honest(a, b, s.x, &options, &s.result);
    iterations = s.result.iterations;
    discard(&s);
    free(b);
    return iterations;
}

/* Each power of the pattern saves iterations, and a low precision of the inverse costs hardly any. */
static void methods_take_fewer_iterations(void **state)
{
    static const struct {
        tess_solver_kind solver;
        tess_precond_kind precond;
        bool symmetric;
    } cases[] = {{TESS_SOLVER_CG, TESS_PRECOND_FSAI, true},        {TESS_SOLVER_MINRES, TESS_PRECOND_FSAI, true},
                 {TESS_SOLVER_BICGSTAB, TESS_PRECOND_ISAI, false}, {TESS_SOLVER_GMRES, TESS_PRECOND_ISAI, false},
                 {TESS_SOLVER_GMRES_IR, TESS_PRECOND_ISAI, false}, {TESS_SOLVER_GMRES_IR, TESS_PRECOND_FSAI, true},
                 {TESS_SOLVER_FGMRES, TESS_PRECOND_ISAI, false},   {TESS_SOLVER_IDR, TESS_PRECOND_ISAI, false}};
    const int64_t side = on_gpu_or_emulated(40, 16);
    oracle_csr symmetric = oracle_laplace2d(side), general = oracle_convection2d(side, 2.0);
    const tess_precond_options jacobi = precond_of(TESS_PRECOND_JACOBI, 0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const oracle_csr *a = cases[k].symmetric ? &symmetric : &general;
        tess_precond_options o = inverse_options(cases[k].precond, 1, 0.0, 0.0);
        const double plain = (double)iterations_of(ctx, a, cases[k].solver, &jacobi);
        const double one = (double)iterations_of(ctx, a, cases[k].solver, &o);
        double two = 0.0;

        o.inverse.power = 2;
        two = (double)iterations_of(ctx, a, cases[k].solver, &o);
        assert_at_most(one, 0.8 * plain);
        assert_at_most(two, 0.9 * one + 1.0);
        if (cases[k].precond == TESS_PRECOND_FSAI) {
            tess_precond_options adaptive = o;

            adaptive.inverse.power = TESS_INVERSE_ADAPTIVE;
            adaptive.inverse.threshold = jacobi.inverse.threshold;
            assert_at_most((double)iterations_of(ctx, a, cases[k].solver, &adaptive), two + 1.0);
        }
        o.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
        assert_at_most((double)iterations_of(ctx, a, cases[k].solver, &o), 1.1 * two + 2.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&symmetric);
    oracle_free(&general);
}

/* ---- values ---- */

/* x0 of an indefinite matrix with a positive diagonal: shifts make rows of a definite M. */
static void indefinite_rows_are_shifted(void **state)
{
    oracle_csr a = oracle_tridiagonal(50, -1.5, 2.0, -1.5);
    const tess_precond_options fsai = inverse_options(TESS_PRECOND_FSAI, 2, 0.0, 0.0);
    double *x = random_values(50, 3, -1.0, 1.0), z[50];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_factors facts = {.size = sizeof facts};
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &fsai, &m));
    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    assert_true(facts.shift >= 0.001 && facts.shift < 1.0);
    apply_precond(m, 50, x, z);
    assert_true(oracle_dot(x, z, 50) > 0.0);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

/* Rows whose small systems are singular have the diagonal alone: those of [1 1; 1 1]. */
static void singular_rows_have_the_diagonal(void **state)
{
    oracle_csr a = two_by_two(4.0, 4.0, 4.0, 4.0);
    const tess_precond_options o = inverse_options(TESS_PRECOND_ISAI, 1, 0.0, 0.0);
    const double r[2] = {1.0, 3.0};
    double z[2];
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &o, &m));
    apply_precond(m, 2, r, z);
    assert_true(z[0] == 0.25 && z[1] == 0.75);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void new_values_are_noticed(void **state)
{
    oracle_csr a = random_dominant(200, 5, true, 12), other = oracle_copy(&a);
    double *r = random_values(200, 3, -1.0, 1.0), z[200], fresh[200];
    tess_context *ctx = open_device(2);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        other.val[k] *= 4.0;
    }
    for (int k = 0; k < 3; k++) {
        const tess_precond_options o = inverse_options(k == 1 ? TESS_PRECOND_ISAI : TESS_PRECOND_FSAI,
                                                       k == 2 ? TESS_INVERSE_ADAPTIVE : 2, 0.1, 0.05);
        tess_matrix *matrix = make_matrix(ctx, &a), *second = make_matrix(ctx, &other);
        tess_precond *m = NULL, *expected = NULL;
        tess_vector *v = NULL, *w = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &o, &m));
        assert_ok(ctx, tess_precond_create(second, &o, &expected));
        assert_ok(ctx, tess_matrix_update_values(matrix, other.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, 200, r, z);
        apply_precond(expected, 200, r, fresh);
        assert_memory_equal(z, fresh, sizeof z); /* four times the values: the pattern is the same */
        const int64_t diagonal = csr_column_from(other.col_ind, other.row_ptr[5], other.row_ptr[6], 5);
        const double kept = other.val[diagonal];
        other.val[diagonal] = NAN;
        assert_ok(ctx, tess_matrix_update_values(matrix, other.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        assert_ok(ctx, tess_vector_create(ctx, 200, TESS_PRECISION_FP64, &v));
        assert_ok(ctx, tess_vector_create(ctx, 200, TESS_PRECISION_FP64, &w));
        assert_fails(ctx, TESS_SINGULAR, tess_precond_apply(m, v, w));
        tess_vector_destroy(v);
        tess_vector_destroy(w);
        other.val[diagonal] = kept;
        assert_ok(ctx, tess_matrix_update_values(matrix, other.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, 200, r, z);
        assert_memory_equal(z, fresh, sizeof z);
        tess_precond_destroy(m);
        tess_precond_destroy(expected);
        tess_matrix_destroy(matrix);
        tess_matrix_destroy(second);
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&other);
    free(r);
}

static void values_without_an_inverse_are_refused(void **state)
{
    const double diagonals[][3] = {{2.0, -1.0, 2.0}, {2.0, 0.0, 2.0}, {2.0, NAN, 2.0}, {2.0, INFINITY, 2.0}};
    tess_context *ctx = open_device(1);

    (void)state;
    for (size_t k = 0; k < sizeof diagonals / sizeof *diagonals; k++) {
        oracle_csr a = oracle_diagonal(3, diagonals[k]);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options o = inverse_options(TESS_PRECOND_FSAI, 1, 0.0, 0.0);
        tess_precond *m = NULL;

        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &o, &m));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 2"));
        o.kind = TESS_PRECOND_ISAI;
        if (k > 0) {
            assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &o, &m));
        } else {
            assert_ok(ctx, tess_precond_create(matrix, &o, &m));
            tess_precond_destroy(m);
        }
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void wrong_requests_are_refused(void **state)
{
    oracle_csr a = oracle_tridiagonal(4, -1.0, 4.0, -1.0), none = oracle_diagonal(0, NULL);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a), *empty = make_matrix(ctx, &none);
    tess_precond *m = NULL;
    tess_precond_options o;

    (void)state;
    for (int k = 0; k < 8; k++) {
        const double wrong[] = {-0.1, 1.0, NAN};

        o = precond_of(k % 2 ? TESS_PRECOND_FSAI : TESS_PRECOND_ISAI, 0);
        o.inverse.power = k == 0 ? 0 : k == 1 ? TESS_MAX_INVERSE_POWER + 1 : 2;
        o.inverse.row = k == 2 ? 0 : k == 3 ? TESS_MAX_INVERSE_ROW + 1 : 8;
        if (k == 4) { o.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}; }
        if (k == 5) { o.role = (tess_role_precision){1, TESS_PRECISION_E4M3, TESS_ARITHMETIC_FP64}; }
        for (int w = 0; w < 3; w++) {
            o.inverse.threshold = k == 6 ? wrong[w] : 0.0;
            o.inverse.filter = k == 7 ? wrong[w] : 0.0;
            assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
        }
    }
    o = precond_of(TESS_PRECOND_FSAI, 0);
    assert_ok(ctx, tess_precond_create(empty, &o, &m));
    tess_precond_destroy(m);
    assert_int_equal(tess_precond_options_parse("fsai:3", &o), TESS_SUCCESS);
    assert_int_equal(o.inverse.power, 3);
    assert_int_equal(tess_precond_options_parse("isai:9", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("fsai:0", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("isai:adaptive", &o), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_precond_options_parse("fsai:adaptive", &o), TESS_SUCCESS);
    assert_int_equal(o.inverse.power, TESS_INVERSE_ADAPTIVE);
    for (int k = 0; k < 6; k++) {
        const double wrong[] = {-0.1, 1.0, NAN};

        o.inverse.steps = k == 0 ? 0 : k == 1 ? TESS_MAX_INVERSE_ROW : 5;
        o.inverse.step_size = k == 2 ? 0 : 3;
        o.inverse.tolerance = k > 2 ? wrong[k - 3] : 0.0;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    }
    o = inverse_options(TESS_PRECOND_ISAI, TESS_INVERSE_ADAPTIVE, 0.0, 0.0);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &o, &m));
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(empty);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&none);
}

/* What stands here, for a GPU too. */
#define INVERSE_SOLVE_TESTS                                                                                  \
    cmocka_unit_test(full_patterns_are_exact), cmocka_unit_test(precisions_keep_symmetry),                   \
        cmocka_unit_test(rows_far_apart_are_stored_wider), cmocka_unit_test(a_failure_raises_the_precision), \
        cmocka_unit_test(methods_take_fewer_iterations), cmocka_unit_test(indefinite_rows_are_shifted),      \
        cmocka_unit_test(singular_rows_have_the_diagonal), cmocka_unit_test(new_values_are_noticed),         \
        cmocka_unit_test(values_without_an_inverse_are_refused), cmocka_unit_test(wrong_requests_are_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        INVERSE_SOLVE_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
