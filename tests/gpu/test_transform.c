/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings and transformed solves of matrices on the GPU. */
#include "support/product.h"
#include "support/solve.h"

enum { K = 20, N = K * K };

static tess_context *gpu = NULL;

/* Rows in another order, half of them 2^-20 of the others. */
static oracle_csr disguised_system(void)
{
    oracle_csr a = oracle_convection2d(K, 1.0), b = oracle_open(N, N);

    for (int64_t i = 0; i < N; i++) {
        int64_t r = (i + N / 2) % N;

        for (int64_t k = a.row_ptr[r]; k < a.row_ptr[r + 1]; k++) {
            oracle_push(&b, a.col_ind[k], a.val[k] * (i % 2 ? 1.0 : 0x1p-20));
        }
        oracle_end_row(&b, i);
    }
    oracle_free(&a);
    return b;
}

static void orderings_are_those_of_the_host(void **state)
{
    oracle_csr a = disguised_system(), results[2];
    int32_t rows[2][N], rcm[2][N];
    double u[2][N], v[2][N];
    tess_context *cpu = open_cpu(2), *contexts[2] = {cpu, gpu};

    (void)state;
    for (int c = 0; c < 2; c++) {
        tess_matrix *m = make_matrix(contexts[c], &a), *b = NULL;

        assert_ok(contexts[c], tess_order_max_product(m, rows[c], u[c], v[c]));
        assert_ok(contexts[c], tess_order_rcm(m, rcm[c]));
        assert_ok(contexts[c], tess_matrix_reorder(m, rows[c], rcm[c], u[c], v[c], &b));
        assert_ptr_equal(tess_matrix_context(b), contexts[c]);
        results[c] = decode_matrix(b);
        tess_matrix_destroy(b);
        tess_matrix_destroy(m);
    }
    assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
    assert_memory_equal(rcm[0], rcm[1], sizeof rcm[0]);
    assert_true(same_bits(u[0], u[1], N) && same_bits(v[0], v[1], N));
    assert_memory_equal(results[0].row_ptr, results[1].row_ptr, (N + 1) * sizeof(int64_t));
    assert_memory_equal(results[0].col_ind, results[1].col_ind, (size_t)a.nnz * sizeof(int32_t));
    assert_true(same_bits(results[0].val, results[1].val, a.nnz));
    oracle_free(&results[0]);
    oracle_free(&results[1]);
    oracle_free(&a);
    tess_context_destroy(cpu);
}

static void transformed_solves_are_honest(void **state)
{
    static const tess_engine engines[] = {TESS_ENGINE_PLAIN, TESS_ENGINE_GRAPH};
    oracle_csr a = disguised_system();
    double *b = random_values(N, 3, -1.0, 1.0);

    (void)state;
    for (int c = 0; c < 8; c++) {
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        double x[N] = {0.0};
        tess_solve_result result;

        options.scale = TESS_SCALING_MAX_PRODUCT;
        options.reorder = c & 1 ? TESS_REORDERING_RCM : TESS_REORDERING_NONE;
        options.engine = engines[c / 2 % 2];
        options.storage.precision = c < 4 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;
        options.precond.kind = TESS_PRECOND_JACOBI;
        result = solve_once(gpu, &a, &options, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.converged);
        assert_int_equal(result.engine, options.engine);
        assert_int_equal(result.reorder, options.reorder);
    }
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orderings_are_those_of_the_host),
        cmocka_unit_test(transformed_solves_are_honest),
    };

    return run_gpu_tests(tests, &gpu);
}
