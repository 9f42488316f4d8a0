/* SPDX-License-Identifier: Apache-2.0 */
/* Products of sparse matrices on a GPU: the host's pattern, values within rounding, the same bits on every run. */
#include "matrix/device_csr.h"
#include "matrix/product_sample.h"
#include "support/gallery.h"
#include "support/test.h"

static tess_context *gpu;

static oracle_csr absolute(const oracle_csr *a)
{
    oracle_csr out = oracle_copy(a);

    for (int64_t k = 0; k < out.nnz; k++) {
        out.val[k] = fabs(out.val[k]);
    }
    return out;
}

/* Arrays of a matrix on the host. */
static oracle_csr read_matrix(tess_context *ctx, const tess_matrix *m)
{
    oracle_csr out = {.nrows = tess_matrix_nrows(m), .ncols = tess_matrix_ncols(m), .nnz = tess_matrix_nnz(m)};

    out.row_ptr = test_allocate(out.nrows + 1, sizeof *out.row_ptr);
    out.col_ind = test_allocate(out.nnz, sizeof *out.col_ind);
    out.val = test_allocate(out.nnz, sizeof *out.val);
    assert_ok(ctx, tess_matrix_get_csr(m, out.row_ptr, out.col_ind, out.val));
    return out;
}

/* op_a(A) op_b(B) in a context. */
static oracle_csr multiply_in(tess_context *ctx, const oracle_csr *a, tess_operation op_a, const oracle_csr *b,
                              tess_operation op_b)
{
    tess_matrix *left = make_matrix(ctx, a), *right = make_matrix(ctx, b), *product = NULL;
    oracle_csr out;

    assert_ok(ctx, tess_matrix_multiply(left, op_a, right, op_b, &product));
    out = read_matrix(ctx, product);
    tess_matrix_destroy(product);
    tess_matrix_destroy(left);
    tess_matrix_destroy(right);
    return out;
}

/* Host and GPU round sums of up to `longest` products each. */
static void check_product(const oracle_csr *a, tess_operation op_a, const oracle_csr *b, tess_operation op_b)
{
    tess_context *cpu = open_cpu(2);
    oracle_csr left = absolute(a), right = absolute(b);
    oracle_csr expected = multiply_in(cpu, a, op_a, b, op_b), magnitude = multiply_in(cpu, &left, op_a, &right, op_b);
    oracle_csr first = multiply_in(gpu, a, op_a, b, op_b), again = multiply_in(gpu, a, op_a, b, op_b);
    const double bound = 2.0 * gamma_of((double)oracle_longest_row(a, op_a == TESS_OP_TRANSPOSE) + 1.0);

    assert_true(same_matrix(&first, &again));
    assert_int_equal(first.nrows, expected.nrows);
    assert_int_equal(first.nnz, expected.nnz);
    assert_memory_equal(first.row_ptr, expected.row_ptr, (size_t)(first.nrows + 1) * sizeof *first.row_ptr);
    assert_memory_equal(first.col_ind, expected.col_ind, (size_t)first.nnz * sizeof *first.col_ind);
    for (int64_t k = 0; k < first.nnz; k++) {
        assert_at_most(fabs(first.val[k] - expected.val[k]), bound * magnitude.val[k]);
    }
    oracle_free(&left);
    oracle_free(&right);
    oracle_free(&expected);
    oracle_free(&magnitude);
    oracle_free(&first);
    oracle_free(&again);
    tess_context_destroy(cpu);
}

static void rows_of_all_lengths(void **state)
{
    (void)state;
    for (int64_t per_row = 1; per_row <= 32; per_row *= 2) { /* products of up to some thousand entries a row */
        oracle_csr a = oracle_random(300, 2000, per_row, (uint64_t)per_row);
        oracle_csr b = oracle_random(2000, 900, per_row, (uint64_t)per_row + 100);

        check_product(&a, TESS_OP_NONE, &b, TESS_OP_NONE);
        oracle_free(&a);
        oracle_free(&b);
    }
}

/* Row i of A takes `length` rows of B: of those whose columns are all the same, or of those that share none. */
static void push_overlapping(oracle_csr *a, int length, bool distinct)
{
    for (int k = 0; k < length; k++) {
        oracle_push(a, (distinct ? 200 : 0) + k, 1.0 + k);
    }
}

/* Where rows that the sample misses have many times as many entries as others, the space is too small at first, and
   rows go from one table to the next until they fit. Bounds of 80, 400 and 1,600 entries begin with tables for 8. */
static void rows_beyond_the_sample(void **state)
{
    const int64_t parts = PRODUCT_LEAST_SAMPLED, n = 3 * parts;
    const int length[] = {200, 50, 10, 2};
    oracle_csr a = oracle_open(n, 400), b = oracle_open(400, 8 + 1600);

    (void)state;
    assert_int_equal(product_samples(n), parts);
    for (int64_t i = 0; i < n; i++) {
        const int64_t part = i / 3, kind = part % 32;
        const bool is_sampled = product_sampled_row(part, parts, n) == i;
        const bool is_long = kind < 3 && (is_sampled || i % 3 == (product_sampled_row(part, parts, n) + 1) % 3);

        push_overlapping(&a, is_long ? length[kind] : length[3], is_long && !is_sampled);
        oracle_end_row(&a, i);
    }
    for (int64_t j = 0; j < 400; j++) {
        for (int64_t k = 0; k < 8; k++) {
            oracle_push(&b, (j < 200 ? 0 : 8 + 8 * (j - 200)) + k, 0.5 + (double)k);
        }
        oracle_end_row(&b, j);
    }
    check_product(&a, TESS_OP_NONE, &b, TESS_OP_NONE);
    oracle_free(&a);
    oracle_free(&b);
}

static void rows_may_be_empty(void **state)
{
    oracle_csr a = oracle_with_empty_rows(1000), none = oracle_open(0, 5), column = oracle_random(5, 3, 1, 3);

    (void)state;
    check_product(&a, TESS_OP_NONE, &a, TESS_OP_NONE);
    check_product(&a, TESS_OP_TRANSPOSE, &a, TESS_OP_NONE);
    check_product(&none, TESS_OP_NONE, &column, TESS_OP_NONE);
    check_product(&column, TESS_OP_TRANSPOSE, &none, TESS_OP_TRANSPOSE);
    check_product(&none, TESS_OP_TRANSPOSE, &none, TESS_OP_NONE);
    oracle_free(&a);
    oracle_free(&none);
    oracle_free(&column);
}

/* An arrow: a dense row and a dense column. Its longest rows go beyond the tables in shared memory. */
static oracle_csr arrow(int64_t n)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        if (i == 0) {
            for (int64_t j = 0; j < n; j++) {
                oracle_push(&a, j, 1.0 / (double)(j + 1));
            }
        } else {
            if (i % 7 == 0) { oracle_push(&a, 0, -0.5); }
            oracle_push(&a, i, (double)i);
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static void rows_and_columns_may_be_dense(void **state)
{
    oracle_csr large = arrow(7000), medium = oracle_power_law(1800, 4);

    (void)state;
    check_product(&large, TESS_OP_NONE, &large, TESS_OP_NONE);
    check_product(&medium, TESS_OP_NONE, &medium, TESS_OP_NONE);
    check_product(&medium, TESS_OP_TRANSPOSE, &medium, TESS_OP_TRANSPOSE);
    oracle_free(&large);
    oracle_free(&medium);
}

static void transposes_have_sorted_rows(void **state)
{
    oracle_csr wide_one = oracle_random(150, 800, 20, 5), identity = {0};
    double *ones = random_values(150, 1, 1.0, 1.0);

    (void)state;
    for (int i = 0; i < 150; i++) {
        ones[i] = 1.0;
    }
    identity = oracle_diagonal(150, ones);
    check_product(&wide_one, TESS_OP_TRANSPOSE, &identity, TESS_OP_NONE);
    check_product(&identity, TESS_OP_NONE, &wide_one, TESS_OP_NONE);
    check_product(&wide_one, TESS_OP_NONE, &wide_one, TESS_OP_TRANSPOSE);
    oracle_free(&wide_one);
    oracle_free(&identity);
    free(ones);
}

static void check_bits(const host_csr *expected, const device_csr *c)
{
    host_csr computed = {0};

    assert_ok(gpu, device_csr_download(gpu, c, &computed));
    assert_memory_equal(computed.col_ind, expected->col_ind, (size_t)c->nnz * sizeof *computed.col_ind);
    assert_true(same_bits(computed.val, expected->val, c->nnz));
    host_csr_release(gpu, &computed);
}

/* The product by a CPU, in whose order and with whose roundings a GPU adds. */
static void check_bits_of_host(const oracle_csr *a, const device_csr *c)
{
    tess_context *cpu = open_cpu(2);
    host_csr own = {.nrows = a->nrows, .ncols = a->ncols, .row_ptr = a->row_ptr, .col_ind = a->col_ind, .val = a->val};
    host_csr expected = {0};

    assert_ok(cpu, host_csr_multiply(cpu, &own, &own, true, &expected));
    check_bits(&expected, c);
    host_csr_release(cpu, &expected);
    tess_context_destroy(cpu);
}

/* The passes for new values, without and with a plan, have the bits of the first product, and of the host. */
static void known_patterns_get_the_same_values(void **state)
{
    const device_csr_ops *ops = device_csr_ops_of(gpu);
    oracle_csr problems[] = {oracle_power_law(2500, 8), oracle_random(700, 700, 9, 2), oracle_with_empty_rows(400),
                             oracle_random(200, 200, 20, 3)};

    (void)state;
    for (int p = 0; p < 4; p++) {
        tess_matrix *m = make_matrix(gpu, &problems[p]);
        device_csr a = {0}, c = {0};
        device_csr_plan plan = {0};
        host_csr first = {0};

        assert_true(device_csr_takes(m));
        device_csr_borrow(m, &a);
        assert_ok(gpu, ops->multiply(gpu, &a, &a, &c));
        check_bits_of_host(&problems[p], &c);
        assert_ok(gpu, device_csr_download(gpu, &c, &first));
        device_csr_release_values(gpu, &c);
        assert_ok(gpu, ops->multiply_again(gpu, &a, &a, &c));
        check_bits(&first, &c);
        device_csr_release_values(gpu, &c);
        assert_ok(gpu, ops->plan(gpu, &a, &a, &c, &plan));
        assert_true(plan.made);
        assert_int_equal(plan.code != NULL, p > 0); /* the first has longer rows than a plan takes */
        if (plan.code) {
            assert_ok(gpu, ops->multiply_planned(gpu, &a, &a, &plan, &c));
            check_bits(&first, &c);
        }
        device_csr_plan_release(gpu, &plan);
        host_csr_release(gpu, &first);
        device_csr_release(gpu, &c);
        tess_matrix_destroy(m);
        oracle_free(&problems[p]);
    }
}

static void too_many_entries_are_refused(void **state)
{
    device_csr a = {0};

    (void)state;
    assert_fails(gpu, TESS_OUT_OF_RANGE, device_csr_allocate_entries(gpu, INT64_C(1) << 31, true, &a));
    assert_null(a.col_ind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_lengths),
        cmocka_unit_test(rows_beyond_the_sample),
        cmocka_unit_test(rows_may_be_empty),
        cmocka_unit_test(rows_and_columns_may_be_dense),
        cmocka_unit_test(transposes_have_sorted_rows),
        cmocka_unit_test(known_patterns_get_the_same_values),
        cmocka_unit_test(too_many_entries_are_refused),
    };

    return run_gpu_tests(tests, &gpu);
}
