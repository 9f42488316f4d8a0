/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's arrays, and files that nothing here reads. */
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

static void put_npy_header(image *im, int version, const char *dictionary)
{
    const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};

    put(im, start, sizeof start);
    put_bits(im, strlen(dictionary), version == 1 ? 2 : 4, false);
    put(im, dictionary, strlen(dictionary));
}

/* ---- .npy ---- */

/* 3 by 2 numbers: value (i, j) is 10 i + j + 1, which every type below holds. */
static double value_of(int64_t i, int64_t j)
{
    return (double)(10 * i + j + 1);
}

static void put_value(image *im, char type, int width, double value, bool big)
{
    static const uint16_t halves[] = {0x3c00, 0x4000, 0x4980, 0x4a00, 0x4d40, 0x4d80}; /* 1 2 11 12 21 22 */

    if (type != 'f') {
        put_bits(im, (uint64_t)value, width, big);
    } else if (width == 2) {
        put_bits(im, halves[2 * ((int)value / 10) + ((int)value - 1) % 10], 2, big);
    } else {
        put_real(im, value, width, big);
    }
}

static void make_npy(image *im, int version, bool big, char type, int width, bool fortran)
{
    char dictionary[128];

    im->count = 0;
    snprintf(dictionary, sizeof dictionary, "{'descr': '%c%c%d', 'fortran_order': %s, 'shape': (3, 2), }   \n",
             big ? '>' : '<', type, width, fortran ? "True" : "False");
    put_npy_header(im, version, dictionary);
    for (int64_t k = 0; k < 6; k++) {
        put_value(im, type, width, fortran ? value_of(k % 3, k / 3) : value_of(k / 2, k % 2), big);
    }
}

static void check_values(const table *t)
{
    assert_int_equal(t->sizes[0], 3);
    assert_int_equal(t->sizes[1], 2);
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t i = 0; i < 3; i++) {
            assert_true(t->values[3 * j + i] == value_of(i, j));
        }
    }
}

static void test_npy_types(void **state)
{
    static const struct {
        char type;
        int width;
    } types[] = {{'f', 8}, {'f', 4}, {'f', 2}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, {'u', 1}, {'u', 4}, {'u', 8}};
    tess_context *ctx = open_cpu(2);
    image im;
    table t;

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int variant = 0; variant < 12; variant++) {
            make_npy(&im, 1 + variant % 3, (variant & 1) != 0, types[i].type, types[i].width, variant >= 6);
            assert_ok(ctx, read_image(ctx, &im, im.count, &t.values, t.sizes));
            check_values(&t);
            free_table(ctx, &t);
        }
    }
    tess_context_destroy(ctx);
}

static void test_npy_is_a_vector_and_a_matrix(void **state)
{
    tess_context *ctx = open_cpu(1);
    char path[64];
    image im = {.count = 0};
    tess_vector *v = NULL;
    tess_matrix *m = NULL;
    double values[3];

    (void)state;
    put_npy_header(&im, 1, "{'shape': (3,), \"fortran_order\": False, 'descr': '<i2'}\n");
    for (int i = 0; i < 3; i++) {
        put_bits(&im, (uint64_t)(-7 * i), 2, false);
    }
    save_image(&im, im.count, path);
    assert_ok(ctx, tess_vector_read(ctx, path, &v));
    read_vector(v, values);
    assert_true(values[0] == 0.0 && values[1] == -7.0 && values[2] == -14.0);
    unlink(path);
    make_npy(&im, 1, false, 'f', 8, false);
    assert_ok(ctx, tess_matrix_read_memory(ctx, "A.npy", im.bytes, im.count, &m, NULL));
    assert_int_equal(tess_matrix_nrows(m), 3);
    assert_int_equal(tess_matrix_nnz(m), 6);
    tess_matrix_destroy(m);
    tess_vector_destroy(v);
    tess_context_destroy(ctx);
}

/* Every prefix of a file, and the file with a byte more. */
static void check_truncated_tables(tess_context *ctx, image *im)
{
    table t;

    for (size_t count = 0; count < im->count; count++) {
        const tess_status status = read_image(ctx, im, count, &t.values, t.sizes);

        if (status == TESS_SUCCESS) { fail_msg("%zu of %zu bytes were read", count, im->count); }
        assert_true(tess_context_last_error(ctx)->message[0] != '\0');
        assert_null(t.values);
    }
    put(im, "x", 1);
    assert_fails(ctx, TESS_PARSE, read_image(ctx, im, im->count, &t.values, t.sizes));
}

static void test_npy_truncated(void **state)
{
    tess_context *ctx = open_cpu(1);
    image im;

    (void)state;
    for (int version = 1; version <= 3; version++) {
        make_npy(&im, version, true, 'f', 4, true);
        check_truncated_tables(ctx, &im);
    }
    tess_context_destroy(ctx);
}

static void test_npy_refused(void **state)
{
    static const struct {
        const char *dictionary;
        tess_status status;
        const char *word;
    } refused[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", TESS_UNSUPPORTED, "pickled"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}", TESS_UNSUPPORTED, "structures"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}", TESS_UNSUPPORTED, "<f16"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,)}", TESS_UNSUPPORTED, "<M8"},
        {"{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", TESS_PARSE, "text"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", TESS_PARSE, "0 dimensions"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1)}", TESS_PARSE, "3 dimensions"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1)}", TESS_PARSE, "more than three"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 3)}", TESS_PARSE, "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", TESS_PARSE, "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000,)}", TESS_PARSE, "ends before"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}", TESS_PARSE, "number of the shape"},
        {"{'descr': '<f8', 'fortran_order': Maybe, 'shape': (3,)}", TESS_PARSE, "True or False"},
        {"{'descr': '<f8', 'shape': (3,)}", TESS_PARSE, "lacks"},
        {"{'descr': '<f8', 'other': 3}", TESS_PARSE, "key other"},
        {"['descr']", TESS_PARSE, "'{'"},
    };
    tess_context *ctx = open_cpu(1);
    image im;
    table t;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        im.count = 0;
        put_npy_header(&im, 1, refused[i].dictionary);
        if (refused[i].word[0] != 'e') { put(&im, "\0\0\0\0\0\0\0\0", 8); }
        assert_fails(ctx, refused[i].status, read_image(ctx, &im, im.count, &t.values, t.sizes));
        const char *message = tess_context_last_error(ctx)->message;
        if (!strstr(message, refused[i].word)) { fail_msg("'%s' lacks '%s'", message, refused[i].word); }
    }
    tess_context_destroy(ctx);
}

/* A hundred bytes that say two billion rows take no memory for them. */
static void test_npy_of_many_empty_rows(void **state)
{
    tess_context *ctx = open_cpu(1);
    image im = {.count = 0};
    tess_matrix *m = NULL;

    (void)state;
    put_npy_header(&im, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2147483647, 0)}");
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_read_memory(ctx, "A.npy", im.bytes, im.count, &m, NULL));
    tess_context_destroy(ctx);
}

/* ---- any kind ---- */

static void test_others_refused(void **state)
{
    static const char *const starts[] = {"MATLAB 5.0 MAT-file, Platform: GLNXA64", "\x89HDF\r\n\x1a\n"};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "A.mat", starts[i], strlen(starts[i]), &m, NULL));
    }
    tess_context_destroy(ctx);
}

static void test_memory(void **state)
{
    image im;

    (void)state;
    make_npy(&im, 1, false, 'f', 8, false);
    check_memory(&im);
    make_npy(&im, 2, true, 'i', 4, true);
    check_memory(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_types),
        cmocka_unit_test(test_npy_is_a_vector_and_a_matrix),
        cmocka_unit_test(test_npy_truncated),
        cmocka_unit_test(test_npy_refused),
        cmocka_unit_test(test_npy_of_many_empty_rows),
        cmocka_unit_test(test_others_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
