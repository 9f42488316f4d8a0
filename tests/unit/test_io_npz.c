/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of SciPy: those of tests/files, which scipy.sparse.save_npz 1.x wrote of the matrix in table.mtx, and ours.
 */
#include <unistd.h>

#include <tessera/io.h>

#include "support/test.h"

enum { MOST_BYTES = 1 << 16 };

static const char folder[] = TESS_TEST_DIR "/files/";

typedef struct image {
    unsigned char bytes[MOST_BYTES];
    size_t count;
} image;

static void load(const char *path, image *im)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    im->count = fread(im->bytes, 1, sizeof im->bytes, file);
    fclose(file);
}

/* Whether the library was built with libzip; else the error says what helps. */
static bool has_libzip(tess_context *ctx)
{
    char path[256];
    tess_matrix *m = NULL;

    snprintf(path, sizeof path, "%scsr.npz", folder);
    const tess_status status = tess_matrix_read(ctx, path, &m, NULL);
    tess_matrix_destroy(m);
    if (status == TESS_SUCCESS) { return true; }
    assert_int_equal(status, TESS_UNSUPPORTED);
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "libzip-dev"));
    return false;
}

static void check_equal(tess_context *ctx, const tess_matrix *a, const tess_matrix *b, bool with_zeros)
{
    const int64_t n = tess_matrix_nrows(a), m = tess_matrix_ncols(a);

    assert_int_equal(tess_matrix_nrows(b), n);
    assert_int_equal(tess_matrix_ncols(b), m);
    if (!with_zeros) { assert_int_equal(tess_matrix_nnz(a), tess_matrix_nnz(b)); }
    for (int64_t j = 0; j < m; j++) { /* column by column: explicit zeros do not count */
        double unit[16] = {0.0}, left[16], right[16];

        unit[j] = 1.0;
        tess_vector *x = make_vector(ctx, m, unit), *y = make_zeros(ctx, n);
        assert_ok(ctx, tess_matrix_spmv(a, TESS_OP_NONE, 1.0, x, 0.0, y));
        read_vector(y, left);
        assert_ok(ctx, tess_matrix_spmv(b, TESS_OP_NONE, 1.0, x, 0.0, y));
        read_vector(y, right);
        for (int64_t i = 0; i < n; i++) {
            assert_true(left[i] == right[i]);
        }
        tess_vector_destroy(x);
        tess_vector_destroy(y);
    }
}

static tess_matrix *read_table(tess_context *ctx)
{
    char path[256];
    tess_matrix *m = NULL;

    snprintf(path, sizeof path, "%stable.mtx", folder);
    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    return m;
}

static void test_formats(void **state)
{
    static const char *const names[] = {"csr", "csc", "coo", "bsr", "dia"};
    tess_context *ctx = open_cpu(2);

    (void)state;
    if (has_libzip(ctx)) {
        tess_matrix *table = read_table(ctx);

        for (int i = 0; i < 5; i++) {
            char path[256];
            tess_matrix *m = NULL;
            tess_mtx_info info = {.size = sizeof info};

            snprintf(path, sizeof path, "%s%s.npz", folder, names[i]);
            assert_ok(ctx, tess_matrix_read(ctx, path, &m, &info));
            check_equal(ctx, table, m, i == 3); /* blocks bring zeros along */
            assert_non_null(strstr(info.kind, names[i]));
            tess_matrix_destroy(m);
        }
        tess_matrix_destroy(table);
    }
    tess_context_destroy(ctx);
}

static void test_written(void **state)
{
    tess_context *ctx = open_cpu(2);
    char path[80] = "/tmp/tessera-test-XXXXXX.npz";

    (void)state;
    const int descriptor = mkstemps(path, 4);
    assert_true(descriptor >= 0);
    close(descriptor);
    if (has_libzip(ctx)) {
        tess_matrix *table = read_table(ctx), *again = NULL;

        assert_ok(ctx, tess_matrix_write(table, path, 0));
        assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
        check_equal(ctx, table, again, false);
        tess_matrix_destroy(table);
        tess_matrix_destroy(again);
    }
    unlink(path);
    tess_context_destroy(ctx);
}

/* Prefixes, and files with one byte changed: an error or, where the byte has no meaning, the same matrix. */
static void test_damaged(void **state)
{
    static image im;
    char path[256];
    tess_context *ctx = open_cpu(1);
    int64_t refused = 0;

    (void)state;
    if (has_libzip(ctx)) {
        tess_matrix *table = read_table(ctx), *m = NULL;

        snprintf(path, sizeof path, "%scoo.npz", folder);
        load(path, &im);
        for (size_t count = 4; count < im.count; count++) {
            assert_int_not_equal(tess_matrix_read_memory(ctx, "A.npz", im.bytes, count, &m, NULL), TESS_SUCCESS);
            assert_true(tess_context_last_error(ctx)->message[0] != '\0');
        }
        for (size_t at = 4; at < im.count; at++) {
            im.bytes[at] ^= 0x55;
            if (tess_matrix_read_memory(ctx, "A.npz", im.bytes, im.count, &m, NULL) == TESS_SUCCESS) {
                check_equal(ctx, table, m, false);
                tess_matrix_destroy(m);
            } else {
                refused++;
                assert_null(strstr(tess_context_last_error(ctx)->message, "No error"));
            }
            im.bytes[at] ^= 0x55;
        }
        assert_true(refused > (int64_t)im.count / 2);
        tess_matrix_destroy(table);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats), cmocka_unit_test(test_written),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
