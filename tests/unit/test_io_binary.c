/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other programs: NumPy's arrays and PETSc's binary files. Archives of SciPy: test_io_npz.c. */
#include <unistd.h>

#include "support/heap.h"
#include "support/test.h"

enum { MOST_BYTES = 4096 };

/* A file's bytes, built piece by piece. */
typedef struct image {
    unsigned char bytes[MOST_BYTES];
    size_t count;
} image;

static void put(image *im, const void *bytes, size_t count)
{
    assert_true(im->count + count <= MOST_BYTES);
    memcpy(im->bytes + im->count, bytes, count);
    im->count += count;
}

/* A number of `width` bytes, high byte first or last. */
static void put_bits(image *im, uint64_t bits, int width, bool big)
{
    for (int i = 0; i < width; i++) {
        const unsigned char byte = (unsigned char)(bits >> (8 * (big ? width - 1 - i : i)));

        put(im, &byte, 1);
    }
}

static void put_real(image *im, double value, int width, bool big)
{
    uint64_t bits = 0;

    if (width == 4) {
        const float single = (float)value;
        uint32_t low;

        memcpy(&low, &single, 4);
        bits = low;
    } else {
        memcpy(&bits, &value, 8);
    }
    put_bits(im, bits, width, big);
}

static void put_npy_header(image *im, int version, const char *dictionary)
{
    const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};

    put(im, start, sizeof start);
    put_bits(im, strlen(dictionary), version == 1 ? 2 : 4, false);
    put(im, dictionary, strlen(dictionary));
}

/* A temporary file with these bytes. */
static void save(const image *im, size_t count, char path[64])
{
    strcpy(path, "/tmp/tessera-test-XXXXXX");
    const int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, im->bytes, count), (ssize_t)count);
    close(descriptor);
}

typedef struct table {
    double *values;
    int64_t nrows, ncols;
} table;

static tess_status read_table(tess_context *ctx, const image *im, size_t count, table *out)
{
    char path[64];

    save(im, count, path);
    const tess_status status = tess_array_read(ctx, path, &out->values, &out->nrows, &out->ncols);
    unlink(path);
    return status;
}

static void free_table(tess_context *ctx, table *t)
{
    tess_array_free(ctx, t->values, t->nrows, t->ncols);
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
    assert_int_equal(t->nrows, 3);
    assert_int_equal(t->ncols, 2);
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
            assert_ok(ctx, read_table(ctx, &im, im.count, &t));
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
    save(&im, im.count, path);
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
        const tess_status status = read_table(ctx, im, count, &t);

        if (status == TESS_SUCCESS) { fail_msg("%zu of %zu bytes were read", count, im->count); }
        assert_true(tess_context_last_error(ctx)->message[0] != '\0');
        assert_null(t.values);
    }
    put(im, "x", 1);
    assert_fails(ctx, TESS_PARSE, read_table(ctx, im, im->count, &t));
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
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (3,)}", TESS_UNSUPPORTED, "complex"},
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
        assert_fails(ctx, refused[i].status, read_table(ctx, &im, im.count, &t));
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

/* ---- PETSc ---- */

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
    tess_mtx_info info;

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
    assert_ok(ctx, tess_array_read(ctx, path, &t.values, &t.nrows, &t.ncols));
    assert_true(t.nrows == 3 && t.ncols == 2 && same_bits(t.values, two, 6));
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
    } refused[] = {{0, 1211214, TESS_PARSE, "vector"},     {1, -1, TESS_PARSE, "-1 rows"},
                   {2, -5, TESS_PARSE, "-5 columns"},      {3, -1, TESS_UNSUPPORTED, "dense"},
                   {3, -2, TESS_PARSE, "negative"},        {3, 2000000000, TESS_PARSE, "ends before"},
                   {4, -2, TESS_PARSE, "length of a row"}, {4, 1, TESS_PARSE, "fewer entries"},
                   {4, 3, TESS_PARSE, "more entries"},     {7, 4, TESS_OUT_OF_RANGE, "column 4"},
                   {8, -1, TESS_OUT_OF_RANGE, "byte 32"}};
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
        assert_fails(ctx, TESS_UNSUPPORTED,
                     tess_matrix_read_memory(ctx, "A.mat", starts[i], strlen(starts[i]), &m, NULL));
        assert_non_null(strstr(tess_context_last_error(ctx)->hint, "save_npz"));
    }
    tess_context_destroy(ctx);
}

/* The k-th allocation fails, for each k: an error, and no memory is left. */
static void test_memory(void **state)
{
    image images[3];

    (void)state;
    make_petsc(&images[0], 4);
    make_npy(&images[1], 1, false, 'f', 8, false);
    make_npy(&images[2], 2, true, 'i', 4, true);
    for (int i = 0; i < 3; i++) {
        bool whole = false;

        for (int64_t k = 0; !whole; k++) {
            heap h = {.fail_at = -1};
            tess_context_options options;
            tess_context *ctx = NULL;
            tess_matrix *m = NULL;

            tess_context_options_init(&options);
            options.device = TESS_DEVICE_CPU;
            options.host_allocator = heap_allocator(&h);
            assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
            heap_fail_at(&h, k);
            const tess_status status = tess_matrix_read_memory(ctx, "A", images[i].bytes, images[i].count, &m, NULL);
            whole = status == TESS_SUCCESS;
            assert_true(whole || status == TESS_OUT_OF_MEMORY);
            tess_matrix_destroy(m);
            tess_context_destroy(ctx);
            assert_int_equal(h.live, 0);
            assert_int_equal(h.wrong_releases, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_types),
        cmocka_unit_test(test_npy_is_a_vector_and_a_matrix),
        cmocka_unit_test(test_npy_truncated),
        cmocka_unit_test(test_npy_refused),
        cmocka_unit_test(test_npy_of_many_empty_rows),
        cmocka_unit_test(test_petsc_matrix),
        cmocka_unit_test(test_petsc_written),
        cmocka_unit_test(test_petsc_refused),
        cmocka_unit_test(test_others_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
