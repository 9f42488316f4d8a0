/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors with fill (ilut, ict, iluk): patterns, complete factors at the limit, shifts, new values, solves.
 */
#include <float.h>

#include "precond/incomplete/incomplete.h"
#include "support/gallery.h"
#include "support/incomplete.h"
#include "support/product.h"
#include "support/solve.h"

enum { K = 12, N = K * K };

/* Where patterns and factors are computed: of `sweeps`, in so many rounds. */
static tess_factorization fill_way = TESS_FACTORIZATION_AUTO;
static int fill_rounds = 5;

static tess_precond_options fill_options(tess_precond_kind kind, double drop, double fill, int level)
{
    tess_precond_options options = factor_options(kind);

    options.incomplete.factorization = fill_way;
    options.incomplete.factorization_sweeps = fill_rounds;
    options.threshold.drop = drop;
    options.threshold.fill = fill;
    options.threshold.level = level;
    return options;
}

static const tess_precond_kind all_kinds[] = {TESS_PRECOND_ILUT, TESS_PRECOND_ICT, TESS_PRECOND_ILUK};

static tess_precond_factors facts_of(tess_context *ctx, const tess_precond *m)
{
    tess_precond_factors facts = {.size = sizeof facts};

    assert_ok(ctx, tess_precond_get_factors(m, &facts));
    return facts;
}

/* z = M^-1 r; returns the off-diagonal nonzeros of the factors. */
static int64_t apply_fill(const oracle_csr *a, const tess_precond_options *options, int threads, const double *r,
                          double *z)
{
    tess_context *ctx = open_device(threads);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;
    tess_precond_factors facts = {.size = sizeof facts};

    assert_ok(ctx, tess_precond_create(matrix, options, &m));
    apply_precond(m, a->nrows, r, z);
    facts = facts_of(ctx, m);
    assert_true((facts.factorization == TESS_FACTORIZATION_SWEEPS) == (fill_way == TESS_FACTORIZATION_SWEEPS));
    assert_true(tess_precond_bytes(m) > 0);
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return facts.nonzeros;
}

/* Without dropping they are complete: M z = r to rounding. These matrices are diagonally dominant, so that the
   magnitudes of L U are at most 2 |A| (Higham, section 9.4). */
static void nothing_dropped_is_exact(void **state)
{
    (void)state;
    for (int c = 0; c < 5; c++) {
        oracle_csr a = c >= 3 ? oracle_convection2d(K, 2.0) : oracle_laplace2d(K);
        double *r = random_values(N, 3, -1.0, 1.0), z[N];
        const tess_precond_kind kind = c >= 3 ? all_kinds[2 * (c - 3)] : all_kinds[c];
        const tess_precond_options options = fill_options(kind, 0.0, 1e9, TESS_MAX_FILL_LEVEL);
        const int64_t nonzeros = apply_fill(&a, &options, 1, r, z);

        assert_true(nonzeros > 2 * a.nnz);
        if (kind != TESS_PRECOND_ILUK) { /* a limit beyond any row, and beyond 64 bits, is none */
            const tess_precond_options any = fill_options(kind, 0.0, c % 2 ? 1e87 : DBL_MAX, 1);

            assert_int_equal(apply_fill(&a, &any, 1, r, z), nonzeros);
        }
        assert_at_most((double)oracle_residual_norm(&a, r, z),
                       8.0 * gamma_of(N) * 8.0 * (double)oracle_norm2(z, N)); /* ||A|| <= 8 */
        oracle_free(&a);
        free(r);
    }
}

/* lev_ij = min(lev_ij, lev_ik + lev_kj + 1), all of them (Saad 2003, Algorithm 10.5), dense. */
static int64_t count_levels(const oracle_csr *a, int level)
{
    const int64_t n = a->nrows;
    int *lev = test_allocate(n * n, sizeof *lev);
    int64_t count = 0;

    for (int64_t i = 0; i < n * n; i++) {
        lev[i] = i % (n + 1) == 0 ? 0 : 10000;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            lev[i * n + a->col_ind[k]] = 0;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) {
            for (int64_t j = k + 1; j < n && lev[i * n + k] <= level; j++) {
                const int now = lev[i * n + k] + lev[k * n + j] + 1;

                if (lev[k * n + j] <= level && now < lev[i * n + j]) { lev[i * n + j] = now; }
            }
        }
        for (int64_t j = 0; j < n; j++) {
            count += j != i && lev[i * n + j] <= level ? 1 : 0;
        }
    }
    free(lev);
    return count;
}

static void levels_are_those_of_the_definition(void **state)
{
    oracle_csr matrices[] = {oracle_laplace2d(9), oracle_convection2d(8, 1.0), random_dominant(70, 3, false, 5),
                             arrow(40, true)};

    (void)state;
    for (size_t c = 0; c < sizeof matrices / sizeof *matrices; c++) {
        const int64_t n = matrices[c].nrows;
        double *r = random_values(n, 3, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);

        for (int level = 0; level <= 4; level++) {
            const tess_precond_options options = fill_options(TESS_PRECOND_ILUK, 1e-3, 10.0, level);

            assert_int_equal(apply_fill(&matrices[c], &options, 1, r, z), count_levels(&matrices[c], level));
            if (level > 0) { continue; }
            const tess_precond_options ilu0 = factor_options(TESS_PRECOND_ILU0);
            apply_fill(&matrices[c], &options, 1, r, z);
            tess_precond_options by_host = ilu0;
            by_host.incomplete.factorization = TESS_FACTORIZATION_HOST;
            apply_fill(&matrices[c], &by_host, 1, r, z + n);
            assert_true(same_bits(z, z + n, n)); /* ILU(k) without fill is ILU(0) */
        }
        oracle_free(&matrices[c]);
        free(r);
        free(z);
    }
}

/* Less is dropped with a smaller tolerance; a row has no more entries than it may; powers of two in front of rows
   change neither pattern nor solution; nor do threads. */
static void thresholds_limit_the_fill(void **state)
{
    oracle_csr a = oracle_convection2d(K, 1.0), scaled = oracle_copy(&a);
    double *r = random_values(N, 3, -1.0, 1.0), scaled_r[N], z[N], other[N];
    int64_t before = 0;

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        const int exponent = (int)(i * 7 % 60) - 30;

        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            scaled.val[k] = ldexp(a.val[k], exponent);
        }
        scaled_r[i] = ldexp(r[i], exponent);
    }
    for (int digits = 0; digits < 6; digits++) {
        const tess_precond_options options = fill_options(TESS_PRECOND_ILUT, pow(10.0, -digits), 1e9, 1);
        const int64_t nonzeros = apply_fill(&a, &options, 1, r, z);

        assert_true(nonzeros > before || digits < 2);
        before = nonzeros;
        assert_int_equal(apply_fill(&scaled, &options, 2, scaled_r, other), nonzeros);
        assert_true(same_bits(z, other, N));
    }
    for (int fill = 1; fill <= 3; fill++) {
        const tess_precond_options options = fill_options(TESS_PRECOND_ILUT, 0.0, fill, 1),
                                   symmetric = fill_options(TESS_PRECOND_ICT, 0.0, fill, 1);
        oracle_csr laplace = oracle_laplace2d(K);
        const int64_t nonzeros = apply_fill(&a, &options, 1, r, z);

        assert_true(nonzeros <= fill * a.nnz && nonzeros > fill * a.nnz * 3 / 4);
        assert_true(apply_fill(&laplace, &symmetric, 1, r, z) <= fill * (laplace.nnz + N)); /* both triangles */
        oracle_free(&laplace);
    }
    oracle_free(&a);
    oracle_free(&scaled);
    free(r);
}

/* Of two entries beside the diagonal, a row that may have one keeps the larger. */
static void the_largest_entries_stay(void **state)
{
    const double r[3] = {1.0, 1.0, 1.0};
    double z[3];
    oracle_csr a = oracle_open(3, 3);
    const tess_precond_options options = fill_options(TESS_PRECOND_ILUT, 0.0, 0.5, 1);

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        oracle_push(&a, i, 4.0);
        if (i < 2) { oracle_push(&a, i + 1, 1.0); }
        if (i == 0) { oracle_push(&a, 2, 0.5); }
        oracle_end_row(&a, i);
    }
    assert_int_equal(apply_fill(&a, &options, 1, r, z), 2);
    assert_true(z[2] == 0.25 && z[1] == (1.0 - z[2]) / 4.0 && z[0] == (1.0 - z[1]) / 4.0);
    oracle_free(&a);
}

static int64_t iterations_with(const char *request, tess_solver_kind solver, const tess_precond_options *precond,
                               double *shift)
{
    oracle_csr a = generate_problem(request, 1);
    tess_solve_options options = solve_options(solver);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_device(2);
    tess_solve_result result;

    memset(x, 0, (size_t)a.nrows * sizeof *x);
    options.precond = *precond;
    result = solve_once(ctx, &a, &options, b, x);
    assert_int_equal(result.reason, TESS_REASON_RTOL);
    check_honest(&a, b, x, &options, &result);
    *shift = result.precond.shift;
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
    return result.iterations;
}

static void fill_saves_iterations(void **state)
{
    static const struct {
        const char *request;
        tess_solver_kind solver;
        tess_precond_kind kind, plain;
    } cases[] = {{"laplace2d 40", TESS_SOLVER_CG, TESS_PRECOND_ICT, TESS_PRECOND_IC0},
                 {"stretched2d 30", TESS_SOLVER_CG, TESS_PRECOND_ICT, TESS_PRECOND_IC0},
                 {"bentpipe2d 40", TESS_SOLVER_GMRES, TESS_PRECOND_ILUT, TESS_PRECOND_ILU0},
                 {"bentpipe2d 30", TESS_SOLVER_BICGSTAB, TESS_PRECOND_ILUT, TESS_PRECOND_ILU0},
                 {"laplace3d 12", TESS_SOLVER_GMRES, TESS_PRECOND_ILUK, TESS_PRECOND_ILU0}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tess_precond_options plain = fill_options(cases[c].plain, 1e-3, 10.0, 1),
                                   some = fill_options(cases[c].kind, 1e-3, 10.0, 1),
                                   more = fill_options(cases[c].kind, 1e-5, 20.0, 3);
        double shift = 0.0;
        const int64_t without = iterations_with(cases[c].request, cases[c].solver, &plain, &shift),
                      first = iterations_with(cases[c].request, cases[c].solver, &some, &shift);

        assert_true(shift == 0.0);
        assert_true(first < without);
        assert_true(iterations_with(cases[c].request, cases[c].solver, &more, &shift) < first);
    }
}

/* Diagonal entries that are missing, and pivots that are zero: the diagonal belongs to the pattern, and is shifted. */
static void zero_pivots_are_shifted(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_ILUT, TESS_PRECOND_ILUK};
    oracle_csr swap = oracle_open(2, 2), filled = oracle_open(3, 3);
    double r[3] = {1.0, 2.0, 3.0}, z[3];
    tess_context *ctx = open_device(1);

    (void)state;
    for (int64_t i = 0; i < 2; i++) {
        oracle_push(&swap, 1 - i, 1.0);
        oracle_end_row(&swap, i);
    }
    for (int64_t i = 0; i < 3; i++) { /* row 3 has no diagonal entry, but fill there */
        oracle_push(&filled, 0, i == 0 ? 2.0 : 1.0);
        if (i == 1) { oracle_push(&filled, 1, 4.0); }
        if (i == 0) { oracle_push(&filled, 2, 1.0); }
        oracle_end_row(&filled, i);
    }
    for (int k = 0; k < 2; k++) {
        const tess_precond_options options = fill_options(kinds[k], 0.0, 10.0, 1);
        tess_matrix *matrix = make_matrix(ctx, &swap);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        assert_true(facts_of(ctx, m).shift > 0.0);
        apply_precond(m, 2, r, z);
        assert_true(isfinite(z[0]) && isfinite(z[1]));
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        apply_fill(&filled, &options, 1, r, z);
        assert_at_most((double)oracle_residual_norm(&filled, r, z), 16.0 * U64 * 10.0);
    }
    tess_context_destroy(ctx);
    oracle_free(&swap);
    oracle_free(&filled);
}

static void replace_values(tess_context *ctx, tess_matrix *matrix, const oracle_csr *a)
{
    assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
}

/* New values keep the pattern. Inf is found also in entries that were dropped, and if the first values have it. */
static void updates_follow_the_values(void **state)
{
    double *r = random_values(N, 3, -1.0, 1.0), z[N], quarter[N];

    (void)state;
    for (int c = 0; c < 6; c++) {
        oracle_csr a = oracle_laplace2d(K), fourfold = oracle_laplace2d(K), bad = oracle_laplace2d(K);
        const tess_precond_options options = fill_options(all_kinds[c % 3], c < 3 ? 0.5 : 0.05, 10.0, 1);
        const bool bad_first = c >= 3;
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = NULL;
        tess_precond *m = NULL;

        bad.val[bad.row_ptr[30]] = (double)INFINITY;
        for (int64_t k = 0; k < a.nnz; k++) {
            fourfold.val[k] *= 4.0;
        }
        matrix = make_matrix(ctx, bad_first ? &bad : &a);
        if (bad_first) {
            assert_fails(ctx, TESS_SINGULAR, tess_precond_create_renewable(matrix, &options, &m));
            assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 31"));
            replace_values(ctx, matrix, &a);
            assert_ok(ctx, tess_precond_update(m));
        } else {
            assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        }
        apply_precond(m, N, r, z);
        replace_values(ctx, matrix, &bad);
        assert_fails(ctx, TESS_SINGULAR, tess_precond_update(m));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "row 31"));
        replace_values(ctx, matrix, &fourfold);
        assert_ok(ctx, tess_precond_update(m));
        apply_precond(m, N, r, quarter);
        for (int i = 0; i < N; i++) {
            assert_true(4.0 * quarter[i] == z[i]); /* also its square root is exact */
        }
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
        oracle_free(&a);
        oracle_free(&fourfold);
        oracle_free(&bad);
    }
    free(r);
}

/* In each precision and by each way to solve the triangles: z within the rounding of the storage. */
static void storage_and_triangles_are_those_of_ilu0(void **state)
{
    static const tess_precision storages[] = {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_FP16};
    static const tess_triangular ways[] = {TESS_TRIANGULAR_LEVELS, TESS_TRIANGULAR_MERGED, TESS_TRIANGULAR_BLOCKS};
    oracle_csr a = oracle_laplace2d(K);
    double *r = random_values(N, 3, -1.0, 1.0), z[N], exact[N];

    (void)state;
    for (int c = 0; c < 9; c++) {
        tess_precond_options options = fill_options(TESS_PRECOND_ICT, 1e-3, 10.0, 1);
        const double unit = tess_precision_unit_roundoff(storages[c % 3]);

        apply_fill(&a, &options, 1, r, exact);
        options.role = (tess_role_precision){1, storages[c % 3], TESS_ARITHMETIC_FP64};
        options.incomplete.triangular = ways[c / 3];
        choose_leaf(&options, 50);
        apply_fill(&a, &options, 2, r, z);
        for (int i = 0; i < N; i++) {
            z[i] -= exact[i];
        }
        /* ||(I + |L|)^-1|| ||L|| is below 100 for this matrix, of which both triangles are rounded */
        assert_at_most((double)oracle_norm2(z, N), 200.0 * unit * (double)oracle_norm2(exact, N));
    }
    oracle_free(&a);
    free(r);
}

static void expect_refusal(tess_status status, tess_precond_options options)
{
    oracle_csr a = oracle_laplace2d(3);
    tess_context *ctx = open_device(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond *m = NULL;

    assert_fails(ctx, status, tess_precond_create(matrix, &options, &m));
    assert_null(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static void wrong_requests_are_refused(void **state)
{
    tess_precond_options reserved = fill_options(TESS_PRECOND_ILUT, 1e-3, 10.0, 1), no_rounds = reserved;

    (void)state;
    no_rounds.incomplete.factorization = TESS_FACTORIZATION_SWEEPS;
    no_rounds.incomplete.factorization_sweeps = 0;
    reserved.threshold.reserved[0] = 1;
    expect_refusal(TESS_INVALID_ARGUMENT, no_rounds);
    expect_refusal(TESS_INVALID_ARGUMENT, reserved);
    expect_refusal(TESS_INVALID_ARGUMENT, fill_options(TESS_PRECOND_ILUT, -1.0, 10.0, 1));
    expect_refusal(TESS_INVALID_ARGUMENT, fill_options(TESS_PRECOND_ILUT, (double)NAN, 10.0, 1));
    expect_refusal(TESS_INVALID_ARGUMENT, fill_options(TESS_PRECOND_ICT, 1e-3, 0.0, 1));
    expect_refusal(TESS_INVALID_ARGUMENT, fill_options(TESS_PRECOND_ICT, 1e-3, (double)INFINITY, 1));
    expect_refusal(TESS_INVALID_ARGUMENT, fill_options(TESS_PRECOND_ILUK, 1e-3, 10.0, -1));
    expect_refusal(TESS_INVALID_ARGUMENT, fill_options(TESS_PRECOND_ILUK, 1e-3, 10.0, 1001));
}

static void text_has_the_parameters(void **state)
{
    static const char *const bad[] = {"ilut:",   "ilut:x",    "ilut:-1", "ilut:1e-3:", "ilut:1e-3:0", "ilut:1e-3:2:3",
                                      "ict:nan", "ict:1:inf", "iluk:",   "iluk:0",     "iluk:1.5",    "iluk:1001"};
    tess_precond_options options;

    (void)state;
    assert_int_equal(tess_precond_options_parse("ilut", &options), TESS_SUCCESS);
    assert_int_equal(options.kind, TESS_PRECOND_ILUT);
    assert_true(options.threshold.drop == 1e-3 && options.threshold.fill == 10.0);
    assert_int_equal(tess_precond_options_parse("ict:0.02", &options), TESS_SUCCESS);
    assert_int_equal(options.kind, TESS_PRECOND_ICT);
    assert_true(options.threshold.drop == 0.02 && options.threshold.fill == 10.0);
    assert_int_equal(tess_precond_options_parse("ilut:0:2.5", &options), TESS_SUCCESS);
    assert_true(options.threshold.drop == 0.0 && options.threshold.fill == 2.5);
    assert_int_equal(tess_precond_options_parse("iluk", &options), TESS_SUCCESS);
    assert_int_equal(options.threshold.level, 1);
    assert_int_equal(tess_precond_options_parse("iluk:3", &options), TESS_SUCCESS);
    assert_int_equal(options.threshold.level, 3);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(tess_precond_options_parse(bad[k], &options), TESS_INVALID_ARGUMENT);
    }
}

/* No rows, and one. */
static void small_systems(void **state)
{
    oracle_csr none = oracle_open(0, 0), one = oracle_tridiagonal(1, 0.0, 4.0, 0.0);
    tess_context *ctx = open_device(1);
    double r = 6.0, z = 0.0;

    (void)state;
    for (size_t k = 0; k < sizeof all_kinds / sizeof *all_kinds; k++) {
        const tess_precond_options options = fill_options(all_kinds[k], 1e-3, 10.0, 1);
        tess_matrix *empty = make_matrix(ctx, &none), *single = make_matrix(ctx, &one);
        tess_precond *m = NULL;

        assert_ok(ctx, tess_precond_create(empty, &options, &m));
        apply_precond(m, 0, &r, &z);
        tess_precond_destroy(m);
        assert_ok(ctx, tess_precond_create(single, &options, &m));
        apply_precond(m, 1, &r, &z);
        assert_true(z == 1.5);
        tess_precond_destroy(m);
        tess_matrix_destroy(empty);
        tess_matrix_destroy(single);
    }
    tess_context_destroy(ctx);
    oracle_free(&none);
    oracle_free(&one);
}

/* ---- in rounds ---- */

/* The matrix on its pattern with fill, as the library makes it. */
static oracle_csr filled_matrix(const oracle_csr *a, const tess_precond_options *options)
{
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, a), *filled = NULL;
    oracle_csr out = {0};

    assert_ok(ctx, incomplete_filled_open(matrix, options, fill_way == TESS_FACTORIZATION_SWEEPS, &filled));
    assert_ok(ctx, incomplete_filled_renew(matrix, filled));
    out = decode_matrix(filled);
    tess_matrix_destroy(filled);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return out;
}

enum { DENSE = 50 };

typedef struct dense_rounds {
    bool symmetric;
    int64_t n;
    double drop, a[DENSE][DENSE], w[DENSE][DENSE], next[DENSE][DENSE], size[DENSE];
    int most[DENSE];
} dense_rounds;

/* Whether the entry of the new w is among those that its row keeps: it is large enough, and of those that are it is one
   of the largest, of equal ones the left. */
static bool dense_keeps(const dense_rounds *d, int64_t i, int64_t j)
{
    int before = 0;

    for (int64_t k = 0; k < d->n; k++) {
        const double value = fabs(d->next[i][k]), own = fabs(d->next[i][j]);
        const double tolerance = d->drop * (d->symmetric ? sqrt(d->size[i]) * sqrt(d->size[k]) : d->size[i]);
        const bool large = k != i && value != 0.0 && value >= tolerance && !(d->symmetric && k > i);

        if (k == j && !large) { return false; }
        before += large && (value > own || (value == own && k < j)) ? 1 : 0;
    }
    return before < d->most[i];
}

static void dense_drop(dense_rounds *d)
{
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t j = 0; j < d->n; j++) {
            d->w[i][j] = i == j || dense_keeps(d, i, j) ? d->next[i][j] : 0.0;
        }
    }
}

/* Of a symmetric factorization pivots have the sign of the diagonal: else the entry of A takes their place. */
static double dense_pivot(const dense_rounds *d, int64_t k)
{
    return d->symmetric && d->w[k][k] * d->a[k][k] < 0.0 ? d->a[k][k] : d->w[k][k];
}

static void dense_round(dense_rounds *d)
{
    for (int64_t i = 0; i < d->n; i++) {
        for (int64_t j = 0; j < d->n; j++) {
            d->next[i][j] = d->a[i][j];
            for (int64_t k = 0; k < i && k < j; k++) {
                d->next[i][j] -= d->w[i][k] / dense_pivot(d, k) * (d->symmetric ? d->w[j][k] : d->w[k][j]);
            }
        }
    }
}

static void open_dense(const oracle_csr *a, bool symmetric, double drop, double fill, dense_rounds *d)
{
    memset(d, 0, sizeof *d);
    d->symmetric = symmetric;
    d->n = a->nrows;
    d->drop = drop;
    for (int64_t i = 0; i < d->n; i++) {
        int own = 0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const double value = fabs(a->val[k]);

            d->a[i][a->col_ind[k]] = d->next[i][a->col_ind[k]] = a->val[k];
            d->size[i] = symmetric ? fmax(d->size[i], value) : d->size[i] + value * value;
            own += symmetric && a->col_ind[k] > i ? 0 : 1;
        }
        if (!symmetric) { d->size[i] = sqrt(d->size[i]); }
        d->most[i] = (int)fmin(fill * own, DENSE);
    }
    dense_drop(d);
}

static void rounds_are_their_definition(void **state)
{
    oracle_csr matrices[] = {random_dominant(DENSE, 3, false, 4), random_dominant(DENSE, 3, true, 3),
                             random_dominant(DENSE, 3, true, 3)};
    static dense_rounds d;

    (void)state;
    for (int64_t i = 0; i < DENSE; i++) { /* the third is indefinite: pivots change their sign */
        for (int64_t k = matrices[2].row_ptr[i]; k < matrices[2].row_ptr[i + 1]; k++) {
            matrices[2].val[k] *= matrices[2].col_ind[k] == i ? 0.2 : 1.0;
        }
    }
    for (int c = 0; c < 3 * 3 * 4; c++) {
        const bool cholesky = c % 3 > 0;
        const oracle_csr *a = &matrices[c % 3];
        const double drop = c / 3 % 3 == 0 ? 0.0 : 0.02 * (c / 3 % 3), fill = c / 3 % 3 == 2 ? 1e9 : 1.5;
        const int rounds = 1 + c / 9;
        tess_precond_options options = fill_options(all_kinds[cholesky], drop, fill, 1);
        int64_t kept = 0, in_a = 0;

        options.incomplete.factorization_sweeps = rounds;
        oracle_csr filled = filled_matrix(a, &options);
        open_dense(a, cholesky, drop, fill, &d);
        for (int r = 0; r < rounds; r++) {
            dense_round(&d);
            dense_drop(&d);
        }
        for (int64_t i = 0; i < DENSE; i++) {
            for (int64_t k = filled.row_ptr[i]; k < filled.row_ptr[i + 1]; k++) {
                const int32_t j = filled.col_ind[k];

                assert_true(i == j || (d.w[i][j] != 0.0 && !(cholesky && j > i)));
                assert_true(filled.val[k] == d.a[i][j]); /* the values of A, and 0 */
                in_a += d.a[i][j] != 0.0 ? 1 : 0;
            }
            for (int64_t j = 0; j < DENSE; j++) {
                kept += i == j || d.w[i][j] != 0.0 ? 1 : 0;
            }
        }
        assert_int_equal(filled.nnz, kept);
        assert_true(kept > in_a || drop > 0.0); /* there is fill */
        oracle_free(&filled);
    }
    for (int k = 0; k < 3; k++) {
        oracle_free(&matrices[k]);
    }
}

/* Ties in magnitude, of either sign: the left ones stay, in any of the 16 steps of four bits that decide. */
static void equal_entries_stay_from_the_left(void **state)
{
    static const double values[] = {1.0, -1.0, 1.0 + U64 * 2.0, -1.0, 1.0, 0.5, 1e-300, -1e300};
    enum { WIDE = 9 };

    (void)state;
    for (int most = 0; most < WIDE; most++) {
        oracle_csr a = oracle_open(WIDE, WIDE);
        const tess_precond_options options = fill_options(TESS_PRECOND_ILUT, 0.0, most / 9.0 + 1e-9, 1);
        static const int order[] = {7, 2, 0, 1, 3, 4, 5, 6}; /* the largest first */
        oracle_csr filled = {0};

        oracle_push(&a, 0, 1.0);
        for (int j = 1; j < WIDE; j++) {
            oracle_push(&a, j, values[j - 1]);
        }
        oracle_end_row(&a, 0);
        for (int i = 1; i < WIDE; i++) {
            oracle_push(&a, i, 1.0);
            oracle_end_row(&a, i);
        }
        filled = filled_matrix(&a, &options);
        assert_int_equal(filled.row_ptr[1], most + 1);
        for (int k = 0; k < most; k++) {
            bool found = false;

            for (int64_t e = 1; e < filled.row_ptr[1]; e++) {
                found = found || filled.col_ind[e] == order[k] + 1;
            }
            assert_true(found);
        }
        oracle_free(&filled);
        oracle_free(&a);
    }
}

/* Multipliers of 1e10, and sums beyond the range: the pattern is that of A then, and there is no fill of nonsense. */
static void sums_that_run_away_count_as_none(void **state)
{
    oracle_csr a = arrow(6, true), filled = {0};
    const tess_precond_options options = fill_options(TESS_PRECOND_ILUT, 0.0, 10.0, 1);

    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] = a.col_ind[k] == i ? 1e290 : 1e300;
        }
    }
    filled = filled_matrix(&a, &options);
    assert_int_equal(filled.nnz, a.nnz);
    for (int64_t k = 0; k < filled.nnz; k++) {
        assert_true(filled.val[k] == a.val[k] && filled.col_ind[k] == a.col_ind[k]);
    }
    oracle_free(&filled);
    oracle_free(&a);
}

/* Fill comes round by round: iterations fall from those of IC(0), or ILU(0). */
static void rounds_save_iterations(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        const char *request = c == 0 ? "laplace2d 24" : "recirc2d 30";
        const tess_solver_kind solver = c == 0 ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB;
        tess_precond_options options = fill_options(c == 0 ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0, 1e-3, 10.0, 1);
        double shift = 0.0;
        int64_t before = iterations_with(request, solver, &options, &shift);

        options.kind = c == 0 ? TESS_PRECOND_ICT : TESS_PRECOND_ILUT;
        for (int rounds = 2; rounds <= 8; rounds *= 2) {
            int64_t now = 0;

            options.incomplete.factorization_sweeps = rounds;
            now = iterations_with(request, solver, &options, &shift);
            assert_true(now < before);
            before = now;
        }
        assert_true(shift == 0.0);
    }
}

static int by_default(void **state)
{
    (void)state;
    fill_way = TESS_FACTORIZATION_AUTO;
    fill_rounds = 5;
    return 0;
}

static int by_sweeps(void **state)
{
    (void)state;
    fill_way = TESS_FACTORIZATION_SWEEPS;
    fill_rounds = 8;
    return 0;
}

/* The tests that hold in rounds too. */
#define TESTS_OF_THRESHOLDS(way)                                                                                       \
    cmocka_unit_test_setup(thresholds_limit_the_fill, way), cmocka_unit_test_setup(zero_pivots_are_shifted, way),      \
        cmocka_unit_test_setup(updates_follow_the_values, way), cmocka_unit_test_setup(the_largest_entries_stay, way), \
        cmocka_unit_test_setup(small_systems, way)
#define TESTS_OF_ROUNDS(way)                                           \
    cmocka_unit_test_setup(rounds_are_their_definition, way),          \
        cmocka_unit_test_setup(equal_entries_stay_from_the_left, way), \
        cmocka_unit_test_setup(sums_that_run_away_count_as_none, way), \
        cmocka_unit_test_setup(rounds_save_iterations, way)
#define TESTS_OF_LEVELS(way)                                         \
    cmocka_unit_test_setup(levels_are_those_of_the_definition, way), \
        cmocka_unit_test_setup(storage_and_triangles_are_those_of_ilu0, way)
#define FILL_TESTS                                                                                  \
    cmocka_unit_test_setup(nothing_dropped_is_exact, by_default),                                   \
        cmocka_unit_test_setup(fill_saves_iterations, by_default), TESTS_OF_THRESHOLDS(by_default), \
        TESTS_OF_LEVELS(by_default), TESTS_OF_ROUNDS(by_sweeps),                                    \
        cmocka_unit_test_setup(wrong_requests_are_refused, by_default), cmocka_unit_test(text_has_the_parameters)

#ifndef TESTS_ON_GPU
static int by_sweeps_to_the_end(void **state)
{
    (void)state;
    fill_way = TESS_FACTORIZATION_SWEEPS;
    fill_rounds = 100;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILL_TESTS, TESTS_OF_THRESHOLDS(by_sweeps),
                                       cmocka_unit_test_setup(nothing_dropped_is_exact, by_sweeps_to_the_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
