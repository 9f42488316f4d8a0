/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at a matrix finds, beside a plain count over its entries. */
#include "auto/facts.h"

#include "support/product.h"

static tess_context *ctx = NULL;

/* ---- a plain count ---- */

static double entry(const oracle_csr *a, int64_t i, int64_t j)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == j) { return a->val[k]; }
    }
    return 0.0;
}

static void count_entry(const oracle_csr *a, int64_t i, int64_t k, matrix_facts *f)
{
    const int64_t j = a->col_ind[k];
    const double value = a->val[k], size = fabs(value), d = entry(a, i, i);

    f->finite = f->finite && isfinite(value);
    if (i == j || value == 0.0) { return; }
    f->above += j > i;
    f->below += j < i;
    f->bandwidth = llabs(i - j) > f->bandwidth ? llabs(i - j) : f->bandwidth;
    f->same_sign += value * (d > 0.0 ? 1.0 : d < 0.0 ? -1.0 : 0.0) > 0.0;
    f->among_zeros += d == 0.0 && entry(a, j, j) == 0.0;
    f->improper_minors += j > i && size / fabs(d) * (size / fabs(entry(a, j, j))) >= 1.0;
}

/* Sums are taken in order, a part of the row after the other. */
static void count_row(const oracle_csr *a, int64_t i, matrix_facts *f)
{
    const int64_t begin = a->row_ptr[i], end = a->row_ptr[i + 1];
    const double diagonal = entry(a, i, i), d = fabs(diagonal);
    double sum = 0.0, others = 0.0, least = INFINITY, most = 0.0, largest = 0.0;

    for (int64_t from = begin; from < end; from += FACT_PART) {
        double part = 0.0, beside = 0.0;

        for (int64_t k = from; k < end && k < from + FACT_PART; k++) {
            count_entry(a, i, k, f);
            part += a->val[k];
            if (a->val[k] != 0.0) { largest = fmax(largest, fabs(a->val[k])); }
            if (a->col_ind[k] == i) { continue; }
            beside += fabs(a->val[k]);
            most = fmax(most, fabs(a->val[k]));
            if (a->val[k] != 0.0) { least = fmin(least, fabs(a->val[k])); }
        }
        sum += part;
        others += beside;
    }
    f->positive += diagonal > 0.0;
    f->negative += diagonal < 0.0;
    f->zero += diagonal == 0.0;
    f->empty_rows += d + others == 0.0;
    f->dominant_rows += d > 0.0 && d >= others;
    f->null_rows += isfinite(others + d) && fabs(sum) <= NULL_ROUNDOFFS * (double)(end - begin) * (others + d);
    f->near_null_rows += d + others > 0.0 && fabs(sum) <= 0x1p-10 * (others + d);
    f->longest_row = end - begin > f->longest_row ? end - begin : f->longest_row;
    if (most > 0.0) { f->row_ratio = fmax(f->row_ratio, most / least); }
    if (largest > 0.0) {
        f->greatest_row = fmax(f->greatest_row, largest);
        f->least_row = f->least_row == 0.0 ? largest : fmin(f->least_row, largest);
    }
    if (d > 0.0) {
        f->greatest_diagonal = fmax(f->greatest_diagonal, d);
        f->least_diagonal = f->least_diagonal == 0.0 ? d : fmin(f->least_diagonal, d);
    }
}

static matrix_facts count_plainly(const oracle_csr *a)
{
    matrix_facts f = {.n = a->nrows, .nnz = a->nnz, .finite = true};

    for (int64_t i = 0; i < a->nrows; i++) {
        count_row(a, i, &f);
    }
    return f;
}

static matrix_facts facts_of(tess_context *of, const oracle_csr *a)
{
    tess_matrix *m = make_matrix(of, a);
    matrix_facts f;

    assert_ok(of, find_facts(m, &f));
    tess_matrix_destroy(m);
    return f;
}

static void same_facts(const matrix_facts *f, const matrix_facts *g)
{
    const int64_t counts[][2] = {{f->n, g->n},
                                 {f->nnz, g->nnz},
                                 {f->finite, g->finite},
                                 {f->positive, g->positive},
                                 {f->negative, g->negative},
                                 {f->zero, g->zero},
                                 {f->empty_rows, g->empty_rows},
                                 {f->dominant_rows, g->dominant_rows},
                                 {f->improper_minors, g->improper_minors},
                                 {f->null_rows, g->null_rows},
                                 {f->near_null_rows, g->near_null_rows},
                                 {f->same_sign, g->same_sign},
                                 {f->above, g->above},
                                 {f->below, g->below},
                                 {f->among_zeros, g->among_zeros},
                                 {f->longest_row, g->longest_row},
                                 {f->bandwidth, g->bandwidth}};
    const double sizes[][2] = {{f->least_row, g->least_row},
                               {f->greatest_row, g->greatest_row},
                               {f->least_diagonal, g->least_diagonal},
                               {f->greatest_diagonal, g->greatest_diagonal},
                               {f->row_ratio, g->row_ratio}};

    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        if (counts[k][0] != counts[k][1]) { print_error("count %zu\n", k); }
        assert_int_equal(counts[k][0], counts[k][1]);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (sizes[k][0] != sizes[k][1]) { print_error("size %zu\n", k); }
        assert_true(sizes[k][0] == sizes[k][1]);
    }
}

/* ---- matrices ---- */

/* Rows of 0 to 5,000 entries, so that rows of several parts lie beside short ones; long ones lie side by side. Values
   are of many sizes, some 0. */
static oracle_csr make_uneven(void)
{
    static const int lengths[] = {0, 1, 7, 33, 63, 64, 65, 511, 512, 513, 1024, 2049, 5000, 3, 0};
    oracle_csr a = oracle_open(5000, 5000);
    uint64_t seed = 17;

    for (int64_t i = 0; i < a.nrows; i++) {
        const int64_t length = i < 40 ? 530 + i : i % 100 == 47 ? lengths[i / 100 % 15] : i % 4;
        const int64_t first = length < 5000 ? (int64_t)(oracle_random_bits(&seed) % (uint64_t)(5000 - length)) : 0;

        for (int64_t j = first; j < first + length; j++) {
            oracle_push(&a, j, j % 11 == 3 ? 0.0 : ldexp(oracle_uniform(&seed, -1.0, 1.0), oracle_power(j, 40)));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr with_entry(oracle_csr a, int64_t k, double value)
{
    a.val[k] = value;
    return a;
}

enum { MATRICES = 10 };

static oracle_csr make_case(int k)
{
    switch (k) {
    case 0: return oracle_open(0, 0);
    case 1: return oracle_diagonal(1, (const double[]){-3.0});
    case 2: return oracle_laplace2d(13);
    case 3: return oracle_convection2d(12, 3.0);
    case 4: return oracle_with_empty_rows(500);
    case 5: return oracle_power_law(3000, 3);
    case 6: return make_uneven();
    case 7: return with_entry(oracle_laplace2d(9), 17, NAN);
    case 8: return with_entry(oracle_laplace2d(9), 0, -INFINITY);
    default: return oracle_random(2000, 2000, 9, 5);
    }
}

static void counts_are_those_of_the_entries(void **state)
{
    (void)state;
    for (int k = 0; k < MATRICES; k++) {
        oracle_csr a = make_case(k);
        const matrix_facts expected = count_plainly(&a), found = facts_of(ctx, &a);

        same_facts(&found, &expected);
        oracle_free(&a);
    }
}

/* ---- what is concluded ---- */

static void triangles_are_seen(void **state)
{
    oracle_csr lower = oracle_tridiagonal(50, -1.0, 2.0, -1.0), upper = oracle_copy(&lower);
    matrix_facts f;

    (void)state;
    f = facts_of(ctx, &lower);
    assert_true(!is_lower_triangular(&f) && !is_upper_triangular(&f) && f.bandwidth == 1);
    for (int64_t i = 0; i < 50; i++) {
        for (int64_t k = lower.row_ptr[i]; k < lower.row_ptr[i + 1]; k++) {
            if (lower.col_ind[k] > i) { lower.val[k] = 0.0; } /* a stored zero is no entry */
            if (upper.col_ind[k] < i) { upper.val[k] = 0.0; }
        }
    }
    f = facts_of(ctx, &lower);
    assert_true(is_lower_triangular(&f) && !is_upper_triangular(&f));
    f = facts_of(ctx, &upper);
    assert_true(!is_lower_triangular(&f) && is_upper_triangular(&f));
    lower.val[0] = 0.0; /* no pivot */
    f = facts_of(ctx, &lower);
    assert_true(!is_lower_triangular(&f) && f.zero == 1);
    upper.val[0] = NAN;
    f = facts_of(ctx, &upper);
    assert_false(is_upper_triangular(&f));
    oracle_free(&lower);
    oracle_free(&upper);
}

/* [A B; B^T C], with C = 0 first. */
static void zero_blocks_are_seen(void **state)
{
    oracle_csr a = oracle_open(5, 5);
    matrix_facts f;

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        oracle_push(&a, i, 2.0);
        oracle_push(&a, 3, 1.0);
        oracle_push(&a, 4, (double)i);
        oracle_end_row(&a, i);
    }
    for (int64_t i = 3; i < 5; i++) {
        for (int64_t j = 0; j < 3; j++) {
            oracle_push(&a, j, i == 3 ? 1.0 : (double)j);
        }
        oracle_push(&a, 7 - i, 0.0);
        oracle_end_row(&a, i);
    }
    f = facts_of(ctx, &a);
    assert_true(has_zero_block(&f) && f.zero == 2 && f.symmetric);
    a.val[a.nnz - 1] = 1e-3;
    f = facts_of(ctx, &a);
    assert_true(!has_zero_block(&f) && f.among_zeros == 1);
    oracle_free(&a);
    a = oracle_laplace2d(4);
    f = facts_of(ctx, &a);
    assert_false(has_zero_block(&f));
    oracle_free(&a);
}

static void jumps_are_seen(void **state)
{
    oracle_csr a = oracle_tridiagonal(40, -1.0, 2.0, -0x1p-20);
    matrix_facts f;

    (void)state;
    a.val[0] = 0x1p10;
    f = facts_of(ctx, &a);
    assert_true(f.least_diagonal == 2.0 && f.greatest_diagonal == 0x1p10 && f.row_ratio == 0x1p20);
    assert_true(f.same_sign == 0 && f.above == 39 && f.below == 39 && f.longest_row == 3);
    oracle_free(&a);
}

/* A lower triangle has nothing of its transpose; half of one has half. */
static void one_way_is_a_share(void **state)
{
    oracle_csr a = oracle_tridiagonal(9000, -1.0, 2.0, 0.0), b = oracle_tridiagonal(9000, -3.0, 2.0, -1.0);

    (void)state;
    assert_true(facts_of(ctx, &a).one_way == 1.0);
    assert_at_most(fabs(facts_of(ctx, &b).one_way - 0.5), 1e-14);
    oracle_free(&a);
    oracle_free(&b);
    a = oracle_laplace2d(8);
    assert_true(facts_of(ctx, &a).one_way == 0.0);
    oracle_free(&a);
}

/* Rows of 2^0 to 2^60: the small ones count as much as the others. Of 5,000 rows sums are of several blocks. */
static void small_rows_count_in_symmetry(void **state)
{
    oracle_csr a = oracle_tridiagonal(5000, -1.0, 2.0, -1.0);
    matrix_facts f;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = ldexp(a.val[k], oracle_power(i, 30) + oracle_power(a.col_ind[k], 30));
        }
    }
    f = facts_of(ctx, &a);
    assert_true(f.symmetric && rows_are_apart(&f));
    for (int64_t i = 1; i < a.nrows; i += 2) {
        a.val[a.row_ptr[i]] *= 1.5;
    }
    assert_false(facts_of(ctx, &a).symmetric);
    oracle_free(&a);
}

/* bound: as large matrices of a GPU have it. */
static int64_t levels_of(tess_context *of, const oracle_csr *a, bool bound)
{
    tess_matrix *m = make_matrix(of, a);
    matrix_facts f = {.n = a->nrows};

    if (bound) {
        assert_ok(of, facts_ops_of(of)->levels(m, &f.levels));
    } else {
        assert_ok(of, find_levels(m, &f));
    }
    tess_matrix_destroy(m);
    return f.levels;
}

/* On a grid in its own order the diagonals, in a chain the rows. */
static void levels_are_counted(void **state)
{
    oracle_csr grid = oracle_laplace2d(13), chain = oracle_tridiagonal(3000, -1.0, 2.0, -1.0),
               empty = oracle_open(0, 0);
    const double ones[] = {1.0, 1.0, 1.0};
    oracle_csr diagonal = oracle_diagonal(3, ones);

    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        assert_int_equal(levels_of(ctx, &grid, bound), 25);
        assert_int_equal(levels_of(ctx, &chain, bound), 3000);
        assert_int_equal(levels_of(ctx, &diagonal, bound), 1);
    }
    assert_int_equal(levels_of(ctx, &empty, false), 0);
    oracle_free(&grid);
    oracle_free(&chain);
    oracle_free(&empty);
    oracle_free(&diagonal);
}

static uint64_t hash_of(tess_context *of, const oracle_csr *a)
{
    tess_matrix *m = make_matrix(of, a);
    uint64_t hash = 1;

    assert_ok(of, facts_ops_of(of)->pattern(m, &hash));
    tess_matrix_destroy(m);
    return hash;
}

/* Where entries are counts, what they are does not. */
static void patterns_have_a_hash(void **state)
{
    oracle_csr a = oracle_random(700, 700, 5, 2), b = oracle_copy(&a);
    const uint64_t hash = hash_of(ctx, &a);

    (void)state;
    b.val[17] += 1.0;
    assert_true(hash_of(ctx, &b) == hash);
    for (int64_t i = 0, moved = 0; i < b.nrows && !moved; i++) { /* the first last entry that can move by a column */
        const int64_t last = b.row_ptr[i + 1] - 1;

        moved = last >= b.row_ptr[i] && b.col_ind[last] + 1 < b.ncols;
        if (moved) { b.col_ind[last]++; }
    }
    assert_true(hash_of(ctx, &b) != hash);
    oracle_free(&b);
    b = oracle_copy(&a);
    for (int64_t i = 1; i < b.nrows; i++) { /* the same columns, of other rows */
        if (b.row_ptr[i] + 1 < b.row_ptr[i + 1] && b.col_ind[b.row_ptr[i]] > b.col_ind[b.row_ptr[i] - 1]) {
            b.row_ptr[i]++;
            break;
        }
    }
    assert_true(hash_of(ctx, &b) != hash);
    oracle_free(&a);
    oracle_free(&b);
}

/* What stands here, for a GPU too. */
#define FACT_TESTS                                                                           \
    cmocka_unit_test(counts_are_those_of_the_entries), cmocka_unit_test(triangles_are_seen), \
        cmocka_unit_test(zero_blocks_are_seen), cmocka_unit_test(jumps_are_seen),            \
        cmocka_unit_test(one_way_is_a_share), cmocka_unit_test(levels_are_counted),          \
        cmocka_unit_test(small_rows_count_in_symmetry), cmocka_unit_test(patterns_have_a_hash)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT_TESTS,
    };

    return run_with_context(open_cpu(3), tests, &ctx);
}
#endif
