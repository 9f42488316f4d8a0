/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors of complex matrices: small backward errors of the real form, both sides, several columns, new
   values, and what has no factors. */
#include <complex.h>
#include <string.h>

#include "precond/direct/direct.h"
#include "precond/direct/klu_factors.h"
#include "precond/precond.h"
#include "support/direct.h"
#include "support/product.h"
#include "support/solve.h"

enum { K = 14, N = K * K, COLUMNS = 5 };

static tess_context *ctx;

/* A five-point stencil on K by K points: diagonal d, couplings to the left and below, to the right and above. */
typedef struct stencil {
    double complex d, before, after;
} stencil;

static tess_matrix *make_stencil(stencil s)
{
    static const int64_t step[] = {-K, -1, 0, 1, K};
    int64_t row_ptr[N + 1] = {0};
    int32_t col_ind[5 * N];
    double complex val[5 * N];
    tess_csr_arrays a = {.size = sizeof a,
                         .nrows = N,
                         .ncols = N,
                         .row_ptr = row_ptr,
                         .col_ind = col_ind,
                         .val = val,
                         .val_precision = TESS_PRECISION_FP64,
                         .row_ptr_bits = 64,
                         .col_ind_bits = 32,
                         .is_complex = 1};
    tess_matrix *m = NULL;

    for (int64_t i = 0; i < N; i++) {
        for (int k = 0; k < 5; k++) {
            const int64_t j = i + step[k];

            if (j < 0 || j >= N || (k == 1 && i % K == 0) || (k == 3 && j % K == 0)) { continue; }
            col_ind[a.nnz] = (int32_t)j;
            val[a.nnz++] = k == 2 ? s.d : k < 2 ? s.before : s.after;
        }
        row_ptr[i + 1] = a.nnz;
    }
    assert_ok(ctx, tess_matrix_create_csr(ctx, &a, &m));
    return m;
}

/* Helmholtz with losses, A = A^T; convection; Hermitian and positive definite; Hermitian and indefinite. */
static const stencil helmholtz = {2.9 - 0.4 * I, -1.0, -1.0};
static const stencil convection = {4.0 + 0.5 * I, -1.3 + 0.2 * I, -0.7 + 0.1 * I};
static const stencil definite = {5.0, -1.0 + 0.5 * I, -1.0 - 0.5 * I};
static const stencil indefinite = {0.3, -1.0 + 0.5 * I, -1.0 - 0.5 * I};

static oracle_csr transposed_of(const oracle_csr *a)
{
    oracle_csr t = oracle_open(a->ncols, a->nrows);

    for (int64_t j = 0; j < a->ncols; j++) {
        for (int64_t i = 0; i < a->nrows; i++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                if (a->col_ind[k] == j) { oracle_push(&t, i, a->val[k]); }
            }
        }
        oracle_end_row(&t, j);
    }
    return t;
}

/* Several columns by rows, each as good as one alone. */
static void check_columns(const oracle_csr *a, const tess_precond *m, tess_precision precision)
{
    const int64_t n = a->nrows;
    double *r = random_values(n * COLUMNS, 5, -1.0, 1.0), *z = test_allocate(n * COLUMNS, sizeof *z);
    const tess_columns from = tess_columns_by_column(n, COLUMNS, r, TESS_MEMORY_HOST);
    const tess_columns to = tess_columns_by_column(n, COLUMNS, z, TESS_MEMORY_HOST);

    assert_ok(ctx, tess_precond_apply_columns(m, &from, &to));
    for (int c = 0; c < COLUMNS; c++) {
        check_backward_error(a, r + c * n, z + c * n, precision);
    }
    free(r);
    free(z);
}

static void check(stencil s, tess_precond_kind kind, tess_precision precision)
{
    tess_precond_options options = direct_options(kind, precision);
    tess_matrix *matrix = make_stencil(s);
    oracle_csr a = decode_matrix(matrix), t = transposed_of(&a);
    double *r = random_values(2 * N, 3, -1.0, 1.0), *z = test_allocate(2 * N, sizeof *z);
    tess_precond_factors facts = {.size = sizeof facts};
    tess_precond *m = NULL;

    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    apply_precond(m, 2 * N, r, z);
    check_backward_error(&a, r, z, precision);
    assert_ok(ctx, m->ops->solve_on_host(m, true, r, z));
    check_backward_error(&t, r, z, precision);
    check_columns(&a, m, precision);
    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    assert_true(facts.entries >= N && facts.entries < 2 * N * 2 * N);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    oracle_free(&t);
    free(r);
    free(z);
}

static void backward_errors_are_small(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_FP64};

    (void)state;
    for (int p = 0; p < 2; p++) {
        check(helmholtz, TESS_PRECOND_LU, precisions[p]);
        check(convection, TESS_PRECOND_LU, precisions[p]);
        check(definite, TESS_PRECOND_LU, precisions[p]);
        check(indefinite, TESS_PRECOND_LU, precisions[p]);
        check(definite, TESS_PRECOND_CHOLESKY, precisions[p]);
    }
}

/* MUMPS takes complex entries, and one triangle of a matrix that is its own transpose. */
static void the_complex_matrix_is_factored(void **state)
{
    tess_matrix *symmetric = make_stencil(helmholtz), *hermitian = make_stencil(definite);
    direct_system s;

    (void)state;
    assert_ok(ctx, direct_read(symmetric, false, &s));
    assert_true(s.parts == 2 && s.node == 1 && s.n == N && s.rows == 2 * N && s.symmetry == MUMPS_INDEFINITE);
    assert_int_equal(s.count, 3 * N - 2 * K); /* the lower triangle */
    direct_release(&s);
    assert_ok(ctx, direct_read(hermitian, false, &s));
    assert_true(s.parts == 2 && s.symmetry == MUMPS_UNSYMMETRIC && s.count == 5 * N - 4 * K);
    direct_release(&s);
    assert_ok(ctx, direct_read(hermitian, true, &s));
    assert_true(s.parts == 1 && s.node == 2 && s.n == 2 * N && s.symmetry == MUMPS_DEFINITE);
    direct_release(&s);
    assert_ok(ctx, direct_read_form(hermitian, false, &s));
    assert_true(s.parts == 1 && s.symmetry == MUMPS_INDEFINITE); /* the form of a Hermitian matrix */
    direct_release(&s);
    tess_matrix_destroy(symmetric);
    tess_matrix_destroy(hermitian);
}

/* A chain of loops: KLU's. */
static void circuits_are_klus(void **state)
{
    tess_matrix *matrix = make_stencil((stencil){3.0 + 1.0 * I, 0.0, -1.0 + 0.5 * I});
    oracle_csr a = decode_matrix(matrix), t = transposed_of(&a);
    int32_t *row = test_allocate(2 * N, sizeof *row), *column = test_allocate(2 * N, sizeof *column);
    double *r = random_values(2 * N * COLUMNS, 7, -1.0, 1.0), *z = test_allocate(2 * N * COLUMNS, sizeof *z);
    klu_factors *klu = NULL;
    direct_system s;

    (void)state;
    for (int renewal = 0; renewal < 2; renewal++) {
        assert_ok(ctx, direct_read(matrix, false, &s));
        assert_ok(ctx, klu_compute(&s, INT64_MAX, row, column, &klu));
        direct_release(&s);
        if (!klu_is_here()) { break; }
        assert_non_null(klu);
        for (int transposed = 0; transposed < 2; transposed++) {
            const int32_t *before = transposed ? column : row, *after = transposed ? row : column;
            const double sign = transposed ? -1.0 : 1.0; /* A^T conj(z) = conj(r) for A^H z = r */

            for (int64_t k = 0; k < 2 * N * COLUMNS; k++) {
                z[k] = ldexp(k % 2 == 1 ? sign * r[k] : r[k], before[k % (2 * N)]);
            }
            klu_solve_columns(ctx, klu, transposed, COLUMNS, z);
            for (int64_t k = 0; k < 2 * N * COLUMNS; k++) {
                z[k] = ldexp(k % 2 == 1 ? sign * z[k] : z[k], after[k % (2 * N)]);
            }
            for (int c = 0; c < COLUMNS; c++) {
                check_backward_error(transposed ? &t : &a, r + 2 * N * c, z + 2 * N * c, TESS_PRECISION_FP64);
            }
        }
    }
    klu_close(ctx, klu);
    free(row);
    free(column);
    free(r);
    free(z);
    oracle_free(&a);
    oracle_free(&t);
    tess_matrix_destroy(matrix);
}

/* Values that lose the symmetry, and get it back. */
static void values_are_renewed(void **state)
{
    static const stencil values[] = {{4.0 + 0.5 * I, -1.3 + 0.2 * I, -0.7 + 0.1 * I}, {2.5 - 0.3 * I, -1.0, -1.0}};
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP64);
    tess_matrix *matrix = make_stencil(helmholtz);
    double *r = random_values(2 * N, 3, -1.0, 1.0), *z = test_allocate(2 * N, sizeof *z);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int k = 0; k < 2; k++) {
        tess_matrix *other = make_stencil(values[k]);
        oracle_csr a = decode_matrix(other);
        double *val = test_allocate(a.nnz / 2, sizeof *val);
        int64_t to = 0;

        for (int64_t i = 0; i < a.nrows; i += 2) {
            for (int64_t l = a.row_ptr[i]; l < a.row_ptr[i + 1]; l += 2) {
                val[to++] = a.val[l];
                val[to++] = -a.val[l + 1];
            }
        }
        assert_ok(ctx, tess_matrix_update_values(matrix, val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, 2 * N, r, z);
        check_backward_error(&a, r, z, TESS_PRECISION_FP64);
        free(val);
        oracle_free(&a);
        tess_matrix_destroy(other);
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    free(r);
    free(z);
}

static void expect_no_factors(stencil s, tess_precond_kind kind, const char *words)
{
    tess_precond_options options = direct_options(kind, TESS_PRECISION_FP64);
    tess_matrix *matrix = make_stencil(s);
    tess_precond *m = NULL;

    assert_int_equal(tess_precond_create(matrix, &options, &m), TESS_SINGULAR);
    if (!strstr(tess_context_last_error(ctx)->message, words)) {
        fail_msg("%s: %s", words, tess_context_last_error(ctx)->message);
    }
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
}

static void what_has_no_factors_says_why(void **state)
{
    (void)state;
    expect_no_factors((stencil){0.0, 0.0, 0.0}, TESS_PRECOND_LU, "lu: the matrix is singular");
    expect_no_factors(indefinite, TESS_PRECOND_CHOLESKY, "not positive definite");
    expect_no_factors((stencil){-1.1, -1.0, -1.0}, TESS_PRECOND_CHOLESKY, "not positive definite");
    expect_no_factors((stencil){NAN, 1.0, 1.0}, TESS_PRECOND_LU, "NaN or Inf, first seen in row 1");
    expect_no_factors((stencil){1.0, 1.0, NAN}, TESS_PRECOND_CHOLESKY, "NaN or Inf, first seen in row 1");
}

/* What auto asks: the complex matrix' factors take about half of what those of its form would. */
static void predictions_know_complex_factors(void **state)
{
    tess_matrix *matrix = make_stencil(convection);
    direct_prediction found;

    (void)state;
    assert_ok(ctx, direct_predict(matrix, false, TESS_PRECISION_FP64, 0, &found));
    assert_true(found.possible && found.flops > 0.0 && found.bytes > 16 * N);
    assert_ok(ctx, direct_predict(matrix, true, TESS_PRECISION_FP64, 0, &found));
    assert_true(found.flops > 0.0);
    check(convection, TESS_PRECOND_LU, TESS_PRECISION_FP64);
    tess_matrix_destroy(matrix);
}

static int open_tests(void **state)
{
    (void)state;
    ctx = open_cpu(2);
    return 0;
}

static int close_tests(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(backward_errors_are_small),
                                       cmocka_unit_test(the_complex_matrix_is_factored),
                                       cmocka_unit_test(circuits_are_klus),
                                       cmocka_unit_test(values_are_renewed),
                                       cmocka_unit_test(what_has_no_factors_says_why),
                                       cmocka_unit_test(predictions_know_complex_factors)};

    return mumps_is_here() ? cmocka_run_group_tests(tests, open_tests, close_tests) : 77;
}
