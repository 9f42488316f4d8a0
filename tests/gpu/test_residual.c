/* SPDX-License-Identifier: Apache-2.0 */
/* The true residual on a GPU: of short rows the host's bits, of long ones its value within both bounds. */
#include <float.h>

#include <tessera/solver.h>

#include "support/test.h"

enum { COLUMNS = 2500, ONE_THREAD = 256 }; /* the latter: entries that one thread adds at most */

static tess_context *gpu;

/* Row i has length[i % count] entries, in columns that are apart. */
static oracle_csr with_lengths(int64_t rows, const int *length, int count)
{
    uint64_t state = 11;
    oracle_csr a = oracle_open(rows, COLUMNS);

    for (int64_t i = 0; i < rows; i++) {
        const int own = length[i % count], step = own > COLUMNS / 2 ? 1 : 2;

        for (int k = 0; k < own; k++) {
            oracle_push(&a, k * step, oracle_uniform(&state, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

typedef struct found {
    double *r, norm, bound;
} found;

static found residual_on(tess_context *ctx, const oracle_csr *a, const double *b, const double *x)
{
    tess_matrix *m = make_matrix(ctx, a);
    tess_vector *vb = make_vector(ctx, a->nrows, b), *vx = make_vector(ctx, a->ncols, x),
                *vr = make_zeros(ctx, a->nrows);
    found f = {.r = test_allocate(a->nrows, sizeof(double))};

    assert_ok(ctx, tess_verify_residual(m, vb, vx, vr, &f.norm, &f.bound));
    read_vector(vr, f.r);
    tess_vector_destroy(vr);
    tess_vector_destroy(vx);
    tess_vector_destroy(vb);
    tess_matrix_destroy(m);
    return f;
}

static void check_rows(int64_t rows, const int *length, int count)
{
    oracle_csr a = with_lengths(rows, length, count);
    double *b = random_values(rows, 3, -1.0, 1.0), *x = random_values(COLUMNS, 4, -1e3, 1e3);
    tess_context *cpu = open_cpu(1);
    const found host = residual_on(cpu, &a, b, x), device = residual_on(gpu, &a, b, x);
    const bool short_rows = a.row_ptr[rows] <= 64 * rows;

    for (int64_t i = 0; i < rows; i++) {
        if (short_rows && length[i % count] <= ONE_THREAD) {
            assert_true(device.r[i] == host.r[i]);
        } else {
            assert_true(fabs(device.r[i] - host.r[i]) <= 4.0 * DBL_EPSILON * fabs(host.r[i]) + 1e-18);
        }
    }
    assert_true(fabs(device.norm - host.norm) <= device.bound + host.bound);
    free(device.r);
    free(host.r);
    tess_context_destroy(cpu);
    free(x);
    free(b);
    oracle_free(&a);
}

static void short_rows_have_the_bits_of_the_host(void **state)
{
    (void)state;
    check_rows(1, (const int[]){3}, 1);
    check_rows(600, (const int[]){7}, 1); /* as many as a block has at a time */
    check_rows(257, (const int[]){0, 8, 1, 31, 16, 5}, 6);
    check_rows(300, (const int[]){64}, 1);
}

static void long_rows_are_the_block_s(void **state)
{
    (void)state;
    check_rows(300, (const int[]){3, 257, 0, 256, 2, 1, 1, 1, 1, 1, 1, 1}, 12);
    check_rows(40, (const int[]){100, 600, 65}, 3);
    check_rows(40, (const int[]){1024, 1025, 65, 2500, 2300}, 5); /* by groups of threads */
    check_rows(5, (const int[]){1025, 1500, 2500}, 3);
    check_rows(3000, (const int[]){0, 1, 700, 2}, 4); /* a block has several */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_rows_have_the_bits_of_the_host),
        cmocka_unit_test(long_rows_are_the_block_s),
    };

    return run_gpu_tests(tests, &gpu);
}
