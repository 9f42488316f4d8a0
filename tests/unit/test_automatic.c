/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with the default solver and preconditioner: what is tried, in which order, and what is told. */
#include <sys/stat.h>
#include <unistd.h>

#include <tessera/automatic.h>

#include "precond/precond.h"
#include "support/solve.h"

/* SLOW_LEFT: CG is left before so many iterations. On a GPU these cost little beside other methods' set-ups. */
#ifdef TESTS_ON_GPU
enum { GRID = 24, SLOW_ROWS = 1000, SLOW_LEFT = 10000 };
#else
enum { GRID = 24, SLOW_ROWS = 300, SLOW_LEFT = 1000 };
#endif

static tess_context *ctx;

/* The second difference applied twice: with its condition number above 1e9, CG needs many times more iterations than
   there are rows. Incomplete factors on its five diagonals are complete. */
static oracle_csr slow_system(void)
{
    static const double values[] = {1.0, -4.0, 6.0, -4.0, 1.0};
    const int64_t n = SLOW_ROWS;
    oracle_csr a = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - 2; j <= i + 2; j++) {
            if (j >= 0 && j < n) { oracle_push(&a, j, values[j - i + 2]); }
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* A tolerance that FP64 can reach for it. */
static tess_solve_options slow_options(void)
{
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    options.rtol = 1e-6;
    options.max_iterations = 100000;
    return options;
}

static tess_solve_options automatic_options(void)
{
    return solve_options(TESS_SOLVER_AUTO);
}

/* A solver on a matrix of the oracle, with b = 1 and x = 0. */
typedef struct system_under_test {
    oracle_csr a;
    tess_matrix *matrix;
    tess_solver *solver;
    tess_solve_options options;
    double *b, *x;
    tess_solve_result result;
    const tess_attempt *attempts;
    int count;
} system_under_test;

static system_under_test open_test(oracle_csr a, tess_solve_options options)
{
    system_under_test t = {.a = a, .options = options};

    t.matrix = make_matrix(ctx, &t.a);
    t.b = test_allocate(t.a.nrows, sizeof *t.b);
    t.x = test_allocate(t.a.nrows, sizeof *t.x);
    for (int64_t i = 0; i < t.a.nrows; i++) {
        t.b[i] = 1.0;
    }
    assert_ok(ctx, tess_solver_create(t.matrix, &t.options, &t.solver));
    return t;
}

static void run(system_under_test *t)
{
    memset(t->x, 0, (size_t)t->a.nrows * sizeof *t->x);
    t->result = solve_with(t->solver, ctx, t->a.nrows, t->b, t->x);
    t->count = tess_solver_attempts(t->solver, &t->attempts);
    check_honest(&t->a, t->b, t->x, &t->options, &t->result);
}

static void close_test(system_under_test *t)
{
    tess_solver_destroy(t->solver);
    tess_matrix_destroy(t->matrix);
    oracle_free(&t->a);
    free(t->b);
    free(t->x);
}

static void assert_why(const system_under_test *t, const char *words)
{
    if (!strstr(tess_solver_why(t->solver), words)) {
        fail_msg("'%s' is not in: %s", words, tess_solver_why(t->solver));
    }
}

/* ---- families ---- */

static void positive_definite(void **state)
{
    system_under_test t = open_test(oracle_laplace2d(GRID), automatic_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_true(t.count >= 1);
    assert_int_equal(t.attempts[t.count - 1].reason, TESS_REASON_RTOL);
    assert_int_equal(t.result.solver, TESS_SOLVER_CG);
    assert_why(&t, "dominated by its diagonal");
    close_test(&t);
}

/* The diagonal is positive and every minor of two rows too, but eigenvalues go from -0.8 to 2.8. */
static void hidden_indefinite(void **state)
{
    system_under_test t =
        open_test(oracle_tridiagonal(on_gpu_or_emulated(4000, 400), 0.9, 1.0, 0.9), automatic_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.attempts[0].solver, TESS_SOLVER_CG);
    assert_int_equal(t.attempts[0].reason, TESS_REASON_INDEFINITE_MATRIX);
    assert_int_not_equal(t.result.solver, TESS_SOLVER_CG);
    assert_why(&t, "nothing speaks against");
    close_test(&t);
}

static void plainly_indefinite(void **state)
{
    const double values[] = {3.0, -2.0, 5.0, -1.0};
    system_under_test t = open_test(oracle_diagonal(4, values), automatic_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_why(&t, "2 of 4 diagonal entries are 0 or negative");
    for (int i = 0; i < t.count; i++) {
        assert_int_not_equal(t.attempts[i].solver, TESS_SOLVER_CG);
    }
    close_test(&t);
}

/* An entry of 3 between diagonal entries of 2 proves it. */
static void a_minor_is_negative(void **state)
{
    system_under_test t = open_test(oracle_tridiagonal(50, 3.0, 2.0, 3.0), automatic_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_why(&t, "49 entries are too large beside the diagonal");
    close_test(&t);
}

static void unsymmetric(void **state)
{
    system_under_test t = open_test(oracle_convection2d(GRID, 20.0), automatic_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_why(&t, "not symmetric");
    close_test(&t);
}

/* ---- budgets ---- */

static void a_slow_attempt_is_left(void **state)
{
    tess_solve_options options = slow_options();
    system_under_test t;

    (void)state;
    t = open_test(slow_system(), options);
    run(&t);
    assert_true(t.result.verified);
    assert_true(t.count >= 2);
    assert_true(t.attempts[0].left);
    assert_int_equal(t.attempts[0].reason, TESS_REASON_CANCELLED);
    assert_true(t.attempts[0].iterations < SLOW_LEFT);
    assert_why(&t, "cg with jacobi: left");
    close_test(&t);
}

static void iterations_are_limited_in_sum(void **state)
{
    tess_solve_options options = automatic_options();
    int64_t sum = 0;
    system_under_test t;

    (void)state;
    options.max_iterations = 7;
    options.precond.kind = TESS_PRECOND_NONE;
    t = open_test(oracle_laplace2d(GRID), options);
    run(&t);
    assert_false(t.result.converged);
    for (int i = 0; i < t.count; i++) {
        sum += t.attempts[i].iterations;
    }
    assert_int_equal(t.result.iterations, 7);
    assert_int_equal(sum, 7);
    assert_int_equal(t.result.history_length, 8);
    close_test(&t);
}

static int cancel_at_5(void *user, const tess_progress *progress)
{
    int *calls = user;

    *calls += 1;
    return progress->iteration >= 5;
}

static void the_callers_monitor_ends_all(void **state)
{
    tess_solve_options options = automatic_options();
    int calls = 0;
    system_under_test t;

    (void)state;
    options.monitor = cancel_at_5;
    options.monitor_user = &calls;
    options.precond.kind = TESS_PRECOND_JACOBI;
    t = open_test(oracle_laplace2d(GRID), options);
    run(&t);
    assert_int_equal(t.count, 1);
    assert_true(calls >= 1); /* a GPU calls at intervals, perhaps only at the end */
    if (TEST_DEVICE == TESS_DEVICE_CPU) { assert_int_equal(t.result.reason, TESS_REASON_CANCELLED); }
    assert_false(t.attempts[0].left);
    close_test(&t);
}

/* ---- what the caller says ---- */

static void a_named_preconditioner_is_kept(void **state)
{
    tess_solve_options options = automatic_options();
    system_under_test t;

    (void)state;
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    t = open_test(oracle_laplace2d(GRID), options);
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.result.precond.kind, TESS_PRECOND_BLOCK_JACOBI);
    close_test(&t);
}

static void a_named_solver_has_no_attempts(void **state)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    system_under_test t = open_test(oracle_laplace2d(GRID), options);

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.result.precond.kind, TESS_PRECOND_NONE);
    assert_int_equal(t.count, 0);
    assert_string_equal(tess_solver_why(t.solver), "");
    close_test(&t);
}

static void fp64_forbids_the_rest(void **state)
{
    for (int fp64_only = 0; fp64_only < 2; fp64_only++) {
        tess_solve_options options = slow_options();
        int low = 0;
        system_under_test t;

        (void)state;
        options.automatic.fp64_only = fp64_only;
        t = open_test(slow_system(), options);
        run(&t);
        assert_true(t.result.verified);
        for (int i = 0; i < t.count; i++) {
            low += t.attempts[i].factors != TESS_PRECISION_FP64;
        }
        assert_true(fp64_only ? low == 0 : low > 0);
        close_test(&t);
    }
}

/* A preconditioner of which only the kind is named keeps nothing in a lower precision. */
static void fp64_forbids_the_rest_of_a_named_kind(void **state)
{
    static const tess_precond_kind kinds[] = {TESS_PRECOND_LU, TESS_PRECOND_CHOLESKY, TESS_PRECOND_AMG,
                                              TESS_PRECOND_JACOBI_SWEEPS};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solve_options options = automatic_options(), chosen;
        const bool direct = kinds[k] == TESS_PRECOND_LU || kinds[k] == TESS_PRECOND_CHOLESKY;
        system_under_test t;

        if (direct && !tess_find_precond(kinds[k])) { continue; } /* a build without MUMPS */
        options.precond.kind = kinds[k];
        options.automatic.fp64_only = 1;
        t = open_test(oracle_laplace2d(12), options);
        run(&t);
        assert_true(t.result.verified);
        tess_solve_options_init(&chosen);
        assert_ok(ctx, tess_solver_chosen_options(t.solver, &chosen));
        if (direct) { assert_true(chosen.precond.role.given && chosen.precond.role.storage == TESS_PRECISION_FP64); }
        if (kinds[k] == TESS_PRECOND_AMG) { assert_int_equal(chosen.precond.amg.precision, TESS_AMG_PRECISION_FP64); }
        if (kinds[k] == TESS_PRECOND_JACOBI_SWEEPS) {
            assert_int_equal(chosen.precond.jacobi_sweeps.schedule.count, 1);
            assert_int_equal(chosen.precond.jacobi_sweeps.schedule.entry[0].what, TESS_PRECISION_FP64);
        }
        close_test(&t);
    }
}

static void the_choice_by_hand_does_the_same(void **state)
{
    system_under_test t = open_test(oracle_convection2d(GRID, 20.0), automatic_options()), by_hand;
    tess_solve_options chosen;

    (void)state;
    run(&t);
    assert_int_equal(t.count, 1); /* else x differs at the start */
    tess_solve_options_init(&chosen);
    assert_ok(ctx, tess_solver_chosen_options(t.solver, &chosen));
    assert_int_equal(chosen.solver, t.result.solver);
    assert_int_equal(chosen.precond.kind, t.result.precond.kind);
    by_hand = open_test(oracle_convection2d(GRID, 20.0), chosen);
    run(&by_hand);
    assert_true(same_bits(t.x, by_hand.x, t.a.nrows));
    close_test(&by_hand);
    close_test(&t);
}

/* ---- later solves ---- */

static void the_winner_is_kept(void **state)
{
    tess_solve_options options = slow_options();
    tess_solver_kind first;
    system_under_test t;

    (void)state;
    t = open_test(slow_system(), options);
    run(&t);
    assert_true(t.count >= 2);
    first = t.result.solver;
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.result.solver, first);
    assert_true(t.attempts[0].setup_seconds == 0.0);
    close_test(&t);
}

/* After new values the old winner does not fit: CG met an indefinite matrix. */
static void new_values_change_the_choice(void **state)
{
    system_under_test t = open_test(oracle_tridiagonal(500, -1.0, 2.5, -1.0), automatic_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    oracle_free(&t.a);
    t.a = oracle_tridiagonal(500, -1.0, 0.1, -1.0);
    assert_ok(ctx, tess_matrix_update_values(t.matrix, t.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    run(&t);
    assert_true(t.result.verified);
    assert_int_not_equal(t.result.solver, TESS_SOLVER_CG);
    close_test(&t);
}

static void choices_are_remembered(void **state)
{
    char path[] = "/tmp/tessera-choices-XXXXXX";
    const int file = mkstemp(path);
    tess_solve_options options = slow_options();

    (void)state;
    assert_true(file >= 0);
    close(file);
    options.automatic.choices = path;
    for (int turn = 0; turn < 2; turn++) {
        system_under_test t = open_test(slow_system(), options);

        run(&t);
        assert_true(t.result.verified);
        assert_true(turn == 0 ? t.count >= 2 : t.count == 1);
        if (turn == 1) { assert_why(&t, "from the file of choices"); }
        close_test(&t);
    }
    unlink(path);
}

/* A file of other lines, and one that cannot be written, change nothing. */
static void bad_files_of_choices_do_no_harm(void **state)
{
    char path[] = "/tmp/tessera-choices-XXXXXX";
    const int file = mkstemp(path);
    const char text[] = "tessera-choice 2 what\ntessera-choice 1 zz\n\xff\xfe";
    tess_solve_options options = automatic_options();

    (void)state;
    assert_int_equal(write(file, text, sizeof text), sizeof text);
    close(file);
    for (int turn = 0; turn < 2; turn++) {
        system_under_test t;

        options.automatic.choices = turn == 0 ? path : "/nowhere/choices";
        t = open_test(oracle_laplace2d(GRID), options);
        run(&t);
        assert_true(t.result.verified);
        close_test(&t);
    }
    unlink(path);
}

/* A file of another kind, and one of choices above 1 MiB, keep their bytes; a pipe is not waited for. */
static void files_of_others_stay(void **state)
{
    static const char *const begins[] = {"%%MatrixMarket matrix\n", "tessera-choice 1 0 cg jacobi fp64 none\n"};
    char path[] = "/tmp/tessera-choices-XXXXXX";
    tess_solve_options options = slow_options();
    struct stat facts;

    (void)state;
    close(mkstemp(path));
    options.automatic.choices = path;
    for (int turn = 0; turn < 3; turn++) {
        const off_t large = 3 << 20;
        system_under_test t;

        unlink(path);
        if (turn == 2) { assert_int_equal(mkfifo(path, 0600), 0); }
        if (turn < 2) {
            FILE *file = fopen(path, "w");

            assert_non_null(file);
            fputs(begins[turn], file);
            fclose(file);
            assert_int_equal(truncate(path, large), 0);
        }
        t = open_test(slow_system(), options);
        run(&t);
        assert_true(t.result.verified && t.count >= 2);
        close_test(&t);
        assert_int_equal(stat(path, &facts), 0);
        if (turn < 2) { assert_int_equal(facts.st_size, large); }
        if (turn == 2) { assert_true(S_ISFIFO(facts.st_mode)); }
    }
    unlink(path);
}

/* ---- systems without a solution ---- */

static void singular_systems_end_with_a_reason(void **state)
{
    (void)state;
    for (int64_t n = 40; n <= 150; n += 110) { /* of the first, all rows are empty */
        system_under_test t = open_test(oracle_with_empty_rows(n), automatic_options());

        run(&t);
        assert_false(t.result.converged);
        assert_true(t.result.reason < 0);
        assert_why(&t, "empty rows");
        close_test(&t);
    }
}

/* The rows of the path's Laplacian sum to 0. With b = A x* there are solutions; where b has another sum there is none,
   and the solve ends soon, near the least residual: |1^T b| / sqrt(n). */
static void a_constant_null_vector(void **state)
{
    (void)state;
    for (int consistent = 0; consistent < 2; consistent++) {
        oracle_csr a = oracle_tridiagonal(60, -1.0, 2.0, -1.0);
        system_under_test t;

        a.val[0] = a.val[a.nnz - 1] = 1.0;
        t = open_test(a, automatic_options());
        for (int turn = 0; turn < 2; turn++) {
            for (int64_t i = 0; i < 60; i++) {
                t.b[i] = i < 30 ? 1.0 : consistent || turn == 1 ? -1.0 : -0.5;
            }
            run(&t);
            assert_int_equal(t.result.verified, consistent || turn == 1);
            if (t.result.verified) { continue; }
            assert_int_equal(t.count, 1);
            assert_int_equal(t.result.reason, TESS_REASON_STAGNATION);
            if (TEST_DEVICE == TESS_DEVICE_CPU) { assert_at_most(t.result.residual_norm, 1.011 * 15.0 / sqrt(60.0)); }
            assert_why(&t, "the columns of A sum to 0, and b does not: no x has a relative residual below 3.2e-01");
        }
        close_test(&t);
    }
}

static void numbers_that_are_none_end_at_once(void **state)
{
    oracle_csr a = oracle_laplace2d(GRID);
    system_under_test t;

    (void)state;
    a.val[5] = NAN;
    t = open_test(a, automatic_options());
    memset(t.x, 0, (size_t)t.a.nrows * sizeof *t.x);
    t.result = solve_with(t.solver, ctx, t.a.nrows, t.b, t.x);
    assert_int_equal(t.result.reason, TESS_REASON_NAN_OR_INF);
    assert_int_equal(tess_solver_attempts(t.solver, &t.attempts), 0);
    assert_why(&t, "NaN or Inf in the matrix");
    close_test(&t);
}

#define AUTOMATIC_TESTS                                                                                             \
    cmocka_unit_test(positive_definite), cmocka_unit_test(hidden_indefinite), cmocka_unit_test(plainly_indefinite), \
        cmocka_unit_test(a_minor_is_negative), cmocka_unit_test(unsymmetric),                                       \
        cmocka_unit_test(a_slow_attempt_is_left), cmocka_unit_test(iterations_are_limited_in_sum),                  \
        cmocka_unit_test(the_callers_monitor_ends_all), cmocka_unit_test(a_named_preconditioner_is_kept),           \
        cmocka_unit_test(a_named_solver_has_no_attempts), cmocka_unit_test(fp64_forbids_the_rest),                  \
        cmocka_unit_test(the_choice_by_hand_does_the_same), cmocka_unit_test(the_winner_is_kept),                   \
        cmocka_unit_test(new_values_change_the_choice), cmocka_unit_test(choices_are_remembered),                   \
        cmocka_unit_test(bad_files_of_choices_do_no_harm), cmocka_unit_test(files_of_others_stay),                  \
        cmocka_unit_test(singular_systems_end_with_a_reason), cmocka_unit_test(a_constant_null_vector),             \
        cmocka_unit_test(fp64_forbids_the_rest_of_a_named_kind), cmocka_unit_test(numbers_that_are_none_end_at_once)

#ifdef TESTS_ON_GPU
/* A recorded loop pauses for looks, and is left long before it has taken as long as complete factors; a second
   solve does the same to the bit. */
static void a_recorded_attempt_is_left_early(void **state)
{
    tess_solve_options options = slow_options();
    double first[SLOW_ROWS];
    system_under_test t;

    (void)state;
    options.engine = TESS_ENGINE_GRAPH;
    for (int again = 0; again < 2; again++) {
        t = open_test(slow_system(), options);
        run(&t);
        assert_true(t.result.verified);
        assert_true(t.count >= 2);
        assert_true(t.attempts[0].left);
        assert_true(t.attempts[0].iterations >= 32 && t.attempts[0].iterations < 300);
        assert_why(&t, "left");
        if (again) { assert_memory_equal(first, t.x, sizeof first); }
        memcpy(first, t.x, sizeof first);
        close_test(&t);
    }
}
#else
/* Entries of next to nothing couple the first row to the last. */
static oracle_csr with_hidden_ends(oracle_csr a)
{
    const int64_t n = a.nrows;
    oracle_csr out = oracle_open(n, n);

    for (int64_t i = 0; i < n; i++) {
        if (i == n - 1) { oracle_push(&out, 0, -1e-300); }
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            oracle_push(&out, a.col_ind[k], a.val[k]);
        }
        if (i == 0) { oracle_push(&out, n - 1, -1e-300); }
        oracle_end_row(&out, i);
    }
    oracle_free(&a);
    return out;
}

/* The first and the last row are 330 couplings apart, which CG with a diagonal passes one by one: multigrid takes less
   time than the least that it can take, and comes first. On a GPU a diagonal is faster here. */
static void multigrid_comes_first_where_rows_are_far_apart(void **state)
{
    tess_solve_options options = slow_options();
    system_under_test t;

    (void)state;
    t = open_test(oracle_laplace2d(330), options); /* more nonzeros than a trial of incomplete factors takes */
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.attempts[0].precond, TESS_PRECOND_AMG);
    assert_true(t.attempts[0].iterations < 50);
    assert_why(&t, "cg with amg: solved");
    assert_why(&t, "low precision");
    close_test(&t);
    options.automatic.fp64_only = 1;
    t = open_test(oracle_laplace2d(330), options);
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.attempts[0].factors, TESS_PRECISION_FP64);
    close_test(&t);
}

/* The same with a numbering that hides the distance: CG with a diagonal is tried, and left. */
static void multigrid_takes_over_from_a_diagonal(void **state)
{
    system_under_test t = open_test(with_hidden_ends(oracle_laplace2d(330)), slow_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 2);
    assert_true(t.attempts[0].left);
    assert_true(t.attempts[0].iterations < 400);
    assert_int_equal(t.attempts[1].precond, TESS_PRECOND_AMG);
    close_test(&t);
}

/* Diffusion with convection: unsymmetric, with a positive diagonal. */
static void multigrid_takes_over_with_convection(void **state)
{
    system_under_test t = open_test(oracle_convection2d(330, 0.5), slow_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.attempts[0].precond, TESS_PRECOND_AMG);
    assert_int_equal(t.attempts[0].solver, TESS_SOLVER_BICGSTAB);
    assert_true(t.attempts[0].iterations < 50);
    close_test(&t);
}

/* A smaller matrix has its trial of incomplete factors first: those of a tridiagonal matrix are complete. */
static void incomplete_factors_come_before_multigrid(void **state)
{
    system_under_test t = open_test(oracle_tridiagonal(20000, -1.0, 2.0, -1.0), slow_options());

    (void)state;
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1); /* nor is a diagonal tried, which would take an iteration a row */
    assert_int_equal(t.attempts[0].precond, TESS_PRECOND_IC0);
    close_test(&t);
}

/* Factors that take little more than a trial of incomplete ones come at once: a beam with 10 unknowns a node. */
static void cheap_factors_come_before_a_trial(void **state)
{
    static const double beam[3] = {6.0, -4.0, 1.0};
    enum { NODES = 120, BLOCK = 10 };
    oracle_csr a = oracle_open(NODES * BLOCK, NODES * BLOCK);
    system_under_test t;

    (void)state;
    for (int64_t i = 0; i < NODES * BLOCK; i++) {
        const int64_t node = i / BLOCK, first = node > 2 ? node - 2 : 0, last = node + 2 < NODES ? node + 2 : NODES - 1;

        for (int64_t j = first * BLOCK; j < (last + 1) * BLOCK; j++) {
            oracle_push(&a, j, beam[llabs(j / BLOCK - node)] * (j % BLOCK == i % BLOCK ? 2.0 : 1.0));
        }
        oracle_end_row(&a, i);
    }
    t = open_test(a, slow_options());
    run(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.attempts[1].precond, TESS_PRECOND_CHOLESKY);
    close_test(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {AUTOMATIC_TESTS,
                                       cmocka_unit_test(multigrid_comes_first_where_rows_are_far_apart),
                                       cmocka_unit_test(multigrid_takes_over_from_a_diagonal),
                                       cmocka_unit_test(multigrid_takes_over_with_convection),
                                       cmocka_unit_test(incomplete_factors_come_before_multigrid),
                                       cmocka_unit_test(cheap_factors_come_before_a_trial)};

    return run_with_context(open_device(1), tests, &ctx);
}
#endif
