/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that other programs wrote (tests/files/others, by scripts/files_of_others.sh): each is read right; cut
 * off at any byte, with any byte changed, or without memory for a part of it, it is refused or read, and nothing is
 * lost.
 */
#include <dirent.h>
#include <unistd.h>
#include <zlib.h>

#include <tessera/io.h>

#include "io/readers.h"
#include "support/heap.h"
#include "support/test.h"

enum { LARGEST = 1 << 14, FILES_MOST = 96, NAME_BYTES = 300 };

typedef struct other_file {
    char name[NAME_BYTES], path[2 * NAME_BYTES];
    unsigned char bytes[LARGEST];
    size_t count;
} other_file;

static other_file files[FILES_MOST];
static int file_count;

/* Entry (i, j) of what the letter in front of a name stands for. */
static double expected_entry(char letter, int i, int j)
{
    static const double m[4][4] = {{4, -1, 0, 0.5}, {0, 3, 0, 0}, {2, 0, 5, 0}, {0, 0, -1.5, 6}};
    static const double u[2][2] = {{1, 2}, {3, 4}};

    switch (letter) {
    case 'S': return (i == j ? 8.0 : 0.0) + 1.0 / (double)(1 << (i + j));
    case 'U': return u[i][j];
    default: return m[i][j];
    }
}

/* What is in a compressed file, as another file: damage to it is not to the compression. */
static void load_contents(const other_file *packed)
{
    other_file *f = &files[file_count];
    gzFile file = gzopen(packed->path, "rb");

    if (!file || file_count == FILES_MOST) { return; }
    *f = *packed;
    f->name[strlen(f->name) - 3] = '\0';
    f->count = (size_t)gzread(file, f->bytes, sizeof f->bytes);
    gzclose(file);
    file_count++;
}

static int load_files(void **state)
{
    DIR *folder = opendir(TESS_TEST_DIR "/files/others");

    (void)state;
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        other_file *f = &files[file_count];

        if (entry->d_name[0] == '.' || file_count == FILES_MOST) { continue; }
        snprintf(f->name, sizeof f->name, "%s", entry->d_name);
        snprintf(f->path, sizeof f->path, TESS_TEST_DIR "/files/others/%s", entry->d_name);
        FILE *file = fopen(f->path, "rb");
        if (!file) { return 1; }
        f->count = fread(f->bytes, 1, sizeof f->bytes, file);
        fclose(file);
        file_count++;
        if (strstr(f->name, ".h5.gz") || strstr(f->name, ".mat.gz") || strstr(f->name, ".txt.gz")) { load_contents(f); }
    }
    if (folder) { closedir(folder); }
    return file_count < 50 ? 1 : 0;
}

/* Files of vectors, and further parts of one. */
static bool is_matrix(const other_file *f)
{
    return f->name[0] != 'b' && !strstr(f->name, ".b.0") && !strstr(f->name, ".00001");
}

/* A build without a library says so. */
static bool lacks_library(const tess_context *ctx, tess_status status)
{
    return status == TESS_UNSUPPORTED && strstr(tess_context_last_error(ctx)->message, "this build");
}

static void check_matrix(const other_file *f, const tess_matrix *a)
{
    const int n = f->name[0] == 'U' ? 2 : 4, parts = f->name[0] == 'C' ? 2 : 1;
    int64_t row_ptr[9];
    int32_t col_ind[64];
    double val[64], dense[8][8] = {{0.0}};

    assert_int_equal(tess_matrix_is_complex(a), parts == 2);
    assert_int_equal(tess_matrix_nrows(a), parts * n);
    assert_int_equal(tess_matrix_ncols(a), parts * n);
    assert_true(tess_matrix_nnz(a) <= 64);
    assert_int_equal(tess_matrix_get_csr(a, row_ptr, col_ind, val), TESS_SUCCESS);
    for (int i = 0; i < parts * n; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            dense[i][col_ind[k]] = val[k];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            const double x = expected_entry(f->name[0], i, j);

            if (dense[parts * i][parts * j] != x || (parts == 2 && dense[2 * i + 1][2 * j] != 2.0 * x)) {
                fail_msg("%s: entry (%d, %d) is read wrong", f->name, i, j);
            }
        }
    }
}

static void test_read(void **state)
{
    tess_context *ctx = open_cpu(2);
    tess_mtx_info info = {.size = sizeof info};

    (void)state;
    for (int k = 0; k < file_count; k++) {
        tess_matrix *a = NULL;

        if (!is_matrix(&files[k])) { continue; }
        const tess_status status = tess_matrix_read(ctx, files[k].path, &a, &info);
        if (lacks_library(ctx, status)) { continue; }
        assert_ok(ctx, status);
        check_matrix(&files[k], a);
        assert_true(info.kind[0] != '\0' && info.nrows > 0);
        tess_matrix_destroy(a);
    }
    tess_context_destroy(ctx);
}

/* b = 1, 2, 3, 4, and i b beside a complex matrix. */
static void test_right_hand_sides(void **state)
{
    static const char *const with_vector[] = {".mat",     ".h5",     ".petsc",   ".tar",    ".zip",
                                              ".b.00000", "b.numpy", "M.octave", "C.octave"};
    tess_context *ctx = open_cpu(1);
    int found = 0;

    (void)state;
    for (int k = 0; k < file_count; k++) {
        const int parts = files[k].name[0] == 'C' ? 2 : 1;
        double *values = NULL;
        int64_t nrows = 0, ncols = 0;
        bool wanted = false;

        for (size_t i = 0; i < sizeof with_vector / sizeof with_vector[0]; i++) {
            wanted = wanted || strstr(files[k].name, with_vector[i]);
        }
        if (!wanted) { continue; }
        const tess_status status = tess_array_read(ctx, files[k].path, &values, &nrows, &ncols);
        if (lacks_library(ctx, status)) { continue; }
        assert_ok(ctx, status);
        assert_true(nrows == 4 * parts && ncols == 1);
        for (int i = 0; i < 4; i++) {
            assert_true(values[parts * i + parts - 1] == i + 1.0 && (parts == 1 || values[2 * i] == 0.0));
        }
        tess_array_free(ctx, values, nrows, ncols);
        found++;
    }
    assert_true(found >= 24);
    tess_context_destroy(ctx);
}

/* As a matrix and as a vector; both ways must end well. Returns the status of the matrix. */
static tess_status read_both(tess_context *ctx, const char *name, const unsigned char *bytes, size_t count)
{
    text_source source;
    blob b = {.ctx = ctx};
    file_array table = {.nrows = 0};
    tess_matrix *a = NULL;
    const tess_status status = tess_matrix_read_memory(ctx, name, bytes, count, &a, NULL);

    assert_true((status == TESS_SUCCESS) == (a != NULL));
    if (status != TESS_SUCCESS) { assert_true(tess_context_last_error(ctx)->message[0] != '\0'); }
    tess_matrix_destroy(a);
    if (text_source_open_memory(ctx, name, bytes, count, &source) != TESS_SUCCESS) { return status; }
    const file_reader *reader = tess_find_reader(&source);
    if (reader->array && blob_read(&source, &b) == TESS_SUCCESS) {
        if (reader->array(&b, &table) != TESS_SUCCESS) { assert_null(table.val); }
        file_array_release(ctx, &table);
    }
    blob_release(&b);
    text_source_close(&source);
    return status;
}

/* Large files are mostly of one sort of bytes. */
static size_t step_of(const other_file *f)
{
    return f->count > 2000 ? 5 : f->count > 400 ? 3 : 1;
}

static void test_cut_off(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < file_count; k++) {
        for (size_t count = 0; count < files[k].count; count += step_of(&files[k])) {
            (void)read_both(ctx, files[k].name, files[k].bytes, count);
        }
    }
    tess_context_destroy(ctx);
}

static void test_changed_bytes(void **state)
{
    enum { CHANGES = 6 };
    static const unsigned char changes[CHANGES] = {0xff, 0x01, 0x80, 0x20, 0x06, 0x18};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int k = 0; k < file_count; k++) {
        for (size_t at = 0; at < files[k].count; at += step_of(&files[k])) {
            for (int c = 0; c < CHANGES; c++) {
                files[k].bytes[at] ^= changes[c];
                (void)read_both(ctx, files[k].name, files[k].bytes, files[k].count);
                files[k].bytes[at] ^= changes[c];
            }
        }
    }
    tess_context_destroy(ctx);
}

/* The k-th allocation fails, for each k, until all is read. */
static void test_memory(void **state)
{
    (void)state;
    for (int k = 0; k < file_count; k++) {
        for (int64_t at = 0;; at++) {
            heap h = {.fail_at = -1};
            tess_context_options options;
            tess_context *ctx = NULL;

            tess_context_options_init(&options);
            options.device = TESS_DEVICE_CPU;
            options.host_allocator = heap_allocator(&h);
            assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
            heap_fail_at(&h, at);
            (void)read_both(ctx, files[k].name, files[k].bytes, files[k].count);
            const bool whole = h.calls <= at;
            tess_context_destroy(ctx);
            assert_int_equal(h.live, 0);
            assert_int_equal(h.wrong_releases, 0);
            if (whole || at > 200) { break; }
        }
    }
}

/* ---- Harwell-Boeing, by hand ---- */

#define HB_TITLE "Title                                                                   KEY     \n"
#define HB_COUNTS "             3             1             1             1             0\n"
#define HB_TYPE "RUA                       2             2             2             0\n"
#define HB_FORMATS "(8I10)          (8I10)          (4E20.12)           \n"
#define HB_BODY "         1         2         3\n         1         2\n"
#define HB_VALUES "               1.5E0               2.5E0\n"

/* The text with its first `from` replaced. */
static void replaced(char *to, size_t size, const char *from, const char *by)
{
    static const char text[] = HB_TITLE HB_COUNTS HB_TYPE HB_FORMATS HB_BODY HB_VALUES;
    const char *at = strstr(text, from);

    assert_non_null(at);
    (void)snprintf(to, size, "%.*s%s%s", (int)(at - text), text, by, at + strlen(from));
}

static void test_harwell_boeing(void **state)
{
    static const struct {
        const char *from, *by;
        double value; /* of entry (0, 0); 0: refused */
    } cases[] = {{"RUA", "RUA", 1.5},
                 {"RUA", "rua", 1.5},
                 {"(4E20.12)", "(1P,4E20.12)", 1.5},
                 {"(4E20.12)", "(4D20.12)", 1.5},
                 {"(4E20.12)", "(4F20)", 1.5},
                 {"1.5E0", "1.5D0", 1.5},
                 {"1.5E0", "1.5+0", 1.5},
                 {"1.5E0", "150-2", 1.5e-12}, /* twelve digits are behind a point that is not there */
                 {"  1.5E0", "\t1.5E0 ", 1.5},
                 {"1.5E0", "15.-1", 1.5},
                 {"RUA", "XUA", 0.0},
                 {"RUA", "RXA", 0.0},
                 {"RUA", "RUX", 0.0},
                 {"RUA", "RU ", 0.0},
                 {"RUA", "R1A", 0.0},
                 {"RUA", "   ", 0.0},
                 {"(8I10)", "(8X10)", 0.0},
                 {"(8I10)", "(8I)  ", 0.0},
                 {"(8I10)", "(8I999999999)", 0.0},
                 {"(8I10)", "8I10  ", 0.0},
                 {"(8I10)", "()    ", 0.0},
                 {"(8I10)", "(8)   ", 0.0},
                 {"(4E20.12)", "(4Q20.12)", 0.0},
                 {"1.5E0", "1.5X0", 0.0},
                 {"1.5E0", "     ", 0.0},
                 {"1.5E0", "1.5E ", 0.0},
                 {"         1         2\n", "         1         9\n", 0.0},
                 {"         1         2\n", "         1         x\n", 0.0},
                 {"         1         2         3\n", "         1         3         2\n", 0.0},
                 {"         1         2         3\n", "         0         2         3\n", 0.0},
                 {"         1         2         3\n", "         1         2\n", 0.0},
                 {"2             2             2 ", "2             2            -2 ", 0.0},
                 {"2             2             2 ", "2             2      99999999 ", 0.0},
                 {"2             2             2 ", "2      99999999             2 ", 0.0},
                 {"2             2             2 ", "2             2             x ", 0.0},
                 {"2             2             2 ", "3000000000    2             2 ", 0.0},
                 {"1             0\n", "1             1\n", 0.0},
                 {"3             1             1", "3             1             x", 0.0}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[1024];
        tess_matrix *a = NULL;
        tess_status status = TESS_SUCCESS;

        replaced(text, sizeof text, cases[c].from, cases[c].by);
        status = tess_matrix_read_memory(ctx, "a.rua", text, strlen(text), &a, NULL);
        if ((status == TESS_SUCCESS) != (cases[c].value != 0.0)) {
            fail_msg("%s for %s: %s", cases[c].by, cases[c].from, tess_status_name(status));
        }
        if (status == TESS_SUCCESS) {
            int64_t row_ptr[3];
            int32_t col_ind[2];
            double val[2];

            assert_int_equal(tess_matrix_nnz(a), 2);
            assert_ok(ctx, tess_matrix_get_csr(a, row_ptr, col_ind, val));
            if (val[0] != cases[c].value || val[1] != 2.5) {
                fail_msg("%s for %s: %g", cases[c].by, cases[c].from, val[0]);
            }
        }
        tess_matrix_destroy(a);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_right_hand_sides),
        cmocka_unit_test(test_cut_off), cmocka_unit_test(test_changed_bytes),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_harwell_boeing),
    };

    return cmocka_run_group_tests(tests, load_files, NULL);
}
