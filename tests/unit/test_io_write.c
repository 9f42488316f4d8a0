/* SPDX-License-Identifier: Apache-2.0 */
/* Writing matrices and vectors: read back bit for bit, symmetric form, gzip, files that are complete or absent. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tessera/io.h>

#include "support/heap.h"
#include "support/test.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tessera-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int count_files(void)
{
    DIR *directory = opendir(folder);
    int count = 0;

    assert_non_null(directory);
    while (readdir(directory)) {
        count++;
    }
    closedir(directory);
    return count - 2;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void read_text(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "r");
    size_t bytes = 0;

    assert_non_null(file);
    bytes = fread(text, 1, capacity - 1, file);
    text[bytes] = '\0';
    fclose(file);
}

static void compare_matrices(const tess_matrix *a, const tess_matrix *b)
{
    tess_csr_view x = tess_matrix_csr_view(a), y = tess_matrix_csr_view(b);

    assert_int_equal(x.nrows, y.nrows);
    assert_int_equal(x.ncols, y.ncols);
    assert_int_equal(x.nnz, y.nnz);
    assert_int_equal(x.row_ptr_bits, y.row_ptr_bits);
    assert_memory_equal(x.row_ptr, y.row_ptr, (size_t)(x.nrows + 1) * (size_t)x.row_ptr_bits / 8);
    if (x.nnz > 0) { assert_memory_equal(x.col_ind, y.col_ind, (size_t)x.nnz * sizeof *x.col_ind); }
    assert_true(same_bits(x.val, y.val, x.nnz));
}

/* Values of all magnitudes, signed zeros and infinities among them. */
static oracle_csr make_wild(int64_t nrows, int64_t ncols, int64_t per_row)
{
    oracle_csr a = oracle_random(nrows, ncols, per_row, 7);
    uint64_t seed = 8;

    for (int64_t k = 0; k < a.nnz; k++) {
        uint64_t bits = oracle_random_bits(&seed);

        if ((bits >> 52 & 0x7ff) == 0x7ff) { bits = UINT64_C(0x7ff) << 52; }
        if (k % 100 == 0) { bits = UINT64_C(1) << 63; }
        memcpy(&a.val[k], &bits, sizeof bits);
    }
    return a;
}

static void check_round_trip(const oracle_csr *a, const char *name, int symmetric)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = make_matrix(ctx, a), *again = NULL;
        tess_mtx_info info = {.size = sizeof info};

        assert_ok(ctx, tess_matrix_write(m, path_of(name), symmetric));
        assert_int_equal(count_files(), 1);
        assert_ok(ctx, tess_matrix_read(ctx, path_of(name), &again, &info));
        compare_matrices(m, again);
        assert_int_equal(info.symmetry, symmetric);
        assert_int_equal(info.compressed, strstr(name, ".gz") != NULL);
        assert_int_equal(info.duplicates, 0);
        tess_matrix_destroy(m);
        tess_matrix_destroy(again);
        tess_context_destroy(ctx);
        assert_int_equal(unlink(path_of(name)), 0);
    }
}

static void test_general_round_trip(void **state)
{
    oracle_csr small = make_wild(7, 11, 2), large = make_wild(20000, 3000, 6), empty = oracle_open(0, 5);

    (void)state;
    check_round_trip(&small, "small.mtx", 0);
    check_round_trip(&large, "large.mtx", 0);
    check_round_trip(&large, "large.mtx.gz", 0);
    check_round_trip(&empty, "empty.mtx", 0);
    oracle_free(&small);
    oracle_free(&large);
    oracle_free(&empty);
}

static void test_symmetric_round_trip(void **state)
{
    oracle_csr a = oracle_laplace2d(60), hilbert = oracle_hilbert(30);

    (void)state;
    check_round_trip(&a, "laplace.mtx", 1);
    check_round_trip(&hilbert, "hilbert.mtx.gz", 1);
    oracle_free(&a);
    oracle_free(&hilbert);
}

/* One bit less than symmetric, and a rectangular matrix: refused, and no file appears. */
static void test_symmetric_is_checked(void **state)
{
    oracle_csr near = oracle_laplace2d(5), wide_matrix = oracle_random(3, 4, 2, 1);
    tess_context *ctx = open_cpu(2);
    tess_matrix *a = NULL, *b = make_matrix(ctx, &wide_matrix);

    (void)state;
    near.val[near.nnz - 2] = nextafter(near.val[near.nnz - 2], 9.0);
    a = make_matrix(ctx, &near);
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_write(a, path_of("near.mtx"), 1));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_write(b, path_of("wide.mtx"), 1));
    assert_int_equal(count_files(), 0);
    tess_matrix_destroy(a);
    tess_matrix_destroy(b);
    tess_context_destroy(ctx);
    oracle_free(&near);
    oracle_free(&wide_matrix);
}

static void test_text_form(void **state)
{
    oracle_csr a = oracle_tridiagonal(2, -1.0, 0.1, -1.0);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_vector *v = make_vector(ctx, 3, (const double[]){1.0, -2.5e-300, 1.0 / 3.0});
    char text[512];

    (void)state;
    assert_ok(ctx, tess_matrix_write(m, path_of("a.mtx"), 0));
    read_text(path_of("a.mtx"), text, sizeof text);
    assert_string_equal(text, "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 0.10000000000000001\n"
                              "1 2 -1\n2 1 -1\n2 2 0.10000000000000001\n");
    assert_ok(ctx, tess_matrix_write(m, path_of("a.mtx"), 1)); /* takes the place of the file that is there */
    read_text(path_of("a.mtx"), text, sizeof text);
    assert_string_equal(text, "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 0.10000000000000001\n"
                              "2 1 -1\n2 2 0.10000000000000001\n");
    assert_ok(ctx, tess_vector_write(v, path_of("a.mtx")));
    read_text(path_of("a.mtx"), text, sizeof text);
    assert_string_equal(text, "%%MatrixMarket matrix array real general\n3 1\n1\n-2.5e-300\n"
                              "0.33333333333333331\n");
    assert_ok(ctx, tess_array_write(ctx, (const double[]){1.0, 2.0, 3.0, 4.0, 5.0, 6.5}, 2, 3, path_of("a.mtx")));
    read_text(path_of("a.mtx"), text, sizeof text);
    assert_string_equal(text, "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6.5\n");
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_array_write(ctx, NULL, -1, 3, path_of("a.mtx")));
    assert_int_equal(count_files(), 1);
    unlink(path_of("a.mtx"));
    tess_matrix_destroy(m);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* ---- vectors ---- */

static void test_vector_round_trip(void **state)
{
    enum { SIZE = 70001 };
    double *values = random_values(SIZE, 5, -1e3, 1e3), *again = test_allocate(SIZE, sizeof *again);
    const char *names[] = {"v.mtx", "v.mtx.gz"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        tess_context *ctx = open_cpu(1 + i);
        tess_vector *v = make_vector(ctx, SIZE, values), *w = NULL;

        assert_ok(ctx, tess_vector_write(v, path_of(names[i])));
        assert_ok(ctx, tess_vector_read(ctx, path_of(names[i]), &w));
        assert_int_equal(tess_vector_size(w), SIZE);
        read_vector(w, again);
        assert_true(same_bits(values, again, SIZE));
        tess_vector_destroy(v);
        tess_vector_destroy(w);
        tess_context_destroy(ctx);
        unlink(path_of(names[i]));
    }
    free(values);
    free(again);
}

static tess_status read_vector_text(tess_context *ctx, const char *text, tess_vector **v)
{
    FILE *file = fopen(path_of("v.mtx"), "w");
    tess_status status = TESS_SUCCESS;

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    status = tess_vector_read(ctx, path_of("v.mtx"), v);
    unlink(path_of("v.mtx"));
    return status;
}

static void test_vector_forms(void **state)
{
    const char *texts[] = {"%%MatrixMarket matrix array real general\n3 1\n0\n2.5\n-1\n",
                           "%%MatrixMarket matrix array double general\n% c\n3 1\n\n0\n2.5d0\n-1",
                           "%%MatrixMarket matrix coordinate real general\n3 1 2\n3 1 -1\n2 1 2.5\n",
                           "%%MatrixMarket matrix coordinate real general\n3 1 3\n3 1 -1\n2 1 2\n2 1 0.5\n"};
    const double expected[] = {0.0, 2.5, -1.0};
    tess_context *ctx = open_cpu(2);

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tess_vector *v = NULL;
        double values[3];

        assert_ok(ctx, read_vector_text(ctx, texts[i], &v));
        assert_int_equal(tess_vector_size(v), 3);
        read_vector(v, values);
        assert_true(same_bits(values, expected, 3));
        tess_vector_destroy(v);
    }
    tess_context_destroy(ctx);
}

static void test_vector_refusals(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_vector *v = NULL;

    (void)state;
    assert_fails(ctx, TESS_PARSE,
                 read_vector_text(ctx, "%%MatrixMarket matrix array real general\n%\n1 3\n1\n2\n3\n", &v));
    assert_int_equal(tess_context_last_error(ctx)->line, 3);
    assert_fails(ctx, TESS_PARSE, read_vector_text(ctx, "%%MatrixMarket matrix array real general\n2 1\n1\nx\n", &v));
    assert_int_equal(tess_context_last_error(ctx)->line, 4);
    assert_null(v);
    tess_context_destroy(ctx);
}

/* ---- whole or not at all ---- */

static void test_targets_that_cannot_be_written(void **state)
{
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    assert_fails(ctx, TESS_NOT_FOUND, tess_matrix_write(m, "/no/such/folder/a.mtx", 0));
    assert_fails(ctx, TESS_IO, tess_matrix_write(m, folder, 0));
    assert_fails(ctx, TESS_NOT_FOUND, tess_matrix_write_cache(m, "/no/such/folder/a.cache"));
    assert_int_equal(count_files(), 0);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A full device: the write fails, and an older file does not change. */
static void test_full_device(void **state)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    if (access("/dev/full", W_OK) != 0) { skip(); }
    assert_fails(ctx, TESS_IO, tess_matrix_write(m, "/dev/full", 0));
    assert_ok(ctx, tess_matrix_write(m, "/dev/null", 0)); /* a device is written to, not replaced */
    assert_int_equal(access("/dev/full", W_OK), 0);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* A symbolic link stays one: the file behind it is replaced. */
static void test_symbolic_link(void **state)
{
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = make_matrix(ctx, &a);
    struct stat facts;
    FILE *file = fopen(path_of("target.mtx"), "w");

    (void)state;
    assert_non_null(file);
    fclose(file);
    assert_int_equal(symlink("target.mtx", path_of("link.mtx")), 0);
    assert_ok(ctx, tess_matrix_write(m, path_of("link.mtx"), 0));
    assert_int_equal(lstat(path_of("link.mtx"), &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(stat(path_of("target.mtx"), &facts), 0);
    assert_true(facts.st_size > 0);
    unlink(path_of("link.mtx"));
    unlink(path_of("target.mtx"));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* No allocation that fails leaves memory held or a file behind; an older file survives. */
static void test_failing_allocations(void **state)
{
    oracle_csr a = oracle_laplace2d(6);
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_matrix *m = NULL;
    tess_status status = TESS_OUT_OF_MEMORY;
    int64_t held = 0;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    m = make_matrix(ctx, &a);
    held = h.live;
    for (int k = 0; status != TESS_SUCCESS && k < 100; k++) {
        heap_fail_at(&h, k);
        status = tess_matrix_write(m, path_of("a.mtx"), 1);
        assert_int_equal(h.live, held);
        assert_int_equal(count_files(), status == TESS_SUCCESS ? 1 : 0);
    }
    assert_int_equal(status, TESS_SUCCESS);
    unlink(path_of("a.mtx"));
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_general_round_trip),   cmocka_unit_test(test_symmetric_round_trip),
        cmocka_unit_test(test_symmetric_is_checked), cmocka_unit_test(test_text_form),
        cmocka_unit_test(test_vector_round_trip),    cmocka_unit_test(test_vector_forms),
        cmocka_unit_test(test_vector_refusals),      cmocka_unit_test(test_targets_that_cannot_be_written),
        cmocka_unit_test(test_full_device),          cmocka_unit_test(test_symbolic_link),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
