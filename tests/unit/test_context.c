/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: options, allocators, the last error, memory that is freed with a context. */
#include <omp.h>

#include <tessera/precond.h>
#include <tessera/solver.h>

#include "support/heap.h"
#include "support/test.h"

static tess_context_options cpu_options(void)
{
    tess_context_options options;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    return options;
}

static void defaults_work(void **state)
{
    tess_context *ctx = NULL;

    (void)state;
    assert_ok(NULL, tess_context_create(NULL, &ctx));
    assert_true(tess_context_device(ctx) == TESS_DEVICE_CPU || tess_context_device(ctx) == TESS_DEVICE_GPU);
    assert_true(strlen(tess_context_device_name(ctx)) > 0);
    assert_string_equal(tess_context_gpu_id(ctx), "");
    assert_int_equal(tess_context_last_error(ctx)->status, TESS_SUCCESS);
    assert_ok(ctx, tess_context_synchronize(ctx));
    assert_ok(ctx, tess_context_trim(ctx));
    tess_context_destroy(ctx);
    tess_context_destroy(NULL);
}

static void cpu_context_tells_what_it_is(void **state)
{
    int before = omp_get_max_threads();
    tess_context *ctx = open_cpu(3);

    (void)state;
    assert_int_equal(tess_context_device(ctx), TESS_DEVICE_CPU);
    assert_int_equal(tess_context_threads(ctx), 3);
    assert_null(tess_context_stream(ctx));
    assert_int_equal(omp_get_max_threads(), before);
    tess_context_destroy(ctx);
    ctx = open_cpu(0);
    assert_int_equal(tess_context_threads(ctx), before);
    tess_context_destroy(ctx);
}

static void wrong_options_are_refused(void **state)
{
    tess_context_options options = cpu_options();
    heap h = {.fail_at = -1};
    int here = 0;
    tess_context *ctx = (tess_context *)(void *)&here;

    (void)state;
    options.threads = -1;
    assert_int_equal(tess_context_create(&options, &ctx), TESS_INVALID_ARGUMENT);
    assert_null(ctx);
    options = cpu_options();
    options.device = (tess_device)3;
    assert_int_equal(tess_context_create(&options, &ctx), TESS_INVALID_ARGUMENT);
    options = cpu_options();
    options.host_allocator = heap_allocator(&h);
    options.host_allocator.release = NULL; /* half an allocator */
    assert_int_equal(tess_context_create(&options, &ctx), TESS_INVALID_ARGUMENT);
    options = cpu_options();
    options.device_allocator = heap_allocator(&h);
    options.device_allocator.allocate = NULL;
    assert_int_equal(tess_context_create(&options, &ctx), TESS_INVALID_ARGUMENT);
    assert_int_equal(h.calls, 0);
}

/* Asked for by name, a device that is not there is an error; AUTO takes the CPU instead. */
static void missing_device_is_reported(void **state)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_GPU;
    options.device_index = 1 << 20;
    assert_int_equal(tess_context_create(&options, &ctx), TESS_NO_DEVICE);
    assert_null(ctx);
    options.device = TESS_DEVICE_AUTO;
    assert_ok(NULL, tess_context_create(&options, &ctx));
    assert_int_equal(tess_context_device(ctx), TESS_DEVICE_CPU);
    tess_context_destroy(ctx);
    if (!tess_has_gpu_backend()) {
        options.device = TESS_DEVICE_GPU;
        options.device_index = -1;
        assert_int_equal(tess_context_create(&options, &ctx), TESS_NO_DEVICE);
        assert_string_equal(tess_gpu_backend(), "none");
        assert_int_equal(tess_gpu_count(), 0);
    }
}

static void creation_survives_failed_allocations(void **state)
{
    heap h = {.fail_at = -1};
    tess_context_options options = cpu_options();
    tess_status status = TESS_OUT_OF_MEMORY;
    int64_t failures = 0;

    (void)state;
    options.host_allocator = heap_allocator(&h);
    for (int64_t k = 0; status != TESS_SUCCESS; k++) {
        tess_context *ctx = NULL;

        heap_fail_at(&h, k);
        status = tess_context_create(&options, &ctx);
        if (status != TESS_SUCCESS) {
            assert_int_equal(status, TESS_OUT_OF_MEMORY);
            assert_null(ctx);
            failures += 1;
        }
        tess_context_destroy(ctx);
        assert_int_equal(h.live, 0);
        assert_int_equal(h.wrong_releases, 0);
    }
    assert_true(failures >= 2);
}

static void peak_counts_what_objects_hold(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_vector *v = make_zeros(ctx, 1000);

    (void)state;
    assert_true(tess_context_peak_bytes(ctx) >= 8000);
    assert_true(tess_context_peak_bytes(ctx) < 9000);
    tess_vector_destroy(v);
    v = make_zeros(ctx, 10);
    assert_true(tess_context_peak_bytes(ctx) < 9000);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
}

static void last_error_says_what_and_stays(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_vector *v = NULL;

    (void)state;
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_vector_create(ctx, -5, TESS_PRECISION_FP64, &v));
    assert_null(v);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "-5"));
    v = make_zeros(ctx, 4);
    assert_int_equal(tess_context_last_error(ctx)->status, TESS_OUT_OF_RANGE);
    tess_vector_destroy(v);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_create(ctx, 4, (tess_precision)99, &v));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "99"));
    tess_context_destroy(ctx);
}

static void absurd_sizes_are_out_of_memory(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_vector *v = NULL;

    (void)state;
    assert_fails(ctx, TESS_OUT_OF_MEMORY, tess_vector_create(ctx, INT64_MAX, TESS_PRECISION_FP64, &v));
    assert_null(v);
    assert_fails(ctx, TESS_OUT_OF_MEMORY, tess_vector_create(ctx, INT64_MAX / 8, TESS_PRECISION_FP64, &v));
    v = make_zeros(ctx, 3);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
}

/* Rows in messages count from 1, or from 0 where the caller does. */
static void rows_count_as_the_caller_does(void **state)
{
    oracle_csr a = oracle_tridiagonal(4, -1.0, 2.0, -1.0);
    tess_precond_options precond;
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    a.val[a.row_ptr[2]] = (double)NAN;
    tess_context_options_init(&options);
    assert_int_equal(options.first_number, 1);
    options.device = TESS_DEVICE_CPU;
    tess_precond_options_init(&precond);
    precond.kind = TESS_PRECOND_ILU0;
    for (options.first_number = 0; options.first_number < 2; options.first_number++) {
        tess_precond *m = NULL;
        tess_matrix *matrix = NULL;

        assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
        matrix = make_matrix(ctx, &a);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_create(matrix, &precond, &m));
        assert_non_null(strstr(tess_context_last_error(ctx)->message,
                               options.first_number == 0 ? "first seen in row 2" : "first seen in row 3"));
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    assert_int_equal(tess_context_create(&options, &ctx), TESS_INVALID_ARGUMENT); /* 2 */
    oracle_free(&a);
}

typedef struct log_record {
    int lines;
    tess_log_level highest;
} log_record;

static void note_line(void *user, tess_log_level level, const char *message)
{
    log_record *log = user;

    assert_true(strlen(message) > 0);
    log->lines += 1;
    if (level > log->highest) { log->highest = level; }
}

/* A solve that the guard repairs has something to say at DEBUG and nothing at NONE. */
static int log_lines_of_a_repair(tess_log_level level)
{
    log_record log = {0, TESS_LOG_NONE};
    tess_context_options options = cpu_options();
    oracle_csr a = oracle_laplace2d(12);
    double *b = random_values(a.nrows, 3, -1.0, 1.0);
    tess_solve_options solve;
    tess_solve_result result;
    tess_context *ctx = NULL;
    tess_solver *solver = NULL;

    options.log = note_line;
    options.log_user = &log;
    options.log_level = level;
    assert_ok(NULL, tess_context_create(&options, &ctx));
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] /= 3.0; /* which fp32 rounds */
    }
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *vb = make_vector(ctx, a.nrows, b), *vx = make_zeros(ctx, a.nrows);
    tess_solve_options_init(&solve);
    solve.rtol = 1e-12;
    solve.storage.precision = TESS_PRECISION_FP32;
    oracle_free(&a);
    assert_ok(ctx, tess_solver_create(m, &solve, &solver));
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_true(result.refinements > 0);
    assert_true(log.highest <= level);
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    free(b);
    return log.lines;
}

static void log_keeps_its_level(void **state)
{
    (void)state;
    assert_int_equal(log_lines_of_a_repair(TESS_LOG_NONE), 0);
    assert_int_equal(log_lines_of_a_repair(TESS_LOG_WARN), 0);
    assert_true(log_lines_of_a_repair(TESS_LOG_DEBUG) > 0);
}

static void version_is_three_numbers(void **state)
{
    int major = -1, minor = -1, patch = -1;
    char rest = '\0';

    (void)state;
    assert_int_equal(sscanf(tess_version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_count_as_the_caller_does),  cmocka_unit_test(defaults_work),
        cmocka_unit_test(cpu_context_tells_what_it_is),   cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(missing_device_is_reported),     cmocka_unit_test(creation_survives_failed_allocations),
        cmocka_unit_test(peak_counts_what_objects_hold),  cmocka_unit_test(last_error_says_what_and_stays),
        cmocka_unit_test(absurd_sizes_are_out_of_memory), cmocka_unit_test(log_keeps_its_level),
        cmocka_unit_test(version_is_three_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
