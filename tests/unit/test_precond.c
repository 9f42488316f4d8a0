/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners applied on their own: against dense solves of the blocks, renewed, refused, and of the user's. */
#include <tessera/precond.h>

#include "support/test.h"

/* Diagonal block first .. first + size - 1 of a, as a matrix of its own. */
static oracle_csr block_of(const oracle_csr *a, int64_t first, int64_t size)
{
    oracle_csr block = oracle_open(size, size);

    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = a->row_ptr[first + i]; k < a->row_ptr[first + i + 1]; k++) {
            int64_t j = a->col_ind[k] - first;

            if (j >= 0 && j < size) { oracle_push(&block, j, a->val[k]); }
        }
        oracle_end_row(&block, i);
    }
    return block;
}

static tess_precond_options options_of(tess_precond_kind kind, int block_size)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.block_jacobi.block_size = block_size;
    return options;
}

/* Blocks of these tests have condition numbers below 10 and entries of their inverses below 1. */
static void check_apply(tess_context *ctx, const tess_precond *m, const oracle_csr *a, int64_t block_size)
{
    int64_t n = a->nrows;
    double *r = random_values(n, 5, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    double *exact = test_allocate(n, sizeof *exact);
    tess_vector *vr = make_vector(ctx, n, r), *vz = make_zeros(ctx, n);

    assert_ok(ctx, tess_precond_apply(m, vr, vz));
    read_vector(vz, z);
    for (int64_t first = 0; first < n; first += block_size) {
        int64_t size = first + block_size < n ? block_size : n - first;
        oracle_csr block = block_of(a, first, size);

        assert_true(oracle_solve_dense(&block, r + first, exact + first));
        for (int64_t i = first; i < first + size; i++) {
            assert_at_most(fabs(z[i] - exact[i]), 100.0 * gamma_of((double)size + 2.0));
        }
        oracle_free(&block);
    }
    tess_vector_destroy(vr);
    tess_vector_destroy(vz);
    free(r);
    free(z);
    free(exact);
}

static void blocks_are_solved(void **state)
{
    static const int sizes[] = {1, 2, 7, 8, 33, 64};
    oracle_csr a = oracle_convection2d(15, 0.5); /* 225 rows: ragged at the end for most sizes */

    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *matrix = make_matrix(ctx, &a);

        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            tess_precond_options options = options_of(TESS_PRECOND_BLOCK_JACOBI, sizes[k]);
            int64_t blocks = (225 + sizes[k] - 1) / sizes[k];
            tess_precond *m = NULL;

            assert_ok(ctx, tess_precond_create(matrix, &options, &m));
            check_apply(ctx, m, &a, sizes[k]);
            assert_int_equal(tess_precond_bytes(m), blocks * sizes[k] * sizes[k] * 8);
            tess_precond_destroy(m);
        }
        tess_precond_options jacobi = options_of(TESS_PRECOND_JACOBI, 64);
        tess_precond *m = NULL;
        assert_ok(ctx, tess_precond_create(matrix, &jacobi, &m));
        check_apply(ctx, m, &a, 1);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
}

static void update_follows_the_values(void **state)
{
    oracle_csr a = oracle_convection2d(10, 0.5);
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options = options_of(TESS_PRECOND_BLOCK_JACOBI, 6);
    tess_precond *m = NULL;

    (void)state;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 2.0;
    }
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    check_apply(ctx, m, &a, 6);
    a.val[0] = (double)NAN;
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
    a.val[0] = 8.0;
    assert_ok(ctx, tess_matrix_update_values(matrix, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    check_apply(ctx, m, &a, 6);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void none_is_the_identity(void **state)
{
    oracle_csr a = oracle_laplace2d(5);
    double *r = random_values(25, 1, -1.0, 1.0), z[25];
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options;
    tess_precond *m = NULL;

    (void)state;
    tess_precond_options_init(&options);
    assert_int_equal(options.kind, TESS_PRECOND_NONE);
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    tess_vector *vr = make_vector(ctx, 25, r), *vz = make_zeros(ctx, 25);
    assert_ok(ctx, tess_precond_apply(m, vr, vz));
    read_vector(vz, z);
    assert_true(same_bits(r, z, 25));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_apply(m, vr, vr));
    assert_int_equal(tess_precond_bytes(m), 0);
    tess_vector_destroy(vr);
    tess_vector_destroy(vz);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* As in PETSc: 1 takes the place of a diagonal entry that is zero or missing. Block Jacobi has no such rule. */
static void jacobi_takes_one_for_a_zero(void **state)
{
    static const double diagonal[] = {2.0, 0.0, -4.0, 1.0};
    static const double r[] = {3.0, 5.0, 7.0, 9.0}, expected[] = {1.5, 5.0, -1.75, 9.0};
    oracle_csr a = oracle_open(4, 4);
    tess_context *ctx = open_cpu(1);
    double z[4];

    (void)state;
    for (int64_t i = 0; i < 4; i++) {
        if (i == 3) { oracle_push(&a, 0, 8.0); }
        if (i < 3) { oracle_push(&a, i, diagonal[i]); } /* the last row has no diagonal entry */
        if (i == 1) { oracle_push(&a, 3, 6.0); }
        oracle_end_row(&a, i);
    }
    tess_matrix *matrix = make_matrix(ctx, &a);
    for (int low = 0; low < 2; low++) {
        tess_precond_options jacobi = options_of(TESS_PRECOND_JACOBI, 1),
                             one = options_of(TESS_PRECOND_BLOCK_JACOBI, 1);
        tess_precond *m = NULL;

        if (low) { jacobi.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64}; }
        assert_ok(ctx, tess_precond_create(matrix, &jacobi, &m));
        tess_vector *vr = make_vector(ctx, 4, r), *vz = make_zeros(ctx, 4);
        assert_ok(ctx, tess_precond_apply(m, vr, vz));
        read_vector(vz, z);
        assert_true(same_bits(z, expected, 4));
        tess_vector_destroy(vr);
        tess_vector_destroy(vz);
        tess_precond_destroy(m);
        m = NULL;
        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &one, &m));
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void singular_blocks_name_a_row(void **state)
{
    oracle_csr a = oracle_tridiagonal(20, -1.0, 2.0, -1.0), missing = oracle_open(3, 3);
    tess_context *ctx = open_cpu(2);
    tess_precond_options jacobi = options_of(TESS_PRECOND_JACOBI, 1), blocks = options_of(TESS_PRECOND_BLOCK_JACOBI, 2);
    tess_precond *m = NULL;

    (void)state;
    a.val[a.row_ptr[12] + 1] = 0x1p-1074; /* the diagonal of row 13, counted from 1: its inverse is infinite */
    tess_matrix *matrix = make_matrix(ctx, &a);
    assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &jacobi, &m));
    assert_null(m);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "13"));
    assert_ok(ctx, tess_precond_create(matrix, &blocks, &m)); /* a pivot is found beside it */
    tess_precond_destroy(m);
    m = NULL;
    tess_matrix_destroy(matrix);
    for (int64_t i = 0; i < 3; i++) {
        oracle_push(&missing, (i + 1) % 3, 1.0);
        oracle_end_row(&missing, i);
    }
    matrix = make_matrix(ctx, &missing);
    assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &blocks, &m));
    assert_null(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    oracle_free(&missing);
}

static int identity_operator(void *user, tess_operation operation, const double *x, double *y)
{
    (void)operation;
    memcpy(y, x, *(const size_t *)user);
    return 0;
}

static int fail_with_three(void *user, double *diagonal)
{
    (void)user;
    (void)diagonal;
    return 3;
}

static void wrong_requests_are_refused(void **state)
{
    size_t bytes = 4 * sizeof(double);
    const tess_shell_operator bare = {.apply = identity_operator, .user = &bytes};
    const tess_shell_operator failing = {.apply = identity_operator, .diagonal = fail_with_three, .user = &bytes};
    const tess_shell_precond none = {.apply = NULL};
    const tess_precond_options jacobi = options_of(TESS_PRECOND_JACOBI, 1),
                               blocks = options_of(TESS_PRECOND_BLOCK_JACOBI, 2);
    const tess_precond_options shell_kind = options_of(TESS_PRECOND_SHELL, 2),
                               unknown = options_of((tess_precond_kind)77, 0);
    const tess_precond_options too_large = options_of(TESS_PRECOND_BLOCK_JACOBI, 65),
                               zero = options_of(TESS_PRECOND_BLOCK_JACOBI, 0);
    const tess_precond_options *const wrong_sizes[] = {&too_large, &zero};
    oracle_csr rectangle = oracle_random(3, 4, 2, 1), square = oracle_laplace2d(3);
    tess_context *ctx = open_cpu(1);
    tess_matrix *wide_one = make_matrix(ctx, &rectangle), *m = make_matrix(ctx, &square), *shell = NULL;
    tess_precond *made = NULL;

    (void)state;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_precond_create(wide_one, &jacobi, &made));
    for (int k = 0; k < 2; k++) {
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(m, wrong_sizes[k], &made));
    }
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_create(m, &shell_kind, &made));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create(m, &unknown, &made));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create_shell(ctx, 4, &none, &made));
    assert_ok(ctx, tess_matrix_create_shell(ctx, 4, 4, &bare, &shell));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_create(shell, &jacobi, &made));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_precond_create(shell, &blocks, &made));
    tess_matrix_destroy(shell);
    assert_ok(ctx, tess_matrix_create_shell(ctx, 4, 4, &failing, &shell));
    assert_fails(ctx, TESS_CALLBACK, tess_precond_create(shell, &jacobi, &made));
    assert_null(made);
    tess_precond_destroy(NULL);
    tess_matrix_destroy(shell);
    tess_matrix_destroy(m);
    tess_matrix_destroy(wide_one);
    tess_context_destroy(ctx);
    oracle_free(&rectangle);
    oracle_free(&square);
}

/* ---- several columns ---- */

enum { SIDE = 12, N = SIDE * SIDE, K = 11 };

/* Each column as alone but for the order of sums: the parts of these kinds have condition numbers below SIDE^2. */
static void check_columns(tess_context *ctx, const tess_matrix *a, const char *kind)
{
    double *r = random_values(N * K, 3, -1.0, 1.0), *z = test_allocate(N * K, sizeof *z);
    double *one = test_allocate(N, sizeof *one);
    const tess_columns vr = tess_columns_by_column(N, K, r, TESS_MEMORY_HOST);
    const tess_columns vz = tess_columns_by_row(N, K, z, TESS_MEMORY_HOST);
    tess_precond_options options;
    tess_precond *m = NULL;

    tess_precond_options_init(&options);
    assert_int_equal(tess_precond_options_parse(kind, &options), TESS_SUCCESS);
    assert_ok(ctx, tess_precond_create(a, &options, &m));
    assert_ok(ctx, tess_precond_apply_columns(m, &vr, &vz));
    for (int c = 0; c < K; c++) {
        tess_vector *alone = make_vector(ctx, N, r + c * N), *to = make_zeros(ctx, N);
        double largest = 0.0;

        assert_ok(ctx, tess_precond_apply(m, alone, to));
        read_vector(to, one);
        for (int i = 0; i < N; i++) {
            largest = fmax(largest, fabs(one[i]));
        }
        for (int i = 0; i < N; i++) {
            assert_at_most(fabs(z[i * K + c] - one[i]), gamma_of((double)SIDE * SIDE) * largest);
        }
        tess_vector_destroy(alone);
        tess_vector_destroy(to);
    }
    tess_precond_destroy(m);
    free(r);
    free(z);
    free(one);
}

static void every_kind_takes_columns(void **state)
{
    static const char *const kinds[] = {"none", "jacobi", "block-jacobi:4", "ilu0", "polynomial:3", "amg"};
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    tess_context *ctx = open_cpu(2);
    tess_matrix *a = make_matrix(ctx, &laplacian);
    tess_precond *m = NULL;
    double r[2 * N] = {0.0}, z[2 * N];
    const tess_columns two = tess_columns_by_row(N, 2, r, TESS_MEMORY_HOST);
    const tess_columns one = tess_columns_by_row(N, 1, z, TESS_MEMORY_HOST);
    const tess_columns none = tess_columns_by_row(N, 0, z, TESS_MEMORY_HOST);
    const tess_columns few = tess_columns_by_row(N - 1, 2, z, TESS_MEMORY_HOST);

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        check_columns(ctx, a, kinds[k]);
    }
    assert_ok(ctx, tess_precond_create(a, NULL, &m));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_precond_apply_columns(m, &two, &one));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_precond_apply_columns(m, &two, &few));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_precond_apply_columns(m, &few, &two));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_apply_columns(m, &two, &two));
    assert_ok(ctx, tess_precond_apply_columns(m, &none, &none));
    tess_precond_destroy(m);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_solved),           cmocka_unit_test(update_follows_the_values),
        cmocka_unit_test(none_is_the_identity),        cmocka_unit_test(singular_blocks_name_a_row),
        cmocka_unit_test(jacobi_takes_one_for_a_zero), cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(every_kind_takes_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
