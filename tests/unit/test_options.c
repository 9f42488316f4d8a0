/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that begin with `size`: callers of other versions, reserved words, and the data that options point to. */
#include <tessera/timestep.h>

#include "support/papers.h"
#include "support/precond_of.h"
#include "support/solve.h"
#include "support/tiles.h"

static oracle_csr a;
static tess_context *ctx;
static tess_matrix *m;

static int open_system(void **state)
{
    (void)state;
    a = oracle_laplace2d(12);
    ctx = open_device(1);
    m = make_matrix(ctx, &a);
    return 0;
}

static int close_system(void **state)
{
    (void)state;
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
    return 0;
}

/* ---- sizes ---- */

/* The call is refused, and says which struct is meant. */
static void check_refused(tess_status status, const char *type)
{
    assert_int_equal(status, TESS_INVALID_ARGUMENT);
    if (!strstr(tess_context_last_error(ctx)->message, type)) {
        fail_msg("'%s' does not name %s", tess_context_last_error(ctx)->message, type);
    }
}

static void other_sizes_are_refused(void **state)
{
    tess_storage_options storage;
    tess_precond_options precond;
    tess_solve_options solve;
    tess_timestep_options steps;
    tess_matrix *stored = NULL;
    tess_precond *made = NULL;
    tess_solver *solver = NULL;
    tess_timestep *ts = NULL;

    (void)state;
    tess_storage_options_init(&storage);
    tess_precond_options_init(&precond);
    tess_solve_options_init(&solve);
    tess_timestep_options_init(&steps);
    for (int k = 0; k < 2; k++) { /* never set, and of a later version */
        storage.size = k == 0 ? 0 : sizeof storage + 8;
        precond.size = k == 0 ? 0 : sizeof precond + 8;
        solve.size = k == 0 ? 0 : sizeof solve + 8;
        steps.size = k == 0 ? 0 : sizeof steps + 8;
        check_refused(tess_matrix_convert(m, &storage, &stored), "tess_storage_options");
        check_refused(tess_precond_create(m, &precond, &made), "tess_precond_options");
        check_refused(tess_solver_create(m, &solve, &solver), "tess_solve_options");
        check_refused(tess_timestep_create(m, &steps, &ts), "tess_timestep_options");
    }
    assert_null(stored);
    assert_null(made);
    assert_null(solver);
    assert_null(ts);
    assert_non_null(strstr(tess_context_last_error(ctx)->hint, "_init"));
}

/* A member keeps its length: one that was never initialized is not a matter of versions. */
static void members_have_their_size(void **state)
{
    tess_solve_options solve = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;

    (void)state;
    solve.precond.size = 0;
    check_refused(tess_solver_create(m, &solve, &solver), "tess_precond_options");
    solve = solve_options(TESS_SOLVER_CG);
    solve.storage.size -= 8;
    check_refused(tess_solver_create(m, &solve, &solver), "tess_storage_options");
    solve = solve_options(TESS_SOLVER_CG);
    solve.precond.incomplete.squares.size = 0;
    check_refused(tess_solver_create(m, &solve, &solver), "tess_storage_options");
    assert_null(solver);
}

/* An older caller's struct ends before `timings`: the memory behind it is not the caller's, and is not read. */
static void older_options_are_completed(void **state)
{
    tess_solve_options solve;
    tess_solver *solver = NULL;
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solve_result result;

    (void)state;
    memset(&solve, 0xff, sizeof solve);
    {
        const tess_solve_options given = solve_options(TESS_SOLVER_CG);

        memcpy(&solve, &given, offsetof(tess_solve_options, timings));
    }
    solve.size = offsetof(tess_solve_options, timings);
    assert_ok(ctx, tess_solver_create(m, &solve, &solver));
    result = solve_with(solver, ctx, a.nrows, b, x);
    assert_true(result.converged && result.solver == TESS_SOLVER_CG && !result.timed);
    assert_int_equal(result.storage.format, TESS_FORMAT_CSR);
    assert_int_equal(result.precond.kind, TESS_PRECOND_NONE);
    tess_solver_destroy(solver);
    free(b);
    free(x);
}

static void older_results_are_not_overrun(void **state)
{
    const tess_solve_options options = solve_options(TESS_SOLVER_CG);
    const size_t known = offsetof(tess_solve_result, storage);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_vector *vb = make_vector(ctx, a.nrows, b), *vx = make_vector(ctx, a.nrows, x);
    tess_solve_result result;
    tess_papers_result papers;
    tess_solver *solver = NULL;

    (void)state;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    memset(&result, 0xa5, sizeof result);
    result.size = known;
    assert_ok(ctx, tess_solver_solve(solver, vb, vx, &result));
    assert_true(result.size == known && result.converged);
    assert_int_equal(result.solver, TESS_SOLVER_CG);
    for (size_t k = known; k < sizeof result; k++) {
        assert_int_equal(((const unsigned char *)&result)[k], 0xa5);
    }
    result.size = 0;
    check_refused(tess_solver_solve(solver, vb, vx, &result), "tess_solve_result");
    result.size = sizeof result + 8;
    check_refused(tess_solver_solve(solver, vb, vx, &result), "tess_solve_result");
    papers.size = 0;
    check_refused(tess_solver_papers_result(solver, &papers), "tess_papers_result");
    tess_solver_destroy(solver);
    tess_vector_destroy(vb);
    tess_vector_destroy(vx);
    free(b);
    free(x);
}

/* ---- reserved words ---- */

static void reserved_words_are_zeros(void **state)
{
    tess_solve_options o = solve_options(TESS_SOLVER_CG);
    const struct {
        int64_t *words;
        size_t bytes;
    } reserved[] = {
#define WORDS(of) {(of).reserved, sizeof(of).reserved}
        WORDS(o.cg),
        WORDS(o.gmres),
        WORDS(o.jacobi),
        WORDS(o.idr),
        WORDS(o.nested),
        WORDS(o.precond),
        WORDS(o.precond.block_jacobi),
        WORDS(o.precond.polynomial),
        WORDS(o.precond.incomplete),
        WORDS(o.precond.incomplete.squares),
        WORDS(o.storage),
        WORDS(o.storage.slices),
        WORDS(o.storage.split),
        WORDS(o.storage.policy),
#undef WORDS
    };
    tess_solver *solver = NULL;

    (void)state;
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++) {
        for (size_t word = 0; word < reserved[k].bytes / sizeof *reserved[k].words; word++) {
            reserved[k].words[word] = 1;
            check_refused(tess_solver_create(m, &o, &solver), "reserved");
            reserved[k].words[word] = 0;
        }
    }
    assert_ok(ctx, tess_solver_create(m, &o, &solver));
    tess_solver_destroy(solver);
}

static void policies_have_them_too(void **state)
{
    tess_policy_options policy;
    tess_assignment *assignment = NULL;

    (void)state;
    tess_policy_options_init(&policy);
    policy.reserved[sizeof policy.reserved / sizeof *policy.reserved - 1] = 1;
    check_refused(tess_assignment_create(m, &policy, &assignment), "tess_policy_options");
    assert_null(assignment);
}

/* ---- what options point to ---- */

/* Bytes that no option would be. */
static void spoil(void *memory, size_t size)
{
    memset(memory, 0xee, size);
}

/* Preconditioner, storage and narrowing, requested by structs that no longer exist when the solver works. */
static void the_papers_options_are_copied(void **state)
{
    tess_papers_storage *squares = test_allocate(1, sizeof *squares), *storage = test_allocate(1, sizeof *storage);
    tess_papers_solve *solve = test_allocate(1, sizeof *solve);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_papers_result papers;
    int64_t products = 0;

    (void)state;
    *squares = papers_kernel;
    *storage = papers_resident;
    *solve = *papers_narrowing(TESS_NARROWING_SAFE);
    options.storage = resident_lossless("fp64,fp32,fp16,e4m3");
    options.storage.papers = storage;
    options.papers = solve;
    options.precond = precond_of(TESS_PRECOND_ILU0, 0);
    options.precond.incomplete.leaf = 64;
    options.precond.incomplete.squares.format = TESS_FORMAT_TILES;
    options.precond.incomplete.squares.papers = squares;
    options.scale = TESS_SCALING_MAX_PRODUCT; /* a solver within the solver, which is made anew with new values */
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    spoil(squares, sizeof *squares);
    spoil(storage, sizeof *storage);
    spoil(solve, sizeof *solve);
    free(squares);
    free(storage);
    free(solve);
    assert_ok(ctx, tess_matrix_update_values(m, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    result = solve_with(solver, ctx, a.nrows, b, x);
    tess_papers_result_init(&papers);
    assert_ok(ctx, tess_solver_papers_result(solver, &papers));
    assert_true(result.converged && result.storage.format == TESS_FORMAT_TILES);
    assert_int_equal(papers.narrowing, TESS_NARROWING_SAFE);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        products += papers.tile_products[p];
    }
    assert_true(products > 0);
    tess_solver_destroy(solver);
    free(b);
    free(x);
}

static void their_sizes_are_looked_at(void **state)
{
    tess_papers_storage storage = papers_resident;
    tess_papers_solve solve = papers_one_reduction;
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    tess_solver *solver = NULL;
    tess_matrix *stored = NULL;

    (void)state;
    storage.size = 0;
    options.storage.papers = &storage;
    check_refused(tess_matrix_convert(m, &options.storage, &stored), "tess_papers_storage");
    check_refused(tess_solver_create(m, &options, &solver), "tess_papers_storage");
    options = solve_options(TESS_SOLVER_CG);
    options.precond.incomplete.squares.papers = &storage;
    check_refused(tess_solver_create(m, &options, &solver), "tess_papers_storage");
    options = solve_options(TESS_SOLVER_CG);
    solve.size = sizeof solve + 8;
    options.papers = &solve;
    check_refused(tess_solver_create(m, &options, &solver), "tess_papers_solve");
    assert_null(stored);
    assert_null(solver);
}

/* ---- who may ask for the papers' ---- */

static void one_reduction_is_asked_for_by_its_own_struct(void **state)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_solver *solver = NULL;
    tess_solve_result result;

    (void)state;
    options.cg.recurrence = TESS_RECURRENCE_ONE_REDUCTION;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options.papers = &papers_one_reduction;
    options.cg.recurrence = TESS_RECURRENCE_STANDARD;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_solver_create(m, &options, &solver));
    options.cg.recurrence = TESS_RECURRENCE_AUTO;
    options.engine = TESS_ENGINE_PLAIN;
    assert_ok(ctx, tess_solver_create(m, &options, &solver));
    result = solve_with(solver, ctx, a.nrows, b, x);
    assert_true(result.converged);
    assert_int_equal(result.cg.recurrence, TESS_RECURRENCE_ONE_REDUCTION);
    tess_solver_destroy(solver);
    free(b);
    free(x);
}

/* For any policy, granularity and levels: nothing of papers.h is chosen. */
static void auto_chooses_none_of_it(void **state)
{
    static const char *const policies[] = {"none", "fixed-range:1", "mean-3std", "lossless", "lossless:1e-15"};
    double *b = random_values(a.nrows, 3, -1.0, 1.0);

    (void)state;
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        for (int g = TESS_GRANULARITY_MATRIX; g <= TESS_GRANULARITY_BLOCK; g++) {
            tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
            int64_t counts[TESS_TCKI_FORMATS];
            tess_matrix *stored = NULL;
            solved s;

            options.storage.format = TESS_FORMAT_AUTO;
            options.storage.policy.granularity = (tess_granularity)g;
            assert_int_equal(tess_policy_options_parse(policies[p], &options.storage.policy), TESS_SUCCESS);
            if (tess_storage_options_check(ctx, -1, -1, &options.storage) != TESS_SUCCESS) { continue; }
            assert_ok(ctx, tess_matrix_convert(m, &options.storage, &stored));
            assert_int_equal(tess_matrix_layout(stored), TESS_LAYOUT_GROUPED);
            assert_int_equal(tess_matrix_tcki_counts(stored, counts), TESS_UNSUPPORTED); /* not of kernel paper */
            tess_matrix_destroy(stored);
            s = solve_here(ctx, &a, &options, b);
            assert_int_equal(s.papers.narrowing, TESS_NARROWING_OFF);
            assert_int_not_equal(s.result.cg.recurrence, TESS_RECURRENCE_ONE_REDUCTION);
            discard(&s);
        }
    }
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(members_have_their_size),
        cmocka_unit_test(older_options_are_completed),
        cmocka_unit_test(older_results_are_not_overrun),
        cmocka_unit_test(reserved_words_are_zeros),
        cmocka_unit_test(policies_have_them_too),
        cmocka_unit_test(the_papers_options_are_copied),
        cmocka_unit_test(their_sizes_are_looked_at),
        cmocka_unit_test(one_reduction_is_asked_for_by_its_own_struct),
        cmocka_unit_test(auto_chooses_none_of_it),
    };

    return cmocka_run_group_tests(tests, open_system, close_system);
}
