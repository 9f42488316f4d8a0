/* SPDX-License-Identifier: Apache-2.0 */
/* The preconditioner saddle: exact blocks, splits, new values, within methods. */
#include <tessera/columns.h>

#include "support/gallery.h"
#include "support/precond.h"
#include "support/saddle.h"
#include "support/solve.h"

/* Every fourth row is a constraint, as long as there are some; both blocks keep their order. */
static void interleave(int64_t *order)
{
    int64_t unknown = 0, constraint = 0;

    for (int64_t i = 0; i < ROWS; i++) {
        const bool second = (i % 4 == 1 && constraint < CONSTRAINTS) || unknown == UNKNOWNS;

        order[i] = second ? UNKNOWNS + constraint++ : unknown++;
    }
}

/* The largest |r - K z| over that of r. */
static double residual_of(const oracle_csr *k, const double *z, const double *r)
{
    double worst = 0.0, size = 0.0;

    for (int64_t i = 0; i < k->nrows; i++) {
        wide sum = r[i];

        for (int64_t e = k->row_ptr[i]; e < k->row_ptr[i + 1]; e++) {
            sum -= (wide)k->val[e] * z[k->col_ind[e]];
        }
        worst = fmax(worst, fabs((double)sum));
        size = fmax(size, fabs(r[i]));
    }
    return worst / size;
}

static void apply_once(tess_context *ctx, const oracle_csr *k, const tess_precond_options *o, const double *r,
                       double *z)
{
    tess_matrix *m = make_matrix(ctx, k);
    tess_precond *made = make_precond(ctx, m, o);

    apply_precond(made, k->nrows, r, z);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
}

/* ---- exact blocks ---- */

/* Rounding of both solves: some operations for each of a row's entries, and a condition number below 1e3. */
#define ROUNDING (1e3 * 64.0 * U64)

/* With A and S exact the full factors are the matrix. ILU(0) of a matrix without fill is complete. */
static void full_factors_of_exact_blocks_are_the_matrix(void **state)
{
    static const struct {
        tess_saddle_schur schur;
        double beside, c;
        bool overlap;
    } cases[] = {{TESS_SCHUR_SELFP, 0.0, 0.0, true},   {TESS_SCHUR_SELFP, 0.0, -0.5, true},
                 {TESS_SCHUR_LSC, 0.0, 0.0, true},     {TESS_SCHUR_LOCAL, -0.75, 0.0, false},
                 {TESS_SCHUR_LOCAL, 0.5, -0.5, false}, {TESS_SCHUR_AUTO, 0.0, 0.0, true}};
    double *r = random_values(ROWS, 3, -1.0, 1.0), z[ROWS];
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        oracle_csr a = chain_of(cases[k].beside, cases[k].overlap, cases[k].c);
        const tess_precond_options o = saddle(TESS_SADDLE_FULL, cases[k].schur, TESS_PRECOND_ILU0);

        apply_once(ctx, &a, &o, r, z);
        assert_at_most(residual_of(&a, z, r), ROUNDING);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
    free(r);
}

/* A negative definite matrix and its zero block; rows of a first block with negative diagonals. */
static void signs_are_those_of_the_matrix(void **state)
{
    dense d = chain(0.0, true, 0.0);
    double *r = random_values(ROWS, 3, -1.0, 1.0), z[ROWS];
    tess_context *ctx = open_device(1);
    const tess_precond_options o = saddle(TESS_SADDLE_FULL, TESS_SCHUR_SELFP, TESS_PRECOND_ILU0),
                               diag = saddle(TESS_SADDLE_DIAG, TESS_SCHUR_SELFP, TESS_PRECOND_ILU0);
    double sum = 0.0;

    (void)state;
    for (int64_t i = 0; i < d.n * d.n; i++) {
        d.a[i] = -d.a[i];
    }
    oracle_csr a = dense_close(&d, NULL);
    apply_once(ctx, &a, &o, r, z);
    assert_at_most(residual_of(&a, z, r), ROUNDING);
    apply_once(ctx, &a, &diag, r, z); /* positive definite, whatever the signs are */
    for (int64_t i = 0; i < ROWS; i++) {
        sum += r[i] * z[i];
    }
    assert_true(sum > 0.0);
    oracle_free(&a);
    tess_context_destroy(ctx);
    free(r);
}

/* S = -B A^-1 B^T by elimination in wide arithmetic. */
static oracle_csr exact_schur(void)
{
    dense d = chain(-0.75, true, 0.0);
    oracle_csr s = oracle_open(CONSTRAINTS, CONSTRAINTS);
    wide *w = test_allocate(ROWS * ROWS, sizeof *w);

    for (int64_t i = 0; i < ROWS * ROWS; i++) {
        w[i] = d.a[i];
    }
    for (int64_t k = 0; k < UNKNOWNS; k++) {
        for (int64_t i = k + 1; i < ROWS; i++) {
            const wide factor = w[i * ROWS + k] / w[k * ROWS + k];

            for (int64_t j = k; j < ROWS && factor != 0; j++) {
                w[i * ROWS + j] -= factor * w[k * ROWS + j];
            }
        }
    }
    for (int64_t i = 0; i < CONSTRAINTS; i++) {
        for (int64_t j = 0; j < CONSTRAINTS; j++) {
            oracle_push(&s, j, (double)w[(UNKNOWNS + i) * ROWS + UNKNOWNS + j]);
        }
        oracle_end_row(&s, i);
    }
    free(d.a);
    free(w);
    return s;
}

/* Murphy, Golub and Wathen: with A and S exact the preconditioned matrix has 1, 1 or 2, or 3 eigenvalues. The matrix
   for S may have either sign. */
static void exact_blocks_take_as_many_iterations_as_there_are_eigenvalues(void **state)
{
    static const struct {
        tess_solver_kind solver;
        tess_saddle_factorization factorization;
        int64_t most;
    } cases[] = {{TESS_SOLVER_GMRES, TESS_SADDLE_FULL, 1},
                 {TESS_SOLVER_FGMRES, TESS_SADDLE_UPPER, 2},
                 {TESS_SOLVER_FGMRES, TESS_SADDLE_LOWER, 2},
                 {TESS_SOLVER_FGMRES, TESS_SADDLE_DIAG, 3},
                 {TESS_SOLVER_MINRES, TESS_SADDLE_AUTO, 3}};
    oracle_csr a = chain_of(-0.75, true, 0.0), s = exact_schur();
    double *b = random_values(ROWS, 5, -1.0, 1.0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        tess_matrix *schur = NULL;
        tess_solve_options options = solve_options(cases[k / 2].solver);
        double x[ROWS] = {0.0};
        tess_solve_result result;

        for (int64_t e = 0; e < s.nnz; e++) {
            s.val[e] = -s.val[e];
        }
        schur = make_matrix(ctx, &s);
        options.precond = saddle(cases[k / 2].factorization, TESS_SCHUR_USER, TESS_PRECOND_ILU0);
        options.precond.saddle.schur_matrix = schur;
        result = solve_once(ctx, &a, &options, b, x);
        assert_true(result.converged);
        check_honest(&a, b, x, &options, &result);
        assert_in_range(result.iterations, 1, cases[k / 2].most);
        tess_matrix_destroy(schur);
    }
    oracle_free(&a);
    oracle_free(&s);
    tess_context_destroy(ctx);
    free(b);
}

/* ---- the split ---- */

static void interleaved_rows_give_the_same(void **state)
{
    static const tess_saddle_schur schurs[] = {TESS_SCHUR_LOCAL, TESS_SCHUR_SELFP, TESS_SCHUR_LSC};
    int64_t order[ROWS];
    double *r = random_values(ROWS, 3, -1.0, 1.0), mixed[ROWS], z[ROWS], of_mixed[ROWS], back[ROWS];
    tess_context *ctx = open_device(2);

    (void)state;
    interleave(order);
    for (int k = 0; k < 3; k++) {
        dense d = chain(-0.75, true, 0.0);
        oracle_csr a = chain_of(-0.75, true, 0.0), b = dense_close(&d, order);
        const tess_precond_options o = saddle(TESS_SADDLE_FULL, schurs[k], TESS_PRECOND_AUTO);

        for (int64_t i = 0; i < ROWS; i++) {
            mixed[i] = r[order[i]];
        }
        apply_once(ctx, &a, &o, r, z);
        apply_once(ctx, &b, &o, mixed, of_mixed);
        for (int64_t i = 0; i < ROWS; i++) {
            back[order[i]] = of_mixed[i];
        }
        assert_true(same_bits(z, back, ROWS));
        oracle_free(&a);
        oracle_free(&b);
    }
    tess_context_destroy(ctx);
    free(r);
}

/* In any order; a C without zeros, of which a small part is found by its size and a large one by its sign. */
static void an_index_gives_what_the_diagonal_shows(void **state)
{
    static const double c[] = {0.0, -1e-9, 1e-9, -1.0};
    int64_t index[CONSTRAINTS];
    double *r = random_values(ROWS, 3, -1.0, 1.0), found[ROWS], given[ROWS];
    tess_context *ctx = open_device(2);

    (void)state;
    for (int64_t i = 0; i < CONSTRAINTS; i++) {
        index[i] = UNKNOWNS + (5 * i) % CONSTRAINTS;
    }
    for (int k = 0; k < 4; k++) {
        oracle_csr a = chain_of(-0.75, true, c[k]);
        tess_precond_options o = saddle(TESS_SADDLE_UPPER, TESS_SCHUR_SELFP, TESS_PRECOND_JACOBI);

        apply_once(ctx, &a, &o, r, found);
        o.saddle.index = index;
        o.saddle.index_count = CONSTRAINTS;
        apply_once(ctx, &a, &o, r, given);
        assert_true(same_bits(found, given, ROWS));
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
    free(r);
}

/* ---- new values ---- */

static void check_renewal(tess_context *ctx, const tess_precond_options *o, const oracle_csr *before,
                          const oracle_csr *after)
{
    double *r = random_values(before->nrows, 3, -1.0, 1.0), *renewed = test_allocate(before->nrows, sizeof *renewed),
           *fresh = test_allocate(before->nrows, sizeof *fresh);
    tess_matrix *m = make_matrix(ctx, before);
    tess_precond *made = make_precond(ctx, m, o);

    assert_ok(ctx, tess_matrix_update_values(m, after->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(made));
    apply_precond(made, before->nrows, r, renewed);
    apply_once(ctx, after, o, r, fresh);
    assert_true(same_bits(renewed, fresh, before->nrows));
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    free(r);
    free(renewed);
    free(fresh);
}

/* C is stored, and 0 at first; for lsc it stays so. `last`: of the last row, which is an unknown where it is positive.
 */
static void fill_c(oracle_csr *a, oracle_csr *b, bool stays, double last)
{
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t e = a->row_ptr[i]; e < a->row_ptr[i + 1]; e++) {
            if (i >= UNKNOWNS && a->col_ind[e] >= UNKNOWNS) {
                a->val[e] = 0.0;
                b->val[e] = stays ? 0.0 : a->col_ind[e] != i ? 0.125 : i == ROWS - 1 ? last : -0.5;
            } else {
                b->val[e] *= 1.5;
            }
        }
    }
}

static oracle_csr coupled_chain(void)
{
    dense d = chain(-0.75, true, -1.0);

    put_pair(&d, UNKNOWNS, UNKNOWNS + 5, 0.25); /* which B A^-1 F does not couple */
    return dense_close(&d, NULL);
}

/* Also where C gets values, and with them other entries of S, or another split. */
static void new_values_are_as_fresh_ones(void **state)
{
    static const tess_saddle_schur schurs[] = {TESS_SCHUR_LOCAL, TESS_SCHUR_SELFP, TESS_SCHUR_LSC};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        oracle_csr a = coupled_chain(), b = coupled_chain();
        const tess_precond_options o = saddle(TESS_SADDLE_FULL, schurs[k / 2], TESS_PRECOND_ILU0);

        fill_c(&a, &b, o.saddle.schur == TESS_SCHUR_LSC, k % 2 == 0 ? -0.5 : 1.0);
        check_renewal(ctx, &o, &a, &b);
        oracle_free(&a);
        oracle_free(&b);
    }
    tess_context_destroy(ctx);
}

/* Values without a preconditioner, then others: the set-up of a solver waits for them. */
static void later_values_may_do(void **state)
{
    oracle_csr good = chain_of(-0.75, true, 0.0), bad = chain_of(-0.75, true, 0.0);
    const tess_precond_options o = saddle(TESS_SADDLE_UPPER, TESS_SCHUR_SELFP, TESS_PRECOND_ILU0);
    double *r = random_values(ROWS, 3, -1.0, 1.0), z[ROWS], fresh[ROWS];
    tess_context *ctx = open_device(1);
    tess_matrix *m = NULL;
    tess_precond *made = NULL;
    tess_vector *from = make_vector(ctx, ROWS, r), *to = make_zeros(ctx, ROWS);

    (void)state;
    bad.val[7] = NAN;
    m = make_matrix(ctx, &bad);
    assert_fails(ctx, TESS_SINGULAR, tess_precond_create(m, &o, &made));
    assert_null(made);
    assert_int_equal(tess_precond_create_renewable(m, &o, &made), TESS_SINGULAR);
    assert_non_null(made);
    assert_fails(ctx, TESS_SINGULAR, tess_precond_apply(made, from, to));
    assert_ok(ctx, tess_matrix_update_values(m, good.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(made));
    apply_precond(made, ROWS, r, z);
    apply_once(ctx, &good, &o, r, fresh);
    assert_true(same_bits(z, fresh, ROWS));
    tess_vector_destroy(from);
    tess_vector_destroy(to);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&good);
    oracle_free(&bad);
    free(r);
}

/* ---- within methods ---- */

static int64_t iterations_of(tess_context *ctx, const char *problem, tess_solver_kind solver,
                             const tess_precond_options *precond)
{
    oracle_csr a = generate_problem(problem, 2);
    double *b = random_values(a.nrows, 7, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_options options = solve_options(solver);
    tess_solve_result result;

    memset(x, 0, (size_t)a.nrows * sizeof *x);
    options.rtol = 1e-8;
    options.precond = *precond;
    result = solve_once(ctx, &a, &options, b, x);
    assert_true(result.converged);
    check_honest(&a, b, x, &options, &result);
    oracle_free(&a);
    free(b);
    free(x);
    return result.iterations;
}

static void methods_solve_flows(void **state)
{
    static const tess_solver_kind solvers[] = {TESS_SOLVER_GMRES,  TESS_SOLVER_FGMRES, TESS_SOLVER_GMRES_IR,
                                               TESS_SOLVER_MINRES, TESS_SOLVER_IDR,    TESS_SOLVER_BICGSTAB};
    const tess_precond_options o = precond_of(TESS_PRECOND_SADDLE, 0);
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 6; k++) {
        assert_at_most((double)iterations_of(ctx, "stokes2d 14", solvers[k], &o), 110.0);
    }
    assert_at_most((double)iterations_of(ctx, "stokes3d 5", TESS_SOLVER_FGMRES, &o), 60.0);
    tess_context_destroy(ctx);
}

/* The rest of the Schur complements is worse at each refinement, and yet solves. */
static void all_schur_complements_solve(void **state)
{
    static const tess_saddle_schur schurs[] = {TESS_SCHUR_LOCAL, TESS_SCHUR_SELFP, TESS_SCHUR_LSC};
    static const tess_saddle_factorization factorizations[] = {TESS_SADDLE_DIAG, TESS_SADDLE_LOWER, TESS_SADDLE_UPPER,
                                                               TESS_SADDLE_FULL};
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 12; k++) {
        const tess_precond_options o = saddle(factorizations[k % 4], schurs[k / 4], TESS_PRECOND_AUTO);

        assert_at_most((double)iterations_of(ctx, "stokes2d 10", TESS_SOLVER_FGMRES, &o), 150.0);
    }
    tess_context_destroy(ctx);
}

/* The velocities of a flow are carried along their numbers, with so much of the diffusion. */
static oracle_csr carried(const char *problem, int64_t unknowns, double wind)
{
    oracle_csr a = generate_problem(problem, 2);

    for (int64_t i = 0; i < unknowns; i++) {
        for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
            if (a.col_ind[e] == i) { a.val[e] += wind; }
            if (a.col_ind[e] == i - 1) { a.val[e] -= wind; }
        }
    }
    return a;
}

/* By what it does: bits are those of the kind that it takes. */
static void auto_looks_at_the_rows_of_a(void **state)
{
    static const struct {
        const char *problem;
        int64_t unknowns;
        double wind;
        tess_saddle_schur taken;
    } cases[] = {{"stokes2d 9", 144, 0.0, TESS_SCHUR_LOCAL},
                 {"stokes2d 9", 144, 0.01, TESS_SCHUR_LOCAL},
                 {"stokes2d 9", 144, 1.0, TESS_SCHUR_LSC},
                 {NULL, UNKNOWNS, 0.0, TESS_SCHUR_SELFP}};
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tess_precond_options chosen = precond_of(TESS_PRECOND_SADDLE, 0);
        const tess_precond_options named = saddle(TESS_SADDLE_AUTO, cases[k].taken, TESS_PRECOND_AUTO);
        oracle_csr a =
            cases[k].problem ? carried(cases[k].problem, cases[k].unknowns, cases[k].wind) : chain_of(-0.75, true, 0.0);
        double *r = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x),
               *y = test_allocate(a.nrows, sizeof *y);

        apply_once(ctx, &a, &chosen, r, x);
        apply_once(ctx, &a, &named, r, y);
        assert_true(same_bits(x, y, a.nrows));
        oracle_free(&a);
        free(r);
        free(x);
        free(y);
    }
    tess_context_destroy(ctx);
}

#ifndef TESTS_ON_GPU
/* From 3,000 to 27,000 rows. */
static void iterations_hardly_grow(void **state)
{
    const tess_precond_options o = precond_of(TESS_PRECOND_SADDLE, 0);
    tess_context *ctx = open_device(2);
    const double coarse = (double)iterations_of(ctx, "stokes2d 32", TESS_SOLVER_FGMRES, &o),
                 fine = (double)iterations_of(ctx, "stokes2d 96", TESS_SOLVER_FGMRES, &o);

    (void)state;
    assert_at_most(fine, 1.3 * coarse);
    tess_context_destroy(ctx);
}
#endif

static void columns_are_as_alone(void **state)
{
    enum { COLUMNS = 3 };
    oracle_csr a = chain_of(-0.75, true, 0.0);
    const tess_precond_options o = saddle(TESS_SADDLE_FULL, TESS_SCHUR_SELFP, TESS_PRECOND_ILU0);
    double *r = random_values(COLUMNS * ROWS, 9, -1.0, 1.0), together[COLUMNS * ROWS], alone[ROWS];
    tess_context *ctx = open_device(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_precond *made = make_precond(ctx, m, &o);
    const tess_columns from = tess_columns_by_column(ROWS, COLUMNS, r, TESS_MEMORY_HOST),
                       to = tess_columns_by_column(ROWS, COLUMNS, together, TESS_MEMORY_HOST);

    (void)state;
    assert_ok(ctx, tess_precond_apply_columns(made, &from, &to));
    for (int c = 0; c < COLUMNS; c++) {
        apply_precond(made, ROWS, r + (int64_t)c * ROWS, alone);
        assert_true(same_bits(alone, together + (int64_t)c * ROWS, ROWS));
    }
    assert_true(tess_precond_bytes(made) > 0);
    tess_precond_destroy(made);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(r);
}

/* What stands here, for a GPU too. */
#define SADDLE                                                                                                      \
    cmocka_unit_test(full_factors_of_exact_blocks_are_the_matrix), cmocka_unit_test(signs_are_those_of_the_matrix), \
        cmocka_unit_test(exact_blocks_take_as_many_iterations_as_there_are_eigenvalues),                            \
        cmocka_unit_test(interleaved_rows_give_the_same), cmocka_unit_test(an_index_gives_what_the_diagonal_shows), \
        cmocka_unit_test(new_values_are_as_fresh_ones), cmocka_unit_test(later_values_may_do),                      \
        cmocka_unit_test(methods_solve_flows), cmocka_unit_test(all_schur_complements_solve),                       \
        cmocka_unit_test(auto_looks_at_the_rows_of_a), cmocka_unit_test(columns_are_as_alone)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        SADDLE,
        cmocka_unit_test(iterations_hardly_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
