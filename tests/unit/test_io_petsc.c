/* SPDX-License-Identifier: Apache-2.0 */
/* PETSc's binary files. */
#include <unistd.h>

#include "support/bytes.h"
#include "support/test.h"

/* nrows and ncols */
typedef struct table {
    double *values;
    int64_t sizes[2];
} table;

static void free_table(tess_context *ctx, table *t)
{
    tess_array_free(ctx, t->values, t->sizes[0], t->sizes[1]);
}

/* 3 by 4: (0, 1) = 1.5, (0, 3) = -2, (2, 0) = 0.25; rows not sorted. */
static void make_petsc(image *im, int width)
{
    static const int64_t header[] = {1211216, 3, 4, 3, 2, 0, 1, 3, 1, 0};
    static const double values[] = {-2.0, 1.5, 0.25};

    im->count = 0;
    for (int i = 0; i < 10; i++) {
        put_bits(im, (uint64_t)header[i], width, true);
    }
    for (int i = 0; i < 3; i++) {
        put_real(im, values[i], 8, true);
    }
}

static void check_petsc_matrix(const tess_matrix *m)
{
    int64_t row_ptr[4];
    int32_t col_ind[3];
    double val[3];

    assert_int_equal(tess_matrix_nrows(m), 3);
    assert_int_equal(tess_matrix_ncols(m), 4);
    assert_int_equal(tess_matrix_nnz(m), 3);
    assert_int_equal(tess_matrix_get_csr(m, row_ptr, col_ind, val), TESS_SUCCESS);
    assert_true(row_ptr[1] == 2 && row_ptr[2] == 2 && row_ptr[3] == 3);
    assert_true(col_ind[0] == 1 && col_ind[1] == 3 && col_ind[2] == 0);
    assert_true(val[0] == 1.5 && val[1] == -2.0 && val[2] == 0.25);
}

static void test_petsc_matrix(void **state)
{
    tess_context *ctx = open_cpu(2);
    image im;
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    for (int width = 4; width <= 8; width += 4) {
        tess_matrix *m = NULL;

        make_petsc(&im, width);
        assert_ok(ctx, tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, &info));
        check_petsc_matrix(m);
        assert_int_equal(info.entries, 3);
        assert_non_null(strstr(info.kind, "PETSc"));
        tess_matrix_destroy(m);
        for (size_t count = 0; count < im.count; count++) {
            assert_int_not_equal(tess_matrix_read_memory(ctx, "A.petsc", im.bytes, count, &m, NULL), TESS_SUCCESS);
            assert_null(m);
        }
        put(&im, "more", 4);
        assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, NULL));
    }
    tess_context_destroy(ctx);
}

/* What is written has the bytes of PETSc: big-endian, 4-byte integers. */
static void test_petsc_written(void **state)
{
    tess_context *ctx = open_cpu(1);
    char path[80] = "/tmp/tessera-test-XXXXXX.petsc";
    static const double two[] = {1.0, 2.0, 3.0, -4.0, 5.5, 1e300};
    static const unsigned char start[] = {0, 0x12, 0x7b, 0x4e, 0, 0, 0, 3, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
    tess_matrix *m = NULL, *again = NULL;
    table t;
    image im;

    (void)state;
    const int descriptor = mkstemps(path, 6);
    assert_true(descriptor >= 0);
    close(descriptor);
    make_petsc(&im, 4);
    assert_ok(ctx, tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, NULL));
    assert_ok(ctx, tess_matrix_write(m, path, 0));
    assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
    check_petsc_matrix(again);
    assert_ok(ctx, tess_array_write(ctx, two, 3, 2, path));
    FILE *file = fopen(path, "rb");
    im.count = fread(im.bytes, 1, sizeof im.bytes, file);
    fclose(file);
    assert_int_equal(im.count, 2 * (8 + 24));
    assert_memory_equal(im.bytes, start, sizeof start);
    assert_ok(ctx, tess_array_read(ctx, path, &t.values, &t.sizes[0], &t.sizes[1]));
    assert_true(t.sizes[0] == 3 && t.sizes[1] == 2 && same_bits(t.values, two, 6));
    free_table(ctx, &t);
    unlink(path);
    tess_matrix_destroy(m);
    tess_matrix_destroy(again);
    tess_context_destroy(ctx);
}

static void test_petsc_refused(void **state)
{
    /* the place of a number of the header, what it becomes, and how that is refused */
    static const struct {
        int at;
        int32_t value;
        tess_status status;
        const char *word;
    } refused[] = {{0, 1211214, TESS_PARSE, "vector"},         {1, -1, TESS_PARSE, "-1 rows"},
                   {2, -5, TESS_PARSE, "-5 columns"},          {3, -2, TESS_PARSE, "negative"},
                   {3, 2000000000, TESS_PARSE, "ends before"}, {4, -2, TESS_PARSE, "length of a row"},
                   {4, 1, TESS_PARSE, "fewer entries"},        {4, 3, TESS_PARSE, "more entries"},
                   {7, 4, TESS_OUT_OF_RANGE, "column 4"},      {8, -1, TESS_OUT_OF_RANGE, "byte 32"}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        tess_matrix *m = NULL;
        image im, number = {.count = 0};

        make_petsc(&im, 4);
        put_bits(&number, (uint64_t)(uint32_t)refused[i].value, 4, true);
        memcpy(im.bytes + 4 * refused[i].at, number.bytes, 4);
        assert_fails(ctx, refused[i].status, tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, NULL));
        const char *message = tess_context_last_error(ctx)->message;
        if (!strstr(message, refused[i].word)) { fail_msg("'%s' lacks '%s'", message, refused[i].word); }
    }
    for (int at = 1; at <= 3; at++) { /* counts that no sum holds: for UndefinedBehaviorSanitizer */
        static const unsigned char most[8] = {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
        tess_matrix *m = NULL;
        image im;

        make_petsc(&im, 8);
        memcpy(im.bytes + 8 * at, most, sizeof most);
        assert_int_not_equal(tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, NULL), TESS_SUCCESS);
    }
    tess_context_destroy(ctx);
}

static void put_petsc_vector(image *im, int64_t length, int values)
{
    put_bits(im, 1211214, 4, true);
    put_bits(im, (uint64_t)length, 4, true);
    for (int i = 0; i < values; i++) {
        put_real(im, 1.0 + i, 8, true);
    }
}

/* Vectors of one length, before, between and behind matrices; lengths that differ or are out of range are refused. */
static void test_petsc_vectors(void **state)
{
    static const int64_t wrong[] = {2, 4, -1, -3, INT32_MIN, INT32_MAX};
    tess_context *ctx = open_cpu(1);
    image im = {.count = 0};
    table t;

    (void)state;
    put_petsc_vector(&im, 3, 3);
    put_petsc_vector(&im, 3, 3);
    for (size_t count = 0; count < im.count; count++) {
        const tess_status status = read_image(ctx, &im, count, &t.values, t.sizes);

        assert_true((status == TESS_SUCCESS) == (count == im.count / 2)); /* one whole vector */
        if (status == TESS_SUCCESS) { free_table(ctx, &t); }
    }
    assert_ok(ctx, read_image(ctx, &im, im.count, &t.values, t.sizes));
    assert_true(t.sizes[0] == 3 && t.sizes[1] == 2 && t.values[2] == 3.0 && t.values[3] == 1.0);
    free_table(ctx, &t);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const size_t sound = im.count;

        put_petsc_vector(&im, wrong[k], wrong[k] > 0 && wrong[k] < 5 ? (int)wrong[k] : 0);
        assert_fails(ctx, TESS_PARSE, read_image(ctx, &im, im.count, &t.values, t.sizes));
        assert_non_null(
            strstr(tess_context_last_error(ctx)->message, wrong[k] == INT32_MAX ? "values" : "length of a"));
        im.count = sound;
    }
    put_bits(&im, 1211999, 4, true); /* another class */
    assert_fails(ctx, TESS_PARSE, read_image(ctx, &im, im.count, &t.values, t.sizes));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "1211999"));
    make_petsc(&im, 4);
    put_petsc_vector(&im, 3, 3);
    assert_ok(ctx, read_image(ctx, &im, im.count, &t.values, t.sizes));
    assert_true(t.sizes[0] == 3 && t.sizes[1] == 1);
    free_table(ctx, &t);
    tess_context_destroy(ctx);
}

/* An upper triangle whose diagonal is full may be half of a matrix; a diagonal, and one entry below, is a whole one. */
static void test_petsc_triangles(void **state)
{
    static const struct {
        int64_t rows, cols, lengths[2], columns[3];
        tess_status status;
    } cases[] = {{2, 2, {2, 1}, {0, 1, 1}, TESS_UNSUPPORTED}, {2, 3, {2, 1}, {0, 1, 1}, TESS_SUCCESS},
                 {2, 2, {1, 2}, {0, 0, 1}, TESS_SUCCESS},     {2, 2, {2, 0}, {0, 1, 0}, TESS_SUCCESS},
                 {2, 2, {1, 1}, {0, 1, 0}, TESS_SUCCESS},     {0, 0, {0, 0}, {0, 0, 0}, TESS_SUCCESS}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int64_t entries = cases[k].lengths[0] + cases[k].lengths[1];
        image im = {.count = 0};
        tess_matrix *m = NULL;

        put_bits(&im, 1211216, 4, true);
        put_bits(&im, (uint64_t)cases[k].rows, 4, true);
        put_bits(&im, (uint64_t)cases[k].cols, 4, true);
        put_bits(&im, (uint64_t)entries, 4, true);
        for (int64_t i = 0; i < cases[k].rows; i++) {
            put_bits(&im, (uint64_t)cases[k].lengths[i], 4, true);
        }
        for (int64_t i = 0; i < entries; i++) {
            put_bits(&im, (uint64_t)cases[k].columns[i], 4, true);
        }
        for (int64_t i = 0; i < entries; i++) {
            put_real(&im, 1.0, 8, true);
        }
        assert_int_equal(tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, NULL), cases[k].status);
        tess_matrix_destroy(m);
    }
    tess_context_destroy(ctx);
}

/* Blocks of two, the diagonal ones whole: 4 by 4, two blocks a row in the full matrix. `twist` makes a block of the
   diagonal unsymmetric. */
static void make_blocks(image *im, double twist)
{
    static const int64_t lengths[] = {4, 4, 2, 2}, columns[] = {0, 1, 2, 3, 0, 1, 2, 3, 2, 3, 2, 3};
    const double values[] = {4.0, 1.0, 0.5, 0.25, 1.0 + twist, 5.0, 0.125, 2.0, 6.0, 3.0, 3.0, 7.0};

    *im = (image){.count = 0};
    for (int i = 0; i < 4; i++) {
        put_bits(im, (uint64_t)(i == 0 ? 1211216 : i == 3 ? 12 : 4), 4, true);
    }
    for (int i = 0; i < 4; i++) {
        put_bits(im, (uint64_t)lengths[i], 4, true);
    }
    for (int k = 0; k < 12; k++) {
        put_bits(im, (uint64_t)columns[k], 4, true);
    }
    for (int k = 0; k < 12; k++) {
        put_real(im, values[k], 8, true);
    }
}

/* MATSBAIJ: what is below the blocks of the diagonal comes from above them. */
static void test_petsc_symmetric(void **state)
{
    static const int32_t columns[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    static const double expected[] = {4.0, 1.0,   0.5, 0.25, 1.0,  5.0, 0.125, 2.0,
                                      0.5, 0.125, 6.0, 3.0,  0.25, 2.0, 3.0,   7.0};
    static const struct {
        const char *name;
        double twist;
        int64_t nnz;
    } cases[] = {{"A.petsc", 0.0, 16}, {"A.petsc", 1.0, 12},       {"A.aij.petsc", 0.0, 12},
                 {"a/A_aij", 0.0, 12}, {"sbaij/A.petsc", 1.0, 12}, {"sbaij.petsc", 1.0, 16},
                 {"A-sbaij", 0.0, 16}, {"Asbaij.petsc", 1.0, 12},  {"A.baij.petsc", 0.0, 16}};
    tess_context *ctx = open_cpu(1);
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t row_ptr[5];
        int32_t col_ind[16];
        double val[16];
        tess_matrix *m = NULL;
        image im;

        make_blocks(&im, cases[k].twist);
        assert_ok(ctx, tess_matrix_read_memory(ctx, cases[k].name, im.bytes, im.count, &m, &info));
        assert_int_equal(tess_matrix_nnz(m), cases[k].nnz);
        assert_true((strstr(info.kind, "SBAIJ, blocks of 2") != NULL) == (cases[k].nnz == 16));
        assert_ok(ctx, tess_matrix_get_csr(m, row_ptr, col_ind, val));
        if (k == 0) {
            assert_memory_equal(col_ind, columns, sizeof columns);
            assert_true(same_bits(val, expected, 16));
        }
        tess_matrix_destroy(m);
    }
    image im;
    make_petsc(&im, 4);
    tess_matrix *m = NULL;
    assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "A.sbaij", im.bytes, im.count, &m, NULL));
    tess_context_destroy(ctx);
}

/* Values of a PETSc with complex numbers: the sizes tell. Dense matrices lie row by row. */
static void test_petsc_scalars(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    for (int scalar = 8; scalar <= 16; scalar *= 2) {
        static const int64_t header[] = {1211216, 2, 3, -1};
        const int parts = scalar == 16 ? 2 : 1;
        tess_matrix *m = NULL;
        table t;
        image im = {.count = 0};

        for (int i = 0; i < 4; i++) {
            put_bits(&im, (uint64_t)header[i], 4, true);
        }
        for (int k = 0; k < 6 * parts; k++) {
            put_real(&im, k < parts ? 0.0 : k, 8, true);
        }
        assert_ok(ctx, tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, &info));
        assert_true(info.entries == 5 && info.is_complex == (parts == 2) && strstr(info.kind, "dense"));
        assert_int_equal(tess_matrix_nnz(m), parts == 2 ? 20 : 5);
        tess_matrix_destroy(m);
        assert_ok(ctx, read_image(ctx, &im, im.count, &t.values, t.sizes));
        assert_true(t.sizes[0] == 2 * parts && t.sizes[1] == 3);
        assert_true(t.values[parts] == 3.0 * parts && t.values[2 * parts] == 1.0 * parts); /* (1, 0), (0, 1) */
        free_table(ctx, &t);
    }
    tess_context_destroy(ctx);
}

/* Sets of indices are passed over; a file of them alone has neither a matrix nor a vector. */
static void test_petsc_indices(void **state)
{
    tess_context *ctx = open_cpu(1);
    image im = {.count = 0};
    tess_matrix *m = NULL;
    table t;

    (void)state;
    put_bits(&im, 1211214, 4, true);
    put_bits(&im, 0, 4, true);
    put_bits(&im, 1211218, 4, true);
    put_bits(&im, 2, 4, true);
    put_bits(&im, 1, 4, true);
    put_bits(&im, 0, 4, true);
    assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "A.petsc", im.bytes, im.count, &m, NULL));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "a matrix was expected"));
    assert_ok(ctx, read_image(ctx, &im, im.count, &t.values, t.sizes));
    assert_true(t.sizes[0] == 0 && t.sizes[1] == 1);
    free_table(ctx, &t);
    tess_context_destroy(ctx);
}

static void test_memory(void **state)
{
    image im;

    (void)state;
    make_petsc(&im, 4);
    check_memory(&im);
    make_blocks(&im, 0.0);
    check_memory(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_petsc_matrix),    cmocka_unit_test(test_petsc_written),
                                       cmocka_unit_test(test_petsc_refused),   cmocka_unit_test(test_petsc_vectors),
                                       cmocka_unit_test(test_petsc_triangles), cmocka_unit_test(test_petsc_symmetric),
                                       cmocka_unit_test(test_petsc_scalars),   cmocka_unit_test(test_petsc_indices),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
