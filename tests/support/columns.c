/* SPDX-License-Identifier: Apache-2.0 */
#include "support/columns.h"

#include <string.h>

#include <tessera/columns.h>

#include "base/context.h"
#include "matrix/matrix.h"
#include "support/product.h"
#include "support/variants.h"

tess_matrix *store_in(const tess_matrix *m, tess_format format, tess_precision precision, tess_arithmetic arithmetic)
{
    tess_storage_options storage;
    tess_matrix *out = NULL;

    tess_storage_options_init(&storage);
    storage.format = format;
    storage.precision = precision;
    storage.arithmetic = arithmetic;
    storage.slices.max_padding = 10000.0;
    assert_ok(tess_matrix_context(m), tess_matrix_convert(m, &storage, &out));
    return out;
}

void check_spmm(const tess_matrix *m, const oracle_csr *stored, int64_t columns, bool by_row, double alpha, double beta)
{
    double *x = random_values(stored->ncols * columns, 1, -1.0, 1.0);
    double *y = random_values(stored->nrows * columns, 2, -1.0, 1.0);
    double *one = test_allocate(stored->ncols, sizeof *one), *size = test_allocate(stored->nrows, sizeof *size);
    double *old = test_allocate(stored->nrows * columns, sizeof *old);
    wide *exact = test_allocate(stored->nrows, sizeof *exact);
    const tess_columns vx = by_row ? tess_columns_by_row(stored->ncols, columns, x, TESS_MEMORY_HOST)
                                   : tess_columns_by_column(stored->ncols, columns, x, TESS_MEMORY_HOST);
    const tess_columns vy = by_row ? tess_columns_by_row(stored->nrows, columns, y, TESS_MEMORY_HOST)
                                   : tess_columns_by_column(stored->nrows, columns, y, TESS_MEMORY_HOST);
    const double gamma = gamma_of((double)oracle_longest_row(stored, false) + 3.0);

    memcpy(old, y, (size_t)(stored->nrows * columns) * sizeof *old);
    assert_ok(tess_matrix_context(m), tess_matrix_spmm(m, alpha, &vx, beta, &vy));
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t j = 0; j < stored->ncols; j++) {
            one[j] = x[j * vx.row_stride + c * vx.column_stride];
        }
        oracle_multiply(stored, false, one, exact, size);
        for (int64_t i = 0; i < stored->nrows; i++) {
            const int64_t at = i * vy.row_stride + c * vy.column_stride;
            const wide error = wide_abs((wide)alpha * exact[i] + (wide)beta * (wide)old[at] - (wide)y[at]);

            assert_at_most((double)error, gamma * (fabs(alpha) * size[i] + fabs(beta * old[at])));
        }
    }
    free(x);
    free(y);
    free(one);
    free(size);
    free(old);
    free(exact);
}

/* Values of many sizes, some rows empty. */
static oracle_csr make_mixed(int64_t n)
{
    oracle_csr a = oracle_open(n, n);
    uint64_t seed = 11;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i < 6 ? 0 : i - 6; j < n && j < i + 6 && i % 17 > 0; j += 1 + i % 3) {
            const double size = ldexp(1.0, (int)(oracle_random_bits(&seed) % 14) - 7);

            oracle_push(&a, j, size * oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

void check_mixed_columns(tess_context *ctx)
{
    oracle_csr a = make_mixed(140);
    tess_matrix *m = make_matrix(ctx, &a);

    for (int k = 0; k < POLICY_VARIANTS; k++) {
        tess_storage_options o = policy_variants[k].storage;
        const bool alone = o.papers || o.format == TESS_FORMAT_PACKED; /* multiplies one column after another */
        tess_matrix *stored = NULL;
        oracle_csr held, seen;

        if (k < SPLIT_VARIANTS) { o.slices.max_padding = 1e5; }
        o.arithmetic = TESS_ARITHMETIC_FP64;
        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        held = decode_matrix(stored);
        seen = reordered(stored, &held, o.split.row_order);
        assert_true(alone || stored->ops->takes_columns(stored, false));
        check_spmm(stored, &seen, 3 + k % 3, k % 2 == 0, k % 2 ? 1.0 : -0.5, k % 3 ? 0.0 : 2.0);
        oracle_free(&held);
        oracle_free(&seen);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
}

/* ---- steps ---- */

/* A vector of the step: values that its precision holds, by rows, here and on the device. */
typedef struct step_vector {
    int64_t n;
    double *values;
    void *device;
} step_vector;

static step_vector make_step_vector(tess_context *ctx, tess_precision precision, int64_t n, uint64_t seed)
{
    step_vector v = {n, random_values(n, seed, -1.0, 1.0), NULL};
    float *narrow = test_allocate(n, sizeof *narrow);
    const void *from = v.values;

    if (precision == TESS_PRECISION_FP32) {
        for (int64_t i = 0; i < n; i++) {
            narrow[i] = (float)v.values[i];
            v.values[i] = (double)narrow[i];
        }
        from = narrow;
    }
    assert_ok(ctx, tess_device_allocate(ctx, n, tess_precision_bytes(precision), &v.device));
    assert_ok(ctx, ctx->backend->upload(ctx, v.device, from, (size_t)n * tess_precision_bytes(precision)));
    free(narrow);
    return v;
}

static double *read_step_vector(tess_context *ctx, tess_precision precision, int64_t n, const void *device)
{
    double *out = test_allocate(n, sizeof *out);
    float *narrow = test_allocate(n, sizeof *narrow);
    void *to = precision == TESS_PRECISION_FP32 ? (void *)narrow : out;

    assert_ok(ctx, ctx->backend->download(ctx, to, device, (size_t)n * tess_precision_bytes(precision)));
    for (int64_t i = 0; precision == TESS_PRECISION_FP32 && i < n; i++) {
        out[i] = (double)narrow[i];
    }
    free(narrow);
    return out;
}

static void free_step_vector(tess_context *ctx, tess_precision precision, step_vector *v)
{
    tess_device_release(ctx, v->device, v->n, tess_precision_bytes(precision));
    free(v->values);
}

enum { X, BASE, Y, TOTAL, WIDE, STEP_VECTORS };

static const double alpha = -0.75, gamma_of_step = 1.5;

static void run_step(const tess_matrix *m, columns_step step, const step_vector *v)
{
    const bool fp32 = step.vectors == TESS_PRECISION_FP32;
    tess_spmv_args args = {.operation = TESS_OP_NONE,
                           .alpha = alpha,
                           .beta = 1.0,
                           .vectors = step.vectors,
                           .columns = step.columns,
                           .update = {.kind = TESS_UPDATE_POLYNOMIAL,
                                      .base = v[BASE].device,
                                      .total = v[TOTAL].device,
                                      .gamma = gamma_of_step,
                                      .wide_total = step.wide_total ? v[WIDE].device : NULL}};

    if (fp32) {
        args.x_fp32 = v[X].device;
        args.y_fp32 = step.keeps_y ? v[Y].device : NULL;
    } else {
        args.x = v[X].device;
        args.y = step.keeps_y ? v[Y].device : NULL;
    }
    assert_true(m->ops->takes_columns(m, true));
    assert_ok(m->ctx, m->ops->multiply_columns(m, &args));
}

static void check_step_column(const oracle_csr *stored, columns_step step, const step_vector *v, int64_t c,
                              const double *y, const double *total)
{
    const double n = (double)oracle_longest_row(stored, false) + 6.0;
    const double gamma = step.vectors == TESS_PRECISION_FP32 ? n * 0x1p-24 / (1.0 - n * 0x1p-24) : gamma_of(n);
    double *one = test_allocate(stored->ncols, sizeof *one), *size = test_allocate(stored->nrows, sizeof *size);
    wide *exact = test_allocate(stored->nrows, sizeof *exact);

    for (int64_t j = 0; j < stored->ncols; j++) {
        one[j] = v[X].values[j * step.columns + c];
    }
    oracle_multiply(stored, false, one, exact, size);
    for (int64_t i = 0; i < stored->nrows; i++) {
        const int64_t at = i * step.columns + c;
        const wide value = (wide)alpha * exact[i] + (wide)v[BASE].values[at];
        const wide sum = (wide)v[TOTAL].values[at] + (wide)gamma_of_step * value;
        const double magnitude = fabs(alpha) * size[i] + fabs(v[BASE].values[at]);

        assert_at_most((double)wide_abs(sum - (wide)total[at]),
                       gamma * (fabs(v[TOTAL].values[at]) + gamma_of_step * magnitude));
        if (step.keeps_y) {
            assert_at_most((double)wide_abs(value - (wide)y[at]), gamma * magnitude);
        } else {
            assert_true(y[at] == v[Y].values[at]);
        }
    }
    free(one);
    free(size);
    free(exact);
}

void check_columns_step(const tess_matrix *m, const oracle_csr *stored, columns_step step)
{
    const tess_precision wide_precision = step.wide_total ? TESS_PRECISION_FP64 : step.vectors;
    step_vector v[STEP_VECTORS];
    double *y = NULL, *total = NULL;

    for (int k = 0; k < STEP_VECTORS; k++) {
        const int64_t rows = k == X ? stored->ncols : stored->nrows;

        v[k] = make_step_vector(m->ctx, k == WIDE ? TESS_PRECISION_FP64 : step.vectors, rows * step.columns,
                                (uint64_t)(k + 3));
    }
    run_step(m, step, v);
    y = read_step_vector(m->ctx, step.vectors, v[Y].n, v[Y].device);
    total = read_step_vector(m->ctx, wide_precision, v[TOTAL].n, v[step.wide_total ? WIDE : TOTAL].device);
    for (int64_t c = 0; c < step.columns; c++) {
        check_step_column(stored, step, v, c, y, total);
    }
    for (int k = 0; k < STEP_VECTORS; k++) {
        free_step_vector(m->ctx, k == WIDE ? TESS_PRECISION_FP64 : step.vectors, &v[k]);
    }
    free(y);
    free(total);
}
