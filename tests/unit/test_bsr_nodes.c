/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BSR as levels of multigrid have it: blocks that need not be square, without masks. tests/gpu/test_bsr_nodes.c runs
 * the tests of BSR_NODES_TESTS in a context of a GPU.
 */
#include <tessera/codec.h>

#include "format/bsr/bsr.h"
#include "matrix/matrix.h"
#include "support/columns.h"
#include "support/layout.h"

static const bsr_view *view_of(const tess_matrix *m)
{
    return &((const bsr_storage *)m->storage)->view;
}

static tess_matrix *make_nodes(const tess_matrix *m, int height, int width, tess_precision precision,
                               tess_arithmetic arithmetic)
{
    const bsr_nodes nodes = {height, width, precision, arithmetic, INT64_MAX};
    tess_matrix *stored = NULL;

    assert_ok(m->ctx, bsr_make_nodes(m, &nodes, &stored));
    assert_non_null(stored);
    assert_ok(m->ctx, stored->ops->prepare(stored));
    return stored;
}

static double round_to(tess_precision precision, double value)
{
    double place = 0.0;

    tess_store(precision, &place, 0, value, TESS_OVERFLOW_INFINITY);
    return tess_load(precision, &place, 0);
}

/* The matrix with its values rounded. */
static oracle_csr rounded(const oracle_csr *a, tess_precision precision)
{
    oracle_csr out = oracle_open(a->nrows, a->ncols);

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            oracle_push(&out, a->col_ind[k], round_to(precision, a->val[k]));
        }
        oracle_end_row(&out, i);
    }
    return out;
}

/* ---- layout ---- */

/*
 *     1  2  3  .  .  .
 *     4  5  6  .  .  .
 *     .  .  .  7  .  8       three places of two blocks are no entries: zeros like others
 *     9 10 13 14 11 12
 */
static void layout_of_rectangles(void **state)
{
    static const double value[4][6] = {
        {1, 2, 3, 0, 0, 0}, {4, 5, 6, 0, 0, 0}, {0, 0, 0, 7, 0, 8}, {9, 10, 13, 14, 11, 12}};
    static const int32_t offset[] = {0, 1, 3};
    static const int16_t column[] = {0, 0, 3};
    static const double places[] = {1, 4, 2, 5, 3, 6, 0, 9, 0, 10, 0, 13, 7, 14, 0, 11, 8, 12};
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_open(4, 6);
    tess_matrix *m = NULL;

    (void)state;
    for (int64_t i = 0; i < 4; i++) {
        for (int64_t j = 0; j < 6; j++) {
            if (value[i][j] != 0.0) { oracle_push(&a, j, value[i][j]); }
        }
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        tess_matrix *stored = make_nodes(m, 2, 3, (tess_precision)p, TESS_ARITHMETIC_FP64);
        const bsr_view *v = view_of(stored);
        const int64_t bytes = (int64_t)tess_precision_bytes(v->precision);
        void *found_offset = fetch_bytes(stored, v->row_ptr, sizeof offset),
             *found_column = fetch_bytes(stored, v->column, sizeof column),
             *val = fetch_bytes(stored, v->val, 18 * bytes);

        assert_int_equal(v->nblock_rows, 2);
        assert_int_equal(v->nblocks, 3);
        assert_int_equal(v->column_bits, 16);
        assert_null(v->mask);
        assert_memory_equal(found_offset, offset, sizeof offset);
        assert_memory_equal(found_column, column, sizeof column);
        for (int64_t k = 0; k < 18; k++) {
            assert_true(tess_load(v->precision, val, k) == round_to(v->precision, places[k]));
        }
        assert_int_equal(tess_matrix_bytes(stored), 3 * 4 + 3 * 2 + 18 * bytes);
        free(found_offset);
        free(found_column);
        free(val);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* `nodes` block rows of blocks at nodes i, i + 3 and i + 6 of `others` nodes; row `full` has all of them. Every 7th
   entry off the corner of its block is missing. */
static oracle_csr of_nodes(int height, int width, int64_t nodes, int64_t others, int64_t full)
{
    oracle_csr a = oracle_open(nodes * height, others * width);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; j < a.ncols; j++) {
            const int64_t node = i / height, other = j / width;
            const bool is = node == full || (other % 3 == node % 3 && other >= node % others && other <= node + 6);

            if (!is || ((i + 3 * j) % 7 == 0 && (i % height != 0 || j % width != 0))) { continue; }
            oracle_push(&a, j, 1.0 / (double)(2 + (i + 5 * j) % 7));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* More bytes than allowed, and more than 1.5 values for an entry, are no failure. */
static void what_does_not_pay_is_not_made(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = of_nodes(3, 6, 12, 9, -1), sparse = oracle_open(6, 6);
    tess_matrix *m = make_matrix(ctx, &a), *thin = NULL;
    bsr_nodes nodes = {3, 6, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32, INT64_MAX};
    tess_matrix *stored = NULL;

    (void)state;
    assert_ok(ctx, bsr_make_nodes(m, &nodes, &stored));
    nodes.most_bytes = tess_matrix_bytes(stored);
    tess_matrix_destroy(stored);
    assert_ok(ctx, bsr_make_nodes(m, &nodes, &stored));
    assert_non_null(stored);
    tess_matrix_destroy(stored);
    nodes.most_bytes -= 1;
    assert_ok(ctx, bsr_make_nodes(m, &nodes, &stored));
    assert_null(stored);
    for (int64_t i = 0; i < 6; i++) { /* 2 x 2 blocks of 4 places, with 3 entries or with 2 */
        if (i % 2) { oracle_push(&sparse, i - 1, 1.0); }
        oracle_push(&sparse, i, 2.0);
        oracle_end_row(&sparse, i);
    }
    for (int turn = 0; turn < 2; turn++) {
        thin = make_matrix(ctx, &sparse);
        nodes = (bsr_nodes){2, 2, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64, INT64_MAX};
        assert_ok(ctx, bsr_make_nodes(thin, &nodes, &stored));
        assert_int_equal(stored != NULL, turn == 0);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(thin);
        oracle_free(&sparse);
        sparse = oracle_open(6, 6);
        for (int64_t i = 0; i < 6; i++) {
            oracle_push(&sparse, i, 2.0);
            oracle_end_row(&sparse, i);
        }
    }
    oracle_free(&sparse);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Rectangles hold their columns as they are: up to 32767 in 16 bits. */
static void far_columns_take_four_bytes(void **state)
{
    static const int64_t ncols[] = {32772, 32778};
    static const double factors[1][2] = {{1.0, 0.0}};
    tess_context *ctx = open_device(1);

    (void)state;
    for (int k = 0; k < 2; k++) {
        oracle_csr a = oracle_open(6, ncols[k]);
        tess_matrix *m = NULL, *stored = NULL;

        for (int64_t i = 0; i < 6; i++) {
            for (int64_t j = i < 3 ? 0 : ncols[k] - 6; j < (i < 3 ? 6 : ncols[k]); j++) {
                oracle_push(&a, j, (double)(1 + i + j % 5));
            }
            oracle_end_row(&a, i);
        }
        m = make_matrix(ctx, &a);
        stored = make_nodes(m, 3, 6, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64);
        assert_int_equal(view_of(stored)->column_bits, k == 0 ? 16 : 32);
        check_products(stored, &a, TESS_OP_NONE, 1, factors);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- products ---- */

/* A step with FP32 vectors: y := alpha A x, total += gamma y. */
static void check_fp32_step(const tess_matrix *stored, const oracle_csr *held)
{
    tess_context *ctx = stored->ctx;
    const int64_t n = held->nrows;
    float *x = test_allocate(held->ncols, sizeof *x), *y = test_allocate(n, sizeof *y);
    double *total = test_allocate(n, sizeof *total);
    tess_vector *vx = NULL, *vy = NULL, *vt = make_zeros(ctx, n);
    tess_spmv_args args = {.vectors = TESS_PRECISION_FP32, .alpha = -0.5};

    /* the total is y itself: its sum is formed after y is written */
    for (int64_t j = 0; j < held->ncols; j++) {
        x[j] = (float)(1.0 / (double)(1 + j % 5));
    }
    assert_ok(ctx, tess_vector_create(ctx, held->ncols, TESS_PRECISION_FP32, &vx));
    assert_ok(ctx, tess_vector_create(ctx, n, TESS_PRECISION_FP32, &vy));
    assert_ok(ctx, tess_vector_set(vx, x, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    args.x_fp32 = vx->data;
    args.y_fp32 = vy->data;
    args.update = (tess_update){
        .kind = TESS_UPDATE_POLYNOMIAL, .base = vy->data, .total = vy->data, .gamma = 2.0, .wide_total = vt->data};
    assert_ok(ctx, stored->ops->spmv(stored, &args));
    assert_ok(ctx, tess_vector_get(vy, y, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    read_vector(vt, total);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0, size = 0.0;

        for (int64_t k = held->row_ptr[i]; k < held->row_ptr[i + 1]; k++) {
            sum -= 0.5 * held->val[k] * (double)x[held->col_ind[k]];
            size += fabs(0.5 * held->val[k] * (double)x[held->col_ind[k]]);
        }
        size *= 0x1p-23 * (double)(4 + held->row_ptr[i + 1] - held->row_ptr[i]);
        assert_at_most(fabs((double)y[i] - sum), size);
        assert_at_most(fabs(total[i] - 3.0 * sum), 3.0 * size);
    }
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_vector_destroy(vt);
    free(x);
    free(y);
    free(total);
}

static void check_shape(const tess_matrix *m, const oracle_csr *a, int height, int width, tess_precision precision)
{
    static const double factors[2][2] = {{1.0, 0.0}, {0.5, -2.0}};
    tess_matrix *stored = make_nodes(m, height, width, precision, TESS_ARITHMETIC_FP64);
    tess_matrix *narrow = make_nodes(m, height, width, precision, TESS_ARITHMETIC_FP32);
    oracle_csr held = rounded(a, precision);
    const int columns = 2 << (height + width) % 4;

    check_products(stored, &held, TESS_OP_NONE, 2, factors);
    check_fp32_step(stored, &held);
    check_fp32_step(narrow, &held);
    check_spmm(stored, &held, 3, true, 1.0, 0.5);
    check_columns_step(stored, &held, (columns_step){TESS_PRECISION_FP64, columns, true, false});
    check_columns_step(stored, &held, (columns_step){TESS_PRECISION_FP32, columns, false, false});
    check_columns_step(narrow, &held, (columns_step){TESS_PRECISION_FP32, 2, true, true});
    oracle_free(&held);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(narrow);
}

/* The full row is longer than a segment of a GPU, and than the host decodes at once. */
static void products_of_every_shape(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int height = 2; height <= 6; height++) {
        for (int width = 2; width <= 6; width++) {
            const bool every = (height == 3 && width != 4) || (height == 6 && width == 3);
            oracle_csr a = of_nodes(height, width, 14, on_gpu_or_emulated(600, 160) / width, 5);
            tess_matrix *m = make_matrix(ctx, &a);

            for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
                if (every || p == (height + 2 * width) % TESS_PRECISION_COUNT) {
                    check_shape(m, &a, height, width, (tess_precision)p);
                }
            }
            tess_matrix_destroy(m);
            oracle_free(&a);
        }
    }
    tess_context_destroy(ctx);
}

#define BSR_NODES_TESTS                                                                      \
    cmocka_unit_test(layout_of_rectangles), cmocka_unit_test(what_does_not_pay_is_not_made), \
        cmocka_unit_test(far_columns_take_four_bytes), cmocka_unit_test(products_of_every_shape)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {BSR_NODES_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
