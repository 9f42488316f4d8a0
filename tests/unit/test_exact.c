/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in one precision that stores every value exactly: the choice of policy lossless, and its use by a solve.
   tests/gpu/test_exact.c runs the same tests on a GPU. */
#include "matrix/matrix.h"
#include "support/product.h"
#include "support/solve.h"

static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_ELLR, TESS_FORMAT_SELL, TESS_FORMAT_DIA,
                                      TESS_FORMAT_BSR};
enum { FORMATS = sizeof formats / sizeof *formats };

static tess_storage_options lossless(tess_format format, const char *policy, const char *levels)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = format;
    if (tess_format_can(format)->pads) { o.slices.max_padding = 100.0; }
    o.policy.granularity = TESS_GRANULARITY_MATRIX;
    assert_int_equal(tess_policy_options_parse(policy, &o.policy), TESS_SUCCESS);
    if (levels) { assert_int_equal(tess_precision_levels_parse(levels, &o.policy), TESS_SUCCESS); }
    return o;
}

/* n rows with one entry each, on the diagonal: 1, except `first` in the first row and `last` in the last. */
static oracle_csr diagonal_of(int64_t n, double first, double last)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        oracle_push(&a, i, i == 0 ? first : i == n - 1 ? last : 1.0);
        oracle_end_row(&a, i);
    }
    return a;
}

static void the_lowest_that_holds_all_is_taken(void **state)
{
    static const struct {
        double first, last;
        const char *policy, *levels;
        tess_precision precision;
        bool exact;
    } cases[] = {
        {6.0, -1.0, "lossless", NULL, TESS_PRECISION_E4M3, true},
        {1e-5 / 3.0, 1.0, "lossless", NULL, TESS_PRECISION_FP64, true},
        {32768.0, 0x1p-16, "lossless", NULL, TESS_PRECISION_E5M2, true},
        {1.0, 17.0, "lossless", NULL, TESS_PRECISION_FP16, true}, /* five bits */
        {17.0, 32768.0, "lossless", NULL, TESS_PRECISION_FP16, true},
        {2049.0, 1.0, "lossless", NULL, TESS_PRECISION_FP32, true}, /* twelve */
        {2049.0, 1.0, "lossless", "fp64,fp16", TESS_PRECISION_FP64, true},
        /* bf16 has the range and fp16 the bits: neither has both, and rows would go to each */
        {0x1p100, 2047.0, "lossless", "fp64,fp32,fp16,bf16", TESS_PRECISION_FP32, true},
        {0x1p100, 255.0, "lossless", "fp64,fp32,fp16,bf16", TESS_PRECISION_BF16, true},
        {1.0, 2047.0, "lossless", "fp64,fp32,fp16,bf16", TESS_PRECISION_FP16, true},
        {0x1p100, 2047.0, "lossless", "fp64,fp16,bf16", TESS_PRECISION_FP64, true},
        {1.0, 1.0 + 0x1p-52, "lossless:1e-15", NULL, TESS_PRECISION_E4M3, false},
        {1.0, 6.0, "lossless:1e-15", NULL, TESS_PRECISION_E4M3, true}, /* nothing is lost, whatever loss is allowed */
    };
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < FORMATS * sizeof cases / sizeof *cases; k++) {
        const size_t c = k / FORMATS;
        oracle_csr a = diagonal_of(300, cases[c].first, cases[c].last);
        tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
        tess_storage_options o = lossless(formats[k % FORMATS], cases[c].policy, cases[c].levels);
        oracle_csr held;

        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        assert_int_equal(tess_matrix_precision(stored), cases[c].precision);
        assert_int_equal(tess_matrix_is_exact(stored), cases[c].exact);
        held = decode_matrix(stored);
        check_product(stored, &held, TESS_OP_NONE, 1.5, 0.5);
        if (cases[c].exact) {
            assert_memory_equal(held.val, a.val, (size_t)a.nnz * sizeof *a.val);
            check_product(stored, &a, TESS_OP_TRANSPOSE, 1.0, 0.0); /* by the assembled matrix, which is the same */
        }
        oracle_free(&held);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void what_was_asked_for_may_be_exact(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(12), third = diagonal_of(12, 1.0 / 3.0, 1.0);

    (void)state;
    for (int k = 0; k < FORMATS * TESS_PRECISION_COUNT; k++) {
        tess_storage_options o = lossless(formats[k % FORMATS], "none", NULL);

        o.precision = (tess_precision)(k / FORMATS);
        for (int exact = 0; exact < 2; exact++) {
            tess_matrix *m = make_matrix(ctx, exact ? &a : &third), *stored = NULL;

            assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
            assert_int_equal(tess_matrix_precision(stored), o.precision);
            assert_int_equal(tess_matrix_is_exact(stored), exact || o.precision == TESS_PRECISION_FP64);
            tess_matrix_destroy(stored);
            tess_matrix_destroy(m);
        }
    }
    oracle_free(&a);
    oracle_free(&third);
    tess_context_destroy(ctx);
}

/* Iterations, and every bit of x, are those of FP64 in the same format. But on a GPU blocks of csr and slices may be
   others, and so the rounding of dot products: then an iteration more or less. */
static void a_solve_is_that_of_fp64(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(30);
    double *b = random_values(a.nrows, 9, -1.0, 1.0);

    (void)state;
    for (int k = 0; k < 2 * FORMATS; k++) {
        tess_solve_options options = solve_options(k < FORMATS ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB);
        const bool same = TEST_DEVICE == TESS_DEVICE_CPU || formats[k % FORMATS] == TESS_FORMAT_DIA;
        solved wide, narrow;

        options.storage = lossless(formats[k % FORMATS], "none", NULL);
        options.engine = TEST_DEVICE == TESS_DEVICE_GPU ? TESS_ENGINE_GRAPH : TESS_ENGINE_PLAIN;
        wide = solve_here(ctx, &a, &options, b);
        options.storage = lossless(formats[k % FORMATS], "lossless", NULL);
        narrow = solve_here(ctx, &a, &options, b);
        assert_true(narrow.result.converged && narrow.result.storage.exact && wide.result.storage.exact);
        assert_int_equal(narrow.result.storage.precision, TESS_PRECISION_E4M3);
        assert_int_equal(narrow.result.storage.nonzeros_per_precision[TESS_PRECISION_E4M3], a.nnz);
        assert_true(narrow.result.storage.matrix_bytes < wide.result.storage.matrix_bytes);
        assert_int_equal(narrow.result.refinements, wide.result.refinements);
        assert_false(narrow.result.escalated);
        assert_in_range(narrow.result.iterations + 1, wide.result.iterations + (same ? 1 : 0),
                        wide.result.iterations + (same ? 1 : 2));
        assert_true(!same || same_bits(narrow.x, wide.x, a.nrows));
        check_honest(&a, b, narrow.x, &options, &narrow.result);
        discard(&wide);
        discard(&narrow);
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* New values that the precision does not hold: they are rounded, and the solver goes by that; and back. */
static void new_values_are_looked_at(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(20), other = oracle_laplace2d(20);
    tess_matrix *m = make_matrix(ctx, &a);
    double *b = random_values(a.nrows, 4, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t k = 0; k < other.nnz; k++) {
        other.val[k] /= 3.0;
    }
    options.storage = lossless(TESS_FORMAT_DIA, "lossless", NULL);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int turn = 0; turn < 3; turn++) {
        const oracle_csr *now = turn == 1 ? &other : &a;
        tess_solve_result result;

        assert_ok(ctx, tess_matrix_update_values(m, now->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_with(solver, ctx, a.nrows, b, x);
        check_honest(now, b, x, &options, &result);
        assert_true(result.converged);
        assert_int_equal(result.refinements > 0, turn == 1);
        assert_int_equal(result.storage.precision == TESS_PRECISION_E4M3 && result.storage.exact, turn != 1);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    oracle_free(&a);
    oracle_free(&other);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* The levels of tiles are those of the earlier values: new ones may lose digits, and the solve repairs this. */
static void new_values_of_tiles_are_mended(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(20);
    tess_matrix *m = make_matrix(ctx, &a);
    double *b = random_values(a.nrows, 4, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;

    (void)state;
    options.storage = lossless(TESS_FORMAT_TILES, "lossless", NULL);
    options.storage.policy.granularity = TESS_GRANULARITY_BLOCK;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    for (int turn = 0; turn < 2; turn++) {
        tess_solve_result result;

        if (turn == 1) {
            for (int64_t k = 0; k < a.nnz; k++) {
                a.val[k] /= 3.0;
            }
            assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
        memset(x, 0, (size_t)a.nrows * sizeof *x);
        result = solve_with(solver, ctx, a.nrows, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.converged);
        assert_int_equal(result.storage.exact, turn == 0);
        assert_int_equal(result.refinements > 0, turn == 1);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(b);
    free(x);
    tess_context_destroy(ctx);
}

/* Parts and tiles that end up in FP64 throughout hold every value under any policy; and the diagonal counts in one
   precision. */
static void what_is_fp64_is_exact(void **state)
{
    static const tess_format in_parts[] = {TESS_FORMAT_SPLIT, TESS_FORMAT_TILES, TESS_FORMAT_PACKED};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(12);
    tess_matrix *m = NULL, *stored = NULL;
    tess_storage_options o;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] = 4.0 + 1.0 / 3.0; }
        }
    }
    m = make_matrix(ctx, &a);
    for (int f = 0; f < 3; f++) {
        tess_storage_options_init(&o);
        o.format = in_parts[f];
        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        assert_true(tess_matrix_is_exact(stored));
        tess_matrix_destroy(stored);
    }
    o = lossless(TESS_FORMAT_CSR, "lossless", NULL);
    o.policy.without_diagonal = 1;
    assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
    assert_int_equal(tess_matrix_precision(stored), TESS_PRECISION_FP64);
    assert_true(tess_matrix_is_exact(stored));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    static const tess_granularity wrong[] = {TESS_GRANULARITY_ENTRY, TESS_GRANULARITY_BLOCK};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(5);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;

    (void)state;
    for (int k = 0; k < 2 * FORMATS; k++) {
        tess_storage_options o = lossless(formats[k % FORMATS], "lossless", NULL);

        o.policy.granularity = wrong[k / FORMATS];
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
        assert_null(stored);
        o = lossless(formats[k % FORMATS], "lossless", "fp32,fp16"); /* which fp64 does not begin */
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
        o = lossless(formats[k % FORMATS], "lossless", "fp64,fp16:scaled");
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void empty_matrices_are_exact(void **state)
{
    static const int64_t shapes[][2] = {{0, 0}, {0, 7}, {70, 0}, {70, 9}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < FORMATS * sizeof shapes / sizeof *shapes; k++) {
        oracle_csr a = oracle_open(shapes[k / FORMATS][0], shapes[k / FORMATS][1]);
        tess_storage_options o = lossless(formats[k % FORMATS], "lossless", NULL);
        tess_matrix *m = NULL, *stored = NULL;

        for (int64_t i = 0; i < a.nrows; i++) {
            oracle_end_row(&a, i);
        }
        m = make_matrix(ctx, &a);
        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        assert_true(tess_matrix_is_exact(stored));
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

#define EXACT_TESTS                                                                                          \
    cmocka_unit_test(the_lowest_that_holds_all_is_taken), cmocka_unit_test(what_was_asked_for_may_be_exact), \
        cmocka_unit_test(a_solve_is_that_of_fp64), cmocka_unit_test(new_values_are_looked_at),               \
        cmocka_unit_test(new_values_of_tiles_are_mended), cmocka_unit_test(what_is_fp64_is_exact),           \
        cmocka_unit_test(what_cannot_be_is_refused), cmocka_unit_test(empty_matrices_are_exact)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        EXACT_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
