/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi and time steps on the GPU: the iterates of the host within rounding, recorded or not, and honest results. */
#include <tessera/timestep.h>

#include "support/solve.h"
#include "support/sweep.h"

enum { N = 3000, ROW = 12 };
static const double U32 = 0x1p-24;

static tess_context *gpu = NULL;

typedef struct storage_case {
    tess_format format, base;
    tess_granularity granularity;
    const char *schedule;
} storage_case;

static const storage_case cases[] = {{TESS_FORMAT_CSR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp64"},
                                     {TESS_FORMAT_ELLR, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp64"},
                                     {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp32,mixed,fp64"},
                                     {TESS_FORMAT_COMPOSITE, TESS_FORMAT_ELLR, TESS_GRANULARITY_ROW, "fp32,mixed,fp64"},
                                     {TESS_FORMAT_COMPOSITE, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "fp16,fp32,fp64"},
                                     {TESS_FORMAT_SPLIT, TESS_FORMAT_CSR, TESS_GRANULARITY_ROW, "mixed"},
                                     {TESS_FORMAT_SPLIT, TESS_FORMAT_ELLR, TESS_GRANULARITY_ENTRY, "mixed"}};
enum { CASES = sizeof cases / sizeof *cases };

static void take_storage(tess_storage_options *storage, const storage_case *c)
{
    storage->format = c->format;
    storage->split.base = c->base;
    storage->policy.granularity = c->granularity;
    if (c->format == TESS_FORMAT_ELLR || c->base == TESS_FORMAT_ELLR) { storage->slices.max_padding = 10000.0; }
}

static double largest_magnitude(const double *x, int64_t n)
{
    double largest = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    return largest;
}

/* Sums in another order: in FP64 a few roundings an iteration. Rounding x to FP32 may turn those into one unit of FP32.
 */
static void fixed_runs_agree_with_the_host(void **state)
{
    oracle_csr a = dominant_matrix(N, ROW, 1.25, 2, 11);
    double *b = random_values(N, 3, -5.0, 5.0), *x[3];
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int c = 0; c < CASES; c++) {
        for (int64_t k = 1; k <= on_gpu_or_emulated(211, 51); k = 4 * k + 7) { /* with and without enough to record */
            bool exact = strcmp(cases[c].schedule, "fp64") == 0;

            for (int run = 0; run < 3; run++) {
                tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);

                take_storage(&options.storage, &cases[c]);
                options.jacobi.schedule = schedule_of(cases[c].schedule);
                options.rtol = 0.0;
                options.max_iterations = k;
                options.engine = run == 1 ? TESS_ENGINE_PLAIN : TESS_ENGINE_AUTO;
                x[run] = test_allocate(N, sizeof *x[run]);
                memset(x[run], 0, N * sizeof *x[run]);
                (void)solve_once(run == 0 ? cpu : gpu, &a, &options, b, x[run]);
            }
            assert_true(same_bits(x[1], x[2], N));
            assert_at_most(largest_difference(x[0], x[1], N),
                           (exact ? (double)k * 2.0 * gamma_of(ROW + 4) : 16.0 * U32) * 10.0 *
                               largest_magnitude(x[0], N));
            for (int run = 0; run < 3; run++) {
                free(x[run]);
            }
        }
    }
    tess_context_destroy(cpu);
    oracle_free(&a);
    free(b);
}

static void handles_converge_and_notice_new_values(void **state)
{
    static const tess_engine engines[] = {TESS_ENGINE_AUTO, TESS_ENGINE_PLAIN};

    (void)state;
    for (int c = 0; c < 2 * CASES; c++) {
        oracle_csr a = dominant_matrix(N, ROW, 1.25, 2, 11);
        tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);
        tess_matrix *m = make_matrix(gpu, &a);
        tess_solver *solver = NULL;

        take_storage(&options.storage, &cases[c / 2]);
        options.jacobi.schedule = schedule_of(cases[c / 2].schedule);
        options.engine = engines[c % 2];
        options.rtol = 1e-11;
        assert_ok(gpu, tess_solver_create(m, &options, &solver));
        for (int round = 0; round < 3; round++) {
            double *b = random_values(N, 40 + (uint64_t)round, -1.0, 1.0), *x = test_allocate(N, sizeof *x);
            tess_solve_result result;

            memset(x, 0, N * sizeof *x);
            for (int64_t k = 0; k < a.nnz && round == 2; k++) {
                a.val[k] *= 0.37;
            }
            if (round == 2) {
                assert_ok(gpu, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            }
            result = solve_with(solver, gpu, N, b, x);
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            check_honest(&a, b, x, &options, &result);
            free(b);
            free(x);
        }
        tess_solver_destroy(solver);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
}

static void divergence_and_missing_diagonals_are_reported(void **state)
{
    oracle_csr diverging = oracle_tridiagonal(500, 2.0, 1.0, 2.0), holed = oracle_tridiagonal(500, 1.0, 4.0, 1.0);
    double *b = random_values(500, 3, -1.0, 1.0), x[500] = {0.0};
    tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);
    tess_solve_result result;

    (void)state;
    options.storage.format = TESS_FORMAT_COMPOSITE;
    result = solve_once(gpu, &diverging, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_DIVERGENCE);
    check_honest(&diverging, b, x, &options, &result);
    holed.val[holed.row_ptr[77] + 1] = 0.0;
    memset(x, 0, sizeof x);
    result = solve_once(gpu, &holed, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_PRECOND_SETUP);
    assert_non_null(strstr(tess_context_last_error(gpu)->message, "row 78 "));
    oracle_free(&diverging);
    oracle_free(&holed);
    free(b);
}

/* ---- time steps ---- */

static int count_calls(void *user, int64_t step, const tess_vector *x)
{
    (void)step;
    (void)x;
    *(int *)user += 1;
    return 0;
}

static void run_steps(tess_context *ctx, const oracle_csr *a, const tess_timestep_options *options, int64_t count,
                      double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *v = make_vector(ctx, N, x);
    tess_timestep *ts = NULL;
    tess_timestep_result result;
    int calls = 0;

    assert_ok(ctx, tess_timestep_create(m, options, &ts));
    tess_timestep_result_init(&result);
    assert_ok(ctx, tess_timestep_run(ts, v, count, count_calls, &calls, 50, &result));
    assert_int_equal(calls, count / 50);
    assert_int_equal(result.count, count);
    assert_int_equal(result.finite, 1);
    read_vector(v, x);
    tess_timestep_destroy(ts);
    tess_vector_destroy(v);
    tess_matrix_destroy(m);
}

static void time_steps_agree_with_the_host(void **state)
{
    oracle_csr a = dominant_matrix(N, ROW, 4.0, 0, 21);
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] /= 1.3 * ROW * 4.0; /* the norm of A is below 1 */
    }
    for (int c = -1; c < CASES; c++) {
        tess_timestep_options options;
        double *x[3];

        tess_timestep_options_init(&options);
        if (c < 0) { options.storage.format = TESS_FORMAT_SELL; }
        if (c >= 0) { take_storage(&options.storage, &cases[c]); }
        if (c >= 2) { options.schedule = schedule_of(cases[c].schedule); }
        for (int run = 0; run < 3; run++) {
            options.engine = run == 1 ? TESS_ENGINE_PLAIN : TESS_ENGINE_AUTO;
            x[run] = random_values(N, 5, -80.0, 40.0);
            run_steps(run == 0 ? cpu : gpu, &a, &options, 120, x[run]);
        }
        assert_true(same_bits(x[1], x[2], N));
        assert_at_most(largest_difference(x[0], x[1], N), 120.0 * (c < 2 ? 2.0 * gamma_of(ROW + 4) : U32) * 80.0);
        for (int run = 0; run < 3; run++) {
            free(x[run]);
        }
    }
    tess_context_destroy(cpu);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_runs_agree_with_the_host),
        cmocka_unit_test(handles_converge_and_notice_new_values),
        cmocka_unit_test(divergence_and_missing_diagonals_are_reported),
        cmocka_unit_test(time_steps_agree_with_the_host),
    };

    return run_gpu_tests(tests, &gpu);
}
