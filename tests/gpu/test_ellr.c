/* SPDX-License-Identifier: Apache-2.0 */
/* ELLPACK-R and SELL-C-sigma on the GPU: every kernel, the layout that the host builds, vectors at odd addresses. */
#include "format/ellr/ellr.h"
#include "matrix/matrix.h"
#include "support/slice_parts.h"

static tess_context *gpu = NULL;

static void every_variant_multiplies(void **state)
{
    (void)state;
    check_slices(gpu);
}

static void *fetch(const void *device, int64_t bytes)
{
    void *host = test_allocate(bytes, 1);

    assert_ok(gpu, gpu->backend->download(gpu, host, device, (size_t)bytes));
    return host;
}

static void check_same(const void *host, const void *device, int64_t bytes)
{
    void *copy = fetch(device, bytes);

    assert_memory_equal(host, copy, (size_t)bytes);
    free(copy);
}

static void check_same_slices(const ellr_view *h, const ellr_view *d)
{
    int64_t bytes = (int64_t)tess_precision_bytes(h->precision);

    assert_int_equal(h->value_units, d->value_units);
    assert_int_equal(h->column_units, d->column_units);
    assert_int_equal(h->length_bits, d->length_bits);
    assert_int_equal(h->uniform_width, d->uniform_width);
    assert_int_equal(h->order != NULL, d->order != NULL);
    check_same(h->slice, d->slice, h->nslices * (int64_t)sizeof *h->slice);
    check_same(h->length, d->length, h->nslices * 64 * h->length_bits / 8);
    if (h->order) { check_same(h->order, d->order, h->nslices * 64 * (int64_t)sizeof *h->order); }
    check_same(h->column, d->column, h->column_units * 64 * 2);
    check_same(h->val, d->val, h->value_units * 64 * bytes);
}

static void the_layout_is_that_of_the_host(void **state)
{
    static const int64_t windows[] = {1, 64, 256, 4096};
    oracle_csr all[] = {make_index_boundaries(), make_uneven_rows(9001, true), oracle_random(1000, 37, 5, 3)};
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int k = 0; k < 12; k++) {
        const oracle_csr *a = &all[k / 4];
        const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                              .format = TESS_FORMAT_SELL,
                                              .precision = TESS_PRECISION_FP16,
                                              .slices.max_padding = 100.0,
                                              .slices.window = windows[k % 4]};
        tess_matrix *on_cpu = make_matrix(cpu, a), *on_gpu = make_matrix(gpu, a), *host = NULL, *device = NULL;
        const ellr_view *h, *d;

        assert_ok(cpu, tess_matrix_convert(on_cpu, &options, &host));
        assert_ok(gpu, tess_matrix_convert(on_gpu, &options, &device));
        h = &((const ellr_storage *)host->storage)->view;
        d = &((const ellr_storage *)device->storage)->view;
        check_same_slices(h, d);
        tess_matrix_destroy(host);
        tess_matrix_destroy(device);
        tess_matrix_destroy(on_cpu);
        tess_matrix_destroy(on_gpu);
    }
    for (int k = 0; k < 3; k++) {
        oracle_free(&all[k]);
    }
    tess_context_destroy(cpu);
}

/* Slices of a subset of rows, mapped and scaled, and values of another precision over them. */
static void views_are_those_of_the_host(void **state)
{
    oracle_csr all[] = {make_index_boundaries(), make_uneven_rows(9001, true)};
    tess_context *cpu = open_cpu(2);

    (void)state;
    for (int k = 0; k < 16; k++) {
        const part_rule rule = {.first = 3, .step = k & 2 ? 1 : 2, .scaled = (k & 4) != 0, .unsorted = (k & 8) != 0};
        const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                              .format = TESS_FORMAT_SELL,
                                              .precision = TESS_PRECISION_E4M3,
                                              .slices.max_padding = 100.0};
        slice_part host = make_part(cpu, &all[k % 2], rule), device = make_part(gpu, &all[k % 2], rule);
        ellr_view h, d, h64, d64;

        assert_ok(cpu, ellr_build_view(cpu, &host.device, &options, &h));
        assert_ok(gpu, ellr_build_view(gpu, &device.device, &options, &d));
        check_same_slices(&h, &d);
        h64 = h;
        d64 = d;
        h64.precision = TESS_PRECISION_FP64;
        d64.precision = TESS_PRECISION_FP64;
        assert_ok(cpu, ellr_make_values(cpu, &host.device, &h, TESS_PRECISION_FP64, false, &h64.val));
        assert_ok(gpu, ellr_make_values(gpu, &device.device, &d, TESS_PRECISION_FP64, false, &d64.val));
        check_same_slices(&h64, &d64);
        ellr_release_values(cpu, &h, TESS_PRECISION_FP64, h64.val);
        ellr_release_values(gpu, &d, TESS_PRECISION_FP64, d64.val);
        ellr_release_view(cpu, &h);
        ellr_release_view(gpu, &d);
        free_part(&host);
        free_part(&device);
    }
    oracle_free(&all[0]);
    oracle_free(&all[1]);
    tess_context_destroy(cpu);
}

static void parts_multiply_with_every_epilogue(void **state)
{
    (void)state;
    check_slice_parts(gpu);
}

/* x and y one value beyond an aligned address. */
static void vectors_may_be_at_odd_addresses(void **state)
{
    oracle_csr a = make_uneven_rows(777, false);
    const tess_storage_options options = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_SELL, .precision = TESS_PRECISION_E4M3};
    tess_matrix *m = make_matrix(gpu, &a), *stored = NULL;
    double *x = random_values(a.ncols, 4, -1.0, 1.0), *expected = test_allocate(a.nrows, sizeof *expected);
    double *out = test_allocate(a.nrows, sizeof *out), *place = NULL;
    int64_t capacity = a.ncols + a.nrows + 2;
    tess_vector *vx = NULL, *vy = NULL;

    (void)state;
    assert_ok(gpu, tess_matrix_convert(m, &options, &stored));
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, expected, expected);
    assert_ok(gpu, tess_device_allocate(gpu, capacity, sizeof *place, (void **)&place));
    assert_ok(gpu, tess_vector_wrap(gpu, a.ncols, TESS_PRECISION_FP64, place + 1, &vx));
    assert_ok(gpu, tess_vector_wrap(gpu, a.nrows, TESS_PRECISION_FP64, place + 1 + a.ncols, &vy));
    assert_ok(gpu, tess_vector_set(vx, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(gpu, tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, vx, 0.0, vy));
    read_vector(vy, out);
    assert_true(same_bits(expected, out, a.nrows));
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_device_release(gpu, place, capacity, sizeof *place);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(m);
    oracle_free(&a);
    free(x);
    free(expected);
    free(out);
}

static void too_much_padding_is_refused(void **state)
{
    oracle_csr a = oracle_power_law(3000, 4);
    tess_matrix *m = make_matrix(gpu, &a), *stored = NULL;
    const tess_storage_options options = {.size = sizeof(tess_storage_options), .format = TESS_FORMAT_ELLR};
    int64_t held = gpu->held_bytes;

    (void)state;
    assert_fails(gpu, TESS_UNSUPPORTED, tess_matrix_convert(m, &options, &stored));
    assert_non_null(strstr(tess_context_last_error(gpu)->message, "max_padding"));
    assert_int_equal(gpu->held_bytes, held);
    tess_matrix_destroy(m);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_multiplies),        cmocka_unit_test(the_layout_is_that_of_the_host),
        cmocka_unit_test(views_are_those_of_the_host),     cmocka_unit_test(parts_multiply_with_every_epilogue),
        cmocka_unit_test(vectors_may_be_at_odd_addresses), cmocka_unit_test(too_much_padding_is_refused),
    };

    return run_gpu_tests(tests, &gpu);
}
