/* SPDX-License-Identifier: Apache-2.0 */
/* Later solves by the default solver: the winner is kept, and files of choices remember it. */
#include <sys/stat.h>
#include <unistd.h>

#include "precond/direct/mumps.h"
#include "support/automatic.h"

static tess_context *ctx;

static bool has_factors(const automatic_run *t)
{
    return t->count == 1 && t->attempts[0].precond == TESS_PRECOND_LU;
}

/* Unless the first solve took so long that factors take its place: others may have had the cores. */
static void the_winner_is_kept(void **state)
{
    tess_solve_options options = slow_options();
    tess_solver_kind first;
    automatic_run t;

    (void)state;
    t = open_automatic(ctx, slow_system(SLOW_ROWS), options);
    run_automatic(&t);
    assert_true(t.count >= 2);
    first = t.result.solver;
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_equal(t.count, 1);
    assert_true(has_factors(&t) || t.result.solver == first);
    assert_true(has_factors(&t) || t.attempts[0].setup_seconds == 0.0);
    close_automatic(&t);
}

/* After new values the old winner does not fit: CG met an indefinite matrix. */
static void new_values_change_the_choice(void **state)
{
    automatic_run t = open_automatic(ctx, oracle_tridiagonal(500, -1.0, 2.5, -1.0), automatic_options());

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified);
    oracle_free(&t.a);
    t.a = oracle_tridiagonal(500, -1.0, 0.1, -1.0);
    assert_ok(ctx, tess_matrix_update_values(t.matrix, t.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    run_automatic(&t);
    assert_true(t.result.verified);
    assert_int_not_equal(t.result.solver, TESS_SOLVER_CG);
    close_automatic(&t);
}

/* One solve after another with one matrix: factors replace iterations, until the values change. */
static void many_solves_get_factors(void **state)
{
    enum { MOST = 20000 };
    automatic_run t = open_automatic(ctx, oracle_laplace2d(40), automatic_options());
    int solves = 0;

    (void)state;
    run_automatic(&t);
    assert_true(t.result.verified && t.result.iterations > 1);
    while (!has_factors(&t) && mumps_is_here() && tess_context_device(ctx) == TESS_DEVICE_CPU && solves < MOST) {
        run_automatic(&t);
        assert_true(t.result.verified);
        solves++;
    }
    if (solves > 0) {
        assert_true(has_factors(&t) && t.result.iterations == 1);
        assert_why(&t, "with this matrix before took as long as complete factors do");
        run_automatic(&t);
        assert_true(has_factors(&t) && t.result.verified && t.attempts[0].setup_seconds == 0.0);
    }
    assert_ok(ctx, tess_matrix_update_values(t.matrix, t.a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    run_automatic(&t);
    assert_true(t.result.verified && !has_factors(&t));
    close_automatic(&t);
}

/* Who names a preconditioner keeps it. */
static void named_preconditioners_stay(void **state)
{
    tess_solve_options options = automatic_options();
    automatic_run t;

    (void)state;
    options.precond.kind = TESS_PRECOND_JACOBI;
    t = open_automatic(ctx, oracle_laplace2d(10), options);
    for (int k = 0; k < 200; k++) {
        run_automatic(&t);
        assert_true(t.result.verified && !has_factors(&t));
    }
    close_automatic(&t);
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
        automatic_run t = open_automatic(ctx, slow_system(SLOW_ROWS), options);

        run_automatic(&t);
        assert_true(t.result.verified);
        assert_true(turn == 0 ? t.count >= 2 : t.count == 1);
        if (turn == 1) { assert_why(&t, "from the file of choices"); }
        close_automatic(&t);
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
        automatic_run t;

        options.automatic.choices = turn == 0 ? path : "/nowhere/choices";
        t = open_automatic(ctx, oracle_laplace2d(GRID), options);
        run_automatic(&t);
        assert_true(t.result.verified);
        close_automatic(&t);
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
        automatic_run t;

        unlink(path);
        if (turn == 2) { assert_int_equal(mkfifo(path, 0600), 0); }
        if (turn < 2) {
            FILE *file = fopen(path, "w");

            assert_non_null(file);
            fputs(begins[turn], file);
            fclose(file);
            assert_int_equal(truncate(path, large), 0);
        }
        t = open_automatic(ctx, slow_system(SLOW_ROWS), options);
        run_automatic(&t);
        assert_true(t.result.verified && t.count >= 2);
        close_automatic(&t);
        assert_int_equal(stat(path, &facts), 0);
        if (turn < 2) { assert_int_equal(facts.st_size, large); }
        if (turn == 2) { assert_true(S_ISFIFO(facts.st_mode)); }
    }
    unlink(path);
}

#define AGAIN_TESTS                                                                                  \
    cmocka_unit_test(the_winner_is_kept), cmocka_unit_test(new_values_change_the_choice),            \
        cmocka_unit_test(many_solves_get_factors), cmocka_unit_test(named_preconditioners_stay),     \
        cmocka_unit_test(choices_are_remembered), cmocka_unit_test(bad_files_of_choices_do_no_harm), \
        cmocka_unit_test(files_of_others_stay)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {AGAIN_TESTS};

    return run_with_context(open_device(1), tests, &ctx);
}
#endif
