/* SPDX-License-Identifier: Apache-2.0 */
#include "support/gemv_cases.h"

#include <tessera/codec.h>
#include <tessera/dense.h>

#include "matrix/matrix.h"

/* An array on the context's device, and the values that it was filled with. */
typedef struct operand {
    tess_dense_view view;
    unsigned char *host; /* with `offset` values before the view's first one */
    void *base;          /* on the device */
    double *scale;       /* on the host; NULL: none */
    size_t bytes;
    int offset;
} operand;

static size_t places_of(const operand *o)
{
    return (size_t)(o->view.ld * o->view.ncols) + (size_t)o->offset;
}

static int64_t place(const operand *o, int64_t i, int64_t j)
{
    return o->offset + i + j * o->view.ld;
}

static void upload(tess_context *ctx, operand *o)
{
    assert_ok(ctx, ctx->backend->upload(ctx, o->base, o->host, o->bytes));
}

/* Values in (-1, 1), rounded to the storage; everything between the columns is NaN. */
static operand make_operand(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t ld, tess_precision precision,
                            int offset, uint64_t seed)
{
    operand o = {.view = {nrows, ncols, ld, precision, NULL, NULL}, .offset = offset};
    size_t size = tess_precision_bytes(precision);

    o.bytes = places_of(&o) * size;
    o.host = test_allocate((int64_t)o.bytes, 1);
    for (size_t p = 0; p < places_of(&o); p++) {
        tess_store(precision, o.host, (int64_t)p, (double)NAN, TESS_OVERFLOW_INFINITY);
    }
    for (int64_t j = 0; j < ncols; j++) {
        for (int64_t i = 0; i < nrows; i++) {
            tess_store(precision, o.host, place(&o, i, j), oracle_uniform(&seed, -1.0, 1.0), TESS_OVERFLOW_INFINITY);
        }
    }
    assert_ok(ctx, tess_device_allocate(ctx, (int64_t)o.bytes, 1, &o.base));
    upload(ctx, &o);
    o.view.data = (char *)o.base + (size_t)offset * size;
    return o;
}

static void add_scale(tess_context *ctx, operand *o, uint64_t seed)
{
    void *device = NULL;

    o->scale = random_values(o->view.ncols, seed, 0.25, 4.0);
    assert_ok(ctx, tess_device_allocate(ctx, o->view.ncols, sizeof(double), &device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, o->scale, (size_t)o->view.ncols * sizeof(double)));
    o->view.column_scale = device;
}

static void free_operand(tess_context *ctx, operand *o)
{
    tess_device_release(ctx, o->view.column_scale, o->view.ncols, sizeof(double));
    tess_device_release(ctx, o->base, (int64_t)o->bytes, 1);
    free(o->scale);
    free(o->host);
}

/* A value as the arithmetic sees it. */
static double decoded(const operand *o, tess_arithmetic arithmetic, int64_t i, int64_t j)
{
    if (arithmetic == TESS_ARITHMETIC_FP32) {
        return (double)tess_load_float(o->view.precision, o->host, place(o, i, j));
    }
    return tess_load(o->view.precision, o->host, place(o, i, j));
}

typedef struct product {
    operand a, x, y;
    int64_t out, inner;
} product;

static product make_product(tess_context *ctx, const gemv_case *c)
{
    const bool transposed = c->operation == TESS_OP_TRANSPOSE;
    product p = {.out = transposed ? c->ncols : c->nrows, .inner = transposed ? c->nrows : c->ncols};

    p.a = make_operand(ctx, c->nrows, c->ncols, c->nrows + c->ld_extra, c->a, c->offset, 1);
    p.x = make_operand(ctx, p.inner, c->nvec, p.inner + 3, c->x, 0, 2);
    p.y = make_operand(ctx, p.out, c->nvec, p.out + 2, c->y, 1, 3);
    if (c->scale_a) { add_scale(ctx, &p.a, 4); }
    if (c->scale_x) { add_scale(ctx, &p.x, 5); }
    if (c->beta == 0.0) { /* Y must not be read */
        for (int64_t e = 0; e < (int64_t)places_of(&p.y); e++) {
            tess_store(c->y, p.y.host, e, (double)NAN, TESS_OVERFLOW_INFINITY);
        }
        upload(ctx, &p.y);
    }
    return p;
}

static void free_product(tess_context *ctx, product *p)
{
    free_operand(ctx, &p->a);
    free_operand(ctx, &p->x);
    free_operand(ctx, &p->y);
}

/* All bytes of Y's array after the call; Y on the device is as before first. */
static unsigned char *run(tess_context *ctx, const gemv_case *c, product *p)
{
    unsigned char *bytes = test_allocate((int64_t)p->y.bytes, 1);

    upload(ctx, &p->y);
    assert_ok(ctx, tess_gemv(ctx, c->operation, c->alpha, &p->a.view, &p->x.view, c->beta, &p->y.view, c->arithmetic));
    assert_ok(ctx, ctx->backend->download(ctx, bytes, p->y.base, p->y.bytes));
    return bytes;
}

static double unit_roundoff(tess_arithmetic arithmetic)
{
    return tess_precision_unit_roundoff(arithmetic == TESS_ARITHMETIC_FP32 ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64);
}

/* Half the distance of two neighbours among the storage's smallest values. */
static double smallest_half(tess_precision precision)
{
#define HALF(NAME, value, name, bytes, bits, emin, ...) \
    if (precision == TESS_PRECISION_##NAME) { return ldexp(1.0, (emin) - (bits)); }
    TESS_PRECISION_LIST(HALF)
#undef HALF
    return 0.0;
}

/* Element i of column k against the documented bound and the rounding to Y's storage. */
static void check_element(const gemv_case *c, const product *p, int64_t i, int k, double computed)
{
    const bool transposed = c->operation == TESS_OP_TRANSPOSE;
    const double u = unit_roundoff(c->arithmetic);
    const double n = (double)p->inner + 2.0 + (c->scale_a ? 1.0 : 0.0) + (c->scale_x ? 1.0 : 0.0);
    double bound = 0.0, magnitude = 0.0, before = 0.0;
    wide sum = 0;

    for (int64_t q = 0; q < p->inner; q++) {
        const int64_t row = transposed ? q : i, column = transposed ? i : q;
        wide term = (wide)decoded(&p->a, c->arithmetic, row, column) * (wide)decoded(&p->x, c->arithmetic, q, k);

        if (p->a.scale) { term *= (wide)p->a.scale[column]; }
        if (p->x.scale) { term *= (wide)p->x.scale[k]; }
        sum += term;
        magnitude += fabs((double)term);
    }
    sum *= (wide)c->alpha;
    if (c->beta != 0.0) {
        before = c->beta * tess_load(c->y, p->y.host, place(&p->y, i, k));
        sum += (wide)c->beta * (wide)tess_load(c->y, p->y.host, place(&p->y, i, k));
    }
    bound = n * u / (1.0 - n * u) * fabs(c->alpha) * magnitude + 2.0 * u * fabs(before);
    bound += tess_precision_unit_roundoff(c->y) * (fabs((double)sum) + bound) + smallest_half(c->y);
    if (!(fabs((double)((wide)computed - sum)) <= bound)) {
        print_error("%s %lld x %lld, %d columns, A %s, X %s, Y %s, arithmetic fp%d, ld + %lld, offset %d\n",
                    transposed ? "A^T" : "A", (long long)c->nrows, (long long)c->ncols, c->nvec,
                    tess_precision_name(c->a), tess_precision_name(c->x), tess_precision_name(c->y),
                    c->arithmetic == TESS_ARITHMETIC_FP32 ? 32 : 64, (long long)c->ld_extra, c->offset);
        print_error("element %lld of column %d: %.17g where %.17g +- %.3g is right\n", (long long)i, k, computed,
                    (double)sum, bound);
        fail();
    }
}

/* Places of Y's array that belong to no element keep their bits. */
static void check_untouched(const product *p, const unsigned char *bytes)
{
    const size_t size = tess_precision_bytes(p->y.view.precision);

    for (int64_t e = 0; e < (int64_t)places_of(&p->y); e++) {
        const int64_t in_column = (e - p->y.offset) % p->y.view.ld;

        if (e >= p->y.offset && in_column < p->y.view.nrows) { continue; }
        assert_memory_equal(bytes + (size_t)e * size, p->y.host + (size_t)e * size, size);
    }
}

void check_gemv(tess_context *ctx, const gemv_case *c)
{
    enum { MAX_PRODUCTS = 200000 };
    product p = make_product(ctx, c);
    unsigned char *first = run(ctx, c, &p), *again = run(ctx, c, &p);
    /* of a large result a part, the last element among it: an odd step meets every lane and every place in a tile */
    const int64_t every = 1 + 2 * (p.out * p.inner / MAX_PRODUCTS);

    assert_memory_equal(first, again, p.y.bytes);
    check_untouched(&p, first);
    for (int k = 0; k < c->nvec; k++) {
        for (int64_t i = p.out - 1; i >= 0; i -= every) {
            check_element(c, &p, i, k, tess_load(c->y, first, place(&p.y, i, k)));
        }
    }
    free(first);
    free(again);
    free_product(ctx, &p);
}

double *gemv_result(tess_context *ctx, const gemv_case *c)
{
    product p = make_product(ctx, c);
    unsigned char *bytes = run(ctx, c, &p);
    double *values = test_allocate(p.out * c->nvec, sizeof *values);

    for (int k = 0; k < c->nvec; k++) {
        for (int64_t i = 0; i < p.out; i++) {
            values[k * p.out + i] = tess_load(c->y, bytes, place(&p.y, i, k));
        }
    }
    free(bytes);
    free_product(ctx, &p);
    return values;
}

/* The options that do not choose a kernel take turns. */
static gemv_case vary(gemv_case c, int turn)
{
    static const double alphas[] = {1.0, -1.0, 0.75, 0.0, -1.375}, betas[] = {0.0, 1.0, 0.5};

    c.x = (tess_precision)(turn % 6 < 2 ? turn % 6 : turn / 2 % 6);
    c.y = (tess_precision)(turn % 4 == 3 ? turn / 4 % 6 : turn / 3 % 2);
    c.alpha = alphas[turn % 5];
    c.beta = betas[turn % 3];
    c.scale_a = turn % 7 < 3;
    c.scale_x = turn % 11 < 3;
    return c;
}

static void check_shapes(tess_context *ctx, gemv_case c, int *turn)
{
    static const int64_t shapes[][2] = {{0, 5},   {5, 0},     {1, 1},    {1, 7},    {2, 2},     {31, 33},   {33, 31},
                                        {7, 256}, {257, 257}, {1000, 3}, {3, 1000}, {5000, 40}, {4097, 129}};

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        c.nrows = shapes[s][0];
        c.ncols = shapes[s][1];
        for (int ragged = 0; ragged < 2; ragged++) {
            gemv_case varied = vary(c, (*turn)++);

            if (c.nrows * c.ncols > 100000 && ragged == c.nvec % 2) { continue; } /* each has one of the two layouts */
            /* columns that all allow wide loads, and columns of which none does */
            varied.ld_extra = ragged ? 1 + c.nrows % 2 : 15 - (c.nrows + 15) % 16;
            varied.offset = ragged ? 1 : 0;
            check_gemv(ctx, &varied);
        }
    }
}

void check_gemv_everywhere(tess_context *ctx)
{
    int turn = 0;

    for (int combination = 0; combination < TESS_PRECISION_COUNT * 8; combination++) {
        gemv_case c = {.a = (tess_precision)(combination / 8),
                       .arithmetic = combination / 4 % 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                       .operation = combination / 2 % 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                       .nvec = 1 + combination % 2};

        check_shapes(ctx, c, &turn);
    }
}

/* Puts a special value at (row, column) of A and looks where it comes out. */
static void check_special(tess_context *ctx, const gemv_case *c, double special)
{
    const int64_t row = c->nrows - 2, column = c->ncols / 2;
    const int64_t hit = c->operation == TESS_OP_TRANSPOSE ? column : row;
    product p = make_product(ctx, c);
    unsigned char *bytes = NULL;

    tess_store(c->a, p.a.host, place(&p.a, row, column), special, TESS_OVERFLOW_INFINITY);
    upload(ctx, &p.a);
    bytes = run(ctx, c, &p);
    for (int k = 0; k < c->nvec; k++) {
        for (int64_t i = 0; i < p.out; i++) {
            const double value = tess_load(c->y, bytes, place(&p.y, i, k));

            if (i != hit) {
                assert_true(isfinite(value));
            } else {
                assert_true(isnan(special) ? isnan(value) : isinf(value));
            }
        }
    }
    free(bytes);
    free_product(ctx, &p);
}

void check_gemv_specials(tess_context *ctx)
{
    for (int combination = 0; combination < TESS_PRECISION_COUNT * 8; combination++) {
        gemv_case c = {.a = (tess_precision)(combination / 8),
                       .arithmetic = combination / 4 % 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                       .operation = combination / 2 % 2 ? TESS_OP_TRANSPOSE : TESS_OP_NONE,
                       .nvec = 1 + combination % 2,
                       .nrows = 304,
                       .ncols = 70,
                       .alpha = 1.0};

        check_special(ctx, &c, (double)NAN);
        if (c.a != TESS_PRECISION_E4M3) { check_special(ctx, &c, -HUGE_VAL); }
    }
}

void check_gemv_refusals(tess_context *ctx)
{
    gemv_case c = {.nrows = 6, .ncols = 4, .nvec = 2, .alpha = 1.0};
    product p = make_product(ctx, &c);
    const tess_dense_view a = p.a.view, x = p.x.view, y = p.y.view;
    tess_dense_view bad = a;

#define CALL(A, X, Y) tess_gemv(ctx, TESS_OP_NONE, 1.0, A, X, 0.0, Y, TESS_ARITHMETIC_FP64)
    assert_ok(ctx, CALL(&a, &x, &y));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(NULL, &x, &y));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&a, NULL, &y));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&a, &x, NULL));
    assert_fails(ctx, TESS_INVALID_ARGUMENT,
                 tess_gemv(ctx, (tess_operation)7, 1.0, &a, &x, 0.0, &y, TESS_ARITHMETIC_FP64));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_gemv(ctx, TESS_OP_NONE, 1.0, &a, &x, 0.0, &y, (tess_arithmetic)7));
    assert_fails(ctx, TESS_DIMENSION_MISMATCH,
                 tess_gemv(ctx, TESS_OP_TRANSPOSE, 1.0, &a, &x, 0.0, &y, TESS_ARITHMETIC_FP64));
    bad.ld = 5;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&bad, &x, &y));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "A has ld = 5, which is less than its 6 rows"));
    bad.ld = INT64_MAX / 2;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&bad, &x, &y));
    bad = a;
    bad.nrows = -1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&bad, &x, &y));
    bad = a;
    bad.data = NULL;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&bad, &x, &y));
    bad.data = (char *)a.data + 1;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&bad, &x, &y));
    bad = a;
    bad.precision = (tess_precision)TESS_PRECISION_COUNT;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&bad, &x, &y));
    bad = x;
    bad.nrows = 3;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, CALL(&a, &bad, &y));
    bad = x;
    bad.ncols = 1;
    assert_fails(ctx, TESS_DIMENSION_MISMATCH, CALL(&a, &bad, &y));
    bad = y;
    bad.column_scale = a.data;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, CALL(&a, &x, &bad));
    {
        tess_dense_view x3 = x, y3 = y;

        x3.ncols = y3.ncols = 3;
        assert_fails(ctx, TESS_UNSUPPORTED, CALL(&a, &x3, &y3));
        x3.ncols = y3.ncols = 0;
        assert_ok(ctx, CALL(&a, &x3, &y3));
    }
#undef CALL
    free_product(ctx, &p);
}
