/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of systems: each step is verified against its own values, the guess is never worse than what was given, and
   a preconditioner of earlier values is kept only while it serves. */
#include <tessera/automatic.h>
#include <tessera/sequence.h>

#include "solver/sequence/guess.h"
#include "solver/sequence/renewal.h"
#include "support/heap.h"
#include "support/precond_of.h"
#include "support/solve.h"

static tess_context *ctx;

#ifdef TESTS_ON_GPU
enum { SIDE = 14, SMALL = 7 };
#else
enum { SIDE = 20, SMALL = 9 };
#endif

/* Implicit steps of a heat equation whose coefficients change: I + K(t). */
typedef struct heat {
    oracle_csr a;
    int64_t side;
    double *b, *x;
    tess_matrix *m;
    tess_vector *vb, *vx;
    tess_sequence *q;
    tess_solve_options options;
    tess_solve_result result;
    tess_sequence_step step;
} heat;

/* K is the Laplacian, each coupling times exp(spread sin(place + t)). */
static void set_values(heat *h, double strength, double spread, double t)
{
    for (int64_t i = 0; i < h->a.nrows; i++) {
        int64_t diagonal = -1;
        double sum = 0.0;

        for (int64_t k = h->a.row_ptr[i]; k < h->a.row_ptr[i + 1]; k++) {
            const double place = 0.1 * (double)(i + h->a.col_ind[k]);

            if (h->a.col_ind[k] == i) {
                diagonal = k;
            } else {
                h->a.val[k] = -strength * exp(spread * sin(place + t));
                sum -= h->a.val[k];
            }
        }
        h->a.val[diagonal] = 1.0 + sum;
    }
}

static void set_rhs(heat *h, double t)
{
    for (int64_t i = 0; i < h->a.nrows; i++) {
        const double place = (double)i / (double)h->a.nrows - 0.5 - 0.2 * sin(t);

        h->b[i] = h->x[i] + exp(-10.0 * place * place);
    }
}

static heat open_heat(int64_t side, tess_solver_kind solver, tess_precond_kind precond, int kept, tess_renewal renewal)
{
    heat h = {.a = oracle_laplace2d(side), .side = side, .options = solve_options(solver)};
    tess_sequence_options options;

    h.options.rtol = 1e-8;
    h.options.precond.kind = precond;
    h.b = test_allocate(h.a.nrows, sizeof *h.b);
    h.x = test_allocate(h.a.nrows, sizeof *h.x);
    memset(h.x, 0, (size_t)h.a.nrows * sizeof *h.x);
    set_values(&h, 10.0, 0.5, 0.0);
    h.m = make_matrix(ctx, &h.a);
    h.vb = make_zeros(ctx, h.a.nrows);
    h.vx = make_zeros(ctx, h.a.nrows);
    tess_sequence_options_init(&options);
    options.kept_solutions = kept;
    options.renewal = renewal;
    options.extra_iterations = 3;
    assert_ok(ctx, tess_sequence_create(h.m, &h.options, &options, &h.q));
    return h;
}

static void close_heat(heat *h)
{
    tess_sequence_destroy(h->q);
    tess_matrix_destroy(h->m);
    tess_vector_destroy(h->vb);
    tess_vector_destroy(h->vx);
    oracle_free(&h->a);
    free(h->b);
    free(h->x);
}

static tess_sequence_values values_of(const heat *h)
{
    return tess_sequence_values_of(h->a.nnz, h->a.val, TESS_MEMORY_HOST);
}

static tess_status call_step(heat *h, const tess_sequence_values *values)
{
    assert_ok(ctx, tess_vector_set(h->vb, h->b, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_vector_set(h->vx, h->x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_solve_result_init(&h->result);
    return tess_sequence_solve(h->q, values, h->vb, h->vx, &h->result);
}

/* One step from the last x: it must be verified, and honest about the values that it was given. */
static void take_step(heat *h, const tess_sequence_values *values)
{
    assert_ok(ctx, call_step(h, values));
    read_vector(h->vx, h->x);
    assert_int_equal(h->result.verified, 1);
    check_honest(&h->a, h->b, h->x, &h->options, &h->result);
    tess_sequence_step_init(&h->step);
    assert_ok(ctx, tess_sequence_get_step(h->q, &h->step));
    if (!isnan(h->step.guess_residual)) {
        assert_at_most(h->step.guess_residual, h->result.rhs_norm * (1.0 + gamma_of((double)h->a.nrows)));
        assert_false(h->step.guess_residual > h->step.given_residual);
        assert_true(h->step.guess_seconds >= 0.0);
    }
    assert_true(strlen(tess_sequence_why(h->q)) > 0);
}

/* The k-th of smooth steps; the first has the values of the set-up. */
static void take_smooth_step(heat *h, int k, double change)
{
    const tess_sequence_values values = values_of(h);

    set_values(h, 10.0, 0.5, change * k);
    set_rhs(h, 0.05 * k);
    take_step(h, k > 0 ? &values : NULL);
    assert_int_equal(h->step.step, k + 1);
}

/* ---- the guess ---- */

static int64_t iterations_of_smooth_steps(tess_solver_kind solver, tess_precond_kind precond, int kept, double change,
                                          bool *always_projected)
{
    enum { STEPS = 12, FIRST = 6 };
    heat h = open_heat(SIDE, solver, precond, kept, TESS_RENEWAL_ALWAYS);
    int64_t sum = 0;

    *always_projected = true;
    for (int k = 0; k < STEPS; k++) {
        take_smooth_step(&h, k, change);
        if (k < FIRST) { continue; }
        sum += h.result.iterations;
        *always_projected = *always_projected && h.step.guess == TESS_GUESS_PROJECTED;
        assert_true(!isfinite(h.step.guess_residual) ||
                    fabs(h.result.history[0] - h.step.guess_residual) <=
                        gamma_of(100.0 + (double)h.a.nrows) * (h.result.rhs_norm + 100.0 * h.result.rhs_norm));
    }
    close_heat(&h);
    return sum;
}

/* Fewer iterations than from the last x, with changing and with constant values, by both projections. */
static void guesses_save_iterations(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB};
    static const double changes[] = {0.0, 0.01};

    (void)state;
    for (int s = 0; s < 2; s++) {
        for (int c = 0; c < 2; c++) {
            bool projected = false;
            const int64_t from_last =
                iterations_of_smooth_steps(solvers[s], TESS_PRECOND_JACOBI, 0, changes[c], &projected);

            assert_false(projected);
            assert_true(iterations_of_smooth_steps(solvers[s], TESS_PRECOND_JACOBI, 4, changes[c], &projected) <
                        from_last);
            assert_true(projected);
        }
    }
}

/* More solutions than fit, and one: the oldest goes. Products are counted as they are told. */
static void products_are_told(void **state)
{
    static const int kept[] = {1, 3};

    (void)state;
    for (int c = 0; c < 2; c++) {
        heat h = open_heat(SMALL, TESS_SOLVER_CG, TESS_PRECOND_NONE, kept[c], TESS_RENEWAL_AUTO);

        for (int k = 0; k < 7; k++) {
            const bool changes = k == 5;

            if (changes) { set_values(&h, 11.0, 0.5, 0.0); }
            set_rhs(&h, 0.1 * k);
            take_step(&h, changes ? &(tess_sequence_values){h.a.nnz, h.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST}
                                  : NULL);
            assert_int_equal(h.step.products, k == 0 ? 0 : 2 + (changes ? (k < kept[c] ? k : kept[c]) : 1));
            assert_in_range(h.step.solutions, k == 0 ? 0 : 1, kept[c]);
            assert_int_equal(h.step.renewed, 0);
            assert_string_equal(tess_sequence_why(h.q), "there is no preconditioner");
        }
        assert_ok(ctx, tess_sequence_forget(h.q));
        take_step(&h, NULL);
        assert_int_equal(h.step.solutions, 0);
        close_heat(&h);
    }
}

/* A right-hand side out of nowhere costs no more than a solve of its own. */
static void check_jump(int kept)
{
    heat h = open_heat(SIDE, TESS_SOLVER_CG, TESS_PRECOND_IC0, kept, TESS_RENEWAL_ALWAYS);
    double *zero = NULL, *jump = random_values(h.a.nrows, 3, -1.0, 1.0);
    tess_solve_result alone;

    zero = test_allocate(h.a.nrows, sizeof *zero);
    for (int k = 0; k < 6; k++) {
        take_smooth_step(&h, k, 0.01);
    }
    memcpy(h.b, jump, (size_t)h.a.nrows * sizeof *jump);
    memset(zero, 0, (size_t)h.a.nrows * sizeof *zero);
    alone = solve_once(ctx, &h.a, &h.options, h.b, zero);
    take_step(&h, NULL);
    assert_in_range(h.result.iterations, 1, alone.iterations + 1);
    for (int64_t i = 0; i < h.a.nrows; i++) { /* the last x is a million times too large */
        h.b[i] = 1e-6 * jump[i];
    }
    take_step(&h, NULL);
    assert_true(h.result.iterations <= alone.iterations + 1);
    memset(h.b, 0, (size_t)h.a.nrows * sizeof *h.b); /* and zero is solved at once */
    take_step(&h, NULL);
    assert_int_equal(h.result.iterations, 0);
    for (int64_t i = 0; i < h.a.nrows; i++) {
        assert_true(h.x[i] == 0.0);
    }
    free(jump);
    free(zero);
    close_heat(&h);
}

/* Nor with the last x alone. */
static void a_jump_does_no_harm(void **state)
{
    (void)state;
    check_jump(4);
    check_jump(0);
}

/* The first step has nothing to go by: it is a solve, bit for bit. So is each without kept solutions. */
static void a_step_is_a_solve(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_GMRES, TESS_SOLVER_AUTO};

    (void)state;
    for (int c = 0; c < 6; c++) {
        heat h = open_heat(SMALL, solvers[c / 2], c / 2 < 2 ? TESS_PRECOND_ILU0 : TESS_PRECOND_AUTO, c % 2 ? 4 : 0,
                           TESS_RENEWAL_AUTO);
        double *x = test_allocate(h.a.nrows, sizeof *x);
        tess_solve_result alone;

        set_rhs(&h, 0.0);
        memset(x, 0, (size_t)h.a.nrows * sizeof *x);
        alone = solve_once(ctx, &h.a, &h.options, h.b, x);
        take_step(&h, NULL);
        assert_true(same_bits(x, h.x, h.a.nrows));
        assert_int_equal(h.result.iterations, alone.iterations);
        assert_int_equal(h.result.solver, alone.solver);
        free(x);
        close_heat(&h);
    }
}

/* Dependent and empty columns are left out, a negative definite matrix is -A, and NaN gives nothing. */
static void small_systems(void **state)
{
    double y[3] = {9.0, 9.0, 9.0};
    double good[12] = {4.0, 1.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0};
    double twice[6] = {1.0, 1.0, 1.0, 1.0, 3.0, 3.0};
    double nothing[2] = {0.0, 1.0}, bad[2] = {1.0, (double)NAN};

    (void)state;
    assert_int_equal(guess_solve_small(3, 3, good, y), 2);
    assert_at_most(fabs(y[0] - 1.0 / 11.0), 8.0 * U64);
    assert_at_most(fabs(y[1] - 7.0 / 11.0), 8.0 * U64);
    assert_true(y[2] == 0.0);
    for (int k = 0; k < 12; k++) {
        good[k] = -good[k];
    }
    assert_int_equal(guess_solve_small(3, 3, good, y), 2);
    assert_at_most(fabs(y[1] - 7.0 / 11.0), 8.0 * U64);
    assert_int_equal(guess_solve_small(2, 2, twice, y), 1);
    assert_true(y[0] + y[1] == 3.0);
    assert_int_equal(guess_solve_small(1, 1, nothing, y), 0);
    assert_int_equal(guess_solve_small(1, 1, bad, y), 0);
    assert_true(y[0] == 0.0);
}

/* ---- renewal ---- */

/* Every kind of preconditioner goes on with values that it does not know, and says so. */
static void kept_preconditioners(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_IC0,        TESS_PRECOND_BLOCK_JACOBI,  TESS_PRECOND_AMG,
                                              TESS_PRECOND_POLYNOMIAL, TESS_PRECOND_JACOBI_SWEEPS, TESS_PRECOND_ICT,
                                              TESS_PRECOND_JACOBI,     TESS_PRECOND_ILUT,          TESS_PRECOND_FSAI};

    (void)state;
    for (size_t p = 0; p < sizeof kinds / sizeof *kinds; p++) {
        const tess_solver_kind solver = kinds[p] == TESS_PRECOND_ILUT ? TESS_SOLVER_BICGSTAB : TESS_SOLVER_CG;
        heat h = open_heat(SIDE, solver, kinds[p], 2, TESS_RENEWAL_NEVER);

        for (int k = 0; k < 4; k++) {
            take_smooth_step(&h, k, 0.1);
            assert_int_equal(h.step.renewed, k == 0 || kinds[p] == TESS_PRECOND_JACOBI);
            assert_int_equal(h.step.age, h.step.renewed ? 0 : k);
            assert_int_equal(h.step.solved_again, 0);
            assert_true(h.step.setup_seconds > 0.0);
        }
        assert_non_null(strstr(tess_sequence_why(h.q), h.step.renewed ? "less than an iteration" : "kept"));
        close_heat(&h);
    }
}

/* Each variable in units of its own: the factors of the old values are of no use. */
static void spoil_values(heat *h)
{
    for (int64_t i = 0; i < h->a.nrows; i++) {
        for (int64_t k = h->a.row_ptr[i]; k < h->a.row_ptr[i + 1]; k++) {
            h->a.val[k] = ldexp(h->a.val[k], oracle_power(i, 8) + oracle_power(h->a.col_ind[k], 8));
        }
    }
}

/* What fails with the old values is solved with the new ones, within the limit: by the bound on extra iterations, by a
   stall, and by half of the iterations. */
static void failing_preconditioners_are_renewed(void **state)
{
    static const tess_renewal policies[] = {TESS_RENEWAL_COUNTED, TESS_RENEWAL_NEVER, TESS_RENEWAL_NEVER,
                                            TESS_RENEWAL_AUTO};

    (void)state;
    for (int c = 0; c < 4; c++) {
        heat h = open_heat(SIDE, TESS_SOLVER_CG, TESS_PRECOND_IC0, 4, policies[c]);
        tess_solve_options limits = h.options;
        const tess_sequence_values values = values_of(&h);

        take_smooth_step(&h, 0, 0.0);
        if (c == 2) {
            limits.max_iterations = 160; /* half of them are not enough for a stall */
            assert_ok(ctx, tess_sequence_set_limits(h.q, &limits));
        }
        spoil_values(&h);
        set_rhs(&h, 1.0);
        take_step(&h, &values);
        assert_int_equal(h.step.renewed, 1);
        assert_int_equal(h.step.solved_again, 1);
        assert_int_equal(h.step.age, 0);
        assert_in_range(h.result.iterations, 1, limits.max_iterations);
        assert_string_equal(tess_sequence_why(h.q), "renewed: the one of 1 step ago did not solve this step");
        take_smooth_step(&h, 2, 0.0); /* and back */
        close_heat(&h);
    }
}

/* Counted renewals are the same on every run, and come when the extra iterations are more than allowed. */
static void counted_renewals(void **state)
{
    enum { STEPS = 10 };
    double *x[2];
    int renewals = 0;

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        heat h = open_heat(SIDE, TESS_SOLVER_CG, TESS_PRECOND_IC0, 3, TESS_RENEWAL_COUNTED);
        double extra = 0.0;

        for (int k = 0; k < STEPS; k++) {
            take_smooth_step(&h, k, 0.4);
            if (k > 0) { assert_int_equal(h.step.renewed, extra > 3.0 || h.step.solved_again); }
            extra = h.step.extra_iterations;
            renewals += turn == 0 && k > 0 && h.step.renewed;
        }
        x[turn] = h.x;
        h.x = NULL;
        close_heat(&h);
    }
    assert_in_range(renewals, 1, STEPS - 2);
    assert_true(same_bits(x[0], x[1], SIDE * SIDE));
    free(x[0]);
    free(x[1]);
}

/* By time: a kept one has cost less than a set-up when the step begins. */
static void timed_renewals(void **state)
{
    heat h = open_heat(SIDE, TESS_SOLVER_CG, TESS_PRECOND_AMG, 4, TESS_RENEWAL_AUTO);
    double before = 0.0, setup = INFINITY;

    (void)state;
    for (int k = 0; k < 8; k++) {
        take_smooth_step(&h, k, 0.3);
        if (k > 0 && !h.step.solved_again) { assert_int_equal(h.step.renewed, !(before < setup)); }
        before = h.step.extra_seconds;
        setup = h.step.setup_seconds;
        assert_true(setup > 0.0);
    }
    take_step(&h, NULL); /* the same values: at most the end of a kept one that has cost as much as a set-up */
    assert_true(!h.step.renewed || !(before < setup));
    close_heat(&h);
    h = open_heat(SMALL, TESS_SOLVER_CG, TESS_PRECOND_AMG, 0, TESS_RENEWAL_ALWAYS);
    take_smooth_step(&h, 0, 0.0);
    take_step(&h, NULL); /* the same values */
    assert_non_null(strstr(tess_sequence_why(h.q), "values are those of the step before"));
    take_smooth_step(&h, 2, 0.1);
    assert_int_equal(h.step.renewed, 1);
    assert_string_equal(tess_sequence_why(h.q), "renewed: renewal is always");
    close_heat(&h);
}

/* Extra iterations are those that a renewal would have saved: none in a first step, whatever its values, nor with a
   preconditioner of the present ones. What no step has tried is renewed for new values, unless it never is. */
static void only_old_preconditioners_cost(void **state)
{
    static const tess_renewal ways[] = {TESS_RENEWAL_NEVER, TESS_RENEWAL_COUNTED, TESS_RENEWAL_AUTO};

    (void)state;
    for (int k = 0; k < 3; k++) {
        heat h = open_heat(SIDE, TESS_SOLVER_CG, TESS_PRECOND_IC0, 0, ways[k]);
        const tess_sequence_values values = values_of(&h);
        const bool never = ways[k] == TESS_RENEWAL_NEVER;

        set_values(&h, 10.0, 0.5, 2.0);
        set_rhs(&h, 0.0);
        take_step(&h, &values);
        assert_int_equal(h.step.renewed, !never);
        assert_int_equal(h.step.solved_again, 0);
        assert_int_equal(h.step.age, never ? 1 : 0);
        assert_true(h.step.extra_iterations == 0.0 && h.step.extra_seconds == 0.0 && h.step.setup_seconds > 0.0);
        for (int more = 0; more < 3 && !never; more++) {
            set_rhs(&h, 0.1 + 0.2 * more);
            take_step(&h, NULL);
            assert_true(h.step.extra_iterations == 0.0 && h.result.iterations > 0);
        }
        close_heat(&h);
    }
}

/* The cap leaves a set-up's worth of iterations, and never more than half. */
static void caps(void **state)
{
    sequence_renewal r = {.most_extra = 30.0};

    (void)state;
    renewal_restart(&r, 2.0);
    assert_int_equal(renewal_cap(&r, 1.0, 1e-8, 1000), 500);
    renewal_note(&r, &(sequence_outcome){.iterations = 20, .start = exp(10.0), .tolerance = 1.0, .seconds = 10.0});
    renewal_note(&r, &(sequence_outcome){.iterations = 90, .start = exp(10.0), .tolerance = 1.0, .seconds = 45.0});
    assert_true(r.extra_iterations == 0.0); /* there was nothing to renew */
    assert_int_equal(renewal_cap(&r, exp(20.0), 1.0, 1000), 70);
    assert_int_equal(renewal_cap(&r, exp(20.0), 1.0, 101), 51);
    r.timed = true;
    assert_int_equal(renewal_cap(&r, exp(20.0), 1.0, 1000), 50); /* 4 iterations take as long, but 10 are granted */
    renewal_note(
        &r, &(sequence_outcome){.iterations = 25, .start = exp(10.0), .tolerance = 1.0, .seconds = 10.0, .old = true});
    assert_true(r.extra_iterations == 5.0 && r.extra_seconds == 2.0);
    assert_false(renewal_keeps(&r));
    renewal_note(&r, &(sequence_outcome){.iterations = 0});
    renewal_note(&r, &(sequence_outcome){.iterations = 3, .start = 1.1, .tolerance = 1.0, .seconds = 1.0});
    assert_true(r.extra_iterations == 5.0);
    r.iteration_seconds = 0.0;
    assert_int_equal(renewal_cap(&r, exp(20.0), 1.0, 1000), 500);
    r.timed = false;
    assert_true(renewal_keeps(&r));
    r.most_extra = -1.0;
    assert_false(renewal_keeps(&r));
}

/* Scaled, automatic, by least squares, and a function: all go through a sequence. */
static void other_solvers(void **state)
{
    heat h = open_heat(SMALL, TESS_SOLVER_AUTO, TESS_PRECOND_AUTO, 4, TESS_RENEWAL_AUTO);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);

    (void)state;
    for (int k = 0; k < 4; k++) {
        take_smooth_step(&h, k, 0.05);
    }
    assert_true(strlen(tess_solver_why(tess_sequence_solver(h.q))) > 0);
    tess_sequence_destroy(h.q);
    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.precond.kind = TESS_PRECOND_ILU0;
    h.options = options;
    assert_ok(ctx, tess_sequence_create(h.m, &options, NULL, &h.q));
    for (int k = 0; k < 3; k++) {
        take_smooth_step(&h, k, 0.05);
    }
    assert_int_equal(h.step.renewed, 1);
    tess_sequence_destroy(h.q);
    tess_solve_options_init(&options);
    options.accuracy.forward = 1e-6;
    assert_ok(ctx, tess_sequence_create(h.m, &options, NULL, &h.q));
    for (int k = 0; k < 2; k++) { /* an error bound knows no old factors */
        const tess_sequence_values values = values_of(&h);

        set_values(&h, 10.0, 0.5, 0.1 * k);
        set_rhs(&h, 0.1 * k);
        assert_ok(ctx, call_step(&h, &values));
        assert_int_equal(h.result.verified, 1);
        tess_sequence_step_init(&h.step);
        assert_ok(ctx, tess_sequence_get_step(h.q, &h.step));
        assert_int_equal(h.step.age, 0);
    }
    tess_sequence_destroy(h.q);
    h.options = options = solve_options(TESS_SOLVER_LSQR);
    options.rtol = h.options.rtol = 1e-6;
    assert_ok(ctx, tess_sequence_create(h.m, &options, NULL, &h.q));
    for (int k = 0; k < 3; k++) {
        take_smooth_step(&h, k, 0.05);
    }
    close_heat(&h);
}

/* ---- what is refused ---- */

static void bad_values_are_refused(void **state)
{
    heat h = open_heat(SMALL, TESS_SOLVER_CG, TESS_PRECOND_IC0, 4, TESS_RENEWAL_AUTO);
    tess_sequence_values values = values_of(&h);
    const double good = h.a.val[7];
    float *single = test_allocate(h.a.nnz, sizeof *single);

    (void)state;
    take_smooth_step(&h, 0, 0.0);
    set_rhs(&h, 0.3);
    h.a.val[7] = (double)NAN;
    assert_fails(ctx, TESS_OUT_OF_RANGE, call_step(&h, &values));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "value 7 is nan"));
    h.a.val[7] = -INFINITY;
    assert_fails(ctx, TESS_OUT_OF_RANGE, call_step(&h, &values));
    h.a.val[7] = good;
    take_step(&h, NULL); /* of the values before */
    values.count -= 1;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, call_step(&h, &values));
    values = values_of(&h);
    values.val = NULL;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, call_step(&h, &values));
    values = values_of(&h);
    values.precision = (tess_precision)99;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, call_step(&h, &values));
    values.precision = TESS_PRECISION_FP64;
    values.where = (tess_memory)99;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, call_step(&h, &values));
    if (tess_context_device(ctx) == TESS_DEVICE_CPU) {
        values.where = TESS_MEMORY_DEVICE;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, call_step(&h, &values));
    }
    for (int64_t k = 0; k < h.a.nnz; k++) {
        h.a.val[k] = single[k] = (float)h.a.val[k];
    }
    values = (tess_sequence_values){h.a.nnz, single, TESS_PRECISION_FP32, TESS_MEMORY_HOST};
    take_step(&h, &values);
    values = values_of(&h);
    h.a.val[0] = h.a.val[3] = 1.7e308; /* finite, though their norm is not */
    assert_ok(ctx, call_step(&h, &values));
    take_smooth_step(&h, 4, 0.0);
    free(single);
    close_heat(&h);
}

static void bad_options_are_refused(void **state)
{
    heat h = open_heat(SMALL, TESS_SOLVER_CG, TESS_PRECOND_NONE, 4, TESS_RENEWAL_AUTO);
    tess_sequence_options options;
    tess_sequence *q = NULL;

    (void)state;
    tess_sequence_options_init(&options);
    options.kept_solutions = TESS_MAX_KEPT_SOLUTIONS + 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_create(h.m, NULL, &options, &q));
    options.kept_solutions = -1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_create(h.m, NULL, &options, &q));
    tess_sequence_options_init(&options);
    options.extra_iterations = -1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_create(h.m, NULL, &options, &q));
    tess_sequence_options_init(&options);
    options.renewal = (tess_renewal)9;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_create(h.m, NULL, &options, &q));
    tess_sequence_options_init(&options);
    options.reserved[1] = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_create(h.m, NULL, &options, &q));
    h.options.rtol = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_create(h.m, &h.options, NULL, &q));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_set_limits(h.q, &h.options));
    assert_null(q);
    tess_solve_result_init(&h.result);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_solve(h.q, NULL, h.vb, h.vb, &h.result));
    h.step.size = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_sequence_get_step(h.q, &h.step));
    close_heat(&h);
}

/* A right-hand side or an x with NaN spoils one step at most. */
static void nan_in_vectors(void **state)
{
    heat h = open_heat(SMALL, TESS_SOLVER_CG, TESS_PRECOND_IC0, 4, TESS_RENEWAL_AUTO);

    (void)state;
    take_smooth_step(&h, 0, 0.0);
    h.b[3] = (double)NAN;
    assert_ok(ctx, call_step(&h, NULL));
    assert_int_equal(h.result.converged, 0);
    assert_int_equal(h.result.reason, TESS_REASON_NAN_OR_INF);
    h.x[2] = (double)NAN;
    set_rhs(&h, 0.0);
    h.b[2] = 1.0;
    take_step(&h, NULL); /* an x of NaN is no guess */
    assert_int_not_equal(h.step.guess, TESS_GUESS_GIVEN);
    close_heat(&h);
}

/* ---- lifetimes ---- */

/* The caller's matrix keeps its values, and may go first. */
static void the_matrix_stays_as_it_is(void **state)
{
    heat h = open_heat(SMALL, TESS_SOLVER_CG, TESS_PRECOND_IC0, 4, TESS_RENEWAL_AUTO);
    double *before = test_allocate(h.a.nnz, sizeof *before), *after = test_allocate(h.a.nnz, sizeof *after);

    (void)state;
    assert_ok(ctx, tess_matrix_get_csr(h.m, NULL, NULL, before));
    take_smooth_step(&h, 0, 0.7);
    take_smooth_step(&h, 1, 0.7);
    assert_ok(ctx, tess_matrix_get_csr(h.m, NULL, NULL, after));
    assert_true(same_bits(before, after, h.a.nnz));
    tess_matrix_destroy(h.m);
    h.m = NULL;
    take_smooth_step(&h, 2, 0.7);
    free(before);
    free(after);
    close_heat(&h);
}

static tess_sequence *running;

/* Calls of a monitor: the sequence is busy, and may be destroyed. */
static int destroy_it(void *user, const tess_progress *progress)
{
    (void)progress;
    tess_solve_result result;

    tess_solve_result_init(&result);
    if (!running) { return 1; }
    assert_int_equal(tess_sequence_forget(running), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_sequence_solve(running, NULL, ((heat *)user)->vb, ((heat *)user)->vx, &result),
                     TESS_INVALID_ARGUMENT);
    tess_sequence_destroy(running);
    running = NULL;
    return 1;
}

static void destroyed_by_its_monitor(void **state)
{
    heat h = open_heat(SIDE, TESS_SOLVER_CG, TESS_PRECOND_NONE, 4, TESS_RENEWAL_AUTO);

    (void)state;
    if (tess_context_device(ctx) == TESS_DEVICE_GPU) { /* which may be done before it calls a monitor */
        close_heat(&h);
        skip();
    }
    h.options.monitor = destroy_it;
    h.options.monitor_user = &h;
    h.options.time_limit = 100.0;
    assert_ok(ctx, tess_sequence_set_limits(h.q, &h.options));
    running = h.q;
    set_rhs(&h, 0.0);
    assert_ok(ctx, call_step(&h, NULL));
    assert_int_equal(h.result.reason, TESS_REASON_CANCELLED);
    h.q = NULL;
    close_heat(&h);
}

/* A function is no matrix of values; its products are made anew for each guess. */
static int apply_twice(void *user, tess_operation operation, const double *x, double *y)
{
    (void)operation;
    for (int64_t i = 0; i < *(int64_t *)user; i++) {
        y[i] = (2.0 + (double)i) * x[i];
    }
    return 0;
}

static void a_function(void **state)
{
    int64_t n = 12;
    const tess_shell_operator shell = {.apply = apply_twice, .user = &n, .symmetric = 1, .positive_definite = 1};
    double ones[12] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    const tess_sequence_values values = tess_sequence_values_of(0, ones, TESS_MEMORY_HOST);
    tess_matrix *a = NULL;
    tess_sequence *q = NULL;
    tess_sequence_step step;
    tess_solve_result result;
    tess_vector *b = NULL, *x = NULL;

    (void)state;
    if (tess_context_device(ctx) == TESS_DEVICE_GPU) { skip(); } /* its x is not in the host's memory */
    b = make_vector(ctx, n, ones);
    x = make_zeros(ctx, n);
    assert_ok(ctx, tess_matrix_create_shell(ctx, n, n, &shell, &a));
    assert_ok(ctx, tess_sequence_create(a, NULL, NULL, &q));
    for (int k = 0; k < 3; k++) {
        tess_solve_result_init(&result);
        assert_ok(ctx, tess_vector_fill(b, 1.0 + k));
        assert_ok(ctx, tess_sequence_solve(q, NULL, b, x, &result));
        assert_int_equal(result.converged, 1);
    }
    tess_sequence_step_init(&step);
    assert_ok(ctx, tess_sequence_get_step(q, &step));
    assert_int_equal(step.guess, TESS_GUESS_PROJECTED);
    assert_int_equal(result.iterations, 0);
    assert_fails(ctx, TESS_UNSUPPORTED, tess_sequence_solve(q, &values, b, x, &result));
    tess_sequence_destroy(q);
    tess_matrix_destroy(a);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
}

#define SEQUENCE_TESTS                                                                                         \
    cmocka_unit_test(guesses_save_iterations), cmocka_unit_test(products_are_told),                            \
        cmocka_unit_test(a_jump_does_no_harm), cmocka_unit_test(a_step_is_a_solve),                            \
        cmocka_unit_test(kept_preconditioners), cmocka_unit_test(failing_preconditioners_are_renewed),         \
        cmocka_unit_test(counted_renewals), cmocka_unit_test(timed_renewals), cmocka_unit_test(other_solvers), \
        cmocka_unit_test(only_old_preconditioners_cost), cmocka_unit_test(bad_values_are_refused),             \
        cmocka_unit_test(nan_in_vectors), cmocka_unit_test(the_matrix_stays_as_it_is),                         \
        cmocka_unit_test(destroyed_by_its_monitor), cmocka_unit_test(small_systems), cmocka_unit_test(caps),   \
        cmocka_unit_test(bad_options_are_refused), cmocka_unit_test(a_function)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {SEQUENCE_TESTS};

    return run_with_context(open_cpu(2), tests, &ctx);
}
#endif
