/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of checkpoints, wrong fields under right checksums, files that cannot be read or written, no memory; and
 * fingerprints, which files keep: they stay the same from version to version.
 */
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <tessera/checkpoint.h>

#include "support/heap.h"
#include "support/solve.h"

enum { N = 5 };

/* The layout, as src/io/checkpoint.c has it: 96 bytes, then the values. */
typedef struct file_of_5 {
    unsigned char magic[8];
    uint32_t byte_order, version;
    int64_t n, iterations;
    double seconds;
    uint64_t matrix, rhs, options, reserved[3];
    uint32_t values_sum, own_sum;
    double values[N];
} file_of_5;

_Static_assert(offsetof(file_of_5, values) == 96 && sizeof(file_of_5) == 96 + 8 * N, "no gaps");

static char path[] = "/tmp/tess_checkpoint_XXXXXX";
static tess_context *ctx;

static void sign(file_of_5 *f)
{
    f->values_sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)f->values, sizeof f->values);
    f->own_sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)f, offsetof(file_of_5, own_sum));
}

static file_of_5 sound_file(void)
{
    file_of_5 f = {.magic = {0x89, 'T', 'C', 'K', 'P', '\r', '\n', 0x1a},
                   .byte_order = 0x01020304,
                   .version = 1,
                   .n = N,
                   .iterations = 123456789012,
                   .seconds = 2.5,
                   .matrix = 0x1111111111111111,
                   .rhs = 0x2222222222222222,
                   .options = 0x3333333333333333,
                   .values = {1.0, -0.0, 0x1p-1074, -INFINITY, 7.25}};

    sign(&f);
    return f;
}

static void save(const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static tess_checkpoint facts_of(const file_of_5 *f)
{
    tess_checkpoint facts;

    tess_checkpoint_init(&facts);
    facts.iterations = f->iterations;
    facts.seconds = f->seconds;
    facts.matrix = f->matrix;
    facts.rhs = f->rhs;
    facts.options = f->options;
    return facts;
}

static void expect(tess_context *with, const void *bytes, size_t count, const char *words)
{
    tess_checkpoint facts;
    tess_vector *x = NULL;

    save(bytes, count);
    tess_checkpoint_init(&facts);
    assert_fails(with, TESS_CORRUPT, tess_checkpoint_read(with, path, &facts, &x));
    assert_null(x);
    assert_string_equal(tess_context_last_error(with)->file, path);
    assert_int_equal(tess_context_last_error(with)->line, 0);
    assert_true(tess_context_last_error(with)->hint[0] != 0);
    if (!strstr(tess_context_last_error(with)->message, words)) {
        fail_msg("'%s' lacks '%s'", tess_context_last_error(with)->message, words);
    }
}

/* ---- the layout ---- */

static void these_bytes_are_written_and_read(void **state)
{
    const file_of_5 f = sound_file();
    tess_checkpoint facts = facts_of(&f);
    tess_vector *x = make_vector(ctx, N, f.values);
    unsigned char bytes[2 * sizeof f];
    double back[N];
    FILE *file = NULL;

    (void)state;
    assert_ok(ctx, tess_checkpoint_write(x, &facts, path));
    tess_vector_destroy(x);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof f);
    fclose(file);
    assert_memory_equal(bytes, &f, sizeof f);
    save(&f, sizeof f);
    memset(&facts, 0xff, sizeof facts);
    facts.size = sizeof facts;
    assert_ok(ctx, tess_checkpoint_read(ctx, path, &facts, &x));
    assert_true(facts.size == sizeof facts && facts.iterations == f.iterations && facts.seconds == f.seconds &&
                facts.matrix == f.matrix && facts.rhs == f.rhs && facts.options == f.options);
    for (int i = 0; i < 4; i++) {
        assert_true(facts.reserved[i] == 0);
    }
    read_vector(x, back);
    assert_memory_equal(back, f.values, sizeof back);
    tess_vector_destroy(x);
}

static void the_first_steps_and_no_rows(void **state)
{
    for (int64_t n = 0; n < 2; n++) {
        tess_vector *x = make_zeros(ctx, n), *again = NULL;
        tess_checkpoint facts;

        tess_checkpoint_init(&facts);
        facts.iterations = n;
        assert_ok(ctx, tess_checkpoint_write(x, &facts, path));
        assert_ok(ctx, tess_checkpoint_read(ctx, path, &facts, &again));
        assert_true(facts.iterations == n && tess_vector_size(again) == n);
        tess_vector_destroy(x);
        tess_vector_destroy(again);
    }
    (void)state;
}

/* ---- damage ---- */

static void wrong_fields_are_refused(void **state)
{
    static const int64_t sizes[] = {-1, INT64_MIN, 0, N - 1, N + 1, INT64_C(1) << 31, INT64_MAX};
    const file_of_5 sound = sound_file();
    file_of_5 f = sound;

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        f.n = sizes[k];
        sign(&f);
        expect(ctx, &f, sizeof f, sizes[k] < 0 || sizes[k] > TESS_MAX_ROWS ? "damaged" : "cut, or longer");
    }
    for (int shift = 61; shift < 63; shift++) { /* 8 n is 40 in 64 bits */
        const int64_t before = tess_context_peak_bytes(ctx);

        f.n = N + (INT64_C(1) << shift);
        sign(&f);
        expect(ctx, &f, sizeof f, "damaged");
        assert_true(tess_context_peak_bytes(ctx) == before);
    }
    f = sound;
    f.iterations = -1;
    sign(&f);
    expect(ctx, &f, sizeof f, "damaged");
    f = sound;
    f.iterations += 1;
    expect(ctx, &f, sizeof f, "its header does not fit");
    f = sound;
    f.values[2] = 0.0;
    expect(ctx, &f, sizeof f, "its values do not fit");
}

static void other_files_are_told_apart(void **state)
{
    static const uint32_t orders[] = {0x04030201, 0, UINT32_MAX}, versions[] = {0, 2, 0x7fffffff};
    const file_of_5 sound = sound_file();
    file_of_5 f = sound;

    (void)state;
    for (int k = 0; k < 3; k++) {
        char words[64];

        f = sound;
        f.byte_order = orders[k];
        sign(&f);
        expect(ctx, &f, sizeof f, "another byte order");
        f = sound;
        f.version = versions[k];
        sign(&f);
        snprintf(words, sizeof words, "has version %u, but this library reads version 1", (unsigned)versions[k]);
        expect(ctx, &f, sizeof f, words);
    }
    for (int k = 0; k < 8; k++) {
        f = sound;
        f.magic[k] ^= 0x20;
        sign(&f);
        expect(ctx, &f, sizeof f, "no checkpoint");
    }
    for (size_t count = 0; count < sizeof f; count++) {
        expect(ctx, &sound, count,
               count < 8    ? "no checkpoint"
               : count < 96 ? "header is incomplete"
                            : "cut, or longer");
    }
}

/* ---- arguments, files, memory ---- */

static void arguments_are_checked(void **state)
{
    tess_vector *x = make_zeros(ctx, N), *narrow = NULL, *out = NULL;
    tess_checkpoint facts;

    (void)state;
    tess_checkpoint_init(NULL); /* does nothing */
    memset(&facts, 0xff, sizeof facts);
    tess_checkpoint_init(&facts);
    assert_true(facts.size == sizeof facts && facts.iterations == 0 && facts.seconds == 0.0 && facts.options == 0);
    assert_ok(ctx, tess_vector_create(ctx, N, TESS_PRECISION_FP32, &narrow));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_checkpoint_write(narrow, &facts, path));
    assert_fails(NULL, TESS_INVALID_ARGUMENT, tess_checkpoint_write(NULL, &facts, path));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_write(x, NULL, path));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_write(x, &facts, NULL));
    assert_fails(ctx, TESS_NOT_FOUND, tess_checkpoint_write(x, &facts, "/no/such/folder/a.ckpt"));
    facts.reserved[3] = 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_write(x, &facts, path));
    tess_checkpoint_init(&facts);
    assert_fails(NULL, TESS_INVALID_ARGUMENT, tess_checkpoint_read(NULL, path, &facts, &out));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_read(ctx, NULL, &facts, &out));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_read(ctx, path, NULL, &out));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_read(ctx, path, &facts, NULL));
    tess_vector_destroy(x);
    tess_vector_destroy(narrow);
}

/* The number that the next file gets. */
static int next_descriptor(void)
{
    const int next = open("/dev/null", O_RDONLY);

    close(next);
    return next;
}

/* Each allocation fails once: an error, no vector, nothing held or left open. */
static void without_memory(void **state)
{
    const file_of_5 f = sound_file();
    heap h = {.fail_at = -1};
    tess_context_options options;
    tess_context *own = NULL;
    tess_vector *x = NULL;
    const int next = next_descriptor();

    (void)state;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&options, &own));
    x = make_vector(own, N, f.values);
    for (int reads = 0; reads < 3; reads++) {
        const int64_t held = h.live;
        tess_status status = TESS_OUT_OF_MEMORY;
        int failures = 0;

        save(&f, sizeof f);
        for (int k = 0; status != TESS_SUCCESS && k < 20; k++) {
            tess_checkpoint facts = facts_of(&f);
            tess_vector *again = NULL;
            uint64_t number = 0;

            heap_fail_at(&h, k);
            status = reads == 0   ? tess_checkpoint_write(x, &facts, path)
                     : reads == 1 ? tess_checkpoint_read(own, path, &facts, &again)
                                  : tess_vector_fingerprint(x, &number);
            assert_true(status == TESS_SUCCESS || status == TESS_OUT_OF_MEMORY);
            assert_true((again != NULL) == (reads == 1 && status == TESS_SUCCESS));
            tess_vector_destroy(again);
            assert_int_equal(h.live, held);
            failures += status != TESS_SUCCESS;
        }
        assert_int_equal(status, TESS_SUCCESS);
        assert_true(failures >= 1);
    }
    heap_fail_at(&h, -1);
    expect(own, &f, sizeof f - 1, "cut");
    tess_vector_destroy(x);
    tess_context_destroy(own);
    assert_true(h.live == 0 && h.wrong_releases == 0);
    assert_int_equal(next_descriptor(), next);
}

/* ---- fingerprints ---- */

/* Numbers of another implementation: 64-bit FNV-1a by words of 8 bytes, each step followed by hash ^= hash >> 29, then
   by the bytes that are left. */
static void fingerprints_have_these_values(void **state)
{
    static const double values[4] = {1.0, -0.0, 0.5, 3.0};
    unsigned char bytes[24];
    tess_vector *v = make_vector(ctx, 4, values);
    uint64_t number = 0;

    (void)state;
    for (int i = 0; i < 24; i++) {
        bytes[i] = (unsigned char)(100 + i);
    }
    assert_true(tess_fingerprint(0, bytes, 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(tess_fingerprint(5, bytes, 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(tess_fingerprint(5, bytes, 7) == UINT64_C(0xa589efa0901029fb));
    assert_true(tess_fingerprint(0, bytes, 8) == UINT64_C(0x282f7f676c789b42));
    assert_true(tess_fingerprint(5, bytes, 9) == UINT64_C(0xc83166bd5c96e523));
    assert_true(tess_fingerprint(5, bytes, 15) == UINT64_C(0xc5c018dfa0d87554));
    assert_true(tess_fingerprint(0, bytes, 16) == UINT64_C(0x56151f18f0aca8f8));
    assert_true(tess_fingerprint(0, bytes, 24) == UINT64_C(0xf288206a1a264d2));
    assert_true(tess_fingerprint(77, NULL, 5) == 77);
    assert_ok(ctx, tess_vector_fingerprint(v, &number));
    assert_true(number == UINT64_C(0x59acd6bc49566aaa));
    assert_fails(NULL, TESS_INVALID_ARGUMENT, tess_vector_fingerprint(NULL, &number));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_vector_fingerprint(v, NULL));
    assert_fails(NULL, TESS_INVALID_ARGUMENT, tess_matrix_fingerprint(NULL, &number));
    tess_vector_destroy(v);
}

static oracle_csr small_matrix(void)
{
    static const int columns[5] = {0, 3, 1, 0, 2}, ends[3] = {2, 3, 5};
    static const double values[5] = {1.0, 2.0, -3.0, 0.25, 5.0};
    oracle_csr a = oracle_open(3, 4);

    for (int i = 0, k = 0; i < 3; i++) {
        for (; k < ends[i]; k++) {
            oracle_push(&a, columns[k], values[k]);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static uint64_t fingerprint_of(const oracle_csr *a)
{
    tess_matrix *m = make_matrix(ctx, a);
    uint64_t number = 0;

    assert_ok(ctx, tess_matrix_fingerprint(m, &number));
    tess_matrix_destroy(m);
    return number;
}

/* Each number of a matrix counts: its sizes, each row's length, each column, each value and the sign of a zero. */
static void every_part_of_a_matrix_counts(void **state)
{
    uint64_t seen[16];
    int count = 0;

    (void)state;
    for (int change = 0; change < 16; change++) {
        oracle_csr a = small_matrix();

        if (change >= 1 && change <= 5) { a.val[change - 1] *= 1.0 + 0x1p-52; }
        if (change == 6) { a.ncols = 5; }
        if (change == 7) { a.row_ptr[1] = 1, a.col_ind[1] = 0; } /* an entry in the next row */
        if (change == 8) { a.row_ptr[2] = 4, a.col_ind[3] = 3; } /* or in the one before */
        if (change == 9) { a.col_ind[1] = 2; }
        if (change == 10) { a.col_ind[2] = 0; }
        if (change == 11) { a.col_ind[4] = 3; }
        if (change == 12) { a.val[2] = 0.0; }
        if (change == 13) { a.val[2] = -0.0; }
        if (change == 14) { a.val[0] = -1.0; } /* the highest bits of two words */
        if (change == 15) { a.val[0] = -1.0, a.val[1] = -2.0; }
        seen[count] = fingerprint_of(&a);
        for (int k = 0; k < count; k++) {
            if (seen[k] == seen[count]) { fail_msg("changes %d and %d have one fingerprint", k, change); }
        }
        count++;
        oracle_free(&a);
    }
    assert_true(seen[0] == UINT64_C(0x5e4c309c13093c29));
}

/* Matrices without entries differ by their sizes alone. */
static void sizes_count(void **state)
{
    uint64_t seen[16];

    (void)state;
    for (int k = 0; k < 16; k++) {
        oracle_csr a = oracle_open(k / 4, k % 4);

        for (int i = 0; i < k / 4; i++) {
            oracle_end_row(&a, i);
        }
        seen[k] = fingerprint_of(&a);
        for (int i = 0; i < k; i++) {
            assert_true(seen[i] != seen[k]);
        }
        oracle_free(&a);
    }
}

static int open_all(void **state)
{
    const int descriptor = mkstemp(path);

    (void)state;
    ctx = open_cpu(1);
    assert_true(descriptor >= 0);
    close(descriptor);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    unlink(path);
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(these_bytes_are_written_and_read),
        cmocka_unit_test(the_first_steps_and_no_rows),
        cmocka_unit_test(wrong_fields_are_refused),
        cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(fingerprints_have_these_values),
        cmocka_unit_test(every_part_of_a_matrix_counts),
        cmocka_unit_test(sizes_count),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
