/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners that take several columns at once: each column as it is alone, with its bits where they are promised.
 */
#include <tessera/columns.h>

#include "precond/precond.h"
#include "support/heap.h"
#include "support/incomplete.h"
#include "support/precond_of.h"

enum { MOST = 33 };

static const int64_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, MOST};

static tess_precond *make_precond(const tess_matrix *a, const tess_precond_options *options)
{
    tess_precond *m = NULL;

    assert_ok(a->ctx, tess_precond_create(a, options, &m));
    return m;
}

/* r and z of some columns, each applied alone, one column after another. */
typedef struct alone {
    int64_t n;
    double *r, *z;
} alone;

static alone apply_alone(const tess_precond *m, int64_t columns)
{
    const int64_t all = m->n * columns;
    alone a = {.n = m->n, .r = random_values(all, 3, -1.0, 1.0), .z = test_allocate(all, sizeof *a.z)};

    for (int64_t c = 0; c < columns; c++) {
        apply_precond(m, a.n, a.r + c * a.n, a.z + c * a.n);
    }
    return a;
}

static void free_alone(alone *a)
{
    free(a->r);
    free(a->z);
}

/* The first k columns together. relative: of a column's largest value; 0: they have the same bits. */
static void check_together(const tess_precond *m, const alone *a, int64_t k, double relative)
{
    double *z = test_allocate(a->n * k, sizeof *z), *one = test_allocate(a->n, sizeof *one);
    const tess_columns vr = tess_columns_by_column(a->n, k, a->r, TESS_MEMORY_HOST);
    const tess_columns vz = tess_columns_by_row(a->n, k, z, TESS_MEMORY_HOST);

    assert_ok(m->ctx, tess_precond_apply_columns(m, &vr, &vz));
    for (int64_t c = 0; c < k; c++) {
        const double *const expected = a->z + c * a->n;
        double largest = 0.0;

        for (int64_t i = 0; i < a->n; i++) {
            one[i] = z[i * k + c];
            largest = fmax(largest, fabs(expected[i]));
        }
        if (relative == 0.0) { assert_true(same_bits(one, expected, a->n)); }
        for (int64_t i = 0; i < a->n; i++) {
            assert_at_most(fabs(one[i] - expected[i]), relative * largest);
        }
    }
    free(z);
    free(one);
}

/* As many columns as there are in `counts`, unless only one count is wanted; on an emulated GPU one of each width. */
static void check_columns(const tess_matrix *a, const tess_precond_options *options, int64_t only, double relative)
{
    tess_precond *m = make_precond(a, options);
    alone expected = apply_alone(m, only > 0 ? only : MOST);

    assert_true(tess_precond_takes_columns(m));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const bool wanted = only == 0 ? on_gpu_or_emulated(1, counts[i] % 4 == 1 || counts[i] == 2) : counts[i] == only;

        if (wanted) { check_together(m, &expected, counts[i], relative); }
    }
    free_alone(&expected);
    tess_precond_destroy(m);
}

static tess_precond_options factors_in(tess_precond_kind kind, tess_triangular triangular, tess_precision storage)
{
    tess_precond_options options = precond_of(kind, 0);

    options.incomplete.triangular = triangular;
    options.role = (tess_role_precision){1, storage, TESS_ARITHMETIC_FP64};
    return options;
}

/* ---- factors ---- */

static void columns_of_factors_have_their_bits(void **state)
{
    static const struct {
        tess_precond_kind kind;
        tess_triangular triangular;
        tess_precision storage;
    } cases[] = {{TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, TESS_PRECISION_FP64},
                 {TESS_PRECOND_IC0, TESS_TRIANGULAR_MERGED, TESS_PRECISION_FP64},
                 {TESS_PRECOND_ILUT, TESS_TRIANGULAR_LEVELS, TESS_PRECISION_FP32},
                 {TESS_PRECOND_ICT, TESS_TRIANGULAR_MERGED, TESS_PRECISION_FP32},
                 {TESS_PRECOND_ILUK, TESS_TRIANGULAR_LEVELS, TESS_PRECISION_BF16},
                 {TESS_PRECOND_IC0, TESS_TRIANGULAR_AUTO, TESS_PRECISION_FP16},
                 {TESS_PRECOND_ILU0, TESS_TRIANGULAR_COLORS, TESS_PRECISION_FP64},
                 {TESS_PRECOND_IC0, TESS_TRIANGULAR_COLORS, TESS_PRECISION_FP16}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool symmetric = i % 2 == 1;
        oracle_csr a = random_dominant(140, 3 + 5 * (int64_t)i, symmetric, i + 1);
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, &a);
        const tess_precond_options options = factors_in(cases[i].kind, cases[i].triangular, cases[i].storage);

        check_columns(matrix, &options, 0, 0.0);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        oracle_free(&a);
    }
}

/* Rows that are longer than what is decoded at a time, alone and behind one another. */
static void rows_of_any_length(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        oracle_csr a = i < 2 ? arrow(1300 + i, false) : random_dominant(700, 600, false, 3);
        tess_context *ctx = open_device(1);
        tess_matrix *matrix = make_matrix(ctx, &a);
        const tess_precond_options options =
            factors_in(TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, i % 2 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32);

        check_columns(matrix, &options, 6, 0.0);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        oracle_free(&a);
    }
}

/* Level sets of red_black(201) are shared by threads. */
static void threads_do_not_change_a_bit(void **state)
{
    oracle_csr a = red_black(on_gpu_or_emulated(201, 21));
    const tess_precond_options options = factors_in(TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, TESS_PRECISION_FP32);
    alone expected = {0};

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_device(threads);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond *m = make_precond(matrix, &options);

        if (threads == 1) { expected = apply_alone(m, 8); }
        check_together(m, &expected, 8, 0.0);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    free_alone(&expected);
    oracle_free(&a);
}

/* Square blocks, and triangles that are swept, multiply columns in another order of sums. */
static void square_blocks_take_columns(void **state)
{
    enum { SIDE = 15 };
    oracle_csr a = oracle_laplace2d(SIDE);

    (void)state;
    for (int i = 0; i < 6; i++) {
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_precond_options options =
            factors_in(TESS_PRECOND_IC0, i < 3 ? TESS_TRIANGULAR_BLOCKS : TESS_TRIANGULAR_SWEEPS,
                       i < 4 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP16);

        if (i < 3) { options.incomplete.leaf = 64; }
        if (i >= 3) { options.incomplete.sweeps = i; } /* of both parities */
        if (i == 1) { options.incomplete.squares.format = TESS_FORMAT_SELL; }
        if (i == 2) { options.incomplete.squares.policy.policy = TESS_POLICY_MEAN_3STD; }
        check_columns(matrix, &options, 7, gamma_of((double)SIDE * SIDE));
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&a);
}

/* Workspace grows with the columns, once, and is told. */
static void workspace_is_kept(void **state)
{
    static const int64_t widths[] = {2, 8, 4, 8};
    oracle_csr a = oracle_laplace2d(9);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options = factors_in(TESS_PRECOND_ILU0, TESS_TRIANGULAR_LEVELS, TESS_PRECISION_FP64);
    tess_precond *m = make_precond(matrix, &options);
    alone expected = apply_alone(m, 8);
    int64_t bytes = tess_precond_bytes(m);

    (void)state;
    for (int i = 0; i < 4; i++) {
        check_together(m, &expected, widths[i], 0.0);
        if (i < 2) { assert_true(tess_precond_bytes(m) >= bytes + (i == 0 ? 2 : 6) * a.nrows * 8); }
        if (i >= 2) { assert_int_equal(tess_precond_bytes(m), bytes); }
        bytes = tess_precond_bytes(m);
    }
    free_alone(&expected);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Without factors nothing is applied; with the next values it is, to columns too. */
static void columns_of_failed_factors_are_refused(void **state)
{
    oracle_csr bad = two_by_two((double)NAN, 1.0, 1.0, 4.0), good = two_by_two(4.0, 1.0, 1.0, 4.0),
               none = oracle_open(0, 0);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &bad), *empty = make_matrix(ctx, &none);
    tess_precond_options options = precond_of(TESS_PRECOND_ILU0, 0);
    const double r[4] = {1.0, 2.0, 3.0, 4.0};
    double z[4];
    const tess_columns vr = tess_columns_by_row(2, 2, (double *)(uintptr_t)r, TESS_MEMORY_HOST);
    const tess_columns vz = tess_columns_by_row(2, 2, z, TESS_MEMORY_HOST);
    const tess_columns nothing = tess_columns_by_row(0, 2, NULL, TESS_MEMORY_HOST);
    tess_precond *m = NULL, *of_none = make_precond(empty, &options);

    (void)state;
    assert_fails(ctx, TESS_SINGULAR, tess_precond_create_renewable(matrix, &options, &m));
    assert_false(tess_precond_takes_columns(m));
    assert_fails(ctx, TESS_SINGULAR, tess_precond_apply_columns(m, &vr, &vz));
    assert_fails(ctx, TESS_SINGULAR, m->ops->apply_columns(m, 2, r, z));
    assert_ok(ctx, tess_matrix_update_values(matrix, good.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    assert_ok(ctx, tess_precond_apply_columns(m, &vr, &vz));
    assert_ok(ctx, tess_precond_apply_columns(of_none, &nothing, &nothing));
    assert_ok(ctx, of_none->ops->apply_columns(of_none, 2, NULL, NULL));
    tess_precond_destroy(m);
    tess_precond_destroy(of_none);
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(empty);
    tess_context_destroy(ctx);
    oracle_free(&bad);
    oracle_free(&good);
    oracle_free(&none);
}

/* ---- others ---- */

/* On a host a sum has the order that it has for one column. */
static void diagonal_blocks_of_any_size(void **state)
{
    static const struct {
        int rows;
        tess_role_precision role;
        bool adaptive;
    } cases[] = {{1, {1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64}, false},
                 {5, {1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, false},
                 {9, {1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64}, false},
                 {16, {1, TESS_PRECISION_BF16, TESS_ARITHMETIC_FP64}, true},
                 {64, {1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, false}};
    oracle_csr a = random_dominant(150, 30, false, 7);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_precond_options options = precond_of(TESS_PRECOND_BLOCK_JACOBI, cases[i].rows);

        options.role = cases[i].role;
        options.block_jacobi.adaptive = cases[i].adaptive;
        /* blocks are dominant: the magnitudes of a sum's terms add up to a few times its largest value */
        check_columns(matrix, &options, 0,
                      ctx->device == TESS_DEVICE_CPU ? 0.0 : 8.0 * gamma_of((double)cases[i].rows + 2.0));
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Factors as smoothers, of levels in FP64 and FP32. */
static void cycles_with_factors_take_columns(void **state)
{
    enum { SIDE = 13 };
    oracle_csr a = oracle_laplace2d(SIDE);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool fp32 = i >= 2;
        tess_precond_options options = precond_of(TESS_PRECOND_AMG, 0);

        options.amg.smoother = TESS_AMG_ILU0;
        options.amg.coarsest = 10;
        options.amg.cycle = i % 2 ? TESS_AMG_W : TESS_AMG_V;
        options.amg.precision = fp32 ? TESS_AMG_PRECISION_FP32 : TESS_AMG_PRECISION_FP64;
        check_columns(matrix, &options, i % 2 ? 3 : 9, fp32 ? SIDE * SIDE * 0x1p-24 : gamma_of((double)SIDE * SIDE));
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* The k-th allocation of an application fails, for k = 0, 1, ...; then another one succeeds, and all is freed. */
static void failed_allocations_leave_what_works(void **state)
{
    oracle_csr a = oracle_laplace2d(15);
    tess_precond_options options[4] = {factors_in(TESS_PRECOND_IC0, TESS_TRIANGULAR_BLOCKS, TESS_PRECISION_FP64),
                                       factors_in(TESS_PRECOND_ILUT, TESS_TRIANGULAR_LEVELS, TESS_PRECISION_FP32),
                                       precond_of(TESS_PRECOND_AMG, 0),
                                       factors_in(TESS_PRECOND_IC0, TESS_TRIANGULAR_SWEEPS, TESS_PRECISION_FP16)};

    (void)state;
    options[0].incomplete.leaf = 64;
    options[2].amg.smoother = TESS_AMG_ILU0;
    options[2].amg.coarsest = 10;
    options[2].amg.precision = TESS_AMG_PRECISION_FP32;
    for (int i = 0; i < 4; i++) {
        heap memory = {.fail_at = -1};
        tess_context_options opened;
        tess_context *ctx = NULL;
        tess_matrix *matrix = NULL;
        tess_precond *m = NULL;
        double *r = random_values(a.nrows * 4, 3, -1.0, 1.0), *z = test_allocate(a.nrows * 4, sizeof *z);
        const tess_columns vr = tess_columns_by_row(a.nrows, 4, r, TESS_MEMORY_HOST);
        const tess_columns vz = tess_columns_by_row(a.nrows, 4, z, TESS_MEMORY_HOST);
        int64_t k = 0;

        tess_context_options_init(&opened);
        opened.device = TESS_DEVICE_CPU;
        opened.threads = 2;
        opened.host_allocator = heap_allocator(&memory);
        assert_ok(NULL, tess_context_create(&opened, &ctx));
        matrix = make_matrix(ctx, &a);
        m = make_precond(matrix, &options[i]);
        for (;; k++) {
            tess_status status = TESS_SUCCESS;

            heap_fail_at(&memory, k);
            status = tess_precond_apply_columns(m, &vr, &vz);
            memory.fail_at = -1;
            if (status == TESS_SUCCESS) { break; }
            assert_int_equal(status, TESS_OUT_OF_MEMORY);
            assert_true(k < 100);
        }
        assert_true(k >= 3); /* r and z of the call, and workspace */
        assert_int_equal(memory.wrong_releases, 0);
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        assert_int_equal(memory.live, 0);
        free(r);
        free(z);
    }
    oracle_free(&a);
}

#define PRECOND_COLUMNS_TESTS                                                                              \
    cmocka_unit_test(columns_of_factors_have_their_bits), cmocka_unit_test(rows_of_any_length),            \
        cmocka_unit_test(threads_do_not_change_a_bit), cmocka_unit_test(square_blocks_take_columns),       \
        cmocka_unit_test(workspace_is_kept), cmocka_unit_test(columns_of_failed_factors_are_refused),      \
        cmocka_unit_test(diagonal_blocks_of_any_size), cmocka_unit_test(cycles_with_factors_take_columns), \
        cmocka_unit_test(failed_allocations_leave_what_works)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {PRECOND_COLUMNS_TESTS};

    return cmocka_run_group_tests_name("unit.precond_columns", tests, NULL, NULL);
}
#endif
