/* SPDX-License-Identifier: Apache-2.0 */
/* The GMRES polynomial in use: small and singular matrices, renewal, functions for matrices, loops, solves, requests.
 */
#include "support/gallery.h"
#include "support/polynomial.h"
#include "support/solve.h"

static const tess_precond_options *fp64_options(int degree)
{
    static tess_precond_options options;

    options = polynomial_options(degree, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64);
    return &options;
}

/* ---- small and singular matrices ---- */

static void identities_need_one_root(void **state)
{
    enum { N = 30 };
    double ones[N], *r = random_values(N, 1, -1.0, 1.0), z[N];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < N; i++) {
        ones[i] = 4.0;
    }
    for (int fp32 = 0; fp32 < 2; fp32++) {
        oracle_csr a = oracle_diagonal(N, ones);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options options = polynomial_options(10, (tess_precision)fp32, (tess_arithmetic)fp32);

        for (int form = 0; form < 2; form++) {
            options.polynomial.form = (tess_polynomial_form)form;
            tess_precond *m = make_polynomial(matrix, &options);
            assert_int_equal(polynomial_of(m)->roots.count, 1);
            assert_int_equal(polynomial_of(m)->steps.count, 0);
            apply_precond(m, N, r, z);
            for (int i = 0; i < N; i++) { /* the root is a Rayleigh quotient of N products; r and z are rounded */
                assert_at_most(fabs(4.0 * z[i] - r[i]), (N + 4) * (fp32 ? 0x1p-24 : U64) * fabs(r[i]));
            }
            tess_precond_destroy(m);
        }
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
    free(r);
}

/* With as many steps as rows, or as distinct eigenvalues, p(A) is the inverse. */
static void whole_spaces_give_the_inverse(void **state)
{
    enum { N = 24 };
    double values[N], *r = random_values(N, 1, -1.0, 1.0), z[N];
    oracle_csr matrices[3];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = (double)(1 + i % 4);
    }
    matrices[0] = oracle_diagonal(N, values);
    matrices[1] = oracle_tridiagonal(7, -1.0, 3.0, -1.5);
    matrices[2] = oracle_tridiagonal(1, 0.0, -2.0, 0.0);
    for (int k = 0; k < 3; k++) {
        oracle_csr *a = &matrices[k];
        tess_matrix *matrix = make_matrix(ctx, a);
        tess_precond *m = make_polynomial(matrix, fp64_options(200));
        int expected = k == 0 ? 4 : (int)a->nrows;

        assert_int_equal(polynomial_count_roots(&polynomial_of(m)->roots), expected);
        apply_precond(m, a->nrows, r, z);
        /* condition numbers below 5; roots good to some u, and products of at most 7 factors below 4 */
        assert_at_most((double)oracle_residual_norm(a, r, z), 1e-10 * (double)oracle_norm2(r, a->nrows));
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        oracle_free(a);
    }
    tess_context_destroy(ctx);
    free(r);
}

/* An eigenvalue 0 is no root: the polynomial has fewer steps, and roughly inverts the rest. */
static void singular_matrices_keep_the_other_roots(void **state)
{
    enum { N = 6 };
    double values[N] = {1.0, 2.0, 0.0, 3.0, 0.0, 4.0}, r[N] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, z[N];
    oracle_csr a = oracle_diagonal(N, values);
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = make_polynomial(matrix, fp64_options(20));

    (void)state;
    assert_int_equal(polynomial_count_roots(&polynomial_of(m)->roots), 4);
    apply_precond(m, N, r, z);
    for (int i = 0; i < N; i++) {
        assert_true(isfinite(z[i]));
        assert_at_most(fabs(values[i] * z[i]), 2.0);
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static tess_reason solve_reason(tess_context *ctx, const oracle_csr *a, const tess_precond_options *precond)
{
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    double *b = random_values(a->nrows, 3, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_reason reason;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    options.precond = *precond;
    reason = solve_once(ctx, a, &options, b, x).reason;
    free(b);
    free(x);
    return reason;
}

static void matrices_without_polynomial_are_reported(void **state)
{
    enum { N = 5 };
    const double bad[] = {0.0, (double)NAN, (double)INFINITY, 1e6};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 4; k++) {
        const double values[N] = {bad[k], bad[k], bad[k], bad[k], bad[k]};
        oracle_csr a = oracle_diagonal(N, values);
        tess_matrix *matrix = make_matrix(ctx, &a);
        /* 1e6 overflows in fp16 */
        tess_precond_options options =
            polynomial_options(3, k == 3 ? TESS_PRECISION_FP16 : TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64);
        tess_precond *m = NULL;

        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &options, &m));
        assert_null(m);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "polynomial"));
        if (k > 0) { /* a precision of wider range helps only where there is one */
            assert_non_null(strstr(tess_context_last_error(ctx)->hint, k == 3 ? "wider range" : "'tessera info'"));
        }
        if (isfinite(bad[k])) { assert_int_equal(solve_reason(ctx, &a, &options), TESS_REASON_PRECOND_SETUP); }
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- renewal ---- */

/* A matrix times a power of two has the roots times that power in every bit, and p(A) over it. */
static void updates_follow_the_values(void **state)
{
    enum { N = 100 };
    static const tess_precision storages[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16};
    double *r = random_values(N, 3, -1.0, 1.0), before[N], after[N];
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t s = 0; s < sizeof storages / sizeof *storages; s++) {
        oracle_csr a = oracle_convection2d(10, 1.0);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options options = polynomial_options(7, storages[s], s == 1);
        tess_precond *m = make_polynomial(matrix, &options);

        apply_precond(m, N, r, before);
        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] *= 8.0;
        }
        assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, N, r, after);
        for (int i = 0; i < N; i++) {
            after[i] *= 8.0;
        }
        assert_true(same_bits(before, after, N));
        a.val[0] = (double)NAN;
        assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        tess_vector *vr = make_vector(ctx, N, r), *vz = make_zeros(ctx, N);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_apply(m, vr, vz));
        a.val[0] = 64.0;
        assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        assert_ok(ctx, tess_precond_apply(m, vr, vz));
        tess_vector_destroy(vr);
        tess_vector_destroy(vz);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
    free(r);
}

/* ---- operators given by functions, vectors of either precision, loops ---- */

static int multiply_oracle(void *user, tess_operation operation, const double *x, double *y)
{
    const oracle_csr *a = user;
    wide *image = test_allocate(a->nrows, sizeof *image);

    oracle_multiply(a, operation == TESS_OP_TRANSPOSE, x, image, NULL);
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = (double)image[i];
    }
    free(image);
    return 0;
}

static void functions_serve_as_matrices(void **state)
{
    enum { N = 81 };
    oracle_csr a = oracle_convection2d(9, 4.0);
    const tess_shell_operator shell = {.apply = multiply_oracle, .user = &a};
    const tess_precond_options narrow = polynomial_options(3, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32);
    double *r = random_values(N, 3, -1.0, 1.0), z[N], exact[N];
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = NULL;
    tess_precond *refused = NULL;
    int pairs = 0;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, N, N, &shell, &matrix));
    for (int degree = 1; degree <= 10; degree++) {
        tess_precond *m = make_polynomial(matrix, fp64_options(degree));
        const polynomial_roots *roots = &polynomial_of(m)->roots;

        apply_precond(m, N, r, z);
        evaluate_roots(&a, roots, r, exact);
        assert_at_most(distance(z, exact, N), roots_error_bound(&a, roots, r, U64));
        assert_int_equal(tess_precond_bytes(m), 4 * N * 8);
        pairs += polynomial_count_roots(roots) - roots->count;
        tess_precond_destroy(m);
    }
    assert_true(pairs > 0);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_create(matrix, &narrow, &refused));
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* Vectors of the caller in FP32, the polynomial's in either. */
static void narrow_vectors_are_served(void **state)
{
    enum { N = 100 };
    oracle_csr a = oracle_convection2d(10, 2.0);
    double *r = random_values(N, 3, -1.0, 1.0), exact[N], z[N];
    float narrow[N], result[N];
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int i = 0; i < N; i++) {
        narrow[i] = (float)r[i];
        r[i] = (double)narrow[i];
    }
    for (int fp32 = 0; fp32 < 2; fp32++) {
        for (int degree = 1; degree <= 7; degree += 2) {
            tess_precond_options options = polynomial_options(degree, TESS_PRECISION_FP64, (tess_arithmetic)fp32);
            tess_precond *m = make_polynomial(matrix, &options);
            double bound = roots_error_bound(&a, &polynomial_of(m)->roots, r, fp32 ? 0x1p-24 : U64);

            assert_ok(ctx,
                      tess_precond_apply_fused(m, TESS_PRECISION_FP32, narrow, result, &(tess_reduction){.ndots = 0}));
            for (int i = 0; i < N; i++) {
                z[i] = (double)result[i];
            }
            evaluate_roots(&a, &polynomial_of(m)->roots, r, exact);
            assert_at_most(distance(z, exact, N), bound + 0x1p-24 * (double)oracle_norm2(exact, N));
            tess_precond_destroy(m);
        }
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* A loop that has stopped changes nothing; one that runs gets its dot products. */
static void loops_are_obeyed(void **state)
{
    enum { N = 100 };
    oracle_csr a = oracle_laplace2d(10);
    double *r = random_values(N, 3, -1.0, 1.0), *u = random_values(N, 4, -1.0, 1.0), z[N];
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int fp32 = 0; fp32 < 2; fp32++) {
        tess_precond_options options = polynomial_options(5, TESS_PRECISION_FP32, (tess_arithmetic)fp32);
        tess_precond *m = make_polynomial(matrix, &options);
        tess_loop_state loop = {.phase = TESS_LOOP_STOPPED};
        const tess_reduction two = {.ndots = 2, .with = {u, z}, .scalar = TESS_SCALAR_NONE, .state = &loop};

        for (int i = 0; i < N; i++) {
            z[i] = 7.0;
        }
        assert_ok(ctx, tess_precond_apply_fused(m, TESS_PRECISION_FP64, r, z, &two));
        for (int i = 0; i < N; i++) {
            assert_true(z[i] == 7.0);
        }
        loop.phase = TESS_LOOP_RUNNING;
        assert_ok(ctx, tess_precond_apply_fused(m, TESS_PRECISION_FP64, r, z, &two));
        assert_at_most(fabs(loop.dots[0] - (double)oracle_dot(u, z, N)), gamma_of(N + 1.0) * N);
        assert_at_most(fabs(loop.dots[1] - (double)oracle_dot(z, z, N)), gamma_of(N + 1.0) * N);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(u);
}

static void bits_do_not_depend_on_threads(void **state)
{
    enum { N = 90 * 90 };
    oracle_csr a = oracle_convection2d(90, 1.0);
    double *r = random_values(N, 2, -1.0, 1.0), *x = test_allocate(N, sizeof *x), *y = test_allocate(N, sizeof *y);

    (void)state;
    for (int fp32 = 0; fp32 < 2; fp32++) {
        tess_precond_options options = polynomial_options(9, (tess_precision)fp32, (tess_arithmetic)fp32);

        for (int threads = 1; threads <= 3; threads += 2) {
            tess_context *ctx = open_cpu(threads);
            tess_matrix *matrix = make_matrix(ctx, &a);
            tess_precond *m = make_polynomial(matrix, &options);

            apply_precond(m, N, r, threads == 1 ? x : y);
            tess_precond_destroy(m);
            tess_matrix_destroy(matrix);
            tess_context_destroy(ctx);
        }
        assert_true(same_bits(x, y, N));
    }
    oracle_free(&a);
    free(r);
    free(x);
    free(y);
}

/* ---- solves ---- */

static int64_t count_iterations(tess_context *ctx, const oracle_csr *a, const tess_solve_options *options)
{
    const int64_t n = a->nrows;
    double *b = random_values(n, 7, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)n * sizeof *x);
    result = solve_once(ctx, a, options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(a, b, x, options, &result);
    free(b);
    free(x);
    return result.iterations;
}

/* Iterations of degree 8 cost nine products each where plain ones cost one: they must be fewer than a third of those.
 */
static void solvers_need_fewer_iterations(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES, TESS_SOLVER_BICGSTAB, TESS_SOLVER_CG};
    oracle_csr matrices[] = {oracle_convection2d(30, 1.0), oracle_laplace2d(30)};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++) {
        const oracle_csr *a = &matrices[solvers[s] == TESS_SOLVER_CG];
        tess_solve_options options = solve_options(solvers[s]);
        int64_t plain;

        if (is_gmres(options.solver)) { options.gmres.restart = 30; }
        options.max_iterations = 5000;
        plain = count_iterations(ctx, a, &options);
        for (int form = 0; form < 2; form++) {
            options.precond = *fp64_options(8);
            options.precond.polynomial.form = (tess_polynomial_form)form;
            assert_at_most(3.0 * (double)count_iterations(ctx, a, &options), (double)plain);
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&matrices[0]);
    oracle_free(&matrices[1]);
}

/* FP64 solves whose polynomial is stored and computed in less. */
static void every_storage_preconditions(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES, TESS_SOLVER_BICGSTAB};
    oracle_csr a = oracle_convection2d(25, 1.0);
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++) {
        tess_solve_options options = solve_options(solvers[s]);
        int64_t plain = count_iterations(ctx, &a, &options);

        for (int storage = 0; storage < TESS_PRECISION_COUNT; storage++) {
            for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
                options.precond = polynomial_options(6, (tess_precision)storage, (tess_arithmetic)arithmetic);
                assert_at_most(2.0 * (double)count_iterations(ctx, &a, &options), (double)plain);
            }
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- requests ---- */

static void names_are_parsed(void **state)
{
    static const char *const wrong[] = {"polynomial:0",  "polynomial:201",     "polynomial:", "polynomial:4x",
                                        "polynomial:-1", "polynomial:4:roots", "poly"};
    tess_precond_options options;
    tess_polynomial_form form = TESS_POLYNOMIAL_ROOTS;

    (void)state;
    assert_int_equal(tess_precond_options_parse("polynomial", &options), TESS_SUCCESS);
    assert_int_equal(options.kind, TESS_PRECOND_POLYNOMIAL);
    assert_int_equal(options.polynomial.degree, 10);
    assert_int_equal(tess_precond_options_parse("polynomial:200", &options), TESS_SUCCESS);
    assert_int_equal(options.polynomial.degree, 200);
    assert_int_equal(options.block_jacobi.block_size, 8);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(tess_precond_options_parse(wrong[k], &options), TESS_INVALID_ARGUMENT);
    }
    assert_int_equal(tess_polynomial_form_parse("powers", &form), TESS_SUCCESS);
    assert_int_equal(form, TESS_POLYNOMIAL_POWERS);
    assert_int_equal(tess_polynomial_form_parse("horner", &form), TESS_INVALID_ARGUMENT);
    assert_int_equal(form, TESS_POLYNOMIAL_POWERS);
    assert_string_equal(tess_polynomial_form_name(TESS_POLYNOMIAL_ROOTS), "roots");
    assert_string_equal(tess_polynomial_form_name((tess_polynomial_form)9), "?");
}

static void wrong_options_are_refused(void **state)
{
    oracle_csr a = oracle_laplace2d(40);
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options[5];
    tess_precond *m = NULL;

    (void)state;
    for (int k = 0; k < 5; k++) {
        options[k] = *fp64_options(k == 0 ? 0 : k == 1 ? 201 : 4);
    }
    options[2].polynomial.form = (tess_polynomial_form)2;
    options[3].role.storage = (tess_precision)TESS_PRECISION_COUNT;
    options[4].role.arithmetic = (tess_arithmetic)2;
    for (int k = 0; k < 5; k++) {
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &options[k], &m));
        assert_null(m);
    }
    options[0] = *fp64_options(200); /* whose coefficients need some 10^100 */
    options[0].role.arithmetic = TESS_ARITHMETIC_FP32;
    options[0].polynomial.form = TESS_POLYNOMIAL_POWERS;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_precond_create(matrix, &options[0], &m));
    assert_null(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- CG ---- */

/* Eigenvalues in geometric progression: for some random vectors p is negative at some of them, which CG notices. The
   guard then lowers the degree until it is not. */
static void cg_gets_a_positive_polynomial(void **state)
{
    enum { N = 200 };
    double values[N], *b = random_values(N, 3, -1.0, 1.0), x[N];
    int indefinite = 0;
    tess_context *ctx = open_cpu(1);
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = pow(1.06, i);
    }
    a = oracle_diagonal(N, values);
    for (int c = 0; c < 40; c++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        options.precond = *fp64_options(1 + c % 8);
        options.precond.polynomial.seed = (uint64_t)(1 + c / 8);
        options.guard = TESS_GUARD_REPORT;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        if (result.reason != TESS_REASON_INDEFINITE_PRECOND) { continue; }
        indefinite += 1;
        options.guard = TESS_GUARD_REPAIR;
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        check_honest(&a, b, x, &options, &result);
    }
    assert_true(indefinite >= 3);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

/* What no degree mends is refused as before: A has negative eigenvalues. */
static void cg_refuses_what_cannot_be_mended(void **state)
{
    enum { N = 40 };
    double values[N], *b = random_values(N, 3, -1.0, 1.0), x[N] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_context *ctx = open_cpu(1);
    tess_solve_result result;
    oracle_csr a;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = i % 2 == 0 ? 1.0 + i : -1.0 - i;
    }
    a = oracle_diagonal(N, values);
    options.precond = *fp64_options(3);
    result = solve_once(ctx, &a, &options, b, x);
    assert_true(result.reason == TESS_REASON_INDEFINITE_PRECOND || result.reason == TESS_REASON_INDEFINITE_MATRIX);
    check_honest(&a, b, x, &options, &result);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_gets_a_positive_polynomial),
        cmocka_unit_test(cg_refuses_what_cannot_be_mended),
        cmocka_unit_test(identities_need_one_root),
        cmocka_unit_test(whole_spaces_give_the_inverse),
        cmocka_unit_test(singular_matrices_keep_the_other_roots),
        cmocka_unit_test(matrices_without_polynomial_are_reported),
        cmocka_unit_test(updates_follow_the_values),
        cmocka_unit_test(functions_serve_as_matrices),
        cmocka_unit_test(narrow_vectors_are_served),
        cmocka_unit_test(loops_are_obeyed),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(solvers_need_fewer_iterations),
        cmocka_unit_test(every_storage_preconditions),
        cmocka_unit_test(names_are_parsed),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
