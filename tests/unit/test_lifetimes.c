/* SPDX-License-Identifier: Apache-2.0 */
/* Objects keep what they read: the caller may destroy contexts, matrices, preconditioners and assignments first. */
#include <tessera/timestep.h>

#include "support/precond_of.h"
#include "support/solve.h"

enum { SIDE = 6, N = SIDE * SIDE };

typedef struct system {
    tess_context *ctx;
    tess_matrix *a;
    tess_vector *b, *x;
} system_of_test;

static system_of_test open_system(void)
{
    oracle_csr laplacian = oracle_laplace2d(SIDE);
    system_of_test s = {.ctx = open_cpu(1)};

    s.a = make_matrix(s.ctx, &laplacian);
    s.b = make_zeros(s.ctx, N);
    s.x = make_zeros(s.ctx, N);
    assert_ok(s.ctx, tess_vector_fill(s.b, 1.0));
    oracle_free(&laplacian);
    return s;
}

/* What a caller may do at once, and what becomes of the system after it. */
static void give_away(system_of_test *s)
{
    tess_context_destroy(s->ctx);
    tess_matrix_destroy(s->a);
}

static void close_system(system_of_test *s)
{
    tess_vector_destroy(s->b);
    tess_vector_destroy(s->x);
}

static void solve_after_giving_away(tess_solve_options o, const tess_precond_options *given)
{
    system_of_test s = open_system();
    tess_precond *m = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    tess_solve_result_init(&result);
    if (given) { assert_ok(s.ctx, tess_precond_create(s.a, given, &m)); }
    assert_ok(s.ctx, tess_solver_create_with_precond(s.a, m, &o, &solver));
    give_away(&s);
    tess_precond_destroy(m);
    for (int k = 0; k < 2; k++) {
        assert_ok(s.ctx, tess_vector_fill(s.x, 0.0));
        assert_ok(s.ctx, tess_solver_solve(solver, s.b, s.x, &result));
        assert_true(result.verified);
    }
    tess_solver_destroy(solver);
    close_system(&s);
}

static void solvers_keep_matrix_and_preconditioner(void **state)
{
    const tess_precond_options jacobi = precond_of(TESS_PRECOND_JACOBI, 0), ilu = precond_of(TESS_PRECOND_ILU0, 0);
    tess_solve_options o;

    (void)state;
    tess_solve_options_init(&o);
    solve_after_giving_away(o, NULL); /* automatic */
    o.scale = TESS_SCALING_SYMMETRIC;
    o.reorder = TESS_REORDERING_RCM;
    solve_after_giving_away(o, NULL);
    tess_solve_options_init(&o);
    o.solver = TESS_SOLVER_LSQR;
    o.precond.kind = TESS_PRECOND_NONE;
    solve_after_giving_away(o, NULL);
    o.solver = TESS_SOLVER_JACOBI;
    o.storage.format = TESS_FORMAT_COMPOSITE;
    o.rtol = 1e-3;
    solve_after_giving_away(o, NULL);
    tess_solve_options_init(&o);
    o.solver = TESS_SOLVER_GMRES;
    o.precond.kind = TESS_PRECOND_NONE;
    solve_after_giving_away(o, &jacobi);
    solve_after_giving_away(o, &ilu);
    o.storage.precision = TESS_PRECISION_FP32;
    o.storage.format = TESS_FORMAT_SELL;
    solve_after_giving_away(o, NULL);
}

static void stored_matrices_keep_matrix_and_assignment(void **state)
{
    system_of_test s = open_system();
    tess_storage_options o;
    tess_matrix *stored = NULL;
    tess_assignment *assignment = NULL;
    double value = 0.0;

    (void)state;
    tess_storage_options_init(&o);
    o.format = TESS_FORMAT_SPLIT;
    assert_ok(s.ctx, tess_assignment_create(s.a, NULL, &assignment));
    assert_ok(s.ctx, tess_matrix_convert_assigned(s.a, &o, assignment, &stored));
    give_away(&s);
    tess_assignment_destroy(assignment);
    assert_ok(s.ctx, tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, s.b, 0.0, s.x));
    assert_ok(s.ctx, tess_matrix_spmv(stored, TESS_OP_TRANSPOSE, 1.0, s.b, 0.0, s.x));
    assert_ok(s.ctx, tess_vector_dot(s.b, s.x, TESS_ARITHMETIC_FP64, &value));
    assert_true(value == 4.0 * SIDE); /* 1^T A 1: each row counts its neighbours outside */
    tess_matrix_destroy(stored);
    close_system(&s);
}

static void other_objects_keep_theirs(void **state)
{
    system_of_test s = open_system();
    const tess_precond_options ilu = precond_of(TESS_PRECOND_ILU0, 0);
    tess_timestep_result stepped;
    tess_timestep *ts = NULL;
    tess_precond *m = NULL;

    (void)state;
    tess_timestep_result_init(&stepped);
    assert_ok(s.ctx, tess_precond_create(s.a, &ilu, &m));
    assert_ok(s.ctx, tess_timestep_create(s.a, NULL, &ts));
    give_away(&s);
    assert_ok(s.ctx, tess_precond_apply(m, s.b, s.x));
    assert_ok(s.ctx, tess_precond_update(m));
    assert_ok(s.ctx, tess_timestep_run(ts, s.b, 2, NULL, NULL, 0, &stepped));
    assert_int_equal(stepped.count, 2);
    tess_precond_destroy(m);
    tess_timestep_destroy(ts);
    close_system(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solvers_keep_matrix_and_preconditioner),
                                       cmocka_unit_test(stored_matrices_keep_matrix_and_assignment),
                                       cmocka_unit_test(other_objects_keep_theirs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
