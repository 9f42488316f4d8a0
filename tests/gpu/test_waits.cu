/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that wait for others which never answer: a solve among rows that need each other, one whose first block never
 * begins, factors in an impossible order. Each ends by the clock with an error, and the next call is right.
 */
#include "dense/trsv_messages.cuh"
#include "device/gpu/gpu.h"
#include <tessera/dense.h>

extern "C" {
#include "precond/incomplete/incomplete.h"
#include "support/test.h"
#include "triangular/leaf.h"
}

static tess_context *gpu = nullptr;

/* Nanoseconds that a block waits here: far longer than any wait of these small problems takes. */
static const int64_t timeout = INT64_C(50000000);

static void *to_device(const void *host, size_t bytes)
{
    void *memory = nullptr;

    assert_ok(gpu, tess_device_allocate(gpu, static_cast<int64_t>(bytes), 1, &memory));
    assert_ok(gpu, gpu->backend->upload(gpu, memory, host, bytes));
    return memory;
}

/* The launched kernel has failed; the next call does not. */
static void check_failed()
{
    assert_fails(gpu, TESS_DEVICE, tess_context_synchronize(gpu));
    assert_ok(gpu, tess_context_synchronize(gpu));
}

/* ---- rows of a sparse triangle ---- */

enum { ROWS = 8192, STEP = 64 };

/* Row p needs row p - STEP; in a circle: row p from 2 STEP on needs row p ^ STEP, which needs it. */
static void put_columns(const triangle_leaf &leaf, bool circle)
{
    int32_t *column = static_cast<int32_t *>(test_allocate(ROWS, sizeof *column));

    for (int p = STEP; p < ROWS; p++) {
        column[p - STEP] = circle && p >= 2 * STEP ? p ^ STEP : p - STEP;
    }
    assert_ok(gpu, gpu->backend->upload(gpu, leaf.col_ind, column, (ROWS - STEP) * sizeof *column));
    free(column);
}

static triangle_leaf make_leaf()
{
    int32_t *row = static_cast<int32_t *>(test_allocate(ROWS, sizeof *row));
    int32_t *row_ptr = static_cast<int32_t *>(test_allocate(ROWS + 1, sizeof *row_ptr));
    double *val = static_cast<double *>(test_allocate(ROWS, sizeof *val));
    triangle_leaf leaf = {};

    leaf.n = ROWS;
    leaf.nnz = ROWS - STEP;
    leaf.level_sets = 1; /* wide, so that rows wait for one another */
    leaf.row_ptr_bits = 32;
    leaf.precision = TESS_PRECISION_FP64;
    for (int p = 0; p < ROWS; p++) {
        row[p] = p;
        row_ptr[p + 1] = p < STEP ? 0 : p + 1 - STEP;
        val[p] = 1.0;
    }
    leaf.row = static_cast<int32_t *>(to_device(row, ROWS * sizeof *row));
    leaf.row_ptr = to_device(row_ptr, (ROWS + 1) * sizeof *row_ptr);
    leaf.col_ind = static_cast<int32_t *>(to_device(row, ROWS * sizeof *row));
    leaf.val = to_device(val, ROWS * sizeof *val);
    assert_ok(gpu, triangle_ops_of(gpu)->prepare(gpu, &leaf));
    free(row);
    free(row_ptr);
    free(val);
    return leaf;
}

static void free_leaf(triangle_leaf *leaf)
{
    tess_device_release(gpu, leaf->row, ROWS * sizeof *leaf->row, 1);
    tess_device_release(gpu, leaf->row_ptr, (ROWS + 1) * sizeof(int32_t), 1);
    tess_device_release(gpu, leaf->col_ind, ROWS * sizeof *leaf->col_ind, 1);
    tess_device_release(gpu, leaf->val, ROWS * sizeof(double), 1);
    tess_device_release(gpu, leaf->workspace, leaf->workspace_bytes, 1);
}

static void rows_in_a_circle_end_by_the_clock(void **state)
{
    tess_vector *b = make_zeros(gpu, ROWS), *x = make_zeros(gpu, ROWS);
    double *solution = static_cast<double *>(test_allocate(ROWS, sizeof *solution));
    triangle_leaf leaf = make_leaf();
    triangle_args args = {};

    (void)state;
    assert_ok(gpu, tess_vector_fill(b, 1.0));
    args.b = static_cast<const double *>(tess_vector_data_const(b));
    args.x = static_cast<double *>(tess_vector_data(x));
    for (int turn = 0; turn < 3; turn++) {
        put_columns(leaf, true);
        assert_ok(gpu, triangle_ops_of(gpu)->solve(gpu, &leaf, &args));
        assert_ok(gpu, triangle_ops_of(gpu)->solve(gpu, &leaf, &args)); /* does nothing, and waits for no other block */
        check_failed();
        put_columns(leaf, false);
        assert_ok(gpu, triangle_ops_of(gpu)->solve(gpu, &leaf, &args));
        read_vector(x, solution);
        for (int p = 0; p < ROWS; p++) {
            assert_true(solution[p] == (p / STEP % 2 == 0 ? 1.0 : 0.0));
        }
    }
    free_leaf(&leaf);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    free(solution);
}

/* ---- a dense triangle ---- */

/* x := L^-1 (1, ..., 1), L of ones: 1, then zeros. */
static void solve_ones(const void *a, int64_t n, void *x)
{
    const double one = 1.0;
    const tess_trsv_options options = {};
    tess_dense_view matrix = {}, vector = {};

    matrix.nrows = matrix.ncols = matrix.ld = n;
    matrix.precision = vector.precision = TESS_PRECISION_FP64;
    matrix.data = const_cast<void *>(a);
    vector.nrows = vector.ld = n;
    vector.ncols = 1;
    vector.data = x;
    assert_ok(gpu, gpu->backend->fill(gpu, n, one, static_cast<double *>(x)));
    assert_ok(gpu, tess_trsv(gpu, &options, &matrix, &vector));
}

static void check_ones(const double *device, int64_t n)
{
    double *x = static_cast<double *>(test_allocate(n, sizeof *x));

    assert_ok(gpu, gpu->backend->download(gpu, x, device, static_cast<size_t>(n) * sizeof *x));
    for (int64_t i = 0; i < n; i++) {
        assert_true(x[i] == (i == 0 ? 1.0 : 0.0));
    }
    free(x);
}

static void blocks_that_never_begin_are_given_up(void **state)
{
    enum { N = 640, LARGER = 1024 }; /* the larger one makes space for a block beyond the smaller one's */
    double *ones = static_cast<double *>(test_allocate(LARGER * LARGER, sizeof *ones));
    double *a, *x;
    const unsigned ticket = 1;

    (void)state;
    for (int i = 0; i < LARGER * LARGER; i++) {
        ones[i] = 1.0;
    }
    a = static_cast<double *>(to_device(ones, LARGER * LARGER * sizeof *ones));
    x = static_cast<double *>(to_device(ones, LARGER * sizeof *ones));
    solve_ones(a, LARGER, x);
    check_ones(x, LARGER);
    for (int turn = 0; turn < 3; turn++) {
        solve_head *head = static_cast<solve_head *>(gpu_state_of(gpu)->solves.memory);

        assert_ok(gpu, gpu->backend->upload(gpu, &head->ticket, &ticket, sizeof ticket));
        solve_ones(a, N, x);
        solve_ones(a, N, x); /* does nothing, and waits for no other block */
        check_failed();
        solve_ones(a, N, x);
        check_ones(x, N);
    }
    tess_device_release(gpu, a, LARGER * LARGER * sizeof *a, 1);
    tess_device_release(gpu, x, LARGER * sizeof *x, 1);
    free(ones);
}

/* ---- incomplete factors ---- */

enum { ORDER = 100000 };

/* A row needs the one before it. Backwards, rows that others need come when there is no multiprocessor left for them.
 */
static int32_t *make_order(bool backwards)
{
    int32_t *order = static_cast<int32_t *>(test_allocate(ORDER, sizeof *order)), *device;

    for (int i = 0; i < ORDER; i++) {
        order[i] = backwards ? ORDER - 1 - i : i;
    }
    device = static_cast<int32_t *>(to_device(order, ORDER * sizeof *order));
    free(order);
    return device;
}

static void factors_in_a_wrong_order_end_by_the_clock(void **state)
{
    oracle_csr a = oracle_tridiagonal(ORDER, -1.0, 4.0, -1.0);
    int64_t *diagonal = static_cast<int64_t *>(test_allocate(ORDER, sizeof *diagonal));
    tess_matrix *matrix = make_matrix(gpu, &a);
    tess_incomplete_job job = {};
    tess_incomplete_outcome outcome;
    int32_t *order[2] = {make_order(false), make_order(true)};

    (void)state;
    for (int64_t i = 0; i < ORDER; i++) {
        diagonal[i] = a.row_ptr[i] + (i > 0 ? 1 : 0);
    }
    job.n = ORDER;
    job.attempts = 1;
    job.diagonal = static_cast<const int64_t *>(to_device(diagonal, ORDER * sizeof *diagonal));
    job.lu = static_cast<double *>(to_device(a.val, static_cast<size_t>(a.nnz) * sizeof *job.lu));
    job.inverse = static_cast<double *>(to_device(diagonal, ORDER * sizeof *job.inverse));
    job.order = order[1];
    assert_fails(gpu, TESS_DEVICE, incomplete_ops_of(gpu)->factor(matrix, &job, &outcome));
    job.order = order[0];
    gpu_state_of(gpu)->timeout.nanoseconds = TESS_WAIT_TIMEOUT_NANOSECONDS; /* one row after another */
    assert_ok(gpu, incomplete_ops_of(gpu)->factor(matrix, &job, &outcome));
    assert_int_equal(outcome.bad_row, -1);
    gpu_state_of(gpu)->timeout.nanoseconds = timeout;
    for (int k = 0; k < 2; k++) {
        tess_device_release(gpu, order[k], ORDER * sizeof *order[k], 1);
    }
    tess_device_release(gpu, const_cast<int64_t *>(job.diagonal), ORDER * sizeof *diagonal, 1);
    tess_device_release(gpu, job.lu, a.nnz * static_cast<int64_t>(sizeof *job.lu), 1);
    tess_device_release(gpu, job.inverse, ORDER * sizeof *job.inverse, 1);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    free(diagonal);
}

static int be_impatient(void **state)
{
    (void)state;
    gpu_state_of(gpu)->timeout.nanoseconds = timeout;
    return 0;
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup(rows_in_a_circle_end_by_the_clock, be_impatient),
        cmocka_unit_test_setup(blocks_that_never_begin_are_given_up, be_impatient),
        cmocka_unit_test_setup(factors_in_a_wrong_order_end_by_the_clock, be_impatient),
    };

    return run_gpu_tests(tests, &gpu);
}
