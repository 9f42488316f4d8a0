/* SPDX-License-Identifier: Apache-2.0 */
/* Which coarsening auto takes, and plain aggregation. */
#include <sys/resource.h>
#include <unistd.h>

#include "precond/multigrid/choice.h"
#include "support/gallery.h"
#include "support/precond.h"
#include "support/solve.h"

static tess_amg_levels levels_of(const oracle_csr *a, const tess_amg_options *amg)
{
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond_options options;
    tess_amg_levels levels = {.size = sizeof levels};
    tess_precond *m = NULL;

    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg = *amg;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return levels;
}

static tess_solve_result solve_random(const oracle_csr *a, const tess_solve_options *options)
{
    tess_context *ctx = open_cpu(2);
    double *b = random_values(a->nrows, 5, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    result = solve_once(ctx, a, options, b, x);
    check_honest(a, b, x, options, &result);
    free(b);
    free(x);
    tess_context_destroy(ctx);
    return result;
}

static tess_amg_options defaults(void)
{
    tess_precond_options options;

    tess_precond_options_init(&options);
    return options.amg;
}

/* The Laplacian with the sign of every second unknown turned: all couplings have the sign of the diagonal, so that none
   is strong, and classical coarsening finds no second level. */
static oracle_csr with_turned_signs(int64_t k)
{
    oracle_csr a = oracle_laplace2d(k);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t p = a.row_ptr[i]; p < a.row_ptr[i + 1]; p++) {
            a.val[p] = fabs(a.val[p]);
        }
    }
    return a;
}

static void one_level_alone_makes_the_other_coarsening(void **state)
{
    oracle_csr a = with_turned_signs(40);
    tess_amg_options amg = defaults();
    tess_amg_levels levels = levels_of(&a, &amg);
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    (void)state;
    assert_int_equal(levels.coarsening, TESS_AMG_AGGREGATION);
    assert_int_equal(levels.given_up, TESS_AMG_CLASSICAL);
    assert_true(levels.given_up_complexity == 1.0);
    assert_true(levels.count > 1);
    amg.coarsening = TESS_AMG_CLASSICAL; /* asked for, it is taken */
    levels = levels_of(&a, &amg);
    assert_int_equal(levels.coarsening, TESS_AMG_CLASSICAL);
    assert_int_equal(levels.given_up, TESS_AMG_AUTO);
    assert_int_equal(levels.count, 1);
    options.precond.kind = TESS_PRECOND_AMG;
    assert_true(solve_random(&a, &options).converged);
    oracle_free(&a);
}

/* Without truncation the coarse levels fill. What auto takes costs no more than what it gave up. */
static void many_entries_make_the_other_coarsening_too(void **state)
{
    oracle_csr a = generate_problem("laplace3d 16", 1);
    tess_amg_options amg = defaults();
    tess_amg_levels levels;

    (void)state;
    amg.aggressive = 0;
    levels = levels_of(&a, &amg);
    assert_int_equal(levels.coarsening, TESS_AMG_CLASSICAL);
    assert_int_equal(levels.given_up, TESS_AMG_AUTO); /* no doubt */
    amg.truncation = 0;
    levels = levels_of(&a, &amg);
    assert_true(levels.given_up != TESS_AMG_AUTO && levels.given_up != levels.coarsening);
    assert_true(levels.operator_complexity > 3.5 || levels.given_up_complexity > 3.5);
    assert_true(levels.given_up_factor > 0.0 && levels.given_up_factor <= 1.0);
    oracle_free(&a);
}

/* The factor of a few cycles orders two smoothers, and an empty trial is harmless. */
static void factors_are_measured(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = generate_problem("laplace2d 40", 1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double factor[2] = {0.0};

    (void)state;
    for (int k = 0; k < 2; k++) {
        amg_hierarchy h = {.ctx = ctx, .options = defaults()};
        amg_cycle c = {.ctx = ctx};

        h.options.degree = k == 0 ? 1 : 4;
        c.options = h.options;
        assert_ok(ctx, amg_hierarchy_build(&h, matrix));
        assert_ok(ctx, amg_cycle_open(&c, &h, TESS_AMG_PRECISION_FP64, false));
        assert_ok(ctx, amg_measure_factor(&c, matrix, &factor[k]));
        assert_true(amg_is_better(&c, 0.9, &c, 0.1) && !amg_is_better(&c, 0.1, &c, 0.9));
        amg_cycle_close(&c);
        amg_hierarchy_close(&h);
    }
    assert_true(factor[1] > 0.0 && factor[1] < factor[0] && factor[0] < 0.9);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- memory ---- */

/* Bytes of address space that the process has. */
static rlim_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* A set-up that would not fit is refused before it begins. */
static void memory_is_checked(void **state)
{
    oracle_csr a = oracle_laplace2d(300);
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options;
    tess_precond *m = NULL;
    struct rlimit before, little;

    (void)state;
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    little = before;
    little.rlim_cur = address_space() + ((rlim_t)16 << 20); /* it needs some 70 MB */
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    assert_int_equal(tess_precond_create(matrix, &options, &m), TESS_OUT_OF_MEMORY);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_null(m);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "MB to spare"));
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- a system that no precision solves ---- */

/* A Laplacian that no boundary holds, and a right-hand side with a part along the constant, with levels in FP8. Fills
 *levels with those of the end. */
static tess_solve_result solve_in_vain(tess_solver_kind kind, int64_t max_iterations, tess_amg_levels *levels)
{
    oracle_csr a = oracle_laplace2d(30);
    tess_solve_options options = solve_options(kind);
    double *b = random_values(a.nrows, 5, 0.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
    tess_context *ctx = open_cpu(2);
    tess_matrix *matrix = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;

    for (int64_t i = 0; i < a.nrows; i++) {
        double sum = 0.0;

        x[i] = 0.0;
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            sum += a.col_ind[k] == i ? 0.0 : a.val[k];
        }
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] = -sum; }
        }
    }
    for (int64_t i = 0; i < a.nrows; i++) { /* D A D: its null vector is no longer the constant, which would be found */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= (1.0 + (double)(i % 3)) * (1.0 + (double)(a.col_ind[k] % 3));
        }
    }
    options.precond.kind = TESS_PRECOND_AMG;
    options.precond.amg.precision = TESS_AMG_PRECISION_FP8;
    options.max_iterations = max_iterations;
    matrix = make_matrix(ctx, &a);
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    result = solve_with(solver, ctx, a.nrows, b, x);
    assert_ok(ctx, tess_precond_get_levels(tess_solver_precond(solver), levels));
    assert_false(result.converged);
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&a);
    free(b);
    free(x);
    return result;
}

/* Cycles of CG end without progress, and the guard raises the levels step by step, from FP8 to FP64, before it gives
   up. Those of BiCGSTAB go on for ever: the stall limit of 100 iterations ends them. */
static void fruitless_levels_are_raised(void **state)
{
    tess_amg_levels levels = {.size = sizeof levels};
    tess_solve_result result = solve_in_vain(TESS_SOLVER_CG, 2000, &levels);

    (void)state;
    assert_true(result.escalated);
    assert_true(levels.raised >= 2);
    assert_int_equal(levels.vectors, TESS_PRECISION_FP64);
    assert_true(result.iterations < 2000);
    result = solve_in_vain(TESS_SOLVER_BICGSTAB, 500, &levels);
    assert_true(result.escalated);
    assert_true(levels.raised >= 2);
    assert_int_equal(levels.vectors, TESS_PRECISION_FP64);
    assert_int_equal(result.iterations, 500);
}

/* ---- plain aggregation ---- */

/* Without smoothing each row of P has the one unknown of its aggregate, and new values change nothing of it. */
static void plain_interpolation_has_one_entry_a_row(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = generate_problem("recirc2d 30 1 0.01", 1);
    tess_matrix *matrix = make_matrix(ctx, &a);
    amg_hierarchy h = {.ctx = ctx, .options = defaults()};
    double *before = NULL;

    (void)state;
    h.options.coarsening = TESS_AMG_PLAIN;
    h.options.coarsest = 20;
    assert_ok(ctx, amg_hierarchy_build(&h, matrix));
    assert_true(h.count >= 3);
    for (int l = 0; l + 1 < h.count; l++) {
        const host_csr *p = &h.level[l].p;

        for (int64_t i = 0; i < p->nrows; i++) {
            assert_true(p->row_ptr[i + 1] - p->row_ptr[i] <= 1);
        }
        for (int64_t k = 0; k < host_csr_nnz(p); k++) {
            assert_true(p->val[k] > 0.0 && p->val[k] <= 1.0);
        }
    }
    before = test_allocate(host_csr_nnz(&h.level[0].p), sizeof *before);
    memcpy(before, h.level[0].p.val, (size_t)host_csr_nnz(&h.level[0].p) * sizeof *before);
    assert_ok(ctx, amg_hierarchy_renew(&h, matrix));
    assert_true(same_bits(before, h.level[0].p.val, host_csr_nnz(&h.level[0].p)));
    free(before);
    amg_hierarchy_close(&h);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Convection a hundred to a thousand times as strong as diffusion. */
static void plain_aggregation_takes_strong_convection(void **state)
{
    static const char *const problems[] = {"uniflow2d 60 1 0.001", "recirc2d 60 1 0.001", "uniflow2d 60 1 0.01"};

    (void)state;
    for (int k = 0; k < 3; k++) {
        oracle_csr a = generate_problem(problems[k], 2);
        tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
        tess_solve_result result;

        options.precond.kind = TESS_PRECOND_AMG;
        options.precond.amg.coarsening = TESS_AMG_PLAIN;
        options.precond.amg.coarsest = 40;
        result = solve_random(&a, &options);
        assert_true(result.converged);
        assert_at_most((double)result.iterations, 120.0);
        oracle_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_level_alone_makes_the_other_coarsening),
                                       cmocka_unit_test(many_entries_make_the_other_coarsening_too),
                                       cmocka_unit_test(factors_are_measured),
                                       cmocka_unit_test(fruitless_levels_are_raised),
                                       cmocka_unit_test(memory_is_checked),
                                       cmocka_unit_test(plain_interpolation_has_one_entry_a_row),
                                       cmocka_unit_test(plain_aggregation_takes_strong_convection)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
