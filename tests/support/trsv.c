/* SPDX-License-Identifier: Apache-2.0 */
#include "support/trsv.h"

#include <tessera/codec.h>
#include <tessera/dense.h>

#include "dense/trsv.h"
#include "matrix/matrix.h"

/* A stored triangle, and its values. */
typedef struct triangle {
    int64_t n, ld, offset;
    tess_precision storage;
    tess_triangle which;
    bool unit;
    size_t bytes;
    char *stored;  /* host; NaN wherever the solve must not look */
    double *value; /* n by n, with scales; 0 in the other triangle */
    double *scale; /* n powers of two, or NULL */
    void *device;
    double *device_scale;
} triangle;

static void *to_device(tess_context *ctx, const void *host, size_t bytes)
{
    void *memory = NULL;

    assert_ok(ctx, tess_device_allocate(ctx, (int64_t)bytes, 1, &memory));
    assert_ok(ctx, ctx->backend->upload(ctx, memory, host, bytes));
    return memory;
}

/* Off-diagonal values small enough that |L||L^-1| stays moderate. */
static double draw(const triangle *t, uint64_t *state, bool diagonal)
{
    double largest = t->n > 4 ? 0.5 / sqrt((double)t->n) : 0.25;
    double value = oracle_uniform(state, -1.0, 1.0);

    if (!diagonal) { return value * largest; }
    return value < 0.0 ? value * 0.5 - 0.75 : value * 0.5 + 0.75;
}

static void fill(triangle *t, uint64_t seed)
{
    uint64_t state = seed;

    for (int64_t j = 0; j < t->n; j++) {
        for (int64_t i = 0; i < t->ld; i++) {
            bool inside = i < t->n && (t->which == TESS_LOWER ? i >= j : i <= j) && !(i == j && t->unit);
            int64_t at = t->offset + i + j * t->ld;

            tess_store(t->storage, t->stored, at, inside ? draw(t, &state, i == j) : (double)NAN,
                       TESS_OVERFLOW_INFINITY);
            if (i < t->n) {
                t->value[i + j * t->n] = !inside
                                             ? (i == j ? 1.0 : 0.0)
                                             : tess_load(t->storage, t->stored, at) * (t->scale ? t->scale[j] : 1.0);
            }
        }
    }
}

static triangle make_triangle(tess_context *ctx, int64_t n, tess_precision storage, tess_triangle which, bool unit,
                              bool scaled, int64_t extra, int64_t offset)
{
    triangle t = {.n = n, .ld = n + extra, .offset = offset, .storage = storage, .which = which, .unit = unit};

    t.bytes = (size_t)(t.ld * n + offset + 1) * tess_precision_bytes(storage);
    t.stored = test_allocate((int64_t)t.bytes, 1);
    t.value = test_allocate(n * n, sizeof *t.value);
    if (scaled) {
        t.scale = test_allocate(n, sizeof *t.scale);
        for (int64_t j = 0; j < n; j++) {
            t.scale[j] = ldexp(1.0, (int)(j * 7 % 3) - 1);
        }
        t.device_scale = to_device(ctx, t.scale, (size_t)n * sizeof *t.scale);
    }
    fill(&t, (uint64_t)(n * 64 + (int)storage * 8 + (int)which * 2 + unit));
    t.device = to_device(ctx, t.stored, t.bytes);
    return t;
}

static void free_triangle(tess_context *ctx, triangle *t)
{
    tess_device_release(ctx, t->device, (int64_t)t->bytes, 1);
    tess_device_release(ctx, t->device_scale, t->n * (int64_t)sizeof(double), 1);
    free(t->stored);
    free(t->value);
    free(t->scale);
}

/* x := op(T)^-1 b with x stored in `precision`; b and x get the decoded values. */
static void solve(tess_context *ctx, const tess_trsv_options *options, const triangle *t, tess_precision precision,
                  double *b, double *x)
{
    size_t size = tess_precision_bytes(precision), bytes = (size_t)(t->n + 1) * size;
    char *stored = test_allocate((int64_t)bytes, 1);
    tess_dense_view a = {t->n, t->n, t->ld, t->storage, NULL, t->device_scale};
    tess_dense_view view = {t->n, 1, t->n, precision, NULL, NULL};
    void *device = NULL;

    for (int64_t i = 0; i < t->n; i++) {
        tess_store(precision, stored, i, b[i], TESS_OVERFLOW_INFINITY);
        b[i] = tess_load(precision, stored, i);
    }
    tess_store(precision, stored, t->n, 7.0, TESS_OVERFLOW_INFINITY);
    device = to_device(ctx, stored, bytes);
    a.data = (char *)t->device + (size_t)t->offset * tess_precision_bytes(t->storage);
    view.data = device;
    assert_ok(ctx, tess_trsv(ctx, options, &a, &view));
    assert_ok(ctx, ctx->backend->download(ctx, stored, device, bytes));
    for (int64_t i = 0; i < t->n; i++) {
        x[i] = tess_load(precision, stored, i);
    }
    assert_true(tess_load(precision, stored, t->n) == 7.0); /* nothing is written past the end */
    tess_device_release(ctx, device, (int64_t)bytes, 1);
    free(stored);
}

/* ---- the bound ---- */

static double gamma_with(double u, double k)
{
    return k * u / (1.0 - k * u);
}

/*
 * Sums over the columns of op(T) for each row. The residual b - op(T) x in 80-bit arithmetic; its own rounding, n
 * 2^-64, is 2^-11 of the smallest bound here. before[i]: the magnitudes |op(T)||x| of blocks other than the row's own.
 * storage[i]: |op(T)| times the change of x by rounding to its storage.
 */
typedef struct row_sums {
    long double *residual;
    double *before, *storage;
} row_sums;

static row_sums sum_rows(const triangle *t, bool transposed, const double *b, const double *x, tess_precision precision)
{
    const double w = tess_precision_unit_roundoff(precision), smallest = tess_precision_smallest(precision);
    row_sums sums = {test_allocate(t->n, sizeof *sums.residual), test_allocate(t->n, sizeof(double)),
                     test_allocate(t->n, sizeof(double))};

    for (int64_t i = 0; i < t->n; i++) {
        sums.residual[i] = b[i];
    }
    for (int64_t j = 0; j < t->n; j++) {
        for (int64_t i = t->which == TESS_LOWER ? j : 0; i < (t->which == TESS_LOWER ? t->n : j + 1); i++) {
            const int64_t row = transposed ? j : i, column = transposed ? i : j;
            const double value = t->value[i + j * t->n], magnitude = fabs(value);

            sums.residual[row] -= (long double)value * x[column];
            sums.storage[row] += magnitude * (1.1 * w * fabs(x[column]) + smallest);
            if (i / TRSV_BLOCK != j / TRSV_BLOCK) {
                sums.before[row] += magnitude * (fabs(x[column]) * (1.0 + 1.1 * w) + smallest);
            }
        }
    }
    return sums;
}

typedef struct block_matrix {
    long double value[TRSV_BLOCK][TRSV_BLOCK];
} block_matrix;

/* The diagonal block from `first` on in the order of the solution, and its inverse, in 80-bit arithmetic. */
static void invert_exactly(const triangle *t, bool transposed, bool backward, int64_t first, int rows, block_matrix *l,
                           block_matrix *y)
{
    memset(l, 0, sizeof *l);
    memset(y, 0, sizeof *y);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c <= r; c++) {
            const int64_t i = first + (backward ? rows - 1 - r : r), j = first + (backward ? rows - 1 - c : c);

            l->value[r][c] = t->value[transposed ? j + i * t->n : i + j * t->n];
        }
    }
    for (int column = 0; column < rows; column++) {
        for (int r = column; r < rows; r++) {
            long double sum = r == column ? 1.0L : 0.0L;

            for (int c = column; c < r; c++) {
                sum -= l->value[r][c] * y->value[c][column];
            }
            y->value[r][column] = sum / l->value[r][r];
        }
    }
}

/* v := |m| v */
static void multiply_magnitudes(const block_matrix *m, int rows, double *v)
{
    for (int r = rows - 1; r >= 0; r--) {
        double sum = 0.0;

        for (int c = 0; c <= r; c++) {
            sum += (double)fabsl(m->value[r][c]) * v[c];
        }
        v[r] = sum;
    }
}

/*
 * |b - op(T) x| <= gamma_u(n + 16) m + (gamma_u(200) + gamma_v(200)) (|L||L^-1|)^3 m + storage, for each diagonal block
 * L; m = |b| + |op(T)||x| over other blocks; u of the arithmetic, v of the inversion. From the computed inverse Y: |LY
 * - I| <= gamma_v(200) (|L||L^-1|)^3 (dense/trsv_inverse.cuh; the host's substitution needs the first power only), and
 * products with Y, or with Y times a tile, add gamma_u(200)|L||Y| m. Higham, Accuracy and Stability, sections 8.1
 * and 14.2.
 */
static void check_bound(const triangle *t, const tess_trsv_options *options, const double *b, const double *x,
                        tess_precision precision)
{
    const double u = options->arithmetic == TESS_ARITHMETIC_FP32 ? 0x1p-24 : U64;
    const double v = options->inversion == TESS_ARITHMETIC_FP32 ? 0x1p-24 : U64;
    const bool transposed = options->operation == TESS_OP_TRANSPOSE, backward = trsv_backward(options);
    row_sums sums = sum_rows(t, transposed, b, x, precision);
    block_matrix *l = test_allocate(1, sizeof *l), *y = test_allocate(1, sizeof *y);

    for (int64_t first = 0; first < t->n; first += TRSV_BLOCK) {
        const int rows = t->n - first < TRSV_BLOCK ? (int)(t->n - first) : TRSV_BLOCK;
        double m[TRSV_BLOCK];

        invert_exactly(t, transposed, backward, first, rows, l, y);
        for (int r = 0; r < rows; r++) {
            const int64_t i = first + (backward ? rows - 1 - r : r);

            m[r] = fabs(b[i]) + sums.before[i];
        }
        for (int power = 0; power < 3; power++) {
            multiply_magnitudes(y, rows, m);
            multiply_magnitudes(l, rows, m);
        }
        for (int r = 0; r < rows; r++) {
            const int64_t i = first + (backward ? rows - 1 - r : r);
            double bound = gamma_with(u, (double)t->n + 16.0) * (fabs(b[i]) + sums.before[i]);

            bound += (gamma_with(u, 200.0) + gamma_with(v, 200.0)) * m[r] + sums.storage[i];
            assert_at_most((double)fabsl(sums.residual[i]), 1.001 * bound);
        }
    }
    free(sums.residual);
    free(sums.before);
    free(sums.storage);
    free(l);
    free(y);
}

/* ---- checks ---- */

static void check_triangle(tess_context *ctx, const triangle *t, int first_precision)
{
    double *b = test_allocate(t->n, sizeof *b), *x = test_allocate(t->n, sizeof *x);

    for (int k = 0; k < 8; k++) {
        tess_trsv_options options = {.triangle = t->which,
                                     .operation = k & 1 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                                     .diagonal = t->unit ? TESS_UNIT : TESS_NON_UNIT,
                                     .arithmetic = k & 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                                     .inversion = k & 4 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};
        tess_precision precision = (tess_precision)((first_precision + (k > 3 ? k : 0)) % TESS_PRECISION_COUNT);
        uint64_t state = (uint64_t)(k + 1);

        for (int64_t i = 0; i < t->n; i++) {
            b[i] = oracle_uniform(&state, -1.0, 1.0);
        }
        solve(ctx, &options, t, precision, b, x);
        check_bound(t, &options, b, x, precision);
    }
    free(b);
    free(x);
}

void check_trsv_layout(tess_context *ctx, int64_t n, tess_precision storage, int64_t extra, int64_t offset)
{
    for (int k = 0; k < 4; k++) {
        triangle t = make_triangle(ctx, n, storage, k & 1 ? TESS_UPPER : TESS_LOWER, k >= 2, (k + (int)n) % 3 == 0,
                                   extra, offset);

        check_triangle(ctx, &t, k == 0 ? 0 : (int)n % TESS_PRECISION_COUNT);
        free_triangle(ctx, &t);
    }
}

void check_trsv_all(tess_context *ctx, int64_t n)
{
    for (int s = 0; s < TESS_PRECISION_COUNT; s++) {
        check_trsv_layout(ctx, n, (tess_precision)s, n % 2 ? 3 : 0, 0);
    }
}

/* T is bidiagonal with 1 and -1: its inverse is all ones, and b = 1 gives 1, 2, 3, ... in the order of the solution. */
void check_trsv_exact(tess_context *ctx, int64_t n)
{
    double *a = test_allocate(n * n, sizeof *a), *b = test_allocate(n, sizeof *b), *x = test_allocate(n, sizeof *x);

    for (int k = 0; k < 16; k++) {
        triangle t = {.n = n, .ld = n, .which = k & 1 ? TESS_UPPER : TESS_LOWER, .unit = (k & 2) != 0};
        tess_trsv_options options = {.triangle = t.which,
                                     .operation = k & 4 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                                     .diagonal = t.unit ? TESS_UNIT : TESS_NON_UNIT,
                                     .arithmetic = k & 8 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64};

        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = 0; i < n; i++) {
                a[i + j * n] = i == j ? 1.0 : (t.which == TESS_LOWER ? i == j + 1 : j == i + 1) ? -1.0 : 0.0;
            }
            b[j] = 1.0;
        }
        t.device = to_device(ctx, a, (size_t)(n * n) * sizeof *a);
        solve(ctx, &options, &t, TESS_PRECISION_FP64, b, x);
        for (int64_t i = 0; i < n; i++) {
            assert_true(x[i] == (double)(trsv_backward(&options) ? n - i : i + 1));
        }
        tess_device_release(ctx, t.device, n * n * (int64_t)sizeof *a, 1);
    }
    free(a);
    free(b);
    free(x);
}

void check_trsv_zero_pivot(tess_context *ctx, int64_t n, int64_t pivot)
{
    double *b = random_values(n, 3, 0.5, 1.0), *x = test_allocate(n, sizeof *x);

    for (int k = 0; k < 4; k++) {
        tess_trsv_options options = {.triangle = k & 1 ? TESS_UPPER : TESS_LOWER,
                                     .operation = k & 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE};
        triangle t = make_triangle(ctx, n, TESS_PRECISION_FP64, options.triangle, false, false, 0, 0);
        const int64_t row = trsv_backward(&options) ? n - 1 - pivot : pivot;

        ((double *)(void *)t.stored)[row + row * n] = 0.0;
        assert_ok(ctx, ctx->backend->upload(ctx, t.device, t.stored, t.bytes));
        solve(ctx, &options, &t, TESS_PRECISION_FP64, b, x);
        assert_true(!isfinite(x[row]));
        for (int64_t p = 0; p < pivot; p++) {
            assert_true(isfinite(x[trsv_backward(&options) ? n - 1 - p : p]));
        }
        free_triangle(ctx, &t);
    }
    free(b);
    free(x);
}

void trsv_sample(tess_context *ctx, const tess_trsv_options *options, int64_t n, tess_precision storage, double *x)
{
    triangle t = make_triangle(ctx, n, storage, options->triangle, options->diagonal == TESS_UNIT, false, 0, 0);
    double *b = random_values(n, 11, -1.0, 1.0);

    solve(ctx, options, &t, TESS_PRECISION_FP64, b, x);
    free(b);
    free_triangle(ctx, &t);
}

void check_trsv_repeats(tess_context *ctx, int64_t n)
{
    double *first = test_allocate(n, sizeof *first), *again = test_allocate(n, sizeof *again);
    const tess_trsv_options wide = {.triangle = TESS_UPPER}, narrow = {.arithmetic = TESS_ARITHMETIC_FP32};

    trsv_sample(ctx, &wide, n, TESS_PRECISION_FP32, first);
    for (int k = 0; k < 5; k++) {
        trsv_sample(ctx, &narrow, n / 2 + k, TESS_PRECISION_FP32, again);
        trsv_sample(ctx, &wide, n, TESS_PRECISION_FP32, again);
        assert_true(same_bits(first, again, n));
    }
    free(first);
    free(again);
}
