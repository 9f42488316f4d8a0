/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES on the GPU: both engines bit for bit, the host's answers, every basis precision, bases longer than a block's
   shared memory holds. */
#include "support/solve.h"

static tess_context *gpu = NULL;

static const char *const preconds[] = {"none", "jacobi", "block-jacobi:5", "polynomial:4"};
enum { PRECONDS = sizeof preconds / sizeof *preconds, WAYS = TESS_ORTHOGONALIZATION_CGS2_DELAYED + 1 };

/* Vectors in FP64, or, with a basis below fp64, in FP32; both ways to orthogonalise: `variant` is one of VARIANTS. */
enum { VARIANTS = 2 * WAYS };

static tess_solve_options gmres_options(int restart, tess_precision basis, int variant)
{
    const bool low = variant >= WAYS && basis != TESS_PRECISION_FP64;
    tess_solve_options options = solve_options(low ? TESS_SOLVER_GMRES_IR : TESS_SOLVER_GMRES);

    options.gmres.restart = restart;
    options.gmres.basis = (tess_role_precision){.given = 1, .storage = basis};
    options.gmres.orthogonalization = (tess_orthogonalization)(variant % WAYS);
    options.max_iterations = 20000;
    return options;
}

static void engines_agree_bit_for_bit(void **state)
{
    oracle_csr a = oracle_convection2d(on_gpu_or_emulated(70, 16), 0.5);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    double *y = test_allocate(a.nrows, sizeof *y);

    (void)state;
    for (int precision = 0; precision < TESS_PRECISION_COUNT; precision++) {
        for (int k = 0; k < PRECONDS * VARIANTS; k++) {
            if (k % on_gpu_or_emulated(1, PRECONDS) != precision % on_gpu_or_emulated(1, PRECONDS)) { continue; }
            tess_solve_options options = gmres_options(30, (tess_precision)precision, k / PRECONDS);
            tess_solve_result graph, plain;

            assert_int_equal(tess_precond_options_parse(preconds[k % PRECONDS], &options.precond), TESS_SUCCESS);
            options.max_iterations = on_gpu_or_emulated(100, 40); /* some cycles; e5m2 would take long */
            options.engine = TESS_ENGINE_GRAPH;
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            graph = solve_once(gpu, &a, &options, b, x);
            options.engine = TESS_ENGINE_PLAIN;
            memset(y, 0, (size_t)a.nrows * sizeof *y);
            plain = solve_once(gpu, &a, &options, b, y);
            assert_int_equal(graph.engine, TESS_ENGINE_GRAPH);
            assert_int_equal(plain.engine, TESS_ENGINE_PLAIN);
            assert_int_equal(graph.reason, plain.reason);
            assert_int_equal(graph.iterations, plain.iterations);
            assert_true(graph.residual_norm == plain.residual_norm);
            assert_true(same_bits(x, y, a.nrows));
            check_honest(&a, b, x, &options, &graph);
        }
    }
    oracle_free(&a);
    free(b);
    free(x);
    free(y);
}

/* Sums are in another order than on the host: about the same number of iterations. Restarts in low precision are
   chaotic: there to within a half. */
static void iterations_are_the_hosts(void **state)
{
    static const int restarts[] = {7, 50, 90}; /* of the last, blocks keep a part */
    oracle_csr a = oracle_convection2d(on_gpu_or_emulated(150, 30), 0.3);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *host = open_cpu(2);

    (void)state;
    for (int r = 0; r < 3 * VARIANTS; r++) {
        for (int precision = TESS_PRECISION_FP64; precision <= TESS_PRECISION_FP16; precision++) {
            if (r % on_gpu_or_emulated(1, 4) != precision % on_gpu_or_emulated(1, 4)) { continue; }
            tess_solve_options options = gmres_options(restarts[r % 3], (tess_precision)precision, r / 3);
            tess_solve_result there, here;

            options.rtol = 1e-8;
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            here = solve_once(host, &a, &options, b, x);
            memset(x, 0, (size_t)a.nrows * sizeof *x);
            there = solve_once(gpu, &a, &options, b, x);
            assert_int_equal(there.reason, TESS_REASON_RTOL);
            check_honest(&a, b, x, &options, &there);
            assert_at_most(fabs((double)(there.iterations - here.iterations)),
                           2.0 + (precision == TESS_PRECISION_FP64 ? 0.1 : 0.5) * (double)here.iterations);
        }
    }
    tess_context_destroy(host);
    oracle_free(&a);
    free(b);
    free(x);
}

/* FGMRES keeps the preconditioned vectors: the host's answers with each preconditioner, vectors in FP64 and FP32. */
static void flexible_iterations_are_the_hosts(void **state)
{
    oracle_csr a = oracle_convection2d(on_gpu_or_emulated(150, 30), 0.3);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *host = open_cpu(2);

    (void)state;
    for (int k = 0; k < 2 * PRECONDS; k++) {
        tess_solve_options options = solve_options(TESS_SOLVER_FGMRES);
        tess_solve_result there, here;

        options.gmres.restart = 30;
        if (k >= PRECONDS) {
            options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
        }
        assert_int_equal(tess_precond_options_parse(preconds[k % PRECONDS], &options.precond), TESS_SUCCESS);
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        here = solve_once(host, &a, &options, b, x);
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        there = solve_once(gpu, &a, &options, b, x);
        assert_int_equal(there.reason, TESS_REASON_RTOL);
        assert_int_equal(there.engine, TESS_ENGINE_PLAIN);
        check_honest(&a, b, x, &options, &there);
        assert_at_most(fabs((double)(there.iterations - here.iterations)),
                       2.0 + (k < PRECONDS ? 0.1 : 0.5) * (double)here.iterations);
    }
    tess_context_destroy(host);
    oracle_free(&a);
    free(b);
    free(x);
}

/* Sizes at and beside the tiles' ends; bases as long as the matrix. */
static void small_systems_are_solved(void **state)
{
    static const int64_t sizes[] = {1, 2, 31, 255, 256, 257, 2049};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        oracle_csr a = oracle_tridiagonal(sizes[s], -1.0, 3.0, -1.5);
        double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);

        for (int k = 0; k < VARIANTS * TESS_PRECISION_COUNT;
             k += (int)on_gpu_or_emulated(1, 1 + (sizes[s] > 2000) * 6)) {
            tess_solve_options options = gmres_options(64, (tess_precision)(k / VARIANTS), k % VARIANTS);
            tess_solve_result result;

            memset(x, 0, (size_t)a.nrows * sizeof *x);
            result = solve_once(gpu, &a, &options, b, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            check_honest(&a, b, x, &options, &result);
        }
        oracle_free(&a);
        free(b);
        free(x);
    }
}

/* The basis goes up to fp64 where a lower one makes no progress, and comes back for the next solve. */
static void breakdowns_are_reported(void **state)
{
    double values[5] = {1.0, 2.0, 0.0, 3.0, 4.0}, b[5] = {1.0, 1.0, 1.0, 1.0, 1.0}, x[5] = {0.0};
    oracle_csr a = oracle_diagonal(5, values);

    (void)state;
    for (int k = 0; k < VARIANTS * TESS_PRECISION_COUNT; k++) {
        tess_solve_options options = gmres_options(50, (tess_precision)(k / VARIANTS), k % VARIANTS);
        tess_solve_result result;

        memset(x, 0, sizeof x);
        result = solve_once(gpu, &a, &options, b, x);
        assert_false(result.converged);
        check_honest(&a, b, x, &options, &result);
    }
    oracle_free(&a);
}

/* Before memory is taken: a basis of this one would be 5 GB. */
static void bases_too_long_are_refused_at_creation(void **state)
{
    oracle_csr a = oracle_tridiagonal(40000, -1.0, 3.0, -1.5);
    tess_matrix *m = make_matrix(gpu, &a);

    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        tess_solve_options options = gmres_options(32000, TESS_PRECISION_FP32, variant);
        tess_solver *solver = NULL;

        assert_fails(gpu, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
        assert_null(solver);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_agree_bit_for_bit),         cmocka_unit_test(iterations_are_the_hosts),
        cmocka_unit_test(flexible_iterations_are_the_hosts), cmocka_unit_test(small_systems_are_solved),
        cmocka_unit_test(breakdowns_are_reported),           cmocka_unit_test(bases_too_long_are_refused_at_creation),
    };

    return run_gpu_tests(tests, &gpu);
}
