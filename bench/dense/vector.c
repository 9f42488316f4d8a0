/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOT, NRM2, AXPY and SCAL for bench_dense. What is timed is the pass that the library enqueues; results of DOT and
 * NRM2 stay on the device, for cuBLAS too. Baselines on the host are plain OpenMP loops and, where CMake found one, a
 * BLAS.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dense/dense.h"
#include "matrix/matrix.h"
#ifdef BENCH_CBLAS
#include <cblas.h>
#endif

/* x := x; y := y + 2^-10 x; x := -x: factors that keep values in every storage's range however often they are applied.
 */
static const double axpy_factor = 0x1p-10, scal_factor = -1.0;

typedef struct vector_state {
    tess_vector *x[DENSE_MAX_SETS], *y[DENSE_MAX_SETS];
    double *host_x, *host_y; /* values of every set as they are stored */
} vector_state;

static const int64_t device_sizes[] = {1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28, 0};
static const int64_t host_sizes[] = {1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 0};

/* ---- operands ---- */

static bool has_y(const dense_trial *t)
{
    return t->operation == &dense_dot || t->operation == &dense_axpy;
}

static int64_t footprint(const dense_trial *t)
{
    return (has_y(t) ? 2 : 1) * t->n * (int64_t)tess_precision_bytes(t->storage);
}

static int64_t writing_bytes(const dense_trial *t)
{
    return (has_y(t) ? 3 : 2) * t->n * (int64_t)tess_precision_bytes(t->storage);
}

static tess_status make_vector(dense_trial *t, uint64_t seed, tess_vector **out)
{
    tess_status status = tess_vector_create(t->run->ctx, t->n, t->storage, out);

    return status == TESS_SUCCESS ? tess_vector_set_random(*out, seed, -1.0, 1.0) : status;
}

static tess_status prepare(dense_trial *t)
{
    vector_state *s = bench_allocate(1, sizeof *s);
    tess_status status = TESS_SUCCESS;

    t->state = s;
    for (int k = 0; k < t->sets && status == TESS_SUCCESS; k++) {
        status = make_vector(t, 1, &s->x[k]);
        if (status == TESS_SUCCESS && has_y(t)) { status = make_vector(t, 2, &s->y[k]); }
    }
    if (status != TESS_SUCCESS) { return status; }
    s->host_x = bench_allocate((size_t)t->n, sizeof *s->host_x);
    status = tess_vector_get(s->x[0], s->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    if (status != TESS_SUCCESS || !has_y(t)) { return status; }
    s->host_y = bench_allocate((size_t)t->n, sizeof *s->host_y);
    return tess_vector_get(s->y[0], s->host_y, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

static void release(dense_trial *t)
{
    vector_state *s = t->state;

    if (!s) { return; }
    for (int k = 0; k < t->sets; k++) {
        tess_vector_destroy(s->x[k]);
        tess_vector_destroy(s->y[k]);
    }
    free(s->host_x);
    free(s->host_y);
    free(s);
}

/* The vectors of call k; without a y it is x. */
static tess_vector *x_of(const dense_trial *t, int k)
{
    return ((const vector_state *)t->state)->x[k % t->sets];
}

static tess_vector *y_of(const dense_trial *t, int k)
{
    return has_y(t) ? ((const vector_state *)t->state)->y[k % t->sets] : x_of(t, k);
}

/* ---- ours ---- */

static tess_status enqueue_sum(const dense_trial *t, tess_fused op, int k)
{
    tess_context *ctx = t->run->ctx;

    op.n = t->n;
    op.x = (tess_operand){x_of(t, k)->data, t->storage};
    op.y = (tess_operand){y_of(t, k)->data, t->storage};
    op.a = 1.0;
    op.arithmetic = t->arithmetic;
    op.state = ctx->scratch_state;
    return ctx->backend->fused(ctx, &op);
}

static tess_status our_dot(void *user, int k)
{
    return enqueue_sum(user, (tess_fused){.op = TESS_FUSED_DOT}, k);
}

static tess_status our_nrm2(void *user, int k)
{
    return enqueue_sum(user, (tess_fused){.op = TESS_FUSED_SQUARES}, k);
}

static tess_status our_axpy(void *user, int k)
{
    const dense_trial *t = user;

    return tess_vector_axpby(axpy_factor, x_of(t, k), 1.0, y_of(t, k), t->arithmetic);
}

static tess_status our_scal(void *user, int k)
{
    const dense_trial *t = user;

    return tess_vector_scale(scal_factor, x_of(t, k), t->arithmetic);
}

/* ---- checks: in long double on the stored values, against the bounds of tessera/vector.h ---- */

static double sum_gamma(const dense_trial *t)
{
    return dense_gamma(dense_unit_roundoff(t), ceil((double)t->n / 4096.0) + 512.0);
}

/* What the timed pass left; the public operations are held to their bound as well. */
static tess_status check_sum(const dense_trial *t, double squared, double result, double *error)
{
    const vector_state *s = t->state;
    const double *x = s->host_x, *y = has_y(t) ? s->host_y : s->host_x;
    long double magnitude = 0.0L, exact = bench_exact_dot(t->n, x, y, &magnitude);

    *error = (double)(fabsl((long double)squared - exact) / (sum_gamma(t) * magnitude));
    if (!has_y(t)) { exact = magnitude = sqrtl(exact); }
    *error = fmax(*error, (double)(fabsl((long double)result - exact) / (sum_gamma(t) * magnitude)));
    return TESS_SUCCESS;
}

static tess_status check_reduction(dense_trial *t, bench_call call, double *error)
{
    const vector_state *s = t->state;
    tess_context *ctx = t->run->ctx;
    tess_loop_state left;
    double result = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(call(t, 0));
    TESS_TRY(ctx->backend->download(ctx, &left, ctx->scratch_state, sizeof left));
    TESS_TRY(has_y(t) ? tess_vector_dot(s->x[0], s->y[0], t->arithmetic, &result)
                      : tess_vector_norm2(s->x[0], t->arithmetic, &result));
    status = check_sum(t, left.dots[0], result, error);
cleanup:
    return status;
}

/* Half the spacing of `storage` at `value`. */
static double storage_rounding(tess_precision storage, double value)
{
    return fmax(tess_precision_unit_roundoff(storage) * fabs(value), 0.5 * tess_precision_smallest(storage));
}

static tess_status check_update(dense_trial *t, bench_call call, double *error)
{
    const vector_state *s = t->state;
    bool axpy = has_y(t);
    double *out = bench_allocate((size_t)t->n, sizeof *out), worst = 0.0;
    double gamma = dense_gamma(dense_unit_roundoff(t), 2.0);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_set_random(y_of(t, 0), axpy ? 2 : 1, -1.0, 1.0));
    TESS_TRY(call(t, 0));
    TESS_TRY(tess_vector_get(y_of(t, 0), out, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
#pragma omp parallel for reduction(max : worst)
    for (int64_t i = 0; i < t->n; i++) {
        long double term = (axpy ? axpy_factor : scal_factor) * (long double)s->host_x[i];
        long double y = axpy ? (long double)s->host_y[i] : 0.0L;
        double bound = gamma * (double)(fabsl(term) + fabsl(y));

        bound += storage_rounding(t->storage, (double)fabsl(term + y) + bound);
        worst = fmax(worst, (double)fabsl((long double)out[i] - (term + y)) / bound);
        if (isnan(out[i])) { worst = INFINITY; }
    }
    *error = worst;
cleanup:
    free(out);
    return status;
}

/* ---- cuBLAS ---- */

static tess_status cublas_dot(void *user, int k)
{
    const dense_trial *t = user;

    return t->cublas->dot(t->cublas, t->storage, t->n, x_of(t, k)->data, y_of(t, k)->data);
}

static tess_status cublas_nrm2(void *user, int k)
{
    const dense_trial *t = user;

    return t->cublas->nrm2(t->cublas, t->storage, t->n, x_of(t, k)->data);
}

static tess_status cublas_axpy(void *user, int k)
{
    const dense_trial *t = user;

    return t->cublas->axpy(t->cublas, t->storage, t->n, axpy_factor, x_of(t, k)->data, y_of(t, k)->data);
}

static tess_status cublas_scal(void *user, int k)
{
    const dense_trial *t = user;

    return t->cublas->scal(t->cublas, t->storage, t->n, scal_factor, x_of(t, k)->data);
}

/* ---- the host's baselines: arithmetic in the precision of the storage ---- */

static volatile double sink;

static bool loop_fits(const dense_trial *t)
{
    return !t->run->gpu && tess_precision_bytes(t->storage) >= 4;
}

static double sum_fp64(int threads, int64_t n, const double *x, const double *y)
{
    double sum = 0.0;

#pragma omp parallel for simd num_threads(threads) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static double sum_fp32(int threads, int64_t n, const float *x, const float *y)
{
    float sum = 0.0F;

#pragma omp parallel for simd num_threads(threads) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return (double)sum;
}

/* y := a x + b y; x may be y. */
static void update_fp64(int threads, int64_t n, double a, const double *x, double b, double *y)
{
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        y[i] = a * x[i] + b * y[i];
    }
}

static void update_fp32(int threads, int64_t n, float a, const float *x, float b, float *y)
{
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        y[i] = a * x[i] + b * y[i];
    }
}

static tess_status loop_sum(void *user, int k)
{
    const dense_trial *t = user;
    const void *x = x_of(t, k)->data, *y = y_of(t, k)->data;
    const int threads = t->run->ctx->threads;

    sink = t->storage == TESS_PRECISION_FP64 ? sum_fp64(threads, t->n, x, y) : sum_fp32(threads, t->n, x, y);
    return TESS_SUCCESS;
}

static tess_status loop_update(void *user, int k)
{
    const dense_trial *t = user;
    const void *x = x_of(t, k)->data;
    void *y = y_of(t, k)->data;
    const double a = has_y(t) ? axpy_factor : 0.0, b = has_y(t) ? 1.0 : scal_factor;
    const int threads = t->run->ctx->threads;

    if (t->storage == TESS_PRECISION_FP64) { update_fp64(threads, t->n, a, x, b, y); }
    if (t->storage == TESS_PRECISION_FP32) { update_fp32(threads, t->n, (float)a, x, (float)b, y); }
    return TESS_SUCCESS;
}

#ifdef BENCH_CBLAS
static tess_status cblas_call(void *user, int k)
{
    const dense_trial *t = user;
    void *x = x_of(t, k)->data, *y = y_of(t, k)->data;
    const bool fp64 = t->storage == TESS_PRECISION_FP64;
    const int n = (int)t->n;

    if (t->operation == &dense_dot) {
        sink = fp64 ? cblas_ddot(n, x, 1, y, 1) : (double)cblas_sdot(n, x, 1, y, 1);
    } else if (t->operation == &dense_nrm2) {
        sink = fp64 ? cblas_dnrm2(n, x, 1) : (double)cblas_snrm2(n, x, 1);
    } else if (t->operation == &dense_axpy) {
        fp64 ? cblas_daxpy(n, axpy_factor, x, 1, y, 1) : cblas_saxpy(n, (float)axpy_factor, x, 1, y, 1);
    } else {
        fp64 ? cblas_dscal(n, scal_factor, x, 1) : cblas_sscal(n, (float)scal_factor, x, 1);
    }
    return TESS_SUCCESS;
}
#define CBLAS_BASELINE                \
    {                                 \
        "BLAS", loop_fits, cblas_call \
    }
#else
#define CBLAS_BASELINE   \
    {                    \
        NULL, NULL, NULL \
    }
#endif

/* ---- the operations ---- */

#define VECTOR_OPERATION(NAME, BYTES, CHECK, LOOP)                                                                     \
    {                                                                                                                  \
        .name = #NAME, .device_sizes = device_sizes, .host_sizes = host_sizes, .footprint = footprint,                 \
        .bytes = (BYTES), .prepare = prepare, .ours = our_##NAME, .check = (CHECK), .release = release, .baselines = { \
            {"cuBLAS", dense_cublas_fits, cublas_##NAME},                                                              \
            {"loop", loop_fits, (LOOP)},                                                                               \
            CBLAS_BASELINE                                                                                             \
        }                                                                                                              \
    }

const dense_operation dense_dot = VECTOR_OPERATION(dot, footprint, check_reduction, loop_sum);
const dense_operation dense_nrm2 = VECTOR_OPERATION(nrm2, footprint, check_reduction, loop_sum);
const dense_operation dense_axpy = VECTOR_OPERATION(axpy, writing_bytes, check_update, loop_update);
const dense_operation dense_scal = VECTOR_OPERATION(scal, writing_bytes, check_update, loop_update);
