/* SPDX-License-Identifier: Apache-2.0 */
/* Complex matrices: the real form of arrays in every precision and order, new values, copies, refusals, solves. */
#include <tessera/findings.h>
#include <tessera/many.h>
#include <tessera/solver.h>
#include <tessera/verify.h>

#include "base/complex_number.h"
#include "solver/complex/choice.h"
#include "support/precond.h"
#include "support/product.h"
#include "support/solve.h"

/* 2 by 3:  1+2i  .  3-1i   in unsorted rows, with (0, 2) given twice
             .   4i   .                                               */
static const int64_t small_ptr[] = {0, 3, 4};
static const int32_t small_col[] = {2, 0, 2, 1}, small_row[] = {0, 0, 0, 1};
static const double small_val[] = {1.0, -3.0, 1.0, 2.0, 2.0, 2.0, 0.0, 4.0};
static const int64_t form_ptr[] = {0, 4, 8, 10, 12};
static const int32_t form_col[] = {0, 1, 4, 5, 0, 1, 4, 5, 2, 3, 2, 3};
static const double form_val[] = {1.0, -2.0, 3.0, 1.0, 2.0, 1.0, -1.0, 3.0, 0.0, -4.0, 4.0, 0.0};

static tess_csr_arrays csr_of(const void *val, tess_precision precision)
{
    return (tess_csr_arrays){.size = sizeof(tess_csr_arrays),
                             .nrows = 2,
                             .ncols = 3,
                             .nnz = 4,
                             .row_ptr = small_ptr,
                             .col_ind = small_col,
                             .val = val,
                             .val_precision = precision,
                             .row_ptr_bits = 64,
                             .col_ind_bits = 32,
                             .is_complex = 1};
}

static tess_coo_arrays coo_of(const void *val, tess_precision precision)
{
    return (tess_coo_arrays){.size = sizeof(tess_coo_arrays),
                             .nrows = 2,
                             .ncols = 3,
                             .nnz = 4,
                             .row_ind = small_row,
                             .col_ind = small_col,
                             .val = val,
                             .val_precision = precision,
                             .index_bits = 32,
                             .is_complex = 1};
}

static void assert_is_form(const tess_matrix *m)
{
    oracle_csr a = decode_matrix(m);

    assert_true(tess_matrix_is_complex(m));
    assert_int_equal(a.nrows, 4);
    assert_int_equal(a.ncols, 6);
    assert_int_equal(a.nnz, 12);
    assert_memory_equal(a.row_ptr, form_ptr, sizeof form_ptr);
    assert_memory_equal(a.col_ind, form_col, sizeof form_col);
    for (int k = 0; k < 12; k++) {
        assert_true(a.val[k] == form_val[k]); /* -0 is 0 */
    }
    oracle_free(&a);
}

static void arrays_become_the_real_form(void **state)
{
    tess_context *ctx = open_device(2);
    float narrow[8];

    (void)state;
    for (int k = 0; k < 8; k++) {
        narrow[k] = (float)small_val[k];
    }
    for (int way = 0; way < 4; way++) {
        const void *val = way % 2 ? (const void *)narrow : small_val;
        const tess_precision precision = way % 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
        const tess_csr_arrays csr = csr_of(val, precision);
        const tess_coo_arrays coo = coo_of(val, precision);
        tess_matrix *a = NULL, *copy = NULL;

        if (way < 2) {
            assert_ok(ctx, tess_matrix_create_csr(ctx, &csr, &a));
        } else {
            assert_ok(ctx, tess_matrix_create_coo(ctx, &coo, &a));
        }
        assert_is_form(a);
        assert_ok(ctx, tess_matrix_copy_to(a, ctx, &copy));
        assert_is_form(copy);
        tess_matrix_destroy(copy);
        tess_matrix_destroy(a);
    }
    tess_context_destroy(ctx);
}

static void real_matrices_are_not_complex(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr laplace = oracle_laplace2d(4);
    tess_matrix *a = make_matrix(ctx, &laplace);

    (void)state;
    assert_false(tess_matrix_is_complex(a));
    assert_false(tess_matrix_is_complex(NULL));
    tess_matrix_destroy(a);
    oracle_free(&laplace);
    tess_context_destroy(ctx);
}

static void arrays_are_refused(void **state)
{
    tess_context *ctx = open_device(1);
    tess_csr_arrays csr = csr_of(small_val, TESS_PRECISION_FP64);
    tess_coo_arrays coo = coo_of(small_val, TESS_PRECISION_FP64);
    tess_matrix *a = NULL;

    (void)state;
    csr.ownership = TESS_BORROW;
    csr.where = TEST_DEVICE == TESS_DEVICE_GPU ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_create_csr(ctx, &csr, &a));
    coo.nrows = INT64_C(1) << 30; /* twice that is one row too many */
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_coo(ctx, &coo, &a));
    coo.nrows = 2;
    coo.ncols = INT64_C(1) << 30;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_coo(ctx, &coo, &a));
    assert_null(a);
    tess_context_destroy(ctx);
}

/* ---- an operator ---- */

/* On the pattern of a Laplacian: 4 - shift on the diagonal (Helmholtz); hermitian: phases beside it (a magnetic field).
 */
static double complex *complex_values(const oracle_csr *a, double complex shift, bool hermitian)
{
    double complex *val = calloc((size_t)a->nnz, sizeof *val);

    assert_non_null(val);
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
            const int64_t j = a->col_ind[p];
            const double turn = j > i ? 0.3 : -0.3;

            val[p] = a->val[p];
            if (i == j) { val[p] -= shift; }
            if (i != j && hermitian) { val[p] *= cexp(I * turn); }
        }
    }
    return val;
}

static tess_matrix *make_complex(tess_context *ctx, const oracle_csr *pattern, const double complex *val)
{
    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = pattern->nrows,
                              .ncols = pattern->ncols,
                              .nnz = pattern->nnz,
                              .row_ptr = pattern->row_ptr,
                              .col_ind = pattern->col_ind,
                              .val = val,
                              .row_ptr_bits = 64,
                              .col_ind_bits = 32,
                              .is_complex = 1};
    tess_matrix *a = NULL;

    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &a));
    return a;
}

/* Of the largest element of |A||x| + |b|: the largest |b - A x|. */
static double backward_error(const oracle_csr *a, const double complex *val, const double complex *b,
                             const double complex *x)
{
    double worst = 0.0;

    for (int64_t i = 0; i < a->nrows; i++) {
        double complex r = b[i];
        double size = cabs(b[i]);

        for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
            r -= val[p] * x[a->col_ind[p]];
            size += cabs(val[p]) * cabs(x[a->col_ind[p]]);
        }
        worst = fmax(worst, cabs(r) / size);
    }
    return worst;
}

/* A residual norm for each iteration, the last of which meets the tolerance. */
static void check_history(const tess_solve_result *result)
{
    assert_int_equal(result->history_length, result->iterations + 1);
    for (int64_t i = 0; i < result->history_length; i++) {
        assert_true(isfinite(result->history[i]) && result->history[i] >= 0.0);
    }
    assert_at_most(result->history[result->iterations], 1e-9 * result->history[0]);
}

/* The number of iterations. */
static int64_t solve_and_check(tess_context *ctx, const oracle_csr *pattern, const double complex *val,
                               const tess_matrix *a, const tess_solve_options *options)
{
    const int64_t n = pattern->nrows;
    double complex *b = (double complex *)random_values(2 * n, 7, -1.0, 1.0);
    double complex *x = calloc((size_t)n, sizeof *x);
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_non_null(x);
    assert_ok(ctx, tess_solver_create(a, options, &solver));
    result = solve_with(solver, ctx, 2 * n, (const double *)b, (double *)x);
    assert_true(result.converged);
    assert_true(result.verified);
    assert_at_most(backward_error(pattern, val, b, x), 1e-9); /* rtol is 1e-10 of ||b|| */
    check_history(&result);
    tess_solver_destroy(solver);
    free(x);
    free(b);
    return result.iterations;
}

static void complex_systems_are_solved(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr pattern = oracle_laplace2d(12);
    const struct {
        double complex shift;
        bool hermitian;
        tess_solver_kind kind;
    } cases[] = {{-0.1, true, TESS_SOLVER_CG},
                 {0.6, true, TESS_SOLVER_MINRES},
                 {0.6 + 0.2 * I, false, TESS_SOLVER_GMRES},
                 {0.6 + 0.2 * I, false, TESS_SOLVER_FGMRES},
                 {-0.5 + 0.4 * I, false, TESS_SOLVER_BICGSTAB},
                 {0.6 + 0.2 * I, false, TESS_SOLVER_AUTO},
                 {-0.1, true, TESS_SOLVER_AUTO}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double complex *val = complex_values(&pattern, cases[c].shift, cases[c].hermitian);
        tess_matrix *a = make_complex(ctx, &pattern, val);
        const tess_solve_options options = solve_options(cases[c].kind);

        solve_and_check(ctx, &pattern, val, a, &options);
        tess_matrix_destroy(a);
        free(val);
    }
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* A solver and a stored matrix renew themselves from re and im of each entry. */
static void new_values_are_taken(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(8);
    double complex *before = complex_values(&pattern, 0.0, false);
    double complex *after = complex_values(&pattern, -0.5 + 0.5 * I, false);
    float *narrow = calloc((size_t)(2 * pattern.nnz), sizeof *narrow);
    tess_matrix *a = make_complex(ctx, &pattern, before), *other = NULL;
    const tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    oracle_csr expected, got;

    (void)state;
    assert_non_null(narrow);
    for (int64_t k = 0; k < 2 * pattern.nnz; k++) {
        narrow[k] = (float)((const double *)after)[k];
    }
    assert_ok(ctx, tess_matrix_update_values(a, after, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    other = make_complex(ctx, &pattern, after);
    expected = decode_matrix(other);
    got = decode_matrix(a);
    assert_memory_equal(got.val, expected.val, (size_t)got.nnz * sizeof *got.val);
    solve_and_check(ctx, &pattern, after, a, &options);
    oracle_free(&got);
    assert_ok(ctx, tess_matrix_update_values(a, narrow, TESS_PRECISION_FP32, TESS_MEMORY_HOST)); /* exact here */
    got = decode_matrix(a);
    assert_memory_equal(got.val, expected.val, (size_t)got.nnz * sizeof *got.val);
    oracle_free(&got);
    oracle_free(&expected);
    tess_matrix_destroy(other);
    tess_matrix_destroy(a);
    free(narrow);
    free(before);
    free(after);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* ---- complex scalars ---- */

/* In complex scalars GMRES needs for i A what it needs for A, without restarts; in real ones it fails. */
static void a_factor_changes_nothing(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES, TESS_SOLVER_FGMRES, TESS_SOLVER_BICGSTAB};
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(8);
    double complex *val = complex_values(&pattern, 0.0, false);

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_solve_options options = solve_options(kinds[k]);
        int64_t counts[2];

        for (int turn = 0; turn < 2; turn++) {
            tess_matrix *a = NULL;

            for (int64_t p = 0; p < pattern.nnz && turn == 1; p++) {
                val[p] *= I;
            }
            a = make_complex(ctx, &pattern, val);
            counts[turn] = solve_and_check(ctx, &pattern, val, a, &options);
            tess_matrix_destroy(a);
        }
        assert_at_most((double)llabs(counts[1] - counts[0]), 2.0 + (double)counts[0] / 8.0);
        for (int64_t p = 0; p < pattern.nnz; p++) {
            val[p] *= -I;
        }
    }
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* Rows of very different size that are scaled to one: the system stays complex. In real scalars i A does not converge,
   and complete factors have four entries for one. */
static void scaled_systems_stay_complex(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES, TESS_SOLVER_BICGSTAB};
    static const tess_scaling scales[] = {TESS_SCALING_NONE, TESS_SCALING_ROWS, TESS_SCALING_SYMMETRIC};
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(8);
    double complex *val = complex_values(&pattern, 0.0, false);
    tess_matrix *a = NULL;
    int64_t counts[3];

    (void)state;
    for (int64_t p = 0; p < pattern.nnz; p++) {
        val[p] *= I;
    }
    a = make_complex(ctx, &pattern, val);
    for (int k = 0; k < 2; k++) {
        for (int way = 0; way < 3; way++) {
            tess_solve_options options = solve_options(kinds[k]);

            options.scale = scales[way];
            counts[way] = solve_and_check(ctx, &pattern, val, a, &options);
        }
        assert_at_most((double)llabs(counts[1] - counts[0]), 3.0 + (double)counts[0] / 8.0);
        assert_at_most((double)llabs(counts[2] - counts[0]), 3.0 + (double)counts[0] / 8.0);
    }
    tess_matrix_destroy(a);
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* Long rows, so that columns of a real matrix would share a loop; i times the identity, and a disturbance. */
static tess_matrix *long_rows(tess_context *ctx, int64_t n)
{
    double complex *val = (double complex *)random_values(2 * n * n, 11, -0.1, 0.1);
    oracle_csr pattern = oracle_open(n, n);
    tess_matrix *a = NULL;

    for (int64_t k = 0; k < n * n; k++) {
        oracle_push(&pattern, k % n, 1.0);
        if (k / n == k % n) { val[k] += I; }
        if (k % n == n - 1) { oracle_end_row(&pattern, k / n); }
    }
    a = make_complex(ctx, &pattern, val);
    oracle_free(&pattern);
    free(val);
    return a;
}

/* Each of several columns takes the iterations that it takes alone: those of complex scalars. Complete factors take all
   columns at once. */
static void columns_keep_complex_scalars(void **state)
{
    enum { N = 60, COLUMNS = 8 };
    static const struct {
        tess_solver_kind kind;
        tess_precond_kind precond;
    } cases[] = {{TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE},
                 {TESS_SOLVER_GMRES, TESS_PRECOND_NONE},
                 {TESS_SOLVER_FGMRES, TESS_PRECOND_JACOBI},
                 {TESS_SOLVER_BICGSTAB, TESS_PRECOND_LU},
                 {TESS_SOLVER_GMRES, TESS_PRECOND_LU}};
    tess_context *ctx = open_device(2);
    double *b = random_values((int64_t)2 * N * COLUMNS, 5, -1.0, 1.0), *x = test_allocate(2 * N * COLUMNS, sizeof *x);
    tess_matrix *a = long_rows(ctx, N);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const bool complete = cases[c].precond == TESS_PRECOND_LU;
        const tess_columns from = tess_columns_by_column((int64_t)2 * N, COLUMNS, b, TESS_MEMORY_HOST);
        const tess_columns to = tess_columns_by_column((int64_t)2 * N, COLUMNS, x, TESS_MEMORY_HOST);
        tess_solve_options options = solve_options(cases[c].kind);
        tess_solve_result results[COLUMNS];
        tess_solver *solver = NULL;

        options.precond.kind = cases[c].precond;
        const tess_status status = tess_solver_create(a, &options, &solver);
        if (complete && status == TESS_UNSUPPORTED) { continue; } /* a build without factors */
        assert_ok(ctx, status);
        for (int j = 0; j < COLUMNS; j++) {
            tess_solve_result_init(&results[j]);
        }
        memset(x, 0, sizeof *x * 2 * N * COLUMNS);
        if (!complete || tess_context_device(ctx) == TESS_DEVICE_CPU) {
            assert_int_equal(tess_solver_columns_together(solver, COLUMNS), complete ? COLUMNS : 1);
        }
        assert_ok(ctx, tess_solver_solve_many(solver, &from, &to, results));
        for (int j = 0; j < COLUMNS; j++) {
            double alone[2 * N] = {0.0};
            const tess_solve_result result = solve_with(solver, ctx, (int64_t)2 * N, b + (int64_t)2 * N * j, alone);

            assert_true(results[j].converged && results[j].verified && result.converged);
            if (!complete) { assert_int_equal(results[j].iterations, result.iterations); }
            assert_true(!complete || results[j].iterations <= 4);
        }
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(a);
    free(x);
    free(b);
    tess_context_destroy(ctx);
}

/* The diagonal of i L is imaginary: its real form has zeros there. */
static void preconditioners_turn_rows(void **state)
{
    static const char *const names[] = {"jacobi", "block-jacobi:4", "ilu0", "ilut", "iluk:1", "amg"};
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(12);
    double complex *val = complex_values(&pattern, -0.1 + 0.3 * I, false);
    tess_matrix *a = NULL;
    int64_t plain = 0;

    (void)state;
    for (int64_t p = 0; p < pattern.nnz; p++) {
        val[p] *= I;
    }
    a = make_complex(ctx, &pattern, val);
    for (int k = -1; k < 6; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
        int64_t count = 0;

        options.gmres.restart = 200;
        if (k >= 0) { assert_ok(NULL, tess_precond_options_parse(names[k], &options.precond)); }
        count = solve_and_check(ctx, &pattern, val, a, &options);
        if (k < 0) { plain = count; }
        assert_at_most((double)count, (double)plain + 1.0);
    }
    tess_matrix_destroy(a);
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* Its facts, its application to FP32 vectors, its renewal. */
static void turned_preconditioners_answer(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(8);
    const int64_t n = 2 * pattern.nrows;
    double complex *val = complex_values(&pattern, 0.0, false);
    tess_matrix *a = NULL;
    tess_precond_options options;
    tess_precond *m = NULL;
    tess_precond_factors facts = {.size = sizeof facts};
    tess_vector *r = NULL, *z = NULL;
    double *first = calloc((size_t)n, sizeof *first), *again = calloc((size_t)n, sizeof *again);

    (void)state;
    for (int64_t p = 0; p < pattern.nnz; p++) {
        val[p] *= I;
    }
    a = make_complex(ctx, &pattern, val);
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_ILU0;
    options.role = (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};
    assert_ok(ctx, tess_precond_create(a, &options, &m));
    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    assert_true(facts.nonzeros > 0);
    assert_true(tess_precond_bytes(m) > n * (int64_t)sizeof(double));
    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP64, &r));
    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP64, &z));
    assert_ok(ctx, tess_vector_set_random(r, 3, -1.0, 1.0));
    assert_ok(ctx, tess_precond_apply(m, r, z));
    assert_ok(ctx, tess_vector_get(z, first, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int64_t p = 0; p < pattern.nnz; p++) {
        val[p] *= 2.0 * I;
    }
    assert_ok(ctx, tess_matrix_update_values(a, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    assert_ok(ctx, tess_precond_apply(m, r, z));
    assert_ok(ctx, tess_vector_get(z, again, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int64_t i = 0; i < n / 2; i++) { /* M^-1 of 2i A is M^-1 of A over 2i */
        const double complex before = complex_number(first[2 * i], first[2 * i + 1]) / (2.0 * I);

        assert_at_most(cabs(complex_number(again[2 * i], again[2 * i + 1]) - before), 1e-13 * (1.0 + cabs(before)));
    }
    tess_vector_destroy(r);
    tess_vector_destroy(z);
    tess_precond_destroy(m);
    tess_matrix_destroy(a);
    free(first);
    free(again);
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* Inner cycles in FP32 are of the real form; the answer is as verified. */
static void low_precisions_stay_in_the_real_form(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(10);
    double complex *val = complex_values(&pattern, -0.5 + 0.4 * I, false);
    tess_matrix *a = make_complex(ctx, &pattern, val);
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES_IR);

    (void)state;
    options.precond.kind = TESS_PRECOND_JACOBI;
    solve_and_check(ctx, &pattern, val, a, &options);
    options = solve_options(TESS_SOLVER_GMRES);
    options.gmres.basis = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
    solve_and_check(ctx, &pattern, val, a, &options);
    tess_matrix_destroy(a);
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* Dense, of order 1 or 2: breakdowns, singular matrices, NaN. */
static void hard_cases_end(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES, TESS_SOLVER_FGMRES, TESS_SOLVER_BICGSTAB};
    static const int64_t row_ptr[] = {0, 2, 4};
    static const int32_t col_ind[] = {0, 1, 0, 1};
    const struct {
        int n;
        double complex a[4], b[2];
        bool solvable;
    } cases[] = {{2, {0.0, I, I, 0.0}, {1.0, 0.0}, true}, /* (r, A r) = 0 */
                 {2, {1.0, I, -I, 1.0}, {1.0, -I}, true},          {2, {1.0, I, -I, 1.0}, {1.0, 0.0}, false},
                 {2, {0.0, 0.0, 0.0, 0.0}, {1.0, 2.0 * I}, false}, {2, {NAN, 0.0, 0.0, 1.0}, {1.0, 1.0}, false},
                 {2, {1.0, 2.0 * I, 0.5, 3.0}, {0.0, 0.0}, true},  {1, {2.0 * I}, {4.0}, true}};
    tess_context *ctx = open_device(1);

    (void)state;
    for (size_t c = 0; c < 3 * sizeof cases / sizeof *cases; c++) {
        const int n = cases[c / 3].n;
        const tess_solve_options options = solve_options(kinds[c % 3]);
        const oracle_csr pattern = {.nrows = n,
                                    .ncols = n,
                                    .nnz = n * n,
                                    .row_ptr = n == 2 ? (int64_t *)row_ptr : (int64_t[]){0, 1},
                                    .col_ind = (int32_t *)col_ind};
        tess_matrix *a = make_complex(ctx, &pattern, cases[c / 3].a);
        double complex x[2] = {0.0, 0.0};
        tess_solver *solver = NULL;
        tess_solve_result result;

        assert_ok(ctx, tess_solver_create(a, &options, &solver));
        result = solve_with(solver, ctx, 2 * n, (const double *)cases[c / 3].b, (double *)x);
        if (result.converged != cases[c / 3].solvable) { fail_msg("case %d: converged %d", (int)c, result.converged); }
        for (int i = 0; i < n && result.converged; i++) {
            double complex r = cases[c / 3].b[i];

            for (int j = 0; j < n; j++) {
                r -= cases[c / 3].a[n * i + j] * x[j];
            }
            assert_at_most(cabs(r), 1e-9);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(a);
    }
    tess_context_destroy(ctx);
}

/* Every method with every kind of preconditioner; and roles that keep GMRES in the real form. */
static void sweep_triangles(tess_precond_options *o)
{
    o->incomplete.triangular = TESS_TRIANGULAR_SWEEPS;
}

static void sweep_factors(tess_precond_options *o)
{
    o->incomplete.factorization = TESS_FACTORIZATION_SWEEPS;
}

static void color_rows(tess_precond_options *o)
{
    o->incomplete.triangular = TESS_TRIANGULAR_COLORS;
}

static void take_classical(tess_precond_options *o)
{
    o->amg.coarsening = TESS_AMG_CLASSICAL;
}

static void smooth_by_fsai(tess_precond_options *o)
{
    o->amg.smoother = TESS_AMG_FSAI;
}

static void smooth_fine_and_coarse(tess_precond_options *o)
{
    o->amg.smoother = TESS_AMG_FC_JACOBI;
}

static void restrict_by_air(tess_precond_options *o)
{
    o->amg.restriction = TESS_AMG_RESTRICTION_AIR;
}

static void split_in_turn(tess_precond_options *o)
{
    o->amg.split = TESS_AMG_SPLIT_RUGE_STUEBEN;
}

static void look_for_modes(tess_precond_options *o)
{
    o->amg.modes = 1;
}

static void give_modes(tess_precond_options *o)
{
    static const double near[1];

    o->amg.near_nullspace = near;
    o->amg.near_nullspace_columns = 1;
}

static void methods_take_preconditioners(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_GMRES, TESS_SOLVER_FGMRES, TESS_SOLVER_BICGSTAB};
    static const char *const names[] = {"jacobi", "ilu0", "polynomial:5", "none"};
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(8);
    double complex *val = complex_values(&pattern, -0.5 + 0.4 * I, false);
    tess_matrix *a = make_complex(ctx, &pattern, val);

    (void)state;
    for (int c = 0; c < 12; c++) {
        tess_solve_options options = solve_options(kinds[c % 3]);

        assert_ok(NULL, tess_precond_options_parse(names[c / 3], &options.precond));
        if (kinds[c % 3] != TESS_SOLVER_BICGSTAB) { options.gmres.restart = 7; }
        solve_and_check(ctx, &pattern, val, a, &options);
    }
    for (int c = 0; c < 3; c++) {
        static const tess_role_precision roles[] = {{1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64},
                                                    {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64},
                                                    {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}};
        tess_solve_options options = solve_options(TESS_SOLVER_GMRES);

        options.gmres.inner = roles[c];
        options.gmres.basis = roles[0];
        if (c > 0) { options.gmres.basis = roles[c]; }
        solve_and_check(ctx, &pattern, val, a, &options);
    }
    tess_matrix_destroy(a);
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* Preconditioners with options; whether methods with them have complex scalars. */
static const struct scalar_case {
    const char *name;
    bool complex_scalars;
    void (*change)(tess_precond_options *);
    bool alone; /* the choice alone: the matrix is none for this kind */
} scalar_cases[] = {{"none", true, NULL, false},
                    {"jacobi", true, NULL, false},
                    {"block-jacobi:8", true, NULL, false},
                    {"block-jacobi:7", false, NULL, false},
                    {"ilu0", true, NULL, false},
                    {"iluk:1", true, NULL, false},
                    {"ilut:1e-1:1", false, NULL, false},
                    {"ilu0", false, sweep_triangles, false},
                    {"ilu0", false, sweep_factors, false},
                    {"ilu0", false, color_rows, false},
                    {"isai:2", false, NULL, false},
                    {"polynomial:4", true, NULL, false},
                    {"jacobi-sweeps:3", true, NULL, false},
                    {"amg", true, NULL, false},
                    {"amg", false, take_classical, false},
                    {"amg", false, smooth_by_fsai, false},
                    {"amg", false, smooth_fine_and_coarse, false},
                    {"amg", false, restrict_by_air, false},
                    {"amg", false, split_in_turn, false},
                    {"amg", false, look_for_modes, true},
                    {"amg", false, give_modes, true},
                    {"fsai:2", false, NULL, true},
                    {"ict", false, NULL, true},
                    {"ic0", true, NULL, true},
                    {"ic0", false, sweep_triangles, true},
                    {"iluk:1", false, color_rows, false}};

/* The methods that have complex scalars, by the case. */
static void check_methods(const tess_matrix *a, const struct scalar_case *of, tess_solve_options options)
{
    options.solver = TESS_SOLVER_BICGSTAB;
    assert_int_equal(complex_method_of(a, &options) != NULL, of->complex_scalars);
    options.solver = TESS_SOLVER_FGMRES; /* takes a preconditioner that is another each time */
    assert_non_null(complex_method_of(a, &options));
    options.solver = TESS_SOLVER_GMRES;
    assert_int_equal(complex_method_of(a, &options) != NULL, of->complex_scalars);
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
    assert_null(complex_method_of(a, &options)); /* a basis in FP64 alone has complex scalars */
    options.solver = TESS_SOLVER_FGMRES;
    assert_null(complex_method_of(a, &options));
}

/* Complex scalars need M (i v) = i (M v): so a method that has them comes with such preconditioners alone. */
static void scalars_are_complex_where_preconditioners_are(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(9);
    double complex *val = complex_values(&pattern, 0.3 + 0.4 * I, false);
    tess_matrix *a = make_complex(ctx, &pattern, val);
    const int64_t n = 2 * pattern.nrows;
    double *v = random_values(n, 3, -1.0, 1.0), *iv = test_allocate(n, sizeof *iv),
           *z = test_allocate(2 * n, sizeof *z);

    (void)state;
    for (int64_t i = 0; i < n; i += 2) {
        iv[i] = -v[i + 1];
        iv[i + 1] = v[i];
    }
    for (size_t c = 0; c < sizeof scalar_cases / sizeof *scalar_cases; c++) {
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        tess_precond *m = NULL;
        double difference = 0.0, size = 0.0;

        assert_ok(NULL, tess_precond_options_parse(scalar_cases[c].name, &options.precond));
        if (options.precond.kind == TESS_PRECOND_AMG) { options.precond.amg.precision = TESS_AMG_PRECISION_FP64; }
        if (scalar_cases[c].change) { scalar_cases[c].change(&options.precond); }
        check_methods(a, &scalar_cases[c], options);
        options.solver = TESS_SOLVER_GMRES;
        if (scalar_cases[c].alone) { continue; }
        if (!scalar_cases[c].complex_scalars) {
            solve_and_check(ctx, &pattern, val, a, &options);
            continue;
        }
        assert_ok(ctx, tess_precond_create(a, &options.precond, &m));
        apply_precond(m, n, v, z);
        apply_precond(m, n, iv, z + n);
        for (int64_t i = 0; i < n; i += 2) {
            difference = fmax(difference, fmax(fabs(z[n + i] + z[i + 1]), fabs(z[n + i + 1] - z[i])));
            size = fmax(size, fmax(fabs(z[i]), fabs(z[i + 1])));
        }
        assert_at_most(difference, 0x1p-39 * size);
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(a);
    free(val);
    free(v);
    free(iv);
    free(z);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

/* ---- shells and reports ---- */

typedef struct turner {
    int64_t n;
} turner;

/* y = 2i x */
static int apply_turner(void *user, tess_operation operation, const double *x, double *y)
{
    const turner *t = user;
    const double sign = operation == TESS_OP_NONE ? 1.0 : -1.0;

    for (int64_t i = 0; i < t->n; i++) {
        y[2 * i] = -2.0 * sign * x[2 * i + 1];
        y[2 * i + 1] = 2.0 * sign * x[2 * i];
    }
    return 0;
}

static void shells_are_complex_where_they_say_so(void **state)
{
    tess_context *ctx = open_cpu(1);
    turner two_i = {.n = 5};
    tess_shell_operator shell = {.apply = apply_turner, .user = &two_i, .is_complex = 1};
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);
    const double b[10] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0};
    double x[10] = {0.0};
    tess_matrix *a = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_shell(ctx, 5, 10, &shell, &a));
    assert_ok(ctx, tess_matrix_create_shell(ctx, 10, 10, &shell, &a));
    assert_true(tess_matrix_is_complex(a));
    assert_ok(ctx, tess_solver_create(a, &options, &solver));
    result = solve_with(solver, ctx, 10, b, x);
    assert_true(result.converged);
    assert_int_equal(result.iterations, 1); /* two in real scalars */
    for (int i = 0; i < 5; i++) {
        assert_true(fabs(x[2 * i] - b[2 * i + 1] / 2.0) <= 1e-14 * 10.0);
        assert_true(fabs(x[2 * i + 1] + b[2 * i] / 2.0) <= 1e-14 * 10.0);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
}

/* Rows of reports count the complex matrix's. */
static void reports_count_complex_rows(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr pattern = oracle_laplace2d(6);
    const int64_t n = 2 * pattern.nrows;
    double complex *val = complex_values(&pattern, I, false);
    tess_matrix *a = make_complex(ctx, &pattern, val);
    double *host = calloc((size_t)n, sizeof *host);
    tess_vector *b = NULL, *x = NULL;
    tess_verify_options options;
    tess_verification found = {.size = sizeof found};
    tess_verify_row rows[2];
    tess_findings problems = {.size = sizeof problems};
    int64_t count = 0;
    double square = 0.0;

    (void)state;
    tess_verify_options_init(&options);
    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP64, &b));
    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP64, &x));
    host[2 * 20 + 1] = 1.0; /* b = i e_20 */
    assert_ok(ctx, tess_vector_set(b, host, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_verify(a, b, x, &options, &found));
    assert_int_equal(found.rows.backward_row, 20);
    assert_ok(ctx, tess_verify_rows(a, b, x, 2, rows, &count));
    assert_true(count >= 1);
    assert_int_equal(rows[0].row, 20);
    for (int64_t p = 0; p < pattern.nnz; p++) {
        square += creal(val[p] * conj(val[p]));
    }
    assert_at_most(fabs(found.matrix_norm - sqrt(square)), 1e-14 * sqrt(square));
    host[2 * 20 + 1] = NAN;
    assert_ok(ctx, tess_vector_set(x, host, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_verify(a, b, x, &options, &found));
    assert_int_equal(found.nonfinite_solution, 20);
    assert_int_equal(found.nonfinite_rhs, -1);
    assert_ok(ctx, tess_find_problems(a, x, NULL, &problems));
    assert_int_equal(problems.nrows, pattern.nrows);
    assert_int_equal(problems.structural_rank, pattern.nrows);
    assert_int_equal(problems.nonfinite_rhs.count, 1);
    assert_int_equal(problems.nonfinite_rhs.row, 20);
    assert_int_equal(problems.empty_rows.row, -1);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(a);
    free(host);
    free(val);
    oracle_free(&pattern);
    tess_context_destroy(ctx);
}

#define COMPLEX_TESTS                                                                                           \
    cmocka_unit_test(arrays_become_the_real_form), cmocka_unit_test(real_matrices_are_not_complex),             \
        cmocka_unit_test(arrays_are_refused), cmocka_unit_test(complex_systems_are_solved),                     \
        cmocka_unit_test(new_values_are_taken), cmocka_unit_test(a_factor_changes_nothing),                     \
        cmocka_unit_test(preconditioners_turn_rows), cmocka_unit_test(turned_preconditioners_answer),           \
        cmocka_unit_test(low_precisions_stay_in_the_real_form), cmocka_unit_test(hard_cases_end),               \
        cmocka_unit_test(scalars_are_complex_where_preconditioners_are),                                        \
        cmocka_unit_test(methods_take_preconditioners), cmocka_unit_test(shells_are_complex_where_they_say_so), \
        cmocka_unit_test(reports_count_complex_rows), cmocka_unit_test(columns_keep_complex_scalars),           \
        cmocka_unit_test(scaled_systems_stay_complex)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {COMPLEX_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
