/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate inverses as smoothers of multigrid: which one a level gets, what it keeps, and new values. */
#include <math.h>
#include <string.h>

#include "precond/multigrid/cycle/factors.h"
#include "precond/multigrid/device.h"
#include "support/inverse.h"
#include "support/multigrid.h"
#include "support/sweep.h"

/* ---- one level ---- */

/* D^-1/2 of the rows' l1 norms. */
static double *scale_of(const oracle_csr *a)
{
    double *scale = test_allocate(a->nrows, sizeof *scale);

    for (int64_t i = 0; i < a->nrows; i++) {
        double sum = 0.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            sum += fabs(a->val[k]);
        }
        scale[i] = 1.0 / sqrt(sum == 0.0 ? 1.0 : sum);
    }
    return scale;
}

static amg_cycle cycle_of(tess_context *ctx)
{
    amg_cycle c = {.ctx = ctx};

    c.options = amg_options(TESS_AMG_PRECISION_FP64).amg;
    c.options.smoother = TESS_AMG_FSAI;
    return c;
}

/* The smoother of a level whose matrix is on the host, or on the device of a GPU's context. */
static tess_status smooth_level(tess_context *ctx, const oracle_csr *a, bool on_device, tess_precond **out)
{
    const amg_cycle c = cycle_of(ctx);
    amg_cycle_level l = {.n = a->nrows, .precision = TESS_PRECISION_FP64};
    double *scale = scale_of(a), *own = NULL;
    tess_matrix *matrix = make_matrix(ctx, a);
    host_csr h = {.nrows = a->nrows, .ncols = a->ncols, .row_ptr = a->row_ptr, .col_ind = a->col_ind, .val = a->val};
    device_csr d = {0};
    tess_status status = TESS_SUCCESS;

    if (on_device) {
        device_csr_borrow(matrix, &d);
        assert_ok(ctx, tess_device_upload(ctx, scale, a->nrows, sizeof *scale, (void **)&own));
        status = amg_factor_device_level(&c, &d, own, &l);
        tess_device_release(ctx, own, a->nrows, sizeof *own);
    } else {
        status = amg_factor_level(&c, &(amg_scaled){&h, scale, scale}, &l);
    }
    *out = l.factors;
    tess_matrix_destroy(matrix);
    free(scale);
    return status;
}

enum { LEVELS = 8 };

static oracle_csr level_of(int k)
{
    oracle_csr a = k == 0   ? oracle_laplace2d(12)
                   : k == 1 ? random_dominant(150, 6, false, 4)
                   : k == 2 ? random_dominant(300, 20, true, 5) /* rows of A^2 are cut */
                   : k == 6 ? oracle_open(3, 3)
                   : k == 7 ? oracle_open(0, 0)
                            : random_dominant(150, 6, true, 6);

    for (int64_t i = 0; i < a.nrows; i++) {
        if (k == 6) { /* an empty row */
            if (i != 1) { oracle_push(&a, i, 2.0); }
            oracle_end_row(&a, i);
        }
        for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
            if (k == 3 && a.col_ind[e] == i && i % 2 == 1) { a.val[e] = -a.val[e]; }  /* two signs */
            if (k == 4 && i == 70 && a.col_ind[e] < i) { a.val[e] *= 1.0 + 0x1p-48; } /* but for rounding */
            if (k == 5 && i == 70 && a.col_ind[e] < i) { a.val[e] *= 1.0 + 0x1p-20; }
        }
    }
    return a;
}

/* fsai where the level is symmetric and its diagonal has one sign, else isai; none where that has no inverse. */
static void levels_get_the_inverse_that_suits(void **state)
{
    static const tess_precond_kind kinds[LEVELS] = {TESS_PRECOND_FSAI, TESS_PRECOND_ISAI, TESS_PRECOND_FSAI,
                                                    TESS_PRECOND_ISAI, TESS_PRECOND_FSAI, TESS_PRECOND_ISAI,
                                                    TESS_PRECOND_NONE, TESS_PRECOND_NONE};
    const bool on_device = TEST_DEVICE == TESS_DEVICE_GPU;
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < LEVELS; k++) {
        oracle_csr a = level_of(k);
        const int64_t before = ctx->held_bytes;
        double *r = random_values(a.nrows, 3, -1.0, 1.0), *z = test_allocate(a.nrows, sizeof *z),
               *expected = test_allocate(a.nrows, sizeof *expected);
        tess_precond *m = NULL, *of_host = NULL;

        assert_int_equal(smooth_level(ctx, &a, on_device, &m), k == 6 ? TESS_SINGULAR : TESS_SUCCESS);
        if (kinds[k] != TESS_PRECOND_NONE) {
            assert_int_equal(m->kind, kinds[k]);
            assert_null(m->matrix); /* and no copy of the level */
            assert_in_range(ctx->held_bytes - before, tess_precond_bytes(m), tess_precond_bytes(m) + 16384);
            assert_ok(ctx, smooth_level(ctx, &a, false, &of_host));
            apply_precond(m, a.nrows, r, z);
            apply_precond(of_host, a.nrows, r, expected);
            assert_memory_equal(z, expected, (size_t)a.nrows * sizeof *z);
        }
        tess_precond_destroy(m);
        tess_precond_destroy(of_host);
        assert_in_range(ctx->held_bytes - before, 0, 1024); /* of the context, of a GPU */
        free(r);
        free(z);
        free(expected);
        oracle_free(&a);
    }
    tess_context_destroy(ctx);
}

/* ---- new values ---- */

/* The hierarchy and the cycle of a matrix. */
typedef struct levels {
    amg_hierarchy h;
    amg_cycle c;
} levels;

static void open_levels(tess_context *ctx, const tess_matrix *a, levels *out)
{
    memset(out, 0, sizeof *out);
    out->c = cycle_of(ctx);
    out->h.ctx = ctx;
    out->h.options = out->c.options;
    assert_ok(ctx, amg_hierarchy_build(&out->h, a));
    assert_int_equal(out->h.device != NULL, TEST_DEVICE == TESS_DEVICE_GPU);
    assert_ok(ctx, amg_cycle_open(&out->c, &out->h, TESS_AMG_PRECISION_FP64, false));
}

static void close_levels(levels *l)
{
    amg_cycle_close(&l->c);
    amg_hierarchy_close(&l->h);
}

/* The finest level has the inverse of the new values, once more after values without one. */
static void new_values_get_new_inverses(void **state)
{
    oracle_csr a = oracle_laplace2d(20), other = oracle_copy(&a);
    const int64_t n = a.nrows;
    double *factor = random_values(n, 3, 0.5, 2.0), *r = random_values(n, 4, -1.0, 1.0),
           *z = test_allocate(n, sizeof *z), *old = test_allocate(n, sizeof *old),
           *expected = test_allocate(n, sizeof *expected);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &a), *second = NULL;
    levels renewed, fresh;

    (void)state;
    for (int64_t i = 0; i < n; i++) { /* symmetric, and with weights of another order */
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            other.val[k] *= a.col_ind[k] == i ? 2.0 + factor[i] : factor[i] * factor[a.col_ind[k]] / 4.0;
        }
    }
    second = make_matrix(ctx, &other);
    open_levels(ctx, matrix, &renewed);
    open_levels(ctx, second, &fresh);
    apply_precond(renewed.c.level[0].factors, n, r, old);
    for (int pass = 0; pass < 2; pass++) {
        const oracle_csr *given = pass == 0 ? &other : &a;

        assert_ok(ctx, tess_matrix_update_values(matrix, given->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, amg_hierarchy_renew(&renewed.h, matrix));
        assert_ok(ctx, renewed.h.device ? amg_device_renew_cycle(&renewed.c, &renewed.h, TESS_AMG_PRECISION_FP64)
                                        : amg_cycle_renew(&renewed.c, &renewed.h, TESS_AMG_PRECISION_FP64));
        apply_precond(renewed.c.level[0].factors, n, r, z);
        apply_precond(fresh.c.level[0].factors, n, r, expected);
        assert_memory_equal(z, pass == 0 ? expected : old, (size_t)n * sizeof *z);
        assert_true(largest_difference(expected, old, n) > 0.01);
    }
    close_levels(&renewed);
    close_levels(&fresh);
    tess_matrix_destroy(matrix);
    tess_matrix_destroy(second);
    tess_context_destroy(ctx);
    free(factor);
    free(r);
    free(z);
    free(old);
    free(expected);
    oracle_free(&a);
    oracle_free(&other);
}

/* ---- solves ---- */

/* Symmetric and indefinite: the levels get isai, and the method says what the matrix is, or converges. */
static void indefinite_matrices_are_smoothed(void **state)
{
    oracle_csr a = random_dominant(400, 5, true, 7);
    tess_solve_options options = amg_solve(TESS_SOLVER_GMRES);
    double *b = random_values(a.nrows, 5, -1.0, 1.0);
    tess_context *ctx = open_device(2);
    solved s;

    (void)state;
    for (int64_t i = 0; i < a.nrows; i += 2) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            if (a.col_ind[k] == i) { a.val[k] = -a.val[k]; }
        }
    }
    options.precond.amg.smoother = TESS_AMG_FSAI;
    s = solve_here(ctx, &a, &options, b);
    assert_true(s.result.converged);
    check_honest(&a, b, s.x, &options, &s.result);
    discard(&s);
    tess_context_destroy(ctx);
    free(b);
    oracle_free(&a);
}

/* What stands here, for a GPU too. */
#define MULTIGRID_INVERSE_TESTS                                                                         \
    cmocka_unit_test(levels_get_the_inverse_that_suits), cmocka_unit_test(new_values_get_new_inverses), \
        cmocka_unit_test(indefinite_matrices_are_smoothed)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        MULTIGRID_INVERSE_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
