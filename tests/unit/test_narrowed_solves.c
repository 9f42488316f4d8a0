/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with partial convergence: counts, scales, and what the guard makes of it. */
#include "support/gallery.h"
#include "support/papers.h"
#include "support/solve.h"
#include "support/test.h"
#include "support/tiles.h"

#include "device/iteration_end.h"
#include "matrix/matrix.h"

/* A Laplacian whose values no lower precision holds, on a long strip, and a load at one end: far from it p stays small
 * for long. */
static oracle_csr make_strip(void)
{
    oracle_csr a = generate_problem(gpu_is_emulated() ? "laplace2d 17 60" : "laplace2d 17 200", 1);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] /= 3.0;
    }
    return a;
}

static double *make_load(const oracle_csr *a)
{
    double *b = random_values(a->nrows, 6, -1.0, 1.0);

    for (int64_t i = 64; i < a->nrows; i++) {
        b[i] = 0.0;
    }
    return b;
}

static tess_solve_options narrowing_options(tess_solver_kind solver, tess_narrowing mode)
{
    tess_solve_options options = solve_options(solver);

    options.storage = resident_lossless("fp64,fp32,fp16,e4m3");
    options.papers = papers_narrowing(mode);
    options.cg.recurrence = TESS_RECURRENCE_STANDARD; /* without narrowing too, whatever the engine */
    return options;
}

static int64_t products_of(const tess_papers_result *r)
{
    int64_t sum = r->tile_products_bypassed;

    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        sum += r->tile_products[p];
    }
    return sum;
}

static int64_t tiles_of_matrix(tess_context *ctx, const oracle_csr *a)
{
    const tess_storage_options options = resident_lossless("fp64");
    tess_matrix *assembled = make_matrix(ctx, a), *stored = convert_tiles(assembled, &options);
    const int64_t tiles = tess_matrix_assigned_to(stored)->items;

    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    return tiles;
}

/* Every product of the iterations is counted; a solve that is narrowed is verified, and takes about as long. */
static void counts_are_those_of_all_products(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *ctx = open_device(2);
    const int64_t tiles = tiles_of_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_JACOBI; precond++) {
            tess_solve_options options = narrowing_options(kinds[k], TESS_NARROWING_OFF);
            solved plain, safe;

            options.precond.kind = (tess_precond_kind)precond;
            plain = solve_here(ctx, &a, &options, b);
            options.papers = papers_narrowing(TESS_NARROWING_SAFE);
            safe = solve_here(ctx, &a, &options, b);
            assert_true(plain.result.converged && safe.result.converged);
            check_honest(&a, b, safe.x, &options, &safe.result);
            assert_int_equal(plain.papers.narrowing, TESS_NARROWING_OFF);
            assert_int_equal(products_of(&plain.papers), 0);
            assert_int_equal(safe.papers.narrowing, TESS_NARROWING_SAFE);
            assert_false(safe.papers.narrowing_misled);
            assert_int_equal(products_of(&safe.papers), (k + 1) * tiles * safe.result.iterations);
            assert_true(safe.papers.tile_products_bypassed > 0 && safe.papers.tile_products[TESS_PRECISION_FP64] > 0 &&
                        safe.papers.tile_products[TESS_PRECISION_FP32] > 0 &&
                        safe.papers.tile_products[TESS_PRECISION_FP16] > 0 &&
                        safe.papers.tile_products[TESS_PRECISION_E4M3] > 0);
            assert_at_most((double)safe.result.iterations, (k == 0 ? 1.05 : 1.25) * (double)plain.result.iterations);
            discard(&plain);
            discard(&safe);
        }
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* 100 iterations whatever converges (Yang et al. 2024, section IV-B): the bounds are those of an epsilon of their own.
   Up to where that tolerance is met, the run is that of the solve; what is skipped later says nothing of a solve. */
static void a_fixed_run_has_an_epsilon_of_its_own(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4; k++) {
        if (gpu_is_emulated() && (k == 1 || k == 2)) { continue; } /* each solver and each mode, not each pair */
        const tess_narrowing mode = k < 2 ? TESS_NARROWING_PAPER : TESS_NARROWING_SAFE;
        tess_papers_solve papers = *papers_narrowing(mode);
        tess_solve_options options = narrowing_options(kinds[k % 2], mode);
        solved to_tolerance, as_long, without, longer;

        options.guard = TESS_GUARD_REPORT;
        options.rtol = 1e-6;
        to_tolerance = solve_here(ctx, &a, &options, b);
        options.rtol = 0.0;
        options.max_iterations = to_tolerance.result.iterations;
        without = solve_here(ctx, &a, &options, b);
        options.papers = &papers;
        papers.narrowing_epsilon = 1e-6;
        as_long = solve_here(ctx, &a, &options, b);
        options.max_iterations = 3 * to_tolerance.result.iterations;
        longer = solve_here(ctx, &a, &options, b);
        assert_int_equal(without.papers.tile_products_bypassed, 0);
        assert_true(to_tolerance.papers.tile_products_bypassed > 0);
        assert_int_equal(as_long.result.iterations, to_tolerance.result.iterations);
        assert_int_equal(as_long.papers.tile_products_bypassed, to_tolerance.papers.tile_products_bypassed);
        assert_memory_equal(as_long.papers.tile_products, to_tolerance.papers.tile_products,
                            sizeof as_long.papers.tile_products);
        assert_true(same_bits(as_long.x, to_tolerance.x, a.nrows));
        assert_true(longer.result.iterations > as_long.result.iterations); /* it may end where all is skipped */
        assert_true(longer.papers.tile_products_bypassed > as_long.papers.tile_products_bypassed + 100);
        discard(&to_tolerance);
        discard(&as_long);
        discard(&without);
        discard(&longer);
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Times 2^k: the same bits, the same counts. */
static void check_invariant(tess_context *ctx, const oracle_csr *a, const double *b, const tess_solve_options *options,
                            int matrix_exponent, int load_exponent)
{
    solved first = solve_here(ctx, a, options, b), other;
    oracle_csr scaled = *a;
    double *load = test_allocate(a->nrows, sizeof *load);

    scaled.val = test_allocate(a->nnz, sizeof *scaled.val);
    for (int64_t k = 0; k < a->nnz; k++) {
        scaled.val[k] = ldexp(a->val[k], matrix_exponent);
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        load[i] = ldexp(b[i], load_exponent);
    }
    other = solve_here(ctx, &scaled, options, load);
    assert_true(first.result.converged && other.result.converged && first.papers.tile_products_bypassed > 0);
    assert_int_equal(first.result.iterations, other.result.iterations);
    assert_memory_equal(first.papers.tile_products, other.papers.tile_products, sizeof first.papers.tile_products);
    assert_int_equal(first.papers.tile_products_bypassed, other.papers.tile_products_bypassed);
    for (int64_t i = 0; i < a->nrows; i++) {
        assert_true(ldexp(first.x[i], load_exponent - matrix_exponent) == other.x[i]);
    }
    discard(&first);
    discard(&other);
    free(scaled.val);
    free(load);
}

static void safe_does_not_know_the_scale(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    oracle_csr a = make_strip();
    double *b = make_load(&a);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int precond = TESS_PRECOND_NONE; precond <= TESS_PRECOND_JACOBI; precond++) {
            tess_solve_options options = narrowing_options(kinds[k], TESS_NARROWING_SAFE);

            options.storage = resident_lossless("fp64"); /* lossless levels do know it */
            options.precond.kind = (tess_precond_kind)precond;
            check_invariant(ctx, &a, b, &options, 40, 0);
            check_invariant(ctx, &a, b, &options, -33, 0);
            check_invariant(ctx, &a, b, &options, 0, 50);
            check_invariant(ctx, &a, b, &options, 20, -60);
        }
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The paper's eps is an absolute number: far above it nothing is narrowed, far below everything is passed over. The
 * guard notices. */
static void paper_knows_the_scale_and_the_guard_knows_better(void **state)
{
    oracle_csr a = make_strip();
    double *b = random_values(a.nrows, 8, 1.0, 2.0), *load = test_allocate(a.nrows, sizeof *load);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = TESS_SOLVER_CG; k <= TESS_SOLVER_BICGSTAB; k++) {
        tess_solve_options options = narrowing_options((tess_solver_kind)k, TESS_NARROWING_PAPER);
        solved plain, s;

        for (int64_t i = 0; i < a.nrows; i++) {
            load[i] = ldexp(b[i], 60);
        }
        s = solve_here(ctx, &a, &options, load);
        options.papers = papers_narrowing(TESS_NARROWING_OFF);
        plain = solve_here(ctx, &a, &options, load);
        assert_true(s.result.converged && !s.papers.narrowing_misled && s.papers.tile_products_bypassed == 0);
        assert_true(same_bits(s.x, plain.x, a.nrows));
        discard(&s);
        for (int64_t i = 0; i < a.nrows; i++) {
            load[i] = ldexp(b[i], -80);
        }
        options.papers = papers_narrowing(TESS_NARROWING_PAPER);
        s = solve_here(ctx, &a, &options, load);
        assert_true(s.result.converged && s.papers.narrowing_misled && s.papers.tile_products_bypassed > 0);
        assert_int_equal(s.result.reason, TESS_REASON_RTOL);
        check_honest(&a, load, s.x, &options, &s.result);
        assert_at_most((double)s.result.iterations, 2.0 + 1.1 * (double)plain.result.iterations);
        discard(&s);
        options.guard = TESS_GUARD_REPORT;
        s = solve_here(ctx, &a, &options, load);
        assert_false(s.result.converged || s.papers.narrowing_misled);
        check_honest(&a, load, s.x, &options, &s.result);
        discard(&s);
        options.guard = TESS_GUARD_REPAIR;
        options.papers = papers_narrowing(TESS_NARROWING_SAFE);
        s = solve_here(ctx, &a, &options, load);
        assert_true(s.result.converged && !s.papers.narrowing_misled);
        discard(&s);
        discard(&plain);
    }
    free(b);
    free(load);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Solves with a load of about 2^exponent everywhere, with `paper`. */
static solved solve_small(tess_context *ctx, const oracle_csr *a, int exponent, double rtol, tess_guard guard)
{
    double *b = random_values(a->nrows, 8, 1.0, 2.0);
    tess_solve_options options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_PAPER);
    solved s;

    for (int64_t i = 0; i < a->nrows; i++) {
        b[i] = ldexp(b[i], exponent);
    }
    options.rtol = rtol;
    options.guard = guard;
    s = solve_here(ctx, a, &options, b);
    check_honest(a, b, s.x, &options, &s.result);
    free(b);
    return s;
}

/* eps is 1e-3 and p at first about 1e-4, so that tiles are in FP16 and FP8 for good before the estimate meets the
   tolerance, which the true residual does not: with tiles in FP8 it is off by several percent of what the solve began
   with. */
static void an_estimate_that_misleads_is_caught(void **state)
{
    oracle_csr a = make_strip();
    tess_context *ctx = open_device(2);
    solved report = solve_small(ctx, &a, -14, 1e-3, TESS_GUARD_REPORT);
    solved repair = solve_small(ctx, &a, -14, 1e-3, TESS_GUARD_REPAIR);

    (void)state;
    assert_int_equal(report.result.reason, TESS_REASON_FALSE_CONVERGENCE);
    assert_true(!report.result.converged && report.result.relative_residual > 2e-3);
    assert_true(repair.result.converged && repair.papers.narrowing_misled && repair.result.refinements == 1);
    discard(&report);
    discard(&repair);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* p falls below eps = 1e-10 while the residual has far to go: tiles are in FP8 or passed over for good, and A p is that
   of no symmetric matrix. The estimate itself stalls, and says nothing that a true residual could contradict. */
static void a_solve_that_stalls_is_misled(void **state)
{
    oracle_csr a = make_strip();
    tess_context *ctx = open_device(2);
    const int64_t limit = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_PAPER).max_iterations;
    solved report = solve_small(ctx, &a, -32, 1e-10, TESS_GUARD_REPORT);
    solved repair = solve_small(ctx, &a, -32, 1e-10, TESS_GUARD_REPAIR);

    (void)state;
    assert_int_equal(report.result.reason, TESS_REASON_ITERATIONS);
    assert_true(!report.result.converged && !report.papers.narrowing_misled);
    assert_true(report.result.relative_residual > 1e-6);
    assert_true(repair.result.converged && repair.papers.narrowing_misled && repair.result.refinements == 1);
    assert_true(repair.result.iterations >= limit / 4); /* it took a while to see */
    discard(&report);
    discard(&repair);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* How many iterations a loop with that stall limit lives through, whose residual norms are these after a first one of
 * 8; -1: all of them. */
static int iterations_until_stalled(uint32_t stall_limit, const double *norms, int count)
{
    tess_loop_state s = {.watch = stall_limit == 0 ? 0 : stall_watch(stall_limit, 0, 3)};

    for (int k = 0; k < count; k++) {
        s.residual_norm = norms[k];
        loop_end_if_stalled(&s, TESS_LOOP_FINISHING);
        if (s.phase != TESS_LOOP_RUNNING) {
            assert_int_equal(s.phase, TESS_LOOP_FINISHING);
            assert_int_equal(s.reason, TESS_REASON_STAGNATION);
            return k;
        }
    }
    return -1;
}

static void stall_limit_ends_without_another_power_of_two(void **state)
{
    static const double slow[] = {7.9, 7.0, 100.0, 4.0, 3.9, 4.0, 0x1p100, 3.0}, even[] = {8.0, 9.0, 15.0, 8.0};
    static const double fast[] = {0x1p-200, 0x1p-500, 0x1p-900, 0x1p-1060};

    (void)state;
    assert_int_equal(iterations_until_stalled(3, slow, 8), 3); /* 7.9 is lower, the next three are not */
    assert_int_equal(iterations_until_stalled(4, slow, 8), -1);
    assert_int_equal(iterations_until_stalled(1, even, 4), 0);
    assert_int_equal(iterations_until_stalled(4, even, 4), 3);
    assert_int_equal(iterations_until_stalled(0, even, 4), -1);
    assert_int_equal(iterations_until_stalled(1, fast, 4), -1);
}

/* A line of 220: the residual is not halved before iteration 107. Nothing is narrowed, and nothing misled. */
static void check_slow(tess_context *ctx, const oracle_csr *a, const char *policy, double rtol)
{
    double *b = random_values(a->nrows, 8, 1.0, 1.5);
    tess_solve_options options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_PAPER);
    solved s;

    for (int64_t i = 0; i < a->nrows; i++) {
        b[i] = ldexp(b[i], 60); /* far above eps, and p with it */
    }
    assert_int_equal(tess_policy_options_parse(policy, &options.storage.policy), TESS_SUCCESS);
    options.rtol = rtol;
    options.max_iterations = 4 * 100; /* a cycle may take 100 to halve its residual */
    s = solve_here(ctx, a, &options, b);
    assert_true(s.result.converged && !s.papers.narrowing_misled && !s.result.escalated);
    assert_int_equal(s.papers.tile_products_bypassed, 0);
    assert_int_equal(s.result.refinements, 1); /* the cycle did end */
    check_honest(a, b, s.x, &options, &s.result);
    discard(&s);
    free(b);
}

/* Values in fp16 that are all off by one factor do not raise the matrix to FP64. */
static void a_matrix_that_is_slow_misleads_nobody(void **state)
{
    oracle_csr a = oracle_tridiagonal(220, -1.0, 2.0, -1.0), thirds = oracle_tridiagonal(220, -1.0, 2.0, -1.0);
    tess_context *ctx = open_device(1);

    (void)state;
    for (int64_t k = 0; k < thirds.nnz; k++) {
        thirds.val[k] /= 3.0;
    }
    check_slow(ctx, &a, "lossless", 1e-10);
    check_slow(ctx, &thirds, "lossless:0.001", 1e-2); /* within the one cycle that follows */
    oracle_free(&a);
    oracle_free(&thirds);
    tess_context_destroy(ctx);
}

/* A second solve with the same handle begins anew, whatever the first came to. */
static void every_solve_begins_anew(void **state)
{
    oracle_csr a = make_strip();
    double *b = random_values(a.nrows, 8, 1.0, 2.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_device(2);
    tess_matrix *m = make_matrix(ctx, &a);
    const tess_solve_options options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_PAPER);
    tess_solve_result result[2];
    tess_papers_result papers[2];
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        b[i] = ldexp(b[i], -80);
    }
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int time = 0; time < 2; time++) {
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result[time] = solve_with(solver, ctx, a.nrows, b, x);
        tess_papers_result_init(&papers[time]);
        assert_ok(ctx, tess_solver_papers_result(solver, &papers[time]));
    }
    assert_true(result[0].converged && papers[0].narrowing_misled && papers[1].narrowing_misled);
    assert_int_equal(result[0].iterations, result[1].iterations);
    assert_int_equal(papers[0].tile_products_bypassed, papers[1].tile_products_bypassed);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    free(b);
    free(x);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    static const tess_solver_kind others[] = {TESS_SOLVER_GMRES, TESS_SOLVER_GMRES_IR};
    oracle_csr a = oracle_laplace2d(8);
    tess_context *ctx = open_device(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_SAFE);
    tess_solver *solver = NULL;
    tess_narrowing mode = TESS_NARROWING_OFF;
    tess_papers_solve papers = *options.papers;

    (void)state;
    options.cg.recurrence = TESS_RECURRENCE_PREDICT_AND_RECOMPUTE;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    options.cg.recurrence = TESS_RECURRENCE_AUTO;
    papers.one_reduction = 1;
    options.papers = &papers;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    options.papers = papers_narrowing(TESS_NARROWING_SAFE);
    options.storage.papers = NULL;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "--layout resident"));
    tess_storage_options_init(&options.storage);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_solver_create(m, &options, &solver));
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        options = narrowing_options(others[k], TESS_NARROWING_SAFE);
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    }
    options = narrowing_options(TESS_SOLVER_CG, TESS_NARROWING_SAFE);
    papers = (tess_papers_solve){.size = sizeof papers, .narrowing = (tess_narrowing)9};
    options.papers = &papers;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    assert_null(solver);
    assert_int_equal(tess_narrowing_parse("safe", &mode), TESS_SUCCESS);
    assert_int_equal(mode, TESS_NARROWING_SAFE);
    assert_int_equal(tess_narrowing_parse("unsafe", &mode), TESS_INVALID_ARGUMENT);
    assert_string_equal(tess_narrowing_name(TESS_NARROWING_PAPER), "paper");
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* What stands here, for a GPU too. */
#define NARROWED_SOLVES                                                                                           \
    cmocka_unit_test(counts_are_those_of_all_products), cmocka_unit_test(a_fixed_run_has_an_epsilon_of_its_own),  \
        cmocka_unit_test(safe_does_not_know_the_scale),                                                           \
        cmocka_unit_test(paper_knows_the_scale_and_the_guard_knows_better),                                       \
        cmocka_unit_test(an_estimate_that_misleads_is_caught), cmocka_unit_test(every_solve_begins_anew),         \
        cmocka_unit_test(stall_limit_ends_without_another_power_of_two),                                          \
        cmocka_unit_test(a_solve_that_stalls_is_misled), cmocka_unit_test(a_matrix_that_is_slow_misleads_nobody), \
        cmocka_unit_test(what_cannot_be_is_refused)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        NARROWED_SOLVES,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
