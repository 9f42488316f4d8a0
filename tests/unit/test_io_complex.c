/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers in files: read into the real form, written out of it, vectors as pairs. */
#include <unistd.h>

#include <tessera/gallery.h>
#include <tessera/io.h>

#include "support/bytes.h"
#include "support/product.h"
#include "support/test.h"

#define BANNER "%%MatrixMarket matrix coordinate complex "

/* Entry (i, j) of a complex matrix of order 2, out of the real form. */
static void get_dense(const tess_matrix *m, double to[2][2][2])
{
    int64_t row_ptr[5];
    int32_t col_ind[16];
    double val[16];

    assert_int_equal(tess_matrix_is_complex(m), 1);
    assert_int_equal(tess_matrix_nrows(m), 4);
    assert_true(tess_matrix_nnz(m) <= 16);
    assert_int_equal(tess_matrix_get_csr(m, row_ptr, col_ind, val), TESS_SUCCESS);
    memset(to, 0, 8 * sizeof(double));
    for (int i = 0; i < 4; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const int j = col_ind[k];

            if (i % 2 == 0) { to[i / 2][j / 2][j % 2] = j % 2 == 0 ? val[k] : -val[k]; }
            if (i % 2 == 1) { assert_true(val[k] == to[i / 2][j / 2][1 - j % 2]); }
        }
    }
}

static void check_dense(const tess_matrix *m, const double expected[8])
{
    double found[2][2][2];

    get_dense(m, found);
    for (int k = 0; k < 8; k++) {
        assert_true(found[k / 4][k / 2 % 2][k % 2] == expected[k]);
    }
}

static void test_symmetries(void **state)
{
    static const struct {
        const char *text;
        double expected[8]; /* row by row, re and im */
        int symmetry;
        int64_t nonzeros;
    } cases[] = {
        {BANNER "general\n2 2 3\n1 1 1 2\n1 2 3 -4\n2 2 5 0\n", {1, 2, 3, -4, 0, 0, 5, 0}, 0, 3},
        {BANNER "symmetric\n2 2 2\n1 1 1 2\n2 1 3 -4\n", {1, 2, 3, -4, 3, -4, 0, 0}, 1, 3},
        {BANNER "skew-symmetric\n2 2 1\n2 1 3 -4\n", {0, 0, -3, 4, 3, -4, 0, 0}, 2, 2},
        {BANNER "Hermitian\n2 2 2\n1 1 1 0\n2 1 3 -4\n", {1, 0, 3, 4, 3, -4, 0, 0}, 3, 3},
        {BANNER "symmetric\n2 2 3\n1 1 1 2\n2 1 3 -4\n1 2 3 -4\n", {1, 2, 3, -4, 3, -4, 0, 0}, 1, 3},
        {BANNER "Hermitian\n2 2 3\n1 1 1 0\n1 2 3 4\n2 1 3 -4\n", {1, 0, 3, 4, 3, -4, 0, 0}, 3, 3},
        {BANNER "general\r\n2 2 2\r\n1 1 1 2\r\n1 1 0.5\t1e0 \r\n", {1.5, 3, 0, 0, 0, 0, 0, 0}, 0, 1},
        {"%%MatrixMarket matrix array complex general\n2 2\n1 0\n2 -1\n0 0\n4 4\n", {1, 0, 0, 0, 2, -1, 4, 4}, 0, 4},
        {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 -1\n4 0\n", {1, 0, 2, 1, 2, -1, 4, 0}, 3, 4},
    };
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int threads = 1; threads <= 2; threads++) {
            tess_context *ctx = open_cpu(threads);
            tess_matrix *m = NULL;

            assert_ok(ctx, tess_matrix_read_memory(ctx, "A", cases[k].text, strlen(cases[k].text), &m, &info));
            check_dense(m, cases[k].expected);
            assert_true(info.is_complex == 1 && info.nrows == 2 && info.symmetry == cases[k].symmetry);
            assert_int_equal(info.nonzeros, cases[k].nonzeros);
            assert_int_equal(info.explicit_zeros, k == 7);
            tess_matrix_destroy(m);
            tess_context_destroy(ctx);
        }
    }
}

/* Real matrices may be called Hermitian, and are not complex for it. */
static void test_real_hermitian(void **state)
{
    static const char text[] = "%%MatrixMarket matrix coordinate integer hermitian\n2 2 2\n1 1 4\n2 1 3\n";
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    assert_ok(ctx, tess_matrix_read_memory(ctx, "A", text, strlen(text), &m, &info));
    assert_true(tess_matrix_nrows(m) == 2 && tess_matrix_nnz(m) == 3 && info.is_complex == 0 && info.symmetry == 1);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *word;
        tess_status status;
        int64_t line;
    } cases[] = {
        {BANNER "general\n2 2 1\n1 1 1\n", "imaginary part", TESS_PARSE, 3},
        {BANNER "general\n2 2 1\n1 1 1 i\n", "'i'", TESS_PARSE, 3},
        {BANNER "general\n2 2 1\n1 1 1 2 3\n", "end of the line", TESS_PARSE, 3},
        {BANNER "general\n2 2 2\n1 1 1 0\n", "1 of the 2 entries", TESS_PARSE, 3},
        {BANNER "general\n2 2 9\n1 1 1 0\n", "can hold", TESS_PARSE, 2},
        {BANNER "skew-symmetric\n2 2 1\n1 1 0 1\n", "diagonal", TESS_PARSE, 3},
        {BANNER "hermitian\n2 2 1\n1 1 1 1\n", "Hermitian", TESS_PARSE, 3},
        {BANNER "hermitian\n2 2 2\n1 2 3 4\n2 1 3 4\n", "triangles do not agree", TESS_PARSE, 2},
        {BANNER "hermitian\n2 3 1\n1 1 1 1\n", "Hermitian", TESS_PARSE, 2},
        {BANNER "hermitian\n2 2 1\n1 3 1 1\n", "column index '3'", TESS_OUT_OF_RANGE, 3},
        {BANNER "general\n1100000000 1 0\n", "empty", TESS_OUT_OF_RANGE, 2},
    };
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tess_matrix *m = NULL;

        assert_fails(ctx, cases[k].status,
                     tess_matrix_read_memory(ctx, "A", cases[k].text, strlen(cases[k].text), &m, NULL));
        const tess_error *error = tess_context_last_error(ctx);
        if (!strstr(error->message, cases[k].word)) { fail_msg("'%s' lacks '%s'", error->message, cases[k].word); }
        assert_int_equal(error->line, cases[k].line);
    }
    tess_context_destroy(ctx);
}

static void read_text(tess_context *ctx, const char *text, tess_matrix **m)
{
    assert_ok(ctx, tess_matrix_read_memory(ctx, "A", text, strlen(text), m, NULL));
}

/* Each kind of file that can hold complex numbers gives the matrix back, bit for bit. */
static void test_matrices_written(void **state)
{
    static const char *const ends[] = {".mtx", ".mtx.gz", ".npz", ".petsc", ".mat", ".tess"};
    static const double expected[8] = {0.1, 2e-300, 3, -4, 0, 0, 5, 0};
    tess_context *ctx = open_cpu(2);
    tess_matrix *m = NULL;

    (void)state;
    read_text(ctx, BANNER "general\n2 2 3\n1 1 0.1 2e-300\n1 2 3 -4\n2 2 5 0\n", &m);
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        char path[64];
        tess_matrix *again = NULL;

        snprintf(path, sizeof path, "/tmp/tessera-test-%ld.aij%s", (long)getpid(), ends[k]);
        const tess_status status =
            strcmp(ends[k], ".tess") == 0 ? tess_matrix_write_cache(m, path) : tess_matrix_write(m, path, 0);
        if (status == TESS_UNSUPPORTED) { continue; } /* without libzip */
        assert_ok(ctx, status);
        assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
        check_dense(again, expected);
        tess_matrix_destroy(again);
        unlink(path);
    }
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

static void check_written(tess_context *ctx, const char *text, const char *word)
{
    char path[64], line[80] = "";
    tess_matrix *m = NULL;

    snprintf(path, sizeof path, "/tmp/tessera-test-%ld.mtx", (long)getpid());
    read_text(ctx, text, &m);
    if (!word) {
        assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_write(m, path, 1));
    } else {
        assert_ok(ctx, tess_matrix_write(m, path, 1));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
        unlink(path);
        if (!strstr(line, word)) { fail_msg("'%s' lacks '%s'", line, word); }
    }
    tess_matrix_destroy(m);
}

static void test_lower_triangles_written(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    check_written(ctx, BANNER "general\n2 2 3\n1 1 1 0\n1 2 3 4\n2 1 3 -4\n", "complex hermitian");
    check_written(ctx, BANNER "general\n2 2 3\n1 1 1 1\n1 2 3 4\n2 1 3 4\n", "complex symmetric");
    check_written(ctx, BANNER "general\n2 2 3\n1 1 1 1\n1 2 3 4\n2 1 3 -4\n", NULL);
    check_written(ctx, BANNER "general\n2 2 2\n1 1 1 1\n1 2 3 4\n", NULL);
    check_written(ctx, BANNER "general\n1 2 1\n1 1 1 1\n", NULL);
    tess_context_destroy(ctx);
}

/* Two vectors of two complex numbers. */
static void test_vectors(void **state)
{
    static const char *const ends[] = {".mtx", ".npy", ".petsc", ".mat"};
    static const double values[8] = {0.1, -2, 3, 4, 5, 6, 7, 8e300};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        for (int64_t columns = 1; columns <= 2; columns++) {
            char path[64];
            double *again = NULL;
            int64_t nrows = 0, ncols = 0;

            snprintf(path, sizeof path, "/tmp/tessera-test-%ld%s", (long)getpid(), ends[k]);
            assert_ok(ctx, tess_array_write_complex(ctx, values, 4, columns, path));
            assert_ok(ctx, tess_array_read(ctx, path, &again, &nrows, &ncols));
            assert_true(nrows == 4 && ncols == columns && same_bits(again, values, 4 * columns));
            tess_array_free(ctx, again, nrows, ncols);
            unlink(path);
        }
    }
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_array_write_complex(ctx, values, 3, 1, "/tmp/x.npy"));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_array_write_complex(ctx, values, -2, 1, "/tmp/x.npy"));
    tess_context_destroy(ctx);
}

/* A coordinate file of a vector: a Hermitian one has conjugates. A vector of n complex numbers has 2 n. */
static void test_sparse_vectors(void **state)
{
    static const char text[] = BANNER "hermitian\n2 2 2\n1 1 1 0\n2 1 3 -4\n";
    static const char column[] = BANNER "general\n2 1 1\n2 1 3 -4\n";
    static const double expected[8] = {1, 0, 3, -4, 3, 4, 0, 0};
    tess_context *ctx = open_cpu(1);
    double *values = NULL;
    tess_vector *v = NULL;
    int64_t sizes[2];
    image im = {.count = 0};
    char path[64];

    (void)state;
    put(&im, text, strlen(text));
    assert_ok(ctx, read_image(ctx, &im, im.count, &values, sizes));
    assert_true(sizes[0] == 4 && sizes[1] == 2 && same_bits(values, expected, 8));
    tess_array_free(ctx, values, sizes[0], sizes[1]);
    im.count = 0;
    put(&im, column, strlen(column));
    save_image(&im, im.count, path);
    assert_ok(ctx, tess_vector_read(ctx, path, &v));
    assert_int_equal(tess_vector_size(v), 4);
    tess_vector_destroy(v);
    unlink(path);
    tess_context_destroy(ctx);
}

/* NumPy's complex64 in either byte order, as a vector and as a dense matrix. */
static void test_numpy(void **state)
{
    static const char *const types[] = {"<c8", ">c16"};
    static const double expected[8] = {1, 2, 3, 4, 0, 0, 5, 6};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < 2; k++) {
        char header[120];
        image im = {.count = 0};
        tess_matrix *m = NULL;
        double *values = NULL;
        int64_t sizes[2];
        const int length =
            snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 2)}", types[k]);

        put(&im, "\x93NUMPY\1", 7);
        put_bits(&im, 0, 1, false);
        put_bits(&im, (uint64_t)length, 2, false);
        put(&im, header, (size_t)length);
        for (int i = 0; i < 8; i++) {
            put_real(&im, expected[i], k == 0 ? 4 : 8, k == 1);
        }
        assert_ok(ctx, tess_matrix_read_memory(ctx, "A.npy", im.bytes, im.count, &m, NULL));
        check_dense(m, expected);
        assert_int_equal(tess_matrix_nnz(m), 12);
        tess_matrix_destroy(m);
        assert_ok(ctx, read_image(ctx, &im, im.count, &values, sizes));
        assert_true(sizes[0] == 4 && sizes[1] == 2 && values[2] == 0.0 && values[4] == 3.0 && values[7] == 6.0);
        tess_array_free(ctx, values, sizes[0], sizes[1]);
    }
    tess_context_destroy(ctx);
}

static void test_memory(void **state)
{
    static const char text[] = BANNER "hermitian\n2 2 2\n1 1 1 0\n2 1 3 -4\n";
    image im = {.count = 0};

    (void)state;
    put(&im, text, strlen(text));
    check_memory(&im);
}

/* Matrices and tables larger than the pieces in which they are written. */
static void test_large_files(void **state)
{
    static const char *const requests[] = {"laplace2d", "helmholtz2d"};
    static const char *const of_matrix[] = {".mat", ".npz", ".mtx"}, *const of_array[] = {".mat", ".npy", ".txt",
                                                                                          ".csv"};
    enum { ROWS = 5000 };
    const char *const size = "40";
    char folder[] = "/tmp/tess-large-XXXXXX", path[64];
    double *values = random_values(2 * ROWS, 3, -1.0, 1.0), *read = NULL;
    tess_context *ctx = open_cpu(2);

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int k = 0; k < 6; k++) {
        tess_matrix *a = NULL, *again = NULL;
        oracle_csr written, found;

        (void)snprintf(path, sizeof path, "%s/a%s", folder, of_matrix[k / 2]);
        assert_ok(ctx, tess_gallery_create(ctx, requests[k % 2], 1, &size, &a));
        if (tess_matrix_write(a, path, 0) == TESS_UNSUPPORTED) { /* a build without libzip */
            assert_int_equal(k / 2, 1);
            tess_matrix_destroy(a);
            continue;
        }
        assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
        assert_int_equal(tess_matrix_is_complex(again), k % 2);
        written = decode_matrix(a);
        found = decode_matrix(again);
        assert_int_equal(found.nnz, written.nnz);
        assert_memory_equal(found.col_ind, written.col_ind, (size_t)found.nnz * sizeof *found.col_ind);
        for (int64_t p = 0; p < found.nnz; p++) {
            assert_true(found.val[p] == written.val[p]);
        }
        oracle_free(&written);
        oracle_free(&found);
        tess_matrix_destroy(a);
        tess_matrix_destroy(again);
        unlink(path);
    }
    for (int k = 0; k < 8; k++) { /* text has no word for complex numbers */
        const int complex = k % 2 && k / 2 < 2;
        int64_t rows = 0, columns = 0;
        int is_complex = -1;

        (void)snprintf(path, sizeof path, "%s/x%s", folder, of_array[k / 2]);
        assert_ok(ctx, complex ? tess_array_write_complex(ctx, values, ROWS, 2, path)
                               : tess_array_write(ctx, values, ROWS, 2, path));
        assert_ok(ctx, tess_array_read_complex(ctx, path, &read, &rows, &columns, &is_complex));
        assert_true(rows == ROWS && columns == 2 && is_complex == complex);
        assert_memory_equal(read, values, 2 * ROWS * sizeof *values);
        tess_array_free(ctx, read, rows, columns);
        unlink(path);
    }
    rmdir(folder);
    free(values);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symmetries),
        cmocka_unit_test(test_real_hermitian),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_matrices_written),
        cmocka_unit_test(test_lower_triangles_written),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_sparse_vectors),
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_large_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
