/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches with correct checksums over wrong sizes, wrong row pointers, any other byte; files that end while they are
 * read. Each is refused as damaged, and nothing beyond an array is read: arrays lie between pages without access.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "io/cache.h"
#include "support/heap.h"
#include "support/test.h"

/* The layout, as docs/howto/matrix-files.md has it. */
typedef struct header {
    unsigned char magic[8];
    uint32_t byte_order, version;
    int64_t nrows, ncols, nnz;
    uint32_t bits, parts[3], reserved, own;
} header;

/* 16 columns, 16 row pointers: arrays of whole 64 bytes, so that they end where the page does. */
enum { ROWS = 15, COLUMNS = 40, ENTRIES = 16, MOST_FILE = 1 << 23, PAGE = 1 << 16 };

typedef struct small_file {
    header h;
    int32_t row_ptr[ROWS + 1], col_ind[ENTRIES];
    double val[ENTRIES];
} small_file;

_Static_assert(sizeof(small_file) == 64 + 64 + 64 + 128, "the parts follow each other");

static uint32_t sum_of(const void *bytes, size_t count)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, count);
}

static void sign_header(header *h)
{
    h->own = sum_of(h, offsetof(header, own));
}

static void sign(small_file *f)
{
    f->h.parts[0] = sum_of(f->row_ptr, sizeof f->row_ptr);
    f->h.parts[1] = sum_of(f->col_ind, sizeof f->col_ind);
    f->h.parts[2] = sum_of(f->val, sizeof f->val);
    sign_header(&f->h);
}

static header header_of(int64_t nrows, int64_t ncols, int64_t nnz)
{
    return (header){.magic = {0x89, 'T', 'E', 'S', 'S', '\r', '\n', 0x1a},
                    .byte_order = 0x01020304,
                    .version = 1,
                    .nrows = nrows,
                    .ncols = ncols,
                    .nnz = nnz,
                    .bits = 32};
}

/* Row 0 has two entries, the others one; columns rise through all of them. */
static small_file sound_file(void)
{
    small_file f = {.h = header_of(ROWS, COLUMNS, ENTRIES)};

    for (int i = 0; i < ENTRIES; i++) {
        f.row_ptr[i] = i == 0 ? 0 : i + 1;
        f.col_ind[i] = 2 * i;
        f.val[i] = 1.0 / (i + 1);
    }
    sign(&f);
    return f;
}

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

static tess_context *open_with(tess_allocator allocator)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    options.host_allocator = allocator;
    assert_ok(NULL, tess_context_create(&options, &ctx));
    return ctx;
}

static tess_context *open_guarded(guard *g)
{
    return open_with((tess_allocator){guard_allocate, guard_release, g});
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
    const small_file f = sound_file();

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
        small_file rows = sound_file(), entries = rows;

        rows.h.nrows = sizes[i];
        entries.h.nnz = sizes[i];
        sign(&rows);
        sign(&entries);
        snprintf(what, sizeof what, "size %lld", (long long)sizes[i]);
        check_refused(&rows, sizeof rows, what);
        if (sizes[i] != ENTRIES) { check_refused(&entries, sizeof entries, what); }
    }
}

/* Rows or entries so many that the bytes of the file, counted in 64 bits, come out right. */
static void products_that_wrap_are_refused(void **state)
{
    small_file f = sound_file();

    (void)state;
    f.h.nrows += INT64_C(1) << 62;
    sign(&f);
    check_refused(&f, sizeof f, "2^62 rows too many");
    f = sound_file();
    f.h.nnz += INT64_C(1) << 62;
    sign(&f);
    check_refused(&f, sizeof f, "2^62 entries too many");
    {
        struct {
            header h;
            int64_t row_ptr[2];
        } wide = {.h = header_of(1, 1, INT64_C(1) << 62)}; /* 12 times that is 0 */

        wide.h.bits = 64;
        wide.row_ptr[1] = INT64_C(1) << 62;
        wide.h.parts[0] = sum_of(wide.row_ptr, sizeof wide.row_ptr);
        sign_header(&wide.h);
        check_refused(&wide, sizeof wide, "2^62 entries in no bytes");
    }
}

static void negative_sizes_are_refused(void **state)
{
    struct {
        header h;
        int32_t row_ptr[4];
    } f = {.h = header_of(-1, 1, 0)};

    (void)state;
    sign_header(&f.h);
    check_refused(&f, sizeof f.h, "-1 rows in no bytes");
    f.h = header_of(0, 1, 0);
    f.h.parts[0] = sum_of(f.row_ptr, 4);
    sign_header(&f.h);
    {
        guard g = {.at_start = false};
        tess_context *ctx = open_guarded(&g);

        assert_int_equal(read_bytes(ctx, &f, sizeof f.h + 4), TESS_SUCCESS); /* a matrix without rows */
        tess_context_destroy(ctx);
    }
    f.h.ncols = -1;
    sign_header(&f.h);
    check_refused(&f, sizeof f.h + 4, "-1 columns");
    f.h.ncols = TESS_MAX_ROWS + 1;
    sign_header(&f.h);
    check_refused(&f, sizeof f.h + 4, "2^31 columns");
    f.h = header_of(2, 1, -1); /* 12 bytes of row pointers less 12 */
    sign_header(&f.h);
    check_refused(&f, sizeof f.h, "-1 entries");
}

/* Offsets of 64 bits belong to more than 2^31 entries. */
static void the_width_of_offsets_is_checked(void **state)
{
    struct {
        header h;
        int64_t row_ptr[3];
        int32_t col_ind[2];
        double val[2];
    } f = {.h = header_of(2, 2, 2), .row_ptr = {0, 1, 2}, .col_ind = {0, 1}, .val = {1.0, 1.0}};
    small_file narrow = sound_file();

    (void)state;
    f.h.bits = 64;
    f.h.parts[0] = sum_of(f.row_ptr, sizeof f.row_ptr);
    f.h.parts[1] = sum_of(f.col_ind, sizeof f.col_ind);
    f.h.parts[2] = sum_of(f.val, sizeof f.val);
    sign_header(&f.h);
    check_refused(&f, sizeof f, "64 bits");
    for (uint32_t bits = 0; bits <= 128; bits++) {
        if (bits == 32) { continue; }
        narrow.h.bits = bits;
        sign(&narrow);
        check_refused(&narrow, sizeof narrow, "another width");
    }
}

/* Rows for columns: the columns do not fit any more. */
static void swapped_sizes_are_refused(void **state)
{
    small_file f = sound_file();

    (void)state;
    f.h.ncols = ROWS;
    sign(&f);
    check_refused(&f, sizeof f, "too few columns");
    f.h.ncols = 2 * (ENTRIES - 1); /* the last column is one too large */
    sign(&f);
    check_refused(&f, sizeof f, "one column less");
    f = sound_file();
    f.h.nrows = ENTRIES;
    f.h.nnz = ROWS;
    sign(&f);
    check_refused(&f, sizeof f, "rows for entries");
}

/* ---- the arrays ---- */

static void each_wrong_row_pointer_is_refused(void **state)
{
    char what[80];

    (void)state;
    for (int i = 0; i <= ROWS; i++) {
        const small_file f = sound_file();
        const int32_t values[] = {
            -1,           INT32_MIN, INT32_MIN / 4, ENTRIES + 1, 1 << 20, INT32_MAX, f.row_ptr[i > 0 ? i - 1 : 1] - 1,
            INT32_MAX / 2};

        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            small_file changed = f;

            if (i == 0 && values[k] == 1) { continue; } /* looked at below */
            changed.row_ptr[i] = values[k];
            sign(&changed);
            snprintf(what, sizeof what, "row pointer %d is %d", i, (int)values[k]);
            check_refused(&changed, sizeof changed, what);
        }
    }
}

static void pointers_begin_at_0_and_end_with_the_entries(void **state)
{
    small_file f = sound_file();

    (void)state;
    f.row_ptr[0] = 1;
    sign(&f);
    check_refused(&f, sizeof f, "the first entry has no row");
    f = sound_file();
    f.row_ptr[ROWS] = ENTRIES - 1; /* a last row without entries is sound, but an entry is left */
    sign(&f);
    check_refused(&f, sizeof f, "the last entry has no row");
    f = sound_file();
    for (int i = 1; i <= ROWS; i++) {
        f.row_ptr[i] = ENTRIES + 16;
    }
    sign(&f);
    check_refused(&f, sizeof f, "all rows end beyond the entries");
}

static bool is_sound(const small_file *f)
{
    if (memcmp(f->h.magic, (unsigned char[]){0x89, 'T', 'E', 'S', 'S', '\r', '\n', 0x1a}, 8) != 0 ||
        f->h.byte_order != 0x01020304 || f->h.version != 1 || f->h.nrows != ROWS || f->h.nnz != ENTRIES ||
        f->h.bits != 32 || f->h.ncols < 0 || f->h.ncols > TESS_MAX_ROWS || f->row_ptr[0] != 0 ||
        f->row_ptr[ROWS] != ENTRIES) {
        return false;
    }
    for (int i = 0; i < ROWS; i++) {
        if (f->row_ptr[i] > f->row_ptr[i + 1]) { return false; }
        for (int k = f->row_ptr[i]; k < f->row_ptr[i + 1]; k++) {
            const bool rises = k == f->row_ptr[i] || f->col_ind[k] > f->col_ind[k - 1];

            if (!rises || f->col_ind[k] < 0 || f->col_ind[k] >= f->h.ncols) { return false; }
        }
    }
    return true;
}

/* Behind the magic, without which a file is no cache: 6 other values, with checksums that fit again. */
static void any_other_byte_is_judged_right(void **state)
{
    static const unsigned char flips[] = {0x01, 0x02, 0x10, 0x7f, 0x80, 0xff};
    guard g = {.at_start = false};
    tess_context *ctx = open_guarded(&g);
    int sound = 0;

    (void)state;
    for (size_t at = 8; at < sizeof(small_file); at++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            small_file f = sound_file();
            tess_status status = TESS_SUCCESS;

            ((unsigned char *)&f)[at] ^= flips[k];
            if (at >= offsetof(header, parts) && at < sizeof(header)) {
                sign_header(&f.h);
                if (at < offsetof(header, reserved)) { f.h.own = sum_of(&f, offsetof(header, own)); }
            } else {
                sign(&f);
            }
            status = read_bytes(ctx, &f, sizeof f);
            if (status != TESS_SUCCESS) { assert_int_equal(tess_context_last_error(ctx)->line, 0); }
            if (at >= offsetof(header, parts) && at < offsetof(header, reserved)) {
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
    const small_file f = sound_file();
    guard g = {.at_start = false};
    tess_context *ctx = open_guarded(&g);

    (void)state;
    for (size_t count = 8; count < sizeof f; count++) {
        assert_int_equal(read_bytes(ctx, &f, count), TESS_CORRUPT);
    }
    for (size_t count = 0; count < sizeof f; count++) { /* as a pipe is read, whatever the first bytes are */
        const tess_status status = TESS_CORRUPT;
        tess_assembled out;
        int64_t ncols = 0;
        void *copy = guard_allocate(&g, count + 1);

        memcpy(copy, &f, count);
        assert_int_equal(tess_cache_read_memory(ctx, "the-cache", copy, count, &ncols, &out), status);
        assert_true((count < sizeof f.h) == (strstr(tess_context_last_error(ctx)->message, "its header") != NULL &&
                                             strstr(tess_context_last_error(ctx)->message, "inside") != NULL));
        guard_release(&g, copy, count + 1);
    }
    {
        small_file other = f;
        tess_assembled out;
        int64_t ncols = 0;

        other.h.magic[7] = 0;
        sign(&other);
        assert_int_equal(tess_cache_read_memory(ctx, "the-cache", &other, sizeof other, &ncols, &out), TESS_CORRUPT);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "not a cache"));
    }
    tess_context_destroy(ctx);
}

/* ---- a file that changes, a disk that fails ---- */

static struct {
    size_t most;              /* bytes at once; 0: as many as there are */
    int64_t until;            /* bytes of the file, of which more were there when it was opened */
    int interrupted, failing; /* from this call on; 0: none fails */
    int calls;
} disk;

/* In place of the system's. */
ssize_t pread(int descriptor, void *to, size_t count, off_t offset)
{
    disk.calls++;
    if (disk.interrupted > 0 && disk.interrupted-- > 0) {
        errno = EINTR;
        return -1;
    }
    if (disk.failing > 0 && disk.calls >= disk.failing) {
        errno = EIO;
        return -1;
    }
    if (disk.most > 0 && count > disk.most) { count = disk.most; }
    if (disk.until > 0 && offset + (off_t)count > disk.until) {
        count = offset < disk.until ? (size_t)(disk.until - offset) : 0;
    }
    return syscall(SYS_pread64, descriptor, to, count, offset);
}

static void save(char path[64], const void *bytes, size_t count)
{
    FILE *file = NULL;

    strcpy(path, "/tmp/tessera-test-XXXXXX");
    file = fdopen(mkstemp(path), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static tess_status read_path(tess_context *ctx, const char *path, double values[ENTRIES])
{
    int64_t offsets[ROWS + 1];
    int32_t columns[ENTRIES];
    tess_matrix *m = NULL;
    const tess_status status = tess_matrix_read(ctx, path, &m, NULL);

    if (status == TESS_SUCCESS) { assert_ok(ctx, tess_matrix_get_csr(m, offsets, columns, values)); }
    tess_matrix_destroy(m);
    return status;
}

static void files_are_read_in_pieces(void **state)
{
    const small_file f = sound_file();
    tess_context *ctx = open_cpu(1);
    double values[ENTRIES];
    char path[64];

    (void)state;
    save(path, &f, sizeof f);
    for (size_t most = 1; most <= 130; most += 43) { /* pieces, and interruptions between them */
        memset(values, 0, sizeof values);
        memset(&disk, 0, sizeof disk);
        disk.most = most;
        disk.interrupted = 3;
        assert_ok(ctx, read_path(ctx, path, values));
        assert_true(same_bits(values, f.val, ENTRIES));
    }
    unlink(path);
    memset(&disk, 0, sizeof disk);
    tess_context_destroy(ctx);
}

static void files_that_end_or_fail_are_told(void **state)
{
    const small_file f = sound_file();
    tess_context *ctx = open_cpu(1);
    double values[ENTRIES];
    tess_assembled out;
    int64_t ncols = 0;
    char path[64];

    (void)state;
    save(path, &f, sizeof f);
    for (disk.until = 64; disk.until < (int64_t)sizeof f; disk.until += 20) {
        disk.calls = 0;
        assert_fails(ctx, TESS_CORRUPT, read_path(ctx, path, values));
        assert_true(disk.calls < 10);
        assert_string_equal(tess_context_last_error(ctx)->file, path);
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "became shorter"));
    }
    for (int failing = 1; failing <= 4; failing++) { /* the header, then each part */
        memset(&disk, 0, sizeof disk);
        disk.failing = failing;
        assert_fails(ctx, TESS_IO, read_path(ctx, path, values));
        assert_int_equal(disk.calls, failing);
        assert_string_equal(tess_context_last_error(ctx)->file, path);
        assert_int_equal(tess_context_last_error(ctx)->line, 0);
    }
    memset(&disk, 0, sizeof disk);
    unlink(path);
    assert_fails(ctx, TESS_IO, tess_cache_read_file(ctx, path, &ncols, &out));
    assert_string_equal(tess_context_last_error(ctx)->file, path);
    assert_int_equal(tess_context_last_error(ctx)->line, 0);
    assert_true(!out.row_ptr && !out.col_ind && !out.val);
    tess_context_destroy(ctx);
}

/* ---- writing ---- */

/* The bytes are those of the page, whatever their number: checksums of parts above 2 MB are those of the whole. */
static void the_layout_is_as_documented(void **state)
{
    const int64_t rows[] = {3, 180000};

    (void)state;
    for (int i = 0; i < 2; i++) {
        oracle_csr a = oracle_random(rows[i], 500, 2, 6);
        tess_context *ctx = open_cpu(2);
        tess_matrix *m = make_matrix(ctx, &a);
        tess_csr_view v = tess_matrix_csr_view(m);
        header h = header_of(v.nrows, 500, v.nnz);
        const size_t offsets = 4 * (size_t)(v.nrows + 1), columns = 4 * (size_t)v.nnz, values = 2 * columns;
        unsigned char *bytes = test_allocate(MOST_FILE, 1);
        char path[64];
        FILE *file = NULL;

        save(path, "", 0);
        assert_ok(ctx, tess_matrix_write_cache(m, path));
        file = fopen(path, "rb");
        assert_non_null(file);
        assert_int_equal(fread(bytes, 1, MOST_FILE, file), sizeof h + offsets + columns + values);
        fclose(file);
        h.parts[0] = sum_of(v.row_ptr, offsets);
        h.parts[1] = sum_of(v.col_ind, columns);
        h.parts[2] = sum_of(v.val, values);
        sign_header(&h);
        assert_memory_equal(bytes, &h, sizeof h);
        assert_memory_equal(bytes + sizeof h, v.row_ptr, offsets);
        assert_memory_equal(bytes + sizeof h + offsets, v.col_ind, columns);
        assert_memory_equal(bytes + sizeof h + offsets + columns, v.val, values);
        unlink(path);
        free(bytes);
        tess_matrix_destroy(m);
        tess_context_destroy(ctx);
        oracle_free(&a);
    }
}

/* Each allocation fails once: an error, nothing held, and every release has the size of its allocation. */
static void writing_and_reading_without_memory(void **state)
{
    const small_file f = sound_file();
    heap h = {.fail_at = -1};
    tess_context *ctx = open_with(heap_allocator(&h));
    tess_matrix *m = NULL;
    int64_t held = 0;
    int failures[2] = {0, 0};
    char path[64];

    (void)state;
    save(path, &f, sizeof f);
    assert_ok(ctx, tess_matrix_read(ctx, path, &m, NULL));
    held = h.live;
    for (int writes = 0; writes < 2; writes++) {
        tess_status status = TESS_OUT_OF_MEMORY;

        for (int k = 0; status != TESS_SUCCESS && k < 50; k++) {
            tess_matrix *again = NULL;

            heap_fail_at(&h, k);
            status = writes ? tess_matrix_write_cache(m, path) : tess_matrix_read(ctx, path, &again, NULL);
            assert_true(status == TESS_SUCCESS || status == TESS_OUT_OF_MEMORY);
            tess_matrix_destroy(again);
            assert_int_equal(h.live, held);
            failures[writes] += status != TESS_SUCCESS;
        }
        assert_int_equal(status, TESS_SUCCESS);
        assert_true(failures[writes] >= 4);
    }
    heap_fail_at(&h, -1);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    assert_int_equal(h.wrong_releases, 0);
    assert_int_equal(h.live, 0);
    unlink(path);
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
        cmocka_unit_test(files_are_read_in_pieces),
        cmocka_unit_test(files_that_end_or_fail_are_told),
        cmocka_unit_test(the_layout_is_as_documented),
        cmocka_unit_test(writing_and_reading_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
