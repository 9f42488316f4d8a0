/* SPDX-License-Identifier: Apache-2.0 */
/* Advice is what an automatic solve does: its attempts are those of the list, in the order of the list. */
#include <unistd.h>

#include <tessera/advise.h>
#include <tessera/automatic.h>
#include <tessera/gallery.h>
#include <tessera/io.h>

#include "support/solve.h"

static tess_context *ctx;

static tess_advice advice_of(const tess_matrix *a, const tess_solve_options *options)
{
    tess_advice advice;

    tess_advice_init(&advice);
    assert_ok(ctx, tess_advise(a, options, &advice));
    return advice;
}

static bool same(const tess_advised_attempt *advised, const tess_attempt *made)
{
    return advised->solver == made->solver && advised->precond == made->precond && advised->factors == made->factors &&
           advised->scale == made->scale && advised->reorder == made->reorder;
}

/* A solve with b = 1; the caller frees the solver. */
static tess_solver *solve_ones(const tess_matrix *a, const tess_solve_options *options, tess_solve_result *result)
{
    tess_solver *solver = NULL;
    tess_vector *b = NULL, *x = NULL;

    assert_ok(ctx, tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &b));
    assert_ok(ctx, tess_vector_create(ctx, tess_matrix_ncols(a), TESS_PRECISION_FP64, &x));
    assert_ok(ctx, tess_vector_fill(b, 1.0));
    assert_ok(ctx, tess_vector_fill(x, 0.0));
    assert_ok(ctx, tess_solver_create(a, options, &solver));
    tess_solve_result_init(result);
    assert_ok(ctx, tess_solver_solve(solver, b, x, result));
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return solver;
}

/* *solved: which attempt solved it; -1: none. Those before it failed, or were left. */
static tess_advice check_solve_follows(const tess_matrix *a, const tess_solve_options *options, const char *name,
                                       int *solved)
{
    const tess_advice advice = advice_of(a, options);
    const tess_attempt *made = NULL;
    tess_solve_result result;
    tess_solver *solver = solve_ones(a, options, &result);
    const int count = tess_solver_attempts(solver, &made);

    assert_true(count >= 1 && count <= advice.count);
    assert_true(advice.why[0] != '\0' && advice.attempt[advice.count - 1].last);
    for (int k = 0; k < count; k++) {
        if (!same(&advice.attempt[k], &made[k])) {
            fail_msg("%s: attempt %d is %s with %s, and the advice %s with %s", name, k,
                     tess_solver_kind_name(made[k].solver), tess_precond_kind_name(made[k].precond),
                     tess_solver_kind_name(advice.attempt[k].solver),
                     tess_precond_kind_name(advice.attempt[k].precond));
        }
        assert_true(advice.attempt[k].why[0] != '\0' && !advice.attempt[k].open);
        assert_true((made[k].reason > 0) == (k == count - 1 && result.converged));
    }
    *solved = result.converged ? count - 1 : -1;
    tess_solver_destroy(solver);
    return advice;
}

static bool has_complete_factors(const tess_advice *advice)
{
    for (int k = 0; k < advice->count; k++) {
        if (advice->attempt[k].precond == TESS_PRECOND_LU) { return true; }
    }
    return false;
}

/* Which attempt solves: 0 is the first. The list says what precedes it. Where there are no complete factors, others
   may. */
static void data_is_solved_as_advised(void **state)
{
    static const struct {
        const char *name;
        int solved;
        tess_precond_kind by;
    } known[] = {{"1138_bus", 2, TESS_PRECOND_CHOLESKY}, {"CAG_mat72", 0, TESS_PRECOND_JACOBI},
                 {"GD01_c", -1, TESS_PRECOND_NONE},      {"Trefethen_20", 0, TESS_PRECOND_JACOBI},
                 {"bcsstk06", 2, TESS_PRECOND_CHOLESKY}, {"fs_541_1", 0, TESS_PRECOND_JACOBI},
                 {"nos3", 1, TESS_PRECOND_CHOLESKY},     {"plskz362", 2, TESS_PRECOND_LU},
                 {"sherman4", 0, TESS_PRECOND_JACOBI},   {"west0067", 2, TESS_PRECOND_LU}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char path[512];
        tess_matrix *a = NULL;
        tess_advice advice;
        int solved = -1;

        (void)snprintf(path, sizeof path, "%s/%s.mtx.gz", TESS_DATA_DIR, known[i].name);
        assert_ok(ctx, tess_matrix_read(ctx, path, &a, NULL));
        advice = check_solve_follows(a, NULL, known[i].name, &solved);
        if (has_complete_factors(&advice) || known[i].solved == 0) {
            assert_int_equal(solved, known[i].solved);
            if (solved >= 0) { assert_int_equal(advice.attempt[solved].precond, known[i].by); }
        }
        tess_matrix_destroy(a);
    }
}

/* By the first attempt, or by a later one where the first is left. */
static void model_problems_are_solved_as_advised(void **state)
{
    static const struct {
        const char *name, *arguments[2];
        int solved;
        tess_precond_kind by;
    } known[] = {
        {"laplace2d", {"20"}, 0, TESS_PRECOND_JACOBI},   {"laplace2d", {"160"}, 1, TESS_PRECOND_IC0},
        {"laplace3d", {"12"}, 0, TESS_PRECOND_JACOBI},   {"anisotropic2d", {"60", "0.001"}, 0, TESS_PRECOND_JACOBI},
        {"bentpipe2d", {"40"}, 1, TESS_PRECOND_ILU0},    {"uniflow2d", {"40"}, 1, TESS_PRECOND_ILU0},
        {"recirc2d", {"110"}, 1, TESS_PRECOND_ILU0},     {"rowscale", {"10", "30"}, 0, TESS_PRECOND_JACOBI},
        {"elasticity3d", {"4"}, 0, TESS_PRECOND_JACOBI}, {"powerlaw", {"500"}, 0, TESS_PRECOND_JACOBI},
        {"hilbert", {"8"}, 0, TESS_PRECOND_JACOBI}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        tess_matrix *a = NULL;
        tess_advice advice;
        int solved = -1;

        assert_ok(ctx, tess_gallery_create(ctx, known[i].name, known[i].arguments[1] ? 2 : 1, known[i].arguments, &a));
        advice = check_solve_follows(a, NULL, known[i].name, &solved);
        if (solved != known[i].solved) { fail_msg("%s is solved by attempt %d", known[i].name, solved); }
        assert_int_equal(advice.attempt[solved].precond, known[i].by);
        tess_matrix_destroy(a);
    }
}

/* CG with the diagonal takes hundreds of iterations there: what follows it is in the list, multigrid among it. */
static void multigrid_is_named_for_large_grids(void **state)
{
    const char *const sides[] = {"110", "44"}, *const names[] = {"laplace2d", "laplace3d"};

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_matrix *a = NULL;
        tess_advice advice;
        int place = 0;

        assert_ok(ctx, tess_gallery_create(ctx, names[k], 1, &sides[k], &a));
        advice = advice_of(a, NULL);
        while (place < advice.count && advice.attempt[place].precond != TESS_PRECOND_AMG) {
            place++;
        }
        assert_in_range(place, 1, 2);
        for (int i = 0; i < advice.count; i++) { /* laplace3d:44 has too many entries for an analysis */
            const tess_precond_kind kind = advice.attempt[i].precond;

            assert_int_equal(advice.attempt[i].open, k == 1 && kind != TESS_PRECOND_JACOBI && kind != TESS_PRECOND_AMG);
        }
        tess_matrix_destroy(a);
    }
}

/* CG finds out that a matrix with a positive diagonal is indefinite; the solve goes on as for such a matrix. */
static void another_family_follows(void **state)
{
    static const double values[] = {1.0, 0.9, 0.9, 0.9, 1.0, -0.9, 0.9, -0.9, 1.0};
    oracle_csr rows = oracle_open(3, 3);
    const tess_attempt *made = NULL;
    tess_solve_result result;

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 3; j++) {
            oracle_push(&rows, j, values[3 * i + j]);
        }
        oracle_end_row(&rows, i);
    }
    tess_matrix *a = make_matrix(ctx, &rows);
    const tess_advice advice = advice_of(a, NULL);
    tess_solver *solver = solve_ones(a, NULL, &result);

    assert_true(tess_solver_attempts(solver, &made) >= 1 && same(&advice.attempt[0], &made[0]));
    assert_non_null(strstr(advice.attempt[0].why, "minres follows"));
    tess_solver_destroy(solver);
    tess_matrix_destroy(a);
    oracle_free(&rows);
}

/* ---- requests that leave no list ---- */

/* The method of the advice is the one that solves. */
static void check_single(const tess_matrix *a, const tess_solve_options *options)
{
    const tess_advice advice = advice_of(a, options);
    tess_solve_result result;
    tess_solver *solver = solve_ones(a, options, &result);

    assert_true(advice.count == 1 && advice.attempt[0].last && advice.attempt[0].why[0] != '\0');
    assert_int_equal(advice.attempt[0].solver, result.solver);
    assert_int_equal(advice.attempt[0].precond, result.precond.kind);
    tess_solver_destroy(solver);
}

static void single_methods_are_named(void **state)
{
    const char *const side[] = {"8"};
    oracle_csr wide_rows = oracle_random(4, 9, 3, 5), general = oracle_random(9, 9, 3, 5);
    tess_matrix *wide_one = make_matrix(ctx, &wide_rows), *unsymmetric = make_matrix(ctx, &general), *a = NULL;
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, side, &a));
    check_single(wide_one, NULL);
    options.rtol = options.atol = 0.0;
    options.max_iterations = 3;
    check_single(a, &options);
    check_single(unsymmetric, &options);
    options = solve_options(TESS_SOLVER_GMRES);
    check_single(a, &options);
    options.precond.kind = TESS_PRECOND_ILU0;
    check_single(a, &options);
    options = solve_options(TESS_SOLVER_AUTO);
    options.scale = TESS_SCALING_ROWS;
    options.reorder = TESS_REORDERING_RCM;
    {
        const tess_advice advice = advice_of(a, &options);

        assert_int_equal(advice.attempt[0].solver, TESS_SOLVER_AUTO);
        assert_int_equal(advice.attempt[0].scale, TESS_SCALING_ROWS);
        assert_int_equal(advice.attempt[0].reorder, TESS_REORDERING_RCM);
    }
    tess_matrix_destroy(a);
    tess_matrix_destroy(wide_one);
    tess_matrix_destroy(unsymmetric);
    oracle_free(&wide_rows);
    oracle_free(&general);
}

/* What a solve refuses, advice refuses in the same words. */
static void refuse_both(const tess_matrix *a, const tess_solve_options *options, const char *words)
{
    tess_solver *solver = NULL;
    tess_advice advice;
    char message[sizeof tess_context_last_error(ctx)->message];
    const tess_status status = tess_solver_create(a, options, &solver);

    assert_true(status != TESS_SUCCESS);
    memcpy(message, tess_context_last_error(ctx)->message, sizeof message);
    assert_non_null(strstr(message, words));
    tess_advice_init(&advice);
    assert_int_equal(tess_advise(a, options, &advice), status);
    assert_string_equal(tess_context_last_error(ctx)->message, message);
}

static void what_a_solve_refuses_is_refused(void **state)
{
    oracle_csr general = oracle_random(9, 9, 3, 5);
    tess_matrix *a = make_matrix(ctx, &general);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    options.storage.slices.window = 64;
    refuse_both(a, &options, "--sell-window");
    options = solve_options(TESS_SOLVER_AUTO);
    options.storage.arithmetic = TESS_ARITHMETIC_FP32;
    refuse_both(a, &options, "fp32 arithmetic");
    options = solve_options(TESS_SOLVER_AUTO);
    options.engine = TESS_ENGINE_GRAPH;
    refuse_both(a, &options, "graph");
    options = solve_options(TESS_SOLVER_JACOBI);
    options.storage.format = TESS_FORMAT_DIA;
    refuse_both(a, &options, "not available in format dia");
    options = solve_options(TESS_SOLVER_BICGSTAB);
    options.precond.kind = TESS_PRECOND_JACOBI_SWEEPS;
    options.precond.jacobi_sweeps.storage.format = TESS_FORMAT_TILES;
    refuse_both(a, &options, "not available in format tiles");
    options = solve_options(TESS_SOLVER_AUTO);
    options.cg.recurrence = TESS_RECURRENCE_PREDICT_AND_RECOMPUTE;
    refuse_both(a, &options, "recurrence");
    options.solver = TESS_SOLVER_BICGSTAB;
    refuse_both(a, &options, "recurrence");
    tess_matrix_destroy(a);
    oracle_free(&general);
}

/* A symmetric matrix with a diagonal that is not positive has no recurrence of CG. */
static void an_indefinite_diagonal_is_not_for_cg(void **state)
{
    static const double diagonal[] = {3.0, -2.0, 5.0, 1.0};
    oracle_csr rows = oracle_diagonal(4, diagonal);
    tess_matrix *a = make_matrix(ctx, &rows);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    (void)state;
    options.rtol = options.atol = 0.0;
    options.max_iterations = 3;
    check_single(a, &options);
    assert_int_equal(advice_of(a, &options).attempt[0].solver, TESS_SOLVER_BICGSTAB);
    tess_matrix_destroy(a);
    oracle_free(&rows);
}

/* Where each row is dominant nothing follows CG for another family; and a stored matrix has its original's advice. */
static void stored_matrices_have_the_advice_of_their_originals(void **state)
{
    oracle_csr rows = oracle_tridiagonal(60, -1.0, 2.5, -1.0);
    tess_matrix *a = make_matrix(ctx, &rows), *stored = NULL;
    const tess_advice expected = advice_of(a, NULL);
    tess_storage_options storage;

    (void)state;
    assert_null(strstr(expected.attempt[0].why, "minres follows"));
    tess_storage_options_init(&storage);
    storage.format = TESS_FORMAT_SELL;
    assert_ok(ctx, tess_matrix_convert(a, &storage, &stored));
    {
        const tess_advice advice = advice_of(stored, NULL);

        assert_int_equal(advice.count, expected.count);
        assert_string_equal(advice.why, expected.why);
        assert_memory_equal(advice.attempt, expected.attempt, sizeof advice.attempt);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(a);
    oracle_free(&rows);
}

/* Advice takes the place of whatever the options had before. */
static void advice_replaces_a_preconditioner(void **state)
{
    const char *const side[] = {"20"};
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    tess_matrix *a = NULL;
    tess_advice advice;

    (void)state;
    assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, side, &a));
    advice = advice_of(a, NULL);
    options.precond.kind = TESS_PRECOND_ILU0;
    assert_int_equal(tess_advised_options(&advice.attempt[0], &options), TESS_SUCCESS);
    assert_int_equal(options.precond.kind, advice.attempt[0].precond);
    assert_int_not_equal(options.precond.kind, TESS_PRECOND_ILU0);
    tess_matrix_destroy(a);
}

/* What runs, not the default of a method that would make both passes apart; and no lower precision where none may be.
 */
static void options_of_an_attempt_say_what_runs(void **state)
{
    const tess_advised_attempt attempt = {
        .solver = TESS_SOLVER_FGMRES, .precond = TESS_PRECOND_LU, .factors = TESS_PRECISION_FP64};
    tess_solve_options options;

    (void)state;
    tess_solve_options_init(&options);
    options.precond.kind = TESS_PRECOND_LU;
    options.automatic.fp64_only = 1;
    assert_int_equal(tess_advised_options(&attempt, &options), TESS_SUCCESS);
    assert_int_equal(options.gmres.orthogonalization, TESS_ORTHOGONALIZATION_CGS2);
    assert_true(options.precond.role.given && options.precond.role.storage == TESS_PRECISION_FP64);
}

static int multiply(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    y[0] = 2.0 * x[0];
    return 0;
}

static void matrices_without_a_list(void **state)
{
    const tess_shell_operator shell = {.apply = multiply};
    oracle_csr rows = oracle_open(1, 1);
    tess_matrix *a = NULL, *nan_there = NULL;

    (void)state;
    oracle_push(&rows, 0, NAN);
    oracle_end_row(&rows, 0);
    nan_there = make_matrix(ctx, &rows);
    {
        const tess_advice advice = advice_of(nan_there, NULL);

        assert_int_equal(advice.count, 0);
        assert_non_null(strstr(advice.why, "NaN"));
    }
    assert_ok(ctx, tess_matrix_create_shell(ctx, 1, 1, &shell, &a));
    check_single(a, NULL);
    tess_matrix_destroy(a);
    tess_matrix_destroy(nan_there);
    oracle_free(&rows);
}

/* A preconditioner that the options name is that of every attempt; FP64 alone leaves no other precision. */
static void options_change_the_list(void **state)
{
    const char *const side[] = {"20"};
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO), by_hand;
    tess_matrix *a = NULL;
    tess_advice advice;
    int solved = -1;

    (void)state;
    assert_ok(ctx, tess_gallery_create(ctx, "laplace2d", 1, side, &a));
    options.precond.kind = TESS_PRECOND_IC0;
    advice = check_solve_follows(a, &options, "laplace2d with ic0", &solved);
    for (int k = 0; k < advice.count; k++) {
        assert_int_equal(advice.attempt[k].precond, TESS_PRECOND_IC0);
    }
    options = solve_options(TESS_SOLVER_AUTO);
    options.automatic.fp64_only = 1;
    advice = check_solve_follows(a, &options, "laplace2d in fp64", &solved);
    for (int k = 0; k < advice.count; k++) {
        assert_int_equal(advice.attempt[k].factors, TESS_PRECISION_FP64);
    }
    advice = advice_of(a, NULL);
    for (int k = 0; k < advice.count; k++) { /* what is asked for by hand solves, too */
        tess_solve_result result;

        tess_solve_options_init(&by_hand);
        assert_int_equal(tess_advised_options(&advice.attempt[k], &by_hand), TESS_SUCCESS);
        assert_int_equal(by_hand.solver, advice.attempt[k].solver);
        tess_solver_destroy(solve_ones(a, &by_hand, &result));
        assert_true(result.converged && result.precond.kind == advice.attempt[k].precond);
    }
    advice.size = 0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_advise(a, NULL, &advice));
    tess_matrix_destroy(a);
}

/* The step that solved a system before comes first, as in the next solve. */
static void choices_come_first(void **state)
{
    const char *const side[] = {"40"};
    char path[] = "advise-choices-XXXXXX";
    const int descriptor = mkstemp(path);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    tess_matrix *a = NULL;
    tess_advice advice;
    int solved = -1;

    (void)state;
    assert_true(descriptor >= 0);
    (void)close(descriptor);
    options.automatic.choices = path;
    assert_ok(ctx, tess_gallery_create(ctx, "bentpipe2d", 1, side, &a));
    advice = check_solve_follows(a, &options, "bentpipe2d", &solved);
    assert_true(solved > 0);
    {
        const tess_precond_kind by = advice.attempt[solved].precond;

        advice = check_solve_follows(a, &options, "bentpipe2d again", &solved);
        assert_true(solved == 0 && advice.attempt[0].precond == by);
        assert_non_null(strstr(advice.attempt[0].why, "before"));
    }
    tess_matrix_destroy(a);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(data_is_solved_as_advised),
                                       cmocka_unit_test(model_problems_are_solved_as_advised),
                                       cmocka_unit_test(multigrid_is_named_for_large_grids),
                                       cmocka_unit_test(another_family_follows),
                                       cmocka_unit_test(single_methods_are_named),
                                       cmocka_unit_test(what_a_solve_refuses_is_refused),
                                       cmocka_unit_test(an_indefinite_diagonal_is_not_for_cg),
                                       cmocka_unit_test(stored_matrices_have_the_advice_of_their_originals),
                                       cmocka_unit_test(advice_replaces_a_preconditioner),
                                       cmocka_unit_test(options_of_an_attempt_say_what_runs),
                                       cmocka_unit_test(matrices_without_a_list),
                                       cmocka_unit_test(options_change_the_list),
                                       cmocka_unit_test(choices_come_first)};
    ctx = open_cpu(2);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    tess_context_destroy(ctx);
    return failed;
}
