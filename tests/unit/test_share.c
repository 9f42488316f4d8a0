/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix that several contexts read: solves in two threads at once, who may destroy what, refusals. */
#include <pthread.h>

#include "support/solve.h"

enum { SIDE = 20, N = SIDE * SIDE, TURNS = 3 };

typedef struct worker {
    tess_context *ctx;
    tess_matrix *a;
    const double *b;
    double x[N];
    int verified;
} worker;

/* Solves with its own matrix and context, transposed too, and destroys both. */
static void *work(void *user)
{
    worker *w = user;
    tess_solve_options options;
    tess_vector *b = make_vector(w->ctx, N, w->b), *x = make_zeros(w->ctx, N);
    tess_solver *solver = NULL;
    tess_solve_result result;

    tess_solve_options_init(&options);
    options.rtol = 1e-10;
    for (int turn = 0; turn < TURNS; turn++) {
        tess_solve_result_init(&result);
        if (tess_solver_create(w->a, &options, &solver) == TESS_SUCCESS && tess_vector_fill(x, 0.0) == TESS_SUCCESS &&
            tess_solver_solve(solver, b, x, &result) == TESS_SUCCESS) {
            w->verified += result.verified;
        }
        tess_solver_destroy(solver);
        solver = NULL;
    }
    read_vector(x, w->x);
    (void)tess_matrix_spmv(w->a, TESS_OP_TRANSPOSE, 1.0, b, 0.0, x);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(w->a);
    tess_context_destroy(w->ctx);
    return NULL;
}

/* The two solve at once, and end in any order; the arrays are freed by the last. */
static void threads_solve_with_one_matrix(void **state)
{
    static worker first, second;
    oracle_csr a = oracle_convection2d(SIDE, 0.3);
    double *b = random_values(N, 1, -1.0, 1.0);
    pthread_t thread[2];

    (void)state;
    first = (worker){.ctx = open_cpu(1), .b = b};
    second = (worker){.ctx = open_cpu(1), .b = b};
    first.a = make_matrix(first.ctx, &a);
    assert_ok(first.ctx, tess_matrix_share(first.a, second.ctx, &second.a));
    assert_ptr_equal(tess_matrix_csr_view(first.a).val, tess_matrix_csr_view(second.a).val);
    assert_int_equal(pthread_create(&thread[0], NULL, work, &first), 0);
    assert_int_equal(pthread_create(&thread[1], NULL, work, &second), 0);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    assert_int_equal(first.verified, TURNS);
    assert_int_equal(second.verified, TURNS);
    assert_true(same_bits(first.x, second.x, N));
    oracle_free(&a);
    free(b);
}

/* y = A x by a matrix whose first owner is gone. */
static void the_last_holder_keeps_the_arrays(void **state)
{
    tess_context *one = open_cpu(1), *two = open_cpu(1), *three = open_cpu(1);
    oracle_csr a = oracle_convection2d(SIDE, 0.3);
    tess_matrix *m = make_matrix(one, &a), *second = NULL, *third = NULL;
    double *x = random_values(N, 2, -1.0, 1.0), y[N], expected[N];
    tess_vector *vx = make_vector(one, N, x), *vy = make_zeros(one, N), *wx = make_vector(three, N, x),
                *wy = make_zeros(three, N);
    int64_t before = tess_context_peak_bytes(two);

    (void)state;
    assert_ok(one, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, vx, 0.0, vy));
    read_vector(vy, expected);
    assert_ok(one, tess_matrix_share(m, two, &second));
    assert_true(tess_context_peak_bytes(two) - before < 2048); /* no copy of the arrays, of which each is larger */
    assert_ok(two, tess_matrix_share(second, three, &third));
    tess_matrix_destroy(m);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_context_destroy(one);
    tess_matrix_destroy(second);
    tess_context_destroy(two);
    assert_ok(three, tess_matrix_spmv(third, TESS_OP_NONE, 1.0, wx, 0.0, wy));
    read_vector(wy, y);
    assert_true(same_bits(y, expected, N));
    tess_matrix_destroy(third);
    tess_vector_destroy(wx);
    tess_vector_destroy(wy);
    tess_context_destroy(three);
    oracle_free(&a);
    free(x);
}

static void new_values_need_a_matrix_of_ones_own(void **state)
{
    tess_context *one = open_cpu(1), *two = open_cpu(1);
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_matrix *m = make_matrix(one, &a), *other = NULL;

    (void)state;
    assert_ok(one, tess_matrix_share(m, two, &other));
    assert_fails(one, TESS_UNSUPPORTED, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_fails(two, TESS_UNSUPPORTED, tess_matrix_update_values(other, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_matrix_destroy(other);
    assert_ok(one, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(one, tess_matrix_share(m, two, &other));
    tess_matrix_destroy(m);
    assert_fails(two, TESS_UNSUPPORTED, tess_matrix_update_values(other, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_matrix_destroy(other);
    tess_context_destroy(one);
    tess_context_destroy(two);
    oracle_free(&a);
}

/* The arrays of a matrix that borrows stay the caller's. */
static void borrowed_arrays_are_shared_too(void **state)
{
    tess_context *one = open_cpu(1), *two = open_cpu(1);
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_csr_arrays arrays = csr_arrays_of(&a);
    int32_t *columns = test_allocate(a.row_ptr[N], sizeof *columns);
    tess_matrix *m = NULL, *other = NULL;

    (void)state;
    memcpy(columns, arrays.col_ind, (size_t)a.row_ptr[N] * sizeof *columns);
    arrays.col_ind = columns;
    arrays.ownership = TESS_BORROW;
    assert_ok(one, tess_matrix_create_csr(one, &arrays, &m));
    assert_ok(one, tess_matrix_share(m, two, &other));
    tess_matrix_destroy(m);
    assert_ptr_equal(tess_matrix_csr_view(other).col_ind, columns);
    assert_ok(two, tess_matrix_update_values(other, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_matrix_destroy(other);
    tess_context_destroy(one);
    tess_context_destroy(two);
    oracle_free(&a);
    free(columns);
}

/* A second matrix of the same context: the arrays count until both are gone. */
static void a_context_shares_with_itself(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(SIDE);
    const int64_t bytes = a.row_ptr[N] * (int64_t)(sizeof(double) + sizeof(int32_t));
    tess_matrix *m = make_matrix(ctx, &a), *second = NULL, *third = NULL, *fresh = NULL;
    double *x = random_values(N, 2, -1.0, 1.0), y[N], expected[N];
    tess_vector *vx = make_vector(ctx, N, x), *vy = make_zeros(ctx, N);

    (void)state;
    assert_ok(ctx, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, vx, 0.0, vy));
    read_vector(vy, expected);
    assert_ok(ctx, tess_matrix_share(m, ctx, &second));
    assert_ptr_equal(tess_matrix_csr_view(m).val, tess_matrix_csr_view(second).val);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_matrix_destroy(m);
    assert_ok(ctx, tess_matrix_share(second, ctx, &third));
    tess_matrix_destroy(second);
    assert_ok(ctx, tess_matrix_spmv(third, TESS_OP_NONE, 1.0, vx, 0.0, vy));
    read_vector(vy, y);
    assert_true(same_bits(y, expected, N));
    fresh = make_matrix(ctx, &a);
    assert_true(tess_context_peak_bytes(ctx) >= 2 * bytes); /* `third` and `fresh` */
    tess_matrix_destroy(third);
    tess_matrix_destroy(fresh);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(x);
}

static int copy(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    y[0] = x[0];
    return 0;
}

static void only_assembled_matrices_are_shared(void **state)
{
    tess_context *one = open_cpu(1), *two = open_cpu(1);
    const tess_shell_operator identity = {.apply = copy};
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_storage_options options;
    tess_matrix *m = make_matrix(one, &a), *stored = NULL, *shell = NULL, *out = NULL;

    (void)state;
    tess_storage_options_init(&options);
    options.format = TESS_FORMAT_SELL;
    assert_ok(one, tess_matrix_convert(m, &options, &stored));
    assert_ok(one, tess_matrix_create_shell(one, 1, 1, &identity, &shell));
    assert_fails(one, TESS_UNSUPPORTED, tess_matrix_share(stored, two, &out));
    assert_fails(one, TESS_UNSUPPORTED, tess_matrix_share(shell, two, &out));
    assert_null(out);
    tess_matrix_destroy(shell);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(one);
    tess_context_destroy(two);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_solve_with_one_matrix),        cmocka_unit_test(the_last_holder_keeps_the_arrays),
        cmocka_unit_test(new_values_need_a_matrix_of_ones_own), cmocka_unit_test(borrowed_arrays_are_shared_too),
        cmocka_unit_test(a_context_shares_with_itself),         cmocka_unit_test(only_assembled_matrices_are_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
