/* SPDX-License-Identifier: Apache-2.0 */
/* What an automatic solve chooses beside the method: the order of rows, and how the matrix is stored. */
#include "auto/auto.h"
#include "support/solve.h"

/* So many that complete factors are predicted to take a megabyte, which the tests forbid. */
enum { ROWS = 4001, STRIDE = 7 };

static tess_context *ctx;

/* NULL: the iterations multiply with the matrix as it is, or with that of another system. */
static const tess_matrix *stored_in(const tess_solver *s)
{
    const method_solver *running = solver_running(s);

    return running ? method_look(running).stored : NULL;
}

/* A tridiagonal matrix whose rows are shifted by two, so that its diagonal is empty: incomplete factors need a matching
   first. Row and column i then go to place i * stride. */
static oracle_csr shifted(int64_t stride)
{
    static const double values[] = {-1.0, 2.5, -1.0};
    oracle_csr a = oracle_open(ROWS, ROWS);
    int64_t from[ROWS];

    for (int64_t i = 0; i < ROWS; i++) {
        from[i * stride % ROWS] = i;
    }
    for (int64_t row = 0; row < ROWS; row++) {
        const int64_t source = (from[row] + 2) % ROWS;

        for (int64_t j = 0; j < ROWS; j++) {
            const int64_t distance = from[j] - source;

            if (distance >= -1 && distance <= 1) { oracle_push(&a, j, values[distance + 1]); }
        }
        oracle_end_row(&a, row);
    }
    return a;
}

static void a_band_pays_where_the_profile_halves(void **state)
{
    const int64_t strides[] = {1, STRIDE};

    (void)state;
    for (int k = 0; k < 2; k++) {
        oracle_csr a = shifted(strides[k]);
        tess_matrix *matrix = make_matrix(ctx, &a);
        bool pays = k == 0;

        assert_ok(ctx, band_pays(matrix, &pays));
        assert_int_equal(pays, k == 1);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
}

/* How far an entry outweighs that of the transpose: (1 - u) / (1 + u) for entries -1 and -u. */
static void a_flow_is_seen(void **state)
{
    const double upper[] = {-1.0, -0.5, -0x1p-6, 0.0};

    (void)state;
    for (int k = 0; k < 4; k++) {
        const double u = fabs(upper[k]);
        oracle_csr a = oracle_tridiagonal(20000, -1.0, 2.0, upper[k]);
        tess_matrix *matrix = make_matrix(ctx, &a);
        matrix_facts facts;

        assert_ok(ctx, find_facts(matrix, &facts));
        assert_int_equal(facts.symmetric, k == 0);
        assert_true(fabs(facts.one_way - (1.0 - u) / (1.0 + u)) < 1e-12);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
}

/* Off the diagonal -1.5, on it 2; every tenth is 1, whose minors with both neighbours are 2 - 2.25, or -4. */
static void facts_are_those_of_any_number_of_threads(void **state)
{
    enum { SIZE = 30000 };
    const int threads[] = {1, 2, 4, 7};

    (void)state;
    for (int k = 0; k < 4; k++) {
        tess_context *host = open_cpu(threads[k]);
        oracle_csr a = oracle_tridiagonal(SIZE, -1.5, 2.0, -1.5);
        tess_matrix *matrix = NULL;
        matrix_facts f;

        for (int64_t i = 0; i < SIZE; i++) {
            for (int64_t j = a.row_ptr[i]; j < a.row_ptr[i + 1]; j++) {
                if (a.col_ind[j] == i && i % 10 == 5) { a.val[j] = i % 100 == 55 ? -4.0 : 1.0; }
            }
        }
        matrix = make_matrix(host, &a);
        assert_ok(host, find_facts(matrix, &f));
        assert_true(f.symmetric && f.finite && f.null_rows < f.n);
        assert_int_equal(f.positive, SIZE - SIZE / 100);
        assert_int_equal(f.negative, SIZE / 100);
        assert_int_equal(f.zero, 0);
        assert_int_equal(f.empty_rows, 0);
        assert_int_equal(f.dominant_rows, SIZE / 100 + 2); /* the rows with -4, and the two at the ends */
        assert_int_equal(f.improper_minors, 2 * (SIZE / 10 - SIZE / 100)); /* 2.25 >= 2; 2.25 < 4, and 2.25 < 8 */
        tess_matrix_destroy(matrix);
        tess_context_destroy(host);
        oracle_free(&a);
    }
}

/* Without complete factors GMRES with ILUT solves the matched system, in a band where that pays. By hand it does so
   too. */
static void incomplete_factors_of_a_band(void **state)
{
    const int64_t strides[] = {1, STRIDE};

    (void)state;
    for (int k = 0; k < 2; k++) {
        const tess_reordering expected = k == 0 ? TESS_REORDERING_NONE : TESS_REORDERING_RCM;
        tess_solve_options options = solve_options(TESS_SOLVER_AUTO), chosen;
        oracle_csr a = shifted(strides[k]);
        tess_matrix *matrix = make_matrix(ctx, &a);
        const tess_attempt *attempts = NULL;
        double b[ROWS], x[ROWS] = {0.0};
        tess_solver *solver = NULL;
        tess_solve_result result;
        int count = 0;

        for (int i = 0; i < ROWS; i++) {
            b[i] = 1.0 + i % 3;
        }
        options.precond.direct.memory_limit = 1;
        assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
        result = solve_with(solver, ctx, ROWS, b, x);
        check_honest(&a, b, x, &options, &result);
        assert_true(result.verified);
        count = tess_solver_attempts(solver, &attempts);
        assert_true(count >= 2);
        assert_int_equal(attempts[count - 1].precond, TESS_PRECOND_ILUT);
        assert_int_equal(attempts[count - 1].reorder, expected);
        assert_int_equal(strstr(tess_solver_why(solver), "reordered by rcm") != NULL, k == 1);
        tess_solve_options_init(&chosen);
        assert_ok(ctx, tess_solver_chosen_options(solver, &chosen));
        assert_int_equal(chosen.reorder, expected);
        tess_solver_destroy(solver);
        memset(x, 0, sizeof x);
        result = solve_once(ctx, &a, &chosen, b, x);
        assert_true(result.verified && result.reorder == expected);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
}

/* Iterations without factors get diagonals where a device asks for them, unless there are too many; other steps, and
   formats that the caller names, do not. The choice by hand names the format. */
static void diagonals_are_for_plain_iterations(void **state)
{
    static const ladder_step steps[] = {
        {TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_NONE, TESS_REORDERING_NONE, LIMIT_NONE},
        {TESS_SOLVER_CG, TESS_PRECOND_IC0, TESS_PRECISION_FP32, TESS_SCALING_NONE, TESS_REORDERING_NONE, LIMIT_NONE},
        {TESS_SOLVER_GMRES, TESS_PRECOND_JACOBI, TESS_PRECISION_FP64, TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_NONE,
         LIMIT_NONE}};

    (void)state;
    for (int k = 0; k < 5; k++) { /* 3: a matrix with too many diagonals; 4: csr is given */
        tess_solve_options options = solve_options(TESS_SOLVER_AUTO), asked;
        oracle_csr a = k == 3 ? oracle_random(200, 200, 3, 1) : oracle_laplace2d(20);
        tess_matrix *matrix = make_matrix(ctx, &a);
        tess_solver *solver = NULL;
        auto_solve *own = NULL;
        const bool expected = k == 0;

        options.automatic.format_given = k == 4;
        assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
        own = solver->state;
        assert_false(own->diagonals); /* a host has no use for them */
        tess_solver_destroy(own->solver);
        own->solver = NULL;
        own->diagonals = true;
        own->step = steps[k < 3 ? k : 0];
        if (k == 3) { own->step.solver = TESS_SOLVER_BICGSTAB; }
        assert_ok(ctx, step_create_solver(solver, own));
        step_options(solver, &own->step, &asked);
        assert_int_equal(asked.storage.format, expected ? TESS_FORMAT_DIA : TESS_FORMAT_CSR);
        assert_int_equal(own->diagonals, k != 3);
        assert_true(!expected || stored_in(own->solver)->format == TESS_FORMAT_DIA);
        assert_true(expected || stored_in(own->solver) == NULL);
        tess_solver_destroy(solver);
        tess_matrix_destroy(matrix);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_band_pays_where_the_profile_halves),
                                       cmocka_unit_test(incomplete_factors_of_a_band), cmocka_unit_test(a_flow_is_seen),
                                       cmocka_unit_test(diagonals_are_for_plain_iterations),
                                       cmocka_unit_test(facts_are_those_of_any_number_of_threads)};

    return run_with_context(open_device(1), tests, &ctx);
}
