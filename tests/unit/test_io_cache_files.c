/* SPDX-License-Identifier: Apache-2.0 */
/* Cache files in pieces, files that end while they are read, disks that fail, no memory; the bytes that are written. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tessera/io.h>

#include "io/cache.h"
#include "support/cache_file.h"
#include "support/heap.h"
#include "support/test.h"

enum { MOST_FILE = 1 << 23 };

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
    const cache_file f = cache_sound_file();
    tess_context *ctx = open_cpu(1);
    double values[ENTRIES];
    char path[64];
    int next = -1;

    (void)state;
    save(path, &f, sizeof f);
    next = dup(0);
    close(next);
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
    assert_int_equal(dup(0), next); /* nothing is left open */
    close(next);
    tess_context_destroy(ctx);
}

static void files_that_end_or_fail_are_told(void **state)
{
    const cache_file f = cache_sound_file();
    tess_context *ctx = open_cpu(1);
    double values[ENTRIES];
    tess_assembled out;
    cache_facts facts;
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
    for (int failing = 1; failing <= 4; failing++) { /* the cache_layout, then each part */
        memset(&disk, 0, sizeof disk);
        disk.failing = failing;
        assert_fails(ctx, TESS_IO, read_path(ctx, path, values));
        assert_int_equal(disk.calls, failing);
        assert_string_equal(tess_context_last_error(ctx)->file, path);
        assert_int_equal(tess_context_last_error(ctx)->line, 0);
    }
    memset(&disk, 0, sizeof disk);
    unlink(path);
    assert_fails(ctx, TESS_IO, tess_cache_read_file(ctx, path, &facts, &out));
    assert_string_equal(tess_context_last_error(ctx)->file, path);
    assert_int_equal(tess_context_last_error(ctx)->line, 0);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "cannot be opened"));
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
        cache_layout h = cache_header_of(v.nrows, 500, v.nnz);
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
        h.parts[0] = cache_sum_of(v.row_ptr, offsets);
        h.parts[1] = cache_sum_of(v.col_ind, columns);
        h.parts[2] = cache_sum_of(v.val, values);
        cache_sign_header(&h);
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
    const cache_file f = cache_sound_file();
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_matrix *m = NULL;
    int64_t held = 0;
    int failures[2] = {0, 0};
    char path[64];

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &ctx));
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

static int no_product(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    (void)y;
    return 0;
}

static void what_cannot_be_written(void **state)
{
    const tess_shell_operator functions = {.apply = no_product};
    oracle_csr a = oracle_open(3, 0); /* without columns */
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL, *shell = NULL, *again = NULL;
    char path[64];

    (void)state;
    for (int i = 0; i < 3; i++) {
        oracle_end_row(&a, i);
    }
    m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_matrix_create_shell(ctx, 3, 3, &functions, &shell));
    save(path, "", 0);
    assert_fails(NULL, TESS_INVALID_ARGUMENT, tess_matrix_write_cache(NULL, path));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_write_cache(m, NULL));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_write_cache(shell, path));
    assert_fails(ctx, TESS_NOT_FOUND, tess_matrix_write_cache(m, "/no/such/folder/a.tess"));
    assert_ok(ctx, tess_matrix_write_cache(m, path));
    assert_ok(ctx, tess_matrix_read(ctx, path, &again, NULL));
    assert_true(tess_matrix_csr_view(again).nrows == 3 && tess_matrix_csr_view(again).ncols == 0);
    unlink(path);
    tess_matrix_destroy(again);
    tess_matrix_destroy(shell);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_in_pieces),           cmocka_unit_test(files_that_end_or_fail_are_told),
        cmocka_unit_test(the_layout_is_as_documented),        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(writing_and_reading_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
