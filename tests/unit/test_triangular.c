/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse triangular solves behind ILU(0) and IC(0): level sets and recursive blocks, threads, storage, vectors, loops.
 */
#include "support/incomplete.h"

/* ---- level sets ---- */

static void level_sets_are_counted(void **state)
{
    const int64_t n = 400;
    oracle_csr grid = oracle_laplace2d(20), coloured = red_black(21), chain = oracle_tridiagonal(n, -1.0, 3.0, -1.0);
    oracle_csr lower = oracle_open(n, n);
    const struct {
        const oracle_csr *a;
        int64_t lower, upper;
    } cases[] = {{&grid, 39, 39}, {&coloured, 2, 2}, {&chain, n, n}, {&lower, 2, 1}};
    double *r = random_values(500, 7, -1.0, 1.0), *z = test_allocate(500, sizeof *z);

    (void)state;
    for (int64_t i = 0; i < n; i++) { /* rows of the second half need one of the first */
        if (i >= n / 2) { oracle_push(&lower, i - n / 2, 1.0); }
        oracle_push(&lower, i, 2.0);
        oracle_end_row(&lower, i);
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
        tess_precond_factors facts = {.size = sizeof facts};

        apply_factors(cases[c].a, &options, 2, r, z, &facts);
        assert_int_equal(facts.lower_level_sets, cases[c].lower);
        assert_int_equal(facts.upper_level_sets, cases[c].upper);
        assert_int_equal(facts.leaves, 2);
        assert_int_equal(facts.squares, 0);
    }
    oracle_free(&grid);
    oracle_free(&coloured);
    oracle_free(&chain);
    oracle_free(&lower);
    free(r);
    free(z);
}

/* Level sets of red_black(201) have 20,000 rows and 100,000 entries, which threads share; those of the other are small,
 * some not. */
static void threads_do_not_change_a_bit(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_ILU0, TESS_PRECOND_IC0};
    oracle_csr coloured = red_black(201), grid = oracle_laplace2d(150);
    const oracle_csr *const problems[] = {&coloured, &grid};

    (void)state;
    for (int c = 0; c < 8; c++) {
        const oracle_csr *a = problems[c % 2];
        const int64_t n = a->nrows;
        double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
        tess_precond_options options = factor_options(kinds[c / 2 % 2]);
        tess_precond_factors facts = {.size = sizeof facts};

        options.incomplete.triangular = c < 4 ? TESS_TRIANGULAR_LEVELS : TESS_TRIANGULAR_BLOCKS;
        choose_leaf(&options, 1000);
        apply_factors(a, &options, 1, r, z, &facts);
        for (int threads = 2; threads <= 5; threads++) {
            apply_factors(a, &options, threads, r, z + n, &facts);
            assert_true(same_bits(z, z + n, n));
        }
        free(r);
        free(z);
    }
    oracle_free(&coloured);
    oracle_free(&grid);
}

/* Rows that threads share, against the definition. */
static void shared_level_sets_are_right(void **state)
{
    oracle_csr a = red_black(201);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    const tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
    tess_precond_factors facts = {.size = sizeof facts};
    test_factors f = factors_of(&a, TESS_PRECOND_ILU0);

    (void)state;
    apply_factors(&a, &options, 3, r, z, &facts);
    check_factor_solution(&f, r, z, 0.0);
    for (int64_t i = 0; i < n; i++) { /* red points have no row above them */
        const int64_t reds = (n + 1) / 2;
        wide pivot = 4;

        for (int64_t k = f.lower.row_ptr[i]; k < f.lower.row_ptr[i + 1]; k++) {
            assert_true(i >= reds && f.lower.val[k] == -0.25);
            pivot -= 0.25;
        }
        assert_at_most((double)wide_abs(1 - pivot * (wide)f.inverse[i]), gamma_of(6.0));
    }
    free_factors(&f);
    oracle_free(&a);
    free(r);
    free(z);
}

/* ---- blocks ---- */

static void blocks_solve_the_same_system(void **state)
{
    static const int64_t leaves[] = {1, 64, 100, 250, 100000};
    oracle_csr grid = oracle_laplace2d(30), random = random_dominant(333, 12, false, 3);
    const oracle_csr *const problems[] = {&grid, &random};
    tess_precond_factors facts = {.size = sizeof facts};

    (void)state;
    for (int c = 0; c < 10; c++) {
        const oracle_csr *a = problems[c % 2];
        const int64_t n = a->nrows;
        double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
        tess_precond_options options = factor_options(c % 2 == 0 ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0);
        test_factors f = factors_of(a, options.kind);

        options.incomplete.triangular = TESS_TRIANGULAR_BLOCKS;
        options.incomplete.leaf = leaves[c / 2];
        apply_factors(a, &options, 2, r, z, &facts);
        check_factor_solution(&f, r, z, 0.0);
        assert_int_equal(facts.nonzeros, f.lower.nnz + f.upper.nnz);
        if (options.incomplete.leaf >= n) {
            assert_int_equal(facts.leaves, 2);
            assert_int_equal(facts.squares, 0);
        } else {
            /* 900 rows of grid: halves of 448 + 452, then of 256 + 192 or so */
            assert_true(facts.leaves >= 4 && facts.squares >= 2 && facts.square_nonzeros > 0);
            assert_true(facts.square_nonzeros < facts.nonzeros);
        }
        free_factors(&f);
        free(r);
        free(z);
    }
    oracle_free(&grid);
    oracle_free(&random);
}

/* A triangle of few level sets stays whole. Two chains that do not touch are cut across both, in the order of their
   level sets: twice 128 of these, not twice 256. */
static void blocks_are_cut_where_it_helps(void **state)
{
    oracle_csr coloured = red_black(41), apart = oracle_open(512, 512);
    double *r = random_values(2000, 7, -1.0, 1.0), *z = test_allocate(2000, sizeof *z);
    tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
    tess_precond_factors facts = {.size = sizeof facts};

    (void)state;
    for (int64_t i = 0; i < 512; i++) { /* two chains */
        if (i % 256 > 0) { oracle_push(&apart, i - 1, -1.0); }
        oracle_push(&apart, i, 3.0);
        if (i % 256 < 255) { oracle_push(&apart, i + 1, -1.0); }
        oracle_end_row(&apart, i);
    }
    options.incomplete.triangular = TESS_TRIANGULAR_BLOCKS;
    options.incomplete.leaf = 256;
    apply_factors(&coloured, &options, 2, r, z, &facts);
    assert_int_equal(facts.leaves, 2);
    assert_int_equal(facts.squares, 0);
    apply_factors(&apart, &options, 2, r, z, &facts);
    assert_int_equal(facts.leaves, 4);
    assert_int_equal(facts.squares, 2);
    assert_int_equal(facts.square_nonzeros, 4);
    assert_int_equal(facts.lower_level_sets, 256);
    test_factors f = factors_of(&apart, TESS_PRECOND_ILU0);
    check_factor_solution(&f, r, z, 0.0);
    free_factors(&f);
    oracle_free(&coloured);
    oracle_free(&apart);
    free(r);
    free(z);
}

/* Square blocks in every format and precision; those of a policy are at most as wrong as their lowest level. */
static void squares_have_storage_of_their_own(void **state)
{
    static const struct {
        tess_format format;
        tess_precision precision;
        tess_policy policy;
        double roundoff, parameter;
    } cases[] = {{TESS_FORMAT_CSR, TESS_PRECISION_FP32, TESS_POLICY_NONE, 0x1p-24, 0.0},
                 {TESS_FORMAT_CSR, TESS_PRECISION_BF16, TESS_POLICY_NONE, 0x1p-8, 0.0},
                 {TESS_FORMAT_SELL, TESS_PRECISION_FP64, TESS_POLICY_NONE, 0.0, 0.0},
                 {TESS_FORMAT_AUTO, TESS_PRECISION_FP64, TESS_POLICY_NONE, 0.0, 0.0},
                 {TESS_FORMAT_ELLR, TESS_PRECISION_FP32, TESS_POLICY_NONE, 0x1p-24, 0.0},
                 {TESS_FORMAT_CSR, TESS_PRECISION_FP64, TESS_POLICY_MEAN_3STD, 0x1p-24, 100.0},
                 {TESS_FORMAT_CSR, TESS_PRECISION_FP64, TESS_POLICY_LOSSLESS, 0.0, 0.0},
                 {TESS_FORMAT_CSR, TESS_PRECISION_FP64, TESS_POLICY_LOSSLESS, 1e-3, 1e-3},
                 {TESS_FORMAT_TILES, TESS_PRECISION_FP64, TESS_POLICY_FIXED_RANGE, 0x1p-24, 100.0},
                 {TESS_FORMAT_TILES, TESS_PRECISION_FP64, TESS_POLICY_NONE, 0.0, 0.0},
                 {TESS_FORMAT_SPLIT, TESS_PRECISION_FP64, TESS_POLICY_MEAN_RANGE, 0x1p-24, 100.0},
                 {TESS_FORMAT_AUTO, TESS_PRECISION_FP64, TESS_POLICY_MEAN_RANGE, 0x1p-24, 100.0},
                 {TESS_FORMAT_COMPOSITE, TESS_PRECISION_FP64, TESS_POLICY_FIXED_RANGE, 0x1p-24, 100.0}};
    oracle_csr a = oracle_convection2d(30, 0.6);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
    test_factors f = factors_of(&a, TESS_PRECOND_ILU0);
    tess_precond_factors facts = {.size = sizeof facts};

    (void)state;
    options.incomplete.leaf = 128;
    options.incomplete.triangular = TESS_TRIANGULAR_BLOCKS;
    apply_factors(&a, &options, 2, r, z + n, &facts);
    options.incomplete.triangular = TESS_TRIANGULAR_AUTO;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        options.incomplete.squares.format = cases[c].format;
        options.incomplete.squares.precision = cases[c].precision;
        tess_policy_options_init(&options.incomplete.squares.policy);
        options.incomplete.squares.policy.policy = cases[c].policy;
        options.incomplete.squares.policy.parameter = cases[c].parameter; /* all that fits is low */
        options.incomplete.squares.slices.max_padding = 1e6;              /* square blocks are sparse */
        apply_factors(&a, &options, 2, r, z, &facts);
        assert_true(facts.squares >= 2);
        check_factor_solution(&f, r, z, cases[c].roundoff);
        if (cases[c].roundoff > 0.0) { assert_false(same_bits(z, z + n, n)); } /* it was stored so */
    }
    free_factors(&f);
    oracle_free(&a);
    free(r);
    free(z);
}

/* ---- storage and vectors ---- */

static void leaves_round_their_values(void **state)
{
    static const tess_precision storage[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP16};
    oracle_csr a = random_dominant(200, 4, false, 4);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);

    (void)state;
    for (int c = 0; c < 6; c++) {
        tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
        test_factors f = factors_of(&a, TESS_PRECOND_ILU0);
        tess_precond_factors facts = {.size = sizeof facts};

        options.role = (tess_role_precision){1, storage[c % 3], TESS_ARITHMETIC_FP64};
        options.incomplete.triangular = c < 3 ? TESS_TRIANGULAR_LEVELS : TESS_TRIANGULAR_BLOCKS;
        choose_leaf(&options, 64);
        round_factors(&f, storage[c % 3]);
        apply_factors(&a, &options, 2, r, z, &facts);
        check_factor_solution(&f, r, z, 0.0);
        free_factors(&f);
    }
    oracle_free(&a);
    free(r);
    free(z);
}

/* The contents of z after an application on plain arrays; all values were 9 before. */
static void apply_raw(tess_context *ctx, const tess_precond *m, tess_precision vectors, int32_t phase, const double *r,
                      double *z)
{
    const size_t bytes = (size_t)m->n * tess_precision_bytes(vectors);
    tess_loop_state state = {.phase = phase}, *device = NULL;
    double *nines = test_allocate(m->n, sizeof *nines);
    void *from = NULL, *to = NULL;
    char *workspace = test_allocate((int64_t)bytes, 1);

    for (int64_t i = 0; i < m->n; i++) {
        nines[i] = 9.0;
    }
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof state, (void **)&device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, &state, sizeof state));
    assert_ok(ctx, tess_device_allocate(ctx, (int64_t)bytes, 1, &from));
    assert_ok(ctx, tess_device_allocate(ctx, (int64_t)bytes, 1, &to));
    for (int k = 0; k < 2; k++) {
        const tess_value_array given = {k == 0 ? r : nines, TESS_PRECISION_FP64, false};

        assert_ok(ctx,
                  tess_move_values(ctx, m->n, given,
                                   (tess_value_place){k == 0 ? from : to, vectors, ctx->device == TESS_DEVICE_GPU}));
    }
    assert_ok(ctx, tess_precond_apply_fused(m, vectors, from, to, &(tess_reduction){.state = device}));
    assert_ok(ctx, tess_move_values(ctx, m->n, (tess_value_array){to, vectors, ctx->device == TESS_DEVICE_GPU},
                                    (tess_value_place){z, TESS_PRECISION_FP64, false}));
    tess_device_release(ctx, device, 1, sizeof state);
    tess_device_release(ctx, from, (int64_t)bytes, 1);
    tess_device_release(ctx, to, (int64_t)bytes, 1);
    free(nines);
    free(workspace);
}

/* FP32 vectors: the application in FP64, rounded once; loops that have ended: nothing. */
static void vectors_and_loops(void **state)
{
    oracle_csr a = oracle_convection2d(25, 0.6);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a);

    (void)state;
    for (int64_t i = 0; i < n; i++) {
        r[i] = (double)(float)r[i];
    }
    for (int way = TESS_TRIANGULAR_LEVELS; way <= TESS_TRIANGULAR_COLORS; way++) {
        tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
        tess_precond *m = NULL;

        options.incomplete.triangular = (tess_triangular)way;
        choose_leaf(&options, 100);
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_raw(ctx, m, TESS_PRECISION_FP64, TESS_LOOP_RUNNING, r, z);
        apply_raw(ctx, m, TESS_PRECISION_FP32, TESS_LOOP_RUNNING, r, z + n);
        for (int64_t i = 0; i < n; i++) {
            assert_true(z[n + i] == (double)(float)z[i]);
        }
        for (int v = TESS_PRECISION_FP64; v <= TESS_PRECISION_FP32; v++) {
            apply_raw(ctx, m, (tess_precision)v, TESS_LOOP_STOPPED, r, z);
            for (int64_t i = 0; i < n; i++) {
                assert_true(z[i] == 9.0);
            }
        }
        tess_precond_destroy(m);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
    free(z);
}

/* NaN and Inf of r go where the factors carry them, and nowhere else. */
static void nan_passes_through(void **state)
{
    oracle_csr a = oracle_tridiagonal(300, -1.0, 3.0, -1.0);
    const int64_t n = a.nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    const tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
    tess_precond_factors facts = {.size = sizeof facts};

    (void)state;
    r[100] = (double)NAN;
    apply_factors(&a, &options, 2, r, z, &facts);
    for (int64_t i = 0; i < n; i++) {
        assert_true(isnan(z[i])); /* rows after it by L, rows before it by U */
    }
    oracle_free(&a);
    free(r);
    free(z);
}

#define TRIANGULAR_TESTS                                                                                      \
    cmocka_unit_test(level_sets_are_counted), cmocka_unit_test(threads_do_not_change_a_bit),                  \
        cmocka_unit_test(shared_level_sets_are_right), cmocka_unit_test(blocks_solve_the_same_system),        \
        cmocka_unit_test(blocks_are_cut_where_it_helps), cmocka_unit_test(squares_have_storage_of_their_own), \
        cmocka_unit_test(leaves_round_their_values), cmocka_unit_test(vectors_and_loops),                     \
        cmocka_unit_test(nan_passes_through), BY_HOST(blocks_solve_the_same_system),                          \
        BY_HOST(squares_have_storage_of_their_own), BY_HOST(leaves_round_their_values)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {TRIANGULAR_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
