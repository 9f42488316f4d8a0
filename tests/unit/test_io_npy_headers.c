/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of NumPy's arrays by hand: which are read, and which are refused, each with the place of its fault. */
#include "support/bytes.h"
#include "support/test.h"

static void make(image *im, int version, const char *header, size_t data)
{
    const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    const unsigned char zeros[64] = {0};

    im->count = 0;
    put(im, start, sizeof start);
    put_bits(im, strlen(header), version == 1 ? 2 : 4, false);
    put(im, header, strlen(header));
    put(im, zeros, data);
}

static tess_status read_header(tess_context *ctx, int version, const char *header, size_t data, int64_t sizes[2])
{
    image im;
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    make(&im, version, header, data);
    status = read_image(ctx, &im, im.count, &values, sizes);
    if (status == TESS_SUCCESS) {
        for (int64_t k = 0; k < sizes[0] * sizes[1]; k++) {
            assert_true(values[k] == 0.0);
        }
        tess_array_free(ctx, values, sizes[0], sizes[1]);
    }
    return status;
}

static void odd_headers_are_read(void **state)
{
    static const struct {
        const char *header;
        size_t bytes;
        int64_t rows, cols;
    } sound[] = {
        {"{'descr':'<f8','fortran_order':False,'shape':(3,)}", 24, 3, 1},
        {"\t{\r\n 'shape' :\t( 3 ,\n2 ) , \"descr\" : \"<f4\" ,\t'fortran_order' : True\r\n,\t}\n", 24, 3, 2},
        {"{'descr': '=f8', 'fortran_order': False, 'shape': (3L, 1L), }", 24, 3, 1},
        {"{'descr': 'f2', 'fortran_order': False, 'shape': (3, 1)}", 6, 3, 1},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (3, 1)}", 3, 3, 1},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1)}", 3, 3, 1},
        {"{'descr': '>u2', 'fortran_order': False, 'shape': (1, 3)}", 6, 1, 3},
        {"{'descr': '<i8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 16, 2, 1},
    };
    tess_context *ctx = open_cpu(1);
    int64_t sizes[2];

    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        for (int version = 1; version <= 3; version++) {
            assert_ok(ctx, read_header(ctx, version, sound[i].header, sound[i].bytes, sizes));
            assert_int_equal(sizes[0], sound[i].rows);
            assert_int_equal(sizes[1], sound[i].cols);
        }
    }
    tess_context_destroy(ctx);
}

/* A fault of the text: what is said contains `text`. */
static void wrong_headers_are_refused(void **state)
{
    static const struct {
        const char *header, *text;
    } wrong[] = {
        {"", "expected '{'"},
        {"[", "expected '{'"},
        {"{", "expected a key"},
        {"{5", "expected a key"},
        {"{'descr", "expected a key"},
        {"{'descr'", "expected a key"},
        {"{'descr' '<f8'", "expected a key"},
        {"{'a key that is far longer than any that a header has, and so no place is left for it': 1}",
         "expected a key"},
        {"{'other': 1}", "a key other than descr"},
        {"{'descr': ", "expected a type"},
        {"{'descr': 5}", "expected a type"},
        {"{'descr': '<f8\"}", "expected a type"},
        {"{'descr': [('a', '<f8')]}", "structures as values"},
        {"{'fortran_order': Maybe}", "expected True or False"},
        {"{'fortran_order': Tr", "expected True or False"},
        {"{'shape': 3}", "expected a shape"},
        {"{'shape': ", "expected a shape"},
        {"{'shape': (x)}", "expected a number of the shape"},
        {"{'shape': (-1,)}", "expected a number of the shape"},
        {"{'shape': (:)}", "expected a number of the shape"},
        {"{'shape': (", "expected a number of the shape"},
        {"{'shape': (3 4)}", "expected ',' or ')'"},
        {"{'shape': (3", "expected ',' or ')'"},
        {"{'shape': (1, 2, 3, 4)}", "more than three dimensions"},
        {"{'shape': (99999999999999999999,)}", "the shape is too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "the shape is too large"},
        {"{'shape': (3,) 'descr': '<f8'}", "expected ',' or '}'"},
        {"{'shape': (3,)", "expected ',' or '}'"},
        {"{'shape': (3,), 'descr': '<f8'}", "lacks one of"},
        {"{'shape': (3,), 'fortran_order': False}", "lacks one of"},
        {"{'descr': '<f8', 'fortran_order': False}", "lacks one of"},
        {"{'descr': '|S4', 'fortran_order': False, 'shape': (6,)}", "holds text"},
        {"{'descr': '<U1', 'fortran_order': False, 'shape': (6,)}", "holds text"},
        {"{'descr': '|S0', 'fortran_order': False, 'shape': ()}", ""},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", ""},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3, 1)}", "3 dimensions"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", ""},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", "the file goes on"},
    };
    tess_context *ctx = open_cpu(1);
    int64_t sizes[2];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_header(ctx, 1, wrong[i].header, 24, sizes) == TESS_SUCCESS) { fail_msg("%s", wrong[i].header); }
        if (!strstr(tess_context_last_error(ctx)->message, wrong[i].text)) {
            fail_msg("%s: %s", wrong[i].header, tess_context_last_error(ctx)->message);
        }
    }
    for (int version = 0; version <= 255; version += version == 0 ? 4 : 251) {
        assert_fails(ctx, TESS_PARSE,
                     read_header(ctx, version, "{'descr':'<f8','fortran_order':False,'shape':(3,)}", 24, sizes));
    }
    tess_context_destroy(ctx);
}

static void other_types_are_refused(void **state)
{
    static const char *const types[] = {"",    "<",   "f",   "<f",  "<f3",  "<f16",  "<f-8",  "<f99999999999", "<i3",
                                        "<u5", "|b2", "|V8", "<M8", "|S-1", "|S300", "<U999", "<c32",          "|O"};
    tess_context *ctx = open_cpu(1);
    char header[128];
    int64_t sizes[2];

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,)}", types[i]);
        assert_fails(ctx, TESS_UNSUPPORTED, read_header(ctx, 1, header, 24, sizes));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, types[i]));
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_headers_are_read),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(other_types_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
