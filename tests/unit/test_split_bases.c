/* SPDX-License-Identifier: Apache-2.0 */
/* Split storage in layers over slices and diagonals, each base beside each: layouts, bytes, products, new values,
   refusals. tests/gpu/test_split_bases.c runs the same tests on a GPU. */
#include "format/split/split.h"
#include "matrix/matrix.h"
#include "support/layers.h"
#include "support/product.h"
#include "support/variants.h"

/* Bases that may differ from each other. */
static const tess_format mixed[] = {TESS_FORMAT_ELLR, TESS_FORMAT_SELL, TESS_FORMAT_DIA};
enum { MIXED = 3, PAIRS = MIXED * MIXED };

static tess_storage_options pair_options(int pair, tess_granularity granularity, const char *levels)
{
    tess_storage_options o = layer_options(granularity, "fixed-range:1", levels);

    o.split.base = mixed[pair / MIXED];
    o.split.low_base = mixed[pair % MIXED];
    return o;
}

/* ---- layouts ---- */

/* Entries and diagonals of a level, found by a search through the whole matrix. */
static void count_level(const oracle_csr *a, const uint8_t *level, int l, int64_t *entries, int64_t *diagonals)
{
    bool *seen = test_allocate(a->nrows + a->ncols, sizeof *seen);

    memset(seen, 0, (size_t)(a->nrows + a->ncols) * sizeof *seen);
    *entries = *diagonals = 0;
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            bool *mark = &seen[a->col_ind[k] - i + a->nrows];

            if (level[k] != l) { continue; }
            *entries += 1;
            *diagonals += !*mark;
            *mark = true;
        }
    }
    free(seen);
}

static void check_layout(const tess_matrix *stored, const oracle_csr *a, const uint8_t *level)
{
    const split_storage *s = stored->storage;
    int64_t bytes = 0;

    for (int l = 0; l < s->summary.options.nlevels; l++) {
        const tess_precision precision = s->summary.options.level[l].precision;
        int64_t entries, diagonals;

        count_level(a, level, l, &entries, &diagonals);
        assert_int_equal(s->base[l], l == 0 ? s->options.split.base : s->options.split.low_base);
        assert_null(s->part[l].view.row_ptr);
        if (s->base[l] == TESS_FORMAT_DIA) {
            assert_int_equal(s->diagonals[l].ndiagonals, diagonals);
            assert_int_equal(s->diagonals[l].nnz, entries);
            assert_int_equal(s->diagonals[l].precision, precision);
            assert_null(s->slices[l].slice);
            bytes += dia_view_bytes(&s->diagonals[l]);
        } else {
            assert_int_equal(s->slices[l].nnz, entries);
            assert_int_equal(s->slices[l].precision, precision);
            assert_null(s->slices[l].order); /* rows stand at the same places in all layers */
            assert_null(s->diagonals[l].diagonal);
            bytes += ellr_view_bytes(&s->slices[l]);
        }
    }
    assert_int_equal(tess_matrix_bytes(stored), bytes);
    assert_int_equal(tess_matrix_base(stored), s->options.split.base);
    assert_int_equal(tess_matrix_low_base(stored), s->options.split.low_base);
}

/* Products within their bound; the stored values are those of CSR. */
static void check_pairs(tess_context *ctx, const oracle_csr *a, tess_granularity granularity, const char *levels,
                        const int *side)
{
    tess_matrix *m = make_matrix(ctx, a), *stored = NULL;
    tess_storage_options o = layer_options(granularity, "fixed-range:1", levels);
    oracle_csr expected;
    uint8_t *level = NULL;

    o.policy.block_rows = side[0];
    o.policy.block_cols = side[1];
    level = levels_of_entries(m, a, &o.policy);
    stored = convert_layers(m, &o);
    expected = decode_matrix(stored);
    tess_matrix_destroy(stored);
    for (int pair = 0; pair < PAIRS; pair++) {
        oracle_csr held;

        o.split.base = mixed[pair / MIXED];
        o.split.low_base = mixed[pair % MIXED];
        stored = convert_layers(m, &o);
        check_layout(stored, a, level);
        held = decode_matrix(stored);
        assert_memory_equal(held.val, expected.val, (size_t)a->nnz * sizeof *held.val);
        check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
        check_product(stored, &held, TESS_OP_NONE, -0.75, 0.5);
        oracle_free(&held);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&expected);
    free(level);
}

static void every_base_stands_beside_every_other(void **state)
{
    static const int64_t shapes[][2] = {{200, 200}, {97, 331}, {1031, 65}, {1, 40}, {65, 15}, {33, 1}};
    static const char *const levels[] = {"fp64,fp32", "fp64,fp32,bf16"};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 12; k++) {
        const int64_t *shape = shapes[k / 2];
        oracle_csr band = make_layer_band(shape[0], shape[1], 2 + k % 2);
        oracle_csr scatter = make_layer_scatter(shape[0], shape[1], 2 + k % 2);

        for (int side = 0; side < 4; side++) {
            if (gpu_is_emulated() && side != k % 4) { continue; }
            check_pairs(ctx, &band, TESS_GRANULARITY_BLOCK, levels[k % 2], layer_sides[side]);
        }
        check_pairs(ctx, &scatter, TESS_GRANULARITY_BLOCK, levels[k % 2], layer_sides[k % 4]);
        check_pairs(ctx, &scatter, TESS_GRANULARITY_ENTRY, levels[k % 2], layer_sides[0]);
        oracle_free(&band);
        oracle_free(&scatter);
    }
    tess_context_destroy(ctx);
}

/* ---- products ---- */

/* Integers times powers of two that differ by block: any order of additions is exact. */
static oracle_csr make_exact(int64_t n)
{
    oracle_csr a = make_layer_band(n, n, 2);

    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = fabs(a.val[k]) < 1.0 ? (double)(k % 7 + 1) * 0x1p-6 : (double)(k % 5 + 1);
    }
    return a;
}

/* The same bits as CSR, for any number of threads: FP64 products, and FP32 products that are exact. */
static void all_bases_agree_on_exact_sums(void **state)
{
    oracle_csr a = make_exact(20011);
    double *x = test_allocate(a.ncols, sizeof *x);

    (void)state;
    for (int64_t j = 0; j < a.ncols; j++) {
        x[j] = (double)(j % 64 - 31);
    }
    for (int k = 0; k < 4 * PAIRS; k++) {
        tess_context *ctx = open_device(k & 1 ? 1 : 3);
        tess_matrix *m = make_matrix(ctx, &a), *stored[2];
        tess_storage_options o = pair_options(k / 4, TESS_GRANULARITY_BLOCK, "fp64,fp32");
        double *y[2];

        o.arithmetic = k & 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
        stored[0] = convert_layers(m, &o);
        o.split.base = o.split.low_base = TESS_FORMAT_CSR;
        stored[1] = convert_layers(m, &o);
        for (int s = 0; s < 2; s++) {
            y[s] = layer_product(stored[s], x);
            tess_matrix_destroy(stored[s]);
        }
        assert_true(same_bits(y[0], y[1], a.nrows));
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        free(y[0]);
        free(y[1]);
    }
    free(x);
    oracle_free(&a);
}

/* The padding of a slice or a diagonal is never multiplied: NaN and Inf in x reach only the rows that have an entry
   there. */
static void what_is_no_entry_is_not_multiplied(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_layer_band(700, 700, 2);
    tess_matrix *m = make_matrix(ctx, &a);
    double *x = test_allocate(a.ncols, sizeof *x);

    (void)state;
    for (int pair = 0; pair < 2 * PAIRS; pair++) {
        tess_storage_options o =
            pair_options(pair / 2, pair % 2 ? TESS_GRANULARITY_ENTRY : TESS_GRANULARITY_BLOCK, "fp64,fp32");
        tess_matrix *stored = convert_layers(m, &o);
        double *y = NULL;
        int64_t finite = 0;

        for (int64_t j = 0; j < a.ncols; j++) {
            x[j] = j % 11 == 0 ? (double)NAN : j % 13 == 0 ? HUGE_VAL : 1.0;
        }
        y = layer_product(stored, x);
        for (int64_t i = 0; i < a.nrows; i++) {
            bool clean = true;

            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                clean = clean && isfinite(x[a.col_ind[k]]);
            }
            assert_true((isfinite(y[i]) != 0) == clean);
            finite += clean;
        }
        assert_true(finite > 100 && finite < 600);
        tess_matrix_destroy(stored);
        free(y);
    }
    free(x);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- new values ---- */

static void new_values_take_the_places_of_the_old(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_layer_band(900, 800, 3), b = oracle_copy(&a);

    (void)state;
    for (int64_t k = 0; k < b.nnz; k++) {
        b.val[k] = 1.5 * a.val[k];
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        tess_storage_options o = pair_options(pair, TESS_GRANULARITY_BLOCK, "fp64,fp32,bf16");
        tess_matrix *m = make_matrix(ctx, &a), *stored = convert_layers(m, &o);
        double *x = random_values(a.ncols, 11, -1.0, 1.0), *y = layer_product(stored, x);
        oracle_csr held;

        assert_ok(ctx, tess_matrix_update_values(m, b.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        free(y);
        y = layer_product(stored, x); /* notices */
        held = decode_matrix(stored);
        for (int64_t k = 0; k < b.nnz; k++) {
            assert_at_most(fabs(held.val[k] - b.val[k]), 0x1p-8 * fabs(b.val[k]));
            assert_true(held.val[k] != a.val[k]);
        }
        check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(m);
        oracle_free(&held);
        free(x);
        free(y);
    }
    oracle_free(&a);
    oracle_free(&b);
    tess_context_destroy(ctx);
}

/* ---- what is refused ---- */

static void check_refused(const tess_matrix *m, const tess_storage_options *o, const char *said)
{
    tess_matrix *stored = NULL;

    assert_fails(m->ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, o, &stored));
    assert_null(stored);
    assert_non_null(strstr(tess_context_last_error(m->ctx)->message, said));
}

static void other_pairs_and_much_padding_are_refused(void **state)
{
    static const tess_format pairs[][2] = {{TESS_FORMAT_CSR, TESS_FORMAT_DIA},
                                           {TESS_FORMAT_CSR, TESS_FORMAT_AUTO},
                                           {TESS_FORMAT_AUTO, TESS_FORMAT_SELL},
                                           {TESS_FORMAT_DIA, TESS_FORMAT_AUTO}};
    tess_context *ctx = open_device(1);
    oracle_csr a = make_layer_scatter(400, 400, 2);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    tess_storage_options o = layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp32");

    (void)state;
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        o.split.base = pairs[k][0];
        o.split.low_base = pairs[k][1];
        check_refused(m, &o, "cannot have parts in both");
    }
    o.split.base = TESS_FORMAT_TILES;
    o.split.low_base = TESS_FORMAT_CSR;
    check_refused(m, &o, "cannot have parts in format tiles");
    o.split.base = TESS_FORMAT_DIA;
    o.policy.granularity = TESS_GRANULARITY_ROW;
    check_refused(m, &o, "by rows cannot have parts in format dia");
    o.policy.granularity = TESS_GRANULARITY_BLOCK;
    o.slices.max_padding = 0.0;
    check_refused(m, &o, "max_padding is 3");
    o.split.base = TESS_FORMAT_SELL;
    o.split.low_base = TESS_FORMAT_DIA;
    o.slices.max_padding = 20.0;
    check_refused(m, &o, "max_padding is 20");
    o.split.base = TESS_FORMAT_AUTO;
    o.split.low_base = TESS_FORMAT_CSR;
    o.slices.max_padding = 1.0;
    stored = convert_layers(m, &o);
    assert_int_equal(tess_matrix_base(stored), TESS_FORMAT_CSR);
    assert_int_equal(tess_matrix_low_base(stored), TESS_FORMAT_CSR);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* One large entry every 40 rows of a tridiagonal matrix: slices of these entries are nearly all padding. */
static void few_scattered_entries_may_be_padded(void **state)
{
    enum { N = 1600, APART = 40 };
    tess_context *ctx = open_device(1);
    oracle_csr a = oracle_tridiagonal(N, 0.25, 0.5, 0.25);
    tess_matrix *m = NULL, *stored = NULL;
    tess_storage_options o = layer_options(TESS_GRANULARITY_ENTRY, "fixed-range:1", "fp64,fp32");
    const split_storage *s = NULL;
    oracle_csr held;

    (void)state;
    for (int64_t i = 0; i < N; i += APART) {
        a.val[a.row_ptr[i]] = 7.0;
    }
    m = make_matrix(ctx, &a);
    o.split.base = o.split.low_base = TESS_FORMAT_SELL;
    o.slices.max_padding = 3.0;
    stored = convert_layers(m, &o);
    s = stored->storage;
    assert_int_equal(s->base[0], TESS_FORMAT_SELL);
    assert_int_equal(s->summary.nonzeros_at[0], N / APART);
    held = decode_matrix(stored);
    check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
    tess_matrix_destroy(stored);
    o.split.base = o.split.low_base = TESS_FORMAT_ELLR; /* where each part is for itself */
    check_refused(m, &o, "max_padding is 3");
    tess_matrix_destroy(m);
    oracle_free(&held);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* By rows, parts begin with the lowest level; base is still that of the highest, low_base of all others. */
static void by_rows_the_base_is_of_the_highest_level(void **state)
{
    tess_context *ctx = open_device(1);
    oracle_csr a = make_layer_scatter(400, 400, 2);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_storage_options o = layer_options(TESS_GRANULARITY_ROW, "fixed-range:1", "fp64,fp32,bf16");
        tess_matrix *stored = NULL;
        oracle_csr held;

        o.split.base = k == 0 ? TESS_FORMAT_ELLR : TESS_FORMAT_SELL;
        o.split.low_base = k == 0 ? TESS_FORMAT_SELL : TESS_FORMAT_ELLR;
        stored = convert_layers(m, &o);
        assert_int_equal(tess_matrix_base(stored), o.split.base);
        assert_int_equal(tess_matrix_low_base(stored), o.split.low_base);
        held = decode_matrix(stored);
        check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
        oracle_free(&held);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The tests of this file, also for a GPU. */
#define SPLIT_BASE_TESTS                                                                                               \
    cmocka_unit_test(every_base_stands_beside_every_other), cmocka_unit_test(all_bases_agree_on_exact_sums),           \
        cmocka_unit_test(what_is_no_entry_is_not_multiplied), cmocka_unit_test(new_values_take_the_places_of_the_old), \
        cmocka_unit_test(other_pairs_and_much_padding_are_refused),                                                    \
        cmocka_unit_test(few_scattered_entries_may_be_padded),                                                         \
        cmocka_unit_test(by_rows_the_base_is_of_the_highest_level)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT_BASE_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
