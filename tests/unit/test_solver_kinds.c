/* SPDX-License-Identifier: Apache-2.0 */
/* The questions to a solver, answered by each kind of solver: one method, least squares, a scaled or reordered system,
   attempts, an accuracy, and attempts on a scaled system. */
#include <tessera/automatic.h>
#include <tessera/options.h>

#include "support/solve.h"

enum { EDGE = 9, N = EDGE * EDGE };
#define UNTOUCHED 7.0
#define RTOL 1e-9

/* What a kind of solver answers after a solve. */
typedef struct kind_of_solver {
    const char *name;
    tess_solver_kind solver;
    tess_precond_kind precond;
    tess_scaling scale;
    tess_reordering reorder;
    double accuracy;  /* --accuracy; 0: none */
    bool chooses;     /* it makes attempts, and says why */
    bool has_last;    /* it keeps its last iterate */
    const char *hint; /* of tess_solver_get_iterate outside of a monitor */
} kind_of_solver;

#define BY_NAME "name the solver"
static const kind_of_solver kinds[] = {
    {"method", TESS_SOLVER_CG, TESS_PRECOND_JACOBI, 0, 0, 0.0, false, true, "call it from the monitor"},
    {"basis", TESS_SOLVER_GMRES, TESS_PRECOND_NONE, 0, 0, 0.0, false, true, "cg, bicgstab, minres and idr"},
    {"least squares", TESS_SOLVER_LSMR, TESS_PRECOND_JACOBI, 0, 0, 0.0, false, false, "cg, bicgstab, minres and idr"},
    {"scaled", TESS_SOLVER_CG, TESS_PRECOND_JACOBI, TESS_SCALING_SYMMETRIC, 0, 0.0, false, true, BY_NAME},
    {"reordered", TESS_SOLVER_BICGSTAB, TESS_PRECOND_NONE, 0, TESS_REORDERING_RCM, 0.0, false, true, BY_NAME},
    {"automatic", TESS_SOLVER_AUTO, TESS_PRECOND_JACOBI, 0, 0, 0.0, true, true, BY_NAME},
    {"automatic, scaled", TESS_SOLVER_AUTO, TESS_PRECOND_JACOBI, TESS_SCALING_SYMMETRIC, 0, 0.0, true, true, BY_NAME},
    {"accuracy", TESS_SOLVER_AUTO, TESS_PRECOND_JACOBI, 0, 0, 1e-6, true, true, BY_NAME},
    {"accuracy, named", TESS_SOLVER_CG, TESS_PRECOND_JACOBI, 0, 0, 1e-6, false, true, BY_NAME},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct opened {
    tess_context *ctx;
    tess_matrix *matrix;
    tess_solver *solver;
    oracle_csr a;
    tess_solve_options options;
} opened;

static opened open_kind(const kind_of_solver *kind)
{
    opened t = {.ctx = open_cpu(1), .a = oracle_laplace2d(EDGE), .options = solve_options(kind->solver)};

    t.matrix = make_matrix(t.ctx, &t.a);
    t.options.precond.kind = kind->precond;
    t.options.scale = kind->scale;
    t.options.reorder = kind->reorder;
    t.options.rtol = RTOL;
    if (kind->accuracy > 0.0) {
        t.options.accuracy.forward = kind->accuracy;
        t.options.precond.direct.memory_limit = 1; /* no factors: another solve tells */
        t.options.rtol = 1e-5;                     /* the default */
    }
    t.options.max_iterations = 500;
    t.options.automatic.fp64_only = kind->solver == TESS_SOLVER_AUTO; /* which no method by name takes */
    assert_ok(t.ctx, tess_solver_create(t.matrix, &t.options, &t.solver));
    return t;
}

static void close_kind(opened *t)
{
    tess_solver_destroy(t->solver);
    tess_matrix_destroy(t->matrix);
    tess_context_destroy(t->ctx);
    oracle_free(&t->a);
}

/* x is UNTOUCHED before: the last iterate, or as it was. */
static void read_last(const opened *t, double *x)
{
    tess_vector *v = NULL;

    assert_ok(t->ctx, tess_vector_create(t->ctx, N, TESS_PRECISION_FP64, &v));
    assert_ok(t->ctx, tess_vector_fill(v, UNTOUCHED));
    assert_ok(t->ctx, tess_solver_last_iterate(t->solver, v));
    read_vector(v, x);
    tess_vector_destroy(v);
}

static void check_choice(const kind_of_solver *kind, const opened *t, const tess_solve_result *r)
{
    static const tess_attempt before = {0};
    const tess_attempt *attempts = &before; /* which no solver leaves */
    const int count = tess_solver_attempts(t->solver, &attempts);
    tess_solve_options chosen;

    assert_int_equal(count > 0, kind->chooses);
    assert_int_equal(attempts != NULL, kind->chooses);
    if (kind->accuracy == 0.0) { assert_int_equal(tess_solver_why(t->solver)[0] != '\0', kind->chooses); }
    tess_solve_options_init(&chosen);
    assert_ok(t->ctx, tess_solver_chosen_options(t->solver, &chosen));
    assert_int_equal(chosen.solver, r->solver);
    assert_int_equal(tess_options_check(&chosen, NULL, 0), TESS_SUCCESS);
    assert_int_equal(chosen.precond.kind, kind->precond);
    assert_true(chosen.rtol == t->options.rtol && chosen.max_iterations == 500);
    assert_true(chosen.accuracy.forward == kind->accuracy);
    assert_int_equal(chosen.reorder, kind->reorder);
    assert_int_equal(chosen.scale, kind->scale);
}

static void each_kind_answers_after_a_solve(void **state)
{
    double *b = random_values(N, 5, -1.0, 1.0);

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const kind_of_solver *kind = &kinds[k];
        const bool diagonal = kind->precond == TESS_PRECOND_JACOBI && kind->solver != TESS_SOLVER_LSMR;
        opened t = open_kind(kind);
        double x[N] = {0.0}, last[N];
        const tess_solve_result r = solve_with(t.solver, t.ctx, N, b, x);
        tess_papers_result papers;

        print_message("%s\n", kind->name);
        assert_true(r.converged && r.verified && r.iterations > 0);
        assert_int_equal(r.precond.kind, kind->precond);
        assert_int_equal(r.scale, kind->scale);
        assert_true(r.history_length == 0 || r.history[0] > 0.0);
        check_choice(kind, &t, &r);
        assert_true(r.setup_seconds > 0.0);
        assert_int_equal(tess_solver_precond(t.solver) != NULL, diagonal);
        read_last(&t, last);
        assert_true(kind->has_last ? same_bits(last, x, N) : last[0] == UNTOUCHED && last[N - 1] == UNTOUCHED);
        tess_papers_result_init(&papers);
        assert_ok(t.ctx, tess_solver_papers_result(t.solver, &papers));
        assert_int_equal(tess_solver_get_iterate(t.solver, x), TESS_UNSUPPORTED);
        assert_non_null(strstr(tess_context_last_error(t.ctx)->hint, kind->hint));
        close_kind(&t);
    }
    free(b);
}

/* Before a solve there is no iterate, and limits can change. */
static void each_kind_answers_before_a_solve(void **state)
{
    double *b = random_values(N, 5, -1.0, 1.0);

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        opened t = open_kind(&kinds[k]);
        double x[N] = {0.0}, last[N];

        read_last(&t, last);
        assert_true(last[0] == UNTOUCHED && last[N - 1] == UNTOUCHED);
        t.options.max_iterations = 0;
        assert_ok(t.ctx, tess_solver_set_limits(t.solver, &t.options));
        assert_int_equal(solve_with(t.solver, t.ctx, N, b, x).iterations, 0);
        close_kind(&t);
    }
    free(b);
}

/* x of least squares has as many values as A has columns. */
static void the_last_iterate_has_a_value_of_each_column(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr rows = oracle_random(4, 9, 3, 5);
    tess_matrix *wide_one = make_matrix(ctx, &rows);
    const tess_solve_options options = solve_options(TESS_SOLVER_LSMR);
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_solver_create(wide_one, &options, &solver));
    for (int k = 0; k < 2; k++) {
        tess_vector *v = NULL;

        assert_ok(ctx, tess_vector_create(ctx, k == 0 ? 9 : 4, TESS_PRECISION_FP64, &v));
        assert_int_equal(tess_solver_last_iterate(solver, v), k == 0 ? TESS_SUCCESS : TESS_DIMENSION_MISMATCH);
        tess_vector_destroy(v);
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(wide_one);
    tess_context_destroy(ctx);
    oracle_free(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_answers_after_a_solve),
                                       cmocka_unit_test(each_kind_answers_before_a_solve),
                                       cmocka_unit_test(the_last_iterate_has_a_value_of_each_column)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
