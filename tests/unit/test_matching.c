/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maximum-product matching. The scalings are a certificate: where no scaled magnitude exceeds 1 and those of the
 * matching are 1, no other permutation has a larger product. So each result is judged by its own scalings, in wide
 * arithmetic, and small ones by all permutations too.
 */
#include <tessera/io.h>

#include "order/order.h"
#include "support/product.h"
#include "support/test.h"

/*
 * The promises of tess_order_max_product. In units of u = 2^-53: rounding log2 to 2^-48 moves a value by at most 2^-49
 * ln 2 < 11.1 u, a faithful log2 adds 1, the two factors' exp2 2 each; the products here are exact enough.
 */
#define TOLERANCE 0x1p-48

typedef struct matching {
    int64_t n;
    int32_t *row_perm;
    double *row_scale, *col_scale;
} matching;

static matching open_matching(int64_t n)
{
    return (matching){n, test_allocate(n, sizeof(int32_t)), test_allocate(n, sizeof(double)),
                      test_allocate(n, sizeof(double))};
}

static void close_matching(matching *m)
{
    free(m->row_perm);
    free(m->row_scale);
    free(m->col_scale);
}

/* The certificate. */
static void check_matching(const oracle_csr *a, const matching *m)
{
    int32_t *place = test_allocate(m->n, sizeof *place);
    int64_t on_diagonal = 0;

    for (int64_t j = 0; j < m->n; j++) {
        place[j] = -1;
    }
    for (int64_t j = 0; j < m->n; j++) {
        assert_in_range(m->row_perm[j], 0, m->n - 1);
        assert_int_equal(place[m->row_perm[j]], -1);
        place[m->row_perm[j]] = (int32_t)j;
        assert_true(isnormal(m->row_scale[j]) && m->row_scale[j] > 0.0);
        assert_true(isnormal(m->col_scale[j]) && m->col_scale[j] > 0.0);
    }
    for (int64_t i = 0; i < m->n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            wide scaled = wide_abs((wide)a->val[k] * (wide)m->row_scale[i] * (wide)m->col_scale[a->col_ind[k]]);

            assert_at_most((double)(scaled - 1), TOLERANCE);
            if (a->col_ind[k] != place[i]) { continue; }
            assert_at_most((double)(1 - scaled), TOLERANCE);
            on_diagonal += 1;
        }
    }
    assert_int_equal(on_diagonal, m->n);
    free(place);
}

static void match_and_check(tess_context *ctx, const oracle_csr *a)
{
    tess_matrix *t = make_matrix(ctx, a);
    matching m = open_matching(a->nrows);

    assert_ok(ctx, tess_order_max_product(t, m.row_perm, m.row_scale, m.col_scale));
    check_matching(a, &m);
    close_matching(&m);
    tess_matrix_destroy(t);
}

/* Random entries and, for most seeds, a diagonal of a random permutation, so that a matching exists. Magnitudes are
   2^e with e uniform in (-spread, spread). */
static oracle_csr random_matrix(int64_t n, int64_t per_row, double spread, uint64_t seed)
{
    oracle_csr a = oracle_open(n, n);
    bool *taken = test_allocate(n, sizeof *taken);
    int32_t *perm = test_allocate(n, sizeof *perm);

    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)(oracle_random_bits(&seed) % (uint64_t)(i + 1));

        perm[i] = perm[j];
        perm[j] = (int32_t)i;
    }
    for (int64_t i = 0; i < n; i++) {
        memset(taken, 0, (size_t)n * sizeof *taken);
        taken[perm[i]] = true;
        for (int64_t k = 1; k < per_row; k++) {
            taken[oracle_random_bits(&seed) % (uint64_t)n] = true;
        }
        for (int64_t j = 0; j < n; j++) {
            double sign = oracle_random_bits(&seed) & 1 ? -1.0 : 1.0;

            if (taken[j]) { oracle_push(&a, j, sign * exp2(oracle_uniform(&seed, -spread, spread))); }
        }
        oracle_end_row(&a, i);
    }
    free(taken);
    free(perm);
    return a;
}

static void random_matrices_are_matched_best(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int64_t n = 1 + (int64_t)(seed * 7 % 150), per_row = 1 + (int64_t)(seed % 9);
        oracle_csr a = random_matrix(n, per_row, seed % 3 == 0 ? 0.5 : 20.0, 1000 + seed);

        match_and_check(ctx, &a);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* Values 1, 2 and 4 only: many matchings are equally good, and zero reduced costs abound. */
static void ties_are_no_trouble(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        oracle_csr a = random_matrix(80, 6, 1.0, seed);

        for (int64_t k = 0; k < a.nnz; k++) {
            a.val[k] = exp2((double)(oracle_random_bits(&seed) % 3));
        }
        match_and_check(ctx, &a);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- all permutations ---- */

/* Largest sum of log2 |a| over rows from `row` on; -INFINITY where none is complete. */
static double best_sum(const double *logs, int64_t n, int64_t row, unsigned used)
{
    double best = -INFINITY;

    if (row == n) { return 0.0; }
    for (int64_t j = 0; j < n; j++) {
        double value = logs[row * n + j];

        if (used & (1U << j) || value == -INFINITY) { continue; }
        value += best_sum(logs, n, row + 1, used | (1U << j));
        best = value > best ? value : best;
    }
    return best;
}

static void small_matrices_agree_with_all_permutations(void **state)
{
    enum { MOST = 7 };
    tess_context *ctx = open_cpu(1);
    int singular = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        int64_t n = 1 + (int64_t)(seed % MOST);
        oracle_csr a = oracle_random(n, n, 1 + (int64_t)(seed / 7 % 4), seed);
        tess_matrix *t = make_matrix(ctx, &a);
        matching m = open_matching(n);
        double logs[MOST * MOST], sum = 0.0, best;
        tess_status status = tess_order_max_product(t, m.row_perm, m.row_scale, m.col_scale);

        for (int64_t k = 0; k < n * n; k++) {
            logs[k] = -INFINITY;
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
                logs[i * n + a.col_ind[k]] = log2(fabs(a.val[k]));
            }
        }
        best = best_sum(logs, n, 0, 0);
        if (best == -INFINITY) {
            assert_int_equal(status, TESS_SINGULAR);
            singular += 1;
        } else {
            assert_ok(ctx, status);
            check_matching(&a, &m);
            for (int64_t j = 0; j < n; j++) {
                sum += logs[m.row_perm[j] * n + j];
            }
            /* n logarithms below 2^6, each and each sum rounded, and the units of 2^-48 */
            assert_at_most(best - sum, (double)n * (0x1p-46 + 0x1p-48));
        }
        close_matching(&m);
        tess_matrix_destroy(t);
        oracle_free(&a);
    }
    assert_in_range(singular, 20, 380);
    tess_context_destroy(ctx);
}

/* ---- duals ---- */

/* On the integers themselves: feasible, and tight on the matching, without any tolerance. */
static void duals_are_feasible_and_tight(void **state)
{
    enum { N = 120, PER_ROW = 6 };
    tess_context *ctx = open_cpu(1);
    oracle_csr a = random_matrix(N, PER_ROW, 1.0, 77);
    int64_t *cost = test_allocate(a.nnz, sizeof *cost), u[N], v[N], sum = 0, dual_sum = 0;
    int32_t column_of[N], row_of[N];
    order_matching m = {.n = N,
                        .first = a.row_ptr,
                        .column = a.col_ind,
                        .cost = cost,
                        .column_of = column_of,
                        .row_of = row_of,
                        .u = u,
                        .v = v};
    uint64_t seed = 5;

    (void)state;
    for (int64_t k = 0; k < a.nnz; k++) {
        cost[k] = (int64_t)(oracle_random_bits(&seed) >> (seed % 4 == 0 ? 60 : 5)); /* 0 .. 15, or up to 2^59 */
    }
    assert_ok(ctx, match_rows(ctx, &m));
    assert_int_equal(m.count, N);
    for (int64_t i = 0; i < N; i++) {
        assert_int_equal(row_of[column_of[i]], i);
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            int64_t reduced = cost[k] - u[i] - v[a.col_ind[k]];

            assert_true(reduced >= 0);
            if (a.col_ind[k] == column_of[i]) {
                assert_int_equal(reduced, 0);
                sum += cost[k] >> 8; /* as the check of a check: both sums below, to a few units */
            }
        }
        dual_sum += (u[i] >> 9) + (v[i] >> 9);
    }
    assert_at_most(fabs((double)(sum - 2 * dual_sum)), 5.0 * N);
    free(cost);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- special matrices ---- */

static void assert_rank(tess_context *ctx, const oracle_csr *a, const char *rank)
{
    tess_matrix *t = make_matrix(ctx, a);

    assert_fails(ctx, TESS_SINGULAR, tess_order_max_product(t, NULL, NULL, NULL));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, rank));
    tess_matrix_destroy(t);
}

static void structural_rank_is_named(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr thin = oracle_open(50, 50), empty = oracle_open(3, 3), zeros = oracle_tridiagonal(4, 0.0, 1.0, 0.0);

    (void)state;
    for (int64_t i = 0; i < 50; i++) { /* the first 20 rows share three columns; the rest are full */
        for (int64_t j = 0; j < 50; j++) {
            if (i >= 20 || j < 3) { oracle_push(&thin, j, 1.0 + (double)((i * 7 + j * 3) % 11)); }
        }
        oracle_end_row(&thin, i);
    }
    for (int64_t i = 0; i < 3; i++) {
        oracle_end_row(&empty, i);
    }
    zeros.val[0] = 0.0; /* explicit: counts as absent, and so do its zeros off the diagonal */
    assert_rank(ctx, &thin, "33 of 50");
    assert_rank(ctx, &empty, "0 of 3");
    assert_rank(ctx, &zeros, "3 of 4");
    oracle_free(&thin);
    oracle_free(&empty);
    oracle_free(&zeros);
    tess_context_destroy(ctx);
}

static void one_and_none(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr one = oracle_tridiagonal(1, 0.0, -3.0, 0.0), none = oracle_open(0, 0);
    tess_matrix *t = make_matrix(ctx, &none);

    (void)state;
    match_and_check(ctx, &one);
    assert_ok(ctx, tess_order_max_product(t, NULL, NULL, NULL));
    tess_matrix_destroy(t);
    oracle_free(&one);
    oracle_free(&none);
    tess_context_destroy(ctx);
}

/* Magnitudes from 1e-300 to 1e300 within one row; and rows that need factors on both sides, because the inverse of one
   factor is no number. */
static void values_of_any_size_are_matched(void **state)
{
    tess_context *ctx = open_cpu(1);
    const double ends[] = {0x1p-1040, -1e-300, 1e300}, most = 0x1.fffffffffffffp1023;
    oracle_csr diagonal = oracle_diagonal(3, ends), largest = oracle_diagonal(1, &most);

    (void)state;
    match_and_check(ctx, &diagonal);
    match_and_check(ctx, &largest);
    for (uint64_t seed = 0; seed < 20; seed++) {
        oracle_csr a = random_matrix(60, 30, 996.0, 500 + seed); /* 1e-300 .. 1e300 */

        match_and_check(ctx, &a);
        oracle_free(&a);
    }
    oracle_free(&diagonal);
    oracle_free(&largest);
    tess_context_destroy(ctx);
}

/* A chain that makes row factors grow by at least 1e280 from one to the next: two of them fit FP64, and no more do. */
static void scalings_beyond_fp64_are_refused(void **state)
{
    static const int64_t sizes[] = {2, 4, 60}; /* with 60 the search itself stops */
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int s = 0; s < 3; s++) {
        int64_t n = sizes[s];
        oracle_csr chain = oracle_open(n, n);
        tess_matrix *t = NULL;

        for (int64_t i = 0; i < n; i++) {
            oracle_push(&chain, i, 1e-140);
            if (i + 1 < n) { oracle_push(&chain, i + 1, 1e140); }
            oracle_end_row(&chain, i);
        }
        t = make_matrix(ctx, &chain);
        if (n == 2) {
            match_and_check(ctx, &chain);
        } else {
            assert_fails(ctx, TESS_OUT_OF_RANGE, tess_order_max_product(t, NULL, NULL, NULL));
        }
        tess_matrix_destroy(t);
        oracle_free(&chain);
    }
    tess_context_destroy(ctx);
}

static void wrong_inputs_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr wide_one = oracle_random(4, 5, 1, 1), bad = oracle_tridiagonal(5, -1.0, 2.0, -1.0);
    tess_matrix *t = make_matrix(ctx, &wide_one);
    const double wrong[] = {NAN, INFINITY, -INFINITY};

    (void)state;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, tess_order_max_product(t, NULL, NULL, NULL));
    tess_matrix_destroy(t);
    for (int i = 0; i < 3; i++) {
        bad.val[5] = wrong[i];
        t = make_matrix(ctx, &bad);
        assert_fails(ctx, TESS_OUT_OF_RANGE, tess_order_max_product(t, NULL, NULL, NULL));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 3, column 2"));
        tess_matrix_destroy(t);
    }
    oracle_free(&wide_one);
    oracle_free(&bad);
    tess_context_destroy(ctx);
}

static void powers_of_two_are_near(void **state)
{
    double scale[] = {1.0, 0x1.6ap0, 0x1.6bp0, 3.0, 0x1.6ap-1022, 0x1.fp1023, 0x1p-1074, 0.75};
    const double expected[] = {1.0, 1.0, 2.0, 4.0, 0x1p-1022, 0x1p1023, 0x1p-1074, 1.0};

    (void)state;
    tess_order_round_scale(8, scale);
    assert_true(same_bits(scale, expected, 8));
}

/* ---- matrices of others ---- */

/* Matches if possible; counts the outcomes. */
static void match_file(tess_context *ctx, const char *path, int64_t largest, int *matched, int *singular)
{
    tess_matrix *t = NULL;
    tess_status status = tess_matrix_read(ctx, path, &t, NULL);

    if (status == TESS_SUCCESS && tess_matrix_nrows(t) == tess_matrix_ncols(t) && tess_matrix_nnz(t) <= largest) {
        matching m = open_matching(tess_matrix_nrows(t));
        oracle_csr a = decode_matrix(t);

        status = tess_order_max_product(t, m.row_perm, m.row_scale, m.col_scale);
        if (status == TESS_SINGULAR) {
            *singular += 1;
        } else {
            assert_ok(ctx, status);
            check_matching(&a, &m);
            *matched += 1;
        }
        oracle_free(&a);
        close_matching(&m);
    }
    tess_matrix_destroy(t);
}

static void sample_matrices_are_matched(void **state)
{
    static const char *const names[] = {"1138_bus", "CAG_mat72", "GD01_c",   "Trefethen_20", "bcsstk06",
                                        "fs_541_1", "nos3",      "plskz362", "sherman4",     "west0067"};
    tess_context *ctx = open_cpu(1);
    int matched = 0, singular = 0;
    char path[512];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s.mtx.gz", TESS_DATA_DIR, names[i]);
        match_file(ctx, path, INT64_MAX, &matched, &singular);
    }
    assert_int_equal(matched + singular, sizeof names / sizeof *names);
    assert_true(matched >= 8);
    tess_context_destroy(ctx);
}

/* One line of the manifest: name, rows, columns, nonzeros, tab by tab. The name is cut off in place. */
static bool read_sizes(char *line, long sizes[3])
{
    char *end = strchr(line, '\t');

    if (!end) { return false; }
    *end = '\0';
    for (int i = 0; i < 3; i++) {
        char *begin = end + 1;

        sizes[i] = strtol(begin, &end, 10);
        if (end == begin || *end != '\t') { return false; }
    }
    return true;
}

static void real_matrices_are_matched(void **state)
{
    enum { MAX_NONZEROS = 400000 };
    const char *directory = getenv("TESSERA_MATRICES");
    char line[1024], path[1536];
    int matched = 0, singular = 0;
    FILE *manifest = NULL;
    tess_context *ctx = NULL;

    (void)state;
    directory = directory && directory[0] ? directory : TESS_MATRICES_DIR;
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", directory);
    manifest = directory[0] ? fopen(path, "r") : NULL;
    if (!manifest) {
        print_message("SKIPPED: no real matrices (set TESSERA_MATRICES)\n");
        skip();
    }
    ctx = open_cpu(1);
    while (fgets(line, sizeof line, manifest)) {
        bool complex_values = strstr(line, "\tcomplex") != NULL;
        long sizes[3];

        if (complex_values || !read_sizes(line, sizes) || sizes[0] != sizes[1] || sizes[2] > MAX_NONZEROS) { continue; }
        snprintf(path, sizeof path, "%s/%s.mtx.gz", directory, line);
        match_file(ctx, path, MAX_NONZEROS, &matched, &singular);
    }
    fclose(manifest);
    print_message("             %d matrices matched, %d structurally singular\n", matched, singular);
    assert_true(matched > 50);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_matrices_are_matched_best),
        cmocka_unit_test(ties_are_no_trouble),
        cmocka_unit_test(small_matrices_agree_with_all_permutations),
        cmocka_unit_test(duals_are_feasible_and_tight),
        cmocka_unit_test(structural_rank_is_named),
        cmocka_unit_test(one_and_none),
        cmocka_unit_test(values_of_any_size_are_matched),
        cmocka_unit_test(scalings_beyond_fp64_are_refused),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(powers_of_two_are_near),
        cmocka_unit_test(sample_matrices_are_matched),
        cmocka_unit_test(real_matrices_are_matched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
