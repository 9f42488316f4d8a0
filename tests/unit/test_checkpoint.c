/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: written and read back bit for bit; every damaged or cut file is refused; fingerprints tell apart. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tessera/checkpoint.h>

#include "support/solve.h"

enum { N = 7, HEADER = 96 };

static tess_context *ctx;
static char path[] = "/tmp/tess_checkpoint_XXXXXX";

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

static const double values[N] = {1.0, -0.0, 0x1p-1074, INFINITY, 3e300, NAN, -7.25};

static void write_one(void)
{
    tess_checkpoint facts;
    tess_vector *x = make_vector(ctx, N, values);

    tess_checkpoint_init(&facts);
    facts.iterations = 123456789012;
    facts.seconds = 1.5;
    facts.matrix = 11;
    facts.rhs = 12;
    facts.options = 13;
    assert_ok(ctx, tess_checkpoint_write(x, &facts, path));
    tess_vector_destroy(x);
}

static size_t read_file(unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    const size_t got = fread(bytes, 1, most, file);

    fclose(file);
    return got;
}

static void write_file(const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void what_is_written_is_read(void **state)
{
    tess_checkpoint facts;
    tess_vector *x = NULL;
    double back[N];

    (void)state;
    write_one();
    tess_checkpoint_init(&facts);
    assert_ok(ctx, tess_checkpoint_read(ctx, path, &facts, &x));
    assert_true(facts.iterations == 123456789012 && facts.seconds == 1.5);
    assert_true(facts.matrix == 11 && facts.rhs == 12 && facts.options == 13);
    assert_int_equal(tess_vector_size(x), N);
    read_vector(x, back);
    assert_memory_equal(back, values, sizeof values);
    tess_vector_destroy(x);
}

static void check_refused(const char *why)
{
    tess_checkpoint facts;
    tess_vector *x = NULL;

    tess_checkpoint_init(&facts);
    if (tess_checkpoint_read(ctx, path, &facts, &x) != TESS_CORRUPT || x) { fail_msg("%s was read", why); }
    assert_string_equal(tess_context_last_error(ctx)->file, path);
}

static void damaged_files_are_refused(void **state)
{
    unsigned char bytes[1024];
    char why[64];
    size_t count = 0;

    (void)state;
    write_one();
    count = read_file(bytes, sizeof bytes);
    assert_int_equal(count, HEADER + 8 * N);
    for (size_t k = 0; k < count; k++) { /* a flipped bit in each byte, and the file cut there */
        bytes[k] ^= 4;
        write_file(bytes, count);
        snprintf(why, sizeof why, "a file with byte %zu changed", k);
        check_refused(why);
        bytes[k] ^= 4;
        write_file(bytes, k);
        snprintf(why, sizeof why, "a file cut after %zu bytes", k);
        check_refused(why);
    }
    bytes[count] = 0;
    write_file(bytes, count + 1);
    check_refused("a file with a byte too many");
}

static void absent_files_are_not_found(void **state)
{
    tess_checkpoint facts;
    tess_vector *x = NULL;

    (void)state;
    tess_checkpoint_init(&facts);
    assert_fails(ctx, TESS_NOT_FOUND, tess_checkpoint_read(ctx, "/no/such/file", &facts, &x));
    facts.size = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_checkpoint_read(ctx, path, &facts, &x));
}

/* A pipe would keep the reader waiting. */
static void a_pipe_is_no_checkpoint(void **state)
{
    char folder[] = "/tmp/tessera-checkpoint-XXXXXX", path[64];
    tess_context *ctx = open_cpu(1);
    tess_checkpoint facts;
    tess_vector *x = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    tess_checkpoint_init(&facts);
    assert_int_equal(tess_checkpoint_read(ctx, path, &facts, &x), TESS_CORRUPT);
    assert_null(x);
    unlink(path);
    rmdir(folder);
    tess_context_destroy(ctx);
}

static void fingerprints_tell_apart(void **state)
{
    oracle_csr laplacian = oracle_laplace2d(4);
    tess_matrix *a = make_matrix(ctx, &laplacian), *b = NULL;
    uint64_t first = 0, other = 0;

    (void)state;
    assert_ok(ctx, tess_matrix_fingerprint(a, &first));
    assert_ok(ctx, tess_matrix_fingerprint(a, &other));
    assert_true(first == other);
    laplacian.val[3] = nextafter(laplacian.val[3], 0.0);
    b = make_matrix(ctx, &laplacian);
    assert_ok(ctx, tess_matrix_fingerprint(b, &other));
    assert_true(first != other);
    assert_true(tess_fingerprint(0, "abcdefghi", 9) != tess_fingerprint(0, "abcdefghj", 9));
    assert_true(tess_fingerprint(1, "abc", 3) != tess_fingerprint(2, "abc", 3));
    tess_matrix_destroy(a);
    tess_matrix_destroy(b);
    oracle_free(&laplacian);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(absent_files_are_not_found), cmocka_unit_test(fingerprints_tell_apart),
        cmocka_unit_test(a_pipe_is_no_checkpoint)};

    return cmocka_run_group_tests(tests, open_all, close_all);
}
