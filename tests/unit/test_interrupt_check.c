/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's function that ends solves and set-ups (tess_context_set_interrupt_check), in its own thread only. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nanosleep */
#endif
#include <pthread.h>
#include <time.h>

#include "support/solve.h"

enum { SIDE = 12, N = SIDE * SIDE };

static tess_context *ctx;
static tess_matrix *a;
static tess_vector *b, *x;

typedef struct asked {
    int count, answer;
} asked;

static int answer(void *user)
{
    asked *own = user;

    own->count += 1;
    return own->answer;
}

/* Long enough that the next call is due. */
static void wait_until_due(void)
{
    const struct timespec pause = {.tv_nsec = 70000000};

    nanosleep(&pause, NULL);
}

static tess_solver *create(tess_solver_kind kind, const char *precond)
{
    tess_solve_options o = solve_options(kind);
    tess_solver *solver = NULL;

    assert_ok(ctx, tess_precond_options_parse(precond, &o.precond));
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    return solver;
}

static tess_solve_result solve(tess_solver *solver)
{
    tess_solve_result result;

    tess_solve_result_init(&result);
    assert_ok(ctx, tess_vector_fill(x, 0.0));
    wait_until_due();
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    return result;
}

static void a_solve_ends(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_GMRES, TESS_SOLVER_MINRES, TESS_SOLVER_LSMR};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solver *solver = create(kinds[k], "none");
        asked own = {.answer = 1};
        tess_solve_result result;

        assert_ok(ctx, tess_context_set_interrupt_check(ctx, answer, &own));
        result = solve(solver);
        assert_int_equal(result.reason, TESS_REASON_INTERRUPTED);
        assert_false(result.converged);
        assert_int_equal(own.count, 1); /* what it said is remembered */
        own.answer = 0;
        assert_ok(ctx, tess_context_set_interrupt_check(ctx, answer, &own)); /* and forgotten */
        assert_true(solve(solver).verified);
        assert_in_range(own.count, 2, 1000);
        tess_solver_destroy(solver);
    }
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, NULL, NULL));
}

static void a_setup_ends(void **state)
{
    tess_precond_options o;
    asked own = {.answer = 1};

    (void)state;
    assert_ok(ctx, tess_precond_options_parse("ilut:1e-3:10", &o));
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, answer, &own));
    wait_until_due();
    tess_precond *m = NULL;

    assert_int_equal(tess_precond_create(a, &o, &m), TESS_TIMED_OUT);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "interrupted in the set-up"));
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, NULL, NULL));
    assert_ok(ctx, tess_precond_create(a, &o, &m));
    tess_precond_destroy(m);
}

static void *solve_apart(void *user)
{
    tess_solver *solver = create(TESS_SOLVER_CG, "none");
    bool *verified = user;

    *verified = solve(solver).verified != 0;
    tess_solver_destroy(solver);
    return NULL;
}

/* Python's handlers of signals run in the main thread: another one does not ask. */
static void other_threads_do_not_ask(void **state)
{
    asked own = {.answer = 1};
    bool verified = false;
    pthread_t thread;

    (void)state;
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, answer, &own));
    assert_int_equal(pthread_create(&thread, NULL, solve_apart, &verified), 0);
    pthread_join(thread, NULL);
    assert_true(verified);
    assert_int_equal(own.count, 0);
    assert_ok(ctx, tess_context_set_interrupt_check(ctx, NULL, NULL));
    assert_int_equal(tess_context_set_interrupt_check(NULL, NULL, NULL), TESS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_solve_ends), cmocka_unit_test(a_setup_ends),
                                       cmocka_unit_test(other_threads_do_not_ask)};

    return run_with_system(open_cpu(2), SIDE, tests, &ctx, &a, &b, &x);
}
