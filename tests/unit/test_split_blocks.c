/* SPDX-License-Identifier: Apache-2.0 */
/* Split storage in layers, by blocks and by entries: contents of each layer, bytes, products in one pass, refusals.
   Zhao et al. 2024, section 3.2.1. tests/gpu/test_split_blocks.c runs the same tests on a GPU. */
#include <tessera/codec.h>

#include "format/split/split.h"
#include "matrix/matrix.h"
#include "support/layers.h"
#include "support/product.h"
#include "support/variants.h"

/* ---- what layers hold ---- */

static void *fetch(tess_context *ctx, const void *device, int64_t count, size_t size)
{
    void *host = test_allocate(count + 1, size);

    assert_ok(ctx, ctx->backend->download(ctx, host, device, (size_t)count * size));
    return host;
}

/* A layer's arrays against the entries that a search through the whole matrix finds for it. */
static void check_layer(const tess_matrix *stored, const oracle_csr *a, const uint8_t *level, int l)
{
    const split_storage *s = stored->storage;
    const csr_view *v = &s->part[l].view;
    int32_t *row_ptr = fetch(stored->ctx, v->row_ptr, a->nrows + 1, sizeof *row_ptr);
    int32_t *col_ind = fetch(stored->ctx, v->col_ind, v->nnz, sizeof *col_ind);
    char *val = fetch(stored->ctx, v->val, v->nnz, tess_precision_bytes(v->precision));
    int64_t place = 0;

    assert_int_equal(v->row_ptr_bits, 32);
    assert_int_equal(v->precision, s->summary.options.level[l].precision);
    for (int64_t i = 0; i < a->nrows; i++) {
        assert_int_equal(row_ptr[i], place);
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            double rounded = 0.0;

            if (level[k] != l) { continue; }
            assert_int_equal(col_ind[place], a->col_ind[k]);
            tess_store(TESS_PRECISION_FP64, &rounded, 0, a->val[k], TESS_OVERFLOW_INFINITY);
            if (v->precision == TESS_PRECISION_FP32) { rounded = (double)(float)a->val[k]; }
            if (v->precision != TESS_PRECISION_BF16) { assert_true(tess_load(v->precision, val, place) == rounded); }
            assert_at_most(fabs(tess_load(v->precision, val, place) - a->val[k]), 0x1p-8 * fabs(a->val[k]));
            place += 1;
        }
    }
    assert_int_equal(row_ptr[a->nrows], place);
    assert_int_equal(v->nnz, place);
    free(row_ptr);
    free(col_ind);
    free(val);
}

static void check_layers(tess_context *ctx, const oracle_csr *a, tess_storage_options o, const int *side)
{
    tess_matrix *m = make_matrix(ctx, a), *stored = NULL;
    uint8_t *level = NULL;
    oracle_csr held;

    o.policy.block_rows = side[0];
    o.policy.block_cols = side[1];
    level = levels_of_entries(m, a, &o.policy);
    stored = convert_layers(m, &o);
    for (int l = 0; l < o.policy.nlevels; l++) {
        check_layer(stored, a, level, l);
    }
    held = decode_matrix(stored);
    for (int64_t k = 0; k < a->nnz; k++) {
        assert_at_most(fabs(held.val[k] - a->val[k]), 0x1p-8 * fabs(a->val[k]));
        if (level[k] == 0) { assert_true(held.val[k] == a->val[k]); }
    }
    check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
    check_product(stored, &held, TESS_OP_NONE, -0.75, 0.5);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&held);
    free(level);
}

static void entries_are_where_their_blocks_are(void **state)
{
    static const int64_t shapes[][2] = {{200, 200}, {97, 331}, {1031, 65}, {1, 40}, {15, 15}, {33, 1}};
    const tess_storage_options o[2] = {layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp32"),
                                       layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp32,bf16")};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        for (int levels = 0; levels < 2; levels++) {
            oracle_csr band = make_layer_band(shapes[k][0], shapes[k][1], 2 + levels);
            oracle_csr scattered = make_layer_scatter(shapes[k][0], shapes[k][1], 2 + levels);

            for (int side = 0; side < 4; side++) {
                check_layers(ctx, &band, o[levels], layer_sides[side]);
                check_layers(ctx, &scattered, o[levels], layer_sides[side]);
            }
            oracle_free(&band);
            oracle_free(&scattered);
        }
    }
    tess_context_destroy(ctx);
}

/* Zhao et al. 2024, Table 2: 8 NNZ_s + 12 NNZ_d + 28 N + 8 with x in both precisions and y, 20 N of them; no more is
 * stored. */
static void bytes_are_those_of_table_two(void **state)
{
    tess_storage_options o = layer_options(TESS_GRANULARITY_BLOCK, "mean-3std", "fp64,fp32");
    tess_context *ctx = open_device(1);
    oracle_csr a = make_layer_band(500, 500, 2);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;
    const int64_t n = a.nrows;
    const tess_assignment_summary *s = NULL;

    (void)state;
    stored = convert_layers(m, &o);
    s = &((const split_storage *)stored->storage)->summary;
    assert_true(s->nonzeros_at[0] > 0 && s->nonzeros_at[1] > 0);
    assert_int_equal(tess_matrix_bytes(stored) + 20 * n, 8 * s->nonzeros_at[1] + 12 * s->nonzeros_at[0] + 28 * n + 8);
    tess_matrix_destroy(stored);
    assert_ok(ctx, tess_precision_levels_parse("fp64,fp32,bf16", &o.policy));
    o.policy.parameter = 3.0;
    stored = convert_layers(m, &o);
    s = &((const split_storage *)stored->storage)->summary;
    assert_int_equal(tess_matrix_bytes(stored),
                     12 * s->nonzeros_at[0] + 8 * s->nonzeros_at[1] + 6 * s->nonzeros_at[2] + 3 * 4 * (n + 1));
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- products ---- */

/* Entries below fp64 multiply in FP32, by a rounded x; those in FP64 add no more than their own rounding. */
static void check_fp32(tess_context *ctx, const oracle_csr *a, tess_storage_options o)
{
    tess_matrix *m = make_matrix(ctx, a), *stored = NULL;
    uint8_t *level = levels_of_entries(m, a, &o.policy);
    double *x = random_values(a->ncols, 5, -1.0, 1.0), *y = NULL;
    int64_t rounded = 0;
    oracle_csr held;

    o.arithmetic = TESS_ARITHMETIC_FP32;
    stored = convert_layers(m, &o);
    held = decode_matrix(stored);
    y = layer_product(stored, x);
    for (int64_t i = 0; i < a->nrows; i++) {
        double all = 0.0, low = 0.0, error, rest;
        wide sum = 0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            double term = fabs(held.val[k] * x[a->col_ind[k]]);

            sum += (wide)held.val[k] * (wide)x[a->col_ind[k]];
            all += term;
            if (o.policy.level[level[k]].precision != TESS_PRECISION_FP64) { low += term; }
        }
        error = (double)wide_abs((wide)y[i] - sum);
        rest = gamma_of((double)(a->row_ptr[i + 1] - a->row_ptr[i]) + 6.0) * all;
        assert_at_most(error, 0x1.00001p-23 * low + rest);
        rounded += error > rest;
    }
    assert_true(rounded > 0);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&held);
    free(level);
    free(x);
    free(y);
}

static void fp32_products_are_of_low_blocks_alone(void **state)
{
    static const char *const levels[] = {"fp64,fp32", "fp64,fp32,bf16"};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 8; k++) {
        tess_storage_options o =
            layer_options(k / 4 ? TESS_GRANULARITY_ENTRY : TESS_GRANULARITY_BLOCK, "fixed-range:1", levels[k % 2]);
        oracle_csr a = k / 2 % 2 ? make_layer_scatter(700, 650, 2 + k % 2) : make_layer_band(3000, 2500, 2 + k % 2);

        for (int b = 0; b < LAYER_BASES; b++) {
            o.split.base = layer_bases[b];
            check_fp32(ctx, &a, o);
        }
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* A level between two others that nothing is assigned to: neither its bits nor its passes show. */
static void an_empty_layer_does_not_show(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int base = 0; base < LAYER_BASES; base++) {
        tess_storage_options two = layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,bf16");
        tess_storage_options three = layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp32,bf16");
        oracle_csr a = make_layer_band(3001, 3001, 2);
        tess_matrix *m = NULL, *stored[2] = {NULL, NULL};
        double *x = random_values(a.ncols, 6, -1.0, 1.0), *y[2];

        for (int64_t k = 0; k < a.nnz; k++) { /* low values are below both ranges: 1, and 2^-16 */
            a.val[k] = ldexp(floor(ldexp(a.val[k], 6)), fabs(a.val[k]) < 1.0 ? -40 : 0);
        }
        m = make_matrix(ctx, &a);
        two.split.base = three.split.base = layer_bases[base];
        stored[0] = convert_layers(m, &two);
        stored[1] = convert_layers(m, &three);
        assert_int_equal(((const split_storage *)stored[1]->storage)->summary.nonzeros_at[1], 0);
        assert_true(((const split_storage *)stored[1]->storage)->summary.nonzeros_at[2] > 0);
        for (int k = 0; k < 2; k++) {
            y[k] = layer_product(stored[k], x);
            tess_matrix_destroy(stored[k]);
        }
        assert_true(same_bits(y[0], y[1], a.nrows));
        tess_matrix_destroy(m);
        oracle_free(&a);
        free(x);
        free(y[0]);
        free(y[1]);
    }
    tess_context_destroy(ctx);
}

/* All low, all high, no entries, no rows: one layer with entries is a plain matrix. */
static void one_layer_or_none_is_enough(void **state)
{
    static const char *const policies[] = {"fixed-range:1e9", "fixed-range:1e-30"};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 12; k++) {
        tess_storage_options o =
            layer_options(k % 2 ? TESS_GRANULARITY_ENTRY : TESS_GRANULARITY_BLOCK, policies[k / 2 % 2], "fp64,fp32");
        oracle_csr a = k / 4 == 0 ? make_layer_band(260, 260, 2) : oracle_open(k / 4 == 1 ? 60 : 0, 50), held;
        tess_matrix *m = NULL, *stored = NULL;
        double *x = random_values(50, 7, -1.0, 1.0), *y = NULL;

        for (int64_t i = 0; k / 4 == 1 && i < a.nrows; i++) {
            oracle_end_row(&a, i);
        }
        for (int base = 0; base < LAYER_BASES; base++) {
            m = make_matrix(ctx, &a);
            o.split.base = layer_bases[base];
            stored = convert_layers(m, &o);
            held = decode_matrix(stored);
            check_product(stored, &held, TESS_OP_NONE, 1.0, 0.0);
            check_product(stored, &held, TESS_OP_NONE, 0.5, 0.5);
            if (a.nnz == 0) {
                y = layer_product(stored, x);
                for (int64_t i = 0; i < a.nrows; i++) {
                    assert_true(y[i] == 0.0);
                }
                free(y);
            }
            oracle_free(&held);
            tess_matrix_destroy(stored);
            tess_matrix_destroy(m);
        }
        oracle_free(&a);
        free(x);
    }
    tess_context_destroy(ctx);
}

/* Rows of every length that a kernel may take in a way of its own, for all layers together and for one of them. */
static oracle_csr make_lengths(void)
{
    static const int64_t length[] = {0, 1, 7, 8, 31, 33, 255, 256, 257, 400, 1000, 8192, 8193, 50000};
    oracle_csr a = oracle_open(3000, 60000);

    for (int64_t i = 0; i < a.nrows; i++) {
        int64_t count = i % 40 == 39 ? length[i / 40 % 14] : i % 4;

        for (int64_t j = 0; j < count; j++) {
            int64_t column = count > 300 ? j : (i * 13 + j * 50) % a.ncols;

            oracle_push(&a, column, (double)((i + j) % 7 + 1) * ((column / 1000 + i / 16) % 3 == 0 ? 8.0 : 0x1p-16));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Values, x and sums are exact in FP32 products and FP64 sums: any order gives the same. */
static void long_rows_are_added_up_exactly(void **state)
{
    tess_context *ctx = open_device(3);
    oracle_csr a = make_lengths();
    tess_matrix *m = make_matrix(ctx, &a);
    double *x = test_allocate(a.ncols, sizeof *x);

    (void)state;
    for (int64_t j = 0; j < a.ncols; j++) {
        x[j] = (double)(j % 64 - 31);
    }
    for (int k = 0; k < 8; k++) {
        tess_storage_options o = layer_options(k % 2 ? TESS_GRANULARITY_ENTRY : TESS_GRANULARITY_BLOCK, "fixed-range:1",
                                               k / 2 % 2 ? "fp64,fp32,bf16" : "fp64,fp32");
        tess_matrix *stored = NULL;
        double *y = NULL;

        o.arithmetic = k / 4 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
        if (k / 2 % 2) { o.policy.parameter = 16.0; } /* the lowest level is below 2^-12 */
        stored = convert_layers(m, &o);
        y = layer_product(stored, x);
        for (int64_t i = 0; i < a.nrows; i++) {
            double sum = 0.0;

            for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
                sum += a.val[e] * x[a.col_ind[e]];
            }
            assert_true(y[i] == sum);
        }
        tess_matrix_destroy(stored);
        free(y);
    }
    free(x);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- assignments, and what is refused ---- */

static void blocks_of_another_pattern_are_refused(void **state)
{
    const tess_storage_options o = layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp32");
    tess_context *ctx = open_device(1);
    oracle_csr a = make_layer_band(300, 300, 2), b = oracle_copy(&a);
    tess_matrix *m = make_matrix(ctx, &a), *other = NULL, *stored = NULL, *same = NULL;
    tess_assignment *assignment = NULL;
    double *x = random_values(300, 8, -1.0, 1.0), *y[2];

    (void)state;
    b.col_ind[b.row_ptr[1] - 1] = 299; /* as many entries, one in another block */
    other = make_matrix(ctx, &b);
    assert_ok(ctx, tess_assignment_create(m, &o.policy, &assignment));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert_assigned(other, &o, assignment, &stored));
    assert_null(stored);
    assert_ok(ctx, tess_matrix_convert_assigned(m, &o, assignment, &stored));
    same = convert_layers(m, &o);
    y[0] = layer_product(same, x);
    y[1] = layer_product(stored, x);
    assert_true(same_bits(y[0], y[1], 300));
    tess_matrix_destroy(same);
    tess_matrix_destroy(stored);
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(other);
    tess_matrix_destroy(m);
    oracle_free(&a);
    oracle_free(&b);
    free(x);
    free(y[0]);
    free(y[1]);
    tess_context_destroy(ctx);
}

static void scaled_blocks_and_composites_are_refused(void **state)
{
    tess_storage_options o = layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp16:scaled");
    tess_context *ctx = open_device(1);
    oracle_csr a = make_layer_band(100, 100, 2);
    tess_matrix *m = make_matrix(ctx, &a), *stored = NULL;

    (void)state;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "scaled"));
    assert_null(stored);
    o = layer_options(TESS_GRANULARITY_BLOCK, "fixed-range:1", "fp64,fp32");
    o.format = TESS_FORMAT_COMPOSITE;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_convert(m, &o, &stored));
    o.format = TESS_FORMAT_SPLIT;
    o.policy.without_diagonal = 1;
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &o, &stored));
    assert_null(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The chosen bases: their bytes and values are those of these bases when named, and csr or sell take no fewer bytes. */
static tess_format check_chosen_base(const tess_matrix *m, const tess_storage_options *options)
{
    static const tess_format bases[] = {TESS_FORMAT_CSR, TESS_FORMAT_SELL};
    tess_storage_options o = *options;
    double *expected = test_allocate(tess_matrix_nnz(m), sizeof *expected);
    double *val = test_allocate(tess_matrix_nnz(m), sizeof *val);
    tess_matrix *stored = NULL;
    int64_t bytes = 0;

    o.split.base = TESS_FORMAT_AUTO;
    memset(&m->ctx->error, 0, sizeof m->ctx->error);
    stored = convert_layers(m, &o);
    assert_int_equal(tess_context_last_error(m->ctx)->status, TESS_SUCCESS); /* a base that is refused is no failure */
    o.split.base = tess_matrix_base(stored);
    o.split.low_base = tess_matrix_low_base(stored);
    bytes = tess_matrix_bytes(stored);
    assert_ok(m->ctx, tess_matrix_get_csr(stored, NULL, NULL, val));
    tess_matrix_destroy(stored);
    stored = convert_layers(m, &o);
    assert_int_equal(tess_matrix_base(stored), o.split.base);
    assert_int_equal(tess_matrix_low_base(stored), o.split.low_base);
    assert_int_equal(tess_matrix_bytes(stored), bytes);
    assert_ok(m->ctx, tess_matrix_get_csr(stored, NULL, NULL, expected));
    assert_memory_equal(expected, val, (size_t)tess_matrix_nnz(m) * sizeof *val);
    tess_matrix_destroy(stored);
    for (int k = 0; k < 2; k++) {
        tess_storage_options other = *options;
        tess_status status;

        other.split.base = bases[k];
        status = tess_matrix_convert(m, &other, &stored);
        assert_true(status == TESS_SUCCESS || (k == 1 && status == TESS_UNSUPPORTED));
        if (status != TESS_SUCCESS) { continue; }
        assert_true(bytes <= tess_matrix_bytes(stored));
        tess_matrix_destroy(stored);
    }
    free(expected);
    free(val);
    return o.split.base;
}

static void the_base_of_fewer_bytes_is_chosen(void **state)
{
    static const tess_granularity granularities[] = {TESS_GRANULARITY_BLOCK, TESS_GRANULARITY_ENTRY,
                                                     TESS_GRANULARITY_ROW};
    tess_context *ctx = open_device(2);
    oracle_csr all[] = {make_layer_band(500, 500, 2), oracle_random(400, 500, 7, 3),
                        oracle_hilbert(70),           oracle_open(0, 0),
                        oracle_power_law(600, 5),     oracle_laplace2d(30)};
    int chosen[TESS_FORMAT_DIA + 1] = {0};

    (void)state;
    for (size_t k = 0; k < 5 * (sizeof all / sizeof all[0]); k++) {
        tess_matrix *m = make_matrix(ctx, &all[k / 5]);
        tess_storage_options o = layer_options(granularities[k % 5 % 3], "fixed-range:1", "fp64,fp32");

        if (k % 5 > 2) { o.policy.granularity = TESS_GRANULARITY_ROW; }
        o.format = k % 5 == 4 ? TESS_FORMAT_COMPOSITE : TESS_FORMAT_SPLIT;
        o.slices.max_padding = k % 5 == 0 ? 1.2 : 1000.0;
        chosen[check_chosen_base(m, &o)]++;
        assert_int_equal(tess_matrix_base(m), TESS_FORMAT_CSR);
        tess_matrix_destroy(m);
    }
    assert_true(chosen[TESS_FORMAT_CSR] > 4 && chosen[TESS_FORMAT_SELL] > 4 && chosen[TESS_FORMAT_DIA] > 1);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        oracle_free(&all[k]);
    }
    tess_context_destroy(ctx);
}

/* The tests of this file, also for a GPU. */
#define SPLIT_BLOCK_TESTS                                                                                        \
    cmocka_unit_test(entries_are_where_their_blocks_are), cmocka_unit_test(bytes_are_those_of_table_two),        \
        cmocka_unit_test(fp32_products_are_of_low_blocks_alone), cmocka_unit_test(an_empty_layer_does_not_show), \
        cmocka_unit_test(one_layer_or_none_is_enough), cmocka_unit_test(long_rows_are_added_up_exactly),         \
        cmocka_unit_test(blocks_of_another_pattern_are_refused),                                                 \
        cmocka_unit_test(scaled_blocks_and_composites_are_refused),                                              \
        cmocka_unit_test(the_base_of_fewer_bytes_is_chosen)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT_BLOCK_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
