/* SPDX-License-Identifier: Apache-2.0 */
/* On a GPU levels of triangles are counted when such a step comes next: the order of attempts is the one of their whole
   costs, and steps that come before are not kept waiting. */
#include <tessera/advise.h>

#include "auto/auto.h"
#include "support/stand_in.h"

static tess_solve_options automatic(void)
{
    tess_solve_options options;

    tess_solve_options_init(&options);
    return options;
}

/* Sorted anew from each step with triangles on, as a solve does it, with what is known then. */
static ladder sort_late(rates_kind device, const matrix_facts *whole, const tess_solve_options *options)
{
    const cost_rates *rates = rates_of_kind(device);
    matrix_facts f = *whole;
    ladder l;

    f.levels = 0;
    make_ladder(rates, family_of(&f), &f, options, &l);
    for (int next = 0; next < l.count; next++) {
        if (f.levels > 0 || !waits_for_levels(&l.step[next])) { continue; }
        f.levels = whole->levels;
        sort_steps(rates, &f, next > 1 ? next : 1, &l);
    }
    return l;
}

static void late_is_the_same(void **state)
{
    static const int64_t rows[] = {1000, 50000, 1000000};
    const tess_solve_options options = automatic();

    (void)state;
    for (int k = 0; k < 3 * 3 * 2 * 2; k++) {
        const rates_kind device = k % 2 ? RATES_GPU : RATES_GPU_CUDSS;
        const int64_t n = rows[k / 2 % 3], levels[] = {10, n / 50 + 1, n};
        const matrix_facts f = {
            .n = n, .nnz = 5 * n, .symmetric = k / 18 % 2, .finite = true, .positive = n, .levels = levels[k / 6 % 3]};
        const ladder late = sort_late(device, &f, &options);
        ladder whole;

        make_ladder(rates_of_kind(device), family_of(&f), &f, &options, &whole);
        assert_int_equal(late.count, whole.count);
        assert_memory_equal(late.step, whole.step, sizeof whole.step[0] * (size_t)whole.count);
    }
}

/* A chain, of as many levels as rows, and its advice beside the ladder with all costs. More entries than an analysis
   takes, so that no step is left out. */
static void check_advice(tess_context *ctx, double upper, tess_precond_kind named)
{
    oracle_csr a = oracle_tridiagonal(200000, -1.0, 2.5, upper);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = automatic();
    tess_advice advice;
    matrix_facts f;
    ladder l;

    options.precond.kind = named;
    tess_advice_init(&advice);
    assert_ok(ctx, tess_advise(m, &options, &advice));
    assert_ok(ctx, find_facts(m, &f));
    assert_int_equal(f.levels, 0);
    assert_ok(ctx, find_levels(m, &f));
    assert_int_equal(f.levels, a.nrows);
    make_ladder(rates_of(m), family_of(&f), &f, &options, &l);
    assert_true(advice.count > 1 && advice.count <= l.count);
    for (int i = 0; i < advice.count; i++) {
        assert_int_equal(advice.attempt[i].solver, l.step[i].solver);
        assert_int_equal(advice.attempt[i].precond, l.step[i].precond);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

static void advice_has_this_order(void **state)
{
    stand_in s;
    tess_context *ctx = NULL;

    (void)state;
    if (!stand_in_is_possible()) { skip(); }
    ctx = open_stand_in(&s, NULL, 2);
    check_advice(ctx, -1.0, TESS_PRECOND_AUTO);
    check_advice(ctx, -0.5, TESS_PRECOND_AUTO);
    check_advice(ctx, -1.0, TESS_PRECOND_IC0);
    tess_context_destroy(ctx);
}

/* The pattern of a small matrix comes to the host. */
static void small_ones_are_counted(void **state)
{
    oracle_csr a = oracle_laplace2d(30);
    matrix_facts f = {.n = a.nrows};
    stand_in s;
    tess_context *ctx = NULL;
    tess_matrix *m = NULL;

    (void)state;
    if (!stand_in_is_possible()) { skip(); }
    ctx = open_stand_in(&s, NULL, 1);
    m = make_matrix(ctx, &a);
    assert_ok(ctx, find_levels(m, &f));
    assert_int_equal(f.levels, 59);
    assert_int_equal(s.misplaced, 0);
    assert_ok(ctx, find_levels(m, &f)); /* known */
    assert_int_equal(f.levels, 59);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_is_the_same),
        cmocka_unit_test(advice_has_this_order),
        cmocka_unit_test(small_ones_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
