/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric systems whose columns sum to 0: for which right-hand sides the default solve says that no x meets the
   tolerance, and the bound that it tells. */
#include <tessera/automatic.h>

#include "support/heap.h"
#include "support/solve.h"

enum { N = 60 };

static tess_context *ctx;

/* A path whose couplings have these weights, of rows that sum to 0 up to rounding; `added` to the first diagonal. */
static oracle_csr weighted_path(const double *weight, double added)
{
    oracle_csr a = oracle_open(N, N);

    for (int i = 0; i < N; i++) {
        const double left = i > 0 ? weight[i - 1] : 0.0, right = i + 1 < N ? weight[i] : 0.0;

        if (i > 0) { oracle_push(&a, i - 1, -left); }
        oracle_push(&a, i, left + right + (i == 0 ? added : 0.0));
        if (i + 1 < N) { oracle_push(&a, i + 1, -right); }
        oracle_end_row(&a, i);
    }
    return a;
}

static oracle_csr path(double added)
{
    double weight[N];

    for (int i = 0; i < N; i++) {
        weight[i] = 1.0;
    }
    return weighted_path(weight, added);
}

typedef struct outcome {
    tess_solve_result result;
    char bound[16]; /* that no x is below, as it is told; empty: none is */
    bool near;      /* it is told that the columns sum to 0 up to rounding */
} outcome;

static outcome solve_system(const oracle_csr *a, const double *b, const tess_solve_options *options)
{
    static const char words[] = "no x has a relative residual below ";
    tess_matrix *m = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    outcome o = {.bound = ""};
    double x[N] = {0.0};
    const char *told = NULL;

    assert_ok(ctx, tess_solver_create(m, options, &solver));
    o.result = solve_with(solver, ctx, (int)a->nrows, b, x);
    told = strstr(tess_solver_why(solver), words);
    o.near = strstr(tess_solver_why(solver), "sum to 0 up to rounding, and b does not") != NULL;
    if (told) { snprintf(o.bound, sizeof o.bound, "%.7s", told + strlen(words)); }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    return o;
}

/* |1^T b| / (sqrt(n) ||b||), of values that do not overflow. */
static void bound_of(const double *b, char text[16])
{
    double sum = 0.0, squares = 0.0;

    for (int i = 0; i < N; i++) {
        sum += b[i];
        squares += b[i] * b[i];
    }
    snprintf(text, 16, "%.1e", fabs(sum) / sqrt(N * squares));
}

/* Values whose mean is 0, and a mean. */
static void make_rhs(double mean, double scale, double b[N])
{
    for (int i = 0; i < N; i++) {
        b[i] = scale * ((i % 2 ? -1.0 : 1.0) + mean);
    }
}

static void the_bound_is_told(void **state)
{
    static const double means[] = {1.0, -1.0, 0.1, -0.1, 1e-4, -3e-7};
    static const double scales[] = {1.0, 1e-3, 0x1p600, 0x1p-600};
    oracle_csr a = path(0.0);
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    for (size_t k = 0; k < 24; k++) { /* the same of a b whose squares overflow or vanish */
        double b[N];
        char expected[16];
        outcome o;

        make_rhs(means[k % 6], 1.0, b);
        bound_of(b, expected);
        make_rhs(means[k % 6], scales[k / 6], b);
        o = solve_system(&a, b, &options);
        assert_false(o.result.converged);
        assert_string_equal(o.bound, expected);
    }
    oracle_free(&a);
}

/* One value is larger than the others by more than the range of their squares. */
static void one_large_value_decides(void **state)
{
    oracle_csr a = path(0.0);
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    for (int at = 0; at < N; at += N - 1) {
        double b[N];

        make_rhs(0.0, 0x1p-500, b);
        b[at] = 0x1p300;
        assert_string_equal(solve_system(&a, b, &options).bound, "1.3e-01"); /* 1 / sqrt(60) */
    }
    oracle_free(&a);
}

/* With an exact mean the residual of the solve is the bound, up to a percent. */
static void the_solve_ends_at_the_bound(void **state)
{
    oracle_csr a = path(0.0);
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    for (int k = 1; k <= 20; k += 5) {
        double b[N];
        outcome o;

        make_rhs(0x1p-1 / k, 1.0, b);
        o = solve_system(&a, b, &options);
        assert_int_equal(o.result.reason, TESS_REASON_STAGNATION);
        assert_at_most(o.result.residual_norm, 1.011 * (0x1p-1 / k) * sqrt(N));
        assert_at_most(0.999 * (0x1p-1 / k) * sqrt(N), o.result.residual_norm);
        assert_at_most((double)o.result.iterations, 4.0 * N);
    }
    oracle_free(&a);
}

/* Twice the tolerance is the limit: b may miss the range by a little more than it asks for. */
static void only_what_clearly_misses_is_refused(void **state)
{
    oracle_csr a = path(0.0);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double b[N];

    (void)state;
    make_rhs(0.1, 1.0, b); /* the bound is 0.1 / sqrt(1.01) */
    options.max_iterations = 500;
    options.rtol = 0.099504 / 2.01;
    assert_string_equal(solve_system(&a, b, &options).bound, "1.0e-01");
    options.rtol = 0.099504 / 1.99;
    assert_string_equal(solve_system(&a, b, &options).bound, "");
    options.rtol = 0.0995 / 0.7;
    assert_true(solve_system(&a, b, &options).result.verified);
    options.rtol = 1e-8;
    options.atol = 1e-12; /* far below the bound as well */
    assert_string_equal(solve_system(&a, b, &options).bound, "1.0e-01");
    options.atol = 0.2 * sqrt(N); /* which x = 0 nearly meets */
    assert_string_equal(solve_system(&a, b, &options).bound, "");
    assert_true(solve_system(&a, b, &options).result.verified);
    oracle_free(&a);
}

/* Sums of b that are 0 up to rounding are no reason. */
static void rounding_is_no_reason(void **state)
{
    oracle_csr a = path(0.0);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double b[N], *values = random_values(N, 3, -1.0, 1.0), mean = 0.0;
    outcome o;

    (void)state;
    for (int i = 0; i < N; i++) {
        mean += values[i] / N;
    }
    for (int i = 0; i < N; i++) {
        b[i] = values[i] - mean;
    }
    o = solve_system(&a, b, &options);
    assert_string_equal(o.bound, "");
    assert_true(o.result.verified);
    options.rtol = 1e-18; /* which rounding alone misses */
    assert_string_equal(solve_system(&a, b, &options).bound, "");
    memset(b, 0, sizeof b);
    o = solve_system(&a, b, &options);
    assert_string_equal(o.bound, "");
    assert_true(o.result.verified && o.result.residual_norm == 0.0);
    free(values);
    oracle_free(&a);
}

/* Where rows sum to 0 up to rounding nothing is proved, and the least residual is reached, however small the entries; a
   diagonal that is larger by more than rounding makes A regular. */
static void rows_sum_to_zero_up_to_rounding(void **state)
{
    static const double scales[] = {1.0, 1e-5, 1e-120, 1e90};
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double b[N], *weight = random_values(N, 5, 0.5, 1.5);
    char expected[16], reached[16];
    outcome o;

    (void)state;
    make_rhs(0.1, 1.0, b);
    bound_of(b, expected);
    for (size_t k = 0; k < 4; k++) {
        double scaled[N];
        oracle_csr a, regular;

        for (int i = 0; i < N; i++) {
            scaled[i] = scales[k] * weight[i];
        }
        a = weighted_path(scaled, 0.0);
        regular = weighted_path(scaled, 0.01 * scales[k]);
        o = solve_system(&a, b, &options);
        assert_string_equal(o.bound, "");
        assert_true(o.near);
        snprintf(reached, sizeof reached, "%.1e", o.result.relative_residual);
        assert_string_equal(reached, expected);
        assert_at_most((double)o.result.iterations, 4.0 * N);
        o = solve_system(&regular, b, &options);
        assert_true(!o.near && o.bound[0] == '\0');
        assert_true(solve_system(&regular, b, &options).result.verified);
        oracle_free(&a);
        oracle_free(&regular);
    }
    free(weight);
}

/* Periodic Laplacians plus `shift` I, whose rows sum to a shift that rounding could explain: x = 1 / shift solves b
   = 1. Every method finds it, and with it the tolerance. */
static void a_small_shift_is_no_null_vector(void **state)
{
    static const tess_solver_kind methods[] = {TESS_SOLVER_AUTO, TESS_SOLVER_CG, TESS_SOLVER_MINRES, TESS_SOLVER_GMRES,
                                               TESS_SOLVER_BICGSTAB};

    (void)state;
    for (int k = 0; k < 20; k++) {
        const int n = k % 4 < 2 ? 3 : 5;
        const tess_solve_options options = solve_options(methods[k / 4]);
        const double shift = k % 2 ? 0x1p-48 : 0x1p-50;
        oracle_csr a = oracle_open(n, n);
        double b[N];
        outcome o;

        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                const int apart = (i - j + n) % n;

                if (apart == 0) { oracle_push(&a, j, 2.0 + shift); }
                if (apart == 1 || apart == n - 1) { oracle_push(&a, j, -1.0); }
            }
            oracle_end_row(&a, i);
            b[i] = 1.0;
        }
        o = solve_system(&a, b, &options);
        assert_true(o.result.converged && !o.near && o.bound[0] == '\0');
        oracle_free(&a);
    }
}

/* Of two blocks, one sums to exactly 0: that alone is proved. */
static void a_block_is_proved_beside_one_that_is_not(void **state)
{
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double b[N], weight[N], *random = random_values(N, 5, 0.5, 1.5);
    oracle_csr a;
    outcome o;

    (void)state;
    for (int i = 0; i < N; i++) {
        weight[i] = i < N / 2 ? 1.0 : random[i];
    }
    weight[N / 2 - 1] = 0.0;
    a = weighted_path(weight, 0.0);
    make_rhs(0.1, 1.0, b);
    o = solve_system(&a, b, &options);
    assert_string_equal(o.bound, "7.0e-02"); /* 0.1 / sqrt(2 * 1.01) */
    assert_true(!o.near && o.result.relative_residual > 0.0995 && o.result.relative_residual < 0.102);
    free(random);
    oracle_free(&a);
}

static void other_systems_have_no_bound(void **state)
{
    oracle_csr a = path(0.0);
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    double b[N];
    outcome o;

    (void)state;
    make_rhs(0.1, 1.0, b);
    a.val[0] = 2.0; /* the rows still sum to 0, but the columns do not, and A is not symmetric */
    a.val[1] = -2.0;
    assert_string_equal(solve_system(&a, b, &options).bound, "");
    a.val[0] = 1.0;
    a.val[1] = -1.0;
    b[N - 1] = NAN;
    o = solve_system(&a, b, &options);
    assert_string_equal(o.bound, "");
    assert_int_equal(o.result.reason, TESS_REASON_NAN_OR_INF);
    b[N - 1] = INFINITY;
    o = solve_system(&a, b, &options);
    assert_string_equal(o.bound, "");
    assert_int_equal(o.result.reason, TESS_REASON_NAN_OR_INF);
    oracle_free(&a);
}

/* One solver: without a solution, with one, with other values, without memory. All memory goes back. */
static void a_solver_that_is_used_again(void **state)
{
    oracle_csr a = path(0.0), regular = path(1.0);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    heap h = {.fail_at = -1};
    tess_context_options with;
    tess_context *own = NULL;
    tess_matrix *m = NULL;
    tess_solver *solver = NULL;

    (void)state;
    tess_context_options_init(&with);
    with.device = TESS_DEVICE_CPU;
    with.host_allocator = heap_allocator(&h);
    assert_ok(NULL, tess_context_create(&with, &own));
    m = make_matrix(own, &a);
    assert_ok(own, tess_solver_create(m, &options, &solver));
    for (int turn = 0; turn < 6; turn++) {
        const double *values = turn / 2 == 1 ? regular.val : a.val;
        double b[N], x[N] = {0.0};
        tess_solve_result r;

        assert_ok(own, tess_matrix_update_values(m, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        make_rhs(turn % 2 ? 0.0 : 0.1, 1.0, b);
        r = solve_with(solver, own, N, b, x);
        assert_int_equal(r.verified, turn % 2 == 1 || turn / 2 == 1);
        assert_int_equal(strstr(tess_solver_why(solver), "no x has") == NULL, r.verified);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    tess_context_destroy(own);
    assert_int_equal(h.live, 0);
    assert_int_equal(h.wrong_releases, 0);
    oracle_free(&a);
    oracle_free(&regular);
}

/* A ring whose couplings have random weights. */
static oracle_csr weighted_ring(int n, uint64_t seed)
{
    double *w = random_values(n, seed, 0.0, 1.0), row[N];
    oracle_csr a = oracle_open(n, n);

    for (int i = 0; i < n; i++) {
        const int before = (i + n - 1) % n, after = (i + 1) % n;

        memset(row, 0, sizeof row);
        row[i] = w[i] + w[before];
        row[after] = -w[i];
        row[before] = -w[before];
        for (int j = 0; j < n; j++) {
            if (row[j] != 0.0) { oracle_push(&a, j, row[j]); }
        }
        oracle_end_row(&a, i);
    }
    free(w);
    return a;
}

/* With b = 1, A b is rounding errors, of which sums lose their sign. A preconditioner that is not there is not the
   reason. */
static void no_preconditioner_is_to_blame(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_CG, TESS_SOLVER_MINRES};
    double b[N];
    int broken[2] = {0, 0};

    (void)state;
    for (int i = 0; i < N; i++) {
        b[i] = 1.0;
    }
    for (int k = 0; k < 32; k++) {
        const tess_solve_options options = solve_options(kinds[k % 2]);
        oracle_csr a = weighted_ring(4, (uint64_t)k / 2 + 1);
        const outcome o = solve_system(&a, b, &options);

        assert_false(o.result.converged);
        assert_int_not_equal(o.result.reason, TESS_REASON_INDEFINITE_PRECOND);
        broken[k % 2] += o.result.reason == TESS_REASON_BREAKDOWN;
        oracle_free(&a);
    }
    assert_true(broken[0] > 0 && broken[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_told),
        cmocka_unit_test(one_large_value_decides),
        cmocka_unit_test(the_solve_ends_at_the_bound),
        cmocka_unit_test(only_what_clearly_misses_is_refused),
        cmocka_unit_test(rounding_is_no_reason),
        cmocka_unit_test(rows_sum_to_zero_up_to_rounding),
        cmocka_unit_test(a_small_shift_is_no_null_vector),
        cmocka_unit_test(a_block_is_proved_beside_one_that_is_not),
        cmocka_unit_test(other_systems_have_no_bound),
        cmocka_unit_test(a_solver_that_is_used_again),
        cmocka_unit_test(no_preconditioner_is_to_blame),
    };

    return run_with_context(open_cpu(1), tests, &ctx);
}
