/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches with correct checksums over wrong sizes, wrong row pointers, any other byte. Each is refused as damaged, and
 * nothing beyond an array is read: arrays lie between pages without access.
 */
#include <sys/mman.h>

#include <tessera/io.h>

#include "io/cache.h"
#include "support/cache_file.h"
#include "support/test.h"

enum { MOST_FILE = 1 << 20, PAGE = 1 << 16 };

/* ---- arrays between pages without access ---- */

typedef struct guard {
    bool at_start; /* the array begins at its first page; else it ends with its last */
    int64_t largest;
} guard;

static size_t pages_of(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static size_t offset_in(const guard *g, size_t bytes)
{
    return PAGE + (g->at_start ? 0 : pages_of(bytes) - (bytes + 63) / 64 * 64);
}

static void *guard_allocate(void *user, size_t bytes)
{
    guard *g = user;
    const size_t all = pages_of(bytes) + 2 * PAGE;
    char *p = NULL;

    if ((int64_t)bytes > g->largest) { g->largest = (int64_t)bytes; }
    if (bytes > MOST_FILE) { return NULL; }
    p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + PAGE, all - 2 * PAGE, PROT_READ | PROT_WRITE) != 0) { return NULL; }
    return p + offset_in(g, bytes);
}

static void guard_release(void *user, void *pointer, size_t bytes)
{
    assert_int_equal(munmap((char *)pointer - offset_in(user, bytes), pages_of(bytes) + 2 * PAGE), 0);
}

static tess_context *open_guarded(guard *g)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    options.host_allocator = (tess_allocator){guard_allocate, guard_release, g};
    assert_ok(NULL, tess_context_create(&options, &ctx));
    return ctx;
}

/* ---- reading ---- */

/* The status; the file's bytes lie between such pages too. */
static tess_status read_bytes(tess_context *ctx, const void *bytes, size_t count)
{
    guard g = {.at_start = false};
    unsigned char *copy = guard_allocate(&g, count);
    tess_matrix *m = NULL;
    tess_status status = TESS_SUCCESS;

    assert_non_null(copy);
    memcpy(copy, bytes, count);
    status = tess_matrix_read_memory(ctx, "the-cache", copy, count, &m, NULL);
    assert_true((status == TESS_SUCCESS) == (m != NULL));
    tess_matrix_destroy(m);
    guard_release(&g, copy, count);
    return status;
}

/* A format error that names the file, and no memory beyond what such a file needs. */
static void check_refused(const void *bytes, size_t count, const char *what)
{
    for (int turn = 0; turn < 2; turn++) {
        guard g = {.at_start = turn == 1};
        tess_context *ctx = open_guarded(&g);
        tess_status status = TESS_SUCCESS;

        g.largest = 0;
        status = read_bytes(ctx, bytes, count);
        if (status != TESS_CORRUPT) { fail_msg("%s: %s", what, tess_status_name(status)); }
        assert_string_equal(tess_context_last_error(ctx)->file, "the-cache");
        assert_int_equal(tess_context_last_error(ctx)->line, 0);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "the cache"));
        assert_true(tess_context_last_error(ctx)->hint[0] != 0);
        if (g.largest > (int64_t)count) { fail_msg("%s: an array of %lld bytes", what, (long long)g.largest); }
        tess_context_destroy(ctx);
    }
}

static void a_sound_file_is_read(void **state)
{
    const cache_file f = cache_sound_file();

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        guard g = {.at_start = turn == 1};
        tess_context *ctx = open_guarded(&g);

        assert_ok(ctx, read_bytes(ctx, &f, sizeof f));
        tess_context_destroy(ctx);
    }
}

/* ---- sizes ---- */

static void sizes_that_do_not_fit_are_refused(void **state)
{
    const int64_t sizes[] = {-1,        0,        14, 16, 17, 1 << 20, INT32_MAX, INT64_C(1) << 31, INT64_C(1) << 62,
                             INT64_MAX, INT64_MIN};
    char what[80];

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cache_file rows = cache_sound_file(), entries = rows;

        rows.h.nrows = sizes[i];
        entries.h.nnz = sizes[i];
        cache_sign(&rows);
        cache_sign(&entries);
        snprintf(what, sizeof what, "size %lld", (long long)sizes[i]);
        check_refused(&rows, sizeof rows, what);
        if (sizes[i] != ENTRIES) { check_refused(&entries, sizeof entries, what); }
    }
}

/* Rows or entries so many that the bytes of the file, counted in 64 bits, come out right. */
static void products_that_wrap_are_refused(void **state)
{
    cache_file f = cache_sound_file();

    (void)state;
    f.h.nrows += INT64_C(1) << 62;
    cache_sign(&f);
    check_refused(&f, sizeof f, "2^62 rows too many");
    f = cache_sound_file();
    f.h.nnz += INT64_C(1) << 62;
    cache_sign(&f);
    check_refused(&f, sizeof f, "2^62 entries too many");
    {
        struct {
            cache_layout h;
            int64_t row_ptr[2];
        } wide = {.h = cache_header_of(1, 1, INT64_C(1) << 62)}; /* 12 times that is 0 */

        wide.h.bits = 64;
        wide.row_ptr[1] = INT64_C(1) << 62;
        wide.h.parts[0] = cache_sum_of(wide.row_ptr, sizeof wide.row_ptr);
        cache_sign_header(&wide.h);
        check_refused(&wide, sizeof wide, "2^62 entries in no bytes");
    }
}

static void negative_sizes_are_refused(void **state)
{
    struct {
        cache_layout h;
        int32_t row_ptr[4];
    } f = {.h = cache_header_of(-1, 1, 0)};

    (void)state;
    cache_sign_header(&f.h);
    check_refused(&f, sizeof f.h, "-1 rows in no bytes");
    f.h = cache_header_of(0, 1, 0);
    f.h.parts[0] = cache_sum_of(f.row_ptr, 4);
    cache_sign_header(&f.h);
    {
        guard g = {.at_start = false};
        tess_context *ctx = open_guarded(&g);

        assert_int_equal(read_bytes(ctx, &f, sizeof f.h + 4), TESS_SUCCESS); /* a matrix without rows */
        tess_context_destroy(ctx);
    }
    f.h.ncols = -1;
    cache_sign_header(&f.h);
    check_refused(&f, sizeof f.h + 4, "-1 columns");
    f.h.ncols = TESS_MAX_ROWS + 1;
    cache_sign_header(&f.h);
    check_refused(&f, sizeof f.h + 4, "2^31 columns");
    f.h = cache_header_of(2, 1, -1); /* 12 bytes of row pointers less 12 */
    cache_sign_header(&f.h);
    check_refused(&f, sizeof f.h, "-1 entries");
}

/* Offsets of 64 bits belong to more than 2^31 entries. */
static void the_width_of_offsets_is_checked(void **state)
{
    struct {
        cache_layout h;
        int64_t row_ptr[3];
        int32_t col_ind[2];
        double val[2];
    } f = {.h = cache_header_of(2, 2, 2), .row_ptr = {0, 1, 2}, .col_ind = {0, 1}, .val = {1.0, 1.0}};
    cache_file narrow = cache_sound_file();

    (void)state;
    f.h.bits = 64;
    f.h.parts[0] = cache_sum_of(f.row_ptr, sizeof f.row_ptr);
    f.h.parts[1] = cache_sum_of(f.col_ind, sizeof f.col_ind);
    f.h.parts[2] = cache_sum_of(f.val, sizeof f.val);
    cache_sign_header(&f.h);
    check_refused(&f, sizeof f, "64 bits");
    for (uint32_t bits = 0; bits <= 128; bits++) {
        if (bits == 32) { continue; }
        narrow.h.bits = bits;
        cache_sign(&narrow);
        check_refused(&narrow, sizeof narrow, "another width");
    }
}

/* Rows for columns: the columns do not fit any more. */
static void swapped_sizes_are_refused(void **state)
{
    cache_file f = cache_sound_file();

    (void)state;
    f.h.ncols = ROWS;
    cache_sign(&f);
    check_refused(&f, sizeof f, "too few columns");
    f.h.ncols = 2 * (ENTRIES - 1); /* the last column is one too large */
    cache_sign(&f);
    check_refused(&f, sizeof f, "one column less");
    f = cache_sound_file();
    f.h.nrows = ENTRIES;
    f.h.nnz = ROWS;
    cache_sign(&f);
    check_refused(&f, sizeof f, "rows for entries");
}

/* ---- the arrays ---- */

static void each_wrong_row_pointer_is_refused(void **state)
{
    char what[80];

    (void)state;
    for (int i = 0; i <= ROWS; i++) {
        const cache_file f = cache_sound_file();
        const int32_t values[] = {
            -1,           INT32_MIN, INT32_MIN / 4, ENTRIES + 1, 1 << 20, INT32_MAX, f.row_ptr[i > 0 ? i - 1 : 1] - 1,
            INT32_MAX / 2};

        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            cache_file changed = f;

            if (i == 0 && values[k] == 1) { continue; } /* looked at below */
            changed.row_ptr[i] = values[k];
            cache_sign(&changed);
            snprintf(what, sizeof what, "row pointer %d is %d", i, (int)values[k]);
            check_refused(&changed, sizeof changed, what);
        }
    }
}

static void pointers_begin_at_0_and_end_with_the_entries(void **state)
{
    cache_file f = cache_sound_file();

    (void)state;
    f.row_ptr[0] = 1;
    cache_sign(&f);
    check_refused(&f, sizeof f, "the first entry has no row");
    f = cache_sound_file();
    f.row_ptr[ROWS] = ENTRIES - 1; /* a last row without entries is sound, but an entry is left */
    cache_sign(&f);
    check_refused(&f, sizeof f, "the last entry has no row");
    f = cache_sound_file();
    for (int i = 1; i <= ROWS; i++) {
        f.row_ptr[i] = ENTRIES + 16;
    }
    cache_sign(&f);
    check_refused(&f, sizeof f, "all rows end beyond the entries");
}

static bool is_sound(const cache_file *f)
{
    if (memcmp(f->h.magic, (unsigned char[]){0x89, 'T', 'E', 'S', 'S', '\r', '\n', 0x1a}, 8) != 0 ||
        f->h.byte_order != 0x01020304 || f->h.version != 1 || f->h.nrows != ROWS || f->h.nnz != ENTRIES ||
        f->h.reserved != 0 || /* it says complex, but the rows are not in pairs */
        f->h.bits != 32 || f->h.ncols < 0 || f->h.ncols > TESS_MAX_ROWS || f->row_ptr[0] != 0 ||
        f->row_ptr[ROWS] != ENTRIES) {
        return false;
    }
    for (int i = 0; i < ROWS; i++) {
        if (f->row_ptr[i] > f->row_ptr[i + 1] || f->row_ptr[i + 1] > ENTRIES) { return false; }
        for (int k = f->row_ptr[i]; k < f->row_ptr[i + 1]; k++) {
            const bool rises = k == f->row_ptr[i] || f->col_ind[k] > f->col_ind[k - 1];

            if (!rises || f->col_ind[k] < 0 || f->col_ind[k] >= f->h.ncols) { return false; }
        }
    }
    return true;
}

/* Behind the magic, without which a file is no cache: 4 other values, with checksums that fit again. */
static void any_other_byte_is_judged_right(void **state)
{
    static const unsigned char flips[] = {0x01, 0x10, 0x80, 0xff};
    guard g = {.at_start = false};
    tess_context *ctx = open_guarded(&g);
    int sound = 0;

    (void)state;
    for (size_t at = 8; at < sizeof(cache_file); at++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            cache_file f = cache_sound_file();
            tess_status status = TESS_SUCCESS;

            ((unsigned char *)&f)[at] ^= flips[k];
            if (at >= offsetof(cache_layout, parts) && at < sizeof(cache_layout)) {
                cache_sign_header(&f.h);
                if (at < offsetof(cache_layout, reserved)) { f.h.own = cache_sum_of(&f, offsetof(cache_layout, own)); }
            } else {
                cache_sign(&f);
            }
            status = read_bytes(ctx, &f, sizeof f);
            if (status != TESS_SUCCESS) { assert_int_equal(tess_context_last_error(ctx)->line, 0); }
            if (at >= offsetof(cache_layout, parts) && at < offsetof(cache_layout, reserved)) {
                assert_int_equal(status, TESS_CORRUPT);
            } else if ((status == TESS_SUCCESS) != is_sound(&f) || (status != TESS_SUCCESS && status != TESS_CORRUPT)) {
                fail_msg("byte %zu changed by %d: %s", at, flips[k], tess_status_name(status));
            }
            sound += status == TESS_SUCCESS;
        }
    }
    assert_true(sound >= (int)(sizeof flips * sizeof(double)) * ENTRIES); /* values may be any */
    tess_context_destroy(ctx);
}

static void shorter_files_are_refused(void **state)
{
    const cache_file f = cache_sound_file();
    guard g = {.at_start = false};
    tess_context *ctx = open_guarded(&g);

    (void)state;
    for (size_t count = 8; count < sizeof f; count++) {
        assert_int_equal(read_bytes(ctx, &f, count), TESS_CORRUPT);
    }
    for (size_t count = 0; count < sizeof f; count++) { /* as a pipe is read, whatever the first bytes are */
        const tess_status status = TESS_CORRUPT;
        tess_assembled out;
        cache_facts facts;
        void *copy = guard_allocate(&g, count + 1);

        memcpy(copy, &f, count);
        assert_int_equal(tess_cache_read_memory(ctx, "the-cache", copy, count, &facts, &out), status);
        assert_true((count < sizeof f.h) == (strstr(tess_context_last_error(ctx)->message, "its header") != NULL &&
                                             strstr(tess_context_last_error(ctx)->message, "inside") != NULL));
        guard_release(&g, copy, count + 1);
    }
    {
        cache_file other = f;
        tess_assembled out;
        cache_facts facts;

        other.h.magic[7] = 0;
        cache_sign(&other);
        assert_int_equal(tess_cache_read_memory(ctx, "the-cache", &other, sizeof other, &facts, &out), TESS_CORRUPT);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "not a cache"));
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_file_is_read),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(products_that_wrap_are_refused),
        cmocka_unit_test(negative_sizes_are_refused),
        cmocka_unit_test(the_width_of_offsets_is_checked),
        cmocka_unit_test(swapped_sizes_are_refused),
        cmocka_unit_test(each_wrong_row_pointer_is_refused),
        cmocka_unit_test(pointers_begin_at_0_and_end_with_the_entries),
        cmocka_unit_test(any_other_byte_is_judged_right),
        cmocka_unit_test(shorter_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
