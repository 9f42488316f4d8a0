/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blas.h"

#include <float.h>

#include <tessera/codec.h>

static const double alpha = 0.3, beta = -0.7;

static tess_precision precision_of(tess_arithmetic arithmetic)
{
    return arithmetic == TESS_ARITHMETIC_FP64 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32;
}

/* k u / (1 - k u) in the arithmetic */
static double gamma_in(tess_arithmetic arithmetic, double k)
{
    double ku = k * tess_precision_unit_roundoff(precision_of(arithmetic));

    return ku / (1.0 - ku);
}

/* A value as the arithmetic sees it. */
static double seen(tess_arithmetic arithmetic, double value)
{
    return arithmetic == TESS_ARITHMETIC_FP64 ? value : (double)(float)value;
}

/* Half the spacing of `precision` at `value`. */
static double rounding_of(tess_precision precision, double value)
{
    return fmax(tess_precision_unit_roundoff(precision) * value, 0.5 * tess_precision_smallest(precision));
}

/* A vector over a larger one's array, from element `offset` on. */
typedef struct shifted_vector {
    tess_vector *workspace, *v;
    double *values; /* as they are stored */
} shifted_vector;

static shifted_vector make_shifted(tess_context *ctx, int64_t n, tess_precision precision, int offset, uint64_t seed)
{
    shifted_vector s = {.values = random_values(n, seed, -2.0, 2.0)};
    char *data = NULL;

    assert_ok(ctx, tess_vector_create(ctx, n + offset, precision, &s.workspace));
    data = tess_vector_data(s.workspace);
    data += (size_t)offset * tess_precision_bytes(precision);
    assert_ok(ctx, tess_vector_wrap(ctx, n, precision, data, &s.v));
    assert_ok(ctx, tess_vector_set(s.v, s.values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    read_vector(s.v, s.values);
    return s;
}

static void free_shifted(shifted_vector *s)
{
    tess_vector_destroy(s->v);
    tess_vector_destroy(s->workspace);
    free(s->values);
}

/* x . y, x . x and |x| . |y| of long vectors: stretches of so many products in long double, whose sums are added up in
   wide, since wide arithmetic takes the time of a hundred products. */
enum { STRETCH = 1024 };

typedef struct exact_sums {
    wide dot, square;
    double magnitude;
    double slack; /* effect of rounding over a stretch, relative to the magnitude */
} exact_sums;

static exact_sums sum_up(const blas_case *c, const double *x, const double *y)
{
    exact_sums s = {.slack = 2.0 * STRETCH * 0.5 * (double)LDBL_EPSILON};

    for (int64_t begin = 0; begin < c->n; begin += STRETCH) {
        const int64_t end = begin + STRETCH < c->n ? begin + STRETCH : c->n;
        long double dot = 0.0L, square = 0.0L;

        for (int64_t i = begin; i < end; i++) {
            const long double a = seen(c->arithmetic, x[i]), b = seen(c->arithmetic, y[i]);

            dot += a * b;
            square += a * a;
            s.magnitude += fabs((double)(a * b));
        }
        s.dot += dot;
        s.square += square;
    }
    return s;
}

static void check_sums(tess_context *ctx, const blas_case *c, const shifted_vector *x, const shifted_vector *y)
{
    const exact_sums exact = sum_up(c, x->values, y->values);
    double gamma = gamma_in(c->arithmetic, ceil((double)c->n / 4096.0) + 512.0) + exact.slack, dot, again, norm;
    double underflow = (double)c->n * tess_precision_smallest(precision_of(c->arithmetic));
    double root = (double)wide_sqrt(exact.square);

    assert_ok(ctx, tess_vector_dot(x->v, y->v, c->arithmetic, &dot));
    assert_at_most((double)wide_abs((wide)dot - exact.dot), gamma * exact.magnitude * (1.0 + 1e-9) + underflow);
    assert_ok(ctx, tess_vector_dot(x->v, y->v, c->arithmetic, &again));
    assert_true(same_bits(&dot, &again, 1));
    assert_true(dot == seen(c->arithmetic, dot));
    assert_ok(ctx, tess_vector_norm2(x->v, c->arithmetic, &norm));
    assert_at_most((double)wide_abs((wide)norm - wide_sqrt(exact.square)), gamma * root + underflow);
}

/* An element of a x + b y, in wide arithmetic. */
static void check_element(const blas_case *c, wide ax, wide by, double result)
{
    double bound = gamma_in(c->arithmetic, 2.0) * (double)(wide_abs(ax) + wide_abs(by)) +
                   tess_precision_smallest(precision_of(c->arithmetic));

    bound += rounding_of(c->y, (double)wide_abs(ax + by) + bound);
    assert_at_most((double)wide_abs((wide)result - (ax + by)), bound);
}

/* Whether `result` is so near a x + b y, computed in FP64, that the rounding of that does not matter. Cheap; a no means
 * nothing. */
static bool is_plainly_right(double ax, double by, double result, double bound)
{
    const double sum = ax + by, doubt = 0x1.001p-53 * (fabs(ax) + fabs(by) + fabs(sum)) + 0x1p-1070;

    return fabs(result - sum) + doubt <= bound * (1.0 - 1e-9);
}

/* Reads y, which must be a x + b y of the old values; they become the new ones. */
static void check_update(const blas_case *c, double a, const double *x, double b, shifted_vector *y)
{
    double *out = test_allocate(c->n, sizeof *out), gamma = gamma_in(c->arithmetic, 2.0);
    double tiny = tess_precision_smallest(precision_of(c->arithmetic));

    read_vector(y->v, out);
    a = seen(c->arithmetic, a);
    b = seen(c->arithmetic, b);
    for (int64_t i = 0; i < c->n; i++) {
        const double xi = seen(c->arithmetic, x[i]), yi = seen(c->arithmetic, y->values[i]), ax = a * xi, by = b * yi;
        double bound = gamma * (fabs(ax) + fabs(by)) + tiny;

        assert_true(tess_precision_holds(c->y, out[i]));
        bound += rounding_of(c->y, fabs(ax + by) + bound);
        if (!is_plainly_right(ax, by, out[i], bound)) { check_element(c, (wide)a * xi, (wide)b * yi, out[i]); }
    }
    free(y->values);
    y->values = out;
}

void check_blas(tess_context *ctx, const blas_case *c)
{
    shifted_vector x = make_shifted(ctx, c->n, c->x, c->offset, 1), y = make_shifted(ctx, c->n, c->y, c->offset, 2);
    double *before = NULL;

    check_sums(ctx, c, &x, &y);
    assert_ok(ctx, tess_vector_axpby(alpha, x.v, beta, y.v, c->arithmetic));
    check_update(c, alpha, x.values, beta, &y);
    assert_ok(ctx, tess_vector_scale(beta, y.v, c->arithmetic));
    check_update(c, 0.0, x.values, beta, &y);
    assert_ok(ctx, tess_vector_axpby(alpha, x.v, 0.0, y.v, c->arithmetic));
    check_update(c, alpha, x.values, 0.0, &y);
    before = test_allocate(c->n, sizeof *before);
    memcpy(before, y.values, (size_t)c->n * sizeof *before);
    assert_ok(ctx, tess_vector_axpby(2.0, y.v, beta, y.v, c->arithmetic));
    check_update(c, 2.0, before, beta, &y);
    free(before);
    free_shifted(&x);
    free_shifted(&y);
}

void check_blas_combinations(tess_context *ctx)
{
    static const int64_t lengths[] = {0, 1, 2, 7, 16, 31, 257, 5003};

    for (int x = 0; x < TESS_PRECISION_COUNT; x++) {
        for (int y = 0; y < TESS_PRECISION_COUNT; y++) {
            for (int k = 0; k < (int)(sizeof lengths / sizeof *lengths); k++) {
                for (int variant = 0; variant < 4; variant++) {
                    blas_case c = {lengths[k], (tess_precision)x, (tess_precision)y, (tess_arithmetic)(variant % 2),
                                   variant / 2};

                    check_blas(ctx, &c);
                }
            }
        }
    }
}

/* ---- conversions ---- */

/* Rounded to `precision` and back by the scalar codec. */
static double stored_as(tess_precision precision, double value)
{
    double workspace = 0.0;

    tess_store(precision, &workspace, 0, value, TESS_OVERFLOW_INFINITY);
    return tess_load(precision, &workspace, 0);
}

static double *conversion_values(int64_t n)
{
    static const double special[] = {0.0,     -0.0,    (double)NAN, HUGE_VAL, -HUGE_VAL, 0x1p-1074, 0x1p-149,
                                     0x1p-24, 0x1p-10, 448.0,       464.0,    465.0,     -57344.0,  61440.0,
                                     65504.0, 65520.0, 0x1p127,     0x1p128,  1e300,     -0x1.8p-17};
    enum { SPECIAL = sizeof special / sizeof *special };
    double *values = random_values(n, 9, -4.0, 4.0);

    for (int64_t i = 0; i < n; i++) {
        values[i] = i % 3 == 0 ? special[i / 3 % SPECIAL] : ldexp(values[i], (int)(i % 60) - 30);
    }
    return values;
}

static bool same_value(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && (signbit(a) != 0) == (signbit(b) != 0));
}

void check_conversions(tess_context *ctx)
{
    enum { N = 2051 };
    double *values = conversion_values(N), *out = test_allocate(N, sizeof *out);
    char *raw = test_allocate(N, sizeof(double));

    for (int from = 0; from < TESS_PRECISION_COUNT; from++) {
        for (int to = 0; to < TESS_PRECISION_COUNT; to++) {
            tess_vector *v = NULL, *w = NULL;

            assert_ok(ctx, tess_vector_create(ctx, N, (tess_precision)from, &v));
            assert_ok(ctx, tess_vector_create(ctx, N, (tess_precision)to, &w));
            assert_int_equal(tess_vector_precision(w), to);
            assert_ok(ctx, tess_vector_set(v, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            assert_ok(ctx, tess_vector_copy(v, w));
            read_vector(w, out);
            assert_ok(ctx, tess_vector_get(v, raw, (tess_precision)to, TESS_MEMORY_HOST));
            for (int i = 0; i < N; i++) {
                double expected = stored_as((tess_precision)to, stored_as((tess_precision)from, values[i]));

                assert_true(same_value(out[i], expected));
                assert_true(same_value(tess_load((tess_precision)to, raw, i), expected));
            }
            assert_ok(ctx, tess_vector_set(w, raw, (tess_precision)to, TESS_MEMORY_HOST));
            assert_ok(ctx, tess_vector_copy(w, v));
            tess_vector_destroy(v);
            tess_vector_destroy(w);
        }
    }
    free(values);
    free(out);
    free(raw);
}

/* ---- range ---- */

static double norm_of(tess_context *ctx, tess_precision precision, tess_arithmetic arithmetic, double value)
{
    enum { N = 1009 };
    tess_vector *v = NULL;
    double norm = -1.0;

    assert_ok(ctx, tess_vector_create(ctx, N, precision, &v));
    assert_ok(ctx, tess_vector_fill(v, value));
    assert_ok(ctx, tess_vector_norm2(v, arithmetic, &norm));
    tess_vector_destroy(v);
    return norm / sqrt((double)N);
}

void check_blas_range(tess_context *ctx)
{
    static const double fp64[] = {0x1p-1060, 0x1p-700, 0x1p-400, 1.0, 0x1p490, 0x1p1000};
    static const double fp32[] = {0x1p-149, 0x1p-120, 0x1p-60, 1.0, 0x1p59, 0x1p120};
    tess_vector *v = NULL;
    double out[3];

    for (int k = 0; k < 6; k++) {
        assert_at_most(fabs(norm_of(ctx, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64, fp64[k]) / fp64[k] - 1.0),
                       gamma_in(TESS_ARITHMETIC_FP64, 520.0));
        for (int p = TESS_PRECISION_FP64; p <= TESS_PRECISION_FP32; p++) {
            assert_at_most(fabs(norm_of(ctx, (tess_precision)p, TESS_ARITHMETIC_FP32, fp32[k]) / fp32[k] - 1.0),
                           gamma_in(TESS_ARITHMETIC_FP32, 520.0));
        }
    }
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        for (int a = 0; a < 2; a++) {
            assert_true(norm_of(ctx, (tess_precision)p, (tess_arithmetic)a, 0.0) == 0.0);
            assert_true(isnan(norm_of(ctx, (tess_precision)p, (tess_arithmetic)a, (double)NAN)));
            assert_true(isfinite(norm_of(ctx, (tess_precision)p, (tess_arithmetic)a, HUGE_VAL)) == 0);
        }
        assert_ok(ctx, tess_vector_create(ctx, 3, (tess_precision)p, &v));
        assert_ok(ctx, tess_vector_fill(v, -256.0));
        assert_ok(ctx, tess_vector_scale(0x1p120, v, TESS_ARITHMETIC_FP64));
        read_vector(v, out);
        for (int i = 0; i < 3; i++) {
            assert_true(same_value(out[i], stored_as((tess_precision)p, -0x1p128)));
        }
        tess_vector_destroy(v);
    }
}

void check_blas_shadows(tess_context *ctx)
{
    enum { N = 1003 };
    double *values = random_values(N, 3, -2.0, 2.0), out[N];
    float shadow[N];
    tess_vector *v = make_vector(ctx, N, values), *narrow = NULL, *w = make_vector(ctx, N, values), *over = NULL;

    assert_ok(ctx, tess_vector_create(ctx, N, TESS_PRECISION_BF16, &narrow));
    assert_ok(ctx, tess_vector_copy(v, narrow));
    assert_ok(ctx, tess_vector_add_shadow(v, TESS_PRECISION_FP32));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_vector_add_shadow(narrow, TESS_PRECISION_FP32));
    for (int step = 0; step < 4; step++) {
        const tess_vector *other = step < 2 ? w : narrow;

        if (step % 2 == 0) { assert_ok(ctx, tess_vector_axpby(alpha, other, beta, v, TESS_ARITHMETIC_FP64)); }
        if (step % 2 == 1) { assert_ok(ctx, tess_vector_scale(alpha, v, TESS_ARITHMETIC_FP32)); }
        read_vector(v, out);
        assert_ok(ctx, tess_vector_wrap(ctx, N, TESS_PRECISION_FP32, (void *)(uintptr_t)tess_vector_shadow(v), &over));
        assert_ok(ctx, tess_vector_get(over, shadow, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
        tess_vector_destroy(over);
        for (int i = 0; i < N; i++) {
            assert_true(shadow[i] == (float)out[i]);
        }
    }
    tess_vector_destroy(v);
    tess_vector_destroy(w);
    tess_vector_destroy(narrow);
    free(values);
}
