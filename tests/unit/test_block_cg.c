/* SPDX-License-Identifier: Apache-2.0 */
/* Block CG: right-hand sides share a Krylov space. Fewer iterations than CG; columns that depend on one another, end
   early or cannot be solved do no harm; what CG says of a matrix, it says too. */
#include "solver/block_cg/small.h"
#include "support/columns_system.h"

enum { SIDE = 20, N = SIDE * SIDE };

static void assert_near(double value, double wanted, double tolerance)
{
    assert_true(fabs(value - wanted) <= tolerance);
}

static void check_honest_columns(const system_of *s, const tess_solve_options *options)
{
    const int64_t n = s->a.nrows;

    for (int64_t c = 0; c < s->k; c++) {
        assert_int_equal(s->results[c].verified, 1);
        assert_int_equal(s->results[c].solver, TESS_SOLVER_BLOCK_CG);
        check_honest(&s->a, s->b + c * n, s->x + c * n, options, &s->results[c]);
    }
}

static int64_t most_iterations(const system_of *s)
{
    int64_t most = 0;

    for (int64_t c = 0; c < s->k; c++) {
        most = s->results[c].iterations > most ? s->results[c].iterations : most;
    }
    return most;
}

/* Iterations of CG and of block CG for the same columns. */
typedef struct iterations_of {
    int64_t cg, block;
} iterations_of;

static iterations_of solve_both(system_of *s, tess_solve_options options)
{
    iterations_of most;

    options.solver = TESS_SOLVER_CG;
    solve_by(s, &options);
    most.cg = most_iterations(s);
    memset(s->x, 0, (size_t)(s->a.nrows * s->k) * sizeof *s->x);
    options.solver = TESS_SOLVER_BLOCK_CG;
    solve_by(s, &options);
    check_honest_columns(s, &options);
    most.block = most_iterations(s);
    return most;
}

/* A diagonal of 1 to 1e6, evenly in the exponent: CG finds k outlying eigenvalues one after another, a block of eight
   together. */
static void related_columns_need_fewer_iterations(void **state)
{
    double diagonal[N];
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    for (int i = 0; i < N; i++) {
        diagonal[i] = pow(10.0, 6.0 * i / (N - 1));
    }
    options.max_iterations = 20 * N;
    for (int64_t k = 2; k <= 16; k *= 2) {
        system_of s = make_system(oracle_diagonal(N, diagonal), k), laplace = make_system(oracle_laplace2d(SIDE), k);
        const iterations_of of_s = solve_both(&s, options), of_laplace = solve_both(&laplace, options);

        assert_true(of_s.block < of_s.cg && of_laplace.block < of_laplace.cg);
        assert_true(k < 8 || of_s.block * 4 < of_s.cg);
        assert_true(k < 8 || of_laplace.block * 3 < of_laplace.cg * 2);
        discard_system(&s);
        discard_system(&laplace);
    }
}

/* With one right-hand side it is CG, bit by bit, also where all others are solved before. */
static void one_column_is_cg(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 3), cg = make_system(oracle_laplace2d(SIDE), 1);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    options.precond.kind = TESS_PRECOND_IC0;
    options.engine = TESS_ENGINE_PLAIN;
    solve_by(&cg, &options);
    options.solver = TESS_SOLVER_BLOCK_CG;
    s.k = 1;
    solve_by(&s, &options);
    assert_int_equal(s.results[0].iterations, cg.results[0].iterations);
    assert_true(same_bits(s.x, cg.x, N));
    s.k = 3;
    memset(s.b + N, 0, 2 * N * sizeof *s.b);
    memset(s.x, 0, N * sizeof *s.x);
    solve_by(&s, &options);
    check_honest_columns(&s, &options);
    assert_in_range(s.results[0].iterations, cg.results[0].iterations - 2, cg.results[0].iterations + 2);
    assert_int_equal(s.results[1].iterations, 0);
    discard_system(&s);
    discard_system(&cg);
}

/* Eight columns of rank two: twins, multiples, a sum, zero, and one that differs from a multiple by 1e-13. */
static void dependent_columns_do_no_harm(void **state)
{
    static const double from[8][2] = {{1, 0}, {2, 0}, {0, 1}, {1, 0}, {0, 0}, {1e-200, 0}, {3, -5}, {1, 1e-13}};

    (void)state;
    for (int with = 0; with < 2; with++) {
        system_of s = make_system(oracle_laplace2d(SIDE), 8), two = make_system(oracle_laplace2d(SIDE), 2);
        tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

        options.precond.kind = with ? TESS_PRECOND_IC0 : TESS_PRECOND_NONE;
        for (int c = 0; c < 8; c++) {
            for (int64_t i = 0; i < N; i++) {
                s.b[c * N + i] = from[c][0] * two.b[i] + from[c][1] * two.b[N + i];
            }
        }
        solve_by(&two, &options);
        solve_by(&s, &options);
        check_honest_columns(&s, &options);
        assert_in_range(most_iterations(&s), 1, most_iterations(&two) + 2);
        for (int c = 0; c < 8; c++) { /* none had to go on alone */
            assert_int_equal(s.results[c].refinements, 0);
        }
        discard_system(&s);
        discard_system(&two);
    }
}

/* Two columns that differ by 1e-7: what makes them differ is found too, or the tolerance of 1e-12 would be missed. */
static void near_twins_are_told_apart(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 2);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    options.rtol = 1e-12;
    for (int64_t i = 0; i < N; i++) {
        s.b[N + i] = s.b[i] + 1e-7 * s.b[N + i];
    }
    solve_by(&s, &options);
    check_honest_columns(&s, &options);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(s.results[c].refinements, 0);
    }
    discard_system(&s);
}

/* More columns than rows, of which each is solved in at most n iterations. */
static void blocks_may_be_wider_than_the_matrix(void **state)
{
    system_of s = make_system(oracle_tridiagonal(5, -1.0, 2.5, -1.0), 40);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    solve_by(&s, &options);
    check_honest_columns(&s, &options);
    assert_in_range(most_iterations(&s), 1, 5);
    discard_system(&s);
}

/* Sums of c eigenvectors: c iterations at most. What they leave in the basis is rounding, and goes. */
static void columns_end_at_their_own_time(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 8);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    for (int64_t c = 0; c < 7; c++) {
        for (int64_t i = 0; i < N; i++) {
            double value = 0.0;

            for (int64_t e = 1; e <= c; e++) {
                value += sin(M_PI * (double)e * (double)(i / SIDE + 1) / (SIDE + 1)) *
                         sin(M_PI * (double)e * (double)(i % SIDE + 1) / (SIDE + 1));
            }
            s.b[c * N + i] = value;
        }
    }
    options.history_capacity = 1000;
    solve_by(&s, &options);
    check_honest_columns(&s, &options);
    assert_int_equal(s.results[0].iterations, 0);
    for (int64_t c = 1; c < 7; c++) { /* six eigenvectors in six columns: one iteration for all of them */
        assert_in_range(s.results[c].iterations, 1, 2);
    }
    assert_true(s.results[7].iterations > 20);
    discard_system(&s);
}

/* ---- matrices and preconditioners ---- */

static int multiply_laplace(void *user, tess_operation operation, const double *x, double *y)
{
    const oracle_csr *a = user;

    (void)operation;
    for (int64_t i = 0; i < a->nrows; i++) {
        y[i] = 0.0;
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            y[i] += a->val[k] * x[a->col_ind[k]];
        }
    }
    return 0;
}

/* A format that takes one column, or an operator of the caller; and with preconditioners of both kinds. */
static void any_matrix_and_preconditioner(void **state)
{
    static const tess_format formats[] = {TESS_FORMAT_CSR, TESS_FORMAT_DIA, TESS_FORMAT_ELLR, TESS_FORMAT_SPLIT};
    static const tess_precond_kind preconds[] = {TESS_PRECOND_NONE, TESS_PRECOND_JACOBI, TESS_PRECOND_BLOCK_JACOBI,
                                                 TESS_PRECOND_IC0,  TESS_PRECOND_AMG,    TESS_PRECOND_POLYNOMIAL};

    (void)state;
    for (int i = 0; i < 6 + 4; i++) {
        system_of s = make_system(oracle_laplace2d(SIDE), 5);
        tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
        iterations_of most;

        options.precond.kind = preconds[i < 6 ? i : 1];
        if (options.precond.kind == TESS_PRECOND_AMG) { options.precond.amg.coarsest = 10; }
        options.storage.format = formats[i < 6 ? 0 : i - 6];
        most = solve_both(&s, options);
        assert_in_range(most.block, 1, most.cg);
        discard_system(&s);
    }
}

static void an_operator_is_multiplied_by_one_column(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 4);
    const tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
    const tess_shell_operator shell = {.apply = multiply_laplace, .user = &s.a, .positive_definite = 1};

    (void)state;
    tess_matrix_destroy(s.m);
    assert_ok(s.ctx, tess_matrix_create_shell(s.ctx, N, N, &shell, &s.m));
    solve_by(&s, &options);
    for (int64_t c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].converged, 1);
        assert_int_equal(s.results[c].refinements, 0);
        assert_in_range(s.results[c].iterations, 10, 50);
    }
    discard_system(&s);
}

static int multiply_beyond(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    for (int i = 0; i < N; i++) {
        y[i] = x[i] == 0.0 ? 0.0 : (double)INFINITY;
    }
    return 0;
}

static void an_operator_that_overflows_is_told(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 2);
    const tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
    const tess_shell_operator shell = {.apply = multiply_beyond, .positive_definite = 1};

    (void)state;
    tess_matrix_destroy(s.m);
    assert_ok(s.ctx, tess_matrix_create_shell(s.ctx, N, N, &shell, &s.m));
    solve_by(&s, &options);
    for (int64_t c = 0; c < 2; c++) {
        assert_int_equal(s.results[c].converged, 0);
        assert_int_equal(s.results[c].reason, TESS_REASON_NAN_OR_INF);
    }
    discard_system(&s);
}

/* The guard raises a rounded matrix, for each column alone. */
static void a_low_precision_is_repaired(void **state)
{
    system_of s = make_system(oracle_tridiagonal(N, -1.0, 2.1, -1.0), 4);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    options.storage.precision = TESS_PRECISION_BF16;
    solve_by(&s, &options);
    check_honest_columns(&s, &options);
    assert_true(s.results[0].refinements > 0);
    discard_system(&s);
}

/* ---- what cannot be solved ---- */

static int negate(void *user, const double *r, double *z)
{
    (void)user;
    for (int i = 0; i < N; i++) {
        z[i] = -r[i];
    }
    return 0;
}

static int swap_signs(void *user, const double *r, double *z)
{
    (void)user;
    for (int i = 0; i < N; i++) {
        z[i] = i % 2 ? -r[i] : r[i];
    }
    return 0;
}

static int poison(void *user, const double *r, double *z)
{
    (void)user;
    for (int i = 0; i < N; i++) {
        z[i] = r[i] * (double)NAN;
    }
    return 0;
}

static int forget(void *user, const double *r, double *z)
{
    (void)user;
    (void)r;
    memset(z, 0, N * sizeof *z);
    return 0;
}

/* Each column's end is that of CG alone. */
static void check_ends(oracle_csr a, int (*apply)(void *user, const double *r, double *z), tess_reason reason)
{
    system_of s = make_system(a, 4);
    const tess_shell_precond shell = {.apply = apply};
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
    tess_precond *m = NULL;
    tess_solver *solver = NULL, *cg = NULL;

    if (apply) { assert_ok(s.ctx, tess_precond_create_shell(s.ctx, N, &shell, &m)); }
    assert_ok(s.ctx, tess_solver_create_with_precond(s.m, m, &options, &solver));
    options.solver = TESS_SOLVER_CG;
    assert_ok(s.ctx, tess_solver_create_with_precond(s.m, m, &options, &cg));
    assert_ok(s.ctx, solve_all(&s, solver));
    for (int64_t c = 0; c < 4; c++) {
        double *alone = test_allocate(N, sizeof *alone);
        const tess_solve_result one = solve_with(cg, s.ctx, N, s.b + c * N, memset(alone, 0, N * sizeof *alone));

        assert_int_equal(s.results[c].converged, one.converged);
        assert_int_equal(s.results[c].reason, one.reason);
        assert_int_equal(s.results[c].reason, reason);
        free(alone);
    }
    tess_solver_destroy(solver);
    tess_solver_destroy(cg);
    tess_precond_destroy(m);
    discard_system(&s);
}

static void matrices_end_as_by_cg(void **state)
{
    oracle_csr negative = oracle_laplace2d(SIDE);

    (void)state;
    for (int64_t k = 0; k < negative.nnz; k++) {
        negative.val[k] = -negative.val[k];
    }
    check_ends(oracle_convection2d(SIDE, 0.3), NULL, TESS_REASON_NONSYMMETRIC);
    check_ends(negative, NULL, TESS_REASON_RTOL);
    check_ends(oracle_tridiagonal(N, -1.0, 0.5, -1.0), NULL, TESS_REASON_INDEFINITE_MATRIX);
}

static void preconditioners_end_as_by_cg(void **state)
{
    oracle_csr negative = oracle_laplace2d(SIDE);

    (void)state;
    for (int64_t k = 0; k < negative.nnz; k++) {
        negative.val[k] = -negative.val[k];
    }
    check_ends(negative, negate, TESS_REASON_RTOL);
    check_ends(oracle_laplace2d(SIDE), negate, TESS_REASON_INDEFINITE_PRECOND);
    check_ends(oracle_laplace2d(SIDE), swap_signs, TESS_REASON_INDEFINITE_PRECOND);
    check_ends(oracle_laplace2d(SIDE), forget, TESS_REASON_INDEFINITE_PRECOND);
    check_ends(oracle_laplace2d(SIDE), poison, TESS_REASON_NAN_OR_INF);
}

/* A singular matrix whose first columns have a solution, and the last has none. */
static void a_singular_matrix_claims_nothing_false(void **state)
{
    double diagonal[N];
    system_of s;
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    for (int i = 0; i < N; i++) {
        diagonal[i] = i == 0 ? 0.0 : 1.0 + i;
    }
    s = make_system(oracle_diagonal(N, diagonal), 4);
    options.max_iterations = 1000;
    for (int c = 0; c < 3; c++) {
        s.b[c * N] = 0.0;
    }
    solve_by(&s, &options);
    for (int c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].converged, c < 3);
        check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]);
    }
    discard_system(&s);
}

static void a_bad_column_harms_no_other(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 6);
    const tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    s.b[2 * N + 5] = (double)NAN;
    for (int64_t i = 0; i < N; i++) {
        s.b[3 * N + i] *= 0x1p+600;
        s.b[4 * N + i] *= 0x1p-600;
    }
    solve_by(&s, &options);
    for (int64_t c = 0; c < 6; c++) {
        assert_int_equal(s.results[c].verified, c != 2);
        if (c != 2) { check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]); }
    }
    assert_int_equal(s.results[2].reason, TESS_REASON_NAN_OR_INF);
    discard_system(&s);
}

/* ---- limits, histories, bits ---- */

static int stop_at_five(void *user, const tess_progress *progress)
{
    *(int64_t *)user = progress->iteration;
    return progress->iteration >= 5;
}

static void limits_end_all_columns(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 4);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
    double *first = test_allocate(N, sizeof *first);
    int64_t seen = 0;

    (void)state;
    solve_by(&s, &options);
    memcpy(first, s.x, N * sizeof *first);
    memset(s.x + N, 0, (size_t)(3 * N) * sizeof *s.x);
    options.max_iterations = 7;
    solve_by(&s, &options);
    assert_int_equal(s.results[0].iterations, 0); /* its guess is right */
    assert_true(same_bits(s.x, first, N));
    for (int64_t c = 1; c < 4; c++) {
        assert_int_equal(s.results[c].iterations, 7);
        assert_int_equal(s.results[c].reason, TESS_REASON_ITERATIONS);
        check_honest(&s.a, s.b + c * N, s.x + c * N, &options, &s.results[c]);
    }
    memset(s.x, 0, (size_t)(4 * N) * sizeof *s.x);
    options.monitor = stop_at_five;
    options.monitor_user = &seen;
    solve_by(&s, &options);
    for (int64_t c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].reason, TESS_REASON_CANCELLED);
        assert_int_equal(s.results[c].iterations, 6);
    }
    assert_int_equal(seen, 6);
    options.monitor = NULL;
    options.max_iterations = 100;
    options.time_limit = 1e-9;
    memset(s.x, 0, (size_t)(4 * N) * sizeof *s.x);
    solve_by(&s, &options);
    for (int64_t c = 0; c < 4; c++) {
        assert_int_equal(s.results[c].reason, TESS_REASON_TIME_LIMIT);
    }
    free(first);
    discard_system(&s);
}

/* A history is that of the column: from ||b|| to its estimate at the end. */
static void histories_are_of_a_column(void **state)
{
    system_of s = make_system(oracle_laplace2d(SIDE), 3);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);
    tess_solver *solver = NULL;

    (void)state;
    for (int64_t capacity = 0; capacity <= 1000; capacity += 10 + capacity * 98) {
        options.history_capacity = capacity;
        memset(s.x, 0, (size_t)(3 * N) * sizeof *s.x);
        assert_ok(s.ctx, tess_solver_create(s.m, &options, &solver));
        assert_ok(s.ctx, solve_all(&s, solver));
        for (int64_t c = 0; c < 3; c++) {
            const tess_solve_result *r = &s.results[c];
            const int64_t length = r->iterations + 1 < capacity ? r->iterations + 1 : capacity;

            assert_int_equal(r->history_length, length);
            if (length == 0) { continue; }
            assert_near(r->history[0], r->rhs_norm, 1e-12 * r->rhs_norm);
            if (length > r->iterations) { assert_true(r->history[r->iterations] == r->estimated_residual_norm); }
            for (int64_t i = 0; i < length; i++) {
                assert_true(r->history[i] > 0.0 && r->history[i] < 100.0 * r->rhs_norm);
            }
        }
        tess_solver_destroy(solver);
    }
    discard_system(&s);
}

/* The same bits for any number of threads, and each time. */
static void bits_depend_on_the_values_alone(void **state)
{
    system_of s = make_system(oracle_laplace2d(90), 3), alone = make_system(oracle_laplace2d(90), 3);
    tess_solve_options options = solve_options(TESS_SOLVER_BLOCK_CG);

    (void)state;
    options.rtol = 1e-3;
    tess_matrix_destroy(alone.m);
    tess_context_destroy(alone.ctx);
    alone.ctx = open_device(1);
    alone.m = make_matrix(alone.ctx, &alone.a);
    solve_by(&s, &options);
    for (int i = 0; i < 2; i++) {
        memset(alone.x, 0, (size_t)(3 * 90 * 90) * sizeof *alone.x);
        solve_by(&alone, &options);
        assert_true(same_bits(s.x, alone.x, 3 * 90 * 90));
    }
    discard_system(&s);
    discard_system(&alone);
}

/* ---- small matrices ---- */

/* A Gram matrix of rank two and of four columns: what is taken is orthonormal, and W = W' B. */
static void bases_of_small_blocks(void **state)
{
    static double w[3][4] = {{1.0, 2.0, 0.0, 1.0}, {1.0, 2.0, 1.0, 0.0}, {0.0, 0.0, 0.0, 0.0}};
    static small_matrix g, k, x, product;
    static small_basis basis;

    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int j = i; j < 4; j++) { /* the upper triangle is read */
            for (int l = 0; l < 3; l++) {
                g[i][j] += w[l][i] * w[l][j];
            }
        }
    }
    assert_int_equal(small_orthonormalise(4, g, &basis), SMALL_DEFINITE);
    assert_int_equal(basis.rank, 2);
    assert_true(basis.least > 0.7 && basis.least < 0.71); /* 1 / sqrt(2) */
    small_multiply(4, 4, 4, basis.f, basis.b, product);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            assert_near(product[i][j], i == j ? 1.0 : 0.0, 1e-15);
        }
    }
    g[1][1] = -1.0;
    assert_int_equal(small_orthonormalise(4, g, &basis), SMALL_INDEFINITE);
    assert_int_equal(small_solve(4, g, 1, x, product), SMALL_INDEFINITE);
    g[1][1] = 0.0;
    assert_int_equal(small_solve(4, g, 1, x, product), SMALL_SINGULAR);
    g[0][1] = (double)NAN;
    assert_int_equal(small_orthonormalise(4, g, &basis), SMALL_NOT_FINITE);
    k[0][0] = k[1][1] = 4e200;
    k[0][1] = 2e200;
    x[0][0] = 1e200;
    assert_int_equal(small_solve(2, k, 1, x, product), SMALL_DEFINITE);
    assert_near(product[0][0], 1.0 / 3.0, 1e-15);
    assert_near(product[1][0], -1.0 / 6.0, 1e-15);
    k[0][1] = 4e200;
    assert_int_equal(small_solve(2, k, 1, x, product), SMALL_SINGULAR);
    k[0][1] = 5e200;
    assert_int_equal(small_solve(2, k, 1, x, product), SMALL_INDEFINITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(related_columns_need_fewer_iterations),
                                       cmocka_unit_test(one_column_is_cg),
                                       cmocka_unit_test(dependent_columns_do_no_harm),
                                       cmocka_unit_test(near_twins_are_told_apart),
                                       cmocka_unit_test(blocks_may_be_wider_than_the_matrix),
                                       cmocka_unit_test(columns_end_at_their_own_time),
                                       cmocka_unit_test(any_matrix_and_preconditioner),
                                       cmocka_unit_test(an_operator_is_multiplied_by_one_column),
                                       cmocka_unit_test(an_operator_that_overflows_is_told),
                                       cmocka_unit_test(a_low_precision_is_repaired),
                                       cmocka_unit_test(matrices_end_as_by_cg),
                                       cmocka_unit_test(preconditioners_end_as_by_cg),
                                       cmocka_unit_test(a_singular_matrix_claims_nothing_false),
                                       cmocka_unit_test(a_bad_column_harms_no_other),
                                       cmocka_unit_test(limits_end_all_columns),
                                       cmocka_unit_test(histories_are_of_a_column),
                                       cmocka_unit_test(bits_depend_on_the_values_alone),
                                       cmocka_unit_test(bases_of_small_blocks)};

    return cmocka_run_group_tests_name("unit.block_cg", tests, NULL, NULL);
}
