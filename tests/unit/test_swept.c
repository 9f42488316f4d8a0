/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles of incomplete factors that are solved approximately, by Jacobi iterations. */
#include "support/incomplete.h"
#include "support/solve.h"

static tess_precond_options swept_options(tess_precond_kind kind, int sweeps)
{
    tess_precond_options options = factor_options(kind);

    options.incomplete.triangular = TESS_TRIANGULAR_SWEEPS;
    options.incomplete.sweeps = sweeps;
    return options;
}

/* x := b - t x, `sweeps` times from x = b, and the same of magnitudes. */
static void sweep_triangle(const oracle_csr *t, int sweeps, wide *x, double *size)
{
    const int64_t n = t->nrows;
    wide *b = test_allocate(3 * n, sizeof *b), *next = b + n;
    double *b_size = test_allocate(2 * n, sizeof *b_size), *next_size = b_size + n;

    memcpy(b, x, (size_t)n * sizeof *b);
    memcpy(b_size, size, (size_t)n * sizeof *size);
    for (int s = 0; s < sweeps; s++) {
        for (int64_t i = 0; i < n; i++) {
            next[i] = b[i];
            next_size[i] = b_size[i];
            for (int64_t k = t->row_ptr[i]; k < t->row_ptr[i + 1]; k++) {
                next[i] -= (wide)t->val[k] * x[t->col_ind[k]];
                next_size[i] += fabs(t->val[k]) * size[t->col_ind[k]];
            }
        }
        memcpy(x, next, (size_t)n * sizeof *x);
        memcpy(size, next_size, (size_t)n * sizeof *size);
    }
    free(b);
    free(b_size);
}

/* z against the definition: sweeps with L from r, D^-1, sweeps with U. Each product rounds a row's sum, and a later
   sweep carries that on as it carries magnitudes. */
static void check_swept(const test_factors *f, int sweeps, const double *r, const double *z)
{
    const int64_t n = f->lower.nrows;
    const double longest = (double)(oracle_longest_row(&f->lower, false) + oracle_longest_row(&f->upper, false));
    wide *x = test_allocate(n, sizeof *x);
    double *size = test_allocate(n, sizeof *size);

    for (int64_t i = 0; i < n; i++) {
        x[i] = (wide)r[i];
        size[i] = fabs(r[i]);
    }
    sweep_triangle(&f->lower, sweeps, x, size);
    for (int64_t i = 0; i < n; i++) {
        x[i] *= (wide)f->inverse[i];
        size[i] *= fabs(f->inverse[i]);
    }
    sweep_triangle(&f->upper, sweeps, x, size);
    for (int64_t i = 0; i < n; i++) {
        assert_at_most((double)wide_abs(x[i] - (wide)z[i]), gamma_of(sweeps * (longest + 2.0) + 4.0) * size[i]);
    }
    free(x);
    free(size);
}

/* ---- one application ---- */

static void sweeps_are_their_definition(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};
    static const tess_precision storage[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                             TESS_PRECISION_FP16};
    oracle_csr grid = oracle_laplace2d(17), random = random_dominant(150, 6, false, 3),
               symmetric = random_dominant(150, 9, true, 5);

    (void)state;
    for (int c = 0; c < 2 * 4 * 5; c++) {
        const tess_precond_kind kind = kinds[c % 2];
        const tess_precision precision = storage[c / 2 % 4];
        const int sweeps = 1 + c / 8;
        const oracle_csr *a = c / 2 % 2 == 0 ? &grid : kind == TESS_PRECOND_IC0 ? &symmetric : &random;
        const int64_t n = a->nrows;
        double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
        tess_precond_options options = swept_options(kind, sweeps);
        test_factors f = factors_of(a, kind);
        tess_precond_factors facts;

        options.role = (tess_role_precision){1, precision, TESS_ARITHMETIC_FP64};
        round_factors(&f, precision);
        apply_factors(a, &options, 2, r, z, &facts);
        check_swept(&f, sweeps, r, z);
        assert_int_equal(facts.lower_level_sets + facts.upper_level_sets, 0);
        assert_int_equal(facts.lower_groups, sweeps);
        assert_int_equal(facts.upper_groups, sweeps);
        assert_int_equal(facts.leaves, 2);
        assert_int_equal(facts.squares, 0);
        assert_int_equal(facts.nonzeros, f.lower.nnz + f.upper.nnz);
        assert_int_equal(facts.entries, sweeps * facts.nonzeros);
        free_factors(&f);
        free(r);
        free(z);
    }
    oracle_free(&grid);
    oracle_free(&random);
    oracle_free(&symmetric);
}

/* N is nilpotent: after as many sweeps as there are level sets, less one, x solves the triangle but for the rounding of
   each row. One less does not. */
static void enough_sweeps_are_exact(void **state)
{
    oracle_csr chain = oracle_tridiagonal(40, -1.0, 2.5, -1.0), coloured = red_black(21), grid = oracle_laplace2d(12);
    const struct {
        const oracle_csr *a;
        int level_sets;
    } cases[] = {{&chain, 40}, {&coloured, 2}, {&grid, 23}};
    tess_precond_factors facts;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t n = cases[c].a->nrows;
        double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
        const tess_precond_options enough = swept_options(TESS_PRECOND_ILU0, cases[c].level_sets - 1),
                                   more = swept_options(TESS_PRECOND_ILU0, cases[c].level_sets + 5);
        test_factors f = factors_of(cases[c].a, TESS_PRECOND_ILU0);

        apply_factors(cases[c].a, &enough, 1, r, z, &facts);
        check_factor_solution(&f, r, z, 0.0);
        apply_factors(cases[c].a, &more, 1, r, z + n, &facts);
        assert_true(same_bits(z, z + n, n)); /* a fixed point */
        if (cases[c].level_sets > 2) {
            const tess_precond_options fewer = swept_options(TESS_PRECOND_ILU0, cases[c].level_sets - 2);

            apply_factors(cases[c].a, &fewer, 1, r, z + n, &facts);
            assert_false(same_bits(z, z + n, n));
        }
        free_factors(&f);
        free(r);
        free(z);
    }
    oracle_free(&chain);
    oracle_free(&coloured);
    oracle_free(&grid);
}

/* M^-1 of IC(0) is symmetric and positive definite for any number of sweeps in any storage: the sweeps with L^T are the
   adjoint of those with L, whose stored values are the same. (s, M^-1 r) = (r, M^-1 s) within the rounding of both. */
static void sweeps_of_ic0_are_symmetric(void **state)
{
    static const tess_precision storage[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16,
                                             TESS_PRECISION_FP16};
    oracle_csr a = random_dominant(120, 12, true, 9);
    const int64_t n = a.nrows;
    double *r = random_values(2 * n, 7, -1.0, 1.0), *s = r + n, *z = test_allocate(2 * n, sizeof *z), *y = z + n;
    tess_precond_factors facts;

    (void)state;
    for (int c = 0; c < 4 * 4; c++) {
        tess_precond_options options = swept_options(TESS_PRECOND_IC0, 1 + c % 4);
        test_factors f = factors_of(&a, TESS_PRECOND_IC0);
        const double longest = (double)(oracle_longest_row(&f.lower, false) + oracle_longest_row(&f.upper, false));
        wide one = 0, other = 0, energy = 0;
        double bound = 0.0;
        wide *x = test_allocate(n, sizeof *x);
        double *size = test_allocate(n, sizeof *size);

        options.role = (tess_role_precision){1, storage[c / 4], TESS_ARITHMETIC_FP64};
        round_factors(&f, storage[c / 4]);
        apply_factors(&a, &options, 2, r, z, &facts);
        apply_factors(&a, &options, 2, s, y, &facts);
        for (int64_t i = 0; i < n; i++) {
            x[i] = 0;
            size[i] = fabs(r[i]);
        }
        sweep_triangle(&f.lower, options.incomplete.sweeps, x, size);
        for (int64_t i = 0; i < n; i++) {
            size[i] *= f.inverse[i];
        }
        sweep_triangle(&f.upper, options.incomplete.sweeps, x, size);
        for (int64_t i = 0; i < n; i++) {
            one += (wide)s[i] * (wide)z[i];
            other += (wide)r[i] * (wide)y[i];
            energy += (wide)r[i] * (wide)z[i];
            bound += fabs(s[i]) * size[i]; /* and |M^-1| is symmetric too */
        }
        assert_at_most((double)wide_abs(one - other),
                       2.0 * gamma_of(options.incomplete.sweeps * (longest + 2.0) + 4.0) * bound);
        assert_true(energy > 0);
        free(x);
        free(size);
        free_factors(&f);
    }
    oracle_free(&a);
    free(r);
    free(z);
}

/* A diagonal matrix has nothing to sweep with. */
static void diagonal_matrices(void **state)
{
    oracle_csr a = oracle_open(5, 5);
    const double r[5] = {1.0, 2.0, 3.0, 4.0, 5.0};
    double z[5];
    tess_precond_factors facts;

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        oracle_push(&a, i, 2.0);
        oracle_end_row(&a, i);
    }
    for (int sweeps = 1; sweeps <= 2; sweeps++) {
        const tess_precond_options options = swept_options(TESS_PRECOND_ILU0, sweeps);

        apply_factors(&a, &options, 1, r, z, &facts);
        for (int64_t i = 0; i < 5; i++) {
            assert_true(z[i] == 0.5 * r[i]);
        }
    }
    oracle_free(&a);
}

static void threads_do_not_change_a_bit(void **state)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(150, 20));
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    const tess_precond_options options = swept_options(TESS_PRECOND_IC0, 3);
    tess_precond_factors facts;

    (void)state;
    apply_factors(&a, &options, 1, r, z, &facts);
    for (int threads = 2; threads <= 4; threads++) {
        apply_factors(&a, &options, threads, r, z + n, &facts);
        assert_true(same_bits(z, z + n, n));
    }
    oracle_free(&a);
    free(r);
    free(z);
}

/* ---- storage ---- */

/* The triangles in any format, and by a policy; ict and ilut too. */
static void triangles_have_storage_of_their_own(void **state)
{
    static const struct {
        tess_format format;
        tess_precision precision;
        tess_policy policy;
        double roundoff;
    } cases[] = {{TESS_FORMAT_CSR, TESS_PRECISION_FP32, TESS_POLICY_NONE, 0x1p-24},
                 {TESS_FORMAT_SELL, TESS_PRECISION_FP64, TESS_POLICY_NONE, 0.0},
                 {TESS_FORMAT_DIA, TESS_PRECISION_FP16, TESS_POLICY_NONE, 0x1p-11},
                 {TESS_FORMAT_AUTO, TESS_PRECISION_FP64, TESS_POLICY_NONE, 0.0},
                 {TESS_FORMAT_CSR, TESS_PRECISION_FP64, TESS_POLICY_LOSSLESS, 0.0},
                 {TESS_FORMAT_SPLIT, TESS_PRECISION_FP64, TESS_POLICY_MEAN_RANGE, 0x1p-24}};
    oracle_csr a = oracle_laplace2d(20);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    tess_precond_factors facts;

    (void)state;
    for (int kind = TESS_PRECOND_ILU0; kind <= TESS_PRECOND_ILUK; kind++) {
        tess_precond_options plain = swept_options((tess_precond_kind)kind, 4);

        plain.incomplete.factorization = TESS_FACTORIZATION_AUTO;
        apply_factors(&a, &plain, 2, r, z, &facts);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            tess_precond_options options = plain;
            double largest = 0.0;

            options.incomplete.squares.format = cases[c].format;
            options.incomplete.squares.precision = cases[c].precision;
            tess_policy_options_init(&options.incomplete.squares.policy);
            options.incomplete.squares.policy.policy = cases[c].policy;
            if (cases[c].policy == TESS_POLICY_MEAN_RANGE) { options.incomplete.squares.policy.parameter = 100.0; }
            options.incomplete.squares.slices.max_padding = 1e6;
            apply_factors(&a, &options, 2, r, z + n, &facts);
            for (int64_t i = 0; i < n; i++) {
                largest = fmax(largest, fabs(z[i]));
            }
            /* Magnitudes of the rows of L and U add up to at most 2, 8 products are made. */
            for (int64_t i = 0; i < n; i++) {
                assert_at_most(fabs(z[i] - z[n + i]), 512.0 * (cases[c].roundoff + gamma_of(40.0)) * largest);
            }
            if (cases[c].roundoff > 0.0) { assert_false(same_bits(z, z + n, n)); }
        }
    }
    oracle_free(&a);
    free(r);
    free(z);
}

/* ---- renewal, options ---- */

static void new_values_are_taken(void **state)
{
    static const tess_precision storage[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP16};
    oracle_csr a = oracle_laplace2d(20);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    tess_precond_factors facts;

    (void)state;
    for (int c = 0; c < 2; c++) {
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options options = swept_options(TESS_PRECOND_IC0, 2);
        tess_precond *m = NULL;

        options.role = (tess_role_precision){1, storage[c], TESS_ARITHMETIC_FP64};
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] *= a.val[k] > 0.0 ? 1.5 : 0.75;
        }
        assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, n, r, z);
        apply_factors(&a, &options, 2, r, z + n, &facts);
        assert_true(same_bits(z, z + n, n));
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
    free(r);
    free(z);
}

static void wrong_numbers_are_refused(void **state)
{
    static const int wrong[] = {0, -1, TESS_MAX_TRIANGLE_SWEEPS + 1};
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_precond_options options = swept_options(TESS_PRECOND_IC0, wrong[k]);

        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(matrix, &options, &m));
        options.incomplete.triangular = TESS_TRIANGULAR_LEVELS; /* then nobody reads it */
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        tess_precond_destroy(m);
        m = NULL;
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* CG with few sweeps of IC(0) takes between the iterations of exact triangles and those without. */
static void cg_needs_few_sweeps(void **state)
{
    oracle_csr a = oracle_laplace2d(on_gpu_or_emulated(60, 20));
    const int64_t n = a.nrows;
    double *b = random_values(n, 3, -1.0, 1.0), *x = test_allocate(n, sizeof *x);
    tess_context *ctx = open_device(2);
    int64_t plain = 0, exact = 0, before = INT64_MAX;

    (void)state;
    for (int c = 0; c < 7; c++) {
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solve_result result;

        if (c == 1) { options.precond = factor_options(TESS_PRECOND_IC0); }
        if (c > 1) { options.precond = swept_options(TESS_PRECOND_IC0, c - 1); }
        memset(x, 0, (size_t)n * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        check_honest(&a, b, x, &options, &result);
        if (c == 0) { plain = result.iterations; }
        if (c == 1) { exact = result.iterations; }
        if (c > 1) {
            assert_true(result.iterations < plain && result.iterations >= exact && result.iterations <= before);
            before = result.iterations;
        }
    }
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
}

#define SWEPT_TESTS                                                                                           \
    cmocka_unit_test(sweeps_are_their_definition), cmocka_unit_test(enough_sweeps_are_exact),                 \
        cmocka_unit_test(sweeps_of_ic0_are_symmetric), cmocka_unit_test(diagonal_matrices),                   \
        cmocka_unit_test(threads_do_not_change_a_bit), cmocka_unit_test(triangles_have_storage_of_their_own), \
        cmocka_unit_test(new_values_are_taken), cmocka_unit_test(wrong_numbers_are_refused),                  \
        cmocka_unit_test(cg_needs_few_sweeps)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {SWEPT_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
