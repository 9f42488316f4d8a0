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

#define U32 0x1p-24
#define LEAST_NORMAL_FP16 0x1p-14

/* y := 2 A x - base / 2 and total := total + y / 4 in FP32, with vectors that begin `shift` elements behind a line. */
static void check_step_from(const products *t, const oracle_csr *a, const tess_matrix *low, int shift, double rounding)
{
    const int64_t n = t->a.nrows, apart = (n + 63) / 32 * 32;
    float *host = test_allocate(5 * apart, sizeof *host), *device = NULL, *base = NULL;
    double *wide_total = NULL, *exact = test_allocate(n, sizeof *exact), *size = test_allocate(n, sizeof *size);

    for (int64_t i = 0; i < 5 * apart; i++) {
        host[i] = (float)(i % 13 - 6) / 8.0f;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            exact[i] += a->val[k] * (double)host[shift + a->col_ind[k]];
            size[i] += fmax(fabs(a->val[k]), LEAST_NORMAL_FP16) * fabs((double)host[shift + a->col_ind[k]]);
        }
    }
    assert_ok(t->ctx, tess_device_allocate(t->ctx, 5 * apart, sizeof *device, (void **)&device));
    assert_ok(t->ctx, tess_device_allocate(t->ctx, n, sizeof *wide_total, (void **)&wide_total));
    for (int widens = 0; widens < 2; widens++) {
        base = device + shift;
        assert_ok(t->ctx, t->ctx->backend->upload(t->ctx, device, host, (size_t)(5 * apart) * sizeof *host));

        const tess_spmv_args args = {.vectors = TESS_PRECISION_FP32,
                                     .x_fp32 = base,
                                     .y_fp32 = base + apart,
                                     .alpha = 2.0,
                                     .beta = -0.5,
                                     .update = {.kind = TESS_UPDATE_POLYNOMIAL,
                                                .base = base + 2 * apart,
                                                .total = base + 3 * apart,
                                                .wide_total = widens ? wide_total : NULL,
                                                .gamma = 0.25}};

        float *out = test_allocate(5 * apart, sizeof *out);

        assert_ok(t->ctx, low->ops->spmv(low, &args));
        assert_ok(t->ctx, t->ctx->backend->download(t->ctx, out, device, (size_t)(5 * apart) * sizeof *out));
        if (widens) {
            assert_ok(t->ctx, t->ctx->backend->download(t->ctx, t->out, wide_total, (size_t)n * sizeof *t->out));
        }
        for (int64_t i = 0; i < n; i++) {
            const double old = (double)host[shift + 2 * apart + i], total = (double)host[shift + 3 * apart + i];
            const double y = 2.0 * exact[i] - 0.5 * old, most = 2.0 * rounding * size[i] + 4.0 * U32 * (fabs(y) + 1.0);
            const double sum = widens ? t->out[i] : (double)out[shift + 3 * apart + i];

            assert_at_most(fabs((double)out[shift + apart + i] - y), most);
            assert_at_most(fabs(sum - (total + 0.25 * y)), most + 4.0 * U32 * fabs(total));
        }
        for (int64_t i = 0; i < 5 * apart; i++) { /* nothing else is written */
            const int64_t at = i - shift, vector = at < 0 ? 0 : at / apart;
            const bool written = at >= 0 && at % apart < n && (vector == 1 || (vector == 3 && !widens));

            assert_true(written || out[i] == host[i]);
        }
        free(out);
    }
    tess_device_release(t->ctx, device, 5 * apart, sizeof *device);
    tess_device_release(t->ctx, wide_total, n, sizeof *wide_total);
    free(host);
    free(exact);
    free(size);
}

/* Vectors that packs of two and four elements fit, and others. */
static void steps_begin_anywhere(void **state)
{
    const struct {
        tess_precision precision;
        double rounding;
    } stored[] = {{TESS_PRECISION_FP64, 0.0}, {TESS_PRECISION_FP32, U32}, {TESS_PRECISION_FP16, 0x1p-11}};

    (void)state;
    for (int b = 0; b < BANDS; b++) {
        products t = open_products(&bands[b]);

        for (size_t p = 0; t.a.nrows == t.a.ncols && p < sizeof stored / sizeof *stored; p++) {
            tess_matrix *low = to_diagonals(t.m, stored[p].precision);

            for (int shift = 0; shift < 5; shift++) {
                check_step_from(&t, &t.a, low, shift, stored[p].rounding + 12.0 * U32);
            }
            tess_matrix_destroy(low);
        }
        close_products(&t);
    }
}

#define DIA_PRODUCT_TESTS                                                                              \
    cmocka_unit_test(residuals_come_with_their_dot_products), cmocka_unit_test(steps_of_a_polynomial), \
        cmocka_unit_test(steps_begin_anywhere)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        DIA_PRODUCT_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
