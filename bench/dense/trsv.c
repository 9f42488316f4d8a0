/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRSV for bench_dense (Gruetzmacher et al. 2023, section 4.3): lower and upper, transposed or not, the diagonal blocks
 * inverted in FP64, or in FP32 (names that end in -i32). The time includes the inversion. x is stored as T is, below
 * FP32 in FP32. A solve overwrites its right-hand side, so that repeated ones grow: every 64th call begins with the
 * first one again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/codec.h>

#include "base/random.h"
#include "dense/dense.h"
#include "matrix/matrix.h"

/* What sets one operation apart; it begins with the operation, which the trial points to. */
typedef struct trsv_operation {
    dense_operation base;
    tess_trsv_options options;
} trsv_operation;

/* Block of the bound, samples of the check, calls before x is renewed, different values on the diagonal. */
enum { BLOCK = 64, CHECKED_BLOCKS = 6, RENEWAL = 64, DIAGONALS = 31 };

/*
 * Element e of T's array is value[e % period]. With a period of DIAGONALS (n + 1) the diagonal lies at the multiples of
 * n + 1, where the pattern has values near one; elsewhere they are small enough that the inverse stays moderate.
 */
typedef struct trsv_state {
    int64_t period;
    char *stored;
    double *value;
    double *b; /* as x stores it */
    char *stored_b;
    tess_dense_view a[DENSE_MAX_SETS], x[DENSE_MAX_SETS];
    void *first_x; /* on the device */
} trsv_state;

static tess_trsv_options options_of(const dense_trial *t)
{
    tess_trsv_options options = ((const trsv_operation *)t->operation)->options;

    options.arithmetic = t->arithmetic;
    return options;
}

static tess_precision vector_precision(const dense_trial *t)
{
    return tess_precision_bytes(t->storage) < 4 ? TESS_PRECISION_FP32 : t->storage;
}

static int64_t vector_bytes(const dense_trial *t)
{
    return t->n * (int64_t)tess_precision_bytes(vector_precision(t));
}

static int64_t array_bytes(const dense_trial *t)
{
    return t->n * t->n * (int64_t)tess_precision_bytes(t->storage);
}

/* Of the cache's share: the triangle; the rest of the array is not read. */
static int64_t moved_bytes(const dense_trial *t)
{
    return t->n * (t->n + 1) / 2 * (int64_t)tess_precision_bytes(t->storage) + 2 * vector_bytes(t);
}

/* ---- operands ---- */

static void make_pattern(const dense_trial *t, trsv_state *s)
{
    const double small = 0.5 / sqrt((double)t->n);
    const tess_precision vector = vector_precision(t);

    s->period = DIAGONALS * (t->n + 1);
    s->stored = bench_allocate((size_t)s->period, tess_precision_bytes(t->storage));
    s->value = bench_allocate((size_t)s->period, sizeof *s->value);
    for (int64_t e = 0; e < s->period; e++) {
        const double random = tess_random_in(1, (uint64_t)e, -1.0, 1.0);
        const double diagonal = random < 0.0 ? -1.0 + 0.25 * random : 1.0 + 0.25 * random;

        tess_store(t->storage, s->stored, e, e % (t->n + 1) == 0 ? diagonal : small * random, TESS_OVERFLOW_INFINITY);
        s->value[e] = tess_load(t->storage, s->stored, e);
    }
    s->b = bench_allocate((size_t)t->n, sizeof *s->b);
    s->stored_b = bench_allocate((size_t)t->n, tess_precision_bytes(vector));
    for (int64_t i = 0; i < t->n; i++) {
        tess_store(vector, s->stored_b, i, tess_random_in(2, (uint64_t)i, -1.0, 1.0), TESS_OVERFLOW_INFINITY);
        s->b[i] = tess_load(vector, s->stored_b, i);
    }
}

static tess_status prepare(dense_trial *t)
{
    tess_context *ctx = t->run->ctx;
    trsv_state *s = bench_allocate(1, sizeof *s);
    tess_status status = TESS_SUCCESS;

    *s = (trsv_state){.period = 0};
    t->state = s;
    make_pattern(t, s);
    TESS_TRY(tess_device_allocate(ctx, vector_bytes(t), 1, &s->first_x));
    TESS_TRY(ctx->backend->upload(ctx, s->first_x, s->stored_b, (size_t)vector_bytes(t)));
    for (int k = 0; k < t->sets; k++) {
        s->a[k] = (tess_dense_view){.nrows = t->n, .ncols = t->n, .ld = t->n, .precision = t->storage};
        s->x[k] = (tess_dense_view){.nrows = t->n, .ncols = 1, .ld = t->n, .precision = vector_precision(t)};
        TESS_TRY(tess_device_allocate(ctx, array_bytes(t), 1, &s->a[k].data));
        TESS_TRY(dense_fill(ctx, s->a[k].data, t->n * t->n, s->stored, s->period,
                            (int64_t)tess_precision_bytes(t->storage)));
        TESS_TRY(tess_device_allocate(ctx, vector_bytes(t), 1, &s->x[k].data));
        TESS_TRY(ctx->backend->copy(ctx, s->x[k].data, s->first_x, (size_t)vector_bytes(t)));
    }
cleanup:
    return status;
}

static void release(dense_trial *t)
{
    tess_context *ctx = t->run->ctx;
    trsv_state *s = t->state;

    if (!s) { return; }
    (void)ctx->backend->synchronize(ctx);
    for (int k = 0; k < t->sets; k++) {
        tess_device_release(ctx, s->a[k].data, array_bytes(t), 1);
        tess_device_release(ctx, s->x[k].data, vector_bytes(t), 1);
    }
    tess_device_release(ctx, s->first_x, vector_bytes(t), 1);
    free(s->stored);
    free(s->value);
    free(s->b);
    free(s->stored_b);
    free(s);
}

/* ---- calls ---- */

static tess_status renew(const dense_trial *t, int k)
{
    const trsv_state *s = t->state;
    tess_context *ctx = t->run->ctx;

    if (k / t->sets % RENEWAL != 0) { return TESS_SUCCESS; }
    return ctx->backend->copy(ctx, s->x[k % t->sets].data, s->first_x, (size_t)vector_bytes(t));
}

static tess_status our_call(void *user, int k)
{
    const dense_trial *t = user;
    const trsv_state *s = t->state;
    const tess_trsv_options options = options_of(t);
    tess_status status = renew(t, k);

    if (status != TESS_SUCCESS) { return status; }
    return tess_trsv(t->run->ctx, &options, &s->a[k % t->sets], &s->x[k % t->sets]);
}

static tess_status cublas_call(void *user, int k)
{
    const dense_trial *t = user;
    const trsv_state *s = t->state;
    const tess_trsv_options options = options_of(t);
    tess_status status = renew(t, k);

    if (status != TESS_SUCCESS) { return status; }
    return t->cublas->trsv(t->cublas, t->storage, options.triangle, options.operation, options.diagonal, t->n,
                           s->a[k % t->sets].data, t->n, s->x[k % t->sets].data);
}

/* ---- check: all rows of some diagonal blocks, in long double, against a residual bound ---- */

typedef struct checked_block {
    long double l[BLOCK][BLOCK], inverse[BLOCK][BLOCK];
    double m[BLOCK];
} checked_block;

static double element(const dense_trial *t, int64_t row, int64_t column)
{
    const trsv_state *s = t->state;
    const bool transposed = options_of(t).operation == TESS_OP_TRANSPOSE;

    return s->value[(transposed ? column + row * t->n : row + column * t->n) % s->period];
}

static bool is_backward(const dense_trial *t)
{
    const tess_trsv_options options = options_of(t);

    return (options.triangle == TESS_UPPER) != (options.operation == TESS_OP_TRANSPOSE);
}

/* Row p of the system in the order of the solution; the same backwards. */
static int64_t in_order(const dense_trial *t, int64_t p)
{
    return is_backward(t) ? t->n - 1 - p : p;
}

static void multiply_magnitudes(long double (*matrix)[BLOCK], double *v)
{
    for (int r = BLOCK - 1; r >= 0; r--) {
        double sum = 0.0;

        for (int c = 0; c <= r; c++) {
            sum += fabs((double)matrix[r][c]) * v[c];
        }
        v[r] = sum;
    }
}

static void load_block(const dense_trial *t, int64_t first, checked_block *k)
{
    for (int column = 0; column < BLOCK; column++) {
        for (int r = column; r < BLOCK; r++) {
            long double sum = r == column ? 1.0L : 0.0L;

            k->l[r][column] = element(t, in_order(t, first + r), in_order(t, first + column));
            for (int c = column; c < r; c++) {
                sum -= (c == column ? k->l[r][column]
                                    : (long double)element(t, in_order(t, first + r), in_order(t, first + c))) *
                       k->inverse[c][column];
            }
            k->inverse[r][column] = sum / (long double)element(t, in_order(t, first + r), in_order(t, first + r));
        }
    }
}

/*
 * Largest |residual| over its bound in the rows first .. first + BLOCK - 1, counted in the order of the solution:
 * gamma_u(n + 16) m + (gamma_u(200) + gamma_v(200)) (|L||L^-1|)^3 m + u_x |T||x|, m = |b| + |T||x| over earlier blocks
 * (tests/support/trsv.c has the derivation).
 */
static double check_block(const dense_trial *t, const double *x, int64_t first, checked_block *k)
{
    const trsv_state *s = t->state;
    const double u = dense_unit_roundoff(t), w = tess_precision_unit_roundoff(vector_precision(t));
    const double v = options_of(t).inversion == TESS_ARITHMETIC_FP32 ? 0x1p-24 : 0x1p-53;
    double residual[BLOCK], bound[BLOCK], worst = 0.0;

    load_block(t, first, k);
    for (int r = 0; r < BLOCK; r++) {
        const int64_t row = in_order(t, first + r);
        long double sum = s->b[row];

        k->m[r] = fabs(s->b[row]);
        bound[r] = 0.0;
        for (int64_t p = 0; p <= first + r; p++) {
            const int64_t column = in_order(t, p);
            const long double term = (long double)element(t, row, column) * x[column];

            sum -= term;
            bound[r] += 1.01 * w * fabs((double)term);
            if (p < first) { k->m[r] += (1.0 + 1.01 * w) * fabs((double)term); }
        }
        residual[r] = fabs((double)sum);
        bound[r] += dense_gamma(u, (double)t->n + 16.0) * k->m[r];
    }
    for (int power = 0; power < 3; power++) {
        multiply_magnitudes(k->inverse, k->m);
        multiply_magnitudes(k->l, k->m);
    }
    for (int r = 0; r < BLOCK; r++) {
        const double ratio = residual[r] / (bound[r] + (dense_gamma(u, 200.0) + dense_gamma(v, 200.0)) * k->m[r]);

        worst = ratio <= worst ? worst : ratio; /* a NaN stays */
    }
    return worst;
}

static tess_status check(dense_trial *t, bench_call call, double *error)
{
    const trsv_state *s = t->state;
    tess_context *ctx = t->run->ctx;
    const int64_t blocks = t->n / BLOCK;
    void *stored = bench_allocate((size_t)vector_bytes(t), 1);
    double *x = bench_allocate((size_t)t->n, sizeof *x);
    checked_block *k = bench_allocate(1, sizeof *k);
    tess_status status = call(t, 0);

    if (status == TESS_SUCCESS) { status = ctx->backend->download(ctx, stored, s->x[0].data, (size_t)vector_bytes(t)); }
    for (int64_t i = 0; i < t->n; i++) {
        x[i] = tess_load(vector_precision(t), stored, i);
    }
    *error = 0.0;
    for (int c = 0; c < CHECKED_BLOCKS && c < blocks && status == TESS_SUCCESS; c++) {
        const int64_t which = blocks > CHECKED_BLOCKS ? (blocks - 1) * c / (CHECKED_BLOCKS - 1) : c;
        /* Blocks begin at multiples of BLOCK in the array; backwards the short one, if any, comes first. */
        const int64_t shift = is_backward(t) ? t->n % BLOCK : 0;
        const double ratio = check_block(t, x, shift + which * BLOCK, k);

        *error = ratio <= *error ? *error : ratio;
    }
    free(stored);
    free(x);
    free(k);
    return status;
}

/* ---- the operations ---- */

static int64_t footprint(const dense_trial *t)
{
    return array_bytes(t) + vector_bytes(t);
}

static bool fits_cublas(const dense_trial *t)
{
    return dense_cublas_fits_full(t) && options_of(t).inversion == TESS_ARITHMETIC_FP64;
}

static const int64_t device_sizes[] = {1024, 2048, 4096, 8192, 16384, 32768, 0};
static const int64_t host_sizes[] = {1024, 4096, 8192, 0};

#define TRSV(NAME, TRIANGLE, OPERATION, INVERSION)                                                                  \
    {                                                                                                               \
        {.name = (NAME),                                                                                            \
         .device_sizes = device_sizes,                                                                              \
         .host_sizes = host_sizes,                                                                                  \
         .quick_most = 4096,                                                                                        \
         .footprint = footprint,                                                                                    \
         .bytes = moved_bytes,                                                                                      \
         .prepare = prepare,                                                                                        \
         .ours = our_call,                                                                                          \
         .check = check,                                                                                            \
         .release = release,                                                                                        \
         .baselines = {{"cublas", fits_cublas, cublas_call}}},                                                      \
        {                                                                                                           \
            .triangle = TESS_##TRIANGLE, .operation = TESS_OP_##OPERATION, .inversion = TESS_ARITHMETIC_##INVERSION \
        }                                                                                                           \
    }

static const trsv_operation lower_n = TRSV("trsv-ln", LOWER, NONE, FP64), upper_n = TRSV("trsv-un", UPPER, NONE, FP64);
static const trsv_operation lower_t = TRSV("trsv-lt", LOWER, TRANSPOSE, FP64),
                            upper_t = TRSV("trsv-ut", UPPER, TRANSPOSE, FP64);
static const trsv_operation lower_n32 = TRSV("trsv-ln-i32", LOWER, NONE, FP32),
                            upper_n32 = TRSV("trsv-un-i32", UPPER, NONE, FP32);

const dense_operation *const dense_trsv[] = {&lower_n.base,   &upper_n.base,   &lower_t.base, &upper_t.base,
                                             &lower_n32.base, &upper_n32.base, NULL};
