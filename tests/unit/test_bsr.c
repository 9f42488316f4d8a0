/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BSR: the layout, the size of the blocks, complex matrices, what is no entry, long rows, epilogues.
 * tests/gpu/test_bsr.c runs the tests of BSR_TESTS in a context of a GPU.
 */
#include <tessera/codec.h>
#include <tessera/columns.h>
#include <tessera/solver.h>

#include "format/bsr/bsr.h"
#include "matrix/matrix.h"
#include "support/columns.h"
#include "support/layout.h"

static const bsr_view *view_of(const tess_matrix *m)
{
    return &((const bsr_storage *)m->storage)->view;
}

static tess_storage_options options_of(int block, tess_precision precision)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_BSR;
    o.precision = precision;
    o.slices.bsr_block_size = block;
    o.slices.max_padding = 36.0;
    return o;
}

static tess_matrix *to_blocks(const tess_matrix *m, int block, tess_precision precision)
{
    const tess_storage_options o = options_of(block, precision);
    tess_matrix *stored = NULL;

    assert_ok(m->ctx, tess_matrix_convert(m, &o, &stored));
    return stored;
}

/* ---- layout ---- */

/*
 *     1  2  .  .  .      blocks at columns 0 (full) and 3, because the last one begins at ncols - 2
 *     3  4  .  .  5
 *     .  .  6  .  .      blocks at columns 2 and 3
 *     .  .  .  7  8
 *    10  .  .  .  .      block at column 0; its second row does not exist
 */
static void layout_of_a_small_matrix(void **state)
{
    static const double value[5][5] = {{1, 2, 0, 0, 0}, {3, 4, 0, 0, 5}, {0, 0, 6, 0, 0}, {0, 0, 0, 7, 8}, {10}};
    static const int32_t offset[] = {0, 2, 4, 5};
    static const int16_t column[] = {0, 3, 0, 1, -4}; /* from rows 0, 2 and 4 */
    static const uint8_t mask[] = {15, 8, 9, 8, 1};
    static const double places[] = {1, 3, 2, 4, 0, 0, 0, 5, 6, 0, 0, 7, 0, 0, 0, 8, 10, 0, 0, 0};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(5, 5);
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t j = 0; j < 5; j++) {
            if (value[i][j] != 0.0) { oracle_push(&a, j, value[i][j]); }
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *stored = to_blocks(m, 2, (tess_precision)p);
        const bsr_view *v = view_of(stored);
        const int64_t bytes = (int64_t)tess_precision_bytes(v->precision);
        void *found_offset = fetch_bytes(stored, v->row_ptr, sizeof offset),
             *val = fetch_bytes(stored, v->val, 20 * bytes);
        void *found_column = fetch_bytes(stored, v->column, sizeof column),
             *found_mask = fetch_bytes(stored, v->mask, 5);

        assert_int_equal(v->nblock_rows, 3);
        assert_int_equal(v->nblocks, 5);
        assert_int_equal(v->row_ptr_bits, 32);
        assert_int_equal(v->column_bits, 16);
        assert_memory_equal(found_offset, offset, sizeof offset);
        assert_memory_equal(found_column, column, sizeof column);
        assert_memory_equal(found_mask, mask, sizeof mask);
        for (int64_t k = 0; k < 20; k++) {
            assert_true(tess_load(v->precision, val, k) == places[k]);
        }
        assert_int_equal(tess_matrix_bytes(stored), 4 * 4 + 5 * 2 + 5 + 20 * bytes);
        free(found_offset);
        free(found_column);
        free(found_mask);
        free(val);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Nodes of a chain, each with `block` unknowns: full blocks at the node and its neighbours. */
static oracle_csr chain(int64_t nodes, int block)
{
    oracle_csr a = oracle_open(nodes * block, nodes * block);

    for (int64_t i = 0; i < nodes * block; i++) {
        const int64_t node = i / block, first = node > 0 ? node - 1 : 0, last = node + 1 < nodes ? node + 1 : node;

        for (int64_t j = first * block; j < (last + 1) * block; j++) {
            oracle_push(&a, j, 1.0 / (double)(1 + (7 * i + 3 * j) % 11));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void the_size_is_that_of_the_nodes(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int block = 2; block <= 6; block++) {
        oracle_csr a = chain(15, block);
        tess_matrix *m = make_matrix(ctx, &a), *stored = to_blocks(m, 0, TESS_PRECISION_FP32);
        const bsr_view *v = view_of(stored);

        assert_int_equal(v->height, block);
        assert_int_equal(tess_matrix_block_size(stored), block);
        assert_int_equal(tess_matrix_block_size(m), 0);
        assert_int_equal(v->nblocks, 43);
        assert_null(v->mask);
        assert_int_equal(tess_matrix_bytes(stored), 16 * 4 + 43 * (2 + 4 * block * block));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void other_sizes_are_refused(void **state)
{
    static const int64_t refused[] = {-1, 1, 7};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_laplace2d(6);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = options_of(0, TESS_PRECISION_FP64);

    (void)state;
    for (int k = 0; k < 3; k++) {
        o.slices.bsr_block_size = refused[k];
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "--bsr-block-size"));
    }
    o = options_of(0, TESS_PRECISION_FP64);
    o.slices.max_padding = 1.5;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "max_padding, 1.5"));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "2: 1.8"));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "6: "));
    o.format = TESS_FORMAT_CSR;
    o.slices.max_padding = 0.0;
    o.slices.bsr_block_size = 3;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_storage_options_check(ctx, -1, -1, &o));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "is for format bsr, not csr"));
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Large matrices are judged by a sample of their rows, here of full blocks of 2; the rest has the diagonal alone. */
static void a_sample_that_misleads_is_found_out(void **state)
{
    enum { ROWS = 66000 };
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_open(ROWS, ROWS);
    tess_storage_options o = options_of(0, TESS_PRECISION_FP64);
    tess_matrix *m = NULL, *stored = NULL;

    (void)state;
    for (int64_t i = 0; i < ROWS; i++) {
        const bool full = i % 1024 < 64;

        for (int64_t j = full ? i / 2 * 2 : i; j <= (full ? i / 2 * 2 + 1 : i); j++) {
            oracle_push(&a, j, 1.0);
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    o.slices.max_padding = 1.5;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "2: 1.88"));
    o.slices.max_padding = 2.0;
    assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
    assert_int_equal(view_of(stored)->height, 2);
    assert_int_equal(view_of(stored)->nblocks, ROWS / 2);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* A column that is more than 32767 from its row takes 32 bits. */
static void far_columns_take_four_bytes(void **state)
{
    static const int64_t width[] = {32769, 32770, 40001};
    static const double factors[1][2] = {{1.0, 0.0}};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int k = 0; k < 3; k++) {
        oracle_csr a = oracle_open(3, width[k]);
        tess_matrix *m = NULL;

        for (int64_t i = 0; i < 3; i++) {
            oracle_push(&a, i, 1.0 + (double)i);
            if (i == 1) { oracle_push(&a, width[k] - 1, 7.0); }
            oracle_end_row(&a, i);
        }
        m = make_matrix(ctx, &a);
        for (int block = 2; block <= 6; block++) {
            tess_matrix *stored = to_blocks(m, block, TESS_PRECISION_FP64);

            assert_int_equal(view_of(stored)->column_bits, width[k] - block <= INT16_MAX ? 16 : 32);
            check_products(stored, &a, TESS_OP_NONE, 1, factors);
            tess_matrix_destroy(stored);
        }
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- complex matrices ---- */

/* `rows` complex rows: an entry in each of the columns i, i + 3, i + 6, ... of n, and a row of all columns. */
static tess_matrix *make_complex(tess_context *ctx, int64_t n, int64_t long_row, double **numbers, int64_t *count)
{
    int64_t *row_ptr = test_allocate(n + 1, sizeof *row_ptr), k = 0;
    int32_t *col_ind = test_allocate(6 * n, sizeof *col_ind);
    tess_csr_arrays arrays;
    tess_matrix *m = NULL;

    for (int64_t i = 0; i < n; i++) {
        row_ptr[i] = k;
        for (int64_t j = i == long_row ? 0 : i; j < n && (i == long_row || j <= i + 12); j += i == long_row ? 1 : 3) {
            col_ind[k++] = (int32_t)j;
        }
    }
    row_ptr[n] = k;
    *numbers = random_values(2 * k, 5, -1.0, 1.0);
    *count = k;
    tess_csr_arrays_init(&arrays);
    arrays.nrows = arrays.ncols = n;
    arrays.nnz = k;
    arrays.row_ptr = row_ptr;
    arrays.row_ptr_bits = 64;
    arrays.col_ind = col_ind;
    arrays.col_ind_bits = 32;
    arrays.val = *numbers;
    arrays.is_complex = 1;
    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &m));
    free(row_ptr);
    free(col_ind);
    return m;
}

static void complex_numbers_take_an_index_and_two_values(void **state)
{
    static const double factors[2][2] = {{1.0, 0.0}, {0.5, -2.0}};
    tess_context *ctx = open_device(2);
    double *numbers = NULL;
    int64_t count = 0;
    tess_matrix *m = make_complex(ctx, 1500, 700, &numbers, &count);

    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *stored = to_blocks(m, 0, (tess_precision)p), *real = to_blocks(m, 4, (tess_precision)p);
        oracle_csr held = decode_matrix(stored), expected = decode_matrix(real);

        assert_true(tess_matrix_is_complex(stored) && view_of(stored)->is_complex && !view_of(real)->is_complex);
        assert_int_equal(tess_matrix_bytes(stored),
                         4 * 1501 + count * (2 + 2 * (int64_t)tess_precision_bytes((tess_precision)p)));
        assert_int_equal(held.nnz, expected.nnz);
        for (int64_t k = 0; k < held.nnz; k++) {
            assert_true(held.val[k] == expected.val[k] && held.col_ind[k] == expected.col_ind[k]);
        }
        check_products(stored, &held, TESS_OP_NONE, 2, factors);
        oracle_free(&held);
        oracle_free(&expected);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(real);
    }
    free(numbers);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void new_numbers_arrive(void **state)
{
    tess_context *ctx = open_device(2);
    double *numbers = NULL;
    int64_t count = 0;
    tess_matrix *m = make_complex(ctx, 60, -1, &numbers, &count), *stored = to_blocks(m, 0, TESS_PRECISION_FP64);
    oracle_csr held;

    (void)state;
    for (int64_t k = 0; k < 2 * count; k++) {
        numbers[k] = (double)(k % 17) - 3.0;
    }
    assert_ok(ctx, tess_matrix_update_values(m, numbers, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    held = decode_matrix(m);
    check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
    check_product(stored, &held, TESS_OP_TRANSPOSE, 1.0, 0.0);
    oracle_free(&held);
    free(numbers);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void auto_takes_it_for_complex_matrices(void **state)
{
    static const char *const policies[] = {"none", "lossless", "mean-3std"};
    tess_context *ctx = open_device(2);
    double *numbers = NULL;
    int64_t count = 0;
    tess_matrix *m = make_complex(ctx, 60, -1, &numbers, &count);

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_storage_options o;
        tess_matrix *stored = NULL;

        tess_storage_options_init(&o);
        o.format = TESS_FORMAT_AUTO;
        assert_int_equal(tess_policy_options_parse(policies[k], &o.policy), TESS_SUCCESS);
        if (k == 1) { o.policy.granularity = TESS_GRANULARITY_MATRIX; }
        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        assert_int_equal(tess_matrix_format(stored) == TESS_FORMAT_BSR, k < 2);
        tess_matrix_destroy(stored);
    }
    free(numbers);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

/* Full blocks of a large matrix, on a host alone, and in no less than fp32; an entry too many in each row, and rows
   are taken. */
static void auto_takes_it_for_full_blocks(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4; k++) {
        const bool host = TEST_DEVICE == TESS_DEVICE_CPU, lossless = k % 2 != 0;
        oracle_csr a = chain(3000, 3);
        tess_storage_options o;
        tess_matrix *m = NULL, *stored = NULL;

        for (int64_t i = 0; i < a.nnz; i++) {
            a.val[i] = 1.0 + (double)(i % 2);
        }
        if (k >= 2) {
            for (int64_t i = 0; i + 20 < a.nrows; i++) { /* the last entry of a row goes elsewhere */
                a.col_ind[a.row_ptr[i + 1] - 1] = (int32_t)(i + 19);
            }
        }
        m = make_matrix(ctx, &a);
        tess_storage_options_init(&o);
        o.format = TESS_FORMAT_AUTO;
        if (lossless) { o.policy.policy = TESS_POLICY_LOSSLESS; }
        if (lossless) { o.policy.granularity = TESS_GRANULARITY_MATRIX; }
        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        assert_int_equal(tess_matrix_format(stored) == TESS_FORMAT_BSR, host && k < 2);
        if (host && k < 2) {
            assert_int_equal(tess_matrix_precision(stored), lossless ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- products ---- */

/* Rows of 2 to 4 entries, an empty one, and one that is full. */
static oracle_csr ragged(int64_t nrows, int64_t ncols, int64_t full)
{
    oracle_csr a = oracle_open(nrows, ncols);

    for (int64_t i = 0; i < nrows; i++) {
        for (int64_t j = 0; j < ncols; j++) {
            if (i == full || (i % 9 != 4 && (j + 2 * i) % ncols < 2 + i % 3)) {
                oracle_push(&a, j, 1.0 / (double)(2 + (i + 5 * j) % 7));
            }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void products_in_every_size(void **state)
{
    static const double factors[3][2] = {{1.0, 0.0}, {0.5, -2.0}, {-1.0, 1.0}};
    static const int64_t shapes[][3] = {{37, 41, 11}, {5, 3, 1}, {7, 1, 0}, {1, 90, 0}, {40, 2500, 20}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        oracle_csr a = ragged(shapes[s][0], shapes[s][1], shapes[s][2]);
        tess_matrix *m = make_matrix(ctx, &a);

        for (int k = 0; k < 5 * TESS_PRECISION_COUNT; k++) {
            tess_matrix *stored = to_blocks(m, 2 + k % 5, (tess_precision)(k / 5));
            oracle_csr held = decode_matrix(stored);

            check_products(stored, &held, TESS_OP_NONE, 3, factors);
            oracle_free(&held);
            tess_matrix_destroy(stored);
        }
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* NaN and Inf in x reach the rows that multiply them, and no row of the same block; in one column and in two. */
static void what_is_no_entry_is_not_added(void **state)
{
    static const double bad[] = {(double)NAN, HUGE_VAL};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_tridiagonal(23, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 10; k++) {
        tess_matrix *stored = to_blocks(m, 2 + k / 2, TESS_PRECISION_FP16);
        double x[2 * 23], y[2 * 23];
        tess_vector *vx, *vy;

        for (int64_t i = 0; i < 2 * 23; i++) {
            x[i] = 1.0;
        }
        x[9] = bad[k % 2];
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int64_t i = 0; i < 23; i++) {
            assert_true((isfinite(y[i]) != 0) == (i < 8 || i > 10));
        }
        vx = make_vector(ctx, 2 * 23, x);
        vy = make_zeros(ctx, 2 * 23);
        assert_ok(ctx, stored->ops->multiply_columns(
                           stored, &(tess_spmv_args){.x = vx->data, .y = vy->data, .alpha = 1.0, .columns = 2}));
        read_vector(vy, y);
        for (int64_t i = 0; i < 2 * 23; i++) { /* element 9 is that of row 4 in the second column */
            assert_true((isfinite(y[i]) != 0) == (i % 2 == 0 || i / 2 < 3 || i / 2 > 5));
        }
        tess_vector_destroy(vx);
        tess_vector_destroy(vy);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* y = r - A x with two dot products, in one pass. */
static void check_residual(const tess_matrix *stored)
{
    tess_context *ctx = stored->ctx;
    const int64_t n = stored->nrows;
    double *x = random_values(stored->ncols, 8, -1.0, 1.0), *r = random_values(n, 9, -1.0, 1.0);
    double *ax = test_allocate(n, sizeof *ax), *y = test_allocate(n, sizeof *y);
    tess_vector *vx = make_vector(ctx, stored->ncols, x), *vr = make_vector(ctx, n, r), *vy = make_zeros(ctx, n);
    tess_spmv_args args = {.x = vx->data, .y = vy->data, .alpha = 1.0, .residual = vr->data};
    tess_loop_state *device = NULL, local;
    wide dot[2] = {0, 0};

    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, ax);
    memset(&local, 0, sizeof local);
    local.phase = TESS_LOOP_RUNNING;
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *device, (void **)&device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, &local, sizeof local));
    args.reduction = (tess_reduction){.ndots = 2, .with = {args.y, args.residual}, .state = device};
    assert_ok(ctx, stored->ops->prepare(stored));
    assert_ok(ctx, stored->ops->spmv(stored, &args));
    assert_ok(ctx, ctx->backend->download(ctx, &local, device, sizeof local));
    read_vector(vy, y);
    for (int64_t i = 0; i < n; i++) {
        assert_true(y[i] == r[i] - ax[i]);
        dot[0] += (wide)y[i] * (wide)y[i];
        dot[1] += (wide)y[i] * (wide)r[i];
    }
    for (int k = 0; k < 2; k++) {
        assert_at_most(fabs(local.dots[k] - (double)dot[k]), 1e-14 * (double)n * (1.0 + fabs((double)dot[k])));
    }
    tess_device_release(ctx, device, 1, sizeof *device);
    tess_vector_destroy(vx);
    tess_vector_destroy(vr);
    tess_vector_destroy(vy);
    free(x);
    free(r);
    free(ax);
    free(y);
}

/* A polynomial's step, several columns, FP32 vectors in both arithmetics. */
static void check_epilogues(const tess_matrix *m, int block)
{
    tess_matrix *stored = to_blocks(m, block, TESS_PRECISION_FP32);
    oracle_csr held = decode_matrix(stored);

    check_residual(stored);
    for (int columns = 2; columns <= 16; columns *= 2) {
        check_spmm(stored, &held, columns, columns != 4, 1.0, 0.0);
        check_spmm(stored, &held, columns, true, 0.5, -1.0);
    }
    if (stored->ops->takes_columns(stored, true)) {
        check_columns_step(stored, &held, (columns_step){TESS_PRECISION_FP32, 4, true, false});
        check_columns_step(stored, &held, (columns_step){TESS_PRECISION_FP64, 8, true, false});
    }
    oracle_free(&held);
    tess_matrix_destroy(stored);
}

/* FP32 vectors: y of a product in the arithmetic, and of a step. */
static void check_fp32(const tess_matrix *m, const oracle_csr *a, int block, tess_arithmetic arithmetic)
{
    tess_context *ctx = m->ctx;
    tess_storage_options o = options_of(block, TESS_PRECISION_FP32);
    float *x = test_allocate(a->ncols, sizeof *x), *y = test_allocate(a->nrows, sizeof *y);
    double *total = test_allocate(a->nrows, sizeof *total);
    tess_vector *vx = NULL, *vy = NULL, *vt = make_zeros(ctx, a->nrows);
    tess_matrix *stored = NULL;
    tess_spmv_args args = {.vectors = TESS_PRECISION_FP32, .alpha = 1.0};

    o.arithmetic = arithmetic;
    assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
    for (int64_t j = 0; j < a->ncols; j++) {
        x[j] = (float)(1.0 / (double)(1 + j % 5));
    }
    assert_ok(ctx, tess_vector_create(ctx, a->ncols, TESS_PRECISION_FP32, &vx));
    assert_ok(ctx, tess_vector_create(ctx, a->nrows, TESS_PRECISION_FP32, &vy));
    assert_ok(ctx, tess_vector_set(vx, x, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, vx, 0.0, vy));
    assert_ok(ctx, tess_vector_get(vy, y, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    args.x_fp32 = vx->data;
    args.update = (tess_update){
        .kind = TESS_UPDATE_POLYNOMIAL, .base = vy->data, .total = vy->data, .gamma = 2.0, .wide_total = vt->data};
    args.beta = 0.5;
    assert_ok(ctx, stored->ops->spmv(stored, &args));
    read_vector(vt, total);
    for (int64_t i = 0; i < a->nrows; i++) {
        double sum = 0.0, size = 0.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            sum += a->val[k] * (double)x[a->col_ind[k]];
            size += fabs(a->val[k] * (double)x[a->col_ind[k]]);
        }
        size *= 0x1p-23 * (double)(4 + (arithmetic == TESS_ARITHMETIC_FP32 ? a->row_ptr[i + 1] - a->row_ptr[i] : 0));
        assert_at_most(fabs((double)y[i] - sum), size);
        assert_at_most(fabs(total[i] - ((double)y[i] + 2.0 * (sum + 0.5 * (double)y[i]))), 4.0 * size);
    }
    if (arithmetic == TESS_ARITHMETIC_FP32) { /* FP64 vectors are not for it */
        assert_int_equal(stored->ops->spmv(stored, &(tess_spmv_args){.x = vt->data, .y = vt->data}), TESS_UNSUPPORTED);
    }
    tess_matrix_destroy(stored);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_vector_destroy(vt);
    free(x);
    free(y);
    free(total);
}

static void epilogues_in_every_size(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = ragged(113, 113, 60), form;
    double *numbers = NULL;
    int64_t count = 0;
    tess_matrix *m = make_matrix(ctx, &a), *of_complex = make_complex(ctx, 70, 33, &numbers, &count);

    (void)state;
    form = decode_matrix(of_complex);
    check_epilogues(of_complex, 0);
    check_fp32(of_complex, &form, 0, TESS_ARITHMETIC_FP64);
    check_fp32(of_complex, &form, 0, TESS_ARITHMETIC_FP32);
    for (int block = 2; block <= 6; block++) {
        check_epilogues(m, block);
        check_fp32(m, &a, block, TESS_ARITHMETIC_FP64);
        check_fp32(m, &a, block, TESS_ARITHMETIC_FP32);
    }
    free(numbers);
    tess_matrix_destroy(m);
    tess_matrix_destroy(of_complex);
    oracle_free(&a);
    oracle_free(&form);
    tess_context_destroy(ctx);
}

#define BSR_TESTS                                                                                              \
    cmocka_unit_test(layout_of_a_small_matrix), cmocka_unit_test(the_size_is_that_of_the_nodes),               \
        cmocka_unit_test(other_sizes_are_refused), cmocka_unit_test(far_columns_take_four_bytes),              \
        cmocka_unit_test(a_sample_that_misleads_is_found_out),                                                 \
        cmocka_unit_test(complex_numbers_take_an_index_and_two_values), cmocka_unit_test(new_numbers_arrive),  \
        cmocka_unit_test(auto_takes_it_for_complex_matrices), cmocka_unit_test(auto_takes_it_for_full_blocks), \
        cmocka_unit_test(products_in_every_size), cmocka_unit_test(what_is_no_entry_is_not_added),             \
        cmocka_unit_test(epilogues_in_every_size)

#ifndef TESTS_ON_GPU
/* The diagonal of make_complex without a long row, which is first in its rows, is made to dominate. */
static void automatic_solves_take_it(void **state)
{
    enum { N = 90 };
    tess_context *ctx = open_device(2);
    double *numbers = NULL, *b = random_values(2 * N, 6, -1.0, 1.0);
    int64_t count = 0, k = 0;
    tess_matrix *m = make_complex(ctx, N, -1, &numbers, &count);
    tess_vector *vb = make_vector(ctx, 2 * N, b), *vx = make_zeros(ctx, 2 * N);
    tess_solve_options options;
    tess_solve_result result;
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        numbers[2 * k] += 9.0;
        k += (i + 12 < N ? 12 : N - 1 - i) / 3 + 1;
    }
    assert_int_equal(k, count);
    assert_ok(ctx, tess_matrix_update_values(m, numbers, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_AUTO;
    options.precond.kind = TESS_PRECOND_JACOBI;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    tess_solve_result_init(&result);
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_true(result.verified);
    assert_int_equal(result.storage.format, TESS_FORMAT_BSR);
    assert_int_equal(result.storage.matrix_bytes, 4 * (N + 1) + 18 * count);
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    tess_matrix_destroy(m);
    free(numbers);
    free(b);
    tess_context_destroy(ctx);
}

/* The host adds the terms of a column as those of one vector: the same bits. */
static void columns_have_the_bits_of_one(void **state)
{
    enum { COLUMNS = 16, N = 119 };
    tess_context *ctx = open_device(2);
    oracle_csr a = ragged(N, N, 60);
    double *numbers = NULL, *x = random_values(COLUMNS * N, 4, -1.0, 1.0);
    int64_t count = 0;
    tess_matrix *m = make_matrix(ctx, &a), *of_complex = make_complex(ctx, N / 2, 33, &numbers, &count);
    tess_vector *vx = make_vector(ctx, COLUMNS * N, x), *vy = make_zeros(ctx, COLUMNS * N);
    double y[COLUMNS * N], own[N], alone[N];

    (void)state;
    for (int k = 0; k < 12; k++) {
        tess_matrix *stored = k < 2 ? to_blocks(of_complex, 0, k % 2 ? TESS_PRECISION_FP16 : TESS_PRECISION_FP64)
                                    : to_blocks(m, 1 + k / 2, k % 2 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);

        assert_ok(ctx, stored->ops->multiply_columns(
                           stored, &(tess_spmv_args){.x = vx->data, .y = vy->data, .alpha = 1.0, .columns = COLUMNS}));
        read_vector(vy, y);
        for (int64_t c = 0; c < COLUMNS; c++) {
            for (int64_t j = 0; j < stored->ncols; j++) {
                own[j] = x[j * COLUMNS + c];
            }
            multiply(stored, TESS_OP_NONE, 1.0, own, 0.0, alone, alone);
            for (int64_t i = 0; i < stored->nrows; i++) {
                assert_true(same_bits(&y[i * COLUMNS + c], &alone[i], 1));
            }
        }
        tess_matrix_destroy(stored);
    }
    free(numbers);
    free(x);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_matrix_destroy(m);
    tess_matrix_destroy(of_complex);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BSR_TESTS,
        cmocka_unit_test(columns_have_the_bits_of_one),
        cmocka_unit_test(automatic_solves_take_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
