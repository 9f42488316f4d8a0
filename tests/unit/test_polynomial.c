/* SPDX-License-Identifier: Apache-2.0 */
/* The GMRES polynomial: its roots, their order and copies, and its application against slow evaluations. */
#include "support/gallery.h"
#include "support/polynomial.h"
#include "support/product.h"
#include "support/solve.h"

/* The operators that a polynomial multiplies with. */
static oracle_csr multiplied_matrix(const tess_precond *m)
{
    return decode_matrix(polynomial_of(m)->copy ? polynomial_of(m)->copy : m->matrix);
}

/* Relative to || p(A) r ||, the bound must be small, or the test says nothing. */
static void check_application(const tess_precond *m, double loosest)
{
    const double u = polynomial_of(m)->precision == TESS_PRECISION_FP32 ? 0x1p-24 : U64;
    const int64_t n = m->n;
    oracle_csr a = multiplied_matrix(m);
    double *r = random_values(n, 11, -1.0, 1.0), *z = test_allocate(n, sizeof *z), *exact = test_allocate(n, sizeof *z);
    double bound = roots_error_bound(&a, &polynomial_of(m)->roots, r, u);

    apply_precond(m, n, r, z);
    evaluate_roots(&a, &polynomial_of(m)->roots, r, exact);
    assert_at_most(distance(z, exact, n), bound);
    assert_at_most(bound, loosest * (double)oracle_norm2(exact, n));
    oracle_free(&a);
    free(r);
    free(z);
    free(exact);
}

static int count_pairs(const tess_precond *m)
{
    return polynomial_count_roots(&polynomial_of(m)->roots) - polynomial_of(m)->roots.count;
}

static void application_follows_the_roots(void **state)
{
    static const char *const problems[] = {"laplace2d 8", "uniflow2d 9", "bentpipe2d 9", "stretched2d 9"};
    static const int degrees[] = {1, 2, 5, 9, 14};
    int pairs = 0;

    (void)state;
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        tess_context *ctx = open_cpu(2);
        tess_matrix *a = NULL;

        assert_ok(ctx, create_problem(ctx, problems[k], &a));
        for (size_t d = 0; d < sizeof degrees / sizeof *degrees; d++) {
            for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
                tess_precision storage = arithmetic ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
                tess_precond_options options = polynomial_options(degrees[d], storage, (tess_arithmetic)arithmetic);
                tess_precond *m = make_polynomial(a, &options);

                assert_true(polynomial_count_roots(&polynomial_of(m)->roots) >= degrees[d] + 1);
                assert_int_equal(polynomial_of(m)->steps.count, polynomial_count_roots(&polynomial_of(m)->roots) - 1);
                check_application(m, arithmetic ? 0.1 : 1e-9);
                pairs += count_pairs(m);
                tess_precond_destroy(m);
            }
        }
        tess_matrix_destroy(a);
        tess_context_destroy(ctx);
    }
    assert_true(pairs > 10);
}

static void every_storage_is_applied(void **state)
{
    oracle_csr a = oracle_convection2d(8, 2.0);
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int storage = 0; storage < TESS_PRECISION_COUNT; storage++) {
        for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
            tess_precond_options options = polynomial_options(6, (tess_precision)storage, (tess_arithmetic)arithmetic);
            tess_precond *m = make_polynomial(matrix, &options);

            assert_int_equal(polynomial_of(m)->steps.count, 6);
            check_application(m, arithmetic ? 1e-3 : 1e-12);
            /* the grid of 64 points is one slice; FP64 has no copy */
            assert_true((polynomial_of(m)->copy != NULL) == (storage != TESS_PRECISION_FP64));
            assert_true(!polynomial_of(m)->copy || polynomial_of(m)->copy->format == TESS_FORMAT_SELL);
            assert_int_equal(tess_precond_bytes(m), (storage ? tess_matrix_bytes(polynomial_of(m)->copy) : 0) +
                                                        3 * a.nrows * (arithmetic ? 4 : 8));
            tess_precond_destroy(m);
        }
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* The residual norm of GMRES from zero after so many steps. */
static double gmres_residual(tess_context *ctx, const oracle_csr *a, const double *b, int steps)
{
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
    double *x = test_allocate(a->nrows, sizeof *x), residual;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    options.gmres.restart = steps;
    options.max_iterations = steps;
    options.rtol = 1e-14;
    residual = solve_once(ctx, a, &options, b, x).residual_norm;
    free(x);
    return residual;
}

/*
 * For the vector that the Krylov space begins with, r - A p(A) r is the residual of GMRES. A relative error e of root k
 * changes pi at the largest root by about e |theta_max / theta_k| times the root's product; e is some u || H || /
 * |theta_k|.
 */
static double root_sensitivity(const polynomial_roots *roots)
{
    double largest = 0.0, sum = 0.0;

    for (int k = 0; k < roots->count; k++) {
        largest = fmax(largest, hypot(roots->root[k].re, roots->root[k].im));
    }
    for (int k = 0; k < roots->count; k++) {
        double ratio = largest / hypot(roots->root[k].re, roots->root[k].im);

        sum += ratio * ratio * fmax(1.0, pow(10.0, polynomial_steepness(roots, k)));
    }
    return sum;
}

static void residuals_are_those_of_gmres(void **state)
{
    static const char *const problems[] = {"laplace2d 12", "uniflow2d 12", "bentpipe2d 12"};

    (void)state;
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        oracle_csr a = generate_problem(problems[k], 1);
        const int64_t n = a.nrows;
        double *r = test_allocate(n, sizeof *r), *z = test_allocate(n, sizeof *z), residual, tolerance;
        tess_context *ctx = open_cpu(1);
        tess_matrix *matrix = make_matrix(ctx, &a);

        for (int degree = 1; degree <= 10; degree += 3) {
            tess_precond_options options = polynomial_options(degree, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64);
            tess_precond *m = NULL;

            options.polynomial.seed = (uint64_t)degree;
            m = make_polynomial(matrix, &options);
            assert_ok(ctx, ctx->backend->random(ctx, n, options.polynomial.seed, -1.0, 1.0, r));
            apply_precond(m, n, r, z);
            residual = gmres_residual(ctx, &a, r, degree + 1);
            tolerance = 1e2 * (double)n * U64 * root_sensitivity(&polynomial_of(m)->roots) * (double)oracle_norm2(r, n);
            assert_at_most(tolerance, 1e-3 * residual);
            assert_at_most(fabs((double)oracle_residual_norm(&a, r, z) - residual), tolerance);
            tess_precond_destroy(m);
        }
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        oracle_free(&a);
        free(r);
        free(z);
    }
}

/* ---- order and copies ---- */

/* The product of distances of a to the first `count` roots, conjugates too, in wide arithmetic, squared. */
static wide distances(const polynomial_roots *roots, int count, polynomial_root a)
{
    wide product = 1;

    for (int i = 0; i < count; i++) {
        const wide re = (wide)a.re - roots->root[i].re, im = (wide)a.im - roots->root[i].im;
        const wide other = (wide)a.im + roots->root[i].im;

        product *= re * re + im * im;
        if (roots->root[i].im > 0.0) { product *= re * re + other * other; }
    }
    return product;
}

static void roots_are_in_leja_order(void **state)
{
    enum { N = 17 };
    polynomial_root values[N];
    polynomial_roots roots = {values, N, N};
    uint64_t seed = 5;

    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        for (int i = 0; i < N; i++) {
            values[i] = (polynomial_root){oracle_uniform(&seed, -1.0, 3.0), 0.0};
            if (i % 3 == 0) { values[i].im = oracle_uniform(&seed, 0.1, 2.0); }
        }
        if (trial % 2) { values[3] = values[4]; } /* twice the same: the second comes last */
        polynomial_order_roots(&roots);
        for (int i = 1; i < N; i++) {
            assert_true(hypot(values[0].re, values[0].im) >= hypot(values[i].re, values[i].im));
            for (int j = i + 1; j < N; j++) {
                const wide chosen = distances(&roots, i, values[i]), passed = distances(&roots, i, values[j]);

                assert_true(chosen >= passed * (1 - 1e-12L));
            }
        }
    }
}

/* An outlier among roots that are close together: log10 of its product is about 9 times 5, of a pair and seven. */
static void steep_roots_are_repeated(void **state)
{
    enum { N = 9 };
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int fp32 = 0; fp32 < 2; fp32++) {
        tess_precision precision = fp32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        polynomial_roots roots = {NULL, N, N};
        double steepness;
        int copies, seen = 0;

        assert_ok(ctx, tess_host_allocate(ctx, N, sizeof *roots.root, (void **)&roots.root));
        for (int i = 0; i < N; i++) {
            roots.root[i] = (polynomial_root){i == 0 ? 1e5 : 1.0 + 0.1 * i, i == 4 ? 0.25 : 0.0};
        }
        polynomial_order_roots(&roots);
        assert_true(roots.root[0].re == 1e5);
        steepness = polynomial_steepness(&roots, 0);
        assert_true(steepness > 40.0 && steepness < 45.0); /* 9 factors, one pair among them */
        copies = (int)ceil((steepness - 4.0) / (fp32 ? 6.0 : 14.0));
        assert_ok(ctx, polynomial_add_roots(ctx, precision, &roots));
        assert_int_equal(roots.count, N + copies);
        assert_true(roots.root[roots.count - 1].re == 1e5);
        for (int i = 0; i < roots.count; i++) {
            seen += roots.root[i].re == 1e5;
            assert_false(i > 0 && roots.root[i].re == 1e5 && roots.root[i - 1].re == 1e5);
        }
        assert_int_equal(seen, 1 + copies);
        tess_host_release(ctx, roots.root, roots.capacity, sizeof *roots.root);
    }
    tess_context_destroy(ctx);
}

/* The polynomial of a spectrum with an outlier: without copies the component there would be the rounding of its root
   times 10^17 or more; with them it is the inverse of the eigenvalue. */
static void outlying_eigenvalues_are_inverted(void **state)
{
    enum { N = 60 };
    double values[N], r[N], z[N];
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = i == 7 ? 3e4 : 1.0 + i / (double)N;
        r[i] = 1.0;
    }
    for (int fp32 = 0; fp32 < 2; fp32++) {
        oracle_csr a = oracle_diagonal(N, values);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options options =
            polynomial_options(fp32 ? 5 : 8, fp32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64, (tess_arithmetic)fp32);
        tess_precond *m = make_polynomial(matrix, &options);

        assert_true(polynomial_of(m)->steps.count > options.polynomial.degree);
        apply_precond(m, N, r, z);
        for (int i = 0; i < N; i++) {
            assert_at_most(fabs(values[i] * z[i] - 1.0), 1e-2);
        }
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- the other form ---- */

/* Both are within some 10 d u of sums of magnitudes that cancel to about 10^-d of themselves here. */
static void forms_agree_at_low_degree(void **state)
{
    enum { N = 100 };
    oracle_csr matrices[] = {oracle_laplace2d(10), oracle_convection2d(10, 3.0)};
    double *r = random_values(N, 3, -1.0, 1.0), roots[N], powers[N];
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_matrix *a = make_matrix(ctx, &matrices[k]);

        for (int degree = 1; degree <= 6; degree++) {
            tess_precond_options options = polynomial_options(degree, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64);
            tess_precond *by_roots = make_polynomial(a, &options), *by_powers = NULL;

            options.polynomial.form = TESS_POLYNOMIAL_POWERS;
            by_powers = make_polynomial(a, &options);
            assert_int_equal(polynomial_of(by_powers)->steps.count, degree);
            apply_precond(by_roots, N, r, roots);
            apply_precond(by_powers, N, r, powers);
            assert_at_most(distance(roots, powers, N),
                           10.0 * degree * U64 * pow(10.0, degree) * (double)oracle_norm2(roots, N));
            tess_precond_destroy(by_roots);
            tess_precond_destroy(by_powers);
        }
        tess_matrix_destroy(a);
        oracle_free(&matrices[k]);
    }
    tess_context_destroy(ctx);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(application_follows_the_roots), cmocka_unit_test(every_storage_is_applied),
        cmocka_unit_test(residuals_are_those_of_gmres),  cmocka_unit_test(roots_are_in_leja_order),
        cmocka_unit_test(steep_roots_are_repeated),      cmocka_unit_test(outlying_eigenvalues_are_inverted),
        cmocka_unit_test(forms_agree_at_low_degree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
