/* SPDX-License-Identifier: Apache-2.0 */
/* Text of other programs, and what is refused in it: Harwell-Boeing, AmgX, hypre, Octave,
   columns of numbers; and names. */
#include <stdlib.h>
#include <unistd.h>

#include <tessera/io.h>

#include "io/readers.h"
#include "support/bytes.h"
#include "support/test.h"

/* A file, what its reader says, and words of the message or of the kind. */
typedef struct text_case {
    const char *name, *text;
    tess_status status;
    const char *words;
    int64_t nonzeros; /* of what is read */
} text_case;

static void check_case(tess_context *ctx, const text_case *c)
{
    tess_mtx_info info = {.size = sizeof info};
    tess_matrix *a = NULL;
    const tess_status status = tess_matrix_read_memory(ctx, c->name, c->text, strlen(c->text), &a, &info);
    const char *said = status == TESS_SUCCESS ? info.kind : tess_context_last_error(ctx)->message;

    if (status != c->status || !strstr(said, c->words)) {
        fail_msg("%.60s...: status %d, '%s'; expected status %d, '%s'", c->text, (int)status, said, (int)c->status,
                 c->words);
    }
    if (status == TESS_SUCCESS) { assert_int_equal(info.nonzeros, c->nonzeros); }
    tess_matrix_destroy(a);
}

static void check_cases(const text_case *cases, size_t count)
{
    tess_context *ctx = open_cpu(1);

    for (size_t k = 0; k < count; k++) {
        check_case(ctx, &cases[k]);
    }
    tess_context_destroy(ctx);
}

#define CHECK(cases) check_cases(cases, sizeof cases / sizeof cases[0])

/* Reads a text as vectors by the path that it gets: as many columns, and the first and the last value. */
static void check_array(const char *end, const char *text, int64_t nrows, int64_t ncols, double first, double last)
{
    char path[80];
    double *values = NULL;
    int64_t sizes[2] = {0, 0};
    tess_context *ctx = open_cpu(1);

    snprintf(path, sizeof path, "/tmp/tessera-test-%ld%s", (long)getpid(), end);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const tess_status status = tess_array_read(ctx, path, &values, &sizes[0], &sizes[1]);
    unlink(path);
    if (nrows < 0) {
        assert_int_not_equal(status, TESS_SUCCESS);
        assert_null(values);
    } else {
        assert_ok(ctx, status);
        assert_true(sizes[0] == nrows && sizes[1] == ncols);
        assert_true(values[0] == first && values[nrows * ncols - 1] == last);
    }
    tess_array_free(ctx, values, sizes[0], sizes[1]);
    tess_context_destroy(ctx);
}

/* ---- Harwell-Boeing ---- */

#define HB(type, sizes, formats) "title\n 4 1 1 1\n" type sizes "\n" formats "\n"
#define FORMS "(6I4)(6I4)(3E9.1)"

static void test_harwell_boeing(void **state)
{
    static const text_case cases[] = {
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   3   4\n   1   2   2\n   1.0     2.0      3.0\n", TESS_SUCCESS, "RUA",
         3},
        {"A", HB("rsa", " 2 2 2 0", FORMS) "   1   3   3\n   1   2\n      1.0      2.0\n", TESS_SUCCESS, "RSA", 3},
        {"A", HB("RZA", " 2 2 1 0", FORMS) "   1   2   2\n   2\n      1.0\n", TESS_SUCCESS, "RZA", 2},
        {"A", HB("RHA", " 2 2 1 0", FORMS) "   1   2   2\n   2\n      1.0\n", TESS_SUCCESS, "RHA", 2},
        {"A", HB("CHA", " 2 2 1 0", FORMS) "   1   2   2\n   2\n      1.0      2.0\n", TESS_SUCCESS, "CHA", 2},
        {"A", HB("PUA", " 2 2 2 0", "(6I4)(6I4)") "   1   2   3\n   2   1\n", TESS_SUCCESS, "PUA", 2},
        {"A", HB("IUA", " 2 2 2 0", "(6I4)(6I4)(6I3)") "   1   2   3\n   2   1\n  7 -3\n", TESS_SUCCESS, "IUA", 2},
        /* no point, an exponent without its letter, numbers that touch */
        {"A", HB("RUA", " 2 2 2 0", "(6I4)(6I4)(2F5.2)") "   1   2   3\n   2   1\n  123-1.50\n", TESS_SUCCESS, "RUA",
         2},
        {"A", HB("RUA", " 2 2 2 0", "(6I4)(6I4)(2D8.1)") "   1   2   3\n   2   1\n 1.5+010-2.5-100\n", TESS_SUCCESS,
         "RUA", 2},
        /* elements of an unassembled matrix: the sum of two triangles, 3 unknowns */
        {"A", HB("RSE", " 3 2 4 6", FORMS) "   1   3   5\n   1   2   2   3\n 1. 2. 3.\n 4. 5. 6.\n", TESS_SUCCESS,
         "RSE", 7},
        {"A", HB("RUE", " 3 1 2 4", "(6I4)(6I4)(4F3.0)") "   1   3\n   1   3\n 1. 2. 3. 4.\n", TESS_SUCCESS, "RUE", 4},
        {"A", HB("PSE", " 3 2 4 6", FORMS) "   1\n", TESS_UNSUPPORTED, "pattern of an unassembled", 0},
        {"A", HB("RSA", " 2 3 2 0", FORMS) "   1\n", TESS_PARSE, "square", 0},
        {"A", HB("RUA", " 2 2", FORMS) "   1\n", TESS_PARSE, "another number", 0},
        {"A", HB("RUA", " 2 2 -3 0", FORMS) "   1\n", TESS_PARSE, "a count of 0 or more", 0},
        {"A", HB("RUA", " 2 2 99999 0", FORMS) "   1\n", TESS_PARSE, "as many numbers as the head says", 0},
        {"A", HB("RUA", " 9999999999 2 1 0", FORMS) "   1\n", TESS_OUT_OF_RANGE, "9999999999", 0},
        {"A", HB("RUA", " 2 2 3 0", "(6I4)(6X4)(3E9.1)") "   1\n", TESS_PARSE, "a format such as", 0},
        {"A", HB("RUA", " 2 2 3 0", "(6I4)(6I") "   1\n", TESS_PARSE, "in the fourth line", 0},
        {"A", HB("RUA", " 2 2 3 0", "(6I4)(6I4)(3E99.1)") "   1\n", TESS_PARSE, "a format such as", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   3   2\n", TESS_OUT_OF_RANGE, "pointer of a column is 2", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   2   3   4\n", TESS_OUT_OF_RANGE, "pointer of a column is 2", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   x   4\n", TESS_PARSE, "'x'", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   3   4\n   1   2\n", TESS_PARSE, "the index of a row", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   3   4\n   1   2   9\n", TESS_OUT_OF_RANGE, "index of a row is 9", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   3   4\n   1   2   2\n", TESS_PARSE, "the file ends", 0},
        {"A", HB("RUA", " 2 2 3 0", FORMS) "   1   3   4\n   1   2   2\n 1.0\n", TESS_PARSE, "a value was expected", 0},
        {"A", HB("RUA", " 2 2 3 0", "(6I4)(6I4)") "   1   3   4\n   1   2   2\n", TESS_PARSE, "a format for this part",
         0},
        {"A", "title\n 4 1 1 1 1\nRUA 2 2 3 0\n" FORMS "\n", TESS_PARSE, "type of the right-hand sides", 0},
        {"A", "title\n 4 1 1 1 1\nRUA 2 2 3 0\n" FORMS "\nFULL 1\n", TESS_PARSE, "such as F", 0},
    };
    static const char head[] = "title\n 4 1 1 1 1\nRUA           2 2 2 0\n(6I4)(6I4)(3E9.1)(3E9.1)\n";
    static const char body[] = "   1   2   3\n   2   1\n      1.0      2.0\n";
    char text[400];

    (void)state;
    CHECK(cases);
    snprintf(text, sizeof text, "%sF 2 0\n%s      5.0      6.0      7.0\n      8.0\n", head, body);
    check_array(".rua", text, 2, 2, 5.0, 8.0);
    snprintf(text, sizeof text, "%sM 2 2\n%s   1   2   3\n   2   1\n      5.0      6.0\n", head, body);
    check_array(".rua", text, 2, 2, 0.0, 0.0);
    snprintf(text, sizeof text, "%sM 2 2\n%s   1   2   3\n   2   9\n", head, body);
    check_array(".rua", text, -1, 0, 0.0, 0.0);
    snprintf(text, sizeof text, "%sF 2 0\n%s      5.0      6.0\n", head, body);
    check_array(".rua", text, -1, 0, 0.0, 0.0);
    snprintf(text, sizeof text, "%sF 200 0\n%s      5.0      6.0\n", head, body);
    check_array(".rua", text, -1, 0, 0.0, 0.0);
    check_array(".rua", HB("RUA", " 2 2 3 0", FORMS) "   1   3   4\n   1   2   2\n 1. 2. 3.\n", -1, 0, 0.0, 0.0);
    /* a vector that is given as a matrix of one column */
    check_array(".rb", HB("RRA", " 3 1 2 0", FORMS) "   1   3\n   1   3\n      7.0      8.0\n", 3, 1, 7.0, 8.0);
}

/* ---- AmgX ---- */

#define AMGX(words) "%%MatrixMarket matrix coordinate real general\n%%AMGX " words "\n2 2 2\n"

static void test_amgx(void **state)
{
    static const text_case cases[] = {
        {"A", AMGX("sorted") "1 1 2\n2 2 3\n", TESS_SUCCESS, "AmgX", 2},
        {"A", AMGX("1 1 rhs solution") "1 1 2\n2 2 3\n% b\n5 6\n% x\n7\n8\n", TESS_SUCCESS, "right-hand side, solution",
         2},
        {"A", AMGX("base0 diagonal") "0 1 2\n1 0 3\n5\n6\n", TESS_SUCCESS, "AmgX", 4},
        {"A", AMGX("2 diagonal") "1 1 0\n2 2 0\n5 1 1 6\n", TESS_SUCCESS, "AmgX", 4},
        {"A", "%%MatrixMarket matrix coordinate real symmetric\n% c\n%%NVAMG 2 2 diagonal\n2 2 0\n5 1 1 6\n",
         TESS_SUCCESS, "AmgX", 4},
        {"A", "%%MatrixMarket matrix coordinate complex general\n%%AMGX rhs\n1 1 1\n1 1 2 3\n4 5\n", TESS_SUCCESS,
         "AmgX", 1},
        {"A", AMGX("1 1 1") "1 1 2\n2 2 3\n", TESS_PARSE, "'1'", 0},
        {"A", AMGX("shiny") "1 1 2\n2 2 3\n", TESS_PARSE, "'shiny'", 0},
        {"A", AMGX("3") "1 1 2\n2 2 3\n", TESS_PARSE, "do not divide", 0},
        {"A", AMGX("rhs") "1 1 2\n2 2 3\n5\n", TESS_PARSE, "the file ends", 0},
        {"A", AMGX("rhs") "1 1 2\n2 2 3\n5\nsix\n", TESS_PARSE, "'six'", 0},
        {"A", AMGX("rhs") "1 1 2\n2 2 3\n5 6 7 8\n", TESS_PARSE, "the end of the file", 0},
        {"A", AMGX("rhs") "1 1 2\n", TESS_PARSE, "1 of the 2 entries", 0},
        {"A", AMGX("base0") "0 1 2\n2 0 3\n", TESS_OUT_OF_RANGE, "0 to 1", 0},
        {"A", "%%MatrixMarket matrix coordinate pattern general\n%%AMGX rhs\n1 1 1\n1 1\n1\n", TESS_PARSE,
         "entries with", 0},
        {"A", "%%MatrixMarket matrix coordinate real general\n%%AMGX diagonal\n1 2 1\n1 1 1\n1\n", TESS_PARSE, "square",
         0},
    };

    (void)state;
    CHECK(cases);
    check_array(".mtx", AMGX("rhs") "1 1 2\n2 2 3\n5\n6\n", 2, 1, 5.0, 6.0);
    check_array(".mtx", AMGX("rhs solution") "1 1 2\n2 2 3\n2\n5\n6\n2\n7\n8", 2, 1, 5.0, 6.0);
    check_array(".mtx", AMGX("sorted") "1 1 2\n2 2 3\n", -1, 0, 0.0, 0.0);
    check_array(".mtx", AMGX("rhs") "1 1 2\n2 2 3\n5\n", -1, 0, 0.0, 0.0);
}

/* ---- hypre ---- */

static void test_hypre(void **state)
{
    static const text_case cases[] = {
        {"A.00000", "0 1 0 1\n0 0 2\n1 1 3e0\n\n", TESS_SUCCESS, "hypre", 2},
        {"A.00000", "0 1\n0 2\n0 0 2\n1 2 3\n", TESS_SUCCESS, "hypre", 2},
        {"A.00000", "0 1 0 1\n0 x 2\n", TESS_PARSE, "a column", 0},
        {"A.00000", "0 1 0 1\nx 0 2\n", TESS_PARSE, "a row", 0},
        {"A.00000", "0 1 0 1\n0 0 x\n", TESS_PARSE, "a number", 0},
        {"A.00000", "0 1 0 1\n0 0 2 , 1\n", TESS_PARSE, "the end of the line", 0},
        {"A.00000", "0 1 0 1\n2 0 2\n", TESS_OUT_OF_RANGE, "row 2", 0},
        {"A.00000", "0 1 0 1\n1 -1 2\n", TESS_OUT_OF_RANGE, "column -1", 0},
        {"A.00000", "0 1 0 1\n1 7 2\n", TESS_OUT_OF_RANGE, "column 7", 0},
        {"A.00000", "3 1 0 1\n", TESS_PARSE, "a last one behind it", 0},
        {"A.00000", "2 3 0 1\n2 0 1\n", TESS_PARSE, "begins with row 2", 0},
        {"A.00000", "0 1\n0 5\n1 6\n", TESS_PARSE, "a matrix was expected", 0},
        {"A.00000", "0 2000000000 0 1\n", TESS_OUT_OF_RANGE, "nearly all would be empty", 0},
    };

    (void)state;
    CHECK(cases);
    check_array(".00000", "0 2\n0 5\n2 6.5\n", 3, 1, 5.0, 6.5);
    check_array(".00000", "0 1 0 1\n0 0 1\n", -1, 0, 0.0, 0.0);
    check_array(".00001", "2 3\n2 5\n", -1, 0, 0.0, 0.0);
}

/* Files of other processes lie beside the first one, and must go on where it ends. */
static void test_hypre_processes(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        char path[80];
        tess_matrix *a = NULL;

        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "/tmp/tessera-test-%ld.0000%d", (long)getpid(), k);
            FILE *file = fopen(path, "w");
            assert_non_null(file);
            fprintf(file, "%d %d %d %d\n%d 0 1.5\n", k + wrong * k, k + wrong * k, k, k, k + wrong * k);
            fclose(file);
        }
        path[strlen(path) - 1] = '0';
        const tess_status status = tess_matrix_read(ctx, path, &a, NULL);
        unlink(path);
        path[strlen(path) - 1] = '1';
        unlink(path);
        assert_int_equal(status, wrong ? TESS_PARSE : TESS_SUCCESS);
        if (!wrong) { assert_true(tess_matrix_nrows(a) == 2 && tess_matrix_nnz(a) == 2); }
        tess_matrix_destroy(a);
    }
    tess_context_destroy(ctx);
}

/* ---- columns of numbers ---- */

static void test_plain(void **state)
{
    static const text_case cases[] = {
        {"A.txt", "# comment\n1 1 2\n2 2 -3\n", TESS_SUCCESS, "triplets from 1", 2},
        {"A.ijv", "0 0 2\n0 2 1\n1 1 -3\n", TESS_SUCCESS, "triplets from 0", 3},
        {"A.csv", "row,col,value\n1,1,2\n2,2,-3\n", TESS_SUCCESS, "triplets from 1", 2},
        {"A.csv.gz", "1;2\n0;4\n", TESS_SUCCESS, "dense", 3},
        {"A.zip(A.dat)", "1 2\n3 4\n", TESS_SUCCESS, "dense", 4},
        {"A.tsv", "1.5\t1\t2\n1\t2\t3\n", TESS_SUCCESS, "dense", 6},
        {"A.txt", "1 2\n3\n", TESS_PARSE, "the line has 1 number", 0},
        {"A.txt", "1 2\n3 x\n", TESS_PARSE, "'x'", 0},
        {"A.txt", "a b\nc d\n1 2\n", TESS_PARSE, "banner", 0},
        {"A.txt", "1 1 1\n2000000000 1 1\n", TESS_OUT_OF_RANGE, "nearly all would be empty", 0},
        {"A.txt", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", TESS_SUCCESS, "Matrix Market", 1},
        {"A.mtx", "1 1 2\n2 2 -3\n", TESS_PARSE, "banner", 0},
    };

    (void)state;
    CHECK(cases);
    check_array(".txt", "1\n2\n% half\n3.5\n", 3, 1, 1.0, 3.5);
    check_array(".csv", "b1,b2\r\n1,2\r\n3,4\r\n", 2, 2, 1.0, 4.0);
    check_array(".txt", "1\ntwo\n", -1, 0, 0.0, 0.0);
}

/* ---- Octave ---- */

#define OCTAVE(name, type) "# name: " name "\n# type: " type "\n"
#define SIZES(rows, columns) "# rows: " rows "\n# columns: " columns "\n"
#define SPARSE(nnz) OCTAVE("A", "sparse matrix") "# nnz: " nnz "\n" SIZES("2", "3")
#define OTHER OCTAVE("A", "scalar") "2\n"

static void test_octave(void **state)
{
    static const text_case cases[] = {
        {"A", SPARSE("2") "1 1 4\n2 3 NA\n\n\n", TESS_SUCCESS, "Octave text, sparse", 2},
        {"A.txt", "# Created by Octave 9.1\n" SPARSE("1") "1 1 -Inf\n", TESS_SUCCESS, "Octave text, sparse", 1},
        {"A", OCTAVE("A", "matrix") SIZES("2", "2") " 1 0\n 3 4\n", TESS_SUCCESS, "Octave text, dense", 3},
        {"A", OCTAVE("A", "matrix") SIZES("0", "3") "\n\n", TESS_SUCCESS, "Octave text, dense", 0},
        {"A", OCTAVE("A", "global complex matrix") SIZES("1", "2") " (1,2) (-0,NaN)\n", TESS_SUCCESS, "dense", 2},
        {"A", OCTAVE("A", "uint8 matrix") "# ndims: 2\n 1 2\n 7\n 8\n", TESS_SUCCESS, "dense", 2},
        {"A", OCTAVE("A", "float complex diagonal matrix") SIZES("2", "3") "(1,2)\n(3,0)\n", TESS_SUCCESS, "sparse", 2},
        {"A", OCTAVE("A", "permutation matrix") "# size: 2\n# orient: r\n2\n1\n", TESS_SUCCESS, "sparse", 2},
        {"A", OCTAVE("A", "bool") "1\n", TESS_SUCCESS, "dense", 1},
        /* what is passed over, and does not begin a variable though it looks so */
        {"A", OCTAVE("t", "string") "# elements: 1\n# length: 30\n# name: B\n# type: scalar\n55555\n\n" OTHER,
         TESS_SUCCESS, "dense", 1},
        {"A", OCTAVE("t", "string") "# ndims: 3\n 1 1 2\nab\n" OTHER, TESS_SUCCESS, "dense", 1},
        {"A", OCTAVE("n", "matrix") "# ndims: 3\n 1 1 2\n 1\n 2\n" OTHER, TESS_SUCCESS, "dense", 1},
        {"A", OCTAVE("r", "double_range") "# base, limit, increment\n1 5 1\n" OTHER, TESS_SUCCESS, "dense", 1},
        {"A", OCTAVE("x", "strange diagonal matrix") SIZES("9", "9") OTHER, TESS_SUCCESS, "dense", 1},
        {"A", OCTAVE("i", "lazy_index") OCTAVE("index_value", "matrix") SIZES("1", "1") " 2\n\n" OTHER, TESS_SUCCESS,
         "dense", 1},
        {"A", OCTAVE("c", "cell") SIZES("1", "1") OCTAVE("A", "scalar") "2\n\n" OTHER, TESS_SUCCESS, "dense", 1},
        /* errors, with the line */
        {"A", SPARSE("2") "1 1 4\n", TESS_PARSE, "the file ends, but a row was expected", 0},
        {"A", SPARSE("1") "0 1 4\n", TESS_OUT_OF_RANGE, "a row is 0; 1 to 2 were expected", 0},
        {"A", SPARSE("1") "1 4 4\n", TESS_OUT_OF_RANGE, "a column is 4; 1 to 3 were expected", 0},
        {"A", SPARSE("1") "1 1.5 4\n", TESS_PARSE, "found '1.5', but a column", 0},
        {"A", SPARSE("1") "1 1 four\n", TESS_PARSE, "found 'four', but a number", 0},
        {"A", SPARSE("-1"), TESS_PARSE, "found '-1', but a size", 0},
        {"A", OCTAVE("A", "complex scalar") "(1 2)\n", TESS_PARSE, "found '(1'", 0},
        {"A", OCTAVE("A", "complex scalar") "(,)\n", TESS_PARSE, "found '(,)'", 0},
        {"A", OCTAVE("A", "complex scalar") "1,2)\n", TESS_PARSE, "found '1,2)'", 0},
        {"A", OCTAVE("A", "complex scalar") "()\n", TESS_PARSE, "found '()'", 0},
        {"A", OCTAVE("A", "matrix") SIZES("2", "2") " 1 2\n 3\n", TESS_PARSE, "the file ends", 0},
        {"A", OCTAVE("A", "matrix") SIZES("99999", "99999") " 1 2\n 3\n", TESS_PARSE, "can hold", 0},
        {"A", OCTAVE("A", "diagonal matrix") SIZES("3000000000", "1") " 1\n", TESS_OUT_OF_RANGE, "3000000000 rows", 0},
        {"A", OCTAVE("A", "diagonal matrix") SIZES("2000000000", "1") " 1\n", TESS_OUT_OF_RANGE, "nearly all", 0},
        {"A", OCTAVE("A", "matrix") "# columns: 2\n", TESS_PARSE, "'# ndims: ...'", 0},
        {"A", OCTAVE("A", "matrix") "# ndims: 2\n 1 x\n", TESS_PARSE, "the size of an array", 0},
        {"A", OCTAVE("t", "string") "# elements: 1\n# length: 300\nabc\n", TESS_PARSE, "text as long as it says", 0},
        {"A", OCTAVE("t", "string") "# elements: 1\n# length: 3\nabc\n", TESS_NOT_FOUND, "0 variables of numbers", 0},
        {"A", OCTAVE("t", "string") "# elements: 9\n# length: 3\nabc\n", TESS_PARSE, "'# length: ...'", 0},
        {"A", "# Created by Octave 7.3.0\n", TESS_NOT_FOUND, "0 variables of numbers", 0},
    };
    /* vectors: a row, a sparse one, and a field */
    static const char field[] =
        "# Created by Octave 7.3.0\n" OCTAVE("s", "struct") "# ndims: 2\n 1 1\n# length: 1\n" OCTAVE("b", "matrix")
            SIZES("1", "3") " 1 2 3\n";

    (void)state;
    CHECK(cases);
    check_array(".oct", OCTAVE("b", "matrix") SIZES("1", "3") " 1 2 3\n", 3, 1, 1.0, 3.0);
    check_array(".oct", OCTAVE("b", "sparse matrix") "# nnz: 1\n" SIZES("3", "1") "3 1 5\n", 3, 1, 0.0, 5.0);
    check_array(".oct", field, 3, 1, 1.0, 3.0);
    check_array(".oct", OCTAVE("b", "matrix") SIZES("1", "3") " 1 2\n", -1, 0, 0.0, 0.0);
}

/* Structures within one another: as many as are read, and one more. */
static void test_octave_nesting(void **state)
{
    for (int depth = 16; depth <= 17; depth++) {
        char text[4096] = "# Created by Octave 7.3.0\n";
        tess_context *ctx = open_cpu(1);
        tess_matrix *a = NULL;

        for (int k = 0; k < depth; k++) {
            strcat(text, OCTAVE("s", "scalar struct") "# ndims: 2\n 1 1\n# length: 1\n");
        }
        strcat(text, OCTAVE("A", "scalar") "1\n" OCTAVE("A", "scalar") "2\n");
        const tess_status status = tess_matrix_read_memory(ctx, "A", text, strlen(text), &a, NULL);
        if (depth == 16) {
            assert_ok(ctx, status);
            double value = 0.0;
            int64_t row_ptr[2];
            int32_t col = 0;
            assert_int_equal(tess_matrix_get_csr(a, row_ptr, &col, &value), TESS_SUCCESS);
            assert_true(value == 2.0); /* the variable, not the field */
        } else {
            assert_int_equal(status, TESS_UNSUPPORTED);
        }
        tess_matrix_destroy(a);
        tess_context_destroy(ctx);
    }
    (void)state;
}

/* ---- strangers ---- */

static void test_unknown(void **state)
{
    static const char *const starts[] = {"PAR1",
                                         "ARROW1",
                                         "7z\xbc\xaf\x27\x1c",
                                         "Rar!\x1a\x07",
                                         "RDX3\n",
                                         "\x80\4",
                                         "SQLite format 3",
                                         "CDF\1",
                                         "%PDF",
                                         "\x89PNG",
                                         "<!DOCTYPE",
                                         "<html",
                                         "version https://git-lfs",
                                         "Octave-1-L",
                                         "#  HashMatrix Matrix (COO)"};
    tess_context *ctx = open_cpu(1);
    tess_matrix *a = NULL;

    (void)state;
    for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++) {
        assert_fails(ctx, TESS_UNSUPPORTED,
                     tess_matrix_read_memory(ctx, "A.txt", starts[k], strlen(starts[k]), &a, NULL));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "which this library does not read"));
        check_array(".txt", starts[k], -1, 0, 0.0, 0.0);
    }
    tess_context_destroy(ctx);
}

/* A part that the file does not have, and a file that has no parts. */
static void test_parts_by_name(void **state)
{
    static const char *const paths[] = {"/M.aij.petsc:A", "/M.scipy5.mat:zz",   "/M.hypre.00000:A",
                                        "/gone.mat:A",    "/M.scipy4.mat:note", "/M.octave.txt:zz"};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t k = 0; k < sizeof paths / sizeof paths[0]; k++) {
        char path[300];
        tess_matrix *a = NULL;
        double *values = NULL;
        int64_t n = 0, columns = 0;

        snprintf(path, sizeof path, TESS_TEST_DIR "/files/others%s", paths[k]);
        assert_fails(ctx, TESS_NOT_FOUND, tess_matrix_read(ctx, path, &a, NULL));
        assert_fails(ctx, TESS_NOT_FOUND, tess_array_read(ctx, path, &values, &n, &columns));
    }
    tess_context_destroy(ctx);
}

/* A field whose name the list of variables cannot give back: once read as a matrix without rows. */
static void test_field_without_name(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_matrix *a = NULL;

    (void)state;
    assert_fails(ctx, TESS_PARSE, tess_matrix_read(ctx, TESS_TEST_DIR "/fuzz/corpus/unnamed_field.mat", &a, NULL));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "no name of its own"));
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_octave),         cmocka_unit_test(test_octave_nesting),
        cmocka_unit_test(test_harwell_boeing), cmocka_unit_test(test_amgx),
        cmocka_unit_test(test_hypre),          cmocka_unit_test(test_hypre_processes),
        cmocka_unit_test(test_plain),          cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_parts_by_name),  cmocka_unit_test(test_field_without_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
