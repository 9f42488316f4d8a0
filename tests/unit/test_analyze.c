/* SPDX-License-Identifier: Apache-2.0 */
/* tess_matrix_analyze: each fact on matrices small enough to count by hand, and exact shares against the definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tessera/tessera.h>

typedef struct entry {
    int32_t row, column;
    double value;
} entry;

static tess_context *open_host(int threads)
{
    tess_context_options options;
    tess_context *ctx = NULL;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = threads;
    assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
    return ctx;
}

static tess_matrix *make(tess_context *ctx, int64_t nrows, int64_t ncols, size_t count, const entry *entries)
{
    int32_t *rows = calloc(count + 1, sizeof *rows), *columns = calloc(count + 1, sizeof *columns);
    double *values = calloc(count + 1, sizeof *values);
    assert_true(rows != NULL && columns != NULL && values != NULL);
    for (size_t k = 0; k < count; k++) {
        rows[k] = entries[k].row;
        columns[k] = entries[k].column;
        values[k] = entries[k].value;
    }
    tess_coo_arrays coo = {.size = sizeof coo,
                           .nrows = nrows,
                           .ncols = ncols,
                           .nnz = (int64_t)count,
                           .row_ind = rows,
                           .col_ind = columns,
                           .val = values,
                           .index_bits = 32,
                           .where = TESS_MEMORY_HOST};
    tess_matrix *a = NULL;
    assert_int_equal(tess_matrix_create_coo(ctx, &coo, &a), TESS_SUCCESS);
    free(rows);
    free(columns);
    free(values);
    return a;
}

static tess_matrix_analysis analyze(int64_t nrows, int64_t ncols, size_t count, const entry *entries)
{
    tess_context *ctx = open_host(2);
    tess_matrix *a = make(ctx, nrows, ncols, count, entries);
    tess_matrix_analysis facts = {.size = sizeof facts};
    assert_int_equal(tess_matrix_analyze(a, &facts), TESS_SUCCESS);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return facts;
}

#define ANALYZE(nrows, ncols, entries) analyze(nrows, ncols, sizeof(entries) / sizeof((entries)[0]), entries)

static void symmetric_matrix(void **state)
{
    (void)state;
    const entry entries[] = {{0, 0, 4}, {0, 1, -1}, {1, 0, -1}, {1, 1, -4}, {1, 2, -5}, {2, 1, -5}, {2, 2, 0}};
    tess_matrix_analysis f = ANALYZE(3, 3, entries);
    assert_int_equal(f.pattern_symmetric, 1);
    assert_int_equal(f.numerically_symmetric, 1);
    assert_int_equal(f.skew_symmetric, 0);
    assert_int_equal(f.diagonal_positive, 1);
    assert_int_equal(f.diagonal_negative, 1);
    assert_int_equal(f.diagonal_zero, 1);
    assert_int_equal(f.diagonal_missing, 0);
    assert_int_equal(f.diagonally_dominant_rows, 1);
    assert_int_equal(f.explicit_zeros, 1);
    assert_int_equal(f.bandwidth, 1);
    assert_int_equal(f.row_nnz_min, 2);
    assert_int_equal(f.row_nnz_max, 3);
    assert_true(fabs(f.row_nnz_mean - 7.0 / 3.0) < 1e-15);
    assert_true(fabs(f.row_nnz_stddev - sqrt(2.0 / 9.0)) < 1e-15);
    assert_true(f.value_abs_min == 1.0 && f.value_abs_max == 5.0);
}

static void symmetry_breaks(void **state)
{
    (void)state;
    const entry last_bit[] = {{0, 0, 1}, {0, 1, 1}, {1, 0, 1 + 0x1p-52}, {1, 1, 1}};
    tess_matrix_analysis f = ANALYZE(2, 2, last_bit);
    assert_int_equal(f.pattern_symmetric, 1);
    assert_int_equal(f.numerically_symmetric, 0);
    const entry upper_only[] = {{0, 0, 1}, {0, 1, 1}, {1, 1, 1}};
    f = ANALYZE(2, 2, upper_only);
    assert_int_equal(f.pattern_symmetric, 0);
    assert_int_equal(f.numerically_symmetric, 0);
    const entry lower_only[] = {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}};
    f = ANALYZE(2, 2, lower_only);
    assert_int_equal(f.pattern_symmetric, 0);
    assert_int_equal(f.numerically_symmetric, 0);
    /* a stored zero without a partner breaks the pattern, not the numbers */
    const entry stored_zero[] = {{0, 0, 1}, {0, 1, 0}, {1, 1, 1}};
    f = ANALYZE(2, 2, stored_zero);
    assert_int_equal(f.pattern_symmetric, 0);
    assert_int_equal(f.numerically_symmetric, 1);
    const entry rectangle[] = {{0, 0, 1}, {1, 2, 1}};
    f = ANALYZE(2, 3, rectangle);
    assert_int_equal(f.pattern_symmetric, -1);
    assert_int_equal(f.numerically_symmetric, -1);
    assert_int_equal(f.skew_symmetric, -1);
    assert_int_equal(f.diagonal_missing, 1);
    const entry tall[] = {{0, 0, 1}, {1, 1, 1}, {2, 0, 1}};
    f = ANALYZE(3, 2, tall);
    assert_int_equal(f.diagonal_missing, 0);
    assert_int_equal(f.diagonally_dominant_rows, 2);
}

static void skew_symmetric_matrix(void **state)
{
    (void)state;
    const entry skew[] = {{0, 1, 2}, {1, 0, -2}, {1, 1, 0}};
    tess_matrix_analysis f = ANALYZE(2, 2, skew);
    assert_int_equal(f.skew_symmetric, 1);
    assert_int_equal(f.numerically_symmetric, 0);
    assert_int_equal(f.diagonal_missing, 1);
    const entry with_diagonal[] = {{0, 0, 1}, {0, 1, 2}, {1, 0, -2}};
    f = ANALYZE(2, 2, with_diagonal);
    assert_int_equal(f.skew_symmetric, 0);
}

static void not_finite_values(void **state)
{
    (void)state;
    const entry entries[] = {{0, 0, NAN}, {0, 1, INFINITY}, {1, 0, -0.25}, {1, 1, 3}};
    tess_matrix_analysis f = ANALYZE(2, 2, entries);
    assert_int_equal(f.not_finite, 2);
    assert_true(f.value_abs_min == 0.25 && f.value_abs_max == 3.0);
    assert_true(f.exact_share[TESS_PRECISION_E4M3] == 0.75); /* it has no Inf */
    assert_true(f.exact_share[TESS_PRECISION_E5M2] == 1.0);
}

static void empty_matrices(void **state)
{
    (void)state;
    const entry one[] = {{0, 0, 1}};
    tess_matrix_analysis f = analyze(4, 4, 0, one);
    assert_int_equal(f.nnz, 0);
    assert_int_equal(f.empty_rows, 4);
    assert_int_equal(f.diagonal_missing, 4);
    assert_int_equal(f.row_nnz_min, 0);
    assert_true(f.value_abs_min == 0.0 && f.value_abs_max == 0.0);
    assert_true(f.exact_share[TESS_PRECISION_E4M3] == 1.0);
    f = analyze(0, 0, 0, one);
    assert_int_equal(f.row_nnz_min, 0);
    assert_true(f.row_nnz_mean == 0.0 && f.row_nnz_stddev == 0.0);
}

static void dense_row(void **state)
{
    (void)state;
    enum { N = 1200 };
    entry *entries = calloc(2 * N, sizeof *entries);
    assert_non_null(entries);
    for (int32_t i = 0; i < N; i++) {
        entries[i] = (entry){i, i, 1.0};
        entries[N + i] = (entry){7, i, 0.5}; /* on the diagonal it is added to the 1 */
    }
    tess_matrix_analysis f = analyze(N, N, 2 * N, entries);
    free(entries);
    assert_int_equal(f.dense_rows, 1);
    assert_int_equal(f.row_nnz_max, N);
    assert_int_equal(f.bandwidth, N - 1 - 7);
    assert_int_equal(f.diagonally_dominant_rows, N - 1);
}

/* Values at every edge of every precision: limits, one step beyond, subnormals, one bit too many. */
static size_t edge_values(double *values)
{
    size_t count = 0;
#define EDGES(NAME, index, name, type, digits, emin, emax, max)        \
    values[count++] = (max);                                           \
    values[count++] = (max) / 2 + (max) / 4;                           \
    values[count++] = ldexp(1.0, (emax) < 1023 ? (emax) + 1 : (emax)); \
    values[count++] = ldexp(1.0, emin);                                \
    values[count++] = ldexp(1.0, (emin) - (digits) + 1);               \
    values[count++] = ldexp(1.0, (emin) - (digits));                   \
    values[count++] = ldexp(3.0, (emin) - (digits));                   \
    values[count++] = ldexp(3.0, (emin) - (digits) + 1);               \
    values[count++] = 1.0 + ldexp(1.0, 1 - (digits));                  \
    values[count++] = 1.0 + ldexp(1.0, -(digits));                     \
    values[count++] = ldexp(1.0 + ldexp(1.0, 1 - (digits)), (emin)-1);
    TESS_PRECISION_LIST(EDGES)
#undef EDGES
    const double others[] = {0.0, -0.0, 0x1p-1074, 480.0, 464.0, 1.0 / 3.0, 65520.0, 61440.0, -448.0};
    memcpy(values + count, others, sizeof others);
    return count + sizeof others / sizeof others[0];
}

static void exact_share_is_what_the_precision_holds(void **state)
{
    (void)state;
    double values[128];
    size_t count = edge_values(values);
    for (size_t k = 0; k < count; k++) {
        const entry entries[] = {{0, 0, values[k]}};
        tess_matrix_analysis f = ANALYZE(1, 1, entries);
        for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
            double expected = tess_precision_holds((tess_precision)p, values[k]) ? 1.0 : 0.0;
            if (f.exact_share[p] != expected) {
                fail_msg("%a in %s: share %g, expected %g", values[k], tess_precision_name((tess_precision)p),
                         f.exact_share[p], expected);
            }
        }
    }
}

static void same_for_any_number_of_threads(void **state)
{
    (void)state;
    enum { N = 3000, COUNT = 20000 };
    entry *entries = calloc(COUNT, sizeof *entries);
    assert_non_null(entries);
    uint32_t random = 12345;
    for (int k = 0; k < COUNT; k++) {
        random = random * 1664525u + 1013904223u;
        int32_t row = (int32_t)(random >> 8) % N;
        random = random * 1664525u + 1013904223u;
        entries[k] = (entry){row, (int32_t)(random >> 8) % N, (double)(random >> 5) / 1024.0 - 3000.0};
    }
    tess_matrix_analysis facts[2];
    for (int i = 0; i < 2; i++) {
        tess_matrix_analysis_init(&facts[i]);
        tess_context *ctx = open_host(1 + 3 * i);
        tess_matrix *a = make(ctx, N, N, COUNT, entries);
        assert_int_equal(tess_matrix_analyze(a, &facts[i]), TESS_SUCCESS);
        tess_matrix_destroy(a);
        tess_context_destroy(ctx);
    }
    free(entries);
    assert_memory_equal(&facts[0], &facts[1], sizeof facts[0]);
}

static int apply_nothing(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    (void)y;
    return 0;
}

static void refuses_what_is_not_assembled(void **state)
{
    (void)state;
    tess_context *ctx = open_host(1);
    const tess_shell_operator operator= {.apply = apply_nothing};
    tess_matrix *shell = NULL, *stored = NULL;
    tess_matrix_analysis facts = {.size = sizeof facts};
    assert_int_equal(tess_matrix_create_shell(ctx, 2, 2, &operator, & shell), TESS_SUCCESS);
    assert_int_equal(tess_matrix_analyze(shell, &facts), TESS_UNSUPPORTED);
    const entry entries[] = {{0, 0, 1}};
    tess_matrix *a = make(ctx, 1, 1, 1, entries);
    tess_storage_options options;
    tess_storage_options_init(&options);
    options.precision = TESS_PRECISION_FP32;
    assert_int_equal(tess_matrix_convert(a, &options, &stored), TESS_SUCCESS);
    assert_int_equal(tess_matrix_analyze(stored, &facts), TESS_UNSUPPORTED);
    assert_int_equal(tess_context_last_error(ctx)->status, TESS_UNSUPPORTED);
    assert_int_equal(tess_matrix_analyze(a, NULL), TESS_INVALID_ARGUMENT);
    assert_int_equal(tess_matrix_analyze(NULL, &facts), TESS_INVALID_ARGUMENT);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(a);
    tess_matrix_destroy(shell);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(symmetric_matrix),
                                       cmocka_unit_test(symmetry_breaks),
                                       cmocka_unit_test(skew_symmetric_matrix),
                                       cmocka_unit_test(not_finite_values),
                                       cmocka_unit_test(empty_matrices),
                                       cmocka_unit_test(dense_row),
                                       cmocka_unit_test(exact_share_is_what_the_precision_holds),
                                       cmocka_unit_test(same_for_any_number_of_threads),
                                       cmocka_unit_test(refuses_what_is_not_assembled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
