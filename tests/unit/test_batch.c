/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of systems: each one's answer against the oracle, bad ones beside good ones, and what a batch refuses. */
#include <tessera/names.h>
#include <tessera/options.h>

#include "support/batches.h"

enum { SIDE = 10, N = SIDE * SIDE, SYSTEMS = 12 };

static tess_context *ctx;

/* ---- answers ---- */

static void every_method_solves_every_system(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_AUTO, TESS_PRECOND_NONE, TESS_PRECOND_JACOBI};

    (void)state;
    for (int k = 0; k < 6; k++) {
        const tess_solver_kind kind = k < 3 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB;
        const tess_solve_options options = options_of(kind, kinds[k % 3]);
        batch_of q = make_batch(ctx, k < 3 ? oracle_laplace2d(SIDE) : oracle_convection2d(SIDE, 2.0),
                                on_gpu_or_emulated(SYSTEMS, 4));

        solve_systems(&q, &options);
        check_solved(&q, &options);
        assert_int_equal(q.results[0].solver, kind);
        discard_batch(&q);
    }
}

/* A diagonal of one sign is no proof that a matrix is definite. */
static void auto_takes_cg_where_it_fits_and_bicgstab_else(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_AUTO, TESS_PRECOND_AUTO);
    batch_of q = make_batch(ctx, oracle_laplace2d(SIDE), 6);
    const oracle_csr a = q.a;

    (void)state;
    q.val[a.nnz + 1] *= 1.5; /* system 1: not symmetric */
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] != i) { continue; }
            q.val[2 * a.nnz + k] = -9.0; /* system 2: the diagonal dominates, of both signs */
            if (i % 2 == 0) { q.val[2 * a.nnz + k] = 9.0; }
            q.val[3 * a.nnz + k] = 0.75; /* system 3: indefinite */
        }
    }
    for (int64_t k = 4 * a.nnz; k < 5 * a.nnz; k++) {
        q.val[k] = -q.val[k]; /* system 4: negative definite */
    }
    solve_systems(&q, &options);
    for (int64_t s = 0; s < q.systems; s++) {
        check_system(&q, &options, s);
        assert_true(s == 3 || q.results[s].verified);
        assert_int_equal(q.results[s].solver, s >= 1 && s <= 3 ? TESS_SOLVER_BICGSTAB : TESS_SOLVER_CG);
    }
    assert_true(q.results[3].reason == TESS_REASON_RTOL || q.results[3].reason < 0);
    discard_batch(&q);
}

static void an_initial_guess_is_used(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_JACOBI);
    batch_of q = make_batch(ctx, oracle_laplace2d(SIDE), 3);
    double *before = test_allocate(3 * N, sizeof *before);

    (void)state;
    solve_systems(&q, &options);
    memcpy(before, q.x, (size_t)(3 * N) * sizeof *before);
    memset(q.x, 0, N * sizeof *q.x);
    options.rtol = 1e-9;
    solve_systems(&q, &options);
    assert_true(q.results[0].iterations > 0 && q.results[0].verified);
    for (int s = 1; s < 3; s++) {
        assert_int_equal(q.results[s].iterations, 0);
        assert_true(q.results[s].verified);
    }
    assert_true(same_bits(q.x + N, before + N, 2 * N));
    free(before);
    discard_batch(&q);
}

/* Values and right-hand sides near the ends of FP64's range. */
static void any_scale_is_solved(void **state)
{
    static const int exponents[][2] = {{-500, -1000}, {500, 1000}, {0, -1000}, {0, 800}};
    const tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_JACOBI);
    batch_of q = make_batch(ctx, oracle_laplace2d(SIDE), 4);

    (void)state;
    for (int64_t s = 0; s < 4; s++) {
        for (int64_t k = s * q.a.nnz; k < (s + 1) * q.a.nnz; k++) {
            q.val[k] = ldexp(q.val[k], exponents[s][0]);
        }
        for (int64_t i = s * N; i < (s + 1) * N; i++) {
            q.b[i] = ldexp(q.b[i], exponents[s][1]);
        }
    }
    solve_systems(&q, &options);
    check_solved(&q, &options);
    discard_batch(&q);
}

/* The norm of scaled rows, where rows are of very different size: they are at most 1e-10 there too. */
static void each_stop_norm_is_met(void **state)
{
    static const tess_stop_norm norms[] = {TESS_STOP_NORM_GIVEN, TESS_STOP_NORM_ROWS, TESS_STOP_NORM_BOTH};

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_solve_options options = options_of(TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI);
        batch_of q = make_batch(ctx, oracle_convection2d(SIDE, 2.0), 2);
        oracle_csr scaled = oracle_copy(&q.a);
        double b[N];

        options.stop_norm = norms[k];
        for (int64_t i = 0; i < N; i++) {
            const int e = oracle_power(i, 12);

            for (int64_t j = q.a.row_ptr[i]; j < q.a.row_ptr[i + 1]; j++) {
                q.val[j] = ldexp(q.val[j], e);
            }
            q.b[i] = ldexp(q.b[i], e);
        }
        solve_systems(&q, &options);
        for (int64_t i = 0; i < N; i++) {
            double largest = 0.0;

            for (int64_t j = q.a.row_ptr[i]; j < q.a.row_ptr[i + 1]; j++) {
                largest = fmax(largest, fabs(q.val[j]));
            }
            for (int64_t j = q.a.row_ptr[i]; j < q.a.row_ptr[i + 1]; j++) {
                scaled.val[j] = q.val[j] / largest;
            }
            b[i] = q.b[i] / largest;
        }
        assert_true(q.results[0].converged);
        if (norms[k] != TESS_STOP_NORM_ROWS) { check_system(&q, &options, 0); }
        if (norms[k] != TESS_STOP_NORM_GIVEN) {
            const double bound = (double)oracle_norm2(b, N) * 1e-10;

            assert_at_most((double)oracle_residual_norm(&scaled, b, q.x), bound * (1.0 + 1e-12));
            assert_true(norms[k] == TESS_STOP_NORM_ROWS || q.results[0].verified);
        }
        oracle_free(&scaled);
        discard_batch(&q);
    }
}

/* Estimates that go far below what FP64 can give are found out: Hilbert's matrix, and a tolerance of 0. */
static void no_estimate_is_believed(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);

    (void)state;
    for (int k = 0; k < 3; k++) {
        batch_of q = make_batch(ctx, k == 0 ? oracle_hilbert(12) : oracle_laplace2d(4), 3);

        options.rtol = k == 0 ? 1e-15 : k == 1 ? 0.0 : 1e-17;
        options.max_iterations = 300;
        solve_systems(&q, &options);
        for (int64_t s = 0; s < q.systems; s++) {
            check_system(&q, &options, s);
            assert_false(q.results[s].verified && q.results[s].residual_norm > 0.0);
            if (k == 0) { continue; }
            assert_true(q.results[s].relative_residual < 1e-14);
            assert_true(q.results[s].refinements > 0);
        }
        discard_batch(&q);
    }
}

/* From x of 1e12 the first cycle has to cancel that many digits, and its estimate cannot tell what is lost: the second
   one begins with the true residual. */
static void a_wrong_estimate_is_mended(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_solve_options options =
            options_of(k == 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI);
        batch_of q = make_batch(ctx, k == 0 ? oracle_laplace2d(SIDE) : oracle_convection2d(SIDE, 2.0), 2);

        for (int64_t i = 0; i < 2 * N; i++) {
            q.x[i] = ((double)(i % 3) - 1.25) * 1e12;
        }
        solve_systems(&q, &options);
        check_solved(&q, &options);
        assert_true(q.results[0].refinements > 0 && q.results[1].refinements > 0);
        discard_batch(&q);
    }
}

static void an_exact_x_of_tolerance_zero_is_a_happy_breakdown(void **state)
{
    static const double diagonal[] = {2.0, 4.0, 8.0, 2.0};
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_JACOBI);
    batch_of q = make_batch(ctx, oracle_diagonal(4, diagonal), 1);

    (void)state;
    for (int i = 0; i < 4; i++) {
        q.b[i] = 1.0 + i;
    }
    options.rtol = 0.0;
    solve_systems(&q, &options);
    assert_int_equal(q.results[0].reason, TESS_REASON_HAPPY_BREAKDOWN);
    assert_true(q.results[0].verified && q.results[0].residual_norm == 0.0);
    options.atol = 1e-3;
    memset(q.x, 0, 4 * sizeof *q.x);
    solve_systems(&q, &options);
    assert_int_equal(q.results[0].reason, TESS_REASON_ATOL);
    discard_batch(&q);
}

/* ---- bad systems ---- */

enum { ZERO_DIAGONAL = 1, NAN_VALUE = 3, NAN_RHS = 4, ZERO_RHS = 5, INDEFINITE = 7, ASYMMETRIC = 8, INF_GUESS = 9 };

static void spoil(const batch_of *q)
{
    const oracle_csr *a = &q->a;

    q->val[ZERO_DIAGONAL * a->nnz + diagonal_at(a, 17)] = 0.0;
    q->val[NAN_VALUE * a->nnz + 5] = (double)NAN;
    q->b[NAN_RHS * N + 3] = (double)NAN;
    memset(q->b + (int64_t)ZERO_RHS * N, 0, N * sizeof *q->b);
    q->x[ZERO_RHS * N + 8] = 1.0;
    for (int64_t i = 0; i < N; i++) {
        q->val[INDEFINITE * a->nnz + diagonal_at(a, i)] = 1.5;
    }
    q->val[ASYMMETRIC * a->nnz + 1] *= 2.0;
    q->x[INF_GUESS * N] = (double)INFINITY;
}

static bool is_spoilt(int64_t s)
{
    static const int bad[] = {ZERO_DIAGONAL, NAN_VALUE, NAN_RHS, ZERO_RHS, INDEFINITE, ASYMMETRIC, INF_GUESS};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i] == s) { return true; }
    }
    return false;
}

static void bad_systems_leave_the_others_unharmed(void **state)
{
    static const int reasons[][2] = {
        {ZERO_DIAGONAL, TESS_REASON_PRECOND_SETUP}, {NAN_VALUE, TESS_REASON_NAN_OR_INF},
        {NAN_RHS, TESS_REASON_NAN_OR_INF},          {INDEFINITE, TESS_REASON_INDEFINITE_MATRIX},
        {ASYMMETRIC, TESS_REASON_NONSYMMETRIC},     {INF_GUESS, TESS_REASON_NAN_OR_INF}};
    const tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_JACOBI);
    batch_of good = make_batch(ctx, oracle_laplace2d(SIDE), SYSTEMS),
             q = make_batch(ctx, oracle_laplace2d(SIDE), SYSTEMS);

    (void)state;
    solve_systems(&good, &options);
    spoil(&q);
    solve_systems(&q, &options);
    for (int64_t s = 0; s < SYSTEMS; s++) {
        if (is_spoilt(s)) { continue; }
        assert_true(same_bits(good.x + s * N, q.x + s * N, N));
        assert_memory_equal(&good.results[s], &q.results[s], sizeof *q.results);
    }
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const tess_batch_result *r = &q.results[reasons[i][0]];

        assert_int_equal(r->reason, reasons[i][1]);
        assert_false(r->converged || r->verified);
    }
    assert_true(q.results[ZERO_RHS].verified && q.results[ZERO_RHS].iterations == 0);
    for (int i = 0; i < N; i++) {
        assert_true(q.x[ZERO_RHS * N + i] == 0.0 && q.x[ZERO_DIAGONAL * N + i] == 0.0);
    }
    discard_batch(&good);
    discard_batch(&q);
}

/* A matrix of zeros, with a pattern and without; a system that x = 0 cannot leave; a limit. */
static void systems_without_a_solution_say_why(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE);
    batch_of q = make_batch(ctx, oracle_tridiagonal(20, -1.0, 2.0, -1.0), 3);

    (void)state;
    memset(q.val, 0, (size_t)q.a.nnz * sizeof *q.val);
    for (int64_t i = 0; i < 20; i++) {
        q.val[q.a.nnz + diagonal_at(&q.a, i)] = i == 4 ? 0.0 : 1.0;
    }
    for (int64_t k = q.a.nnz; k < 2 * q.a.nnz; k++) {
        q.val[k] = q.val[k] < 0.0 ? 0.0 : q.val[k];
    }
    solve_systems(&q, &options);
    for (int s = 0; s < 3; s++) {
        check_system(&q, &options, s);
        assert_int_equal(q.results[s].verified, s == 2);
    }
    assert_int_equal(q.results[0].reason, TESS_REASON_BREAKDOWN);
    options.max_iterations = 2;
    memset(q.x, 0, 60 * sizeof *q.x);
    solve_systems(&q, &options);
    assert_int_equal(q.results[2].reason, TESS_REASON_ITERATIONS);
    assert_int_equal(q.results[2].iterations, 2);
    options.max_iterations = 0;
    solve_systems(&q, &options);
    assert_int_equal(q.results[2].reason, TESS_REASON_ITERATIONS);
    options.solver = TESS_SOLVER_CG;
    options.max_iterations = 50;
    solve_systems(&q, &options);
    assert_int_equal(q.results[0].reason, TESS_REASON_BREAKDOWN);
    options.divergence_tolerance = 1e-3;
    memset(q.x, 0, 60 * sizeof *q.x);
    solve_systems(&q, &options);
    assert_int_equal(q.results[2].reason, TESS_REASON_DIVERGENCE);
    discard_batch(&q);
}

static void batches_of_nothing_are_solved(void **state)
{
    static const int64_t zero[] = {0};
    batch_of q = make_batch(ctx, oracle_with_empty_rows(200), 2);
    tess_batch batch = arrays_of(&q);

    (void)state;
    batch.systems = 0;
    batch.val = batch.b = NULL;
    batch.x = NULL;
    assert_ok(ctx, tess_batch_solve(ctx, &batch, NULL, NULL));
    batch = arrays_of(&q);
    batch.n = batch.nnz = 0;
    batch.row_ptr = zero;
    batch.col_ind = NULL;
    assert_ok(ctx, tess_batch_solve(ctx, &batch, NULL, q.results));
    assert_true(q.results[1].verified && q.results[1].reason == TESS_REASON_RTOL);
    solve_systems(&q, NULL); /* singular: whatever comes of it is honest */
    assert_false(q.results[0].converged);
    assert_true(q.results[0].reason < 0);
    discard_batch(&q);
}

/* ---- ends from outside ---- */

static int says_stop(void *user)
{
    (void)user;
    return 1;
}

static void limits_and_interrupts_end_a_batch(void **state)
{
    static volatile int flag = 1;
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);
    batch_of q = make_batch(ctx, oracle_tridiagonal(60, -1.0, 2.0, -1.0), 3);

    (void)state;
    options.time_limit = 1e-9;
    solve_systems(&q, &options);
    for (int s = 0; s < 3; s++) {
        assert_int_equal(q.results[s].reason, TESS_REASON_TIME_LIMIT);
        assert_int_equal(q.results[s].solver, TESS_SOLVER_AUTO);
        assert_true(isnan(q.results[s].residual_norm) && q.x[s * 60] == 0.0);
    }
    options.time_limit = 1000.0;
    solve_systems(&q, &options);
    check_solved(&q, &options);
    assert_ok(ctx, tess_context_set_interrupt(ctx, &flag));
    solve_systems(&q, &options);
    assert_int_equal(q.results[0].reason, TESS_REASON_INTERRUPTED);
    assert_ok(ctx, tess_context_set_interrupt(ctx, NULL));
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, says_stop, NULL));
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, NULL, NULL));
    memset(q.x, 0, 180 * sizeof *q.x);
    solve_systems(&q, NULL);
    assert_true(q.results[2].verified);
    discard_batch(&q);
}

/* ---- what a batch refuses ---- */

static void wrong_arrays_are_refused(void **state)
{
    static const int32_t unsorted[] = {1, 0, 1}, negative[] = {0, -1, 1}, fine[] = {0, 1, 1};
    static const int64_t offsets[] = {0, 2, 3}, far[] = {0, INT64_C(1) << 40, 3};
    static const double val[3] = {1.0}, b[2] = {1.0};
    double x[2] = {0.0};
    tess_batch_result result;
    const batch_of q = {.ctx = ctx, .results = &result};
    tess_batch batch = {.size = sizeof batch,
                        .systems = 1,
                        .n = 2,
                        .nnz = 3,
                        .row_ptr = offsets,
                        .col_ind = fine,
                        .row_ptr_bits = 64,
                        .col_ind_bits = 32,
                        .val = val,
                        .b = b,
                        .x = x};
    tess_batch wrong = batch;

    (void)state;
    wrong.col_ind = unsorted;
    refuse_batch(&q, wrong, NULL, TESS_OUT_OF_RANGE, "row 0");
    wrong.col_ind = negative;
    refuse_batch(&q, wrong, NULL, TESS_OUT_OF_RANGE, "row 0");
    wrong = batch;
    wrong.row_ptr = far;
    refuse_batch(&q, wrong, NULL, TESS_OUT_OF_RANGE, "row 0");
    wrong = batch;
    wrong.row_ptr_bits = 16;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "incomplete");
    wrong = batch;
    wrong.b = NULL;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "incomplete");
    wrong = batch;
    wrong.x = (double *)(uintptr_t)b;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "same array");
    wrong = batch;
    wrong.nnz = INT64_C(1) << 31;
    refuse_batch(&q, wrong, NULL, TESS_OUT_OF_RANGE, "2147483648 nonzeros");
    wrong = batch;
    wrong.where = (tess_memory)7;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "tess_batch.where");
    wrong = batch;
    wrong.pattern_where = (tess_memory)7;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "tess_batch.pattern_where");
    wrong = batch;
    wrong.size = 0;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "tess_batch");
#ifndef TESTS_ON_GPU
    wrong = batch;
    wrong.pattern_where = TESS_MEMORY_DEVICE;
    refuse_batch(&q, wrong, NULL, TESS_INVALID_ARGUMENT, "device memory");
#endif
}

static int never(void *user, const tess_progress *progress)
{
    (void)user;
    (void)progress;
    return 0;
}

static void options_without_effect_are_refused(void **state)
{
    batch_of q = make_batch(ctx, oracle_laplace2d(3), 1);
    const tess_batch batch = arrays_of(&q);
    tess_solve_options o = options_of(TESS_SOLVER_MINRES, TESS_PRECOND_NONE);

    (void)state;
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "solver minres");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_IC0);
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "precond ic0");
    o = options_of(TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE);
    o.gmres.restart = 20;
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "the option restart");
    o = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_NONE);
    o.gmres.restart = 0;
    refuse_batch(&q, batch, &o, TESS_INVALID_ARGUMENT, "0 vectors");
    o = options_of(TESS_SOLVER_GMRES, TESS_PRECOND_NONE);
    o.gmres.basis = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "the option basis-precision");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_ILU0);
    o.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "the option precond-precision");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);
    o.engine = TESS_ENGINE_PLAIN;
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "the option engine");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);
    o.storage.precision = TESS_PRECISION_FP32;
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "the option matrix-precision");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_JACOBI);
    o.stop_norm = TESS_STOP_NORM_PRECONDITIONED;
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "stop-norm");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);
    o.monitor = never;
    refuse_batch(&q, batch, &o, TESS_UNSUPPORTED, "monitor");
    o = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);
    o.rtol = -1.0;
    refuse_batch(&q, batch, &o, TESS_INVALID_ARGUMENT, "rtol -1");
    discard_batch(&q);
}

#define BATCH_TESTS                                                                                                    \
    cmocka_unit_test(every_method_solves_every_system),                                                                \
        cmocka_unit_test(auto_takes_cg_where_it_fits_and_bicgstab_else), cmocka_unit_test(an_initial_guess_is_used),   \
        cmocka_unit_test(any_scale_is_solved), cmocka_unit_test(each_stop_norm_is_met),                                \
        cmocka_unit_test(no_estimate_is_believed), cmocka_unit_test(a_wrong_estimate_is_mended),                       \
        cmocka_unit_test(an_exact_x_of_tolerance_zero_is_a_happy_breakdown),                                           \
        cmocka_unit_test(bad_systems_leave_the_others_unharmed), cmocka_unit_test(systems_without_a_solution_say_why), \
        cmocka_unit_test(batches_of_nothing_are_solved), cmocka_unit_test(limits_and_interrupts_end_a_batch),          \
        cmocka_unit_test(wrong_arrays_are_refused), cmocka_unit_test(options_without_effect_are_refused)

#ifndef TESTS_ON_GPU

static void the_number_of_threads_changes_no_bit(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_AUTO, TESS_PRECOND_AUTO);
    batch_of q = make_batch(ctx, oracle_laplace2d(SIDE), 60);
    double *first = test_allocate(60 * N, sizeof *first);
    tess_context *const shared = ctx;

    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        ctx = q.ctx = open_cpu(threads);
        memset(q.x, 0, (size_t)(60 * N) * sizeof *q.x);
        solve_systems(&q, &options);
        check_solved(&q, &options);
        if (threads == 1) { memcpy(first, q.x, (size_t)(60 * N) * sizeof *first); }
        assert_true(same_bits(first, q.x, 60 * N));
        tess_context_destroy(ctx);
    }
    ctx = shared;
    free(first);
    discard_batch(&q);
}

/* A solve of some tenths of a second. On a busy machine a limit may be over before it begins: then a longer one. */
static void a_limit_ends_a_system_that_runs(void **state)
{
    tess_solve_options options = options_of(TESS_SOLVER_CG, TESS_PRECOND_NONE);
    batch_of q = make_batch(ctx, oracle_tridiagonal(20000, -1.0, 2.0, -1.0), 2);

    (void)state;
    options.max_iterations = 10000000;
    options.rtol = 1e-13;
    options.time_limit = 0.01;
    do {
        options.time_limit *= 2.0;
        solve_systems(&q, &options);
    } while (q.results[0].iterations == 0 && options.time_limit < 1000.0);
    assert_int_equal(q.results[0].reason, TESS_REASON_TIME_LIMIT);
    assert_true(q.results[0].iterations > 0);
    check_system(&q, &options, 0);
    discard_batch(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {BATCH_TESTS, cmocka_unit_test(the_number_of_threads_changes_no_bit),
                                       cmocka_unit_test(a_limit_ends_a_system_that_runs)};

    return run_with_context(open_cpu(2), tests, &ctx);
}

#endif
