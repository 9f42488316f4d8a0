/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of CG and MINRES over their vectors, in numbers that no rounding changes: any length, with and without a
 * diagonal, at any place in memory, in each phase of a loop. tests/gpu/test_fused.c runs the same tests on a GPU.
 */
#include "matrix/matrix.h"
#include "support/test.h"

enum { MOST = 300001, EDGE = 4 };
static const int64_t lengths[] = {0, 1, 2, 3, 31, 512, 513, 65535, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
static const double alpha = 0.5, beta = 0.25;

/* A vector on the device, `shift` doubles from the beginning of its memory, followed by EDGE doubles that must not be
   written. */
typedef struct device_values {
    double *memory, *data;
    double *host; /* its expected contents */
    int64_t n;
} device_values;

static double value_of(int64_t i, int seed)
{
    return (double)((i * (seed + 3) + seed) % 17 - 8) * 4.0;
}

static device_values make_values(tess_context *ctx, int64_t n, int shift, int seed)
{
    device_values v = {.host = test_allocate(n + EDGE, sizeof(double)), .n = n};

    for (int64_t i = 0; i < n + EDGE; i++) {
        v.host[i] = i < n ? value_of(i, seed) : 1e300;
    }
    assert_ok(ctx, tess_device_allocate(ctx, n + 2 * EDGE, sizeof *v.memory, (void **)&v.memory));
    v.data = v.memory + shift;
    assert_ok(ctx, ctx->backend->upload(ctx, v.data, v.host, (size_t)(n + EDGE) * sizeof *v.host));
    return v;
}

/* Compares the vector on the device with v->host, and frees both. */
static void check_values(tess_context *ctx, device_values *v)
{
    double *now = test_allocate(v->n + EDGE, sizeof *now);

    assert_ok(ctx, ctx->backend->download(ctx, now, v->data, (size_t)(v->n + EDGE) * sizeof *now));
    for (int64_t i = 0; i < v->n + EDGE; i++) {
        if (now[i] != v->host[i]) { fail_msg("element %lld of %lld", (long long)i, (long long)v->n); }
    }
    tess_device_release(ctx, v->memory, v->n + 2 * EDGE, sizeof *v->memory);
    free(now);
    free(v->host);
}

/* Runs the operation in a loop's phase; the dot products are left in dots. */
static void run(tess_context *ctx, tess_fused op, int phase, double *dots)
{
    tess_loop_state *device = NULL, state = {.alpha = alpha, .beta = beta, .phase = phase};

    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *device, (void **)&device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, &state, sizeof state));
    op.state = device;
    assert_ok(ctx, ctx->backend->fused(ctx, &op));
    assert_ok(ctx, ctx->backend->download(ctx, &state, device, sizeof state));
    memcpy(dots, state.dots, 2 * sizeof *dots);
    tess_device_release(ctx, device, 1, sizeof *device);
}

/* r -= alpha q with (r, r) and (r, D^-1 r); nothing once the loop has stopped. */
static void check_residual(tess_context *ctx, int64_t n, int shift, bool scaled, bool runs)
{
    device_values q = make_values(ctx, n, shift, 1), r = make_values(ctx, n, 0, 2), scale = make_values(ctx, n, 0, 3);
    double dots[2], expected[2] = {0.0, 0.0};

    run(ctx,
        (tess_fused){
            .op = TESS_FUSED_CG_RESIDUAL, .n = n, .in = {q.data}, .out = {r.data}, .scale = scaled ? scale.data : NULL},
        runs ? TESS_LOOP_RUNNING : TESS_LOOP_STOPPED, dots);
    for (int64_t i = 0; i < n && runs; i++) {
        r.host[i] -= alpha * q.host[i];
        expected[0] += r.host[i] * r.host[i];
        expected[1] += r.host[i] * r.host[i] * (scaled ? scale.host[i] : 1.0);
    }
    assert_true(dots[0] == expected[0] && dots[1] == expected[1]);
    check_values(ctx, &q);
    check_values(ctx, &r);
    check_values(ctx, &scale);
}

/* x += alpha p; p = D^-1 z + beta p: also in the iteration that ends the loop. */
static void check_direction(tess_context *ctx, int64_t n, int shift, bool scaled, int phase)
{
    device_values z = make_values(ctx, n, 0, 1), x = make_values(ctx, n, shift, 2), p = make_values(ctx, n, 0, 3),
                  scale = make_values(ctx, n, 0, 4);
    double dots[2];

    run(ctx,
        (tess_fused){.op = TESS_FUSED_CG_DIRECTION,
                     .n = n,
                     .in = {z.data},
                     .out = {x.data, p.data},
                     .scale = scaled ? scale.data : NULL,
                     .finishing = true},
        phase, dots);
    for (int64_t i = 0; i < n && phase != TESS_LOOP_STOPPED; i++) {
        x.host[i] += alpha * p.host[i];
        p.host[i] = z.host[i] * (scaled ? scale.host[i] : 1.0) + beta * p.host[i];
    }
    check_values(ctx, &z);
    check_values(ctx, &x);
    check_values(ctx, &p);
    check_values(ctx, &scale);
}

/* A vector one double further on cannot be read in pairs. */
static void residuals_and_directions_are_exact(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 0; k < 4 * LENGTHS; k++) {
        const int64_t n = lengths[k / 4];
        const int shift = k % 2;
        const bool scaled = k / 2 % 2 != 0;

        check_residual(ctx, n, shift, scaled, true);
        check_direction(ctx, n, shift, scaled, TESS_LOOP_RUNNING);
    }
    tess_context_destroy(ctx);
}

/* Coefficients of a pass, on the device. */
static const double three[3] = {0.5, 0.25, -2.0};

static double *upload_coefficients(tess_context *ctx)
{
    double *device = NULL;

    assert_ok(ctx, tess_device_allocate(ctx, 3, sizeof *device, (void **)&device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, three, sizeof three));
    return device;
}

/* v := c0 q - c1 v - c2 v', and v' the v before; (v, v), (v, D^-1 v) */
static void check_lanczos(tess_context *ctx, int64_t n, int shift, bool scaled, const double *coefficients)
{
    device_values q = make_values(ctx, n, shift, 1), v = make_values(ctx, n, 0, 2), before = make_values(ctx, n, 0, 3),
                  scale = make_values(ctx, n, 0, 4);
    double dots[2], expected[2] = {0.0, 0.0};

    run(ctx,
        (tess_fused){.op = TESS_FUSED_MINRES_LANCZOS,
                     .n = n,
                     .in = {q.data},
                     .out = {v.data, before.data},
                     .scale = scaled ? scale.data : NULL,
                     .coefficients = coefficients},
        TESS_LOOP_RUNNING, dots);
    for (int64_t i = 0; i < n; i++) {
        const double next = three[0] * q.host[i] - three[1] * v.host[i] - three[2] * before.host[i];

        before.host[i] = v.host[i];
        v.host[i] = next;
        expected[0] += next * next;
        expected[1] += next * next * (scaled ? scale.host[i] : 1.0);
    }
    assert_true(dots[0] == expected[0] && dots[1] == expected[1]);
    check_values(ctx, &q);
    check_values(ctx, &v);
    check_values(ctx, &before);
    check_values(ctx, &scale);
}

/* m := c0 z - c1 m - c2 m', and m' the m before; z = D^-1 v, where there is a D */
static void check_minres_direction(tess_context *ctx, int64_t n, int shift, bool scaled, const double *coefficients)
{
    device_values z = make_values(ctx, n, shift, 1), m = make_values(ctx, n, 0, 2), before = make_values(ctx, n, 0, 3),
                  v = make_values(ctx, n, 0, 4), scale = make_values(ctx, n, 0, 5);
    double dots[2];

    run(ctx,
        (tess_fused){.op = TESS_FUSED_MINRES_DIRECTION,
                     .n = n,
                     .in = {z.data, v.data},
                     .out = {m.data, before.data, z.data},
                     .scale = scaled ? scale.data : NULL,
                     .coefficients = coefficients},
        TESS_LOOP_RUNNING, dots);
    for (int64_t i = 0; i < n; i++) {
        const double next = three[0] * z.host[i] - three[1] * m.host[i] - three[2] * before.host[i];

        before.host[i] = m.host[i];
        m.host[i] = next;
        if (scaled) { z.host[i] = scale.host[i] * v.host[i]; }
    }
    check_values(ctx, &z);
    check_values(ctx, &m);
    check_values(ctx, &before);
    check_values(ctx, &v);
    check_values(ctx, &scale);
}

/* x += c0 m; r := c1 r + c2 v; (r, r); nothing once the loop has stopped. */
static void check_advance(tess_context *ctx, int64_t n, int shift, bool runs, const double *coefficients)
{
    device_values m = make_values(ctx, n, shift, 1), v = make_values(ctx, n, 0, 2), x = make_values(ctx, n, 0, 3),
                  r = make_values(ctx, n, 0, 4);
    double dots[2], expected = 0.0;

    run(ctx,
        (tess_fused){.op = TESS_FUSED_ADVANCE,
                     .n = n,
                     .in = {m.data, v.data},
                     .out = {x.data, r.data},
                     .coefficients = coefficients},
        runs ? TESS_LOOP_RUNNING : TESS_LOOP_STOPPED, dots);
    for (int64_t i = 0; i < n && runs; i++) {
        x.host[i] += three[0] * m.host[i];
        r.host[i] = three[1] * r.host[i] + three[2] * v.host[i];
        expected += r.host[i] * r.host[i];
    }
    assert_true(dots[0] == expected);
    check_values(ctx, &m);
    check_values(ctx, &v);
    check_values(ctx, &x);
    check_values(ctx, &r);
}

static void passes_of_minres_are_exact(void **state)
{
    tess_context *ctx = open_device(2);
    double *coefficients = upload_coefficients(ctx);

    (void)state;
    for (int k = 0; k < 4 * LENGTHS; k++) {
        const int64_t n = lengths[k / 4];
        const int shift = k % 2;
        const bool flag = k / 2 % 2 != 0;

        check_lanczos(ctx, n, shift, flag, coefficients);
        check_minres_direction(ctx, n, shift, flag, coefficients);
        check_advance(ctx, n, shift, flag, coefficients);
    }
    tess_device_release(ctx, coefficients, 3, sizeof *coefficients);
    tess_context_destroy(ctx);
}

static void phases_are_kept(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int shift = 0; shift < 2; shift++) {
        check_residual(ctx, 1001, shift, false, false);
        check_direction(ctx, 1001, shift, true, TESS_LOOP_FINISHING);
        check_direction(ctx, 1001, shift, false, TESS_LOOP_STOPPED);
    }
    tess_context_destroy(ctx);
}

#define FUSED_TESTS                                                                                     \
    cmocka_unit_test(residuals_and_directions_are_exact), cmocka_unit_test(passes_of_minres_are_exact), \
        cmocka_unit_test(phases_are_kept)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        FUSED_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
