/* SPDX-License-Identifier: Apache-2.0 */
/* Systems that the automatic solve recognises: triangles, saddle points, negative definite matrices. */
#include <tessera/advise.h>

#include "auto/ladder.h"
#include "precond/direct/mumps.h"
#include "support/solve.h"

static tess_context *ctx = NULL;

/* ---- systems ---- */

/* A negative definite grid. */
static oracle_csr negative_grid(int64_t k)
{
    oracle_csr a = oracle_laplace2d(k);

    for (int64_t e = 0; e < a.nnz; e++) {
        a.val[e] = -a.val[e];
    }
    return a;
}

/* A triangle whose diagonal is at least as large as the sum of its row. */
static oracle_csr triangle_of(int64_t n, bool upper, double diagonal)
{
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - 7; j <= i + 7; j++) {
            const bool inside = j >= 0 && j < n && (upper ? j > i : j < i);

            if (j == i) { oracle_push(&a, j, i % 3 == 0 ? -diagonal : diagonal); }
            if (inside && (i * j) % 3 != 1) { oracle_push(&a, j, (double)((i + 2 * j) % 5 - 2)); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Velocities of a k by k box of cells on their faces: u between (i, j) and (i + 1, j), then v between (i, j) and (i, j
   + 1). -1: outside. */
static int64_t face(int64_t k, bool v, int64_t i, int64_t j)
{
    const int64_t across = v ? k : k - 1, up = v ? k - 1 : k;

    return i < 0 || j < 0 || i >= across || j >= up ? -1 : (v ? k * (k - 1) : 0) + j * across + i;
}

/* The cell (i, j); the last one's pressure is fixed. */
static int64_t cell(int64_t k, int64_t i, int64_t j)
{
    return i == k - 1 && j == k - 1 ? -1 : 2 * k * (k - 1) + j * k + i;
}

/* Entries of a row, in ascending order. */
typedef struct row_entries {
    int count;
    int64_t column[8];
    double value[8];
} row_entries;

static void push(row_entries *row, int64_t column, double value)
{
    int at = row->count;

    if (column < 0) { return; }
    for (; at > 0 && row->column[at - 1] > column; at--) {
        row->column[at] = row->column[at - 1];
        row->value[at] = row->value[at - 1];
    }
    row->column[at] = column;
    row->value[at] = value;
    row->count += 1;
}

static void end_row(oracle_csr *a, const row_entries *row, int64_t i)
{
    for (int k = 0; k < row->count; k++) {
        oracle_push(a, row->column[k], row->value[k]);
    }
    oracle_end_row(a, i);
}

static void push_velocity(int64_t k, bool v, int64_t i, int64_t j, double wind, row_entries *row)
{
    push(row, face(k, v, i, j), 4.0 + wind);
    push(row, face(k, v, i - 1, j), -1.0 - wind);
    push(row, face(k, v, i + 1, j), -1.0);
    push(row, face(k, v, i, j - 1), -1.0);
    push(row, face(k, v, i, j + 1), -1.0);
    push(row, cell(k, i, j), 1.0);
    push(row, v ? cell(k, i, j + 1) : cell(k, i + 1, j), -1.0);
}

/* Stokes flow on a staggered grid: A B^T; B 0. With wind it is unsymmetric. */
static oracle_csr flow(int64_t k, double wind)
{
    const int64_t n = 2 * k * (k - 1) + k * k - 1;
    oracle_csr a = oracle_open(n, n);
    int64_t next = 0;

    for (int part = 0; part < 3; part++) {
        const int64_t across = part == 0 ? k - 1 : k, up = part == 1 ? k - 1 : k;

        for (int64_t at = 0; at < across * up; at++) {
            const int64_t i = at % across, j = at / across;
            row_entries row = {.count = 0};

            if (part == 2 && cell(k, i, j) < 0) { continue; }
            if (part < 2) { push_velocity(k, part == 1, i, j, wind, &row); }
            if (part == 2) {
                push(&row, face(k, false, i, j), 1.0);
                push(&row, face(k, false, i - 1, j), -1.0);
                push(&row, face(k, true, i, j), 1.0);
                push(&row, face(k, true, i, j - 1), -1.0);
            }
            end_row(&a, &row, next++);
        }
    }
    return a;
}

/* ---- a solve, then the same by hand ---- */

typedef struct outcome {
    tess_solve_result result;
    tess_attempt first, last;
    int count;
    char why[1024];
} outcome;

static void solve_by_hand(const tess_matrix *m, const oracle_csr *a, const tess_solve_options *options, const double *b,
                          const outcome *before)
{
    double *x = test_allocate(a->nrows, sizeof *x);
    tess_solver *solver = NULL;
    tess_solve_result result;

    assert_true(options->solver != TESS_SOLVER_AUTO && options->precond.kind != TESS_PRECOND_AUTO);
    assert_ok(ctx, tess_solver_create(m, options, &solver));
    memset(x, 0, (size_t)a->nrows * sizeof *x);
    result = solve_with(solver, ctx, a->nrows, b, x);
    assert_true(result.verified);
    assert_int_equal(result.solver, before->result.solver);
    if (before->count == 1) { assert_int_equal(result.iterations, before->result.iterations); }
    check_honest(a, b, x, options, &result);
    tess_solver_destroy(solver);
    free(x);
}

static outcome solve_automatically(const oracle_csr *a)
{
    const tess_attempt *attempts = NULL;
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO), chosen;
    double *b = random_values(a->nrows, 7, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_matrix *m = make_matrix(ctx, a);
    tess_solver *solver = NULL;
    outcome out;

    options.rtol = 1e-8;
    tess_solve_options_init(&chosen);
    memset(x, 0, (size_t)a->nrows * sizeof *x);
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    out.result = solve_with(solver, ctx, a->nrows, b, x);
    check_honest(a, b, x, &options, &out.result);
    out.count = tess_solver_attempts(solver, &attempts);
    out.first = attempts[0];
    out.last = attempts[out.count - 1];
    (void)snprintf(out.why, sizeof out.why, "%s", tess_solver_why(solver));
    assert_true(out.result.verified);
    assert_ok(ctx, tess_solver_chosen_options(solver, &chosen));
    solve_by_hand(m, a, &chosen, b, &out);
    tess_solver_destroy(solver);
    tess_matrix_destroy(m);
    free(b);
    free(x);
    return out;
}

static void assert_says(const outcome *o, const char *words)
{
    if (!strstr(o->why, words)) { fail_msg("'%s' is not in: %s", words, o->why); }
}

/* ---- tests ---- */

static void a_negative_diagonal_is_that_of_minus_a(void **state)
{
    oracle_csr a = negative_grid(30), hidden = oracle_tridiagonal(60, 0.9, -1.0, 0.9),
               large = oracle_tridiagonal(60, 3.0, -2.0, 3.0);
    outcome o;

    (void)state;
    o = solve_automatically(&a);
    assert_int_equal(o.result.solver, TESS_SOLVER_CG);
    assert_says(&o, "all of its diagonal is negative, and dominates: treated as -A");
    o = solve_automatically(&hidden); /* neither A nor -A is positive definite, which CG finds out */
    assert_int_equal(o.first.solver, TESS_SOLVER_CG);
    assert_int_equal(o.first.reason, TESS_REASON_INDEFINITE_MATRIX);
    assert_says(&o, "nothing speaks against negative definite: treated as -A");
    o = solve_automatically(&large);
    assert_int_not_equal(o.first.solver, TESS_SOLVER_CG);
    assert_says(&o, "60 of 60 diagonal entries are 0 or negative");
    oracle_free(&a);
    oracle_free(&hidden);
    oracle_free(&large);
}

static void triangles_are_solved_by_substitution(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        oracle_csr a = triangle_of(400, k == 1, k == 2 ? 6.0 : 12.0); /* the last one's solution grows */
        outcome o = solve_automatically(&a);

        assert_int_equal(o.first.precond, TESS_PRECOND_ILU0);
        if (k < 2) { assert_true(o.count == 1 && o.result.iterations == 1); }
        assert_says(&o, k == 1 ? "upper triangular: substitution solves" : "lower triangular: substitution solves");
        oracle_free(&a);
    }
}

/* Without its last diagonal entry it is singular; a diagonal matrix is symmetric, and has its own steps. */
static void what_only_looks_triangular_is_none(void **state)
{
    const double values[] = {3.0, 2.0, 5.0, 1.0};
    matrix_facts facts = {.n = 4, .nnz = 7, .finite = true, .positive = 3, .zero = 1, .below = 4};
    oracle_csr diagonal = oracle_diagonal(4, values);
    outcome o = solve_automatically(&diagonal);

    (void)state;
    assert_int_equal(o.result.solver, TESS_SOLVER_CG);
    assert_false(is_triangular(&facts));
    assert_false(is_saddle_point(&facts));
    facts.above = 1; /* its one zero stands alone */
    assert_true(is_saddle_point(&facts));
    facts.below = 0;
    assert_false(is_saddle_point(&facts));
    facts.above = 0;
    facts.below = 4;
    facts.zero = 0;
    assert_true(is_triangular(&facts));
    facts.symmetric = true;
    assert_false(is_triangular(&facts));
    oracle_free(&diagonal);
}

static void saddle_points_are_recognised(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        oracle_csr a = flow(12, k == 0 ? 0.0 : 2.0);
        outcome o = solve_automatically(&a);

        assert_says(&o, k == 0 ? "symmetric, with a zero block of 143 rows: a saddle point"
                               : "not symmetric, with a zero block of 143 rows: a saddle point");
        assert_int_equal(o.first.solver, k == 0 ? TESS_SOLVER_MINRES : TESS_SOLVER_BICGSTAB);
        assert_int_equal(o.first.precond, TESS_PRECOND_NONE);
        oracle_free(&a);
    }
}

static int place_of(const ladder *l, tess_precond_kind kind)
{
    for (int i = 0; i < l->count; i++) {
        if (l->step[i].precond == kind) { return i; }
    }
    return -1;
}

/* Block factors come before ILUT and complete factors; small and complex systems have none. */
static void saddle_points_get_block_factors(void **state)
{
    matrix_facts facts = {.n = 100000, .nnz = 2000000, .finite = true, .positive = 90000, .zero = 10000};
    const tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    const rates_kind kinds[] = {RATES_HOST, RATES_GPU, RATES_GPU_CUDSS};

    (void)state;
    for (int k = 0; k < 6; k++) {
        const cost_rates *rates = rates_of_kind(kinds[k / 2]);
        ladder l;

        facts.symmetric = k % 2 == 0;
        make_ladder(rates, family_of(&facts), &facts, &options, &l);
        assert_int_equal(place_of(&l, TESS_PRECOND_SADDLE), 1);
        assert_int_equal(place_of(&l, TESS_PRECOND_AMG), -1);
        assert_true(place_of(&l, TESS_PRECOND_ILUT) > 1);
        assert_int_equal(l.step[1].solver, TESS_SOLVER_FGMRES);
        facts.negative = 1; /* the first block is indefinite */
        make_ladder(rates, family_of(&facts), &facts, &options, &l);
        assert_int_equal(place_of(&l, TESS_PRECOND_SADDLE), -1);
        facts.negative = 0;
        facts.n = 9999;
        make_ladder(rates, family_of(&facts), &facts, &options, &l);
        assert_int_equal(place_of(&l, TESS_PRECOND_SADDLE), -1);
        facts.n = 100000;
        facts.among_zeros = 1; /* not a block */
        make_ladder(rates, family_of(&facts), &facts, &options, &l);
        assert_int_equal(place_of(&l, TESS_PRECOND_SADDLE), -1);
        facts.among_zeros = 0;
        facts.is_complex = true;
        make_ladder(rates, family_of(&facts), &facts, &options, &l);
        assert_int_equal(place_of(&l, TESS_PRECOND_SADDLE), -1);
        facts.is_complex = false;
    }
}

/* Half of the rows of a flow sum to nearly 0: no attempt without a preconditioner, and no analysis. */
static void flows_are_solved_by_their_blocks(void **state)
{
    matrix_facts facts = {.n = 100, .finite = true, .positive = 90, .zero = 10, .near_null_rows = 50};
    oracle_csr a = flow(60, 0.0);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_advice advice;
    outcome o = solve_automatically(&a);

    (void)state;
    assert_true(is_flow(&facts));
    facts.near_null_rows = 49;
    assert_false(is_flow(&facts));
    facts.near_null_rows = 100;
    facts.zero = 0;
    assert_false(is_flow(&facts));
    assert_int_equal(o.count, 1);
    assert_int_equal(o.first.solver, TESS_SOLVER_FGMRES);
    assert_int_equal(o.first.precond, TESS_PRECOND_SADDLE);
    assert_says(&o, "fgmres with saddle: solved");
    tess_advice_init(&advice);
    assert_ok(ctx, tess_advise(m, NULL, &advice));
    assert_int_equal(advice.attempt[0].precond, TESS_PRECOND_SADDLE);
    assert_non_null(strstr(advice.attempt[0].why, "the blocks of the saddle point"));
    assert_non_null(strstr(advice.why, "saddle point"));
    tess_matrix_destroy(m);
    oracle_free(&a);
}

static int open_all(void **state)
{
    (void)state;
    ctx = open_device(2);
    return ctx ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_negative_diagonal_is_that_of_minus_a),
                                       cmocka_unit_test(triangles_are_solved_by_substitution),
                                       cmocka_unit_test(what_only_looks_triangular_is_none),
                                       cmocka_unit_test(saddle_points_are_recognised),
                                       cmocka_unit_test(saddle_points_get_block_factors),
                                       cmocka_unit_test(flows_are_solved_by_their_blocks)};

    return cmocka_run_group_tests(tests, open_all, close_all);
}
