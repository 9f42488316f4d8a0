/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with partial convergence on the GPU: the tests of the host, and both engines. */
#define TESTS_ON_GPU
#include "../unit/test_narrowed_solves.c" /* the same tests, in another context */

/* Graph and plain: the same bits and counts, whether the guard has to step in or not. */
static void engines_agree(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *ctx = open_device(0);

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int mode = TESS_NARROWING_PAPER; mode <= TESS_NARROWING_SAFE; mode++) {
            for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_BLOCK_JACOBI; precond++) {
                if (gpu_is_emulated() && (precond + mode) % 2 == k) { continue; }
                tess_solve_options options = narrowing_options(kinds[k], (tess_narrowing)mode);
                solved s[2];

                options.precond.kind = (tess_precond_kind)precond;
                for (int e = 0; e < 2; e++) {
                    options.engine = e == 0 ? TESS_ENGINE_PLAIN : TESS_ENGINE_GRAPH;
                    s[e] = solve_here(ctx, &a, &options, b);
                    assert_int_equal(s[e].result.engine, options.engine);
                    check_honest(&a, b, s[e].x, &options, &s[e].result);
                }
                assert_int_equal(s[0].result.iterations, s[1].result.iterations);
                assert_int_equal(s[0].papers.narrowing_misled, s[1].papers.narrowing_misled);
                assert_memory_equal(s[0].papers.tile_products, s[1].papers.tile_products,
                                    sizeof s[0].papers.tile_products);
                assert_int_equal(s[0].papers.tile_products_bypassed, s[1].papers.tile_products_bypassed);
                assert_true(same_bits(s[0].x, s[1].x, a.nrows));
                discard(&s[0]);
                discard(&s[1]);
            }
        }
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* One kernel adds up in another order: in its first iterations no magnitude is near enough to a bound for that to show,
   and each tile is used as in the plain engine. Whole solves take about as long, narrow about as much, and have the
   same bits each time. */
static void check_one_kernel(tess_context *ctx, const oracle_csr *a, int64_t tiles, const double *b,
                             tess_solve_options options)
{
    solved single, again, plain;

    options.engine = TESS_ENGINE_SINGLE_KERNEL;
    single = solve_here(ctx, a, &options, b);
    again = solve_here(ctx, a, &options, b);
    assert_int_equal(single.result.engine, TESS_ENGINE_SINGLE_KERNEL);
    assert_int_equal(single.result.cg.recurrence, TESS_RECURRENCE_STANDARD);
    assert_true(same_bits(single.x, again.x, a->nrows));
    assert_memory_equal(single.papers.tile_products, again.papers.tile_products, sizeof again.papers.tile_products);
    assert_int_equal(single.papers.tile_products_bypassed, again.papers.tile_products_bypassed);
    check_honest(a, b, single.x, &options, &single.result);
    options.engine = TESS_ENGINE_PLAIN;
    plain = solve_here(ctx, a, &options, b);
    assert_int_equal(single.result.reason, plain.result.reason);
    assert_int_equal(single.papers.narrowing_misled, plain.papers.narrowing_misled);
    if (options.max_iterations < 100) {
        assert_true(plain.papers.tile_products_bypassed > 0); /* the load is at one end: it narrows from the start */
        assert_int_equal(single.result.iterations, plain.result.iterations);
        assert_memory_equal(single.papers.tile_products, plain.papers.tile_products, sizeof plain.papers.tile_products);
        assert_int_equal(single.papers.tile_products_bypassed, plain.papers.tile_products_bypassed);
    } else if (options.solver == TESS_SOLVER_CG) { /* iterations of BiCGSTAB vary with any rounding */
        assert_at_most(fabs((double)(single.result.iterations - plain.result.iterations)),
                       2.0 + (double)plain.result.iterations / 20.0);
        assert_at_most(fabs((double)(single.papers.tile_products_bypassed - plain.papers.tile_products_bypassed)),
                       0.1 * (double)products_of(&plain.papers));
    }
    if (single.result.refinements == 0) {
        assert_int_equal(products_of(&single.papers),
                         (options.solver == TESS_SOLVER_CG ? 1 : 2) * tiles * single.result.iterations);
    }
    discard(&single);
    discard(&again);
    discard(&plain);
}

static void one_kernel_narrows_alike(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    static const int64_t limits[] = {1, 2, 15, 2000};
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *ctx = open_device(0);
    const int64_t tiles = tiles_of_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int mode = TESS_NARROWING_PAPER; mode <= TESS_NARROWING_SAFE; mode++) {
            for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_JACOBI; precond++) {
                for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
                    if (gpu_is_emulated() && limits[l] > 100 && precond + mode != k + 1) { continue; }
                    tess_solve_options options = narrowing_options(kinds[k], (tess_narrowing)mode);

                    options.precond.kind = (tess_precond_kind)precond;
                    options.max_iterations = limits[l];
                    check_one_kernel(ctx, &a, tiles, b, options);
                }
            }
        }
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Over the whole device. b is small enough for `paper` to mislead: the guard goes on in the same engine. */
static void one_kernel_narrows_on_the_whole_device(void **state)
{
    static const char *const problems[] = {"laplace2d 131 133", "laplace2d 200 201"};
    const size_t count = gpu_is_emulated() ? 1 : sizeof problems / sizeof *problems; /* what fits */
    tess_context *ctx = open_device(0);

    (void)state;
    for (size_t m = 0; m < count; m++) {
        oracle_csr a = generate_problem(gpu_is_emulated() ? "laplace2d 70 71" : problems[m], 1);
        double *b = random_values(a.nrows, 8, 1.0, 2.0);

        for (int64_t i = 0; i < a.nrows; i++) {
            b[i] = ldexp(b[i], -80);
        }
        for (int mode = TESS_NARROWING_PAPER; mode <= TESS_NARROWING_SAFE; mode++) {
            tess_solve_options options = narrowing_options(TESS_SOLVER_CG, (tess_narrowing)mode);

            options.engine = TESS_ENGINE_SINGLE_KERNEL;
            solved s = solve_here(ctx, &a, &options, b);

            assert_int_equal(s.result.engine, TESS_ENGINE_SINGLE_KERNEL);
            assert_true(s.result.converged);
            assert_int_equal(s.papers.narrowing_misled, mode == TESS_NARROWING_PAPER);
            assert_true(mode == TESS_NARROWING_SAFE || s.papers.tile_products_bypassed > 0);
            check_honest(&a, b, s.x, &options, &s.result);
            discard(&s);
        }
        free(b);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* On the host and on the GPU the sums of an iteration are rounded otherwise, and levels at a bound may fall otherwise:
   about as many iterations, about as many products of each kind. */
static void host_and_gpu_narrow_alike(void **state)
{
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *contexts[2] = {open_cpu(2), open_device(0)};
    const tess_solve_options options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_SAFE);
    solved s[2];

    (void)state;
    for (int d = 0; d < 2; d++) {
        s[d] = solve_here(contexts[d], &a, &options, b);
        assert_true(s[d].result.converged && !s[d].papers.narrowing_misled);
        check_honest(&a, b, s[d].x, &options, &s[d].result);
    }
    assert_at_most(fabs((double)(s[0].result.iterations - s[1].result.iterations)), 3.0);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        assert_at_most(fabs((double)(s[0].papers.tile_products[p] - s[1].papers.tile_products[p])),
                       0.03 * (double)products_of(&s[0].papers));
    }
    for (int d = 0; d < 2; d++) {
        discard(&s[d]);
        tess_context_destroy(contexts[d]);
    }
    free(b);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NARROWED_SOLVES,
        cmocka_unit_test(engines_agree),
        cmocka_unit_test(one_kernel_narrows_alike),
        cmocka_unit_test(one_kernel_narrows_on_the_whole_device),
        cmocka_unit_test(host_and_gpu_narrow_alike),
    };

    return run_gpu_tests(tests, NULL);
}
