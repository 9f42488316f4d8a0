/* SPDX-License-Identifier: Apache-2.0 */
/* The binary cache: round trip, and every kind of damage is found. */
#include <unistd.h>
#include <zlib.h>

#include <tessera/io.h>

#include "support/heap.h"
#include "support/test.h"

enum {
    HEADER_BYTES = 64,
    VERSION_AT = 12,
    BYTE_ORDER_AT = 8,
    NROWS_AT = 16,
    NNZ_AT = 32,
    CHECKSUMS_AT = 44,
    HEADER_CHECKSUM_AT = 60
};

/* A cache file's bytes. */
typedef struct image {
    unsigned char *bytes;
    size_t count;
} image;

static void make_path(char path[64])
{
    int descriptor = -1;

    strcpy(path, "/tmp/tessera-test-XXXXXX");
    descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
}

static image load(const char *path)
{
    FILE *file = fopen(path, "rb");
    image im = {test_allocate(1 << 22, 1), 0};

    assert_non_null(file);
    im.count = fread(im.bytes, 1, 1 << 22, file);
    fclose(file);
    return im;
}

static image make_image(tess_context *ctx, const oracle_csr *a)
{
    char path[64];
    tess_matrix *m = make_matrix(ctx, a);
    image im;

    make_path(path);
    assert_ok(ctx, tess_matrix_write_cache(m, path));
    im = load(path);
    unlink(path);
    tess_matrix_destroy(m);
    return im;
}

static tess_status read_image(tess_context *ctx, const image *im, tess_matrix **m)
{
    return tess_matrix_read_memory(ctx, "the-cache", im->bytes, im->count, m, NULL);
}

/* Corrects the checksums after a change, so that the checks behind them are tested. */
static void sign(image *im, const oracle_csr *a)
{
    size_t sizes[] = {(size_t)(a->nrows + 1) * 4, (size_t)a->nnz * 4, (size_t)a->nnz * 8};
    const unsigned char *p = im->bytes + HEADER_BYTES;
    uint32_t sum = 0;

    for (size_t i = 0; i < 3; i++) {
        sum = (uint32_t)crc32(0, p, (uInt)sizes[i]);
        memcpy(im->bytes + CHECKSUMS_AT + 4 * i, &sum, 4);
        p += sizes[i];
    }
    sum = (uint32_t)crc32(0, im->bytes, HEADER_CHECKSUM_AT);
    memcpy(im->bytes + HEADER_CHECKSUM_AT, &sum, 4);
}

static void test_round_trip(void **state)
{
    oracle_csr matrices[] = {oracle_laplace2d(40), oracle_random(5000, 300, 5, 3), oracle_open(4, 9)};

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int threads = 1; threads <= 3; threads++) {
            tess_context *ctx = open_cpu(threads);
            char path[64];
            tess_matrix *m = make_matrix(ctx, &matrices[i]), *again = NULL;
            tess_csr_view x, y;
            tess_mtx_info info = {.size = sizeof info};

            make_path(path);
            assert_ok(ctx, tess_matrix_write_cache(m, path));
            assert_ok(ctx, tess_matrix_read(ctx, path, &again, &info));
            x = tess_matrix_csr_view(m);
            y = tess_matrix_csr_view(again);
            assert_int_equal(info.cache, 1);
            assert_int_equal(info.nrows, x.nrows);
            assert_int_equal(info.ncols, x.ncols);
            assert_int_equal(info.nonzeros, x.nnz);
            assert_int_equal(y.ncols, x.ncols);
            assert_int_equal(y.nnz, x.nnz);
            assert_int_equal(y.row_ptr_bits, 32);
            assert_memory_equal(x.row_ptr, y.row_ptr, (size_t)(x.nrows + 1) * 4);
            if (x.nnz > 0) { assert_memory_equal(x.col_ind, y.col_ind, (size_t)x.nnz * 4); }
            assert_true(same_bits(x.val, y.val, x.nnz));
            tess_matrix_destroy(m);
            tess_matrix_destroy(again);
            tess_context_destroy(ctx);
            unlink(path);
        }
        oracle_free(&matrices[i]);
    }
}

/* The same bytes, however many threads wrote them. */
static void test_bytes_do_not_depend_on_threads(void **state)
{
    oracle_csr a = oracle_random(60000, 60000, 6, 4);
    tess_context *one = open_cpu(1), *three = open_cpu(3);
    image x = make_image(one, &a), y = make_image(three, &a);

    (void)state;
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.bytes, y.bytes, x.count);
    free(x.bytes);
    free(y.bytes);
    tess_context_destroy(one);
    tess_context_destroy(three);
    oracle_free(&a);
}

/* One flipped bit anywhere (but in the magic, where it is no cache any more) and one byte less or more. */
static void test_any_damage_is_found(void **state)
{
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(1);
    image im = make_image(ctx, &a);
    tess_matrix *m = NULL;

    (void)state;
    assert_ok(ctx, read_image(ctx, &im, &m));
    tess_matrix_destroy(m);
    for (size_t i = 8; i < im.count; i++) {
        im.bytes[i] ^= (unsigned char)(1 << i % 8);
        assert_fails(ctx, TESS_CORRUPT, read_image(ctx, &im, &m));
        assert_string_equal(tess_context_last_error(ctx)->file, "the-cache");
        assert_null(m);
        im.bytes[i] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t count = im.count - 1; count > 8; count /= 2) {
        image shorter = {im.bytes, count};

        assert_fails(ctx, TESS_CORRUPT, read_image(ctx, &shorter, &m));
    }
    im.count++;
    assert_fails(ctx, TESS_CORRUPT, read_image(ctx, &im, &m));
    free(im.bytes);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void expect_words(tess_context *ctx, const image *im, const char *words)
{
    tess_matrix *m = NULL;

    assert_fails(ctx, TESS_CORRUPT, read_image(ctx, im, &m));
    if (!strstr(tess_context_last_error(ctx)->message, words)) {
        fail_msg("'%s' lacks '%s'", tess_context_last_error(ctx)->message, words);
    }
}

static void test_version_and_byte_order(void **state)
{
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(1);
    image im = make_image(ctx, &a);

    (void)state;
    im.bytes[VERSION_AT] = 2;
    sign(&im, &a);
    expect_words(ctx, &im, "version 2");
    im.bytes[VERSION_AT] = 1;
    memcpy(im.bytes + BYTE_ORDER_AT, (unsigned char[]){1, 2, 3, 4}, 4);
    sign(&im, &a);
    expect_words(ctx, &im, "byte order");
    free(im.bytes);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Sizes that the file does not have: refused, without an allocation of that size. */
static void test_sizes_are_checked_first(void **state)
{
    const int64_t sizes[] = {-1, INT64_C(1) << 31, INT64_C(1) << 40, INT64_MAX, 15};
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(1);
    image im = make_image(ctx, &a), changed = {test_allocate((int64_t)im.count, 1), im.count};
    int64_t before = tess_context_peak_bytes(ctx);

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int at = NROWS_AT; at <= NNZ_AT; at += NNZ_AT - NROWS_AT) {
            memcpy(changed.bytes, im.bytes, im.count);
            memcpy(changed.bytes + at, &sizes[i], sizeof sizes[i]);
            sign(&changed, &a);
            expect_words(ctx, &changed, "length");
        }
    }
    assert_true(tess_context_peak_bytes(ctx) <= before);
    free(im.bytes);
    free(changed.bytes);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void set_int(image *im, size_t at, int32_t value)
{
    memcpy(im->bytes + at, &value, sizeof value);
}

/* Correct checksums over data that is not an assembled matrix. */
static void test_structure_is_checked(void **state)
{
    oracle_csr a = oracle_laplace2d(4);
    tess_context *ctx = open_cpu(2);
    image im = make_image(ctx, &a), changed = {test_allocate((int64_t)im.count, 1), im.count};
    size_t columns = HEADER_BYTES + (size_t)(a.nrows + 1) * 4;
    const struct {
        size_t at;
        int32_t value;
    } changes[] = {{HEADER_BYTES, 1},
                   {HEADER_BYTES, -1},
                   {HEADER_BYTES + 4, 1000000},
                   {HEADER_BYTES + 8, 1},
                   {HEADER_BYTES + (size_t)a.nrows * 4, (int32_t)a.nnz - 1},
                   {columns, -1},
                   {columns, 16},
                   {columns + 4, 0},
                   {columns + 4, INT32_MAX}};

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        memcpy(changed.bytes, im.bytes, im.count);
        set_int(&changed, changes[i].at, changes[i].value);
        sign(&changed, &a);
        expect_words(ctx, &changed, "rows");
    }
    free(im.bytes);
    free(changed.bytes);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void test_failing_allocations(void **state)
{
    oracle_csr a = oracle_laplace2d(5);
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    image im;
    int64_t held = 0;
    tess_status status = TESS_OUT_OF_MEMORY;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    im = make_image(ctx, &a);
    held = h.live;
    for (int k = 0; status != TESS_SUCCESS && k < 50; k++) {
        tess_matrix *m = NULL;

        heap_fail_at(&h, k);
        status = read_image(ctx, &im, &m);
        assert_true(status == TESS_SUCCESS || status == TESS_OUT_OF_MEMORY);
        tess_matrix_destroy(m);
        assert_int_equal(h.live, held);
    }
    assert_int_equal(status, TESS_SUCCESS);
    free(im.bytes);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bytes_do_not_depend_on_threads),
        cmocka_unit_test(test_any_damage_is_found),
        cmocka_unit_test(test_version_and_byte_order),
        cmocka_unit_test(test_sizes_are_checked_first),
        cmocka_unit_test(test_structure_is_checked),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
