/* SPDX-License-Identifier: Apache-2.0 */
/* Format auto: its choices on both sides of each threshold, and that it changes nothing else.
   tests/gpu/test_format_auto.c runs the same tests on a GPU. */
#include <tessera/timestep.h>

#include "format/choose.h"
#include "matrix/matrix.h"
#include "support/papers.h"
#include "support/product.h"
#include "support/solve.h"
#include "support/sweep.h"

static const bool on_gpu = TEST_DEVICE == TESS_DEVICE_GPU;

static tess_storage_options options_of(const char *policy, tess_granularity granularity)
{
    tess_storage_options o;

    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_AUTO;
    o.policy.granularity = granularity;
    assert_int_equal(tess_policy_options_parse(policy, &o.policy), TESS_SUCCESS);
    return o;
}

/* 64 rows: one of 23 entries, `longer` of 20, the others of 19. A slice stores 64 * 23 = 1472. */
static oracle_csr make_padded(int longer)
{
    oracle_csr a = oracle_open(64, 64);

    for (int64_t i = 0; i < 64; i++) {
        const int64_t length = i == 0 ? 23 : i <= longer ? 20 : 19;

        for (int64_t k = 0; k < length; k++) {
            oracle_push(&a, k, 1.0 + (double)(i + k) / 64.0);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* 64 x ncols: blocks of 16 x 16 on the diagonal, each with 4 entries, of which `missing` are left out in all. */
static oracle_csr make_blocks(int64_t ncols, int missing)
{
    oracle_csr a = oracle_open(64, ncols);

    for (int64_t i = 0; i < 64; i++) {
        if (i % 16 < 4 && i % 16 + i / 16 * 4 >= missing) { oracle_push(&a, i / 16 * 16 + i % 3, 1.0 + (double)i); }
        oracle_end_row(&a, i);
    }
    return a;
}

/* The chosen format for a matrix; the product is right, and no error is left behind. */
static tess_format format_for(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options)
{
    tess_matrix *m = make_matrix(ctx, a), *stored = NULL;
    tess_format format;

    memset(&ctx->error, 0, sizeof ctx->error);
    assert_ok(ctx, tess_matrix_convert(m, options, &stored));
    assert_int_equal(tess_context_last_error(ctx)->status, TESS_SUCCESS);
    format = tess_matrix_format(stored);
    if (options->arithmetic == TESS_ARITHMETIC_FP64 && options->split.row_order == TESS_ROW_ORDER_ORIGINAL) {
        oracle_csr held = decode_matrix(stored);

        check_product(stored, &held, TESS_OP_NONE, 1.5, 0.5);
        oracle_free(&held);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    return format;
}

static void it_has_a_name(void **state)
{
    tess_format format;

    (void)state;
    assert_string_equal(tess_format_name(TESS_FORMAT_AUTO), "auto");
    assert_int_equal(tess_format_parse("auto", &format), TESS_SUCCESS);
    assert_int_equal(format, TESS_FORMAT_AUTO);
}

/* ---- without a policy ---- */

/* 1472 entries for 1280 nonzeros are 1.15 each, to the bit; for one nonzero less they are more. */
static void slices_are_taken_where_they_pad_little(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int longer = 59; longer <= 60; longer++) {
        const bool pays = longer == 60;
        oracle_csr a = make_padded(longer);
        tess_matrix *m = make_matrix(ctx, &a), *slices = NULL;
        tess_storage_options o = options_of("none", TESS_GRANULARITY_ROW);

        assert_int_equal(a.nnz, pays ? 1280 : 1279);
        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            o.precision = (tess_precision)p;
            assert_int_equal(format_for(ctx, &a, &o), on_gpu && pays ? TESS_FORMAT_SELL : TESS_FORMAT_CSR);
            assert_ok(ctx,
                      tess_matrix_try_slices(m, &o, &slices)); /* on the host, too, where no format is chosen by it */
            assert_int_equal(slices != NULL, pays);
            assert_int_equal(tess_context_last_error(ctx)->status, TESS_SUCCESS);
            assert_true(!slices || (slices->format == TESS_FORMAT_SELL && slices->precision == o.precision));
            tess_matrix_destroy(slices);
        }
        o.slices.max_padding = 1.14; /* less is allowed than would pay */
        assert_int_equal(format_for(ctx, &a, &o), TESS_FORMAT_CSR);
        o.slices.max_padding = 0.0; /* the default */
        assert_int_equal(format_for(ctx, &a, &o), on_gpu && pays ? TESS_FORMAT_SELL : TESS_FORMAT_CSR);
        o.slices.max_padding = 0.5;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_try_slices(m, &o, &slices));
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* 64 rows of 8 neighbouring diagonals, 512 places; `missing` entries, from 62 to 126, are not there. */
static oracle_csr make_diagonals(int missing)
{
    oracle_csr a = oracle_open(64, 71);

    for (int64_t i = 0; i < 64; i++) {
        for (int64_t k = 0; k < 8; k++) {
            const bool hole = (k == 3 && i < 62) || (k == 5 && i < missing - 62);

            if (!hole) { oracle_push(&a, i + k, 1.0 + (double)k); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* 512 places are 1.15 for each of 446 entries, and more for each of 445; then slices pad too much as well. A policy
   that is lossless has them in one precision where the granularity is left open, a host in rows; any other goes by
   blocks. */
static void diagonals_are_taken_where_they_pad_little(void **state)
{
    static const char *const policies[] = {"none", "lossless", "lossless:1e-15", "mean-range"};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int pays = 0; pays < 2; pays++) {
        oracle_csr a = make_diagonals(pays ? 66 : 67);

        assert_int_equal(a.nnz, pays ? 446 : 445);
        for (int k = 0; k < 4; k++) {
            tess_storage_options o = options_of(policies[k], TESS_GRANULARITY_MATRIX);
            const tess_format parts = on_gpu ? TESS_FORMAT_TILES : TESS_FORMAT_SPLIT;
            const tess_format other = k == 0 || (k == 1 && !on_gpu) ? TESS_FORMAT_CSR : parts;

            assert_int_equal(format_for(ctx, &a, &o), on_gpu && pays && k < 3 ? TESS_FORMAT_DIA : other);
            o.slices.max_padding = 1.14; /* less is allowed than would pay */
            assert_int_equal(format_for(ctx, &a, &o), other);
            o = options_of(policies[k], TESS_GRANULARITY_BLOCK);
            if (k > 0) { assert_int_equal(format_for(ctx, &a, &o), parts); }
            o.papers = k > 0 ? &papers_resident : NULL;
            o.policy.granularity = TESS_GRANULARITY_MATRIX;
            if (k > 0) { assert_int_equal(format_for(ctx, &a, &o), TESS_FORMAT_TILES); }
        }
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* CSR has only FP64 arithmetic: slices are chosen, whether they pay or not, up to the allowed padding. */
static void fp32_arithmetic_takes_slices(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_padded(0);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = options_of("none", TESS_GRANULARITY_ROW);

    (void)state;
    o.arithmetic = TESS_ARITHMETIC_FP32;
    o.precision = TESS_PRECISION_FP16;
    assert_int_equal(format_for(ctx, &a, &o), TESS_FORMAT_SELL);
    o.slices.max_padding = 1.15;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_null(stored);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "entries per nonzero"));
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- with a policy ---- */

static void tiles_are_taken_where_blocks_are_full(void **state)
{
    static const tess_granularity open_ones[] = {TESS_GRANULARITY_MATRIX, TESS_GRANULARITY_BLOCK};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 8; k++) { /* square and rectangular; 16 or 15 entries; in 4 blocks of 16 x 16 or 2 of 32 x 32 */
        const int missing = k / 2 % 2, side = k / 4 ? 32 : 16;
        const bool full = missing == 0 || side == 32;
        oracle_csr a = make_blocks(k % 2 ? 100 : 64, missing);
        tess_matrix *m = make_matrix(ctx, &a);
        bool found = !full;

        assert_int_equal(a.nnz, 16 - missing);
        for (size_t g = 0; g < 2; g++) {
            tess_storage_options o = options_of("fixed-range:40", open_ones[g]);

            o.policy.block_rows = o.policy.block_cols = side;
            assert_ok(ctx, tess_blocks_are_full(m, &o.policy, &found));
            assert_int_equal(found, full);
            assert_int_equal(format_for(ctx, &a, &o), on_gpu && full ? TESS_FORMAT_TILES : TESS_FORMAT_SPLIT);
        }
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* The granularity of a stored matrix's assignment. */
static tess_granularity granularity_for(tess_context *ctx, const oracle_csr *a, const tess_storage_options *options)
{
    tess_matrix *m = make_matrix(ctx, a), *stored = NULL;
    tess_assignment_summary summary = {.size = sizeof summary};

    assert_ok(ctx, tess_matrix_convert(m, options, &stored));
    assert_ok(ctx, tess_matrix_get_assignment(stored, &summary));
    assert_int_equal(summary.options.policy, options->policy.policy);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    return summary.options.granularity;
}

static void granularity_and_policy_are_kept(void **state)
{
    static const tess_granularity kept[] = {TESS_GRANULARITY_ROW, TESS_GRANULARITY_ENTRY, TESS_GRANULARITY_BLOCK};
    static const char *const policies[] = {"fixed-range:3", "mean-range", "mean-3std:0.25"};
    tess_context *ctx = open_device(2);
    oracle_csr full = make_blocks(64, 0), sparse = make_blocks(64, 1);

    (void)state;
    for (size_t k = 0; k < 9; k++) {
        tess_storage_options o = options_of(policies[k / 3], kept[k % 3]);

        assert_int_equal(granularity_for(ctx, &full, &o), kept[k % 3]);
        assert_int_equal(granularity_for(ctx, &sparse, &o), kept[k % 3]);
        if (kept[k % 3] != TESS_GRANULARITY_BLOCK) { assert_int_equal(format_for(ctx, &full, &o), TESS_FORMAT_SPLIT); }
        o.policy.granularity = TESS_GRANULARITY_MATRIX;
        assert_int_equal(granularity_for(ctx, &full, &o), on_gpu ? TESS_GRANULARITY_BLOCK : TESS_GRANULARITY_ROW);
        assert_int_equal(granularity_for(ctx, &sparse, &o), TESS_GRANULARITY_ROW);
    }
    oracle_free(&full);
    oracle_free(&sparse);
    tess_context_destroy(ctx);
}

/* Options that one of the two formats does not take. */
static void what_one_format_takes_decides(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr full = make_blocks(64, 0), sparse = make_blocks(64, 1);
    const tess_storage_options plain = options_of("fixed-range:40", TESS_GRANULARITY_BLOCK);
    tess_storage_options split[] = {plain, plain, plain, plain, plain}, tiles[] = {plain, plain, plain};

    (void)state;
    split[0].policy.share = 50.0;
    split[1].policy.at_most_one = 1;
    split[2].split.base = TESS_FORMAT_ELLR;
    split[2].slices.max_padding = 1000.0;
    split[3].split.row_order = TESS_ROW_ORDER_PERMUTED;
    split[3].policy.granularity = TESS_GRANULARITY_MATRIX; /* layers have no order of their own */
    split[4].arithmetic = TESS_ARITHMETIC_FP32;
    for (size_t k = 0; k < sizeof split / sizeof *split; k++) {
        assert_int_equal(format_for(ctx, &full, &split[k]), TESS_FORMAT_SPLIT);
    }
    assert_int_equal(tess_precision_levels_parse("fp64,fp16:scaled", &tiles[0].policy), TESS_SUCCESS);
    tiles[1].papers = &papers_kernel;
    tiles[2].papers = &papers_resident;
    for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
        assert_int_equal(format_for(ctx, &full, &tiles[k]), TESS_FORMAT_TILES);
        assert_int_equal(format_for(ctx, &sparse, &tiles[k]), TESS_FORMAT_TILES);
    }
    oracle_free(&full);
    oracle_free(&sparse);
    tess_context_destroy(ctx);
}

static void assignments_decide_likewise(void **state)
{
    static const tess_granularity all[] = {TESS_GRANULARITY_BLOCK, TESS_GRANULARITY_ROW, TESS_GRANULARITY_ENTRY};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        oracle_csr a = make_blocks(64, k / 3);
        tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
        tess_storage_options o = options_of("fixed-range:40", all[k % 3]);
        tess_assignment *made = NULL;

        assert_ok(ctx, tess_assignment_create(m, &o.policy, &made));
        assert_ok(ctx, tess_matrix_convert_assigned(m, &o, made, &stored));
        assert_int_equal(stored->format, on_gpu && k == 0 ? TESS_FORMAT_TILES : TESS_FORMAT_SPLIT);
        tess_matrix_destroy(stored);
        tess_assignment_destroy(made);
        tess_matrix_destroy(m);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- what holds little, and what is refused ---- */

static void empty_matrices_have_a_format(void **state)
{
    static const int64_t shapes[][2] = {{0, 0}, {0, 7}, {70, 0}, {70, 9}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        oracle_csr a = oracle_open(shapes[k][0], shapes[k][1]);
        tess_storage_options o = options_of("none", TESS_GRANULARITY_ROW);

        for (int64_t i = 0; i < a.nrows; i++) {
            oracle_end_row(&a, i);
        }
        assert_int_equal(format_for(ctx, &a, &o), on_gpu ? TESS_FORMAT_SELL : TESS_FORMAT_CSR);
        o = options_of("mean-3std", TESS_GRANULARITY_MATRIX); /* no block is as good as full */
        assert_int_equal(format_for(ctx, &a, &o), TESS_FORMAT_SPLIT);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_blocks(64, 0);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL, *again = NULL;
    tess_storage_options o = options_of("none", TESS_GRANULARITY_ROW);

    (void)state;
    o.papers = &papers_kernel;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "tiles"));
    o = options_of("fixed-range:40", TESS_GRANULARITY_ROW);
    o.policy.parameter = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
    o = options_of("fixed-range:40", TESS_GRANULARITY_BLOCK);
    o.policy.block_rows = 8;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
    o = options_of("none", TESS_GRANULARITY_ROW);
    assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(stored, &o, &again));
    assert_null(again);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- solvers and time steps ---- */

static tess_solve_result solve_in(tess_context *ctx, const oracle_csr *a, const double *b, tess_solver_kind solver,
                                  const tess_storage_options *storage, const char *schedule)
{
    tess_solve_options options = solve_options(solver);
    double *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    options.storage = *storage;
    if (schedule) { options.jacobi.schedule = schedule_of(schedule); }
    result = solve_once(ctx, a, &options, b, x);
    check_honest(a, b, x, &options, &result);
    assert_true(result.converged);
    free(x);
    return result;
}

/* A solve in a chosen format is that in the same format by name: the same format, bytes and iterations. */
static void solvers_take_it(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_CG, TESS_SOLVER_BICGSTAB, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_GMRES_IR};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(20);
    double *b = random_values(a.nrows, 5, -1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
        const bool low = solvers[k] == TESS_SOLVER_GMRES_IR;
        tess_storage_options o = options_of("none", TESS_GRANULARITY_ROW), named = o;
        tess_solve_result chosen = solve_in(ctx, &a, b, solvers[k], &o, NULL), by_name;

        named.format = on_gpu && chosen.engine != TESS_ENGINE_SINGLE_KERNEL ? TESS_FORMAT_DIA : TESS_FORMAT_CSR;
        if (on_gpu && low) { named.precision = TESS_PRECISION_FP32; } /* which csr, and auto, take from the cycles */
        by_name = solve_in(ctx, &a, b, solvers[k], &named, NULL);
        assert_int_equal(chosen.storage.format, named.format);
        assert_int_equal(chosen.iterations, by_name.iterations);
        assert_int_equal(chosen.storage.matrix_bytes, by_name.storage.matrix_bytes);
        assert_int_equal(chosen.resident_bytes, by_name.resident_bytes);
        o = options_of("mean-3std", TESS_GRANULARITY_MATRIX);
        chosen = solve_in(ctx, &a, b, solvers[k], &o, NULL);
        assert_int_equal(chosen.storage.format, on_gpu ? TESS_FORMAT_TILES : TESS_FORMAT_SPLIT);
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void jacobi_takes_it(void **state)
{
    static const struct {
        const char *policy, *schedule;
        tess_format format;
    } cases[] = {{"none", NULL, TESS_FORMAT_CSR},
                 {"none", "fp64", TESS_FORMAT_CSR},
                 {"none", "mixed", TESS_FORMAT_SPLIT},
                 {"mean-range", NULL, TESS_FORMAT_SPLIT},
                 {"mean-range", "fp32,mixed,fp64", TESS_FORMAT_COMPOSITE}};
    tess_context *ctx = open_device(2);
    oracle_csr a = dominant_matrix(300, 9, 1.5, 1, 4);
    double *b = random_values(a.nrows, 6, -1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tess_storage_options o = options_of(cases[k].policy, TESS_GRANULARITY_MATRIX);

        assert_int_equal(solve_in(ctx, &a, b, TESS_SOLVER_JACOBI, &o, cases[k].schedule).storage.format,
                         cases[k].format);
    }
    free(b);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void time_steps_take_it(void **state)
{
    static const struct {
        const char *policy, *schedule;
        tess_format format;
    } cases[] = {{"none", NULL, TESS_FORMAT_AUTO}, /* plain products in the best format for the matrix */
                 {"none", "mixed", TESS_FORMAT_SPLIT},
                 {"mean-range:2", NULL, TESS_FORMAT_SPLIT},
                 {"mean-range:2", "mixed,fp64", TESS_FORMAT_COMPOSITE}};
    tess_context *ctx = open_device(2);
    oracle_csr a = oracle_laplace2d(16);
    tess_matrix *m = make_matrix(ctx, &a);
    double *start = random_values(a.nrows, 7, -1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tess_vector *x = make_vector(ctx, a.nrows, start);
        tess_timestep_options options;
        tess_timestep_result result;
        tess_timestep *ts = NULL;

        tess_timestep_options_init(&options);
        options.storage = options_of(cases[k].policy, TESS_GRANULARITY_MATRIX);
        if (cases[k].schedule) { options.schedule = schedule_of(cases[k].schedule); }
        assert_ok(ctx, tess_timestep_create(m, &options, &ts));
        tess_timestep_result_init(&result);
        assert_ok(ctx, tess_timestep_run(ts, x, 4, NULL, NULL, 0, &result));
        if (cases[k].format == TESS_FORMAT_AUTO) {
            assert_int_equal(result.format, on_gpu ? TESS_FORMAT_DIA : TESS_FORMAT_CSR);
        } else {
            assert_int_equal(result.format, cases[k].format);
        }
        assert_true(result.finite);
        tess_timestep_destroy(ts);
        tess_vector_destroy(x);
    }
    free(start);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

#define FORMAT_AUTO_TESTS                                                                                            \
    cmocka_unit_test(it_has_a_name), cmocka_unit_test(slices_are_taken_where_they_pad_little),                       \
        cmocka_unit_test(diagonals_are_taken_where_they_pad_little), cmocka_unit_test(fp32_arithmetic_takes_slices), \
        cmocka_unit_test(tiles_are_taken_where_blocks_are_full), cmocka_unit_test(granularity_and_policy_are_kept),  \
        cmocka_unit_test(what_one_format_takes_decides), cmocka_unit_test(assignments_decide_likewise),              \
        cmocka_unit_test(empty_matrices_have_a_format), cmocka_unit_test(what_cannot_be_is_refused),                 \
        cmocka_unit_test(solvers_take_it), cmocka_unit_test(jacobi_takes_it), cmocka_unit_test(time_steps_take_it)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        FORMAT_AUTO_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
