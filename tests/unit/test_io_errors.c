/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the reader refuses: status, line, the offending text and the expected one, each time. */
#include <sys/stat.h>
#include <unistd.h>

#include <tessera/io.h>

#include "support/heap.h"
#include "support/test.h"

#define COO "%%MatrixMarket matrix coordinate real general\n"
#define SYM "%%MatrixMarket matrix coordinate real symmetric\n"

/* A text, the expected refusal, and words that the message must contain. */
typedef struct refusal {
    const char *text;
    tess_status status;
    int64_t line;
    const char *words[3];
} refusal;

static void check_error(const tess_context *ctx, const refusal *r, tess_status status)
{
    const tess_error *error = tess_context_last_error(ctx);

    if (status != r->status || error->status != r->status || error->line != r->line) {
        fail_msg("%.80s\n... was refused with '%s' in line %lld (%s); expected '%s' in line %lld", r->text,
                 tess_status_text(status), (long long)error->line, error->message, tess_status_text(r->status),
                 (long long)r->line);
    }
    assert_string_equal(error->file, "the-file");
    for (int i = 0; i < 3 && r->words[i]; i++) {
        if (!strstr(error->message, r->words[i])) { fail_msg("'%s' lacks '%s'", error->message, r->words[i]); }
    }
}

static void check_refusals(const refusal *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int threads = 1; threads <= 2; threads++) {
            tess_context *ctx = open_cpu(threads);
            tess_matrix *m = (tess_matrix *)ctx;

            check_error(ctx, &list[i],
                        tess_matrix_read_memory(ctx, "the-file", list[i].text, strlen(list[i].text), &m, NULL));
            assert_null(m);
            tess_context_destroy(ctx);
        }
    }
}

#define CHECK_ALL(list) check_refusals(list, sizeof list / sizeof list[0])

static void test_banner(void **state)
{
    const refusal list[] = {
        {"", TESS_PARSE, 1, {"%%MatrixMarket"}},
        {"\n\n", TESS_PARSE, 1, {"%%MatrixMarket"}},
        {"%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", TESS_PARSE, 1, {"'%MatrixMarket'"}},
        {"1 1 1\n", TESS_PARSE, 1, {"'1'", "%%MatrixMarket"}},
        {"%%MatrixMarket matrix coordinate real\n", TESS_PARSE, 1, {"fewer than five words"}},
        {"%%MatrixMarket matrix coordinate real general more\n", TESS_PARSE, 1, {"more than five words"}},
        {"%%MatrixMarket vector coordinate real general\n", TESS_PARSE, 1, {"'vector'", "'matrix'"}},
        {"%%MatrixMarket matrix sparse real general\n", TESS_PARSE, 1, {"'sparse'", "'coordinate' or 'array'"}},
        {"%%MatrixMarket matrix coordinate quaternion general\n", TESS_PARSE, 1, {"'quaternion'", "'real'"}},
        {"%%MatrixMarket matrix coordinate real diagonal\n", TESS_PARSE, 1, {"'diagonal'", "'general'"}},
        {"%%MatrixMarket matrix array pattern general\n", TESS_PARSE, 1, {"pattern", "array"}},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", TESS_PARSE, 1, {"pattern", "skew-symmetric"}},
        {"%%MatrixMarket matrix coordinate complex hermit\n", TESS_PARSE, 1, {"'hermit'", "'hermitian'"}},
    };

    (void)state;
    CHECK_ALL(list);
}

static void test_size_line(void **state)
{
    const refusal list[] = {
        {COO, TESS_PARSE, 2, {"ends before its size line"}},
        {COO "% c\n\n% d\n", TESS_PARSE, 5, {"ends before its size line"}},
        {COO "%\n\n2 2\n", TESS_PARSE, 4, {"2 words", "rows, columns and entries"}},
        {COO "2 2 1 1\n", TESS_PARSE, 2, {"4 words"}},
        {COO "2 x 1\n", TESS_PARSE, 2, {"'x'", "number of columns"}},
        {COO "-2 2 1\n", TESS_PARSE, 2, {"'-2'", "number of rows"}},
        {COO "2 2 1.0\n", TESS_PARSE, 2, {"'1.0'", "number of entries"}},
        {COO "2147483648 1 0\n", TESS_OUT_OF_RANGE, 2, {"rows", "2147483648", "2147483647"}},
        {COO "1 99999999999999999999999999 0\n", TESS_OUT_OF_RANGE, 2, {"columns"}},
        {COO "2 2 18446744073709551615\n", TESS_OUT_OF_RANGE, 2, {"entries", "18446744073709551615"}},
        {COO "2 2 9223372036854775808\n", TESS_OUT_OF_RANGE, 2, {"entries"}},
        {COO "2 2 9223372036854775807\n1 1 1\n", TESS_PARSE, 2, {"9223372036854775807 entries", "can hold"}},
        {COO "2 2 1000000\n1 1 1\n", TESS_PARSE, 2, {"1000000 entries", "can hold"}},
        {SYM "2 3 1\n1 1 1\n", TESS_PARSE, 2, {"2 by 3", "not square", "symmetric"}},
        {"%%MatrixMarket matrix array real skew-symmetric\n2 3\n1\n", TESS_PARSE, 2, {"not square", "skew"}},
        {"%%MatrixMarket matrix array real general\n2 2 4\n1\n", TESS_PARSE, 2, {"3 words", "rows and columns"}},
        {"%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n", TESS_PARSE, 2, {"can hold"}},
    };

    (void)state;
    CHECK_ALL(list);
}

static void test_entries(void **state)
{
    const refusal list[] = {
        {COO "2 2 2\n1 1 1\nx 1 1\n", TESS_PARSE, 4, {"'x'", "row index"}},
        {COO "2 2 2\n1 1 1\n-1 1 1\n", TESS_PARSE, 4, {"'-1'", "row index"}},
        {COO "2 2 2\n1 1 1\n1.5 1 1\n", TESS_PARSE, 4, {"'1.5'", "row index"}},
        {COO "2 2 2\n1 1 1\n1 y 1\n", TESS_PARSE, 4, {"'y'", "column index"}},
        {COO "2 2 2\n1 1 1\n1\n", TESS_PARSE, 4, {"line ends", "column index"}},
        {COO "2 2 2\n1 1 1\n1 2\n", TESS_PARSE, 4, {"line ends", "number"}},
        {COO "2 2 2\r\n1 1 1\r\n1 2\r\n", TESS_PARSE, 4, {"line ends", "number"}},
        {COO "2 2 2\n1 1 1\n1 2 abc\n", TESS_PARSE, 4, {"'abc'", "number"}},
        {COO "2 2 2\n1 1 1\n1 2 1.5x\n", TESS_PARSE, 4, {"'1.5x'", "number"}},
        {COO "2 2 2\n1 1 1\n1 2 0x10\n", TESS_PARSE, 4, {"'0x10'", "number"}},
        {COO "2 2 2\n1 1 1\n1 2 1,5\n", TESS_PARSE, 4, {"'1,5'", "number"}},
        {COO "2 2 2\n1 1 1\n1 2 1e\n", TESS_PARSE, 4, {"'1e'", "number"}},
        {COO "2 2 2\n1 1 1\n1 2 3 4\n", TESS_PARSE, 4, {"'4'", "end of the line"}},
        {COO "2 2 2\n1 1 1\n% note\n1 2 3\n", TESS_PARSE, 4, {"'%'", "row index"}},
        {COO "2 2 2\n1 1 1\n0 1 1\n", TESS_OUT_OF_RANGE, 4, {"row index '0'", "1 to 2"}},
        {COO "2 2 2\n1 1 1\n3 1 1\n", TESS_OUT_OF_RANGE, 4, {"row index '3'", "1 to 2"}},
        {COO "2 9 2\n1 1 1\n1 10 1\n", TESS_OUT_OF_RANGE, 4, {"column index '10'", "1 to 9"}},
        {COO "2 2 2\n1 1 1\n1 99999999999999999999999 1\n", TESS_OUT_OF_RANGE, 4, {"column index '999"}},
        {COO "2 2 2\n1 1 1\n4294967297 1 1\n", TESS_OUT_OF_RANGE, 4, {"row index '4294967297'"}},
        {COO "0 0 1\n1 1 1\n", TESS_OUT_OF_RANGE, 3, {"row index '1'"}},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", TESS_PARSE, 3, {"'1.5'", "an integer"}},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 inf\n", TESS_PARSE, 3, {"'inf'", "an integer"}},
        {"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n", TESS_PARSE, 3, {"'1'", "end of the line"}},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 2 5\n",
         TESS_PARSE,
         4,
         {"'5'", "diagonal"}},
        {"%%MatrixMarket matrix array real general\n2 1\n1\n2 3\n", TESS_PARSE, 4, {"'3'", "end of the line"}},
        {SYM "2 2 3\n1 1 1\n2 1 5\n1 2 6\n", TESS_PARSE, 2, {"above", "do not agree"}},
        {SYM "2 2 2\n2 1 1\n1 2 1.0000000000000002\n", TESS_PARSE, 2, {"above", "do not agree"}},
        {SYM "2 2 2\n2 1 1e308\n1 2 1.2e308\n", TESS_PARSE, 2, {"above", "do not agree"}},
        {SYM "3 3 3\n2 1 5\n1 2 5\n3 1 7\n", TESS_PARSE, 2, {"above", "do not agree"}},
        {SYM "2 2 4\n2 1 5\n2 1 5\n1 2 5\n1 2 5\n", TESS_PARSE, 2, {"above", "do not agree"}},
    };

    (void)state;
    CHECK_ALL(list);
}

static void test_counts(void **state)
{
    const refusal list[] = {
        {COO "2 2 3\n1 1 1\n2 2 1\n", TESS_PARSE, 4, {"after 2 of the 3 entries", "line 2"}},
        {COO "% c\n2 2 1\n", TESS_PARSE, 3, {"after 0 of the 1 entry that", "line 3"}},
        {COO "2 2 1\n\n1 1 1\n\n2 2 1\n", TESS_PARSE, 6, {"'2' follows the last entry", "line 2 announces 1"}},
        {COO "2 2 0\n1 1 1\n", TESS_PARSE, 3, {"'1' follows the last entry"}},
        {"%%MatrixMarket matrix array real general\n2 1\n1\n2\n3\n", TESS_PARSE, 5, {"'3' follows the last entry"}},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", TESS_PARSE, 5, {"after 3 of the 4 entries"}},
    };

    (void)state;
    CHECK_ALL(list);
}

/* Long and unprintable texts are quoted short and clean. */
static void test_quotes(void **state)
{
    char text[4096];
    size_t length = (size_t)sprintf(text, "%s1 1 1\n1 1 \x01\x7f\xc3", COO);
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    const char *message = tess_context_last_error(ctx)->message;

    (void)state;
    memset(text + length, 'z', 2000);
    assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "the-file", text, length + 2000, &m, NULL));
    assert_non_null(strstr(message, "'???zzz"));
    assert_non_null(strstr(message, "z...', but a number was expected"));
    assert_true(strlen(message) < 160);
    tess_context_destroy(ctx);
}

/* The line is right in the midst of a long file, for any number of threads; the first error is the one reported. */
static void test_line_in_a_large_file(void **state)
{
    enum { ROWS = 400000, BAD = 345678 };
    char *text = test_allocate(ROWS * 20 + 200, 1);
    size_t length = (size_t)sprintf(text, "%s%% c\n%d 1 %d\n", COO, ROWS, ROWS);

    (void)state;
    for (int i = 1; i <= ROWS; i++) {
        length += (size_t)sprintf(text + length, i == BAD || i == BAD + 9000 ? "%d 1 ?\n" : "%d 1 5\n", i);
    }
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        tess_matrix *m = NULL;

        assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "the-file", text, length, &m, NULL));
        assert_int_equal(tess_context_last_error(ctx)->line, BAD + 3);
        tess_context_destroy(ctx);
    }
    free(text);
}

/* Sizes that the header claims are not allocated before the file confirms them. */
static void test_claims_are_not_allocated(void **state)
{
    const char *texts[] = {COO "2 2 2000000000\n1 1 1\n", "%%MatrixMarket matrix array real general\n60000 60000\n1\n"};
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
    for (size_t i = 0; i < 2; i++) {
        int64_t before = tess_context_peak_bytes(ctx);
        tess_matrix *m = NULL;

        assert_fails(ctx, TESS_PARSE, tess_matrix_read_memory(ctx, "the-file", texts[i], strlen(texts[i]), &m, NULL));
        assert_true(tess_context_peak_bytes(ctx) - before < 10000);
    }
    tess_context_destroy(ctx);
    assert_int_equal(h.live, 0);
}

static void test_damaged_gzip(void **state)
{
    /* a gzip header and then nothing; a gzip header and then nonsense */
    const unsigned char cut[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    const unsigned char nonsense[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff};
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;

    (void)state;
    assert_fails(ctx, TESS_CORRUPT, tess_matrix_read_memory(ctx, "the-file", cut, sizeof cut, &m, NULL));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "too early"));
    assert_fails(ctx, TESS_CORRUPT, tess_matrix_read_memory(ctx, "the-file", nonsense, sizeof nonsense, &m, NULL));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "damaged"));
    tess_context_destroy(ctx);
}

static void test_files_that_cannot_be_read(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL;
    tess_vector *v = NULL;

    (void)state;
    assert_fails(ctx, TESS_NOT_FOUND, tess_matrix_read(ctx, "/no/such/file.mtx", &m, NULL));
    assert_string_equal(tess_context_last_error(ctx)->file, "/no/such/file.mtx");
    assert_fails(ctx, TESS_NOT_FOUND, tess_vector_read(ctx, "/no/such/file.mtx", &v));
    assert_fails(ctx, TESS_IO, tess_matrix_read(ctx, "/tmp", &m, NULL));
    assert_null(m);
    assert_null(v);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_banner),
        cmocka_unit_test(test_size_line),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_line_in_a_large_file),
        cmocka_unit_test(test_claims_are_not_allocated),
        cmocka_unit_test(test_damaged_gzip),
        cmocka_unit_test(test_files_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
