/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside other work: what /proc/stat says, how many are left, and a context beside busy processes. */
#include "base/busy.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <omp.h>

#include "base/context.h"
#include "support/solve.h"

static const char stat_text[] = "cpu  1000 0 500 9000 100 0 20 0 0 0\n"
                                "cpu0 600 10 200 4000 50 5 10 5 0 0\n"
                                "cpu1 100 0 100 4500 50 0 0 0 0 0\n"
                                "cpu3 300 0 200 500 0 0 10 0 0 0\n"
                                "intr 12345 cpu7\n";

static void busy_times_are_read(void **state)
{
    static const bool allowed[] = {true, false, true, true};
    busy_times t = busy_read(stat_text, NULL, 0, 100.0);

    (void)state;
    assert_int_equal(t.processors, 3);
    assert_true(fabs(t.all - (8.3 + 2.0 + 5.1)) < 1e-12);
    t = busy_read(stat_text, allowed, 4, 100.0);
    assert_int_equal(t.processors, 2);
    assert_true(fabs(t.all - (8.3 + 5.1)) < 1e-12);
    t = busy_read(stat_text, allowed, 2, 100.0); /* more processors than are known to be allowed */
    assert_int_equal(t.processors, 1);
    assert_int_equal(busy_read("", NULL, 0, 100.0).processors, 0);
    assert_int_equal(busy_read("no such text\n", NULL, 0, 100.0).processors, 0);
}

static int threads_of(int processors, double all, double own, double seconds, int most)
{
    const busy_times before = {10.0, 5.0, 100.0, processors};
    const busy_times now = {10.0 + all, 5.0 + own, 100.0 + seconds, processors};

    return busy_threads_between(&before, &now, most);
}

static void others_leave_processors(void **state)
{
    const busy_times unknown = {.processors = 0}, now = {1.0, 1.0, 1.0, 2};

    (void)state;
    assert_int_equal(threads_of(2, 0.2, 0.2, 0.1, 2), 2);     /* alone */
    assert_int_equal(threads_of(2, 0.2, 0.13, 0.1, 2), 1);    /* one other, which has its share of three */
    assert_int_equal(threads_of(2, 0.2, 0.1, 0.1, 2), 1);     /* one other, beside one thread */
    assert_int_equal(threads_of(2, 0.2, 0.17, 0.1, 2), 2);    /* a third of a processor */
    assert_int_equal(threads_of(16, 1.6, 1.36, 0.1, 16), 14); /* three others; then 13 threads */
    assert_int_equal(threads_of(16, 1.6, 1.31, 0.1, 16), 13);
    assert_int_equal(threads_of(16, 1.6, 0.2, 0.1, 2), 2); /* enough are left */
    assert_int_equal(threads_of(4, 8.0, 0.0, 1.0, 4), 1);  /* more than there can be */
    assert_int_equal(threads_of(4, 0.0, 4.0, 1.0, 4), 4);  /* ticks lag behind our own time */
    assert_int_equal(threads_of(4, 1.0, 1.0, 0.0, 4), 4);  /* no time has passed */
    assert_int_equal(busy_threads_between(&unknown, &now, 7), 7);
    assert_int_equal(busy_threads_between(&now, &unknown, 7), 7);
}

/* Solves until the context has fewer threads than it may have; for 20 seconds at most. */
static bool solves_with_fewer(tess_context *ctx, const oracle_csr *a)
{
    const double start = tess_wall_seconds();
    double *b = random_values(a->nrows, 3, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    bool fewer = false;

    while (!fewer && tess_wall_seconds() - start < 20.0) {
        memset(x, 0, (size_t)a->nrows * sizeof *x);
        assert_true(solve_once(ctx, a, &options, b, x).converged);
        fewer = ctx->threads < tess_context_threads(ctx);
    }
    free(b);
    free(x);
    return fewer;
}

/* As many busy processes as processors: half of them are left. Nothing else is asserted, for other work may run. */
static void busy_processes_take_threads(void **state)
{
    enum { MOST = 64 };
    const int processors = omp_get_num_procs();
    oracle_csr a = oracle_laplace2d(60);
    pid_t child[MOST];
    tess_context *ctx = NULL;

    (void)state;
    if (processors < 2 || processors > MOST || getenv("OMP_DYNAMIC")) { skip(); }
    for (int k = 0; k < processors; k++) {
        child[k] = fork();
        for (volatile int i = 0; child[k] == 0; i++) {
            if (getppid() == 1) { _exit(0); }
        }
    }
    ctx = open_cpu(processors);
    assert_true(solves_with_fewer(ctx, &a));
    assert_int_equal(tess_context_threads(ctx), processors);
    tess_context_destroy(ctx);
    for (int k = 0; k < processors; k++) {
        if (child[k] > 0) {
            (void)kill(child[k], SIGKILL);
            (void)waitpid(child[k], NULL, 0);
        }
    }
    oracle_free(&a);
}

/* OMP_DYNAMIC=false: as many as were given. */
static void a_fixed_number_stays(void **state)
{
    tess_context *ctx = NULL;

    (void)state;
    assert_int_equal(setenv("OMP_DYNAMIC", "false", 1), 0);
    ctx = open_cpu(2);
    assert_int_equal(unsetenv("OMP_DYNAMIC"), 0);
    assert_true(ctx->keeps_threads);
    busy_adapt(ctx);
    assert_true(ctx->busy.at == 0.0 && ctx->threads == ctx->most_threads);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(busy_times_are_read), cmocka_unit_test(others_leave_processors),
                                       cmocka_unit_test(a_fixed_number_stays),
                                       cmocka_unit_test(busy_processes_take_threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
