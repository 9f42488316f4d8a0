/* SPDX-License-Identifier: Apache-2.0 */
/* Solves and time steps that end before they are done: by the time limit, by what a monitor returns; and go on. */
#include <tessera/timestep.h>

#include "support/solve.h"

enum { SIDE = 40, N = SIDE * SIDE };

static tess_context *ctx;
static tess_matrix *a;
static tess_vector *b, *x;

/* ---- solves ---- */

typedef struct stopper {
    int64_t after;
    int code;
} stopper;

static int stop_after(void *user, const tess_progress *progress)
{
    const stopper *s = user;

    return progress->iteration >= s->after ? s->code : 0;
}

/* Solves from a random x, and checks that x has become no worse. */
static tess_solve_result solve(tess_solver *solver)
{
    tess_solve_result result;
    double before = 0.0, after = 0.0, bound = 0.0;

    tess_solve_result_init(&result);
    assert_ok(ctx, tess_vector_set_random(x, 3, -1.0, 1.0));
    assert_ok(ctx, tess_verify_residual(a, b, x, NULL, &before, &bound));
    assert_ok(ctx, tess_solver_solve(solver, b, x, &result));
    assert_ok(ctx, tess_verify_residual(a, b, x, NULL, &after, &bound));
    assert_at_most(after, before);
    assert_true(result.converged || after == result.residual_norm);
    return result;
}

static tess_solve_options options_of(tess_solver_kind kind)
{
    tess_solve_options o;

    tess_solve_options_init(&o);
    o.solver = kind;
    o.rtol = 1e-12;
    o.max_iterations = 100000;
    return o;
}

static void check_stops(tess_solve_options o)
{
    static const tess_reason reasons[][2] = {{TESS_REASON_INTERRUPTED, TESS_REASON_INTERRUPTED},
                                             {TESS_REASON_TIME_LIMIT, TESS_REASON_TIME_LIMIT},
                                             {TESS_REASON_CANCELLED, TESS_REASON_CANCELLED},
                                             {(tess_reason)1, TESS_REASON_CANCELLED}};
    stopper s = {.after = 3};
    tess_solver *solver = NULL;
    tess_solve_result r;

    o.monitor = stop_after;
    o.monitor_user = &s;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
        s.code = (int)reasons[k][0];
        r = solve(solver);
        if (r.reason != reasons[k][1]) {
            fail_msg("%s: %s instead of %s", tess_solver_kind_name(o.solver), tess_reason_name(r.reason),
                     tess_reason_name(reasons[k][1]));
        }
    }
    o.monitor = NULL;
    o.time_limit = 1e-9;
    assert_ok(ctx, tess_solver_set_limits(solver, &o));
    r = solve(solver);
    assert_int_equal(r.reason, TESS_REASON_TIME_LIMIT);
    o.time_limit = 0.0;
    o.rtol = o.solver == TESS_SOLVER_JACOBI ? 1e-1 : 1e-6;
    assert_ok(ctx, tess_solver_set_limits(solver, &o));
    r = solve(solver);
    assert_true(r.verified);
    tess_solver_destroy(solver);
}

static void every_method_stops(void **state)
{
    static const tess_solver_kind kinds[] = {TESS_SOLVER_AUTO,   TESS_SOLVER_CG,       TESS_SOLVER_BICGSTAB,
                                             TESS_SOLVER_GMRES,  TESS_SOLVER_GMRES_IR, TESS_SOLVER_GMRES_FD,
                                             TESS_SOLVER_MINRES, TESS_SOLVER_FGMRES,   TESS_SOLVER_IDR,
                                             TESS_SOLVER_LSQR,   TESS_SOLVER_LSMR,     TESS_SOLVER_JACOBI};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solve_options o = options_of(kinds[k]);

        if (kinds[k] == TESS_SOLVER_FGMRES) { o.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2; }
        if (kinds[k] == TESS_SOLVER_LSQR || kinds[k] == TESS_SOLVER_LSMR) { o.rtol = 1e-14; }
        check_stops(o);
    }
}

static void transformed_systems_stop(void **state)
{
    tess_solve_options o = options_of(TESS_SOLVER_CG);

    (void)state;
    o.scale = TESS_SCALING_SYMMETRIC;
    o.reorder = TESS_REORDERING_RCM;
    check_stops(o);
    o.solver = TESS_SOLVER_AUTO;
    check_stops(o);
}

static void solves_to_an_accuracy_stop(void **state)
{
    tess_solve_options o = options_of(TESS_SOLVER_AUTO);
    stopper s = {.after = 3, .code = (int)TESS_REASON_INTERRUPTED};
    tess_solver *solver = NULL;

    (void)state;
    tess_solve_options defaults;

    tess_solve_options_init(&defaults);
    o.rtol = defaults.rtol;
    o.accuracy.forward = 1e-10;
    o.monitor = stop_after;
    o.monitor_user = &s;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    assert_int_equal(solve(solver).reason, TESS_REASON_INTERRUPTED);
    tess_solver_destroy(solver);
}

/* The residual of CG grows at first here, so that x stays the initial one; pieces that go on from the last iterate
   still reach the solution. */
static void pieces_go_on_from_the_last_iterate(void **state)
{
    tess_solve_options o = options_of(TESS_SOLVER_CG);
    stopper s = {.after = 12, .code = (int)TESS_REASON_INTERRUPTED};
    tess_solver *solver = NULL;
    tess_solve_result r;
    int pieces = 0;

    (void)state;
    tess_solve_result_init(&r);
    o.rtol = 1e-8;
    o.monitor = stop_after;
    o.monitor_user = &s;
    assert_ok(ctx, tess_solver_create(a, &o, &solver));
    assert_ok(ctx, tess_vector_fill(x, 0.0));
    for (; pieces < 100 && !r.converged; pieces++) {
        assert_ok(ctx, tess_solver_solve(solver, b, x, &r));
        if (pieces == 0) { assert_true(r.relative_residual == 1.0); }
        if (!r.converged) { assert_ok(ctx, tess_solver_last_iterate(solver, x)); }
    }
    assert_true(r.verified && pieces > 3 && pieces < 100);
    tess_solver_destroy(solver);
}

static void wrong_limits_are_refused(void **state)
{
    tess_solve_options o = options_of(TESS_SOLVER_CG);
    tess_solver *solver = NULL;

    (void)state;
    o.time_limit = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(a, &o, &solver));
    o.time_limit = NAN;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(a, &o, &solver));
}

/* ---- time steps ---- */

static double start_value(int64_t i)
{
    return 0.001 * (double)(i % 17) + 1.0;
}

static tess_timestep_result run(const tess_timestep_options *o, int64_t count, double *values)
{
    tess_timestep *ts = NULL;
    tess_timestep_result r;

    tess_timestep_result_init(&r);
    assert_ok(ctx, tess_timestep_create(a, o, &ts));
    assert_ok(ctx, tess_vector_set(x, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_timestep_run(ts, x, count, NULL, NULL, 0, &r));
    read_vector(x, values);
    tess_timestep_destroy(ts);
    return r;
}

/* A run that is stopped, and another that goes on after it, make the x of one run, bit for bit. */
static void check_steps(tess_timestep_options o, const char *schedule)
{
    enum { COUNT = 30 }; /* each step multiplies x by up to 8, and fp32 ends at 2^128 */
    double *whole = test_allocate(N, sizeof *whole), *parts = test_allocate(N, sizeof *parts);
    stopper s = {.after = 7, .code = (int)TESS_REASON_INTERRUPTED};
    tess_timestep_result r;

    if (schedule) { assert_int_equal(tess_schedule_parse(schedule, &o.schedule), TESS_SUCCESS); }
    for (int64_t i = 0; i < N; i++) {
        whole[i] = parts[i] = start_value(i);
    }
    r = run(&o, COUNT, whole);
    assert_true(r.reason == TESS_REASON_RUNNING && r.count == COUNT);
    o.monitor = stop_after;
    o.monitor_user = &s;
    r = run(&o, COUNT, parts);
    assert_int_equal(r.reason, TESS_REASON_INTERRUPTED);
    assert_true(r.count >= s.after && r.count < COUNT);
    o.monitor = NULL;
    o.first_step = r.count;
    r = run(&o, COUNT, parts);
    assert_true(r.reason == TESS_REASON_RUNNING && r.count == COUNT);
    if (!same_bits(whole, parts, N)) { fail_msg("the steps of %s differ", schedule ? schedule : "the default"); }
    free(whole);
    free(parts);
}

static void time_steps_go_on(void **state)
{
    tess_timestep_options o;

    (void)state;
    tess_timestep_options_init(&o);
    check_steps(o, NULL);
    check_steps(o, "fp32:5,mixed:10,fp64:15");
    check_steps(o, "fp32");
    tess_storage_options_init(&o.storage);
    check_steps(o, NULL); /* csr fp64 */
}

static void time_steps_have_a_limit(void **state)
{
    double *values = test_allocate(N, sizeof *values);
    tess_timestep_options o;
    tess_timestep *ts = NULL;
    tess_timestep_result r;

    (void)state;
    tess_timestep_options_init(&o);
    o.time_limit = 1e-9;
    memset(values, 0, N * sizeof *values);
    r = run(&o, INT64_MAX / 8, values);
    assert_int_equal(r.reason, TESS_REASON_TIME_LIMIT);
    assert_true(r.count >= 1);
    o.time_limit = -1.0;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_timestep_create(a, &o, &ts));
    o.time_limit = 0.0;
    o.first_step = 7;
    assert_ok(ctx, tess_timestep_create(a, &o, &ts));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_timestep_run(ts, x, 6, NULL, NULL, 0, &r));
    tess_timestep_destroy(ts);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_stops),         cmocka_unit_test(transformed_systems_stop),
        cmocka_unit_test(solves_to_an_accuracy_stop), cmocka_unit_test(pieces_go_on_from_the_last_iterate),
        cmocka_unit_test(wrong_limits_are_refused),   cmocka_unit_test(time_steps_go_on),
        cmocka_unit_test(time_steps_have_a_limit)};

    return run_with_system(open_device(2), SIDE, tests, &ctx, &a, &b, &x);
}
