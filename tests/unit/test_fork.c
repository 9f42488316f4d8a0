/* SPDX-License-Identifier: Apache-2.0 */
/* Solves in processes that are forked after a solve with several threads: they end, with the same bits. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "precond/direct/mumps.h"
#include "support/solve.h"

/* More than HOST_SERIAL_WORK, so that loops have several threads; a child that hangs ends after CHILD_SECONDS. */
enum { SIDE = 130, N = SIDE * SIDE, CHILD_SECONDS = 20, ITERATIONS = 5, FORKS = 12 };

static tess_context *open_host(int threads)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
    return ctx;
}

/* A few iterations into x. Returns whether they went well. Asserts nothing: a child must not run the parent's tests. */
static bool solve(tess_context *ctx, const tess_matrix *a, const char *precond, double *x)
{
    tess_solve_options o = solve_options(TESS_SOLVER_CG);
    tess_solve_result result;
    tess_vector *b = NULL, *y = NULL;
    tess_solver *solver = NULL;
    bool fine = false;

    tess_solve_result_init(&result);
    o.rtol = 1e-14;
    o.max_iterations = ITERATIONS;
    fine = tess_precond_options_parse(precond, &o.precond) == TESS_SUCCESS &&
           tess_vector_create(ctx, N, TESS_PRECISION_FP64, &b) == TESS_SUCCESS &&
           tess_vector_create(ctx, N, TESS_PRECISION_FP64, &y) == TESS_SUCCESS &&
           tess_vector_fill(b, 1.0) == TESS_SUCCESS && tess_solver_create(a, &o, &solver) == TESS_SUCCESS &&
           tess_solver_solve(solver, b, y, &result) == TESS_SUCCESS &&
           tess_vector_get(y, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST) == TESS_SUCCESS;
    tess_solver_destroy(solver);
    tess_vector_destroy(y);
    tess_vector_destroy(b);
    return fine && result.iterations == ITERATIONS;
}

/* The child's status by waitpid; a child that hangs is ended by its alarm. */
static int status_of(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_child_solves(void **state)
{
    static const char *const preconds[] = {"jacobi", "ic0", "amg"};
    static double before[N], after[N];
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    tess_context *ctx = open_host(2);
    tess_matrix *a = make_matrix(ctx, &laplacian);

    (void)state;
    for (size_t k = 0; k < sizeof preconds / sizeof *preconds; k++) {
        assert_true(solve(ctx, a, preconds[k], before));
        const pid_t child = fork();

        if (child == 0) {
            alarm(CHILD_SECONDS);
            const bool fine = tess_context_threads(ctx) == 1 && solve(ctx, a, preconds[k], after) &&
                              memcmp(before, after, sizeof before) == 0;

            _exit(fine ? 0 : 1);
        }
        assert_int_equal(status_of(child), 0);
    }
    assert_int_equal(tess_context_threads(ctx), 2); /* nothing changes in the parent */
    assert_true(solve(ctx, a, "none", after));
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

/* Also with a context of the child's own, and in the child's child. */
static void a_child_makes_contexts(void **state)
{
    static double x[N];
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    tess_context *ctx = open_host(2);
    tess_matrix *a = make_matrix(ctx, &laplacian);
    const bool fine = solve(ctx, a, "none", x);
    const pid_t child = fork();

    (void)state;
    if (child == 0) {
        const pid_t next = fork();

        alarm(CHILD_SECONDS);
        tess_context *own = open_host(2);
        tess_matrix *copy = make_matrix(own, &laplacian);
        int status = 0;
        bool good = tess_context_threads(own) == 1 && solve(own, copy, "jacobi", x);

        if (next > 0) { good = waitpid(next, &status, 0) == next && status == 0 && good; }
        _exit(good ? 0 : 1);
    }
    assert_true(fine);
    assert_int_equal(status_of(child), 0);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

typedef struct busy_thread {
    tess_context *ctx;
    tess_matrix *a;
    atomic_bool ends;
    bool fine;
} busy_thread;

static void *factor_often(void *given)
{
    static double x[N];
    busy_thread *t = given;

    while (!t->ends) {
        t->fine = solve(t->ctx, t->a, "cholesky", x) && t->fine;
    }
    return NULL;
}

/* The lock of MUMPS is free in the child, whoever had it. */
static void a_child_factors_while_a_thread_does(void **state)
{
    static double x[N];
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    busy_thread busy = {.ctx = open_host(1), .fine = true};
    tess_context *ctx = open_host(1);
    tess_matrix *a = make_matrix(ctx, &laplacian);
    pthread_t thread;

    (void)state;
    if (!mumps_is_here()) { skip(); }
    busy.a = make_matrix(busy.ctx, &laplacian);
    assert_int_equal(pthread_create(&thread, NULL, factor_often, &busy), 0);
    for (int k = 0; k < FORKS; k++) {
        const pid_t child = fork();

        if (child == 0) {
            alarm(CHILD_SECONDS);
            _exit(solve(ctx, a, "cholesky", x) ? 0 : 1);
        }
        assert_int_equal(status_of(child), 0);
    }
    busy.ends = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(busy.fine);
    tess_matrix_destroy(busy.a);
    tess_context_destroy(busy.ctx);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    oracle_free(&laplacian);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_solves), cmocka_unit_test(a_child_makes_contexts),
                                       cmocka_unit_test(a_child_factors_while_a_thread_does)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
