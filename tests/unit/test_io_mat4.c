/* SPDX-License-Identifier: Apache-2.0 */
/* MATLAB's files of version 4: both byte orders, all types of numbers, and what is refused. */
#include <tessera/io.h>

#include "io/readers.h"
#include "support/test.h"

enum { FILE_MOST = 512 };

/* A file that is being written, in the machine's byte order or the other one. */
typedef struct mat4_file {
    unsigned char bytes[FILE_MOST];
    size_t count;
    bool swapped;
} mat4_file;

static void put(mat4_file *f, const void *value, size_t size)
{
    const unsigned char *p = value;

    assert_true(f->count + size <= FILE_MOST);
    for (size_t k = 0; k < size; k++) {
        f->bytes[f->count++] = p[f->swapped ? size - 1 - k : k];
    }
}

/* The first integer for `type` 0 to 5 and a kind, on this machine. */
static int32_t code(const mat4_file *f, int type, int kind)
{
    return 1000 * (blob_host_is_little() == f->swapped) + 10 * type + kind;
}

static void put_head(mat4_file *f, int32_t first, const int32_t sizes[3], const char *name)
{
    const int32_t length = (int32_t)strlen(name) + 1;

    put(f, &first, 4);
    for (int k = 0; k < 3; k++) {
        put(f, &sizes[k], 4);
    }
    put(f, &length, 4);
    memcpy(f->bytes + f->count, name, (size_t)length);
    f->count += (size_t)length;
}

static void put_number(mat4_file *f, int type, double value)
{
    const float single = (float)value;
    const int64_t wide = (int64_t)value;
    const int32_t word = (int32_t)wide;
    const int16_t half = (int16_t)wide;
    const uint16_t positive = (uint16_t)wide;
    const uint8_t byte = (uint8_t)wide;

    switch (type) {
    case 0: put(f, &value, 8); break;
    case 1: put(f, &single, 4); break;
    case 2: put(f, &word, 4); break;
    case 3: put(f, &half, 2); break;
    case 4: put(f, &positive, 2); break;
    default: put(f, &byte, 1); break;
    }
}

static void check_values(const mat4_file *f, const char *name, int64_t nrows, const double *expected, int parts)
{
    tess_context *ctx = open_cpu(1);
    text_source source;
    blob b = {.ctx = ctx};
    file_array a;

    assert_ok(ctx, text_source_open_memory(ctx, name, f->bytes, f->count, &source));
    assert_ok(ctx, blob_read(&source, &b));
    const file_reader *reader = tess_find_reader(&source);
    assert_int_equal(reader->kind, FILE_MATLAB4);
    assert_ok(ctx, reader->array(&b, &a));
    assert_int_equal(a.nrows, nrows);
    assert_int_equal(a.is_complex, parts == 2);
    assert_true(same_bits(a.val, expected, parts * nrows * a.ncols));
    file_array_release(ctx, &a);
    blob_release(&b);
    text_source_close(&source);
    tess_context_destroy(ctx);
}

/* Text before it, and a matrix: the right-hand side is the variable b. */
static void test_numbers(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        for (int type = 0; type <= 5; type++) {
            for (int parts = 1; parts <= 2; parts++) {
                mat4_file f = {.swapped = swapped != 0};
                const double re[4] = {1, type < 4 ? -2 : 2, 3, 200}, im[4] = {5, 6, 7, 8};
                double expected[8];

                put_head(&f, code(&f, 5, 1), (const int32_t[]){1, 2, 0}, "note");
                put_number(&f, 5, 65);
                put_number(&f, 5, 66);
                put_head(&f, code(&f, 0, 0), (const int32_t[]){1, 1, 0}, "other_1");
                put_number(&f, 0, 9);
                put_head(&f, code(&f, type, 0), (const int32_t[]){4, 1, parts - 1}, "b");
                for (int k = 0; k < 4 * parts; k++) {
                    put_number(&f, type, k < 4 ? re[k] : im[k - 4]);
                }
                for (int k = 0; k < 4; k++) {
                    expected[parts * k + parts - 1] = im[k];
                    expected[parts * k] = re[k];
                }
                check_values(&f, "A.mat", 4, expected, parts);
            }
        }
    }
}

/* Lines of a sparse variable: rows, columns, values; the sizes last. */
typedef struct sparse_case {
    int32_t stored[3]; /* rows and columns of the table; imaginary parts */
    double table[3][4];
    tess_status status;
    const char *words; /* of the message, or of the kind */
} sparse_case;

static void test_sparse(void **state)
{
    static const sparse_case cases[] = {
        {{3, 3, 0}, {{1, 1, 4}, {2, 3, 5}, {2, 3, 0}}, TESS_SUCCESS, "MATLAB 4, sparse"},
        {{3, 4, 0}, {{1, 1, 4, 2}, {2, 3, 5, -1}, {2, 3, 0, 0}}, TESS_SUCCESS, "MATLAB 4, sparse"},
        {{3, 3, 0}, {{1, 1, 4}, {3, 3, 5}, {2, 3, 0}}, TESS_OUT_OF_RANGE, "a row is 3; integers from 1 to 2"},
        {{3, 3, 0}, {{1, 0, 4}, {2, 3, 5}, {2, 3, 0}}, TESS_OUT_OF_RANGE, "a column is 0; integers from 1 to 3"},
        {{3, 3, 0}, {{1.5, 1, 4}, {2, 3, 5}, {2, 3, 0}}, TESS_OUT_OF_RANGE, "a row is 1.5"},
        {{3, 3, 0}, {{1, 1, 4}, {2, 3, 5}, {2, 2.5, 0}}, TESS_PARSE, "sizes of a sparse variable are no integers"},
        {{3, 3, 0}, {{1, 1, 4}, {2, 3, 5}, {-2, 3, 0}}, TESS_PARSE, "sizes of a sparse variable are no integers"},
        {{3, 3, 0}, {{1, 1, 4}, {2, 3, 5}, {3e9, 3, 0}}, TESS_OUT_OF_RANGE, "3000000000 rows"},
        {{3, 3, 0}, {{1, 1, 4}, {2, 3, 5}, {2e9, 3, 0}}, TESS_OUT_OF_RANGE, "nearly all would be empty"},
        {{3, 2, 0}, {{1, 1}, {2, 3}, {2, 3}}, TESS_PARSE, "a sparse variable of version 4 has"},
        {{0, 3, 0}, {{0}}, TESS_PARSE, "a sparse variable of version 4 has"},
        {{1, 3, 1}, {{2, 3, 0}}, TESS_PARSE, "a sparse variable of version 4 has"},
        {{-1, 3, 0}, {{0}}, TESS_PARSE, "the head of a variable was expected"},
        {{1, 3, 2}, {{2, 3, 0}}, TESS_PARSE, "the head of a variable was expected"},
        {{1000, 3, 0}, {{2, 3, 0}}, TESS_PARSE, "a variable should have 3000 items"},
    };
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        mat4_file f = {.swapped = c % 2 == 1};
        const sparse_case *s = &cases[c];
        tess_mtx_info info = {.size = sizeof info};
        tess_matrix *a = NULL;

        put_head(&f, code(&f, 0, 0), (const int32_t[]){1, 1, 0}, "x"); /* so that the reader is known */
        put_number(&f, 0, 1);
        put_head(&f, code(&f, 0, 2), s->stored, "A");
        for (int k = 0; k < (s->stored[0] > 3 ? 3 : s->stored[0]) * s->stored[1] * (s->stored[2] == 1 ? 2 : 1); k++) {
            const int column = k / s->stored[0];

            put_number(&f, 0, k < 12 && column < 4 ? s->table[k % s->stored[0] % 3][column] : 0.0);
        }
        const tess_status status = tess_matrix_read_memory(ctx, "A.mat", f.bytes, f.count, &a, &info);
        const char *said = status == TESS_SUCCESS ? info.kind : tess_context_last_error(ctx)->message;
        if (status != s->status || !strstr(said, s->words)) {
            fail_msg("case %d: %d, '%s'", (int)c, (int)status, said);
        }
        if (status == TESS_SUCCESS) {
            assert_true(info.nonzeros == 2 && info.nrows == 2 && info.ncols == 3);
            assert_int_equal(info.is_complex, s->stored[1] == 4);
        }
        tess_matrix_destroy(a);
    }
    tess_context_destroy(ctx);
}

/* Heads that are none of this format: another reader, or nobody, has the file. */
static void test_strangers(void **state)
{
    static const struct {
        int32_t first, sizes[3];
        const char *name;
    } cases[] = {{60, {1, 1, 0}, "A"}, {3, {1, 1, 0}, "A"},     {100, {1, 1, 0}, "A"}, {2000, {1, 1, 0}, "A"},
                 {0, {-1, 1, 0}, "A"}, {0, {1, -1, 0}, "A"},    {0, {1, 1, 2}, "A"},   {0, {1, 1, 0}, ""},
                 {0, {1, 1, 0}, "1A"}, {0, {1, 1, 0}, "A\x01"}, {0, {1, 1, 0}, "A b"}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        mat4_file f = {.swapped = !blob_host_is_little()}; /* little-endian */
        tess_matrix *a = NULL;

        put_head(&f, cases[c].first, cases[c].sizes, cases[c].name);
        put_number(&f, 0, 1);
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_read_memory(ctx, "A.mat", f.bytes, f.count, &a, NULL));
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_strangers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
