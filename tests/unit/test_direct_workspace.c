/* SPDX-License-Identifier: Apache-2.0 */
/* Complete factors whose pivoting takes far more workspace than the analysis foresees. */
#include <tessera/solver.h>

#include "precond/direct/direct.h"
#include "support/precond.h"

enum { NODES = 800 };

/* A tree that grows by preferential attachment, without a diagonal: node i hangs on an end of an earlier edge. Each
   pivot is one of two rows, and hubs delay most of them. */
static oracle_csr tree(void)
{
    oracle_csr a = oracle_open(NODES, NODES);
    int64_t parent[NODES] = {0}, ends[2 * NODES] = {0}, count = 1;
    uint64_t bits = 5;

    for (int64_t i = 1; i < NODES; i++) {
        parent[i] = ends[oracle_random_bits(&bits) % (uint64_t)count];
        ends[count++] = parent[i];
        ends[count++] = i;
    }
    for (int64_t i = 0; i < NODES; i++) {
        if (i > 0) { oracle_push(&a, parent[i], 1.0); }
        for (int64_t j = i + 1; j < NODES; j++) {
            if (parent[j] == i) { oracle_push(&a, j, 1.0); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static tess_precond_options direct_options(tess_precond_kind kind, tess_precision precision)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.role = (tess_role_precision){
        1, precision, precision == TESS_PRECISION_FP32 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};
    return options;
}

/* A z = A 1 has a solution whatever the rank. */
static void solve_with(tess_context *ctx, const oracle_csr *a, tess_precision precision)
{
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_vector *b = NULL, *x = NULL;
    tess_solver *solver = NULL;
    tess_solve_options options;
    tess_solve_result result;

    tess_solve_options_init(&options);
    tess_solve_result_init(&result);
    options.solver = TESS_SOLVER_FGMRES;
    options.rtol = 1e-8;
    options.precond = direct_options(TESS_PRECOND_LU, precision);
    assert_ok(ctx, tess_vector_create(ctx, NODES, TESS_PRECISION_FP64, &b));
    assert_ok(ctx, tess_vector_create(ctx, NODES, TESS_PRECISION_FP64, &x));
    assert_ok(ctx, tess_vector_fill(x, 1.0));
    assert_ok(ctx, tess_matrix_spmv(matrix, TESS_OP_NONE, 1.0, x, 0.0, b));
    assert_ok(ctx, tess_vector_fill(x, 0.0));
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    assert_true(result.verified);
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(matrix);
}

static void workspace_grows_until_it_suffices(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = tree();

    (void)state;
    if (!mumps_is_here()) { skip(); }
    solve_with(ctx, &a, TESS_PRECISION_FP32);
    solve_with(ctx, &a, TESS_PRECISION_FP64);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Within the limit of memory: then it is told as that, and an automatic solve goes on. */
static void workspace_keeps_the_limit_of_memory(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = tree();
    tess_precond_options options = direct_options(TESS_PRECOND_LU, TESS_PRECISION_FP64);
    tess_matrix *matrix = NULL;
    tess_precond *m = NULL;

    (void)state;
    if (!mumps_is_here()) { skip(); }
    matrix = make_matrix(ctx, &a);
    options.direct.memory_limit = 4000000;
    assert_int_equal(tess_precond_create(matrix, &options, &m), TESS_OUT_OF_MEMORY);
    assert_null(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(workspace_grows_until_it_suffices),
                                       cmocka_unit_test(workspace_keeps_the_limit_of_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
