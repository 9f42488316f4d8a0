/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the reader accepts, and the matrices that result. */
#include <unistd.h>
#include <zlib.h>

#include <tessera/io.h>

#include "support/heap.h"
#include "support/test.h"

/* The expected matrix: dimensions and its entries row by row. */
typedef struct expectation {
    int64_t nrows, ncols, nnz;
    const int64_t *row_ptr;
    const int32_t *col_ind;
    const double *val;
} expectation;

#define EXPECT(rows, cols, entries, ...) ((expectation){rows, cols, entries, __VA_ARGS__})

static void check_matrix(const tess_matrix *m, const expectation *e)
{
    int64_t *row_ptr = test_allocate(e->nrows + 1, sizeof *row_ptr);
    int32_t *col_ind = test_allocate(e->nnz, sizeof *col_ind);
    double *val = test_allocate(e->nnz, sizeof *val);

    assert_int_equal(tess_matrix_nrows(m), e->nrows);
    assert_int_equal(tess_matrix_ncols(m), e->ncols);
    assert_int_equal(tess_matrix_nnz(m), e->nnz);
    assert_ok(tess_matrix_context(m), tess_matrix_get_csr(m, row_ptr, col_ind, val));
    assert_memory_equal(row_ptr, e->row_ptr, (size_t)(e->nrows + 1) * sizeof *row_ptr);
    assert_memory_equal(col_ind, e->col_ind, (size_t)e->nnz * sizeof *col_ind);
    assert_true(same_bits(val, e->val, e->nnz));
    free(row_ptr);
    free(col_ind);
    free(val);
}

/* Reads `text` with one thread and with three. */
static void check_text(const char *text, const expectation *e, tess_mtx_info *info)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = NULL;

        assert_ok(ctx, tess_matrix_read_memory(ctx, "text", text, strlen(text), &m, info));
        check_matrix(m, e);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
}

static const expectation two_by_three = {
    2, 3, 3, (const int64_t[]){0, 1, 3}, (const int32_t[]){1, 0, 2}, (const double[]){2.5, -1.0, 3e5}};

static void test_general(void **state)
{
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text("%%MatrixMarket matrix coordinate real general\n2 3 3\n1 2 2.5\n2 1 -1\n2 3 3e5\n", &two_by_three,
               &info);
    assert_int_equal(info.coordinate, 1);
    assert_int_equal(info.pattern, 0);
    assert_int_equal(info.integer, 0);
    assert_int_equal(info.symmetry, 0);
    assert_int_equal(info.compressed, 0);
    assert_int_equal(info.cache, 0);
    assert_int_equal(info.nrows, 2);
    assert_int_equal(info.ncols, 3);
    assert_int_equal(info.entries, 3);
    assert_int_equal(info.nonzeros, 3);
    assert_int_equal(info.duplicates, 0);
    assert_int_equal(info.explicit_zeros, 0);
}

/* One matrix written in the ways that files in the wild are. */
static void test_spellings(void **state)
{
    const char *texts[] = {
        "%%MATRIXMARKET Matrix COORDINATE Real GENERAL\n2 3 3\n1 2 2.5\n2 1 -1\n2 3 3e5\n",
        "%%MatrixMarket matrix coordinate double general\n%\n% a comment\n\n%%\n  \n2 3 3\n1 2 2.5\n2 1 -1\n2 3 3e5\n",
        "%%MatrixMarket matrix coordinate real general\r\n% c\r\n2 3 3\r\n1 2 2.5\r\n2 1 -1\r\n2 3 3e5\r\n",
        "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 2 2.5\n2 1 -1\n2 3 3e5",
        "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 2 2.5\n2 1 -1\n2 3 3e5\r",
        "%%MatrixMarket matrix coordinate real general\n2 3 3\n\n1 2 2.5\n \t\n\n2 1 -1\n2 3 3e5\n\n\n   \n",
        "%%MatrixMarket  matrix\tcoordinate real   general \n 2\t3  3 \n\t1   2\t 2.5  \n2 1 -1\t\n2 3 3e5 \n",
        "%%MatrixMarket matrix coordinate real general\n2 3 3\n2 3 3D5\n2 1 -1.d0\n1 2 +2.5\n",
        "%%MatrixMarket matrix coordinate real general\n2 3 3\n2 3 300000\n0002 01 -.1E+01\n1 2 0.25e1\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_text(texts[i], &two_by_three, NULL);
    }
}

static void test_integer_and_pattern(void **state)
{
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 7\n2 1 -3\n",
               &EXPECT(2, 2, 2, (const int64_t[]){0, 1, 2}, (const int32_t[]){0, 0}, (const double[]){7.0, -3.0}),
               &info);
    assert_int_equal(info.integer, 1);
    check_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n",
               &EXPECT(2, 2, 2, (const int64_t[]){0, 1, 2}, (const int32_t[]){1, 0}, (const double[]){1.0, 1.0}),
               &info);
    assert_int_equal(info.pattern, 1);
}

static const expectation symmetric_3 = {3,
                                        3,
                                        5,
                                        (const int64_t[]){0, 2, 4, 5},
                                        (const int32_t[]){0, 1, 0, 2, 1},
                                        (const double[]){4.0, -1.0, -1.0, 2.0, 2.0}};

static void test_symmetric(void **state)
{
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 4\n2 1 -1\n3 2 2\n", &symmetric_3, &info);
    assert_int_equal(info.symmetry, 1);
    assert_int_equal(info.entries, 3);
    assert_int_equal(info.nonzeros, 5);
    check_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 2 2\n2 1 -1\n1 1 4\n", &symmetric_3, NULL);
}

/* The upper triangle, or a mixture of both, is mirrored as well, because its meaning is clear. */
static void test_upper_triangle(void **state)
{
    (void)state;
    check_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 4\n1 2 -1\n2 3 2\n", &symmetric_3, NULL);
    check_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 4\n1 2 -1\n3 2 2\n", &symmetric_3, NULL);
}

/* Both triangles, which agree: every entry counts once. */
static void test_both_triangles(void **state)
{
    static const char skew[] = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n1 2 -3\n";
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 4\n2 1 -1\n1 2 -1\n2 3 2\n3 2 2\n",
               &symmetric_3, &info);
    assert_true(info.symmetry == 1 && info.entries == 5 && info.nonzeros == 5 && info.duplicates == 0);
    check_text(skew, &EXPECT(2, 2, 2, (const int64_t[]){0, 1, 2}, (const int32_t[]){1, 0}, (const double[]){-3.0, 3.0}),
               NULL);
    check_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 2\n2 1\n",
               &EXPECT(2, 2, 2, (const int64_t[]){0, 1, 2}, (const int32_t[]){1, 0}, (const double[]){1.0, 1.0}), NULL);
}

static void test_skew_symmetric(void **state)
{
    const expectation skew = {
        2, 2, 2, (const int64_t[]){0, 1, 2}, (const int32_t[]){1, 0}, (const double[]){-3.0, 3.0}};
    const expectation with_zero = {
        2, 2, 3, (const int64_t[]){0, 2, 3}, (const int32_t[]){0, 1, 0}, (const double[]){0.0, -3.0, 3.0}};
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n", &skew, &info);
    assert_int_equal(info.symmetry, 2);
    check_text("%%MatrixMarket matrix coordinate real Skew-Symmetric\n2 2 2\n1 1 0\n2 1 3\n", &with_zero, NULL);
    check_text("%%MatrixMarket matrix array real skew-symmetric\n2 2\n3\n", &skew, NULL);
}

/* Summed in the order of the file: (1e16 + 1) + -1e16 is 0, another order would give 1. */
static void test_duplicates_and_zeros(void **state)
{
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text(
        "%%MatrixMarket matrix coordinate real general\n2 2 5\n1 1 1e16\n2 2 0\n1 1 1\n1 2 -0\n1 1 -1e16\n",
        &EXPECT(2, 2, 3, (const int64_t[]){0, 2, 3}, (const int32_t[]){0, 1, 1}, (const double[]){0.0, -0.0, 0.0}),
        &info);
    assert_int_equal(info.entries, 5);
    assert_int_equal(info.nonzeros, 3);
    assert_int_equal(info.duplicates, 2);
    assert_int_equal(info.explicit_zeros, 3);
}

static void test_arrays(void **state)
{
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    check_text("%%MatrixMarket matrix array real general\n2 3\n1\n4\n2\n5\n3\n6\n",
               &EXPECT(2, 3, 6, (const int64_t[]){0, 3, 6}, (const int32_t[]){0, 1, 2, 0, 1, 2},
                       (const double[]){1.0, 2.0, 3.0, 4.0, 5.0, 6.0}),
               &info);
    assert_int_equal(info.coordinate, 0);
    assert_int_equal(info.entries, 6);
    check_text("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
               &EXPECT(3, 3, 9, (const int64_t[]){0, 3, 6, 9}, (const int32_t[]){0, 1, 2, 0, 1, 2, 0, 1, 2},
                       (const double[]){1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0}),
               NULL);
}

/* A large triangle: the place of each value comes from a square root, which must not be off by one. */
static void test_large_symmetric_array(void **state)
{
    enum { ORDER = 700 };
    char *text = test_allocate(ORDER * ORDER * 4, 1);
    int length = sprintf(text, "%%%%MatrixMarket matrix array integer symmetric\n%d %d\n", ORDER, ORDER);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = NULL;
    double *val = test_allocate(ORDER * ORDER, sizeof *val);

    (void)state;
    for (int j = 0; j < ORDER; j++) {
        for (int i = j; i < ORDER; i++) {
            length += sprintf(text + length, "%d\n", (i * 3 + j * 7) % 10);
        }
    }
    assert_ok(ctx, tess_matrix_read_memory(ctx, "text", text, (size_t)length, &m, NULL));
    assert_int_equal(tess_matrix_nnz(m), ORDER * ORDER);
    assert_ok(ctx, tess_matrix_get_csr(m, NULL, NULL, val));
    for (int i = 0; i < ORDER; i++) {
        for (int j = 0; j <= i; j++) {
            assert_true(val[i * ORDER + j] == (i * 3 + j * 7) % 10);
            assert_true(val[j * ORDER + i] == val[i * ORDER + j]);
        }
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    free(text);
    free(val);
}

/* Values that are not finite are accepted here; a solver reports them. */
static void test_values_that_are_not_finite(void **state)
{
    const char *text = "%%MatrixMarket matrix coordinate real general\n1 3 3\n1 1 nan\n1 2 -Inf\n1 3 1e999\n";
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    double val[3];

    (void)state;
    assert_ok(ctx, tess_matrix_read_memory(ctx, "text", text, strlen(text), &m, NULL));
    assert_ok(ctx, tess_matrix_get_csr(m, NULL, NULL, val));
    assert_true(isnan(val[0]) && val[1] == -HUGE_VAL && val[2] == HUGE_VAL);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void test_empty_matrices(void **state)
{
    (void)state;
    check_text("%%MatrixMarket matrix coordinate real general\n3 2 0\n",
               &EXPECT(3, 2, 0, (const int64_t[]){0, 0, 0, 0}, (const int32_t[]){0}, (const double[]){0}), NULL);
    check_text("%%MatrixMarket matrix coordinate real general\n0 0 0",
               &EXPECT(0, 0, 0, (const int64_t[]){0}, (const int32_t[]){0}, (const double[]){0}), NULL);
    check_text("%%MatrixMarket matrix array real general\n0 4\n",
               &EXPECT(0, 4, 0, (const int64_t[]){0}, (const int32_t[]){0}, (const double[]){0}), NULL);
}

/* ---- larger than one window, and gzip ---- */

/* A matrix text of several windows with blank lines and comments at its head; entry k of row i is known. */
static char *make_large_text(int64_t rows, size_t *bytes)
{
    char *text = test_allocate(rows * 64 + 4096, 1);
    size_t length = (size_t)sprintf(text, "%%%%MatrixMarket matrix coordinate real general\n%% head\n%lld %lld %lld\n",
                                    (long long)rows, (long long)rows, (long long)(2 * rows - 1));

    for (int64_t i = 1; i <= rows; i++) {
        length += (size_t)sprintf(text + length, "%lld %lld %.17g\n", (long long)i, (long long)i, 1.0 / (double)i);
        if (i % 1000 == 0) { text[length++] = '\n'; }
        if (i < rows) { length += (size_t)sprintf(text + length, "%lld %lld -1\n", (long long)i, (long long)i + 1); }
    }
    *bytes = length;
    return text;
}

static void check_large(tess_context *ctx, const tess_matrix *m, int64_t rows)
{
    tess_csr_view view = tess_matrix_csr_view(m);
    const int32_t *row_ptr = view.row_ptr;

    (void)ctx;
    assert_int_equal(view.nnz, 2 * rows - 1);
    assert_int_equal(view.row_ptr_bits, 32);
    for (int64_t i = 0; i < rows; i++) {
        assert_int_equal(row_ptr[i], 2 * i);
        assert_int_equal(view.col_ind[2 * i], i);
        assert_true(view.val[2 * i] == 1.0 / (double)(i + 1));
        if (i + 1 < rows) {
            assert_int_equal(view.col_ind[2 * i + 1], i + 1);
            assert_true(view.val[2 * i + 1] == -1.0);
        }
    }
}

/* Compresses as `members` gzip members one after another, as concatenated files are. */
static unsigned char *compress_text(const char *text, size_t bytes, int members, size_t *compressed)
{
    size_t capacity = bytes + 4096 * (size_t)members, used = 0;
    unsigned char *out = test_allocate((int64_t)capacity, 1);

    for (int i = 0; i < members; i++) {
        size_t start = bytes / (size_t)members * (size_t)i;
        size_t end = i + 1 < members ? bytes / (size_t)members * (size_t)(i + 1) : bytes;
        z_stream stream = {.next_in = (unsigned char *)text + start,
                           .avail_in = (uInt)(end - start),
                           .next_out = out + used,
                           .avail_out = (uInt)(capacity - used)};

        assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        used += stream.total_out;
        deflateEnd(&stream);
    }
    *compressed = used;
    return out;
}

static void test_many_windows(void **state)
{
    enum { ROWS = 250000 };
    size_t bytes = 0, packed = 0;
    char *text = make_large_text(ROWS, &bytes);
    unsigned char *gzip = compress_text(text, bytes, 3, &packed);

    (void)state;
    assert_true(bytes > 9000000); /* more than two windows */
    for (int threads = 1; threads <= 2; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = NULL;
        tess_mtx_info info = {.size = sizeof info};

        assert_ok(ctx, tess_matrix_read_memory(ctx, "text", text, bytes, &m, NULL));
        check_large(ctx, m, ROWS);
        tess_matrix_destroy(m);
        assert_ok(ctx, tess_matrix_read_memory(ctx, "gzip", gzip, packed, &m, &info));
        check_large(ctx, m, ROWS);
        assert_int_equal(info.compressed, 1);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
    }
    free(text);
    free(gzip);
}

/* A file is known by its first bytes, not by its name. */
static void test_files(void **state)
{
    char path[] = "/tmp/tessera-test-XXXXXX";
    const char *text = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 2 2.5\n2 1 -1\n2 3 3e5\n";
    size_t packed = 0;
    unsigned char *gzip = compress_text(text, strlen(text), 1, &packed);
    int descriptor = mkstemp(path);
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = NULL;

    (void)state;
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, gzip, packed), (ssize_t)packed);
    close(descriptor);
    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    check_matrix(m, &two_by_three);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    unlink(path);
    free(gzip);
}

/* ---- memory ---- */

static void check_failing_allocations(const char *text)
{
    size_t packed = 0;
    unsigned char *gzip = compress_text(text, strlen(text), 1, &packed);
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    int64_t held = 0;
    tess_status status = TESS_OUT_OF_MEMORY;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 2;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    held = h.live;
    for (int k = 0; status != TESS_SUCCESS && k < 200; k++) {
        tess_matrix *m = NULL;

        heap_fail_at(&h, k);
        status = tess_matrix_read_memory(ctx, "gzip", gzip, packed, &m, NULL);
        if (status != TESS_SUCCESS) {
            assert_int_equal(status, TESS_OUT_OF_MEMORY);
            assert_null(m);
        }
        tess_matrix_destroy(m);
        assert_int_equal(h.live, held);
        assert_int_equal(h.wrong_releases, 0);
    }
    assert_int_equal(status, TESS_SUCCESS);
    tess_context_destroy(ctx);
    assert_int_equal(h.live, 0);
    free(gzip);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    check_failing_allocations("%%MatrixMarket matrix coordinate real symmetric\n"
                              "3 3 4\n1 1 4\n3 2 2\n2 1 -1\n3 2 1\n");
    check_failing_allocations("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n1 2 2\n2 1 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_general),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_integer_and_pattern),
        cmocka_unit_test(test_symmetric),
        cmocka_unit_test(test_upper_triangle),
        cmocka_unit_test(test_both_triangles),
        cmocka_unit_test(test_skew_symmetric),
        cmocka_unit_test(test_duplicates_and_zeros),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_large_symmetric_array),
        cmocka_unit_test(test_values_that_are_not_finite),
        cmocka_unit_test(test_empty_matrices),
        cmocka_unit_test(test_many_windows),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
