/* SPDX-License-Identifier: Apache-2.0 */
/* The nested solver on a GPU: both engines of the inner iterations give the same bits, and about the host's counts. */
#include "support/solve.h"

static tess_context *gpu = NULL;

static oracle_csr system_of(bool symmetric)
{
    const int edge = (int)on_gpu_or_emulated(60, 12);
    oracle_csr a = symmetric ? oracle_laplace2d(edge) : oracle_convection2d(edge, 1.0);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] *= 1.0 / 3.0;
    }
    return a;
}

/* Graphs of the inner loops are recorded from some iteration on, so that several outer ones replay them. */
static void engines_agree_with_each_other_and_the_host(void **state)
{
    static const char *const preconds[] = {"jacobi", "ilu0", "none"};
    tess_context *host = open_cpu(1);

    (void)state;
    for (int c = 0; c < 6; c++) {
        oracle_csr a = system_of(c % 2 != 0);
        tess_solve_options options = solve_options(TESS_SOLVER_NESTED);
        double *b = random_values(a.nrows, 7, -1.0, 1.0);
        solved graph, plain, here;

        assert_int_equal(tess_precond_options_parse(preconds[c / 2], &options.precond), TESS_SUCCESS);
        graph = solve_here(gpu, &a, &options, b);
        options.engine = TESS_ENGINE_PLAIN;
        plain = solve_here(gpu, &a, &options, b);
        here = solve_here(host, &a, &options, b);
        assert_int_equal(graph.result.reason, TESS_REASON_RTOL);
        assert_true(graph.result.verified);
        check_honest(&a, b, graph.x, &options, &graph.result);
        assert_int_equal(graph.result.escalated, 0);
        assert_int_equal(graph.result.nested.iterations, plain.result.nested.iterations);
        assert_true(same_bits(graph.x, plain.x, a.nrows));
        assert_true(llabs(graph.result.iterations - here.result.iterations) <= 2);
        discard(&graph);
        discard(&plain);
        discard(&here);
        oracle_free(&a);
        free(b);
    }
    tess_context_destroy(host);
}

/* An inner loop that fails stops the outer one, and the guard goes up. */
static void copies_that_lose_all_go_up(void **state)
{
    oracle_csr a = oracle_tridiagonal(60, -1.0, 2.0, -1.0);
    const tess_solve_options options = solve_options(TESS_SOLVER_NESTED);
    double *b = random_values(a.nrows, 7, -1.0, 1.0);
    solved s;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] = 1.0 + (i > 0 && i + 1 < a.nrows) + 0x1p-13; }
        }
    }
    s = solve_here(gpu, &a, &options, b);
    assert_int_equal(s.result.reason, TESS_REASON_RTOL);
    assert_int_equal(s.result.escalated, 1);
    check_honest(&a, b, s.x, &options, &s.result);
    discard(&s);
    oracle_free(&a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(engines_agree_with_each_other_and_the_host),
                                       cmocka_unit_test(copies_that_lose_all_go_up)};

    return run_gpu_tests(tests, &gpu);
}
