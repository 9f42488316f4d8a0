/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What solvers ask of products with DIA: y = r - A x with dot products, and steps of a polynomial.
 * tests/gpu/test_dia_products.c runs the same tests on a GPU.
 */
#include "matrix/matrix.h"
#include "support/bands.h"

typedef struct products {
    tess_context *ctx;
    oracle_csr a;
    tess_matrix *m, *stored;
    tess_vector *x, *y, *r;
    double *ax, *host_r, *out;
} products;

static products open_products(const band *b)
{
    products t = {.ctx = open_device(2), .a = make_band(b)};
    double *x = random_values(t.a.ncols, 8, -1.0, 1.0);

    t.m = make_matrix(t.ctx, &t.a);
    t.stored = to_diagonals(t.m, TESS_PRECISION_FP64);
    t.host_r = random_values(t.a.nrows, 9, -1.0, 1.0);
    t.ax = test_allocate(t.a.nrows, sizeof *t.ax);
    t.out = test_allocate(t.a.nrows, sizeof *t.out);
    t.x = make_vector(t.ctx, t.a.ncols, x);
    t.y = make_zeros(t.ctx, t.a.nrows);
    t.r = make_vector(t.ctx, t.a.nrows, t.host_r);
    assert_ok(t.ctx, tess_matrix_spmv(t.stored, TESS_OP_NONE, 1.0, t.x, 0.0, t.y));
    read_vector(t.y, t.ax);
    free(x);
    return t;
}

static void close_products(products *t)
{
    tess_vector_destroy(t->x);
    tess_vector_destroy(t->y);
    tess_vector_destroy(t->r);
    tess_matrix_destroy(t->stored);
    tess_matrix_destroy(t->m);
    tess_context_destroy(t->ctx);
    oracle_free(&t->a);
    free(t->ax);
    free(t->host_r);
    free(t->out);
}

static void residuals_come_with_their_dot_products(void **state)
{
    (void)state;
    for (int ndots = 0; ndots <= 2; ndots++) {
        products t = open_products(&bands[0]);
        tess_spmv_args args = {.x = t.x->data, .y = t.y->data, .alpha = 1.0, .residual = t.r->data};
        tess_loop_state *device = NULL, local;
        wide dot[2] = {0, 0};

        memset(&local, 0, sizeof local);
        local.phase = TESS_LOOP_RUNNING;
        assert_ok(t.ctx, tess_device_allocate(t.ctx, 1, sizeof *device, (void **)&device));
        assert_ok(t.ctx, t.ctx->backend->upload(t.ctx, device, &local, sizeof local));
        args.reduction = (tess_reduction){
            .ndots = ndots, .with = {args.y, args.residual}, .scalar = TESS_SCALAR_NONE, .state = device};
        assert_ok(t.ctx, t.stored->ops->prepare(t.stored));
        assert_ok(t.ctx, t.stored->ops->spmv(t.stored, &args));
        assert_ok(t.ctx, t.ctx->backend->download(t.ctx, &local, device, sizeof local));
        read_vector(t.y, t.out);
        for (int64_t i = 0; i < t.a.nrows; i++) {
            assert_true(t.out[i] == t.host_r[i] - t.ax[i]);
            dot[0] += (wide)t.out[i] * (wide)t.out[i];
            dot[1] += (wide)t.out[i] * (wide)t.host_r[i];
        }
        for (int k = 0; k < ndots; k++) {
            assert_at_most(fabs(local.dots[k] - (double)dot[k]), 1e-13 * (double)t.a.nrows);
        }
        tess_device_release(t.ctx, device, 1, sizeof *device);
        close_products(&t);
    }
}

/* y := alpha A x + beta base, total := total + gamma y. */
static void steps_of_a_polynomial(void **state)
{
    products t = open_products(&bands[0]);
    tess_vector *total = make_vector(t.ctx, t.a.nrows, t.host_r);
    tess_spmv_args args = {.x = t.x->data, .y = t.y->data, .alpha = 2.0, .beta = -0.5};

    (void)state;
    args.update = (tess_update){.kind = TESS_UPDATE_POLYNOMIAL, .base = t.r->data, .total = total->data, .gamma = 0.25};
    assert_ok(t.ctx, t.stored->ops->spmv(t.stored, &args));
    read_vector(t.y, t.out);
    for (int64_t i = 0; i < t.a.nrows; i++) {
        assert_at_most(fabs(t.out[i] - (2.0 * t.ax[i] - 0.5 * t.host_r[i])), 1e-14);
    }
    memcpy(t.ax, t.out, (size_t)t.a.nrows * sizeof *t.ax);
    read_vector(total, t.out);
    for (int64_t i = 0; i < t.a.nrows; i++) {
        assert_at_most(fabs(t.out[i] - (t.host_r[i] + 0.25 * t.ax[i])), 1e-14);
    }
    tess_vector_destroy(total);
    close_products(&t);
}

#define DIA_PRODUCT_TESTS \
    cmocka_unit_test(residuals_come_with_their_dot_products), cmocka_unit_test(steps_of_a_polynomial)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        DIA_PRODUCT_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
