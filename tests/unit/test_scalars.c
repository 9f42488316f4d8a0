/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar updates of the methods by themselves: where an iteration goes on, and where it breaks down. */
#include "solver/bicgstab/bicgstab_scalars.h"
#include "solver/cg/cg_scalars.h"
#include "support/test.h"

/* A loop within an iteration, far from every limit. */
static tess_loop_state running(void)
{
    return (tess_loop_state){.phase = TESS_LOOP_RUNNING,
                             .alpha = 1.5,
                             .omega = 0.25,
                             .rho = 2.0,
                             .shadow_norm = 8.0,
                             .divergence_limit = HUGE_VAL,
                             .max_iterations = 1000,
                             .scale = 1.0};
}

/* Two vectors of 53 bits whose inner product is below u times their norms may as well be orthogonal; above that the
   product counts, and beta = (rho_new / rho) (alpha / omega). */
static void bicgstab_breaks_down_where_rho_is_rounding(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int exponent = -60; exponent <= 0; exponent += 2) { /* norms 8 and 4: rho of 2^exponent times 32 */
            const double rho = sign * ldexp(32.0, exponent);
            tess_loop_state s = running();

            s.dots[0] = 16.0;
            s.dots[1] = rho;
            update_bicgstab_beta(&s);
            assert_int_equal(s.iteration, 1);
            assert_true(s.residual_norm == 4.0);
            if (exponent < -53) {
                assert_int_equal(s.phase, TESS_LOOP_STOPPED);
                assert_int_equal(s.reason, TESS_REASON_BREAKDOWN);
            } else {
                assert_int_equal(s.phase, TESS_LOOP_RUNNING);
                assert_true(s.beta == rho / 2.0 * 6.0 && s.rho == rho);
            }
        }
    }
}

/* A cycle begins without the scalars of the one before it. */
static void bicgstab_begins_anew(void **state)
{
    tess_loop_state s = running();

    (void)state;
    s.beta = 3.0;
    s.dots[0] = 9.0;
    s.dots[1] = 16.0;
    update_bicgstab_start(&s);
    assert_true(s.rho == 9.0 && s.shadow_norm == 4.0);
    assert_true(s.alpha == 0.0 && s.beta == 0.0 && s.omega == 0.0);
    assert_int_equal(s.phase, TESS_LOOP_RUNNING);
}

static void bicgstab_omega_needs_finite_products(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_loop_state s = running();

        s.dots[k] = HUGE_VAL;
        s.dots[1 - k] = 1.0;
        update_bicgstab_omega(&s);
        assert_int_equal(s.phase, TESS_LOOP_STOPPED);
        assert_int_equal(s.reason, TESS_REASON_NAN_OR_INF);
    }
}

/* (r, z) of the start says why there is nothing to iterate. It may be negative, if A is too. */
static void cg_starts_from_a_product(void **state)
{
    static const double products[] = {(double)NAN, HUGE_VAL, 0.0, -1.0, 2.0};

    (void)state;
    for (int k = 0; k < 5; k++) {
        tess_loop_state s = running();

        s.dots[0] = 4.0;
        s.dots[1] = products[k];
        s.curvature = 3.0;
        update_cg_start(&s);
        assert_int_equal(s.phase, k < 3 ? TESS_LOOP_STOPPED : TESS_LOOP_RUNNING);
        if (k < 3) { assert_int_equal(s.reason, k < 2 ? TESS_REASON_NAN_OR_INF : TESS_REASON_INDEFINITE_PRECOND); }
        assert_true(s.curvature == 0.0);
    }
}

/* So does (p, A p) of a step, which keeps its sign; alpha = (r, z) / (p, A p). */
static void cg_steps_along_curvature_of_one_sign(void **state)
{
    static const struct {
        double before, rho, now;
        tess_reason reason;
    } known[] = {{0.0, 2.0, (double)NAN, TESS_REASON_NAN_OR_INF},
                 {0.0, 2.0, HUGE_VAL, TESS_REASON_NAN_OR_INF},
                 {0.0, 2.0, 0.0, TESS_REASON_BREAKDOWN},
                 {4.0, 2.0, -1.0, TESS_REASON_INDEFINITE_MATRIX},
                 {-4.0, 2.0, 1.0, TESS_REASON_INDEFINITE_MATRIX},
                 {0.0, -2.0, 1.0, TESS_REASON_INDEFINITE_PRECOND},
                 {0.0, 2.0, 8.0, TESS_REASON_RUNNING},
                 {4.0, 2.0, 8.0, TESS_REASON_RUNNING},
                 {-4.0, -2.0, -8.0, TESS_REASON_RUNNING},
                 {0.0, -2.0, -8.0, TESS_REASON_RUNNING},
                 {0.0, 2.0, -8.0, TESS_REASON_RUNNING}};

    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        const bool stops = known[k].reason != TESS_REASON_RUNNING;
        tess_loop_state s = running();

        s.curvature = known[k].before;
        s.rho = known[k].rho;
        s.dots[0] = known[k].now;
        update_cg_alpha(&s);
        assert_int_equal(s.phase, stops ? TESS_LOOP_STOPPED : TESS_LOOP_RUNNING);
        assert_int_equal(s.reason, known[k].reason);
        assert_true(s.alpha == (stops ? 1.5 : known[k].rho / known[k].now));
    }
}

/* (r, z) keeps its sign; beta is their ratio. */
static void cg_ends_where_the_sign_changes(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        const double before = k & 1 ? -2.0 : 2.0, now = k & 2 ? -1.0 : 1.0;
        tess_loop_state s = running();

        s.rho = before;
        s.dots[0] = 4.0;
        s.dots[1] = now;
        update_cg_beta(&s);
        assert_int_equal(s.phase, before * now > 0.0 ? TESS_LOOP_RUNNING : TESS_LOOP_FINISHING);
        assert_int_equal(s.reason, before * now > 0.0 ? TESS_REASON_RUNNING : TESS_REASON_INDEFINITE_PRECOND);
        assert_true(s.beta == now / before);
    }
}

/* Without a preconditioner (r, z) is (r, r), whatever the other sums are. */
static void cg_alone_ends_as_with_equal_products(void **state)
{
    tess_loop_state alone = running(), with = running();

    (void)state;
    for (int k = 0; k < 5; k++) {
        alone.dots[k] = with.dots[k] = 4.0 + k;
    }
    with.dots[4] = with.dots[3];
    update_cg_close_alone(&alone);
    update_cg_close_at_once(&with);
    assert_true(alone.rho == 7.0 && alone.residual_norm == sqrt(7.0));
    assert_true(alone.rho == with.rho && alone.residual_norm == with.residual_norm);
    assert_int_equal(alone.iteration, 1);
    assert_int_equal(alone.phase, with.phase);
}

/* (r, z) - 2 alpha (r, w) + alpha^2 (A p, w), over (r, z); nothing where rounding leaves nothing. */
static void cg_predicts_beta(void **state)
{
    tess_loop_state s = running();

    (void)state;
    s.dots[0] = 3.0; /* (A p, w) */
    s.dots[1] = 0.5; /* (r, w) */
    update_cg_predict(&s);
    assert_true(s.beta == (2.0 - 2.0 * 1.5 * 0.5 + 1.5 * 1.5 * 3.0) / 2.0);
    s.dots[1] = 8.0;
    update_cg_predict(&s);
    assert_true(s.beta == 0.0);
}

/* A power of two near alpha and its inverse, or 1. */
static void cg_scales_by_powers_of_two(void **state)
{
    (void)state;
    for (int exponent = -1030; exponent <= 1023; exponent++) {
        const double power = exponent < -1022 || exponent > 1022 ? 1.0 : ldexp(1.0, exponent);
        tess_loop_state s = running();
        cg_scale scale;

        s.alpha = ldexp(-1.5, exponent);
        scale = cg_product_scale(&s);
        assert_true(scale.factor == power && scale.inverse == 1.0 / power);
    }
}

/* The limit is 3: the third iteration in the same power of two is too many, and one half of the norm starts anew. */
static void stagnation_is_counted_exactly(void **state)
{
    static const double norms[] = {1.5, 1.25, 0.75, 0.6, 0.5, 0.7};
    tess_loop_state s = running();

    (void)state;
    s.watch = stall_watch(3, 0, (uint32_t)tess_leading_exponent(1.0));
    for (int i = 0; i < 6; i++) {
        s.residual_norm = norms[i];
        assert_int_equal(loop_stalls(&s), i == 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bicgstab_breaks_down_where_rho_is_rounding),
        cmocka_unit_test(bicgstab_begins_anew),
        cmocka_unit_test(bicgstab_omega_needs_finite_products),
        cmocka_unit_test(cg_starts_from_a_product),
        cmocka_unit_test(cg_steps_along_curvature_of_one_sign),
        cmocka_unit_test(cg_ends_where_the_sign_changes),
        cmocka_unit_test(cg_alone_ends_as_with_equal_products),
        cmocka_unit_test(cg_predicts_beta),
        cmocka_unit_test(cg_scales_by_powers_of_two),
        cmocka_unit_test(stagnation_is_counted_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
