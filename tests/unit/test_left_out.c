/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves with entries that are stored nowhere (policy error-bound by entry). New values put them in; loops that were
 * recorded for the earlier storage are not run again.
 */
#include <tessera/io.h>
#include <tessera/names.h>

#include "matrix/matrix.h"
#include "solver/method_solver.h"
#include "solver/solver.h"
#include "support/product.h"
#include "support/solve.h"

static tess_context *ctx = NULL;

/* A Laplacian whose couplings above the diagonal of every other row are `coupling`, below by symmetry. */
static oracle_csr coupled(double coupling)
{
    oracle_csr a = oracle_laplace2d(12);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            const int64_t j = a.col_ind[k], first = i < j ? i : j;

            if (i != j && first % 2 == 0) { a.val[k] = coupling; }
        }
    }
    return a;
}

static tess_solve_options split_by_entry(tess_engine engine, const char *policy)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    options.engine = engine;
    options.storage.format = TESS_FORMAT_SPLIT;
    options.storage.policy.granularity = TESS_GRANULARITY_ENTRY;
    assert_int_equal(tess_policy_options_parse(policy, &options.storage.policy), TESS_SUCCESS);
    return options;
}

static int64_t left_out(const tess_solver *solver)
{
    const tess_matrix *stored = method_of(solver)->stored;

    return stored ? tess_matrix_assigned_to(stored)->left_out : 0;
}

/* FP32 suffices for the tolerance, so that nothing is refined or repaired: that would end a recording too. */
static void check_engine(tess_engine engine)
{
    oracle_csr weak = coupled(-1e-12), strong = coupled(-0.5);
    const oracle_csr *const systems[] = {&weak, &strong, &weak, &strong};
    tess_solve_options options = split_by_entry(engine, "error-bound:1e-9");
    double *b = random_values(weak.nrows, 3, -1.0, 1.0), *x = test_allocate(2 * weak.nrows, sizeof *x);
    tess_matrix *m = make_matrix(ctx, &weak);
    tess_solver *solver = NULL;

    options.rtol = 1e-4;
    assert_int_equal(tess_precision_levels_parse("fp64,fp32", &options.storage.policy), TESS_SUCCESS);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    assert_true(left_out(solver) > 100);
    for (int turn = 0; turn < 4; turn++) {
        const oracle_csr *a = systems[turn];
        tess_solve_result result;

        assert_ok(ctx, tess_matrix_update_values(m, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        memset(x, 0, 2 * (size_t)a->nrows * sizeof *x);
        result = solve_with(solver, ctx, a->nrows, b, x);
        assert_true(result.converged && result.reason == TESS_REASON_RTOL);
        check_honest(a, b, x, &options, &result);
        assert_int_equal(method_of(solver)->graph != NULL, engine == TESS_ENGINE_GRAPH);
        assert_int_equal(left_out(solver) > 0, turn % 2 == 0);
        result = solve_once(ctx, a, &options, b, x + a->nrows);
        assert_true(same_bits(x, x + a->nrows, a->nrows)); /* as if it had been made for these values */
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    oracle_free(&weak);
    oracle_free(&strong);
    free(b);
    free(x);
}

static void solves_with_new_values_are_those_of_a_new_solver(void **state)
{
    (void)state;
    check_engine(TESS_ENGINE_PLAIN);
    if (tess_context_device(ctx) == TESS_DEVICE_GPU) { check_engine(TESS_ENGINE_GRAPH); }
}

/* All that is stored is in fp64, yet it is not the matrix: the guard knows that fp64 is still to come. With fp64 as the
   only level there is nothing to come, and nothing is left out. */
static void storage_without_an_entry_is_not_exact(void **state)
{
    static const char *const levels[] = {"fp64,fp32", "fp64"};
    oracle_csr a = coupled(-1e-12);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) { /* fp32 has no value as near as the bound asks */
        a.val[k] *= 1.1;
    }
    m = make_matrix(ctx, &a);
    for (int l = 0; l < 2; l++) {
        tess_solve_options options = split_by_entry(TESS_ENGINE_AUTO, "error-bound:1e-9");
        tess_matrix *stored = NULL;
        tess_solve_result result;

        assert_int_equal(tess_precision_levels_parse(levels[l], &options.storage.policy), TESS_SUCCESS);
        assert_ok(ctx, tess_matrix_convert(m, &options.storage, &stored));
        assert_int_equal(tess_matrix_assigned_to(stored)->nonzeros_at[1], 0);
        assert_int_equal(tess_matrix_assigned_to(stored)->left_out > 0, l == 0);
        assert_int_equal(tess_matrix_is_exact(stored), l == 1);
        assert_int_equal(matrix_lowest_precision(stored), l == 0 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
        tess_matrix_destroy(stored);
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_once(ctx, &a, &options, b, x);
        assert_true(result.converged);
        check_honest(&a, b, x, &options, &result);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Below 2^-53 the storage is the matrix; a componentwise bound is a bound on each value's loss. */
static void small_and_componentwise_bounds_are_known_losses(void **state)
{
    oracle_csr a = coupled(-1e-20);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    const tess_solve_options exact = split_by_entry(TESS_ENGINE_AUTO, "error-bound:1e-16");
    const tess_solve_options by_value = split_by_entry(TESS_ENGINE_AUTO, "error-bound:1e-4:componentwise");
    const tess_solve_options by_row = split_by_entry(TESS_ENGINE_AUTO, "error-bound:1e-4");

    (void)state;
    assert_ok(ctx, tess_matrix_convert(m, &exact.storage, &stored));
    assert_true(tess_matrix_is_exact(stored) && tess_matrix_bounded_loss(stored) == 0.0);
    tess_matrix_destroy(stored);
    assert_ok(ctx, tess_matrix_convert(m, &by_value.storage, &stored));
    assert_true(!tess_matrix_is_exact(stored) && tess_matrix_bounded_loss(stored) == 1e-4);
    tess_matrix_destroy(stored);
    assert_ok(ctx, tess_matrix_convert(m, &by_row.storage, &stored));
    assert_true(!tess_matrix_is_exact(stored) && isinf(tess_matrix_bounded_loss(stored)));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

#define LEFT_OUT_TESTS                                                  \
    cmocka_unit_test(solves_with_new_values_are_those_of_a_new_solver), \
        cmocka_unit_test(storage_without_an_entry_is_not_exact),        \
        cmocka_unit_test(small_and_componentwise_bounds_are_known_losses)

#ifndef TESTS_ON_GPU
/* So much is left out that no method gets anywhere with the rest. The solve goes on in fp64 long before its limit. */
static void check_way_out(const char *name, tess_solver_kind solver, tess_precond_kind precond)
{
    tess_solve_options options = split_by_entry(TESS_ENGINE_AUTO, "error-bound:1e-1");
    char path[512];
    tess_matrix *m = NULL;
    tess_solve_result result;
    oracle_csr a;
    double *b, *x;

    (void)snprintf(path, sizeof path, "%s/%s.mtx.gz", TESS_DATA_DIR, name);
    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    a = decode_matrix(m);
    tess_matrix_destroy(m);
    b = random_values(a.nrows, 3, -1.0, 1.0);
    x = test_allocate(a.nrows, sizeof *x);
    options.solver = solver;
    options.precond.kind = precond;
    options.rtol = 1e-8;
    options.max_iterations = 10000;
    result = solve_once(ctx, &a, &options, b, x);
    if (!result.converged) {
        print_message("%s on %s: %s\n", tess_solver_kind_name(solver), name, tess_reason_name(result.reason));
    }
    assert_true(result.converged && result.escalated);
    check_honest(&a, b, x, &options, &result);
    oracle_free(&a);
    free(b);
    free(x);
}

static void fruitless_cycles_end(void **state)
{
    (void)state;
    check_way_out("1138_bus", TESS_SOLVER_CG, TESS_PRECOND_IC0);
    check_way_out("nos3", TESS_SOLVER_MINRES, TESS_PRECOND_NONE);
    check_way_out("1138_bus", TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILU0);
    check_way_out("bcsstk06", TESS_SOLVER_IDR, TESS_PRECOND_ILU0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {LEFT_OUT_TESTS, cmocka_unit_test(fruitless_cycles_end)};

    return run_with_context(open_cpu(2), tests, &ctx);
}
#endif
